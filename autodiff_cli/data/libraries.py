"""Libraries that read and write formats: pyarrow when it is needed, and any library's errors as errors of the file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from autodiff_cli.errors import AutodiffError, DataError
from autodiff_cli.lazy import library, library_if_there

_LONGEST_REASON = 300


@contextmanager
def foreign(problem: str) -> Iterator[None]:
    """Errors of the package that reads a format, whatever their type, as errors of the file.

    Args:
        problem: what the message says before the reason.

    Raises:
        DataError: for any of them; a broken file shows in many ways.
    """
    try:
        yield
    except AutodiffError:
        raise
    except MemoryError:
        raise DataError(problem, hint="it asks for more memory than there is: it may be broken") from None
    except Exception as error:
        reason = str(getattr(error, "strerror", None) or error).partition("\n")[0].strip()
        reason = "" if " object at 0x" in reason else reason  # of Python, which says nothing about the file
        raise DataError(problem, hint=reason[:_LONGEST_REASON] or None) from None


def pyarrow(what: str) -> Any:
    """The package pyarrow.

    Raises:
        MissingPackage: if it is not installed, or cannot be imported.
        MemoryError: if there is not enough memory to.
    """
    return library("pyarrow", what, "use csv")


def pyarrow_if_there() -> Any:
    """The package pyarrow, if it is installed and can be imported."""
    return library_if_there("pyarrow")


def pyarrow_loaded() -> bool:
    """Whether somebody has imported pyarrow already, so that using it costs no time."""
    return sys.modules.get("pyarrow") is not None and pyarrow_if_there() is not None
