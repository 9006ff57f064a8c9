"""Forward computations from Python's ``math`` for one number, and from SciPy for arrays.

Importing SciPy takes longer than a small evaluation, so SciPy is imported on the first call to one of its functions, and a
single number is passed to ``math`` if ``math`` has the function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
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
    """Return a function that applies ``number`` to a scalar and SciPy's function ``name`` to an array."""

    def forward(x: Array) -> Any:
        if np.ndim(x):
            return getattr(_scipy(), name)(x)
        value = number(float(x))
        return np.float32(value) if getattr(x, "dtype", None) == np.float32 else np.float64(value)

    return forward
