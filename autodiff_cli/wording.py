"""Text for messages: lists of words, counts, and shortened text."""

from __future__ import annotations

import re
from collections.abc import Iterable

_IN_TERM, _IN_WORD = r"\S\S", r"[\w.]{2}|\*\*|//"
"""Two characters between which a cut is inside a term, or inside a name, a number or an operator."""


def listed(words: Iterable[str], last: str = "and") -> str:
    """Return ``a``, ``a and b`` or ``a, b and c``."""
    *first, final = words
    return f"{', '.join(first)} {last} {final}" if first else final


def plural(count: int, noun: str) -> str:
    """Return ``1 row`` or ``2,000 rows``."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def shortened(text: str, most: int = 60, dots: str = " ... ") -> str:
    """Return a text on one line; dots replace the middle of a text that has more than ``most`` characters.

    The parts that stay end between words, terms or factors, unless this takes more than half of a part.
    """
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    room = most - len(dots)
    tail_length = room // 2
    head = _whole_words(text, room - tail_length)
    tail = _whole_words(text[::-1], tail_length)[::-1]  # a tail is the head of the reversed text
    return head.rstrip() + dots + tail.lstrip()


def two_lines(text: str, most: int) -> str:
    """Return a text on one line of ``most`` characters, or on two that are cut between words or terms; the second is shortened."""
    text = " ".join(text.split())
    first = text if len(text) <= most else _whole_words(text, most)
    second = shortened(text[len(first) :], most)
    return f"{first.rstrip()}\n{second}" if second else first.rstrip()


def _whole_words(text: str, length: int) -> str:
    """Return the start of a longer text that ends with a term or else a word, of ``length`` down to half as many characters."""
    for pattern in (_IN_TERM, _IN_WORD):
        for end in range(length, length // 2, -1):
            around_cut = text[end - 1 : end + 1]
            if not re.fullmatch(pattern, around_cut):
                return text[:end]
    return text[:length]  # inside a long word
