"""Jacobians, Hessians and their products, compared with NumPy's linear algebra on the whole matrices."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.autograd import functional
from autodiff_cli.errors import GraphError, ShapeError

A = np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]])
X = ad.tensor([0.3, -0.7, 1.1])


def _quadratic(x: ad.Tensor) -> ad.Tensor:
    return ad.dot(x, x * ad.tensor([1.0, 2.0, 3.0])) + x[0] * x[1]


HESSIAN = np.array([[2.0, 1.0, 0.0], [1.0, 4.0, 0.0], [0.0, 0.0, 6.0]])


def test_jacobian_of_a_linear_map_is_its_matrix() -> None:
    matrix = ad.tensor(A)
    assert np.array_equal(functional.jacobian(lambda x: matrix @ x, X).numpy(), A)


def test_jacobian_of_shapes_and_several_inputs_and_outputs() -> None:
    x, y = ad.tensor([[1.0, 2.0], [3.0, 4.0]]), ad.tensor([5.0, 6.0])
    (dx, dy), (ex, ey) = functional.jacobian(lambda a, b: (a * b, b.sum()), (x, y))
    assert (dx.shape, dy.shape, ex.shape, ey.shape) == ((2, 2, 2, 2), (2, 2, 2), (2, 2), (2,))
    assert np.array_equal(dx.numpy(), np.einsum("ik,jl,j->ijkl", np.eye(2), np.eye(2), [5.0, 6.0]))
    assert np.array_equal(dy.numpy(), np.einsum("ij,jk->ijk", x.numpy(), np.eye(2)))
    assert np.array_equal(ex.numpy(), np.zeros((2, 2)))
    assert np.array_equal(ey.numpy(), np.ones(2))


def test_hessian() -> None:
    assert np.allclose(functional.hessian(_quadratic, X).numpy(), HESSIAN, atol=1e-14)
    x, y = ad.tensor(2.0), ad.tensor(3.0)
    rows = functional.hessian(lambda a, b: a**2 * b, (x, y))
    assert [[e.item() for e in row] for row in rows] == [[6.0, 4.0], [4.0, 0.0]]


def test_mixed_derivatives_by_two_vectors_in_both_orders() -> None:
    """By y, then x, is the transpose of by x, then y: neither a copy of it, nor its numbers in another shape."""
    weights = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    found = ad.evaluate("x @ w @ y", {"x": [1.0, -1.0], "y": [2.0, 0.5, 3.0]}, {"w": weights}, order=2).hessian
    assert np.array_equal(found["x"]["y"], weights)
    assert np.array_equal(found["y"]["x"], weights.T)


def test_the_hessian_of_empty_vectors_is_an_empty_matrix() -> None:
    found = ad.evaluate("sum(x**2)*sum(y**3)", {"x": [], "y": [1.0, 2.0]}, order=2).hessian
    assert found["x"]["x"].shape == (0, 0)
    assert found["x"]["y"].shape == (0, 2)
    assert found["y"]["x"].shape == (2, 0)


def test_products_are_those_of_the_matrices() -> None:
    matrix, v, u = ad.tensor(A), ad.tensor([1.0, -2.0, 0.5]), ad.tensor([2.0, -1.0])

    def function(x: ad.Tensor) -> ad.Tensor:
        return ad.sin(matrix @ x)

    jacobian = functional.jacobian(function, X).numpy()
    value, forward = functional.jvp(function, X, v)
    assert np.allclose(value.numpy(), np.sin(A @ X.numpy()))
    assert np.allclose(forward.numpy(), jacobian @ v.numpy(), rtol=1e-14)
    assert np.allclose(functional.vjp(function, X, u)[1].numpy(), u.numpy() @ jacobian, rtol=1e-14)
    for product in (functional.hvp, functional.vhp):
        assert np.allclose(product(_quadratic, X, v)[1].numpy(), HESSIAN @ v.numpy(), rtol=1e-14)


def test_the_vector_left_out_is_1_where_the_value_is_infinite() -> None:
    assert functional.vjp(ad.log, ad.tensor(0.0))[1].item() == np.inf
    assert functional.jvp(ad.log, ad.tensor(np.inf))[1].item() == 0.0


def test_errors() -> None:
    with pytest.raises(ShapeError, match="should contain a single element"):
        functional.hessian(lambda x: x * 2, X)
    with pytest.raises(ShapeError, match="v has invalid size: should be"):
        functional.vjp(lambda x: x * 2, X, ad.ones(2))
    with pytest.raises(ShapeError, match="can only be None"):
        functional.jvp(lambda x: x * 2, X)
    with pytest.raises(GraphError, match="strict mode"):
        functional.jacobian(lambda x: ad.ones(2), X, strict=True)


def test_a_product_with_ten_thousand_variables_builds_no_matrix() -> None:
    x = ad.tensor(np.linspace(0, 1, 10_000))
    v = ad.ones(10_000)
    _, product = functional.hvp(lambda a: (a**4).sum() + (a[1:] * a[:-1]).sum(), x, v)
    expected = 12 * x.numpy() ** 2
    expected[1:] += 1
    expected[:-1] += 1
    assert np.allclose(product.numpy(), expected, rtol=1e-12)
