"""What only a process does: its streams, its signals, its garbage; the work is done by ``main``."""

from __future__ import annotations

import gc
import io
import os
import sys
import warnings
from contextlib import suppress

from autodiff_cli import signals
from autodiff_cli.cli.main import debugging, main


def run() -> int:
    """Run the command line of this process; the exit code, with all output written."""
    # One evaluation makes few cycles, and a small one gains nothing from a pool of BLAS threads that it has to start.
    gc.set_threshold(200_000, 20, 100)
    if not any(a.startswith("@") or "=@" in a for a in sys.argv[1:]):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _open_streams()
    if not debugging():
        _silence()
    signals.on_interrupt(signals.end)
    code = main()
    signals.on_interrupt(signals.leave)
    return _flushed(code)


def _open_streams() -> None:
    """Streams that can write any text; a file that is opened later must not take the place of one that is closed."""
    with suppress(OSError):  # no more files may be open
        while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
        os.close(number)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _silence() -> None:
    """Print nothing that Python prints by itself; ``-W`` and ``PYTHONWARNINGS`` hold."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    sys.excepthook = sys.unraisablehook = _nothing


def _nothing(*_: object) -> None:
    """Of errors that nothing can catch: in C code that imports modules, and where objects are freed."""


def _flushed(code: int) -> int:
    """The exit code after all is written: that of an error stays."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        return code or 141
    except (OSError, ValueError):  # main has said so if it could
        return code or 5
    return code
