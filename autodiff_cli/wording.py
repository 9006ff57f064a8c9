"""Text for messages: lists of words, counts, and shortened text."""

from __future__ import annotations

from collections.abc import Iterable


def listed(words: Iterable[str], last: str = "and") -> str:
    """Return ``a``, ``a and b`` or ``a, b and c``."""
    *first, final = words
    return f"{', '.join(first)} {last} {final}" if first else final


def plural(count: int, noun: str) -> str:
    """Return ``1 row`` or ``2,000 rows``."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def shortened(text: str, most: int = 60, dots: str = " ... ") -> str:
    """Return a text on one line; dots replace the middle of a text that has more than ``most`` characters."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    half = most - len(dots)
    return text[: half - half // 2].rstrip() + dots + text[len(text) - half // 2 :].lstrip()
