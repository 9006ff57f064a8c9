"""Forward computations that others have written: Python's ``math`` for one number, SciPy for arrays.

SciPy takes longer to import than a small evaluation to run: it is imported when one of its functions is first called, and one
number goes to ``math`` where that knows the function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_cli.lazy import library


@functools.cache
def _scipy(module: str = "special") -> Any:
    return library(f"scipy.{module}", "this function")


def from_scipy(name: str, module: str = "special") -> Callable[..., Any]:
    """The function of this name of ``scipy.special``, or of another module of SciPy."""

    def forward(*args: Any) -> Any:
        return getattr(_scipy(module), name)(*args)

    return forward


def from_math(number: Callable[[float], float], name: str) -> Callable[[Any], Any]:
    """``number`` of a scalar, SciPy's function ``name`` of an array."""

    def forward(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return getattr(_scipy(), name)(x)
        value = number(float(x))
        return np.float32(value) if getattr(x, "dtype", None) == np.float32 else np.float64(value)

    return forward
