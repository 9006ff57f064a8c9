"""Derivatives as expressions of the language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.compiler.program import output_name
from autodiff_cli.compiler.tracer import Cell, Instruction, Tape
from autodiff_cli.errors import MissingValue, NoSeriesError, NotRecordable, UnknownName, UsageError
from autodiff_cli.evaluation.bindings import variables as as_leaves
from autodiff_cli.evaluation.compile import names_and_values, recorded
from autodiff_cli.evaluation.expression import Evaluator
from autodiff_cli.evaluation.lowering import lowered
from autodiff_cli.language.tree import Syntax, unparse
from autodiff_cli.limits import check_count
from autodiff_cli.suggest import suggestion
from autodiff_cli.symbolic.from_trace import formulas
from autodiff_cli.symbolic.normal_form import Algebra, Formula
from autodiff_cli.symbolic.scalars import ScalarWriter
from autodiff_cli.symbolic.to_trace import recorded_again
from autodiff_cli.symbolic.to_tree import program

MOST_ORDERS, MOST_OPERATIONS = 100, 5_000
"""Of derivatives as formulas; 5,000 operations take some seconds to be differentiated once more."""

Written = tuple[Tape, Cell, dict[str, Instruction]]
"""A recording, its result, and its variables."""


class Derivatives:
    """What ``autodiff diff`` shows.

    Attributes:
        expression: what was differentiated.
        order: how often.
        trees: for each derivative by what it is, and the expression.
        at: the point at which they were evaluated; ``None`` if they were not.
        values: the numbers there.
    """

    def __init__(
        self, expression: str, order: int, trees: Mapping[tuple[str, ...], Syntax], at: Mapping[str, float] | None = None
    ) -> None:
        self.expression = expression
        self.order = order
        self.trees = dict(trees)
        self.texts = {term: unparse(tree) for term, tree in self.trees.items()}
        self.at = at
        self.values = {term: _value(text, at) for term, text in self.texts.items()} if at is not None else {}

    def to_dict(self) -> dict[str, Any]:
        """The JSON object."""
        return {
            "schema": 1,
            "command": "diff",
            "expression": self.expression,
            "order": self.order,
            **({} if self.at is None else {"at": dict(self.at)}),
            "derivatives": [{"wrt": list(term), **self._shown(term)} for term in self.texts],
        }

    def records(self) -> list[dict[str, Any]]:
        """One record for each derivative, named as ``d_x_y``."""
        return [{"name": output_name(term), **self._shown(term)} for term in self.texts]

    def _shown(self, term: tuple[str, ...]) -> dict[str, Any]:
        """A formula, and its value if there is one."""
        return {"expression": self.texts[term], **({"value": self.values[term]} if self.values else {})}


def _value(text: str, at: Mapping[str, float]) -> float:
    """What a formula gives at a point."""
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
    """All derivatives of one order as expressions, of a program whose variables are numbers.

    Args:
        expression: a program of the language whose result is one number; names without a value are variables.
        wrt: which of them to differentiate by; all if left out.
        order: 1 or more.
        const: values of names; they may be arrays.
        simplify: whether SymPy has the last word.
        at: a number for each variable, if the formulas are to be evaluated there.

    Raises:
        UsageError: for an order below 1, or a value that is not one number.
        MissingValue: if a variable has no value in ``at``; UnknownName: if a value has no variable.
        LimitError: for an order above 100, or formulas that get too long on the way.
        NotRecordable: if the derivative depends on values in a way that cannot be written down.
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
        found = _of_order(algebra, recorded(expression, names, leaves, "float64", ScalarWriter), by, order)
    except (NotRecordable, NoSeriesError) as error:
        raise not_written(error, f"there is no formula for the derivative; numbers: autodiff grad EXPR --at {names[0]}=1") from None
    if simplify:
        from autodiff_cli.symbolic.sympy_bridge import simplified

        found = simplified(algebra, found)
    return Derivatives(expression, order, {term: program(formula, names) for term, formula in found.items()}, point)


def _point(names: Sequence[str], at: Mapping[str, Any]) -> dict[str, float]:
    """A number for each variable."""
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
        raise MissingValue(f"no value for '{missing[0]}'", hint=f"add --at {missing[0]}=1, or leave --at out for the formula alone")
    return {name: float(at[name]) for name in names}


def not_written(error: NotRecordable | NoSeriesError, hint: str) -> NotRecordable:
    """What to say of an expression that cannot be written down, with the way out."""
    message = error.message if isinstance(error, NotRecordable) else "this cannot be written as operations on single numbers"
    return NotRecordable(message, span=error.span, source=error.source, hint=error.hint or hint)


def _of_order(algebra: Algebra, value: Written, by: Sequence[str], order: int) -> dict[tuple[str, ...], Formula]:
    """The derivatives of one order as formulas.

    Those of the order below are written as formulas first, so that what was collected there is not differentiated term by
    term.  The guards of their rules are left out there too, operations that are no functions of the language are not.
    """
    written: dict[tuple[str, ...], Written] = {(): value}
    for step in range(1, order + 1):
        found: dict[tuple[str, ...], Formula] = {}
        for term, (recording, cell, variables) in written.items():
            own = len(recording.operations)
            following = by[by.index(term[-1]) if term else 0 :]
            with np.errstate(all="ignore"), set_grad_enabled(False):
                slopes = recording.gradient(cell, [variables[name] for name in following])
            if step == order:
                slopes = lowered(recording, slopes)
            for name, formula in zip(following, formulas(algebra, slopes, own), strict=True):
                found[*term, name] = formula
        if step < order:
            written, operations = {}, 0
            for term, formula in found.items():
                written[term] = recorded_again(formula, value[2])
                operations += len(written[term][0].operations) + 1
                check_count(
                    operations,
                    MOST_OPERATIONS,
                    f"the derivatives of order {step} have {{}} operations or more, above the limit of {{}}",
                    hint="ask for a lower order; taylor and grad --order give numbers",
                )
    return found
