"""Tables at every terminal width: nothing is cut off, no number is broken, omissions are stated."""

from __future__ import annotations

import contextlib
import io
import re

import pytest

from autodiff_cli.cli.main import main
from autodiff_cli.report import terminal
from autodiff_cli.report.table import _matrix_lines

NUMBER = re.compile(r"(?<![\w.*])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.*])")
COMMANDS = {
    "matrices": ["eval", "sum(sin(A)*exp(x))", "--at", "A=[[1,2,3],[4,5,6]]", "--at", "x=[0.123456789,2,3]"],
    "many digits": ["eval", "y = x**3; z = log(y); z*q", "--at", "x=5.1,q=2.7", "--retain-grad", "y,z", "--precision", "17"],
    "hessian": ["hessian", "sum(x**4)*exp(x[0])", "--at", "x=[0.123456789,2,3,4,5]", "--precision", "17"],
    "orders": ["eval", "sin(x)*exp(y)", "--at", "x=1,y=2", "--order", "4", "--precision", "12"],
    "jacobian": ["jacobian", "sin(x)*y", "--at", "x=[1.5,2.5,3.5],y=0.123", "--precision", "14"],
    "taylor": ["taylor", "exp([x, 2*x])", "--at", "x=0.5", "--order", "3", "--precision", "15"],
    "gradcheck": ["gradcheck", "sum(A**2)", "--at", "A=[[1.5,2],[3,4]]", "--precision", "17"],
    "cube": ["grad", "sum(x**2)", "--at", "x=[[[1.25,2],[3,4]],[[5,6],[7,8.125]]]", "--precision", "10"],
    "no expression": ["eval", "x", "--at", "x=1.23456789012345", "--precision", "17"],
}


def shown(columns: int | None, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """What is printed in so many columns, or in a pipe."""
    if columns is not None:
        monkeypatch.setattr(terminal, "_WIDEST", columns)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), monkeypatch.context() as patch:
        patch.delenv("NO_COLOR", raising=False)
        assert main(arguments) == 0
    return out.getvalue()


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_every_number_is_whole_in_every_width(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = shown(None, arguments, monkeypatch)
    numbers = {number for line in whole.splitlines() if "─" not in line for number in NUMBER.findall(line)}
    for columns in (40, 47, 60, 80, 99, 120, 160, 200):
        narrow = shown(columns, arguments, monkeypatch)
        assert max(map(len, narrow.splitlines())) <= columns, columns
        assert numbers <= set(NUMBER.findall(narrow)), columns
        for header in ("requires_", "retains_", "grad_fn") if arguments[0] == "eval" else ():
            assert header in narrow, columns


def test_a_pipe_takes_a_line_for_each_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(shown(None, COMMANDS["matrices"], monkeypatch).splitlines()) == 3 + 6


def test_a_table_gives_way_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["eval", "log(x**3)*A", "--at", "x=5", "--const", "A=[[1, 2], [3, 4]]", "--gradient", "ones(2, 2)"]
    whole = shown(None, arguments, monkeypatch)
    width = max(map(len, whole.splitlines()))
    assert shown(width, arguments, monkeypatch) == whole
    closer = shown(width - 1, arguments, monkeypatch)
    assert re.sub(" +", " ", closer.replace("─", "")) == re.sub(" +", " ", whole.replace("─", ""))
    folded = shown(width - 9, arguments, monkeypatch)
    assert len(folded.splitlines()) > len(whole.splitlines())
    assert len(re.findall(r"^name", folded, re.MULTILINE)) == 1
    pieces = shown(50, arguments, monkeypatch)
    assert len(re.findall(r"^name", pieces, re.MULTILINE)) == 2


def test_what_is_the_same_in_every_row_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = shown(78, ["eval", "log(x**3)", "--at", "x=5", "--precision", "17"], monkeypatch)
    assert narrow.splitlines()[-1] == "in every row: requires_grad True, retains_grad False"
    assert "requires_\n" not in narrow
    different = shown(78, ["eval", "y=log(x**3); y", "--at", "x=5", "--precision", "17", "--retain-grad", "y"], monkeypatch)
    assert "retains_" in different.splitlines()[0]


def test_a_long_expression_loses_its_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "sin(x) + cos(x) + tan(x)*exp(x) + log(x) + softplus(2*x)"
    narrow = shown(100, ["eval", text, "--at", "x=1.5", "--precision", "12"], monkeypatch)
    (cell,) = re.findall(r"^%12 +(.*?)  ", narrow, re.MULTILINE)
    begin, dots, end = cell.partition("…")
    assert dots
    assert len(cell) >= 20
    assert text.startswith(begin)
    assert text.endswith(end)


def test_functions_fold_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = shown(None, ["functions"], monkeypatch)
    words, longer = set(re.findall(r"[a-z]+", whole)), re.findall(r"[!-~]{26,}", whole)  # than their column
    narrow = shown(80, ["functions"], monkeypatch)
    assert max(map(len, narrow.splitlines())) <= 80
    assert all(any(piece in run for run in longer) for piece in set(re.findall(r"[a-z]+", narrow)) - words)


def test_a_matrix_without_room_for_aligned_columns_is_not_aligned(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["grad", "sum(A**2)/2", "--at", "A=[[1,22222],[33333,4]]"]
    assert "[[    1, 22222]," in shown(60, arguments, monkeypatch)
    assert "[[1, 22222]," in shown(24, arguments, monkeypatch)


def test_rows_of_a_matrix() -> None:
    assert _matrix_lines("[[1, -20], [3.5, 4]]") == ["[[  1, -20],", " [3.5,   4]]"]
    assert _matrix_lines("[[1, -20], [3.5, 4]]", aligned=False) == ["[[1, -20],", " [3.5, 4]]"]
    assert _matrix_lines("[[[1, 2]], [[3, 4]]]") == ["[[[1, 2]],", " [[3, 4]]]"]
