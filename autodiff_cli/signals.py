"""Handlers for the signals that end the process, and the number of the received signal.

If a signal handler raises an exception during an import, the import may suppress or replace the exception; ``received`` is the
reliable record.  This module imports only modules that Python has already loaded.
"""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

received = 0
"""The number of the signal that requested the end of the process; 0 for none."""


def leave(number: int, _: FrameType | None) -> None:
    """End the process at once; this handler is set only while no cleanup is needed."""
    os._exit(128 + number)


def end(number: int, _: FrameType | None) -> None:
    """Record the signal, and raise ``KeyboardInterrupt`` or ``SystemExit``, so that files are closed before the end."""
    global received
    received = number
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def forget() -> None:
    """Reset ``received`` after an interruption, so that a session can continue."""
    global received
    received = 0


def on_interrupt(handler: Callable[[int, FrameType | None], None]) -> None:
    """Set the handler of SIGINT, unless the process was started with SIGINT ignored."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, handler)
