"""Where a derivative that is not finite was born, if the value is finite: the operation whose own derivative is nan or inf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import GraphError
from autodiff_cli.evaluation.phrasing import among, arguments_at, beside, first_place, note, ordinal, shortened
from autodiff_cli.evaluation.trace import Step, invoke, pointwise, raw
from autodiff_cli.notes.arriving import arriving
from autodiff_cli.notes.births import is_finite

if TYPE_CHECKING:
    from autodiff_cli.evaluation.evaluation import Evaluation

Note = dict[str, Any]


def of_derivatives(evaluation: Evaluation, numbers: Sequence[tuple[str, Any]], order: int) -> list[Note]:
    """The operation whose own derivative is nan or inf, if the value is a number and a derivative is none."""
    bad = [(name, value) for name, value in numbers if value is not None and not is_finite(value)]
    if not bad or not is_finite(evaluation.output._data):
        return []
    name, value = bad[0]
    final = np.ravel(value)[~np.isfinite(np.ravel(value))][0]
    for level in range(1, order + 1):
        found = _first_slope(evaluation, level)
        if found is not None:
            step, kind, text = found
            which = ordinal(level)
            result = "" if kind == str(final) else f", of which {name} becomes {final}"
            return [note("nonfinite", f"the first {kind} of a {which}: {text}{result}", step.tree.span, order=level)]
    return [note("nonfinite", f"{name} is {final}, where finite derivatives of the operations meet", order=order)]


def _first_slope(evaluation: Evaluation, order: int) -> tuple[Step, str, str] | None:
    if order == 1:
        trace, gradients = arriving(evaluation)
    else:
        trace, gradients = evaluation.trace, {}
    for step in reversed(trace):
        op, _, _, result, _ = step
        if op is None or type(result) is not Tensor or not result._requires_grad:
            continue
        arrived = gradients.get(id(result)) if order == 1 else None
        if (arrived is None or not is_finite(arrived)) if order == 1 else not is_finite(result._data):
            continue
        for key, slope in _own_slopes(step, arrived, order):
            if not is_finite(slope):
                bad = ~np.isfinite(slope)
                place = first_place(bad)
                value = dict(step.slots)[key]
                whole = np.shape(raw(value)) == np.shape(raw(result))
                texts = arguments_at(step, place, bad.shape, pointwise(step) and whole, evaluation.expression)
                text = shortened(evaluation.expression, step.tree.span)
                with_ = beside(texts)
                return step, str(np.asarray(slope)[place]), f"{text}{with_}{among(bad)}"
    return None


def _own_slopes(step: Step, arrived: Any, order: int) -> list[tuple[Any, Any]]:
    """The derivatives of that order of one operation by its arguments, times what arrived."""
    op = step.op
    assert op is not None
    given: dict[Any, Any] = {}
    leaves: dict[Any, Tensor] = {}
    for key, value in step.slots:
        if op.variadic and isinstance(value, list):
            given[key] = [v.detach() for v in value]
        else:
            given[key] = value.detach() if type(value) is Tensor else value
        if type(value) is Tensor and value._requires_grad:
            leaves[key] = given[key] = value.detach().requires_grad_()
    output = invoke(op, [given[i] for i in range(len(step.arguments))], {name: given[name] for name in step.keywords})
    if not leaves or type(output) is not Tensor or not output.requires_grad:
        return []
    inputs = list(leaves.values())
    start = None if arrived is None else Tensor(arrived)
    total = output if arrived is not None or not output.shape else output.sum()
    try:
        slopes = grad(total, inputs, start, create_graph=order > 1, materialize_grads=True)
    except GraphError:  # a derivative that is not implemented
        return []
    for _ in range(order - 1):
        parts = [slope.sum() for slope in slopes if slope.requires_grad]
        if not parts:
            return []
        whole = parts[0]
        for part in parts[1:]:
            whole = whole + part
        slopes = grad(whole, inputs, create_graph=True, materialize_grads=True)
    return [(key, slope._data) for key, slope in zip(leaves, slopes, strict=True)]
