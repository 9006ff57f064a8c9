"""Suggestions for a misspelt name agree with Python's difflib, for any number of names."""

from __future__ import annotations

import random
from difflib import get_close_matches

import pytest

from autodiff_cli import suggest
from autodiff_cli.suggest import closest, suggestion
from tests.shell import run


@pytest.mark.parametrize("cutoff", [0.3, 0.6, 0.75])
def test_it_is_the_closest_of_all(cutoff: float) -> None:
    draw = random.Random(7)
    for _ in range(200):
        known = ["".join(draw.choices("abc_1", k=draw.randrange(1, 9))) for _ in range(50)]
        word = "".join(draw.choices("abc_1", k=draw.randrange(1, 9)))
        assert [closest(word, known, cutoff)] == (get_close_matches(word, known, 1, cutoff) or [None])


def test_capitals_and_words_that_are_no_names() -> None:
    assert suggestion("SQRT", ["sqrt", "sin"]) == "did you mean 'sqrt'?"
    assert suggestion("", ["sqrt"]) is None
    assert suggestion("sqrt", []) is None
    assert suggestion("a" * 100_000, ["a" * 99_999]) is None


def test_names_that_exist_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph of an expression makes its variables as it meets them: that is no mistake."""
    monkeypatch.setattr(suggest, "closest", lambda *_: pytest.fail("names were compared"))
    assert "x + y" in run('autodiff graph "x + y" --format plain')
