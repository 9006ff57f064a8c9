"""The target languages: their function names and their syntax of numbers, conditionals and powers.

Each language is a file in ``languages/``, whose entries are the attributes of ``Target``.  A function that a language does not have
is replaced by its declared decomposition (``evaluation.lowering``).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from autodiff_cli.language.operators import COMPARISONS, LOGIC

NAMES = ("python", "numpy", "torch", "jax", "c", "javascript", "latex")
ALIASES = {"js": "javascript"}
SUFFIXES = {".py": "python", ".c": "c", ".js": "javascript", ".mjs": "javascript", ".tex": "latex"}
"""The default target for the suffix of an output file."""

_EVERYWHERE = frozenset(["add", "sub", "mul", "div", "neg", "pow", "where", *COMPARISONS])
"""The primitives that every target supports, as operators or as templates in the fields of ``Target``."""


@dataclass(frozen=True)
class Target:
    """A target language.

    Attributes:
        name: the name as an argument of ``export``.
        title: the name in messages.
        functions: the template of the call for each primitive, with ``{0}`` for the first argument; in the file, ``calls`` lists
            the primitives with the same name in the language, by template.
        arrays: the template of the call for each function of arrays, with ``{args}`` for all arguments and ``{tensor}`` for a
            variable; empty for a language of numbers.
        where: the template of a conditional, with ``{c}``, ``{x}`` and ``{y}``.
        infinity, nan, pi: the names of the constants.
        reserved: the names that variables must not have.
        helpers: the source of predefined helper functions, by name.
        imports: the import line for each prefix that the code may contain.
        operators: the additional primitives that are written with the operators of the expression language.
        logic: the operators for ``and``, ``or`` and ``not``; ``None`` if they are functions.
        floats: whether integers need a decimal point.
        booleans: the constants of false and true.
        boolean_as_number: the template of a boolean in the place of a number.
        number: the template of a constant argument of functions that take only tensors.
        helper: the prefix of generated helper functions, which variables must not have.
        power: the template of the call for a power ``{0}**{1}``, for a language without the operator ``**``.
        raises: whether arithmetic raises errors instead of returning inf or nan.
    """

    name: str
    title: str
    functions: Mapping[str, str]
    where: str
    infinity: str
    nan: str
    reserved: frozenset[str]
    pi: str = ""
    arrays: Mapping[str, str] = field(default_factory=dict)
    helpers: Mapping[str, str] = field(default_factory=dict)
    imports: Mapping[str, str] = field(default_factory=dict)
    operators: Sequence[str] = ()
    logic: Sequence[str] | None = None
    floats: bool = False
    booleans: Sequence[str] = ("False", "True")
    boolean_as_number: str = "{0}"
    number: str = "{0}"
    helper: str = "_"
    power: str = ""
    raises: bool = False

    def has(self, name: str) -> bool:
        """Return whether the target supports a primitive."""
        return name in _EVERYWHERE or name in self.functions or name in self.operators or (self.logic is not None and name in LOGIC)


def _read(name: str) -> Target:
    """Read the target language of this name from its file in ``languages/``."""
    text = (files("autodiff_cli.code_generation") / "languages" / f"{name}.toml").read_text(encoding="utf-8")
    entries: dict[str, Any] = tomllib.loads(text)
    functions = _calls(entries.pop("calls")) | entries.pop("functions", {})
    arrays, reserved = _calls(entries.pop("arrays", {})), frozenset(entries.pop("reserved").split())
    return Target(name=name, functions=functions, arrays=arrays, reserved=reserved, **entries)


def _calls(table: Mapping[str, str]) -> dict[str, str]:
    """Return the template of each function; a table has names with spaces between them by template, with ``{name}`` for each."""
    return {each: call.replace("{name}", each) for call, names in table.items() for each in names.split()}


TARGETS = {name: _read(name) for name in NAMES if name != "latex"}
