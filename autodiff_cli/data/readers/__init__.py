"""The readers of all input formats; see ``data.row_blocks.Reader``."""

from __future__ import annotations

from importlib import import_module

from autodiff_cli.data.row_blocks import InputFile, Reader


def reader(file: InputFile) -> Reader:
    """Return the reader of a file.

    Raises:
        DataError: if the file does not match its format.
        UsageError: if the given column names do not fit the file.
        MissingPackage: if the format needs a package that is not installed.
    """
    module, _, name = file.format.reader.partition(".")
    result: Reader = getattr(import_module(f"{__name__}.{module}"), name)(file)
    return result
