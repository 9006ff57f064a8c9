"""Ranks of quantiles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.types import Value


def quantile_ranks(x: Value, q: Value, dim: int | None) -> Any:
    shape = getattr(x, "shape", ())  # the predicate of kinks also receives Python's floats
    length = math.prod(shape) if dim is None or not shape else shape[dim]
    return q * (length - 1)


def some_whole(x: Value, q: Value, dim: int | None) -> Any:
    """Return whether a quantile is an element."""
    places = quantile_ranks(x, q, dim)
    return np.any(places == np.round(places))
