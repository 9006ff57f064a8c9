"""Parts of an expression that derivatives treat as constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.types import Value
from autodiff_cli.autograd.tensor import Tensor

__all__ = ["detach"]

declare = Declarations(__name__, elementwise=True)


def _copy(x: Array) -> Any:
    return np.array(x)[()]


def _constant(name: str, summary: str) -> TensorFunction:
    """Declare a function that returns the value of its argument without a derivative."""
    copied = declare(name, _copy, {"x": None}, decomposition="x", public=False)

    def function(x: Value) -> Any:
        return x.detach() if type(x) is Tensor else copied(x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{summary}."
    function.__module__ = __name__
    return describe(
        function,
        tensors=("x",),
        formula="0",
        methods=(),
        convention="the derivative is 0 by definition (PyTorch)",
    )


detach = _constant("detach", "x without its history: a constant for derivatives, with the value of x")
no_grad = _constant("no_grad", "x computed without recording: a constant for derivatives, with the value of x")
