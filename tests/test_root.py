"""Roots of equations: verified solutions, points that are not roots, and messages."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.errors import MissingValue, NotSolved, UnknownName, UsageError
from tests.benchmarks.problems.mgh import FACTORS, PROBLEMS, Problem
from tests.shell import run, streams


@pytest.mark.parametrize(
    ("expression", "at", "const", "expected"),
    [
        ("cos(x) = x", {"x": 1}, {}, [mpmath.findroot(lambda x: mpmath.cos(x) - x, 0.7)]),
        ("x**2 + y**2 = 4; x*y = 1", {"x": 2, "y": 0.5}, {}, [mpmath.sqrt(2 + mpmath.sqrt(3)), mpmath.sqrt(2 - mpmath.sqrt(3))]),
        ("x = a*exp(-x)", {"x": 1}, {"a": 2}, [mpmath.lambertw(2)]),
        ("f(x) = x**2; f(x) = 2", {"x": 1}, {}, [mpmath.sqrt(2)]),
        ("A @ v = b", {"v": [1, 2]}, {"A": [[2, 1], [1, 3]], "b": [1, 2]}, [0.2, 0.6]),
        ("x + 2*y = 5", {"x": 0, "y": 0}, {}, [1, 2]),  # the root that is nearest to the start
        ("x**2 = 2; x**3 = 2*sqrt(2)", {"x": 1}, {}, [mpmath.sqrt(2)]),
        ("sin(x)", {"x": 1.6}, {}, [mpmath.pi]),
        ("erf(x) = 0.5", {"x": 0}, {}, [mpmath.erfinv(0.5)]),
    ],
)
def test_a_simple_root_is_proven_and_has_all_digits(expression: str, at: dict, const: dict, expected: list) -> None:
    result = ad.root(expression, at, const=const)
    assert result.converged
    assert result.verdict == "root"
    found = np.concatenate([np.ravel(value) for value in result.solution.values()])
    error = np.concatenate([np.ravel(value) for value in result.error_bound.values()])
    exact = np.array([float(value) for value in expected])
    assert np.all(np.abs(found - exact) <= error + np.spacing(exact))
    assert result.digits >= 14
    assert result.proof == ("interval Newton" if "x**3" not in expression else "residual and Newton step")


@pytest.mark.parametrize(
    ("expression", "start", "expected", "multiplicity"),
    [
        ("(x - 1)**2*(x + 2)", 3.0, 1.0, 2),
        ("x**3 - 3*x**2 + 3*x - 1", 3.0, 1.0, 3),
        ("x**20", 1.0, 0.0, 20),
        ("x - sin(x)", 1.0, 0.0, 3),
    ],
)
def test_a_multiple_root_is_recognised(expression: str, start: float, expected: float, multiplicity: int) -> None:
    result = ad.root(expression, {"x": start})
    assert result.converged
    assert (result.verdict, result.multiplicity, result.convergence_order) == ("multiple_root", multiplicity, 1.0)
    assert abs(result.solution["x"] - expected) <= result.error_bound["x"]
    assert any(f"multiplicity {multiplicity}" in note["message"] for note in result.notes)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("expression", "at", "verdict"),
    [
        ("x**2 + 1", {"x": 3}, "minimum_of_norm"),
        ("x**2 + 1e-14", {"x": 3}, "minimum_of_norm"),
        ("x = 1; x = 2", {"x": 0}, "minimum_of_norm"),
        ("exp(-x)", {"x": 1}, "not_converged"),
        ("tanh(x) = 1", {"x": 1}, "flat"),
        ("1/x", {"x": 1}, "not_converged"),
        ("1/x**2/sinh(2*x)", {"x": 400}, "flat"),  # 0 because sinh overflows
        ("sinh(x) - cosh(x) - (x - 3)**2", {"x": 100}, "flat"),  # rounding errors hide the residual
    ],
)
def test_a_point_that_is_not_a_root_is_not_called_one(expression: str, at: dict, verdict: str) -> None:
    result = ad.root(expression, at)
    assert not result.converged
    assert result.verdict == verdict
    assert result.to_dict()["solution"] is None
    with pytest.raises(NotSolved, match=r"no (real )?root found"):
        result.require()


def test_a_pole_is_not_a_root() -> None:
    result = ad.root("1000*tan(x)", {"x": np.pi / 2})
    assert result.converged
    assert float(result.solution["x"]) == pytest.approx(np.pi * round(result.solution["x"] / np.pi), abs=1e-12)


def test_success_is_not_reported_away_from_a_root() -> None:
    # SciPy's root reports success at x = 1.01, where the residual is -0.9999 (scipy#17488).
    for start in (1.0, 1.01):
        result = ad.root("x**2 - 2*x", {"x": start})
        assert result.converged
        assert result.solution["x"] in (0.0, 2.0)


def test_the_sensitivity_is_the_derivative_of_the_root() -> None:
    result = ad.root("x = a*exp(-x)", {"x": 1}, const={"a": 2}, sensitivity="a")
    slope = mpmath.diff(lambda a: mpmath.lambertw(a), 2)
    assert result.to_dict()["sensitivity"]["x"]["a"] == pytest.approx(float(slope), rel=1e-14)
    result = ad.root("A @ v = b", {"v": [1, 2]}, const={"A": [[2, 1], [1, 3]], "b": [1, 2]}, sensitivity=["b", "A"])
    assert result.sensitivity["v"]["b"] == pytest.approx(np.array([[0.6, -0.2], [-0.2, 0.4]]))
    assert result.sensitivity["v"]["A"].shape == (2, 2, 2)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ad.root("log(x) = 1", {"x": -1}), NotSolved, "log is defined for x > 0"),
        (lambda: ad.root("cos(x) = y", {"x": 1}), MissingValue, "no value for 'y'"),
        (lambda: ad.root("x = a", {"x": 1}, const={"a": 1}, sensitivity=["b"]), UnknownName, "'b', which is not a constant"),
        (lambda: ad.root("x = 1"), UsageError, "unknowns are not given"),
        (lambda: ad.root("x + y = 1", over="x=0:1,y=0:1"), UsageError, "not isolated"),
        (lambda: ad.root("x = 1", over="x=0:"), UsageError, "not finite"),
        (lambda: ad.root("x = y", {"y": 1}, over="x=0:1"), UsageError, "has a start"),
        (lambda: ad.root("x = 1", {"x": 1}, all=True), UsageError, "needs a range"),
        (lambda: ad.root("x[[]]", {"x": [1.0]}), UsageError, "the equations have no elements"),
        (lambda: ad.root("1 + sin(y) = 2", {"y": []}), UsageError, "the unknowns have no elements"),
    ],
)
def test_messages(call: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()  # type: ignore[operator]


def test_the_command_prints_a_verified_root() -> None:
    assert run('autodiff root "cos(x) = x" --at x=1 -q').strip() == "0.7390851332151607"
    found = json.loads(streams('autodiff root "cos(x) = x" --at x=1 --json')[0])
    assert found["converged"]
    assert found["convergence_order"] == 2.0
    text = run('autodiff root "x**2 + y**2 = 4; x*y = 1" --at x=2,y=0.5 --trace')
    assert "proven by interval Newton" in text
    assert "newton" in text


def test_the_command_fails_without_a_root() -> None:
    output, errors, code = streams('autodiff root "x**2 + 1" --at x=3 -q')
    assert (output, code) == ("", 1)
    assert "no real root found near the start: the equation comes closest at x = " in errors
    output, errors, code = streams('autodiff root "x**2 + 1" --at x=3 --json')
    assert code == 1
    assert json.loads(output)["verdict"] == "minimum_of_norm"
    assert json.loads(errors)["error"]["kind"] == "NotSolved"


@pytest.mark.parametrize(
    ("expression", "over", "expected"),
    [
        ("cos(x) = x", "x=-10:10", [0.7390851332151607]),
        ("sin(x)", "x=0:10", [0, np.pi, 2 * np.pi, 3 * np.pi]),
        ("tan(x) = x", "x=-10:10", [-7.725251836937707, -4.493409457909064, 0, 4.493409457909064, 7.725251836937707]),
        ("j0(x)", "x=0:10", [2.404825557695773, 5.520078110286311, 8.653727912911013]),
        ("abs(x) = 1", "x=-3:3", [-1, 1]),
        ("x**2 - 2*x + 1", "x=-10:10", [1]),
        ("sqrt(x)", "x=0:1", [0]),
        ("x**2 = 2; x**3 = 2*sqrt(2)", "x=-3:3", [np.sqrt(2)]),
    ],
)
def test_all_roots_of_a_range(expression: str, over: str, expected: list) -> None:
    result = ad.root(expression, over=over, all=True)
    assert result.converged
    assert result.complete
    assert len(result.roots) == len(expected)
    for one, exact in zip(result.roots, expected, strict=True):
        assert abs(one.solution["x"] - exact) <= one.error_bound["x"] + np.spacing(abs(exact))
        assert one.error_bound["x"] < (1e-13 if one.proof == "interval Newton" else 1e-7)


NOT_ROOTS = [
    ("where(x < 1, x - 1, 1)", "jump", 1, 0.2, "0:3"),
    ("x % 2 - 2", "jump", 2, 1, "0.5:2.5"),
    ("fmod(x, 1) - 1", "jump", 1, 0.5, "0.5:1.5"),
    ("x - floor(x) - 1", "jump", 1, 0.5, "0.5:1.5"),
    ("frac(x) - 1", "jump", 1, 0.5, "0.5:1.5"),
    ("where(x < 1, (x - 1)*1e12, 1)", "jump", 1, 0.2, "0:3"),
    ("(0.5*(x + 2.875)) % 1.5 - 1.5", "jump", 0.125, 2, "-1:1"),  # rounding moves the jump by several floats
    ("(x - 1) if x < 1 else 5", "jump", 1, 0.2, "0:3"),
    ("(x - 1)*(1 if x < 1 else -1) + (0 if x < 1 else 2)", "jump", 1, 0.2, "0:3"),
    ("sign(x - sqrt(2))*x + sqrt(2)", "jump", 2**0.5, 1.3, "1:2"),
    ("atan(1/x) + pi/2", "jump", 0, -0.001, None),
    ("(x**2 - 1)/(x - 1) - 2", "undefined", 1, 0.5, "0:3"),
    ("(x - 1)**2/(x - 1)", "undefined", 1, 0.5, "0:3"),
    ("sin(x)/x - 1", "undefined", 0, 0.5, "-1:2"),
    ("x*log(x)*(x + 1)", "undefined", 0, 1e-5, None),
    ("(x**2 - 2)**2/(x**2 - 2)", "undefined", 2**0.5, 1.3, "1:2"),
]
"""Functions with a one-sided limit of 0 at a jump, or a limit of 0 at a hole or at the open end of a domain."""


@pytest.mark.sampled(20)
@pytest.mark.parametrize(("expression", "verdict", "place", "start", "over"), NOT_ROOTS)
def test_a_limit_of_0_is_not_a_root(expression: str, verdict: str, place: float, start: float, over: str | None) -> None:
    found = ad.root(expression, {"x": start})
    assert (found.converged, found.verdict) == (False, verdict) or abs(found.solution["x"] - place) > 0.1
    if not found.converged:
        assert ("the value jumps from" if verdict == "jump" else "the value is not defined at") in found.reason
    if over is not None:
        within = ad.root(expression, over=f"x={over}", all=True)
        assert not any(abs(one.solution["x"] - place) < 0.1 for one in within.roots)
        assert not within.is_proven or not within.roots
        assert any("not taken for a root" in one["message"] for one in within.notes) or within.complete


CONTINUOUS = [
    ("where(x < 1, x - 1, 2*x - 2)", 0.2, 1, 1),
    ("where(x != 0, sin(x)/x, 1) - 1", 0.5, 0, 2),
    ("abs(x - 1.1)", 0.5, 1.1, 1),
    ("x*sign(x)", 0.5, 0, 1),
    ("floor(x/10)*1e9 + x - 3", 1, 3, 1),
    ("sqrt(x**2 - 2)", -3, -(2**0.5), None),
    ("relu(x - 1)", -3, -3, 0),
    ("where(x < 0, 0, x)", -3, -3, 0),
]
"""Functions with a root where an operation is not continuous, but the function is."""


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("expression", "start", "place", "multiplicity"), CONTINUOUS)
def test_a_root_of_a_continuous_function_remains_one(expression: str, start: float, place: float, multiplicity: int | None) -> None:
    found = ad.root(expression, {"x": start}).require() or ad.root(expression, {"x": start})
    assert found.solution["x"] == pytest.approx(place, rel=1e-15, abs=1e-7)
    assert multiplicity in (None, found.multiplicity)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    "expression",
    [
        "cosh(x) - 0.9999999999999999",
        "log(x**2 + 1) + 1e-17",
        "cos(x) - 1 - 1e-16",
        "exp(x) - x - 1 + 1e-17",
        "cosh(x) - 1 + 1e-18",
        "x**2 - 2*x + 1.0000000000000002",
        "abs(sin(x)) + 1e-25",
    ],
)
def test_a_function_that_comes_close_to_0_does_not_have_a_root(expression: str) -> None:
    """mpmath's value at the extremum, which is the number in the expression, is not 0."""
    found = ad.root(expression, {"x": 0.5})
    assert (found.converged, found.verdict) == (False, "minimum_of_norm")
    assert not ad.root(expression, over="x=-1.5:1.5", all=True).roots


def test_a_root_behind_an_extremum_is_found() -> None:
    assert ad.root("3.8*x - x**3 = 3.28", {"x": 0}).solution["x"] == pytest.approx(-2.2877352038849, rel=1e-13)
    tail = "1e-19*(x + 2)*exp(-40*(x + 4)**2)"  # it underflows, but is not 0
    assert ad.root(tail, {"x": 0.5}).solution["x"] == -2
    assert not ad.root(tail, over="x=-1.5:1.5", all=True).roots


def test_all_roots_of_a_system() -> None:
    result = ad.root("x**2 + y**2 = 4; x*y = 1", over={"x": (-3, 3), "y": (-3, 3)}, all=True)
    a, b = np.sqrt(2 + np.sqrt(3)), np.sqrt(2 - np.sqrt(3))
    assert result.complete
    found = [(one.solution["x"], one.solution["y"]) for one in result.roots]
    assert np.array(found) == pytest.approx(np.array([(-a, -b), (-b, -a), (b, a), (a, b)]), rel=1e-15)
    assert {one.proof for one in result.roots} == {"interval Newton"}


@pytest.mark.parametrize(
    ("expression", "over"), [("x**2 + 1", "x=-9:9"), ("1/x", "x=-1:2"), ("floor(x) = 0.5", "x=-3:3"), ("x**2 + 1e-14", "x=-1:1")]
)
def test_the_absence_of_a_root_is_proven(expression: str, over: str) -> None:
    result = ad.root(expression, over=over)
    assert (result.converged, result.verdict, result.complete) == (False, "no_root", True)
    assert result.to_dict()["solution"] is None


def test_the_kind_of_a_root_in_a_range() -> None:
    result = ad.root("tan(x) = x", over="x=-10:10")
    assert result.solution["x"] == 0
    assert (result.multiplicity, result.proof) == (3, "sign change")
    assert any("4 other roots" in note["message"] for note in result.notes)
    touching = ad.root("x**2 - 2*x + 1", over="x=-1:2.5")
    assert (touching.multiplicity, touching.proof) == (2, "touching")


def test_the_nearest_root_is_measured_in_the_range_of_each_unknown() -> None:
    result = ad.root("(x - 5)*(x - 9) = 0; y = 117.5 - 7.5*x", over={"x": (0, 10), "y": (0, 100)})
    assert result.solution == {"x": 5, "y": 80}


def test_rows_are_solved_and_proven_together() -> None:
    generator = np.random.default_rng(0)
    mean, ecc = generator.uniform(0, 2 * np.pi, 2_000), generator.uniform(0, 0.97, 2_000)
    found = ad.root("E - ecc*sin(E) = M", {"E": 3}, data={"M": mean, "ecc": ecc})
    assert found["converged"].all()
    for i in range(0, 2_000, 100):
        exact = mpmath.findroot(lambda e, i=i: e - ecc[i] * mpmath.sin(e) - mean[i], float(found["E"][i]))
        assert float(found["E"][i]) == pytest.approx(float(exact), rel=1e-13)


ROWS = [
    ("x - e*sin(x) = M", lambda x, e: x - e * np.sin(x), (0, 3)),
    ("x**3 + e*x = M", lambda x, e: x**3 + e * x, (-3, 3)),
    ("x*exp(x) + e = M", lambda x, e: x * np.exp(x) + e, (0.7, 5)),
]


@pytest.mark.parametrize(("equation", "left", "ends"), ROWS)
def test_machine_code_solves_rows_as_numpy_does(equation: str, left: Any, ends: tuple[float, float]) -> None:
    pytest.importorskip("llvmlite")
    generator = np.random.default_rng(0)
    data = {"e": generator.uniform(0.1, 0.9, 30_000), "M": generator.uniform(*ends, 30_000)}
    few = ad.root(equation, {"x": 1}, data={name: column[:500] for name, column in data.items()})
    many = ad.root(equation, {"x": 1}, data=data)
    assert many["converged"].all()
    np.testing.assert_allclose(many["x"][:500], few["x"], rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose(left(many["x"], data["e"]), data["M"], rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("broken", ["where(x > 1.7, 1, -1)", "(x - 1.7)**2/(x - 1.7)", "x**2 + 1", "x**2"])
def test_a_jump_a_hole_and_a_multiple_root_are_told_from_simple_roots_in_many_rows(broken: str) -> None:
    a = np.linspace(1, 2, 20_000)
    a[7_000:7_003] = -1
    found = ad.root(f"where(a > 0, x**2 - a, {broken}) = 0", {"x": 1.5}, data={"a": a})
    assert found["converged"][a > 0].all()
    assert found["converged"][a < 0].all() == (broken == "x**2")  # verified one by one
    np.testing.assert_allclose(found["x"][a > 0], np.sqrt(a[a > 0]), rtol=1e-15)


def test_rows_without_a_root_are_nan() -> None:
    found = ad.root("x = a*exp(-x)", {"x": 1}, data={"a": [2, -1, np.nan, 0.1]})
    assert found["converged"].tolist() == [True, False, False, True]
    assert found["x"][[0, 3]] == pytest.approx([float(mpmath.lambertw(2)), float(mpmath.lambertw(0.1))], rel=1e-15)
    assert np.isnan(found["x"][[1, 2]]).all()
    found = ad.root("x**2 = p", {"x": 1}, data={"p": [0, 4, -1]})  # a multiple root, a simple root, no root
    assert found["x"][:2].tolist() == [0, 2]
    assert found["converged"].tolist() == [True, True, False]
    found = ad.root("x**2 + y**2 = r; x*y = 1", {"x": 2, "y": 0.5}, data={"r": [4, 1]})
    assert found["y"][0] == pytest.approx(float(mpmath.sqrt(2 - mpmath.sqrt(3))), rel=1e-15)
    assert found["converged"].tolist() == [True, False]


def test_rows_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,name\n2,p\n-1,q\n0.1,r\n")
    command = f'autodiff root "x = a*exp(-x)" {path} --at x=1'
    output, errors, code = streams(command)
    lines = output.splitlines()
    assert (lines[0], code) == ("a,name,x,residual,converged", 0)
    assert lines[1].startswith("2,p,0.85260550201372")
    assert lines[2].startswith("-1,q,nan,")
    assert "1 row without a root: set to nan" in errors
    assert "line 3: no root was verified" in errors
    output, errors, _ = streams(f"{command} --on-error skip -q")
    assert len(output.splitlines()) == 2
    assert "skipped" in errors
    assert streams(f"{command} --over x=0:1")[2] == 2


SENSITIVE = [
    ("x = a*exp(-k*x)", {"x": 1}, {"k": 1.5}),
    ("x**2 + y**2 = a + 4; x*y = k/a", {"x": 2, "y": 0.5}, {"k": 0.5}),
    ("x**3 + det([[x, a], [k, 2]])", {"x": 1}, {"k": 1.0}),  # every row is solved alone
    ("v = [a, k] + 0.1*sin(v)", {"v": np.ones(2)}, {"k": 2.0}),
]


@pytest.mark.parametrize(("equations", "at", "const"), SENSITIVE)
def test_the_sensitivity_of_every_row(equations: str, at: dict[str, Any], const: dict[str, float]) -> None:
    rows = [1.0, 0.7, 2.5]
    found = ad.root(equations, at, const=const, data={"a": rows}, sensitivity="a,k")
    assert found["converged"].all()
    for i, a in enumerate(rows):
        one = ad.root(equations, at, const={**const, "a": a}, sensitivity=["a", "k"])
        for name, by in one.sensitivity.items():
            for wanted, slope in by.items():
                labels = [f"{name}[{k}]" for k in range(np.size(slope))] if np.ndim(slope) else [name]
                columns = [found[f"d_{label}_{wanted}"][i] for label in labels]
                assert columns == pytest.approx(np.ravel(slope).tolist(), rel=1e-12, abs=1e-14)


def test_the_sensitivity_of_rows_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,p\n2,u\n-1,v\n")
    output, _, code = streams(f'autodiff root "x = a*exp(-x)" {path} --at x=1 --sensitivity a')
    assert (output.splitlines()[0], code) == ("a,p,x,d_x_a,residual,converged", 0)
    x, slope = map(float, output.splitlines()[1].split(",")[2:4])
    assert slope == pytest.approx(math.exp(-x) / (1 + x), rel=1e-14)
    assert output.splitlines()[2].split(",")[2:4] == ["nan", "nan"]
    assert "names 'b', which is not a constant" in streams(f'autodiff root "x = a" {path} --at x=1 --sensitivity b')[1]
    said = streams(f'autodiff root "x = a + sum(w)" {path} --at x=1 --const "w=[1,2]" --sensitivity w')[1]
    assert "over rows names 'w', which is an array" in said


@pytest.mark.sampled(8)
@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("problem", [one for one in PROBLEMS if not one.name.startswith("Chebyquad")], ids=lambda one: one.name)
def test_the_collection_of_more_garbow_and_hillstrom(problem: Problem, factor: float) -> None:
    result = ad.root(problem.residuals, {"x": factor * np.array(problem.start)})
    assert result.converged
    assert np.max(np.abs(result.residual)) <= 1e-9


def test_a_start_that_is_not_finite_is_named_with_its_place() -> None:
    assert run('autodiff root "y = 2*x; x + log(y) = 1" --at x=-1') == (
        "error: the equation is not finite at the start: log(-2.0) is nan: log is defined for x > 0\n"
        "  y = 2*x; x + log(y) = 1\n               ^^^^^^\n"
        "  hint: start at values where the equation is finite, with --at\n[exit code 1]\n"
    )
    assert "error: the start is not finite\n" in run('autodiff root "x > 2" --at x=-inf')


def test_a_table_for_latex() -> None:
    text = run('autodiff root "x**2 + y**2 = 4; x*y = 1" --over x=-3:3,y=-3:3 --all --format latex')
    assert text.startswith("\\begin{tabular}{rrrrl}\n\\hline\nx & y & error & multiplicity & proof \\\\\n")
    assert text.count("\\\\") == 5
    assert "$v$ & [$1$, $2$] &" in run('autodiff root "v = [1, 2]" --at "v=[0, 0]" --format latex')


@pytest.mark.exhaustive
def test_functions_without_an_interval_rule_are_sampled() -> None:
    assert ad.root("det([[x, 1], [1, x]])", over="x=-3:3", all=True).complete is True
    result = ad.root("prod(eigvalsh([[x, 1], [1, x]]))", over="x=-3:3", all=True)
    assert [one.solution["x"] for one in result.roots] == pytest.approx([-1, 1], rel=1e-14)
    assert result.complete is False
    assert {one.proof for one in result.roots} == {"residual and Newton step"}


def test_a_root_that_is_not_isolated() -> None:
    result = ad.root("x + y = 2; 2*x + 2*y = 4", {"x": 0, "y": 0})
    assert result.converged
    assert result.multiplicity == 0
    assert any("not isolated" in note["message"] for note in result.notes)


def test_a_start_whose_square_is_not_a_floating_point_number() -> None:
    result = ad.root("abs(x) = 3", {"x": -1e308})
    assert (result.converged, abs(result.solution["x"])) == (True, 3)


@pytest.mark.parametrize("source", ["[1, 1] if z == 1 else 1", "[z - 2, 1] if z > 0.5 else z - 2"])
def test_a_result_whose_shape_depends_on_the_values(source: str) -> None:
    found = run(f"autodiff root '{source}' --at z=0")
    assert "the shape of the result depends on the values: it is [] at the start, and [2] later" in found
    assert "internal error" not in found


@pytest.mark.parametrize("gap", ["5e-15", "2e-14", "1e-13"])
def test_roots_that_rounding_makes_one_are_within_its_error(gap: str) -> None:
    """x**2 - 4.75*x + 2.375**2 - gap has the roots 2.375 - sqrt(gap) and 2.375 + sqrt(gap)."""
    constant = 2.375**2 - float(gap)
    distance = math.sqrt(2.375**2 - constant)  # the difference is exact
    found = ad.root(f"x**2 - 4.75*x + {constant!r}", over={"x": (-3.1, 3.2)}, all=True).roots
    for root in (2.375 - distance, 2.375 + distance):
        assert any(abs(one.solution["x"] - root) <= one.error_bound["x"] + 1e-15 for one in found)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("power", [40, 30, 38, 42, 46, 43, 44, 48])
def test_two_steep_roots_beside_each_other_are_both_found(power: int) -> None:
    """(2**power*p)**2 - 1 has roots where p is -2**-power and 2**-power: two beside each root of p."""
    p, scale = "(x - 2.5)*(x + 1)*((x + 0.875)**2 + 1.75)", 2.0**power
    for expression in (f"norm([{scale!r}*{p}, 2])**2 - 5", f"({scale!r}*{p})**2 - 1"):
        found = ad.root(expression, over={"x": (-3.1, 3.2)}, all=True)
        for zero, slope in ((2.5, 3.5 * (3.375**2 + 1.75)), (-1.0, -3.5 * (0.125**2 + 1.75))):
            for sign in (-1, 1):
                root = zero + sign / scale / slope
                known = any(abs(one.solution["x"] - root) <= one.error_bound["x"] + 5e-16 for one in found.roots)
                assert known or "not decided" in str(found)
        if power <= 40:
            assert found.complete
            assert [one.multiplicity for one in found.roots] == [1, 1, 1, 1]


def test_two_roots_beside_each_other_of_a_badly_scaled_polynomial_are_not_one() -> None:
    """The polynomial is 2**40*((x + 2.25)*((x + 0.125)**2 + 1.25)); the roots are where it is -1 and 1, near -2.25."""
    polynomial = "1099511627776*x**3 + 2748779069440*x**2 + 2010044694528*x + 3131031158784"
    found = ad.root(f"norm([{polynomial}, -3])**2 - 10", over={"x": (-3.1, 3.2)}, all=True)
    assert len(found.roots) == 2 or not found.complete


def test_roots_that_are_close_are_told_apart_by_their_digits() -> None:
    printed = run("autodiff root '(x - 2.5)**2 - 1e-20' --over x=-3:3.2 --all")
    assert [line.split()[0] for line in printed.splitlines()[2:4]] == ["2.4999999999", "2.5000000001"]
