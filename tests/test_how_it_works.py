"""Pages about the code quote it: excerpts are in the files above them, and Python sessions answer what they show."""

from __future__ import annotations

import doctest
import re
import textwrap
from pathlib import Path

import pytest

from tests.shell import ROOT

PAGES = [ROOT / "docs" / "how-it-works.md", ROOT / "CONTRIBUTING.md"]
_EXCERPT = re.compile(r'^```\w+ title="((?:autodiff_cli|grammar|tests)/[^"]+)"\n(.*?)^```$', re.DOTALL | re.MULTILINE)
_SESSION = re.compile(r"^```pycon\n(.*?)^```$", re.DOTALL | re.MULTILINE)
EXCERPTS = [(page, *found) for page in PAGES for found in _EXCERPT.findall(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(("page", "name", "excerpt"), EXCERPTS, ids=lambda value: value if "/" in str(value)[:15] else "")
def test_excerpt(page: Path, name: str, excerpt: str) -> None:
    source = (ROOT / name).read_text(encoding="utf-8")
    position = 0
    for piece in re.split(r"^ *\.\.\.\n", excerpt, flags=re.MULTILINE):
        found = source.find(piece, position)
        assert found >= 0, f"{page.name} quotes what {name} does not say any more, or not in this order:\n{textwrap.dedent(piece)}"
        position = found + len(piece)


def test_there_are_excerpts() -> None:
    assert len(EXCERPTS) >= 8


@pytest.mark.parametrize("name", ["how-it-works.md", "pytorch.md"])
def test_sessions(name: str) -> None:
    page = ROOT / "docs" / name
    sessions = "\n".join(_SESSION.findall(page.read_text(encoding="utf-8")))
    test = doctest.DocTestParser().get_doctest(sessions, {}, page.name, str(page), 0)
    results = doctest.DocTestRunner(verbose=False).run(test)
    assert results.attempted > 0
    assert results.failed == 0
