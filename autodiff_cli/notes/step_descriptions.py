"""A step of a trace in words: its text, its arguments at one element, and how many elements a note is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from autodiff_cli.evaluation.phrasing import among, arguments_at, beside, first_place, shortened
from autodiff_cli.evaluation.trace import Step

if TYPE_CHECKING:
    from autodiff_cli.evaluation.evaluation import Evaluation


class Description(NamedTuple):
    """The words for a step.

    Attributes:
        text: its piece of the expression.
        arguments: `` with x = 0.0``, or nothing.
        elements: `` in 2 of 5 elements, first at [1]``, or nothing for a single number.
    """

    text: str
    arguments: str
    elements: str

    @property
    def rest(self) -> str:
        """The arguments and the elements."""
        return self.arguments + self.elements

    def __str__(self) -> str:
        return self.text + self.rest


def described(
    evaluation: Evaluation,
    step: Step,
    mask: ArrayLike,
    one_by_one: bool,
    place: tuple[int, ...] | None = None,
    sampled: int | None = None,
) -> Description:
    """Return the words for a step.

    Args:
        mask: the elements that the note is about.
        one_by_one: whether each of them comes from one element of each argument.
        place: the element whose arguments are named; the first of the mask if left out.
        sampled: how many elements were looked at, if not all.
    """
    at = first_place(mask) if place is None else place
    texts = arguments_at(step, at, np.shape(mask), one_by_one, evaluation.expression)
    return Description(shortened(evaluation.expression, step.tree.span), beside(texts), among(mask, sampled))
