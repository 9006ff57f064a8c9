"""The generator of ``docs/functions.md``: every function of the language, from its declaration."""

from __future__ import annotations

import sys

from autodiff_cli import ops
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from tests.pages.markdown import prose

_HEAD = """# Functions

This page is generated from the declarations in the code, which `autodiff functions NAME` also shows. If no domain is listed,
the value and the derivative exist everywhere. *At kinks* states the convention at points where the value exists but the
derivative does not, and whether it is PyTorch's convention; a note reports each use of the convention. [Kinks](kinks.md)
compares the numbers with PyTorch and JAX.
"""


def page() -> str:
    """Return the text of the page."""
    sections: dict[str, list[FunctionInfo]] = {room: [] for room in (*ops.COMMON, *ops.FURTHER)}
    for op in {op.name: op for op in FUNCTIONS.values()}.values():
        sections[op.section].append(op)
    sections = {room: found for room, found in sections.items() if found}
    contents = " · ".join(f"[{name}](#{name})" for name in sections)
    parts = [_HEAD, contents + "\n"]
    for name, functions in sections.items():
        parts.append(f"## {name.capitalize()}\n\n{_about(name)}\n")
        parts += [_entry(op) for op in functions]
    return "\n".join(parts)


def _about(section: str) -> str:
    """Return the first paragraph of the docstring of the section's module."""
    text = sys.modules[f"autodiff_cli.ops.{section}"].__doc__ or ""
    return " ".join(text.partition("\n\n")[0].split())


def _entry(op: FunctionInfo) -> str:
    aliases = f" Aliases: `{'`, `'.join(op.aliases)}`." if op.aliases else ""
    lines = [f"### `{op.signature}`", "", f"{prose(op.summary)}.{aliases}", ""]
    known = op.to_dict()
    rows = (
        ("derivative", f"`{op.formula}`" if op.formula else ""),
        ("domain", "" if known["domain"] == "everywhere" else prose(op.domain)),
        ("differentiable where", "" if op.smooth in ("", "everywhere", op.domain) else prose(op.smooth)),
        ("at kinks" if op.kink is not None or op.second_kink is not None else "convention", prose(op.convention)),
    )
    lines += [f"- {label}: {text}" for label, text in rows if text]
    return "\n".join(lines).rstrip() + "\n"
