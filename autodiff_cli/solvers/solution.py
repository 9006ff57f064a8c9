"""The results of solvers: what was found, and what was verified about it."""

from __future__ import annotations

from autodiff_cli.command_result import CommandResult, Record
from autodiff_cli.errors import NotSolved


class Solution(CommandResult):
    """The result of ``fit``, ``root`` or ``minimize``.

    Attributes:
        converged: whether the solution passed every check at the end.
        verdict: the kind of the point that was found, in one or two words.
        reason: the check that failed, in one sentence; empty if ``converged`` is true.
        advice: an instruction that may resolve the failure.
        steps: the number of accepted steps.
        evaluations: the number of points at which functions or derivatives were computed.
        noted: the notes, each of which is ``{"kind", "span", "message"}``.
    """

    def __init__(self, command: str, expression: str) -> None:
        self.command = command
        self.expression = expression
        self.converged = False
        self.verdict = "not_converged"
        self.reason = ""
        self.advice: str | None = None
        self.steps = 0
        self.evaluations = 0
        self.noted: list[Record] = []

    @property
    def notes(self) -> list[Record]:
        """The notes on the solution."""
        return self.noted

    def answer(self) -> Record:
        """Return the entries of the JSON object that only this kind of solution has."""
        raise NotImplementedError

    def content(self) -> Record:
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
