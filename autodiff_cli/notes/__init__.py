"""What is worth knowing about an evaluation: kinks, ends of domains, where nan and inf come from, lost digits.

Notes are worked out from the trace when they are read.  They say what happened at the point and change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.modes import enable_grad
from autodiff_cli.errors import AutodiffError
from autodiff_cli.evaluation.phrasing import note
from autodiff_cli.notes import births, digits, kinks, slopes

if TYPE_CHECKING:
    from autodiff_cli.evaluation.evaluation import Evaluation

Note = dict[str, Any]
MOST_OF_A_KIND = 5
STRICT = False
"""Whether a mistake in here is raised; tests do, but an answer is never lost to a note about it."""

_NAMES = {
    "kink": "kinks",
    "domain": "ends of domains",
    "nonfinite": "of nan and inf",
    "cancellation": "places that lose digits",
    "overflow": "overflows",
    "underflow": "underflows",
}


def notes_on(evaluation: Evaluation, numbers: Sequence[tuple[str, Any]], order: int, shows_value: bool = True) -> list[Note]:
    """The notes on one evaluation.

    Args:
        evaluation: the evaluation.
        numbers: its derivatives, with what they are called.
        order: the highest order of them.
        shows_value: whether the value is shown too; where it is not, there is nothing to say about its digits.
    """
    with np.errstate(all="ignore"), enable_grad():
        wrong = _tried(lambda: digits.lost(evaluation, numbers, order, shows_value))
        # Where something underflows, what is near it looks like a kink.
        ended = any(one["kind"] in ("overflow", "underflow") for one in wrong)
        bent = _tried(lambda: kinks.kinks(evaluation, order)) if numbers and not ended else []
        born = _tried(lambda: births.of_value(evaluation))
        grown = _tried(lambda: slopes.of_derivatives(evaluation, numbers, order))
    return [*bent, *born, *grown, *wrong]


def _tried(part: Callable[[], list[Note]]) -> list[Note]:
    """The notes of one kind; a mistake in here costs these, and no answer."""
    try:
        return _limited(part())
    except AutodiffError:  # beside the point something is refused, or it has no inverse within rounding
        return []
    except Exception:
        if STRICT:
            raise
        return []


def _limited(notes: list[Note]) -> list[Note]:
    """The first few of each kind, each said once."""
    kept: list[Note] = []
    more: dict[str, int] = {}
    said: dict[str, set[Any]] = {}
    for one in notes:
        places = said.setdefault(one["kind"], set())
        place = None if one["span"] is None else (*one["span"], one.get("order"))
        if place in places or len(places) >= MOST_OF_A_KIND:  # the same place in a function that is called often
            more[one["kind"]] = more.get(one["kind"], 0) + 1
        else:
            places.add(place)
            kept.append(one)
    return kept + [note(kind, f"and {count} more {_NAMES[kind]}") for kind, count in more.items()]
