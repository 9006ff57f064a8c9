"""Branches that were not taken contribute nothing, even where their own derivative is infinite or nan.

``where``, ``max``, ``clamp``, indexing and steps such as ``floor`` hand a zero to what they did not take, and zero times
infinity is nan.  A sweep that meets such an operation remembers from there on which elements of a gradient are no
contribution at all, and keeps them zero.  A zero that was computed is not one of them: ``sqrt(x)*sqrt(x)`` at 0 stays nan.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.node import Cotangent, Node
from autodiff_cli.autograd.primitives.nodes import LinearNode, OpNode, SequenceNode
from autodiff_cli.autograd.primitives.structural import where


class Blank:
    """Which elements of a gradient are no contribution: found when somebody asks."""

    __slots__ = ("_make", "_mask")

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make: Callable[[], Any] | None = make
        self._mask: Any = None

    @property
    def mask(self) -> Any:
        if self._make is not None:
            self._mask, self._make = self._make(), None
        return self._mask


def follow(
    node: Node, gradient: Cotangent, parts: Sequence[Cotangent | None], blank: Blank | None, needed: Collection[Node] | None
) -> tuple[Sequence[Cotangent | None], list[Blank | None]]:
    """The parts of a node with what is no contribution kept zero, and the blank elements of each.

    Args:
        node: a node that selects, or one whose gradient has blank elements.
        gradient: what arrived at it; its ``parts`` were computed from that.
        blank: the blank elements of ``gradient``.
        needed: see ``Node.apply``.
    """
    nothing: list[Blank | None] = [None] * len(parts)
    if isinstance(gradient, list) or all(part is None for part in parts):
        return parts, nothing
    if node.selects or (blank is not None and _is_linear(node)):
        return _through(node, gradient, parts, blank, needed)
    if blank is None:
        return parts, nothing
    if node.elementwise:
        return [_kept_zero(part, blank) for part in parts], [blank] * len(parts)
    if np.all(blank.mask):
        zeros = [None if part is None else part * 0 for part in parts]
        return [_replaced(zero, True) for zero in zeros], [None if zero is None else _everything(zero) for zero in zeros]
    return parts, nothing


def _is_linear(node: Node) -> bool:
    """Whether the rule only moves and adds: no local derivative, nothing saved but shapes."""
    return isinstance(node, (LinearNode, SequenceNode)) or (isinstance(node, OpNode) and not node.frees)


def _through(
    node: Node, gradient: Cotangent, parts: Sequence[Cotangent | None], blank: Blank | None, needed: Collection[Node] | None
) -> tuple[Sequence[Cotangent | None], list[Blank | None]]:
    """What the rule leaves zero of a gradient of ones: that is what it did not take."""
    data: Any = getattr(gradient, "_data", gradient)

    def reached() -> Sequence[Any]:
        ones = np.ones(data.shape, data.dtype)[()] if blank is None else (~np.asarray(blank.mask)).astype(data.dtype)[()]
        return node.apply(ones, needed)

    if blank is None and _is_linear(node):
        # An index, which is often followed by nothing that is not finite.
        return parts, [Blank(lambda i=i: _zero(reached()[i])) for i in range(len(parts))]  # type: ignore[misc]
    blanks = [Blank(lambda part=part: _zero(part)) for part in reached()]  # type: ignore[misc]
    return list(map(_kept_zero, parts, blanks)), [*blanks]


def _zero(part: Any) -> Any:
    return np.asarray(part) == 0


def _everything(part: Any) -> Blank:
    return Blank(lambda: np.ones(part.shape, bool))


def _kept_zero(part: Cotangent | None, blank: Blank) -> Cotangent | None:
    """A part with zeros where it is blank; on tensors always, as further orders must not see what is behind."""
    if part is None:
        return None
    if isinstance(part, (np.ndarray, np.generic)) and np.all(np.isfinite(part)):
        return part
    mask = blank.mask
    return _replaced(part, mask) if part.shape == mask.shape and np.any(mask) else part


def _replaced(part: Any, mask: Any) -> Any:
    return None if part is None else where(mask, 0.0, part)


def fitted(blank: Blank, shape: tuple[int, ...], sum_to: Callable[[Any, tuple[int, ...]], Any]) -> Blank:
    """The blank elements of a gradient that is summed to a shape."""
    mask = blank.mask
    return blank if mask.shape == shape else Blank(lambda: np.asarray(sum_to((~mask).astype(float), shape)) == 0)


def both(first: Blank, second: Blank) -> Blank:
    """The blank elements of a sum: those of both."""
    mask = first.mask & second.mask
    return Blank(lambda: mask)
