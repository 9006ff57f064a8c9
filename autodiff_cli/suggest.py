"""Names that a wrong one may have meant."""

from __future__ import annotations

from collections.abc import Iterable

_COMPARED, _LONGEST = 100, 200
"""Names that are compared letter by letter, as a file may have thousands of columns, and letters of a word that may be a typo."""


def closest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the name that is most like a word, or ``None`` if none is.

    Args:
        cutoff: how alike they are at least, from 0 to 1.
    """
    from difflib import get_close_matches
    from heapq import nlargest

    if len(word) > _LONGEST:
        return None
    letters = {letter: word.count(letter) for letter in word}
    alike = []
    for name in known:
        least = cutoff * (len(word) + len(name)) / 2  # letters they share
        if min(len(word), len(name)) >= least:
            shared = sum(min(count, name.count(letter)) for letter, count in letters.items())
            if shared >= least:
                alike.append((shared / (len(word) + len(name)), name))
    return next(iter(get_close_matches(word, [name for _, name in nlargest(_COMPARED, alike)], 1, cutoff)), None)


def suggestion(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return ``did you mean 'log'?`` for a word that is nearly one of those that exist."""
    known = list(known)
    close = closest(word, known, cutoff) or closest(word.lower(), known, cutoff)
    return f"did you mean '{close}'?" if close else None
