"""The public names of the library, in one flat module that ``autodiff_cli`` hands out on first use."""

from __future__ import annotations

from typing import Any

from autodiff_cli.ops import *  # noqa: F403


def evaluate(*args: Any, **kwargs: Any) -> Any:
    """``autodiff_cli.language.evaluate.evaluate``, imported on first use."""
    from autodiff_cli.language.evaluate import evaluate as function

    return function(*args, **kwargs)


__all__ = [name for name in globals() if not name.startswith("_") and name not in ("annotations", "Any")]
