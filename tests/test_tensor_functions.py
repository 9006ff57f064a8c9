"""Reductions, positions and linear algebra: compared with NumPy and definitions, at kinks, and in their errors."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.autograd.primitives.argument_kinds import bind
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.derivatives.evaluate import evaluate
from autodiff_cli.errors import AutodiffError, LimitError
from autodiff_cli.evaluation.evaluation import Evaluation
from tests.shell import run

RNG = np.random.default_rng(0)


def _leaf(values: Any) -> Any:
    return ad.tensor(np.array(values, dtype=float), requires_grad=True)


def _hessian(function: Any, values: Any) -> Any:
    x = _leaf(values)
    (first,) = ad.autograd.grad(function(x), x, create_graph=True)
    rows = []
    for i in range(x.numel()):
        (row,) = ad.autograd.grad(first.reshape(-1)[i], x, retain_graph=True, allow_unused=True)
        rows.append(np.zeros(x.numel()) if row is None else row.numpy().reshape(-1))
    return np.array(rows)


@pytest.mark.parametrize("values", [[2.0, 3.0, 5.0], [0.0, 3.0, 5.0], [0.0, 0.0, 5.0], [0.0, 0.0, 0.0]], ids=str)
def test_second_derivatives_of_a_product_are_products_of_the_rest(values: list[float]) -> None:
    found = _hessian(lambda x: x.prod(), values)
    for i, j in itertools.product(range(3), repeat=2):
        rest = [v for k, v in enumerate(values) if k not in (i, j)]
        assert found[i, j] == (0.0 if i == j else math.prod(rest))
    assert np.array_equal(found, _hessian(lambda x: ad.cumprod(x, 0)[2], values))
    assert np.array_equal(found, _hessian(lambda x: x.prod(dim=0), values))


def _minor(x: Any, rows: tuple[int, ...], columns: tuple[int, ...]) -> float:
    return float(np.linalg.det(np.delete(np.delete(x, rows, 0), columns, 1)))


@pytest.mark.parametrize("x", [np.ones((3, 3)), np.zeros((3, 3)), np.arange(9.0).reshape(3, 3), RNG.standard_normal((3, 3))])
def test_derivatives_of_a_determinant_are_minors(x: Any) -> None:
    leaf = _leaf(x)
    (first,) = ad.autograd.grad(ad.det(leaf), leaf)
    for i, j in itertools.product(range(3), repeat=2):
        assert math.isclose(first[i, j].item(), (-1) ** (i + j) * _minor(x, (i,), (j,)), abs_tol=1e-12)
    second = _hessian(ad.det, x).reshape(3, 3, 3, 3)
    for i, j, k, m in itertools.product(range(3), repeat=4):
        expected = 0.0
        if i != k and j != m:
            sign = (-1) ** (i + j + (k - (k > i)) + (m - (m > j)))
            expected = sign * _minor(x, (i, k), (j, m))
        assert math.isclose(second[i, j, k, m], expected, abs_tol=1e-12)


def test_norms_neither_overflow_nor_vanish() -> None:
    x = _leaf([3e200, 4e200])
    (slope,) = ad.autograd.grad(x.norm(), x)
    assert math.isclose(x.norm().item(), 5e200, rel_tol=1e-15)
    assert slope.tolist() == pytest.approx([0.6, 0.8])
    assert math.isclose(ad.norm(_leaf([3e-200, 4e-200]), 3).item(), 91 ** (1 / 3) * 1e-200, rel_tol=1e-14)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, math.inf, -math.inf, 0])
def test_norms_of_zeros_have_finite_slopes_at_two_orders(p: float) -> None:
    x = _leaf([0.0, 0.0])
    (first,) = ad.autograd.grad(x.norm(p), x, create_graph=True)
    assert first.tolist() == [0.0, 0.0]
    if p in (1, 2, 3):
        assert np.all(np.isfinite(_hessian(lambda v: v.norm(p), [0.0, 0.0])))


def test_running_logsumexp_spans_two_thousand_orders_of_magnitude() -> None:
    x = _leaf([-1000.0, 0.0, 1000.0])
    y = ad.logcumsumexp(x, 0)
    assert y.tolist() == [-1000.0, 0.0, 1000.0]
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_logsumexp_of_nothing_but_minus_infinity() -> None:
    x = _leaf([-math.inf, -math.inf])
    (slope,) = ad.autograd.grad(ad.logsumexp(x), x)
    assert slope.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: ad.sort(x, 0, True).values,
        lambda x: ad.topk(x, 2, 1).values,
        lambda x: ad.cummax(x, 1).values,
        lambda x: ad.median(x, 0).values,
        lambda x: ad.kthvalue(x, 2, 1, True).values,
        lambda x: x.max(1, True).values,
        lambda x: ad.norm(x, 3, 1),
        lambda x: ad.std(x, 0),
        lambda x: ad.logsumexp(x, (0, 1)),
        lambda x: ad.prod(x, 1, True),
        lambda x: ad.einsum("ij,kj->ik", x, x),
        lambda x: ad.det(x @ x.T),
        lambda x: ad.linalg.svdvals(x),
        lambda x: ad.pinv(x),
        lambda x: ad.tril(x).flip(0).roll(1, 1),
    ],
)
def test_single_precision_is_kept(function: Any) -> None:
    x = ad.tensor([[1.0, 5.0, 2.0], [7.0, 3.0, 4.5]], dtype=ad.float32, requires_grad=True)
    y = function(x)
    assert y.dtype == ad.float32
    (slope,) = ad.autograd.grad(y.sum(), x)
    assert slope.dtype == ad.float32


def test_factors_give_the_matrix_back() -> None:
    x = RNG.standard_normal((2, 4, 3))
    u, s, vh = ad.svd(ad.tensor(x), full_matrices=False)
    assert np.allclose((u * s.unsqueeze(-2) @ vh).numpy(), x)
    q, r = ad.qr(ad.tensor(x))
    assert np.allclose((q @ r).numpy(), x)
    square = x.mT @ x
    values, vectors = ad.eigh(ad.tensor(square))
    assert np.allclose((vectors * values.unsqueeze(-2) @ vectors.mT).numpy(), square)
    lower = ad.cholesky(ad.tensor(square))
    assert np.allclose((lower @ lower.mT).numpy(), square)
    assert np.allclose((ad.pinv(ad.tensor(x)) @ ad.tensor(x)).numpy(), np.eye(3))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("inv([[1, 2], [2, 4]])", "linalg.inv: The diagonal element 2 is zero, the inversion could not be completed"),
        ("inv([[[1, 0], [0, 1]], [[0, 1], [0, 2]]])", r"linalg.inv: \(Batch element 1\): The diagonal element 1 is zero"),
        ("solve([[1, 2], [2, 4]], [1, 1])", "The solver failed because the input matrix is singular"),
        ("cholesky([[1, 2], [2, 1]])", "the leading minor of order 2 is not positive-definite"),
        ("det([1, 2])", "must have at least 2 dimensions"),
        ("inv([[1, 2, 3]])", "A must be batches of square matrices, but they are 1 by 3 matrices"),
        ("solve([[1, 2], [3, 4]], [1, 2, 3])", "Incompatible shapes of A and B"),
        ("gather([1, 2], 0, [2])", "index 2 is out of bounds for dimension 0 with size 2"),
        ("take([1, 2], [-3])", "tried to access index -3 on a tensor of 2 elements"),
        ("index_select([1, 2], 0, [0.5])", "'index' must be a tensor of positions, which are whole numbers"),
        ("amax(zeros(2, 0), dim=1)", "Expected reduction dim 1 to have non-zero size"),
        ("norm(zeros(0), inf)", "cannot compute the inf norm on an empty tensor"),
        ("cross([1, 2], [3, 4])", "no dimension of size 3 in input"),
        ("einsum('ij', [1, 2])", "does not match the number of dimensions"),
        ("einsum('i,i', [1, 2])", "fewer operands were provided"),
        ("bmm([1, 2], [[1, 2], [3, 4]])", "batch1 must be a 3D tensor, got 1D"),
        ("flip([[1, 2]], [0, 0])", "dim 0 appears multiple times"),
        ("masked_fill([1, 2], [1, 0], 0)", "'mask' must be a tensor of booleans"),
        ("meshgrid(ones(1, 2))[0]", "Expected 0D or 1D tensor"),
        ("[[1, 2]].repeat(2)", "Number of dimensions of repeat dims can not be smaller"),
        ("sort([2, 1])", "not a tuple"),
        ("matrix_norm([[1, 2]], 3)", "Order 3.* not supported"),
    ],
)
def test_errors_are_pytorchs_words(code: str, words: str) -> None:
    with pytest.raises(AutodiffError, match=words):
        evaluate(code, {})


@pytest.mark.parametrize("code", ["kron(ones(20000), ones(20000))", "einsum('i,j->ij', ones(20000), ones(20000))"])
def test_large_products_are_refused(code: str) -> None:
    with pytest.raises(LimitError):
        evaluate(code, {})


def test_a_large_contraction_with_a_small_result_is_not() -> None:
    assert evaluate("einsum('ij,ji->', ones(20000, 1), ones(1, 20000))", {}).value == 20000


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("max(x, 3)", [[3.0, 3.0], [3.0, 5.0]]),
        ("x.max(0).values", [3.0, 5.0]),
        ("max(x, dim=1)[1]", [1, 1]),
        ("a, b = sort(x, descending=true)\na", [[2.0, 1.0], [5.0, 3.0]]),
        ("einsum('ij,j->i', x, x[0])", [5.0, 13.0]),
        ("norm(x, inf, dim=1)", [2.0, 5.0]),
        ("x.prod(dim=0, keepdim=true)", [[3.0, 10.0]]),
        ("gather(x, 1, [[1], [0]])", [[2.0], [3.0]]),
        ("i = [1, 0]\nx[i]", [[3.0, 5.0], [1.0, 2.0]]),
        ("sign, value = slogdet(x)\nsign", -1.0),
        ("var(x, unbiased=false)", 2.1875),
        ("pad(x[0], [1, 0], value=7)", [7.0, 1.0, 2.0]),
    ],
)
def test_in_the_language(code: str, value: Any) -> None:
    assert np.allclose(Evaluation(code, const={"x": [[1, 2], [3, 5]]}).output.tolist(), value)


def test_the_namespace_has_pytorchs_names() -> None:
    names = "inv det slogdet solve cholesky eigh eigvalsh svd svdvals qr pinv norm vector_norm matrix_norm matrix_power"
    for name in (*names.split(), "matrix_exp", "cross", "multi_dot", "matmul", "diagonal"):
        assert callable(getattr(ad.linalg, name))
    x = _leaf([[1.0, -2.0], [3.0, 0.5]])
    assert ad.linalg.norm(x, 1).item() == 4.0
    assert ad.linalg.norm(x, 1, dim=1).tolist() == [3.0, 3.5]
    assert ad.norm(x, 1).item() == 6.5
    assert ad.linalg.multi_dot([x, x, x]).tolist() == (x @ x @ x).tolist()


def test_other_names_of_keywords_give_way_to_parameters() -> None:
    """``other`` is the second argument ``y`` of a function, unless the function calls something so itself."""
    assert list(bind("f", ("x", "y"), (), (1,), {"other": 2})) == [1, 2]
    assert list(bind("f", ("x", "y", "other"), (), (1,), {"other": 3, "y": 2})) == [1, 2, 3]
    assert evaluate("sum(expand_as(x, other=[1, 2]))", {"x": 3.0}).value == 6.0


def test_what_cross_says_of_lengths() -> None:
    with pytest.raises(AutodiffError, match=r"dimension -1 must have length 3. Got 1 and 1"):
        ad.linalg.cross(ad.tensor(1.0), ad.tensor(2.0), dim=-1)


PRODUCTS: dict[str, tuple[Any, list[tuple[int, ...]]]] = {
    "cross": (np.cross, [(3,), (3,)]),
    "dot": (np.dot, [(3,), (3,)]),
    "vdot": (np.vdot, [(3,), (3,)]),
    "outer": (np.outer, [(3,), (2,)]),
    "inner": (np.inner, [(2, 3), (4, 3)]),
    "kron": (np.kron, [(2, 3), (3, 2)]),
    "matmul": (np.matmul, [(2, 3), (3, 4)]),
    "bmm": (np.matmul, [(2, 2, 3), (2, 3, 4)]),
    "chain_matmul": (lambda a, b, c: a @ b @ c, [(2, 3), (3, 4), (4, 2)]),
    "addmm": (lambda a, b, c: a + b @ c, [(2, 4), (2, 3), (3, 4)]),
    "baddbmm": (lambda a, b, c: a + b @ c, [(2, 2, 4), (2, 2, 3), (2, 3, 4)]),
    "linear": (lambda a, b, c: a @ b.T + c, [(2, 3), (4, 3), (4,)]),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_numpys(name: str) -> None:
    truth, shapes = PRODUCTS[name]
    generator = np.random.default_rng(11)
    factors = [generator.normal(size=shape) for shape in shapes]
    found = FUNCTIONS[name].function(*map(ad.tensor, factors)).numpy()
    np.testing.assert_allclose(found, truth(*factors), rtol=1e-14, atol=1e-14)


MATRICES = np.random.default_rng(5).normal(size=(1, 3, 2, 2))
OF_MATRICES = {
    "qr": lambda x: ad.linalg.qr(x)[1],
    "svd": lambda x: ad.linalg.svdvals(x),
    "eigh": lambda x: ad.linalg.eigvalsh(x + x.mT),
    "cholesky": lambda x: ad.linalg.cholesky(x @ x.mT),
    "inv": lambda x: ad.linalg.inv(x),
    "pinv": lambda x: ad.linalg.pinv(x),
    "solve": lambda x: ad.linalg.solve(x, x.mT),
    "det": lambda x: ad.linalg.det(x),
    "slogdet": lambda x: ad.linalg.slogdet(x)[1],
    "matrix_power": lambda x: ad.linalg.matrix_power(x, 3),
}


@pytest.mark.parametrize("function", OF_MATRICES.values(), ids=OF_MATRICES)
def test_batches_of_batches_of_matrices(function: Any) -> None:
    together = function(ad.tensor(MATRICES)).numpy()
    for place in np.ndindex(1, 3):
        assert np.allclose(together[place], function(ad.tensor(MATRICES[place])).numpy(), rtol=1e-12, atol=1e-12)
    assert ad.autograd.gradcheck(function, ad.tensor(MATRICES, requires_grad=True))


def test_allclose_looks_at_arrays_and_numbers_too() -> None:
    assert not ad.allclose(np.array([1.0]), np.array([2.0]))
    assert not ad.allclose(1.0, 2.0)
    assert ad.allclose(1.0, 1.0 + 1e-9)
    assert ad.allclose(ad.tensor([1.0]), np.array([1.0]))


@pytest.mark.parametrize(("whole", "number"), [(10**308, 1e308), (10**400, math.inf), (-(10**400), -math.inf)])
def test_a_whole_number_that_is_too_large_for_an_integer_becomes_the_nearest_float(whole: int, number: float) -> None:
    assert ad.masked_fill(ad.ones(1), ad.tensor([True]), whole).tolist() == [number]


def test_the_second_boolean_of_to_is_copy() -> None:
    x = ad.tensor([1.0, 2.0])
    assert x.to("cpu", ad.float64, True) is x is x.to(ad.float64, False, False)
    assert x.to("cpu", ad.float64, False, True) is not x is not x.to(x, False, True)


def test_bincount_accepts_whole_numbers_that_are_floats() -> None:
    assert ad.evaluate("sum(bincount([1, 2, 2]))", {}).value == 3
    assert ad.bincount(ad.tensor([1.0, 2.0, 2.0])).tolist() == [0, 1, 2]
    with pytest.raises(AutodiffError, match="integral inputs"):
        ad.bincount(ad.tensor([1.5]))


def test_cofactors_of_a_badly_scaled_matrix_have_all_digits() -> None:
    x = _leaf([[1e-17, -1.0], [3.0, 1e6]])
    ad.det(x).backward()
    np.testing.assert_allclose(x.grad.tolist(), [[1e6, -3.0], [1.0, 1e-17]], rtol=1e-15)
    printed = run(
        "autodiff gradcheck 'det([[8.7e-19*(x - 2.6), -1.1], [3, -(x - 1.75)*(x - 2.4)*((x + 2.9)**2 + 1.6)]])' --at x=-30"
    )
    assert "pass" in printed


@pytest.mark.parametrize("tiny", [1e-3, 1e-18])
def test_small_cofactors_of_a_well_conditioned_matrix_have_all_digits(tiny: float) -> None:
    x = _leaf([[5.0, -1.5, 0.0], [-1.5, -tiny, 0.0], [0.0, 0.0, 2.0]])
    ad.det(x).backward()
    np.testing.assert_allclose(x.grad.tolist(), [[-2 * tiny, 3, 0], [3, 10, 0], [0, 0, -5 * tiny - 2.25]], rtol=1e-14)
