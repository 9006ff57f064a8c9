"""Derivatives as expressions: readable formulas with the numbers of ``grad``."""

from __future__ import annotations

import json
import math
import re
import sys
import time
from pathlib import Path
from types import FunctionType
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings

import autodiff_cli as ad
from autodiff_cli.autograd.primitives.primitive import PRIMITIVES, Primitive
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.cli.main import main
from autodiff_cli.compiler.program import Program
from autodiff_cli.compiler.tape import Tape
from autodiff_cli.deadline import Late, within
from autodiff_cli.errors import AutodiffError, LimitError, NotRecordable
from autodiff_cli.evaluation.lowering import decomposition, is_function, lower
from autodiff_cli.language.tree import unparse
from autodiff_cli.symbolic import differentiate as symbolic
from autodiff_cli.symbolic import sympy_bridge
from autodiff_cli.symbolic.constants import exact
from autodiff_cli.symbolic.differentiate import diff
from autodiff_cli.symbolic.normal_form import Algebra
from autodiff_cli.symbolic.to_tree import to_tree
from tests.expressions import FORMULAS, POINTS, Formula
from tests.nist_regression import MODELS, at_second_start
from tests.points import samples_of

FUNCTIONS.complete()
_, *DERIVATIVES = (Path(__file__).parent / "cases" / "written_derivatives.txt").read_text(encoding="utf-8").splitlines()


def derivative(expression: str, wrt: str = "x", order: int = 1, **options: Any) -> str:
    (found,) = diff(expression, wrt=[wrt], order=order, **options).texts.values()
    return found


def agree(expression: str, at: dict[str, Any], order: int, rtol: float = 1e-9) -> list[tuple[str, float, float]]:
    """The derivatives whose formula has not the number of ``evaluate``."""
    result = ad.evaluate(expression, at=at, order=order)
    different = []
    for term, written in diff(expression, wrt=list(at), order=order).texts.items():
        number = float(ad.evaluate(written, at=at).value)
        expected = float(result.grad[term[0]] if order == 1 else result.hessian[term[0]][term[1]])
        if not np.isclose(number, expected, rtol=rtol, atol=1e-12, equal_nan=True):
            different.append((written, number, expected))
    return different


@pytest.mark.parametrize(("expression", "expected"), [line.split("  ") for line in DERIVATIVES])
def test_it_is_what_a_person_would_write(expression: str, expected: str) -> None:
    found = derivative(f"{expression} + 0*x" if "x" not in expression else expression)
    assert found.replace("b*a*", "a*b*") == expected


@pytest.mark.parametrize(
    ("expression", "order", "expected"),
    [
        ("log(x**3)", 4, "-18/x**4"),
        ("x**3", 3, "6"),
        ("x**3", 4, "0"),
        ("tanh(x)", 2, "-2*tanh(x)/cosh(x)**2"),
        ("exp(2*x)", 5, "32*exp(2*x)"),
        ("log_ndtr(x)", 1, "hazard(x)"),
    ],
)
def test_higher_orders(expression: str, order: int, expected: str) -> None:
    assert derivative(expression, order=order) == expected


def test_mixed_derivatives_have_each_pair_once() -> None:
    assert diff("x**2*y**3", order=2).texts == {("x", "x"): "2*y**3", ("x", "y"): "6*x*y**2", ("y", "y"): "6*x**2*y"}


def test_a_constant_has_a_value() -> None:
    assert derivative("a*x**2", const={"a": 3}) == "6*x"
    assert derivative("dot(w, [x, x**2])", const={"w": [2, 5]}) == "10*x + 2"


# The same numbers

GOLDEN = json.loads((Path(__file__).with_name("golden") / "expressions.json").read_text())["records"]
SCALAR = [record for record in GOLDEN if all(isinstance(value, (int, float)) for value in record["at"].values())]
SINGLE_POINTS = {"x**q", "sinc(x)", "atan2(y, x)", "hypot(x, y)"}
"""Their rules say what to answer at a point where the formula is 0/0."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("record", SCALAR, ids=lambda r: f"{r['expr']} at {r['at']}")
@pytest.mark.parametrize("order", [1, 2])
def test_golden_expressions(record: dict[str, Any], order: int) -> None:
    different = agree(record["expr"], record["at"], order)
    if record["kind"] == "kink" and record["expr"] in SINGLE_POINTS:
        assert all(not math.isfinite(number) for _, number, _ in different)
    else:
        assert different == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("order", [1, 2])
def test_models_of_nist(name: str, order: int) -> None:
    assert agree(*at_second_start(name), order) == []


SAMPLES = [
    (op, sample)
    for op in dict.fromkeys(FUNCTIONS.values())
    for sample in samples_of(op)
    if sample and all(type(value) in (int, float) for value in sample) and op.name not in ("stack", "prod")
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("op", "sample"), SAMPLES, ids=lambda v: getattr(v, "name", str(v)))
def test_every_function(op: Any, sample: tuple[float, ...]) -> None:
    named = dict(zip(op.parameters, sample, strict=False))
    variables = [name for name in named if name in op.tensors]
    call = f"{op.name}({', '.join(f'{name}_' if name in variables else repr(value) for name, value in named.items())})"
    at = {f"{name}_": float(named[name]) for name in variables}
    for order in (1, 2):
        different = agree(call, at, order, 1e-9)
        assert different == []


@given(FORMULAS, POINTS, POINTS)
@settings(max_examples=30, deadline=None)
def test_random_expressions(inner: Formula, x: float, y: float) -> None:
    expression = f"{inner.text} + 0*x + 0*y"
    for order in (1, 2):
        result = ad.evaluate(expression, at={"x": x, "y": y}, order=order)
        for term, written in diff(expression, order=order).texts.items():
            expected = float(result.grad[term[0]] if order == 1 else result.hessian[term[0]][term[1]])
            number = float(ad.evaluate(written, at={"x": x, "y": y}).value)
            assert number == pytest.approx(expected, rel=1e-8, abs=1e-8), (expression, term, written)


def test_digits_are_kept() -> None:
    with mpmath.workdps(60):
        for expression, x, truth in (
            ("tanh(x)", 20.0, lambda x: mpmath.sech(x) ** 2),
            ("asin(x)", 1 - 2**-40, lambda x: 1 / mpmath.sqrt(1 - x**2)),
            ("sigmoid(x)", 40.0, lambda x: 1 / (1 + mpmath.exp(x)) / (1 + mpmath.exp(-x))),
            ("log_ndtr(x)", -30.0, lambda x: mpmath.npdf(x) / mpmath.ncdf(x)),
        ):
            exactly = float(truth(mpmath.mpf(x)))
            assert ad.evaluate(derivative(expression), at={"x": x}).value == pytest.approx(exactly, rel=1e-11), expression


# Operations that are no functions of the language

STATICS: dict[str, list[tuple[Any, ...]]] = {
    **{name: [(0,), (-1,)] for name in ("lambertw", "lambertw_rise")},
    **{name: [(0,), (1,), (2,)] for name in ("polygamma", "polygamma_gap")},
    "bell": [(1.0,), (0.5,)],
    "sinc_slope": [(1,), (2,), (3,)],
    **{name: [(1,), (2,)] for name in ("erfcx_slope", "dawsn_slope")},
    "faddeeva": [(0, False), (1, True), (2, False)],
    "share": [(math.e,), (2.0,)],
    **{name: [(0,), (1,), (2,), (3,)] for name in ("bessel_i", "bessel_j")},
    "bessel_scaled": [(0, 0), (0, 1), (1, 1), (0, 2), (1, 3)],
    "gammainc_density": [(0,)],
    "betainc_density": [(0, 0)],
    "hardtanh_backward": [(-1.0, 1.0, 0.0), (0.0, math.nan, 0.2)],
    "softplus": [(1, None), (2.0, 1.0)],
    "gelu": [("none",), ("tanh",)],
    "logit": [(None,), (0.2,)],
    "isclose": [(0.1, 0.1, False)],
    "leaky_relu": [(0.1,)],
    "hardtanh": [(-1, 0.5)],
    **{name: [(1.5,)] for name in ("left_exp", "elu", "celu")},
    "rsub": [(2.5,)],
    "clamp": [(-1, 1), (None, 0.5), (0.1, None), ()],
    "bessel_partial": [("jv", 0, 1), ("kv", 0, 2)],
    # Without a formula of simpler functions:
    **{name: [] for name in ("airy_ai", "airy_ai_prime", "airy_bi", "airy_bi_prime", "jv", "yv", "iv", "kv")},
    **{name: [] for name in ("betainc", "betainc_slope", "gammainc", "gammainc_slope", "gammaincc")},
    **{name: [] for name in ("exp1", "expi", "zeta_slope")},
}
UNIT = ("betainc_density", "erfinv_slope", "ndtri_slope", "odds_slope", "logit", "binomial_logpmf")
POSITIVE = (
    "bessel_partial",
    *("gammainc_density", "beta", "betaln", "faddeeva", "voigt", "polygamma_gap"),
    *("normal_logpdf", "poisson_logpmf", "binomial_logpmf"),
)
DERIVED = {"tanhshrink": ("t", np.tanh), "tanh_slope": ("t", np.tanh), "sigmoid_slope": ("s", lambda x: 1 / (1 + np.exp(-x)))}
WRITTEN = [primitive for primitive in PRIMITIVES.values() if primitive.elementwise and primitive.decomposition is not None]


def test_every_operation_that_is_no_function_has_a_formula() -> None:
    assert [
        primitive.name
        for primitive in PRIMITIVES.values()
        if primitive.elementwise and primitive.decomposition is None and not is_function(primitive)
    ] == []


@pytest.mark.parametrize("primitive", WRITTEN, ids=lambda primitive: primitive.name)
def test_a_formula_computes_what_the_operation_does(primitive: Primitive) -> None:
    if primitive.name.startswith("bitwise"):
        columns: dict[str, Any] = {"x": np.array([True, True, False]), "y": np.array([True, False, False])}
        columns = {name: columns[name] for name in primitive.parameters}
        expected = primitive.forward(*columns.values())
        masks = str(decomposition(primitive, ())).replace("x", "(x > 0)").replace("y", "(y > 0)")
        for i, answer in enumerate(expected):
            at = {name: float(column[i]) for name, column in columns.items()}
            assert float(ad.evaluate(masks, at=at).value) == answer
        return
    random = np.random.default_rng(1)
    low, high = (0.05, 0.95) if primitive.name in UNIT else (-6, 6)
    names = primitive.parameters[: primitive.arity]
    columns = {name: random.uniform(low, high, 40) for name in names}
    if primitive.name in POSITIVE:
        columns = {name: np.abs(column) + (3 if name == "n" else 0) for name, column in columns.items()}
    if primitive.name in DERIVED:
        name, function = DERIVED[primitive.name]
        columns[name] = function(columns["x"])
    if primitive.name == "second_fraction":
        columns["x"] = -3 - np.abs(columns["x"])
    for statics in STATICS.get(primitive.name, [()]):
        if len(statics) != len(primitive.parameters) - primitive.arity:
            continue
        tape = Tape("float64")
        traced = tape.record(primitive, tuple(tape.variable(name) for name in names), statics)
        (replaced,) = lower(tape, [traced], lambda other, _, primitive=primitive: other is not primitive)
        assert replaced is not traced
        program = Program([traced, replaced], names, ((), ("formula",)), "float64")
        result = program(**columns)
        np.testing.assert_allclose(result["d_formula"], result["value"], rtol=2e-9, atol=1e-300)


# Long ones


@pytest.mark.exhaustive
def test_a_long_chain_is_written_in_many_statements() -> None:
    count = 2_000
    found = derivative("sin(" * count + "x" + ")" * count)
    assert len(found) < 60 * count
    assert count // 2 - 10 < found.count(" = ") < count
    count = 500
    slope, value = 1.0, 0.5
    for _ in range(count):
        slope, value = slope * math.cos(value), math.sin(value)
    found = derivative("sin(" * count + "x" + ")" * count)
    assert ad.evaluate(found, at={"x": 0.5}).value == pytest.approx(slope, rel=1e-9)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("step", ["x*sin({})", "relu({})", "tanh(x*{})", "1/(1 + {})", "sqrt({} + y)", "acos({}/2)", "max({}, y)"])
def test_the_text_grows_in_proportion(step: str) -> None:
    left, right = step.split("{}")
    short, long = (len(derivative(left * n + "x" + right * n)) for n in (75, 300))
    assert long < 5 * short


def test_derivatives_that_get_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbolic, "MOST_OPERATIONS", 500)
    with pytest.raises(LimitError, match=r"the derivatives of order \d have at least \d+ operations, more than the limit of 500"):
        diff("x*y*exp(x*y*z)*sin(z)", order=60)


@pytest.mark.exhaustive
def test_sums_of_many_terms_are_one_sum() -> None:
    assert derivative(" + ".join(f"{k}*x" for k in range(1000))) == str(sum(range(1000)))
    assert derivative(" + ".join(f"y{k}*x" for k in range(1000))).count("+") == 999


def test_parts_of_a_long_formula_are_named_and_the_names_are_free() -> None:
    found = derivative("exp(v1*x*sin(x + v2))**3/(1 + exp(v1*x*sin(x + v2))**5)", order=2)
    names = re.findall(r"(\w+) = ", found)
    assert names
    assert not {"v1", "v2"} & set(names)
    at = {"x": 0.3, "v1": 0.7, "v2": -0.2}
    expected = ad.evaluate("exp(v1*x*sin(x + v2))**3/(1 + exp(v1*x*sin(x + v2))**5)", at=at, wrt=["x"], order=2)
    assert ad.evaluate(found, at=at).value == pytest.approx(float(expected.hessian["x"]["x"]), rel=1e-10)


# Numbers


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1 / 3, "1/3"),
        (0.1, "0.1"),
        (-2.5, "-5/2"),
        (1e300, "1e+300"),
        (math.pi, "pi"),
        (2 * math.pi / 3, "2*pi/3"),
        (math.log(2), "log(2)"),
        (1 / math.log(10), "1/log(10)"),
        (math.sqrt(2), "sqrt(2)"),
        (math.sqrt(2 * math.pi), "sqrt(2*pi)"),
        (1 / math.sqrt(2 * math.pi), "1/sqrt(2*pi)"),
        (2 / math.sqrt(math.pi), "2/sqrt(pi)"),
        (math.sqrt(2 / math.pi), "sqrt(2/pi)"),
        (math.e, "e"),
        (0.693147, "0.693147"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
    ],
)
def test_constants_have_their_names(value: float, expected: str) -> None:
    algebra = Algebra()
    assert unparse(to_tree(algebra.number(value))) == expected
    assert ad.evaluate(expected).value == pytest.approx(value, rel=3e-16)


@given(POINTS)
def test_fractions_are_exact(value: float) -> None:
    assert float(exact(value / 7)) == value / 7


@pytest.mark.parametrize("value", [0.33333333333334, 0.6666666666667, 1.5707963267949, 0.70710678118655, 0.6931471805599])
def test_numbers_that_are_only_close_to_a_constant_stay_what_they_are(value: float) -> None:
    assert unparse(to_tree(Algebra().number(value))) == repr(value)


# Functions without a formula


@pytest.mark.parametrize("expression", ["det([[x, 1], [2, x]])", "sort([x, 1])[0]", "softmax([x, 1])[0]", "mean([x > 0, x > 1])*x"])
def test_what_cannot_be_written_says_so(expression: str) -> None:
    with pytest.raises(NotRecordable) as caught:
        diff(expression)
    assert caught.value.span is not None
    assert "autodiff grad" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("expression", "options", "message"),
    [
        ("5", {}, "needs a variable"),
        ("x", {"order": 0}, "1 or more"),
        ("x", {"wrt": ["y"]}, "no variable 'y'"),
        ("[x, 2*x]", {}, "shape"),
        ("lgo(x)", {}, "unknown function"),
    ],
)
def test_errors(expression: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(AutodiffError, match=message):
        diff(expression, **options)


# SymPy


@pytest.mark.extras
@pytest.mark.parametrize(
    ("expression", "order", "expected"),
    [
        ("asin(x)", 1, "1/sqrt(1 - x**2)"),
        ("(1 - x)/(1 + x)", 1, "-2/(x + 1)**2"),
        ("abs(x)**3", 2, "6*abs(x)"),
        ("relu(x)**2", 1, "2*relu(x) if x > 0 else 0"),
        ("max(x, y)", 1, "0 if x < y else 1/2 if x == y else 1"),
        ("i0(x)*i0(x)", 1, "2*i0(x)*i1(x)"),
        ("polygamma(2, x)", 1, "polygamma(3, x)"),
    ],
)
def test_simplified(expression: str, order: int, expected: str) -> None:
    assert derivative(expression, order=order, simplify=True) == expected


@pytest.mark.extras
@pytest.mark.parametrize(
    "expression",  # not random ones: some of those take SymPy hours
    [
        "sin(x)*exp(-y**2) + log(x**2 + y**2 + 1)",
        "tanh(x*y)**3 - y/(1 + x**2)",
        "sqrt(1 + x**2)*atan(y) + cos(x - y)",
        "(x + y)**2/(1 + exp(-x)) + 2**sin(y)",
        "where(x > y, x**3, sinh(y)) + abs(x)*y",
    ],
)
def test_simplified_formulas_have_the_same_value(expression: str) -> None:
    with ad.unlimited():
        written = diff(expression, simplify=True).texts
    for x, y in ((0.7, -1.3), (-0.4, 0.6), (2.0, 1.0)):
        result = ad.evaluate(expression, at={"x": x, "y": y})
        for (name,), slope in written.items():
            number = float(ad.evaluate(slope, at={"x": x, "y": y}).value)
            assert number == pytest.approx(float(result.grad[name]), rel=1e-7, abs=1e-7), (expression, slope)


@pytest.mark.extras
def test_sympy_has_a_limit_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sympy_bridge, "MOST_SECONDS", 0.2)
    with pytest.raises(LimitError, match=r"SymPy did not simplify the formula in 0\.2 seconds of processor time"):
        diff("prod(abs(x - [-4.4, 2, 1, 1.06, 3, 0.16, -1.87, -1, 7]))", simplify=True)
    with pytest.raises(LimitError, match="limited to formulas of 400 parts, but this formula has"):
        diff("sin(" * 200 + "x" + ")" * 200, simplify=True)


def _endless() -> None:
    while True:
        pass


def test_a_deadline_ends_what_is_late_and_nothing_else() -> None:
    endless = FunctionType(_endless.__code__, {"__name__": "mpmath.libmp"})
    with pytest.raises(Late), within(0.01):
        endless()
    with within(0.01):
        pass
    time.sleep(0.05)


def test_a_deadline_leaves_callbacks_alone() -> None:
    """In one that the garbage collector calls an exception would be printed, and lost."""
    endless = FunctionType(_endless.__code__, {"__name__": "mpmath.libmp"})

    def work() -> None:
        last = time.process_time() + 0.1
        while time.process_time() < last:  # in this module, which is not interrupted
            pass
        done.append(True)
        endless()

    done: list[bool] = []
    with pytest.raises(Late), within(0.01):
        work()
    assert done


def test_without_sympy(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "sympy", None)
    assert main(["diff", "x**2", "--simplify"]) == 3
    assert "error: --simplify needs sympy, which is not installed\n  hint: pip install sympy\n" in capsys.readouterr().err


# The command line


def test_what_it_prints_can_be_evaluated(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "log(x**3)"]) == 0
    printed = capsys.readouterr().out.rstrip("\n")
    assert main(["eval", printed, "--at", "x=5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == pytest.approx(0.6)


def test_help_is_of_expressions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "Print only the expressions" in shown
    assert "latex" in shown
    assert "--precision" not in shown
    assert main(["diff", "x % y", "--format", "latex"]) == 0
    assert "lfloor" in capsys.readouterr().out
    assert main(["diff", "x", "--format", "latx"]) == 2
    assert "latex" in capsys.readouterr().err


def test_a_remainder_has_brackets_as_a_factor_in_latex(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "z*(x % y)", "--wrt", "x,y", "--format", "latex"]) == 0
    assert main(["diff", "z**2*(x % y)", "--wrt", "z", "--format", "latex"]) == 0
    assert r"2 z \cdot (x \bmod y)" in capsys.readouterr().out
