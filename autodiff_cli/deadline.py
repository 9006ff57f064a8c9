"""A time limit for calls to libraries that do not have a timeout of their own."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_AT_WORK = ("autodiff_cli", "mpmath", "sympy")
"""The packages whose code ``Late`` may interrupt.  In other code, such as a callback of the garbage collector, the exception
would be printed and lost."""
_LOOK = 0.01
_ARRIVE = 0.5


class Late(BaseException):
    """The exception for an exceeded time limit; it is not an ``Exception``, so that libraries do not suppress it."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise ``Late`` in this thread if the ``with`` block, which must be Python code, exceeds a time limit.

    Args:
        seconds: the limit in processor time, which does not depend on other processes on the machine.
    """
    thread = threading.get_ident()
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    last, lock, ended = time.process_time() + seconds, threading.Lock(), threading.Event()

    def watch() -> None:
        while (left := last - time.process_time()) > 0:
            if ended.wait(left):
                return
        pause = 0.0
        while not ended.wait(pause):
            with lock:
                pause = _LOOK
                if not ended.is_set() and _is_at_work(thread):
                    raise_in(ctypes.c_ulong(thread), ctypes.py_object(Late))
                    pause = _ARRIVE  # raise it again if it was lost

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        with lock:
            ended.set()
            raise_in(ctypes.c_ulong(thread), None)  # cancel an exception that is still pending


def _is_at_work(thread: int) -> bool:
    frame = sys._current_frames().get(thread)
    module = "" if frame is None else str(frame.f_globals.get("__name__", ""))
    return module != __name__ and module.partition(".")[0] in _AT_WORK
