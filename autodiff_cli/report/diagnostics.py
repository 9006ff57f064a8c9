"""Errors and notes as text, for people and for programs.

On a terminal, sentences are wrapped between words, and a long source line is reduced to the part around the error.
"""

from __future__ import annotations

import json
import os
import re
import sys

from autodiff_cli.errors import AutodiffError, Span
from autodiff_cli.report.control_characters import visible, visible_json
from autodiff_cli.report.terminal import most_columns

_WIDEST, _BESIDE = 76, 8
"""The most characters of a source line, and the columns beside it: two blanks before it, and "..." on both sides."""
_QUOTED = re.compile(r"(?<!\w)'[^']*'(?!\w)")


def for_people(error: AutodiffError) -> str:
    """Return the message of an error, its line in a file, the source line with carets below, and the hint, as far as they exist."""
    columns = _columns()
    lines = [folded(f"error: {_with_escaped_names(error.message.rstrip())}", columns)]
    if error.path is not None and error.line is not None:
        lines.append(f"  {error.path}, line {error.line}:".replace("\n", "\\n"))
    if error.span is not None and error.source:
        widest = _WIDEST if columns is None else min(_WIDEST, columns - _BESIDE)  # ``None``: not on a terminal
        lines += [f"  {line}" for line in excerpt(error.source, error.span, widest)]
    if error.hint:
        lines.append(folded(f"  hint: {_with_escaped_names(error.hint)}", columns))
    return visible("\n".join(lines))


def note(text: str) -> str:
    """Return the text of a note, with a newline at the end."""
    return visible(folded(f"note: {_with_escaped_names(text)}", _columns())) + "\n"


def _with_escaped_names(text: str) -> str:
    """Return a text with the newlines in quoted names escaped, because the rest of a name would look like another message."""
    return _QUOTED.sub(lambda match: match.group().replace("\n", "\\n"), text) if "\n" in text else text


def folded(text: str, columns: int | None) -> str:
    """Wrap a sentence to a number of columns, and indent all lines but the first; do nothing if ``columns`` is ``None``."""
    if columns is None or len(text) <= columns:
        return text
    import textwrap

    indent = text[: len(text) - len(text.lstrip())]
    return textwrap.fill(text, columns, subsequent_indent=f"{indent}  ", break_long_words=False, break_on_hyphens=False)


def _columns() -> int | None:
    """Return the width of the terminal on standard error, or ``None`` if standard error is not a terminal.

    ``COLUMNS`` has precedence, and a terminal that does not know its width has 80 columns, as for tables on a terminal.
    """
    try:
        own = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError, AttributeError):
        return None
    return most_columns() or max(20, own or 80)  # at least 20, as for ``COLUMNS``


def excerpt(source: str, span: Span, widest: int = _WIDEST) -> tuple[str, str]:
    """Return the source line at the start of a span, and a line of carets; a long line is reduced to the part around the span."""
    start, end = span
    first = source.rfind("\n", 0, start) + 1
    line = source[first:].partition("\n")[0]
    line = "".join(character if character.isprintable() else " " for character in line)
    left = start - first
    right = max(min(end - first, len(line)), left + 1)  # at least one caret, and none in the next line
    if len(line) > widest:
        begin = max(0, min(left - widest // 3, len(line) - widest))  # a third of the room is before the span
        head = "..." if begin else ""
        tail = "..." if begin + widest < len(line) else ""
        line = head + line[begin : begin + widest] + tail
        shift = len(head) - begin
        left, right = left + shift, min(right + shift, len(head) + widest)
    return line, " " * left + "^" * max(1, right - left)


def for_programs(error: AutodiffError) -> str:
    """Return the error as one line of JSON; ``file`` and ``line`` are there only for an error in a file."""
    described = {
        "kind": error.kind,
        "message": error.message,
        "span": None if error.span is None else list(error.span),
        "hint": error.hint,
        "exit_code": error.exit_code,
    }
    if error.path is not None:
        described |= {"file": error.path, "line": error.line}
    return visible_json(json.dumps({"error": described}, ensure_ascii=False))
