"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from autodiff_cli.autograd.primitives.argument_kinds import NUMBER
from autodiff_cli.autograd.primitives.interface_kinds import RATE, checks
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError
from autodiff_cli.optim.optimizer import Group, Optimizer, Parameters, State, check_rate


class SGD(Optimizer):
    """Gradient descent: ``p = p - lr*v``, where ``v`` is the gradient, or with momentum ``v = momentum*v + (1 - dampening)*grad``.

    Args:
        params: see ``Optimizer``.
        lr: the learning rate, a number or a tensor.
        momentum: the share of the previous ``v``.
        dampening: the reduction of the gradient's share; the first ``v`` is the whole gradient.
        weight_decay: the factor of the parameter that is added to its gradient.
        nesterov: whether the step is ``grad + momentum*v``.
        maximize: whether to go up instead of down.
        foreach, fused: accepted for PyTorch's programs, and without effect.
        differentiable: whether the step is recorded.

    Raises:
        ArgumentError: if the rate, momentum or decay is negative, or ``nesterov`` is used without momentum or with dampening.
    """

    @checks(lr=RATE, momentum=NUMBER, dampening=NUMBER, weight_decay=NUMBER)
    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        if momentum < 0:
            raise ArgumentError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0:
            raise ArgumentError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ArgumentError("Nesterov momentum requires a momentum and zero dampening")
        options: Group = {"lr": lr, "momentum": momentum, "dampening": dampening}
        options |= {"weight_decay": weight_decay, "nesterov": nesterov}
        options |= {"maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused}
        super().__init__(params, options)

    def updated(self, tensor: Tensor, grad: Tensor, state: State, group: Group) -> Tensor:
        """Return the parameter after one step, see the class; with momentum, keep ``v`` in the state as ``momentum_buffer``."""
        if group["weight_decay"]:
            grad = grad + tensor * group["weight_decay"]
        step, momentum = grad, group["momentum"]
        if momentum:
            if "momentum_buffer" in state:
                velocity = state["momentum_buffer"] * momentum + grad * (1 - group["dampening"])
            else:  # the first step
                velocity = grad.clone()
            state["momentum_buffer"] = velocity
            step = grad + velocity * momentum if group["nesterov"] else velocity
        result: Tensor = tensor - step * group["lr"]
        return result
