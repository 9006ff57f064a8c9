"""Initial values of parameters, as in ``torch.nn.init``: each function changes a tensor in place, unrecorded, and returns it."""

from __future__ import annotations

import math

from autodiff_cli.autograd.modes import no_grad
from autodiff_cli.autograd.primitives.argument_kinds import NUMBER, TEXT, optional
from autodiff_cli.autograd.primitives.interface_kinds import A_TENSOR, checks
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError
from autodiff_cli.ops.creation import eye
from autodiff_cli.ops.generators import Generator


@checks(tensor=A_TENSOR, a=NUMBER, b=NUMBER)
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw the elements from the uniform distribution from ``a`` to ``b``."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)  # type: ignore[no-any-return]


@checks(tensor=A_TENSOR, mean=NUMBER, std=NUMBER)
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw the elements from a normal distribution."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)  # type: ignore[no-any-return]


@checks(tensor=A_TENSOR)
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Set all elements to one number."""
    with no_grad():
        return tensor.fill_(val)  # type: ignore[no-any-return]


@checks(tensor=A_TENSOR)
def ones_(tensor: Tensor) -> Tensor:
    """Set all elements to 1."""
    return constant_(tensor, 1.0)


@checks(tensor=A_TENSOR)
def zeros_(tensor: Tensor) -> Tensor:
    """Set all elements to 0."""
    return constant_(tensor, 0.0)


@checks(tensor=A_TENSOR)
def eye_(tensor: Tensor) -> Tensor:
    """Set a matrix to the identity.

    Raises:
        ArgumentError: if the tensor is not a matrix.
    """
    if tensor.ndim != 2:
        raise ArgumentError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.copy_(eye(*tensor.shape))  # type: ignore[no-any-return]


_CONVOLUTIONS = ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
_GAINS = {"relu": math.sqrt(2), "tanh": 5 / 3, "selu": 3 / 4, **dict.fromkeys(("linear", "sigmoid", *_CONVOLUTIONS), 1.0)}


@checks(nonlinearity=TEXT, param=optional(NUMBER))
def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor of the standard deviation for weights before a nonlinear function.

    Args:
        nonlinearity: the name of the function.
        param: the negative slope of ``leaky_relu``, 0.01 if left out.

    Raises:
        ArgumentError: if the function is unknown.
    """
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))

    if nonlinearity not in _GAINS:
        names = [name for name in _GAINS if name not in _CONVOLUTIONS]
        raise ArgumentError(f"Unsupported nonlinearity {nonlinearity}", hint=f"use leaky_relu, {', '.join(names)}")
    return _GAINS[nonlinearity]


def _input_and_output_counts(tensor: Tensor) -> tuple[int, int]:
    """Return how many inputs and outputs one element of weights of shape (outputs, inputs, *field) connects: the fans."""
    if tensor.ndim < 2:
        raise ArgumentError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _fan_count(tensor: Tensor, mode: str) -> int:
    """Return the number of inputs or of outputs, as ``mode``, ``fan_in`` or ``fan_out``, says; at least 1."""
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ArgumentError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return max(_input_and_output_counts(tensor)[mode.lower() == "fan_out"], 1)  # a tensor without elements stays as it is


@checks(tensor=A_TENSOR, gain=NUMBER)
def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw the elements uniformly, with the variance ``2*gain**2/(inputs + outputs)``."""
    bound = gain * math.sqrt(6.0 / max(sum(_input_and_output_counts(tensor)), 1))
    return uniform_(tensor, -bound, bound, generator)


@checks(tensor=A_TENSOR, gain=NUMBER)
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw the elements from a normal distribution with the variance ``2*gain**2/(inputs + outputs)``."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / max(sum(_input_and_output_counts(tensor)), 1)), generator)


@checks(tensor=A_TENSOR, a=NUMBER, mode=TEXT, nonlinearity=TEXT)
def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Generator | None = None
) -> Tensor:
    """Draw the elements uniformly, with the variance ``gain**2/inputs``; ``a`` is the slope of ``leaky_relu``."""
    bound = calculate_gain(nonlinearity, a) * math.sqrt(3.0 / _fan_count(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


@checks(tensor=A_TENSOR, a=NUMBER, mode=TEXT, nonlinearity=TEXT)
def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Generator | None = None
) -> Tensor:
    """Draw the elements from a normal distribution with the variance ``gain**2/inputs``; ``a`` is the slope of ``leaky_relu``."""
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_fan_count(tensor, mode)), generator)
