"""Pieces of Markdown that the pages share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape


def prose(text: str) -> str:
    """Text in which Markdown sees no markup."""
    escaped = "".join(f"\\{c}" if c in "*_[]`" else c for c in text)
    return re.sub(r"<(?=[a-zA-Z/!?])", "&lt;", escaped).replace("|", "&#124;")


def code(text: str) -> str:
    """Text as code in a cell of a table."""
    if "|" in text:  # which ends a cell, even in code
        return f"<code>{escape(text, quote=False).replace('|', '&#124;')}</code>"
    return f"`{text}`"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells are Markdown already."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines) + "\n"


def block(language: str, text: str) -> str:
    """A block of code."""
    return f"```{language}\n{text.rstrip()}\n```\n"


def console(examples: Iterable[tuple[str, str]]) -> str:
    """Command lines with what they print."""
    return block("console", "".join(f"$ {command}\n{printed}" for command, printed in examples))
