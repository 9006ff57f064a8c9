"""Results with notes that are computed when they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from autodiff_cli.command_result import CommandResult, Record

if TYPE_CHECKING:
    from autodiff_cli.evaluation.evaluation import Evaluation
    from autodiff_cli.evaluation.note_phrases import Note
    from autodiff_cli.precise.right_digits import Verified


class DerivativeResult(CommandResult):
    """A result with derivatives, whose notes are computed when they are read.

    Attributes:
        verified: the verified digits, or ``None`` if they were not requested.
        compute_notes: the function that computes the notes; ``None`` before the evaluation is complete, and after they are read.
    """

    verified: Verified | None = None
    compute_notes: Callable[[], list[Note]] | None = None
    _notes: list[Note] | None = None

    @property
    def notes(self) -> list[Record]:
        """The notes on the evaluation, ``{"kind", "span", "message"}``.  They are computed when first read, and then kept."""
        if self.compute_notes is not None:
            compute_notes = self.compute_notes
            self.compute_notes = None  # frees the evaluation
            self._notes = compute_notes()
        return self._notes or []

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with computed notes, because the functions of an evaluation cannot be copied to another process."""
        return self.__dict__ | {"_notes": self.notes, "compute_notes": None}

    def completed(self, content: Record) -> Record:
        """Return the content of the JSON object with the verified digits and the notes added."""
        return {**content, **({} if self.verified is None else self.verified.to_dict()), "notes": self.notes}


def all_notes(
    evaluation: Evaluation,
    first: list[Note],
    numbers: Callable[[], Sequence[tuple[str, Any]]],
    order: int,
    shows_value: bool = True,
) -> list[Note]:
    """Return the notes that come ``first``, and those on the value and on derivatives up to an order.

    The function ``numbers`` returns the derivatives, each with the name that messages use for it; ``shows_value`` says whether the
    value is displayed beside them.
    """
    from autodiff_cli.notes import notes_on  # imported only when notes are read

    return [*first, *notes_on(evaluation, numbers(), order, shows_value)]
