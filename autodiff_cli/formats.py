"""The table of all input and output formats.

The commands, the readers, the writers and the choice of a format by file suffix use this table.  To add a format, add a
``Format`` to ``_DECLARED``; a format for files of rows also names its classes in ``data.readers`` and ``data.writers``.  This
module imports only small modules, because every command imports it at startup.
"""

from __future__ import annotations

import os
from typing import Literal, NamedTuple

from autodiff_cli.errors import UsageError, setting
from autodiff_cli.suggest import suggestion

Use = Literal[
    "result", "formula", "graph", "formula file", "graph file", "plot file", "explanation file", "program file", "fit picture"
]


class Dialect(NamedTuple):
    """The details of a CSV file.

    Attributes:
        delimiter: the character between cells; empty for that of the format.
        decimal: the decimal separator of numbers.
        comment: the beginning of lines that are not read; empty if all lines are.
        skip_lines: the number of lines before the header.
    """

    delimiter: str = ""
    decimal: str = "."
    comment: str = ""
    skip_lines: int = 0


class Format(NamedTuple):
    """A format of input or output.

    Attributes:
        name: the name in options.
        suffixes: the suffixes of file names in lower case, with the usual suffix first.
        uses: ``result`` for the results of most commands, ``formula`` for results that are expressions, ``graph`` for graphs;
            ``formula file``, ``graph file`` and so on for files whose suffix selects the format.
        reader, writer: the classes for files of rows, as ``module.Class`` in ``data.readers`` and ``data.writers``.
        delimiter: the text between cells.
        binary: whether the output must not be written to a terminal.
        for_people: whether numbers are rounded or abbreviated, so that programs should not read the output.
        json: whether errors are also written as JSON.
        magic, stream_magic: the first bytes of a file that needs random access, and of a file that is read sequentially.
        library: the name in messages of a format that needs pyarrow; empty for other formats.
        unit: the unit in which a file is divided for a cluster: ``lines``, ``rows`` or row ``groups``; empty if it is not divided.
        nameless: whether a file can lack column names, which a setting then provides.
        dialect: the details of the file.
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
    unit: str = ""
    nameless: bool = False
    dialect: Dialect = Dialect()


_TABLE: tuple[Use, ...] = ("result", "formula", "graph", "formula file", "graph file", "explanation file", "program file")
_DATA: tuple[Use, ...] = (*_TABLE, "plot file")


def _arrow(name: str, suffixes: tuple[str, ...], library: str) -> Format:
    """Return a format that pyarrow reads and writes, with the first bytes of Arrow IPC or Feather; Parquet replaces them."""
    reader, writer, magic = "arrow:ArrowReader", "arrow:ArrowWriter", (b"ARROW1", b"FEA1")
    stream_magic = (b"\xff\xff\xff\xff",)
    return Format(name, suffixes, (), reader, writer, binary=True, magic=magic, stream_magic=stream_magic, library=library)


_DECLARED = (
    Format("table", uses=("result", "formula", "graph"), writer="table:TableWriter", for_people=True),
    Format("plain", (".txt",), _TABLE),
    Format("dot", (".dot", ".gv"), ("graph", "graph file")),
    Format("mermaid", (".mmd", ".mermaid"), ("graph", "graph file")),
    Format("svg", (".svg",), ("graph", "graph file", "plot file", "fit picture")),
    Format("png", (".png",), ("graph file", "plot file", "fit picture"), binary=True),
    Format("pdf", (".pdf",), ("plot file", "fit picture"), binary=True),
    Format("html", (".html", ".htm"), ("explanation file", "program file", "plot file", "fit picture")),
    Format("json", (".json",), _DATA, writer="text:JsonWriter", json=True),
    Format("ndjson", (".ndjson", ".jsonl"), _DATA, "ndjson:NdjsonReader", "text:NdjsonWriter", json=True, unit="lines"),
    Format("csv", (".csv",), _DATA, "delimited:DelimitedReader", "text:DelimitedWriter", ",", unit="lines", nameless=True),
    Format("tsv", (".tsv", ".tab"), _DATA, "delimited:DelimitedReader", "text:DelimitedWriter", "\t", unit="lines", nameless=True),
    Format("markdown", (".md",), _DATA, writer="text:MarkdownWriter", for_people=True),
    Format("latex", (".tex",), ("formula", "formula file", "explanation file")),
    Format(
        "npy",
        (".npy",),
        reader="npy:NpyReader",
        writer="npy:NpyWriter",
        binary=True,
        stream_magic=(b"\x93NUMPY",),
        unit="rows",
        nameless=True,
    ),
    Format("npz", (".npz",), (), "npy:NpzReader", "npy:NpzWriter", binary=True, magic=(b"PK",)),
    _arrow("parquet", (".parquet", ".pq"), "Parquet")._replace(magic=(b"PAR1",), stream_magic=(), unit="groups"),
    _arrow("arrow", (".arrow", ".ipc"), "Arrow IPC"),
    _arrow("feather", (".feather",), "Feather"),
)


class _Formats(dict[str, Format]):
    """The formats by name.  The name of a variant is its format, followed by its dialect as JSON: ``csv{"delimiter": ";"}``."""

    def __missing__(self, name: str) -> Format:
        """Return the format with the name of a variant, which is kept under this name; any other unknown name is a ``KeyError``."""
        base_name, brace, details = name.partition("{")
        if not brace:
            raise KeyError(name)
        import json

        dialect = Dialect(**json.loads(brace + details))
        base = self[base_name]
        self[name] = base._replace(name=name, dialect=dialect, delimiter=dialect.delimiter or base.delimiter)
        return self[name]


def variant(base: str, dialect: Dialect) -> str:
    """Return the name of the variant of a format with a dialect, see ``_Formats``; ``base`` itself for the usual dialect."""
    import json

    options = {key: value for key, value in dialect._asdict().items() if value != Dialect._field_defaults[key]}
    return f"{base}{json.dumps(options)}" if options else base


def plain(name: str) -> str:
    """Return the name of the format of a variant."""
    return name.partition("{")[0]


FORMATS: dict[str, Format] = _Formats({each.name: each for each in _DECLARED})
READ = tuple(each.name for each in _DECLARED if each.reader)
"""The names of the formats for input files of rows."""
WRITTEN = tuple(each.name for each in _DECLARED if each.writer)
"""The names of the formats for output files of rows."""


def for_use(*uses: Use) -> tuple[str, ...]:
    """Return the names of the formats for one of some uses; see ``Format.uses``."""
    return tuple(each.name for each in _DECLARED if not {*uses}.isdisjoint(each.uses))


COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
"""The programs that decompress files, by the suffix of compressed files."""


def compression_of(path: str) -> str:
    """Return the suffix of a compressed file in lower case, or an empty string for other files."""
    suffix = os.path.splitext(path)[1].lower()
    return suffix if suffix in COMPRESSIONS else ""


def uncompressed(path: str) -> str:
    """Return the path of a file without the suffix of a compressed file."""
    return path[: len(path) - len(compression_of(path))]


def format_of_suffix(path: str, known: tuple[str, ...]) -> str | None:
    """Return the format with the suffix of a file name, or ``None`` if none of ``known`` has this suffix."""
    suffix = os.path.splitext(path)[1].lower()
    return next((name for name in known if suffix in FORMATS[name].suffixes), None)


def suffixes(known: tuple[str, ...]) -> str:
    """Return the usual suffixes of formats as text for a message, ``.csv, .json``; formats without a suffix are left out."""
    return ", ".join(FORMATS[name].suffixes[0] for name in known if FORMATS[name].suffixes)


def check_known(name: str, known: tuple[str, ...], option: str) -> str:
    """Return the name of a format that is the value of a setting, or raise ``UsageError`` if it is not one of ``known``."""
    if name not in known:
        hint = suggestion(name, known) or f"use one of {', '.join(known)}"
        raise UsageError(f"{setting(option)}: unknown format '{name}'", hint=hint)
    return name


def format_of_first_bytes(first: bytes) -> str | None:
    """Return the binary format that the first 8 or more bytes of a file show.  Text and unknown formats give ``None``."""
    # A text may begin with the letters that a binary format begins with, but does not contain control characters.
    has_control = any(byte < 32 and byte not in b"\t\r\n" for byte in first)
    begins_as_text = first[:1] <= b"\x7f"  # an ASCII character
    if begins_as_text and not has_control:
        return None
    return next((each.name for each in FORMATS.values() if first.startswith((*each.magic, *each.stream_magic))), None)


def format_of_path(path: str, known: tuple[str, ...], option: str) -> str:
    """Return the format of a file of rows by the suffix of its name.

    Args:
        path: the path of the file.
        known: the formats to choose from; ``READ`` for an input file, which has other hints than an output file.
        option: the name of the setting for the format, which appears in the hint.

    Raises:
        UsageError: if none of the known formats has this suffix, or if the file is compressed and its format is not text.
    """
    compression, is_input = compression_of(path), known == READ
    inner_path = uncompressed(path)
    form = format_of_suffix(inner_path, known)
    if form is not None and compression and FORMATS[form].binary:
        way_out = f"{COMPRESSIONS[compression]} -dk {path}" if is_input else f"name the file {inner_path}"
        raise UsageError(f"'{path}': {form} files are not compressed as a whole", hint=way_out)
    if form is not None:
        return form
    hint = f"set {setting(option)} to one of {', '.join(known)}"
    if is_input and inner_path.lower().endswith((".xlsx", ".xls", ".ods")):
        hint = "save the sheet as CSV"
    elif is_input:
        hint += f"; set {setting('delimiter')} for cells that commas do not separate"
    raise UsageError(f"the name '{path}' does not determine a format", hint=hint)
