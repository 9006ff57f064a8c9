"""Detection of steps that overflow or underflow, so that their results are infinite or 0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.evaluation.trace import Step, Trace, flat_inputs, is_pointwise, raw
from autodiff_cli.notes.rounding_bounds import MAY_BE_0

if TYPE_CHECKING:
    from numpy.typing import NDArray


class RangeExcess(NamedTuple):
    """A step whose result is outside the range of floats.

    Attributes:
        step: the step.
        kind: ``overflow`` or ``underflow``.
        mask: the affected elements.
    """

    step: Step
    kind: str
    mask: NDArray[np.bool_]


def range_excesses(trace: Trace) -> Iterator[RangeExcess]:
    """Yield the steps that overflow or underflow although all their arguments are finite; a step that does both overflows."""
    tiny = np.finfo(np.float64).tiny
    for step in trace:
        numbers = raw(step.result)
        if step.op is None or not _is_float(step):
            continue
        with np.errstate(all="ignore"):
            infinite, tiny_or_0 = np.isinf(numbers), np.abs(numbers) < tiny
        if not (np.any(infinite) or np.any(tiny_or_0)):
            continue
        inputs = [raw(value) for value in flat_inputs(step)]
        arguments = [value for value in inputs if hasattr(value, "__array__") or isinstance(value, (int, float))]
        if not all(np.all(np.isfinite(value)) for value in arguments):
            continue
        # The logarithm of 0 and a division by 0 are infinite without overflow.
        may_be_pole = step.op.name not in ("mul", "add", "sub", "square") and any(np.any(np.equal(x, 0)) for x in arguments[-2:])
        if np.any(infinite) and not may_be_pole:
            yield RangeExcess(step, "overflow", _mask_of_elements(step, infinite))
            continue
        may_be_0 = step.op.name in MAY_BE_0 or any(np.any(np.equal(x, 0)) for x in arguments)
        if np.any(tiny_or_0) and not may_be_0:
            yield RangeExcess(step, "underflow", _mask_of_elements(step, tiny_or_0))


def square_leaves_range(trace: Trace) -> bool:
    """Return whether the square of a result is outside the range of floats; the backward pass may then overflow."""
    for step in trace:
        if step.op is not None and _is_float(step):
            sizes = np.abs(raw(step.result))
            info = np.finfo(np.result_type(sizes))
            if np.any((sizes > np.sqrt(info.max)) | ((sizes < np.sqrt(info.tiny)) & (sizes > 0))):
                return True
    return False


def _is_float(step: Step) -> bool:
    """Return whether the result of a step is one float or one tensor of floats."""
    return not isinstance(step.result, tuple) and np.result_type(raw(step.result)).kind == "f"


def _mask_of_elements(step: Step, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return a mask of the elements; for a step that is not pointwise, one truth value."""
    return np.asarray(mask) if is_pointwise(step) else np.asarray(bool(np.any(mask)))
