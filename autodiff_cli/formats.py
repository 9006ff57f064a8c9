"""Every format that is read or written, declared once.

Commands, file names, readers and writers all look here.  To add a format, add a ``Format`` to ``FORMATS``; one that files of
rows are read from or written to also names its classes in ``data.readers`` and ``data.writers``.  This module imports
nothing that takes time, as every command reads it when it starts.
"""

from __future__ import annotations

import os
from typing import Literal, NamedTuple

from autodiff_cli.errors import UsageError, setting
from autodiff_cli.suggest import suggestion

Use = Literal["result", "formula", "graph", "graph file", "plot file"]


class Format(NamedTuple):
    """A format.

    Attributes:
        name: as options spell it.
        suffixes: of file names, in lower case; the first is the usual one.
        uses: ``result`` for the results of most commands, ``formula`` for those that are expressions, ``graph`` for graphs;
            ``graph file`` and ``plot file`` for files whose suffix chooses the format.
        reader, writer: ``module.Class`` in ``data.readers`` and ``data.writers``, for files of rows.
        delimiter: between cells.
        binary: not to be shown on a terminal.
        for_people: rounded or abbreviated, so that programs should not read it.
        json: errors are written as JSON too.
        magic, stream_magic: first bytes of a file, of one that is read back and forth and of one that is not.
        library: the name in messages of a format that needs pyarrow.
        part: the format in which a cluster writes parts of a file, if not this one.
        unit: how a file is divided for a cluster: into ``lines``, ``rows`` or row ``groups``; empty if it is not.
        nameless: columns may have no names, so that a setting can name them.
    """

    name: str
    suffixes: tuple[str, ...] = ()
    uses: tuple[Use, ...] = ()
    reader: str = ""
    writer: str = ""
    delimiter: str = ""
    binary: bool = False
    for_people: bool = False
    json: bool = False
    magic: tuple[bytes, ...] = ()
    stream_magic: tuple[bytes, ...] = ()
    library: str = ""
    part: str = ""
    unit: str = ""
    nameless: bool = False


_TABLE: tuple[Use, ...] = ("result", "formula", "graph", "graph file")
_DATA: tuple[Use, ...] = (*_TABLE, "plot file")


def _arrow(name: str, suffixes: tuple[str, ...], library: str) -> Format:
    read, write = "arrow.ArrowReader", "arrow.ArrowWriter"
    made = Format(name, suffixes, (), read, write, binary=True, library=library, part="arrow")
    return made._replace(magic=(b"ARROW1", b"FEA1"), stream_magic=(b"\xff\xff\xff\xff",))


_DECLARED = (
    Format("table", uses=("result", "formula", "graph"), writer="table.TableWriter", for_people=True),
    Format("plain", (".txt",), _TABLE),
    Format("dot", (".dot", ".gv"), ("graph", "graph file")),
    Format("mermaid", (".mmd", ".mermaid"), ("graph", "graph file")),
    Format("svg", (".svg",), ("graph", "graph file", "plot file")),
    Format("png", (".png",), ("graph file", "plot file"), binary=True),
    Format("pdf", (".pdf",), ("plot file",), binary=True),
    Format("json", (".json",), _DATA, writer="text.JsonWriter", json=True),
    Format("ndjson", (".ndjson", ".jsonl"), _DATA, "ndjson.NdjsonReader", "text.NdjsonWriter", json=True, unit="lines"),
    Format("csv", (".csv",), _DATA, "delimited.DelimitedReader", "text.DelimitedWriter", ",", unit="lines", nameless=True),
    Format("tsv", (".tsv", ".tab"), _DATA, "delimited.DelimitedReader", "text.DelimitedWriter", "\t", unit="lines", nameless=True),
    Format("markdown", (".md",), _DATA, writer="text.MarkdownWriter", for_people=True),
    Format("latex", uses=("formula",)),
    Format(
        "npy",
        (".npy",),
        reader="npy.NpyReader",
        writer="npy.NpyWriter",
        binary=True,
        stream_magic=(b"\x93NUMPY",),
        part="npy",
        unit="rows",
        nameless=True,
    ),
    Format("npz", (".npz",), (), "npy.NpzReader", "npy.NpzWriter", binary=True, magic=(b"PK",), part="npy"),
    _arrow("parquet", (".parquet", ".pq"), "Parquet")._replace(magic=(b"PAR1",), stream_magic=(), unit="groups"),
    _arrow("arrow", (".arrow", ".ipc"), "Arrow IPC"),
    _arrow("feather", (".feather",), "Feather"),
)
FORMATS = {each.name: each for each in _DECLARED}
READ = tuple(each.name for each in _DECLARED if each.reader)
"""Formats of input files of rows."""
WRITTEN = tuple(each.name for each in _DECLARED if each.writer)
"""Formats of output files of rows."""


def for_use(use: Use) -> tuple[str, ...]:
    """Return the names of the formats for a use; see ``Format.uses``."""
    return tuple(each.name for each in _DECLARED if use in each.uses)


def of_suffix(path: str, known: tuple[str, ...]) -> str | None:
    """Return the format that the suffix of a file name says, if it is one of ``known``."""
    suffix = os.path.splitext(path)[1].lower()
    return next((name for name in known if suffix in FORMATS[name].suffixes), None)


def suffixes(known: tuple[str, ...]) -> str:
    """Return the usual suffix of each format for a message: ``.csv, .json``."""
    return ", ".join(FORMATS[name].suffixes[0] for name in known)


def check_known(name: str, known: tuple[str, ...], option: str) -> str:
    """Return the name of a format that a setting gives.

    Raises:
        UsageError: if it is not one of ``known``.
    """
    if name not in known:
        raise UsageError(
            f"{setting(option)}: unknown format '{name}'", hint=suggestion(name, known) or f"use one of {', '.join(known)}"
        )
    return name


def of_path(path: str, known: tuple[str, ...], option: str) -> str:
    """Return the format that the name of a file of rows says.

    Args:
        path: the file.
        known: formats that it may have.
        option: the setting that says the format where the name does not.

    Raises:
        UsageError: if the name does not say one.
    """
    found = of_suffix(path, known)
    if found is not None:
        return found
    if path.lower().endswith((".gz", ".bz2", ".xz", ".zst")) and known == READ:
        unpacked = f"gzip -dc {path} | autodiff map EXPR {setting('input_format', 'csv')}"
        raise UsageError(f"'{path}' is compressed", hint=f"unpack it on the way: {unpacked}")
    raise UsageError(
        f"the name '{path}' does not say what format it has", hint=f"set {setting(option)} to one of {', '.join(known)}"
    )
