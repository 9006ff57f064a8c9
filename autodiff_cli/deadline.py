"""A limit on the time that a library takes, for those that have none of their own."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Late(BaseException):
    """The time is over.  A library that catches every ``Exception`` does not catch this."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise ``Late`` in this thread if what is inside, which must be Python code, takes the process longer.

    Args:
        seconds: of processor time, so that it does not matter what else runs on the machine.
    """
    thread = ctypes.c_ulong(threading.get_ident())
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    last, lock, ended = time.process_time() + seconds, threading.Lock(), threading.Event()

    def watch() -> None:
        while (left := last - time.process_time()) > 0:
            if ended.wait(left):
                return
        with lock:
            if not ended.is_set():
                raise_in(thread, ctypes.py_object(Late))

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        with lock:
            ended.set()
            raise_in(thread, None)  # what is on its way and has not arrived
