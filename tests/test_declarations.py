"""Every declared function: its derivatives at orders 1 to 3 on its own samples, and what it must say of itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.autograd.checking import gradcheck, gradgradcheck
from autodiff_cli.autograd.op import FUNCTIONS, Op
from autodiff_cli.autograd.sweep import grad
from autodiff_cli.autograd.tensor import Tensor

assert ad.sin is not None  # declares the functions
OPS = list({op.name: op for op in FUNCTIONS.values()}.values())
DIFFERENTIABLE = [op for op in OPS if op.samples]
SAMPLES = [pytest.param(op, sample, id=f"{op.name}{sample}") for op in DIFFERENTIABLE for sample in op.samples]


def _arguments(op: Op, sample: tuple[Any, ...]) -> list[Any]:
    arguments: list[Any] = []
    for i, value in enumerate(sample):
        takes_tensor = op.variadic or op.parameters[min(i, len(op.parameters) - 1)] in op.tensors
        if not takes_tensor or value is None:
            arguments.append(value)
            continue
        data = np.array(value)
        if op.name == "clamp" and i > 0:
            arguments.append(value)
        else:
            arguments.append(Tensor(data, requires_grad=data.dtype.kind == "f"))
    return arguments


@pytest.mark.parametrize(("op", "sample"), SAMPLES)
def test_first_derivative(op: Op, sample: tuple[Any, ...]) -> None:
    assert gradcheck(op.function, _arguments(op, sample), atol=1e-7, rtol=1e-6)


@pytest.mark.parametrize(("op", "sample"), SAMPLES)
def test_second_derivative(op: Op, sample: tuple[Any, ...]) -> None:
    assert gradgradcheck(op.function, _arguments(op, sample), atol=1e-7, rtol=1e-6)


@pytest.mark.parametrize(("op", "sample"), SAMPLES)
def test_third_derivative(op: Op, sample: tuple[Any, ...]) -> None:
    def second(*arguments: Any) -> Any:
        inputs = [a for a in arguments if isinstance(a, Tensor) and a.requires_grad]
        first = grad(_scalar(op.function(*arguments)), inputs, create_graph=True, allow_unused=True)
        total = _total(first)
        return tuple(inputs) if total is None else _total(grad(total, inputs, create_graph=True, allow_unused=True))

    result = second(*_arguments(op, sample))
    if not isinstance(result, Tensor) or not result.requires_grad:
        return  # the second derivative is constant: there is no third
    assert gradcheck(second, _arguments(op, sample), atol=1e-6, rtol=1e-5)


def _scalar(output: Any) -> Tensor:
    """A scalar that weighs the elements differently, so that none can hide behind another."""
    if isinstance(output, tuple):
        total = _total(output)
        assert total is not None
        return total
    weights = np.linspace(0.5, 1.5, output.numel()).reshape(output.shape)
    return (output * weights).sum()


def _total(parts: Any) -> Tensor | None:
    used = [_scalar(part) for part in parts if part is not None and part.requires_grad]
    total = None
    for part in used:
        total = part if total is None else total + part
    return total


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_says_what_it_is(op: Op) -> None:
    assert op.summary
    assert op.section
    assert op.signature.startswith(op.name)


@pytest.mark.parametrize("op", [op for op in OPS if op.edges], ids=lambda op: op.name)
def test_edges_are_evaluated_and_documented(op: Op) -> None:
    assert op.domain or op.convention
    for edge in op.edges:
        arguments = _arguments(op, edge)
        output = op.function(*arguments)
        inputs = [a for a in arguments if isinstance(a, Tensor)]
        if isinstance(output, Tensor) and output.requires_grad:
            found = grad(output.sum(), inputs)
            assert all(f is not None and f.shape == a.shape for f, a in zip(found, inputs, strict=True))


WITHOUT_DERIVATIVE = {
    *("all", "allclose", "any", "equal", "isclose"),
    *("lt", "le", "gt", "ge", "eq", "ne", "logical_and", "logical_or", "logical_xor", "logical_not", "isnan", "isinf", "isfinite"),
    *("zeros", "ones", "full", "eye", "arange", "linspace", "zeros_like", "ones_like"),
    *("argmax", "argmin", "argsort", "count_nonzero"),
}


def test_every_differentiable_function_has_samples() -> None:
    assert {op.name for op in OPS} - {op.name for op in DIFFERENTIABLE} == WITHOUT_DERIVATIVE


def test_aliases_are_the_same_function() -> None:
    assert FUNCTIONS["arcsin"] is FUNCTIONS["asin"]
    assert FUNCTIONS["ln"] is FUNCTIONS["log"]
    assert not ({"sinh", "cosh"} & set(FUNCTIONS["sin"].aliases))
