"""Derivatives of operations: ties, zeros, broadcasting, types, indexing, reductions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from tests.behaviour import const, leaf, shape, since, torch


def slope(function: Callable[[Any], Any], at: Any) -> Any:
    """The gradient of the sum of what ``function`` gives."""
    x = leaf(at)
    (g,) = torch.autograd.grad(function(x).sum(), x)
    return g.tolist()


def slopes(function: Callable[..., Any], *at: Any) -> list[Any]:
    arguments = [leaf(a) for a in at]
    return [g.tolist() for g in torch.autograd.grad(function(*arguments).sum(), arguments)]


# Elementary functions

ELEMENTARY: list[tuple[str, float, float]] = [
    ("exp", 0.5, math.exp(0.5)),
    ("log", 0.5, 2.0),
    ("log2", 0.5, 2.0 / math.log(2)),
    ("log10", 0.5, 2.0 / math.log(10)),
    ("log1p", 0.5, 1 / 1.5),
    ("expm1", 0.5, math.exp(0.5)),
    ("exp2", 0.5, math.sqrt(2) * math.log(2)),
    ("sqrt", 0.25, 1.0),
    ("rsqrt", 0.25, -4.0),
    ("sin", 0.5, math.cos(0.5)),
    ("cos", 0.5, -math.sin(0.5)),
    ("tan", 0.5, 1 / math.cos(0.5) ** 2),
    ("asin", 0.5, 1 / math.sqrt(0.75)),
    ("acos", 0.5, -1 / math.sqrt(0.75)),
    ("atan", 0.5, 0.8),
    ("sinh", 0.5, math.cosh(0.5)),
    ("cosh", 0.5, math.sinh(0.5)),
    ("tanh", 0.5, 1 - math.tanh(0.5) ** 2),
    ("asinh", 0.5, 1 / math.sqrt(1.25)),
    ("acosh", 1.5, 1 / math.sqrt(1.25)),
    ("atanh", 0.5, 1 / 0.75),
    ("sigmoid", 0.0, 0.25),
    ("reciprocal", 0.5, -4.0),
    ("square", 0.5, 1.0),
    ("neg", 0.5, -1.0),
    ("abs", -0.5, -1.0),
    ("sign", 0.5, 0.0),
    ("floor", 0.5, 0.0),
    ("ceil", 0.5, 0.0),
    ("round", 0.3, 0.0),
    ("trunc", 0.3, 0.0),
    ("frac", 0.3, 1.0),
    ("erf", 0.5, 2 / math.sqrt(math.pi) * math.exp(-0.25)),
    ("erfc", 0.5, -2 / math.sqrt(math.pi) * math.exp(-0.25)),
    ("lgamma", 1.0, -0.5772156649015329),
    ("logit", 0.5, 4.0),
    ("sinc", 0.5, math.pi * (0 / (math.pi / 2) - 1 / (math.pi / 2) ** 2)),
    ("relu", 0.5, 1.0),
    ("deg2rad", 90.0, math.pi / 180),
    ("rad2deg", 1.0, 180 / math.pi),
    ("clone", 1.0, 1.0),
]


@pytest.mark.parametrize(("name", "at", "expected"), ELEMENTARY, ids=[case[0] for case in ELEMENTARY])
def test_elementary(name: str, at: float, expected: float) -> None:
    assert slope(getattr(torch, name), at) == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert slope(lambda x: getattr(x, name)(), [at, at]) == pytest.approx([expected, expected], rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(
    ("function", "at", "expected"),
    [
        (torch.abs, 0.0, 0.0),
        (torch.relu, 0.0, 0.0),
        (torch.sign, 0.0, 0.0),
        (torch.sqrt, 0.0, math.inf),
        (torch.log, 0.0, math.inf),
        pytest.param(lambda x: x.clamp(0.0, 1.0), 0.0, 0.0, marks=since("2.14")),
        pytest.param(lambda x: x.clamp(0.0, 1.0), 1.0, 0.0, marks=since("2.14")),
        (lambda x: x.clamp(0.0, 1.0), 1.5, 0.0),
        (lambda x: x.clamp(min=0.0), -1.0, 0.0),
        pytest.param(lambda x: x.clamp(max=0.0), 0.0, 0.0, marks=since("2.14")),
        (torch.tanh, 1000.0, 0.0),
        (torch.sigmoid, -1000.0, 0.0),
        (torch.reciprocal, 0.0, -math.inf),
    ],
    ids=["abs", "relu", "sign", "sqrt", "log", "clamp low", "clamp high", "clamp out", "min", "max", "tanh", "sigmoid", "1/x"],
)
def test_where_a_function_is_not_smooth(function: Callable[[Any], Any], at: float, expected: float) -> None:
    assert slope(function, at) == expected


def test_nothing_overflows_in_softplus_and_logsumexp() -> None:
    assert slope(torch.nn.functional.softplus, [-1000.0, 0.0, 1000.0]) == [0.0, 0.5, 1.0]
    assert slope(lambda x: torch.logsumexp(x, 0), [1000.0, 1000.0]) == pytest.approx([0.5, 0.5])


def test_softmax_and_log_softmax() -> None:
    x = leaf([0.0, 0.0])
    p = torch.softmax(x, dim=0)
    assert p.tolist() == [0.5, 0.5]
    (g,) = torch.autograd.grad(p[0], x)
    assert g.tolist() == [0.25, -0.25]
    (g,) = torch.autograd.grad(torch.log_softmax(x, dim=0)[0], x)
    assert g.tolist() == [0.5, -0.5]


# Powers


def test_a_power_with_a_number() -> None:
    assert slope(lambda x: x**3, [2.0, -2.0, 0.0]) == [12.0, 12.0, 0.0]


def test_the_power_zero_of_zero_has_slope_zero() -> None:
    assert slope(lambda x: x**0, [0.0, 2.0]) == [0.0, 0.0]
    assert slope(lambda x: x**0.0, [0.0, 2.0]) == [0.0, 0.0]


def test_the_power_one_at_zero() -> None:
    assert slope(lambda x: x**1, [0.0]) == [1.0]


def test_a_root_at_zero_is_infinitely_steep() -> None:
    assert slope(lambda x: x**0.5, [0.0]) == [math.inf]


def test_a_number_to_a_power() -> None:
    assert slope(lambda x: 2.0**x, [3.0]) == pytest.approx([8 * math.log(2)])


def test_zero_to_a_power() -> None:
    assert slope(lambda x: 0.0**x, [2.0, 0.0]) == [0.0, 0.0]


def test_a_power_of_two_tensors() -> None:
    base, exponent = slopes(lambda a, b: a**b, [2.0, 3.0], [3.0, 2.0])
    assert base == [12.0, 6.0]
    assert exponent == pytest.approx([8 * math.log(2), 9 * math.log(3)])


def test_zero_base_of_two_tensors() -> None:
    base, exponent = slopes(lambda a, b: a**b, [0.0, 0.0], [2.0, 0.0])
    assert base == [0.0, 0.0]
    assert exponent == [0.0, 0.0]


def test_a_negative_base_with_a_constant_whole_exponent() -> None:
    x, n = leaf([-2.0, -3.0]), torch.tensor([2, 3])
    (x**n).sum().backward()
    assert x.grad.tolist() == [-4.0, 27.0]


def test_second_derivatives_of_powers_at_zero() -> None:
    x = leaf(0.0)
    (g,) = torch.autograd.grad(x**2, x, create_graph=True)
    (h,) = torch.autograd.grad(g, x, create_graph=True)
    assert (g.item(), h.item()) == (0.0, 2.0)


# Ties


def test_all_elements_that_are_largest_share_the_gradient() -> None:
    assert slope(lambda x: x.max(), [1.0, 3.0, 3.0]) == [0.0, 0.5, 0.5]
    assert slope(lambda x: x.min(), [1.0, 1.0, 3.0]) == [0.5, 0.5, 0.0]
    assert slope(lambda x: torch.amax(x, 0), [1.0, 3.0, 3.0]) == [0.0, 0.5, 0.5]
    assert slope(lambda x: torch.amin(x, dim=0), [1.0, 1.0, 3.0]) == [0.5, 0.5, 0.0]


def test_the_largest_along_a_dimension_is_the_one_at_the_index() -> None:
    x = leaf([[1.0, 5.0, 2.0], [7.0, 3.0, 4.0]])
    values, indices = x.max(dim=1)
    assert values.tolist() == [5.0, 7.0]
    assert indices.tolist() == [1, 0]
    assert not indices.requires_grad
    (values * const([1.0, 10.0])).sum().backward()
    assert x.grad.tolist() == [[0.0, 1.0, 0.0], [10.0, 0.0, 0.0]]


def test_the_result_of_max_along_a_dimension_has_names() -> None:
    result = torch.max(const([[1.0, 5.0], [7.0, 3.0]]), dim=0, keepdim=True)
    assert result.values.tolist() == [[7.0, 5.0]]
    assert result.indices.tolist() == [[1, 0]]


def test_ties_along_a_dimension_choose_one() -> None:
    x = leaf([3.0, 3.0])
    values, index = x.max(0)
    values.backward()
    assert sorted(x.grad.tolist()) == [0.0, 1.0]
    assert x.grad[index].item() == 1.0


def test_equal_operands_of_maximum_share() -> None:
    assert slopes(torch.maximum, [1.0, 2.0, 3.0], [1.0, 5.0, 0.0]) == [[0.5, 0.0, 1.0], [0.5, 1.0, 0.0]]
    assert slopes(torch.minimum, [1.0, 2.0, 3.0], [1.0, 5.0, 0.0]) == [[0.5, 1.0, 0.0], [0.5, 0.0, 1.0]]
    assert slopes(torch.max, [1.0, 2.0], [1.0, 5.0]) == [[0.5, 0.0], [0.5, 1.0]]


def test_argmax_is_not_differentiable() -> None:
    x = leaf([1.0, 3.0, 2.0])
    assert x.argmax().item() == 1
    assert torch.argmin(x, dim=0).item() == 0
    assert not x.argmax().requires_grad


def test_sort_and_topk() -> None:
    x = leaf([3.0, 1.0, 2.0])
    values, indices = torch.sort(x)
    assert indices.tolist() == [1, 2, 0]
    (values * const([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [100.0, 1.0, 10.0]
    x.grad = None
    x.topk(2)[0].sum().backward()
    assert x.grad.tolist() == [1.0, 0.0, 1.0]


# Choices


def test_where_gives_each_side_its_part() -> None:
    mask = torch.tensor([True, False, True])
    assert slopes(lambda a, b: torch.where(mask, a, b), [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]) == [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]


def test_where_with_numbers() -> None:
    assert slope(lambda x: torch.where(x > 0, x, 0.0), [1.0, -1.0]) == [1.0, 0.0]
    assert slope(lambda x: torch.where(x > 0, 2.0, x * x), [1.0, -1.0]) == [0.0, -2.0]


def test_where_as_a_method_and_with_broadcasting() -> None:
    x, y = leaf([[1.0], [2.0]]), leaf([10.0, 20.0, 30.0])
    x.where(torch.tensor([True, False, True]), y).sum().backward()
    assert x.grad.tolist() == [[2.0], [2.0]]
    assert y.grad.tolist() == [0.0, 2.0, 0.0]


def test_masked_fill_select_and_gather() -> None:
    assert slope(lambda x: x.masked_fill(torch.tensor([True, False]), 5.0), [1.0, 2.0]) == [0.0, 1.0]
    assert slope(lambda x: x.masked_select(torch.tensor([True, False])), [1.0, 2.0]) == [1.0, 0.0]
    assert slope(lambda x: x.gather(0, torch.tensor([1, 1])), [1.0, 2.0]) == [0.0, 2.0]
    assert slope(lambda x: x.index_select(0, torch.tensor([1, 1, 0])), [1.0, 2.0]) == [1.0, 2.0]
    assert slope(lambda x: x.take(torch.tensor([3, 3])), [[1.0, 2.0], [3.0, 4.0]]) == [[0.0, 0.0], [0.0, 2.0]]


def test_clamp_with_tensors_as_bounds() -> None:
    x, low = leaf([0.0, 5.0]), leaf([1.0, 1.0])
    torch.clamp(x, min=low).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0]
    assert low.grad.tolist() == [1.0, 0.0]


@since("2.14")
@pytest.mark.parametrize(
    ("function", "points", "expected"),
    [
        (lambda x: x.clamp_(-1, 1), [[-2, -1, 0, 1, 2]], [[0, 0, 1, 0, 0]]),
        (lambda x: x.clip(max=1), [[0, 1, 2]], [[1, 0, 0]]),
        (lambda x: x.clamp(1, 1), [[0, 1, 2]], [[0, 0, 0]]),
        (lambda x: x.clamp(0, 1), [[math.nan]], [[0]]),
        (torch.clamp, [[-1, 0, 1, 2], [-1, -1, -1, -1], [1, 1, 1, 1]], [[0.5, 1, 0.5, 0], [0.5, 0, 0, 0], [0, 0, 0.5, 1]]),
        (torch.clamp, [[0, 1, 2], [1, 1, 1], [1, 1, 1]], [[0, 1, 0], [1, 0, 0], [0, 0, 1]]),
        (torch.clamp, [[1, 1.5, 2], [2, 2, 2], [1, 1, 1]], [[0, 0, 0], [0, 0, 0], [1, 1, 1]]),
        (torch.clamp, [[math.nan], [0], [1]], [[1], [0], [0]]),
        (lambda x, low: x.clamp(min=low), [[0, 1, math.inf], [0, 2, 0]], [[0.5, 0, 1], [0.5, 1, 0]]),
        (lambda x, high: x.clamp(max=high), [[0, 1, -math.inf], [0, 2, 0]], [[0.5, 1, 1], [0.5, 0, 0]]),
        (torch.fmax, [[0, 1, 2, math.nan], [0, 2, 1, math.nan]], [[0.5, 0, 1, 1], [0.5, 1, 0, 0]]),
        (torch.fmin, [[0, 1, 2, math.nan], [0, 2, 1, math.nan]], [[0.5, 1, 0, 1], [0.5, 0, 1, 0]]),
    ],
)
def test_derivatives_where_a_bound_is_reached(
    function: Callable[..., Any], points: list[list[float]], expected: list[list[float]]
) -> None:
    assert slopes(lambda *x: function(*(each * 1 for each in x)), *points) == expected
    for i, slope_of in enumerate(expected):
        with torch.autograd.forward_ad.dual_level():
            duals = [const(point) * 1 for point in points]
            duals[i] = torch.autograd.forward_ad.make_dual(const(points[i]), torch.ones_like(duals[i])) * 1
            assert torch.autograd.forward_ad.unpack_dual(function(*duals)).tangent.tolist() == slope_of


def test_comparisons_require_no_grad() -> None:
    x = leaf([1.0, 2.0])
    for made in (x > 1, x < 1, x >= 1, x <= 1, x == 1, x != 1):
        assert not made.requires_grad
        assert made.grad_fn is None


def test_types_have_names_in_the_package() -> None:
    assert (leaf([1.0]) > 0).dtype == torch.bool
    assert torch.ones(1, dtype=torch.float32).dtype == torch.float
    assert leaf([1.0]).dtype == torch.double
    assert torch.tensor([1]).dtype == torch.long
    assert isinstance(torch.float64, torch.dtype)
    assert torch.float64.is_floating_point
    assert not torch.int64.is_floating_point
    assert str(torch.float64) == "torch.float64"


# Broadcasting


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([1.0, 2.0], 3.0, ([3.0, 3.0], 3.0)),
        ([[1.0], [2.0]], [3.0, 4.0], ([[7.0], [7.0]], [3.0, 3.0])),
        ([[1.0, 2.0]], [[3.0], [4.0]], ([[7.0, 7.0]], [[3.0], [3.0]])),
        ([[[1.0]]], [2.0, 3.0], ([[[5.0]]], [1.0, 1.0])),
        (2.0, 3.0, (3.0, 2.0)),
        ([2.0], 3.0, ([3.0], 2.0)),
        ([[1.0, 2.0], [3.0, 4.0]], [10.0, 20.0], ([[10.0, 20.0], [10.0, 20.0]], [4.0, 6.0])),
    ],
    ids=str,
)
def test_products_of_tensors_that_broadcast(a: Any, b: Any, expected: Any) -> None:
    assert tuple(slopes(lambda x, y: x * y, a, b)) == expected


@pytest.mark.parametrize("first", [(0, 3), (1, 3), (2, 0), (1, 1)])
@pytest.mark.parametrize("second", [(1, 1), (), (1,)])
def test_shapes_of_gradients_where_something_is_empty(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    x = torch.ones(first, dtype=torch.float64, requires_grad=True)
    y = torch.ones(second, dtype=torch.float64, requires_grad=True)
    (x * y).sum().backward()
    assert shape(x.grad) == list(first)
    assert shape(y.grad) == list(second)
    assert y.grad.sum().item() == first[0] * first[1]


def test_shapes_that_do_not_broadcast_are_refused() -> None:
    x, y = leaf([1.0, 2.0]), leaf([1.0, 2.0, 3.0])
    with pytest.raises(
        RuntimeError, match=r"The size of tensor a \(2\) must match the size of tensor b \(3\) at non-singleton dimension 0"
    ):
        x + y


def test_expand_sums_back() -> None:
    x = leaf([[1.0], [2.0]])
    y = x.expand(2, 3)
    assert shape(y) == [2, 3]
    (y * const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).sum().backward()
    assert x.grad.tolist() == [[6.0], [15.0]]
    assert shape(leaf([1.0, 2.0]).expand(3, -1)) == [3, 2]


def test_expand_as_broadcast_to_and_repeat() -> None:
    ones = torch.ones(3, 2, dtype=torch.float64)
    assert slope(lambda x: x.expand_as(ones), [1.0, 2.0]) == [3.0, 3.0]
    assert slope(lambda x: torch.broadcast_to(x, (3, 2)), [1.0, 2.0]) == [3.0, 3.0]
    assert slope(lambda x: x.repeat(3, 2), [1.0, 2.0]) == [6.0, 6.0]
    assert slope(lambda x: x.tile(2), [1.0, 2.0]) == [2.0, 2.0]
    assert slope(lambda x: x.repeat_interleave(2), [1.0, 2.0]) == [2.0, 2.0]


# Types


def test_gradients_have_the_type_of_their_leaf() -> None:
    single = torch.tensor([1.0, 2.0], dtype=torch.float32, requires_grad=True)
    double = leaf([3.0, 4.0])
    product = single * double
    assert product.dtype == torch.float64
    product.sum().backward()
    assert (single.grad.dtype, double.grad.dtype) == (torch.float32, torch.float64)
    assert single.grad.tolist() == [3.0, 4.0]


def test_a_scalar_tensor_does_not_widen() -> None:
    single = torch.tensor([1.0, 2.0], dtype=torch.float32, requires_grad=True)
    scalar = leaf(3.0)
    product = single * scalar
    assert product.dtype == torch.float32
    product.sum().backward()
    assert scalar.grad.dtype == torch.float64
    assert scalar.grad.item() == 3.0


def test_numbers_do_not_widen() -> None:
    single = torch.ones(2, dtype=torch.float32)
    assert (single * 2.5).dtype == torch.float32
    assert (torch.ones(2, dtype=torch.int64) * 2).dtype == torch.int64


def test_integers_and_floats() -> None:
    x = leaf([1.5, 2.5])
    y = x * torch.tensor([2, 3])
    assert y.dtype == torch.float64
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 3.0]
    assert (torch.ones(2, dtype=torch.float32) * torch.tensor([1, 2])).dtype == torch.float32


def test_masks_in_arithmetic() -> None:
    x = leaf([1.5, 2.5])
    (x * (x > 2)).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0]


def test_the_sum_of_booleans_counts() -> None:
    total = torch.tensor([True, True, False]).sum()
    assert total.dtype == torch.int64
    assert total.item() == 2


def test_chains_through_several_types() -> None:
    x = leaf([1.0, 2.0])
    y = (x.float() * 2).double() * 3
    y.sum().backward()
    assert x.grad.dtype == torch.float64
    assert x.grad.tolist() == [6.0, 6.0]


def test_stacking_different_types() -> None:
    a, b = torch.tensor([1.0], dtype=torch.float32, requires_grad=True), leaf([2.0])
    joined = torch.cat([a, b])
    assert joined.dtype == torch.float64
    (joined * const([3.0, 4.0])).sum().backward()
    assert (a.grad.dtype, a.grad.tolist(), b.grad.tolist()) == (torch.float32, [3.0], [4.0])


# Indexing


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (0, [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]),
        ((1, 2), [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
        ((slice(None), 1), [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]),
        ((slice(None), slice(None, None, 2)), [[1.0, 0.0, 1.0], [1.0, 0.0, 1.0]]),
        ((..., 0), [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]),
        (None, [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]),
        ([1, 1, 1], [[0.0, 0.0, 0.0], [3.0, 3.0, 3.0]]),
        (([0, 0, 1], [2, 2, 0]), [[0.0, 0.0, 2.0], [1.0, 0.0, 0.0]]),
        ((slice(None), [0, 0]), [[2.0, 0.0, 0.0], [2.0, 0.0, 0.0]]),
        ((0, [1, 1, 2]), [[0.0, 2.0, 1.0], [0.0, 0.0, 0.0]]),
        (slice(0, 0), [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),
        ([[0, 1], [1, 1]], [[1.0, 1.0, 1.0], [3.0, 3.0, 3.0]]),
    ],
    ids=str,
)
def test_gradients_of_indexing(key: Any, expected: Any) -> None:
    assert (
        slope(lambda x: x[torch.tensor(key)] if key == [[0, 1], [1, 1]] else x[key], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]) == expected
    )


def test_indexing_by_a_mask() -> None:
    x = leaf([[1.0, -2.0], [-3.0, 4.0]])
    y = x[x > 0]
    assert y.tolist() == [1.0, 4.0]
    (y * y).sum().backward()
    assert x.grad.tolist() == [[2.0, 0.0], [0.0, 8.0]]


def test_indexing_by_tensors_of_positions() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x[torch.tensor([[0, 2], [2, 2]])]
    assert shape(y) == [2, 2]
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 0.0, 3.0]


def test_indexing_by_a_scalar_tensor() -> None:
    x = leaf([1.0, 2.0, 3.0])
    x[torch.tensor(1)].backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0]


def test_positions_out_of_range_are_refused() -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(IndexError, match="out of bounds for dimension 0 with size 2"):
        x[2]


def test_too_many_positions_are_refused() -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(IndexError, match="too many indices for tensor of dimension 1"):
        x[0, 0]


def test_iterating_over_a_tensor() -> None:
    x = leaf([1.0, 2.0, 3.0])
    total = sum(value * (k + 1) for k, value in enumerate(x))
    total.backward()
    assert x.grad.tolist() == [1.0, 2.0, 3.0]


def test_a_scalar_is_not_iterable() -> None:
    with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
        list(leaf(1.0))
    with pytest.raises(TypeError, match=r"len\(\) of a 0-d tensor"):
        len(leaf(1.0))


def test_the_same_element_used_many_times() -> None:
    x = leaf([1.0, 2.0])
    (x[0] * x[0] * x[1]).backward()
    assert x.grad.tolist() == [4.0, 1.0]


# Reductions


def test_sum_and_mean_along_dimensions() -> None:
    values = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    weights = const([1.0, 10.0])
    assert slope(lambda x: x.sum(dim=1) * weights, values) == [[1.0] * 3, [10.0] * 3]
    assert slope(lambda x: x.sum(1, keepdim=True) * x, values)[0] == [12.0, 12.0, 12.0]
    assert slope(lambda x: x.mean(), values) == [[1 / 6] * 3] * 2
    assert slope(lambda x: x.mean(0), values) == [[0.5] * 3] * 2
    assert slope(lambda x: x.sum((0, 1)), values) == [[1.0] * 3] * 2
    assert slope(lambda x: x.mean(dim=-1, keepdim=True), values)[1] == pytest.approx([1 / 3] * 3)


def test_sum_with_a_type() -> None:
    x = torch.tensor([1.0, 2.0], dtype=torch.float32, requires_grad=True)
    total = x.sum(dtype=torch.float64)
    assert total.dtype == torch.float64
    total.backward()
    assert x.grad.dtype == torch.float32


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([2.0, 3.0, 4.0], [12.0, 8.0, 6.0]),
        ([2.0, 0.0, 4.0], [0.0, 8.0, 0.0]),
        ([0.0, 0.0, 4.0], [0.0, 0.0, 0.0]),
        ([5.0], [1.0]),
    ],
    ids=str,
)
def test_products_with_zeros(values: list[float], expected: list[float]) -> None:
    assert slope(lambda x: x.prod(), values) == expected
    assert slope(lambda x: torch.prod(x, dim=0), values) == expected


def test_second_derivative_of_a_product_with_a_zero() -> None:
    x = leaf([2.0, 0.0, 4.0])
    (g,) = torch.autograd.grad(x.prod(), x, create_graph=True)
    (h,) = torch.autograd.grad(g[1], x)
    assert h.tolist() == [4.0, 0.0, 2.0]


def test_cumulative_sums_and_products() -> None:
    assert slope(lambda x: torch.cumsum(x, 0), [1.0, 2.0, 3.0]) == [3.0, 2.0, 1.0]
    assert slope(lambda x: torch.cumprod(x, 0), [2.0, 3.0, 4.0]) == [16.0, 10.0, 6.0]
    assert slope(lambda x: torch.cumprod(x, 0), [2.0, 0.0, 4.0]) == [1.0, 10.0, 0.0]


def test_norms() -> None:
    assert slope(lambda x: x.norm(), [3.0, 4.0]) == pytest.approx([0.6, 0.8])
    assert slope(lambda x: torch.norm(x, 1), [3.0, -4.0]) == [1.0, -1.0]
    assert slope(lambda x: torch.linalg.norm(x), [3.0, 4.0]) == pytest.approx([0.6, 0.8])
    assert slope(lambda x: torch.linalg.vector_norm(x, 3), [1.0, 0.0]) == [1.0, 0.0]


@pytest.mark.parametrize("p", [1, 2, 3, 1.5])
def test_norms_at_zero_have_slope_zero(p: float) -> None:
    assert slope(lambda x: x.norm(p), [0.0, 0.0]) == [0.0, 0.0]


def test_norm_with_infinite_order_shares() -> None:
    assert slope(lambda x: x.norm(float("inf")), [3.0, -3.0, 1.0]) == [0.5, -0.5, 0.0]


def test_variance_and_deviation() -> None:
    assert slope(lambda x: x.var(), [1.0, 2.0, 3.0]) == [-1.0, 0.0, 1.0]
    assert slope(lambda x: x.std(), [1.0, 2.0, 3.0]) == [-0.5, 0.0, 0.5]
    assert slope(lambda x: x.var(unbiased=False), [1.0, 3.0]) == [-1.0, 1.0]


def test_median() -> None:
    assert slope(lambda x: x.median(), [3.0, 1.0, 2.0]) == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, math.nan, 1.0, 2.0], [0.5, 0.0, 0.5, 0.0]),
        ([math.nan, math.nan], [0.5, 0.5]),
        ([3.0, math.nan, 1.0, 2.0], [0.0, 0.0, 0.0, 1.0]),
    ],
)
def test_median_of_known_elements_shares_its_gradient_among_equal_ones(values: list[float], expected: list[float]) -> None:
    assert slope(lambda x: x.nanmedian(), values) == expected


def test_median_of_known_elements_along_a_dimension_has_one_position() -> None:
    assert slope(lambda x: x.nanmedian(0).values, [3.0, math.nan, 1.0, 2.0]) == [0.0, 0.0, 0.0, 1.0]


# Matrices


def test_products_of_matrices_and_vectors() -> None:
    a, b = [[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]
    for multiply in (torch.mm, torch.matmul, lambda x, y: x @ y):
        assert slopes(multiply, a, b) == [[[11.0, 15.0], [11.0, 15.0]], [[4.0, 4.0], [6.0, 6.0]]]
    assert slopes(torch.mv, a, [5.0, 6.0]) == [[[5.0, 6.0], [5.0, 6.0]], [4.0, 6.0]]
    assert slopes(torch.dot, [1.0, 2.0], [3.0, 4.0]) == [[3.0, 4.0], [1.0, 2.0]]
    assert slopes(torch.outer, [1.0, 2.0], [3.0, 4.0]) == [[7.0, 7.0], [3.0, 3.0]]
    assert slope(torch.trace, a) == [[1.0, 0.0], [0.0, 1.0]]


def test_more_products() -> None:
    a = [[1.0, 2.0], [3.0, 4.0]]
    assert slopes(torch.addmm, [[0.0, 0.0], [0.0, 0.0]], a, a)[0] == [[1.0, 1.0], [1.0, 1.0]]
    assert slopes(lambda x, y: torch.einsum("ij,jk->ik", x, y), a, a) == [[[3.0, 7.0], [3.0, 7.0]], [[4.0, 4.0], [6.0, 6.0]]]
    assert slope(lambda x: torch.nn.functional.linear(x, const(a), const([1.0, 2.0])), [1.0, 1.0]) == [4.0, 6.0]


def test_inverse_and_determinant() -> None:
    assert slope(torch.inverse, [[2.0, 0.0], [0.0, 4.0]])[0][0] == pytest.approx(-0.25)
    assert slope(torch.det, [[2.0, 1.0], [1.0, 3.0]])[0] == pytest.approx([3.0, -1.0])
    assert slope(torch.linalg.inv, [[2.0, 0.0], [0.0, 4.0]])[1][1] == pytest.approx(-0.0625)


def test_triangles_and_diagonals() -> None:
    a = [[1.0, 2.0], [3.0, 4.0]]
    assert slope(torch.triu, a) == [[1.0, 1.0], [0.0, 1.0]]
    assert slope(torch.tril, a) == [[1.0, 0.0], [1.0, 1.0]]
    assert slope(torch.diag, a) == [[1.0, 0.0], [0.0, 1.0]]
    assert slope(torch.diag, [1.0, 2.0]) == [1.0, 1.0]


# Shapes


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.view(6),
        lambda x: x.view(-1, 2),
        lambda x: x.reshape(3, 2),
        lambda x: x.reshape((6,)),
        lambda x: x.t(),
        lambda x: x.T,
        lambda x: x.transpose(0, 1),
        lambda x: x.permute(1, 0),
        lambda x: x.permute((1, 0)),
        lambda x: x.flatten(),
        lambda x: x.unsqueeze(1),
        lambda x: x.unsqueeze(-1).squeeze(-1),
        lambda x: torch.stack([x, x])[0],
        lambda x: torch.cat([x, x], dim=1)[:, :3],
        lambda x: x.contiguous(),
        lambda x: torch.flip(x, [0]),
        lambda x: x.roll(1, 0),
        lambda x: x.swapaxes(0, 1),
        lambda x: x.movedim(0, 1),
        lambda x: torch.stack(x.unbind(1)),
        lambda x: torch.cat(x.split(1)),
        lambda x: torch.cat(x.chunk(2)),
        lambda x: torch.vstack([x[0], x[1]]),
        lambda x: torch.hstack([x[0], x[1]]),
        lambda x: x.ravel(),
        lambda x: x.view_as(x),
        lambda x: x.narrow(0, 0, 2),
    ],
    ids=(
        "view",
        "view -1",
        "reshape",
        "reshape tuple",
        "t",
        "T",
        "transpose",
        "permute",
        "permute tuple",
        "flatten",
        "unsqueeze",
        "squeeze",
        "stack",
        "cat",
        "contiguous",
        "flip",
        "roll",
        "swapaxes",
        "movedim",
        "unbind",
        "split",
        "chunk",
        "vstack",
        "hstack",
        "ravel",
        "view_as",
        "narrow",
    ),
)
def test_changes_of_shape_pass_gradients_through(change: Callable[[Any], Any]) -> None:
    x = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    y = change(x)
    (y * y.detach()).sum().backward()
    assert x.grad.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def test_a_view_needs_the_right_number_of_elements() -> None:
    x = leaf([1.0, 2.0, 3.0])
    with pytest.raises(RuntimeError, match=r"shape '\[2, 2\]' is invalid for input of size 3"):
        x.view(2, 2)


def test_a_view_needs_contiguous_memory() -> None:
    x = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).t()
    assert not x.is_contiguous()
    with pytest.raises(RuntimeError, match="view size is not compatible with input tensor's size and stride"):
        x.view(6)
    assert x.reshape(6).tolist() == [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]


def test_non_contiguous_tensors_in_a_graph() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    y = x.t()[:, ::2] * const([[1.0, 2.0], [3.0, 4.0]])
    y.sum().backward()
    assert x.grad.tolist() == [[1.0, 3.0], [0.0, 0.0], [2.0, 4.0]]


def test_meshgrid_and_stack() -> None:
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0, 5.0])
    a, b = torch.meshgrid(x, y, indexing="ij")
    (a * b).sum().backward()
    assert x.grad.tolist() == [12.0, 12.0]
    assert y.grad.tolist() == [3.0, 3.0, 3.0]


def test_losses() -> None:
    losses = torch.nn.functional
    target = const([0.0, 0.0])
    assert slope(lambda x: losses.mse_loss(x, target), [1.0, 2.0]) == [1.0, 2.0]
    assert slope(lambda x: losses.l1_loss(x, target), [1.0, -2.0]) == [0.5, -0.5]
    assert slope(lambda x: losses.relu(x), [1.0, -2.0]) == [1.0, 0.0]


def test_arithmetic_with_numbers_on_the_left() -> None:
    assert slope(lambda x: 3.0 - x, [2.0]) == [-1.0]
    assert slope(lambda x: 3.0 / x, [2.0]) == [-0.75]
    assert slope(lambda x: 3.0 * x, [2.0]) == [3.0]
    assert slope(lambda x: 3.0 + x, [2.0]) == [1.0]


def test_remainders() -> None:
    assert slopes(torch.fmod, [7.0], [3.0]) == [[1.0], [-2.0]]
    assert slopes(torch.remainder, [-7.0], [3.0]) == [[1.0], [3.0]]
    assert slope(lambda x: x % 3, [7.0]) == [1.0]


def test_two_arguments() -> None:
    assert slopes(torch.atan2, [1.0], [1.0]) == [[0.5], [-0.5]]
    assert slopes(torch.hypot, [3.0], [4.0]) == [pytest.approx([0.6]), pytest.approx([0.8])]
    assert slopes(lambda a, b: torch.lerp(a, b, 0.25), [1.0], [5.0]) == [[0.75], [0.25]]
    assert slopes(lambda a, b: torch.add(a, b, alpha=3), [1.0], [5.0]) == [[1.0], [3.0]]
    assert slopes(lambda a, b: torch.sub(a, b, alpha=3), [1.0], [5.0]) == [[1.0], [-3.0]]


def test_three_arguments() -> None:
    assert slopes(lambda a, b, c: torch.addcmul(a, b, c, value=2), [1.0], [2.0], [3.0]) == [[1.0], [6.0], [4.0]]
    assert slopes(torch.addcdiv, [1.0], [2.0], [4.0]) == [[1.0], [0.25], [-0.125]]


# What is not a number


def test_nan_in_extremes() -> None:
    assert slope(lambda x: x.max(), [1.0, math.nan, 3.0]) == [0.0, 1.0, 0.0]
    assert slopes(torch.maximum, [1.0, math.nan], [math.nan, 1.0]) == [[1.0, 1.0], [1.0, 1.0]]


def test_nan_in_clamp_and_abs() -> None:
    assert slope(lambda x: x.clamp(0.0, 1.0), [math.nan, 0.5]) == [0.0, 1.0]
    assert slope(torch.abs, [math.nan, -0.5]) == [0.0, -1.0]
    assert slope(torch.relu, [math.nan, -0.5]) == [1.0, 0.0]


# Kinds of positions


def test_a_negative_step_is_refused() -> None:
    x = leaf([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="step must be greater than zero"):
        x[::-1]


def test_floating_positions_are_refused() -> None:
    x = leaf([1.0, 2.0, 3.0])
    with pytest.raises(IndexError, match="only integers, slices"):
        x[1.0]
    with pytest.raises(IndexError, match="tensors used as indices must be long"):
        x[const([0.0, 1.0])]


def test_true_and_false_as_positions() -> None:
    x = leaf([1.0, 2.0])
    assert shape(x[True]) == [1, 2]
    assert shape(x[False]) == [0, 2]


def test_tensors_of_positions_among_other_positions() -> None:
    x = torch.ones(2, 3, 4, dtype=torch.float64)
    pair = torch.tensor([0, 1])
    assert shape(x[:, pair, pair]) == [2, 2]
    assert shape(x[pair, :, pair]) == [2, 3]
    assert shape(x[0, :, pair]) == [3, 2]
    assert shape(x[:, None, pair]) == [2, 1, 2, 4]
    assert shape(x[pair[:, None], pair]) == [2, 2, 4]


# Shapes and types that are refused


def test_the_mean_of_integers_is_refused() -> None:
    x = torch.tensor([1, 2])
    with pytest.raises(RuntimeError, match="could not infer output dtype"):
        x.mean()


def test_extremes_of_nothing_are_refused() -> None:
    x = torch.zeros(0, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="Expected reduction dim to be specified"):
        x.max()
    assert math.isnan(x.mean().item())
    assert x.sum().item() == 0.0


def test_matrices_that_do_not_fit_are_refused() -> None:
    a, v = torch.ones(2, 3, dtype=torch.float64), const([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)"):
        a @ a
    with pytest.raises(RuntimeError, match="both arguments to matmul need to be at least 1D"):
        a @ const(1.0)
    with pytest.raises(RuntimeError, match="inconsistent tensor size, expected tensor"):
        torch.dot(v, const([1.0, 2.0, 3.0]))


def test_pieces_that_do_not_fit_are_refused() -> None:
    with pytest.raises(RuntimeError, match="Sizes of tensors must match except in dimension 0"):
        torch.cat([torch.ones(2, 2), torch.ones(3, 3)])
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        torch.stack([torch.ones(2), torch.ones(3)])


def test_dimensions_out_of_range_are_refused() -> None:
    x = const([1.0, 2.0])
    with pytest.raises(IndexError, match=r"Dimension out of range \(expected to be in range of \[-1, 0\], but got 1\)"):
        x.sum(1)


def test_arithmetic_of_booleans() -> None:
    mask = torch.tensor([True, False])
    assert (mask + mask).tolist() == [True, False]
    with pytest.raises(RuntimeError, match="Subtraction, the `-` operator, with two bool tensors is not supported"):
        mask - mask
    with pytest.raises(RuntimeError, match="Negation, the `-` operator, on a bool tensor is not supported"):
        torch.neg(mask)


def test_whole_numbers_stay_whole() -> None:
    with pytest.raises(RuntimeError, match="Integers to negative integer powers are not allowed"):
        torch.tensor([2]) ** -1
    assert (torch.tensor([7, -7]) // 2).tolist() == [3, -4]
    assert (torch.tensor([1, 2]) / 2).tolist() == [0.5, 1.0]


def test_a_scalar_transposed() -> None:
    x = leaf(2.0)
    assert x.t().item() == 2.0
    assert x.transpose(0, -1).item() == 2.0
    assert slope(lambda v: v.t() * 3, 2.0) == 3.0


def test_two_of_three_dimensions_exchanged() -> None:
    x = leaf([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]])
    weights = const([[[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0]]])
    y = x.transpose(0, 1)
    (y * weights).sum().backward()
    assert y.tolist() == [[[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0]]]
    assert x.grad.tolist() == [[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]


def test_inner_products_of_rows() -> None:
    a, b = const([[1.0, 2.0], [3.0, 4.0]]), const([[5.0, 7.0], [11.0, 13.0]])
    assert torch.inner(a, b).tolist() == [[19.0, 37.0], [43.0, 85.0]]
    assert torch.inner(a[0], b).tolist() == [19.0, 37.0]


def test_einsum_of_a_list() -> None:
    a, b = const([1.0, 2.0]), const([3.0, 4.0])
    assert torch.einsum("i,i->", [a, b]).item() == torch.einsum("i,i->", a, b).item() == 11.0


@pytest.mark.parametrize("parts", [lambda x: torch.unbind(x), lambda x: torch.split(x, 1), lambda x: torch.chunk(x, 1)])
def test_a_tensor_taken_apart_into_one_part(parts: Any) -> None:
    x = leaf([[1.0, 2.0]])
    (only,) = parts(x)
    (slope,) = torch.autograd.grad((only * only).sum(), x, create_graph=True)
    assert slope.tolist() == [[2.0, 4.0]]
    slope.sum().backward()
    assert x.grad.tolist() == [[2.0, 2.0]]


def test_the_extreme_of_a_number_has_no_dimension_to_keep() -> None:
    for found in (torch.max(const(3.0), dim=0, keepdim=True), torch.median(const(3.0), dim=0, keepdim=True)):
        assert shape(found.values) == shape(found.indices) == []


def test_only_whole_numbers_are_positions_in_a_list() -> None:
    assert ["a", "b"][torch.tensor(1)] == "b"
    with pytest.raises(TypeError, match="only integer tensors of a single element can be converted to an index"):
        ["a", "b"][const(1.0)]


def test_einsum_of_a_repeated_label() -> None:
    m = const([[1.0, 2.0], [3.0, 4.0]])
    assert torch.einsum("ii->", m).item() == 5.0
    assert torch.einsum("ii->i", m).tolist() == [1.0, 4.0]
    assert torch.einsum("iji->j", torch.stack([m, 10 * m])).tolist() == [21.0, 43.0]


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 2), (1, 2)]),
        ("ij,jk->ik", [(2, 1), (3, 2)]),
        ("ii,i->i", [(1, 1), (3,)]),
        ("ij,ij->", [(1, 3), (2, 1)]),
        ("ij,j,jk->ik", [(2, 1), (1,), (3, 2)]),
        ("i...,i...,ij->j...", [(1, 2), (2, 1), (2, 1)]),
    ],
)
def test_a_dimension_of_1_is_stretched_by_einsum(equation: str, shapes: list[tuple[int, ...]]) -> None:
    """The same as with operands that were stretched before, whose sizes are the largest of each label."""
    operands = [(torch.arange(math.prod(sizes)) + 2.0).reshape(sizes).tolist() for sizes in shapes]
    texts = equation.partition("->")[0].replace("...", ".").split(",")
    lengths: dict[str, int] = {}
    for text, sizes in zip(texts, shapes, strict=True):
        for label, n in zip(text, sizes, strict=True):
            lengths[label] = max(lengths.get(label, 1), n)

    def stretched(*parts: Any) -> Any:
        whole = [[lengths[label] for label in text] for text in texts]
        # What is repeated in one operand is its diagonal, which is not stretched before.
        large = [p if len(set(t)) < len(t) else p.expand(s) for p, s, t in zip(parts, whole, texts, strict=True)]
        return torch.einsum(equation, *large) ** 2

    assert slopes(lambda *parts: torch.einsum(equation, *parts) ** 2, *operands) == slopes(stretched, *operands)


def test_the_product_of_a_number_along_a_dimension() -> None:
    assert slope(lambda x: torch.prod(x, dim=0), 3.0) == 1.0


def test_positions_along_one_of_three_dimensions() -> None:
    x = torch.arange(24.0).reshape(2, 3, 4)
    first = x.argmax(dim=0, keepdim=True)
    assert torch.take_along_dim(x, first, 0).tolist() == x[1:].tolist()
    last = torch.tensor([[[3], [0], [1]]])
    assert torch.take_along_dim(x, last, 2).tolist() == [[[3.0], [4.0], [9.0]], [[15.0], [16.0], [21.0]]]


def test_one_number_or_a_tensor_scattered() -> None:
    x, index = leaf([1.0, 2.0, 3.0]), torch.tensor([0, 2])
    one = x.scatter(0, index, 5.0)
    assert one.tolist() == [5.0, 2.0, 5.0]
    assert one.grad_fn.name() == "ScatterBackward1"
    assert x.scatter(0, index, const([5.0, 6.0])).grad_fn.name() == "ScatterBackward0"


def test_one_tensor_beside_itself() -> None:
    assert torch.hstack([const([[1.0, 2.0]])]).tolist() == [[1.0, 2.0]]
    assert torch.hstack([const([[1.0], [2.0]]), const([[3.0], [4.0]])]).tolist() == [[1.0, 3.0], [2.0, 4.0]]


def test_cross_entropy_of_one_row_with_probabilities() -> None:
    x, target = const([[1.0, 2.0]]), const([[0.25, 0.75]])
    loss = torch.nn.functional.cross_entropy(x, target)
    assert math.isclose(loss.item(), math.log(math.e + math.e**2) - 0.25 - 2 * 0.75)


def test_a_copy_in_another_order_is_no_view() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    turned = (x * 1).t()
    copy = turned.reshape(-1)
    copy.mul_(10)
    turned.sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert turned.tolist() == [[1.0, 3.0], [2.0, 4.0]]


def test_other_as_a_keyword() -> None:
    assert shape(const(1.0).expand_as(other=const([1.0, 2.0]))) == [2]


def test_which_minor_is_not_positive_definite() -> None:
    for matrix, order in (([[-1.0, 0.0], [0.0, 1.0]], 1), ([[1.0, 2.0], [2.0, 1.0]], 2)):
        with pytest.raises(RuntimeError, match=f"leading minor of order {order} is not positive-definite"):
            torch.linalg.cholesky(const(matrix))


def test_extremes_of_two_without_nan() -> None:
    nan = math.nan
    assert torch.fmax(const([1.0, nan, 2.0]), const([3.0, 2.0, nan])).tolist() == [3.0, 2.0, 2.0]
    assert slopes(torch.fmax, [1.5, nan, 2.0, 3.0], [1.0, 2.0, nan, 5.0]) == [[1, 0, 1, 0], [0, 1, 0, 1]]
    assert slopes(torch.fmin, [0.5, nan, 2.0, 3.0], [1.0, 2.0, nan, 5.0]) == [[1, 0, 1, 1], [0, 1, 0, 0]]
    assert torch.fmax(leaf(1.0), leaf(2.0)).grad_fn.name() == "FmaxBackward0"


def test_complex_parts_of_real_tensors() -> None:
    x = leaf([-1.0, 2.0])
    assert torch.real(x) is x
    assert torch.conj(x) is x
    assert torch.angle(x).tolist() == pytest.approx([math.pi, 0.0])
    assert slope(torch.angle, [-1.0, 2.0]) == [0.0, 0.0]


def test_slopes_of_samples() -> None:
    samples = [1.0, 4.0, 9.0, 16.0, 3.0]
    (found,) = torch.gradient(const(samples))
    assert found.tolist() == [3.0, 4.0, 6.0, -3.0, -13.0]
    (found,) = torch.gradient(const(samples), spacing=(const([0.0, 1.0, 3.0, 4.0, 6.0]),), edge_order=2)
    assert found.tolist() == pytest.approx([19 / 6, 17 / 6, 5.5, 2.5, -15.5])
    assert slope(lambda x: torch.gradient(x, spacing=2.0)[0] ** 2, samples) == [-2.5, 0.0, 1.75, 8.0, -7.25]
    rows = torch.gradient(const([[1.0, 4.0, 2.0], [3.0, 1.0, 7.0]]))
    assert [part.tolist() for part in rows] == [[[2.0, -3.0, 5.0]] * 2, [[3.0, 0.5, -2.0], [-2.0, 2.0, 6.0]]]
    with pytest.raises(RuntimeError, match="only supports edge_order=1 and edge_order=2"):
        torch.gradient(const(samples), edge_order=3)
    with pytest.raises(RuntimeError, match="each dimension size to be at least"):
        torch.gradient(const([1.0]))


def test_einsum_with_lists_of_labels() -> None:
    a, b = [[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [2.0, 0.25]]
    by_lists = slopes(lambda x, y: torch.einsum(x, [0, 1], y, [1, 2], [0, 2]) ** 2, a, b)
    assert by_lists == slopes(lambda x, y: torch.einsum("ij,jk->ik", x, y) ** 2, a, b)
    assert torch.einsum(const(a), [..., 0], [...]).tolist() == [3.0, 7.0]
    assert torch.einsum(const(a), [1, 0]).tolist() == [[1.0, 3.0], [2.0, 4.0]]
    with pytest.raises(ValueError, match=r"not within the valid range \[0, 52\)"):
        torch.einsum(const(a), [0, 52])
