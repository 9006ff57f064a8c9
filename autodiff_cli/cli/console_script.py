"""The console script, which sets up the streams and signals of the process, and calls ``main``."""

from __future__ import annotations

import io
import os
import sys
import warnings
from contextlib import suppress

from autodiff_cli import signals
from autodiff_cli.cli.main import debugging, main


def run() -> int:
    """Run the command line of this process, flush all output, and return the exit code."""
    # Without input files, arrays are usually small and gain nothing from several BLAS threads.
    if not any(a.startswith("@") or "=@" in a for a in sys.argv[1:]):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _open_streams()
    if not debugging():
        _silence_python()
    signals.on_interrupt(signals.end)
    code = main()
    signals.on_interrupt(signals.leave)
    return _flush_output(code)


def _open_streams() -> None:
    """Let the streams write any text, and occupy closed file descriptors 0 to 2 so that no later file gets one of them."""
    with suppress(OSError):  # the limit on open files is reached
        while (number := os.open(os.devnull, os.O_RDWR)) <= 2:  # a new descriptor is the smallest that is closed
            pass
        os.close(number)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _silence_python() -> None:
    """Suppress Python's own messages; ``-W`` and ``PYTHONWARNINGS`` still enable warnings."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    # Exceptions in finalizers, and in C code that imports modules, cannot be caught.
    sys.excepthook = lambda *_: None
    sys.unraisablehook = lambda _: None


def _flush_output(code: int) -> int:
    """Flush standard output and return the exit code; the exit code of an earlier error takes precedence."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        return code or 141  # 128 + SIGPIPE
    except (OSError, ValueError):  # main has already reported the error
        return code or 5  # that of FileError
    return code
