"""The reciprocals of the trigonometric functions, in radians."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array

_reciprocal = np.errstate(divide="ignore")(np.reciprocal)


def sec(x: Array) -> Any:
    return _reciprocal(np.cos(x))


def csc(x: Array) -> Any:
    return _reciprocal(np.sin(x))


def cot(x: Array) -> Any:
    return _reciprocal(np.tan(x))
