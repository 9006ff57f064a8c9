"""Limits: what one run may ask for, so that a typo does not take the machine down.

Each is checked before the memory or the time is taken: a shape is computed first, then the array.  ``unlimited`` lifts
all of them.  Memory is counted in bytes, for arrays large enough to matter, from ``hold`` until they are freed.
"""

from __future__ import annotations

import gc
import math
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from autodiff_cli.errors import LimitError, setting

MOST_ELEMENTS = 2**28
"""Of one tensor."""
MOST_BYTES = 3 * 2**30
"""Of all tensors of the language that are alive at one time."""
MOST_PRINTED = 10_000_000
"""Numbers in one output."""
MOST_TURNS = 10_000
"""Of a loop whose length is a number in the input, such as the sweeps of ``--backward``."""
MOST_ORDERS = 1000
"""The highest order of a derivative or a Taylor coefficient."""
BYTES_OF_AN_OPERATION = 1400
"""A recorded operation on numbers: the tensor, its node, its place in the list (measured: 1.37 KiB)."""
_ALLOW = f"{setting('no_limits')} allows it"
LARGE = 2**20
"""Bytes from which on an array is counted."""

_lifted: ContextVar[bool] = ContextVar("lifted", default=False)
_held: dict[int, int] = {}
"""The bytes of each large array that is alive, by its identity."""


def lifted() -> bool:
    """Whether the limits do not hold now."""
    return _lifted.get()


def lift() -> None:
    """Lift the limits for the rest of this context, which a command has of its own."""
    _lifted.set(True)


@contextmanager
def unlimited() -> Iterator[None]:
    """Lift the limits inside a ``with`` block."""
    token = _lifted.set(True)
    try:
        yield
    finally:
        _lifted.reset(token)


def check_elements(shape: tuple[int, ...]) -> int:
    """Refuse a shape of too many elements, and return their number; enough for a view, which needs no memory.

    Raises:
        LimitError: with the number of elements.
    """
    check_count(places(shape), MOST_ELEMENTS, "a tensor of {} elements is more than the limit of {}")
    return math.prod(shape)


def places(shape: tuple[int, ...]) -> int:
    """How many elements or empty rows a shape has: a thousand rows of nothing are a thousand lists."""
    return math.prod(max(length, 1) for length in shape)


def check_size(shape: tuple[int, ...], itemsize: int = 8) -> None:
    """Refuse a shape of too many elements, or one that does not fit beside the arrays that are alive.

    Args:
        shape: of the array that is to be made.
        itemsize: bytes of one element.

    Raises:
        LimitError: with the number of elements, or of bytes.
    """
    size = check_elements(shape) * itemsize
    if size >= LARGE:
        check_bytes(size)


def held() -> int:
    """The bytes of all large arrays that are alive."""
    return sum(list(_held.values()))


def check_bytes(more: int) -> None:
    """Refuse memory that does not fit beside the arrays that are alive.

    Raises:
        LimitError: with the sum, in GiB.
    """
    whole = held() + more
    if whole > MOST_BYTES and not lifted():
        gc.collect()  # arrays in circles, such as those of an error, are alive until then
        whole = held() + more
    if whole > MOST_BYTES and not lifted():
        raise LimitError(
            f"the tensors of this program need {whole / 2**30:.1f} GiB at one time, more than the limit of "
            f"{MOST_BYTES / 2**30:.0f} GiB",
            hint=f"use smaller tensors, or fewer; {_ALLOW}",
        )


def check_count(count: int, most: int, message: str, hint: str = _ALLOW) -> None:
    """Refuse a number above its limit.

    Args:
        count: the number that was asked for.
        most: the limit.
        message: what to say, with a place for each of them.
        hint: the way out.

    Raises:
        LimitError: if ``count`` is above ``most``.
    """
    if count > most and not lifted():
        raise LimitError(message.format(f"{count:,}", f"{most:,}"), hint=hint)


def check_printed(count: int) -> None:
    """Refuse an output of too many numbers before they become text.

    Raises:
        LimitError: with the number of them.
    """
    check_count(
        count,
        MOST_PRINTED,
        "the output has {} numbers, more than the limit of {}",
        hint=f"reduce it, as with sum() or an index; {_ALLOW}",
    )


def hold(array: Any) -> None:
    """Count the memory of an array from now on until it is freed; that of a view belongs to its base."""
    if getattr(array, "nbytes", 0) < LARGE or array.base is not None:
        return
    key = id(array)
    if key not in _held:
        _held[key] = array.nbytes
        weakref.finalize(array, _held.pop, key, None).atexit = False
