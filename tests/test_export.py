"""Exported functions, run in their own languages, compared with ``evaluate``."""

from __future__ import annotations

import ast
import ctypes
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.cli.main import main
from autodiff_cli.code_generation.export import NotInTarget, export
from autodiff_cli.code_generation.targets import TARGETS
from autodiff_cli.errors import AutodiffError
from autodiff_cli.evaluation.names import free_names
from autodiff_cli.language.parser import parse
from tests import javascript
from tests.javascript import needs_node
from tests.nist_regression import MODELS, at_second_start
from tests.processes import completed
from tests.shell import run

FUNCTIONS.complete()
Answers = tuple[Any, Any, Any]
"""Value, gradient and Hessian."""

CASES: dict[str, tuple[str, list[dict[str, float]]]] = {
    "log": ("log(x**3)", [{"x": 5.0}, {"x": 0.3}]),
    "two": ("sin(x)*exp(y) - x/y", [{"x": 0.7, "y": -1.2}, {"x": -2.0, "y": 3.0}]),
    "powers": ("x**y + 2**x + x**0.5 + x**-2 + x**1.5 + x**-1 + y**3", [{"x": 1.3, "y": 0.7}, {"x": 4.0, "y": -2.0}]),
    "choice": (
        "log(x) if x > 0 and not x > 4 else x**2 if x < -1 or y == 0 else -y",
        [{"x": v, "y": 0.5} for v in (-2, -0.5, 3, 5)],
    ),
    "kinks": (
        "relu(x) + abs(x) + max(x, y) + min(x, 0) + clamp(x, 0, 1) + hypot(x, y) + leaky_relu(x)",
        [{"x": 0.0, "y": 0.0}, {"x": 0.5, "y": 0.5}, {"x": -1.0, "y": 2.0}, {"x": 1.0, "y": -1.0}],
    ),
    "normal": ("erf(x) + erfc(x) + ndtr(x)*log_ndtr(x) + gelu(x) + gelu(x, 'tanh')", [{"x": v} for v in (-2.0, 0.1, 1.5)]),
    "activations": (
        "sigmoid(x) + silu(x) + mish(x) + softplus(x, 2) + logsigmoid(x) + elu(x) + selu(x) + celu(x, 2) + hardsigmoid(x)",
        [{"x": v} for v in (-1.7, 0.3, 4.0)],
    ),
    "hyperbolic": (
        "tanh(x) + asinh(x) + atan(x) + atan2(x, 2) + sinh(x)*cosh(x) + expm1(x) + log1p(x*x)",
        [{"x": 0.4}, {"x": -1.1}],
    ),
    "inverse": ("asin(x) + acos(x)*atanh(x) + acosh(x + 2) + log2(x + 2) + log10(x + 3) + exp2(x)", [{"x": 0.4}, {"x": -0.6}]),
    "logs": (
        "xlogy(x, y) + xlog1py(x, y) + logaddexp(x, y) + logaddexp2(x, 3) + logit(y/4)",
        [{"x": 0.0, "y": 1.2}, {"x": 2.0, "y": 0.5}],
    ),
    "remainders": (
        "x % 3 + y*fmod(x, 2) + floor(x)*x + round(x)*y + trunc(x)*x + (x//2)*y",
        [{"x": 7.3, "y": 2.0}, {"x": -7.3, "y": 1.5}],
    ),
    "negated": (
        "-(x % y) + 3*-(x//y) + x*((x % y)*y) - (x//y)*x*y - (-x) % y",
        [{"x": 7.3, "y": 2.0}, {"x": -7.3, "y": 1.5}, {"x": 0.7, "y": -0.4}, {"x": -2.5, "y": -0.7}, {"x": 1.0, "y": 0.1}],
    ),
    "both": ("max(x, y)*min(x, z)", [{"x": 1.0, "y": 2.0, "z": -1.0}, {"x": 0.5, "y": 0.5, "z": 0.5}]),
    "quotient": (
        "x//y",
        [{"x": a, "y": b} for a, b in ((1.0, 0.1), (-1.0, 0.1), (math.inf, 2.0), (-3.0, math.inf), (0.0, -2.0), (1e17, 3.0))],
    ),
    "sinc": ("sinc(x) + x*deg2rad(x) + frac(x) + sign(x)*x", [{"x": 0.0}, {"x": 0.4}, {"x": -1.3}]),
    "constant": ("3*x - y + pi", [{"x": 1.0, "y": 2.0}]),
    "reserved": (
        "lambda*int**2 + double*math + value/np - d_x*v1",
        [dict.fromkeys(["lambda", "int", "double", "math", "value", "np", "d_x", "v1"], 1.5)],
    ),
    "bench": ("exp(-((x - 1)**2 + (y + 2)**2))*cos(3*x*y)", [{"x": 0.5, "y": -1.5}]),
    **{f"nist_{name}": (expression, [at]) for name in MODELS for expression, at in [at_second_start(name)]},
}
SPECIAL = {
    "gammas": (
        "lgamma(x) + polygamma(1, x) + normal_logpdf(x, 1, 2) + poisson_logpmf(3, x) + beta(x, 2)",
        [{"x": 0.7}, {"x": 3.2}],
    ),
    "bessel": ("i0(x) + i1(x)*x + i0e(x) + i1e(x)", [{"x": 0.7}, {"x": -3.2}]),
    "inverses": ("erfinv(x) + ndtri(x) + digamma(x)", [{"x": 0.3}, {"x": 0.9}]),
}


def expected(expression: str, at: dict[str, float]) -> Answers:
    result = ad.evaluate(expression, at=at, order=2)
    names = list(result.grad)
    return result.value, [result.grad[name] for name in names], [[result.hessian[a][b] for b in names] for a in names]


def defined(source: str) -> Callable[..., Any]:
    names: dict[str, Any] = {}
    exec(compile(source, "exported", "exec"), names)
    function: Callable[..., Any] = names["f"]
    return function


def answers(function: Callable[..., Any], at: dict[str, float], convert: Callable[[float], Any] = float) -> Answers:
    value, gradient, hessian = function(*[convert(v) for v in at.values()])
    return value, gradient, hessian


def compare(found: Answers, exactly: Answers, rtol: float = 1e-9) -> None:
    scale = 1 + max(abs(float(v)) for v in np.ravel(exactly[1]))
    for one, other in zip(found, exactly, strict=True):
        np.testing.assert_allclose(np.asarray(one, float), np.asarray(other, float), rtol=rtol, atol=1e-13 * scale)


def in_order(expression: str, at: dict[str, float]) -> dict[str, float]:
    """The values in the order of the arguments: that in which the names occur."""

    return {name: at[name] for name in free_names(parse(expression))}


def points(cases: dict[str, tuple[str, list[dict[str, float]]]]) -> list[Any]:
    return [
        pytest.param(expression, [in_order(expression, at) for at in ats], id=name) for name, (expression, ats) in cases.items()
    ]


@pytest.mark.parametrize(("expression", "ats"), points(CASES))
def test_python(expression: str, ats: list[dict[str, float]]) -> None:
    source = export(expression, "python", order=2)
    function = defined(source)
    for at in ats:
        compare(answers(function, at), expected(expression, at))
    assert {alias.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import) for alias in node.names} <= {"math"}


@pytest.mark.parametrize(("expression", "ats"), points(CASES | SPECIAL))
def test_numpy(expression: str, ats: list[dict[str, float]]) -> None:
    function = defined(export(expression, "numpy", order=2))
    exactly = [expected(expression, at) for at in ats]
    for at, one in zip(ats, exactly, strict=True):
        compare(answers(function, at), one)
    columns = [np.array([at[name] for at in ats]) for name in ats[0]]
    value, gradient, hessian = function(*columns)
    count = len(ats[0])
    assert gradient.shape == (count, len(ats))
    assert hessian.shape == (count, count, len(ats))
    compare(
        (value, gradient, hessian),
        (
            [one[0] for one in exactly],
            np.moveaxis(np.array([one[1] for one in exactly], float), 0, -1),
            np.moveaxis(np.array([one[2] for one in exactly], float), 0, -1),
        ),
    )


@pytest.mark.peers
@pytest.mark.parametrize(("expression", "ats"), points(CASES | SPECIAL))
def test_torch(expression: str, ats: list[dict[str, float]]) -> None:
    import torch

    function = defined(export(expression, "torch", order=2))
    for at in ats:
        compare(answers(function, at, lambda v: torch.tensor(v, dtype=torch.float64)), expected(expression, at), 1e-8)


@pytest.mark.peers
@pytest.mark.parametrize(("expression", "ats"), points(CASES | SPECIAL))
def test_jax(expression: str, ats: list[dict[str, float]]) -> None:
    import jax

    jax.config.update("jax_enable_x64", True)
    function = jax.jit(defined(export(expression, "jax", order=2)))
    for at in ats:
        compare(answers(function, at), expected(expression, at), 1e-8)


WITH_ZEROS = ("min(x, y)", "max(x, y)", "x % y")
"""Functions whose answers in C could differ at nan and in the sign of zero."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """All cases in one library, compiled without a warning."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("c")
    files = []
    for i, expression in enumerate([*(expression for expression, _ in CASES.values()), *WITH_ZEROS]):
        files.append(folder / f"{i}.c")
        files[-1].write_text(export(expression, "c", f"f{i}", order=2))
    target = folder / "library.so"
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]
    completed([compiler, *flags, *map(str, files), "-o", str(target), "-lm"], check=True)
    return ctypes.CDLL(str(target))


@pytest.mark.parametrize(("name", "expression", "ats"), [(name, *case) for name, case in CASES.items()])
def test_c(name: str, expression: str, ats: list[dict[str, float]], library: Any) -> None:
    function = getattr(library, f"f{list(CASES).index(name)}")
    function.restype = ctypes.c_double
    for at in ats:
        at = in_order(expression, at)
        count = len(at)
        gradient, hessian = (ctypes.c_double * count)(), (ctypes.c_double * (count * count))()
        value = function(*map(ctypes.c_double, at.values()), gradient, hessian)
        compare((value, list(gradient), np.reshape(list(hessian), (count, count))), expected(expression, at))


def test_c_keeps_nan_and_the_sign_of_zero(library: Any) -> None:
    """In C, ``x <= y ? x : y`` is y for an x that is nan, and ``fmod`` has the sign of the dividend."""
    gradient, hessian = (ctypes.c_double * 2)(), (ctypes.c_double * 4)()
    for i, choice in enumerate(WITH_ZEROS, len(CASES)):
        function = getattr(library, f"f{i}")
        function.restype = ctypes.c_double
        for x, y in ((math.nan, 1.0), (1.0, math.nan), (1.0, 2.0), (2.0, 1.0), (4.0, -2.0), (-4.0, 2.0)):
            value = function(ctypes.c_double(x), ctypes.c_double(y), gradient, hessian)
            np.testing.assert_equal(value, ad.evaluate(choice, at={"x": x, "y": y}).value)


@needs_node
def test_javascript() -> None:
    cases = [(expression, [in_order(expression, at) for at in ats]) for expression, ats in (CASES | SPECIAL).values()]
    sources = [export(expression, "js", order=2) for expression, _ in cases]
    found = javascript.computed(sources, [[list(at.values()) for at in ats] for _, ats in cases])
    for (expression, ats), rows in zip(cases, found, strict=True):
        for at, row in zip(ats, rows, strict=True):
            count = len(at)
            answer = row[0], row[1 : 1 + count], row[1 + count :].reshape(count, count)
            compare(answer, expected(expression, at))


CORNERS = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0, 1e17, -1e300, 5e-324, math.inf, -math.inf, math.nan)
AT_CORNERS = (
    *("x % y", "x//y", "fmod(x, y)", "x**y", "hypot(x, y)", "atan2(x, y)", "max(x, y)", "min(x, y)", "clamp(x, -1, y)"),
    *("round(x)*y", "round(x, 1) - y", "floor(x)*y", "ceil(x)*y", "trunc(x)*y", "abs(x)*y", "x/sign(y)", "cbrt(x)*y"),
    *("frac(x)*y", "exp2(x)*y", "sqrt(x)*y", "x**2 + y**3", "x**-2*y**-1", "x**0.5 + y**-1.5", "heaviside(x, y)"),
    *("erf(x) - erfc(y)", "relu(x)*y", "x if x > y else -y", "x if x else y", "(x > y)*x + (x if y == 0 else y > 1)"),
    *("(x < y) + 2*(x <= y) + 4*(x == y) + 8*(x != y) + x - x", "isnan(x)*y + 2*isinf(x) + 4*isfinite(x) + 8*isfinite(x < y)"),
    *("(x and not y or x > 1)*y", "(x > y) == (x > 0)", "x > y", "x + 0*y > 0 or true"),
)
FAR_FROM_1 = ("x**y", "hypot(x, y)", "atan2(x, y)")
"""Functions whose exported derivatives contain squares or powers that overflow where the derivative does not."""


@needs_node
def test_javascript_at_corners() -> None:
    """The values and derivatives at infinities, nan and zeros of both signs are those of the engine, with the sign of zero."""
    x, y = (column.ravel() for column in np.meshgrid(CORNERS, CORNERS))
    points = [list(map(float, at)) for at in zip(x, y, strict=True)]
    sources = [export(expression, "javascript", wrt=["x", "y"], order=2) for expression in AT_CORNERS]
    for expression, rows in zip(AT_CORNERS, javascript.computed(sources, [points] * len(sources)), strict=True):
        with np.errstate(all="ignore"):
            exactly = ad.compile(expression, ["x", "y"], order=1)(x=x, y=y)
        names = ("value",) if expression in FAR_FROM_1 else ("value", "d_x", "d_y")
        for found, name in zip(rows.T, names, strict=False):
            true = np.broadcast_to(exactly[name], found.shape)
            np.testing.assert_allclose(found, true, rtol=1e-14, atol=0, err_msg=f"{expression}: {name}")
            # NumPy does not define which of two equal zeros is the maximum.
            if name == "value" and not expression.startswith(("max", "min", "clamp")):
                zero = true == 0
                np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(true[zero]), err_msg=expression)


@needs_node
def test_factorials_in_javascript_are_exact() -> None:
    ((*rows,),) = javascript.computed([export("factorial(x)", "javascript", order=2)], [[[n] for n in range(19)]])
    assert [row[0] for row in rows] == [math.factorial(n) for n in range(19)]


def test_javascript_returns_numbers_and_stays_inside_its_element() -> None:
    source = export("x > 0 # </script> <!-- */ \\", "javascript")
    assert "{value: Number(value), grad: [0]}" in source
    assert source.count("*/") == 1
    assert "</" not in source
    assert "<!--" not in source


def test_latex_is_one_line_for_each_derivative() -> None:
    lines = export("sin(x)*exp(y)", "latex", "g").splitlines()
    assert r"g(x, y) &= \sin(x) \, e^{y} \\" in lines
    assert r"\frac{\partial g}{\partial x} &= \cos(x) \, e^{y} \\" in lines
    second = export("x**2*y", "latex", order=2)
    assert r"\frac{\partial^{2} f}{\partial x \, \partial y} &= 2 x" in second
    assert r"\frac{\partial^{2} f}{\partial x^{2}} &= 2 y" in second
    for text in (second, *lines):
        assert text.count("{") == text.count("}")


def test_the_order_of_wrt_is_that_of_the_gradient() -> None:
    function = defined(export("x**2*y", "python", wrt=["y", "x"]))
    assert function(3.0, 5.0) == (45.0, (9.0, 30.0))
    assert defined(export("x**2*y", "python", wrt=["y"]))(3.0, 5.0) == (45.0, (9.0,))
    assert defined(export("a*x**2", "python", const={"a": 3}))(2.0) == (12.0, (12.0,))


def test_names_that_a_language_reserves_get_an_underscore() -> None:
    assert "def f(lambda_, x):" in export("lambda*x", "python")
    assert "double f(const double lambda, const double int_, double *grad)" in export("lambda*int", "c")
    assert "def f(lambda_, lambda__):" in export("lambda*lambda_", "python")


def test_python_raises_without_a_choice_and_answers_nan_in_one() -> None:
    with pytest.raises(ValueError, match="domain"):
        defined(export("log(x)", "python"))(-1.0)
    value, (slope,) = defined(export("log(x) if x > 0 else x/(x + 1)", "python"))(-1.0)
    assert math.isnan(value)
    assert math.isnan(slope)
    assert defined(export("sqrt(x) if x > 0 else 2*x", "python"))(-4.0) == (-8.0, (2.0,))


@pytest.mark.parametrize(
    "expression",
    [
        *("sigmoid(x)", "tanh(x)", "silu(x)", "softplus(x)", "softplus(x, 2, 20)", "logsigmoid(x)", "mish(x)", "logaddexp(x, 1)"),
        *("logaddexp2(1, x)", "gelu(x, 'tanh')", "elu(x)", "selu(x)", "max(sinh(x), 2)", "relu(cosh(x))"),
    ],
)
def test_python_has_the_answers_far_out(expression: str) -> None:
    function = defined(export(expression, "python"))
    for x in (-1000.0, -400.0, -30.0, 0.0, 1e-9, 30.0, 400.0, 1000.0):
        exactly = ad.evaluate(expression, at={"x": x})
        value, (slope,) = function(x)
        np.testing.assert_allclose([value, slope], [exactly.value, exactly.grad["x"]], rtol=1e-12, atol=1e-300)


def test_what_overflows_in_a_choice_is_infinite() -> None:
    assert defined(export("max(exp(x), y)", "python"))(1000.0, 1.0) == (math.inf, (math.inf, 0))
    assert defined(export("min(x**3.0*1.5, pow(x, y))", "python"))(-9.0, 1001.0)[0] == -math.inf
    assert defined(export("min(gamma(c), x)", "python", wrt=["x"]))(-1e-310, 1.0) == (-math.inf, (0,))


def test_arrays_are_broadcast() -> None:
    x, y = np.ones((3, 1)), np.ones((1, 4))
    for expression in ("x*y", "x + y", "x + 0*y"):
        value, gradient, hessian = defined(export(expression, "numpy", order=2))(x, y)
        assert value.shape == (3, 4)
        assert gradient.shape == (2, 3, 4)
        assert hessian.shape == (2, 2, 3, 4)
    assert defined(export("x/2", "numpy"))([1, 2])[1].tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("to", ["python", "numpy", "torch", "jax", "c", "javascript"])
def test_code_is_straight_and_grows_in_proportion(to: str) -> None:
    short, long = (len(export("sin(x*" * n + "x" + ")" * n, to)) for n in (50, 200))
    assert long < 6 * short
    longest = max(export("sin(x*" * 50 + "x" + ")" * 50, to).splitlines()[12:], key=len)
    assert len(longest) < 160


@pytest.mark.parametrize(
    ("expression", "to", "message", "hint"),
    [
        ("bessel_j(x, 9)", "c", "C has no function 'bessel_j'", "NumPy has it"),
        ("sum(x**2)", "numpy", "'sum' takes an array", "differentiate f(x)"),
        ("prod(x)*y", "torch", "'prod' takes an array", "grad and jacobian"),
        ("cumsum(x)[0]", "jax", "'cumsum' takes an array", "grad and jacobian"),
        ("mean(x)", "latex", "'mean' takes an array", "grad and jacobian"),
        ("det([[x, 1], [2, x]])", "c", "'det'", "autodiff grad"),
        ("sort([x, 1])[0]", "c", "no elementwise formula", "autodiff grad"),
        ("x", "rust", "cannot export to 'rust'", "python"),
        ("x", "pytorch", "cannot export to 'pytorch'", "torch"),
        ("5", "c", "needs a variable", "without a value"),
    ],
)
def test_errors(expression: str, to: str, message: str, hint: str) -> None:
    with pytest.raises(AutodiffError, match=message) as caught:
        export(expression, to)
    assert hint in (caught.value.hint or "")


def test_what_a_target_does_not_have_is_an_error_of_its_own() -> None:
    with pytest.raises(NotInTarget):
        export("bessel_j(x, 9)", "c")
    for name in ("1f", "int", "a b"):
        with pytest.raises(AutodiffError, match="is not a valid function name"):
            export("x", "c", name)
    with pytest.raises(AutodiffError, match="another function '_digamma'"):
        export("lgamma(x)", "python", "_digamma")
    with pytest.raises(AutodiffError, match="order"):
        export("x", "c", order=3)


def test_every_function_of_a_target_is_one_of_the_language() -> None:
    unary = {name for target in TARGETS.values() for name in target.functions}
    assert {name for name in unary if name not in FUNCTIONS} == {"tanh_slope"}


def test_it_writes_a_file_or_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "f.py"
    assert main(["export", "x**2", "--to", "python", "-o", str(path)]) == 0
    assert defined(path.read_text())(3.0) == (9.0, (6.0,))
    assert [one.name for one in tmp_path.iterdir()] == ["f.py"]
    assert main(["export", "x**2", "--to", "python", "-o", str(tmp_path / "no" / "f.py")]) == 5
    shown = capsys.readouterr().err
    assert f"the folder '{tmp_path / 'no'}' does not exist" in shown.replace("\n", "")
    assert "mkdir -p" in shown
    assert main(["export", "bessel_j(x, 9)", "--to", "python", "-o", str(tmp_path / "g.py")]) == 3
    assert not (tmp_path / "g.py").exists()


def test_the_function_of_python_is_the_command() -> None:
    assert ad.export("log(x**3)", to="c") == run("autodiff export 'log(x**3)' --to c")


def test_text_of_the_user_stays_in_its_comment() -> None:
    source = export('x*1 # """ */ \\', "python")
    assert defined(source)(2.0)[0] == 2.0
    assert "*/ \\" not in export("x*1 # */ \\", "c").replace(" */\n#include", "")


def test_a_sign_before_a_quotient_is_not_that_of_its_first_factor() -> None:
    """``x**-y/2`` is half a power; where nothing else uses the exponent, it has no name and stands where it is used."""
    for target, text in (("numpy", "x**(-y/2)"), ("torch", "x**(-y/2)"), ("jax", "x**(-y/2)"), ("c", "pow(x, -y/2.0)")):
        lines = export("exp(z)*x**(-y/2)", target, wrt=["z"]).splitlines()
        (code,) = [line for line in lines if line.strip().startswith(("value = ", "const double value = "))]
        assert text in code


def test_a_choice_between_numbers_has_the_type_of_the_inputs() -> None:
    for target, text in (
        ("torch", "torch.where(x > 0, x.new_tensor(1), x.new_tensor(2))"),
        ("jax", "jnp.where(x > 0, 1, 2)"),
        ("python", "1 if x > 0 else 2"),
        ("c", "x > 0.0 ? 1.0 : 2.0"),
    ):
        assert f" = {text}" in export("where(x > 0, 1, 2)*y", target)
    assert "torch.where(v1, y, 2)" in export("where(x > 0, y, 2)", "torch")


@pytest.mark.parametrize("decimals", [-2, 1])
def test_rounding_to_decimals_is_that_of_the_engine(decimals: int) -> None:
    function = defined(export(f"round(x, {decimals})", "python"))
    at = np.random.default_rng(1).normal(scale=1e4, size=500)
    assert [function(x)[0] for x in at.tolist()] == np.round(at, decimals).tolist()
