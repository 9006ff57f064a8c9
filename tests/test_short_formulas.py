"""Formulas of ``diff`` are as short as a person's: textbook derivatives, with the numbers of the formula that a person wrote."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.symbolic.differentiate import diff


class Row(NamedTuple):
    expression: str
    order: int
    written: str

    @property
    def derivative(self) -> str:
        (text,) = diff(self.expression, order=self.order, wrt=["x"]).texts.values()
        return text


LINES = (Path(__file__).parent / "cases" / "textbook_derivatives.txt").read_text(encoding="utf-8").splitlines()
CELLS = [re.split(r"  +", line) for line in LINES if line and not line.startswith("#")]
ROWS = [Row(expression, int(order), written) for expression, order, written in CELLS]


def _values(formula: str, points: dict[str, np.ndarray]) -> np.ndarray:
    used = {name: values for name, values in points.items() if re.search(rf"\b{name}\b", formula)}
    return np.broadcast_to(ad.evaluate(formula, const=used).value, next(iter(points.values())).shape)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.expression}-{row.order}")
def test_textbook_derivatives_are_right(row: Row) -> None:
    names = sorted(set(re.findall(r"\b[a-z]\b", row.expression)) | {"x"})
    points = {name: np.random.default_rng(i).uniform(0.2, 2.2, 40) for i, name in enumerate(names)}
    derivative, written = _values(row.derivative, points), _values(row.written, points)
    inside = np.isfinite(written) & np.isfinite(derivative)
    assert inside.sum() >= 3
    np.testing.assert_allclose(derivative[inside], written[inside], rtol=1e-7, atol=1e-9)
    # the form that keeps its digits is checked against the engine, and the written formula against both
    stable = ad.evaluate(row.expression, at={name: float(values[inside][0]) for name, values in points.items()}, order=row.order)
    exact = stable.grad["x"] if row.order == 1 else stable.derivatives[("x",) * row.order]
    np.testing.assert_allclose(written[inside][0], exact, rtol=1e-7, atol=1e-9)


def test_textbook_derivatives_are_as_short_as_a_person_writes_them() -> None:
    def length(text: str) -> int:
        return len(text.replace(" ", ""))

    longer = {(row.expression, row.order): row.derivative for row in ROWS if length(row.derivative) > 1.2 * length(row.written)}
    assert len(longer) <= 0.02 * len(ROWS), longer


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("b*x + x*b", "2*b"),
        ("exp(a*x)*cos(b*x)", "(a*cos(b*x) - b*sin(b*x))*exp(a*x)"),
        ("x*y*z", "y*z"),
        ("k*x*sin(k*x)", "k*(k*x*cos(k*x) + sin(k*x))"),
        ("m*c**2*x", "m*c**2"),
    ],
)
def test_names_are_in_the_order_of_the_expression(expression: str, expected: str) -> None:
    (text,) = diff(expression, wrt=["x"]).texts.values()
    assert text == expected


@pytest.mark.parametrize(
    ("expression", "order", "expected"),
    [
        ("exp(-x**2/2)", 10, "(x**10 - 45*x**8 + 630*x**6 - 3150*x**4 + 4725*x**2 - 945)*exp(-x**2/2)"),
        ("x**a", 5, "a*(a - 1)*(a - 2)*(a - 3)*(a - 4)*x**(a - 5)"),
        ("log(x)", 9, "40320/x**9"),
        ("sin(a*x)", 9, "a**9*cos(a*x)"),
        ("1/(1 + x**2)", 4, "24*(5*x**4 - 10*x**2 + 1)/(x**2 + 1)**5"),
    ],
)
def test_high_orders_are_polynomials_times_the_function(expression: str, order: int, expected: str) -> None:
    (text,) = diff(expression, order=order, wrt=["x"]).texts.values()
    assert text == expected


def test_stable_keeps_the_form_that_keeps_its_digits() -> None:
    at = {"x": 1e200}
    short, stable = diff("atan(x)*1e300", at), diff("atan(x)*1e300", at, stable=True)
    assert list(short.texts.values()) == ["1e+300/(x**2 + 1)"]
    assert list(stable.texts.values()) == ["1e+300/hypot(x, 1)**2"]
    assert short.values == stable.values


def test_the_order_of_terms_does_not_depend_on_the_run() -> None:
    expression = "exp(-x)*sin(a*x)*cos(b*x)/(1 + x**2)*(exp(a*x) + exp(-b*x))"
    assert len({tuple(diff(expression, order=2).texts.values()) for _ in range(3)}) == 1


@pytest.mark.parametrize(
    "expression", ["(x - 1)/(1 - x)**2", "(x - y)*(z - x)/((y - x)*(x - z)**2)", "(x - 1)**2/(1 - x)*x", "(1 - x)/(x - 1)"]
)
def test_opposite_sums_are_powers_of_one_base(expression: str) -> None:
    at = {"x": 0.3, "y": 0.8, "z": -1.7}
    at = {name: value for name, value in at.items() if name in expression}
    for stable in (True, False):
        values = diff(expression, at, wrt=["x"], stable=stable).values["x",]
        assert values == pytest.approx(ad.evaluate(expression, at=at).grad["x"], rel=1e-12)
