"""Numbers that are wrong: digits lost in cancellations, and what overflows or underflows on the way.

Suspects are found cheaply: by the error bound of ``cancellation`` for the value, by moving the results of operations by
rounding errors for derivatives, by infinities and zeros in the trace.  Only then the expression is computed with many
digits, and that decides; where it cannot be, the suspicion is the note.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.higher_order import Index
from autodiff_cli.errors import AutodiffError, NotPrecise
from autodiff_cli.evaluation.phrasing import among, arguments_at, beside, first_place, note, ordinal, shortened
from autodiff_cli.evaluation.trace import Step, pointwise
from autodiff_cli.notes import overflow, shaken
from autodiff_cli.notes.cancellation import Lost, lost_digits
from autodiff_cli.notes.kinks import switches
from autodiff_cli.notes.rewrites import way_out

if TYPE_CHECKING:
    from autodiff_cli.evaluation.evaluation import Evaluation
    from autodiff_cli.precise.reference import Reference

Note = dict[str, Any]
MOST_ORDER = 2
_SUSPECT = 30
"""How many times smaller an error may be than one that has a note, to be looked at."""


class _Wrong:
    """A number that is not what it should be.

    Attributes:
        order: 0 for the value; ``name`` what it is called.
        given, true: what was computed, and what it is.
        relative: the error in proportion.
    """

    def __init__(self, order: int, name: str, given: float, true: float, relative: float) -> None:
        self.order = order
        self.name = name
        self.given = given
        self.true = true
        self.relative = relative

    def digits(self, total: int) -> int:
        """How many of so many digits are lost."""
        return total - min(max(int(-math.log10(min(self.relative, 1.0))), 0), total)


def lost(evaluation: Evaluation, numbers: Sequence[tuple[str, Any]], order: int, shows_value: bool) -> list[Note]:
    """The notes on wrong digits of the value, if it is shown, and of the derivatives."""
    steps, value_lost = lost_digits(evaluation.trace, evaluation.output, evaluation.dtype)
    notes = []
    truth = _Truths(evaluation, min(max(order, 1), MOST_ORDER))
    if value_lost and shows_value:
        wrong = truth.value()
        if wrong is None or wrong:
            notes += [_of_step(evaluation, one) for one in steps]
    by_hand = any(function.partials is not None for function in evaluation.evaluator.functions.values())
    if not numbers or by_hand or not evaluation.variables or not shaken.fits(evaluation, truth.order):
        return notes
    found = shaken.derivatives(evaluation, truth.order)
    limit = truth.limit / _SUSPECT
    ended = list(overflow.ends(evaluation.trace))
    wrong_value = (truth.value() if shows_value and not value_lost else None) if ended else None
    far = overflow.is_far(evaluation.trace)
    moves = not switches(evaluation, truth.order)
    suspects = list(found) if ended or far else shaken.shaky(evaluation, truth.order, found, limit, moves)
    if overflow.absorbs(evaluation.trace):  # where shaking cannot help: 0 stays 0
        suspects = [key for key, value in found.items() if key in suspects or np.any(value == 0)]
    if not suspects and not wrong_value:
        return notes
    wrongs = truth.derivatives(found, suspects)
    if wrongs is None:
        sure = [] if ended or far else shaken.shaky(evaluation, truth.order, found, truth.limit, moves=False)
        return [*notes, *_suspected(evaluation, steps, sure)]
    if ended:
        return [*notes, *_ended(evaluation, ended, [*(wrong_value or []), *wrongs])]
    return [*notes, *_derivatives(evaluation, steps, wrongs, far)]


MOST_SECONDS = 1.0
"""Of processor time, for the value and again for the derivatives."""


class _Truths:
    """The numbers of an evaluation beside what they are with many digits."""

    def __init__(self, evaluation: Evaluation, order: int) -> None:
        self.evaluation = evaluation
        self.order = order
        self.limit = math.sqrt(float(np.finfo(evaluation.dtype).eps))
        self._least = float(np.finfo(evaluation.dtype).tiny) * 10
        self._truth: Reference | None = None
        self._tried = False

    def _made(self) -> Reference | None:
        if not self._tried:
            self._tried = True
            from autodiff_cli.precise.reference import Reference

            count = sum(leaf.numel() for leaf in self.evaluation.variables.values())
            evaluations = 4 * count if self.order == 1 else 8 * count * (count + 1)
            try:
                self._truth = Reference(self.evaluation, self.order, evaluations=evaluations)
            except AutodiffError:
                self._truth = None
        return self._truth

    def _in_time(self, part: Callable[[], list[_Wrong] | None]) -> list[_Wrong] | None:
        from autodiff_cli.precise.reference import in_time

        try:
            with in_time(MOST_SECONDS):
                return part()
        except NotPrecise:
            return None

    def value(self) -> list[_Wrong] | None:
        """The elements of the value that are wrong; ``None`` if that cannot be known."""
        return self._in_time(self._of_value)

    def derivatives(self, found: shaken.Found, keys: Sequence[tuple[shaken.Place, Index]]) -> list[_Wrong] | None:
        """Those of these derivatives that are wrong; ``None`` if that cannot be known."""
        return self._in_time(lambda: self._of_derivatives(found, keys))

    def _of_value(self) -> list[_Wrong] | None:
        truth = self._made()
        if truth is None:
            return None
        values = np.ravel(self.evaluation.output._data)
        pairs = zip(values, truth.differences.values(), strict=True)
        return [one for given, true in pairs if (one := self._compared(0, "the value", float(given), true)) is not None]

    def _of_derivatives(self, found: shaken.Found, keys: Sequence[tuple[shaken.Place, Index]]) -> list[_Wrong] | None:
        truth = self._made()
        if truth is None:
            return None
        evaluation = self.evaluation
        if evaluation.gradient is not None:
            truth = truth.weighted(evaluation.gradient._data)
        wrong = []
        for place, names in keys:
            j = 0 if place is None else int(np.ravel_multi_index(place, evaluation.output.shape))
            array = found[place, names]
            shapes = [evaluation.variables[name].shape for name in names]
            for position in np.ndindex(array.shape):
                index, rest, elements = [], list(position), []
                for name, shape in zip(names, shapes, strict=True):
                    element, rest = tuple(rest[: len(shape)]), rest[len(shape) :]
                    index.append(truth.elements[name].start + (int(np.ravel_multi_index(element, shape)) if shape else 0))
                    elements.append(f"{name}[{', '.join(map(str, element))}]" if shape else name)
                slope = truth.differences.slopes(tuple(sorted(index)))[j]
                given = float(array[position])
                zero = bool(abs(slope.value) <= slope.noise)
                if slope.kind != "smooth" or (zero and math.isfinite(given)):
                    continue
                by = " and ".join(dict.fromkeys(elements))
                one = self._compared(
                    len(names), f"the {ordinal(len(names))} by {by}", given, 0 * slope.value if zero else slope.value
                )
                if one is not None:
                    wrong.append(one)
        return wrong

    def _compared(self, order: int, name: str, given: float, exact: Any) -> _Wrong | None:
        if abs(exact) < self._least and abs(given) < self._least:
            return None
        true = float(np.dtype(self.evaluation.dtype).type(float(exact)))
        if math.isnan(true) or given == true:
            return None
        if math.isnan(given) or math.isinf(given) or math.isinf(true):
            return _Wrong(order, name, given, true, math.inf)
        if true == 0:
            return None
        relative = float(abs(exact - given) / abs(exact))
        # Of the value more is known already: the bound says that the digits are lost, if not by how much.
        return _Wrong(order, name, given, true, relative) if relative > (self.limit if order else self.limit / _SUSPECT) else None


# Words


def _total(evaluation: Evaluation) -> int:
    return round(-math.log10(float(np.finfo(evaluation.dtype).eps)))


def _of_step(evaluation: Evaluation, one: Lost) -> Note:
    step = one.step
    texts = arguments_at(step, one.place, one.mask.shape, pointwise(step), evaluation.expression)
    text = shortened(evaluation.expression, step.tree.span)
    message = f"{text} loses about {one.digits} of {one.total} digits{beside(texts)}{among(one.mask, one.sampled)}"
    return note("cancellation", message + _kept(evaluation, one), step.tree.span, order=0)


def _kept(evaluation: Evaluation, one: Lost) -> str:
    out = way_out(one.step.tree, evaluation.evaluator.tree)
    return f"; {out} keeps them" if out else ""


def _derivatives(evaluation: Evaluation, steps: Sequence[Lost], wrongs: Sequence[_Wrong], far: bool) -> list[Note]:
    """One note for each order: the worst of its derivatives, and where digits were lost if that is known.

    Args:
        far: whether what is 0 or infinite may be so because floats end.
    """
    notes = []
    for order in sorted({wrong.order for wrong in wrongs}):
        mine = [wrong for wrong in wrongs if wrong.order == order]
        worst = max(mine, key=lambda wrong: wrong.relative)
        more = f", and {len(mine) - 1} more" if len(mine) > 1 else ""
        if far and (worst.given == 0 or not math.isfinite(worst.given)):
            kind = "underflow" if worst.given == 0 else "overflow"
            message = f"{worst.name}{more} is {worst.given:.6g} and should be {worst.true:.6g}: numbers {kind} on the way back"
            notes.append(note(kind, message, evaluation.evaluator.tree.children[-1].span, order=order))
            continue
        total = _total(evaluation)
        notes.append(
            _about(evaluation, steps, f"{worst.name}{more}: about {worst.digits(total)} of {total} digits are lost", order)
        )
    return notes


def _suspected(evaluation: Evaluation, steps: Sequence[Lost], suspects: Sequence[tuple[shaken.Place, Index]]) -> list[Note]:
    """The same where the truth is not known."""
    notes = []
    for order in sorted({len(names) for _, names in suspects}):
        names = next(names for _, names in suspects if len(names) == order)
        by = " and ".join(dict.fromkeys(names))
        notes.append(_about(evaluation, steps, f"the {ordinal(order)} by {by} may have lost most of its digits", order))
    return notes


def _about(evaluation: Evaluation, steps: Sequence[Lost], message: str, order: int) -> Note:
    if not steps:
        return note("cancellation", message, evaluation.evaluator.tree.children[-1].span, order=order)
    step = steps[0].step
    return note(
        "cancellation",
        f"{message} in {shortened(evaluation.expression, step.tree.span)}{_kept(evaluation, steps[0])}",
        step.tree.span,
        order=order,
    )


def _ended(evaluation: Evaluation, ended: Sequence[tuple[Step, str, Any]], wrongs: Sequence[_Wrong]) -> list[Note]:
    """What is wrong because a step overflows or underflows, and the way around it."""
    if not wrongs:
        return []
    step, verb, mask = ended[0]
    orders = sorted({wrong.order for wrong in wrongs})
    first = [next(wrong for wrong in wrongs if wrong.order == order) for order in orders]
    said = " and ".join(f"{one.name} is {one.given:.6g} and should be {one.true:.6g}" for one in first)
    texts = arguments_at(step, first_place(mask), mask.shape, pointwise(step), evaluation.expression)
    text = shortened(evaluation.expression, step.tree.span)
    out = way_out(step.tree, evaluation.evaluator.tree, overflow=True)
    instead = f"; {out} does not" if out else ""
    message = f"{text} {verb}{beside(texts)}{among(mask)}: {said}{instead}"
    return [note(verb.removesuffix("s"), message, step.tree.span, order=orders[0])]
