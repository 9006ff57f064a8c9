"""Helpers of ``torch.nn.utils`` that clip gradients."""

from __future__ import annotations

import math
from collections.abc import Iterable

from autodiff_cli.autograd.modes import no_grad
from autodiff_cli.autograd.primitives.argument_kinds import NUMBER
from autodiff_cli.autograd.primitives.interface_kinds import RATE, TENSORS, checks
from autodiff_cli.autograd.tensor import Tensor, new_tensor
from autodiff_cli.errors import GraphError
from autodiff_cli.ops.rules.comparison import clamp
from autodiff_cli.ops.rules.norms import vector_norm
from autodiff_cli.ops.rules.shape import cat
from autodiff_cli.ops.shape import reshape


def _existing_gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    tensors = [parameters] if isinstance(parameters, Tensor) else parameters
    return [each.grad for each in tensors if each.grad is not None]


@checks(parameters=TENSORS, max_norm=RATE)
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scale the gradients of parameters in place so that the norm of all of them is at most ``max_norm``.

    Returns:
        The norm before.

    Raises:
        GraphError: if the norm is not finite and ``error_if_nonfinite`` is true.
    """
    with no_grad():
        gradients = _existing_gradients(parameters)
        if not gradients:
            return new_tensor(0.0)
        total: Tensor = vector_norm(cat([reshape(each, (-1,)) for each in gradients]), float(norm_type))
        if error_if_nonfinite and not math.isfinite(total.item()):
            raise GraphError(
                f"The total norm of order {float(norm_type)} for gradients from `parameters` is non-finite, so it cannot be "
                "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                "`error_if_nonfinite=False`"
            )
        factor = clamp(max_norm / (total + 1e-6), None, 1.0)
        for each in gradients:
            each.mul_(factor)
    return total


@checks(parameters=TENSORS, clip_value=NUMBER)
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Clamp the gradients of parameters in place to ``[-clip_value, clip_value]``."""
    with no_grad():
        for each in _existing_gradients(parameters):
            each.clamp_(-clip_value, clip_value)
