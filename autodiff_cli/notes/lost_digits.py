"""Notes on inaccurate numbers: digits lost by cancellation, overflow and underflow.

Most evaluations are accurate, as bounds of their errors show (see ``rounding_bounds``).  In others, the value is suspect if
its error is large (see ``cancellation``), and a derivative is suspect if it changes in trials with perturbed rounding errors.
Infinities and zeros in the trace also make numbers suspect.  Suspects are then recomputed in arbitrary precision, and a
note is produced if the numbers differ.  If a suspect cannot be recomputed, its note describes it as possibly inaccurate.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.errors import AutodiffError, NotPrecise
from autodiff_cli.evaluation.names import element_names
from autodiff_cli.evaluation.note_phrases import Note, derivative_phrase, describe_step, first_true_index, note, shortened_source
from autodiff_cli.evaluation.trace import is_pointwise
from autodiff_cli.notes import overflow, rounding_trials
from autodiff_cli.notes.cancellation import DigitLoss, digits_lost, find_digit_losses, total_digits
from autodiff_cli.notes.overflow import RangeExcess
from autodiff_cli.notes.rewrites import stable_rewrite
from autodiff_cli.notes.rounding_bounds import MOST_ORDER, SUSPECT, absorbs
from autodiff_cli.notes.switches import switches
from autodiff_cli.number_text import number_text

if TYPE_CHECKING:
    from autodiff_cli.evaluation.evaluation import Evaluation
    from autodiff_cli.notes import Numbers
    from autodiff_cli.notes.rounding_trials import Derivatives, Key
    from autodiff_cli.precise.arithmetic import Real
    from autodiff_cli.precise.reference import Reference

MOST_SECONDS = 1.0
"""The limit on the processor time in seconds, for the value and for the derivatives separately."""


class _Deviation(NamedTuple):
    """An inaccurate derivative, or an inaccurate value, whose order is 0; ``relative`` is the relative error."""

    order: int
    name: str
    value: float
    true: float
    relative: float

    def __str__(self) -> str:
        return f"{self.name} is {number_text(self.value)} and should be {number_text(self.true)}"


def lost_digit_notes(evaluation: Evaluation, numbers: Numbers, order: int, shows_value: bool) -> list[Note]:
    """Return the notes on inaccurate digits of the derivatives ``numbers``, and of the value if it is displayed."""
    exact = _ExactComparison(evaluation, min(max(order, 1), MOST_ORDER))
    losses, value_lost = find_digit_losses(evaluation.trace, evaluation.output, evaluation.dtype)
    notes = []
    if value_lost and shows_value and exact.value() != []:  # the value is not accurate, or its exact value is unknown
        notes += [_step_note(evaluation, loss) for loss in losses]
    declares_derivatives = any(function.partials is not None for function in evaluation.evaluator.functions.values())
    has_derivatives = bool(numbers and evaluation.variables) and not declares_derivatives  # declared ones may be anything
    if has_derivatives and rounding_trials.is_small_enough(evaluation, exact.order):
        notes += _notes_on_derivatives(evaluation, exact, losses, shows_value and not value_lost)
    return notes


def _notes_on_derivatives(
    evaluation: Evaluation, exact: _ExactComparison, losses: Sequence[DigitLoss], compares_value: bool
) -> list[Note]:
    """Return the notes on derivatives, and on a compared value, that rounding errors, overflow or underflow may have changed.

    Suspects are compared with their exact numbers.  ``losses`` are the steps that may have caused rounding errors.
    """
    values = rounding_trials.derivatives(evaluation, exact.order)
    excesses = list(overflow.range_excesses(evaluation.trace))
    is_far = overflow.square_leaves_range(evaluation.trace)
    wrong_value = exact.value() if excesses and compares_value else None
    suspects = list(values) if excesses or is_far else _suspects_of_rounding(evaluation, exact, values)
    if absorbs(evaluation.trace):  # if a sum absorbs a term, a derivative may be 0 in every trial
        suspects = [key for key, value in values.items() if key in suspects or np.any(value == 0)]
    if not suspects and not wrong_value:
        return []
    deviations = exact.derivatives(values, suspects)
    if deviations is None:  # the exact numbers are not known
        return [] if excesses or is_far else _notes_without_exact_numbers(evaluation, exact, losses, values)
    if excesses:
        return _range_note(evaluation, excesses[0], [*(wrong_value or []), *deviations])
    return _derivative_notes(evaluation, losses, deviations, is_far)


def _suspects_of_rounding(evaluation: Evaluation, exact: _ExactComparison, values: Derivatives) -> list[Key]:
    """Return the derivatives that change in trials; at a kink, variables are not shifted, because that changes derivatives."""
    moves = not switches(evaluation, exact.order)
    return rounding_trials.uncertain_derivatives(evaluation, exact.order, values, exact.limit / SUSPECT, moves)


def _notes_without_exact_numbers(
    evaluation: Evaluation, exact: _ExactComparison, losses: Sequence[DigitLoss], values: Derivatives
) -> list[Note]:
    """Return a note for each order of which a derivative is inaccurate in trials, although nothing is known to compare it with."""
    uncertain = rounding_trials.uncertain_derivatives(evaluation, exact.order, values, exact.limit, moves=False)
    first_names = {len(names): names for _place, names in reversed(uncertain)}  # of the first derivative of each order
    notes = []
    for order in sorted(first_names):
        text = f"{_derivative_name(order, first_names[order])} may have lost most of its digits"
        notes.append(_located_note(evaluation, losses, text, order))
    return notes


class _ExactComparison:
    """A comparison of the numbers of an evaluation, up to an order, with their arbitrary-precision values."""

    def __init__(self, evaluation: Evaluation, order: int) -> None:
        self.order = order
        self._evaluation = evaluation
        self._dtype = np.dtype(evaluation.dtype)
        info = np.finfo(self._dtype)
        self.limit = math.sqrt(float(info.eps))  # the smallest relative error of a derivative that produces a note
        self._least = float(info.tiny) * 10  # smaller numbers have fewer digits

    @cached_property
    def _reference(self) -> Reference | None:
        """The exact numbers; ``None`` if they cannot be computed."""
        from autodiff_cli.precise.reference import Reference

        try:
            return Reference(self._evaluation, self.order)
        except AutodiffError:
            return None

    def _in_time(self, compare: Callable[[Reference], list[_Deviation]]) -> list[_Deviation] | None:
        """Return what a comparison with the exact numbers finds; ``None`` if it is impossible or takes too long."""
        from autodiff_cli.precise.reference import in_time

        try:
            with in_time(MOST_SECONDS):
                return None if self._reference is None else compare(self._reference)
        except NotPrecise:
            return None

    def value(self) -> list[_Deviation] | None:
        """Return the inaccurate elements of the value, or ``None`` if the exact value cannot be computed."""
        return self._in_time(self._value)

    def derivatives(self, values: Derivatives, keys: Sequence[Key]) -> list[_Deviation] | None:
        """Return the inaccurate derivatives among ``keys``, or ``None`` if the exact derivatives cannot be computed."""
        return self._in_time(lambda reference: self._derivatives(reference, values, keys))

    def _value(self, reference: Reference) -> list[_Deviation]:
        """Compare the elements of the value with their exact values."""
        pairs = zip(np.ravel(self._evaluation.output._data), reference.differences.values(), strict=True)
        deviations = [self._deviation(0, "the value", float(value), exact) for value, exact in pairs]
        return [deviation for deviation in deviations if deviation is not None]

    def _derivatives(self, reference: Reference, values: Derivatives, keys: Sequence[Key]) -> list[_Deviation]:
        """Compare derivatives, each of one output element (``None`` for the weighted sum), with their exact values."""
        evaluation = self._evaluation
        if evaluation.gradient is not None:
            reference = reference.weighted(evaluation.gradient._data)
        deviations = []
        for place, names in keys:
            output_number = 0 if place is None else int(np.ravel_multi_index(place, evaluation.output.shape))
            elements = [element_names(name, evaluation.variables[name].shape) for name in names]
            numbers = np.ravel(values[place, names]).tolist()
            for number, index, labels in zip(numbers, reference.indices(names), itertools.product(*elements), strict=True):
                slope = reference.differences.slopes(index)[output_number]
                if slope.kind != "smooth" or (not slope.value and math.isfinite(number)):
                    continue  # nothing to compare with: an exact 0 does not have a relative error
                deviation = self._deviation(len(names), _derivative_name(len(names), labels), number, slope.value)
                if deviation is not None:
                    deviations.append(deviation)
        return deviations

    def _deviation(self, order: int, name: str, value: float, exact: Real) -> _Deviation | None:
        """Return the deviation of a number; ``None`` if it is accurate, too small to be compared, or not known exactly."""
        if abs(exact) < self._least and abs(value) < self._least:
            return None
        true = float(self._dtype.type(float(exact)))
        if math.isnan(true) or value == true:
            return None
        if not math.isfinite(value) or math.isinf(true):
            return _Deviation(order, name, value, true, math.inf)
        if true == 0:
            return None
        error = float(abs(value - exact) / abs(exact))
        # The error bound already indicates lost digits of the value, so a smaller error suffices for a note.
        limit = self.limit if order else self.limit / SUSPECT
        return _Deviation(order, name, value, true, error) if error > limit else None


# Messages


def _derivative_name(order: int, names: Sequence[str]) -> str:
    """Return the words for a derivative: ``the second derivative with respect to x and y``."""
    return f"the {derivative_phrase(order)} with respect to {' and '.join(dict.fromkeys(names))}"


def _step_note(evaluation: Evaluation, loss: DigitLoss) -> Note:
    """Return the note on a step that loses digits of the value."""
    description = describe_step(evaluation, loss.step, loss.mask, is_pointwise(loss.step), loss.place)
    digits = f"{loss.digits} of {total_digits(evaluation.dtype)} digits"
    message = f"{description.text} loses about {digits}{description.rest}{_remedy(evaluation, loss)}"
    return note("cancellation", message, loss.step.tree.span, order=0)


def _remedy(evaluation: Evaluation, loss: DigitLoss) -> str:
    """Return the end of a message that names a rewrite without the loss; empty if none is known."""
    rewrite = stable_rewrite(loss.step.tree, evaluation.evaluator.tree)
    return f"; {rewrite} keeps them" if rewrite else ""


def _derivative_notes(
    evaluation: Evaluation, losses: Sequence[DigitLoss], deviations: Sequence[_Deviation], is_far: bool
) -> list[Note]:
    """Return one note for each order, on the worst deviation.

    If results are near the ends of the range of floats (``is_far``), a derivative of 0 or infinity is not called a loss of digits.
    """
    notes = []
    for order in sorted({deviation.order for deviation in deviations}):
        of_order = [deviation for deviation in deviations if deviation.order == order]
        worst = max(of_order, key=lambda deviation: deviation.relative)
        more = f", and {len(of_order) - 1} more" if len(of_order) > 1 else ""
        if is_far and (worst.value == 0 or not math.isfinite(worst.value)):
            kind = "underflow" if worst.value == 0 else "overflow"
            span = evaluation.evaluator.tree.children[-1].span
            subject = worst._replace(name=f"{worst.name}{more}," if more else worst.name)
            notes.append(note(kind, f"{subject}: numbers {kind} in the backward pass", span, order=order))
        else:
            total = total_digits(evaluation.dtype)
            lost = f"{worst.name}{more}: about {digits_lost(worst.relative, total)} of {total} digits are lost"
            notes.append(_located_note(evaluation, losses, lost, order))
    return notes


def _located_note(evaluation: Evaluation, losses: Sequence[DigitLoss], message: str, order: int) -> Note:
    """Return a note at the first step that lost digits, or at the result if no step is known."""
    if not losses:
        return note("cancellation", message, evaluation.evaluator.tree.children[-1].span, order=order)
    span = losses[0].step.tree.span
    message = f"{message} in {shortened_source(evaluation.expression, span)}{_remedy(evaluation, losses[0])}"
    return note("cancellation", message, span, order=order)


def _range_note(evaluation: Evaluation, excess: RangeExcess, deviations: Sequence[_Deviation]) -> list[Note]:
    """Return the note on numbers that a step that overflows or underflows made inaccurate, if any, and a rewrite that avoids it."""
    if not deviations:
        return []
    first_of_order = {deviation.order: deviation for deviation in reversed(deviations)}
    numbers = " and ".join(str(first_of_order[order]) for order in sorted(first_of_order))
    description = describe_step(evaluation, excess.step, excess.mask, is_pointwise(excess.step), first_true_index(excess.mask))
    rewrite = stable_rewrite(excess.step.tree, evaluation.evaluator.tree, overflow=True)
    instead = f"; {rewrite} does not" if rewrite else ""
    message = f"{description.text} {excess.kind}s{description.rest}: {numbers}{instead}"
    return [note(excess.kind, message, excess.step.tree.span, order=min(first_of_order))]
