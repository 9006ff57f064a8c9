"""Text that is safe on a terminal, with control characters replaced by escape sequences."""

from __future__ import annotations

import re
from functools import cache


@cache
def _unsafe_characters() -> re.Pattern[str]:
    """Return the pattern of unsafe characters, compiled on first use, because this takes longer than the output of most texts.

    It matches the C0 control characters except tab and newline, DEL, the C1 control characters, characters that change the
    direction of text, invisible line separators, and surrogates.
    """
    return re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""Return text with control characters escaped, such as ``\x1b``.

    Names, cells and files may contain control characters, which a terminal would execute.  Tabs and newlines stay.
    """
    return text if text.isprintable() else _unsafe_characters().sub(_escaped, text)


def visible_json(text: str) -> str:
    r"""Return JSON with control characters escaped, such as ``\u001b``, which does not change its value."""
    return text if text.isprintable() else _unsafe_characters().sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _escaped(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode("ascii")
