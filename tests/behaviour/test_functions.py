"""``autograd.Function``: derivatives written by hand."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from tests.behaviour import const, leaf, quiet, shape, torch

Function: Any = torch.autograd.Function


class Square(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 2 * x


class Exp(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        result = torch.exp(x)
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (result,) = ctx.saved_tensors
        return g * result


class Two(Function):
    """x + y and x * y."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return x + y, x * y

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        x, y = ctx.saved_tensors
        return g + h * y, g + h * x


def test_forward_and_backward() -> None:
    x = leaf([1.0, 2.0])
    y = Square.apply(x)
    assert y.tolist() == [1.0, 4.0]
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_the_node_is_named_after_the_class() -> None:
    y = Square.apply(leaf(3.0))
    assert y.grad_fn.name() == "SquareBackward"
    assert type(y.grad_fn).__name__ == "SquareBackward"


def test_the_output_is_no_leaf() -> None:
    y = Square.apply(leaf(3.0))
    assert y.requires_grad
    assert not y.is_leaf


def test_nothing_is_recorded_for_constants() -> None:
    y = Square.apply(const(3.0))
    assert not y.requires_grad
    assert y.grad_fn is None


def test_nothing_is_recorded_under_no_grad() -> None:
    with torch.no_grad():
        y = Square.apply(leaf(3.0))
    assert not y.requires_grad


def test_forward_runs_with_recording_off() -> None:
    modes: list[bool] = []

    class Spy(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            modes.append(torch.is_grad_enabled())
            modes.append((x * 2).requires_grad)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    Spy.apply(leaf(1.0))
    assert modes == [False, False]


def test_backward_runs_with_recording_as_create_graph_says() -> None:
    modes: list[bool] = []

    class Spy(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            modes.append(torch.is_grad_enabled())
            return g * 2

    x = leaf(1.0)
    torch.autograd.grad(Spy.apply(x), x)
    torch.autograd.grad(Spy.apply(x), x, create_graph=True)
    assert modes == [False, True]


def test_several_arguments() -> None:
    x, y = leaf(2.0), leaf(5.0)
    total, product = Two.apply(x, y)
    (total + product * 10).backward()
    assert (x.grad.item(), y.grad.item()) == (51.0, 21.0)


def test_several_outputs_come_as_a_tuple() -> None:
    result = Two.apply(leaf(2.0), leaf(5.0))
    assert isinstance(result, tuple)
    assert [t.output_nr for t in result] == [0, 1]
    assert result[0].grad_fn is result[1].grad_fn


def test_an_unused_output_gets_zeros() -> None:
    x, y = leaf(2.0), leaf(5.0)
    total, _ = Two.apply(x, y)
    total.backward()
    assert (x.grad.item(), y.grad.item()) == (1.0, 1.0)


def test_an_unused_output_gets_none_without_materialize_grads() -> None:
    seen: list[Any] = []

    class Loose(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            seen.append((a is None, b is None))
            return a * 2 if b is None else b * 3

    x = leaf(1.0)
    first, _ = Loose.apply(x)
    first.backward()
    assert seen == [(False, True)]
    assert x.grad.item() == 2.0


def test_materialized_zeros_have_the_shape_and_type_of_their_output() -> None:
    seen: list[Any] = []

    class Shapes(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.sum(), x.float()

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            seen.append((shape(b), b.dtype, b.tolist()))
            return torch.ones(2, dtype=torch.float64) * a

    x = leaf([1.0, 2.0])
    Shapes.apply(x)[0].backward()
    assert seen == [([2], torch.float32, [0.0, 0.0])]


def test_arguments_that_are_no_tensors_get_none() -> None:
    class Scale(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: float, name: str) -> Any:
            ctx.factor = factor
            ctx.name_given = name
            return x * factor

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            assert ctx.name_given == "n"
            return g * ctx.factor, None, None

    x = leaf(2.0)
    Scale.apply(x, 3.0, "n").backward()
    assert x.grad.item() == 3.0


def test_trailing_nones_are_allowed() -> None:
    class Extra(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2, None, None

    x = leaf(2.0)
    Extra.apply(x).backward()
    assert x.grad.item() == 2.0


def test_too_few_gradients_are_refused() -> None:
    class Short(Two):
        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            return g

    y = Short.apply(leaf(2.0), leaf(3.0))[0]
    with pytest.raises(RuntimeError, match=r"ShortBackward.* returned an incorrect number of gradients \(expected 2, got 1\)"):
        y.backward()


def test_too_many_gradients_are_refused() -> None:
    class Long(Square):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, g

    y = Long.apply(leaf(2.0))
    with pytest.raises(RuntimeError, match=r"LongBackward.* returned an incorrect number of gradients \(expected 1, got 2\)"):
        y.backward()


def test_a_gradient_of_another_shape_is_refused() -> None:
    class Wrong(Square):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return torch.ones(3, dtype=torch.float64)

    y = Wrong.apply(leaf([1.0, 2.0])).sum()
    with pytest.raises(RuntimeError, match=r"Function WrongBackward returned an invalid gradient at index 0 - got \[3\]"):
        y.backward()


def test_a_gradient_that_broadcasts_is_summed() -> None:
    class Wide(Square):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return torch.ones(3, 2, dtype=torch.float64)

    x = leaf([1.0, 2.0])
    Wide.apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_gradient_that_is_no_tensor_is_refused() -> None:
    class Number(Square):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 3.0

    y = Number.apply(leaf(2.0))
    with pytest.raises((TypeError, RuntimeError), match="expected Variable"):
        y.backward()


def test_a_gradient_of_another_type_is_converted() -> None:
    class Single(Square):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return torch.tensor([2.0, 3.0], dtype=torch.float32)

    x = leaf([1.0, 2.0])
    Single.apply(x).sum().backward()
    assert x.grad.dtype == torch.float64
    assert x.grad.tolist() == [2.0, 3.0]


def test_none_as_the_only_gradient() -> None:
    class Nothing(Square):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return None

    x, y = leaf(2.0), leaf(3.0)
    (Nothing.apply(x) + y).backward()
    assert x.grad is None
    assert y.grad.item() == 1.0


def test_none_gradients_in_the_middle_of_a_graph() -> None:
    class Nothing(Square):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return None

    x = leaf(2.0)
    (Nothing.apply(x * 3) + x * 5).backward()
    assert x.grad.item() == 5.0


def test_none_as_the_only_gradient_with_grad() -> None:
    class Nothing(Square):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return None

    x = leaf(2.0)
    assert torch.autograd.grad(Nothing.apply(x), x, allow_unused=True) == (None,)


def test_a_gradient_for_an_argument_that_requires_none_is_ignored() -> None:
    x, y = leaf(2.0), const(5.0)
    Two.apply(x, y)[1].backward()
    assert x.grad.item() == 5.0
    assert y.grad is None


def test_needs_input_grad() -> None:
    seen: list[Any] = []

    class Ask(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any, n: int) -> Any:
            seen.append(tuple(ctx.needs_input_grad))
            return x * y * n

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(tuple(ctx.needs_input_grad))
            return g, None, None

    Ask.apply(leaf(1.0), const(2.0), 3).backward()
    assert seen == [(True, False, False), (True, False, False)]


def test_needs_input_grad_in_backward_is_what_forward_saw() -> None:
    """Gradients by some inputs only: the others are still said to need one."""
    seen: list[Any] = []

    class Ask(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x + y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(tuple(ctx.needs_input_grad))
            return g, g

    x, y = leaf(1.0), leaf(2.0)
    z = Ask.apply(x, y)
    torch.autograd.grad(z, x, retain_graph=True)
    torch.autograd.grad(z, y, retain_graph=True)
    z.backward()
    assert seen == [(True, True), (True, True), (True, True)]


def test_save_for_backward_keeps_none() -> None:
    class Optional(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, None, y)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, nothing, also_nothing = ctx.saved_tensors
            assert nothing is None
            assert also_nothing is None
            return g * 2 * x, None

    x = leaf(3.0)
    Optional.apply(x, None).backward()
    assert x.grad.item() == 6.0


def test_save_for_backward_takes_tensors_only() -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(3)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = leaf(3.0)
    with pytest.raises(TypeError, match="save_for_backward can only save variables"):
        Wrong.apply(x)


def test_nothing_saved_is_an_empty_tuple() -> None:
    seen: list[Any] = []

    class Plain(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(ctx.saved_tensors)
            return g * 2

    Plain.apply(leaf(1.0)).backward()
    assert seen == [()]


def test_a_saved_input_is_the_same_tensor() -> None:
    seen: list[Any] = []

    class Keep(Square):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            seen.append((x.requires_grad, x.is_leaf, x.item()))
            return g

    Keep.apply(leaf(3.0)).backward()
    assert seen == [(True, True, 3.0)]


def test_saved_tensors_are_gone_after_backward() -> None:
    y = Square.apply(leaf(3.0))
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_saved_tensors_from_outside() -> None:
    y = Square.apply(leaf(3.0))
    assert y.grad_fn.saved_tensors[0].item() == 3.0
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        _ = y.grad_fn.saved_tensors


def test_attributes_of_ctx_stay_after_backward() -> None:
    class Note(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.note = "kept"
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            ctx.swept = True
            return g * 2

    y = Note.apply(leaf(1.0))
    y.backward()
    assert (y.grad_fn.note, y.grad_fn.swept) == ("kept", True)


def test_a_saved_input_changed_in_place_is_noticed() -> None:
    x = leaf([1.0, 2.0])
    inner = x * 1
    y = Square.apply(inner).sum()
    with torch.no_grad():
        inner.add_(1)
    with pytest.raises(RuntimeError, match="one of the variables needed for gradient computation has been modified"):
        y.backward()


def test_a_saved_output_changed_in_place_is_noticed() -> None:
    x = leaf([1.0, 2.0])
    y = Exp.apply(x)
    with torch.no_grad():
        y.add_(1)
    z = y.sum()
    with pytest.raises(RuntimeError, match="one of the variables needed for gradient computation has been modified"):
        z.backward()


def test_second_derivative_through_a_saved_input() -> None:
    x = leaf(3.0)
    (g,) = torch.autograd.grad(Square.apply(x), x, create_graph=True)
    (h,) = torch.autograd.grad(g, x)
    assert (g.item(), h.item()) == (6.0, 2.0)


def test_third_derivative_through_a_saved_output() -> None:
    value = x = leaf(0.5)
    value = Exp.apply(x)
    for _ in range(3):
        (value,) = torch.autograd.grad(value, x, create_graph=True)
    assert value.item() == pytest.approx(1.6487212707001282)


def test_second_derivative_through_an_inner_tensor() -> None:
    x = leaf(2.0)
    (g,) = torch.autograd.grad(Square.apply(x * x), x, create_graph=True)
    (h,) = torch.autograd.grad(g, x)
    assert (g.item(), h.item()) == (32.0, 48.0)


def test_gradcheck_of_functions() -> None:
    assert torch.autograd.gradcheck(Square.apply, leaf([1.0, -2.0]))
    assert torch.autograd.gradgradcheck(Exp.apply, leaf([1.0, -2.0]))
    assert torch.autograd.gradcheck(Two.apply, (leaf([1.0, 2.0]), leaf([3.0, 4.0])))


def test_once_differentiable_refuses_the_second_derivative() -> None:
    class Once(Square):
        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 2 * x

    x = leaf(3.0)
    (g,) = torch.autograd.grad(Once.apply(x), x)
    assert g.item() == 6.0
    # The incoming gradient requires grad, so that the result would have a history.
    (g,) = torch.autograd.grad(Once.apply(x) ** 2, x, create_graph=True)
    with pytest.raises(RuntimeError, match="trying to differentiate twice a function that was marked with @once_differentiable"):
        g.backward()


def test_once_differentiable_runs_with_recording_off() -> None:
    modes: list[bool] = []

    class Once(Square):
        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            modes.append(torch.is_grad_enabled())
            return g

    x = leaf(3.0)
    torch.autograd.grad(Once.apply(x), x, create_graph=True)
    assert modes == [False]


def test_mark_non_differentiable() -> None:
    class Sorted(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            first, second = x * 2, x * 3
            ctx.mark_non_differentiable(second)
            return first, second

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            assert h.item() == 0.0
            return g * 2

    x = leaf(1.0)
    first, second = Sorted.apply(x)
    assert first.requires_grad
    assert not second.requires_grad
    assert second.grad_fn is None
    (first + second).backward()
    assert x.grad.item() == 2.0


def test_all_outputs_non_differentiable() -> None:
    class Constant(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            result = x * 2
            ctx.mark_non_differentiable(result)
            return result

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    assert not Constant.apply(leaf(1.0)).requires_grad


def test_integer_outputs_require_no_grad() -> None:
    class Split(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.long(), x * 2

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            return h * 2

    x = leaf([1.5, 2.5])
    whole, doubled = Split.apply(x)
    assert not whole.requires_grad
    assert whole.tolist() == [1, 2]
    doubled.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_outputs_that_are_no_tensors() -> None:
    class Mixed(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return "label", x * 2, None, 7

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            assert [g is None for g in grads] == [True, False, True, True]
            return grads[1] * 2

    x = leaf(1.0)
    label, y, nothing, number = Mixed.apply(x)
    assert (label, nothing, number) == ("label", None, 7)
    y.backward()
    assert x.grad.item() == 2.0


def test_a_list_is_no_tuple_of_outputs() -> None:
    class Listed(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return [x * 2]

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = leaf(1.0)
    try:
        result = Listed.apply(x)
    except TypeError:
        return
    assert not result[0].requires_grad


def test_returning_the_input_itself() -> None:
    class Same(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 10

    x = leaf([1.0, 2.0])
    y = Same.apply(x)
    assert y is not x
    assert x.is_leaf
    assert not y.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]


def test_returning_a_view_of_the_input() -> None:
    class Part(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x[0]

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return torch.stack([g, torch.zeros_like(g)])

    x = leaf([1.0, 2.0])
    Part.apply(x).backward()
    assert x.grad.tolist() == [1.0, 0.0]


def test_reversing_gradients() -> None:
    class Reverse(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, weight: float) -> Any:
            ctx.weight = weight
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return -ctx.weight * g, None

    x = leaf([1.0, 2.0])
    (Reverse.apply(x, 0.5) * const([1.0, 10.0])).sum().backward()
    assert x.grad.tolist() == [-0.5, -5.0]


def test_straight_through_rounding() -> None:
    class Round(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return torch.round(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = leaf([1.2, 2.7])
    y = Round.apply(x)
    assert y.tolist() == [1.0, 3.0]
    (y * y).sum().backward()
    assert x.grad.tolist() == [2.0, 6.0]


class DoubleInPlace(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


def test_mark_dirty_changes_the_tensor_itself() -> None:
    x = leaf([1.0, 2.0])
    inner = x * 3
    result = DoubleInPlace.apply(inner)
    assert result is inner
    assert inner.tolist() == [6.0, 12.0]
    assert inner.grad_fn.name() == "DoubleInPlaceBackward"
    inner.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_mark_dirty_of_a_leaf_is_refused() -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"a leaf Variable that requires grad (is being|has been) used in an in-place operation"):
        DoubleInPlace.apply(x)


def test_mark_dirty_needs_the_tensor_as_an_output() -> None:
    class Forgets(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    inner = leaf([1.0, 2.0]) * 1
    with pytest.raises(RuntimeError, match="Some elements marked as dirty during the forward method were not returned as output"):
        Forgets.apply(inner)


def test_mark_dirty_of_a_constant() -> None:
    x = const([1.0, 2.0])
    assert DoubleInPlace.apply(x) is x
    assert x.tolist() == [2.0, 4.0]


def test_setup_context_apart_from_forward() -> None:
    class Cube(Function):
        @staticmethod
        def forward(x: Any, factor: float) -> Any:
            return x * x * x * factor

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            x, factor = inputs
            ctx.save_for_backward(x)
            ctx.factor = factor

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 3 * x * x * ctx.factor, None

    x = leaf(2.0)
    y = Cube.apply(x, 0.5)
    y.backward()
    assert (y.item(), x.grad.item()) == (4.0, 6.0)


def test_setup_context_is_handed_the_outputs() -> None:
    seen: list[Any] = []

    class Pair(Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return torch.exp(x), x + 1

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            seen.append((len(inputs), len(output), tuple(ctx.needs_input_grad)))
            ctx.save_for_backward(output[0])

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            (result,) = ctx.saved_tensors
            return g * result + h

    x = leaf(0.0)
    a, b = Pair.apply(x)
    (a * 2 + b).backward()
    assert x.grad.item() == 3.0
    assert seen == [(1, 2, (True,))]


def test_keyword_arguments_count_as_arguments() -> None:
    class Scale(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: float = 2.0) -> Any:
            ctx.factor = factor
            assert tuple(ctx.needs_input_grad) == (True, False)
            return x * factor

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.factor, None

    x = leaf(2.0)
    Scale.apply(x, factor=3.0).backward()
    assert x.grad.item() == 3.0


def test_an_error_in_forward_comes_out() -> None:
    class Fails(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            raise ValueError("forward failed")

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = leaf(1.0)
    with pytest.raises(ValueError, match="forward failed"):
        Fails.apply(x)
    assert torch.is_grad_enabled()


def test_an_error_in_backward_comes_out() -> None:
    class Fails(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise KeyError("backward failed")

    x = leaf(1.0)
    y = Fails.apply(x)
    with pytest.raises(KeyError, match="backward failed"):
        y.backward()
    assert x.grad is None
    assert torch.is_grad_enabled()


def test_a_missing_backward_is_said() -> None:
    class NoBackward(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    y = NoBackward.apply(leaf(1.0))
    with pytest.raises(NotImplementedError, match="You must implement either the backward or vjp method"):
        y.backward()


def test_a_missing_forward_is_said() -> None:
    class NoForward(Function):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = leaf(1.0)
    with pytest.raises(NotImplementedError, match="You must implement the forward function for custom"):
        NoForward.apply(x)


def test_a_function_cannot_be_instantiated_and_called() -> None:
    x = leaf(1.0)
    with quiet(), pytest.raises((RuntimeError, TypeError)):
        Square()(x)


def test_vjp_is_another_name_of_backward() -> None:
    class Square2(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def vjp(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 2 * x

    x = leaf(3.0)
    Square2.apply(x).backward()
    assert x.grad.item() == 6.0


def test_backward_inside_of_forward() -> None:
    class Inner(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with torch.enable_grad():
                own = x.detach().requires_grad_()
                (slope,) = torch.autograd.grad((own**3).sum(), own)
            ctx.save_for_backward(slope)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0]

    x = leaf([1.0, 2.0])
    Inner.apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 12.0]


def test_backward_inside_of_backward() -> None:
    class Checkpoint(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return torch.sin(x) * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            own = ctx.saved_tensors[0].detach().requires_grad_()
            with torch.enable_grad():
                again = torch.sin(own) * own
            again.backward(g)
            return own.grad

    x = leaf([0.5, 1.0])
    y = Checkpoint.apply(Checkpoint.apply(x))
    y.sum().backward()
    reference = leaf([0.5, 1.0])
    inner = torch.sin(reference) * reference
    (torch.sin(inner) * inner).sum().backward()
    assert x.grad.tolist() == pytest.approx(reference.grad.tolist(), rel=1e-12)


def test_backward_inside_of_backward_fills_other_leaves() -> None:
    weight = leaf(3.0)

    class Uses(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            with torch.enable_grad():
                (weight * weight).backward()
            return g

    x = leaf(1.0)
    Uses.apply(x).backward()
    assert (x.grad.item(), weight.grad.item()) == (1.0, 6.0)


def test_a_deep_chain_of_functions_with_backward_inside() -> None:
    class Nested(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, depth: int) -> Any:
            ctx.depth = depth
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if ctx.depth == 0:
                return g * 2, None
            with torch.enable_grad():
                own = leaf(1.0)
                Nested.apply(own, ctx.depth - 1).backward()
            return g * own.grad, None

    x = leaf(1.0)
    Nested.apply(x, 20).backward()
    assert x.grad.item() == 2.0


def test_a_function_used_twice_in_one_graph() -> None:
    x = leaf(2.0)
    Square.apply(Square.apply(x)).backward()
    assert x.grad.item() == 32.0


def test_functions_whose_arguments_are_the_same_tensor() -> None:
    x = leaf(3.0)
    Two.apply(x, x)[1].backward()
    assert x.grad.item() == 6.0


def test_the_graph_of_a_function() -> None:
    x, y = leaf(2.0), const(5.0)
    node = Two.apply(x, y)[0].grad_fn
    edges = node.next_functions
    assert len(edges) == 2
    assert edges[0][0].variable is x
    assert edges[1][0] is None


def test_what_a_function_saved_dies_with_its_graph() -> None:
    x = leaf([1.0, 2.0])
    inner = x * 2
    reference = weakref.ref(inner)
    y = Square.apply(inner)
    del inner
    gc.collect()
    y.sum().backward()
    gc.collect()
    assert reference() is None


def test_hooks_on_the_node_of_a_function() -> None:
    x = leaf(3.0)
    y = Square.apply(x)
    seen: list[Any] = []
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs[0].item(), outputs[0].item())))
    y.backward(const(2.0))
    assert seen == [(12.0, 2.0)]


def test_gradients_arrive_as_tensors() -> None:
    seen: list[Any] = []

    class Look(Square):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append((isinstance(g, torch.Tensor), g.dtype, shape(g)))
            return g

    Look.apply(leaf([1.0, 2.0])).sum().backward()
    assert seen == [(True, torch.float64, [2])]


def test_tensors_inside_of_lists_are_not_seen() -> None:
    class Total(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, others: Any) -> Any:
            assert tuple(ctx.needs_input_grad) == (True, False)
            return x + others[0]

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, None

    x, y = leaf(1.0), leaf(2.0)
    Total.apply(x, [y]).backward()
    assert x.grad.item() == 1.0
    assert y.grad is None


def test_a_tensor_without_elements_is_joined_with_every_shape() -> None:
    empty, x = torch.zeros(0, dtype=torch.float64, requires_grad=True), leaf([[1.0, 2.0]])
    joined = torch.cat((empty, x, empty, x), -1)
    assert joined.tolist() == [[1.0, 2.0, 1.0, 2.0]]
    joined.backward(const([[1.0, 2.0, 3.0, 4.0]]))
    assert x.grad.tolist() == [[4.0, 6.0]]
    assert shape(empty.grad) == [0]
    assert shape(torch.cat((empty, empty))) == [0]
    assert torch.autograd.gradcheck(lambda *parts: torch.cat(parts), (empty, x))
    assert torch.autograd.gradgradcheck(lambda *parts: torch.cat(parts), (empty, x))


def test_a_measure_and_the_mean_are_outputs_of_one_node() -> None:
    for function, name in ((torch.var_mean, "VarMeanBackward0"), (torch.std_mean, "StdMeanBackward0")):
        x = leaf([[1.0, 2.0, 4.0], [3.0, 5.0, 9.0]])
        measure, mean = function(x, dim=1)
        assert measure.grad_fn is mean.grad_fn
        assert type(mean.grad_fn).__name__ == name
        assert (measure.output_nr, mean.output_nr) == (0, 1)
        mean.grad_fn.register_prehook(lambda grads: tuple(2 * g for g in grads))
        (twice,) = torch.autograd.grad((measure + mean).sum(), x)
        (once,) = torch.autograd.grad(sum(part.sum() for part in function(x, dim=1)), x)
        assert torch.allclose(twice, 2 * once)
        for options in ({}, {"dim": 0, "keepdim": True}, {"dim": 1, "correction": 0}, {"unbiased": False}):
            for take in (lambda both: both, lambda both: both[0], lambda both: both[1]):
                assert torch.autograd.gradcheck(lambda x, f=take, o=options: f(function(x, **o)), x)  # noqa: B023
            assert torch.autograd.gradgradcheck(lambda x, o=options: function(x, **o), x)  # noqa: B023
