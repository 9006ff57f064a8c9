"""Derivatives as expressions of the language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.command_result import CommandResult, Record
from autodiff_cli.compiler.gradient import gradient
from autodiff_cli.compiler.program import Term, output_name
from autodiff_cli.errors import MissingValue, NoSeriesError, NotRecordable, UnknownName, UsageError, setting
from autodiff_cli.evaluation.bindings import variables as as_leaves
from autodiff_cli.evaluation.compile import Traced, names_and_values, trace
from autodiff_cli.evaluation.expression import Evaluator
from autodiff_cli.evaluation.lowering import lowered
from autodiff_cli.language.tree import Syntax, unparse
from autodiff_cli.limits import check_count
from autodiff_cli.suggest import suggestion
from autodiff_cli.symbolic.formula import Formula
from autodiff_cli.symbolic.from_trace import formulas
from autodiff_cli.symbolic.normal_form import Algebra
from autodiff_cli.symbolic.scalars import ScalarTracingEvaluator
from autodiff_cli.symbolic.to_trace import retraced
from autodiff_cli.symbolic.to_tree import to_tree

MOST_ORDERS, MOST_OPERATIONS = 100, 5_000
"""Limits of derivatives as formulas; it takes some seconds to differentiate 5,000 operations once more."""


class Derivatives(CommandResult):
    """The derivatives of one order of an expression.

    Attributes:
        expression: the expression.
        order: the order.
        trees: the formula of each derivative, such as ``("x", "y")``, as a syntax tree; ``texts`` has them as text.
        at: the point at which they are evaluated; ``None`` if they are not.
        values: the numbers there.
    """

    command = "diff"

    def __init__(self, expression: str, order: int, trees: Mapping[Term, Syntax], at: Mapping[str, float] | None = None) -> None:
        self.expression = expression
        self.order = order
        self.trees = dict(trees)
        self.texts = {term: unparse(tree) for term, tree in self.trees.items()}
        self.at = at
        self.values = {term: _value(text, at) for term, text in self.texts.items()} if at is not None else {}

    def content(self) -> Record:
        return {
            "expression": self.expression,
            "order": self.order,
            **({} if self.at is None else {"at": dict(self.at)}),
            "derivatives": [{"wrt": list(term), **self._shown(term)} for term in self.texts],
        }

    def records(self) -> list[dict[str, object]]:
        """Return a record for each derivative, named as ``d_x_y``."""
        return [{"name": output_name(term), **self._shown(term)} for term in self.texts]

    def bare(self) -> list[object]:
        """Return the values at the point, without one the formulas."""
        return list(self.values.values() or self.texts.values())

    def _shown(self, term: Term) -> dict[str, object]:
        return {"expression": self.texts[term], **({"value": self.values[term]} if self.values else {})}


def _value(text: str, at: Mapping[str, float]) -> float:
    """Evaluate a formula at a point."""
    evaluator = Evaluator(text, as_leaves(dict(at), np.dtype("float64"), ()), np.dtype("float64"))
    with np.errstate(all="ignore"), set_grad_enabled(False):
        return float(evaluator.as_tensor(evaluator.run())._data)


def differentiate(
    expression: str,
    wrt: Sequence[str] | None = None,
    order: int = 1,
    const: Mapping[str, Any] | None = None,
    simplify: bool = False,
    at: Mapping[str, Any] | None = None,
) -> Derivatives:
    """Return all derivatives of one order as expressions of the language.

    Args:
        expression: a program of the language whose result is one number; names without a value are variables.
        wrt: the variables to differentiate with respect to; all if left out.
        order: 1 or more.
        const: values of names; they may be arrays.
        simplify: whether SymPy simplifies the result.
        at: a number for each variable, to evaluate the formulas there.

    Raises:
        UsageError: for an order below 1, or a value that is not one number.
        MissingValue: if a variable has no value in ``at``.
        UnknownName: if ``at`` or ``wrt`` names something that is not a variable.
        LimitError: for an order above 100, or formulas that get too long on the way.
        NotRecordable: if a derivative has no formula.
        MissingPackage: without SymPy, if that is to simplify.
        AutodiffError: of any other kind, with its place in the expression.
    """
    if order < 1:
        raise UsageError(f"the order must be 1 or more, not {order}")
    check_count(order, MOST_ORDERS, "order {} is more than the limit of {}", hint="taylor gives numbers for higher orders")
    names, by, leaves = names_and_values(expression, wrt, const, "float64")
    if not by:
        raise UsageError("the expression has no variable to differentiate by", hint="every name without a value is one")
    point = None if at is None else _point(names, at)
    algebra = Algebra(names)
    try:
        found = _of_order(algebra, trace(expression, names, leaves, "float64", ScalarTracingEvaluator), by, order)
    except (NotRecordable, NoSeriesError) as error:
        raise without_formula(error, names[0]) from None
    if simplify:
        from autodiff_cli.symbolic.sympy_bridge import simplified

        found = simplified(algebra, found)
    return Derivatives(expression, order, {term: to_tree(formula, names) for term, formula in found.items()}, point)


def _point(names: Sequence[str], at: Mapping[str, Any]) -> dict[str, float]:
    """Return ``at`` with a float for each variable."""
    for name, value in at.items():
        if name not in names:
            raise UnknownName(
                f"the expression has no variable '{name}'", hint=suggestion(name, names) or f"it has {', '.join(names)}"
            )
        if np.shape(value):
            raise UsageError(
                f"the value of '{name}' has shape {list(np.shape(value))}, but diff takes numbers",
                hint="grad and jacobian take arrays",
            )
    missing = [name for name in names if name not in at]
    if missing:
        raise MissingValue(
            f"no value for '{missing[0]}'",
            hint=f"add {setting('at', f'{missing[0]}=1')}; without values the formula alone is computed",
        )
    return {name: float(at[name]) for name in names}


def without_formula(error: NotRecordable | NoSeriesError, variable: str) -> NotRecordable:
    """Return the error for an expression that has no formula, with the command that computes numbers."""
    if isinstance(error, NoSeriesError):
        error = NotRecordable("this has no elementwise formula", span=error.span, source=error.source)
    if error.hint is None:
        error.hint = f"for numbers use 'autodiff grad' with {setting('at', f'{variable}=1')}"
    return error


def _of_order(algebra: Algebra, traced: Traced, by: Sequence[str], order: int) -> dict[Term, Formula]:
    """Return the derivatives of one order as formulas.

    Those of each lower order become formulas first, so that collected terms are not differentiated one by one.  The guards
    of their rules are left out there too; primitives that are not functions of the language stay.
    """
    lower: dict[Term, Traced] = {(): traced}
    for step in range(1, order + 1):
        found: dict[Term, Formula] = {}
        for term, (tape, output, variables) in lower.items():
            own = len(tape.instructions)
            following = by[by.index(term[-1]) if term else 0 :]
            with np.errstate(all="ignore"), set_grad_enabled(False):
                slopes = gradient(output, [variables[name] for name in following])
            if step == order:
                slopes = lowered(tape, slopes)
            for name, formula in zip(following, formulas(algebra, slopes, own), strict=True):
                found[*term, name] = formula
        if step < order:
            lower, count = {}, 0
            for term, formula in found.items():
                lower[term] = retraced(formula, traced.variables)
                count += len(lower[term].tape.instructions) + 1
                check_count(
                    count,
                    MOST_OPERATIONS,
                    f"the derivatives of order {step} have {{}} operations or more, above the limit of {{}}",
                    hint="use a lower order; 'autodiff taylor' and 'autodiff grad' compute numbers",
                )
    return found
