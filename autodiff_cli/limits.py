"""Limits on the memory, the output and the time of one run, so that a typo does not exhaust the machine.

Each limit is checked before memory or time is spent; for example, the shape of an array is checked before the array is
allocated.  ``unlimited`` lifts all limits.  The memory limit counts arrays of some KiB and more, each from the call to ``hold``
until the array is freed; smaller ones are bounded by the limits on operations.
"""

from __future__ import annotations

import gc
import math
import weakref
from _thread import RLock  # the class behind threading.RLock; importing threading takes as long as ten small modules
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from autodiff_cli.errors import LimitError, setting

MOST_ELEMENTS = 2**28
"""The maximum number of elements of one tensor."""
MOST_BYTES = 3 * 2**30
"""The maximum number of bytes of all tensors of the language that are alive at the same time."""
MOST_PRINTED = 10_000_000
"""The maximum count of numbers in one output."""
MOST_TURNS = 10_000
"""The maximum number of iterations of a loop whose length is a number in the input, such as the value of ``--backward``."""
MOST_PARTS = 500_000
"""The maximum number of tensors that one call returns; each takes about 1 KiB."""
MOST_ORDERS = 1000
"""The highest order of a derivative or a Taylor coefficient."""
LIFT = f"{setting('no_limits')} allows it"
"""The hint of an error that names a limit."""
LARGE = 2**20
"""The minimum size in bytes of a result whose memory is checked before it is allocated."""
COUNTED = 2**12
"""The minimum size in bytes of an array whose memory is counted."""

_lifted: ContextVar[bool] = ContextVar("lifted", default=False)


class _Memory:
    """The memory of the arrays that are alive.

    Attributes:
        bytes: the number of bytes of all arrays.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self._arrays: dict[int, weakref.ref[Any]] = {}
        self._lock = RLock()  # an array may be freed while another one is added, also by the same thread

    def add(self, array: Any) -> None:
        """Count an array until it is freed; one that is counted already is not counted again."""
        key, size = id(array), array.nbytes  # kept for ``freed``, when the array does not exist any more
        if key in self._arrays:
            return

        def freed(_: weakref.ref[Any]) -> None:
            """Stop counting the array; Python calls this function when it frees the array."""
            with self._lock:
                del self._arrays[key]
                self.bytes -= size

        with self._lock:
            self._arrays[key] = weakref.ref(array, freed)
            self.bytes += size


_memory = _Memory()


def lifted() -> bool:
    """Return whether the limits are lifted."""
    return _lifted.get()


def lift() -> None:
    """Lift the limits for the rest of the current context; each command runs in its own context."""
    _lifted.set(True)


@contextmanager
def unlimited() -> Iterator[None]:
    """Lift the limits inside a ``with`` block."""
    token = _lifted.set(True)
    try:
        yield
    finally:
        _lifted.reset(token)


def check_elements(shape: tuple[int, ...]) -> None:
    """Raise ``LimitError`` for a shape with too many elements, where a length 0 counts as 1.

    For a view, which does not allocate memory, this check is sufficient.
    """
    check_count(places(shape), MOST_ELEMENTS, "a tensor of {} elements is more than the limit of {}")


def places(shape: tuple[int, ...]) -> int:
    """Return the number of elements of a shape, with length 0 counted as 1.

    A dimension of length 0 still takes memory and output, because a thousand empty rows are printed as a thousand lists.
    """
    return math.prod(max(length, 1) for length in shape)


def check_size(shape: tuple[int, ...], itemsize: int = 8) -> None:
    """Raise ``LimitError`` for an array with too many elements, or one that exceeds the memory limit together with live arrays.

    ``itemsize`` is the size of one element in bytes.
    """
    check_elements(shape)
    size = math.prod(shape) * itemsize
    if size >= LARGE:  # smaller ones are checked when they are held
        check_bytes(size)


def held() -> int:
    """Return the number of bytes of all arrays that are alive and have at least ``COUNTED`` bytes."""
    return _memory.bytes


def check_bytes(more: int) -> None:
    """Raise ``LimitError`` if ``more`` bytes and all live arrays exceed ``MOST_BYTES``, unless the limits are lifted."""
    whole = held() + more
    if whole > MOST_BYTES and not lifted():
        gc.collect()  # free arrays in reference cycles, such as the cycle of an exception and its traceback
        whole = held() + more
    if whole > MOST_BYTES and not lifted():
        need, most = f"{whole / 2**30:.1f} GiB", f"{MOST_BYTES / 2**30:.0f} GiB"
        message = f"the tensors of this program need {need} at the same time, more than the limit of {most}"
        raise LimitError(message, hint=f"use fewer or smaller tensors, or lift the limit with {setting('no_limits')}")


def check_count(count: int, most: int, message: str, hint: str = LIFT) -> None:
    """Raise ``LimitError`` for a count above its limit, unless the limits are lifted.

    Args:
        count: the requested number.
        most: the limit.
        message: the message, with a placeholder for the count and a placeholder for the limit.
        hint: the hint of the error.
    """
    if count > most and not lifted():
        raise LimitError(message.format(f"{count:,}", f"{most:,}"), hint=hint)


def check_parts(count: int) -> None:
    """Raise ``LimitError`` if a function would return too many tensors."""
    check_count(count, MOST_PARTS, "{} tensors from one call are more than the limit of {}")


def check_printed(count: int) -> None:
    """Raise ``LimitError`` for an output with too many numbers, before the numbers are converted to text."""
    check_count(
        count,
        MOST_PRINTED,
        "the output has {} numbers, more than the limit of {}",
        hint=f"reduce the output with sum() or an index, or lift the limit with {setting('no_limits')}",
    )


def hold(array: Any) -> None:
    """Count the memory of an array until it is freed; raise ``LimitError`` if all live arrays together exceed the limit.

    A view is not counted, because its base owns the memory.
    """
    is_small = getattr(array, "nbytes", 0) < COUNTED  # a number does not have the attribute
    if is_small or array.base is not None:
        return
    _memory.add(array)
    if _memory.bytes > MOST_BYTES:
        check_bytes(0)  # the array itself is counted already
