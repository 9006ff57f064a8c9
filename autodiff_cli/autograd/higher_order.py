"""Partial derivatives of any order, by sweeps through recorded sweeps."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import LimitError
from autodiff_cli.limits import lifted

MOST_PARTIALS = 100_000
MOST_SWEPT = 12
"""The highest order by sweeps through sweeps without ``--no-limits``: each takes about three times as long as the last."""

Index = tuple[str, ...]


def count(sizes: list[int], order: int) -> int:
    """How many numbers all partials of an order are, each mixed partial once: a complete homogeneous polynomial."""
    ways = [1] + [0] * order
    for size in sizes:
        for k in range(1, order + 1):
            ways[k] += size * ways[k - 1]
    return ways[order]


def partials(output: Tensor, variables: Mapping[str, Tensor], order: int, gradient: Any = None) -> dict[Index, Any]:
    """All partial derivatives of ``output`` from order 1 to ``order``.

    Args:
        output: a scalar, or any tensor together with ``gradient``, what its sweep starts from.
        variables: what to differentiate by.
        order: the highest order.

    Returns:
        for each combination of variables, in the order of ``variables``, an array whose shape is the shapes of those
        variables one after the other.  A mixed partial is there once: ``("x", "y")`` but not ``("y", "x")``.

    Raises:
        LimitError: if that is more than 100,000 numbers.
    """
    names = list(variables)
    sizes = [v.numel() for v in variables.values()]
    wanted = sum(count(sizes, k) for k in range(1, min(order, MOST_SWEPT + 1) + 1)) if not lifted() else 0
    if wanted and wanted <= MOST_PARTIALS and order > MOST_SWEPT:
        raise LimitError(
            f"order {order} needs sweeps through sweeps, which take several times as long with each; the limit is {MOST_SWEPT}",
            hint="in one variable functions with a rule for power series have no such limit; --no-limits allows it",
        )
    if wanted > MOST_PARTIALS:
        raise LimitError(
            f"the partial derivatives up to order {order} are {wanted:,} numbers, more than the limit of {MOST_PARTIALS:,}",
            hint="name fewer variables with --wrt, ask for a product with a vector instead, or allow it with --no-limits",
        )
    results: dict[Index, Any] = {}
    # For each index tensors of the shape of its last variable, one for each element of those before: a sweep from one of them
    # does not meet the others.
    level: dict[Index, list[Tensor]] = {(): [output]}
    for depth in range(1, order + 1):
        last = depth == order
        following: dict[Index, list[Tensor]] = {}
        for index, tensors in level.items():
            first = names.index(index[-1]) if index else 0
            by = {name: variables[name] for name in names[first:]}
            start = gradient if not index else None
            if not index and start is None and output.shape != ():
                start = tensor_on(np.ones(output.shape, output.dtype), None)  # one element, which counts as a number
            rows = [row for tensor in tensors for row in _derivatives(tensor, by, start, record=not last)]
            for k, (name, variable) in enumerate(by.items()):
                shape = sum((variables[each].shape for each in (*index, name)), ())
                arrays = [row[k]._data for row in rows]
                results[(*index, name)] = np.reshape(np.stack(arrays) if arrays else np.zeros(shape, variable.dtype), shape)[()]
                if not last:
                    following[(*index, name)] = [row[k] for row in rows]
        level = following
    return results


def _derivatives(tensor: Tensor, by: Mapping[str, Tensor], start: Any, record: bool) -> list[list[Tensor]]:
    """For each element of ``tensor``, or for all of it with a ``start``, its derivatives by the variables."""
    inputs = list(by.values())
    single = start is not None or tensor.shape == ()
    places = [None] if single else list(itertools.product(*map(range, tensor.shape)))
    if not tensor._requires_grad:
        return [[_zeros(v.shape, v) for v in inputs] for _ in places]
    rows = []
    for place in places:
        # From the element, not from zeros with a 1 among them: what was not taken contributes nothing to a slope that is infinite.
        number = tensor if place is None else tensor[place]
        found = grad(number, inputs, start, retain_graph=True, create_graph=record, allow_unused=True)
        rows.append([_zeros(v.shape, v) if g is None else g for v, g in zip(inputs, found, strict=True)])
    return rows


def _zeros(shape: tuple[int, ...], like: Tensor) -> Tensor:
    return tensor_on(np.zeros(shape, like.dtype)[()], None)


def symmetric(found: Mapping[Index, Any], a: str, b: str, variables: Mapping[str, Tensor]) -> Any:
    """The second derivative by ``a``, then ``b``, whichever of the two orders was computed."""
    if (a, b) in found:
        return found[a, b]
    mirrored = np.asarray(found[b, a])
    split = variables[b].ndim
    axes = (*range(split, mirrored.ndim), *range(split))
    return np.transpose(mirrored, axes)[()]
