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
    files = [dict(part.split("=", 1) for part in folder.split("/") if "=" in part[1:]) for folder in folders]  # "=x": no column
    distinct = {item for texts in files for item in texts.items()}
    text_keys = {key for key, text in distinct if text != _NULL and not _is_int32(text)}
    return [{unquote(key): _value(text, is_integer=key not in text_keys) for key, text in texts.items()} for texts in files]


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
        import pyarrow as pa

        for name, (_, kind) in self._values.items():
            schema = schema.append(pa.field(name, pa.type_for_alias(kind)))
        return schema

    def pieces(self) -> Iterator[Any]:
        """Yield the pieces of the file; its reader gets the columns ``only`` without partition columns.  See ``Reader.pieces``."""
        if self.only is not None:
            self._inside.only = [name for name in self.only if name not in self._values]
        return self._inside.pieces()

    def block(self, piece: Any, request: ReadRequest) -> Block:
        """Return the rows of a piece with the partition columns; see ``Reader.block``."""
        numbers, copies, texts = (  # those of the file
            tuple(name for name in names if name not in self._values) for names in (request.numbers, request.copies, request.texts)
        )
        # ``new``: no object of the file may have the keys of the partition columns.
        inner = replace(request, numbers=numbers, copies=copies, texts=texts, new=(*request.new, *self._values))
        block = self._inside.block(piece, inner)
        raw = self._extended(block.raw) if block.raw is not None and self._values else block.raw
        columns = {**block.columns, **self._columns(request.copies, block.rows)}
        compared = {**block.texts, **self._columns(request.texts, block.rows)}
        return self._with_numbers(replace(block, raw=raw, columns=columns, texts=compared), request)

    def _columns(self, names: Sequence[str], rows: int) -> dict[str, Column]:
        """Return the partition columns among the columns with these names: Arrow arrays if pyarrow is imported, otherwise lists."""
        values = {name: self._values[name] for name in names if name in self._values}
        pa = sys.modules.get("pyarrow")  # importing it would cost time
        if pa is None:
            return {name: [value] * rows for name, (value, _) in values.items()}
        return {name: pa.repeat(pa.scalar(value, pa.type_for_alias(kind)), rows) for name, (value, kind) in values.items()}

    def _with_numbers(self, block: Block, request: ReadRequest) -> Block:
        """Return a block with the numbers of partition columns.  A null or a text gives nan, and makes all rows bad."""
        numbers, bad = dict(block.numbers), BadRows(block.where, request.on_error, request.finite)
        for name in [name for name in request.numbers if name in self._values]:
            value = self._values[name].value
            if is_number(str(value)):
                numbers[name] = np.full(block.rows, float(str(value)))
                continue
            numbers[name] = np.full(block.rows, np.nan)
            for i, line in enumerate(block.lines):
                bad.add_cell(i, line, name, value)
        return bad.applied_to(replace(block, numbers=numbers))

    def _extended(self, raw: list[str] | bytes) -> list[str] | bytes:
        """Return lines of text with the partition columns appended to each line, as members of an object or as cells."""
        values = {name: value for name, (value, _) in self._values.items()}
        if self.form == "ndjson":
            members = json_text(values)[1:-1]  # without the braces
            if isinstance(raw, bytes):  # which machine code read, so no object is empty
                return raw.replace(b"}\n", f", {members}}}\n".encode())
            return with_members(raw, [members] * len(raw))
        cells = ["", *("" if value is None else value for value in values.values())]  # "", so that a delimiter follows
        added = delimited([cells], self.form)[:-1]  # without the newline
        if isinstance(raw, bytes) and "\n" not in added:
            return raw.replace(b"\n", f"{added}\n".encode())
        lines = raw.decode().split("\n")[:-1] if isinstance(raw, bytes) else raw
        return [line + added for line in lines]
