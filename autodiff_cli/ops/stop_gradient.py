"""Parts of an expression that derivatives treat as constants."""

from __future__ import annotations

from typing import Any

from autodiff_cli.autograd.primitives.types import Value
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.ops.rules.stop_gradient import declare, detached, unrecorded


@declare.described
def detach(x: Value) -> Any:
    return x.detach() if type(x) is Tensor else detached(x)


@declare.described
def no_grad(x: Value) -> Any:
    return x.detach() if type(x) is Tensor else unrecorded(x)
