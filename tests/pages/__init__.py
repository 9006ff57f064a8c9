"""The generator of the reference pages: ``python -m tests.pages`` writes them into ``docs/``.

The pages are under version control, so that readers of the repository have them; ``tests/test_pages.py`` fails if a page is stale.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from autodiff_cli.cli.commands import COMMANDS
from tests.pages import commands, derivatives, errors, functions, kinks, matrices, objects
from tests.printed import agrees
from tests.shell import ROOT


def _command(name: str) -> str:
    return f"{commands.page(name)}\n{objects.section(name)}"


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands.contents,
    **{f"commands/{name}.md": partial(_command, name) for name in COMMANDS},
    **functions.pages(),
    "kinks.md": kinks.page,
    "derivatives.md": derivatives.page,
    "matrix_derivatives.md": matrices.page,
    "json.md": objects.page,
    "errors.md": errors.page,
}
HOW = "python -m tests.pages"
_MARK = f"<!-- Written by {HOW}. -->"


def text(name: str) -> str:
    """Return the current text of a page."""
    title, _, rest = PAGES[name]().partition("\n")
    return f"{title}\n\n{_MARK}\n{rest}"


def stale_pages() -> Iterator[tuple[Path, str]]:
    """Yield the path of each stale page with its current text."""
    for name in ("AUTODIFF_FORMAT", "FORCE_COLOR", "NO_COLOR"):
        os.environ.pop(name, None)
    for name in PAGES:
        path, wanted = ROOT / "docs" / name, text(name)
        if not path.exists() or not agrees(wanted, path.read_text(encoding="utf-8")):
            yield path, wanted
