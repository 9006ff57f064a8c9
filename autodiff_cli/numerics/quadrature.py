"""Quadrature rules, and sums over their points for many arguments in bounded memory."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array

BLOCK = 256
"""The number of arguments for which the values at all points of a rule are in memory at the same time."""


@functools.cache
def gauss_legendre(count: int) -> tuple[Array, Array]:
    """Return the nodes and the weights of the Gauss-Legendre rule with ``count`` points on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


def in_blocks(function: Callable[..., Array], *arguments: Array) -> Any:
    """Apply a function of float64 vectors of equal length to arrays, block by block.

    The result has the common shape and the common floating-point type of the arguments.
    """
    dtype = np.result_type(*arguments)
    columns = [np.asarray(column, np.float64) for column in np.broadcast_arrays(*arguments)]
    flat = [column.ravel() for column in columns]
    result = np.empty(flat[0].size)
    with np.errstate(all="ignore"):
        for start in range(0, result.size, BLOCK):
            part = slice(start, start + BLOCK)
            result[part] = function(*[column[part] for column in flat])
    return result.reshape(columns[0].shape).astype(dtype if dtype.kind == "f" else np.float64)[()]
