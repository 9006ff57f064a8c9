"""The scripts of the recipes, and others on pages, run and print what stands below them.

``UPDATE_CASES=1 pytest tests/test_recipes.py`` writes what they print now; read the difference before you commit it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.printed import agrees
from tests.shell import ROOT, run_script

PAGES = [ROOT / "docs" / "recipes.md", ROOT / "docs" / "tour.md", ROOT / "CONTRIBUTING.md"]
_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
OPTIONAL = ("jq", "make")


class Recipe(NamedTuple):
    """A script, the files that its section shows before it, and what it should print."""

    page: Path
    name: str
    script: str
    files: dict[str, str]
    expected: str


def recipes(page: Path) -> Iterator[Recipe]:
    """The scripts of a page: every ``bash`` block, with the ``text`` block behind it."""
    for section in re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        files: dict[str, str] = {}
        blocks = list(_BLOCK.finditer(section))
        for i, (language, title, text) in enumerate(block.groups() for block in blocks):
            if language == "bash":
                following = blocks[i + 1].groups() if i + 1 < len(blocks) else ("", "", "")
                assert following[:2] == ("text", None), f"what {title or section.splitlines()[0]} prints must follow it"
                yield Recipe(page, title or section.splitlines()[0], text, dict(files), following[2])
            elif title and "/" not in title:  # not an excerpt of a file of the project
                files[title] = text


RECIPES = [recipe for page in PAGES for recipe in recipes(page)]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_recipe(recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OPTIONAL:
        if re.search(rf"^\s*{name}\b|\| {name}\b", recipe.script, re.MULTILINE) and shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")
    for name in ("AUTODIFF_FORMAT", "FORCE_COLOR", "NO_COLOR", "MAKEFLAGS", "MAKELEVEL"):
        monkeypatch.delenv(name, raising=False)
    for name, text in recipe.files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    printed = run_script(recipe.script, tmp_path)
    if os.environ.get("UPDATE_CASES") and not agrees(printed, recipe.expected):
        text = recipe.page.read_text(encoding="utf-8")
        old, new = (f"{recipe.script}```\n\n```text\n{output}```" for output in (recipe.expected, printed))
        assert text.count(old) == 1
        recipe.page.write_text(text.replace(old, new), encoding="utf-8")
        return
    assert agrees(printed, recipe.expected), printed


def test_there_are_recipes() -> None:
    assert len(RECIPES) >= 12
