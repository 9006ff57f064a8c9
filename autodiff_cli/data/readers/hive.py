"""The reader of a file in folders such as ``year=2024/month=1``, whose names contain the values of further columns."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import numpy as np

from autodiff_cli.data.column_values import is_number, json_text
from autodiff_cli.data.pyarrow_import import pyarrow_if_there
from autodiff_cli.data.row_blocks import BadRows, Block, Column, PartitionValue, Reader, ReadRequest
from autodiff_cli.data.row_texts import with_members
from autodiff_cli.report.machine_readable import delimited

_NULL = "__HIVE_DEFAULT_PARTITION__"
_INTEGER = re.compile(r"[+-]?[0-9]{1,10}")
_INT32 = np.iinfo(np.int32)


def partition_columns(folders: Sequence[str]) -> list[dict[str, PartitionValue]]:
    """Return the partition columns of files, given the path of the folder of each file.

    As in Arrow, a column is int32 if all of its values are integers in this range, and text otherwise.
    """
    rows = [dict(part.split("=", 1) for part in folder.split("/") if "=" in part[1:]) for folder in folders]  # "=x" names none
    items = {item for row in rows for item in row.items()}
    text_keys = {key for key, text in items if text != _NULL and not _is_int32(text)}
    return [{unquote(key): _value(text, key not in text_keys) for key, text in row.items()} for row in rows]


def _is_int32(text: str) -> bool:
    """Return whether a text is an integer that int32 represents."""
    return _INTEGER.fullmatch(text) is not None and _INT32.min <= int(text) <= _INT32.max


def _value(text: str, is_integer: bool) -> PartitionValue:
    """Return the value that the name of a folder gives, of a column of integers or of text; ``None`` for Hive's null."""
    value = None if text == _NULL else int(text) if is_integer else unquote(text)
    return PartitionValue(value, "int32" if is_integer else "string")


class HiveReader:
    """A reader that adds columns with one value for all rows of the file, and otherwise is the reader of the file.

    Args:
        inside: the reader of the file.
        values: the values of the partition columns; a column that the file contains is not added.
    """

    def __init__(self, inside: Reader, values: Mapping[str, PartitionValue]) -> None:
        self._inside = inside
        self._values = {name: value for name, value in values.items() if name not in inside.columns}
        self.columns = (*inside.columns, *self._values)
        self.only: list[str] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inside, name)

    @property
    def schema(self) -> Any:
        """The Arrow schema of the file and of the partition columns; ``None`` if the file does not have one."""
        schema = self._inside.schema
        if schema is None:
            return None
        pa = pyarrow_if_there()
        for name, (_, kind) in self._values.items():
            schema = schema.append(pa.field(name, pa.type_for_alias(kind)))
        return schema

    def pieces(self) -> Iterator[Any]:
        """Yield the pieces of the file; see ``Reader.pieces``."""
        if self.only is not None:
            self._inside.only = [name for name in self.only if name not in self._values]
        return self._inside.pieces()

    def block(self, piece: Any, request: ReadRequest) -> Block:
        """Return the rows of a piece with the partition columns; see ``Reader.block``."""
        numbers = tuple(name for name in request.numbers if name not in self._values)
        copies = tuple(name for name in request.copies if name not in self._values)
        texts = tuple(name for name in request.texts if name not in self._values)
        inner = replace(request, numbers=numbers, copies=copies, texts=texts, new=(*request.new, *self._values))
        block = self._inside.block(piece, inner)
        if block.raw is not None and self._values:
            block.raw = self._extended(block.raw)
        block.columns = {**block.columns, **{n: self._column(n, block.rows) for n in request.copies if n in self._values}}
        block.texts = {**block.texts, **{n: self._column(n, block.rows) for n in request.texts if n in self._values}}
        return self._with_numbers(block, [name for name in request.numbers if name in self._values], request)

    def _column(self, name: str, rows: int) -> Column:
        """Return a partition column: an Arrow array if pyarrow is imported, and otherwise a list."""
        value, kind = self._values[name]
        if sys.modules.get("pyarrow") is None:  # importing it would cost time
            return [value] * rows
        pa = pyarrow_if_there()
        return pa.repeat(pa.scalar(value, pa.type_for_alias(kind)), rows)

    def _with_numbers(self, block: Block, names: Sequence[str], request: ReadRequest) -> Block:
        """Add the numbers of partition columns to a block, and return it; if a value is not a number, all rows are bad."""
        bad = BadRows(block.where, request.on_error, request.finite)
        for name in names:
            value = self._values[name].value
            known = is_number(str(value))
            block.numbers[name] = np.full(block.rows, float(str(value)) if known else np.nan)
            for i, line in enumerate(() if known else block.lines):
                bad.add_cell(i, line, name, value)
        if not bad.messages:
            return block
        # The reader of the file has already removed the rows that it skipped, so that ``bad`` does not count them.
        skipped, first = (block.bad, block.first_bad) if request.on_error == "skip" else (0, "")
        bad.messages.update(block.problems)
        block = bad.applied_to(block)
        block.bad, block.first_bad = block.bad + skipped, first or block.first_bad
        return block

    def _extended(self, raw: list[str] | bytes) -> list[str] | bytes:
        """Return lines of text with the partition columns appended to each line, as members of an object or as cells."""
        values = {name: value for name, (value, _) in self._values.items()}
        if self.form == "ndjson":
            members = json_text(values)[1:-1]  # without the braces
            if isinstance(raw, bytes):  # no object is empty
                return raw.replace(b"}\n", f", {members}}}\n".encode())
            return with_members(raw, [members] * len(raw))
        cells = ["", *("" if value is None else value for value in values.values())]  # the first, so that a delimiter follows
        added = delimited([cells], self.form)[:-1]  # without the newline
        if isinstance(raw, bytes) and "\n" not in added:
            return raw.replace(b"\n", f"{added}\n".encode())
        lines = raw.decode().split("\n")[:-1] if isinstance(raw, bytes) else raw
        return [line + added for line in lines]
