"""Numbers as text: rounded for people, exact for programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.limits import places
from autodiff_cli.number_text import number_text

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    Number = bool | float | np.generic

LARGE = 12
"""The maximum number of elements of a vector, and of rows and columns of a matrix, that a table shows completely."""


def shown_completely(shape: Sequence[int]) -> bool:
    """Return whether a table shows all elements of an array: no length in ``shape`` is above ``LARGE``, as in that of a number."""
    return max(shape, default=1) <= LARGE


def human(value: ArrayLike, precision: int = 6, whole: bool = False) -> str:
    """Return a number or an array as text with ``precision`` significant digits; more than ``LARGE`` elements are abbreviated.

    With ``whole``, a matrix is abbreviated only if it has more than ``LARGE`` rows or columns.
    """
    array = np.asarray(value)
    short = partial(_short, precision=precision)
    lengths = array.shape if whole and array.ndim <= 2 else (places(array.shape),)  # ``LARGE`` limits them, or else all elements
    if shown_completely(lengths):
        return _nested(array, short)
    if not array.size:
        return f"[] {shape_text(array.shape)}"
    flat = array.reshape(-1)
    return f"[{', '.join(map(short, flat[:3]))}, ..., {short(flat[-1])}] {shape_text(array.shape)}"


def shape_text(shape: tuple[int, ...]) -> str:
    """Return the text of a shape, such as ``(1000 x 3)``."""
    return f"({' x '.join(map(str, shape))})"


def _nested(value: Any, spelled: Callable[[Any], str]) -> str:
    """Return the text of an array or a nested list, which may be ragged, or of a number; ``spelled`` formats each number."""
    if isinstance(value, (list, tuple)) or np.ndim(value):
        return f"[{', '.join(_nested(part, spelled) for part in value)}]"
    return spelled(value[()] if isinstance(value, np.ndarray) else value)  # a 0-d array as a number


def _short(value: Number, precision: int) -> str:
    """Return a number with at most ``precision`` significant digits, or the word for a boolean."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    return number_text(float(value), precision)


def exact(value: Number) -> str:
    """Return the shortest text that reads back as the same number, or the word for a boolean."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    return str(value) if isinstance(value, np.generic) else repr(value)


def exact_array(value: ArrayLike | None) -> str:
    """Return the text of an array or a nested list with exact numbers; strings and ``None`` in it do not change."""
    return _nested(value, lambda part: str(part) if part is None or isinstance(part, str) else exact(part))


def finite_or_text(value: object) -> Any:
    """Return a copy of a JSON value in which ``"nan"``, ``"inf"`` and ``"-inf"`` replace the numbers in it that are not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, list):
        return [finite_or_text(part) for part in value]
    if isinstance(value, dict):
        return {key: finite_or_text(part) for key, part in value.items()}
    return value
