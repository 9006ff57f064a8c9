"""Sums and means of results over all rows, or over the rows of each group."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterator
from typing import Any, BinaryIO

import numpy as np

from autodiff_cli.arrays import Array, Indices, Vector
from autodiff_cli.data.column_values import dense, json_text, python_values
from autodiff_cli.data.exact_sums import ExactSums, grown
from autodiff_cli.data.row_blocks import Block, Column, Results, only


class Totals:
    """The sums of results over groups of rows; a group consists of the rows with equal values in all kept columns.

    Without kept columns, all rows are one group, even without rows.

    Args:
        results: the number of results.

    Attributes:
        sums: the sums of each result.
        rows: the number of rows of each group.
        firsts: the first row of each group, in order of their first occurrence.
    """

    def __init__(self, results: int) -> None:
        self.sums = [ExactSums(0) for _ in range(results)]
        self.rows = np.zeros(0, np.int64)
        self.firsts: list[Block] = []
        self._places: dict[Hashable, int] = {}

    @classmethod
    def from_block(cls, block: Block, results: Results) -> Totals:
        """Return the totals of the rows of a block."""
        codes, keys = _grouped(block)
        made = cls(0)
        made._places = {key: i for i, key in enumerate(keys)}
        made.rows = np.bincount(codes, minlength=len(keys)).astype(np.int64)
        for values in results:
            made.sums.append(ExactSums(len(keys)))
            made.sums[-1].add(values, codes)
        made.firsts = [_first_rows(block, codes, len(keys)) if block.columns else Block(1, {}, {}, None, block.where, [0])]
        return made

    def add(self, more: Totals) -> None:
        """Add the totals of later rows."""
        known = len(self._places)
        places = np.array([self._places.setdefault(key, len(self._places)) for key in more._places], np.intp)
        groups = len(self._places)
        for own, other in zip(self.sums, more.sums, strict=True):
            own.merge(other, places, groups)
        self.rows = grown(self.rows, groups)
        self.rows[places] += more.rows[: len(places)]
        new = places >= known
        for block in more.firsts:
            unknown, new = new[: block.rows], new[block.rows :]
            if unknown.any() or not self.firsts:
                self.firsts.append(block if unknown.all() else only(block, unknown))

    def results(self, mean: bool) -> Iterator[tuple[Block, list[Vector]]]:
        """Yield the first rows of groups with the sum, or the mean, of each result; there is at least one block."""
        start = 0
        for block in self.firsts:
            rows = self.rows[start : start + block.rows]
            yield block, [each.rounded(rows if mean else np.ones_like(rows), start) for each in self.sums]
            start += block.rows

    def save(self, file: BinaryIO) -> None:
        """Write the totals to a file."""
        names = list(self.firsts[0].columns) if self.firsts else []
        arrays: dict[str, Any] = {"rows": self.rows, "columns": _as_json(names)}
        for i, each in enumerate(self.sums):
            arrays |= {f"digits.{i}.{position}": digits for position, digits in each.digits.items()}
            arrays |= {f"others.{i}": each.others, f"terms.{i}": each.terms}
        for i, block in enumerate(self.firsts):
            for j, column in enumerate(block.columns.values()):
                kind, packed = _packed(column)
                arrays[f"{kind}.{i}.{j}"] = packed
        np.savez(file, **arrays)

    @classmethod
    def load(cls, path: str) -> Totals:
        """Read the totals from a file that ``save`` has written."""
        with np.load(path, allow_pickle=False) as arrays:
            names = _from_json(arrays["columns"])
            totals = cls(sum(name.startswith("terms.") for name in arrays.files))
            totals.rows = arrays["rows"]
            for i, each in enumerate(totals.sums):
                each.others, each.terms = arrays[f"others.{i}"], int(arrays[f"terms.{i}"])
            firsts: dict[int, dict[str, Column]] = {}
            for name in arrays.files:
                kind, *numbers = name.split(".")
                i, j = map(int, (*numbers, -1, -1)[:2])
                if kind == "digits":
                    totals.sums[i].digits[j] = arrays[name]
                elif kind in _UNPACKED:
                    firsts.setdefault(i, {})[names[j]] = _UNPACKED[kind](arrays[name])
        for block in firsts.values() if names else [{}]:
            rows = len(next(iter(block.values()))) if names else 1
            totals.firsts.append(Block(rows, {}, block, None, "", range(rows)))
        keys = [key for block in totals.firsts for key in _grouped(block)[1]]
        totals._places = {key: i for i, key in enumerate(keys)}
        return totals


def _first_rows(block: Block, codes: Indices, groups: int) -> Block:
    """Return the first row of each group."""
    positions = np.empty(groups, np.intp)
    positions[codes[::-1]] = np.arange(block.rows)[::-1]
    first = np.zeros(block.rows, bool)
    first[positions] = True
    return only(block, first)


def _grouped(block: Block) -> tuple[Indices, list[Hashable]]:
    """Return the group of each row, and a key for each group, in order of their first occurrence."""
    codes = np.zeros(block.rows, np.intp)
    keys: list[tuple[Hashable, ...]] = [()]
    for column in block.columns.values():
        own, labels = _coded(column)
        count = len(labels)
        codes, pairs = _numbered((codes * count + own).tolist())
        keys = [(*keys[pair // count], labels[pair % count]) for pair in pairs]
    return codes, list(keys)


def _coded(column: Column) -> tuple[Indices, list[Hashable]]:
    """Return a number for each value of a column, and the key that each number stands for."""
    if isinstance(column, (list, np.ndarray)) or str(column.type).startswith(_NESTED):
        return _numbered(_keys(python_values(column)))
    encoded = dense(column).dictionary_encode("encode")
    codes, keys = _numbered(_keys(python_values(encoded.dictionary)))
    return codes[encoded.indices.to_numpy()], keys


_NESTED = ("struct", "list", "large_list", "fixed_size_list", "map")
"""The types of Arrow that have no dictionary."""


def _numbered(values: list[Any]) -> tuple[Indices, list[Any]]:
    """Number values in order of their first occurrence; return the number of each value, and the different values."""
    numbers: dict[Any, int] = {}
    codes = np.fromiter((numbers.setdefault(value, len(numbers)) for value in values), np.intp, len(values))
    return codes, list(numbers)


def _keys(values: list[Any]) -> list[Hashable]:
    return values if set(map(type, values)) <= {str, int} else list(map(_key, values))


def _key(value: Any) -> Hashable:
    """Return a key that is equal for equal values; in Python, nan is not equal to nan, but 1 is equal to true."""
    if isinstance(value, str) or (isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)):
        return value
    return (json_text(value),)


def _packed(column: Column) -> tuple[str, Array]:
    """Return the kind of a column, and an array that represents it in a file."""
    if isinstance(column, np.ndarray):
        return "array", column
    if isinstance(column, list):
        return "json", _as_json(column)
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    batch = pa.RecordBatch.from_arrays([column], ["column"])
    with pa.ipc.new_stream(sink, batch.schema) as out:
        out.write_batch(batch)
    return "arrow", np.frombuffer(sink.getvalue(), np.uint8)


def _as_json(values: list[Any]) -> Array:
    return np.frombuffer(json.dumps(values).encode(), np.uint8)


def _from_json(packed: Array) -> list[Any]:
    values: list[Any] = json.loads(packed.tobytes())
    return values


def _from_arrow(packed: Array) -> Column:
    import pyarrow as pa

    with pa.ipc.open_stream(pa.py_buffer(packed.tobytes())) as batches:
        return batches.read_next_batch().column(0)


_UNPACKED = {"array": lambda packed: packed, "json": _from_json, "arrow": _from_arrow}
"""The function that returns the column, by its kind."""
