"""What root, minimize and gradcheck claim is true for functions with jumps, holes, poles, kinks and plateaus."""

from __future__ import annotations

from collections import Counter

import pytest

import autodiff_cli as ad
from tests.accuracy.claims import claims, roots


@pytest.mark.exhaustive
def test_no_claim_is_false() -> None:
    """``python -m tests.accuracy.claims`` judges 2,000 functions."""
    judged = list(claims(8, seed=0))
    assert [f"{one.reason}: {one.line}" for one in judged if one.said == "FALSE"] == []
    right = Counter(one.command for one in judged if one.said == "right")
    assert set(right) == {"root --at", "root --over", "minimize", "gradcheck"}
    assert right.total() > len(judged) / 2


@pytest.mark.exhaustive
def test_no_simple_root_is_missed() -> None:
    """``python -m tests.accuracy.claims --roots 10000`` judges polynomials, determinants and piecewise functions."""
    assert [f"{one.reason}: {one.line}" for one in roots(6, seed=1) if one.said == "FALSE"] == []


def test_a_simple_root_does_not_touch() -> None:
    """A quotient that is nearly 0 around a double zero of its numerator, beside a pole, is not called a root there."""
    quartic = "x**4 - 8.125*x**3 + 23.140625*x**2 - 24.693359375*x + 4.85009765625"
    found = ad.root(f"inv([[1099511627776*(x + 0.5), -0.625], [1.25, {quartic}]])[0][0]", over={"x": (-3.1, 3.2)}, all=True)
    assert not any(one.multiplicity % 2 and one.proof == "touching" for one in found.roots)
    assert not found.complete


@pytest.mark.exhaustive
def test_a_root_beside_a_pole_of_a_function_of_arrays_is_not_denied() -> None:
    """The root -1.75 is within 1e-13 of a pole of the element of the inverse."""
    matrix = "[[1099511627776*(x - 2.375)*((x + 2.625)**2 + 1.125), 0.375], [0.625, 3*x**2 + 9.375*x + 7.21875]]"
    found = ad.root(f"inv({matrix})[0][0]", over={"x": (-3.1, 3.2)}, all=True)
    assert any("not decided" in one["message"] and "-1.75" in one["message"] for one in found.notes)


def test_a_steep_element_of_an_inverse_does_not_jump() -> None:
    """Its root -2.125 is one float away from a pole, and 50 digits tell it from a jump."""
    matrix = "[[-(x - 0.5)*(x - 0.2)*((x - 0.5)**2 + 1), -0.5], [2.125, 1099511627776*(x + 2.125)*(x - 0.875)]]"
    found = ad.root(f"inv({matrix})[0][0]", over={"x": (-3.1, 3.2)}, all=True)
    assert [one.solution["x"] for one in found.roots] == pytest.approx([-2.125, 0.875], abs=1e-14)
    assert not any(one["kind"] == "jump" for one in found.notes)


@pytest.mark.exhaustive
def test_a_step_between_values_of_a_singular_system_is_not_a_root() -> None:
    """The solution has a pole at 0.125, where the matrix is 0 but for one element: its hyperbolic tangent jumps from -1 to 1."""
    matrix = "[[-(x + 2.25)*(x - 0.125)*((x + 1.375)**2 + 1.875), 0], [2.75, x**2 + 2.875*x - 0.375]]"
    found = ad.root(f"tanh(solve({matrix}, [-0.75, 1])[0])", over={"x": (-3.1, 3.2)}, all=True)
    assert (found.roots, found.complete) == ([], False)
