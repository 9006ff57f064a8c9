"""Forward mode: the tangent of every declared function, derived from its declaration, equals the product by reverse mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.autograd.forward_ad import dual_level, make_dual, unpack_dual
from autodiff_cli.autograd.jacobians import jacobian_of, jacobian_vector
from autodiff_cli.autograd.primitives.primitive import PRIMITIVES
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.autograd.tensor import Tensor, new_tensor
from autodiff_cli.derivatives import matrices_and_products
from autodiff_cli.derivatives.matrices_and_products import product
from autodiff_cli.evaluation.evaluation import Evaluation
from tests.points import samples_of

assert ad.sin is not None  # declares the functions
OPS = list({op.name: op for op in FUNCTIONS.values()}.values())
EACH = pytest.mark.parametrize("op", [op for op in OPS if samples_of(op)], ids=lambda op: op.name)


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


def _duals(arguments: list[Any], chosen: list[Tensor], vectors: list[Tensor]) -> list[Any]:
    """The arguments, with the chosen ones as dual tensors."""
    place = {id(x): k for k, x in enumerate(chosen)}
    return [make_dual(a, vectors[place[id(a)]]) if id(a) in place else a for a in arguments]


def _forward(op: FunctionInfo, arguments: list[Any], chosen: list[Tensor], vectors: list[Tensor]) -> list[Any]:
    """The tangent of each output; zeros where an output has none."""
    with dual_level():
        pairs = [unpack_dual(output) for output in _outputs(op.function(*_duals(arguments, chosen, vectors)))]
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


@pytest.mark.sampled(4)
@EACH
def test_tangents(op: FunctionInfo) -> None:
    for sample in samples_of(op):
        arguments = _arguments(op, sample)
        inputs = _inputs(arguments)
        _compare(op, arguments, inputs, 1e-10)
        for x in inputs if len(inputs) > 1 else []:
            _compare(op, arguments, [x], 1e-10)


@pytest.mark.sampled(6)
@EACH
def test_tangents_without_recording(op: FunctionInfo) -> None:
    for sample in samples_of(op):
        arguments = _arguments(op, sample)
        vectors = _vectors(_inputs(arguments))
        expected = _forward(op, arguments, _inputs(arguments), vectors)
        with ad.no_grad():
            found = _forward(op, arguments, _inputs(arguments), vectors)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


# Uses


def _product(command: str, text: str, at: dict[str, Any], vector: dict[str, Any] | None = None) -> Any:
    return product(command, Evaluation(text, at), vector or {}).derivatives


def test_a_tall_jacobian_is_computed_by_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    text, at = "[sin(x*y), cos(x), x**2, exp(y)]", {"x": 1.5, "y": 0.5}
    by_rows = {name: _rows(text, at, name) for name in at}
    monkeypatch.setattr(matrices_and_products, "jacobian_of", None)
    found = _product("jacobian", text, at)
    for name, rows in by_rows.items():
        np.testing.assert_allclose(found[name], rows, rtol=1e-14)


def _rows(text: str, at: dict[str, Any], name: str) -> Any:
    evaluation = Evaluation(text, at)
    return jacobian_of(evaluation.output, [evaluation.variables[name]])[0]._data


def test_a_product_with_a_direction() -> None:
    assert _product("jvp", "sum(x**3)", {"x": [1.0, 2.0]}, {"x": [1.0, 10.0]}) == 123.0
    assert _product("jvp", "x + floor(y)", {"x": 1.0, "y": 2.5}, {"y": 1.0}) == 0.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sqrt(where(x > 0, x, 0))", 0.0),
        ("f(a) = a**2 with grad (3*a); f(x)", 0.0),  # there is only a VJP rule
        ("sqrt([x, 0])[1]", 0.0),
        ("sqrt(x)", np.inf),
    ],
)
def test_products_at_kinks_and_edges(text: str, expected: float) -> None:
    assert _product("jvp", text, {"x": 0.0}, {"x": 1.0}) == expected


def test_a_jacobian_with_an_infinite_element() -> None:
    assert _product("jacobian", "[sqrt(x), x, 2*x]", {"x": 0.0})["x"].tolist() == [np.inf, 1.0, 2.0]


# Functions of dual tensors


def test_products_nest() -> None:
    """The third directional derivative, by forward mode inside forward mode and by reverse mode."""

    def function(x: Any) -> Any:
        return (ad.softmax(x.sin() @ x.T, 0).prod() + ad.linalg.inv(x).exp().sum()) / x.norm()

    def directional(function: Any) -> Any:
        return lambda x: ad.func.jvp(function, (x,), (t,))[1]

    x, t = ad.tensor([[2.0, 1.0], [0.5, 3.0]]), ad.tensor([[1.0, -1.0], [0.3, 0.2]])
    third = directional(directional(directional(function)))(x).item()
    value: Any = function
    leaf = x.clone().requires_grad_()
    value = function(leaf)
    for _ in range(3):
        value = (ad.autograd.grad(value, leaf, create_graph=True)[0] * t).sum()
    assert third == pytest.approx(value.item(), rel=1e-10)


ELEMENTWISE = [op for op in OPS if samples_of(op) and op.function in PRIMITIVES and PRIMITIVES[op.function].elementwise]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_the_gradient_of_a_tangent(op: FunctionInfo) -> None:
    """The product of the second derivatives with a vector: the gradient of a dual tensor, and two backward passes."""
    for sample in samples_of(op):
        arguments = _arguments(op, sample)
        inputs = _inputs(arguments)
        vectors = _vectors(inputs)
        output = op.function(*arguments)
        if not output.requires_grad:
            continue
        first = ad.autograd.grad(output.sum(), inputs, create_graph=True, allow_unused=True, materialize_grads=True)
        total = sum(((g * v).sum() for g, v in zip(first, vectors, strict=True)), ad.tensor(0.0))
        expected = [None] * len(inputs)
        if total.requires_grad:
            expected = ad.autograd.grad(total, inputs, allow_unused=True)
        with dual_level():
            result = op.function(*_duals(arguments, inputs, vectors))
            found = ad.autograd.grad(result.sum(), inputs, materialize_grads=True)
            tangents = [unpack_dual(g).tangent for g in found]
        for ours, theirs in zip(tangents, expected, strict=True):
            ours, theirs = (0.0 if g is None else g.detach().numpy() for g in (ours, theirs))
            scale = max(1.0, float(np.max(np.abs(theirs), initial=0.0)))
            np.testing.assert_allclose(ours + 0 * theirs, theirs + 0 * ours, rtol=1e-9, atol=1e-10 * scale)


@pytest.mark.sampled(6)
@EACH
def test_tangents_in_float32(op: FunctionInfo) -> None:
    for sample in samples_of(op):
        arguments = _arguments(op, sample, "float32")
        inputs = _inputs(arguments)
        with dual_level():
            for output in _outputs(op.function(*_duals(arguments, inputs, _vectors(inputs)))):
                moved = unpack_dual(output).tangent
                assert moved is None or (moved.dtype, moved.shape) == (output.dtype, output.shape)
