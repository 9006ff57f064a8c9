"""Unselected branches contribute nothing at any order, even where their own derivative is infinite or nan."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import autodiff_cli as ad

_, *CASES = (Path(__file__).parent / "cases" / "selected_branches.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("case", CASES)
def test_what_is_left(case: str) -> None:
    expression, point, left = re.split(" at | is ", case)
    found = ad.evaluate(expression, at={"x": float(point)}, order=4)
    expected = ad.evaluate(left, at={"x": float(point)}, order=4)
    assert found.grad["x"] == pytest.approx(expected.grad["x"], rel=1e-14)
    assert [float(v) for v in found.derivatives.values()] == pytest.approx(
        [float(v) for v in expected.derivatives.values()], rel=1e-13, abs=1e-300
    )


def test_element_by_element() -> None:
    x = ad.tensor([-1.0, 0.0, 4.0], requires_grad=True)
    y = ad.where(x > 0, ad.sqrt(x), 0.0)
    (first,) = ad.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = ad.autograd.grad(first.sum(), x)
    assert (first.tolist(), second.tolist()) == ([0.0, 0.0, 0.25], [0.0, 0.0, -0.03125])


def test_a_value_that_is_broadcast() -> None:
    x = ad.tensor(0.0, requires_grad=True)
    ad.where(ad.tensor([False, False]), ad.sqrt(x), ad.tensor([1.0, 2.0])).sum().backward()
    assert x.grad.item() == 0.0


def test_what_is_taken_elsewhere_counts() -> None:
    x = ad.tensor([0.0, 4.0], requires_grad=True)
    root = ad.sqrt(x)
    (ad.where(x > 1, root, 0.0) + root).sum().backward()
    assert x.grad.tolist() == [math.inf, 0.5]


@pytest.mark.parametrize("expression", ["sqrt(x)*sqrt(x)", "sqrt(x)*0", "log(x)*x", "where(x >= 0, sqrt(x), 0)*sqrt(x)"])
def test_a_zero_that_was_computed_hides_nothing(expression: str) -> None:
    assert math.isnan(ad.evaluate(expression, at={"x": 0.0}).grad["x"])


def test_an_operation_that_mixes_its_elements_passes_nothing_on() -> None:
    x = ad.tensor([0.0, 1.0], requires_grad=True)
    mixed = ad.tensor([[1.0, 1.0], [1.0, 2.0]]) @ ad.sqrt(x)
    ad.where(ad.tensor([True, False]), mixed, 0.0).sum().backward()
    assert x.grad.tolist() == [math.inf, 0.5]


@pytest.mark.exhaustive
@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-2, 2).map(lambda v: round(v, 2)), min_size=1, max_size=5))
def test_where_is_the_chosen_branch(values: list[float]) -> None:
    text = "where(x > 0, log(x) + x**1.5, x**2*exp(x)).sum()"
    found = ad.evaluate(text, at={"x": values}, order=2)
    for i, value in enumerate(values):
        branch = "log(x) + x**1.5" if value > 0 else "x**2*exp(x)"
        alone = ad.evaluate(branch, at={"x": value}, order=2)
        assert found.grad["x"][i] == pytest.approx(alone.grad["x"], rel=1e-14)
        assert found.hessian["x"]["x"][i, i] == pytest.approx(alone.hessian["x"]["x"], rel=1e-13)


def test_mixed_partials_commute_at_the_edge() -> None:
    result = ad.evaluate("x**q", at={"x": 2.0, "q": 0.0}, order=2)
    assert result.hessian["x"]["q"] == result.hessian["q"]["x"] == 0.5
    powers = ad.evaluate("x**2", at={"x": 0.0}, order=3)
    assert [float(v) for v in powers.derivatives.values()] == [2.0, 0.0]


def test_masks_are_not_made_for_nothing() -> None:
    seen: list[Any] = []
    x = ad.tensor(np.linspace(0.5, 1, 4), requires_grad=True)
    y = ad.exp(x)
    y.register_hook(lambda g: seen.append(g.tolist()))
    ad.where(x > 0.7, y, 0.0).sum().backward()
    assert seen == [[0.0, 0.0, 1.0, 1.0]]
