"""Loss of digits in an evaluation, found by propagating an error bound along the trace.

Each value has an error in units of the machine epsilon of its type.  The given values are assumed to be exact.  The rounding
of an operation adds an error of half the magnitude of the result, in these units.  The errors of its arguments are multiplied
by the derivative, so relative errors are multiplied by the condition number ``abs(x*f'(x)/f(x))``.  For sums, products,
quotients and roots, the code determines whether the result was rounded; ``5 - 5``, for example, is exact, and so is
``x**2 - 2*x + 1`` at 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor, new_tensor
from autodiff_cli.errors import GraphError
from autodiff_cli.evaluation.trace import Step, Trace, flat, pointwise, raw

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

_EXACT = {
    *("neg", "pos", "abs", "maximum", "minimum", "max", "min", "clamp", "where", "relu", "floor", "ceil", "round", "trunc"),
    *("sign", "hardtanh", "relu6", "remainder", "fmod", "frac", "floor_divide", "hardshrink", "threshold"),
}
"""The operations that do not round."""


class Lost(NamedTuple):
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


def lost_digits(trace: Trace, output: Tensor, dtype: str) -> tuple[list[Lost], bool]:
    """Return the steps that lost more than half of the digits, and whether the output lost more than half of its digits."""
    if len(trace) > MOST_STEPS or output.dtype.kind != "f":
        return [], False
    errors = _Errors(trace, float(np.finfo(dtype).eps))
    for step in trace:
        if type(step.result) is Tensor or isinstance(step.result, float):
            errors.add(step)
    known = errors.error(output) if errors.is_result(output) or output.shape else errors.error(float(output._data))
    return errors.lost, bool(np.any(known)) and bool(np.any(_some_relative(known, output._data) > errors.limit))


class _Errors:
    """The errors of all values computed so far."""

    def __init__(self, trace: Trace, eps: float) -> None:
        self.limit = 1 / math.sqrt(eps)
        self.lost: list[Lost] = []
        self._eps = eps
        self._of: dict[int, Error] = {}
        self._plain: dict[float, float] = {}
        self._made = {id(step.result): step for step in reversed(trace)}

    def error(self, value: object) -> Error:
        if type(value) is Tensor:
            return self._of.get(id(value), 0.0)
        return self._plain.get(value, 0.0) if isinstance(value, float) else 0.0

    def is_result(self, value: object) -> bool:
        """Return whether a step made a value."""
        return id(value) in self._made

    def add(self, step: Step) -> None:
        """Compute the error of the result of a step."""
        op, result = step.op, step.result
        if type(result) is Tensor and (result.dtype.kind != "f" or id(result) in self._of):
            return
        places = _sample(np.shape(raw(result)))
        if op is not None and pointwise(step):
            error, before = self._pointwise(step, op, places)
        elif op is not None and op.name in ("sum", "mean"):
            error, before = self._sum(step, op.name == "mean", places)
        else:
            error, before = self._other(step, places)
        numbers = np.asarray(raw(result) if places is None else raw(result)[places], np.float64)
        relative = np.broadcast_to(_relative(error, numbers), numbers.shape)
        mask = (relative > self.limit) & (before <= self.limit)
        if mask.any():
            self.lost.append(self._found(step, mask, relative, places))
        if places is not None:
            error = np.float64(np.max(error, initial=0.0))
        if type(result) is Tensor:
            self._of[id(result)] = error
        else:
            self._plain[result] = max(float(np.max(error)), self._plain.get(result, 0.0))

    def _found(self, step: Step, mask: Mask, relative: Array, places: Sample) -> Lost:
        worst = int(np.argmax(np.where(mask, relative, -1.0)))
        digits = digits_lost(float(np.ravel(relative)[worst]) * self._eps, total_digits(self._eps))
        if places is None:
            return Lost(step, mask, tuple(int(i) for i in np.unravel_index(worst, mask.shape)), digits, None)
        whole = np.zeros(np.shape(raw(step.result)), bool)
        whole[tuple(p[mask] for p in places)] = True
        return Lost(step, whole, tuple(int(p[worst]) for p in places), digits, mask.size)

    def _pointwise(self, step: Step, op: FunctionInfo, places: Sample) -> tuple[Error, Error]:
        """Return the error of the result and the largest relative error of the arguments at the sampled elements."""
        shape = np.shape(raw(step.result))

        def pick(value: Any) -> Any:
            return value if places is None or not np.ndim(value) else np.broadcast_to(value, shape)[places]

        values = {key: pick(raw(value)) for key, value in step.slots}
        errors = {key: pick(self.error(value)) for key, value in step.slots if _is_operand(op, key) and np.any(self.error(value))}
        result = np.asarray(pick(raw(step.result)), np.float64)
        numbers = [v for v in values.values() if isinstance(v, (np.ndarray, np.generic, float, int))]
        total = np.where(is_exact(op.name, numbers, result), 0.0, 0.5 * np.abs(result))
        before = np.zeros(result.shape)
        if errors:
            moved = np.abs(_moved(step, values, errors, self._eps) - result) / self._eps
            for key, slope in _slopes(step, op.name, values, list(errors)).items():
                # If the derivative is 0, an error of the argument still causes an error of higher order.
                part = np.where(slope == 0, moved, np.abs(slope) * errors[key])
                total = total + np.where(np.isfinite(part), part, 0.0)
                before = np.maximum(before, _relative(errors[key], np.asarray(values[key], np.float64)))
        error = np.where(np.isfinite(result), total, 0.0)
        if op.name == "sub" and len(step.arguments) == 2:
            zero = (result == 0) & (error > 0)
            if zero.any():
                equal = self._equal(step.arguments[0], step.arguments[1], lambda v: np.broadcast_to(pick(v), result.shape)[zero])
                if equal is not None:
                    error[zero] = np.where(equal, 0.0, error[zero])
        return error, before

    def _other(self, step: Step, places: Sample) -> tuple[Error, float]:
        """Return the error of the result of a step that is not pointwise at the sampled elements, and that of its arguments.

        Joins and selections propagate absolute errors; other steps preserve the relative error.
        """
        op = step.op
        errors = [(self.error(value), np.asarray(raw(value), np.float64)) for value in flat(step) if np.any(self.error(value))]
        before = max((float(np.max(_some_relative(error, values), initial=0.0)) for error, values in errors), default=0.0)
        if op is None or op.section in ("shape", "views", "creation", "reduce"):
            return np.float64(max((float(np.max(error, initial=0.0)) for error, _ in errors), default=0.0)), before
        kept = before if before < math.inf else 0.0
        result = raw(step.result)
        return (kept + 0.5) * np.abs(np.asarray(result if places is None else result[places], np.float64)), before

    def _equal(self, a: object, b: object, pick: Callable[[Any], Any]) -> Mask | bool | None:
        """Return the mask of elements at which two values are equal because identical steps computed them from equal numbers."""
        same: Mask | bool = True
        pairs = [(a, b)]
        for _ in range(200):
            if not pairs:
                return same
            one, other = pairs.pop()
            if one is other:
                continue
            first, second = self._made.get(id(one)), self._made.get(id(other))
            if first is None and second is None:
                try:
                    same = same & (pick(raw(one)) == pick(raw(other)))
                except (ValueError, TypeError):
                    return None
                continue
            if first is None or second is None or first.op is not second.op or not pointwise(first) or not pointwise(second):
                return None
            left, right = list(flat(first)), list(flat(second))
            if len(left) != len(right):
                return None
            pairs.extend(zip(left, right, strict=True))
        return None

    def _sum(self, step: Step, mean: bool, places: Sample) -> tuple[Error, float]:
        x = next(iter(flat(step)))
        values, result = np.asarray(raw(x), np.float64), np.asarray(raw(step.result), np.float64)
        given = self.error(x)
        before = float(np.max(_some_relative(given, values), initial=0.0))
        if result.shape:
            size = np.abs(result if places is None else result[places])
            return float(np.max(given, initial=0.0)) * values.size / result.size + 0.5 * size, before
        count = max(values.size, 1) if mean else 1
        error = (float(np.sum(given)) if np.ndim(given) else float(given) * values.size) / count
        if values.size <= MOST_ELEMENTS and np.all(np.isfinite(values)) and np.isfinite(result):
            error += abs(math.fsum(values.ravel().tolist()) / count - float(result)) / self._eps
        return np.float64(error), before


def _is_operand(op: FunctionInfo, key: Key) -> bool:
    """Return whether an argument is a tensor operand of a function rather than an option."""
    return (op.parameters[min(key, len(op.parameters) - 1)] if isinstance(key, int) else key) in op.tensors


def _relative(error: Error, values: ArrayLike) -> Array:
    """Return errors relative to values: infinite where a value is 0 and its error is not 0."""
    with np.errstate(all="ignore"):
        return np.where(np.asarray(error) > 0, error / np.abs(values), 0.0)


def _some_relative(error: Error, values: Array) -> Array:
    """Return the relative errors of all elements, or of a sample of a large tensor."""
    places = _sample(values.shape)
    if places is not None:
        error, values = error[places] if isinstance(error, np.ndarray) and error.ndim else error, values[places]
    return _relative(error, values)


def _sample(shape: tuple[int, ...]) -> Sample:
    size = math.prod(shape)
    return None if size <= MOST_ELEMENTS else np.unravel_index(np.linspace(0, size - 1, SAMPLE).astype(np.int64), shape)


def _slopes(step: Step, name: str, values: Mapping[Key, Any], keys: Sequence[Key]) -> dict[Key, Any]:
    """Return the derivatives of a pointwise operation with respect to the arguments ``keys``."""
    if name in ("add", "sub", "neg", "pos"):
        return dict.fromkeys(keys, 1.0)
    if name == "mul" and len(values) == 2 and 0 in values and 1 in values:
        return {key: values[1 if key == 0 else 0] for key in keys}
    given = dict(step.slots)
    for key, value in step.slots:
        if key in keys or type(value) is Tensor:
            given[key] = new_tensor(np.array(values[key], np.float64 if key in keys else None)[()], requires_grad=key in keys)
    output = step.again(given)
    if type(output) is not Tensor or not output.requires_grad:
        return dict.fromkeys(keys, 0.0)
    try:
        result = grad(output.sum(), [given[key] for key in keys], materialize_grads=True)
    except GraphError:  # a derivative that is not implemented
        return dict.fromkeys(keys, math.nan)
    return {key: slope._data for key, slope in zip(keys, result, strict=True)}


def _moved(step: Step, values: Mapping[Key, Any], errors: Mapping[Key, Any], eps: float) -> Array:
    """Return the result of a pointwise operation whose arguments are shifted by their errors."""
    given = {}
    for key, value in step.slots:
        number = values[key] + errors[key] * eps if key in errors else values[key]
        given[key] = new_tensor(np.array(number)[()]) if type(value) is Tensor else value
    moved: Array = raw(step.again(given))
    return moved


# Detection of operations that do not round


def is_exact(name: str, numbers: Sequence[ArrayLike], result: Array) -> Mask | bool:
    """Return the mask of elements at which the result of a pointwise operation was not rounded."""
    if name in _EXACT or result.dtype.kind != "f":
        return True
    given = [np.asarray(number, np.float64) for number in numbers]
    x, y, *_ = [*given, np.zeros(()), np.zeros(())]
    exact: Mask | None = None
    if name in ("add", "sub") and len(given) == 2:
        total, rest = _two_sum(x, y if name == "add" else -y)
        exact = (total == result) & (rest == 0)
    elif name == "mul" and len(given) == 2:
        exact = _is_product(x, y, result)
    elif name == "div" and len(given) == 2:
        exact = _is_product(result, y, x)
    elif name == "sqrt" and len(given) == 1:
        exact = _is_product(result, result, x)
    elif name == "square" and len(given) == 1:
        exact = _is_product(x, x, result)
    elif name == "reciprocal" and len(given) == 1:
        exact = _is_product(result, x, np.ones(()))
    elif name == "pow" and len(given) == 2:
        whole = (x == np.floor(x)) & (y == np.floor(y)) & (y >= 0) & (np.abs(result) < 2.0**53)
        exact = whole | ((y == 2) & _is_product(x, x, result)) | (y == 1) | (y == 0)
    if exact is not None or not given:
        return True if exact is None else exact
    # exp(0), cos(0), log(1) and similar values
    at_zero = np.logical_and.reduce(np.broadcast_arrays(*[other == 0 for other in given]))
    whole = result == np.round(result)
    simple: Mask = whole & (at_zero | ((x == 1) & (result == 0)))
    return simple


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a sum and its exact rounding error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _is_product(a: Array, b: Array, result: Array) -> Mask:
    """Return whether ``a*b`` is exactly ``result``; the products of half-width parts are not rounded."""
    product = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    rest = ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2
    exact: Mask = (product == result) & (rest == 0)
    return exact


def _halves(a: Array) -> tuple[Array, Array]:
    scaled = 134217729.0 * a  # 2**27 + 1
    high = scaled - (scaled - a)
    return high, a - high
