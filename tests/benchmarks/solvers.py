"""Solvers beside programs written by hand: roots of many rows, a fit to many rows, and Newton's method in many variables.

``python tests/benchmarks/solvers.py`` prints the median of the ratios of the times, ours to theirs, in alternating rounds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

import autodiff_cli as ad
from tests.benchmarks.timing import in_turn, ratio

ROWS, FIT_ROWS = 200_000, 1_000_000
Columns = dict[str, np.ndarray]


def _compare(what: str, ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int = 7) -> None:
    times = in_turn({"ours": ours, "theirs": theirs}, rounds)
    least = {name: min(seconds) for name, seconds in times.items()}
    print(f"{what:<58} {least['ours']:8.3f} s {least['theirs']:8.3f} s {ratio(times['ours'], times['theirs']):6.2f}")


def roots() -> None:
    """Compare ``root``, which verifies every row, with Newton's method in NumPy, which stops when no row moves."""
    rng = np.random.default_rng(0)
    a, b = rng.uniform(0.1, 0.6, ROWS), rng.uniform(0.7, 3, ROWS)
    problems: list[tuple[str, Callable[..., Any], Callable[..., Any]]] = [
        ("x - a*sin(x) = b", lambda x: x - a * np.sin(x) - b, lambda x: 1 - a * np.cos(x)),
        ("x**3 + a*x = b", lambda x: x**3 + a * x - b, lambda x: 3 * x**2 + a),
        ("x*exp(x) + a = b", lambda x: x * np.exp(x) + a - b, lambda x: (1 + x) * np.exp(x)),
    ]
    for equation, residual, slope in problems:

        def newton(residual: Callable[..., Any] = residual, slope: Callable[..., Any] = slope) -> np.ndarray:
            x = np.ones(ROWS)
            for _ in range(60):
                step = residual(x) / slope(x)
                x = x - step
                if (np.abs(step) <= 1e-15 + 1e-14 * np.abs(x)).all():
                    return x
            raise AssertionError("not converged")

        def ours(equation: str = equation) -> dict[str, Any]:
            return ad.root(equation, {"x": 1.0}, data={"a": a, "b": b})

        found = ours()
        assert found["converged"].all()
        assert np.abs(found["x"] - newton()).max() < 1e-13
        _compare(f"root of {ROWS:,} rows, {equation}", ours, newton)


def fit() -> None:
    """Compare ``fit`` with ``scipy.optimize.curve_fit``, which is given the model and its Jacobian as compiled programs."""
    curve_fit = import_module("scipy.optimize").curve_fit
    rng = np.random.default_rng(0)
    x = np.linspace(0, 10, FIT_ROWS)
    models = [
        ("a*exp(-k*x) + c", {"a": 1.0, "k": 1.0, "c": 0.0}, [3, 0.7, 0.2]),
        ("a*exp(-k*x) + b*exp(-l*x) + c", {"a": 2.0, "k": 1.0, "b": 1.0, "l": 0.2, "c": 0.1}, [3, 0.7, 1.5, 0.1, 0.2]),
    ]
    for model, start, truth in models:
        value = ad.compile(model, order=0, variables=["x"])
        slopes = ad.compile(model, list(start), variables=["x"])
        names = [f"d_{name}" for name in start]

        def at(x: np.ndarray, *p: float, value: Any = value, start: Any = start) -> Any:
            return value(x=x, **dict(zip(start, p, strict=True)))["value"]

        def jacobian(x: np.ndarray, *p: float, slopes: Any = slopes, start: Any = start, names: Any = names) -> Any:
            columns = slopes(x=x, **dict(zip(start, p, strict=True)))
            return np.stack([columns[name] for name in names], axis=1)

        y = at(x, *truth) + 0.05 * rng.standard_normal(FIT_ROWS)

        def ours(model: str = model, start: Any = start, y: Any = y) -> Any:
            return ad.fit(f"y = {model}", {"x": x, "y": y}, at=start)

        def theirs(at: Any = at, jacobian: Any = jacobian, start: Any = start, y: Any = y) -> Any:
            return curve_fit(at, x, y, list(start.values()), jac=jacobian)

        np.testing.assert_allclose(list(ours().values.values()), theirs()[0], rtol=1e-5)
        _compare(f"fit of {FIT_ROWS:,} rows, {model}", ours, theirs, 5)


def minimum() -> None:
    """Compare the minimum of a logistic regression with Newton's method in NumPy, whose derivatives are written by hand."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 200))
    y = np.sign(X.sum(1) + rng.normal(size=2000))

    def newton() -> np.ndarray:
        w = np.zeros(200)
        for _ in range(50):
            p = 1 / (1 + np.exp(y * (X @ w)))
            gradient = 0.1 * w - X.T @ (y * p)
            step = np.linalg.solve(X.T @ ((p * (1 - p))[:, None] * X) + 0.1 * np.eye(200), -gradient)
            w += step
            if np.abs(step).max() <= 1e-14 * np.abs(w).max():
                break
        return w

    def ours() -> Any:
        loss = "sum(softplus(-y*(X @ w))) + 0.05*sum(w**2)"
        return ad.minimize(loss, {"w": np.zeros(200)}, const={"X": X, "y": y})

    np.testing.assert_allclose(ours().solution["w"], newton(), rtol=1e-9)
    _compare("minimum of a logistic regression, 200 coefficients", ours, newton, 5)


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    print(f"{'':<58} {'autodiff':>10} {'by hand':>10} {'ratio':>6}")
    roots()
    fit()
    minimum()
