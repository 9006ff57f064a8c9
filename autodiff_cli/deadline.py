"""A limit on the time that a library takes, for those that have none of their own."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Late(BaseException):
    """The time is over.  A library that catches every ``Exception`` does not catch this."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise ``Late`` in this thread if what is inside, which must be Python code, takes longer."""
    thread = ctypes.c_ulong(threading.get_ident())
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    lock, ended = threading.Lock(), False

    def late() -> None:
        with lock:
            if not ended:
                raise_in(thread, ctypes.py_object(Late))

    timer = threading.Timer(seconds, late)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        with lock:
            ended = True
            raise_in(thread, None)  # what is on its way and has not arrived
