"""Notes on an evaluation: kinks, domain boundaries, origins of nan and inf, and lost digits.

Notes are computed from the trace when they are read.  They describe the evaluation at the point and do not change the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.modes import enable_grad
from autodiff_cli.errors import AutodiffError
from autodiff_cli.lazy import named
from autodiff_cli.notes.rounding_bounds import is_accurate
from autodiff_cli.notes.switches import switches

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from autodiff_cli.evaluation.evaluation import Evaluation

    Numbers = Sequence[tuple[str, ArrayLike | None]]
    """The derivatives, each with its name in messages."""
    from autodiff_cli.evaluation.note_phrases import Note

MOST_OF_A_KIND = 5
STRICT = False
"""Whether an unexpected error in the computation of notes is raised, as in tests, instead of being suppressed."""

_NAMES = {
    "kink": "kinks",
    "domain": "domain boundaries",
    "nonfinite": "origins of nan and inf",
    "cancellation": "steps that lose digits",
    "overflow": "overflows",
    "underflow": "underflows",
}


def notes_on(evaluation: Evaluation, numbers: Numbers, order: int, shows_value: bool = True) -> list[Note]:
    """Return the notes on an evaluation with derivatives ``numbers`` up to an order, and on the value's digits if it is shown."""
    with np.errstate(all="ignore"), enable_grad():
        highest_order = order if numbers and evaluation.variables else 0
        lost, nonfinite = [], []
        if not is_accurate(evaluation, highest_order, shows_value):
            notes_on_digits = named("autodiff_cli.notes.lost_digits:lost_digit_notes")
            lost = _notes_unless_failed(notes_on_digits, evaluation, numbers, order, shows_value)
        # The search for kinks would mistake an overflow or underflow for a kink.
        leaves_range = any(remark["kind"] in ("overflow", "underflow") for remark in lost)
        kinks = _notes_unless_failed(_kink_notes, evaluation, order) if numbers and not leaves_range else []
        displayed = [evaluation.output._data, *(value for _name, value in numbers if value is not None)]
        if not all(np.isfinite(value).all() for value in displayed):
            on_value = named("autodiff_cli.notes.nonfinite_value:nonfinite_value_notes")
            on_derivatives = named("autodiff_cli.notes.nonfinite_derivative:nonfinite_derivative_notes")
            nonfinite += _notes_unless_failed(on_value, evaluation)
            nonfinite += _notes_unless_failed(on_derivatives, evaluation, numbers, order)
    return [*kinks, *nonfinite, *lost]


def _kink_notes(evaluation: Evaluation, order: int) -> list[Note]:
    """Return the notes on kinks; there are none unless a step switches branches at the point, and the value is finite."""
    candidates = switches(evaluation, order)
    if not candidates or not np.isfinite(evaluation.output._data).all():
        return []
    from autodiff_cli.notes.kinks import kink_notes

    return kink_notes(evaluation, candidates, order)


def _notes_unless_failed(function: Callable[..., list[Note]], *arguments: Any) -> list[Note]:
    """Return the notes that a function computes, few of each kind, or an empty list if it fails: the answer does not need them."""
    try:
        return _few_of_each_kind(function(*arguments))
    except AutodiffError:  # an operation fails near the point, or a matrix is numerically singular
        return []
    except Exception:
        if STRICT:
            raise
        return []


def _few_of_each_kind(notes: list[Note]) -> list[Note]:
    """Return the first notes of each kind, at most one for each place and order, and notes with the numbers of omitted notes."""
    result: list[Note] = []
    omitted: dict[str, int] = {}  # the number of omitted notes, by kind
    places: dict[str, set[tuple[int, ...] | None]] = {}  # those of the notes in ``result``, by kind
    for remark in notes:
        kind, span = remark["kind"], remark["span"]
        places_of_kind = places.setdefault(kind, set())
        place = None if span is None else (*span, remark.get("order"))
        if place in places_of_kind or len(places_of_kind) >= MOST_OF_A_KIND:  # a function that is called twice may repeat its notes
            omitted[kind] = omitted.get(kind, 0) + 1
        else:
            places_of_kind.add(place)
            result.append(remark)
    if not omitted:
        return result
    from autodiff_cli.evaluation.note_phrases import note

    return result + [note(kind, f"and {count} more {_NAMES[kind]}") for kind, count in omitted.items()]
