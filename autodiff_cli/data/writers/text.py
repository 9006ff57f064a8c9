"""Writing CSV, TSV, NDJSON and JSON.  Rows of the same format are passed on as the text they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autodiff_cli.data.block import Block, OutputStyle, Reader
from autodiff_cli.data.column_values import FAST_FROM, cell_values, json_text, json_texts, number_texts
from autodiff_cli.data.libraries import pyarrow_loaded
from autodiff_cli.report.records import delimited, markdown, markdown_line


class TextWriter:
    """What writers of text share: a head, which waits for the first rows to be right, then buffers."""

    text = False
    raw = ""
    goes_back = False
    _file: Any
    _head = b""

    def __init__(self, style: OutputStyle) -> None:
        self._style = style

    def like(self, path: str) -> None:
        """Text has no types."""

    def write(self, encoded: Sequence[Any]) -> None:
        """Append buffers."""
        for buffer in (self._head, *encoded):
            self._file.write(buffer)
        self._head = b""

    def flush(self) -> None:
        """Hand on what there is."""
        TextWriter.write(self, ())
        self._file.flush()

    def finish(self) -> None:
        """Write the head, if there were no rows."""
        TextWriter.write(self, ())

    def close(self) -> None:
        """There is nothing to let go of."""


class DelimitedWriter(TextWriter):
    """CSV or TSV, with a header unless ``bare``."""

    text = True

    def __init__(self, style: OutputStyle) -> None:
        super().__init__(style)
        self.raw = style.format.delimiter

    def begin(self, file: Any, kept: Sequence[str], results: Sequence[str], source: Reader) -> None:
        """Write the header."""
        self._file = file
        self._kept = tuple(kept)
        if not self._style.bare:
            self._head = delimited([[*kept, *results]], self.raw).encode()

    def encode(self, block: Block, results: Sequence[Any]) -> list[Any]:
        """Lines as buffers."""
        quickly = block.rows >= FAST_FROM or pyarrow_loaded()
        if isinstance(block.raw, bytes) and pyarrow_loaded() and block.rows:
            from autodiff_cli.data.readers import arrow_csv

            return arrow_csv.appended(block.raw, self.raw, results)
        columns = [block.columns[name] for name in self._kept] if block.raw is None else []
        if block.raw is None and quickly and block.rows:
            from autodiff_cli.data.readers import arrow_csv

            lines = arrow_csv.joined([*columns, *results], self.raw)
            if lines is not None:
                return lines
        numbers = list(map(number_texts, results))
        if columns:
            return [delimited(zip(*map(cell_values, columns), *numbers, strict=True), self.raw).encode()]
        raw = block.raw.decode().split("\n")[:-1] if isinstance(block.raw, bytes) else block.raw
        cells = zip(*numbers, strict=True) if raw is None else zip(raw, *numbers, strict=True)
        return ["".join([f"{line}\n" for line in map(self.raw.join, cells)]).encode()]


class MarkdownWriter(TextWriter):
    """Write a table in Markdown."""

    text = True

    def begin(self, file: Any, kept: Sequence[str], results: Sequence[str], source: Reader) -> None:
        """Write the header."""
        self._file = file
        self._kept = tuple(kept)
        self._head = markdown([*kept, *results]).encode()

    def encode(self, block: Block, results: Sequence[Any]) -> list[Any]:
        """Return lines as one buffer."""
        kept = (["" if value is None else str(value) for value in cell_values(block.columns[name])] for name in self._kept)
        return ["".join(map(markdown_line, zip(*kept, *map(number_texts, results), strict=True))).encode()]


class NdjsonWriter(TextWriter):
    """One JSON object for each row."""

    raw = "ndjson"

    def begin(self, file: Any, kept: Sequence[str], results: Sequence[str], source: Reader) -> None:
        """Remember what the keys are."""
        self._file = file
        self._kept = tuple(kept)
        self._results = _template(results)
        self._row = "{" + _template([*kept, *results]) + "}"

    def _objects(self, block: Block, results: Sequence[Any]) -> list[str]:
        numbers = list(map(json_texts, results))
        if block.raw is not None:
            appended = map(self._results.__mod__, zip(*numbers, strict=True))
            # A line is an object without anything around it.
            opened = [str(line)[:-1].rstrip() for line in block.raw]
            return [f"{line}{'' if line == '{' else ', '}{more}}}" for line, more in zip(opened, appended, strict=True)]
        columns = [json_texts(block.columns[name]) for name in self._kept]
        return list(map(self._row.__mod__, zip(*columns, *numbers, strict=True)))

    def encode(self, block: Block, results: Sequence[Any]) -> list[Any]:
        """Lines as one buffer."""
        return ["".join([f"{line}\n" for line in self._objects(block, results)]).encode()]


def _template(names: Sequence[str]) -> str:
    """``"x": %s, "y": %s``."""
    return ", ".join(f"{json_text(name).replace('%', '%%')}: %s" for name in names)


class JsonWriter(NdjsonWriter):
    """One JSON object with all rows in it, after what ``head`` says of them."""

    raw = ""

    def __init__(self, style: OutputStyle) -> None:
        super().__init__(style)
        self._separator = b"\n"

    def begin(self, file: Any, kept: Sequence[str], results: Sequence[str], source: Reader) -> None:
        """Write all but the rows."""
        super().begin(file, kept, results, source)
        head = json_text({**self._style.head, "columns": [*kept, *results]})
        self._head = f'{head[:-1]}, "rows": ['.encode()

    def encode(self, block: Block, results: Sequence[Any]) -> list[Any]:
        """Objects as one buffer."""
        return [",\n".join(self._objects(block, results)).encode()]

    def write(self, encoded: Sequence[Any]) -> None:
        """Append rows."""
        if encoded[0]:
            super().write([self._separator, *encoded])
            self._separator = b",\n"

    def finish(self) -> None:
        """Close what is open."""
        super().write([b"]}\n"])
