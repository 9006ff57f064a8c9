"""What shapes each function takes and gives, found by calling it once: a new function needs nothing here.

Every function of the registry is called with its own samples, and with tensors of a few shapes in the place of all its
required arguments; then once more with each optional parameter given.  What comes back is a ``Call``: a way to write the
function down so that it fits, with the shape of its result.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import autodiff_cli.ops  # noqa: F401  installs the functions
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.autograd.tensor import new_tensor
from tests.points import edges_of, samples_of

Shape = tuple[int, ...]
SHAPES: tuple[Shape, ...] = ((), (3,), (2,), (2, 2), (2, 3), (3, 2), (1,), (2, 1), (0,), (2, 2, 2), (3, 3))
_PLAIN = (2, 3, 0.5, [2], [2, 3])
"""Candidates for arguments of functions that take no tensor at all."""


@dataclass(frozen=True)
class Call:
    """One way to call a function.

    Attributes:
        op: the function.
        arguments: for each argument the shape of a tensor, or the text that it must be.
        named: keywords with their text.
        result: the shape of the result; of each result, if there are several.
    """

    op: FunctionInfo
    arguments: tuple[Shape | str, ...]
    named: tuple[tuple[str, str], ...]
    result: Shape | tuple[Shape, ...]
    several: bool


class Signatures:
    """All calls that work, by the shape of their result.

    Attributes:
        by_shape: shape of the result, then name of the function, to calls.
        by_name: name of the function to all its calls.
        several: name of the function to calls that return a tuple.
        unknown: functions of which no call was found; they are called at random.
    """

    def __init__(self) -> None:
        self.by_shape: dict[Shape, dict[str, list[Call]]] = {}
        self.by_name: dict[str, list[Call]] = {}
        self.several: dict[str, list[Call]] = {}
        self.unknown: list[FunctionInfo] = []
        ops = {id(op): op for _, op in sorted(FUNCTIONS.items())}
        for op in ops.values():
            calls = list(_calls(op, _candidates(op))) or list(_calls(op, _whole_numbers(op)))
            for call in calls:
                if call.several:
                    self.several.setdefault(op.name, []).append(call)
                else:
                    self.by_shape.setdefault(call.result, {}).setdefault(op.name, []).append(call)  # type: ignore[arg-type]
            if calls:
                self.by_name[op.name] = calls
            else:
                self.unknown.append(op)

    def names(self) -> list[str]:
        """All functions by each of their names."""
        return sorted(FUNCTIONS)


@cache
def signatures() -> Signatures:
    """Those of this process."""
    return Signatures()


def _calls(op: FunctionInfo, candidates: Iterable[tuple[Any, ...]]) -> Iterator[Call]:
    seen = set()
    for values in candidates:
        for named in ({}, *_options(op, len(values))):
            call = _tried(op, values, named)
            if call is None:
                if not named:
                    break
                continue
            key = (call.arguments, call.named)
            if key not in seen:
                seen.add(key)
                yield call


def _candidates(op: FunctionInfo) -> Iterator[tuple[Any, ...]]:
    yield from samples_of(op)
    yield from edges_of(op)
    required = op.parameters[: op.required]
    if not op.tensors:
        for k in range(1, len(op.parameters) + 1):
            yield from itertools.product(_PLAIN, repeat=k)
        return
    if all(name in op.tensors for name in required):
        for shape in SHAPES:
            yield (_array(shape),) * len(required)
        if len(required) == 2:
            for one, other in itertools.permutations(SHAPES[:8], 2):
                yield _array(one), _array(other)


def _whole_numbers(op: FunctionInfo) -> Iterator[tuple[Any, ...]]:
    """Arguments of functions that take no floats, such as ``bitwise_and``."""
    return ((np.full(shape, 5),) * op.required for shape in SHAPES if shape)


def _options(op: FunctionInfo, given: int) -> Iterator[dict[str, Any]]:
    """Keywords to try, one at a time."""
    for name, default in zip(op.parameters[op.required :], op.defaults, strict=True):
        if op.parameters.index(name) < given or name in op.tensors:
            continue
        if isinstance(default, bool):
            yield {name: not default}
        elif isinstance(default, float):
            yield from ({name: value} for value in (0.5, 2))
        elif default is None or isinstance(default, int):
            yield from ({name: value} for value in (0, 1, -1))


def _tried(op: FunctionInfo, values: tuple[Any, ...], named: dict[str, Any]) -> Call | None:
    """The call, if it works."""
    arguments: list[Shape | str] = []
    given: list[Any] = []
    for i, value in enumerate(values):
        name = op.parameters[min(i, len(op.parameters) - 1)]
        array = np.asarray(value) if name in op.tensors else None
        kind = "" if array is None else array.dtype.kind
        arguments.append(array.shape if array is not None and kind == "f" else literal(value))
        given.append(new_tensor(value) if kind in "fib" and kind else value)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = op.function(*given, **named)
        except Exception:
            return None
    several = isinstance(result, (tuple, list))
    shapes = tuple(np.shape(getattr(r, "_data", r)) for r in (result if several else (result,)))
    texts = tuple((name, literal(value)) for name, value in named.items())
    return Call(op, tuple(arguments), texts, shapes if several else shapes[0], several)


def _array(shape: Shape) -> Any:
    """Numbers between 0.3 and 0.9, no two alike, that make a matrix regular."""
    size = int(np.prod(shape))
    return (0.6 + 0.3 * np.cos(np.arange(size) * 2.0)).reshape(shape)


def literal(value: Any) -> str:
    """A Python value in the language."""
    if value is None or isinstance(value, (bool, np.bool_)):
        return str(value).lower()
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, (tuple, list, np.ndarray)):
        return f"[{', '.join(map(literal, value))}]"
    return repr(float(value) if isinstance(value, (float, np.floating)) else int(value))
