"""The generator of ``docs/functions.md`` and ``docs/functions/``: every function of the language, from its declaration."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from tests.pages.markdown import prose, table

_HEAD = """# Functions

Each subject has a page, which is generated from the declarations in the code; `autodiff functions NAME` shows the same. If no
domain is listed, the value and the derivative exist everywhere. *At kinks* states the convention at points where the value exists
but the derivative does not, and whether it is PyTorch's convention; a note reports each use of the convention.
[Kinks](kinks.md) compares the numbers with PyTorch and JAX.
"""


SECTIONS = (
    *("arithmetic", "elementary", "comparison", "reduce", "shape", "indexing", "linalg", "creation", "inplace"),
    *("views", "positions", "extremes", "arrange", "norms", "contract", "matrices", "decompose"),
    *("factorials", "special", "log_probabilities", "bessel", "incomplete", "activation", "loss"),
    *("numerical", "layers", "random_numbers", "batching", "stop_gradient", "counting", "representation"),
)
"""The subjects in the order of the reference."""


def pages() -> dict[str, Callable[[], str]]:
    """Return the generators of the pages by name."""
    sections: dict[str, list[FunctionInfo]] = {room: [] for room in SECTIONS}
    for op in {op.name: op for op in FUNCTIONS.values()}.values():
        sections[op.section].append(op)
    sections = {room: found for room, found in sections.items() if found}
    subjects = {f"functions/{room}.md": partial(_subject, room, found) for room, found in sections.items()}
    return {"functions.md": partial(_contents, sections), **subjects}


def _contents(sections: dict[str, list[FunctionInfo]]) -> str:
    names = {room: ", ".join(f"`{op.name}`" for op in found) for room, found in sections.items()}
    rows = [(f"[{_title(room)}](functions/{room}.md)", listed) for room, listed in names.items()]
    return f"{_HEAD}\n{table(('subject', 'functions'), rows)}"


def _subject(room: str, functions: list[FunctionInfo]) -> str:
    head = f"# {_title(room)} functions\n\n{_about(room)}\n\n[All functions](../functions.md)\n"
    return "\n".join([head, *map(_entry, functions)])


def _title(room: str) -> str:
    return room.replace("_", " ").capitalize()


def _about(section: str) -> str:
    """Return the first paragraph of the docstring of the section's module."""
    name = f"autodiff_cli.ops.{section}"
    text = (sys.modules.get(f"autodiff_cli.ops.rules.{section}") or sys.modules[name]).__doc__ or ""
    return " ".join(text.partition("\n\n")[0].split())


def _entry(op: FunctionInfo) -> str:
    aliases = f" Aliases: `{'`, `'.join(op.aliases)}`." if op.aliases else ""
    lines = [f"## `{op.signature}`", "", f"{prose(op.summary)}.{aliases}", ""]
    known = op.to_dict()
    rows = (
        ("derivative", f"`{op.formula}`" if op.formula else ""),
        ("domain", "" if known["domain"] == "everywhere" else prose(op.domain)),
        ("differentiable where", "" if op.smooth in ("", "everywhere", op.domain) else prose(op.smooth)),
        ("at kinks" if op.kink is not None or op.second_kink is not None else "convention", prose(op.convention)),
    )
    lines += [f"- {label}: {text}" for label, text in rows if text]
    return "\n".join(lines).rstrip() + "\n"
