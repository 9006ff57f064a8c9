"""``fit`` with errors in columns: published values, and dense fits of the parameters and all true values together."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import least_squares

import autodiff_cli as ad
from autodiff_cli.errors import UnknownName, UsageError
from tests.shell import streams

PEARSON = {
    "x": [0.0, 0.9, 1.8, 2.6, 3.3, 4.4, 5.2, 6.1, 6.5, 7.4],
    "y": [5.9, 5.4, 4.4, 4.6, 3.5, 3.7, 2.8, 2.8, 2.4, 1.5],
    "wx": [1000.0, 1000, 500, 800, 200, 80, 60, 20, 1.8, 1],
    "wy": [1.0, 1.8, 4, 8, 20, 20, 70, 70, 100, 500],
}
"""Pearson's data (1901) with the weights of York, "Least-squares fitting of a straight line" (1966)."""


@pytest.mark.parametrize("start", [{"a": 6.0, "b": -0.5}, {"a": 1.0, "b": 1.0}])
def test_the_line_of_york(start: dict[str, float]) -> None:
    # York, Evensen, Martinez, De Basabe Delgado, "Unified equations for the slope, intercept, and standard errors of the best
    # straight line" (2004); a start with b = 1 leads to another local minimum.
    found = ad.fit("y = a + b*x", PEARSON, at=start, sigma="1/sqrt(wy)", sigma_x={"x": "1/sqrt(wx)"})
    assert found.converged
    assert found.values["a"] == pytest.approx(5.47991022403, rel=1e-11)
    assert found.values["b"] == pytest.approx(-0.48053340745, rel=1e-11)
    assert found.errors["a"] == pytest.approx(0.294970735, rel=1e-8)
    assert found.errors["b"] == pytest.approx(0.0579850090, rel=1e-8)
    assert found.statistics["reduced_chi2"] == pytest.approx(1.483294149, rel=1e-9)
    assert found.residual["dof"] == 8
    scaled = ad.fit("y = a + b*x", PEARSON, at=start, weights="wy", sigma_x=["x=1/sqrt(wx)"])
    assert scaled.values["b"] == pytest.approx(found.values["b"], rel=1e-13)
    assert scaled.errors["b"] == pytest.approx(0.0579850090 * 1.483294149**0.5, rel=1e-8)


Curve = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _dense(
    model: Curve, start: list[float], y: np.ndarray, sigma: np.ndarray | float, x: np.ndarray, spread: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Fit parameters and true values together; return the parameters, their standard errors, and the sum of squares."""
    n = len(start)

    def residuals(p: np.ndarray) -> np.ndarray:
        truth = p[n:].reshape(x.shape)
        return np.concatenate([(y - model(p[:n], truth)) / sigma, ((truth - x) / spread).ravel()])

    found = least_squares(residuals, [*start, *x.ravel()], jac="3-point", xtol=1e-15, ftol=1e-15, gtol=1e-15, x_scale="jac")
    return found.x[:n], np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)))[:n], 2 * found.cost


RANDOM = np.random.default_rng(3)


def test_a_curve_is_the_dense_fit_of_parameters_and_true_values() -> None:
    truth = np.linspace(0, 4, 25)
    x, y = truth + 0.1 * RANDOM.standard_normal(25), 3 * np.exp(-0.7 * truth) + 0.05 * RANDOM.standard_normal(25)
    found = ad.fit("y = a*exp(-k*x)", {"x": x, "y": y}, at={"a": 1, "k": 1}, sigma="0.05", sigma_x={"x": 0.1})
    values, errors, rss = _dense(lambda p, t: p[0] * np.exp(-p[1] * t), [2, 0.5], y, 0.05, x, np.full(25, 0.1))
    assert found.converged
    assert list(found.values.values()) == pytest.approx(values, rel=1e-7)
    assert list(found.errors.values()) == pytest.approx(errors, rel=1e-6)
    assert found.residual["rss"] == pytest.approx(rss, rel=1e-10)
    assert found.digits >= 12


def test_two_columns_with_errors_of_their_own_for_each_row() -> None:
    truth = RANDOM.uniform(0.5, 2, (2, 20))
    spread = RANDOM.uniform(0.02, 0.1, (2, 20))
    u, v = truth + spread * RANDOM.standard_normal((2, 20))
    y = 1.5 * truth[0] ** 0.8 / truth[1] + 0.02 * RANDOM.standard_normal(20)
    data = {"u": u, "v": v, "y": y, "du": spread[0], "dv": spread[1]}
    found = ad.fit("y = c*u**p/v", data, at={"c": 1, "p": 1}, sigma="0.02", sigma_x={"u": "du", "v": "dv"})
    values, errors, _ = _dense(lambda p, t: p[0] * t[0] ** p[1] / t[1], [1, 1], y, 0.02, np.array([u, v]), spread)
    assert list(found.values.values()) == pytest.approx(values, rel=1e-7)
    assert list(found.errors.values()) == pytest.approx(errors, rel=1e-6)


def test_bounds_starts_and_profiles_work_as_without_errors_in_columns() -> None:
    options = {"sigma": "1/sqrt(wy)", "sigma_x": {"x": "1/sqrt(wx)"}}
    held = ad.fit("y = a + b*x", PEARSON, at={"a": 6, "b": -0.5}, bounds={"b": (-0.4, 0)}, **options)
    assert held.converged
    assert held.parameters["b"]["at_bound"] == "lower"
    alone = ad.fit("y = a - 0.4*x", PEARSON, at={"a": 6}, **options)
    assert held.values["a"] == pytest.approx(alone.values["a"], rel=1e-12)
    found = ad.fit("y = a + b*x", PEARSON, profile=True, **options)
    assert found.values["b"] == pytest.approx(-0.48053340745, rel=1e-11)
    low, high = found.profiles["b"]
    assert low < found.values["b"] - 1.5 * found.errors["b"]
    assert high > found.values["b"] + 1.5 * found.errors["b"]


def test_errors_in_columns_that_tend_to_zero_are_a_plain_fit() -> None:
    plain = ad.fit("y = a + b*x", PEARSON, at={"a": 6, "b": 0}, sigma="1/sqrt(wy)")
    found = ad.fit("y = a + b*x", PEARSON, at={"a": 6, "b": 0}, sigma="1/sqrt(wy)", sigma_x={"x": 1e-7})
    assert found.values["b"] == pytest.approx(plain.values["b"], rel=1e-9)
    assert found.errors["b"] == pytest.approx(plain.errors["b"], rel=1e-9)


def test_a_model_with_definitions_that_cannot_be_traced() -> None:
    options = {"at": {"a": 6, "b": -0.5}, "sigma": "1/sqrt(wy)", "sigma_x": {"x": "1/sqrt(wx)"}}
    plain = ad.fit("y = a + b*x", PEARSON, **options)
    found = ad.fit("k = -b; y = det([[a, x], [k, 1]])", PEARSON, **options)
    assert found.notes[0]["kind"] == "slow"
    assert found.values == pytest.approx(plain.values, rel=1e-11)
    assert found.errors == pytest.approx(plain.errors, rel=1e-8)


def test_the_report_says_that_columns_have_errors(tmp_path: Path) -> None:
    path = tmp_path / "pearson.csv"
    rows = zip(*PEARSON.values(), strict=True)
    path.write_text(",".join(PEARSON) + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    command = f'autodiff fit "y = a + b*x" {path} --at a=6,b=-1 --sigma "1/sqrt(wy)" --sigma-x "x=1/sqrt(wx)"'
    out, err, code = streams(command)
    assert (err, code) == ("", 0)
    assert "Errors in x are taken into account (orthogonal distance regression)." in out
    report = json.loads(streams(f"{command} --json")[0])
    assert report["errors_in"] == ["x"]
    assert report["curvature"] is None


def test_errors_of_the_option() -> None:
    with pytest.raises(UsageError, match="needs the standard deviations of the left side too"):
        ad.fit("y = a + b*x", PEARSON, at={"a": 6, "b": 0}, sigma_x={"x": 1})
    with pytest.raises(UnknownName, match="names 'z', which is not a column"):
        ad.fit("y = a + b*x", PEARSON, at={"a": 6, "b": 0}, sigma="1", sigma_x={"z": 1})
    with pytest.raises(UsageError, match="is 0"):
        ad.fit("y = a + b*x", PEARSON, at={"a": 6, "b": 0}, sigma="1", sigma_x={"x": "x"})
    with pytest.raises(UsageError, match="exclude each other"):
        ad.fit("y = a + b*x", PEARSON, at={"a": 6, "b": 0}, sigma="1", sigma_x={"x": 1}, loss="huber")
    with pytest.raises(UsageError, match="given twice"):
        ad.fit("y = a + b*x", PEARSON, at={"a": 6, "b": 0}, sigma="1", sigma_x=["x=1", "x=2"])
