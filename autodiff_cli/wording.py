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


def bytes_text(count: int) -> str:
    """Return ``8 B``, ``1.5 KiB``, ``20 MiB`` or ``3.2 GiB``."""
    size, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{count} B" if unit == "B" else f"{size:.3g} {unit}" if size < 999.5 else f"{size:,.0f} {unit}"
