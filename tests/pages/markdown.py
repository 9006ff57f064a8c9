"""Functions that format Markdown for the reference pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape


def prose(text: str) -> str:
    """Return a text with Markdown markup escaped."""
    escaped = "".join(f"\\{c}" if c in "*_[]`" else c for c in text)
    return re.sub(r"<(?=[a-zA-Z/!?])", "&lt;", escaped).replace("|", "&#124;")


def code(text: str) -> str:
    """Return a text as code for a table cell."""
    if "|" in text:  # a bar ends a cell, even in code
        return f"<code>{escape(text, quote=False).replace('|', '&#124;')}</code>"
    return f"`{text}`"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table. The cells must already be Markdown."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines) + "\n"


def block(language: str, text: str) -> str:
    """Return a fenced code block."""
    return f"```{language}\n{text.rstrip()}\n```\n"


def console(examples: Iterable[tuple[str, str]]) -> str:
    """Return a console block with command lines and their output."""
    return block("console", "".join(f"$ {command}\n{printed}" for command, printed in examples))
