"""Everything that a page or a case file shows is what the program prints.

``UPDATE_CASES=1 pytest tests/test_examples.py`` writes what is printed now into the case files and pages; read the
difference before you commit it.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from autodiff_cli.errors import FileError
from tests.pages import PAGES as GENERATED
from tests.pages.commands import declared
from tests.printed import agrees
from tests.processes import completed
from tests.shell import ROOT, console_blocks, examples, run

pytestmark = pytest.mark.usefixtures("at_the_root")

CASES = sorted((ROOT / "tests" / "cases").glob("*.txt"))
# Generated pages are compared as a whole in test_pages.py.
DOCS = ROOT / "docs"
PAGES = [*ROOT.glob("*.md"), *(path for path in sorted(DOCS.glob("**/*.md")) if path.relative_to(DOCS).as_posix() not in GENERATED)]


def _pairs(path: Path) -> list[tuple[str, str]]:
    text = path.read_text(encoding="utf-8")
    return console_blocks(text) if path.suffix == ".md" else examples(text)


@pytest.mark.parametrize(
    ("path", "command", "expected"),
    [
        pytest.param(path, *pair, id=f"{path.name}: {pair[0]}", marks=[pytest.mark.extras] * ("--simplify" in pair[0]))
        for path in [*CASES, *PAGES]
        for pair in _pairs(path)
    ],
)
def test_example(path: Path, command: str, expected: str) -> None:
    printed = run(command).rstrip("\n") + "\n"
    if os.environ.get("UPDATE_CASES") and not agrees(printed, expected):
        text = path.read_text(encoding="utf-8")
        old = f"$ {command}\n{expected}" if expected else f"$ {command}\n"
        assert old in text
        path.write_text(text.replace(old, f"$ {command}\n{printed}", 1), encoding="utf-8")
        return
    assert agrees(printed, expected or "\n"), printed


def _not_run(path: Path) -> list[str]:
    """Command lines outside of transcripts and scripts: they need files or packages that are not everywhere."""
    text = re.sub(r"^```(console|bash|python)\b.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"^ *(?:[^`#\n]*\| *)?autodiff ([a-z]+ .*)$", text, flags=re.MULTILINE)


@pytest.mark.parametrize("line", [line for path in PAGES for line in _not_run(path)])
def test_a_command_line_that_is_not_run_is_one_all_the_same(line: str) -> None:
    words = list(itertools.takewhile(lambda word: word not in ("|", ">", "<", "&&"), shlex.split(line, comments=True)))
    with suppress(FileError):  # the command reads a file that the page describes
        declared(words[0]).make_context(words[0], words[1:])


def test_there_are_examples() -> None:
    assert len(CASES) >= 4
    assert sum(len(_pairs(path)) for path in PAGES) >= 10


@pytest.mark.parametrize("page", ["README.md", "docs/tour.md"])
def test_the_python_of_a_page_prints_what_its_comments_say(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    code = text.split("```python\n")[1].split("```")[0]
    expected = [line.partition("  # ")[2] for line in code.splitlines() if "  # " in line]
    done = completed([sys.executable, "-c", code], check=True)
    assert done.stdout.splitlines() == expected
    assert expected


def test_the_readme_fits_on_a_screen_or_two() -> None:
    """Its first sentence has at most 14 words, and its two commands are lines that work alone (``.ci/run`` runs them)."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 120
    assert len(lines[2].split()) <= 14
    assert [sum(bool(re.match(rf"python3 -m venv .*{end}$", line)) for line in lines) for end in ("--at x=5", "pytest")] == [1, 1]
