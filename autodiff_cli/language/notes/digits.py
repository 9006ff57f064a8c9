"""Lost digits, of values and of derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from autodiff_cli.language.hints import way_out
from autodiff_cli.language.notes.cancellation import lost_digits
from autodiff_cli.language.trace import pointwise
from autodiff_cli.language.wording import among, arguments_at, beside, note, shortened

if TYPE_CHECKING:
    from autodiff_cli.language.session import Session

Note = dict[str, Any]


def lost(session: Session, numbers: Sequence[tuple[str, Any]], order: int, shows_value: bool) -> list[Note]:
    """The notes on digits that the value lost, if it is shown, and the derivatives."""
    notes = _of_value(session) if shows_value else []
    return notes


def _of_value(session: Session) -> list[Note]:
    notes = []
    for one in lost_digits(session.trace, session.output, session.dtype):
        step = one.step
        texts = arguments_at(step, one.place, one.mask.shape, pointwise(step), session.expression)
        text = shortened(session.expression, step[4].span)
        out = way_out(step[4], session.evaluator.tree)
        better = f"; {out} keeps them" if out else ""
        message = f"{text} loses about {one.digits} of {one.total} digits{beside(texts)}{among(one.mask, one.sampled)}{better}"
        notes.append(note("cancellation", message, step[4].span, order=0))
    return notes
