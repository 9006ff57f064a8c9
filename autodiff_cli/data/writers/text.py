"""The writers of CSV, TSV, NDJSON, JSON and Markdown.  CSV, TSV and NDJSON rows of the same format are copied unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

from autodiff_cli.data.column_values import cell_values, json_text, texts_of_cells, with_nulls
from autodiff_cli.data.compression import CompressedFile
from autodiff_cli.data.native_text import Lines, Part, is_fast, is_writable, write_rows
from autodiff_cli.data.row_blocks import Block, OutputStyle, Reader, Results, Writer
from autodiff_cli.data.row_texts import CELL, Buffers, as_writable, json_texts, number_texts, row_texts, slices, with_members
from autodiff_cli.report.machine_readable import delimited, markdown, markdown_line


class TextWriter(Writer):
    """The base class of text writers.

    The header is written together with the first rows, so that nothing is written if the first rows have an error.
    """

    _head = b""

    def pack(self, encoded: Buffers) -> Buffers:
        """Compress encoded rows if the output is compressed.  This method is thread-safe."""
        return [self._file.pack(encoded)] if isinstance(self._file, CompressedFile) and any(encoded) else encoded

    def write(self, encoded: Buffers) -> None:
        """Append rows, the first of them after the header."""
        for buffer in (self._head, *encoded):
            self._file.write(buffer)
        self._head = b""

    def flush(self) -> None:
        """Flush the header and all rows so far."""
        TextWriter.write(self, ())
        self._file.flush()

    def finish(self) -> None:
        """Write the header if it is not yet written, which is the case if the output does not have rows."""
        TextWriter.write(self, ())


class DelimitedWriter(TextWriter):
    """The writer of CSV and TSV."""

    text = True

    def __init__(self, style: OutputStyle) -> None:
        super().__init__(style)
        self.raw = style.format.delimiter
        self._decimal = style.format.dialect.decimal

    def begin(self, file: BinaryIO, copies: Sequence[str], results: Sequence[str], source: Reader) -> None:
        """Prepare the header; bare output has none."""
        super().begin(file, copies, results, source)
        if not self._style.bare:
            self._head = delimited([[*copies, *results]], self.raw).encode()

    def encode(self, block: Block, results: Results) -> Buffers:
        """Return rows as text, by machine code if it can: the text of the input or the copied columns, then the results."""
        if not block.rows:
            return []
        parts = self._machine_parts(block, results)
        if parts is not None:
            return [write_rows(block.rows, parts, "\n", self._decimal)]
        if block.raw is None and self._copies:  # cells that may need quotes
            columns = [cell_values(block.columns[name]) for name in self._copies]
            numbers = (row_texts([array], self.raw, self._decimal) for array in results)
            return [delimited(zip(*columns, *numbers, strict=True), self.raw).encode()]
        lines = row_texts(results, self.raw, self._decimal)  # numbers need no quotes
        if block.raw is not None:
            lines = [f"{line}{self.raw}{text}" for line, text in zip(block.raw, lines, strict=True)]
        return ["\n".join([*lines, ""]).encode()]

    def _machine_parts(self, block: Block, results: Results) -> list[Part] | None:
        """Return the ``Part`` list of the rows for machine code, or ``None`` if Python has to write them."""
        if isinstance(block.raw, bytes):
            return [("", Lines(block.raw)), *((self.raw, array) for array in results)]
        size = CELL * block.rows * (len(self._copies) + len(results))  # about so many bytes
        if block.raw is not None or not is_fast(size):
            return None
        parts: list[Part] = []
        for column in (*(block.columns[name] for name in self._copies), *results):
            value = as_writable(column, self.raw)
            if value is None:  # such as text that needs quotes
                return None
            parts.append((self.raw if parts else "", value))
        return parts


class MarkdownWriter(TextWriter):
    """The writer of a Markdown table."""

    text = True

    def begin(self, file: BinaryIO, copies: Sequence[str], results: Sequence[str], source: Reader) -> None:
        """Prepare the header."""
        super().begin(file, copies, results, source)
        self._head = markdown([*copies, *results]).encode()

    def encode(self, block: Block, results: Results) -> Buffers:
        """Return rows as lines of a table, in which a missing value is empty."""
        cells = (texts_of_cells(block.columns[name]) for name in self._copies)
        return ["".join(map(markdown_line, zip(*cells, *map(number_texts, results), strict=True))).encode()]


class NdjsonWriter(TextWriter):
    """The writer of NDJSON, with one JSON object for each row."""

    raw = "ndjson"

    def begin(self, file: BinaryIO, copies: Sequence[str], results: Sequence[str], source: Reader) -> None:
        """Prepare the templates of the members that are appended to a copied object, and of a whole object."""
        super().begin(file, copies, results, source)
        self._appended = _template(results)
        self._row = "{" + _template([*copies, *results]) + "}"

    def _objects(self, block: Block, results: Results) -> list[str]:
        """Return each row as an object (``template % texts``): that of the input or the copied columns, with the results."""
        numbers = list(map(json_texts, with_nulls(block, results)))
        if block.raw is not None:
            return with_members(map(str, block.raw), map(self._appended.__mod__, zip(*numbers, strict=True)))
        columns = [json_texts(block.columns[name]) for name in self._copies]
        return list(map(self._row.__mod__, zip(*columns, *numbers, strict=True)))

    def encode(self, block: Block, results: Results) -> Buffers:
        """Return rows as lines; machine code writes them if it read the lines of the input, which then are bytes."""
        if not block.rows:
            return []
        if isinstance(block.raw, bytes):
            columns = [array if is_writable(array) else slices(json_texts(array)) for array in with_nulls(block, results)]
            members = [(f", {json_text(name)}: ", column) for name, column in zip(self._results, columns, strict=True)]
            rows = Lines(block.raw, cut=1)  # without their closing braces
            return [write_rows(block.rows, [("", rows), *members], "}\n", json=True)]
        return ["".join([f"{line}\n" for line in self._objects(block, results)]).encode()]


def _template(names: Sequence[str]) -> str:
    """Return the template of the members of a JSON object: ``"x": %s, "y": %s``."""
    return ", ".join(f"{json_text(name).replace('%', '%%')}: %s" for name in names)


class JsonWriter(NdjsonWriter):
    """The writer of one JSON object that contains the members of ``OutputStyle.head`` and a list of all rows."""

    raw = ""

    def __init__(self, style: OutputStyle) -> None:
        super().__init__(style)
        self._separator = b"\n"

    def begin(self, file: BinaryIO, copies: Sequence[str], results: Sequence[str], source: Reader) -> None:
        """Prepare the text before the rows."""
        super().begin(file, copies, results, source)
        head = json_text({**self._style.head, "columns": [*copies, *results]})
        self._head = f'{head[:-1]}, "rows": ['.encode()  # ``finish`` closes the object

    def encode(self, block: Block, results: Results) -> Buffers:
        """Return rows as elements of the list; empty text without rows."""
        return [",\n".join(self._objects(block, results)).encode()]

    def write(self, encoded: Buffers) -> None:
        """Append the text of rows after a separator: a newline before the first rows, a comma and a newline before others."""
        (rows,) = encoded
        if rows:
            super().write([self._separator, rows])
            self._separator = b",\n"

    def finish(self) -> None:
        """Write the end of the list and the object."""
        super().write([b"]}\n"])
