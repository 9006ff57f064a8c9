"""Sums and products over an index, ``sum(i=1..10, x**i)``: in every engine, compared with the terms written out and with mpmath."""

from __future__ import annotations

import json
from typing import Any

import mpmath
import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.errors import AutodiffError
from autodiff_cli.evaluation.names import free_names
from autodiff_cli.language.latex import latex
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import names_in, unparse
from tests.shell import run, streams


def _numbers(expression: str, x: float) -> list[float]:
    """The value and the first two derivatives."""
    result = ad.evaluate(expression, {"x": x}, order=2)
    return [result.value, result.grad["x"], result.hessian["x"]["x"]]


@pytest.mark.parametrize(
    ("over_index", "written"),
    [
        ("sum(i=1..4, x**i/i)", "x + x**2/2 + x**3/3 + x**4/4"),
        ("prod(k=-1..2, x - k)", "(x + 1)*x*(x - 1)*(x - 2)"),
        ("sum(i=1..3, sum(j=1..i, x**j/i))", "x + (x + x**2)/2 + (x + x**2 + x**3)/3"),
        ("sum(i=1..2, prod(i=i..i + 1, x + i))", "(x + 1)*(x + 2) + (x + 2)*(x + 3)"),
        ("2*sum(i=2..2, sin(i*x)) + x", "2*sin(2*x) + x"),
        ("f(a) = sum(i=1..2, a**i); sum(i=1..2, f(i*x)*i)", "(x + x**2) + 2*(2*x + 4*x**2)"),
        ("sum(i=1..3, i if i > 1 else x)", "x + 5"),
        ("n = 3; sum(i=n - 2..n, x*n**i)", "39*x"),
        ("sum(i=1..3, x > i) + x", "x + 1"),
        ("sum(x=1..3, x) + x", "x + 6"),
    ],
)
def test_terms_written_out(over_index: str, written: str) -> None:
    assert _numbers(over_index, 1.7) == pytest.approx(_numbers(written, 1.7), rel=1e-14)


def test_a_fourier_series_against_mpmath() -> None:
    with mpmath.workdps(40):
        found = [
            mpmath.nsum(lambda k, n=n: mpmath.diff(lambda x: mpmath.sin((2 * k + 1) * x) / (2 * k + 1), mpmath.mpf(0.3), n), [0, 9])
            for n in range(3)
        ]
    assert _numbers("sum(k=0..9, sin((2*k + 1)*x)/(2*k + 1))", 0.3) == pytest.approx([float(f) for f in found], rel=1e-13)


def test_vectors_and_positions() -> None:
    result = ad.evaluate("sum(i=0..2, c[i]*x**i)", {"c": [1.0, -2.0, 0.5], "x": 3.0}, order=2)
    assert (result.value, list(result.grad["c"]), result.grad["x"], result.hessian["x"]["x"]) == (-0.5, [1, 3, 9], 1, 1)
    assert ad.evaluate("sum(i=1..2, [i, x])@[10, 1]", {"x": 2.5}).value == 35
    assert ad.evaluate("sum(sum(i=1..3, v**i), dim=0)", {"v": [1.0, 2.0]}).value == 17


def test_an_empty_range() -> None:
    assert _numbers("sum(i=3..1, x) + x", 2.0) == [2, 1, 0]
    assert _numbers("prod(i=3..1, x) + x", 2.0) == [3, 1, 0]


@pytest.mark.exhaustive
def test_many_terms_have_one_body() -> None:
    result = ad.evaluate("sum(i=1..10000, x/i**2)", {"x": 1.0})
    assert result.value == pytest.approx(float(mpmath.pi**2 / 6 - mpmath.zeta(2, 10001)), rel=1e-12)


def test_every_engine() -> None:
    assert run('autodiff diff "sum(i=1..3, x**i/i)"') == "x**2 + x + 1\n"
    assert run('autodiff diff "prod(i=1..n, x + i)" --const n=2') == "2*x + 3\n"
    assert run('autodiff taylor "sum(i=0..3, x**i)" --at x=1 --order 3 -q').split() == ["4.0", "6.0", "4.0", "1.0"]
    assert run('autodiff eval "sum(i=1..3, 1/i)" --digits 30 -q') == "1.83333333333333333333333333333\n"
    program: Any = ad.compile("sum(i=1..3, x**i)", order=2)
    assert program.engine != "rows"
    found = program(x=np.array([2.0, -1.0]))
    np.testing.assert_allclose(found["d_x"], [17, 2])
    names: dict[str, Any] = {}
    exec(run('autodiff export "prod(i=1..3, x - i)" --to python'), names)
    assert names["f"](5.0)[0] == 24
    assert json.loads(run('autodiff gradcheck "sum(i=1..3, sin(i*x))" --at x=0.3 --order 2 --json'))["passed"]


def test_explain_and_graph_show_each_term() -> None:
    steps = run('autodiff explain "sum(i=1..3, x**i)" --at x=2').splitlines()
    assert [line.split()[1:] for line in steps if line[:1] in ("x", "%")] == [
        ["x", "2"],
        ["x**1", "2"],
        ["x**2", "4"],
        ["%1", "+", "%2", "6"],
        ["x**3", "8"],
        ["%3", "+", "%4", "14"],
    ]
    assert run('autodiff graph "sum(i=1..3, x**i)"').count("○ **") == 3


def test_rows(tmp_path: Any) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("x,n\n2,3\n1,2\n")
    assert run(f'autodiff map "sum(i=1..n, x**i)" {file} --wrt x') == "x,n,value,d_x\n2,3,14.0,17.0\n1,2,2.0,3.0\n"


def test_programs_of_statements() -> None:
    program = "i = 7.0\nx = tensor(2.0, requires_grad=true)\ny = sum(i=1..3, x**i) + i\ny.backward()\nx.grad\n"
    out, err, code = streams("autodiff run -", program)
    assert (err, code) == ("", 0)
    assert "17" in out


def test_text_and_latex() -> None:
    for text in (
        "sum(i=1..10, x**i/i)",
        "prod(k=-n..n + 1, (x if k > 0 else y))",
        "sum(i=1. .. 3, i)",
        "sum(i=1..2, sum(j=i..3, j))",
    ):
        tree = parse(text).children[0]
        assert unparse(parse(unparse(tree)).children[0]) == unparse(tree)
    assert unparse(parse("sum( i = 1 .. 10, x**i )")) == "sum(i=1..10, x**i)"
    assert latex("sum(i=1..10, x**i/i)") == r"\sum_{i = 1}^{10} \frac{x^{i}}{i}"
    assert latex("2*prod(k=0..n, x - k) + 1") == r"2 \left(\prod_{k = 0}^{n} (x - k)\right) + 1"


def test_names() -> None:
    assert list(free_names(parse("sum(i=i..n, x**i) + j"))) == ["i", "n", "x", "j"]
    assert names_in(parse("sum(i=1..n, sum(j=1..i, x*j))")) == {"n", "x"}
    assert run('autodiff eval "x = [1, 2]; sum(x, dim=0)" -q') == "3.0\n"


@pytest.mark.parametrize(
    ("expression", "message", "hint", "place"),
    [
        ("sum(i=1..n, x)", "a limit of sum must be a constant", "--const n=3", "n"),
        ("sum(i=1..2.5, x)", "a limit of sum must be a whole number, not 2.5", None, "2.5"),
        ("prod(i=nan..3, x)", "a limit of prod must be a whole number, not nan", None, "nan"),
        ("sum(i=1..inf, x)", "a limit of sum must be a whole number, not inf", None, "inf"),
        ("sum(i=1..[2], x)", "a limit of sum must be a whole number, not a list", None, "[2]"),
        ("sum(i=1..1e9, x)", "a sum of 1,000,000,000 terms is more than the limit of 10,000", "--no-limits", "sum(i=1..1e9, x)"),
        ("mean(i=1..2, x)", "only sum and prod take the range of an index, not mean", "sum(i=1..10, x**i)", "i=1..2"),
        ("x.sum(i=1..2)", "only sum and prod take the range of an index, not the method sum", "sum(i=", "i=1..2"),
        ("sum(x, i=1..2)", "sum over an index takes the range and one expression", "sum(i=1..10, x**i)", "sum(x, i=1..2)"),
        ("sum(i=1..2, x, dim=0)", "sum over an index takes the range and one", "sum(i=1..10, x**i)", "sum(i=1..2, x, dim=0)"),
        ("summ(i=1..2, x)", "unknown function 'summ'", "did you mean 'sum'?", "summ"),
        ("sum(i=1..2, y*i)", "no value for 'y'", "--at y=1", "y"),
        ("sum(i=1..2, log(i, x))", "log takes 1 argument, not 2", None, "log(i, x)"),
        ("sum(i=1:2, x)", "unexpected ':'", "two dots: i=1..10", ":"),
        ("1..3", "unexpected '..'", None, ".."),
    ],
)
def test_errors_name_the_place(expression: str, message: str, hint: str | None, place: str) -> None:
    with pytest.raises(AutodiffError) as caught:
        ad.evaluate(expression, {"x": 2.0, "n": 3.0})
    error = caught.value
    assert message in error.message
    assert expression[slice(*(error.span or ()))] == place
    out, err, code = streams(f"autodiff grad '{expression}' --at x=2,n=3")
    assert (out, code) == ("", 2) or code in (1, 3)
    assert hint is None or hint in err


def test_limits_that_are_not_known() -> None:
    _, err, code = streams('autodiff diff "sum(i=1..n, x**i)"')
    assert (code != 0, "the limits of sum depend on a variable" in err, "--const n=10" in err) == (True, True, True)
