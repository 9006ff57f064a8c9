"""The number of columns that the user gives to output."""

from __future__ import annotations

import os

_LEAST = 20


def given() -> int | None:
    """Return the number of columns in the variable ``COLUMNS``, but at least 20; ``None`` if it does not contain a number.

    A shell has its own variable of this name, which programs see only if the user exports it.
    """
    text = os.environ.get("COLUMNS", "")
    return max(_LEAST, int(text)) if text.isdecimal() and int(text) else None
