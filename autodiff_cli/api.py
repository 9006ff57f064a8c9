"""The public names of the library, in one flat module that ``autodiff_cli`` hands out on first use."""

from __future__ import annotations

from typing import Any

from autodiff_cli.autograd.dtypes import bool_, float32, float64, get_default_dtype, int64, set_default_dtype
from autodiff_cli.autograd.modes import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from autodiff_cli.autograd.tensor import Tensor, Variable
from autodiff_cli.ops import *  # noqa: F403


def evaluate(*args: Any, **kwargs: Any) -> Any:
    """``autodiff_cli.language.evaluate.evaluate``, imported on first use."""
    from autodiff_cli.language.evaluate import evaluate as function

    return function(*args, **kwargs)


__all__ = [name for name in globals() if not name.startswith("_") and name not in ("annotations", "Any")]
