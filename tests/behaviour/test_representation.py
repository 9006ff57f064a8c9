"""Signs, exponents and bits of numbers, bounds, rounding, sequences and ranks: the numbers and names are those of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.behaviour import torch

inf, nan = float("inf"), float("nan")


def leaf(values: Any) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def longs(values: Any) -> Any:
    return torch.tensor(values, dtype=torch.int64)


DERIVATIVES: list[tuple[Callable[..., Any], list[Any], list[float], list[list[float]], str]] = [
    (lambda x: torch.copysign(x, -1), [[1.5, -2.25, 0.0]], [-1.5, -2.25, -0.0], [[-1, 1, 0]], "CopysignBackward1"),
    (torch.copysign, [[1.5, -2.0], [-3.0, -0.0]], [-1.5, -2.0], [[-1, 1], [0, 0]], "CopysignBackward0"),
    (torch.ldexp, [[1.5, -2.25], [1.0, 2.0]], [3.0, -9.0], [[2, 4], [2.0794415416798357, -6.238324625039507]], "LdexpBackward0"),
    (lambda x: torch.frexp(x).mantissa, [[1.5, -2.25, 0.0]], [0.75, -0.5625, 0.0], [[0.5, 0.25, 1]], "FrexpBackward0"),
    (lambda x: torch.float_power(x, 2), [[1.5, -2.0]], [2.25, 4.0], [[3, -4]], "PowBackward0"),
    (lambda x: torch.float_power(2, x), [[2.0]], [4.0], [[2.772588722239781]], "PowBackward2"),
    (lambda x: torch.clamp_min(x, 1), [[0.5, 2.0]], [1, 2], [[0, 1]], "ClampMinBackward0"),
    (lambda x: x.clamp_max(max=1.0), [[0.5, 2.0]], [0.5, 1], [[1, 0]], "ClampMaxBackward0"),
    (torch.clamp_min, [[0.5, 2.0], [1.0, 1.0]], [1, 2], [[0, 1], [1, 0]], "ClampMinBackward1"),
    (torch.clamp_max, [[0.5, 2.0], [1.0, 1.0]], [0.5, 1], [[1, 0], [0, 1]], "ClampMaxBackward1"),
    (lambda x: x.round(decimals=1), [[0.25, -2.26]], [0.2, -2.3], [[0, 0]], "RoundBackward1"),
    (lambda x: torch.round(x, decimals=-1), [[25.0, -38.0]], [20, -40], [[0, 0]], "RoundBackward1"),
]


@pytest.mark.parametrize(("function", "points", "values", "slopes", "node"), DERIVATIVES, ids=[case[-1] for case in DERIVATIVES])
def test_values_derivatives_and_nodes(
    function: Callable[..., Any], points: list[Any], values: list[float], slopes: list[list[float]], node: str
) -> None:
    leaves = [leaf(point) for point in points]
    made = function(*leaves)
    assert made.tolist() == pytest.approx(values)
    assert made.grad_fn.name() == node
    found = torch.autograd.grad(made.sum(), leaves)
    assert [each.tolist() for each in found] == [pytest.approx(slope) for slope in slopes]


N, M = longs([5, -3, 2]), longs([[1, 2], [3, 4]]).double()
CONSTANTS: list[tuple[Callable[[], Any], Any]] = [
    (lambda: torch.signbit(torch.tensor([1.0, -1.0, -0.0, nan])), [False, True, True, False]),
    (lambda: torch.signbit(N), [False, True, False]),
    (lambda: torch.frexp(torch.tensor([0.0, 8.0, inf])).exponent, [0, 4, 0]),
    (lambda: torch.bitwise_and(N, 3), [1, 1, 2]),
    (lambda: torch.bitwise_or(N, 8), [13, -3, 10]),
    (lambda: N.bitwise_xor(longs([1, 1, 1])), [4, -4, 3]),
    (lambda: torch.bitwise_not(N), [-6, 2, -3]),
    (lambda: ~torch.tensor([True, False]), [False, True]),
    (lambda: torch.bitwise_and(torch.tensor([True, True]), torch.tensor([True, False])), [True, False]),
    (lambda: N << 1, [10, -6, 4]),
    (lambda: 1 << N, [32, 0, 4]),
    (lambda: N >> 70, [0, -1, 0]),
    (lambda: N.bitwise_right_shift(1), [2, -2, 1]),
    (lambda: torch.logspace(0, 2, 3), [1, 10, 100]),
    (lambda: torch.logspace(0, 3, 4, base=-2), [1, -2, 4, -8]),
    (lambda: torch.tril_indices(2, 4, 1), [[0, 0, 1, 1, 1], [0, 1, 0, 1, 2]]),
    (lambda: torch.triu_indices(3, 2, offset=-1), [[0, 0, 1, 1, 2], [0, 1, 0, 1, 1]]),
    (lambda: torch.linalg.matrix_rank(torch.ones(2, 3, 3)), [1, 1]),
    (lambda: torch.linalg.matrix_rank(torch.eye(3), tol=2.0), 0),
    (lambda: torch.linalg.matrix_rank(M, hermitian=True), 2),
    (lambda: torch.linalg.matrix_rank(torch.tensor([[1.0, 0], [0, 1e-3]]), rtol=1e-2), 1),
    (lambda: torch.linalg.matrix_rank(torch.tensor([[1.0, 0], [0, 1e-3]]), atol=1e-4, rtol=1e-2), 1),
    (lambda: torch.linalg.cond(M, 1), 21.0),
    (lambda: torch.linalg.cond(M, inf), 21.0),
    (lambda: torch.linalg.cond(M, "fro"), 15.0),
    (lambda: torch.linalg.cond(M), 14.933034373659263),
    (lambda: torch.linalg.cond(M, -2), 0.06696562850621213),
    (lambda: torch.linalg.cond(torch.zeros(2, 2), 1), inf),
    (lambda: longs([1, 2, 3]).put(longs([-1, 0]), longs([7, 8])), [8, 2, 7]),
]


@pytest.mark.parametrize(("call", "values"), CONSTANTS)
def test_results_without_derivatives(call: Callable[[], Any], values: Any) -> None:
    assert call().tolist() == pytest.approx(values) if values and not isinstance(values, list) else call().tolist() == values


def test_the_slope_of_a_condition_number_is_that_of_the_extreme_singular_values() -> None:
    x = leaf([[2.0, 0.0], [0.0, 4.0]])
    (slope,) = torch.autograd.grad(torch.linalg.cond(x), x)
    assert slope.tolist() == [pytest.approx([-1.0, 0.0]), pytest.approx([0.0, 0.5])]


def test_changes_in_place() -> None:
    x = leaf([1.5, -2.26])
    y = (x * 2).clamp_min_(-1).copysign_(x.detach())
    assert y.tolist() == [3.0, -1.0]
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [2.0, 0.0]
    n = longs([5, 3])
    n <<= 1
    n.bitwise_or_(1)
    assert n.tolist() == [11, 7]
    assert torch.tensor([nan, 1.26]).nan_to_num_(5.0).round_(decimals=1).tolist() == pytest.approx([5.0, 1.3])
    z = torch.zeros(2, 2).put_(longs([3, 3]), torch.tensor([1.0, 2.0]), accumulate=True)
    assert z.tolist() == [[0, 0], [0, 3]]


def test_logic_in_place_keeps_the_history() -> None:
    x = leaf([1.0, 0.0])
    y = x * 2
    node = y.grad_fn
    y.logical_not_()
    assert y.tolist() == [0.0, 1.0]
    assert y.grad_fn is node
    assert x.logical_or_(y).tolist() == [1.0, 1.0]
    assert x.is_leaf
    assert x.requires_grad


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: torch.bitwise_and(torch.tensor([1.5]), 3),
        lambda: torch.tensor([1.5]) << 1,
        lambda: torch.frexp(N),
        lambda: torch.round(N, decimals=1),
        lambda: torch.linalg.cond(torch.ones(2)),
        lambda: torch.linalg.cond(torch.eye(2), 3),
        lambda: torch.linalg.cond(torch.ones(2, 3), 1),
        lambda: torch.linalg.matrix_rank(torch.ones(2)),
        lambda: longs([1, 2]).put(longs([0, 1]), longs([1])),
        lambda: torch.logspace(0, 1, -1),
        lambda: torch.tril_indices(-1, 2),
    ],
)
def test_wrong_arguments(wrong: Callable[[], Any]) -> None:
    with pytest.raises((RuntimeError, ValueError, TypeError, IndexError)):
        wrong()
