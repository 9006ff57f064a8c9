"""The result of the command ``functions``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.command_result import CommandResult, Record


def matching(functions: Iterable[FunctionInfo], words: str) -> list[FunctionInfo]:
    """Return the functions whose description contains all words, in upper or lower case.

    Functions with one of the words as a name are first, then those with one of the words in a name.
    """
    wanted = words.lower().split()
    ranked = []
    for each in functions:
        names = " ".join([each.name, *each.aliases])
        text = " ".join([names, each.summary, each.formula, each.section]).lower()
        if all(word in text for word in wanted):
            ranked.append((not any(word in names.split() for word in wanted), not any(word in names for word in wanted), each))
    return [each for *_, each in sorted(ranked, key=lambda one: one[:2])]


class FunctionList(CommandResult):
    """Descriptions of functions.

    Args:
        functions: the functions.
        one: whether the user named a single function.
    """

    command = "functions"
    tables = "autodiff_cli.report.function_tables:tables"

    def __init__(self, functions: Sequence[FunctionInfo], one: bool = False) -> None:
        self.functions = [function.to_dict() for function in functions]
        self.one = one

    def content(self) -> Record:
        return {"functions": self.functions}

    def bare(self) -> list[str]:
        return [function["name"] for function in self.functions]

    def lines(self) -> list[Record]:
        return self.functions

    def records(self) -> list[Record]:
        return [{**function, "aliases": " ".join(function["aliases"])} for function in self.functions]
