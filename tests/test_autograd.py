"""What the tables in ``tests/behaviour`` leave to this package: memory, classes of errors, NumPy, differences from PyTorch."""

from __future__ import annotations

import gc
import math
import tracemalloc
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.errors import DtypeError, GradcheckError, GraphError, ShapeError
from tests.behaviour import leaf
from tests.functions import MyPow, WrongPow


def test_leaves_do_not_share_gradients() -> None:
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    start = ad.tensor([1.0, 1.0])
    (a + b).backward(start)
    a.grad._data[0] = 9
    assert b.grad.tolist() == [1.0, 1.0]
    assert start.tolist() == [1.0, 1.0]


def test_a_gradient_can_be_written_to() -> None:
    """Even where all its elements are one number; PyTorch refuses it there."""
    x = leaf([1.0, 2.0])
    (slope,) = ad.autograd.grad(x.sum(), x)
    slope.add_(1)
    assert slope.tolist() == [2.0, 2.0]


def _backward_twice(x: Any) -> None:
    y = x.exp().sum()
    y.backward()
    y.backward()


def _hooked(x: Any) -> None:
    x.register_hook(lambda g: ad.ones(3))
    (x * 2).sum().backward()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (_backward_twice, GraphError),
        (lambda x: ad.autograd.grad(x.detach(), x), GraphError),
        (lambda x: ad.autograd.grad(x.sum(), leaf(1.0)), GraphError),
        (lambda x: x.add_(1), GraphError),
        (lambda x: (x * 2).backward(), ShapeError),
        (lambda x: (x * 2).backward(ad.ones(3)), ShapeError),
        (_hooked, ShapeError),
        (lambda x: ad.tensor([1, 2], requires_grad=True), DtypeError),
    ],
)
def test_errors_are_of_the_package(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call(leaf([1.0, 2.0]))


@pytest.mark.parametrize(
    ("make", "shapes"),
    [
        (lambda a, b: a * b, ((3, 1), (1, 4))),
        (lambda a, b: a + b, ((), (2, 3))),
        (lambda a, b: a / b, ((2, 1, 3), (4, 1))),
        (lambda a, b: a - b, ((1,), (5,))),
        (lambda a, b: ad.maximum(a, b), ((2, 2), (2,))),
        (lambda a, b: a @ b, ((2, 1, 3, 2), (4, 2, 3))),
        (lambda a, b: a @ b, ((3,), (2, 3, 4))),
        (lambda a, b: ad.where(a > 0, a, b), ((3, 1), (3,))),
    ],
)
def test_broadcasting(make: Any, shapes: Any) -> None:
    generator = np.random.default_rng(1)
    tensors = [leaf(generator.uniform(0.5, 2, shape)) for shape in shapes]
    assert ad.autograd.gradcheck(make, tensors)
    assert ad.autograd.gradgradcheck(make, tensors)


@pytest.mark.parametrize(
    "key",
    [
        *(0, -1, slice(1, None), slice(None, None, 2), (slice(None), 1), (..., 0), None, (0, None, slice(0, 2))),
        *([0, 0, 2], ([0, 1], [1, 1]), np.array([[True, False, True]] * 3)),
    ],
    ids=str,
)
def test_indexing(key: Any) -> None:
    data = np.arange(9.0).reshape(3, 3, order="F")  # a step of one element must not be made in a copy
    x = ad.from_numpy(data).requires_grad_(True)
    assert np.array_equal(x[key].detach().numpy(), data[key])
    assert ad.autograd.gradcheck(lambda v: v[key] ** 2, x)
    assert ad.autograd.gradgradcheck(lambda v: v[key] ** 2, x)


def test_one_no_grad_may_be_used_inside_of_itself() -> None:
    """In PyTorch recording stays off afterwards."""
    guard = ad.no_grad()
    with guard:
        with guard:
            assert not ad.is_grad_enabled()
        assert not ad.is_grad_enabled()
    assert ad.is_grad_enabled()


def test_function() -> None:
    x, q = leaf(5.0), leaf(3.0)
    y = MyPow.apply(x, q)
    assert type(y.grad_fn).__name__ == "MyPowBackward"
    assert ad.autograd.gradcheck(MyPow.apply, (x, q))
    assert ad.autograd.gradgradcheck(MyPow.apply, (x, q))


class _MarksTheResult(ad.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        result = x * 2
        ctx.mark_dirty(result)
        return result


@pytest.mark.parametrize("call", [_MarksTheResult.apply, lambda x: ad.autograd.gradcheck(ad.sin, x, atol=1.0)])
def test_a_warning_names_the_line_of_the_caller(call: Any) -> None:
    with pytest.warns(UserWarning, match="not an input|double precision") as caught:
        call(ad.tensor([1.0], dtype=ad.float32, requires_grad=True))
    assert caught[0].filename == __file__


def test_gradcheck_catches_a_wrong_backward() -> None:
    with pytest.raises(GradcheckError) as caught:
        ad.autograd.gradcheck(WrongPow.apply, (leaf(5.0), leaf(3.0)))
    assert str(caught.value).startswith(
        "Jacobian mismatch for output 0 with respect to input 1,\nnumerical:tensor([[201.1797]])\nanalytical:tensor([[223.9699]])"
    )
    assert not ad.autograd.gradcheck(WrongPow.apply, (leaf(5.0), leaf(3.0)), raise_exception=False)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ad.tensor(4.828313827514648), "tensor(4.8283)"),
        (lambda: ad.tensor(5.0), "tensor(5.)"),
        (lambda: ad.ones(2, 2), "tensor([[1., 1.],\n        [1., 1.]])"),
        (lambda: ad.tensor([1.5, 2.0, -3.0]), "tensor([ 1.5000,  2.0000, -3.0000])"),
        (lambda: ad.tensor([1e-6, 1.0]), "tensor([1.0000e-06, 1.0000e+00])"),
        (lambda: ad.tensor([-4e-309, 1.0]), "tensor([-4.0000e-309,   1.0000e+00])"),
        (lambda: ad.tensor([1, 20]), "tensor([ 1, 20])"),
        (lambda: ad.tensor(2.0, requires_grad=True), "tensor(2., requires_grad=True)"),
        (lambda: ad.log(leaf(2.0)), "tensor(0.6931, grad_fn=<LogBackward0>)"),
        (lambda: ad.tensor(1.5, dtype=ad.float32), "tensor(1.5000, dtype=torch.float32)"),
    ],
)
def test_printing(make: Any, text: str) -> None:
    """The texts are those of PyTorch 2.13 with the same default type."""
    with np.errstate(all="raise"):
        assert repr(make()) == text


def test_memory_does_not_grow_over_backward_passes() -> None:
    x = leaf(0.5)

    def once() -> None:
        ad.sin(x * x + ad.exp(x)).backward()

    gc.collect()
    gc.disable()
    try:
        tracemalloc.start()
        for _ in range(1100):  # a tensor stores the numbers of its last 1000 changes
            once()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(2000):
            once()
        after = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
    finally:
        gc.enable()
    assert after - before < 4096


def test_a_graph_without_backward_is_freed_without_the_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        x = leaf([0.5])
        y = ad.exp(ad.sin(x) * x)
        node = weakref.ref(y.grad_fn)
        assert node() is not None
        del y
        assert node() is None
    finally:
        gc.enable()


def test_types_of_integers_and_booleans() -> None:
    assert (ad.tensor([True]) ** 2).dtype == ad.int64
    assert ad.exp(ad.tensor([True])).dtype == ad.float64
    try:
        ad.set_default_dtype(ad.float32)
        integers = ad.tensor([1, 2])
        for made in (integers * 0.5, integers / 2, integers**0.5, 2.5**integers, ad.where(integers > 1, 1.0, 2.0)):
            assert made.dtype == ad.float32
    finally:
        ad.set_default_dtype(ad.float64)


def test_numbers_of_numpy_do_not_widen() -> None:
    single = ad.tensor(2.0, dtype=ad.float32)
    assert (np.float64(2) - single).dtype == ad.float32
    assert (single ** np.float64(2)).dtype == ad.float32
    assert (np.float64(2) * single).dtype == ad.float32


def test_comparing_with_what_is_no_number() -> None:
    x = leaf(1.0)
    assert (x == None) is False  # noqa: E711
    assert (x != "a") is True


def test_aliases_are_names_of_the_package() -> None:
    for name in ("ln", "arcsin", "clip", "concat", "power", "absolute"):
        assert callable(getattr(ad, name))


def test_what_was_saved_is_what_it_was() -> None:
    """A constant that requires grad later on is still a constant in a graph recorded before."""
    x, constant = leaf(2.0), ad.tensor(3.0)
    z = x * constant
    constant.requires_grad_()
    (first,) = ad.autograd.grad(z, x, create_graph=True)
    assert first.item() == 3
    assert not first.requires_grad


def test_batched_gradients_need_examples() -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(ShapeError, match="is_grads_batched"):
        ad.autograd.grad(x * 1, x, [], is_grads_batched=True)


def test_high_orders_of_arrays_grow_with_their_numbers_only() -> None:
    """Order 8 of two elements takes 255 sweeps, none of which meets the graphs of the others: else it takes hours."""
    found = ad.evaluate("sin(v)", {"v": [1.0, 2.0]}, order=8, gradient=[1.0, 10.0])
    eighth = np.asarray(found.derivatives[("v",) * 8])
    assert eighth.shape == (2,) * 8
    assert eighth[(0,) * 8] == pytest.approx(np.sin(1))
    assert eighth[(1,) * 8] == pytest.approx(10 * np.sin(2))
    assert np.count_nonzero(eighth) == 2


def test_anomaly_mode_puts_an_error_at_its_forward_place() -> None:
    from autodiff_cli.autograd.reverse.anomaly import SourcePlace, forward_place

    source = "y = sqrt(x)\nz = y*0"
    spans = iter([(4, 11), (16, 19)])
    before = forward_place.set(lambda: SourcePlace(next(spans), source, "file.txt"))
    try:
        with warnings.catch_warnings(), ad.autograd.set_detect_anomaly(True):
            warnings.simplefilter("error")
            x = ad.tensor(0.0, requires_grad=True)
            z = ad.sqrt(x) * 0
            with pytest.raises(GraphError, match="SqrtBackward0") as caught:
                z.backward()
    finally:
        forward_place.reset(before)
    assert (caught.value.span, caught.value.source, caught.value.path) == ((4, 11), source, "file.txt")


def test_large_cotangents_are_added_without_a_change_of_others() -> None:
    """NumPy adds to an array of more than 256 KiB in place if nothing else refers to it."""
    x = ad.tensor(np.linspace(0, 1, 50_000), requires_grad=True)
    start, seen = ad.ones(50_000), []
    inner = x * 2
    inner.register_hook(lambda g: seen.append(g))
    y = inner + inner * x + inner
    (y + y + x).backward(start, retain_graph=True)
    (y + y + x).backward(start)
    np.testing.assert_array_equal(start.numpy(), 1)
    np.testing.assert_array_equal(seen[0].numpy(), seen[1].numpy())
    np.testing.assert_allclose(x.grad.numpy(), 2 * (2 * (4 + 4 * x.detach().numpy()) + 1))


@pytest.mark.parametrize("shape", [(100, 10), (70, 1), (8, 10, 32), (64, 33)])
def test_many_short_sums_are_exact_and_keep_infinities(shape: tuple[int, ...]) -> None:
    numbers = np.random.default_rng(0).standard_normal(shape) * 10.0 ** np.arange(shape[-1])
    rows = numbers.reshape(-1, shape[-1])
    exact = np.array([math.fsum(row) for row in rows]).reshape(shape[:-1])
    rounding = np.abs(rows).sum(-1).reshape(shape[:-1]) * shape[-1] * 2.0**-53
    assert np.all(np.abs(ad.sum(ad.tensor(numbers), -1).numpy() - exact) <= rounding)
    assert ad.sum(ad.tensor(numbers), -1, keepdim=True).shape == (*shape[:-1], 1)
    rows[0, 0], rows[1, 0], rows[2, :] = np.inf, np.nan, -np.inf
    np.testing.assert_array_equal(ad.sum(ad.tensor(numbers), -1).numpy().reshape(-1)[:3], [np.inf, np.nan, -np.inf])
