"""Notes on an evaluation: kinks, ends of domains, where nan and inf come from, lost digits.

Notes are computed from the trace when they are read.  They tell what happened at the point and do not change the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from autodiff_cli.autograd.modes import enable_grad
from autodiff_cli.errors import AutodiffError
from autodiff_cli.evaluation.phrasing import Note, note
from autodiff_cli.notes import kinks, lost_digits, nonfinite_derivative, nonfinite_value

if TYPE_CHECKING:
    from autodiff_cli.evaluation.evaluation import Evaluation

MOST_OF_A_KIND = 5
STRICT = False
"""Whether a defect in here raises, as in tests; an answer is never lost because of a note about it."""

_NAMES = {
    "kink": "kinks",
    "domain": "ends of domains",
    "nonfinite": "of nan and inf",
    "cancellation": "places that lose digits",
    "overflow": "overflows",
    "underflow": "underflows",
}


def notes_on(
    evaluation: Evaluation, numbers: Sequence[tuple[str, ArrayLike | None]], order: int, shows_value: bool = True
) -> list[Note]:
    """Return the notes on one evaluation.

    Args:
        evaluation: the evaluation.
        numbers: its derivatives, each with its name in messages.
        order: the highest order of them.
        shows_value: whether the value is shown too; if not, there are no notes on its digits.
    """
    with np.errstate(all="ignore"), enable_grad():
        lost = _tried(lambda: lost_digits.lost(evaluation, numbers, order, shows_value))
        # Where something underflows, its surroundings look like a kink.
        ended = any(one["kind"] in ("overflow", "underflow") for one in lost)
        bent = _tried(lambda: kinks.kinks(evaluation, order)) if numbers and not ended else []
        values = _tried(lambda: nonfinite_value.of_value(evaluation))
        derivatives = _tried(lambda: nonfinite_derivative.of_derivatives(evaluation, numbers, order))
    return [*bent, *values, *derivatives, *lost]


def _tried(part: Callable[[], list[Note]]) -> list[Note]:
    """Return the notes of one kind, none after an error in their computation."""
    try:
        return _limited(part())
    except AutodiffError:  # an operation is refused beside the point, or a matrix has no inverse within rounding
        return []
    except Exception:
        if STRICT:
            raise
        return []


def _limited(notes: list[Note]) -> list[Note]:
    """Return the first notes of each kind, one for each place, and the number of the others."""
    kept: list[Note] = []
    more: dict[str, int] = {}
    places: dict[str, set[tuple[int, ...] | None]] = {}
    for one in notes:
        known = places.setdefault(one["kind"], set())
        place = None if one["span"] is None else (*one["span"], one.get("order"))
        if place in known or len(known) >= MOST_OF_A_KIND:  # the same place in a function that is called often
            more[one["kind"]] = more.get(one["kind"], 0) + 1
        else:
            known.add(place)
            kept.append(one)
    return kept + [note(kind, f"and {count} more {_NAMES[kind]}") for kind, count in more.items()]
