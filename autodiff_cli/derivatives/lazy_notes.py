"""Notes that are computed when they are read, and the results that have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from autodiff_cli.command_result import CommandResult, Record

if TYPE_CHECKING:
    from autodiff_cli.evaluation.evaluation import Evaluation
    from autodiff_cli.evaluation.note_phrases import Note
    from autodiff_cli.precise.right_digits import Verified


class LazyNotes:
    """The notes on an evaluation, computed by the first call to ``read``.

    Args:
        evaluation: the evaluation.
        first: the notes that are already known.
        numbers: a function that returns the derivatives, each with the name that messages use for it.
        order: the highest order of the derivatives.
        shows_value: whether the value is displayed with the derivatives.
    """

    def __init__(
        self,
        evaluation: Evaluation,
        first: list[Note],
        numbers: Callable[[], Sequence[tuple[str, Any]]],
        order: int,
        shows_value: bool = True,
    ) -> None:
        self._known = first
        self._compute: Callable[[], list[Note]] | None = lambda: _compute_notes(evaluation, numbers(), order, shows_value)

    def read(self) -> list[Note]:
        """Return all notes, computing them on the first call."""
        if self._compute is not None:
            compute, self._compute = self._compute, None
            self._known = [*self._known, *compute()]
        return self._known

    def __reduce__(self) -> tuple[Callable[[list[Note]], LazyNotes], tuple[list[Note]]]:
        # An evaluation contains functions, which cannot be pickled.
        return _finished_notes, (self.read(),)


class DerivativeResult(CommandResult):
    """A result with derivatives, whose notes are computed when they are read.

    Attributes:
        verified: the verified digits, or ``None`` if they were not requested.
        noted: the notes; ``None`` before the evaluation is complete.
    """

    verified: Verified | None = None
    noted: LazyNotes | None = None

    @property
    def notes(self) -> list[Record]:
        """The notes on the evaluation, each of which is ``{"kind", "span", "message"}``."""
        return [] if self.noted is None else self.noted.read()

    def completed(self, content: Record) -> Record:
        """Return the content of the JSON object with the verified digits and the notes added."""
        return {**content, **({} if self.verified is None else self.verified.to_dict()), "notes": self.notes}


def _compute_notes(evaluation: Evaluation, numbers: Sequence[tuple[str, Any]], order: int, shows_value: bool) -> list[Note]:
    from autodiff_cli.notes import notes_on  # imported only when notes are read

    return notes_on(evaluation, numbers, order, shows_value)


def _finished_notes(notes: list[Note]) -> LazyNotes:
    result = LazyNotes.__new__(LazyNotes)
    result._known, result._compute = notes, None
    return result
