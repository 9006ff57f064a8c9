"""CSV in large pieces through Arrow: the same numbers and the same text as without it, several times as quick.

What Arrow reads or writes in another way than Python does is left to Python: a piece with anything unusual in it as a
whole, and numbers as text one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_cli.data.block import Block, Wish
from autodiff_cli.data.libraries import pyarrow_if_there


def is_regular(data: bytes, delimiter: str) -> bool:
    """Whether all quotes are where csv writes them, and none of the cells has a newline in it: then every line is a row."""
    if pyarrow_if_there() is None:
        return False
    array = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(array == ord('"'))
    if len(quotes) % 2:
        return False
    # A quote inside of a cell is doubled: one ends the cell, and the next one begins it again.
    around = np.zeros(256, bool)
    around[[ord(delimiter), ord("\n"), ord('"')]] = True
    if not (around[array[quotes[::2] - 1]].all() and around[array[quotes[1::2] + 1]].all()):
        return False
    newlines = np.flatnonzero(array == ord("\n"))
    return not (np.searchsorted(quotes, newlines) % 2).any()


def parsed(data: bytes, name: str, first: int, columns: Sequence[str], delimiter: str, wish: Wish) -> Block | None:
    """Rows, or nothing if they are better looked at closely.

    Args:
        data: whole lines without carriage returns, each of them a row.
        name: what messages call the file.
        first: the number of the first one.
        columns: names of all columns.
        delimiter: what stands between cells.
        wish: what is wanted of them.
    """
    pa = pyarrow_if_there()
    kept = () if wish.raw == delimiter else wish.kept
    if pa is None or not (wish.numbers or kept) or b"(" in data:  # Arrow reads nan(1)
        return None
    from pyarrow import csv

    try:
        if not data.isascii():
            data.decode()
        places = {name: str(i) for i, name in enumerate(columns)}
        types = {places[name]: pa.string() for name in kept if wish.text or name not in wish.numbers}
        both = [name for name in wish.numbers if places[name] in types]
        types |= {places[name]: pa.float64() for name in wish.numbers if name not in both}
        table = csv.read_csv(
            pa.BufferReader(data),
            csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=list(places.values())),
            csv.ParseOptions(delimiter=delimiter, quote_char='"' if b'"' in data else False),
            csv.ConvertOptions(include_columns=list(types), column_types=types, null_values=[], strings_can_be_null=False),
        )
        rows = table.num_rows
        if rows != data.count(b"\n"):
            return None
        found = {name: table.column(place).combine_chunks() for name, place in places.items() if place in types}
        numbers = {n: (_cast(found[n]) if n in both else found[n]).to_numpy() for n in wish.numbers}
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    passed = {name: numbers[name] if name in numbers and not wish.text else found[name] for name in kept}
    raw = data if wish.raw == delimiter else None
    return Block(rows, numbers, passed, raw, f"{name}, line", range(first, first + rows))


def _cast(cells: Any) -> Any:
    """Text as numbers, with blanks around them as in a CSV file."""
    from pyarrow import compute

    return compute.cast(compute.ascii_trim(cells, " \t"), "float64")


def texts(array: Any) -> Any:
    """Numbers as an Arrow array of text, as ``text.number_texts`` writes them."""
    from pyarrow import compute

    from autodiff_cli.data.column_values import plain_texts

    pa: Any = pyarrow_if_there()
    strings = compute.cast(pa.array(array), pa.string())
    size = np.abs(array)
    # Arrow writes 1 for 1.0, 0.00001 for 1e-05 and 1e+10 for 10000000000.0.
    same = (size >= 1e-4) & (size < 1e9) & (array != np.rint(array))
    if same.all():
        return strings
    other = ~same
    return compute.replace_with_mask(strings, pa.array(other), pa.array(plain_texts(array[other]), pa.string()))


def joined(columns: Sequence[Any], delimiter: str) -> list[Any] | None:
    """Rows of columns as lines of CSV in buffers, or nothing if Python has to decide how a value is written."""
    pa = pyarrow_if_there()
    if pa is None:
        return None
    from pyarrow import compute

    cells = [_cells(column, delimiter) for column in columns]
    if any(column is None for column in cells):
        return None
    cells[-1] = compute.binary_join_element_wise(cells[-1], "", "\n")
    lines = compute.binary_join_element_wise(*cells, delimiter) if len(cells) > 1 else cells[0]
    return [memoryview(lines.buffers()[2])[: _length(lines)]]


def _cells(column: Any, delimiter: str) -> Any:
    """A column of numbers, or of text that needs no quotes, as text; nothing for any other."""
    from pyarrow import compute, types

    pa: Any = pyarrow_if_there()
    if isinstance(column, np.ndarray) and column.dtype.kind in "iu":
        return compute.cast(pa.array(column), pa.string())
    if isinstance(column, np.ndarray):
        return texts(column) if column.dtype in (np.float32, np.float64) else None
    if isinstance(column, list) or column.null_count:
        return None
    if types.is_float64(column.type) or types.is_float32(column.type):
        return texts(column.to_numpy())
    if types.is_integer(column.type):
        return compute.cast(column, pa.string())
    if types.is_string(column.type) and not any(
        compute.any(compute.match_substring(column, sign)).as_py() for sign in (delimiter, '"', "\n", "\r")
    ):
        return column
    return None


def appended(raw: bytes, delimiter: str, results: Sequence[Any]) -> list[Any]:
    """The lines of ``raw`` with numbers behind each, as buffers to write one after the other."""
    from pyarrow import compute

    pa: Any = pyarrow_if_there()
    # Line i as Arrow sees it begins with the newline of line i - 1, so that the joined lines are what is written.
    ends = np.flatnonzero(np.frombuffer(raw, np.uint8) == ord("\n"))
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends
    lines = pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(raw))
    longer = compute.binary_join_element_wise(lines, *map(texts, results), delimiter)
    return [memoryview(longer.buffers()[2])[: _length(longer)], b"\n"]


def _length(strings: Any) -> int:
    """Bytes of an Arrow array of text that begins with its buffer."""
    last = np.frombuffer(strings.buffers()[1], np.int32)[len(strings)]
    return int(last)
