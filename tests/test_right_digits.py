"""Right digits of results, and the arithmetic with many digits behind them."""

from __future__ import annotations

import json
from typing import Any

import mpmath
import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.errors import NotPrecise, UsageError
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.precise.arithmetic import Arithmetic
from autodiff_cli.precise.evaluator import Precise, precise_tensor
from autodiff_cli.precise.reference import Reference
from tests.points import samples_of
from tests.shell import run, streams

WITHOUT = {
    "bessel_partial", "bessel_scaled", "betainc_density", "betainc_slope", "cholesky", "cholesky_inverse", "cholesky_solve",
    "cond", "dawsn_slope", "eigh", "eigvalsh", "erfcx_slope", "faddeeva", "frexp", "gammainc_density", "gammainc_slope",
    "logdet", "matrix_exp", "matrix_norm", "mills_fraction", "nanmedian", "norm", "pinv", "polygamma_gap", "qr", "sinc_slope",
    "slogdet", "solve_triangular", "svd", "svdvals", "vector_norm",
}  # fmt: skip
"""Functions that have no form with many digits, for some of their samples at least."""


def names() -> list[str]:
    functions = FUNCTIONS.complete().values()
    return sorted({op.name for op in functions if op.tensors and samples_of(op) and not op.variadic and op.name != "einsum"})


def _given(math: Arithmetic | None, op: FunctionInfo, sample: tuple[Any, ...]) -> list[Any]:
    made = []
    for i, value in enumerate(sample):
        is_tensor = i < len(op.parameters) and op.parameters[i] in op.tensors and not isinstance(value, str) and value is not None
        plain = np.asarray(value).dtype.kind != "f" if is_tensor else True
        made.append(
            value if plain and not is_tensor else ad.tensor(value) if plain or math is None else precise_tensor(math, value)
        )
    return made


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", names())
def test_functions_with_many_digits_are_those_of_floats(name: str) -> None:
    op = FUNCTIONS[name]
    for sample in samples_of(op):
        floats = op.function(*_given(None, op, sample))
        try:
            digits = op.function(*_given(Arithmetic(50), op, sample))
        except NotPrecise:
            assert name in WITHOUT, f"precise/elementary.py or special.py needs an entry for {name}, or WITHOUT its name"
            continue
        pairs = zip(floats, digits, strict=True) if isinstance(floats, tuple) else [(floats, digits)]
        for one, other in pairs:
            values = np.asarray(other._data.astype(float) if isinstance(other, Precise) else getattr(other, "_data", other), float)
            expected = np.asarray(getattr(one, "_data", one), float)
            np.testing.assert_allclose(values, expected, rtol=1e-12, err_msg=str(sample))


def _truth(expression: str, order: int = 1, **at: Any) -> Any:
    truth = Reference(Evaluation(expression, at), order)
    return truth.differences


@pytest.mark.parametrize("expression", ["binomial_logpmf(k, 0, 0.5)", "binomial_logpmf(-k, 1, 0.5)", "poisson_logpmf(-k, 2)"])
def test_densities_have_no_value_outside_of_their_support(expression: str) -> None:
    (value,) = Reference(Evaluation(expression, {"k": 1.0})).differences.values()
    assert mpmath.isnan(value)


def test_derivatives_from_values_are_right_to_40_digits() -> None:
    mpmath.mp.dps = 60
    try:
        x = mpmath.mpf(0.7)
        (slope,) = _truth("exp(sin(x))*lgamma(x)", x=0.7).slopes((0,))
        expected = mpmath.diff(lambda t: mpmath.exp(mpmath.sin(t)) * mpmath.loggamma(t), x)
        assert abs(mpmath.mpf(slope.value) - expected) < 1e-25
        (second,) = _truth("x**3*y", 2, x=0.7, y=2.0).slopes((0, 0))
        assert abs(mpmath.mpf(second.value) - 12 * x) < 1e-45
    finally:
        mpmath.mp.dps = 15


@pytest.mark.parametrize(
    ("expression", "x", "kind", "sides"),
    [
        ("abs(x)", 0.0, "kink", (-1, 1)),
        ("x*abs(x)", 0.0, "smooth", (0, 0)),
        ("sqrt(x)", 0.0, "smooth", (np.inf, np.inf)),
        ("acos(x)", 1.0, "smooth", (-np.inf, -np.inf)),
        ("xlogy(x, x)", 0.0, "smooth", (-np.inf, -np.inf)),
        ("(x - 1)**3 if x > 1 else 0", 1.0, "smooth", (0, 0)),
        ("floor(x)", 2.0, "jump", (1, 2)),
        ("log(x)", -1.0, "undefined", None),
        ("(1e30 + x) - 1e30 - x", 0.3, "smooth", None),
        ("(1e200 + x) - 1e200", 0.3, "smooth", (1, 1)),
        ("x + 1e-10*abs(x)", 0.0, "kink", None),
        ("1e6*x**3", 5e-4, "smooth", (0.75, 0.75)),
    ],
)
def test_points_are_told_apart(expression: str, x: float, kind: str, sides: Any) -> None:
    (slope,) = _truth(expression, x=x).slopes((0,))
    assert slope.kind == kind
    if sides is not None:
        assert [float(side) for side in slope.sides] == pytest.approx(sides)


def test_verify_counts_right_digits() -> None:
    result = ad.evaluate("1 - cos(x)", at={"x": 1e-8}, order=2, verify=True).to_dict()
    assert result["verified"] == {"value": 0.0, "grad": {"x": 16.0}, "hessian": {"x": {"x": 16.0}}}
    half = ad.evaluate("(1e8 + x) - 1e8", at={"x": 0.1}, verify=True).to_dict()["verified"]["value"]
    assert 6 < half < 9
    assert ad.evaluate("sum(x**3)", at={"x": [1.0, 2.5]}, verify=True).to_dict()["verified"]["grad"]["x"] == [16.0, 16.0]
    assert ad.evaluate("2**x", at={"x": 0.3}, verify=True).to_dict()["verified"] == {"value": 16.0, "grad": {"x": 16.0}}
    assert ad.evaluate("abs(x)", at={"x": 0.0}, verify=True).to_dict()["verified"]["grad"]["x"] is None
    single = ad.evaluate("x/3", at={"x": 1.0}, dtype="float32", verify=True).to_dict()["verified"]["value"]
    assert 7 < single < 9


def test_digits_prints_the_numbers() -> None:
    assert run("autodiff eval pi --digits 40 -q") == "3.141592653589793238462643383279502884197\n"
    document = json.loads(run("autodiff eval log(x**3) --at x=5 --digits 30 --json"))
    assert document["value"] == "4.82831373730230112380227799968"
    assert document["grad"] == {"x": "0.6"}
    with mpmath.workdps(30):
        expected = [mpmath.nstr(v / 3, 20) for v in (mpmath.sin(1), mpmath.cos(1), -mpmath.sin(1) / 2)]
    assert run("autodiff taylor sin(x)/3 --at x=1 --order 2 --digits 20 -q").split() == expected
    document = json.loads(run('autodiff hessian "x**2*y/3" --at x=2,y=1 --digits 25 --json'))
    assert document["hessian"]["x"]["x"] == "0.6666666666666666666666667"


def test_bare_numbers_have_their_right_digits_beside_them() -> None:
    out, err, code = streams('autodiff grad "sum(x**3)" --at "x=[1, 2.5]" --verify -q')
    assert (out, err, code) == ("3.0\n18.75\n", "note: correct digits: value 16, d_x 16\n", 0)


def test_what_has_no_form_with_many_digits_is_named() -> None:
    out, err, code = streams('autodiff grad "svdvals(A)[0]" --at "A=[[1, 2], [3, 4]]" --verify')
    assert (out, code) == ("", 3)
    assert "not possible, because svd " in err
    with pytest.raises(UsageError, match="not to the effects of hooks"):
        ad.evaluate("x**2", at={"x": 1}, hooks=["x=2*grad"], verify=True)
    with pytest.raises(UsageError, match="digits must be from 1"):
        ad.evaluate("x**2", at={"x": 1}, digits=0)


@pytest.mark.parametrize(
    ("expression", "x", "true"),
    [
        # They change within the first steps, or digits are lost from sight: longer numbers and shorter steps are needed.
        ("sin(expm1(x))", 64.99612798935387, lambda x: mpmath.sin(mpmath.expm1(x))),
        ("sin(expm1(x))", 230.38777064717937, lambda x: mpmath.sin(mpmath.expm1(x))),
        ("1 - tanh(x)", 112.011660164253, lambda x: 1 - mpmath.tanh(x)),
        ("1 - tanh(x)", 300.0, lambda x: 1 - mpmath.tanh(x)),
        ("erfc(x) - 2", -20.0, lambda x: mpmath.erfc(x) - 2),
        ("(exp(x) - 1)*exp(-x)", 116.90003397041313, lambda x: (mpmath.exp(x) - 1) * mpmath.exp(-x)),
    ],
)
def test_many_digits_are_right_where_few_would_not_do(expression: str, x: float, true: Any) -> None:
    found = ad.evaluate(expression, {"x": x}, order=2, digits=20).to_dict()
    with mpmath.workdps(700):
        h = mpmath.mpf(10) ** -200
        low, middle, high = (true(mpmath.mpf(x) + k * h) for k in (-1, 0, 1))
        wanted = [middle, (high - low) / (2 * h), (high - 2 * middle + low) / h**2]
        numbers = [mpmath.mpf(text) for text in (found["value"], found["grad"]["x"], found["hessian"]["x"]["x"])]
        assert [abs(a - b) <= abs(b) * mpmath.mpf("1e-19") for a, b in zip(numbers, wanted, strict=True)] == [True] * 3


@pytest.mark.parametrize(
    ("expression", "x", "true"),
    [
        ("x**3", 0.0, lambda x: x**3),
        ("(x - 1)**3", 1.0, lambda x: (x - 1) ** 3),
        ("(x - 1)**2 + 5", 1.0, lambda x: (x - 1) ** 2 + 5),
        ("x**2 + exp(-3)", 0.7, lambda x: x**2 + mpmath.exp(-3)),
        ("exp(x**2)", 0.0, lambda x: mpmath.exp(x**2)),
        ("1 + 1e-200*x", 1.0, lambda x: 1 + 1e-200 * x),
        ("tanh(300*x)", 1.0, lambda x: mpmath.tanh(300 * x)),
    ],
)
def test_only_coefficients_that_are_zero_are_zero(expression: str, x: float, true: Any) -> None:
    found = json.loads(run(f'autodiff taylor "{expression}" --at x={x} --order 5 --digits 30 --json'))["coefficients"]
    with mpmath.workdps(1500):
        exact = [0 if abs(one) < mpmath.mpf("1e-600") else one for one in mpmath.taylor(true, x, 5)]
        errors = [abs(mpmath.mpf(text) - one) for text, one in zip(found, exact, strict=True)]
        assert [error <= abs(one) * mpmath.mpf("1e-29") for error, one in zip(errors, exact, strict=True)] == [True] * 6


def test_mixed_derivatives_that_are_zero_have_all_digits() -> None:
    document = json.loads(run('autodiff hessian "sum(sin(x)) + sum(exp(x))" --at "x=[0.1, 0.7, 1.1]" --digits 30 --json'))
    hessian, right = document["hessian"]["x"]["x"], document["verified"]["hessian"]["x"]["x"]
    assert [[text == "0.0" for text in row] for row in hessian] == (~np.eye(3, dtype=bool)).tolist()
    assert np.min(right) > 15


def test_powers_of_large_exponents_take_no_memory() -> None:
    mp = Arithmetic(50)
    assert mp.power(-mp.inf, mp.mpf(10) ** 10**10).value == mp.inf
    assert mp.power(-mp.inf, mp.mpf(2) ** 90 + 1).value == -mp.inf
    assert mp.power(mp.mpf(-1), mp.mpf(2) ** 60 + 1).value == -1


def test_what_is_computed_on_the_way_has_right_digits_too() -> None:
    found = ad.evaluate("y = exp(x); y - 1", {"x": 1e-8}, digits=25).to_dict()
    assert [row.get("right_digits") for row in found["tensors"]] == [None, 16.0, 8.0]
    assert [row["value"] for row in found["tensors"]] == [1e-8, "1.00000001000000005", "1.000000005000000037589228e-8"]


def test_rows_have_their_right_digits() -> None:
    rows = run('autodiff eval "y = exp(x); y - 1" --at x=1e-8 --verify --format csv').splitlines()
    assert [row.split(",")[-2:] for row in rows] == [["grad_right_digits", "right_digits"], ["16.0", ""], ["", "16.0"], ["", "8.0"]]
    assert run('autodiff grad "exp(x)" --at x=1e-8 --digits 25 --format csv') == (
        "name,value,right_digits\nd_x,1.00000001000000005,16.0\n"
    )
    assert run('autodiff taylor "1 - x" --at x=0.25 --order 1 --digits 25 --format csv') == (
        "order,coefficient,derivative,right_digits\n0,0.75,0.75,16.0\n1,-1.0,-1.0,16.0\n"
    )
    assert run('autodiff hessian "x**2" --at x=1 --verify --format csv') == "name,value,right_digits\nd_x_x,2.0,16.0\n"


def test_a_tensor_with_the_name_of_a_number_has_its_own_digits() -> None:
    rows = run('autodiff eval "value = exp(x); d_x = value - 1; d_x*2" --at x=1e-8 --verify --format csv').splitlines()
    assert [(row.split(",")[0], row.split(",")[-1]) for row in rows[2:]] == [("value", "16.0"), ("d_x", "8.0"), ("%1", "8.0")]
