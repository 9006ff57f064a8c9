"""Rows of text with numbers in them, read and written by machine code, which does not hold the interpreter's lock.

``native_text.c`` is the source, and ``native_text.ll`` is made from it by ``python -m tests.native_text``.  LLVM compiles it for
the processor at its first use.  Text that is unusual is refused, and Python reads it.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Collection, Sequence
from importlib.resources import files
from importlib.util import find_spec
from threading import Lock
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from autodiff_cli.arrays import Array, Floats

FAST_FROM = 1 << 20
"""The smallest size in bytes of a text for which loading machine code saves time."""
FAST_FROM_THEN = 1 << 14
"""The smallest size in bytes of a text for which machine code saves time if LLVM is already imported."""
_MOST_MEMBERS: Final = 60
"""The maximum number of members: machine code has a set of members in the bits of one integer."""
_FIRST_POWER: Final = -342
_LAST_POWER: Final = 324
"""The powers of ten that occur when floats are read and written, as in ``native_text.c``."""
_LONGEST_NUMBER: Final = 26
"""The maximum number of bytes of a number and the quotes around it."""
_BEYOND: Final = 8
"""The number of bytes that are written after the last row."""

Places: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.int32]]


class Lines(NamedTuple):
    """Lines that are copied without their last bytes, the number of which is ``cut``."""

    text: bytes
    cut: int = 0


class Slices(NamedTuple):
    """The texts of rows: the parts of a text between starts and ends."""

    text: bytes | memoryview
    starts: Places
    ends: Places


Part: TypeAlias = tuple[str, Array | Lines | Slices]
"""A part of each row: a text that all rows have, and a value."""


class Cells(NamedTuple):
    """The cells that were read from rows of text.

    Attributes:
        rows: the number of rows.
        numbers: the numbers of each column, by its position.
        texts: the cells of each column, by its position.
        others: the row, the column and the text of each cell that is not a plain number; ``None`` if the cell is missing.
    """

    rows: int
    numbers: dict[int, Floats]
    texts: dict[int, Slices]
    others: list[tuple[int, int, bytes | None]]


def is_fast(size: int) -> bool:
    """Return whether machine code, which is for little-endian processors, is faster than Python for a text of a size in bytes."""
    least = FAST_FROM_THEN if "llvmlite.binding" in sys.modules else FAST_FROM
    return size >= least and sys.byteorder == "little" and find_spec("llvmlite") is not None


_POINTER, _INT, _BYTE = ctypes.c_void_p, ctypes.c_int64, ctypes.c_byte
_OUTPUTS = (_POINTER, _POINTER, _POINTER, _POINTER, _POINTER)
_FUNCTIONS: Final = {
    "read_cells": (_INT, _POINTER, _INT, _BYTE, _BYTE, _INT, *_OUTPUTS),
    "read_objects": (_INT, _POINTER, _INT, _POINTER, _INT, _INT, *_OUTPUTS),
    "write_rows": (_POINTER, _INT, _POINTER, _INT, ctypes.c_char_p, _INT, _POINTER, _BYTE, _INT, _POINTER),
}
"""The type of the result and the types of the arguments of each function."""


class _Part(ctypes.Structure):
    _fields_ = (
        *(("lead", ctypes.c_char_p), ("lead_size", _INT), ("kind", _INT)),
        *(("values", _POINTER), ("starts", _POINTER), ("ends", _POINTER), ("end", _POINTER), ("cut", _INT)),
    )


class _CellList(ctypes.Structure):
    _fields_ = (("cells", _POINTER), ("count", _INT), ("most", _INT))


class _Name(ctypes.Structure):
    _fields_ = (("text", ctypes.c_char_p), ("size", _INT))


class _Member(ctypes.Structure):
    _fields_ = (("path", ctypes.POINTER(_Name)), ("depth", _INT))


_LINE, _TEXT = 0, 1
_KINDS: Final = {np.dtype(np.float64): 2, np.dtype(np.float32): 3, np.dtype(np.int64): 4}
"""The kinds of parts: numbers by their type."""

_loading = Lock()


def _library() -> tuple[dict[str, Any], int]:
    """Return the functions, and the address of the table of powers of ten that they take."""
    with _loading:
        functions, powers, _ = _loaded()
    return functions, powers.ctypes.data


@functools.cache
def _loaded() -> tuple[dict[str, Any], Array, Any]:
    """Return the functions, the table of powers of ten, and the code, which must live as long as its functions."""
    from autodiff_cli.compiler.llvm.machine_code import loaded

    module = files("autodiff_cli.data").joinpath("native_text.ll").read_text(encoding="ascii")
    code = loaded(module, *_FUNCTIONS)
    return {name: ctypes.CFUNCTYPE(*types)(code[name]) for name, types in _FUNCTIONS.items()}, _powers_of_ten(), code


def _powers_of_ten() -> Array:
    """Return the first 128 bits of powers of ten, rounded up, as two integers each: the upper and the lower 64 bits.

    The algorithms that ``native_text.c`` names read and write floats with this table.
    """
    powers = np.empty((_LAST_POWER - _FIRST_POWER + 1, 2), np.uint64)
    for i, exponent in enumerate(range(_FIRST_POWER, _LAST_POWER + 1)):
        power = 10 ** abs(exponent)
        bits = power.bit_length()
        # The minus signs round a quotient up: -(-a // b).
        significand = -((-power << 128) >> bits) if exponent >= 0 else -((-1 << (bits + 127)) // power)
        powers[i] = significand >> 64, significand & (1 << 64) - 1
    return powers


def read_cells(
    data: bytes, rows: int, delimiter: str, decimal: str, columns: int, numbers: Collection[int], texts: Collection[int]
) -> Cells | None:
    """Read rows of CSV; return ``None`` if Python has to read them.

    Args:
        data: whole lines, each of which is a row, without carriage returns.
        rows: the number of lines.
        delimiter, decimal: the delimiter between cells, and the decimal separator.
        columns: the number of columns.
        numbers: the positions of the columns of numbers; a word such as ``true`` is 1 or 0.
        texts: the positions of the columns whose texts are needed, without quotes around them.
    """
    return _read(data, rows, "read_cells", (ord(delimiter), ord(decimal), columns), columns, numbers, texts)


def read_members(
    data: bytes, rows: int, paths: Sequence[Sequence[str]], refused: Sequence[str], numbers: Collection[int], texts: Collection[int]
) -> Cells | None:
    """Read members of lines of JSON objects; return ``None`` if Python has to read them.

    Args:
        data: whole lines, each of which is an object.
        rows: the number of lines.
        paths: the names that lead to each member.
        refused: the names that no object may have.
        numbers, texts: the positions of the members that are numbers, and of the strings whose texts are needed.
    """
    names = [[name.encode() for name in path] for path in (*paths, *([name] for name in refused))]
    if len(names) > _MOST_MEMBERS:
        return None
    c_paths = [(_Name * len(path))(*[_Name(name, len(name)) for name in path]) for path in names]
    members = (_Member * len(names))(*[_Member(c_path, len(c_path)) for c_path in c_paths])
    return _read(data, rows, "read_objects", (members, len(members), len(refused)), len(members), numbers, texts)


def _read(
    data: bytes, rows: int, name: str, arguments: tuple[Any, ...], width: int, numbers: Collection[int], texts: Collection[int]
) -> Cells | None:
    """Read columns or members; return ``None`` if the machine code refuses the text, or the text is not UTF-8.

    ``name`` is its function, ``arguments`` are those between the text and the outputs, and ``width`` is the number of columns or
    members.  For the other parameters, see ``read_cells`` and ``read_members``.
    """
    try:
        if not data.isascii():
            data.decode()
    except UnicodeDecodeError:
        return None
    functions, powers = _library()
    values: dict[int, Floats] = {i: np.empty(rows) for i in numbers}
    places = {i: Slices(data, np.empty(rows, np.int32), np.empty(rows, np.int32)) for i in texts}
    cells = np.empty((rows * len(values), 4), np.int64)  # each with its row, column, position and size
    others = _CellList(cells.ctypes.data, 0, len(cells))
    # For each output, the addresses of the arrays of columns; none if a column is not read.
    starts, ends = {i: slices.starts for i, slices in places.items()}, {i: slices.ends for i, slices in places.items()}
    outputs = [
        (_POINTER * width)(*[columns[i].ctypes.data if i in columns else None for i in range(width)])
        for columns in (values, starts, ends)
    ]
    count = functions[name](data, len(data), *arguments, *outputs, ctypes.byref(others), powers)
    if count != rows:  # the text is refused
        return None
    unusual = cells[: others.count].tolist()
    return Cells(rows, values, places, [(row, i, None if size < 0 else data[at : at + size]) for row, i, at, size in unusual])


def is_writable(column: object) -> bool:
    """Return whether a column is an array that ``write_rows`` writes as numbers."""
    return type(column) is np.ndarray and column.dtype in _KINDS and column.ndim == 1


def write_rows(rows: int, parts: Sequence[Part], tail: str, decimal: str = ".", json: bool = False) -> memoryview:
    """Return rows of text, each of which is the concatenation of its parts and a tail.

    Numbers are written with a decimal separator; with ``json``, those that are not finite are strings.
    """
    functions, powers = _library()
    records, sizes, owners = zip(*[_sized_part(lead.encode(), value, rows) for lead, value in parts], strict=True)
    out = np.empty(sum(sizes) + rows * len(tail) + _BEYOND, np.uint8)
    begin, table = out.ctypes.data, (_Part * len(records))(*records)
    end = functions["write_rows"](rows, table, len(records), tail.encode(), len(tail), powers, ord(decimal), json, begin)
    del owners  # the machine code has read their memory
    return out[: end - begin].data


def _sized_part(lead: bytes, value: Array | Lines | Slices, rows: int) -> tuple[_Part, int, object]:
    """Return a part of rows as machine code takes it, its maximum size in bytes in all rows, and the owners of its memory."""
    if isinstance(value, Lines):
        begin = ctypes.cast(ctypes.c_char_p(value.text), _POINTER).value or 0
        record = _Part(lead, len(lead), _LINE, begin, end=begin + len(value.text), cut=value.cut)
        return record, rows * len(lead) + len(value.text), value.text
    if isinstance(value, Slices):
        text = np.frombuffer(value.text, np.uint8)
        starts, ends = (np.ascontiguousarray(places) for places in (value.starts, value.ends))
        record = _Part(lead, len(lead), _TEXT, text.ctypes.data, starts.ctypes.data, ends.ctypes.data)
        size = int(ends.sum(dtype=np.int64) - starts.sum(dtype=np.int64))
        return record, rows * len(lead) + size, (text, starts, ends)
    array = np.ascontiguousarray(value)
    record = _Part(lead, len(lead), _KINDS[array.dtype], array.ctypes.data)
    return record, rows * (len(lead) + _LONGEST_NUMBER), array
