"""What is worth knowing about an evaluation: kinks, ends of domains, where nan and inf come from, lost digits.

Notes are worked out from the trace when they are read.  They say what happened at the point and change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.modes import enable_grad
from autodiff_cli.errors import LinAlgError
from autodiff_cli.language.notes import births, digits, kinks, slopes
from autodiff_cli.language.wording import note

if TYPE_CHECKING:
    from autodiff_cli.language.session import Session

Note = dict[str, Any]
MOST_OF_A_KIND = 5
STRICT = False
"""Whether a mistake in here is raised; tests do, but an answer is never lost to a note about it."""

_NAMES = {"kink": "kinks", "domain": "ends of domains", "nonfinite": "of nan and inf", "cancellation": "places that lose digits"}


def notes_on(session: Session, numbers: Sequence[tuple[str, Any]], order: int, shows_value: bool = True) -> list[Note]:
    """The notes on one evaluation.

    Args:
        session: the evaluation.
        numbers: its derivatives, with what they are called.
        order: the highest order of them.
        shows_value: whether the value is shown too; where it is not, its digits are nobody's concern.
    """
    parts: list[Callable[[], list[Note]]] = [
        lambda: kinks.kinks(session, order) if numbers else [],
        lambda: births.of_value(session),
        lambda: slopes.of_derivatives(session, numbers, order),
        lambda: digits.lost(session, numbers, order, shows_value),
    ]
    notes: list[Note] = []
    with np.errstate(all="ignore"), enable_grad():
        for part in parts:
            try:
                notes += _limited(part())
            except LinAlgError:  # what a note would be about has no inverse within rounding
                pass
            except Exception:
                if STRICT:
                    raise
    return notes


def _limited(notes: list[Note]) -> list[Note]:
    """The first few of each kind, each said once."""
    kept: list[Note] = []
    more: dict[str, int] = {}
    said: dict[str, set[Any]] = {}
    for one in notes:
        places = said.setdefault(one["kind"], set())
        place = None if one["span"] is None else tuple(one["span"])
        if place in places or len(places) >= MOST_OF_A_KIND:  # the same place in a function that is called often
            more[one["kind"]] = more.get(one["kind"], 0) + 1
        else:
            places.add(place)
            kept.append(one)
    return kept + [note(kind, f"and {count} more {_NAMES[kind]}") for kind, count in more.items()]
