"""Functions with a derivative written by hand, for tests: the walk-through's, and the one with a mistake in it."""

from __future__ import annotations

from typing import Any

import autodiff_cli as torch
from autodiff_cli.autograd import Function


class MyPow(Function):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return a**b

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        return g * b * a ** (b - 1), g * a**b * torch.log(a)


class WrongPow(MyPow):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        return g * b * a ** (b - 1), g * a**b * torch.log(a + 1)
