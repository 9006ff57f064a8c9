"""``eval`` and ``grad`` with their most common options, which run without click.

Importing click and declaring the options of a command takes a tenth of the time of a small evaluation in a process of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial

from autodiff_cli.cli.output import Output
from autodiff_cli.cli.program_text import read_expression

_OUTPUTS = {"--json": Output("json"), "-q": Output("table", quiet=True)}


def plain_evaluation(args: list[str]) -> Callable[[], None] | None:
    """Return the function that runs a command line such as ``grad EXPR -a x=1 --const k=2 -q`` and prints the result.

    It is ``None`` for command lines that click reads: with other options, a format of the environment, or an error.
    """
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
    return partial(_evaluate_and_print, command, expression, at, const, out)


def _evaluate_and_print(command: str, expression: str, at: Sequence[str], const: Sequence[str], out: Output) -> None:
    """Run ``eval`` or ``grad`` for an expression as on the command line, and texts such as ``x=1`` of variables and constants."""
    from autodiff_cli.derivatives import evaluate
    from autodiff_cli.evaluation.bindings import bindings

    function = evaluate.evaluate if command == "eval" else evaluate.grad
    out.emit(function(read_expression(expression), bindings(at, "at"), bindings(const, "const")))
