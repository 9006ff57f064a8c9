"""The result of the command ``functions``."""

from __future__ import annotations

from collections.abc import Sequence

from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.command_result import CommandResult, Record


class FunctionList(CommandResult):
    """Descriptions of functions.

    Args:
        functions: the functions.
        one: whether the user named a single function.
    """

    command = "functions"

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
