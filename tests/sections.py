"""Text files of entries, one in a line."""

from __future__ import annotations

from pathlib import Path


def sections(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the entries of a file by section; a line ``## name`` begins a section."""
    found: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            entries = found[line[3:]] = []
        elif line:
            entries.append(line)
    return {name: tuple(entries) for name, entries in found.items()}


def pairs(entries: tuple[str, ...]) -> dict[str, str]:
    """Return the texts behind the colons of entries by the texts before them."""
    return dict(entry.split(": ", 1) for entry in entries)
