"""Standard output as a terminal: its width, its colors, and tables drawn as text."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence

from autodiff_cli.report.styled_text import Text
from autodiff_cli.report.table import Renderable, Table

_LEAST = 20
_WIDEST = 100_000
"""The width of tables in a pipe, which they never need."""


def most_columns() -> int | None:
    """Return the number of columns in the variable ``COLUMNS``, but at least 20; ``None`` if it does not contain a number.

    A shell has its own variable of this name, which programs see only if the user exports it.
    """
    text = os.environ.get("COLUMNS", "")
    return max(_LEAST, int(text)) if text.isdecimal() and int(text) else None


def width() -> int:
    """Return the number of columns of the terminal, or that of ``COLUMNS``; a pipe does not limit it otherwise."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else most_columns() or _WIDEST


def is_colored(color: str) -> bool:
    """Return whether output has colors; ``color`` is ``always``, ``never``, or ``auto``.

    With ``auto``, this depends on the terminal and the environment, where ``NO_COLOR`` takes precedence over ``FORCE_COLOR``.
    """
    if color != "auto" or os.environ.get("NO_COLOR"):
        return color == "always"  # not for ``auto`` with ``NO_COLOR``
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def is_ascii() -> bool:
    """Return whether standard output can show only ASCII characters."""
    return "utf" not in (getattr(sys.stdout, "encoding", None) or "utf-8").lower()


def drawn(parts: Sequence[Renderable], color: str = "auto") -> str:
    """Return the text of tables and lines, one below the other, for standard output: its width, its characters and its colors."""
    most = width()
    lines: list[Text] = []
    for part in parts:
        if isinstance(part, Table):
            lines += part.drawn(most, is_ascii())
        else:
            lines += (part if isinstance(part, Text) else Text(part)).lines(most)
    if is_colored(color):
        _enable_colors()  # for the text that the caller prints
        return "".join(f"{line.ansi().rstrip()}\n" for line in lines)
    return "".join(f"{line.plain.rstrip()}\n" for line in lines)


def _enable_colors() -> None:
    """Let the console of older versions of Windows understand control sequences."""
    if sys.platform == "win32":
        from colorama import just_fix_windows_console  # click requires it there

        just_fix_windows_console()
