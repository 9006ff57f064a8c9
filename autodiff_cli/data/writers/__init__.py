"""The writers of all output formats; see ``data.row_blocks.Writer``."""

from __future__ import annotations

from autodiff_cli.data.row_blocks import OutputStyle, Writer
from autodiff_cli.lazy import named


def writer(style: OutputStyle) -> Writer:
    """Return the writer for a style: that of its format, or one of totals that writes with it.

    If the format needs a package that is not installed, ``MissingPackage`` is raised.
    """
    rows: Writer = named(f"{__name__}.{style.format.writer}")(style)  # its module and class, such as ``npy:NpyWriter``
    if not style.total:
        return rows
    from autodiff_cli.data.writers.totals import TotalsWriter

    return TotalsWriter(style, rows)
