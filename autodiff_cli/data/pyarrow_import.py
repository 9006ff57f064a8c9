"""Imports of pyarrow on demand, and conversion of library exceptions to data errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from autodiff_cli.errors import AutodiffError, DataError, MissingPackage
from autodiff_cli.lazy import library

_LONGEST_REASON = 300
"""The maximum number of characters of a hint."""


@contextmanager
def library_errors(problem: str) -> Iterator[None]:
    """Convert every exception of a library that reads a file to a ``DataError``; an ``AutodiffError`` is raised unchanged.

    ``problem`` is the message, and the text of the exception becomes the hint.
    """
    try:
        yield
    except AutodiffError:
        raise
    except MemoryError:
        raise DataError(problem, hint="check that the file is not corrupt: it needs more memory than is available") from None
    except Exception as error:
        reason = str(getattr(error, "strerror", None) or error).partition("\n")[0].strip()
        reason = "" if " object at 0x" in reason else reason  # a Python repr, which does not describe the file
        raise DataError(problem, hint=reason[:_LONGEST_REASON] or None) from None


def pyarrow_if_there() -> Any:
    """Import the package pyarrow; return ``None`` if it cannot be imported."""
    try:
        return library("pyarrow", "")
    except MissingPackage:
        return None
