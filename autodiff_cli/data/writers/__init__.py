"""The writers of all output formats; see ``data.row_blocks.Writer``."""

from __future__ import annotations

from autodiff_cli.data.row_blocks import OutputStyle, Writer
from autodiff_cli.lazy import named


def writer(style: OutputStyle) -> Writer:
    """Return the writer for a style; raise ``MissingPackage`` if the format needs a package that is not installed."""
    result: Writer = named(f"{__name__}.{style.format.writer}")(style)
    if not style.total:
        return result
    from autodiff_cli.data.writers.totals import TotalsWriter

    return TotalsWriter(style, result)
