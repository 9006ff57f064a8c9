"""Phrases for notes, such as a call, its arguments and the position of an element."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autodiff_cli.errors import Span
from autodiff_cli.evaluation.trace import Step, raw
from autodiff_cli.language.tree import Syntax, arguments
from autodiff_cli.wording import shortened as in_short

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from autodiff_cli.evaluation.evaluation import Evaluation

Note = dict[str, Any]
"""A note as in the JSON output, with ``kind``, ``span``, ``message`` and optionally ``order``."""

_MOST_TEXT = 53
"""The maximum number of characters of an expression in a note, so that most notes fit on a line of a terminal."""


def note(kind: str, message: str, span: Span | None = None, order: int | None = None) -> Note:
    """Build a note of a kind, such as ``kink``, on a part of the expression.

    It is about the derivative of an order, with 0 for the value, or about the whole result for ``None``.
    """
    result: Note = {"kind": kind, "span": None if span is None else list(span), "message": message}
    return result if order is None else {**result, "order": order}


def derivative_phrase(order: int) -> str:
    """Return the name of the derivative with a given order: ``second derivative``, ``derivative of order 3``."""
    return {1: "derivative", 2: "second derivative"}.get(order, f"derivative of order {order}")


def first_true_index(mask: ArrayLike) -> tuple[int, ...]:
    """Return the position of the first true element, or of the first element if none is true."""
    flat = int(np.argmax(np.ravel(mask)))
    return tuple(int(i) for i in np.unravel_index(flat, np.shape(mask)))


def elements_phrase(mask: ArrayLike) -> str:
    """Return a phrase such as `` in 2 of 5 elements, first at [1]`` for the true elements of a mask; it is empty for a scalar."""
    if not np.ndim(mask):
        return ""
    place = ", ".join(map(str, first_true_index(mask)))
    count = int(np.count_nonzero(mask))
    return f" in {count:,} of {np.size(mask):,} elements, first at [{place}]"


def shortened_source(source: str, span: Span) -> str:
    """Return a part of the expression on one line, shortened in the middle if it is long."""
    return in_short(source[slice(*span)], _MOST_TEXT)


def call_text(step: Step, source: str) -> str:
    """Return the name of a called function, or the whole expression of an operator."""
    assert step.op is not None
    return step.op.name if step.tree.kind in ("call", "method") else shortened_source(source, step.tree.span)


def argument_trees(step: Step) -> list[Syntax]:
    """Return the trees of the arguments of a step; the list is empty if the tree does not have one node for each argument."""
    trees = operand_trees(step.tree)
    return trees if len(trees) == len(step.inputs) else []


def operand_trees(node: Syntax) -> list[Syntax]:
    """Return the trees of the operands of an operation, in the order of the arguments of its function."""
    children = node.children
    if node.kind in ("call", "method"):
        values = [child.children[1] if child.kind == "keyword" else child for child in arguments(node)]
        return [children[0], *values] if node.kind == "method" else values
    if node.kind == "conditional":
        value, condition, otherwise = children
        return [condition, value, otherwise]
    if node.kind in ("index", "attribute"):
        return children[:1]
    return children[::2] if node.kind == "comparison" else children


def argument_texts(
    step: Step, place: tuple[int, ...], shape: tuple[int, ...], one_by_one: bool, source: str, as_text: Callable[[Any], str] = str
) -> dict[Any, str]:
    """Return a text such as ``x = 0.0`` for each argument that is not a literal, keyed by position or keyword.

    Args:
        step, source: the step of the call, and the text of the expression.
        place, shape: the position of an element, and the shape that the arguments broadcast to.
        one_by_one: whether the function works element by element.
        as_text: the text of a number, by default with all digits.
    """
    trees = argument_trees(step)
    texts: dict[Any, str] = {}
    for i, (key, value) in enumerate(step.slots):
        numbers: Any = raw(value)
        if not _is_numeric(numbers) or (trees and _is_literal(trees[i])):
            continue
        name = shortened_source(source, trees[i].span) if trees else _parameter_name(step, key)
        element: Any = numbers
        if np.ndim(numbers):
            has_place = one_by_one or np.shape(numbers) == shape
            element = _broadcast_element(numbers, place, shape) if has_place else None
            name = name if one_by_one else f"{name}[{', '.join(map(str, place))}]"
        is_constant = name == str(element)
        if element is None or is_constant:
            continue
        text = f"{name} = {as_text(element)}"
        if text not in texts.values():
            texts[key] = text
    return texts


def _is_numeric(value: Any) -> bool:
    """Return whether an argument is a number or an array of numbers, and neither a condition nor a text."""
    return hasattr(value, "__float__") and not isinstance(value, bool) and np.result_type(value) != np.bool_


def _is_literal(tree: Syntax) -> bool:
    """Return whether an expression is a number, which may have a minus sign."""
    return (tree.children[0] if tree.kind == "neg" else tree).kind == "number"


def _broadcast_element(numbers: Any, place: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """Return the element of an array that belongs to a place of a shape; ``None`` if the array does not broadcast to the shape."""
    try:
        return np.broadcast_to(numbers, shape)[place]
    except ValueError:
        return None


def _parameter_name(step: Step, key: int | str) -> str:
    """Return the name of the parameter of an argument, which ``key`` gives by position or keyword."""
    op = step.op
    if op is None:
        return "the value"
    return op.parameters[key] if isinstance(key, int) and key < len(op.parameters) else str(key)


class Description(NamedTuple):
    """The description of a step.

    Attributes:
        text: the source text of the step.
        arguments, elements: `` with x = 0.0`` and `` in 2 of 5 elements, first at [1]``; empty if there are none.
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
    evaluation: Evaluation, step: Step, mask: ArrayLike, one_by_one: bool, place: tuple[int, ...] | None = None
) -> Description:
    """Return the description of a step with its affected elements, ``mask``, and with the arguments at one element.

    This element is at ``place``; by default, it is the first affected one.  ``one_by_one`` says whether each affected element is
    computed from one element of each argument.
    """
    at = first_true_index(mask) if place is None else place
    texts = argument_texts(step, at, np.shape(mask), one_by_one, evaluation.expression)
    text = shortened_source(evaluation.expression, step.tree.span)
    return Description(text, f" with {', '.join(texts.values())}" if texts else "", elements_phrase(mask))
