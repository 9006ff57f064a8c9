"""Descriptions of trace steps in messages: the source text, the arguments at one element, and the affected elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.evaluation.note_phrases import (
    argument_texts,
    elements_phrase,
    first_true_index,
    shortened_source,
    with_arguments_phrase,
)
from autodiff_cli.evaluation.trace import Step

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from autodiff_cli.evaluation.evaluation import Evaluation


class Description(NamedTuple):
    """The description of a step.

    Attributes:
        text: the source text of the step.
        arguments: the arguments, such as `` with x = 0.0``, or an empty string.
        elements: the affected elements, such as `` in 2 of 5 elements, first at [1]``, or an empty string for a scalar.
    """

    text: str
    arguments: str
    elements: str

    @property
    def rest(self) -> str:
        """The descriptions of the arguments and the elements."""
        return self.arguments + self.elements

    def __str__(self) -> str:
        return self.text + self.rest


def describe_step(
    evaluation: Evaluation,
    step: Step,
    mask: ArrayLike,
    one_by_one: bool,
    place: tuple[int, ...] | None = None,
    sampled: int | None = None,
) -> Description:
    """Return the description of a step.

    Args:
        evaluation: the evaluation.
        step: the step to describe.
        mask: the affected elements.
        one_by_one: whether each affected element is computed from one element of each argument.
        place: the index of the element whose arguments are described; by default, the first affected element.
        sampled: the number of examined elements, or ``None`` if all elements were examined.
    """
    at = first_true_index(mask) if place is None else place
    texts = argument_texts(step, at, np.shape(mask), one_by_one, evaluation.expression)
    return Description(
        shortened_source(evaluation.expression, step.tree.span), with_arguments_phrase(texts), elements_phrase(mask, sampled)
    )
