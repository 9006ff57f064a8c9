"""``autodiff map`` and ``ad.compile`` with several outputs."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.compiler.program import Program
from autodiff_cli.errors import ShapeError, UsageError
from tests.mapping import run_map

pytestmark = pytest.mark.usefixtures("elsewhere")

ROWS = b"id,x,y\na,1.5,2\nb,-0.25,3\nc,4,0.5\n"
X, Y = np.array([1.5, -0.25, 4]), np.array([2, 3, 0.5])
TRUTH = {"u": X * Y, "d_u_x": Y, "d_u_y": X, "v": X * Y + X, "d_v_x": Y + 1, "d_v_y": X}


def columns(text: str) -> dict[str, list[str]]:
    header, *rows = csv.reader(io.StringIO(text))
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


@pytest.mark.parametrize(
    "program",
    [
        "u = x*y; v = u + x; u, v",
        "u = x*y; v = u + x; [u, v]",
        "u = x*y\nv = u + x\nu, v,  # both\n",
        "u, v = x*y, x*(y + 1); (u), v",
    ],
)
def test_columns_of_every_output(program: str) -> None:
    done = run_map(program, stdin=ROWS)
    found = columns(done.text)
    assert (done.code, done.err) == (0, "")
    assert list(found) == ["id", "x", "y", *TRUTH]
    for name, column in TRUTH.items():
        assert list(map(float, found[name])) == pytest.approx(column)


def test_outputs_without_a_name_are_called_after_their_position() -> None:
    done = run_map("u = x*y; exp(u), u, max(x, y)", "--wrt", "x", "--no-keep", stdin=ROWS)
    names = ["value1", "d_value1_x", "u", "d_u_x", "value3", "d_value3_x"]
    truth = [np.exp(X * Y), Y * np.exp(X * Y), X * Y, Y, np.maximum(X, Y), (X > Y) * 1.0]
    found = columns(done.text)
    assert list(found) == names
    for name, column in zip(names, truth, strict=True):
        assert list(map(float, found[name])) == pytest.approx(column)


def test_second_derivatives_of_outputs_with_names() -> None:
    arguments = ["--order", 2, "--no-keep"]
    found = columns(run_map("f_u = x**2*y; f_x = x; f_u, f_x", *arguments, stdin=ROWS).text)
    terms = ("x", "y", "x_x", "x_y", "y_y")
    assert list(found) == [name for output in ("f_u", "f_x") for name in (output, *(f"d_{output}_{term}" for term in terms))]
    assert list(map(float, found["d_f_u_x_y"])) == pytest.approx(2 * X)
    assert list(map(float, found["d_f_x_x"])) == [1, 1, 1]


def test_outputs_row_by_row_are_those_of_each_output_alone() -> None:
    """A determinant of three rows is not traced."""
    matrix = "A = [[x, 1, y], [2, y, 1], [0, x, 3]]"
    both = columns(run_map(f"{matrix}; d = det(A); d, inv(A).sum()", "--order", 2, "--no-keep", stdin=ROWS).text)
    one = columns(run_map(f"{matrix}; det(A)", "--order", 2, "--no-keep", stdin=ROWS).text)
    other = columns(run_map(f"{matrix}; inv(A).sum()", "--order", 2, "--no-keep", stdin=ROWS).text)
    assert list(both.values()) == [*one.values(), *other.values()]


def test_json_and_notes() -> None:
    done = run_map("u = log(x); u, x*y", "--wrt", "x", "--json", stdin=ROWS)
    document = json.loads(done.out)
    assert document["columns"] == ["id", "x", "y", "u", "d_u_x", "value2", "d_value2_x"]
    assert [row["value2"] for row in document["rows"]] == [3.0, -0.75, 2.0]
    assert "line 3: u is nan (log(-0.25) is nan: log is defined for x > 0)" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["u = x*y; u, u"], "two outputs have the name 'u'"),
        (["x, y"], "already has a column 'x'"),
        (["u = x; d_u_x = y; u, d_u_x"], "two of the new columns have the same name"),
        (["v = [x, y]; x*2, v"], "expected one number, but the expression has shape [2]"),
        (["x*2, mean(y)"], "'mean' takes an array"),
        (["x*2,, y"], "unexpected ','"),
    ],
)
def test_mistakes(arguments: list[Any], message: str) -> None:
    done = run_map(*arguments, stdin=ROWS)
    assert done.code in (2, 3)
    assert (done.out, done.err.count("error: ")) == (b"", 1)
    assert message in done.err


def test_a_program_shares_the_parts_of_its_outputs() -> None:
    program = ad.compile("u = exp(x*y); u, u + x")
    assert isinstance(program, Program)
    assert program.outputs == ("u", "d_u_x", "d_u_y", "value2", "d_value2_x", "d_value2_y")
    assert sum(one.is_("exp") for one in program.instructions) == 1
    found = program(x=X, y=Y)
    np.testing.assert_allclose(found["value2"], np.exp(X * Y) + X)
    np.testing.assert_allclose(found["d_value2_x"], Y * np.exp(X * Y) + 1)
    np.testing.assert_allclose(found["d_u_y"], X * np.exp(X * Y))


def test_errors_of_programs_show_their_place() -> None:
    with pytest.raises(ShapeError) as caught:
        ad.compile("v = [x, x]; x, v, 2")(x=1.0)
    assert caught.value.source is not None
    assert caught.value.span is not None
    assert caught.value.source[slice(*caught.value.span)] == "v"
    with pytest.raises(UsageError, match="two outputs have the name 'x'"):
        ad.compile("x, x")
