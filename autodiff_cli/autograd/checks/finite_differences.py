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
    """Return a context in which a tensor has another array, with ``step`` added to the element of this flat number."""
    original = argument._data
    values = np.array(original, order="C")  # so that reshape makes no copy
    values.reshape(-1)[element] += step
    argument._data = values[()] if values.ndim == 0 else values  # a 0-d tensor contains a NumPy scalar
    try:
        yield
    finally:
        argument._data = original


def _central_differences(function: Callable[[], Sequence[Tensor]], argument: Tensor, eps: float, element: int) -> list[Array]:
    """Return (f(x + eps) - f(x - eps))/(2*eps) of each output for one element x; InvalidCheck if a shape or type changes."""
    with temporarily_shifted(argument, -eps, element):
        before: list[Any] = [output._data for output in function()]
    with temporarily_shifted(argument, eps, element):
        after: list[Any] = [output._data for output in function()]
    index = tuple(map(int, np.unravel_index(element, argument.shape)))
    context = f"when inputs are perturbed on index {index} by {eps}, but got:"
    differences = []
    for low, high in zip(before, after, strict=True):
        if low.shape != high.shape:
            shapes = f"{Size(low.shape)} and {Size(high.shape)}"
            raise InvalidCheck(f"Expected `func` to return outputs with the same shape {context} shapes {shapes}.")
        if low.dtype != high.dtype:
            types = f"{tensor_on(low).dtype} and {tensor_on(high).dtype}"
            raise InvalidCheck(f"Expected `func` to return outputs with the same dtype {context} dtypes {types}.")
        differences.append((np.asarray(high, np.float64) - np.asarray(low, np.float64)) / (2 * eps))
    return differences


def numeric_jacobians(function: Callable[[], Sequence[Tensor]], argument: Tensor, eps: float) -> list[Array]:
    """Return the Jacobian of each output of ``function`` by central differences; see ``analytic_jacobian`` for the shape."""
    rows = [_central_differences(function, argument, eps, element) for element in range(argument.numel())]
    if not rows:  # an argument without elements
        return [np.zeros((0, output.numel())) for output in function()]
    rows_by_output = zip(*rows, strict=True)
    return [np.array([np.ravel(row) for row in output_rows]) for output_rows in rows_by_output]


def analytic_jacobian(output: Tensor, argument: Tensor) -> Array:
    """Return the derivative of every element of ``output`` with respect to every element of ``argument``.

    The shape is (elements of ``argument``, elements of ``output``), as in PyTorch.
    """
    (jacobian,) = jacobian_of(output, [argument])
    return np.reshape(jacobian._data, (output.numel(), argument.numel())).T.astype(np.float64)


def mismatch(output: int, argument: int, numeric: Array, analytic: Array, forward: bool = False) -> str:
    """Return PyTorch's message for two Jacobians that differ; ``output`` and ``argument`` are numbers from 0."""
    mode = "computed with forward mode " if forward else ""
    return (
        f"Jacobian {mode}mismatch for output {output} with respect to input {argument},\n"
        f"numerical:{tensor_repr(new_tensor(numeric))}\nanalytical:{tensor_repr(new_tensor(analytic))}\n"
    )
