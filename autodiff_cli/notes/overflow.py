"""Steps that overflow or underflow: their results are infinite or 0 because floats end, not because the numbers do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from autodiff_cli.evaluation.trace import Step, Trace, flat, pointwise, raw

_MAY_BE_0 = {
    *("add", "sub", "sum", "mean", "floor", "ceil", "round", "trunc", "frac", "sign", "relu"),
    *("relu6", "remainder", "fmod", "where", "hardtanh", "hardsigmoid", "floor_divide", "clamp", "max", "min", "maximum"),
    *("minimum", "log", "log1p", "sin", "cos", "amax", "dot", "matmul", "diff", "var", "std"),
    *("acos", "acosh", "log2", "log10", "amin"),
}
"""Functions whose result may be 0 though nothing is small."""


def ends(trace: Trace) -> Iterator[tuple[Step, str, Any]]:
    """The steps that overflow or underflow, which of it, and at which elements."""
    tiny = np.finfo(np.float64).tiny
    for step in trace:
        op, _, _, result, _ = step
        numbers = raw(result)
        if op is None or isinstance(result, tuple) or np.result_type(numbers).kind != "f":
            continue
        with np.errstate(all="ignore"):
            large, small = np.isinf(numbers), np.abs(numbers) < tiny
        if not (np.any(large) or np.any(small)):
            continue
        given = [raw(value) for value in flat(step) if hasattr(raw(value), "__array__") or isinstance(value, (int, float))]
        if not all(np.all(np.isfinite(value)) for value in given):
            continue
        if np.any(large) and not _pole(op.name, given):
            yield step, "overflows", _shaped(step, large)
        elif np.any(small) and op.name not in _MAY_BE_0 and all(np.all(np.not_equal(value, 0)) for value in given):
            yield step, "underflows", _shaped(step, small)


def absorbs(trace: Trace) -> bool:
    """Whether a sum is one of its terms, so that the other has no part in what follows."""
    for op, given, _, result, _ in trace:
        if op is not None and op.name in ("add", "sub") and len(given) == 2 and np.ndim(raw(result)) == 0:
            a, b = raw(given[0]), raw(given[1])
            if (a != 0 and np.abs(raw(result)) == np.abs(b)) or (b != 0 and raw(result) == a):
                return True
    return False


def is_far(trace: Trace) -> bool:
    """Whether the square of a number leaves the range of floats: backward may overflow where forward does not."""
    for step in trace:
        numbers = raw(step.result)
        if step.op is not None and not isinstance(step.result, tuple) and np.result_type(numbers).kind == "f":
            info = np.finfo(np.result_type(numbers))
            sizes = np.abs(numbers)
            if np.any((sizes > np.sqrt(info.max)) | ((sizes < np.sqrt(info.tiny)) & (sizes > 0))):
                return True
    return False


def _pole(name: str, given: list[Any]) -> bool:
    """Whether infinity is the answer: a logarithm of 0, a division by it."""
    return name not in ("mul", "add", "sub", "square") and any(np.any(np.equal(value, 0)) for value in given[-2:])


def _shaped(step: Step, mask: Any) -> Any:
    return np.asarray(mask) if pointwise(step) else np.asarray(bool(np.any(mask)))
