"""Where an evaluation lost its digits: an error bound carried along the trace.

Each value has an error in units of the type's precision: what was given is exact, an operation that rounds adds one half of
its result, and errors of arguments are multiplied by the derivative; in proportion to the values that is the condition number
``abs(x*f'(x)/f(x))``.  Whether an addition, product, quotient or root rounded at all is computed, so that ``5 - 5`` and
``x**2 - 2*x + 1`` at 1 are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import GraphError
from autodiff_cli.evaluation.trace import Step, Trace, flat, invoke, pointwise, raw

MOST_STEPS = 2_000
"""Longer programs are not looked at: that would take longer than the evaluation."""
MOST_ELEMENTS, SAMPLE = 10_000, 1_000
"""Of larger tensors a sample is looked at."""

_EXACT = {
    *("neg", "pos", "abs", "maximum", "minimum", "max", "min", "clamp", "where", "relu", "floor", "ceil", "round", "trunc"),
    *("sign", "hardtanh", "relu6", "remainder", "fmod", "frac", "floor_divide"),
}
"""Operations that do not round."""


class Lost:
    """A step after which less than half of the digits are left.

    Attributes:
        mask: at which elements; ``place`` is where it is worst.
        digits: how many of ``total`` were lost.
        sampled: how many elements were looked at, if not all.
    """

    def __init__(self, step: Step, mask: Any, place: tuple[int, ...], error: float, eps: float, sampled: int | None) -> None:
        self.step = step
        self.mask = mask
        self.place = place
        self.sampled = sampled
        self.total = round(-math.log10(eps))
        relative = min(error * eps, 1.0)
        self.digits = self.total - min(max(int(-math.log10(relative)), 0), self.total)


def lost_digits(trace: Trace, output: Tensor, dtype: str) -> tuple[list[Lost], bool]:
    """The steps that lost more than half of the digits, and whether the output did too."""
    if len(trace) > MOST_STEPS or output.dtype.kind != "f":
        return [], False
    eps = float(np.finfo(dtype).eps)
    errors = _Errors(trace, 1 / math.sqrt(eps), eps)
    for step in trace:
        if type(step.result) is Tensor or isinstance(step.result, float):
            errors.add(step)
    known = errors.of(output) if errors.made(output) or output.shape else errors.of(float(output._data))
    return errors.lost, bool(np.any(known)) and bool(np.any(_relative(known, output._data) > errors.limit))


class _Errors:
    """The error of each value so far."""

    def __init__(self, trace: Trace, limit: float, eps: float) -> None:
        self.limit = limit
        self.lost: list[Lost] = []
        self._eps = eps
        self._of: dict[int, Any] = {}
        self._plain: dict[float, Any] = {}
        self._made = {id(step.result): step for step in reversed(trace)}

    def of(self, value: Any) -> Any:
        if type(value) is Tensor:
            return self._of.get(id(value), 0.0)
        return self._plain.get(value, 0.0) if isinstance(value, float) else 0.0

    def made(self, value: Any) -> bool:
        """Whether a step made it."""
        return id(value) in self._made

    def add(self, step: Step) -> None:
        """Find the error of a step's result."""
        op, _, _, result, _ = step
        if type(result) is Tensor and (result.dtype.kind != "f" or id(result) in self._of):
            return
        shape = np.shape(raw(result))
        places = _sample(shape) if op is not None and pointwise(step) else None
        if op is not None and pointwise(step):
            error, before = self._pointwise(step, places)
        elif op is not None and op.name in ("sum", "mean"):
            error, before = self._sum(step)
        else:
            error, before = self._other(step)
        if places is None and not np.ndim(error):
            places = _sample(shape)
        numbers = np.asarray(raw(result) if places is None else raw(result)[places], np.float64)
        relative = np.broadcast_to(_relative(error, numbers), numbers.shape)
        mask = (relative > self.limit) & (before <= self.limit)
        if mask.any():
            self._found(step, mask, relative, places)
        if places is not None:
            error = np.float64(np.max(error, initial=0.0))
        if type(result) is Tensor:
            self._of[id(result)] = error
        else:
            self._plain[result] = max(float(np.max(error)), self._plain.get(result, 0.0))

    def _found(self, step: Step, mask: Any, relative: Any, places: tuple[Any, ...] | None) -> None:
        worst = int(np.argmax(np.where(mask, relative, -1.0)))
        if places is None:
            place = tuple(int(i) for i in np.unravel_index(worst, mask.shape))
            whole = mask
        else:
            place = tuple(int(p[worst]) for p in places)
            whole = np.zeros(np.shape(raw(step.result)), bool)
            whole[tuple(p[mask] for p in places)] = True
        self.lost.append(
            Lost(step, whole, place, float(np.ravel(relative)[worst]), self._eps, None if places is None else mask.size)
        )

    def _pointwise(self, step: Step, places: tuple[Any, ...] | None) -> tuple[Any, Any]:
        """The error of the result, and the largest relative one of the arguments, at these places."""
        op = step.op
        assert op is not None
        shape = np.shape(raw(step.result))

        def pick(value: Any) -> Any:
            return value if places is None or not np.ndim(value) else np.broadcast_to(value, shape)[places]

        slots: list[tuple[int | str, Any]] = step.slots
        values = {key: pick(raw(value)) for key, value in slots}
        errors = {key: pick(self.of(value)) for key, value in slots if _computes_with(op, key) and np.any(self.of(value))}
        result = np.asarray(pick(raw(step.result)), np.float64)
        numbers = [v for v in values.values() if isinstance(v, (np.ndarray, np.generic, float, int))]
        total = np.where(is_exact(op.name, numbers, result), 0.0, 0.5 * np.abs(result))
        before: Any = np.zeros(result.shape)
        if errors:
            moved = np.abs(_moved(step, values, errors, self._eps) - result) / self._eps
            for key, slope in _slopes(step, values, list(errors)).items():
                # Where the slope is 0 an error of the argument makes a smaller one, but makes one.
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

    def _other(self, step: Step) -> tuple[Any, Any]:
        """What joins and selects hands errors on; of anything else the worst relative error is taken to stay."""
        op = step.op
        errors = [(self.of(value), np.asarray(raw(value), np.float64)) for value in flat(step) if np.any(self.of(value))]
        before = max((float(np.max(_relative(error, values), initial=0.0)) for error, values in errors), default=0.0)
        if op is None or op.section in ("shape", "views", "creation", "reduce"):
            return np.float64(max((float(np.max(error, initial=0.0)) for error, _ in errors), default=0.0)), before
        kept = before if before < math.inf else 0.0
        return (kept + 0.5) * np.abs(np.asarray(raw(step.result), np.float64)), before

    def _equal(self, a: Any, b: Any, pick: Callable[[Any], Any]) -> Any:
        """Where two values are equal because they were computed in the same way from equal numbers."""
        same: Any = True
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
            if first is None or second is None or first[0] is not second[0] or not pointwise(first) or not pointwise(second):
                return None
            left, right = list(flat(first)), list(flat(second))
            if len(left) != len(right):
                return None
            pairs.extend(zip(left, right, strict=True))
        return None

    def _sum(self, step: Step) -> tuple[Any, Any]:
        x = next(iter(flat(step)))
        values, result = np.asarray(raw(x), np.float64), np.asarray(raw(step.result), np.float64)
        given = self.of(x)
        looked = _sample(values.shape)
        some = given, values
        if looked is not None:
            some = given if not np.ndim(given) else given[looked], values[looked]
        before = float(np.max(_relative(*some), initial=0.0))
        if result.shape:
            return float(np.max(given, initial=0.0)) * values.size / result.size + 0.5 * np.abs(result), before
        count = values.size if step.op is not None and step.op.name == "mean" else 1
        error = (float(np.sum(given)) if np.ndim(given) else float(given) * values.size) / max(count, 1)
        if values.size <= MOST_ELEMENTS and np.all(np.isfinite(values)) and np.isfinite(result):
            error += abs(math.fsum(values.ravel().tolist()) / max(count, 1) - float(result)) / self._eps
        return np.float64(error), before


def _computes_with(op: FunctionInfo, key: int | str) -> bool:
    """Whether an argument is one of the tensors of a function, not a setting of it."""
    return (op.parameters[min(key, len(op.parameters) - 1)] if isinstance(key, int) else key) in op.tensors


def _relative(error: Any, values: Any) -> Any:
    """Errors in proportion to values; infinite where nothing is left of a value."""
    with np.errstate(all="ignore"):
        return np.where(np.asarray(error) > 0, error / np.abs(values), 0.0)


def _sample(shape: tuple[int, ...]) -> tuple[Any, ...] | None:
    """Places all over a large tensor, ``None`` for one that is looked at as a whole."""
    size = math.prod(shape)
    return None if size <= MOST_ELEMENTS else np.unravel_index(np.linspace(0, size - 1, SAMPLE).astype(np.int64), shape)


def _slopes(step: Step, values: dict[Any, Any], keys: list[Any]) -> dict[Any, Any]:
    """The partial derivatives of an operation on single elements by some of its arguments."""
    op = step.op
    assert op is not None
    if op.name in ("add", "sub", "neg", "pos"):
        return dict.fromkeys(keys, 1.0)
    if op.name == "mul" and len(values) == 2 and 0 in values and 1 in values:
        return {key: values[1 - key] for key in keys}
    given: dict[Any, Any] = {}
    for key, value in step.slots:
        known = key in keys
        is_tensor = type(value) is Tensor
        number = np.array(values[key], np.float64 if known else None)[()] if known or is_tensor else None
        given[key] = Tensor(number, requires_grad=known) if number is not None else value
    output = invoke(op, [given[i] for i in range(len(step.arguments))], {name: given[name] for name in step.keywords})
    if type(output) is not Tensor or not output.requires_grad:
        return dict.fromkeys(keys, 0.0)
    try:
        found = grad(output.sum(), [given[key] for key in keys], materialize_grads=True)
    except GraphError:  # a derivative that is not implemented
        return dict.fromkeys(keys, math.nan)
    return {key: slope._data for key, slope in zip(keys, found, strict=True)}


def _moved(step: Step, values: dict[Any, Any], errors: dict[Any, Any], eps: float) -> Any:
    """The result of an operation on single elements with its arguments off by their errors."""
    op = step.op
    assert op is not None
    given = {}
    for key, value in step.slots:
        number = values[key] + errors[key] * eps if key in errors else values[key]
        given[key] = Tensor(np.array(number)[()]) if type(value) is Tensor else value
    output = invoke(op, [given[i] for i in range(len(step.arguments))], {name: given[name] for name in step.keywords})
    return raw(output)


# Whether an operation rounded


def is_exact(name: str, numbers: list[Any], result: Any) -> Any:
    """Where the result of an operation on single elements is what it would be without rounding."""
    if name in _EXACT or result.dtype.kind != "f":
        return True
    given = [np.asarray(number, np.float64) for number in numbers]
    if name in ("add", "sub") and len(given) == 2:
        total, rest = _two_sum(given[0], given[1] if name == "add" else -given[1])
        return (total == result) & (rest == 0)
    if name == "mul" and len(given) == 2:
        return _is_product(given[0], given[1], result)
    if name == "div" and len(given) == 2:
        return _is_product(result, given[1], given[0])
    if name in ("sqrt", "square", "reciprocal") and len(given) == 1:
        x = given[0]
        return {
            "sqrt": lambda: _is_product(result, result, x),
            "square": lambda: _is_product(x, x, result),
            "reciprocal": lambda: _is_product(result, x, np.float64(1.0)),
        }[name]()
    if name == "pow" and len(given) == 2:
        x, y = given
        whole = (x == np.floor(x)) & (y == np.floor(y)) & (y >= 0) & (np.abs(result) < 2.0**53)
        return whole | ((y == 2) & _is_product(x, x, result)) | (y == 1) | (y == 0)
    if not given:
        return True
    # exp(0), cos(0), log(1) and the like
    simple = result == np.round(result)
    at_zero = given[0] == 0
    for other in given[1:]:
        at_zero = at_zero & (other == 0)
    return simple & (at_zero | ((given[0] == 1) & (result == 0)))


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """A sum and what rounding took from it, exactly."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _is_product(a: Any, b: Any, result: Any) -> Any:
    """Whether ``a*b`` is exactly ``result``: the product of halves of the digits is computed without rounding."""
    product = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    rest = ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2
    return (product == result) & (rest == 0)


def _halves(a: Any) -> tuple[Any, Any]:
    scaled = 134217729.0 * a  # 2**27 + 1
    high = scaled - (scaled - a)
    return high, a - high
