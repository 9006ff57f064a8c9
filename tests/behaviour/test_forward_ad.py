"""Forward mode: dual tensors, what carries a tangent and what drops it, views and changes in place, ``Function.jvp``."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import pytest

from tests.behaviour import const, leaf, quiet, shape, torch

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyTorch's, the first time that a dual is made

fw: Any = torch.autograd.forward_ad
Function: Any = torch.autograd.Function


def tangent(function: Callable[..., Any], *pairs: tuple[Any, Any]) -> Any:
    """The tangent of the result, as a list, for pairs of a primal and a tangent."""
    with fw.dual_level():
        found = fw.unpack_dual(function(*[fw.make_dual(const(x), const(t)) for x, t in pairs])).tangent
        return None if found is None else found.tolist()


def dual(x: Any, t: Any) -> Any:
    return fw.make_dual(const(x), const(t))


def moved(tensor: Any) -> Any:
    return fw.unpack_dual(tensor).tangent


# Levels


def test_a_level_gives_its_number() -> None:
    with fw.dual_level() as level:
        assert level == 0


def test_levels_do_not_nest() -> None:
    with fw.dual_level(), pytest.raises(RuntimeError, match="Nested forward mode AD is not supported at the moment"):
        fw.enter_dual_level()


def test_a_level_can_be_entered_again() -> None:
    for _ in range(2):
        assert fw.enter_dual_level() == 0
        fw.exit_dual_level()


def test_only_the_last_level_can_be_left() -> None:
    with fw.dual_level(), pytest.raises(RuntimeError, match="that was not the last one that was created"):
        fw.exit_dual_level(level=3)


def test_there_is_nothing_to_leave_outside() -> None:
    with pytest.raises(RuntimeError):
        fw.exit_dual_level()


def test_a_level_decorates() -> None:
    @fw.dual_level()
    def run() -> Any:
        return moved(dual(2.0, 3.0) ** 2).item()

    assert run() == 12.0


def test_tangents_end_with_their_level() -> None:
    with fw.dual_level():
        y = dual(2.0, 1.0) * 3
    with fw.dual_level():
        assert moved(y) is None
        assert moved(y * 2) is None
    assert "tangent" not in repr(y)
    assert (y + 1).item() == 7.0


def test_an_error_inside_closes_the_level() -> None:
    with pytest.raises(ZeroDivisionError), fw.dual_level():
        raise ZeroDivisionError
    with fw.dual_level():
        pass


# Making and unpacking


def test_a_dual_needs_a_level() -> None:
    with pytest.raises(RuntimeError, match="make sure to enter_dual_level"):
        fw.make_dual(const(1.0), const(1.0))


def test_unpacking_outside_gives_the_tensor() -> None:
    x = const(1.0)
    assert fw.unpack_dual(x).primal is x
    assert fw.unpack_dual(x).tangent is None


def test_unpacking_gives_the_tangent_itself() -> None:
    x, t = const([1.0, 2.0]), const([3.0, 4.0])
    with fw.dual_level():
        primal, found = fw.unpack_dual(fw.make_dual(x, t))
        assert found is t
        assert primal.tolist() == [1.0, 2.0]
        assert moved(primal) is None


def test_the_parts_have_names() -> None:
    with fw.dual_level():
        assert fw.unpack_dual(dual(1.0, 2.0))._fields == ("primal", "tangent")


def test_a_dual_shares_the_memory_of_its_primal() -> None:
    x = const([1.0, 2.0])
    with fw.dual_level():
        d = fw.make_dual(x, const([1.0, 1.0]))
        x[0] = 5.0
        assert d.tolist() == [5.0, 2.0]
        assert moved(x) is None


def test_shapes_must_agree() -> None:
    with fw.dual_level(), pytest.raises(RuntimeError, match=r"Tensor is of size \[2\] while the given forward gradient is of size"):
        dual([1.0, 2.0], [1.0])


@pytest.mark.parametrize("what", ["primal", "tangent"])
def test_only_floating_point(what: str) -> None:
    whole, real = torch.tensor([1]), const([1.0])
    with fw.dual_level(), pytest.raises(ValueError, match=f"Expected {what} to be floating point"):
        fw.make_dual(*((whole, real) if what == "primal" else (real, whole)))


def test_a_dual_is_not_made_dual_again() -> None:
    with fw.dual_level():
        d = dual(1.0, 1.0)
        with pytest.raises(RuntimeError, match="already has a forward gradient at the same level 0"):
            fw.make_dual(d, const(1.0))
        with pytest.raises(RuntimeError, match="Setting a forward grad that itself has a forward gradient"):
            fw.make_dual(const(1.0), d)


def test_a_dual_prints_its_tangent() -> None:
    with fw.dual_level():
        assert repr(dual([1.0], [2.0])).endswith("tangent=tensor([2.]))") or "tangent=tensor([2.], dtype" in repr(
            dual([1.0], [2.0])
        )
        assert "tangent=2.0)" in repr(dual(1.0, 2.0))


def test_a_dual_of_a_leaf_is_not_a_leaf() -> None:
    x = leaf([1.0, 2.0])
    with fw.dual_level():
        d = fw.make_dual(x, const([1.0, 1.0]))
        assert d.requires_grad
        assert not d.is_leaf
        assert d.grad_fn is not None


# Functions


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x * x, [4.0, -24.0]),
        (lambda x: x / 2 + 1, [0.5, -2.0]),
        (lambda x: 1 / x, [-0.25, 4 / 9]),
        (lambda x: x**3, [12.0, -108.0]),
        (lambda x: -x, [-1.0, 4.0]),
        (lambda x: x.abs(), [1.0, -4.0]),
        (lambda x: x.relu() + x.clamp(max=2.5), [2.0, -4.0]),
        (lambda x: torch.where(x > 2.5, x * x, -x), [-1.0, -24.0]),
        (lambda x: x.sum(), -3.0),
        (lambda x: x.mean(), -1.5),
        (lambda x: x.prod(), -5.0),
        (lambda x: x.max(), -4.0),
        (lambda x: x.cumsum(0), [1.0, -3.0]),
        (lambda x: x.cumprod(0), [1.0, -5.0]),
        (lambda x: x.flip(0), [-4.0, 1.0]),
        (lambda x: x.sort(descending=True).values, [-4.0, 1.0]),
        (lambda x: x.reshape(2, 1).T, [[1.0, -4.0]]),
        (lambda x: x[1:], [-4.0]),
        (lambda x: x @ x, -20.0),
        (lambda x: torch.outer(x, x), [[4.0, -5.0], [-5.0, -24.0]]),
        (lambda x: torch.stack([x, const([1.0, 1.0])]), [[1.0, -4.0], [0.0, 0.0]]),
        (lambda x: torch.cat([const([1.0]), x]), [0.0, 1.0, -4.0]),
        (lambda x: x.unbind()[1], -4.0),
        (lambda x: torch.einsum("i,i->", x, x), -20.0),
        (lambda x: x.var(), -5.0),
        (lambda x: torch.linalg.inv(torch.diag(x)), [[-0.25, 0.0], [0.0, 4 / 9]]),
        (lambda x: torch.linalg.det(torch.diag(x)), -5.0),
    ],
)
def test_the_tangent_of(function: Any, expected: Any) -> None:
    found = tangent(function, ([2.0, 3.0], [1.0, -4.0]))
    assert torch.allclose(const(found), const(expected), rtol=1e-12, atol=1e-12)


def test_tangents_of_both_arguments_add_up() -> None:
    assert tangent(lambda x, y: x * y, (2.0, 1.0), (3.0, 10.0)) == 23.0
    assert tangent(torch.matmul, ([[1.0, 2.0]], [[1.0, 0.0]]), ([[3.0], [4.0]], [[0.0], [1.0]])) == [[5.0]]


def test_tangents_broadcast() -> None:
    assert tangent(lambda x: x + const([[1.0], [2.0]]), ([1.0, 2.0], [3.0, 4.0])) == [[3.0, 4.0], [3.0, 4.0]]
    assert tangent(lambda x, y: x * y, ([[1.0], [2.0]], [[1.0], [0.0]]), ([5.0, 6.0], [0.0, 1.0])) == [[5.0, 7.0], [0.0, 2.0]]


def test_a_constant_does_not_have_a_tangent() -> None:
    with fw.dual_level():
        assert moved(const(1.0) * 2) is None
        assert moved(dual(1.0, 1.0) > 0) is None
        assert moved(dual([1.0, 2.0], [1.0, 1.0]).argmax()) is None


@pytest.mark.parametrize("name", ["floor", "ceil", "round", "sign", "trunc"])
def test_steps_have_a_tangent_of_zeros(name: str) -> None:
    assert tangent(lambda x: getattr(x, name)(), ([1.5, -2.5], [1.0, 1.0])) == [0.0, 0.0]


def test_a_branch_not_taken_does_not_contribute() -> None:
    assert tangent(lambda x: torch.where(x > 0, x.sqrt(), const(0.0)), (0.0, 1.0)) == 0.0


def test_types_are_kept() -> None:
    with fw.dual_level():
        x = fw.make_dual(torch.tensor([1.0], dtype=torch.float32), torch.tensor([2.0], dtype=torch.float32))
        assert moved(x.exp()).dtype is torch.float32
        assert moved(x.double()).dtype is torch.float64
        assert moved(x * const([1.0])).dtype is torch.float64


def test_detach_drops_the_tangent_and_clone_keeps_it() -> None:
    with fw.dual_level():
        d = dual([1.0], [2.0])
        assert moved(d.detach()) is None
        assert moved(d.data) is None
        assert moved(d.clone()).tolist() == [2.0]
        assert moved(d.clone()) is not moved(d)


def test_no_grad_keeps_tangents() -> None:
    with fw.dual_level(), torch.no_grad():
        assert moved(dual(3.0, 1.0) ** 2).item() == 6.0


def test_inference_mode_drops_them() -> None:
    with fw.dual_level():
        d = dual(3.0, 1.0)
        with torch.inference_mode():
            y = d * 2
        assert moved(y) is None


# With reverse mode


def test_gradients_do_not_change() -> None:
    x = leaf([1.0, 2.0])
    with fw.dual_level():
        (fw.make_dual(x, const([1.0, 1.0])) ** 2).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_the_gradient_of_a_dual_is_a_product_with_the_hessian() -> None:
    x = leaf([1.0, 2.0])
    with fw.dual_level():
        y = (fw.make_dual(x, const([3.0, 4.0])) ** 3).sum()
        (g,) = torch.autograd.grad(y, x)
        assert g.tolist() == [3.0, 12.0]
        assert moved(g).tolist() == [18.0, 48.0]


def test_a_tangent_is_differentiable_in_the_point() -> None:
    x = leaf(2.0)
    with fw.dual_level():
        t = moved(fw.make_dual(x, const(1.0)) ** 3)
    assert torch.autograd.grad(t, x)[0].item() == 12.0


def test_a_tangent_is_differentiable_in_the_direction() -> None:
    v = leaf([1.0, 1.0])
    with fw.dual_level():
        t = moved(fw.make_dual(const([2.0, 3.0]), v).prod())
    assert torch.autograd.grad(t, v)[0].tolist() == [3.0, 2.0]


def test_a_dual_cotangent_gives_a_dual_gradient() -> None:
    x = leaf(2.0)
    with fw.dual_level():
        (g,) = torch.autograd.grad(x**2, x, dual(1.0, 5.0))
        assert g.item() == 4.0
        assert moved(g).item() == 20.0


def test_a_recorded_gradient_keeps_its_tangent() -> None:
    x = leaf(2.0)
    with fw.dual_level():
        (g,) = torch.autograd.grad(fw.make_dual(x, const(1.0)) ** 3, x, create_graph=True)
        assert moved(g * 2).item() == 24.0
        assert torch.autograd.grad(g, x)[0].item() == 12.0


# Views and changes in place


def test_the_tangent_of_a_view_is_a_view() -> None:
    with fw.dual_level():
        d = dual([1.0, 2.0], [3.0, 4.0])
        moved(d[0:1]).zero_()
        assert moved(d).tolist() == [0.0, 4.0]


def test_a_change_changes_both_parts() -> None:
    with fw.dual_level():
        d = dual([1.0, 2.0], [3.0, 4.0]).clone()
        d.mul_(2)
        assert d.tolist() == [2.0, 4.0]
        assert moved(d).tolist() == [6.0, 8.0]
        d += 1
        assert moved(d).tolist() == [6.0, 8.0]


def test_zero_sets_the_tangent_to_zero() -> None:
    with fw.dual_level():
        d = dual([1.0, 2.0], [3.0, 4.0]).clone()
        d.zero_()
        assert moved(d).tolist() == [0.0, 0.0]


def test_a_change_of_a_view_reaches_its_base() -> None:
    with fw.dual_level():
        d = dual([1.0, 2.0], [3.0, 4.0]).clone()
        d[0].mul_(10)
        assert d.tolist() == [10.0, 2.0]
        assert moved(d).tolist() == [30.0, 4.0]


def test_a_change_of_the_base_reaches_its_views() -> None:
    with fw.dual_level():
        d = dual([1.0, 2.0], [3.0, 4.0]).clone()
        v = d[1:]
        d.mul_(10)
        assert v.tolist() == [20.0]
        assert moved(v).tolist() == [40.0]


def test_writing_a_dual_into_a_tensor_makes_it_dual() -> None:
    with fw.dual_level():
        x = torch.zeros(2, dtype=torch.float64)
        x.copy_(dual([1.0, 2.0], [3.0, 4.0]))
        assert moved(x).tolist() == [3.0, 4.0]
        y = torch.ones(2, dtype=torch.float64)
        y *= dual([1.0, 2.0], [3.0, 4.0])
        assert moved(y).tolist() == [3.0, 4.0]
    assert x.tolist() == [1.0, 2.0]


def test_writing_a_dual_into_a_view_gives_the_base_a_tangent() -> None:
    with fw.dual_level():
        x = torch.zeros(3, dtype=torch.float64)
        other = x[1:]
        x[0] = dual(5.0, 7.0)
        assert x.tolist() == [5.0, 0.0, 0.0]
        assert moved(x).tolist() == [7.0, 0.0, 0.0]
        assert moved(other).tolist() == [0.0, 0.0]


def test_writing_a_dual_into_the_base_gives_views_a_tangent() -> None:
    with fw.dual_level():
        x = torch.zeros(2, dtype=torch.float64)
        v = x[:1]
        x.copy_(dual([1.0, 2.0], [3.0, 4.0]))
        assert moved(v).tolist() == [3.0]


def test_a_copy_does_not_share_the_tangent() -> None:
    with fw.dual_level():
        d = dual([1.0], [3.0])
        x = torch.zeros(1, dtype=torch.float64)
        x.copy_(d)
        x.mul_(2)
        assert moved(x).tolist() == [6.0]
        assert moved(d).tolist() == [3.0]


def test_changes_are_differentiable_in_both_modes() -> None:
    x = leaf([1.0, 2.0])
    with fw.dual_level():
        y = fw.make_dual(x, const([1.0, 10.0])) * 1
        y[0].mul_(y[1].clone())
        y.mul_(3)
        assert moved(y).tolist() == [36.0, 30.0]
        (g,) = torch.autograd.grad(y.sum(), x)
        assert g.tolist() == [6.0, 6.0]
        assert moved(g).tolist() == [30.0, 3.0]


def test_a_list_of_positions() -> None:
    with fw.dual_level():
        x = torch.zeros(3, dtype=torch.float64)
        x[[0, 2]] = dual([1.0, 2.0], [3.0, 4.0])
        assert moved(x).tolist() == [3.0, 0.0, 4.0]
        assert moved(x[[2, 2]]).tolist() == [4.0, 4.0]


# Functions with a derivative of their own


class Square(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_forward(x)
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * ctx.saved_tensors[0] * g

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return 2 * ctx.saved_tensors[0] * t


def test_jvp_gives_the_tangent() -> None:
    assert tangent(Square.apply, ([3.0], [10.0])) == [60.0]


def test_jvp_is_not_called_without_tangents() -> None:
    class Unsupported(Square):
        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            raise AssertionError

    with fw.dual_level():
        assert Unsupported.apply(const([3.0])).tolist() == [9.0]


def test_without_jvp_forward_mode_stops() -> None:
    class Plain(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * x

    with pytest.raises(NotImplementedError, match="You must implement the jvp function for custom"):
        tangent(Plain.apply, (1.0, 1.0))


class Product(Function):
    """The product and the sum of two tensors, and a number that is passed through."""

    received: Any = None

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any, n: int) -> Any:
        ctx.save_for_forward(x, y)
        return x * y, x + y

    @staticmethod
    def jvp(ctx: Any, tx: Any, ty: Any, tn: Any) -> Any:
        x, y = ctx.saved_tensors
        Product.received = (tx, ty, tn)
        return tx * y + x * ty, tx + ty


def test_constants_get_zeros() -> None:
    with fw.dual_level():
        product, total = Product.apply(dual([2.0], [1.0]), const([5.0]), 7)
        assert moved(product).tolist() == [5.0]
        assert moved(total).tolist() == [1.0]
    assert Product.received[1].tolist() == [0.0]
    assert Product.received[2] is None


def test_constants_get_none_if_not_materialized() -> None:
    class Lazy(Product):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any, n: int) -> Any:
            ctx.set_materialize_grads(False)
            return Product.forward(ctx, x, y, n)

        @staticmethod
        def jvp(ctx: Any, tx: Any, ty: Any, tn: Any) -> Any:
            assert ty is None
            return tx * ctx.saved_tensors[1], tx

    with fw.dual_level():
        assert moved(Lazy.apply(dual([2.0], [1.0]), const([5.0]), 7)[0]).tolist() == [5.0]


def test_the_context_can_be_set_up_apart() -> None:
    class Cube(Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x**3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_forward(inputs[0], output)

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            x, y = ctx.saved_tensors
            return 3 * y / x * t

    assert tangent(Cube.apply, ([2.0], [1.0])) == [12.0]


def bad(result: Callable[[Any], Any], *, forward: Any = None) -> Any:
    class Bad(Square):
        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return result(t)

    if forward is not None:
        Bad.forward = staticmethod(forward)
    with fw.dual_level():
        return Bad.apply(dual([2.0, 3.0], [1.0, 1.0]).clone())


def test_jvp_returns_one_tangent_for_each_result() -> None:
    with pytest.raises(RuntimeError, match=r"invalid number of forward gradients \(expected 1 but got 2\)"):
        bad(lambda t: (t, t))


def test_jvp_returns_the_right_shape() -> None:
    with pytest.raises(RuntimeError, match="has a different size than that of the original Tensor"):
        bad(lambda t: t.sum())


def test_jvp_returns_tensors() -> None:
    with pytest.raises(RuntimeError, match=r"expected Variable or None \(got str\) for grad output 0"):
        bad(lambda t: "tangent")


def test_a_constant_result_takes_none() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        positive = x > 0
        ctx.mark_non_differentiable(positive)
        return x * 2, positive

    assert moved_of(lambda t: (t * 2, None), forward) == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="the corresponding forward output is not a differentiable Tensor"):
        bad(lambda t: (t, t), forward=forward)


def moved_of(result: Callable[[Any], Any], forward: Any) -> Any:
    with fw.dual_level():

        class Good(Function):
            @staticmethod
            def jvp(ctx: Any, t: Any) -> Any:
                return result(t)

        Good.forward = staticmethod(forward)
        found = Good.apply(dual([2.0, 3.0], [1.0, 1.0]).clone())
        return moved(found[0] if isinstance(found, tuple) else found).tolist()


def _doubled(ctx: Any, x: Any) -> Any:
    ctx.mark_dirty(x)
    return x.mul_(2)


def test_a_function_that_changes_its_input_changes_the_tangent() -> None:
    assert moved_of(lambda t: t.mul_(2), _doubled) == [2.0, 2.0]


def test_a_changed_input_is_the_result() -> None:
    class Double(Function):
        forward = staticmethod(_doubled)

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t.mul_(2)

    with fw.dual_level():
        d = dual([1.0], [3.0]).clone()
        assert Double.apply(d) is d
        assert d.tolist() == [2.0]
        assert moved(d).tolist() == [6.0]


def test_a_view_takes_a_view() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        return x.view_as(x)

    assert moved_of(lambda t: t.view_as(t), forward) == [1.0, 1.0]


def test_jvp_is_differentiable() -> None:
    x = leaf([3.0])
    with fw.dual_level():
        y = Square.apply(fw.make_dual(x, const([10.0])))
        assert torch.autograd.grad(moved(y), x, retain_graph=True)[0].tolist() == [20.0]
        (g,) = torch.autograd.grad(y, x)
        assert g.tolist() == [6.0]


def test_save_for_forward_takes_tensors() -> None:
    class Wrong(Square):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_forward(3)
            return x

    with pytest.raises(Exception, match="save_for_forward expects all arguments to be tensors"):
        Wrong.apply(const(1.0))


# Uses


def test_a_network() -> None:
    w, b, x = const([[0.5, -1.0], [0.25, 2.0]]), const([0.1, 0.2]), const([1.0, 2.0])
    v = const([[1.0, 0.0], [0.0, 1.0]])

    def loss(w: Any) -> Any:
        return ((w @ x + b).tanh() ** 2).sum()

    with fw.dual_level():
        found = moved(loss(fw.make_dual(w, v))).item()
    step = 1e-6
    assert found == pytest.approx(((loss(w + step * v) - loss(w - step * v)) / (2 * step)).item(), rel=1e-6)


def test_softmax_and_losses() -> None:
    x, t = [[0.5, -1.0, 2.0], [1.0, 1.0, 0.0]], [[1.0, 0.0, -1.0], [0.5, 2.0, 0.0]]
    target = torch.tensor([2, 0])
    for function in (
        lambda x: torch.nn.functional.cross_entropy(x, target),
        lambda x: torch.softmax(x, 1),
        lambda x: torch.log_softmax(x, 0),
        lambda x: torch.logsumexp(x, 1),
    ):
        step = 1e-6
        expected = (function(const(x) + step * const(t)) - function(const(x) - step * const(t))) / (2 * step)
        assert torch.allclose(const(tangent(function, (x, t))), expected, rtol=1e-6, atol=1e-8)


def test_duals_in_lists_and_slices() -> None:
    with fw.dual_level(), quiet():
        rows = [row * (i + 1) for i, row in enumerate(dual([[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]]))]
        assert moved(torch.stack(rows)).tolist() == [[1.0, 0.0], [0.0, 2.0]]
        assert shape(rows[0]) == [2]


def test_the_parts_share_memory_and_version() -> None:
    x, t = const([1.0, 2.0]), const([3.0, 4.0])
    with fw.dual_level():
        d = fw.make_dual(x, t)
        x.add_(1)
        primal, found = fw.unpack_dual(d)
        assert primal._version == d._version == x._version == 1
        primal.mul_(2)
        assert d.tolist() == x.tolist() == [4.0, 6.0]
        assert found.tolist() == [3.0, 4.0]
        t.mul_(2)
        assert moved(d).tolist() == [6.0, 8.0]


def test_gradients_pass_through_the_parts() -> None:
    x, t = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    with fw.dual_level():
        primal, found = fw.unpack_dual(fw.make_dual(x, t))
        gx, gt = torch.autograd.grad(primal.sum(), (x, t), allow_unused=True)
        assert (gx.tolist(), gt) == ([1.0, 1.0], None)
        gx, gt = torch.autograd.grad(found.sum(), (x, t), allow_unused=True)
        assert (gx, gt.tolist()) == (None, [1.0, 1.0])


def test_no_grad_records_neither_part() -> None:
    with fw.dual_level():
        d = fw.make_dual(leaf([1.0]), leaf([2.0]))
        with torch.no_grad():
            primal, found = fw.unpack_dual(d * 3)
        assert not primal.requires_grad
        assert not found.requires_grad
        assert found.tolist() == [6.0]


def test_detaching_in_place_drops_the_tangent() -> None:
    with fw.dual_level():
        d = fw.make_dual(leaf([1.0]), const([2.0])).clone()
        d.detach_()
        assert not d.requires_grad
        assert moved(d * 2) is None


def test_a_detached_tensor_is_not_a_view_in_forward_mode() -> None:
    with fw.dual_level():
        x = const([1.0, 2.0])
        y = x.detach()
        y += dual([1.0, 1.0], [3.0, 4.0])
        assert moved(y).tolist() == [3.0, 4.0]
        assert moved(x) is None
        assert x.tolist() == [2.0, 3.0]


def test_the_primal_of_a_dual_is_not_changed_into_a_dual() -> None:
    x = const([1.0, 2.0])
    with fw.dual_level():
        d = fw.make_dual(x, const([3.0, 4.0]))
        d *= 2
        assert moved(x) is None
        assert moved(fw.unpack_dual(d).primal) is None
        assert x.tolist() == [2.0, 4.0]
        view = d.narrow(0, 0, 1)
        view *= 2
        assert moved(d).tolist() == [12.0, 8.0]
        assert moved(x) is None


def test_in_inference_mode_only_the_values_change() -> None:
    x = const([1.0])
    with fw.dual_level():
        d = fw.make_dual(x, const([3.0]))
        with torch.inference_mode():
            d += 1
        assert x.tolist() == [2.0]
        assert moved(d).tolist() == [3.0]


def test_a_tangent_lives_as_long_as_its_dual() -> None:
    with fw.dual_level():
        t = const([1.0])
        reference = weakref.ref(t)
        d = fw.make_dual(const([1.0]), t)
        del t
        assert reference() is not None
        del d
        assert reference() is None
