"""Loss of digits in an evaluation, found by propagating an error bound along the trace.

Each value has an error in units of the machine epsilon of its type.  The given values are assumed to be exact.  The rounding
of an operation adds an error of half the magnitude of the result, in these units.  The errors of its arguments cause the change
of the result that a movement of the arguments by these errors causes.  A bound that is too large, such as that of ``2*x - 6`` at 3,
does no harm: a value is compared with its arbitrary-precision value before a note is made.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.autograd.tensor import Tensor, new_tensor
from autodiff_cli.evaluation.trace import Step, Trace, flat_inputs, is_pointwise, raw

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from autodiff_cli.arrays import Mask

    Array = NDArray[np.float64]
    Error = Array | float
    """The errors of the elements of a value, or one error for all elements."""
    Sample = tuple[NDArray[np.int64], ...] | None
    """The indices of a sample of a large tensor, or ``None`` if all elements are examined."""

Key = int | str
"""The key of an argument of a step: its position or its keyword."""

MOST_STEPS = 2_000
"""The largest number of steps for which notes on lost digits are computed; for more steps, the computation would be too slow."""
MOST_ELEMENTS, SAMPLE = 10_000, 1_000
"""The largest tensor that is examined completely, and the size of the sample of a larger tensor."""

EXACT = {
    *("neg", "pos", "abs", "maximum", "minimum", "max", "min", "clamp", "where", "relu", "floor", "ceil", "round", "trunc"),
    *("sign", "hardtanh", "relu6", "remainder", "fmod", "frac", "floor_divide", "hardshrink", "threshold"),
}
"""The operations that do not round."""
_SCALE = 1024.0
"""The factor by which errors are enlarged to see their effects, which rounding would hide."""


class DigitLoss(NamedTuple):
    """A step after which less than half of the digits are correct.

    Attributes:
        step: the step that loses the digits.
        mask: the affected elements.
        place: the index of the element with the largest error.
        digits: the number of lost digits.
        sampled: the number of examined elements, or ``None`` if all elements were examined.
    """

    step: Step
    mask: Mask
    place: tuple[int, ...]
    digits: int
    sampled: int | None


def total_digits(eps: float) -> int:
    """Return the number of decimal digits of a type with the machine epsilon ``eps``."""
    return round(-math.log10(eps))


def digits_lost(relative: float, total: int) -> int:
    """Return the number of digits, out of ``total``, that a relative error destroys."""
    return total - min(max(int(-math.log10(min(relative, 1.0))), 0), total)


def find_digit_losses(trace: Trace, output: Tensor, dtype: str) -> tuple[list[DigitLoss], bool]:
    """Return the steps that lost more than half of the digits, and whether the output lost more than half of its digits."""
    if len(trace) > MOST_STEPS or output.dtype.kind != "f":
        return [], False
    errors = _Errors(trace, float(np.finfo(dtype).eps))
    for step in trace:
        if type(step.result) is Tensor or isinstance(step.result, float):
            errors.add(step)
    known = errors.error(output) if errors.is_result(output) or output.shape else errors.error(float(output._data))
    return errors.lost, bool(np.any(known)) and bool(np.any(_sampled_relative(known, output._data) > errors.limit))


class _Errors:
    """The errors of all values computed so far."""

    def __init__(self, trace: Trace, eps: float) -> None:
        self.limit = 1 / math.sqrt(eps)
        self.lost: list[DigitLoss] = []
        self._eps = eps
        self._of: dict[int, Error] = {}
        self._plain: dict[float, float] = {}
        self._steps_by_result = {id(step.result): step for step in reversed(trace)}

    def error(self, value: object) -> Error:
        if type(value) is Tensor:
            return self._of.get(id(value), 0.0)
        return self._plain.get(value, 0.0) if isinstance(value, float) else 0.0

    def is_result(self, value: object) -> bool:
        """Return whether a step made a value."""
        return id(value) in self._steps_by_result

    def add(self, step: Step) -> None:
        """Compute the error of the result of a step."""
        op, result = step.op, step.result
        if type(result) is Tensor and (result.dtype.kind != "f" or id(result) in self._of):
            return
        places = _sample_indices(np.shape(raw(result)))
        if op is not None and is_pointwise(step):
            error, before = self._pointwise_error(step, op, places)
        elif op is not None and op.name in ("sum", "mean"):
            error, before = self._sum_error(step, op.name == "mean", places)
        else:
            error, before = self._other_error(step, places)
        numbers = np.asarray(raw(result) if places is None else raw(result)[places], np.float64)
        relative = np.broadcast_to(_relative_error(error, numbers), numbers.shape)
        mask = (relative > self.limit) & (before <= self.limit)
        if mask.any():
            self.lost.append(self._digit_loss(step, mask, relative, places))
        if places is not None:
            error = np.float64(np.max(error, initial=0.0))
        if type(result) is Tensor:
            self._of[id(result)] = error
        else:
            self._plain[result] = max(float(np.max(error)), self._plain.get(result, 0.0))

    def _digit_loss(self, step: Step, mask: Mask, relative: Array, places: Sample) -> DigitLoss:
        """Return the loss at the worst of the elements in ``mask``; ``places`` are the indices of a sample."""
        worst = int(np.argmax(np.where(mask, relative, -1.0)))
        digits = digits_lost(float(np.ravel(relative)[worst]) * self._eps, total_digits(self._eps))
        if places is None:
            return DigitLoss(step, mask, tuple(int(i) for i in np.unravel_index(worst, mask.shape)), digits, None)
        whole = np.zeros(np.shape(raw(step.result)), bool)
        whole[tuple(p[mask] for p in places)] = True
        return DigitLoss(step, whole, tuple(int(p[worst]) for p in places), digits, mask.size)

    def _pointwise_error(self, step: Step, op: FunctionInfo, places: Sample) -> tuple[Error, Error]:
        """Return the error of the result and the largest relative error of the arguments at the sampled elements."""
        shape = np.shape(raw(step.result))

        def pick(value: Any) -> Any:
            return value if places is None or not np.ndim(value) else np.broadcast_to(value, shape)[places]

        values = {key: pick(raw(value)) for key, value in step.slots}
        errors = {key: pick(self.error(value)) for key, value in step.slots if _is_operand(op, key) and np.any(self.error(value))}
        result = np.asarray(pick(raw(step.result)), np.float64)
        total = np.where(op.name in EXACT, 0.0, 0.5 * np.abs(result))
        before = np.zeros(result.shape)
        for key, error in errors.items():
            moved = np.abs(_moved_result(step, values, key, _SCALE * self._eps * error) - result) / (_SCALE * self._eps)
            total = total + np.where(np.isfinite(moved), moved, 0.0)
            before = np.maximum(before, _relative_error(error, np.asarray(values[key], np.float64)))
        return np.where(np.isfinite(result), total, 0.0), before

    def _other_error(self, step: Step, places: Sample) -> tuple[Error, float]:
        """Return the error of the result of a step that is not pointwise at the sampled elements, and that of its arguments.

        Joins and selections propagate absolute errors; other steps preserve the relative error.
        """
        op = step.op
        errors = [
            (self.error(value), np.asarray(raw(value), np.float64)) for value in flat_inputs(step) if np.any(self.error(value))
        ]
        before = max((float(np.max(_sampled_relative(error, values), initial=0.0)) for error, values in errors), default=0.0)
        if op is None or op.section in ("shape", "views", "creation", "reduce"):
            return np.float64(max((float(np.max(error, initial=0.0)) for error, _ in errors), default=0.0)), before
        relative = before if before < math.inf else 0.0
        result = raw(step.result)
        return (relative + 0.5) * np.abs(np.asarray(result if places is None else result[places], np.float64)), before

    def _sum_error(self, step: Step, mean: bool, places: Sample) -> tuple[Error, float]:
        """Return the error of a sum or a mean of all elements, and the largest relative error of its argument."""
        x = next(iter(flat_inputs(step)))
        values, count = np.asarray(raw(x), np.float64), max(np.size(raw(step.result)), 1)
        some, errors = _sampled_values(values, values), self.error(x)
        before = float(np.max(_relative_error(_sampled_values(errors, values), some), initial=0.0))
        size = float(np.max(errors, initial=0.0)) + 0.5 * float(np.mean(np.abs(some))) if values.size else 0.0
        return np.float64(size * (1 if mean else values.size / count)), before


def _is_operand(op: FunctionInfo, key: Key) -> bool:
    """Return whether an argument is a tensor operand of a function rather than an option."""
    return (op.parameters[min(key, len(op.parameters) - 1)] if isinstance(key, int) else key) in op.tensors


def _relative_error(error: Error, values: ArrayLike) -> Array:
    """Return errors relative to values: infinite where a value is 0 and its error is not 0."""
    with np.errstate(all="ignore"):
        return np.where(np.asarray(error) > 0, error / np.abs(values), 0.0)


def _sampled_values(numbers: Error, values: Array) -> Error:
    """Return the numbers of all elements of a tensor, or of a sample of a large tensor."""
    places = _sample_indices(values.shape)
    return numbers if places is None or not np.ndim(numbers) else numbers[places]  # type: ignore[index]


def _sampled_relative(error: Error, values: Array) -> Array:
    """Return the relative errors of all elements, or of a sample of a large tensor."""
    return _relative_error(_sampled_values(error, values), _sampled_values(values, values))


def _sample_indices(shape: tuple[int, ...]) -> Sample:
    size = math.prod(shape)
    return None if size <= MOST_ELEMENTS else np.unravel_index(np.linspace(0, size - 1, SAMPLE).astype(np.int64), shape)


def _moved_result(step: Step, values: Mapping[Key, Any], moving: Key, distance: Error) -> Array:
    """Return the result of a pointwise operation, one of whose arguments is moved by a distance."""
    arguments = {}
    for key, value in step.slots:
        number = values[key] + distance if key == moving else values[key]
        arguments[key] = new_tensor(np.array(number)[()]) if type(value) is Tensor else number if key == moving else value
    moved: Array = raw(step.again(arguments))
    return moved
