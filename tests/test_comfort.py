"""Options that save typing or show more: their results are equal to those of the long way, or to a known matrix."""

from __future__ import annotations

import contextlib
import json
import math
import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.shell import ROOT, run


def test_numbers_of_a_jacobian_are_row_by_row() -> None:
    """The Jacobian of ``A @ v + y*w`` is ``A`` beside the column ``w``."""
    drawn = np.random.default_rng(3).integers(-9, 9, (4, 3))
    w = np.array([5.0, 6.0, 7.0, 8.0])
    printed = run(f'autodiff jacobian "A @ v + y*w" --at "v=[1, 2, 3],y=2" --const "A={drawn.tolist()},w={w.tolist()}" -q')
    assert [float(line) for line in printed.split()] == np.column_stack([drawn, w]).ravel().tolist()


def test_numbers_of_an_empty_jacobian_are_none() -> None:
    assert run('autodiff jacobian "zeros(0)*x*v" --at "x=1,v=[1]" -q') == ""
    assert run('autodiff jacobian "x*[1, 2]" --at "x=3,v=zeros(0)" -q --quiet-notes') == "1.0\n2.0\n"


def test_matrices_up_to_twelve_rows_and_columns_are_shown() -> None:
    assert run('autodiff grad "sum(A)" --at "A=ones(12, 12)"').count("[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]") == 12
    assert "(13 x 12)" in run('autodiff grad "sum(A)" --at "A=ones(13, 12)"')


@pytest.mark.parametrize(("suffix", "target"), [(".py", "python"), (".mjs", "javascript"), (".tex", "latex"), (".C", "c")])
def test_the_suffix_selects_the_language(suffix: str, target: str, tmp_path: Path) -> None:
    path = tmp_path / f"f{suffix}"
    assert run(f'autodiff export "log(x**3)" -o {path}') == ""
    assert path.read_text() == run(f'autodiff export "log(x**3)" --to {target}')


def test_the_vector_of_vjp_has_two_names() -> None:
    printed = {run(f'autodiff vjp "[x*y, x + y]" --at x=2,y=3 {name} "[1, 10]" -q') for name in ("--vector", "--gradient")}
    assert printed == {"13.0\n12.0\n"}


def test_order_0_is_the_value_alone() -> None:
    assert run('autodiff eval "[x**2, x]" --at x=3 --order 0 -q') == "9.0\n3.0\n"
    assert json.loads(run('autodiff eval "x**2" --at x=3 --order 0 --verify --json'))["verified"]["value"] == 16.0
    assert "order 0 is the value alone" in run('autodiff eval "x**2" --at x=3 --order 0 --backward 2 --retain-graph')


def _as_python(latex: str) -> str:
    """Numbers, powers and brackets of LaTeX in the notation of Python."""
    text = re.sub(r" \\cdot 10\^\{(-?\d+)\}", r"e\1", latex)
    text = text.replace(r"\left", "").replace(r"\right", "")
    text = re.sub(r"\^\{(\d+)\}", r"**\1", text)
    return re.sub(r"(?<=\d) (?=[x(])", "*", text)


@pytest.mark.parametrize(
    ("expression", "at", "function"),
    [
        ("sin(x)", 0.0, math.sin),
        ("-exp(x)*1e-6", 0.5, lambda x: -math.exp(x) * 1e-6),
        ("log(2 + x)", -0.75, lambda x: math.log(2 + x)),
        ("x**2 - x**3", 0.0, lambda x: x**2 - x**3),
    ],
)
def test_a_series_in_latex_is_close_to_the_function(expression: str, at: float, function: Callable[[float], float]) -> None:
    printed = run(f'autodiff taylor "{expression}" --at x={at} --order 9 --precision 17 --format latex')
    series = re.fullmatch(r"f\(x\) = (.*) \+ O\\left\((.*)\^\{10\}\\right\)\n", printed)
    assert series is not None
    assert eval(_as_python(series[2]), {"x": at}) == 0
    for x in (at - 0.1, at, at + 0.1):
        assert eval(_as_python(series[1]), {"x": x}) == pytest.approx(function(x), rel=1e-9, abs=1e-12)


def test_signs_and_zeros_of_a_series_in_latex() -> None:
    assert run('autodiff taylor "-x + x**2" --at x=0 --order 2 --format latex') == "f(x) = -x + x^{2} + O\\left(x^{3}\\right)\n"
    assert run('autodiff taylor "0*x" --at x=0 --order 1 --format latex') == "f(x) = 0 + O\\left(x^{2}\\right)\n"
    assert "nan" in run('autodiff taylor "log(x)" --at x=-1 --order 1 --format latex --quiet-notes').partition("O")[0]


@pytest.mark.parametrize("command", ["jacobian", "hessian"])
def test_a_matrix_in_latex_has_the_numbers_of_the_table(command: str) -> None:
    point = '--at "v=[1, 2.5],y=-3e-7" --precision 17'
    expression = "v*y**2" if command == "jacobian" else "sum(v**3)*y + y**2"
    printed = run(f'autodiff {command} "{expression}" {point} --format latex')
    left, _, matrix = printed.partition(" = ")
    assert left.endswith("({v}_{0}, {v}_{1}, y)}" if command == "jacobian" else "({v}_{0}, {v}_{1}, y)^{2}}")
    rows = matrix.removeprefix("\\begin{pmatrix} ").removesuffix(" \\end{pmatrix}\n").split(" \\\\ ")
    numbers = [[float(_as_python(cell)) for cell in row.split(" & ")] for row in rows]
    v, y = np.array([1, 2.5]), -3e-7
    if command == "jacobian":
        expected = np.column_stack([np.diag([y**2, y**2]), 2 * v * y])
    else:
        expected = np.block([[np.diag(6 * v * y), 3 * v[:, None] ** 2], [3 * v**2, np.array([2.0])]])
    np.testing.assert_allclose(numbers, expected, rtol=1e-15)


def test_latex_of_arrays_without_a_matrix() -> None:
    assert "has a Hessian for each element" in run('autodiff hessian "[x**2, x]" --at x=1 --format latex')
    assert "a matrix has two dimensions" in run('autodiff taylor "x*ones(2, 2, 2)" --at x=0 --format latex')


def test_search_finds_names_and_descriptions() -> None:
    names = run("autodiff functions SINE -q").split()
    assert {"sin", "cos", "sinh", "asin"} <= set(names)
    assert run("autodiff functions norm -q").split()[0] == "norm"
    everything = json.loads(run("autodiff functions --json"))["functions"]
    keys = ("name", "summary", "derivative", "section")
    for words in (["normal", "density"], ["matrix"], ["logarithm"], ["bessel", "order"]):
        texts = {each["name"]: " ".join([*(each[key] for key in keys), *each["aliases"]]).lower() for each in everything}
        expected = {name for name, text in texts.items() if all(word in text for word in words)}
        assert set(run(f"autodiff functions '{' '.join(words)}' -q").split()) == expected
        assert expected


def test_search_without_a_result() -> None:
    assert run("autodiff functions xyzzy").startswith("error: no function matches 'xyzzy'\n")
    assert "did you mean 'sqrt'?" in run("autodiff functions sqrtt")


def _on_a_terminal(arguments: str, **variables: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start the command on a terminal of its own, and return the other end of the terminal, too."""
    master, terminal = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80", "LINES": "24", **variables}
    command = [sys.executable, "-m", "autodiff_cli", *arguments.split()]
    process = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env=environment)
    os.close(terminal)
    return process, master


def _rest(process: subprocess.Popen[bytes], master: int) -> bytes:
    """Return what a terminal shows until its command ends."""
    pieces = []
    with contextlib.suppress(OSError):  # the end of a terminal
        while piece := os.read(master, 65536):
            pieces.append(piece)
    os.close(master)
    assert process.wait(60) == 0
    return b"".join(pieces)


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="a terminal cannot be opened")
def test_long_lists_on_a_terminal_are_shown_with_the_pager() -> None:
    def printed(arguments: str, **variables: str) -> str:
        process, master = _on_a_terminal(arguments, **variables)
        return _rest(process, master).decode()

    assert printed("functions", PAGER="sed -n 1,3s/^/paged:/p").count("paged:") == 3
    assert "paged:" not in printed("functions sqrt", PAGER="sed s/^/paged:/")
    assert "paged:" not in printed("functions -q", PAGER="sed s/^/paged:/")
    assert "sqrt(x)" in printed("functions", PAGER="no-such-program")
    asked = printed("functions", PAGER="sh -c 'echo \"$LESS\"; cat >/dev/null'", LESS="-R")
    assert asked.split() == ["-R"]


@pytest.mark.skipif(sys.platform == "win32" or shutil.which("less") is None, reason="less is not installed")
def test_the_pager_says_how_to_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LESS", raising=False)
    process, master = _on_a_terminal("functions", PAGER="less", TERM="vt100")
    shown = b""
    while b"q ends it" not in shown:
        shown += os.read(master, 65536)
    os.write(master, b"q")
    assert b"with a pager: q ends it" in shown
    _rest(process, master)


@pytest.mark.parametrize("width", [40, 60])
def test_columns_limits_tables_in_a_pipe(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run("autodiff eval 'log(x**3)' --at x=5")
    monkeypatch.setenv("COLUMNS", str(width))
    folded = run("autodiff eval 'log(x**3)' --at x=5")
    assert max(map(len, folded.splitlines())) <= width < max(map(len, whole.splitlines()))
    assert set(re.findall(r"[\w.*()]+", folded)) >= {"log(x**3)", "4.82831", "LogBackward0", "0.6"}
    assert max(map(len, run("autodiff plot 'sin(x)' --over x=0:6").splitlines())) == width
    monkeypatch.setenv("COLUMNS", "wide")
    assert run("autodiff eval 'log(x**3)' --at x=5") == whole


def test_a_table_that_just_fits_is_not_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """The columns with their names and values, and expressions of the least width, take 69 columns."""
    titles = []
    for width in (68, 69):
        monkeypatch.setenv("COLUMNS", str(width))
        found = run("autodiff eval 'sin(x)*exp(-x**2) + cos(x)*log(x + 2)' --at x=5")
        assert max(map(len, found.splitlines())) <= width
        titles.append(len(re.findall("^name ", found, re.MULTILINE)))
    assert titles == [2, 1]


def test_a_list_of_functions_in_a_pipe_has_lines_for_reading() -> None:
    assert max(map(len, run("autodiff functions").splitlines())) <= 120
    assert max(map(len, run("autodiff functions einsum").splitlines())) <= 120
