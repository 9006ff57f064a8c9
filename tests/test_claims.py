"""What root, minimize and gradcheck claim is true for functions with jumps, holes, poles, kinks and plateaus."""

from __future__ import annotations

from collections import Counter

from tests.accuracy.claims import claims, roots


def test_no_claim_is_false() -> None:
    """``python -m tests.accuracy.claims`` judges 2,000 functions."""
    judged = list(claims(16, seed=0))
    assert [f"{one.reason}: {one.line}" for one in judged if one.said == "FALSE"] == []
    right = Counter(one.command for one in judged if one.said == "right")
    assert set(right) == {"root --at", "root --over", "minimize", "gradcheck"}
    assert right.total() > len(judged) / 2


def test_no_simple_root_is_missed() -> None:
    """``python -m tests.accuracy.claims --roots 10000`` judges polynomials, determinants and piecewise functions."""
    assert [f"{one.reason}: {one.line}" for one in roots(12, seed=1) if one.said == "FALSE"] == []
