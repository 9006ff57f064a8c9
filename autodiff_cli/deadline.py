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
    last, lock, ended, sent = time.process_time() + seconds, threading.Lock(), threading.Event(), threading.Event()

    def watch() -> None:
        while (left := last - time.process_time()) > 0:
            if ended.wait(left):
                return
        pause = 0.0
        while not ended.wait(pause):
            with lock:
                pause = _LOOK
                if not ended.is_set() and _is_at_work(thread):
                    sent.set()
                    raise_in(ctypes.c_ulong(thread), ctypes.py_object(Late))
                    pause = _ARRIVE  # raise it again if it was lost

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
                raise_in(ctypes.c_ulong(thread), ctypes.py_object(Late))
                while True:
                    time.sleep(0)


def _is_at_work(thread: int) -> bool:
    frame = sys._current_frames().get(thread)
    module = "" if frame is None else str(frame.f_globals.get("__name__", ""))
    return module != __name__ and module.partition(".")[0] in _AT_WORK
