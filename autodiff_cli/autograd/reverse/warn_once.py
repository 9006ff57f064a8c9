"""Warnings that are given once in a process, as PyTorch's ``TORCH_WARN_ONCE``."""

from __future__ import annotations

import warnings

_given: set[str] = set()
_always = [False]


def set_warn_always(always: bool) -> None:
    """Set whether such a warning is given each time."""
    _always[0] = always


def is_warn_always_enabled() -> bool:
    """Return whether warnings that are usually given once are given each time."""
    return _always[0]


def warn_once(message: str) -> None:
    """Give a warning unless it was given before."""
    if message not in _given or _always[0]:
        _given.add(message)
        warnings.warn(message, stacklevel=4)
