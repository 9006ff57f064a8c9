"""``map`` and ``evaluate`` agree bit by bit: random programs over random rows, as text and as Parquet, with every engine.

The programs consist of operations whose results do not depend on the order of roundings.  Elementary functions, and quotients of
a number, may differ in the last digits between one number and an array; ``test_ways_agree`` compares them with a tolerance.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import autodiff_cli as ad
from tests.mapping import run_map

NAMES = ("x", "y", "z")
Row = tuple[float, float, float]
Results = dict[str, list[float]]
"""The cells of the new columns, by name."""

OPERATIONS = (
    *("({} + {})", "({} - {})", "({}*{})", "(-{})", "({})**2", "[{}, {}][1]", "abs({})", "sign({})", "relu({})", "floor({})"),
    *("hardtanh({})", "clamp({}, -1, 2)", "copysign({}, {})", "max({}, {})", "min({}, {})"),
    *("where({} < {}, {}, {})", "({} if {} >= {} and {} == {} else {})"),
)
ROUNDED_ONCE = ("sqrt({})", "reciprocal({})")
"""The formulas of their derivatives are rounded several times."""
EDGES = (0.0, -0.0, 1.0, -1.0, 2.0, math.inf, -math.inf, math.nan, 5e-324, -1e-310, 1e-160, 1e160, -1.7e308, 2.0**53)
CELLS = st.one_of(st.sampled_from(EDGES), st.integers(-12, 12).map(lambda n: n / 8), st.floats(width=64, allow_nan=False))
ROWS = st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=9)


def outputs(operations: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    """One or two expressions of the variables."""

    def calls(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        def call(template: str) -> st.SearchStrategy[str]:
            count = template.count("{}")
            return st.lists(inner, min_size=count, max_size=count).map(lambda parts: template.format(*parts))

        return st.sampled_from(operations).flatmap(call)

    leaves = st.sampled_from((*NAMES, *NAMES, "0.0", "1.0", "-2.5", "3.0", "1e200"))
    return st.lists(st.recursive(leaves, calls, max_leaves=10), min_size=1, max_size=2)


def program(*expressions: str) -> str:
    """All variables occur, so each of them has derivatives."""
    results = ", ".join("uv"[: len(expressions)])
    return "; ".join(["w = [x, y, z]", *map("{} = {}".format, "uv", expressions), results])


def by_evaluate(expressions: list[str], rows: list[Row], order: int) -> Results:
    found: Results = {}
    for row in rows:
        for letter, expression in zip("uv", expressions, strict=False):
            value, derivative = ("value", "d") if len(expressions) == 1 else (letter, f"d_{letter}")
            result = ad.evaluate(program(expression), dict(zip(NAMES, row, strict=True)), order=max(order, 1))
            terms = {value: result.value}
            if order >= 1:
                terms |= {f"{derivative}_{a}": result.grad[a] for a in NAMES}
            if order == 2:
                terms |= {f"{derivative}_{a}_{b}": result.hessian[a][b] for i, a in enumerate(NAMES) for b in NAMES[i:]}
            for name, number in terms.items():
                found.setdefault(name, []).append(float(number))
    return found


def by_text(text: str, rows: list[Row], *options: object) -> Results:
    lines = [",".join(NAMES), *(",".join(map(repr, row)) for row in rows), ""]
    done = run_map(text, "--no-keep", *options, stdin="\n".join(lines).encode())
    assert done.code == 0, done.err
    header, *cells = csv.reader(io.StringIO(done.text))
    return {name: [float(row[i]) for row in cells] for i, name in enumerate(header)}


@pytest.fixture(scope="module")
def by_parquet(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Results]:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("rows")

    def found(text: str, rows: list[Row], *options: object) -> Results:
        columns = {name: [row[i] for row in rows] for i, name in enumerate(NAMES)}
        parquet.write_table(arrow.table(columns), folder / "in.parquet")
        done = run_map(text, folder / "in.parquet", "--no-keep", "-o", folder / "out.parquet", *options)
        assert done.code == 0, done.err
        results: Results = parquet.read_table(folder / "out.parquet").to_pydict()
        return results

    return found


def check(found: Results, right: Results, about: object) -> None:
    """Zeros of derivatives may differ in sign: the compiler leaves out derivatives that are 0 everywhere."""
    assert found.keys() == right.keys()
    for name, numbers in found.items():
        np.testing.assert_array_equal(numbers, right[name], f"{name} of {about}")
        if not name.startswith("d_"):
            both = zip(numbers, right[name], strict=True)
            assert all(math.copysign(1, a) == math.copysign(1, b) for a, b in both if a == 0), (name, about)


ENGINES: list[Any] = [
    pytest.param("numpy", id="numpy"),
    pytest.param("llvm", id="llvm", marks=pytest.mark.skipif(not importlib.util.find_spec("llvmlite"), reason="no llvmlite")),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("engine", ENGINES)
@given(expressions=outputs(OPERATIONS), rows=ROWS, order=st.sampled_from([1, 2]))
@settings(max_examples=40)
def test_derivatives(engine: str, expressions: list[str], rows: list[Row], order: int, by_parquet: Callable[..., Results]) -> None:
    right = by_evaluate(expressions, rows, order)
    for way in (by_text, by_parquet):
        check(way(program(*expressions), rows, "--order", order, "--engine", engine), right, (expressions, rows, way))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("engine", ENGINES)
@given(expressions=outputs((*OPERATIONS, *ROUNDED_ONCE)), rows=ROWS)
@settings(max_examples=40)
def test_values(engine: str, expressions: list[str], rows: list[Row], by_parquet: Callable[..., Results]) -> None:
    right = by_evaluate(expressions, rows, 0)
    for way in (by_text, by_parquet):
        check(way(program(*expressions), rows, "--order", 0, "--engine", engine), right, (expressions, rows, way))
