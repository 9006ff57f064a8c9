"""Products, Jacobians and Hessians of ``torch.autograd.functional``: strict mode, vectors, and ways to compute them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.behaviour import const, leaf, torch

functional: Any = torch.autograd.functional
X = const([1.0, 2.0, 3.0])
ONES = const([1.0, 1.0, 1.0])
PRODUCTS = [functional.vjp, functional.jvp, functional.hvp, functional.vhp]
NAMES = ["vjp", "jvp", "hvp", "vhp"]
EACH = pytest.mark.parametrize("product", PRODUCTS, ids=NAMES)
SCALAR = (functional.hvp, functional.vhp)


def of(product: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, or the sum of its elements for a product that needs one number."""
    return (lambda *args: function(*args).sum()) if product in SCALAR else function


def refused(words: str) -> Any:
    return pytest.raises((RuntimeError, TypeError), match=words)


@EACH
def test_arguments_that_are_not_tensors(product: Any) -> None:
    name = NAMES[PRODUCTS.index(product)]
    with refused(f"The inputs given to {name} must be either a Tensor or a tuple of Tensors but the value at index 1 has type"):
        product(of(product, torch.exp), (X, 2), (ONES, ONES))
    with refused(f"The inputs given to {name} must be either a Tensor or a tuple of Tensors but the given inputs has type"):
        product(of(product, torch.exp), 2, ONES)
    with refused(f"The outputs of the user-provided function given to {name} must be either a Tensor or a tuple of Tensors"):
        product(lambda x: (x.sum(), "b"), X, ONES)


@EACH
def test_vectors_that_do_not_fit(product: Any) -> None:
    of_two = (X, X) if product is not functional.vjp else X
    with refused("The vector v can only be None if the"):
        product(of(product, torch.exp), X)
    with refused("The given v should contain a single Tensor."):
        product(of(product, torch.exp), X, (ONES, ONES))
    with refused(r"v has invalid size: should be torch.Size\(\[3\]\) but got torch.Size\(\[2\]\)."):
        product(of(product, torch.exp), X, const([1.0, 1.0]))
    if of_two is not X:
        with refused("v is a tuple of invalid length: should be 2 but got 1."):
            product(of(product, torch.mul), of_two, (ONES,))
        with refused(r"Entry 1 in v has invalid size: should be torch.Size\(\[3\]\) but got torch.Size\(\[2\]\)."):
            product(of(product, torch.mul), of_two, (ONES, const([1.0, 1.0])))


@EACH
def test_functions_that_are_independent_of_their_inputs(product: Any) -> None:
    for constant in (lambda x: ONES, lambda x: x.detach()):
        with refused("Output 0 of the user-provided function does not require gradients."):
            product(of(product, constant), X, ONES, strict=True)
        assert product(of(product, constant), X, ONES)[1].tolist() == [0.0, 0.0, 0.0]
    vector = (ONES, ONES) if product is not functional.vjp else ONES
    with refused("utput.* of the user-provided function is independent of input 1. This is not allowed in strict mode."):
        product(of(product, lambda a, b: a**2), (X, X), vector, strict=True)


@pytest.mark.parametrize("product", SCALAR, ids=["hvp", "vhp"])
def test_second_derivatives_of_linear_functions(product: Any) -> None:
    with refused("jacobian of the user-provided function with respect to input 0 is independent of the input"):
        product(lambda x: (2 * x).sum(), X, ONES, strict=True)
    assert product(lambda x: (2 * x).sum(), X, ONES)[1].tolist() == [0.0, 0.0, 0.0]
    with refused("The function given to .* should return a single Tensor"):
        product(lambda x: (x.sum(), x.sum()), X, ONES)
    with refused("The Tensor returned by the function given to .* should contain a single element"):
        product(lambda x: x, X, ONES)


@EACH
def test_strict_recorded_products(product: Any) -> None:
    x = leaf([1.0, 2.0, 3.0])
    found = product(of(product, lambda a: a**3), x, ONES, strict=True, create_graph=True)[1]
    assert found.requires_grad
    found.sum().backward()
    assert x.grad.tolist() == ([6.0, 6.0, 6.0] if product in SCALAR else [6.0, 12.0, 18.0])


@EACH
def test_products_are_not_recorded_unless_requested(product: Any) -> None:
    output, found = product(of(product, lambda a: a**3), leaf([1.0, 2.0, 3.0]), ONES)
    assert not output.requires_grad
    assert not found.requires_grad


def test_strict_jacobians() -> None:
    with refused("Output 0 of the user-provided function does not require gradients."):
        functional.jacobian(lambda x: ONES, X, strict=True)
    with refused("Output 0 of the user-provided function is independent of input 1."):
        functional.jacobian(lambda a, b: a**2, (X, X), strict=True)


def test_strict_hessians() -> None:
    with refused("Output 0 of the user-provided function does not require gradients."):
        functional.hessian(lambda x: ONES.sum(), X, strict=True)
    with refused("jacobian of the user-provided function with respect to input 0 is independent of the input."):
        functional.hessian(lambda x: (2 * x).sum(), X, strict=True)
    with refused("of the user-provided function .*independent of .*input"):
        functional.hessian(lambda a, b: (a**2).sum(), (X, X), strict=True)
    with refused("The inputs given to hessian must be either a Tensor or a tuple of Tensors"):
        functional.hessian(lambda a: a, (X, 2))
    with refused("The function given to hessian should return a single Tensor"):
        functional.hessian(lambda a: (a.sum(), a.sum()), X)
    with refused("The Tensor returned by the function given to hessian should contain a single element"):
        functional.hessian(lambda a: a, X)


WAYS = [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}]


@pytest.mark.parametrize("way", WAYS, ids=range(3))
def test_jacobian_in_each_way(way: dict[str, Any]) -> None:
    assert torch.allclose(functional.jacobian(lambda x: x**3, X, **way), torch.diag(3 * X**2))
    rows = functional.jacobian(lambda a, b: (a**2 * b, a.sum()), (X, ONES), **way)
    assert torch.allclose(rows[0][0], torch.diag(2 * X))
    assert torch.allclose(rows[0][1], torch.diag(X**2))
    assert torch.allclose(rows[1][0], ONES)
    assert torch.allclose(rows[1][1], 0 * ONES)
    assert functional.jacobian(lambda x: ONES, X, **way).tolist() == [[0.0] * 3] * 3


@pytest.mark.parametrize("way", WAYS, ids=range(3))
def test_hessian_in_each_way(way: dict[str, Any]) -> None:
    options = {"outer_jacobian_strategy" if key == "strategy" else key: value for key, value in way.items()}
    assert torch.allclose(functional.hessian(lambda x: (x**3).sum(), X, **options), torch.diag(6 * X))
    rows = functional.hessian(lambda a, b: (a**3 * b**2).sum(), (X, ONES), **options)
    assert torch.allclose(rows[0][0], torch.diag(6 * X))
    assert torch.allclose(rows[0][1], torch.diag(6 * X**2))
    assert torch.allclose(rows[1][1], torch.diag(2 * X**3))
    assert torch.allclose(functional.hessian(lambda x: ONES.sum(), X, **options), torch.zeros(3, 3, dtype=torch.float64))


def test_recorded_jacobian_in_one_pass() -> None:
    x = leaf([1.0, 2.0])
    functional.jacobian(lambda a: a**3, x, create_graph=True, vectorize=True).sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]


def test_an_unknown_strategy_fails_an_assertion() -> None:
    x = const([1.0])
    with pytest.raises(AssertionError, match='Expected strategy to be either "forward-mode" or "reverse-mode"'):
        torch.autograd.functional.jacobian(lambda x: x, x, strategy="other")
    with pytest.raises(AssertionError, match='Expected strategy to be either "forward-mode" or "reverse-mode"'):
        torch.autograd.functional.hessian(lambda x: x.sum(), x, outer_jacobian_strategy="other")
