"""A program with every defect that the oracles of the fuzzer are for; a process that runs it imports little."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from autodiff_cli.autograd import modes
from autodiff_cli.cli import unexpected_errors
from tests.fuzz import oracles


def main(args: Sequence[str]) -> int:
    """A command line with the defect that its argument names."""
    return PLANTED[args[0]]() or 0


def _raises() -> int:
    raise KeyError("planted")


def _warns() -> int:
    np.float64(1e308) * np.float64(10)
    return 0


def _warns_python() -> int:
    warnings.warn("planted", DeprecationWarning, stacklevel=1)
    return 0


def _leaves_grad_mode() -> int:
    modes.set_grad_enabled(False)
    return 0


def _eats() -> int:
    oracles.MOST_GROWTH = 1 << 26  # here, in the process of the command
    np.ones(3 << 22)
    return 0


def _spins() -> int:
    while True:
        pass


def _sleeps() -> int:
    time.sleep(1000)
    return 0


class _Dies:
    def __del__(self) -> None:
        raise ValueError("planted")


def _says(out: str = "", err: str = "", code: int = 0) -> Callable[[], int]:
    def planted() -> int:
        sys.stdout.write(out)
        sys.stderr.write(err)
        return code

    return planted


PLANTED: dict[str, Callable[[], int]] = {
    "fine": _says("1.0\n"),
    "raises": _raises,
    "exits": lambda: sys.exit(2),
    "warns": _warns,
    "warns in Python": _warns_python,
    "grad mode": _leaves_grad_mode,
    "environment": lambda: os.environ.update(PLANTED="1") or 0,
    "numpy": lambda: np.seterr(all="ignore") and 0,
    "memory": _eats,
    "spins": _spins,
    "sleeps": _sleeps,
    "dies": lambda: os._exit(3),
    "unforeseen": lambda: unexpected_errors.described(ZeroDivisionError(), []).exit_code,
    "code": _says(err="error: unforeseen\n", code=6),
    "silent": _says(code=2),
    "escape in a table": _says("\x1b[31m1.0\n"),
    "escape in an error": _says(err="error: \x1b]0;x\x07\n", code=2),
    "private": _says(err="error: <class 'float'> has no _data\n", code=3),
    "address": _says(err="error: <ContextVar object at 0x7f0123456789>\n", code=2),
    "words of NumPy": _says(err="note: overflow encountered in cast\n"),
    "stream": _says("error: no\n"),
    "ignored": lambda: _Dies() and None,
    "past": lambda: os.write(1, b"no") and None,
    "leaves a file": lambda: Path(".hidden").write_text(""),
}
