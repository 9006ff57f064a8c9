"""Fast parsing of large pieces of NDJSON with Arrow, with the same values as ``ndjson``.

Only the columns that the expression needs are converted; the lines are copied unchanged.  Lines of flat objects with the same keys
in the same order are read as CSV, whose cells begin with a key.  ``ndjson`` parses every piece that contains other lines or cells.
"""

from __future__ import annotations

import re

import numpy as np

from autodiff_cli.arrays import Array, Floats
from autodiff_cli.data.column_values import truths
from autodiff_cli.data.libraries import pyarrow_if_there
from autodiff_cli.data.readers.lines import lines_in
from autodiff_cli.data.row_blocks import ArrowArray, Block, ReadRequest

_MINUS_ZERO = re.compile(rb"-0[,}\s]")
"""The integer -0: Arrow reads -0.0, and Python 0."""
_BEGIN = re.compile(r'[{\s]*"([^"\\]*)"\s*:\s*')


def parsed(data: bytes, name: str, first: int, request: ReadRequest) -> Block | None:
    """Return rows as a block; ``None`` if Python has to parse them.

    Args:
        data: whole lines.
        name: the name of the file in messages.
        first: the number of the first line.
        request: the columns to read.
    """
    copied = request.raw == "ndjson"
    pa = pyarrow_if_there() if (request.numbers or request.texts) and (copied or not request.copies) else None
    if pa is None:
        return None
    data = data.replace(b"\r\n", b"\n") if b"\r" in data else data
    if not _is_regular(data):
        return None
    columns = _columns(data, request)
    if columns is None:
        return None
    numbers, texts = columns
    if any(np.signbit(array[array == 0]).any() for array in numbers.values()) and _MINUS_ZERO.search(data):
        return None
    rows = lines_in(data)
    return Block(rows, numbers, {}, data if copied else None, f"{name}, line", range(first, first + rows), texts=texts)


def _columns(data: bytes, request: ReadRequest) -> tuple[dict[str, Floats], dict[str, ArrowArray]] | None:
    """Return the needed numbers and texts of lines that are flat objects with the same keys in the same order; ``None`` for others.

    A cell then begins with its key, because a quote inside a JSON string has a backslash before it, and a line without inner
    braces does not have inner objects.
    """
    pa = pyarrow_if_there()
    from pyarrow import csv

    begins = _begins(data[: data.index(b"\n")])
    rows = lines_in(data)
    array = np.frombuffer(data, np.uint8)
    if not {*request.numbers, *request.texts} <= begins.keys() or not begins.keys().isdisjoint(request.new):
        return None
    if any(np.count_nonzero(array == ord(brace)) != rows for brace in "{}"):
        return None
    try:
        table = csv.read_csv(
            pa.BufferReader(data),
            csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=list(begins)),
            csv.ParseOptions(quote_char=False),
            csv.ConvertOptions(column_types=dict.fromkeys(begins, pa.string()), null_values=[], strings_can_be_null=False),
        )
        if table.num_rows != rows:
            return None
        last, numbers, texts = next(reversed(begins)), {}, {}
        for key, begin in begins.items():
            values = _values(table.column(key).combine_chunks(), begin, key == last)
            if key in request.numbers:
                numbers[key] = _converted(values)
            elif not _are_simple(values):
                return None
            if key in request.texts:
                texts[key] = _unquoted(values)
        return numbers, texts
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None


def _begins(line: bytes) -> dict[str, str]:
    """Return the text before each value of a line, by its key, as if no value contained a comma; empty if two keys are equal."""
    matches = [_BEGIN.match(cell) for cell in line.decode(errors="replace").split(",")]
    if not all(matches):
        return {}
    begins = {match[1]: match[0] for match in matches if match}
    return begins if len(begins) == len(matches) else {}


def _values(cells: ArrowArray, begin: str, is_last: bool) -> ArrowArray:
    """Return the values of a column: its cells without their begin, and without the brace that ends the last cell of a line."""
    from pyarrow import compute

    pa = pyarrow_if_there()
    if not compute.all(compute.starts_with(cells, begin)).as_py():
        raise pa.ArrowInvalid("other keys")
    bounds = np.frombuffer(cells.buffers()[1], np.int32)[: len(cells) + 1]
    # Every third text is a value; the others are the texts before and after it.
    parts = np.empty(3 * len(cells) + 1, np.int32)
    parts[::3], parts[1::3], parts[2::3] = bounds, bounds[:-1] + len(begin.encode()), bounds[1:] - is_last
    texts = pa.StringArray.from_buffers(3 * len(cells), pa.py_buffer(parts), cells.buffers()[2])
    return texts.take(pa.array(np.arange(1, 3 * len(cells), 3)))


def _converted(values: ArrowArray) -> Floats:
    """Convert texts of JSON numbers, or of ``true`` and ``false``."""
    pa = pyarrow_if_there()
    bounds, characters = _text_of(values)
    ends = bounds[1:]
    if characters[0] in b"tf":
        return truths(values, ("false", "true"))
    if not (ends > bounds[:-1]).all():
        raise pa.ArrowInvalid("no value")
    is_digit = (characters - np.uint8(ord("0"))) < 10
    firsts = bounds[:-1] + (characters[bounds[:-1]] == ord("-"))
    has_zero = (characters[firsts] == ord("0")) & is_digit[firsts + 1] & (firsts + 1 < ends)
    exponents = np.flatnonzero((characters | 32) == ord("e"))
    if not (is_digit[firsts] & is_digit[ends - 1] & ~has_zero).all() or not is_digit[exponents - 1].all():
        raise pa.ArrowInvalid("not numbers of JSON")
    numbers: Floats = values.cast(pa.float64()).to_numpy()
    return numbers


def _are_simple(values: ArrowArray) -> bool:
    """Return whether all texts are numbers, or all are strings without escapes, or all are ``true``, ``false`` or ``null``."""
    from pyarrow import ArrowInvalid, compute

    bounds, characters = _text_of(values)
    if not (bounds[1:] - bounds[:-1] > 1).all() or characters[0] != ord('"'):
        if compute.all(compute.is_in(values, pyarrow_if_there().array(["true", "false", "null"]))).as_py():
            return True
        try:
            return bool(len(_converted(values)))
        except ArrowInvalid:
            return False
    quotes = np.flatnonzero(characters == ord('"'))
    is_plain = not ((characters == ord("\\")) | ((characters < ord(" ")) & (np.arange(len(characters)) < bounds[-1]))).any()
    return is_plain and np.array_equal(quotes, np.column_stack([bounds[:-1], bounds[1:] - 1]).ravel())


def _unquoted(values: ArrowArray) -> ArrowArray:
    """Return the texts of JSON strings without escapes."""
    from pyarrow import ArrowInvalid, compute

    if not compute.all(compute.starts_with(values, '"')).as_py():
        raise ArrowInvalid("not strings")
    return compute.utf8_slice_codeunits(values, 1, -1)


def _text_of(values: ArrowArray) -> tuple[Array, Array]:
    """Return the bounds of texts, and their characters with one character more."""
    bounds = np.frombuffer(values.buffers()[1], np.int32)[: len(values) + 1]
    text = values.buffers()[2]
    characters = np.frombuffer(text, np.uint8) if text is not None else np.zeros(0, np.uint8)
    return bounds, np.append(characters[: bounds[-1]], np.uint8(0))


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
