"""Derivatives of derivatives, checks by finite differences, and the functional interface."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from tests.behaviour import const, leaf, quiet, shape, torch

gradcheck: Any = torch.autograd.gradcheck
gradgradcheck: Any = torch.autograd.gradgradcheck
functional: Any = torch.autograd.functional


def numbers(nested: Any) -> Any:
    """Tensors in tuples as plain numbers in lists."""
    return [numbers(n) for n in nested] if isinstance(nested, tuple) else nested.tolist()


# Double backward


@pytest.mark.parametrize(
    ("function", "at", "expected"),
    [
        (torch.exp, 0.0, 1.0),
        (torch.log, 2.0, -0.25),
        (torch.sin, 0.5, -math.sin(0.5)),
        (torch.cos, 0.5, -math.cos(0.5)),
        (torch.tanh, 0.5, -2 * math.tanh(0.5) * (1 - math.tanh(0.5) ** 2)),
        (torch.sigmoid, 0.0, 0.0),
        (torch.sqrt, 4.0, -1 / 32),
        (torch.reciprocal, 2.0, 0.25),
        (lambda x: x**4, 2.0, 48.0),
        (lambda x: x * x * x, 2.0, 12.0),
        (lambda x: 1 / x, 2.0, 0.25),
        (lambda x: x / (x + 1), 1.0, -0.25),
        (lambda x: 2.0**x, 0.0, math.log(2) ** 2),
        (lambda x: x**x, 1.0, 2.0),
        (torch.relu, 2.0, 0.0),
        (torch.abs, -2.0, 0.0),
        (torch.atan, 1.0, -0.5),
    ],
    ids=range(17),
)
def test_second_derivatives(function: Callable[[Any], Any], at: float, expected: float) -> None:
    x = leaf(at)
    (first,) = torch.autograd.grad(function(x), x, create_graph=True)
    if not first.requires_grad:  # abs: its slope is a constant
        assert expected == 0.0
        return
    (second,) = torch.autograd.grad(first, x, allow_unused=True, materialize_grads=True)
    assert second.item() == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_third_derivative_by_backward() -> None:
    x = leaf(2.0)
    (first,) = torch.autograd.grad(x**4, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x, create_graph=True)
    second.backward()
    assert x.grad.item() == 48.0


def test_the_tenth_derivative_of_a_sine() -> None:
    x = leaf(0.5)
    value = torch.sin(x)
    for _ in range(10):
        (value,) = torch.autograd.grad(value, x, create_graph=True)
    assert value.item() == pytest.approx(-math.sin(0.5))


def test_a_penalty_on_a_gradient() -> None:
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = (w * x * x).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (g**2).sum().backward()
    assert w.grad.tolist() == [24.0, 128.0]
    assert x.grad.tolist() == [72.0, 256.0]


def test_a_gradient_step_that_is_differentiated() -> None:
    """An inner step of gradient descent, as in meta-learning."""
    w, rate = leaf(3.0), leaf(0.1)
    (g,) = torch.autograd.grad(w**2, w, create_graph=True)
    moved = w - rate * g
    (moved**2).backward()
    assert w.grad.item() == pytest.approx(2 * 2.4 * 0.8)
    assert rate.grad.item() == pytest.approx(-2 * 2.4 * 6)


def test_a_hessian_by_rows() -> None:
    x = leaf([1.0, 2.0])
    y = x[0] ** 2 * x[1] ** 3
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    rows = [torch.autograd.grad(g[i], x, retain_graph=True)[0].tolist() for i in range(2)]
    assert rows == [[16.0, 24.0], [24.0, 12.0]]


def test_a_hessian_vector_product() -> None:
    x, v = leaf([1.0, 2.0]), const([1.0, -1.0])
    (g,) = torch.autograd.grad((x**3).sum() + x[0] * x[1], x, create_graph=True)
    (product,) = torch.autograd.grad(g, x, v)
    assert product.tolist() == [5.0, -11.0]


def test_a_forward_derivative_by_two_sweeps() -> None:
    x, u = leaf([1.0, 2.0]), leaf([0.0, 0.0])
    y = x * x
    (g,) = torch.autograd.grad(y, x, u, create_graph=True)
    (tangent,) = torch.autograd.grad(g, u, const([1.0, 10.0]))
    assert tangent.tolist() == [2.0, 40.0]


def test_second_derivatives_through_broadcasting_and_reductions() -> None:
    x, w = leaf([[1.0], [2.0]]), leaf([3.0, 4.0])
    y = ((x * w) ** 2).mean()
    (g,) = torch.autograd.grad(y, w, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert h.tolist() == [[7.0], [14.0]]


def test_second_derivatives_through_matrices() -> None:
    assert gradgradcheck(lambda a, b: a @ b, (leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([[0.5, 1.0], [2.0, -1.0]])))


def test_double_backward_of_a_linear_function_has_no_graph() -> None:
    x = leaf(2.0)
    (g,) = torch.autograd.grad(x * 3, x, create_graph=True)
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        g.backward()


def test_create_graph_without_use_does_not_change_numbers() -> None:
    x = leaf([0.3, 0.7])
    y = (torch.sin(x) * torch.exp(x)).sum()
    (a,) = torch.autograd.grad(y, x, create_graph=True)
    (b,) = torch.autograd.grad(y, x)
    assert a.tolist() == b.tolist()


def test_double_backward_frees_the_second_graph() -> None:
    x = leaf(2.0)
    (g,) = torch.autograd.grad(x**3, x, create_graph=True)
    g.backward()
    with pytest.raises(RuntimeError, match="second time"):
        g.backward()


def test_double_backward_through_a_freed_first_graph() -> None:
    x = leaf(2.0)
    y = x**3
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    y.backward()
    assert x.grad.item() == 12.0
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    assert g.item() == 12.0


# gradcheck


def test_gradcheck_accepts_what_is_right() -> None:
    assert gradcheck(torch.sin, leaf([0.5, 1.0])) is True
    assert gradcheck(lambda a, b: a * b, (leaf([0.5, 1.0]), leaf(2.0))) is True


class Wrong(torch.autograd.Function):  # type: ignore[name-defined,misc]
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 3


def test_gradcheck_refuses_what_is_wrong() -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(Wrong.apply, x)


def test_gradcheck_without_exceptions() -> None:
    assert gradcheck(Wrong.apply, leaf([1.0, 2.0]), raise_exception=False) is False


def test_gradcheck_needs_an_input_that_requires_grad() -> None:
    with pytest.raises(ValueError, match="gradcheck expects at least one input tensor to require gradient"):
        gradcheck(torch.sin, const([1.0]))


def test_gradcheck_takes_other_arguments() -> None:
    assert gradcheck(lambda x, n, s: x**n if s == "power" else x, (leaf([1.0, 2.0]), 3, "power"))


def test_gradcheck_with_constants_among_the_inputs() -> None:
    assert gradcheck(lambda a, b: a * b, (leaf([1.0, 2.0]), const([3.0, 4.0])))


def test_gradcheck_of_several_outputs() -> None:
    assert gradcheck(lambda a, b: (a + b, a * b), (leaf([1.0, 2.0]), leaf([3.0, 4.0])))


def test_gradcheck_of_an_output_that_depends_on_nothing() -> None:
    assert gradcheck(lambda x: (x * 2, torch.ones(1, dtype=torch.float64)), leaf([1.0, 2.0]))


def test_gradcheck_warns_of_single_precision() -> None:
    x = torch.tensor([1.0], dtype=torch.float32, requires_grad=True)
    with pytest.warns(UserWarning, match="double precision floating point"):
        gradcheck(lambda v: v * 2, x, eps=1e-2, atol=1e-2)


def test_gradcheck_tolerances() -> None:
    class Nearly(torch.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2.01

    x = leaf([1.0])
    assert not gradcheck(Nearly.apply, x, raise_exception=False)
    assert gradcheck(Nearly.apply, x, atol=0.1)
    assert gradcheck(Nearly.apply, x, rtol=0.1)
    assert not gradcheck(Nearly.apply, (x,), eps=1e-6, atol=0.0, rtol=1e-3, raise_exception=False)


def test_gradcheck_notices_what_is_not_deterministic() -> None:
    class Wavering(torch.autograd.Function):  # type: ignore[name-defined,misc]
        calls = 0

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            Wavering.calls += 1
            return g * (2 + 1e-9 * Wavering.calls)

    x = leaf([1.0])
    with pytest.raises(RuntimeError, match="Backward is not reentrant"):
        gradcheck(Wavering.apply, x)
    assert gradcheck(Wavering.apply, x, nondet_tol=1e-5)


def test_gradcheck_leaves_inputs_alone() -> None:
    x = leaf([1.0, 2.0])
    gradcheck(torch.sin, x)
    assert x.tolist() == [1.0, 2.0]
    assert x.grad is None


def test_gradcheck_of_functions_of_views() -> None:
    assert gradcheck(lambda x: x.t()[0] * x[1], leaf([[1.0, 2.0], [3.0, 4.0]]))


def test_gradcheck_in_fast_mode() -> None:
    assert gradcheck(torch.sin, leaf([0.5, 1.0]), fast_mode=True)
    assert not gradcheck(Wrong.apply, leaf([0.5, 1.0]), fast_mode=True, raise_exception=False)


def test_gradcheck_takes_its_other_options() -> None:
    assert gradcheck(torch.sin, leaf([0.5, 1.0]), check_undefined_grad=False, check_batched_grad=False)
    assert gradcheck(torch.sin, leaf([0.5, 1.0]), check_backward_ad=True, check_grad_dtypes=True)


def test_gradgradcheck() -> None:
    assert gradgradcheck(torch.sin, leaf([0.5, 1.0])) is True
    assert gradgradcheck(lambda a, b: a * b * b, (leaf([0.5, 1.0]), leaf(2.0)))


def test_gradgradcheck_with_gradients_of_the_outputs() -> None:
    assert gradgradcheck(torch.sin, (leaf([0.5, 1.0]),), (leaf([1.0, 2.0]),))


def test_gradgradcheck_refuses_a_wrong_second_derivative() -> None:
    class OnlyFirst(torch.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 3 * (x * x.detach())

    x = leaf([1.0, 2.0])
    assert gradcheck(OnlyFirst.apply, x)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        gradgradcheck(OnlyFirst.apply, x)
    assert not gradgradcheck(OnlyFirst.apply, x, raise_exception=False)


# functional


def test_jacobian_of_a_vector() -> None:
    result = functional.jacobian(lambda x: x**2, const([1.0, 2.0]))
    assert result.tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert not result.requires_grad


def test_jacobian_shapes() -> None:
    x = torch.ones(2, 3, dtype=torch.float64)
    assert shape(functional.jacobian(lambda v: v.sum(1), x)) == [2, 2, 3]
    assert shape(functional.jacobian(lambda v: v.sum(), x)) == [2, 3]
    assert shape(functional.jacobian(lambda v: v * const(2.0), const(1.0))) == []


def test_jacobian_of_several_inputs() -> None:
    a, b = functional.jacobian(lambda x, y: x * y, (const([1.0, 2.0]), const([3.0, 4.0])))
    assert a.tolist() == [[3.0, 0.0], [0.0, 4.0]]
    assert b.tolist() == [[1.0, 0.0], [0.0, 2.0]]


def test_jacobian_of_several_outputs() -> None:
    a, b = functional.jacobian(lambda x: (x * 2, x.sum()), const([1.0, 2.0]))
    assert a.tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert b.tolist() == [1.0, 1.0]


def test_jacobian_of_several_inputs_and_outputs() -> None:
    result = functional.jacobian(lambda x, y: (x * y, x + y), (const(2.0), const(3.0)))
    assert numbers(result) == [[3.0, 2.0], [1.0, 1.0]]


def test_jacobian_of_a_tuple_of_one_is_a_tuple() -> None:
    result = functional.jacobian(lambda x: x * 2, (const(2.0),))
    assert isinstance(result, tuple)
    assert result[0].item() == 2.0


def test_jacobian_of_what_does_not_depend_is_zero() -> None:
    result = functional.jacobian(lambda x: torch.ones(2, dtype=torch.float64), const([1.0, 2.0]))
    assert result.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    a, b = functional.jacobian(lambda x, y: x * 2, (const(2.0), const(3.0)))
    assert (a.item(), b.item()) == (2.0, 0.0)


def test_jacobian_strict() -> None:
    with pytest.raises(RuntimeError, match="Output 0 of the user-provided function does not require gradients"):
        functional.jacobian(lambda x: torch.ones(2, dtype=torch.float64), const([1.0, 2.0]), strict=True)
    with pytest.raises(RuntimeError, match="Output 0 of the user-provided function is independent of input 1"):
        functional.jacobian(lambda x, y: x * 2, (const(2.0), const(3.0)), strict=True)


def test_jacobian_with_create_graph() -> None:
    x = leaf([1.0, 2.0])
    result = functional.jacobian(lambda v: v**3, x, create_graph=True)
    assert result.requires_grad
    result.sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]


def test_jacobian_vectorized() -> None:
    result = functional.jacobian(lambda x: x**2, const([1.0, 2.0]), vectorize=True)
    assert result.tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_jacobian_leaves_inputs_alone() -> None:
    x = leaf([1.0, 2.0])
    functional.jacobian(lambda v: v**2, x)
    assert x.grad is None
    assert x.requires_grad


def test_functional_refuses_what_is_no_tensor() -> None:
    with pytest.raises(TypeError, match="must be either a Tensor or a tuple of Tensors"):
        functional.jacobian(lambda x: x, 3.0)
    with pytest.raises(TypeError, match="must be either a Tensor or a tuple of Tensors"):
        functional.jacobian(lambda x: 3.0, const(1.0))


def test_hessian_of_a_vector() -> None:
    assert functional.hessian(lambda x: (x**3).sum(), const([1.0, 2.0])).tolist() == [[6.0, 0.0], [0.0, 12.0]]


def test_hessian_of_several_inputs() -> None:
    result = functional.hessian(lambda x, y: x * x * y, (const(2.0), const(3.0)))
    assert numbers(result) == [[6.0, 4.0], [4.0, 0.0]]


def test_hessian_of_a_linear_function_is_zero() -> None:
    assert functional.hessian(lambda x: x.sum(), const([1.0, 2.0])).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_hessian_needs_one_number() -> None:
    with pytest.raises(RuntimeError, match="The Tensor returned by the function given to hessian should contain a single element"):
        functional.hessian(lambda x: x * 2, const([1.0, 2.0]))
    with pytest.raises(RuntimeError, match="The function given to hessian should return a single Tensor"):
        functional.hessian(lambda x: (x.sum(), x.sum()), const([1.0, 2.0]))


def test_hessian_with_create_graph() -> None:
    x = leaf([1.0, 2.0])
    functional.hessian(lambda v: (v**4).sum(), x, create_graph=True).sum().backward()
    assert x.grad.tolist() == [24.0, 48.0]


def test_hessian_strict() -> None:
    with pytest.raises(RuntimeError, match="independent of"):
        functional.hessian(lambda x: x.sum(), const([1.0, 2.0]), strict=True)


def test_vjp() -> None:
    output, product = functional.vjp(lambda x: x**2, const([1.0, 2.0]), const([1.0, 10.0]))
    assert output.tolist() == [1.0, 4.0]
    assert product.tolist() == [2.0, 40.0]
    assert not product.requires_grad


def test_vjp_of_a_number_needs_no_vector() -> None:
    output, product = functional.vjp(lambda x: (x**2).sum(), const([1.0, 2.0]))
    assert (output.item(), product.tolist()) == (5.0, [2.0, 4.0])


def test_vjp_of_several() -> None:
    output, product = functional.vjp(lambda x, y: (x * y, x + y), (const(2.0), const(3.0)), (const(1.0), const(10.0)))
    assert numbers(output) == [6.0, 5.0]
    assert numbers(product) == [13.0, 12.0]


def test_vjp_with_a_wrong_vector() -> None:
    with pytest.raises(RuntimeError, match="The vector v can only be None if the user-provided function returns"):
        functional.vjp(lambda x: x * 2, const([1.0, 2.0]))
    with pytest.raises(RuntimeError, match="v has invalid size"):
        functional.vjp(lambda x: x * 2, const([1.0, 2.0]), const([1.0, 2.0, 3.0]))


def test_vjp_with_create_graph() -> None:
    x = leaf([1.0, 2.0])
    _, product = functional.vjp(lambda v: v**3, x, const([1.0, 1.0]), create_graph=True)
    product.sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]


def test_vjp_strict() -> None:
    with pytest.raises(RuntimeError, match="input 1"):
        functional.vjp(lambda x, y: x * 2, (const(2.0), const(3.0)), const(1.0), strict=True)


def test_jvp() -> None:
    output, product = functional.jvp(lambda x: x**2, const([1.0, 2.0]), const([1.0, 10.0]))
    assert output.tolist() == [1.0, 4.0]
    assert product.tolist() == [2.0, 40.0]


def test_jvp_of_several() -> None:
    output, product = functional.jvp(lambda x, y: (x * y, x + y), (const(2.0), const(3.0)), (const(1.0), const(10.0)))
    assert numbers(output) == [6.0, 5.0]
    assert numbers(product) == [23.0, 11.0]


def test_jvp_of_a_number_needs_no_vector() -> None:
    _, product = functional.jvp(lambda x: x**3, const(2.0))
    assert product.item() == 12.0


def test_jvp_with_a_wrong_vector() -> None:
    with pytest.raises(RuntimeError, match="The vector v can only be None if the input to the user-provided function"):
        functional.jvp(lambda x: x * 2, const([1.0, 2.0]))


def test_jvp_of_a_linear_function() -> None:
    _, product = functional.jvp(lambda x: x * 3, const([1.0, 2.0]), const([1.0, 2.0]))
    assert product.tolist() == [3.0, 6.0]


def test_hvp_and_vhp() -> None:
    for product in (functional.hvp, functional.vhp):
        output, result = product(lambda x: (x**3).sum() + x[0] * x[1], const([1.0, 2.0]), const([1.0, 10.0]))
        assert output.item() == 11.0
        assert result.tolist() == [16.0, 121.0]


def test_hvp_and_vhp_of_several() -> None:
    for product in (functional.hvp, functional.vhp):
        _, result = product(lambda x, y: x * x * y, (const(2.0), const(3.0)), (const(1.0), const(10.0)))
        assert numbers(result) == [46.0, 4.0]


def test_hvp_and_vhp_of_a_linear_function() -> None:
    for product in (functional.hvp, functional.vhp):
        _, result = product(lambda x: (x * 3).sum(), const([1.0, 2.0]), const([1.0, 2.0]))
        assert result.tolist() == [0.0, 0.0]


def test_hvp_needs_one_number() -> None:
    with pytest.raises(RuntimeError, match="The Tensor returned by the function given to hvp should contain a single element"):
        functional.hvp(lambda x: x * 2, const([1.0, 2.0]), const([1.0, 2.0]))


def test_functional_under_no_grad() -> None:
    with torch.no_grad():
        assert functional.jacobian(lambda x: x**2, const(3.0)).item() == 6.0
        assert functional.hessian(lambda x: x**3, const(1.0)).item() == 6.0


def test_functional_with_functions_of_other_leaves() -> None:
    w = leaf(3.0)
    result = functional.jacobian(lambda x: x * w, const([1.0, 2.0]), create_graph=True)
    result.sum().backward()
    assert w.grad.item() == 2.0


# Programs


def test_newtons_method() -> None:
    x = leaf(1.0)
    for _ in range(6):
        value = x**2 - 2
        (g,) = torch.autograd.grad(value, x)
        with torch.no_grad():
            x -= value / g
    assert x.item() == pytest.approx(math.sqrt(2), rel=1e-15)


def test_gradient_descent() -> None:
    w, b = leaf(0.0), leaf(0.0)
    xs = const([0.0, 1.0, 2.0, 3.0])
    ys = const([1.0, 3.0, 5.0, 7.0])
    for _ in range(500):
        loss = ((w * xs + b - ys) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            b -= 0.1 * b.grad
            w.grad.zero_()
            b.grad.zero_()
    assert w.item() == pytest.approx(2.0, abs=1e-6)
    assert b.item() == pytest.approx(1.0, abs=1e-6)


def test_a_small_network() -> None:
    torch.manual_seed(0)
    first = leaf([[0.5, -0.3, 0.8], [0.1, 0.7, -0.6]])
    second = leaf([[0.4], [-0.2], [0.9]])
    inputs = const([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    target = const([[0.0], [1.0], [1.0], [2.0]])
    losses = []
    for _ in range(200):
        loss = ((torch.tanh(inputs @ first) @ second - target) ** 2).sum()
        losses.append(loss.item())
        gradients = torch.autograd.grad(loss, (first, second))
        with torch.no_grad():
            for parameter, gradient in zip((first, second), gradients, strict=True):
                parameter.sub_(0.05 * gradient)
    assert losses[-1] < 0.01 * losses[0]


def test_backward_through_time() -> None:
    w = leaf(0.9)
    state = const(1.0)
    for _ in range(50):
        state = torch.tanh(w * state)
    with quiet():
        state.backward()
    assert math.isfinite(w.grad.item())
    assert w.grad.item() > 0


@pytest.mark.parametrize("values", [[1e4, 0.5, 0.2], [1e4, 1e4, 0.3], [0.5, 0.2, 1e4], [1.0, 2.0, 3.0]])
def test_second_derivatives_of_a_running_logsumexp_of_large_values(values: list[float]) -> None:
    x = leaf(values)
    (first,) = torch.autograd.grad(torch.logcumsumexp(x, 0), x, const([0.3, -0.4, 0.7]), create_graph=True)
    (second,) = torch.autograd.grad(first, x, const([1.0, 2.0, -1.0]))
    weights = [[math.exp(v - max(values[: k + 1])) if j <= k else 0.0 for j, v in enumerate(values)] for k in range(3)]
    expected = [0.0, 0.0, 0.0]
    for weight, row in zip([0.3, -0.4, 0.7], weights, strict=True):
        shares = [w / math.fsum(row) for w in row]
        mean = math.fsum(s * u for s, u in zip(shares, [1.0, 2.0, -1.0], strict=True))
        expected = [e + weight * s * (u - mean) for e, s, u in zip(expected, shares, [1.0, 2.0, -1.0], strict=True)]
    assert second.tolist() == pytest.approx(expected, rel=1e-9, abs=1e-9)
