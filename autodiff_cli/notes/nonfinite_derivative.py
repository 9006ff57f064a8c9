"""The origin of a non-finite derivative of a finite value: the operation whose own derivative is nan or inf."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor, new_tensor
from autodiff_cli.errors import GraphError
from autodiff_cli.evaluation.note_phrases import Description, Note, derivative_phrase, describe_step, first_true_index, note
from autodiff_cli.evaluation.trace import Step, is_pointwise, raw
from autodiff_cli.language.tree import binding
from autodiff_cli.notes.kinks import step_gradients
from autodiff_cli.notes.nonfinite_value import is_finite

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.evaluation.evaluation import Evaluation
    from autodiff_cli.notes import Numbers

    Array = NDArray[np.floating]

_REASONS = {
    **dict.fromkeys(("root", "argmin"), "the derivative by the unknown is 0 or not finite, as at a multiple root"),
    "integral": "the integrand is singular at a place that moves with a variable, or at a limit; "
    "substitute, such as t = x + u, so that the limits move instead",
}
"""Why the derivative of a value that a definition gives is not finite."""


def nonfinite_derivative_notes(evaluation: Evaluation, numbers: Numbers, order: int) -> list[Note]:
    """Return the note on the first non-finite derivative among ``numbers``, if the value is finite."""
    nonfinite = [(name, value) for name, value in numbers if value is not None and not is_finite(value)]
    if not nonfinite or not is_finite(evaluation.output._data):
        return []
    name, value = nonfinite[0]
    final = np.ravel(value)[~np.isfinite(np.ravel(value))][0]
    for level in range(1, order + 1):  # the derivatives of operations of a lower order explain those of a higher one
        origin = _first_origin(evaluation, level)
        if origin is not None:
            step, kind, text = origin
            effect = "" if kind == str(final) else f", which makes {name} {final}"
            among = derivative_phrase(level).replace("derivative", "derivatives")
            return [note("nonfinite", f"the first {kind} among the {among}: {text}{effect}", step.tree.span, order=level)]
    for step in reversed(evaluation.trace):
        if step.op is None and binding(step.tree) is not None:
            return [note("nonfinite", f"{name} is {final}: {_REASONS[step.tree.children[0].text]}", step.tree.span, order=order)]
    return [note("nonfinite", f"{name} is {final}, although the derivatives of all operations are finite", order=order)]


def _first_origin(evaluation: Evaluation, order: int) -> tuple[Step, str, Description] | None:
    """Return the last step whose own derivative is not finite, or ``None``, with ``nan`` or ``inf`` and the words for the step."""
    trace, gradients = step_gradients(evaluation) if order == 1 else (evaluation.trace, {})
    for step in reversed(trace):
        result = step.result
        if step.op is None or type(result) is not Tensor or not result._requires_grad:
            continue
        cotangent = gradients.get(id(result))
        given = result._data if order > 1 else cotangent  # what the derivative is multiplied with or depends on
        if given is None or not is_finite(given):
            continue  # an earlier step, or one that the backward pass reaches before, explains it
        for key, derivative in _own_derivatives(step, cotangent, order):
            if not is_finite(derivative):
                mask = ~np.isfinite(derivative)
                is_same_shape = np.shape(raw(dict(step.slots)[key])) == np.shape(raw(result))
                description = describe_step(evaluation, step, mask, is_pointwise(step) and is_same_shape)
                return step, str(np.asarray(derivative)[first_true_index(mask)]), description
    return None


def _own_derivatives(step: Step, cotangent: Array | None, order: int) -> list[tuple[int | str, Array]]:
    """Return the derivatives by argument, times a cotangent or else of the sum of the output; none if they are not implemented."""
    arguments = {key: _detached(value) for key, value in step.slots}
    leaves = {key: arguments[key].requires_grad_() for key, value in step.slots if type(value) is Tensor and value._requires_grad}
    output = step.again(arguments)
    if not leaves or type(output) is not Tensor or not output.requires_grad:
        return []
    inputs = list(leaves.values())
    start = None if cotangent is None else new_tensor(cotangent)
    total = output if start is not None or not output.shape else output.sum()
    try:
        derivatives = grad(total, inputs, start, create_graph=order > 1, materialize_grads=True)
    except GraphError:  # a derivative that is not implemented
        return []
    for _ in range(order - 1):  # each turn differentiates the sum of all derivatives of the order before
        sums = [derivative.sum() for derivative in derivatives if derivative.requires_grad]
        if not sums:
            return []
        derivatives = grad(sum(sums[1:], sums[0]), inputs, create_graph=True, materialize_grads=True)
    return [(key, derivative._data) for key, derivative in zip(leaves, derivatives, strict=True)]


def _detached(value: object) -> Any:
    """Return an argument, a tensor or a list of tensors, without its history; other values stay as they are."""
    if isinstance(value, list):
        return [_detached(item) for item in value]
    return value.detach() if isinstance(value, Tensor) else value
