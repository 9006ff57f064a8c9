"""Mistakes that once passed all tests: a name, a module of the package, what stands there, and what comes instead (known.txt)."""

from __future__ import annotations

from pathlib import Path

from tests.mutation.changes import Change


def _mistake(block: str) -> tuple[str, tuple[str, str, str]]:
    """The name of a mistake, and its module, the text that stands there and the other text."""
    name, module, *lines = block.splitlines()
    old, new = ("\n".join(line[6:] for line in lines if line.startswith(f"    {sign} ")) for sign in "-+")
    return name, (module.strip(), old, new)


KNOWN = dict(map(_mistake, Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").strip().split("\n\n")))


def known(name: str, source: str) -> Change:
    """Return a mistake by its name; what it replaces occurs once in the source."""
    _, old, new = KNOWN[name]
    before, found, after = source.partition(old)
    if not found or old in after:
        raise ValueError(f"{name}: {old!r} is not there once")
    start, end = before.encode().splitlines(keepends=True), (before + old).encode().splitlines(keepends=True)
    return Change(*_place(start), *_place(end), "known", new)


def _place(before: list[bytes]) -> tuple[int, int]:
    """Return the line and the column after some lines."""
    if not before or before[-1].endswith(b"\n"):
        return len(before) + 1, 0
    return len(before), len(before[-1])
