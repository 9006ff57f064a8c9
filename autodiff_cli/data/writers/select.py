"""Which writer a format has."""

from __future__ import annotations

from typing import Any

from autodiff_cli.data.block import Writer
from autodiff_cli.data.formats import DELIMITERS


def writer(style: str, head: dict[str, Any], bare: bool = False) -> Writer:
    """The writer of a format.

    Args:
        style: the format.
        head: what a JSON object says before its rows.
        bare: no header.

    Raises:
        MissingPackage: if it needs one that is not installed.
    """
    if style in DELIMITERS:
        from autodiff_cli.data.writers.text import DelimitedWriter

        return DelimitedWriter(DELIMITERS[style], bare)
    if style == "ndjson":
        from autodiff_cli.data.writers.text import NdjsonWriter

        return NdjsonWriter()
    if style == "json":
        from autodiff_cli.data.writers.text import JsonWriter

        return JsonWriter(head)
    if style in ("npy", "npz"):
        from autodiff_cli.data.writers import npy

        return npy.NpyWriter() if style == "npy" else npy.NpzWriter()
    from autodiff_cli.data.writers.arrow import ArrowWriter

    return ArrowWriter(style)
