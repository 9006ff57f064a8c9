"""The base class of optimizers: groups of parameters with their options, and the state of each parameter.

An optimizer computes the new values with ordinary tensor functions and copies them into the parameters.  With the option
``differentiable``, these functions are recorded, so the new values can be differentiated with respect to the gradients.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from autodiff_cli.autograd.modes import enable_grad, set_grad_enabled
from autodiff_cli.autograd.primitives.interface_kinds import PARAMETERS, VALUES, checks
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, type_name
from autodiff_cli.ops.creation import zeros_like

Group = dict[str, Any]
"""A group of parameters: its options by name, and its tensors under ``params``."""
State = dict[str, Any]
"""What an optimizer keeps about one parameter from step to step, such as ``exp_avg``."""
Parameters = Iterable[Tensor] | Iterable[tuple[str, Tensor]] | Iterable[Group]


class Optimizer:
    """A method that changes parameters in place, step by step, by their gradients.

    A subclass defines ``updated``; a subclass written for PyTorch may define ``step`` instead.

    Args:
        params: leaf tensors, pairs of names and tensors, or dictionaries with the tensors under ``params`` and with options
            that differ from the defaults.
        defaults: the options of groups that do not give them.

    Raises:
        ArgumentError: if there are no parameters, and as ``add_param_group``.
    """

    @checks(params=PARAMETERS, defaults=VALUES)
    def __init__(self, params: Parameters, defaults: Mapping[str, Any]) -> None:
        if isinstance(params, Tensor):
            message = "params argument given to the optimizer should be an iterable of Tensors or dicts, but got torch.FloatTensor"
            raise ArgumentError(message, hint="put the tensor into a list")
        self.defaults: Group = dict(defaults)
        self.state: defaultdict[Tensor, State] = defaultdict(dict)
        self.param_groups: list[Group] = []
        groups: list[Any] = list(params)
        if not groups:
            raise ArgumentError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):  # tensors, or pairs of names and tensors
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: Group) -> None:
        """Add a group of parameters, whose missing options are the defaults; names in pairs with tensors become ``param_names``.

        Raises:
            ArgumentError: if the group is not a dictionary with an ordered collection of tensors under ``params``; if a tensor
                belongs to another group; if it is not a leaf, unless it retains its gradient or the group is ``differentiable``.
        """
        if not isinstance(param_group, dict):
            raise ArgumentError(f"param_group must be a dict, but got {type(param_group)}")
        group = {**param_group, "params": _as_list(param_group.get("params"))}
        if group["params"] and all(isinstance(parameter, tuple) for parameter in group["params"]):
            names, tensors = zip(*group["params"], strict=True)
            group["param_names"], group["params"] = list(names), list(tensors)
        for name, default in self.defaults.items():
            group.setdefault(name, default)
        self._check_tensors(group["params"], bool(group.get("differentiable")))
        self.param_groups.append(group)

    def _check_tensors(self, tensors: list[Any], differentiable: bool) -> None:
        """Raise ArgumentError unless the parameters of a new group are tensors that may be optimized, see ``add_param_group``."""
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise ArgumentError(f"optimizer can only optimize Tensors, but one of the params is {type_name(tensor)}")
            if not (differentiable or tensor.is_leaf or tensor.retains_grad):
                raise ArgumentError("can't optimize a non-leaf Tensor", hint="call detach().requires_grad_() on it first")
        known = {id(tensor) for other in self.param_groups for tensor in other["params"]}
        if known & {id(tensor) for tensor in tensors}:
            raise ArgumentError("some parameters appear in more than one parameter group")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters to ``None``, or to zeros without ``set_to_none``; ``None`` stays ``None``."""
        for group in self.param_groups:
            for tensor in group["params"]:
                if tensor.grad is not None:
                    tensor.grad = None if set_to_none else zeros_like(tensor.grad)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change each parameter that has a gradient, once; the change is recorded only in a group that is ``differentiable``.

        Args:
            closure: a function that computes the loss and the gradients anew; it is called first, with recording.

        Returns:
            The result of ``closure``, or ``None`` without a closure.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            with set_grad_enabled(bool(group.get("differentiable"))):
                self._change_parameters(group)
        return loss

    def _change_parameters(self, group: Group) -> None:
        """Copy new values into the parameters of a group that have a gradient; ``maximize`` reverses the gradient."""
        for tensor in group["params"]:
            if tensor.grad is not None:
                grad = -tensor.grad if group.get("maximize") else tensor.grad
                tensor.copy_(self.updated(tensor, grad, self.state[tensor], group))

    def updated(self, tensor: Tensor, grad: Tensor, state: State, group: Group) -> Tensor:
        """Return the new values of a parameter, and change its state.

        Args:
            tensor: the parameter.
            grad: its gradient, negated if the group is maximized.
            state: the state of the parameter, which is empty at the first step.
            group: the group of the parameter with its options.
        """
        raise NotImplementedError

    def __repr__(self) -> str:
        """Return the options of all groups as PyTorch prints them, without the parameters."""
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return "\n".join([*lines, ")"])


def _as_list(params: object) -> list[Any]:
    """Return the parameters of a group as a list: a tensor alone, or a collection; raise ArgumentError for a set or a number."""
    if not isinstance(params, Iterable):
        raise ArgumentError("a group of parameters needs a list of tensors under the key 'params'")
    if isinstance(params, (set, frozenset)):
        raise ArgumentError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will "
            "change between runs. Please use a list instead."
        )
    return [params] if isinstance(params, Tensor) else list(params)


def check_rate(lr: float | Tensor) -> None:
    """Raise ArgumentError if a learning rate is negative or nan, or a tensor with several elements."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ArgumentError("Tensor lr must be 1-element")
    if not lr >= 0:
        raise ArgumentError(f"Invalid learning rate: {lr}")
