"""Transformations of functions: ``torch.func`` and ``vmap``."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from tests.behaviour import const, leaf, shape, since, torch

func: Any = import_module(f"{torch.__name__}.func")
pytestmark = pytest.mark.filterwarnings("ignore:Attempted to insert:UserWarning")
X = const([[0.5, -1.0], [2.0, 0.25], [1.5, 3.0]])
V = const([0.5, -1.0, 2.0])
W = const([[1.0, 2.0, 3.0], [-1.0, 0.5, 4.0]])


def close(found: Any, expected: Any) -> bool:
    return bool(torch.allclose(found, expected, rtol=1e-12, atol=1e-13)) and shape(found) == shape(expected)


def loop(function: Callable[..., Any], *batches: Any) -> Any:
    """The function of each example, stacked."""
    return torch.stack([function(*example) for example in zip(*batches, strict=True)])


# vmap


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sin(),
        lambda x: x * 2 + 1,
        lambda x: x.sum(),
        lambda x: x.mean(0),
        lambda x: x.sum(0, keepdim=True),
        lambda x: x.cumsum(0),
        lambda x: x.softmax(-1),
        lambda x: x.max(),
        lambda x: x.max(0)[0],
        lambda x: x.argmax(),
        lambda x: x.sort()[0],
        lambda x: x.prod(),
        lambda x: x.norm(),
        lambda x: x[0],
        lambda x: x[-1:],
        lambda x: x[None],
        lambda x: x[[1, 0, 1]],
        lambda x: x.reshape(1, 2),
        lambda x: x.unsqueeze(-1),
        lambda x: x.expand(3, 2),
        lambda x: x.flip(0),
        lambda x: x.clone(),
        lambda x: x @ const([1.0, 2.0]),
        lambda x: x @ W,
        lambda x: W.T @ x,
        lambda x: torch.dot(x, x),
        lambda x: torch.outer(x, x),
        lambda x: torch.outer(x, x).trace(),
        lambda x: torch.stack([x, x.cos()]),
        lambda x: torch.cat([x, const([1.0])]),
        lambda x: torch.where(x > 0, x, -x),
        lambda x: torch.einsum("i,j->ij", x, x),
        lambda x: (x > 0).double(),
        lambda x: torch.ones_like(x),
        lambda x: torch.zeros_like(x).add_(x),
        lambda x: const([1.0, 2.0]),
        lambda x: x.gather(0, torch.tensor([1, 1, 0])),
        lambda x: torch.linalg.det(torch.outer(x, x) + torch.eye(2, dtype=torch.float64)),
        lambda x: torch.linalg.solve(torch.eye(2, dtype=torch.float64) * 2 + torch.outer(x, x), x),
    ],
    ids=range(39),
)
def test_vmap_is_a_loop_over_the_examples(function: Callable[[Any], Any]) -> None:
    assert close(torch.vmap(function)(X).double(), loop(function, X).double())


def test_a_tensor_like_another_has_the_type_that_is_asked_for() -> None:
    for make in (torch.zeros_like, torch.ones_like, lambda x, **options: torch.full_like(x, 2, **options)):
        made = torch.vmap(lambda x, make=make: make(x, dtype=torch.float32))(X)
        assert (made.dtype, shape(made)) == (torch.float32, shape(X))
        assert torch.vmap(make)(X).dtype == make(X).dtype == X.dtype
        assert make(X, dtype=torch.float32).dtype == torch.float32


def test_vmap_of_two_arguments() -> None:
    assert torch.vmap(torch.dot)(X, X).tolist() == (X * X).sum(1).tolist()


def test_vmap_with_an_argument_that_all_examples_share() -> None:
    assert close(torch.vmap(lambda x, w: x @ w, in_dims=(0, None))(X, W), X @ W)


def test_vmap_along_another_dimension() -> None:
    assert close(torch.vmap(lambda x: x * 2, in_dims=1)(X), X.T * 2)
    assert close(torch.vmap(lambda x: x * 2, in_dims=-1, out_dims=-1)(X), X * 2)


def test_vmap_of_several_results_in_several_dimensions() -> None:
    a, b = torch.vmap(lambda x: (x * 2, x.sum()), out_dims=(1, 0))(X)
    assert close(a, X.T * 2)
    assert close(b, X.sum(1))


def test_vmap_of_dictionaries() -> None:
    found = torch.vmap(lambda d: {"sum": d["x"] + d["y"][0]}, in_dims=({"x": 0, "y": None},))({"x": X, "y": [const(1.0)]})
    assert close(found["sum"], X + 1)


def test_nested_vmap() -> None:
    found = torch.vmap(torch.vmap(lambda a, b: a * b, in_dims=(None, 0)), in_dims=(0, None))(V, const([1.0, 10.0]))
    assert found.tolist() == [[0.5, 5.0], [-1.0, -10.0], [2.0, 20.0]]


def test_vmap_result_is_differentiable() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    torch.vmap(lambda row: (row**2).sum())(x).sum().backward()
    assert x.grad.tolist() == [[2.0, 4.0], [6.0, 8.0]]


def test_shapes_inside_vmap_are_those_of_an_example() -> None:
    seen = []

    def function(x: Any) -> Any:
        seen.append((shape(x), x.dim(), x.numel(), len(x), x.size(0)))
        return x

    torch.vmap(function)(X)
    assert seen == [([2], 1, 2, 2, 2)]


def test_in_place_changes_inside_vmap() -> None:
    def function(x: Any) -> Any:
        y = x.clone()
        y[0] = 7.0
        y.mul_(2)
        y += x
        return y

    assert close(torch.vmap(function)(X), loop(function, X))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: torch.vmap(lambda x: x.sum().item())(X), r"calling .item\(\) on a Tensor"),
        (lambda: torch.vmap(lambda x: float(x.sum()))(X), r"calling .item\(\) on a Tensor"),
        (lambda: torch.vmap(lambda x: x if x.sum() > 0 else -x)(X), "data-dependent control flow"),
        (lambda: torch.vmap(lambda x: x.tolist())(X), "Cannot access data pointer of Tensor that doesn't have storage"),
        (lambda: torch.vmap(lambda x: x.numpy())(X), "Cannot access data pointer of Tensor that doesn't have storage"),
        (lambda: torch.vmap(lambda x: x + torch.rand(2))(X), "called random operation while in randomness error mode"),
        (lambda: torch.vmap(lambda x: x[x > 0])(X), "We do not support batching operators that can"),
        (lambda: torch.vmap(lambda x: x)(), "got no inputs"),
        (lambda: torch.vmap(lambda x: x, in_dims="0")(X), "expected `in_dims` to be int or a"),
        (lambda: torch.vmap(lambda x: x, in_dims=(0, 0))(X), "in_dims is not compatible with the structure of `inputs`"),
        (lambda: torch.vmap(lambda x: x, in_dims=2)(X), r"of dimensionality 2 so expected in_dim to satisfy -2 <= in_dim < 2"),
        (lambda: torch.vmap(lambda x: x, in_dims=(0.5,))(X), "in_dim must be either an integer dimension or None"),
        (lambda: torch.vmap(lambda x: x)(2.0), "We cannot vmap over non-Tensor arguments, please use None"),
        (lambda: torch.vmap(lambda x: x, in_dims=(None,))(X), "Expected at least one Tensor to vmap over"),
        (lambda: torch.vmap(torch.add)(X, W), r"same size in the mapped dimension, got sizes \[3, 2\]"),
        (lambda: torch.vmap(lambda x: "a")(X), "must only return Tensors, got type"),
        (lambda: torch.vmap(lambda x: x, out_dims=None)(X), "can not return a BatchedTensor when out_dim is None"),
        (lambda: torch.vmap(lambda x: (x, x), out_dims=(0, 0, 0))(X), "out_dims is not compatible with the structure of `outputs`"),
        (lambda: torch.vmap(lambda x: x, out_dims="0")(X), "`out_dims` must be an int, None or a python collection of ints"),
    ],
    ids=range(19),
)
def test_vmap_refuses(call: Callable[[], Any], words: str) -> None:
    with pytest.raises((RuntimeError, ValueError), match=words):
        call()


def test_values_that_all_examples_share_may_be_read() -> None:
    n = torch.tensor(2)
    assert close(torch.vmap(lambda x: x if n.item() == 2 else -x)(X), X)


# grad, vjp, jacrev


def test_grad() -> None:
    assert func.grad(torch.sin)(const(0.5)).item() == pytest.approx(math.cos(0.5))
    assert func.grad(func.grad(torch.sin))(const(0.5)).item() == pytest.approx(-math.sin(0.5))


def test_grad_of_grad_with_the_same_number_twice() -> None:
    assert func.grad(lambda x: func.grad(lambda y: x * y)(x))(const(3.0)).item() == 1.0
    assert func.grad(lambda x: x * func.grad(lambda y: x * y * y)(x))(const(3.0)).item() == 54.0


def test_grad_by_arguments() -> None:
    def function(x: Any, y: Any) -> Any:
        return (x * y**2).sum()

    x, y = const([1.0, 2.0]), const([3.0, 4.0])
    assert func.grad(function, argnums=1)(x, y).tolist() == [6.0, 16.0]
    assert func.grad(function, argnums=-1)(x, y).tolist() == [6.0, 16.0]
    by_both = func.grad(function, argnums=(0, 1))(x, y)
    assert [g.tolist() for g in by_both] == [[9.0, 16.0], [6.0, 16.0]]


def test_grad_of_structures_and_keywords() -> None:
    found = func.grad(lambda p, k=1.0: (p["a"] * p["b"][0] * k).sum())({"a": V, "b": [V]}, k=3.0)
    assert close(found["a"], V * 3)
    assert close(found["b"][0], V * 3)


def test_grad_with_another_result() -> None:
    gradient, extra = func.grad(lambda x: ((x**2).sum(), {"n": x}), has_aux=True)(V)
    assert close(gradient, 2 * V)
    assert close(extra["n"], V)
    gradient, (value, extra) = func.grad_and_value(lambda x: ((x**2).sum(), x), has_aux=True)(V)
    assert close(value, (V**2).sum())
    assert close(extra, V)


def test_grad_and_value() -> None:
    gradient, value = func.grad_and_value(lambda x: (x**2).sum())(V)
    assert close(gradient, 2 * V)
    assert value.item() == 5.25
    assert not value.requires_grad


def test_grad_of_what_the_function_does_not_use_is_zero() -> None:
    assert func.grad(lambda x: const(1.0))(V).tolist() == [0.0, 0.0, 0.0]
    assert func.grad(lambda x, y: x.sum(), argnums=1)(V, V).tolist() == [0.0, 0.0, 0.0]
    assert func.grad(lambda x: (x.detach() * x).sum())(V).tolist() == V.tolist()


def test_grad_is_differentiable_from_outside() -> None:
    x, w = leaf([1.0, 2.0]), leaf(3.0)
    found = func.grad(lambda v: (w * v**2).sum())(x)
    assert found.tolist() == [6.0, 12.0]
    found.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]
    assert w.grad.item() == 6.0


def test_grad_under_no_grad() -> None:
    x = leaf([1.0, 2.0])
    with torch.no_grad():
        found = func.grad(lambda v: (v**2).sum())(x)
    assert found.tolist() == [2.0, 4.0]
    assert not found.requires_grad
    assert x.grad is None


def test_no_grad_inside_grad() -> None:
    def function(x: Any) -> Any:
        with torch.no_grad():
            constant = x**2
        return (x**2 - constant).sum()

    assert func.grad(function)(V).tolist() == (2 * V).tolist()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: func.grad(lambda x: x)(V), "to return a scalar Tensor, got tensor with 1 dims"),
        (lambda: func.grad(lambda x: 1.0)(V), "to return a Tensor, got <class 'float'>"),
        (lambda: func.grad(lambda x: (x.sum(), x))(V), "to return a Tensor, got <class 'tuple'>"),
        (lambda: func.grad(lambda x: x.sum(), has_aux=True)(V), r"output of function f should be a tuple: \(output, aux\)"),
        (lambda: func.grad(torch.sum, argnums=2)(V), "Got argnum=2, but only 1 positional inputs"),
        (lambda: func.grad(torch.sum, argnums=(0, 0))(V), "argnums elements must be unique"),
        (lambda: func.grad(torch.sum, argnums=())(V), "argnums must be non-empty"),
        (lambda: func.grad(torch.sum, argnums=0.5)(V), "argnums must be int or Tuple"),
        (lambda: func.grad(torch.sum)(torch.tensor([1, 2])), "only Tensors of floating point dtype can require gradients"),
        (lambda: func.grad(lambda x: x)(2.0), "Thing passed to transform API must be Tensor, got <class 'float'>"),
        (lambda: func.grad(lambda x: x.mul_(2).sum())(V), "a leaf Variable that requires grad is being used in an in-place"),
        (lambda: func.vjp(lambda x: 2, V), "to return only tensors, got unsupported type <class 'int'>"),
        (lambda: func.vjp(lambda x: (x, x), V)[1](V), "Expected pytree structure of cotangents to be the same"),
        (lambda: func.vjp(lambda x: x, V)[1](V[0]), r"Mismatch in shape: grad_output\[0\] has a shape of torch.Size\(\[\]\)"),
        (lambda: func.jacrev(lambda x: 2)(V), "to return only tensors, got unsupported type <class 'int'>"),
        (lambda: func.jvp(torch.sin, V, V), "Expected primals to be a tuple"),
        (lambda: func.jvp(torch.sin, (V,), (V, V)), "Expected primals and tangents to have the same python structure"),
        (lambda: func.jvp(torch.sin, (V,), (V[0],)), "forward gradient that has a different size than that of the original Tensor"),
        (lambda: func.jvp(torch.sin, (), ()), "Expected primals to contain at least one Tensor"),
        (lambda: func.jvp(lambda x: 2, (V,), (V,)), "to return only tensors, got unsupported type"),
        (lambda: func.jvp(lambda x: V, (V,), (V,), strict=True), "The output of f is independent of the inputs"),
        (lambda: func.jvp(lambda x: x, (V,), (V,), has_aux=True), r"output of function f should be a tuple: \(output, aux\)"),
    ],
    ids=range(22),
)
def test_transformations_refuse(call: Callable[[], Any], words: str) -> None:
    with pytest.raises((RuntimeError, ValueError), match=words):
        call()


def test_vjp() -> None:
    output, pull = func.vjp(lambda x: (x**2, {"sum": x.sum()}), V)
    assert close(output[0], V**2)
    (found,) = pull((V, {"sum": const(10.0)}))
    assert close(found, 2 * V * V + 10)
    (again,) = pull((V, {"sum": const(0.0)}))
    assert close(again, 2 * V * V)


def test_vjp_of_several_inputs_and_with_another_result() -> None:
    _, pull, extra = func.vjp(lambda x, y: (x * y, y), V, V + 1, has_aux=True)
    assert close(extra, V + 1)
    a, b = pull(torch.ones_like(V))
    assert close(a, V + 1)
    assert close(b, V)


def test_jacobians() -> None:
    expected = torch.diag(V.cos())
    assert close(func.jacrev(torch.sin)(V), expected)
    assert close(func.jacfwd(torch.sin)(V), expected)
    assert close(func.jacrev(torch.sin, chunk_size=2)(V), expected)
    assert shape(func.jacrev(lambda x: x @ W.T)(X @ W)) == [3, 2, 3, 3]
    assert close(func.jacfwd(lambda x: x @ W.T)(X @ W), func.jacrev(lambda x: x @ W.T)(X @ W))


def test_jacobians_of_structures() -> None:
    def function(x: Any, y: Any) -> Any:
        return {"a": x * y, "b": (x.sum(),)}

    for jacobian in (func.jacrev, func.jacfwd):
        found = jacobian(function, argnums=(0, 1))(V, V + 1)
        assert close(found["a"][0], torch.diag(V + 1))
        assert close(found["a"][1], torch.diag(V))
        assert close(found["b"][0][0], torch.ones_like(V))
        assert close(found["b"][0][1], torch.zeros_like(V))


def test_jacobians_with_another_result() -> None:
    for jacobian in (func.jacrev, func.jacfwd):
        found, extra = jacobian(lambda x: (x**2, x.sum()), has_aux=True)(V)
        assert close(found, torch.diag(2 * V))
        assert close(extra, V.sum())


def test_hessian() -> None:
    assert close(func.hessian(lambda x: (x**3).sum())(V), torch.diag(6 * V))
    mixed = func.hessian(lambda x, y: (x * y**2).sum(), argnums=(0, 1))(V, V + 1)
    assert close(mixed[0][0], torch.zeros(3, 3, dtype=torch.float64))
    assert close(mixed[0][1], torch.diag(2 * (V + 1)))
    assert close(mixed[1][1], torch.diag(2 * V))
    for outer in (func.jacrev, func.jacfwd):
        for inner in (func.jacrev, func.jacfwd):
            assert close(outer(inner(lambda x: (x**3).prod()))(V), func.hessian(lambda x: (x**3).prod())(V))


# jvp


def test_jvp() -> None:
    output, tangent = func.jvp(lambda x, y: (x * y, x.sum()), (V, V + 1), (torch.ones_like(V), V))
    assert close(output[0], V * (V + 1))
    assert close(tangent[0], V + 1 + V * V)
    assert close(tangent[1], const(3.0))


def test_jvp_of_jvp_and_of_grad() -> None:
    ones = torch.ones_like(V)

    def slope(x: Any) -> Any:
        return func.jvp(lambda y: y**3, (x,), (ones,))[1]

    assert close(func.jvp(slope, (V,), (ones,))[1], 6 * V)
    assert close(func.jvp(func.grad(lambda x: (x**3).sum()), (V,), (V,))[1], 6 * V * V)
    assert close(func.grad(lambda x: func.jvp(lambda y: y**3, (x,), (ones,))[1].sum())(V), 6 * V)


def test_jvp_of_a_captured_tensor() -> None:
    def outer(x: Any) -> Any:
        return func.jvp(lambda y: x * y**2, (x,), (torch.ones_like(x),))[1]

    assert close(func.jvp(outer, (V,), (torch.ones_like(V),))[1], 4 * V)


def test_jvp_of_a_constant_is_zero() -> None:
    assert func.jvp(lambda x: const([1.0, 2.0]), (V,), (V,))[1].tolist() == [0.0, 0.0]


def test_linearize() -> None:
    output, push = func.linearize(torch.sin, V)
    assert close(output, V.sin())
    assert close(push(V), V.cos() * V)
    assert close(push(2 * V), V.cos() * V * 2)


# Combinations


def loss(w: Any, x: Any, y: Any) -> Any:
    return ((torch.tanh(x @ w).sum() - y) ** 2).mean()


def test_gradients_of_each_example() -> None:
    found = torch.vmap(func.grad(loss), in_dims=(None, 0, 0))(W, X, V)
    expected = []
    for x, y in zip(X, V, strict=True):
        w = W.clone().requires_grad_()
        loss(w, x, y).backward()
        expected.append(w.grad)
    assert close(found, torch.stack(expected))


def test_gradients_of_each_example_with_its_own_weights() -> None:
    weights = torch.stack([W, 2 * W, W - 1])
    assert close(torch.vmap(func.grad(loss))(weights, X, V), loop(func.grad(loss), weights, X, V))


def test_gradients_of_captured_examples() -> None:
    found = torch.vmap(lambda x: func.grad(lambda w: (w * x).sum())(torch.ones_like(x)))(X)
    assert close(found, X)
    assert close(torch.vmap(lambda x: func.grad(lambda w: (w * x).sum())(const([1.0, 1.0])))(X), X)


def test_vmap_of_second_derivatives() -> None:
    def function(x: Any) -> Any:
        return (x**3).sum() * x[0]

    assert close(torch.vmap(func.hessian(function))(X), loop(func.hessian(function), X))
    assert close(
        torch.vmap(func.grad(lambda x: func.grad(function)(x).sum()))(X), loop(lambda x: func.hessian(function)(x).sum(0), X)
    )


def test_vmap_of_jacobians_and_products() -> None:
    def function(x: Any) -> Any:
        return torch.sin(x @ W)

    for jacobian in (func.jacrev, func.jacfwd):
        assert close(torch.vmap(jacobian(function))(X), loop(jacobian(function), X))
    assert close(
        torch.vmap(lambda x, t: func.jvp(function, (x,), (t,))[1])(X, X * 2),
        loop(lambda x, t: func.jvp(function, (x,), (t,))[1], X, X * 2),
    )
    assert close(
        torch.vmap(lambda x, t: func.vjp(function, x)[1](t)[0])(X, X @ W),
        loop(lambda x, t: func.vjp(function, x)[1](t)[0], X, X @ W),
    )


def test_grad_of_vmap() -> None:
    found = func.grad(lambda w: torch.vmap(lambda x: (x @ w).sin().sum())(X).sum())(W)
    assert close(found, func.grad(lambda w: (X @ w).sin().sum())(W))


def test_jacobian_by_vmap_over_a_recorded_graph() -> None:
    x = leaf([0.5, -1.0, 2.0])
    y = x.sin() * x.sum()
    rows = torch.vmap(lambda v: torch.autograd.grad(y, x, v, retain_graph=True)[0])(torch.eye(3, dtype=torch.float64))
    assert close(rows, func.jacrev(lambda v: v.sin() * v.sum())(x.detach()))


def test_batched_cotangents() -> None:
    x = leaf([[0.5, -1.0], [2.0, 0.25]])
    y = (x @ x).exp().softmax(0)
    starts = torch.stack([torch.ones_like(y), y.detach(), x.detach()])
    (together,) = torch.autograd.grad(y, x, starts, retain_graph=True, is_grads_batched=True)
    assert close(together, torch.stack([torch.autograd.grad(y, x, s, retain_graph=True)[0] for s in starts]))


def test_a_function_of_vmap_and_jvp_in_a_loop() -> None:
    x = const(0.5)
    function: Any = torch.sin
    for _ in range(4):
        function = func.grad(function)
    assert function(x).item() == pytest.approx(math.sin(0.5), rel=1e-12)
    assert close(torch.vmap(function)(V), V.sin())


# Tensors without elements


EMPTY = [lambda: const([]), lambda: torch.zeros(0, 2), lambda: torch.zeros(2, 0)]


@pytest.mark.parametrize("transform", ["jacrev", "jacfwd"])
@pytest.mark.parametrize("made", EMPTY)
def test_jacobians_of_tensors_without_elements_have_the_shape_of_jacobians(transform: str, made: Callable[[], Any]) -> None:
    jacobian, x = getattr(func, transform), made()
    assert shape(jacobian(torch.tanh)(x)) == shape(x) * 2
    assert [shape(each) for each in jacobian(lambda a: (a.sum(), a * 2))(x)] == [shape(x), shape(x) * 2]


def test_jacobians_of_outputs_without_elements() -> None:
    assert shape(func.jacrev(lambda a: a[:0])(V)) == [0, 3]
    assert [shape(each) for each in func.jacrev(lambda a, b: a[:0] * b[:0], argnums=(0, 1))(V, V)] == [[0, 3], [0, 3]]


# Hooks for saved tensors


def hooks() -> Any:
    return torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)


def hooked(x: Any) -> Any:
    with hooks():
        return (x * x).sum()


@pytest.mark.parametrize("transform", ["grad", "grad_and_value", "jacrev", "hessian"])
def test_reverse_mode_refuses_hooks_for_saved_tensors(transform: str) -> None:
    refused = pytest.raises(RuntimeError, match=r"torch.func.\{grad, vjp, jacrev, hessian\} don't yet support saved tensor hooks")
    with refused:
        getattr(func, transform)(hooked)(V)
    with refused, hooks():
        getattr(func, transform)(lambda x: (x * x).sum())(V)


def test_other_transformations_accept_hooks_for_saved_tensors() -> None:
    assert func.jacfwd(hooked)(V).tolist() == [1.0, -2.0, 4.0]
    assert torch.vmap(hooked)(X).tolist() == [1.25, 4.0625, 11.25]
    pull = func.vjp(lambda x: x * x, V)[1]
    with hooks():
        assert pull(V)[0].tolist() == [0.5, 2.0, 8.0]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("function", "forward", "backward"),
    [
        (lambda x: torch.sqrt(torch.relu(x)), math.nan, 0.0),
        (lambda x: torch.sqrt(torch.where(x > 0, x, torch.zeros_like(x))), math.nan, 0.0),
        (lambda x: torch.sqrt(torch.floor(x)), math.nan, 0.0),
        pytest.param(lambda x: torch.sqrt(torch.clamp(x, 0, 1)), math.nan, 0.0, marks=since("2.14")),
        (lambda x: torch.sqrt(torch.maximum(x, torch.zeros_like(x))), math.inf, math.inf),
        (lambda x: torch.sqrt(torch.abs(x)), math.nan, math.nan),
        (lambda x: torch.stack([x, x]).norm(), 0.0, 0.0),
    ],
)
def test_forward_and_reverse_mode_at_a_kink(function: Callable[..., Any], forward: float, backward: float) -> None:
    """A cotangent of a branch that is not selected stays 0; a tangent of 0 is a number, and 0 times inf is nan."""
    x = const(0.0)
    for transform, expected in ((func.jacfwd, forward), (func.jacrev, backward)):
        found = float(transform(function)(x))
        assert found == expected or (math.isnan(found) and math.isnan(expected))
