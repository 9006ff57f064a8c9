"""Counts and sets of elements, and writing at positions; ``grammar/rules/counting.rules`` describes the functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import whole_as_integers
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.structural import add_at
from autodiff_cli.autograd.primitives.types import Positions, Value, array_of
from autodiff_cli.errors import GraphError
from autodiff_cli.numerics.positions import counts, gather_key, place_along
from autodiff_cli.ops.creation import zeros_like
from autodiff_cli.ops.positions import scatter, scatter_add
from autodiff_cli.ops.rules.counting import declare, elements_in, occurrences, reduced_at, run_parts, unique_parts
from autodiff_cli.ops.rules.positions import dropped


@declare.described
def bincount(x: Value, weights: Value | None = None, minlength: int = 0) -> Any:
    """How often each whole number from 0 on is among the elements of a vector, or the sums of their weights."""
    if weights is None:
        return occurrences(x, minlength)
    numbers = whole_as_integers(np.asarray(array_of(x)))
    length = max(minlength, int(numbers.max(initial=-1)) + 1)
    counts(numbers, None, 0)  # raises the errors
    return dropped(weights, (length,), 0, numbers)  # added at the places of the numbers


@declare.described
def isin(elements: Value, test_elements: Value, *, assume_unique: bool = False, invert: bool = False) -> Any:
    return elements_in(elements, test_elements, invert)  # ``assume_unique`` does not change the result


def _unique_results(parts: TensorFunction, x: Value, dim: int | None, inverse: bool, counts: bool) -> Any:
    """Return the values alone, or in a tuple with the ``inverse`` positions and the ``counts`` if requested, all from ``parts``."""
    values = parts(x, "values", dim)
    more = [parts(x, part, dim) for part, wanted in (("inverse", inverse), ("counts", counts)) if wanted]
    return (values, *more) if more else values


@declare.described
def unique(x: Value, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    return _unique_results(unique_parts, x, dim, return_inverse, return_counts)


@declare.described
def unique_consecutive(x: Value, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    return _unique_results(run_parts, x, dim, return_inverse, return_counts)


@declare.described
def scatter_reduce(x: Value, dim: int, index: Positions, src: Value, reduce: str, include_self: bool = True) -> Any:
    """x with elements of src added ('sum'), multiplied ('prod'), averaged ('mean') or compared ('amax', 'amin') along dim.

    Without include_self, the elements of x at these places do not take part.
    """
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise GraphError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    at = place_along(x.shape, dim, index)
    if tuple(src.shape) != index.shape:  # as in PyTorch, the first elements along each dimension
        src = src[tuple(slice(n) for n in index.shape)]
    if reduce in ("amax", "amin", "prod"):
        return reduced_at(x, src, at, index, reduce, include_self)
    start = x if include_self else scatter(x, at, index, zeros_like(src))
    total = scatter_add(start, at, index, src)
    if reduce == "sum":
        return total
    number = np.full(tuple(x.shape), 1 if include_self else 0, np.int64)  # of elements in each sum
    add_at(number, gather_key(tuple(x.shape), at, index), np.ones(index.shape, np.int64))
    number = np.maximum(number, 1)
    return total // number if array_of(total).dtype.kind in "iub" else total / number.astype(array_of(total).dtype)
