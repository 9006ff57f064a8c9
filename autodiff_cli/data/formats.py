"""Formats of files: what a name says, and what each of them needs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from autodiff_cli.errors import AutodiffError, DataError, UsageError
from autodiff_cli.lazy import library, library_if_there
from autodiff_cli.suggest import suggestion

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".npy": "npy",
    ".npz": "npz",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".feather": "feather",
    ".json": "json",
    ".md": "markdown",
}
READ = ("csv", "tsv", "ndjson", "npy", "npz", "parquet", "arrow", "feather")
WRITTEN = (*READ, "json", "table", "markdown")
DELIMITERS = {"csv": ",", "tsv": "\t"}
ARROW = ("parquet", "arrow", "feather")
_LONGEST_REASON = 300
TEXT = ("csv", "tsv", "ndjson", "json", "table", "markdown")


def named(style: str, known: tuple[str, ...], option: str) -> str:
    """A format that an option names.

    Raises:
        UsageError: if there is none of that name.
    """
    if style not in known:
        raise UsageError(f"{option}: unknown format '{style}'", hint=suggestion(style, known) or f"use one of {', '.join(known)}")
    return style


def format_of(path: str, known: tuple[str, ...], option: str) -> str:
    """The format that the name of a file says.

    Raises:
        UsageError: if it says none, with the option that does.
    """
    suffix = os.path.splitext(path)[1].lower()
    if SUFFIXES.get(suffix) in known:
        return SUFFIXES[suffix]
    if suffix in (".gz", ".bz2", ".xz", ".zst") and option == "--input-format":
        raise UsageError(
            f"'{path}' is compressed", hint=f"unpack it on the way: gzip -dc {path} | autodiff map EXPR --input-format csv"
        )
    raise UsageError(f"the name '{path}' does not say what format it has", hint=f"say so with {option}: one of {', '.join(known)}")


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
