"""Fast parsing of large pieces of CSV with Arrow, with the same values as ``delimited``.

Arrow and Python read some cells differently.  ``delimited`` therefore parses every piece that contains unusual cells.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autodiff_cli.arrays import Floats
from autodiff_cli.data.column_values import TRUTHS, truths
from autodiff_cli.data.libraries import pyarrow_if_there
from autodiff_cli.data.readers.lines import lines_in
from autodiff_cli.data.row_blocks import ArrowArray, Block, ReadRequest
from autodiff_cli.formats import Dialect


def is_regular(data: bytes, delimiter: str) -> bool:
    """Return whether every line is a row.

    This is the case if quotes only enclose cells or are doubled, and no cell contains a newline.
    """
    if pyarrow_if_there() is None:
        return False
    array = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(array == ord('"'))
    if len(quotes) % 2:
        return False
    # A doubled quote inside a cell is handled as the end of a quoted part and the beginning of the next part.
    around = np.zeros(256, bool)
    around[[ord(delimiter), ord("\n"), ord('"')]] = True
    if not (around[array[quotes[::2] - 1]].all() and around[array[quotes[1::2] + 1]].all()):
        return False
    newlines = np.flatnonzero(array == ord("\n"))
    return not (np.searchsorted(quotes, newlines) % 2).any()


def parsed(
    data: bytes,
    name: str,
    first: int,
    columns: Sequence[str],
    delimiter: str,
    dialect: Dialect,
    request: ReadRequest,
) -> Block | None:
    """Return rows as a block; ``None`` if Python has to parse them.

    Args:
        data: whole lines without carriage returns; each line is a row.
        name: the name of the file in messages.
        first: the number of the first line.
        columns: the names of all columns.
        delimiter: the delimiter between cells.
        dialect: the other details of the file.
        request: the columns to read.
    """
    pa = pyarrow_if_there()
    copies = () if request.raw == delimiter else request.copies
    if pa is None or not (request.numbers or request.texts or copies) or b"(" in data:  # Arrow would accept nan(1)
        return None
    if dialect.decimal != "." and (copies or b"+" in data):
        return None
    from pyarrow import csv

    try:
        if not data.isascii():
            data.decode()
        firsts = dict(zip(columns, data[: data.index(b"\n")].decode().split(delimiter), strict=False))
        truths_in = [name for name in request.numbers if firsts.get(name, "").strip(' \t"') in TRUTHS]
        places = {name: str(i) for i, name in enumerate(columns)}
        types = {places[name]: pa.string() for name in copies if request.text or name not in request.numbers}
        types |= {places[name]: pa.string() for name in (*truths_in, *request.texts)}
        both = [name for name in request.numbers if places[name] in types]
        types |= {places[name]: pa.float64() for name in request.numbers if name not in both}
        table = csv.read_csv(
            pa.BufferReader(data),
            csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=[str(i) for i in range(len(columns))]),
            csv.ParseOptions(delimiter=delimiter, quote_char='"' if b'"' in data else False),
            csv.ConvertOptions(
                include_columns=list(types),
                column_types=types,
                null_values=(),
                strings_can_be_null=False,
                decimal_point=dialect.decimal,
            ),
        )
        rows = table.num_rows
        if rows != lines_in(data):
            return None
        read = {name: table.column(place).combine_chunks() for name, place in places.items() if place in types}
        numbers = {n: _cast(read[n], n in truths_in) if n in both else read[n].to_numpy() for n in request.numbers}
        passed = {name: numbers[name] if name in numbers and not request.text else read[name] for name in copies}
        texts = {name: read[name] for name in request.texts}
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    raw = data if request.raw == delimiter else None
    return Block(rows, numbers, passed, raw, f"{name}, line", range(first, first + rows), texts=texts)


def _cast(cells: ArrowArray, are_truths: bool) -> Floats:
    """Convert texts to numbers, after removing the spaces and tabs around them."""
    from pyarrow import compute

    trimmed = compute.ascii_trim(cells, " \t")
    numbers: Floats = truths(trimmed, [*TRUTHS]) if are_truths else compute.cast(trimmed, "float64").to_numpy()
    return numbers
