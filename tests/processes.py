"""Programs that tests start: each ends, at the latest after ``LIMIT`` seconds."""

from __future__ import annotations

import stat
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

LIMIT = 300
"""Seconds after which a program hangs: no test comes near, with other programs on all processors either."""


def completed(command: Sequence[Any], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program and return what it printed."""
    options = {"capture_output": True, "text": True, "check": False, "timeout": LIMIT, **options}
    return subprocess.run(command, **options)  # noqa: PLW1510


@contextmanager
def started(command: Sequence[Any], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a program; it is killed at the limit, so a read from it ends too, and at the end of the block."""
    with subprocess.Popen(command, **options) as process:
        guard = threading.Timer(LIMIT, process.kill)
        guard.start()
        try:
            yield process
        finally:
            guard.cancel()
            if process.poll() is None:
                process.kill()


def unfinished(process: subprocess.Popen[Any]) -> list[int]:
    """The sizes of the files that a process has open and that have no name, as output files until they are complete."""
    sizes = []
    for path in Path(f"/proc/{process.pid}/fd").iterdir() if process.poll() is None else ():
        with suppress(OSError):  # it was closed in between
            status = path.stat()
            sizes += [status.st_size] if stat.S_ISREG(status.st_mode) and not status.st_nlink else []
    return sizes


def until(happened: Callable[[], Any]) -> Any:
    """Wait for something to be true and return it."""
    end = time.monotonic() + LIMIT
    while not (found := happened()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
    return found
