"""Data files with numbers in their columns, as ``map`` and the other commands over rows read them."""

from __future__ import annotations

import io
import json
from random import Random

import numpy as np

from tests.fuzz import values

FORMATS = ("csv", "csv", "csv", "tsv", "ndjson", "npy", "npz", "json")
SUFFIXES = {"ndjson": ".ndjson", "json": ".json"}


def rows_file(random: Random, columns: list[str], nasty: float) -> tuple[str, bytes]:
    """A name and a content, of any format that can be written without further packages."""
    columns = columns or ["unused"]
    kind = random.choice(FORMATS[:-1])
    rows = [[values.number(random) for _ in columns] for _ in range(random.choice((0, 1, 2, 3, 3, 5, 5, 20)))]
    if kind in ("npy", "npz"):
        return f"data.{kind}", _numpy(random, kind, columns, rows)
    cells = ("", "abc", "nan", "inf", "1e999", "1,5", '"1"', "-", "1e308", "\x1b[31m", "é", "1 2")
    for row in rows:
        for k in range(len(row)):
            if random.random() < nasty:
                row[k] = random.choice(cells)
    if kind == "ndjson":
        text = "".join(json.dumps({c: _plain(v) for c, v in zip(columns, row, strict=True)}) + "\n" for row in rows)
        return "data.ndjson", text.encode()
    mark = "\t" if kind == "tsv" else ","
    text = "".join(mark.join(row) + "\n" for row in [columns, *rows])
    return f"data.{kind}", text.encode()


def value_file(random: Random, shape: tuple[int, ...]) -> tuple[str, bytes]:
    """A file that holds the value of one variable."""
    array = np.array([random.uniform(0, 2) for _ in range(int(np.prod(shape)))]).reshape(shape)
    kind = random.choice(("npy", "json", "csv") if array.ndim in (1, 2) else ("npy", "json"))
    if kind == "json":
        return "value.json", json.dumps(array.tolist()).encode()
    if kind == "csv":
        return "value.csv", "".join(",".join(map(str, np.atleast_1d(row).tolist())) + "\n" for row in array).encode()
    out = io.BytesIO()
    np.save(out, array.astype(random.choice(("f8", "f8", "f4", "i8", "<i2", ">f8", "?"))))
    return "value.npy", out.getvalue()


def _plain(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _numpy(random: Random, kind: str, columns: list[str], rows: list[list[str]]) -> bytes:
    array = np.array([[float(cell) for cell in row] for row in rows]).reshape(len(rows), len(columns))
    array = array.astype(random.choice(("f8", "f8", "f4", "i4")))
    out = io.BytesIO()
    if kind == "npz":
        np.savez(out, **{name: array[:, k] for k, name in enumerate(columns) if name not in ("file",)})  # type: ignore[arg-type]
    elif random.random() < 0.5 and columns:
        table = np.zeros(len(rows), dtype=[(name, array.dtype) for name in columns])
        for k, name in enumerate(columns):
            table[name] = array[:, k]
        np.save(out, table)
    else:
        np.save(out, array)
    return out.getvalue()
