"""Signals that end the process, and which of them has come in.

An exception that a signal raises while a module is imported may come out as another one, or not at all: what counts is
``received``.  This module imports nothing but what Python has loaded already.
"""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

received = 0
"""The number of the signal that asked the process to end; 0 for none."""


def leave(number: int, _: FrameType | None) -> None:
    """End the process at once: there is nothing to clean up yet, or any more."""
    os._exit(128 + number)


def end(number: int, _: FrameType | None) -> None:
    """Raise the exception that ends the process after its files are closed."""
    global received
    received = number
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def forget() -> None:
    """Go on after an interruption, as a session does."""
    global received
    received = 0


def on_interrupt(handler: Callable[[int, FrameType | None], None]) -> None:
    """Choose what SIGINT does, unless the process was started to ignore it."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, handler)
