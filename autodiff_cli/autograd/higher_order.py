"""Partial derivatives of any order, by nested reverse mode."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.jacobians import filled, gradients_of, gradients_of_elements
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.autograd.views_and_versions import next_sequence_nr
from autodiff_cli.errors import LimitError, setting
from autodiff_cli.limits import lifted

MOST_PARTIALS = 100_000
MOST_NESTED = 12
"""The highest order of nested reverse mode; each order takes about three times as long as the previous order."""

MOST_NODES = 500_000
"""The largest number of nodes that one pass of nested reverse mode records; it takes about a minute."""

Index = tuple[str, ...]
"""The variables of a partial derivative: ``("x", "y")`` is d2/dx dy."""


def count(sizes: list[int], order: int) -> int:
    """Return the number of partial derivatives of an order; each mixed derivative is counted once.

    The number is the complete homogeneous symmetric polynomial of degree ``order`` in ``sizes``, the sizes of the variables.
    """
    ways = [1] + [0] * order
    for size in sizes:
        for k in range(1, order + 1):
            ways[k] += size * ways[k - 1]
    return ways[order]


def partials(output: Tensor, variables: Mapping[str, Tensor], order: int, gradient: Tensor | None = None) -> dict[Index, Array]:
    """Return all partial derivatives of ``output`` from order 1 to ``order``.

    Args:
        output: the tensor to differentiate; without ``gradient``, it must be a scalar.
        variables: the tensors to differentiate with respect to.
        order: the highest order.
        gradient: the initial gradient, with the shape of ``output``.

    Returns:
        For each combination of variables, in the order of ``variables``, an array whose shape is the concatenation of the
        shapes of the combined variables.  A mixed derivative is included once: ``("x", "y")`` but not ``("y", "x")``.

    Raises:
        LimitError: if the derivatives have more than 100,000 elements, the order is above 12, or the graph becomes too large.
    """
    names = list(variables)
    if gradient is None and output.shape != ():
        gradient = tensor_on(np.ones(output.shape, output.dtype))  # an output with one element does not need ``gradient``
    _check_limits(order, [v.numel() for v in variables.values()])
    results: dict[Index, Array] = {}
    # For each index, a list of tensors with the shape of its last variable, one for each combination of elements of the
    # preceding variables.  They are separate, so that a backward pass from one tensor does not run through the other tensors.
    level: dict[Index, list[Tensor]] = {(): [output]}
    recorded = [next_sequence_nr()]
    for depth in range(1, order + 1):
        _check_growth(depth, recorded)
        following: dict[Index, list[Tensor]] = {}
        for index, tensors in level.items():
            later = names[names.index(index[-1]) :] if index else names  # so that a mixed derivative is included once
            inputs = [variables[name] for name in later]
            if gradient is None or index:
                rows = [row for tensor in tensors for row in gradients_of_elements(tensor, inputs, create_graph=depth < order)]
            else:
                rows = [filled(gradients_of(tensors, inputs, [gradient], create_graph=depth < order), inputs)]
            for k, name in enumerate(later):
                combined = (*index, name)
                following[combined] = [row[k] for row in rows]
                shape = sum((variables[v].shape for v in combined), ())
                arrays = [tensor._data for tensor in following[combined]]
                stacked = np.stack(arrays) if arrays else np.zeros(shape, variables[name].dtype)  # a variable without elements
                results[combined] = np.reshape(stacked, shape)[()]
        level = following
        recorded.append(next_sequence_nr())
    return results


def _check_limits(order: int, sizes: list[int]) -> None:
    """Check the number of the derivatives, up to the first order that is refused, and the order against the limits."""
    if lifted():
        return
    numbers = sum(count(sizes, k) for k in range(1, min(order, MOST_NESTED + 1) + 1))
    if numbers > MOST_PARTIALS:
        raise LimitError(
            f"the partial derivatives up to order {order} have {numbers:,} numbers, more than the limit of {MOST_PARTIALS:,}",
            hint=f"name fewer variables with {setting('wrt')}, compute a product with a vector, or lift the limit with "
            f"{setting('no_limits')}",
        )
    if numbers and order > MOST_NESTED:
        raise LimitError(
            f"order {order} needs nested backward passes, each of which takes several times as long as the previous pass; "
            f"the limit is {MOST_NESTED}",
            hint=f"use one variable and functions that have a power series rule, or lift the limit with {setting('no_limits')}",
        )


def _check_growth(order: int, recorded: list[int]) -> None:
    """Check the nodes of the next pass, expected to grow by the last factor; ``recorded``: the sequence numbers after passes."""
    if lifted() or len(recorded) < 3:
        return
    before, last = recorded[-2] - recorded[-3], recorded[-1] - recorded[-2]
    expected = last * max(1, last // before)  # a number is drawn from the sequence for each pass, so ``before`` is at least 1
    if expected > MOST_NODES:
        raise LimitError(
            f"the derivative of order {order} needs about {expected:,} operations of nested backward passes, more than the limit "
            f"of {MOST_NODES:,}",
            hint=f"use a lower order, or functions that have a power series rule; {setting('no_limits')} lifts the limit",
        )


def symmetric(derivatives: Mapping[Index, Array], a: str, b: str, variables: Mapping[str, Tensor]) -> Array:
    """Return the second derivative in ``a`` and ``b``; one that is stored for ``b`` and ``a`` gets its dimensions exchanged."""
    if (a, b) in derivatives:
        return derivatives[a, b]
    mirrored: Array = np.asarray(derivatives[b, a])  # the dimensions of ``b``, then those of ``a``
    split = variables[b].ndim
    axes = (*range(split, mirrored.ndim), *range(split))
    return np.transpose(mirrored, axes)[()]
