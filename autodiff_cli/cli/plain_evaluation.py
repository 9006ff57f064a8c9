"""``eval`` and ``grad`` with their most common options, which run without click.

Importing click and declaring the options of a command takes a tenth of the time of a small evaluation in a process of its own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from autodiff_cli.cli.output import Output
from autodiff_cli.cli.program_text import read_expression
from autodiff_cli.structs import Struct

_OUTPUTS = {"--json": Output("json"), "-q": Output("table", quiet=True)}


class PlainEvaluation(Struct):
    """A command line such as ``eval EXPR --at x=1 --const k=2 --json`` or ``grad EXPR -a x=1 -q``."""

    command: str
    expression: str
    at: Sequence[str]
    const: Sequence[str]
    out: Output

    @classmethod
    def from_args(cls, args: list[str]) -> PlainEvaluation | None:
        """Return what a command line requests; ``None`` for click: other options, a format of the environment, or an error."""
        if len(args) < 2 or os.environ.get("AUTODIFF_FORMAT"):
            return None
        command, expression, *words = args
        if command not in ("eval", "grad") or expression[:1] in ("", "-"):
            return None
        out = _OUTPUTS[words.pop()] if words and words[-1] in _OUTPUTS else Output("table")  # only at the end
        names, values = words[::2], words[1::2]  # each option is followed by its value
        if len(names) != len(values) or not {*names} <= {"--at", "-a", "--const"}:
            return None
        const = [value for name, value in zip(names, values, strict=True) if name == "--const"]
        at = [value for name, value in zip(names, values, strict=True) if name != "--const"]
        return cls(command, expression, at, const, out)

    def run(self) -> None:
        """Evaluate the expression, and print the result."""
        from autodiff_cli.derivatives import evaluate
        from autodiff_cli.evaluation.bindings import bindings

        function = evaluate.evaluate if self.command == "eval" else evaluate.grad
        self.out.emit(function(read_expression(self.expression), bindings(self.at, "at"), bindings(self.const, "const")))
