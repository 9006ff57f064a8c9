"""Libraries that read and write formats: pyarrow when it is needed, and the errors of any as errors of the file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from autodiff_cli.errors import AutodiffError, DataError
from autodiff_cli.lazy import library, library_if_there

_LONGEST_REASON = 300


@contextmanager
def library_errors(problem: str) -> Iterator[None]:
    """Turn every error of the library that reads a file into one error, as a broken file shows in many ways.

    Args:
        problem: the message; the reason becomes the hint.

    Raises:
        DataError: for any other exception.
    """
    try:
        yield
    except AutodiffError:
        raise
    except MemoryError:
        raise DataError(problem, hint="it asks for more memory than there is: it may be broken") from None
    except Exception as error:
        reason = str(getattr(error, "strerror", None) or error).partition("\n")[0].strip()
        reason = "" if " object at 0x" in reason else reason  # Python's, which does not describe the file
        raise DataError(problem, hint=reason[:_LONGEST_REASON] or None) from None


def pyarrow(user: str) -> Any:
    """Return the package pyarrow.

    Args:
        user: what needs it, for the message.

    Raises:
        MissingPackage: if it cannot be imported.
        MemoryError: if there is not enough memory to import it.
    """
    return library("pyarrow", user, "use csv")


def pyarrow_if_there() -> Any:
    """Return the package pyarrow, or ``None`` if it cannot be imported."""
    return library_if_there("pyarrow")


def pyarrow_loaded() -> bool:
    """Return whether pyarrow has been imported already, so that using it costs no time."""
    return sys.modules.get("pyarrow") is not None and pyarrow_if_there() is not None
