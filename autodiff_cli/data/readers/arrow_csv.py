"""Reading large pieces of CSV through Arrow: the same values as ``delimited``, several times as fast.

Arrow reads some cells in another way than Python.  A piece with anything unusual in it is left to Python as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autodiff_cli.data.libraries import pyarrow_if_there
from autodiff_cli.data.row_blocks import ArrowArray, Block, ReadRequest


def is_regular(data: bytes, delimiter: str) -> bool:
    """Return whether quotes stand only where csv writes them, and no cell contains a newline: then every line is a row."""
    if pyarrow_if_there() is None:
        return False
    array = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(array == ord('"'))
    if len(quotes) % 2:
        return False
    # A quote inside a cell is doubled: one ends the cell, and the next one begins it again.
    around = np.zeros(256, bool)
    around[[ord(delimiter), ord("\n"), ord('"')]] = True
    if not (around[array[quotes[::2] - 1]].all() and around[array[quotes[1::2] + 1]].all()):
        return False
    newlines = np.flatnonzero(array == ord("\n"))
    return not (np.searchsorted(quotes, newlines) % 2).any()


def parsed(data: bytes, name: str, first: int, columns: Sequence[str], delimiter: str, request: ReadRequest) -> Block | None:
    """Return rows, or ``None`` if Python has to read them.

    Args:
        data: whole lines without carriage returns, each of them a row.
        name: of the file, for messages.
        first: number of the first line.
        columns: names of all columns.
        delimiter: between cells.
        request: what to read.
    """
    pa = pyarrow_if_there()
    kept = () if request.raw == delimiter else request.kept
    if pa is None or not (request.numbers or kept) or b"(" in data:  # Arrow reads nan(1)
        return None
    from pyarrow import csv

    try:
        if not data.isascii():
            data.decode()
        places = {name: str(i) for i, name in enumerate(columns)}
        types = {places[name]: pa.string() for name in kept if request.text or name not in request.numbers}
        both = [name for name in request.numbers if places[name] in types]
        types |= {places[name]: pa.float64() for name in request.numbers if name not in both}
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
        numbers = {n: (_cast(found[n]) if n in both else found[n]).to_numpy() for n in request.numbers}
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    passed = {name: numbers[name] if name in numbers and not request.text else found[name] for name in kept}
    raw = data if request.raw == delimiter else None
    return Block(rows, numbers, passed, raw, f"{name}, line", range(first, first + rows))


def _cast(cells: ArrowArray) -> ArrowArray:
    """Return texts as numbers; as in a CSV file there may be blanks around them."""
    from pyarrow import compute

    return compute.cast(compute.ascii_trim(cells, " \t"), "float64")
