"""The derivatives are those that PyTorch was recorded with, at kinks and elsewhere, with a short list of exceptions.

The records are compared with the code and not with the pages, so that generating a page again cannot hide a change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from tests.pages import kinks
from tests.pages.expressions_at_kinks import CASES
from tests.points import edges_of
from tests.shell import ROOT

AT_KINKS = json.loads(kinks.RECORDS.read_text(encoding="utf-8"))["answers"]
EXPRESSIONS = json.loads((ROOT / "tests/golden/expressions.json").read_text(encoding="utf-8"))["records"]

AGREED = {
    "fmod(1, 0)": "nan is the derivative of a value that is nan",
    "slogdet([[1, 2], [2, 4]])": "the infinities have the signs of the inverse near the matrix",
    "digamma(-1)": "PyTorch rounds the argument of a pole",
    "quantile([1, 2, 4], 0.5)": "PyTorch does not differentiate by the position",
}
"""The kinks at which the answer of PyTorch is a number and another answer is wanted, with the reason."""


def answers() -> Iterator[tuple[str, kinks.Answer]]:
    """The key and the answer at each kink."""
    for op in kinks.with_edges():
        for edge in edges_of(op):
            for order in kinks.orders(op):
                yield kinks.edge_key(op, edge, order), kinks.ours(op, edge, order)
    for case in CASES:
        yield kinks.case_key(case), kinks.ours_in(case)


def is_followed(ours: kinks.Answer, theirs: kinks.Answer | None) -> bool:
    """Whether an answer is PyTorch's where that is a number; PyTorch may lack the function or refuse to differentiate."""
    if theirs is None or "refused" in theirs:
        return True
    found, wanted = (np.concatenate([np.ravel(flat(part)) for part in each["grad"]]) for each in (ours, theirs))
    return bool(np.all(np.isnan(wanted) | np.isclose(found, wanted, rtol=1e-6, atol=1e-12)))


def flat(part: Any) -> Any:
    return np.array(0.0 if part is None else part).astype(float)


def test_kinks() -> None:
    assert {key for key, ours in answers() if not is_followed(ours, AT_KINKS[key]["torch"])} == set(AGREED)


@pytest.mark.parametrize("record", EXPRESSIONS, ids=lambda record: f"{record['expr']} at {record['at']}"[:80])
def test_expressions(record: dict[str, Any]) -> None:
    found = ad.evaluate(record["expr"], at=record["at"]).grad
    for name, wanted in record["grad"].items():
        numbers = np.array(wanted).astype(float)
        assert np.all(np.isnan(numbers) | np.isclose(found[name], numbers, rtol=1e-9, atol=1e-12)), name
