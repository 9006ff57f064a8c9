"""Symbolic derivatives, as expressions of the language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.primitives.interface_kinds import COUNT, at_a_point, checks
from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.command_result import CommandResult, Record, plain
from autodiff_cli.compiler.gradient import gradient
from autodiff_cli.compiler.program import Term, output_name, terms
from autodiff_cli.compiler.tracer import is_of_scalars, takes_array
from autodiff_cli.errors import MissingValue, NoSeriesError, NotRecordable, NoValue, UnknownName, UsageError, setting
from autodiff_cli.evaluation.compile import Traced, TracingEvaluator, names_and_values, trace
from autodiff_cli.evaluation.evaluation import evaluated_inputs
from autodiff_cli.evaluation.lowering import lower
from autodiff_cli.language.latex import latex
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax, unparse
from autodiff_cli.limits import check_count
from autodiff_cli.suggest import suggestion
from autodiff_cli.symbolic.formula import Formula
from autodiff_cli.symbolic.from_trace import formulas
from autodiff_cli.symbolic.normal_form import Algebra
from autodiff_cli.symbolic.short_form import AccurateForms, ShortForms
from autodiff_cli.symbolic.to_trace import Numbers, formula_values, retraced
from autodiff_cli.symbolic.to_tree import in_written_order, to_tree

if TYPE_CHECKING:
    from autodiff_cli.arrays import Matrix
    from autodiff_cli.evaluation.evaluation import Value
    from autodiff_cli.symbolic.matrices.arrays import Length
    from autodiff_cli.symbolic.matrices.diff import MatrixDerivative
    from autodiff_cli.symbolic.steps import Step

MOST_ORDERS, MOST_OPERATIONS = 100, 5_000
"""The limits on the order and the size of symbolic derivatives; differentiating 5,000 operations takes a few seconds."""

_POINTS = 32  # the number of points at which a short form must have the values of the formula that it replaces

_ARRAYS = f"use diff with {setting('shape', 'x=n')} for vectors, or grad and jacobian for numbers"
_HINTS = {name: f"list the elements, as in {name}([x1, x2]), or " for name in ("sum", "prod", "mean")}
_HINTS["sum"] = "differentiate f(x) instead of sum(f(x)), list the elements, as in sum([x1, x2]), or "


class ScalarTracingEvaluator(TracingEvaluator):
    """A tracing evaluator for scalar variables.

    It rejects array functions of variables: ``sum(x)``, for example, would be traced as ``x``, which is wrong for an array.
    """

    def apply(self, op: FunctionInfo, arguments: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        """Apply a function; raise ``NotRecordable`` if it takes arrays, but its arguments are tracers of scalars."""
        if takes_array(op) and is_of_scalars((*arguments, *named.values())):
            hint = f"{_HINTS.get(op.name, '')}{_ARRAYS}"
            raise NotRecordable(f"'{op.name}' takes an array, but variables are scalars here", hint=hint)
        return super().apply(op, arguments, named, node)


@dataclass(eq=False, repr=False)
class Derivatives(CommandResult):
    """The symbolic derivatives of one order of an expression.

    Attributes:
        expression: the differentiated expression.
        order: the order of the derivatives.
        trees: the syntax trees of the derivatives, with keys such as ``("x", "y")``; ``texts`` contains the trees as text.
        at: the point at which the derivatives are evaluated, or ``None``.
        values: the values of the derivatives at the point: numbers, or arrays for vectors and matrices.
        matrices: the dimensions of derivatives of vectors and matrices, and their errors in the comparison with the engine.
        dims: the dimensions of the names, also of those in the steps, if there are vectors or matrices.
        steps: the steps to the derivatives, if they were requested.
    """

    command = "diff"
    tables = "autodiff_cli.report.result_tables:formula_tables"

    expression: str
    order: int
    trees: Mapping[Term, Syntax]
    at: Mapping[str, Value] | None = None
    values: Mapping[Term, Numbers | float] = field(default_factory=dict)
    matrices: Mapping[Term, MatrixDerivative] = field(default_factory=dict)
    dims: Mapping[str, tuple[Length, ...]] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    texts: dict[Term, str] = field(init=False)

    def __post_init__(self) -> None:
        """Write the trees as text."""
        self.texts = {term: unparse(tree) for term, tree in self.trees.items()}

    def content(self) -> Record:
        """Return the point and the steps, if there are any, and the derivatives, for JSON."""
        return {
            "expression": self.expression,
            "order": self.order,
            **({} if self.at is None else {"at": {name: plain(value) for name, value in self.at.items()}}),
            **({"steps": [step._asdict() for step in self.steps]} if self.steps else {}),
            "derivatives": [{"wrt": list(term), **self._record(term)} for term in self.texts],
        }

    def as_latex(self, tree: Syntax) -> str:
        """Return the LaTeX of a derivative, with bold vectors and matrices."""
        if not any(self.dims.values()):
            return latex(tree)
        from autodiff_cli.symbolic.matrices.latex import matrix_latex

        return matrix_latex(tree, self.dims)

    def records(self) -> list[dict[str, object]]:
        """Return a record for each step, or for each derivative, with names such as ``d_x_y``."""
        return [step._asdict() for step in self.steps] or [{"name": output_name(term), **self._record(term)} for term in self.texts]

    def bare(self) -> list[object]:
        """Return the values at the point, or the formulas without a point."""
        return list(self.values.values() or self.texts.values())

    def _record(self, term: Term) -> dict[str, object]:
        """Return the formula of a derivative, its value if there is a point, and its dimensions if it is not a number."""
        record: dict[str, object] = {"expression": self.texts[term]}
        if self.values:
            record["value"] = plain(self.values[term])
        if term in self.matrices:
            matrix = self.matrices[term]
            record |= {"shape": list(matrix.dims), "verified": matrix.error}
        return record


def _values_at_points(formula: str, names: Sequence[str], points: Matrix) -> Numbers:
    """Return the values of a formula at points, the columns of an array, one by one if an equation has no root, which is nan."""
    try:
        return formula_values(formula, dict(zip(names, points, strict=True)))
    except NoValue:
        if points.shape[1] == 1:
            return np.full(1, np.nan)
        return np.concatenate([np.ravel(_values_at_points(formula, names, point[:, None])) for point in points.T])


def _agree(tree: Syntax, other: Syntax, names: Sequence[str]) -> bool:
    """Return whether two formulas have nearly equal values at those of 32 random points where ``other`` is finite."""
    points = np.random.default_rng(0).uniform(-1, 1, (len(names), _POINTS)) * np.geomspace(0.1, 4, _POINTS)
    values, expected = np.broadcast_arrays(*(_values_at_points(unparse(each), names, points) for each in (tree, other)))
    finite = np.isfinite(expected)
    return bool(np.allclose(values[finite], expected[finite], rtol=1e-6, atol=1e-9))


@checks(**at_a_point(), order=COUNT)
def diff(
    expression: str,
    at: Mapping[str, Value] | None = None,
    const: Mapping[str, Value] | None = None,
    order: int = 1,
    wrt: Sequence[str] | None = None,
    *,
    simplify: bool = False,
    stable: bool = False,
    shape: Mapping[str, str | Sequence[Length]] | None = None,
    symmetric: Sequence[str] = (),
    steps: bool = False,
) -> Derivatives:
    """Return all derivatives of one order as expressions of the language.

    With ``shape``, or with arrays in ``at``, names are vectors and matrices, and the formulas contain ``@``, ``.T`` and ``inv``.

    Args:
        expression: a program of the language; names without a value are variables.
        at: the point at which to evaluate the derivatives, with a value for each variable.
        const: the values of constants, which may be arrays.
        order: the order of the derivatives, 1 or more.
        wrt: the variables to differentiate with respect to; by default, all variables.
        simplify: whether to simplify the result with SymPy.
        stable: whether to keep the form that keeps its digits, instead of the shortest form.
        shape: the dimensions of vectors and matrices, such as ``{"A": "m,n", "x": "n"}``; a length is a name or a number.
        symmetric: the names of symmetric matrices.
        steps: whether to show how the derivatives come about, rule by rule.

    Raises:
        UsageError: if the order is below 1, or a shape contradicts a value.
        ShapeError: if shapes do not fit.
        MissingValue: if ``at`` does not contain a value for each variable.
        UnknownName: if a name in ``at`` or ``wrt`` is not a variable.
        LimitError: if the order is above 100, or if the derivatives of a lower order are too long.
        NotRecordable: if a derivative does not have a formula.
        MissingPackage: if ``simplify`` is set and SymPy is not installed.
        AutodiffError: if the expression is invalid; the error contains the position in the expression.
    """
    if order < 1:
        raise UsageError(f"the order must be 1 or more, not {order}")
    check_count(order, MOST_ORDERS, "order {} is more than the limit of {}", hint="use 'autodiff taylor' for higher orders")
    values_at = evaluated_inputs(at, None, "float64")[0]
    is_array = bool(shape or symmetric or any(np.shape(value) for value in values_at.values()))
    names, by, leaves = variables_and_constants(expression, wrt, None if is_array else const)
    forms = AccurateForms if stable else ShortForms
    # A formula of arrays contains constants by name, so ``by`` contains them too.
    variables = [name for name in by if wrt is not None or name not in (const or {})]

    def derivatives(order: int) -> Derivatives:
        if is_array:
            return _array_derivatives(expression, names, variables, values_at, const, order, shape or {}, symmetric, forms)
        return _scalar_derivatives(expression, names, by, leaves, None if at is None else values_at, order, simplify, forms)

    result = derivatives(order)
    if steps:
        from autodiff_cli.symbolic.steps import derivation_steps

        orders = [*(derivatives(lower).texts for lower in range(1, order)), result.texts]
        result.steps, result.dims = derivation_steps(expression, names, orders, result.dims, symmetric, leaves)
    return result


def _scalar_derivatives(
    expression: str,
    names: Sequence[str],
    by: Sequence[str],
    leaves: Mapping[str, Tensor],
    at: Mapping[str, Value] | None,
    order: int,
    simplify: bool,
    forms: type[ShortForms],
) -> Derivatives:
    """Return the derivatives of an expression of numbers; ``diff`` describes the arguments, of which ``by`` is its ``wrt``."""
    point = None if at is None else _point(names, at)
    algebra = Algebra(in_written_order(names, parse(expression)))
    try:
        traced = partial(trace, expression, names, leaves, "float64", ScalarTracingEvaluator)
        accurate = _formulas_of_order(algebra, traced(), by, order)
        shortest = forms(algebra).shortest
        if forms is AccurateForms or order == 1:  # order 1 has no lower order to shorten: nothing is derived again
            short = {term: shortest(formula) for term, formula in accurate.items()}
        else:
            short = _formulas_of_order(algebra, traced(), by, order, shortest)
    except (NotRecordable, NoSeriesError) as error:
        raise without_formula(error, names[0]) from None
    accurate_trees = {term: to_tree(formula, names) for term, formula in accurate.items()}
    values = {} if point is None else {term: float(formula_values(unparse(tree), point)) for term, tree in accurate_trees.items()}
    if simplify:
        from autodiff_cli.symbolic.sympy_bridge import simplified

        short = simplified(algebra, short)
    short_trees = {term: to_tree(formula, names) for term, formula in short.items() if formula is not accurate[term]}
    checked = {term: tree for term, tree in short_trees.items() if _agree(tree, accurate_trees[term], names)}
    return Derivatives(expression, order, accurate_trees | checked, point, values)


def _array_derivatives(
    expression: str,
    names: Sequence[str],
    by: Sequence[str],
    at: Mapping[str, Value],
    const: Mapping[str, Value] | None,
    order: int,
    shape: Mapping[str, str | Sequence[Length]],
    symmetric: Sequence[str],
    forms: type[ShortForms],
) -> Derivatives:
    """Return the derivatives of an expression of vectors and matrices; ``diff`` describes the arguments."""
    from autodiff_cli.symbolic.matrices.diff import matrix_derivatives, numbers_of_engine

    if order > 2:
        raise UsageError(f"order {order} has no formula for vectors and matrices", hint="use order 1 or 2")
    values = {**at, **evaluated_inputs(None, const, "float64")[1]}
    dims = dimensions(names, values, shape, symmetric)
    wanted = [term for term in terms(by, order) if len(term) == order]
    matrices = matrix_derivatives(expression, names, wanted, dims, symmetric, forms)
    trees = {term: matrix.tree for term, matrix in matrices.items()}
    has_point = bool(values) and all(name in values for name in names)
    point = {name: np.asarray(values[name]) for name in names} if has_point else None
    results = {} if point is None else {term: numbers_of_engine(expression, term, point) for term in trees}
    return Derivatives(expression, order, trees, point, results, matrices, {name: dims.get(name, ()) for name in names})


def dimensions(
    names: Sequence[str], values: Mapping[str, Any], shape: Mapping[str, str | Sequence[Length]], symmetric: Sequence[str]
) -> dict[str, tuple[Length, ...]]:
    """Return the dimensions of names from their values and the options of ``diff``; a symmetric name alone is ``n`` by ``n``."""
    for name in (*values, *shape, *symmetric):
        if name not in names:
            raise UnknownName(f"the expression has no variable '{name}'", hint=suggestion(name, names))
    dims = {name: tuple(map(as_length, np.shape(value))) for name, value in values.items()}
    for name, spec in shape.items():
        lengths = tuple(as_length(length) for length in (spec.split(",") if isinstance(spec, str) else spec))
        known = dims.setdefault(name, lengths)
        is_contradicted = [a != b for a, b in zip(known, lengths, strict=False) if str(b).isdecimal()]
        if len(known) != len(lengths) or any(is_contradicted):
            raise UsageError(f"the value of '{name}' has shape {list(np.shape(values[name]))}, not {','.join(map(str, lengths))}")
    for name in symmetric:
        lengths = dims.setdefault(name, ("n", "n"))
        if len(lengths) != 2 or lengths[0] != lengths[1]:
            raise UsageError(f"'{name}' has the dimensions {', '.join(map(str, dims[name]))}, so it is not symmetric")
    return dims


def as_length(length: Length) -> Length:
    """Return a length as ``matrices`` names it: names, the digits of a number, or a product such as ``m*n``; 1 broadcasts."""
    factors = [text.strip() for text in str(length).split("*")]
    if not all(text.isidentifier() or (text.isdecimal() and int(text) > 0) for text in factors):
        raise UsageError(f"'{length}' is not a length", hint="write names, numbers or products, as in A=m,n or x=3 or y=m*n")
    from autodiff_cli.symbolic.matrices.arrays import length_product

    return length_product(factors)


def _point(names: Sequence[str], at: Mapping[str, Any]) -> dict[str, float]:
    """Return the values of all variables as floats; a missing value and an unknown name are errors."""
    for name in at:
        if name not in names:
            hint = suggestion(name, names) or f"use one of its variables: {', '.join(names)}"
            raise UnknownName(f"the expression has no variable '{name}'", hint=hint)
    missing = [name for name in names if name not in at]
    if missing:
        hint = f"add {setting('at', f'{missing[0]}=1')}, or leave out all values to compute only the formula"
        raise MissingValue(f"no value for '{missing[0]}'", hint=hint)
    return {name: float(at[name]) for name in names}


def variables_and_constants(
    expression: str, wrt: Sequence[str] | None, const: Mapping[str, Any] | None
) -> tuple[list[str], list[str], dict[str, Tensor]]:
    """Return the variables, those to differentiate with respect to (by default all), and the tensors of the constants by name.

    Raises:
        UsageError: if ``wrt`` is empty, or if every name of the expression has a value.
        AutodiffError: if the expression or an argument is invalid.
    """
    names, by, leaves = names_and_values(expression, wrt, const, "float64")
    if not by:
        raise UsageError("a derivative needs a variable", hint="leave a name without a value to make it a variable")
    return names, by, leaves


def without_formula(error: NotRecordable | NoSeriesError, variable: str) -> NotRecordable:
    """Return the error for an expression without a formula, which hints at ``autodiff grad`` if ``error`` has no hint."""
    if isinstance(error, NotRecordable) and error.hint is not None:
        return error
    arguments = error.arguments() | {"hint": f"use 'autodiff grad' with {setting('at', f'{variable}=1')} to compute numbers"}
    if isinstance(error, NoSeriesError):
        arguments["message"] = "this operation has no elementwise formula"
    return NotRecordable(**arguments)


def _formulas_of_order(
    algebra: Algebra, traced: Traced, by: Sequence[str], order: int, rewrite: Callable[[Formula], Formula] = lambda formula: formula
) -> dict[Term, Formula]:
    """Return the derivatives of one order as formulas, after the formulas of each order up to it are rewritten.

    The derivatives of each lower order are converted to formulas and traced again, so that collected terms are differentiated only
    once.  This also removes the guards of VJP rules, but keeps primitives that are not functions of the language.
    """
    lower_orders: dict[Term, Traced] = {(): traced}
    for step in range(1, order + 1):
        result: dict[Term, Formula] = {}
        for term, (tape, outputs, variables) in lower_orders.items():
            own = len(tape.instructions)  # the instructions after these belong to VJP rules
            following = by[by.index(term[-1]) if term else 0 :]  # mixed derivatives are in the order of ``by``
            with np.errstate(all="ignore"), set_grad_enabled(False):
                slopes = gradient(outputs[0], [variables[name] for name in following])
            if step == order:
                slopes = lower(tape, slopes)
            for name, formula in zip(following, formulas(algebra, slopes, own), strict=True):
                result[*term, name] = rewrite(formula)
        if step < order:
            lower_orders = _traced_again(result, traced.variables, step)
    return result


def _traced_again(derivatives: Mapping[Term, Formula], names: Iterable[str], order: int) -> dict[Term, Traced]:
    """Trace the derivatives of one order, to differentiate them; raise ``LimitError`` if they are too long together."""
    result: dict[Term, Traced] = {}
    operations = 0
    too_long = f"the derivatives of order {order} have at least {{}} operations, more than the limit of {{}}"
    hint = "use a lower order, or compute numbers with 'autodiff taylor' or 'autodiff grad'"
    for term, formula in derivatives.items():
        result[term] = retraced(formula, names)
        operations += len(result[term].tape.instructions) + 1
        check_count(operations, MOST_OPERATIONS, too_long, hint=hint)
    return result
