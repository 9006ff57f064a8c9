"""The readers of all input formats; see ``data.row_blocks.Reader``."""

from __future__ import annotations

from importlib import import_module
from typing import IO

from autodiff_cli.data.row_blocks import Input, Reader


def reader(source: Input, file: IO[bytes]) -> Reader:
    """Return the reader of a file; see ``Reader``.

    Raises:
        DataError: if the file does not match its format.
        UsageError: if the given column names do not fit the file.
        MissingPackage: if the format needs a package that is not installed.
    """
    module, _, name = source.format.reader.partition(".")
    result: Reader = getattr(import_module(f"{__name__}.{module}"), name)(source, file)
    return result
