"""The steps to a derivative: every equation holds at random points, and is an expression of the language."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.cli.main import main
from autodiff_cli.errors import NotRecordable
from autodiff_cli.symbolic.matrices.diff import numbers_of_engine, random_values
from tests.matrix_expressions import expressions
from tests.matrix_tables import Row, rows
from tests.test_matrix_formulas import random_point
from tests.test_short_formulas import ROWS
from tests.test_short_formulas import Row as Written

MATRICES = [row for name in ("derivatives", "losses", "cookbook") for row in rows(name)]
_, *PROGRAMS = (Path(__file__).parent / "cases" / "steps.txt").read_text(encoding="utf-8").splitlines()


def blocks(steps: Sequence[Any]) -> list[tuple[list[Any], list[Any]]]:
    """Return the parts and the derivatives of each program that is differentiated."""
    result: list[tuple[list[Any], list[Any]]] = [([], [])]
    for step in steps:
        if " = " in step.of and result[-1][1]:
            result.append(([], []))
        result[-1][" = " not in step.of].append(step)
    return result


def number(text: str, values: Mapping[str, Any]) -> np.ndarray:
    return np.asarray(ad.evaluate(text, const=values).value, dtype=np.float64)


def close(value: np.ndarray, expected: np.ndarray, said: str) -> None:
    finite = np.isfinite(expected) & np.isfinite(value)  # a product over a dimension is written with the reciprocals of its factors
    np.testing.assert_array_equal(np.shape(value), np.shape(expected), err_msg=said)
    np.testing.assert_allclose(value[finite], expected[finite], rtol=1e-8, atol=1e-9, err_msg=said)


def check(expression: str, result: Any, values: dict[str, Any], by: Sequence[str]) -> int:
    """Compare every equation with the engine, and return the number of equations."""
    definitions = "".join(f"{part.strip()}; " for part in expression.split(";") if "with grad" in part)
    directions = {name: np.random.default_rng(5).uniform(-1, 1, np.shape(values[name])) for name in by}
    directions = {name: d + d.T if name in result.symmetric else d for name, d in directions.items()}
    for parts, derivatives in blocks(result.steps):
        names, program = dict(values), ""
        differentials: dict[str, Any] = {}
        for name, direction in directions.items():
            used = {*re.findall(r"\w+", expression), *differentials}
            differentials[next(d for d in (f"d{name}", f"dd{name}", f"ddd{name}") if d not in used)] = direction
        for step in parts:
            name, of = step.of.split(" = ", 1)
            program += f"{step.of}; "
            names[name] = number(definitions + of, names)
            close(names[name], number(f"{definitions}{program}{name}", values), step.of)
            *statements, gives = step.gives.split("; ")
            left, gives = gives.split(" = ", 1)
            value = number("; ".join([*statements, gives]), {**names, **differentials})
            at, const = {name: values[name] for name in by}, {name: value for name, value in values.items() if name not in by}
            change = ad.jvp(f"{definitions}{program}{name}", at=at, const=const, vector=directions).derivatives
            close(value, np.asarray(change, dtype=np.float64), step.gives)
            differentials[left] = np.asarray(change)
        for step in derivatives:
            *statements, gives = step.gives.split("; ")
            left, gives = gives.split(" = ", 1)
            whole, _, variable = left.partition("/d")
            term = [*whole.split("_")[1:], variable]
            if len(term) <= 2:
                expected = numbers_of_engine(expression, term, values)
            else:  # formulas of high orders are compared with Taylor mode in test_diff.py
                expected = number(ad.diff(expression, wrt=by, order=len(term)).texts[tuple(term)], values)
            close(number(definitions + "; ".join([*statements, gives]), names), expected, step.gives)
    return len(result.steps)


@pytest.mark.parametrize("case", PROGRAMS)
def test_steps_of_programs(case: str) -> None:
    order, _, expression = case.partition(" ")
    result = ad.diff(expression, order=int(order), steps=True)
    result.symmetric = ()
    by = list(dict.fromkeys(name for term in result.texts for name in term))
    for seed in range(3):
        values = dict(zip(by, np.random.default_rng(seed).uniform(0.2, 2, len(by)), strict=True))
        assert check(expression, result, values, by) >= 1


@pytest.mark.sampled(8)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.expression}-{row.order}")
def test_steps_of_textbook_derivatives(row: Written) -> None:
    result = ad.diff(row.expression, order=row.order, wrt=["x"], steps=True)
    result.symmetric = ()
    names = sorted(set(re.findall(r"\b[a-zA-Z]\b", row.expression)) - {"e"})
    values = dict(zip(names, np.random.default_rng(3).uniform(0.2, 0.9, len(names)), strict=True))
    check(row.expression, result, values, ["x"])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("row", MATRICES, ids=lambda row: f"{row.expression}-{','.join(row.wrt)}")
def test_steps_of_vectors_and_matrices(row: Row) -> None:
    result = ad.diff(row.expression, wrt=[row.wrt[0]], order=len(row.wrt), shape=row.shape, symmetric=row.symmetric, steps=True)
    result.symmetric = row.symmetric
    check(row.expression, result, random_point(row, 9), [row.wrt[0]])


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(200))
def test_steps_of_random_expressions(seed: int) -> None:
    expression, wrt, shape = expressions(random.Random(seed))
    try:
        result = ad.diff(expression, wrt=[wrt], shape=shape, steps=True)
    except NotRecordable:
        return
    result.symmetric = ()
    values = random_values({"c": (), **{name: tuple(dims.split(",")) for name, dims in shape.items()}}, (), 1)
    check(expression, result, values, [wrt])


def test_rules_have_their_names() -> None:
    steps = ad.diff("3*x**2*sin(x)/exp(2*x) + 2**x - x**x + log(a*x)", wrt=["x"], steps=True).steps
    assert [(step.of, step.gives, step.rule) for step in steps[:-2]] == [
        ("u = 3*x**2", "du = 6*x*dx", "power rule"),
        ("v = sin(x)", "dv = cos(x)*dx", "rule of sin"),
        ("w = 2*x", "dw = 2*dx", "constant factor"),
        ("p = u*v", "dp = u*dv + v*du", "product rule"),
        ("q = exp(w)", "dq = exp(w)*dw", "rule of exp, chain rule"),
        ("r = p/q", "dr = dp/q - p*dq/q**2", "quotient rule"),
        ("s = 2**x", "ds = 2**x*log(2)*dx", "exponential rule"),
        ("u1 = x**x", "du1 = (log(x) + 1)*x**x*dx", "power and exponential rule"),
        ("u2 = a*x", "du2 = a*dx", "constant factor"),
        ("u3 = log(u2)", "du3 = du2/u2", "rule of log, chain rule"),
        ("z = r + s - u1 + u3", "dz = dr + ds - du1 + du3", "sum rule"),
    ]


def test_the_last_step_is_the_formula_that_diff_prints() -> None:
    result = ad.diff("softmax(A @ x)", wrt=["x"], shape={"A": "m,n", "x": "n"}, steps=True)
    assert result.steps[1] == ("rule of softmax, chain rule", "z = softmax(u)", "dz = softmax(u)*(du - du @ softmax(u))")
    assert result.steps[-1].gives.replace("dz/dx = ", "") == result.texts["x",]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["diff", *arguments, "--steps"]) == 0
    return capsys.readouterr().out


def test_formats(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    steps = json.loads(printed(capsys, "x*y", "--wrt", "x", "--json"))["steps"]
    assert steps == [
        {"rule": "constant factor", "of": "z = x*y", "gives": "dz = y*dx"},
        {"rule": "coefficient of dx", "of": "z", "gives": "dz/dx = y"},
    ]
    assert "| product rule | z = x\\*y | dz = x\\*dy + y\\*dx |" in printed(capsys, "x*y", "--format", "markdown")
    assert "product rule       z = x*y  dz = x*dy + y*dx\n" in printed(capsys, "x*y", "--format", "plain")
    assert printed(capsys, "x*y", "-q") == "y\nx\n"
    matrices = printed(capsys, "sum((A @ x)**2)", "--wrt", "x", "--shape", "A=m,n", "--shape", "x=n", "--format", "latex")
    assert r"\mathbf{u} &= \mathbf{A} \mathbf{x} & \mathrm{d}\mathbf{u} &= \mathbf{A} \mathrm{d}\mathbf{x} &&" in matrices
    assert r" & & \frac{\partial z}{\partial \mathbf{x}} &= 2 \mathbf{A}^{\top} \mathbf{u} && \text{coeff" in matrices
    monkeypatch.setenv("COLUMNS", "60")
    table = printed(capsys, "log(1 + exp(x*sin(x)))", "--order", "2")
    assert max(map(len, table.splitlines())) <= 60


def test_a_part_without_a_formula_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "f(a) = a**2 with grad (2*a); f(x)", "--steps"]) == 3
    assert "'f' has user-written derivatives, which have no formula here" in capsys.readouterr().err
    assert main(["diff", "sum(cumprod(x))", "--shape", "x=n", "--steps"]) == 3
    assert "'cumprod' has no formula for vectors and matrices" in capsys.readouterr().err
