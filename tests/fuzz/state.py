"""Global state that a command must leave as it found it."""

from __future__ import annotations

import gc
import os
import signal
import sys
import warnings
from typing import Any

import numpy as np

from autodiff_cli import limits
from autodiff_cli.autograd import dtypes, modes
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.ops import creation

FILES = "open files"


def snapshot() -> dict[str, Any]:
    """What is compared before and after a command."""
    return {
        "grad mode": modes.is_grad_enabled(),
        "default dtype": dtypes.get_default_dtype(),
        "limits": limits.lifted(),
        "numpy's errors": tuple(np.geterr().items()),
        "numpy's printing": tuple((key, str(value)) for key, value in np.get_printoptions().items()),
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "warning filters": list(warnings.filters),
        "signal handlers": (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGPIPE)),
        "recursion limit": sys.getrecursionlimit(),
        "functions of the language": len(FUNCTIONS),
        FILES: _open_files(),
    }


def _open_files() -> int:
    """How many files are open, but for the fonts that a library keeps open once it has drawn with them."""
    if not os.path.isdir("/proc/self/fd"):
        return 0
    links = (f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd"))
    return sum(not os.readlink(link).endswith(".ttf") for link in links if os.path.lexists(link))


def changed(before: dict[str, Any]) -> list[str]:
    """The names of what is not as it was; of files, whether there are more than before that are still in use."""
    after = snapshot()
    if after[FILES] > before[FILES]:
        gc.collect()
        after[FILES] = _open_files()
    after[FILES] = max(after[FILES], before[FILES])
    return [name for name, value in before.items() if value != after[name]]


def reset() -> None:
    """Make everything as it is in a process that has just begun."""
    modes.set_grad_enabled(True)
    dtypes.set_default_dtype(np.float64)
    if hasattr(creation, "_generator"):
        creation._generator = None
    limits._lifted.set(False)
    np.seterr(all="warn", under="ignore")
