"""``map --engine llvm`` and ``--engine numpy``: the engine is chosen once for all rows of the input."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

import autodiff_cli as ad
from tests.mapping import run_map

pytest.importorskip("llvmlite")

EXPRESSION = "sin(x)*exp(-y**2) + log(x**2 + y**2 + 1)"


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, bytes]:
    """Rows of several pieces, as numbers and as CSV."""
    rows = np.random.default_rng(0).uniform(-3, 3, (200_000, 2))
    text = io.StringIO()
    np.savetxt(text, rows, "%.17g", ",", header="x,y", comments="")
    return rows, text.getvalue().encode()


def numbers(text: str) -> np.ndarray:
    return np.loadtxt(io.StringIO(text), delimiter=",", skiprows=1)


def right(rows: np.ndarray, engine: str) -> np.ndarray:
    found = ad.compile(EXPRESSION, engine=engine)(x=rows[:, 0], y=rows[:, 1])
    return np.column_stack([rows, *found.values()])


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("options", "engine"), [((), "llvm"), (("--engine", "numpy"), "numpy")])
@pytest.mark.parametrize("threads", [1, 3])
def test_the_engine_of_a_large_input(
    data: tuple[np.ndarray, bytes], tmp_path: Path, options: tuple[str, ...], engine: str, threads: int
) -> None:
    rows, text = data
    (tmp_path / "rows.csv").write_bytes(text)
    from_file = run_map(EXPRESSION, str(tmp_path / "rows.csv"), *options, "--threads", str(threads), stdin=b"")
    from_pipe = run_map(EXPRESSION, *options, "--threads", str(threads), stdin=text)
    np.testing.assert_array_equal(numbers(from_file.text), right(rows, engine))
    assert from_pipe.text == from_file.text


@pytest.mark.parametrize(("options", "engine"), [((), "numpy"), (("--engine", "llvm"), "llvm")])
def test_the_engine_of_a_small_input(data: tuple[np.ndarray, bytes], options: tuple[str, ...], engine: str) -> None:
    rows, text = data
    some = b"".join(text.splitlines(keepends=True)[:101])
    np.testing.assert_array_equal(numbers(run_map(EXPRESSION, *options, stdin=some).text), right(rows[:100], engine))


def test_rows_that_are_passed_on_at_once_are_not_compiled(data: tuple[np.ndarray, bytes]) -> None:
    rows, text = data
    some = b"".join(text.splitlines(keepends=True)[:5_001])
    np.testing.assert_array_equal(numbers(run_map(EXPRESSION, "--unbuffered", stdin=some).text), right(rows[:5_000], "numpy"))


def test_an_expression_that_cannot_be_compiled_is_evaluated_row_by_row() -> None:
    done = run_map("det([[x, 1], [1, x]])", "--engine", "llvm", stdin=b"x\n2\n3\n")
    np.testing.assert_allclose(numbers(done.text), [[2, 3, 4], [3, 8, 6]], rtol=1e-14)
