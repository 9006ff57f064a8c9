"""Numbers as text: for people with few digits, for machines with as many as it takes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.limits import places

LARGE = 12
"""A tensor of more elements is abbreviated in tables."""


def human(value: Any, precision: int = 6) -> str:
    """A number or an array with ``precision`` significant digits; the middle of a large array left out."""
    array = np.asarray(value)
    if array.ndim == 0:
        return _short(array[()], precision)
    if places(array.shape) <= LARGE:
        return _nested(array, precision)
    if not array.size:
        return f"[] {shape_text(array.shape)}"
    flat = array.reshape(-1)
    ends = [_short(v, precision) for v in (*flat[:3], *flat[-1:])]
    return f"[{ends[0]}, {ends[1]}, {ends[2]}, ..., {ends[3]}] {shape_text(array.shape)}"


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape such as ``(1000 x 3)``."""
    return f"({' x '.join(map(str, shape))})"


def _nested(array: Any, precision: int) -> str:
    if array.ndim == 1:
        return f"[{', '.join(_short(v, precision) for v in array)}]"
    return f"[{', '.join(_nested(row, precision) for row in array)}]"


def _short(value: Any, precision: int) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    text = f"{float(value):.{precision}g}"
    return text.replace("e+0", "e+").replace("e-0", "e-") if "e" in text else text


def exact(value: Any) -> str:
    """The shortest text that reads back as the same number."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, np.generic):
        return str(value)
    return repr(value)


def exact_array(value: Any) -> str:
    """An array, or a list whose parts need not fit together, as nested lists of exact numbers."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(exact_array, value))}]"
    if value is None or isinstance(value, str):
        return str(value)
    array = np.asarray(value)
    if array.ndim == 0:
        return exact(array[()])
    return f"[{', '.join(exact_array(row) for row in array)}]"


def finite_or_text(value: Any) -> Any:
    """A JSON value in which numbers that are not finite are ``"nan"``, ``"inf"`` or ``"-inf"``."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, list):
        return [finite_or_text(v) for v in value]
    if isinstance(value, dict):
        return {key: finite_or_text(v) for key, v in value.items()}
    return value
