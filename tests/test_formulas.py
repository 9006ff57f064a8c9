"""Formulas of ``diff`` and code of ``export``, compared with the engine and with mpmath."""

from __future__ import annotations

import json
import math
from typing import Any

import mpmath
import numpy as np
import pytest

from autodiff_cli.cli.main import main
from autodiff_cli.code_generation.export import export
from autodiff_cli.errors import AutodiffError
from tests.accuracy import formulas
from tests.accuracy.formulas import Call
from tests.javascript import NODE, needs_node

SIZES = (
    1e-300,
    1e-160,
    1e-30,
    1e-8,
    1e-5,
    1e-3,
    0.1,
    0.7,
    1.3,
    2.9,
    4.7,
    12.3,
    19.9,
    20.1,
    36.9,
    90.0,
    714.0,
    1e5,
    1e8,
    1e16,
    1e160,
    1e300,
)
PAIRS = (1e-300, 1e-30, 1e-3, 0.3, 1.0, 19.9, 714.0, 1e16, 1e100, 1e300)
CALLS = formulas.calls(SIZES, PAIRS)
TRUE = {call.expression: formulas.exactly(call) for call in CALLS}
REFUSED = {"bessel_j(x, 3)": ("python", "c", "javascript", "torch", "jax")}
"""The second derivative of ``bessel_j(x, 3)`` is one of the order 5."""
TOLERANCE = 1e-9


def wrong(way: str) -> list[str]:
    """The places where a way of writing a function down does not give its numbers."""
    found = formulas.answers(way, CALLS)
    places = []
    for call in CALLS:
        answers = found[call.expression]
        if isinstance(answers, AutodiffError):
            if way not in REFUSED.get(call.expression, ()):
                places.append(f"{call.expression}: {answers}")
            continue
        for term, error in formulas.errors(answers, TRUE[call.expression], way == "python").items():
            i = int(np.argmax(error))
            if error[i] > TOLERANCE and not (call.expression == "logaddexp2(x, y)" and way in ("torch", "jax") and not term):
                at = ", ".join(f"{name} = {float(column[i])!r}" for name, column in call.columns.items())
                places.append(f"{call.expression} {term} at {at}: {answers[term][i]}, not {TRUE[call.expression][term][i]}")
    return places


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", ["diff", "python", "numpy"])
def test_every_function_has_its_numbers(way: str) -> None:
    assert wrong(way) == []


@pytest.mark.exhaustive
@pytest.mark.skipif(formulas.compiler() is None, reason="no C compiler")
def test_every_function_has_its_numbers_in_c() -> None:
    assert wrong("c") == []


@pytest.mark.exhaustive
@needs_node
def test_every_function_has_its_numbers_in_javascript() -> None:
    assert wrong("javascript") == []


@pytest.mark.peers
@pytest.mark.parametrize("way", ["torch", "jax"])
def test_every_function_has_its_numbers_in_the_peers(way: str) -> None:
    pytest.importorskip(way)
    assert wrong(way) == []


# Against mpmath


def _log_ndtr(x: Any) -> Any:
    return (
        mpmath.log(mpmath.ncdf(x))
        if x > -200
        else -x * x / 2 - mpmath.log(-x) - mpmath.log(2 * mpmath.pi) / 2 + mpmath.log1p(-1 / x**2)
    )


TRUTHS: list[tuple[str, Any, tuple[float, ...]]] = [
    ("log_ndtr(x)", _log_ndtr, (-1e8, -1e6, -40.0, -3.0, -1.0, 0.3, 8.0)),
    ("ndtr(x)", mpmath.ncdf, (-37.0, -8.0, -1e-9, 3.0)),
    ("gelu(x)", lambda x: x * mpmath.ncdf(x), (-30.0, -12.0, -1e-8, 0.7)),
    ("softplus(x)", lambda x: mpmath.log1p(mpmath.exp(x)), (-700.0, -1e-8, 12.0)),
    ("logsigmoid(x)", lambda x: -mpmath.log1p(mpmath.exp(-x)), (-700.0, 1e-8, 600.0)),
    ("sinc(x)", lambda x: mpmath.sinc(mpmath.pi * x), (1e-9, 1e-4, 0.3, 0.9, 20.25)),
    ("j0(x)", lambda x: mpmath.besselj(0, x), (1e-8, 0.5, 3.9, 4.1, 7.7, 60.0)),
    ("j1(x)", lambda x: mpmath.besselj(1, x), (1e-8, 0.5, 3.9, 4.1, 7.7, 60.0)),
    ("i0(x)", lambda x: mpmath.besseli(0, x), (1e-8, 2.5, 19.9, 20.1, 300.0)),
    ("i1(x)", lambda x: mpmath.besseli(1, x), (-1e-8, 2.5, 19.9, 20.1, 300.0)),
    ("i0e(x)", lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x), (-0.5, 2.5, 19.9, 20.1, 1e6)),
    ("i1e(x)", lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x), (-0.5, 2.5, 19.9, 20.1, 1e6)),
    ("digamma(x)", mpmath.digamma, (1e-8, 0.3, 2.5, 30.0, 1e10, -0.7, -12.25)),
    ("lgamma(x)", mpmath.loggamma, (1e-8, 0.4, 1 - 2**-30, 1 + 2**-30, 2.001, 7.7, 16.0, 1e10)),
    ("erf(x)", mpmath.erf, (-1e-300, 1e-9, 0.3, -0.99, 1.01, 5.0)),
    ("erfc(x)", mpmath.erfc, (-3.0, -0.51, -0.49, 1e-9, 0.49, 0.51, 1.7, 5.3, 26.0)),
    ("gamma(x)", mpmath.gamma, (-150.3, -2.5, -0.51, -0.49, 1e-9, 0.3, 1.5, 7.7, 19.9, 20.1, 140.0)),
    ("zeta(2.5, x)", lambda q: mpmath.zeta(mpmath.mpf(2.5), q), (1e-3, 0.7, 12.0, 300.0)),
    ("erfinv(x)", mpmath.erfinv, (1e-30, -0.3, 0.9, 1 - 2**-40)),
    ("ndtri(x)", lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1), (1e-100, 1e-9, 0.02, 0.3, 0.9)),
    ("beta(x, 1.5)", lambda x: mpmath.beta(x, mpmath.mpf(1.5)), (0.3, 45.0, 60.0, 1e12, -0.5, -2.3)),
]
POINTS = [(expression, truth, x) for expression, truth, points in TRUTHS for x in points]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("way", ["diff", "python", "numpy", "c", "javascript"])
def test_against_mpmath(way: str) -> None:
    if way == "c" and formulas.compiler() is None:
        pytest.skip("no C compiler")
    if way == "javascript" and NODE is None:
        pytest.skip("Node.js is not installed")
    calls = [Call(expression, {"x": np.array(points)}) for expression, _, points in TRUTHS]
    found = formulas.answers(way, calls)
    for call, (expression, truth, points) in zip(calls, TRUTHS, strict=True):
        answers = found[call.expression]
        assert not isinstance(answers, AutodiffError), expression
        for i, x in enumerate(points):
            for term, exact in zip(call.terms, exactly(truth, x), strict=True):
                if term in answers:
                    error = abs(float(answers[term][i]) - exact) / max(abs(exact), 1e-300)
                    assert error < TOLERANCE, (way, expression, x, term, float(answers[term][i]), exact)


_TRUE: dict[tuple[int, float], tuple[float, float, float]] = {}


def exactly(truth: Any, x: float) -> tuple[float, float, float]:
    """A value and two derivatives by differences of numbers with many digits."""
    key = id(truth), x
    if key not in _TRUE:
        with mpmath.workdps(160 if 1e-100 < abs(x) < 500 else 700):
            point = mpmath.mpf(x)
            step = min(abs(point), 1) * mpmath.mpf(10) ** -20
            below, here, above = truth(point - step), truth(point), truth(point + step)
            values = here, (above - below) / (2 * step), (above - 2 * here + below) / step**2
        _TRUE[key] = (float(mpmath.re(values[0])), float(mpmath.re(values[1])), float(mpmath.re(values[2])))
    return _TRUE[key]


# At the command line


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("sinc(x)", "--order", "2", "--at", "x=1e-8"), -3.2898681336964524),
        (("sinc(x)", "--order", "3", "--at", "x=1.4e-9"), 2.7274e-8),
        (("j1(x)", "--order", "2", "--at", "x=1e-8"), -3.75e-9),
        (("j1(x)", "--order", "3", "--at", "x=1e-8"), -0.375),
        (("log_ndtr(x)", "--at", "x=-1e5"), 100000.00001),
        (("log_ndtr(x)", "--order", "2", "--at", "x=-1e5"), -0.9999999999),
        (("i0e(x)", "--at", "x=1e16"), -1.9947114020071633e-25),
        (("i1(x)", "--at", "x=713.5"), math.inf),
        (("log(x**3)", "--at", "x=2*pi"), 3 / (2 * math.pi)),
    ],
)
def test_diff_at_a_point(arguments: tuple[str, ...], expected: float, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *arguments, "-q"]) == 0
    number = float(capsys.readouterr().out)
    assert number == pytest.approx(expected, rel=1e-4 if expected == 2.7274e-8 else 1e-9)
    assert main(["diff", *arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["derivatives"][0]["value"] in (number, "inf")


def test_diff_at_a_point_in_other_formats(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "x**2*y", "--at", "x=3,y=5"]) == 0
    shown = capsys.readouterr().out.split()
    assert shown[:3] == ["derivative", "expression", "value"]
    assert shown[4:] == ["d/dx", "2*x*y", "30", "d/dy", "x**2", "9"]
    assert main(["diff", "x**2", "--at", "x=3", "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines() == ["name,expression,value", "d_x,2*x,6.0"]
    assert main(["diff", "x**2", "--at", "x=3", "--format", "latex"]) == 0
    assert capsys.readouterr().out == "2 x = 6.0\n"


@pytest.mark.parametrize(
    ("at", "message"),
    [("x=1", "no value for 'y'"), ("x=1,y=2,z=3", "no variable 'z'"), ("x=1,y=[1, 2],z=3", "no variable 'z'")],
)
def test_a_point_that_does_not_fit(at: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "x*y", "--at", at]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "expression",
    ["sum(x**2)", "x.sum()", "prod(x)", "mean(x)", "cumsum(x)", "norm(x)", "max(x)", "softmax(x, 0)", "A @ v", "mse_loss(x, y)"],
)
def test_an_array_is_refused_in_words(expression: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["diff", expression], ["export", expression, "--to", "numpy"], ["export", expression, "--to", "latex"]):
        assert main(command) == 3
        shown = capsys.readouterr().err
        assert "takes an array, but variables are scalars here" in shown
        assert "for vectors, or grad and jacobian for numbers" in shown.replace("\n", " ")


def test_lists_of_numbers_are_taken_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "sum([x, y, z]**2)", "--wrt", "x"]) == 0
    assert capsys.readouterr().out == "2*x\n"
    assert main(["diff", "prod([x, y])", "--wrt", "x"]) == 0
    assert capsys.readouterr().out == "y\n"
    assert main(["diff", "sum(x*[1, 2])"]) == 0
    assert capsys.readouterr().out == "3\n"


# Functions beside the code


def test_a_function_beside_the_code_is_written_once_and_after_what_it_calls() -> None:
    source = export("beta(x, y)*beta(y, 2) + lgamma(x)", "python")
    for name in ("_beta", "_lgamma", "_gamma", "_polygamma_gap_0"):
        assert source.count(f"def {name}(") <= 1
    assert source.index("def _lgamma(") < source.index("def _beta(")
    assert export("hazard(x)", "c").count("static double ad_hazard(") == 1
    assert "_lgamma" not in export("sin(x)", "python")


def test_variables_do_not_hide_functions_beside_the_code() -> None:
    names: dict[str, Any] = {}
    exec(export("digamma(x)*_digamma", "python"), names)
    value, _ = names["f"](2.0, 3.0)
    assert value == pytest.approx(3 * float(mpmath.digamma(2)))
