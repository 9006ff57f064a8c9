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

Key = int | str
"""The key of an argument of a step: its position or its keyword."""

MOST_STEPS, MOST_ELEMENTS = 2_000, 10_000
"""The largest number of steps, and the largest tensor, for which lost digits are searched; more would take too long."""

EXACT = {
    *("neg", "pos", "abs", "maximum", "minimum", "max", "min", "clamp", "where", "relu", "floor", "ceil", "round", "trunc"),
    *("sign", "hardtanh", "relu6", "remainder", "fmod", "frac", "floor_divide", "hardshrink", "threshold"),
}
"""The operations that do not round."""
_SCALE = 1024.0  # the factor by which errors are enlarged to see their effects, which rounding would hide


class DigitLoss(NamedTuple):
    """A step after which less than half of the digits are correct.

    Attributes:
        step: the step that loses the digits.
        mask: the affected elements.
        place: the index of the element with the largest error.
        digits: the number of lost digits.
    """

    step: Step
    mask: Mask
    place: tuple[int, ...]
    digits: int


def total_digits(dtype: str) -> int:
    """Return the number of decimal digits of a type."""
    return round(-math.log10(np.finfo(dtype).eps))


def digits_lost(relative: float, total: int) -> int:
    """Return the number of digits, out of ``total``, that a relative error destroys."""
    return total - min(max(int(-math.log10(min(relative, 1.0))), 0), total)


def find_digit_losses(trace: Trace, output: Tensor, dtype: str) -> tuple[list[DigitLoss], bool]:
    """Return the steps that lost more than half of the digits, and whether the output did; none of a program too long."""
    if len(trace) > MOST_STEPS or output.dtype.kind != "f" or any(map(_is_large, trace)):
        return [], False
    errors = _Errors(trace, dtype)
    for step in trace:
        if type(step.result) is Tensor or isinstance(step.result, float):
            errors.add(step)
    is_python_number = id(output) not in errors.results and not output.shape  # it became a tensor after the last step
    output_error = errors.error(float(output._data) if is_python_number else output)
    output_lost = np.any(output_error) and np.any(_relative_error(output_error, output._data) > errors.limit)
    return errors.losses, bool(output_lost)


def _is_large(step: Step) -> bool:
    """Return whether an argument or a result has too many elements."""
    return any(np.size(raw(value)) > MOST_ELEMENTS for value in (*flat_inputs(step), *step.results))


class _Errors:
    """The errors of all values computed so far, and the steps after which they exceed a limit for the first time: ``losses``."""

    def __init__(self, trace: Trace, dtype: str) -> None:
        self._eps, self._total_digits = float(np.finfo(dtype).eps), total_digits(dtype)
        self.limit = 1 / math.sqrt(self._eps)  # above this relative error, less than half of the digits are correct
        self.losses: list[DigitLoss] = []
        self._of_tensors: dict[int, Error] = {}  # by the id of the tensor
        self._of_numbers: dict[float, float] = {}  # by the number, which has no identity: the largest error of equal ones
        self.results = {id(step.result) for step in trace}

    def error(self, value: object) -> Error:
        """Return the error of a tensor or a number, which is 0 if no step computed it."""
        if type(value) is Tensor:
            return self._of_tensors.get(id(value), 0.0)
        return self._of_numbers.get(value, 0.0) if isinstance(value, float) else 0.0

    def add(self, step: Step) -> None:
        """Add the error of a result, a float or a tensor of floats that is new, and the step to ``losses`` if it lost digits."""
        op, result = step.op, step.result
        if type(result) is Tensor and (result.dtype.kind != "f" or id(result) in self._of_tensors):
            return
        if op is not None and is_pointwise(step):
            error, error_before = self._pointwise_error(step, op)
        elif op is not None and op.name in ("sum", "mean"):
            error, error_before = self._sum_error(step, op.name == "mean")
        else:
            error, error_before = self._other_error(step)
        self._add_loss(step, error, error_before)
        if type(result) is Tensor:
            self._of_tensors[id(result)] = error
        else:
            self._of_numbers[result] = max(float(np.max(error)), self._of_numbers.get(result, 0.0))

    def _add_loss(self, step: Step, error: Error, error_before: Error) -> None:
        """Add a step to ``losses`` if its relative error is above the limit where that of its arguments is not."""
        numbers = np.asarray(raw(step.result), np.float64)
        relative = np.broadcast_to(_relative_error(error, numbers), numbers.shape)
        mask = (relative > self.limit) & (error_before <= self.limit)
        if mask.any():
            worst = int(np.argmax(np.where(mask, relative, -1.0)))
            digits = digits_lost(float(np.ravel(relative)[worst]) * self._eps, self._total_digits)
            place = tuple(int(i) for i in np.unravel_index(worst, mask.shape))
            self.losses.append(DigitLoss(step, mask, place, digits))

    def _pointwise_error(self, step: Step, op: FunctionInfo) -> tuple[Error, Error]:
        """Return the error of the result, 0 where it is not finite, and the largest relative error of each element's arguments."""
        values = {key: raw(value) for key, value in step.slots}
        errors = {key: self.error(value) for key, value in step.slots if _is_operand(op, key) and np.any(self.error(value))}
        result = np.asarray(raw(step.result), np.float64)
        total = np.where(op.name in EXACT, 0.0, 0.5 * np.abs(result))  # the rounding of the result
        error_before = np.zeros(result.shape)
        unit = _SCALE * self._eps
        for key, error in errors.items():  # move each argument by its error, and see how far the result moves
            effect = np.abs(_moved_result(step, values, key, unit * error) - result) / unit
            total = total + np.where(np.isfinite(effect), effect, 0.0)
            error_before = np.maximum(error_before, _relative_error(error, np.asarray(values[key], np.float64)))
        return np.where(np.isfinite(result), total, 0.0), error_before

    def _other_error(self, step: Step) -> tuple[Error, float]:
        """Return the error of the result of a step that is not pointwise, and the largest relative error of its arguments.

        Joins and selections propagate absolute errors; other steps preserve the relative error.
        """
        op = step.op
        inputs = [value for value in flat_inputs(step) if np.any(self.error(value))]
        absolute = [float(np.max(self.error(value), initial=0.0)) for value in inputs]
        relative = [_relative_error(self.error(value), np.asarray(raw(value), np.float64)) for value in inputs]
        error_before = max((float(np.max(errors, initial=0.0)) for errors in relative), default=0.0)
        if op is None or op.section in ("shape", "views", "creation", "reduce"):
            return np.float64(max(absolute, default=0.0)), error_before
        propagated = error_before if error_before < math.inf else 0.0
        return (propagated + 0.5) * np.abs(np.asarray(raw(step.result), np.float64)), error_before

    def _sum_error(self, step: Step, is_mean: bool) -> tuple[Error, float]:
        """Return the error of a sum or a mean, and the largest relative error of its argument."""
        x = next(iter(flat_inputs(step)))
        values, sums = np.asarray(raw(x), np.float64), max(np.size(raw(step.result)), 1)
        error_before = float(np.max(_relative_error(self.error(x), values), initial=0.0))
        if not values.size:
            return np.float64(0.0), error_before
        mean_error = float(np.max(self.error(x), initial=0.0)) + 0.5 * float(np.mean(np.abs(values)))  # with the rounding of a term
        return np.float64(mean_error * (1 if is_mean else values.size / sums)), error_before


def _is_operand(op: FunctionInfo, key: Key) -> bool:
    """Return whether an argument is a tensor operand rather than an option; the last parameter stands for further positions."""
    return (op.parameters[min(key, len(op.parameters) - 1)] if isinstance(key, int) else key) in op.tensors


def _relative_error(error: Error, values: ArrayLike) -> Array:
    """Return errors relative to values: infinite where a value is 0 and its error is not 0."""
    with np.errstate(all="ignore"):
        return np.where(np.asarray(error) > 0, error / np.abs(values), 0.0)


def _moved_result(step: Step, values: Mapping[Key, Any], moving: Key, distance: Error) -> Array:
    """Return the result of a pointwise operation on ``values``, of which the one with the key ``moving`` is moved by a distance."""
    arguments = dict(step.slots)
    for key, value in step.slots:
        number = values[key] + distance if key == moving else values[key]
        if type(value) is Tensor:
            arguments[key] = new_tensor(np.array(number)[()])
        elif key == moving:
            arguments[key] = number
    result: Array = raw(step.again(arguments))
    return result
