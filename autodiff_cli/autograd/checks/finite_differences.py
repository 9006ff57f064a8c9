"""Jacobians by finite differences and by backward passes, for checks of gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.jacobians import jacobian_of
from autodiff_cli.autograd.printing import Size, tensor_repr
from autodiff_cli.autograd.tensor import Tensor, new_tensor, tensor_on
from autodiff_cli.errors import InvalidCheck


@contextmanager
def temporarily_shifted(argument: Tensor, step: float, element: int) -> Iterator[None]:
    """Return a context in which one element of a tensor, counted in the flattened tensor, is increased by ``step``."""
    original = argument._data
    values = np.array(original, order="C")  # so that reshape makes no copy
    values.reshape(-1)[element] += step
    argument._data = values[()] if values.ndim == 0 else values  # a 0-d tensor contains a NumPy scalar
    try:
        yield
    finally:
        argument._data = original


def _central_differences(function: Callable[[], Sequence[Tensor]], argument: Tensor, eps: float, element: int) -> list[Array]:
    """Return the central difference of each output of ``function`` for steps of ``eps`` and ``-eps`` of an element.

    Raises:
        InvalidCheck: if the shapes or the types of the outputs depend on the values of the argument.
    """
    ends: list[list[Any]] = []
    for step in (-eps, eps):
        with temporarily_shifted(argument, step, element):
            ends.append([output._data for output in function()])
    index = tuple(map(int, np.unravel_index(element, argument.shape)))
    beginning = (
        "Expected `func` to return outputs with the same {} when inputs are perturbed on index {} by {}, but got: {}s {} and {}."
    )
    for low, high in zip(*ends, strict=True):
        if low.shape != high.shape:
            raise InvalidCheck(beginning.format("shape", index, eps, "shape", Size(low.shape), Size(high.shape)))
        if low.dtype != high.dtype:
            types = (tensor_on(side).dtype for side in (low, high))
            raise InvalidCheck(beginning.format("dtype", index, eps, "dtype", *types))
    return [(np.asarray(high, np.float64) - np.asarray(low, np.float64)) / (2 * eps) for low, high in zip(*ends, strict=True)]


def numeric_jacobians(function: Callable[[], Sequence[Tensor]], argument: Tensor, eps: float) -> list[Array]:
    """Return the Jacobian of each output of ``function`` by central differences; see ``analytic_jacobian`` for the shape."""
    rows = [_central_differences(function, argument, eps, i) for i in range(argument.numel())]
    if not rows:  # an argument without elements
        return [np.zeros((0, output.numel())) for output in function()]
    return [np.array([np.ravel(part) for part in parts]).reshape(len(rows), -1) for parts in zip(*rows, strict=True)]


def analytic_jacobian(output: Tensor, argument: Tensor) -> Array:
    """Return the derivative of every element of ``output`` with respect to every element of ``argument``.

    The shape is (elements of ``argument``, elements of ``output``), as in PyTorch.
    """
    (jacobian,) = jacobian_of(output, [argument])
    return np.reshape(jacobian._data, (output.numel(), argument.numel())).T.astype(np.float64)


def mismatch(output: int, argument: int, numeric: Array, analytic: Array, forward: bool = False) -> str:
    """Return PyTorch's message for two Jacobians that differ; ``output`` and ``argument`` are their numbers, from 0."""
    mode = "computed with forward mode " if forward else ""
    return (
        f"Jacobian {mode}mismatch for output {output} with respect to input {argument},\n"
        f"numerical:{tensor_repr(new_tensor(numeric))}\nanalytical:{tensor_repr(new_tensor(analytic))}\n"
    )
