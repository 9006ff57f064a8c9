"""Errors and notes as a person or a program reads them.  The only place that draws a caret."""

from __future__ import annotations

import json

from autodiff_cli.errors import AutodiffError, Span

_WIDEST = 76


def for_people(error: AutodiffError) -> str:
    """The message, the line of the source with carets under the place, and the hint."""
    lines = [f"error: {error.message.rstrip()}"]
    if error.path is not None and error.line is not None:
        lines.append(f"  {error.path}, line {error.line}:")
    if error.span is not None and error.source:
        lines += [f"  {line}" for line in excerpt(error.source, error.span)]
    if error.hint:
        lines.append(f"  hint: {error.hint}")
    return "\n".join(lines)


def excerpt(source: str, span: Span) -> tuple[str, str]:
    """The line that a span begins on and a line of carets; a long line is cut around the place."""
    start, end = span
    first = source.rfind("\n", 0, start) + 1
    last = source.find("\n", start)
    line = source[first : last if last >= 0 else len(source)]
    line = "".join(character if character.isprintable() else " " for character in line)
    left, right = start - first, max(start + 1, end) - first
    right = max(min(right, len(line)), left + 1)
    if len(line) > _WIDEST:
        begin = max(0, min(left - _WIDEST // 3, len(line) - _WIDEST))
        head = "..." if begin else ""
        tail = "..." if begin + _WIDEST < len(line) else ""
        line = head + line[begin : begin + _WIDEST] + tail
        left, right = left - begin + len(head), min(right - begin + len(head), len(head) + _WIDEST)
    return line, " " * left + "^" * max(1, right - left)


def for_programs(error: AutodiffError) -> str:
    """The error as one line of JSON."""
    described = {
        "kind": error.kind,
        "message": error.message,
        "span": None if error.span is None else list(error.span),
        "hint": error.hint,
        "exit_code": error.exit_code,
    }
    if error.path is not None:
        described |= {"file": error.path, "line": error.line}
    return json.dumps({"error": described}, ensure_ascii=False)
