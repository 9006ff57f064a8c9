"""Powers of arrays and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array


def power_exists(x: Array, y: Array) -> Any:
    return (x > 0) | ((y == np.floor(y)) & (x != 0)) | ((x == 0) & (y >= 0))


def power_kink(x: Array, y: Array) -> Any:
    if np.ndim(y) == 0 and not 0 <= y < 1:  # x**y does not have a kink for this y
        return np.False_
    return (x == 0) & (y >= 0) & (y < 1)
