"""The writers of all output formats; see ``data.row_blocks.Writer``."""

from __future__ import annotations

from importlib import import_module

from autodiff_cli.data.row_blocks import OutputStyle, Writer


def writer(style: OutputStyle) -> Writer:
    """Return the writer for a style.

    Raises:
        MissingPackage: if the format needs a package that is not installed.
    """
    module, _, name = style.format.writer.partition(".")
    result: Writer = getattr(import_module(f"{__name__}.{module}"), name)(style)
    if not style.total:
        return result
    from autodiff_cli.data.writers.totals import TotalsWriter

    return TotalsWriter(style, result)
