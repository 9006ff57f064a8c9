"""Text with styles, for terminals and notebooks."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from autodiff_cli.report.control_characters import visible

_CODES = {"bold": 1, "dim": 2, "italic": 3, "red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36}
"""The words of a style, with their numbers in the control sequences of terminals."""
_WORD = re.compile(r"\s*\S+\s*")


class Text:
    """A text of consecutive pieces, each with a style: words such as ``bold cyan``.

    Control characters other than tab and newline are escaped, so that a terminal does not execute them.
    """

    __slots__ = ("pieces",)

    def __init__(self, text: str = "", style: str = "") -> None:
        self.pieces: list[tuple[str, str]] = []
        self.append(text, style)

    def append(self, text: str | Text, style: str = "") -> Text:
        """Add a piece, or the pieces of another text, at the end, and return this text."""
        if isinstance(text, Text):
            self.pieces += text.pieces
        elif text:
            self.pieces.append((visible(text), style))
        return self

    @property
    def plain(self) -> str:
        """The text without styles."""
        return "".join([text for text, _ in self.pieces])

    @property
    def style(self) -> str:
        """The style of the first piece."""
        return self.pieces[0][1]

    def __len__(self) -> int:
        return len(self.plain)

    def __str__(self) -> str:
        return self.plain

    @property
    def width(self) -> int:
        """The number of columns of the longest line."""
        return max(map(columns, self.plain.split("\n")))

    def styled(self, style: str) -> Text:
        """Return the text with a style below the styles of its pieces."""
        styled = Text()
        styled.pieces = [(text, f"{style} {own}".strip()) for text, own in self.pieces]
        return styled

    def part(self, start: int, end: int) -> Text:
        """Return the characters from ``start`` up to ``end``, which is not included, with their styles."""
        part, position = Text(), 0  # the position of a piece in the text
        for text, style in self.pieces:
            inside = text[max(start - position, 0) : max(end - position, 0)]
            if inside:
                part.pieces.append((inside, style))
            position += len(text)
        return part

    def lines(self, most: int) -> Iterator[Text]:
        """Yield the lines; a line of more than ``most`` columns is broken between words, and a word of more columns anywhere."""
        plain = self.plain
        if "\n" not in plain and columns(plain) <= most:
            yield self
            return
        start = 0  # of a line in the text
        for line in plain.split("\n"):
            breaks = [0, *_breaks(line, most), len(line)]
            for begin, end in itertools.pairwise(breaks):
                is_last = end == len(line)  # whose blanks at the end stay
                length = end - begin if is_last else len(line[begin:end].rstrip())
                yield self.part(start + begin, start + begin + length)
            start += len(line) + 1

    def ansi(self) -> str:
        """Return the text with the control sequences of terminals."""
        parts = []
        for text, style in self.pieces:
            codes = ";".join(str(_CODES[word]) for word in dict.fromkeys(style.split()))  # each code once
            parts.append(f"\x1b[{codes}m{text}\x1b[0m" if style else text)
        return "".join(parts)


def columns(text: str) -> int:
    """Return the number of columns of one line in a terminal, where some characters take two columns and some none."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _breaks(line: str, most: int) -> Iterator[int]:
    """Yield the positions at which a line is broken, so that each part has at most ``most`` columns without blanks at its end."""
    used = 0  # the columns since the last break
    for match in _WORD.finditer(line):
        word = match.group().rstrip()
        if used + columns(word) > most and used:  # the word begins the next line
            yield match.start()
            used = 0
        if columns(word) <= most:
            used += columns(match.group())
            continue
        for position, character in enumerate(word, match.start()):  # a longer word is broken anywhere
            if used + columns(character) > most:
                yield position
                used = 0
            used += columns(character)
        used += len(match.group()) - len(word)  # the blanks after the word
