"""Adam (Kingma and Ba, 2015), and AdamW (Loshchilov and Hutter, 2019), whose weight decay does not pass through the moments."""

from __future__ import annotations

from typing import Any

from autodiff_cli.autograd.primitives.argument_kinds import NUMBER
from autodiff_cli.autograd.primitives.interface_kinds import PAIR, RATE, checks
from autodiff_cli.autograd.tensor import Tensor, new_tensor
from autodiff_cli.errors import ArgumentError
from autodiff_cli.ops.creation import zeros_like
from autodiff_cli.ops.rules.comparison import maximum
from autodiff_cli.ops.rules.elementary import sqrt
from autodiff_cli.optim.optimizer import Group, Optimizer, Parameters, State, check_rate


class Adam(Optimizer):
    """Adam: the step is the mean of the gradients over the root of the mean of their squares, both corrected for their start.

    Args:
        params: see ``Optimizer``.
        lr: the learning rate, a number or a tensor.
        betas: the shares of the previous means of the gradients and of their squares.
        eps: the number that is added to the root.
        weight_decay: the factor of the parameter that is added to its gradient.
        amsgrad: whether the largest mean of squares so far is used.
        foreach, capturable, fused: accepted for PyTorch's programs, and without effect.
        maximize: whether to go up instead of down.
        differentiable: whether the step is recorded.
        decoupled_weight_decay: whether the parameter is multiplied by ``1 - lr*weight_decay`` instead, as in AdamW.

    Raises:
        ArgumentError: if an option is negative or nan, or one of ``betas`` is 1 or more.
    """

    @checks(lr=RATE, betas=PAIR, eps=NUMBER, weight_decay=NUMBER)
    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_rate(lr)
        if not eps >= 0:  # or nan
            raise ArgumentError(f"Invalid epsilon value: {eps}")
        for i, beta in enumerate(betas):
            if not 0 <= beta < 1:
                raise ArgumentError(f"Invalid beta parameter at index {i}: {beta}")
        if not weight_decay >= 0:
            raise ArgumentError(f"Invalid weight_decay value: {weight_decay}")
        options: Group = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad}
        options |= {"maximize": maximize, "decoupled_weight_decay": decoupled_weight_decay}
        options |= {"foreach": foreach, "capturable": capturable, "differentiable": differentiable, "fused": fused}
        super().__init__(params, options)

    def updated(self, tensor: Tensor, grad: Tensor, state: State, group: Group) -> Tensor:
        """Return the parameter after one step, and change the means in its state; see ``Optimizer.updated``.

        The t-th step is ``lr*m/(1 - beta1**t)`` over ``sqrt(v/(1 - beta2**t)) + eps``, for the mean m of the gradients and the
        mean v of their squares: both start at 0, and are divided by the sum of their weights so far.  ``amsgrad`` takes the
        largest v so far.  Weight decay comes first.
        """
        if not state:  # the first step
            state["step"] = new_tensor(0.0)
            state["exp_avg"], state["exp_avg_sq"] = zeros_like(tensor), zeros_like(tensor)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros_like(tensor)
        tensor, grad = _decayed(tensor, grad, group)
        lr, (beta1, beta2) = group["lr"], group["betas"]
        state["step"] = state["step"] + 1
        step = state["step"].item()
        mean = state["exp_avg"] = state["exp_avg"] + (grad - state["exp_avg"]) * (1 - beta1)
        square = state["exp_avg_sq"] = state["exp_avg_sq"] * beta2 + grad * grad * (1 - beta2)
        if group["amsgrad"]:
            square = state["max_exp_avg_sq"] = maximum(state["max_exp_avg_sq"], square)
        denominator = sqrt(square) / (1 - beta2**step) ** 0.5 + group["eps"]
        result: Tensor = tensor - mean / denominator * (lr / (1 - beta1**step))
        return result


def _decayed(tensor: Tensor, grad: Tensor, group: Group) -> tuple[Tensor, Tensor]:
    """Return a parameter and its gradient after weight decay, which shrinks the parameter (AdamW) or adds to the gradient."""
    decay = group["weight_decay"]
    if not decay:
        return tensor, grad
    if group["decoupled_weight_decay"]:
        return tensor * (1 - group["lr"] * decay), grad
    return tensor, grad + tensor * decay


class AdamW(Adam):
    """Adam with decoupled weight decay; the options are those of ``Adam``."""

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, decoupled_weight_decay=True, **options)
