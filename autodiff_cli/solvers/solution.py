"""The results of solvers: what was found, and what was verified about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autodiff_cli.command_result import CommandResult, Record, plain
from autodiff_cli.errors import NotSolved

if TYPE_CHECKING:
    from autodiff_cli.arrays import Matrix


@dataclass(kw_only=True, eq=False, repr=False)
class Solution(CommandResult):
    """The result of ``fit``, ``root`` or ``minimize``.

    Attributes:
        expression: the expression.
        converged: whether the solution passed every check at the end.
        verdict: the kind of the point that was found, in one or two words.
        reason: the check that failed, in one sentence; empty if ``converged`` is true.
        advice: an instruction that may resolve the failure.
        steps: the number of accepted steps.
        evaluations: the number of points at which functions or derivatives were computed.
        notes: the notes on the solution, each of which is ``{"kind", "span", "message"}``.
    """

    expression: str
    converged: bool = False
    verdict: str = "not_converged"
    reason: str = ""
    advice: str | None = None
    steps: int = 0
    evaluations: int = 0
    notes: list[Record] = field(default_factory=list)

    def answer(self) -> Record:
        """Return the entries of the JSON object that only this kind of solution has."""
        raise NotImplementedError

    def content(self) -> Record:
        """Return the entries of the JSON object; ``reason`` is left out if it is empty."""
        return {
            "expression": self.expression,
            "converged": self.converged,
            "verdict": self.verdict,
            **({"reason": self.reason} if self.reason else {}),
            **self.answer(),
            "steps": self.steps,
            "evaluations": self.evaluations,
            "notes": self.notes,
        }

    def require(self) -> None:
        """Raise an error unless the solution is verified.

        Raises:
            NotSolved: if a check failed; its exit code is 1.
        """
        if not self.converged:
            raise NotSolved(self.reason or f"not solved: {self.verdict}", hint=self.advice)


def by_names(names: Sequence[str], matrix: Matrix) -> dict[str, dict[str, Any]]:
    """Return a matrix as a dictionary of rows by name, each of which is a dictionary by name."""
    return {name: dict(zip(names, row, strict=True)) for name, row in zip(names, matrix.tolist(), strict=True)}


def plain_values(values: Mapping[str, Any]) -> Record:
    """Return values by name, which may be such dictionaries themselves, with arrays as nested lists."""
    return {name: plain_values(value) if isinstance(value, dict) else plain(value) for name, value in values.items()}
