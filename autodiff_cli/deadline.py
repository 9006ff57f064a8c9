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

    Args:
        seconds: the limit in processor time, which does not depend on other processes on the machine.
    """
    thread, deadline = threading.get_ident(), time.process_time() + seconds
    lock, ended, sent = threading.Lock(), threading.Event(), threading.Event()

    def watch() -> None:
        """Wait for the deadline in a thread of its own, then raise ``Late`` in the other one until the ``with`` block ends."""
        while (left := deadline - time.process_time()) > 0:
            if ended.wait(left):
                return
        pause = 0.0
        while not ended.wait(pause):
            with lock:
                pause = _LOOK
                if not ended.is_set() and _is_at_work(thread):
                    sent.set()
                    _raise_late(thread)
                    pause = _ARRIVE

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        with lock:
            ended.set()
        if sent.is_set():
            # An exception may be pending.  Cancelled, it would leave Python's flag for pending work set, with which Python 3.11
            # is slower, and hangs in a traced call; so one more is raised, and arrives here.
            with suppress(Late):
                _raise_late(thread)
                while True:
                    time.sleep(0)


def _raise_late(thread: int) -> None:
    """Let Python raise ``Late`` in a thread before one of its next instructions."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Late))


def _is_at_work(thread: int) -> bool:
    """Return whether a thread runs code in which ``Late`` may be raised, at this moment."""
    frame = sys._current_frames().get(thread)
    module = "" if frame is None else str(frame.f_globals.get("__name__", ""))
    return module != __name__ and module.partition(".")[0] in _AT_WORK
