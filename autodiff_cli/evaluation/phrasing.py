"""Pieces of notes: which call, with which arguments, at which element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autodiff_cli.errors import Span
from autodiff_cli.evaluation.trace import Step, raw
from autodiff_cli.language.tree import Syntax

Note = dict[str, Any]
"""What ``note`` makes, as the JSON has it."""

_MOST_TEXT = 48


def note(kind: str, message: str, span: Span | None = None, order: int | None = None) -> Note:
    """What is worth knowing, and where in the expression that is.

    Args:
        order: what it is about: 0 for the value, 1 for a first derivative and so on; ``None`` where that says nothing.
    """
    made: Note = {"kind": kind, "span": None if span is None else list(span), "message": message}
    return made if order is None else {**made, "order": order}


def ordinal(order: int) -> str:
    """What a derivative of an order is called."""
    return {1: "derivative", 2: "second derivative"}.get(order, f"derivative of order {order}")


def beside(texts: Mapping[Any, str]) -> str:
    """`` with x = 0.0``, for those arguments that do not stand in the expression as they are."""
    shown = [text for text in texts.values() if text]
    return f" with {', '.join(shown)}" if shown else ""


def spelled(value: Any) -> str:
    """A number with as many digits as it takes."""
    return str(value)


def first_place(mask: Any) -> tuple[int, ...]:
    """The position of the first element that is true."""
    flat = int(np.argmax(np.ravel(mask)))
    return tuple(int(i) for i in np.unravel_index(flat, np.shape(mask)))


def among(mask: Any, sampled: int | None = None) -> str:
    """`` in 2 of 5 elements, first at [1]``; nothing for a single number."""
    if not np.ndim(mask):
        return ""
    place = ", ".join(map(str, first_place(mask)))
    count = int(np.count_nonzero(mask))
    looked = f"{np.size(mask):,} elements" if sampled is None else f"{sampled:,} elements looked at"
    return f" in {count:,} of {looked}, first at [{place}]"


def shortened(source: str, span: Span) -> str:
    """A piece of the expression on one line, its middle left out where it is long."""
    text = " ".join(source[slice(*span)].split())
    half = _MOST_TEXT // 2
    return text if len(text) <= _MOST_TEXT else f"{text[:half].rstrip()} ... {text[-half:].lstrip()}"


def call_text(step: Step, source: str) -> str:
    """The name of a function that is called, the whole of an operator."""
    assert step.op is not None
    return step.op.name if step.tree.kind in ("call", "method") else shortened(source, step.tree.span)


def operands(step: Step) -> list[Syntax]:
    """The trees of the arguments, where they can be told apart."""
    node = step.tree
    if node.kind in ("call", "method"):
        after = 2 if node.kind == "method" else 1
        given = node.children[after].children if len(node.children) > after else []
        found = [child.children[1] if child.kind == "keyword" else child for child in given]
        found = [node.children[0], *found] if node.kind == "method" else found
    elif node.kind in ("index", "attribute"):
        found = node.children[:1]
    elif node.kind == "conditional":
        found = [node.children[1], node.children[0], node.children[2]]
    else:
        found = node.children[::2] if node.kind == "comparison" else node.children
    return found if len(found) == len(step.arguments) + len(step.keywords) else []


def arguments_at(
    step: Step, place: tuple[int, ...], shape: tuple[int, ...], one_by_one: bool, source: str, human: bool = False
) -> dict[Any, str]:
    """``x = 0.0`` for each argument that is no literal, by its position or keyword.

    Args:
        step: the call.
        place: which element, of arguments broadcast to ``shape``; ``one_by_one`` if that makes sense.
        source: the expression.
        human: numbers with few digits.
    """
    trees = operands(step)
    texts: dict[Any, str] = {}
    for i, (key, value) in enumerate(step.slots):
        numbers: Any = raw(value)
        if isinstance(numbers, (bool, str)) or not hasattr(numbers, "__float__") or np.result_type(numbers) == np.bool_:
            continue
        if trees and trees[i].kind in ("number", "neg") and not _names(trees[i]):
            continue
        name = shortened(source, trees[i].span) if trees else _parameter(step, key)
        if np.ndim(numbers):
            position = ", ".join(map(str, place))
            try:
                if one_by_one:
                    numbers = np.broadcast_to(numbers, shape)[place]
                elif np.shape(numbers) == shape:
                    numbers, name = numbers[place], f"{name}[{position}]"
                else:
                    continue
            except ValueError:
                continue
        if name == spelled(numbers):
            continue
        text = f"{name} = {float(numbers):.6g}" if human else f"{name} = {spelled(numbers)}"
        if text not in texts.values():
            texts[key] = text
    return texts


def _names(tree: Syntax) -> bool:
    return tree.kind == "neg" and tree.children[0].kind != "number"


def _parameter(step: Step, key: Any) -> str:
    op = step.op
    if op is None:
        return "the value"
    return op.parameters[key] if isinstance(key, int) and key < len(op.parameters) else str(key)
