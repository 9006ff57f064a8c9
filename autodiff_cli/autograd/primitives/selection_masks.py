"""Masked cotangents: unselected branches do not contribute, even if their own derivative is infinite or nan.

``where``, ``max``, ``clamp`` and indexing pass a zero cotangent to the elements that they do not select.  Step functions such
as ``floor`` pass a zero cotangent to all elements.  If such a zero is multiplied by an infinite derivative, the product is nan
(the double-where problem).  The backward pass therefore tracks these elements of cotangents and keeps them zero.  A computed
zero is not masked: the derivative of ``sqrt(x)*sqrt(x)`` at 0 is nan.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from autodiff_cli.autograd.node import Cotangent, Node
from autodiff_cli.autograd.primitives.structural import sum_to, where

Mask = Callable[[], Any]
"""A function that returns the elements of a cotangent that come from unselected branches, and computes them once."""
Contributions = Sequence[Cotangent | None]
"""The cotangents that a node returns for its inputs."""


def mask_contributions(
    node: Node, cotangent: Cotangent, parts: Contributions, mask: Mask | None, needed: Collection[Node] | None
) -> tuple[Contributions, list[Mask | None]]:
    """Return the contributions of a node with masked elements set to zero, and the mask of each contribution.

    Args:
        node: a node that selects elements, or a node whose cotangent is masked.
        cotangent: the cotangent of the output of the node.
        parts: the contributions that the VJP rules computed from ``cotangent``.
        mask: the masked elements of ``cotangent``.
        needed: see ``Node.apply``.
    """
    unmasked: list[Mask | None] = [None] * len(parts)
    if isinstance(cotangent, list) or all(part is None for part in parts):  # a list: of several outputs
        return parts, unmasked
    if node.selects or (mask is not None and not node.frees):  # a node that frees nothing is linear, and moves elements
        return _mask_unselected(node, cotangent, parts, mask, needed)
    if mask is None:
        return parts, unmasked
    if node.elementwise:
        return [_with_zeros(part, mask) for part in parts], [mask] * len(parts)
    if np.all(mask()):  # any other mask ends at a node that mixes elements
        zeros = [None if part is None else where(True, 0.0, part * 0) for part in parts]  # not nan, and recorded
        return zeros, [None if zero is None else cache(partial(np.ones, zero.shape, bool)) for zero in zeros]
    return parts, unmasked


def _mask_unselected(
    node: Node, cotangent: Cotangent, parts: Contributions, mask: Mask | None, needed: Collection[Node] | None
) -> tuple[Contributions, list[Mask | None]]:
    """Mask elements that were not selected, which receive a zero from a cotangent of ones; see ``mask_contributions``."""
    data: Any = getattr(cotangent, "_data", cotangent)
    if mask is None and not node.frees:  # an indexing operation
        return parts, _masks_on_demand(node, data, len(parts), needed)
    unmasked = np.ones(data.shape, bool) if mask is None else ~np.asarray(mask())
    contributions = node.apply_again(unmasked.astype(data.dtype)[()], needed)
    masks = [
        cache(partial(_zero_elements, i, lambda: contributions)) if selects else mask
        for i, selects in enumerate(_selects_from(node, len(contributions)))
    ]
    masked = [part if its_mask is None else _with_zeros(part, its_mask) for part, its_mask in zip(parts, masks, strict=True)]
    return masked, masks


def _masks_on_demand(node: Node, data: Any, count: int, needed: Collection[Node] | None) -> list[Mask | None]:
    """Return the masks of the ``count`` contributions of a node for a cotangent like ``data``, computed on first use.

    Only a later derivative that is not finite needs them; the saved values of the node may be freed before.
    """
    saved = [getattr(value, "_data", value) for value in node._saved]
    contributions = cache(lambda: node.run_rules(np.ones(data.shape, data.dtype)[()], saved, needed))
    return [cache(partial(_zero_elements, i, contributions)) for i in range(count)]


def _selects_from(node: Node, count: int) -> list[bool]:
    """Return, for each of the ``count`` inputs of a node, whether the node selects or moves some of its elements."""
    primitive = node.primitive
    if primitive is None or not node.selects:
        return [True] * count  # a linear node moves the masked elements
    return [primitive.parameters[i] in primitive.selects for i in primitive.differentiable_args]


def _zero_elements(i: int, contributions: Callable[[], Contributions]) -> Any:
    """Return where the i-th contribution, which was computed from ones, is 0."""
    return np.asarray(contributions()[i]) == 0


def _with_zeros(part: Cotangent | None, mask: Mask) -> Cotangent | None:
    """Return a contribution with its masked elements set to zero; an array of finite numbers has these zeros already."""
    if part is None or (isinstance(part, (np.ndarray, np.generic)) and np.all(np.isfinite(part))):
        return part
    result = mask()
    return where(result, 0.0, part) if part.shape == result.shape and np.any(result) else part


def summed_mask(mask: Mask, shape: tuple[int, ...]) -> Mask:
    """Return the mask of a cotangent after the cotangent is summed to a shape: where all the summed elements are masked."""
    result = mask()
    return mask if result.shape == shape else cache(lambda: np.asarray(sum_to((~result).astype(float), shape)) == 0)


def intersection(first: Mask, second: Mask) -> Mask:
    """Return the mask of the sum of two cotangents: the elements that are masked in both."""
    result = first() & second()
    return cache(lambda: result)
