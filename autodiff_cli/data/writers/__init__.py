"""The writers of all output formats; see ``data.row_blocks.Writer``."""

from __future__ import annotations

from autodiff_cli.data.row_blocks import OutputStyle, Writer
from autodiff_cli.lazy import named


def writer(style: OutputStyle) -> Writer:
    """Return the writer of the format of a style.  For ``style.total``, this is inside a writer of totals, which calls it.

    If the format needs a package that is not installed, ``MissingPackage`` is raised.
    """
    rows: Writer = named(f"{__name__}.{style.format.writer}")(style)  # in this package, such as ``npy:NpyWriter``
    if not style.total:
        return rows
    from autodiff_cli.data.writers.totals import TotalsWriter

    return TotalsWriter(style, rows)
