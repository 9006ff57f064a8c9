"""A time limit for calls to libraries that do not have a timeout of their own."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_AT_WORK = ("autodiff_cli", "mpmath", "sympy")
"""The packages whose code ``Late`` may interrupt.  In other code, such as a callback of the garbage collector, the exception
would be printed and lost."""
_LOOK = 0.01
"""The seconds until the next look at a thread that runs code of other packages."""
_ARRIVE = 0.5
"""The seconds in which ``Late`` arrives in a thread; after them, it was lost, and is raised again."""


class Late(BaseException):
    """The exception for an exceeded time limit; it is not an ``Exception``, so that libraries do not suppress it."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise ``Late`` in this thread if the ``with`` block, which must be Python code, exceeds a time limit.

    The seconds are processor time, which does not depend on other processes on the machine.
    """
    watch = _Watch(threading.get_ident(), time.process_time() + seconds)
    watch.start()
    try:
        yield
    finally:
        watch.end()


class _Watch(threading.Thread):
    """A thread that waits for a deadline in processor time, and then raises ``Late`` in another thread until that one ends it."""

    def __init__(self, watched: int, deadline: float) -> None:
        super().__init__(daemon=True)
        self._watched, self._deadline = watched, deadline
        self._ended = threading.Event()
        self._has_raised = False
        self._lock = threading.Lock()  # so that ``Late`` is not raised after the end

    def run(self) -> None:
        """Wait for the deadline, then try to raise ``Late`` again and again, because it may be lost."""
        while (left := self._deadline - time.process_time()) > 0:
            if self._ended.wait(left):
                return
        pause = 0.0  # at first
        while not self._ended.wait(pause):
            with self._lock:
                is_due = not self._ended.is_set() and _is_at_work(self._watched)
                if is_due:
                    self._has_raised = True
                    _raise_late(self._watched)
                pause = _ARRIVE if is_due else _LOOK

    def end(self) -> None:
        """End the watch; the watched thread calls this method, after which ``Late`` does not arrive any more."""
        with self._lock:
            self._ended.set()
        if self._has_raised:
            # An exception may be pending.  Cancelled, it would leave Python's flag for pending work set, with which Python 3.11
            # is slower, and hangs in a traced call; so one more is raised, and arrives here.
            with suppress(Late):
                _raise_late(self._watched)
                while True:
                    time.sleep(0)


def _raise_late(thread: int) -> None:
    """Let Python raise ``Late`` in a thread before one of its next instructions."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Late))


def _is_at_work(thread: int) -> bool:
    """Return whether a thread now runs code in which ``Late`` may be raised: not this module, which may be ending the watch."""
    frame = sys._current_frames().get(thread)
    module = "" if frame is None else str(frame.f_globals.get("__name__", ""))
    return module != __name__ and module.partition(".")[0] in _AT_WORK
