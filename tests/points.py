"""The points at which the tests call each function: those of its declaration, or points derived from its domain and its kinks."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.registry import FunctionInfo

Arguments = tuple[Any, ...]
_CHOICES: dict[int, tuple[tuple[Arguments, ...], ...]] = {
    1: (
        ((0.3,), (-1.7,), ([0.4, -2.2],)),
        ((0.3,), (2.5,), ([0.5, 7.0],)),
        ((0.3,), (-0.8,), ([0.5, -0.1],)),
        ((0.3,), (0.02,), ([0.5, 0.9],)),
        ((1.5,), (4.0,), ([1.2, 7.0],)),
    ),
    2: (((0.7, -1.2), (-1.5, 2.0)), ((0.7, 1.2), ([1.5, 2.0], 2.5)), ((2.5, 0.7), ([3.0, 4.0], 1.2))),
    3: (((0.7, 2.5, 0.3), ([1.5, 60.0], [0.4, 20.0], [0.2, 0.7])),),
}
_EDGES = (0.0, -1.0, 1.0, 2.0, 1.5)


@functools.cache
def samples_of(info: FunctionInfo) -> Sequence[Arguments]:
    """Return argument lists inside the domain and away from kinks.

    Raises:
        ValueError: if no choice of points is inside the domain; the declaration then needs ``samples``.
    """
    if info.samples is not None:
        return info.samples
    for choice in _CHOICES[len(info.tensors)]:
        if not any(np.any(_is_edge(info, arguments)) for arguments in choice):
            return choice
    raise ValueError(f"{info.name} needs samples of its own")


@functools.cache
def edges_of(info: FunctionInfo) -> Sequence[Arguments]:
    """Return argument lists at kinks, at the boundary of the domain, and outside of it."""
    if info.edges is not None:
        return info.edges
    if info.inside is None and info.kink is None and info.second_kink is None:
        return ()
    return tuple(itertools.islice(_edges(info), 3))


def _edges(info: FunctionInfo) -> Iterator[Arguments]:
    for arguments in itertools.product(_EDGES, repeat=len(info.tensors)):
        if _is_edge(info, arguments):
            yield arguments


@np.errstate(all="ignore")
def _is_edge(info: FunctionInfo, arguments: Arguments) -> Any:
    values = [np.asarray(argument)[()] for argument in arguments]
    masks = [info.mask(predicate, values, {}) for predicate in (info.kink, info.second_kink) if predicate is not None]
    if info.inside is not None:
        masks.append(np.logical_not(info.mask(info.inside, values, {})))
    return np.any([np.any(mask) for mask in masks])
