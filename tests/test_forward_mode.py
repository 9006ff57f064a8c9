"""Forward mode: the tangent of every declared function, derived from its declaration, equals the product by reverse mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.autograd.forward_ad import dual_level, make_dual, unpack_dual
from autodiff_cli.autograd.functional import jacobian_vector
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.autograd.tensor import Tensor, new_tensor

assert ad.sin is not None  # declares the functions
OPS = list({op.name: op for op in FUNCTIONS.values()}.values())
EACH = pytest.mark.parametrize("op", [op for op in OPS if op.samples], ids=lambda op: op.name)


def _arguments(op: FunctionInfo, sample: tuple[Any, ...], dtype: str = "float64") -> list[Any]:
    arguments: list[Any] = []
    for i, value in enumerate(sample):
        takes_tensor = op.variadic or op.parameters[min(i, len(op.parameters) - 1)] in op.tensors
        if not takes_tensor or value is None or (op.name == "clamp" and i > 0):
            arguments.append(value)
        else:
            data = np.array(value)
            floating = data.dtype.kind == "f"
            arguments.append(new_tensor(data.astype(dtype) if floating else data, requires_grad=floating))
    return arguments


def _vectors(inputs: list[Tensor]) -> list[Tensor]:
    """A direction for each input, without zeros."""
    rng = np.random.default_rng(7)
    return [new_tensor((rng.uniform(0.5, 1.5, x.shape) * rng.choice([-1, 1], x.shape)).astype(x._data.dtype)) for x in inputs]


def _outputs(result: Any) -> list[Tensor]:
    """The differentiable outputs."""
    return [part for part in (result if isinstance(result, tuple) else (result,)) if part.is_floating_point()]


def _forward(op: FunctionInfo, arguments: list[Any], chosen: list[Tensor], vectors: list[Tensor]) -> list[Any]:
    """The tangent of each output; zeros where an output has none."""
    place = {id(x): k for k, x in enumerate(chosen)}
    with dual_level():
        given = [make_dual(a, vectors[place[id(a)]]) if id(a) in place else a for a in arguments]
        pairs = [unpack_dual(output) for output in _outputs(op.function(*given))]
    return [np.zeros(pair.primal.shape) if pair.tangent is None else pair.tangent.detach().numpy() for pair in pairs]


def _reverse(op: FunctionInfo, arguments: list[Any], chosen: list[Tensor], vectors: list[Tensor]) -> list[Any]:
    outputs = _outputs(op.function(*arguments))
    return [jacobian_vector([output], chosen, vectors)[0].detach().numpy() for output in outputs]


def _compare(op: FunctionInfo, arguments: list[Any], chosen: list[Tensor], tolerance: float) -> None:
    vectors = _vectors(chosen)
    found, expected = _forward(op, arguments, chosen, vectors), _reverse(op, arguments, chosen, vectors)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == theirs.shape
        scale = max(1.0, float(np.max(np.abs(theirs), initial=0.0)))
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * scale)


def _inputs(arguments: list[Any]) -> list[Tensor]:
    return [a for a in arguments if isinstance(a, Tensor) and a.requires_grad]


@EACH
def test_tangents(op: FunctionInfo) -> None:
    for sample in op.samples:
        arguments = _arguments(op, sample)
        inputs = _inputs(arguments)
        _compare(op, arguments, inputs, 1e-10)
        for x in inputs if len(inputs) > 1 else []:
            _compare(op, arguments, [x], 1e-10)


@EACH
def test_tangents_without_recording(op: FunctionInfo) -> None:
    for sample in op.samples:
        arguments = _arguments(op, sample)
        vectors = _vectors(_inputs(arguments))
        expected = _forward(op, arguments, _inputs(arguments), vectors)
        with ad.no_grad():
            found = _forward(op, arguments, _inputs(arguments), vectors)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
