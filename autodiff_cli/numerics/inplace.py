"""The diagonal of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.types import Shape
from autodiff_cli.errors import ShapeError


def on_diagonal(shape: Shape, wrap: bool) -> Any:
    """Return the mask of the main diagonal; with ``wrap``, it begins again below a tall matrix."""
    if len(shape) < 2:
        raise ShapeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise ShapeError("all dimensions of input must be of equal length")
    mask = np.zeros(shape, np.bool_)
    if len(shape) == 2 and wrap:
        mask.reshape(-1)[:: shape[1] + 1] = True
    else:
        mask[(np.arange(min(shape)),) * len(shape)] = True
    return mask
