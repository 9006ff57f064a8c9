"""Suggestions for misspelled names."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 200
"""The maximum length of a word for which a similar one is looked up, which takes long."""


def closest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known name that is most similar to a word; ``None`` if none is similar enough, or the word is very long.

    ``cutoff`` is the minimum similarity, from 0 to 1.
    """
    from difflib import get_close_matches

    names = get_close_matches(word, known, 1, cutoff) if len(word) <= _LONGEST else []
    return names[0] if names else None


def suggestion(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return ``did you mean 'log'?`` if a known name may be the intended word, else ``None``.

    A name that differs in more than a third of its letters is another word: ``cosine`` is not a misspelled ``clone``.  Two wrong
    letters are always a misspelling, and upper or lower case does not count.  ``cutoff`` is that of ``closest``.
    """
    known = list(known)
    close = closest(word, known, cutoff) or closest(word.lower(), known, cutoff)
    if close is None or _edits(word.lower(), close.lower()) > max(2, len(close) // 3):
        return None
    return f"did you mean '{close}'?"


def _edits(word: str, other: str) -> int:
    """Return the number of letters that ``difflib`` inserts, deletes or replaces in ``word`` to make it ``other``."""
    from difflib import SequenceMatcher

    changes = SequenceMatcher(None, word, other).get_opcodes()  # each turns word[start:end] into other[first:last]
    return sum(max(end - start, last - first) for kind, start, end, first, last in changes if kind != "equal")
