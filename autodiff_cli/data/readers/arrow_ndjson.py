"""Fast parsing of large pieces of NDJSON with Arrow, with the same values as ``ndjson``.

Only the columns that the expression needs are converted; the lines are copied unchanged.  ``ndjson`` parses every piece that
contains unusual lines or cells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from autodiff_cli.data.column_values import json_text
from autodiff_cli.data.libraries import pyarrow_if_there
from autodiff_cli.data.readers.lines import lines_in
from autodiff_cli.data.row_blocks import Block, Floats, ReadRequest

_INFINITY = re.compile(rb"Inf[],}\s]")
_MINUS_ZERO = re.compile(rb"-0[,}\s]")
"""The integer -0: Arrow reads -0.0, and Python 0."""
_ESCAPED_ASCII = re.compile(rb"\\(u00[0-7]|/)")


def parsed(data: bytes, name: str, first: int, request: ReadRequest) -> Block | None:
    """Return rows as a block; ``None`` if Python has to parse them.

    Args:
        data: whole lines.
        name: the name of the file in messages.
        first: the number of the first line.
        request: the columns to read.
    """
    copied = request.raw == "ndjson"
    pa = pyarrow_if_there() if request.numbers and (copied or not request.kept) else None
    if pa is None:
        return None
    data = data.replace(b"\r\n", b"\n") if b"\r" in data else data
    if not _is_regular(data) or (copied and _may_contain(data, request.new)):
        return None
    if b"-NaN" in data or (b"Inf" in data and _INFINITY.search(data)):  # Arrow would accept them
        return None
    from pyarrow import json

    try:
        if not data.isascii():
            data.decode()
        table = json.read_json(
            pa.BufferReader(data),
            json.ReadOptions(use_threads=False, block_size=len(data) + 1),
            json.ParseOptions(
                explicit_schema=pa.schema([(column, pa.float64()) for column in request.numbers]),
                unexpected_field_behavior="ignore",
            ),
        )
    except (pa.ArrowInvalid, UnicodeError):
        return None
    rows = table.num_rows
    if rows != lines_in(data) or any(column.null_count for column in table.columns):
        return None
    numbers: dict[str, Floats] = {column: table.column(column).to_numpy() for column in request.numbers}
    if any(np.signbit(array[array == 0]).any() for array in numbers.values()) and _MINUS_ZERO.search(data):
        return None
    return Block(rows, numbers, {}, data if copied else None, f"{name}, line", range(first, first + rows))


def _is_regular(data: bytes) -> bool:
    """Return whether every line begins with ``{`` and ends with ``}``, without a space before it, and is not ``{}``.

    A newline between ``}`` and ``{`` cannot be inside a JSON value, so every line then contains whole objects.
    """
    array = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(array == ord("\n"))
    if not len(ends) or data[:1] != b"{" or ends[0] < 2:
        return False
    regular = (array[ends - 1] == ord("}")).all() and (array[ends[:-1] + 1] == ord("{")).all()
    before = array[ends - 2]
    return bool(regular and (before != ord("{")).all() and (before > ord(" ")).all())


def _may_contain(data: bytes, keys: Sequence[str]) -> bool:
    """Return whether one of the keys may occur in an object; JSON has several spellings of a key."""
    if any(json_text(key).encode() in data for key in keys):
        return True
    return b"\\" in data and (not "".join(keys).isascii() or _ESCAPED_ASCII.search(data) is not None)
