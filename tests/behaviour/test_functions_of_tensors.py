"""Functions of tensors: values, first and second derivatives are those of PyTorch, which are recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.behaviour.functions_of_tensors import CASES, CONSTANTS, RECORDS, listed, outcome

RECORDED = json.loads(RECORDS.read_text(encoding="utf-8"))


def near(found: Any, wanted: Any) -> bool:
    """Whether nested lists of numbers are equal up to rounding."""
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(near, found, wanted))
    if isinstance(wanted, (bool, str)) or wanted is None:
        return bool(found == wanted)
    return bool(found == pytest.approx(wanted, rel=1e-11, abs=1e-12))


def zero_if_none(values: Any, like: Any) -> Any:
    """A derivative that is not recorded as a graph is 0."""
    if values is not None:
        return values
    return [zero_if_none(None, one) for one in like] if isinstance(like, list) else 0.0


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str) -> None:
    found, wanted = outcome(CASES[name]), RECORDED["cases"][name]
    assert near(found["value"], wanted["value"])
    assert near(found["first"], wanted["first"])
    if "second" not in wanted:
        return
    assert near(zero_if_none(found["second"], found["first"]), zero_if_none(wanted["second"], wanted["first"]))


@pytest.mark.parametrize("name", CONSTANTS)
def test_results_without_derivatives(name: str) -> None:
    assert near(listed(CONSTANTS[name]()), RECORDED["constants"][name])
