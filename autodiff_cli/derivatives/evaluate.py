"""``eval`` and ``grad``: the value of an expression at a point, its derivatives, and all intermediate tensors."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.primitives.interface_kinds import COUNT, at_a_point, checks
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.command_result import Record, plain
from autodiff_cli.derivatives.lazy_notes import DerivativeResult, all_notes
from autodiff_cli.errors import AutodiffError, GraphError, MissingValue, NotFiniteError, UsageError, setting
from autodiff_cli.evaluation.evaluation import COLUMNS, Evaluation, TensorRow, plain_records
from autodiff_cli.evaluation.names import no_variable_error
from autodiff_cli.limits import MOST_ORDERS, MOST_TURNS, check_bytes, check_count, held
from autodiff_cli.wording import listed

if TYPE_CHECKING:
    from autodiff_cli.autograd.higher_order import Index
    from autodiff_cli.evaluation.evaluation import Value


class Result(DerivativeResult):
    """The result of ``evaluate``, which sets the attributes of a new result.

    Attributes:
        value: the output, as a float or an array.
        grad: the gradient with respect to each variable, in the shape of the variable; ``None`` if it was not requested.
        shapes: the shape of each variable.
        hessian: the second derivative for each pair of variables, for order 2 and above; its shape is the shape of the first
            variable followed by the shape of the second variable.
        derivatives: all partial derivatives of order 2 and above, keyed by the combination of variables, with each mixed derivative
            once.
        tensors: one row for each tensor, in the order of evaluation.
        integrals: for each integral, its expression, span and value, and an estimate of its error.
        verified: the verified digits, or ``None`` if they were not requested.
        notes: the notes on the evaluation, ``{"kind", "span", "message"}``; they are computed when first read.
    """

    def __init__(self, command: str, expression: str, dtype: str, order: int) -> None:
        self.command = command
        self.kinds = ("value", "grad") if command == "eval" else ("grad",)
        self.tables = f"autodiff_cli.report.result_tables:{'evaluation' if command == 'eval' else 'gradient'}_tables"
        self.expression = expression
        self.dtype = dtype
        self.order = order
        self.value: Any = None
        self.tensors: list[TensorRow] = []
        self.grad: dict[str, Any] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.hessian: dict[str, dict[str, Any]] = {}
        self.derivatives: dict[Index, Any] = {}
        self.integrals: list[dict[str, Any]] = []

    def content(self) -> Record:
        """Return the JSON object, in which verified numbers are marked, or replaced by texts with all digits."""
        tensors = self._verified_tensors() if self.command == "eval" else []
        result: Record = {
            "expression": self.expression,
            "dtype": self.dtype,
            "order": self.order,
            "value": plain(self.value),
            **({"tensors": tensors} if self.command == "eval" else {}),
            "grad": {name: plain(value) for name, value in self.grad.items()},
            **({"integrals": plain_records(self.integrals)} if self.integrals else {}),
        }
        if self.order >= 2:
            result["hessian"] = {a: {b: plain(value) for b, value in row.items()} for a, row in self.hessian.items()}
            result["derivatives"] = [
                {"order": len(index), "wrt": list(index), "value": self._digits_or_number(index, value)}
                for index, value in self.derivatives.items()
            ]
        return self.completed(result)

    def _verified_tensors(self) -> list[Record]:
        """Return a record for each tensor, with the correct digits of its value if they were requested."""
        records = plain_records(row._asdict() for row in self.tensors)
        if self.verified is not None:
            for record in records:
                self.verified.mark(record, "value", ("tensors", record["name"]))
        return records

    def _digits_or_number(self, index: Index, value: Any) -> Any:
        """Return a derivative of order 2 or above as text with all requested digits, or as a number without a request or a text."""
        if self.verified is None or self.verified.digits is None:
            return plain(value)
        path = ("hessian" if len(index) == 2 else "derivatives", *index)
        return self.verified.texts.get(path, plain(value))

    def numbers(self) -> list[tuple[str, Any]]:
        """Return the value and every derivative, each with the name that messages use for it."""
        return [("the value", self.value), *_named_derivatives(self.grad, self.derivatives)]

    def bare(self) -> list[Any]:
        """Return the value and the derivatives, as numbers or texts with all digits; for ``grad``, the derivatives alone."""
        entries = super().bare()
        has_texts = self.verified is not None and self.verified.digits is not None  # only those of ``kinds``
        return entries[1:] if self.command == "grad" and not has_texts else entries

    def records(self) -> list[Record]:
        """Return a record for each tensor or, for ``grad``, each gradient.  Higher derivatives, such as ``d_x_y``, follow."""
        content = self.content()
        if self.command == "grad":
            records = [{"name": f"d_{name}", "value": value} for name, value in content["grad"].items()]
        else:
            records = [{column: row[column] for column in COLUMNS} for row in content["tensors"]]
        for entry in content.get("derivatives", ()):  # those of order 2 and above
            records.append({"name": "_".join(["d", *entry["wrt"]]), "value": entry["value"]})
        return self.beside(records)

    def lines(self) -> list[Record]:
        """Return the records of ``grad``; for ``eval``, the whole rows of the tensors, and then the higher derivatives."""
        content = self.content()
        return self.records() if self.command == "grad" else [*content["tensors"], *content.get("derivatives", ())]


def _named_derivatives(gradient: Mapping[str, Any], higher: Mapping[Index, Any]) -> list[tuple[str, Any]]:
    """Return every derivative that was computed (a gradient may be ``None``), with the name that messages use for it."""
    result = {(name,): value for name, value in gradient.items() if value is not None} | {**higher}
    return [(f"the derivative with respect to {', '.join(index)}", value) for index, value in result.items()]


@checks(**at_a_point(), order=COUNT)
def evaluate(
    expression: str,
    at: Mapping[str, Any] | None = None,
    const: Mapping[str, Any] | None = None,
    order: int = 1,
    wrt: Sequence[str] | None = None,
    dtype: str = "float64",
    *,
    gradient: Any = None,
    retain_grad: Sequence[str] = (),
    backward: int | None = None,
    retain_graph: bool = False,
    zero_grad: bool = False,
    no_grad: bool = False,
    create_graph: bool = False,
    inputs: Sequence[str] | None = None,
    hooks: Sequence[str] = (),
    strict: bool = False,
    verify: bool = False,
    digits: int | None = None,
    command: str = "eval",
) -> Result:
    """Evaluate an expression and differentiate it at a point.

    Args:
        expression: a program of the language, such as ``"log(x**3)"``.
        at: the values of the variables: numbers, arrays, or texts such as ``"2*pi"``.
        const: the values of constants, which are not differentiated.
        order: the highest order of derivative; 0 computes only the value.
        wrt: the variables to differentiate with respect to; by default, all variables in ``at``.
        dtype: ``float64`` or ``float32``.
        gradient: the gradient that starts the backward pass, required if the output is not a scalar.
        retain_grad: the names of tensors whose gradients are retained, or ``["all"]``.
        backward: the number of backward passes, by default one if there are variables; more require ``retain_graph``.
        retain_graph: whether to keep the graph after the backward pass.
        zero_grad: whether to zero the gradients of the variables between backward passes.
        no_grad: whether to evaluate without recording a graph.
        create_graph: whether to record the backward pass, so that gradients have a ``grad_fn``.
        inputs: the names of the tensors whose ``.grad`` is accumulated; by default, all leaves.
        hooks: hooks such as ``"y=2*grad"``, each of which replaces the gradient of a tensor.
        strict: whether to raise ``NotFiniteError`` if a value or derivative is not finite.
        verify: whether to recompute all numbers with 50 digits and count the correct digits.
        digits: the number of digits to which the numbers are computed; ``None`` for floats.
        command: the command that produces the result, ``eval`` or ``grad``.

    Raises:
        AutodiffError: if the expression or an argument is invalid; the error contains the position in the expression and a hint.
    """
    _check_order(order, least=1 if command == "grad" else 0, backward=backward)
    passes = 0 if order == 0 else backward  # ``None`` for one pass, if there is something to differentiate
    evaluation = Evaluation(expression, at, const, wrt, dtype, no_grad, gradient)
    result = Result(command, expression, dtype, order)
    result.value = evaluation.output._data
    result.shapes = {name: leaf.shape for name, leaf in evaluation.variables.items()}
    first_notes = evaluation.notes()  # those of the evaluation itself
    with np.errstate(all="ignore"):
        if order > 1 and evaluation.variables and not no_grad:  # before the backward pass, which frees the graph
            _add_higher_orders(evaluation, result)
            if hooks:
                from autodiff_cli.evaluation.note_phrases import note

                first_notes.append(note("hook", "hooks change gradients, not the derivatives of order 2 and above"))
        _retain_gradients(evaluation, retain_grad)
        for text in hooks:
            _register_hook(evaluation, text)
        if passes is not None or (evaluation.differentiable and evaluation.variables):  # with None, only if possible
            check_bytes(held())  # the gradients need as much memory as the tensors
            leaves = None if inputs is None else [evaluation.find(name, "inputs") for name in inputs]
            _run_backward(evaluation, 1 if passes is None else passes, retain_graph, zero_grad, create_graph, leaves)
    requested = evaluation.variables if inputs is None else inputs
    result.grad = _gradients(evaluation.variables, () if no_grad or passes == 0 else requested)
    # The dictionaries are bound, and not the result, to avoid a reference cycle.
    named = partial(_named_derivatives, result.grad, result.derivatives)
    result.compute_notes = partial(all_notes, evaluation, first_notes, named, order, shows_value=command != "grad")
    result.tensors = evaluation.rows() + (evaluation.gradient_rows() if create_graph else [])
    result.integrals = evaluation.evaluator.tensors.integrals
    if strict:
        check_finite(result.numbers(), result.notes, expression)
    if verify or digits is not None:
        has_other_passes = order > 0 and passes not in (None, 1)
        has_effects = bool(hooks) or no_grad or inputs is not None or has_other_passes
        _add_verified_digits(evaluation, result, digits, has_effects)
    return result


def _add_verified_digits(evaluation: Evaluation, result: Result, digits: int | None, has_effects: bool) -> None:
    """Set the correct digits of a result; ``UsageError`` if settings have effects, so that gradients are not derivatives."""
    if has_effects:
        raise UsageError(
            f"{setting('verify')} and {setting('digits')} apply to the value and the derivatives, "
            "not to the effects of hooks and repeated backward passes",
            hint=f"leave out {listed([setting(name) for name in ('hooks', 'backward', 'inputs', 'no_grad')])}",
        )
    from autodiff_cli.precise.right_digits import verified

    numbers = _numbers_by_path(result)
    result.verified = verified(evaluation, result.order, digits, numbers, has_tensors=result.command == "eval")


def _check_order(order: int, least: int, backward: int | None) -> None:
    """Raise ``UsageError`` for an order below ``least``, or 0 with backward passes; ``LimitError`` if one of both is too high."""
    if order < least:
        hint = "use 1 for the gradient, or 2 to add the second derivatives"
        raise UsageError(f"the order must be {least} or more, not {order}", hint=hint)
    if order == 0 and backward:
        raise UsageError("order 0 is the value alone, without a backward pass", hint=f"leave out {setting('backward')}")
    check_count(order, MOST_ORDERS, "order {} is more than the limit of {}")
    check_count(backward or 0, MOST_TURNS, "{} backward passes are more than the limit of {}")


def _add_higher_orders(evaluation: Evaluation, result: Result) -> None:
    """Compute the derivatives of order 2 and above, and set them in a result."""
    from autodiff_cli.derivatives.partial_derivatives import hessian, partial_derivatives

    partials = partial_derivatives(evaluation, result.order)
    result.hessian = hessian(evaluation, partials)
    result.derivatives = {index: value for index, value in partials.items() if len(index) > 1}


def _gradients(variables: Mapping[str, Tensor], requested: Collection[str]) -> dict[str, Any]:
    """Return the gradient of each variable; one that was requested and not computed is 0, and any other one is ``None``."""
    gradients: dict[str, Any] = {}
    for name, leaf in variables.items():
        if leaf.grad is not None:
            gradients[name] = leaf.grad._data
        else:
            gradients[name] = np.zeros(leaf.shape, leaf.dtype)[()] if name in requested else None  # [()]: a scalar is a number
    return gradients


@checks(**at_a_point("autograd.grad"), order=COUNT)
def grad(
    expression: str,
    at: Mapping[str, Value] | None = None,
    const: Mapping[str, Value] | None = None,
    order: int = 1,
    wrt: Sequence[str] | None = None,
    dtype: str = "float64",
    *,
    gradient: Value | None = None,
    strict: bool = False,
    verify: bool = False,
    digits: int | None = None,
) -> Result:
    """Compute the gradient of an expression at a point; the arguments and the errors are those of ``evaluate``.

    An empty ``at`` raises ``MissingValue``.
    """
    result = evaluate(
        expression, at, const, order, wrt, dtype, gradient=gradient, strict=strict, verify=verify, digits=digits, command="grad"
    )
    if not result.grad:
        raise no_variable_error("grad")
    return result


def _numbers_by_path(result: Result) -> dict[tuple[str, ...], Any]:
    """Return the value and the derivatives by their paths, such as ``("hessian", "x", "y")``.  Order 0 has no gradient."""
    return {
        ("value",): result.value,
        **{("grad", name): value for name, value in result.grad.items() if result.order},
        **{("hessian", a, b): value for a, row in result.hessian.items() for b, value in row.items()},
        **{("derivatives", *index): value for index, value in result.derivatives.items() if len(index) > 2},  # 2: the Hessian
    }


def _retain_gradients(evaluation: Evaluation, names: Sequence[str]) -> None:
    """Retain the gradients of the named tensors, or of all tensors that require grad for ``["all"]``."""
    if list(names) == ["all"]:
        tensors = [tensor for tensor, _ in evaluation.evaluator.tensors.entries if tensor.requires_grad]
    else:
        tensors = [evaluation.find(name, "retain_grad") for name in names]
    for tensor in tensors:
        tensor.retain_grad()


def _register_hook(evaluation: Evaluation, text: str) -> None:
    """Register ``NAME=EXPR`` as a hook on a tensor; ``grad`` in EXPR is its gradient.  An invalid one is an ``AutodiffError``."""
    name, equals, formula = text.partition("=")
    if not equals or not formula.strip():
        raise UsageError(f"expected a hook NAME=EXPR, but got '{text}'", hint='write a hook such as "y=2*grad"')
    subject = f"{setting('hooks')} {name.strip()}"
    tensor = evaluation.find(name.strip(), "hooks")

    def hook(gradient: Tensor | None) -> Tensor | None:
        """Return the value of the formula for the gradient that the backward pass hands over; ``None`` keeps it as it is."""
        if gradient is None:
            return None
        try:
            return evaluation.evaluate_formula(formula, {"grad": gradient})
        except AutodiffError as error:
            error.about(subject)
            raise

    try:
        evaluation.evaluate_formula(formula, {"grad": tensor.detach()})  # finds errors before the backward pass
    except MissingValue as error:
        error.about(subject)
        error.hint = "the name of the gradient is grad, as in y=2*grad"
        raise
    tensor.register_hook(hook)


def _run_backward(
    evaluation: Evaluation, times: int, retain_graph: bool, zero_grad: bool, create_graph: bool, inputs: list[Tensor] | None
) -> None:
    """Run the backward pass a number of times, with gradients that accumulate in ``inputs``, by default in all leaves.

    The three flags are those of ``evaluate``.  An error of the pass has the place of the output in the expression.
    """
    if times and evaluation.differentiable:
        evaluation.require_scalar()
    source, span = evaluation.expression, evaluation.evaluator.tree.children[-1].span
    for turn in range(times):
        if turn and zero_grad:  # between two passes
            for leaf in evaluation.variables.values():
                leaf.grad = None if leaf.grad is None else leaf.grad * 0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the cycle that create_graph makes ends with the evaluation
                evaluation.output.backward(evaluation.gradient, retain_graph or create_graph, create_graph, inputs=inputs)
        except AutodiffError as error:
            if turn and isinstance(error, GraphError):
                error.hint = f"add {setting('retain_graph')} to run the backward pass more than once"
            raise error.at(span, source) from None


def check_finite(named: Sequence[tuple[str, Any]], notes: Sequence[dict[str, Any]] = (), source: str | None = None) -> None:
    """Raise ``NotFiniteError`` if a number is nan or infinite.

    Args:
        named: the numbers, each with the name that messages use for it.
        notes: the notes on the numbers; the error includes the first note on the origin of nan or inf.
        source: the expression that the spans of the notes refer to.
    """
    for name, value in named:
        numbers = np.ravel(value)
        wrong = numbers[~np.isfinite(numbers)]
        if not wrong.size:
            continue
        origin = _origin_note(notes)
        span = origin["span"] if origin else None
        raise NotFiniteError(
            f"{name} is {wrong[0]}" + (f"; {origin['message']}" if origin else ""),
            span=tuple(span) if span else None,
            source=source if span else None,
            hint=f"drop {setting('strict')} to accept nan and inf",
        )


def _origin_note(notes: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the first note on the origin of nan or inf, one with a place in the expression if there is one."""
    with_place = (note for note in notes if note["kind"] in ("domain", "nonfinite") and note["span"])
    without_place = (note for note in notes if note["kind"] == "nonfinite")
    return next(with_place, None) or next(without_place, None)
