"""``minimize``: minima with and without bounds and constraints, and the verdicts on points that are not minima."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.errors import NotSolved, UsageError
from autodiff_cli.language.parser import parse
from autodiff_cli.solvers import system
from autodiff_cli.solvers.jumps import is_continuous_everywhere
from tests.benchmarks.problems import hs, mgh_minima
from tests.shell import run, streams


@pytest.mark.parametrize(
    ("expression", "at", "solution"),
    [
        ("(1-x)**2 + 100*(y-x**2)**2", {"x": -1.2, "y": 1}, {"x": 1, "y": 1}),  # Rosenbrock 1960
        ("sum(100*(x[1::2]-x[::2]**2)**2 + (1-x[::2])**2)", {"x": np.tile([-1.2, 1], 10)}, {"x": np.ones(20)}),
        ("x + 1/x", {"x": 5}, {"x": 1}),
        ("x*log(x)", {"x": 3}, {"x": np.exp(-1)}),
    ],
)
def test_minima(expression: str, at: dict[str, object], solution: dict[str, object]) -> None:
    found = ad.minimize(expression, at=at)  # type: ignore[arg-type]
    assert (found.verdict, found.converged) == ("minimum", True)
    assert found.eigenvalues[0] > 0
    for name, value in solution.items():
        assert found.solution[name] == pytest.approx(value, rel=1e-15)


_MGH = {1, 2, 4, 5, 7, 8, 9, 13, 14, 15, 16, 34}
_HS = {5, 7, 13, 19, 20, 24, 33, 44, 62, 71, 77, 83, 104, 108}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("problem", [each for each in mgh_minima.PROBLEMS if each.number in _MGH], ids=lambda each: each.name)
def test_problems_without_constraints(problem: mgh_minima.Residuals) -> None:
    found = ad.minimize(problem.objective, at=problem.start)
    assert found.converged
    assert any(found.value == pytest.approx(each, rel=1e-5, abs=1e-20) for each in problem.minima)


@pytest.mark.parametrize("problem", [each for each in hs.PROBLEMS if each.number in _HS], ids=lambda each: str(each.number))
def test_problems_with_constraints(problem: hs.Constrained) -> None:
    found = ad.minimize(problem.objective, at=problem.at, subject=problem.subject, bounds=problem.bounds)
    # Problem 13 does not satisfy the first-order conditions at its minimum, so no multiplier can prove it.
    assert found.converged == (problem.number != 13)
    assert any(found.value == pytest.approx(each, rel=1e-5) for each in problem.minima)


def test_the_largest_value() -> None:
    found = ad.minimize("x*exp(-x)", at={"x": 0.5}, maximize=True)
    assert (found.verdict, found.value) == ("maximum", pytest.approx(np.exp(-1)))
    assert found.eigenvalues == pytest.approx([-np.exp(-1)])


def test_the_can_with_the_least_surface() -> None:
    found = ad.minimize(
        "2*pi*r**2 + 2*pi*r*h", at={"r": 1, "h": 1}, subject="pi*r**2*h == 330", bounds={"r": (0, np.inf), "h": "0:"}
    )
    assert found.converged
    r, h = found.solution.values()
    assert h == pytest.approx(2 * r, rel=1e-14)
    assert np.pi * r**2 * h == pytest.approx(330, rel=1e-14)
    # The multiplier is the derivative of the surface 3*(2*pi)**(1/3)*V**(2/3) with respect to the volume V.
    assert found.multipliers["pi*r**2*h == 330"] == pytest.approx(2 * (2 * np.pi / 330) ** (1 / 3), rel=1e-13)


def test_an_active_bound_has_a_multiplier() -> None:
    found = ad.minimize("(x-1)**2 + (y+3)**2 + x*y", at={"x": 5, "y": 1}, bounds=["x=0:,y=0:"])
    assert (found.verdict, found.at_bound) == ("at_bound", {"x": [""], "y": ["low"]})
    assert found.multipliers == {"y >= 0": 7.0}
    found = ad.minimize("-(x - 2)**4", at={"x": 2}, bounds={"x": (-2, 2)})  # the degenerate maximum at the other bound is left
    assert (found.verdict, found.solution) == ("at_bound", {"x": -2})


def test_saddle_points_under_constraints_are_left() -> None:
    found = ad.minimize("x*y + (x-y)**4", at={"x": 1, "y": 1}, subject="x + y == 2")
    # With d = x - y, the function is 1 - d**2/4 + d**4.
    assert (found.verdict, found.value) == ("minimum", pytest.approx(1 - 1 / 64))
    found = ad.minimize("x**2 + y**2", at={"x": -1, "y": 0}, subject=["x*y >= 1", "x <= 3"])  # the violation has a saddle at (0, 0)
    assert found.value == pytest.approx(2)


def test_none_is_an_open_end_of_an_interval() -> None:
    found = ad.minimize("(t-2)**2 + u**2", {"t": 0, "u": 1}, bounds={"t": (None, 1), "u": (0.5, None)})
    assert found.solution == {"t": 1, "u": 0.5}
    for wrong in (5, (1,), (1, None, 2), None):
        with pytest.raises(UsageError, match="expects t=FROM:TO"):
            ad.minimize("(t-2)**2", {"t": 0}, bounds={"t": wrong})


def test_a_start_outside_the_bounds_is_moved() -> None:
    found = ad.minimize("(x-1)**2", at={"x": -5}, bounds={"x": (0, 3)})
    assert (found.verdict, found.solution, found.start) == ("minimum", {"x": 1}, {"x": -5})
    assert "outside its bounds" in found.notes[0]["message"]


def test_the_steps_are_rows() -> None:
    out, _, _ = streams('autodiff minimize "(x-1)**2 + y**2" --at x=3,y=4 --trace --format csv')
    first, *rows = out.splitlines()
    assert first == "step,x,y,value,gradient_norm,step_length,action"
    assert rows[0].startswith("0,3.0,4.0,20.0,")
    assert rows[-1].split(",")[1:4] == ["1.0", "0.0", "0.0"]


def test_sensitivity() -> None:
    found = ad.minimize(
        "(x-a)**2 + (y-b)**2", {"x": 1, "y": 3}, {"a": 1, "b": 4, "s": 2}, subject="x + y == s", sensitivity=["a", "s"]
    )
    assert found.solution == pytest.approx({"x": -0.5, "y": 2.5})
    assert found.sensitivity["a"] == pytest.approx({"x": 0.5, "y": -0.5, "value": 3})
    assert found.sensitivity["s"] == pytest.approx({"x": 0.5, "y": 0.5, "value": -3})


def test_a_start_that_is_not_finite() -> None:
    with pytest.raises(NotSolved, match="nan at the start") as caught:
        ad.minimize("x + log(y)", at={"x": 1, "y": -1})
    assert caught.value.span == (4, 10)


def test_settings_that_are_wrong() -> None:
    for wrong in ({"subject": "x + 1"}, {"subject": "lgo(x) == 1"}, {"bounds": ["z=0:1"]}, {"sensitivity": ["x"]}):
        with pytest.raises(UsageError):
            ad.minimize("x**2", at={"x": 1}, **wrong)  # type: ignore[arg-type]


def test_the_command() -> None:
    out, _, _ = streams('autodiff minimize "(x-1)**2 + y**2" --at x=3,y=4,b=1 --json')
    found = json.loads(out)
    assert (found["verdict"], found["solution"]) == ("minimum", {"x": 1.0, "y": 0.0, "b": 1.0})
    assert found["notes"][0]["message"] == "'b' does not occur in the expression"
    assert streams('autodiff minimize "(x-1)**2 + y**2" --at x=3,y=4 -q')[0] == "1.0\n0.0\n"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("expression", "at", "verdict", "converged", "solution"),
    [
        ("x**2 - y**2 + y**4", {"x": 1, "y": 0}, "minimum", True, {"x": 0, "y": np.sqrt(0.5)}),  # on the ridge of a saddle
        ("x**4", {"x": 1}, "minimum", True, {"x": 0}),
        ("x**4 - abs(x)", {"x": 0}, "minimum", True, {"x": 4 ** (-1 / 3)}),  # every derivative at 0 says that 0 is a minimum
        ("(y - x**2)**2", {"x": 3, "y": 0}, "flat", True, None),
        ("abs(x - 0.3) + x**2", {"x": 2}, "kink", True, {"x": 0.3}),
        ("abs(x) + y**2", {"x": 3, "y": 4}, "kink", True, {"x": 0, "y": 0}),
        ("maximum(x**2 + y**2, (x - 2)**2 + y**2)", {"x": 3, "y": 4}, "kink", True, {"x": 1, "y": 0}),
        ("x**3", {"x": 0}, "unbounded", False, None),
        ("exp(-x)", {"x": 1}, "not_converged", False, None),  # it decreases, but is bounded
        ("1/x", {"x": 1}, "not_converged", False, None),
        ("x**2 + 1/y", {"x": 1, "y": 1}, "not_converged", False, None),
        ("-log(x)", {"x": 1}, "unbounded", False, None),
        ("where(x < 0, x**2 - 1, x**2)", {"x": 0.5}, "jump", False, None),
        ("floor(x) + x**2", {"x": 0.5}, "jump", False, None),
        ("abs(x) + where(x < 0, -1, 0)", {"x": 0.5}, "jump", False, None),
        ("(x - 1)**2 + floor(y) + y**2", {"x": 3, "y": 0.4}, "jump", False, None),
        ("where(x < 2, (x - 2)**2*1e12, (x - 2)**2 - 3)", {"x": 1.9}, "jump", False, None),
        ("where(x <= 2, 1e-18, (x - 2)**2)", {"x": 3}, "jump", False, None),
        ("where(x < 1, x**2, 1 + (x - 1)**2)", {"x": 0.5}, "minimum", True, {"x": 0}),  # continuous at 1, and smooth at 0
        ("exp(-x**2)", {"x": 0}, "underflow", False, None),
        ("-exp(-x**2)", {"x": 40}, "underflow", False, None),
        ("1 - exp(-x**2 - y**2)", {"x": 40, "y": 1}, "underflow", False, None),
        ("erf(-100*x - 150)", {"x": -0.9}, "underflow", False, None),
        ("exp(-2*(x - 1.125)**2)", {"x": -0.85}, "underflow", False, None),
        ("(x + 2.875)**3 + 0*x", {"x": 0.375}, "unbounded", False, None),
        ("x**3 + 8.625*x**2 + 24.796875*x + 23.763671875", {"x": 0.375}, "unbounded", False, None),  # the same, expanded
        ("1e13*(x + 3)*(x + 1)", {"x": -3}, "minimum", True, {"x": -2}),  # 0 at the start, and deep
        ("relu(x)", {"x": -3}, "flat", True, None),
        ("(x*y - 1)**2", {"x": 2, "y": 3}, "flat", True, None),
        ("abs(x - y) + (x + y)**2", {"x": 1, "y": 2}, "kink", True, {"x": 0, "y": 0}),
        ("abs(x - y) + (x + y)**4", {"x": 1, "y": 2}, "kink", True, None),
        ("abs(x - y**2) + (x + y - 3)**2 + 5", {"x": 1, "y": 2}, "kink", True, {"x": (7 - 13**0.5) / 2, "y": (13**0.5 - 1) / 2}),
        ("abs(x) + abs(y - 1) + 0.1*abs(x - y)", {"x": 1, "y": 2}, "kink", True, {"x": 0, "y": 1}),
        ("x + 1/x", {"x": -0.9}, "unbounded", False, None),
        ("where(x > 1, x, 5 - x)", {"x": 3}, "jump", False, None),
        ("expm1(max(3 - x, x - 0.5))", {"x": 30}, "kink", True, {"x": 1.75}),  # 28 equal steps lead to it
        ("-exp(x)", {"x": 3}, "unbounded", False, None),
        ("-1/(x - 1)**2", {"x": 3}, "unbounded", False, None),
    ],
)
def test_verdicts(expression: str, at: dict[str, float], verdict: str, converged: bool, solution: dict[str, float] | None) -> None:
    found = ad.minimize(expression, at=at)
    assert (found.verdict, found.converged) == (verdict, converged)
    assert solution is None or found.solution == pytest.approx(solution, abs=2e-7)
    if not converged:
        with pytest.raises(NotSolved):
            found.require()


@pytest.mark.parametrize("order", [4, 6])
def test_the_first_derivative_that_is_not_zero_proves_a_minimum(order: int) -> None:
    found = str(ad.minimize(f"(x - 1)**{order}", {"x": 3}))
    assert f"the first derivative that is not zero, of order {order}, is positive" in found
    assert ad.minimize(f"(x - 1)**{order - 1}", {"x": 1}).verdict == "unbounded"


def test_a_limit_at_infinity_is_not_a_minimum() -> None:
    """To the right, the function falls to sinh(-100); whether a long step lands left of the pole depends on the last bits."""
    found = ad.minimize("sinh(-100*(x + 2.5)*(x - 3)/(x + 0.25)**2)", at={"x": 3})
    assert found.verdict == "not_converged" or found.solution == pytest.approx({"x": -14.875}, abs=1e-6)


@pytest.mark.parametrize(
    ("expression", "subject", "verdict"),
    [
        ("x**2 + y**2", ["x + y == 1", "x + y == 2"], "infeasible"),
        ("x**2 + y**2", ["x**2 + y**2 == -1"], "infeasible"),
        ("-x + y**2", ["x >= 1"], "unbounded"),
    ],
)
def test_constrained_problems_without_a_solution(expression: str, subject: list[str], verdict: str) -> None:
    found = ad.minimize(expression, at={"x": 3, "y": 4}, subject=subject)
    assert (found.verdict, found.converged, found.steps > 0) == (verdict, False, True)


@pytest.mark.exhaustive
@pytest.mark.parametrize("n", [300, 10_000])
def test_many_variables(n: int) -> None:
    found = ad.minimize("sum(100*(x[1::2]-x[::2]**2)**2 + (1-x[::2])**2)", at={"x": np.tile([-1.2, 1], n // 2)})
    assert (found.verdict, found.converged) == ("minimum", True)
    assert found.solution["x"] == pytest.approx(np.ones(n), rel=1e-14)
    # The Hessian matrix consists of blocks [[802, -400], [-400, 200]].
    assert found.eigenvalues == pytest.approx([501 - np.sqrt(501**2 - 400), 501 + np.sqrt(501**2 - 400)], rel=1e-3)


def test_values_that_overflow_end_with_a_message_only() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = ad.minimize("1e308*y", {"y": 1.0})
    assert result.verdict == "unbounded"
    assert not result.converged


def test_evaluations_that_take_long_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(10_000))
    monkeypatch.setattr(system.time, "thread_time", lambda: 0.01 * next(clock))
    for constraints in ([], ["x >= y - 9"]):
        result = ad.minimize("exp(-x) + (y - sin(x))**2", {"x": 1.0, "y": 0.0}, subject=constraints)
        assert (result.verdict, result.converged) == ("not_converged", False)
        assert "4 s" in result.sentence
        assert np.isfinite(result.value)


@pytest.mark.parametrize("start", [5e-324, 1e-310, 1e-200])
def test_starts_beside_zero(start: float) -> None:
    result = ad.minimize("sin(x)", {"x": start})
    assert (result.converged, result.value) == (True, -1)


def test_a_jump_beside_the_point_is_seen() -> None:
    # At 0, the derivatives are those of x**4; to the left of 0, the value is -1 + x**2.
    found = ad.minimize("tanh(minimum(x**4, 1/x)) + x**2", at={"x": 0.7})
    assert found.value == pytest.approx(-1)


def test_a_minimum_and_its_steps_as_latex() -> None:
    shown = run('autodiff minimize "(x-1)**2 + v[0]**2" --at "x=0,v=[1]" --subject "x + v[0] == 2" --format latex')
    assert "$x$ & $1.5$ & $0$ " in shown
    assert "${v}_{0}$ & $0.5$ " in shown
    assert r"x + v[0] == $2$ & $1$ \\" in shown
    steps = run('autodiff minimize "(x-1)**2" --at x=0 --trace --format latex')
    assert r"step & x & value & gradient\_norm" in steps
    assert "$0$ & $0$ & $1$ & $2$" in steps


@pytest.mark.parametrize(
    ("expression", "bounds", "verdict"),
    [
        ("x*y", {"x": (0, 5), "y": (0, 5)}, "flat"),  # 0 on the edges, and positive inside
        ("x*y + x**2 + y**2", {"x": (0, 5), "y": (0, 5)}, "at_bound"),
        ("x**2 - 3*x*y + y**2", {"x": (0, 5), "y": (-5, 0)}, "at_bound"),  # copositive there, although indefinite
        ("x**2 + 3*x*y + y**2 + z**2 + z*x", {"x": (0, 5), "y": (0, 5), "z": (-1, 1)}, "at_bound"),
    ],
)
def test_curvature_counts_in_feasible_directions_only(expression: str, bounds: dict, verdict: str) -> None:
    """The least value on a grid in the box is that at the corner."""
    found = ad.minimize(expression, at=dict.fromkeys(bounds, 0.0), bounds=bounds)
    assert (found.verdict, found.converged) == (verdict, True)
    grid = np.meshgrid(*(np.linspace(low / 50, high / 50, 21) for low, high in bounds.values()))
    assert np.min(eval(expression, dict(zip(bounds, grid, strict=True)))) == found.value == 0


def test_a_descent_into_the_box_leaves_a_corner() -> None:
    found = ad.minimize("x**2 - 3*x*y + y**2", at={"x": 0, "y": 0}, bounds={"x": (0, 5), "y": (0, 5)})
    x, y = np.meshgrid(*[np.linspace(0, 5, 501)] * 2)
    assert found.converged
    assert found.value == pytest.approx(np.min(x**2 - 3 * x * y + y**2), abs=1e-12)


def test_variables_without_elements_beside_a_flat_one() -> None:
    assert ad.minimize("sum(x) + 0*z", {"z": 5, "x": []}).verdict == "flat"
    assert ad.minimize("sum(x) + (z - 1)**4", {"z": 5, "x": []}).verdict == "minimum"


@pytest.mark.parametrize(
    "command",
    ["minimize '(x-1)**2 + y**2' --at x=0,y=1", "root 'x + y = 1; x - y = 1' --at x=0,y=1", "propagate '2*x' --at 'x=1(1)'"],
)
def test_the_suffix_of_a_file_selects_its_format(command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    suffixes = {"txt": "plain", "json": "json", "ndjson": "ndjson", "csv": "csv", "tsv": "tsv", "md": "markdown", "tex": "latex"}
    for suffix, style in suffixes.items():
        assert run(f"autodiff {command} -o a.{suffix}") == ""
        assert Path(f"a.{suffix}").read_text() == run(f"autodiff {command} --format {style}")
    run(f"autodiff {command} -q -o a.txt")
    assert Path("a.txt").read_text() == run(f"autodiff {command} -q")
    names = ", ".join(f".{suffix}" for suffix in ("txt", "json", "ndjson", "csv", "tsv", "md", "tex"))
    assert f"use a name that ends in one of {names}\n" in run(f"autodiff {command} -o a.zip")


def test_a_value_that_is_level_for_its_rounding_only_is_not_flat_at_a_bound() -> None:
    """The hyperbolic tangent is 1 in floats between the bounds, and falls towards the upper one."""
    found = ad.minimize("tanh(1099511627776*(x - 2.625)**4)", at={"x": -2.7}, bounds={"x": (-2, 2)})
    assert (found.verdict, found.converged) == ("underflow", False)
    assert ad.minimize("relu(x)", at={"x": -3}, bounds={"x": (-2, 2)}).verdict == "flat"


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("z = sum(softplus(-y*(X @ w)), dim=0); z + 0.05*sum(w**2)", True),
        ("sum(floor(w))", False),
        ("sum(w)/w[0]", False),
        ("sum(where(w > 0, 1, 2))", False),
        ("f(x) = 1/x; f(sum(w))", False),
        ("sum(w)**0.5 + sum(w**-1)", False),
        ("sum(w.T)", False),
        ("sum(w) % 2", False),
    ],
)
def test_programs_of_continuous_functions_are_recognized(program: str, expected: bool) -> None:
    assert is_continuous_everywhere(parse(program)) is expected
