"""The readers of all input formats; see ``data.row_blocks.Reader``."""

from __future__ import annotations

from typing import IO

from autodiff_cli.data.row_blocks import Input, Reader
from autodiff_cli.lazy import named


def reader(source: Input, file: IO[bytes]) -> Reader:
    """Return the reader of a file; see ``Reader``.

    Raises:
        DataError: if the file does not match its format.
        UsageError: if the given column names do not fit the file.
        MissingPackage: if the format needs a package that is not installed.
    """
    result: Reader = named(f"{__name__}.{source.format.reader}")(source, file)
    return result
