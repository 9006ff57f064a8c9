"""Forward computations that others have written: Python's ``math`` for one number, SciPy for arrays.

SciPy takes longer to import than a small evaluation to run, and not everybody has it: it is imported when one of its
functions is first called, and one number goes to ``math`` where that knows the function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from autodiff_cli.errors import MissingPackage


@functools.cache
def _scipy(module: str = "special") -> Any:
    try:
        return import_module(f"scipy.{module}")
    except ImportError:
        raise MissingPackage("this function needs SciPy", hint="pip install 'autodiff-cli[special]'") from None


def from_scipy(name: str, module: str = "special") -> Callable[..., Any]:
    """The function of this name of ``scipy.special``, or of another module of SciPy."""

    def forward(*args: Any) -> Any:
        return getattr(_scipy(module), name)(*args)

    return forward


def from_math(number: Callable[[float], float], name: str) -> Callable[[Any], Any]:
    """``number`` of a scalar, SciPy's function ``name`` of an array; without SciPy ``number`` of each element."""

    def forward(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            try:
                return getattr(_scipy(), name)(x)
            except MissingPackage:
                values = np.array([number(value) for value in x.ravel().tolist()], np.float64)
                return values.reshape(x.shape).astype(x.dtype if x.dtype.kind == "f" else np.float64)
        value = number(float(x))
        return np.float32(value) if getattr(x, "dtype", None) == np.float32 else np.float64(value)

    return forward
