"""Suggestions for misspelled names."""

from __future__ import annotations

from collections.abc import Iterable

_COMPARED, _LONGEST = 100, 200
"""The maximum number of names compared letter by letter, because a file may have thousands of columns; the maximum word length."""


def closest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known name that is most similar to a word; ``None`` if no name is similar enough.

    Args:
        cutoff: the minimum similarity of the name, from 0 to 1.
    """
    from difflib import get_close_matches
    from heapq import nlargest

    if len(word) > _LONGEST:
        return None
    letters = {letter: word.count(letter) for letter in word}
    alike = []
    for name in known:
        least = cutoff * (len(word) + len(name)) / 2  # the fewest common letters
        if min(len(word), len(name)) >= least:
            shared = sum(min(count, name.count(letter)) for letter, count in letters.items())
            if shared >= least:
                alike.append((shared / (len(word) + len(name)), name))
    return next(iter(get_close_matches(word, [name for _, name in nlargest(_COMPARED, alike)], 1, cutoff)), None)


def suggestion(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return ``did you mean 'log'?`` if a word is similar to a known name, else ``None``."""
    known = list(known)
    close = closest(word, known, cutoff) or closest(word.lower(), known, cutoff)
    return f"did you mean '{close}'?" if close else None
