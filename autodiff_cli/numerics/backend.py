"""Forward computations from Python's ``math`` for one number, from SciPy for arrays, and from others where these lose digits.

Importing SciPy takes longer than a small evaluation, so SciPy is imported on the first call to one of its functions, and a
single number is passed to ``math`` if ``math`` has the function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.types import Mask
from autodiff_cli.lazy import library


@functools.cache
def _scipy(module: str = "special") -> Any:
    return library(f"scipy.{module}", "this function")


def from_scipy(name: str, module: str = "special") -> Callable[..., Any]:
    """Return a function that calls the function ``name`` of ``scipy.special``, or of another SciPy module."""

    def forward(*args: Array | float) -> Any:
        return getattr(_scipy(module), name)(*args)

    return forward


def from_math(number: Callable[[float], float], name: str) -> Callable[[Any], Any]:
    """Return a function that applies ``number`` to a scalar, in its type, and SciPy's function ``name`` to an array."""

    def forward(x: Array) -> Any:
        if np.ndim(x):
            return getattr(_scipy(), name)(x)
        value = number(float(x))
        return np.float32(value) if getattr(x, "dtype", None) == np.float32 else np.float64(value)

    return forward


def replace_where(value: Array, places: Mask, function: Callable[..., Any], *arguments: Array) -> Any:
    """Return ``value`` with its elements where ``places`` is true replaced by ``function`` of those of the arguments."""
    positions = np.flatnonzero(places)  # indexing with positions is much faster than indexing with a mask
    if not positions.size:
        return value
    result = np.array(value, order="C")  # so that reshape returns a view
    result.reshape(-1)[positions] = function(*[np.broadcast_to(each, result.shape).reshape(-1)[positions] for each in arguments])
    return result[()]
