"""Custom functions: what their outputs are, what they may do to their inputs, and what is wrong with what they return."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from tests.behaviour import const, leaf, shape, torch

IN_FUNCTION = "This view was created inside a custom Function \\(or because an input was returned as-is\\)"
SEVERAL = "This view is the output of a function that returns multiple views."
LEGACY = "Legacy autograd function with non-static forward method is deprecated."
DIRTY = "Some elements marked as dirty during the forward method were not returned as output."


def function(forward: Callable[..., Any], backward: Callable[..., Any] = lambda ctx, g: g, **more: Any) -> Any:
    """A custom function with the given methods, called ``Own``."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward), **more}
    return type("Own", (torch.autograd.Function,), methods)


def dirty(ctx: Any, x: Any) -> Any:
    x.add_(1)
    ctx.mark_dirty(x)
    return x


# Outputs that are views


def test_a_view_that_a_function_returns_cannot_change() -> None:
    x = leaf([1.0, 2.0, 3.0]) * 1
    v = function(lambda ctx, x: x[:2], lambda ctx, g: torch.cat([g, g[:1]])).apply(x)
    assert v._is_view()
    assert v._base is x
    assert type(v.grad_fn).__name__ == "OwnBackward"
    with pytest.raises(RuntimeError, match=f"Output 0 of Own(Backward)? is a view and is being modified inplace. {IN_FUNCTION}"):
        v.add_(1)


def test_an_input_that_a_function_returns_is_a_view() -> None:
    x = leaf([1.0, 2.0])
    y = function(lambda ctx, x: x, lambda ctx, g: g * 10).apply(x)
    assert y is not x
    assert y._is_view()
    assert y._base is x
    y.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]
    with pytest.raises(RuntimeError, match=IN_FUNCTION):
        y.mul_(2)


def test_a_view_that_a_function_returns_is_lost_when_its_base_changes() -> None:
    x = leaf([1.0, 2.0, 3.0]) * 1
    v = function(lambda ctx, x: x[:2]).apply(x)
    x.add_(1)
    assert v.tolist() == [2.0, 3.0]
    with pytest.raises(RuntimeError, match=r"is a view and its base or another view of its base has been modified inplace."):
        v * 2


def test_views_among_several_outputs_cannot_change() -> None:
    x = leaf([1.0, 2.0]) * 1
    first, second = function(lambda ctx, x: (x[:1], x * 2), lambda ctx, g, h: h).apply(x)
    with pytest.raises(RuntimeError, match=SEVERAL):
        first.add_(1)
    second.add_(1)
    assert type(second.grad_fn).__name__ == "AddBackward0"


def test_constants_that_are_returned() -> None:
    x = const([1.0, 2.0])
    y = function(lambda ctx, x: x).apply(x)
    assert y is not x
    assert y._is_view()
    assert not y.requires_grad
    y.add_(1)
    assert x.tolist() == [2.0, 3.0]


def test_a_leaf_returned_under_no_grad() -> None:
    x = leaf([1.0])
    with torch.no_grad():
        y = function(lambda ctx, x: x).apply(x)
    assert y is not x
    assert not y.requires_grad
    assert not y._is_view()
    assert x.requires_grad


def test_a_clone_of_a_view_that_a_function_returns_may_change() -> None:
    x = leaf([1.0, 2.0])
    y = function(lambda ctx, x: x[:], lambda ctx, g: g * 3).apply(x).clone()
    y.mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


# Inputs that are changed


def test_an_input_that_is_changed_takes_the_node() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1
    z = function(dirty, lambda ctx, g: g * 5).apply(y)
    assert z is y
    assert type(y.grad_fn).__name__ == "OwnBackward"
    assert y._version == 2  # the change, and the mark
    y.sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_a_view_that_is_changed_writes_to_its_base() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1
    v = y[:1]
    assert function(dirty, lambda ctx, g: g * 5).apply(v) is v
    assert [type(t.grad_fn).__name__ for t in (y, v)] == ["CopySlices", "AsStridedBackward0"]
    y.sum().backward()
    assert x.grad.tolist() == [5.0, 1.0]


def test_leaves_are_not_changed() -> None:
    with pytest.raises(RuntimeError, match=r"a leaf Variable that requires grad has been used in an in-place operation."):
        function(dirty).apply(leaf([1.0]))
    with pytest.raises(RuntimeError, match=r"a view of a leaf Variable that requires grad is being used in an in-place operation."):
        function(dirty).apply(leaf([1.0, 2.0])[:1])


def test_a_changed_view_is_the_only_output() -> None:
    def both(ctx: Any, x: Any) -> Any:
        return dirty(ctx, x), x * 2

    x = leaf([1.0, 2.0]) * 1
    with pytest.raises(RuntimeError, match="If your Function modifies inplace an input that is a view of another Tensor"):
        function(both, lambda ctx, g, h: g).apply(x[:1])


def test_what_is_marked_is_returned() -> None:
    def other(ctx: Any, x: Any) -> Any:
        return dirty(ctx, x) * 1

    with pytest.raises(RuntimeError, match=DIRTY):
        function(other).apply(leaf([1.0]) * 1)


def test_what_is_marked_is_an_input() -> None:
    def fresh(ctx: Any, x: Any) -> Any:
        y = x + 1
        ctx.mark_dirty(y)
        return y

    with pytest.warns(UserWarning, match=r"ctx.mark_dirty\(\) received a tensor that was not an input"):
        assert function(fresh).apply(leaf([1.0])).requires_grad


def test_a_change_without_a_mark_makes_a_view() -> None:
    def changed(ctx: Any, x: Any) -> Any:
        return x.add_(1)

    x = leaf([1.0]) * 1
    y = function(changed).apply(x)
    assert y is not x
    assert y._is_view()
    assert type(x.grad_fn).__name__ == "MulBackward0"


# Outputs without a derivative


def test_outputs_that_are_not_differentiable() -> None:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        big, double = x > 1, x * 2
        ctx.mark_non_differentiable(big, double)
        return big, double, x * 3

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.extend((g.dtype, g.tolist()) for g in grads)
        return grads[2]

    x = leaf([1.0, 2.0])
    big, double, y = function(forward, backward).apply(x)
    assert [t.requires_grad for t in (big, double, y)] == [False, False, True]
    y.sum().backward()
    assert [values for _, values in seen] == [[False, False], [0.0, 0.0], [1.0, 1.0]]


def test_an_input_marked_as_not_differentiable_is_detached() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_non_differentiable(x)
        return x

    x = leaf([1.0])
    y = function(forward).apply(x)
    assert y is not x
    assert not y.requires_grad
    assert x.requires_grad


def test_whole_numbers_have_no_gradient() -> None:
    x = leaf([1.5, 2.5])
    n, y = function(lambda ctx, x: (x.long(), x * 2), lambda ctx, g, h: h).apply(x)
    assert n.grad_fn is None
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_other_objects_pass() -> None:
    x = leaf([1.0])
    y, three, text, none, items = function(lambda ctx, x: (x * 2, 3, "a", None, [x]), lambda ctx, *g: g[0]).apply(x)
    assert (three, text, none) == (3, "a", None)
    assert items[0] is x
    y.sum().backward()
    assert x.grad.tolist() == [1.0]
    assert function(lambda ctx, x: [x * 2]).apply(x)[0].grad_fn is None
    assert function(lambda ctx, x: None).apply(x) is None


def test_unused_outputs_as_none() -> None:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.extend(grads)
        return grads[0]

    x = leaf([1.0])
    function(forward, backward).apply(x)[0].backward()
    assert seen[0].tolist() == [1.0]
    assert seen[1] is None


def test_one_tensor_as_two_outputs() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        return y, y

    x = leaf([1.0])
    first, second = function(forward, lambda ctx, g, h: g * 10 + h).apply(x)
    assert first is second
    assert first.output_nr == 1
    first.backward()
    assert x.grad.tolist() == [1.0]


# What is saved


@pytest.mark.parametrize("wrong", [3, [1.0]])
def test_only_tensors_are_saved(wrong: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(None, wrong)
        return x * 2

    with pytest.raises(
        TypeError, match=f"save_for_backward can only save variables, but argument 1 is of type {type(wrong).__name__}"
    ):
        function(forward).apply(leaf([1.0]))


def test_the_last_save_counts() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.save_for_backward(x * 2, None)
        return x * 1

    y = function(forward).apply(leaf([3.0]))
    saved, none = y.grad_fn.saved_tensors
    assert saved.tolist() == [6.0]
    assert none is None


def test_saved_tensors_are_freed() -> None:
    square = function(lambda ctx, x: (ctx.save_for_backward(x), x**2)[1], lambda ctx, g: 2 * g * ctx.saved_tensors[0])
    x = leaf([3.0])
    y = square.apply(x)
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()
    with pytest.raises(RuntimeError, match="directly access saved tensors after they have already been freed"):
        _ = y.grad_fn.saved_tensors


def test_an_input_that_is_returned_is_not_saved_by_setup_context() -> None:
    class Same(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(x: Any) -> Any:
            return x

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

    with pytest.raises(RuntimeError, match=r"An input that has been returned as-is as output is being saved for backward."):
        Same.apply(leaf([1.0]))


# What backward returns


def returned() -> list[Any]:
    return [
        pytest.param(
            lambda ctx, g, **_: g, "function OwnBackward returned an incorrect number of gradients .expected 2, got 1", id="few"
        ),
        pytest.param(lambda ctx, g: (g, g, g), "returned an incorrect number of gradients .expected 2, got 3", id="many"),
        pytest.param(lambda ctx, g: (3.0, None), "expected Variable or None .got float", id="number"),
        pytest.param(lambda ctx, g: ([g], None), "expected Variable or None .got list", id="list"),
        pytest.param(
            lambda ctx, g: (g, g),
            "function OwnBackward returned a gradient different than None at position 2, but the corresponding forward",
            id="not a tensor",
        ),
        pytest.param(
            lambda ctx, g: (torch.ones(5), None),
            r"Function OwnBackward returned an invalid gradient at index 0 - got \[5\] but expected shape compatible with \[2\]",
            id="shape",
        ),
    ]


@pytest.mark.parametrize(("backward", "words"), returned())
def test_gradients_that_do_not_fit(backward: Callable[..., Any], words: str) -> None:
    y = function(lambda ctx, x, k: x * k, backward).apply(leaf([1.0, 2.0]), 2.0)
    with pytest.raises(RuntimeError, match=words):
        y.sum().backward()


def test_gradients_that_fit() -> None:
    x, c = leaf([1.0, 2.0]), const([3.0, 4.0])
    scale = function(lambda ctx, x, c: x * c, lambda ctx, g: (g.float(), g, None, None))  # too many, but None; of another type
    scale.apply(x, c).sum().backward()
    assert x.grad.dtype == torch.float64
    assert c.grad is None
    y = leaf([1.0])
    function(lambda ctx, x: x * 2, lambda ctx, g: None).apply(y).backward()
    assert y.grad is None


def test_which_gradients_are_needed() -> None:
    seen: list[Any] = []

    def forward(ctx: Any, *args: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return args[0] * args[1]

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return g, None, None

    function(forward, backward).apply(leaf([1.0]), const([2.0]), "text").backward()
    assert seen == [(True, False, False)] * 2


# Double backward


def test_a_backward_that_is_differentiable_once() -> None:
    class Double(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    x, g = leaf([1.0]), leaf([3.0])
    (found,) = torch.autograd.grad(Double.apply(x), x, g, create_graph=True)
    assert found.tolist() == [6.0]
    assert type(found.grad_fn).__name__ == "Error"
    with pytest.raises(RuntimeError, match="trying to differentiate twice a function that was marked with @once_differentiable"):
        found.backward()
    (plain,) = torch.autograd.grad(Double.apply(x), x, create_graph=True)
    assert not plain.requires_grad


# Functions that are used in the wrong way


def test_both_names_of_backward() -> None:
    own = function(lambda ctx, x: x * 2, vjp=staticmethod(lambda ctx, g: g))
    with pytest.raises(RuntimeError, match=r"is not allowed. You should only implement one of them."):
        own.apply(leaf([1.0])).backward()


def test_names_of_the_node() -> None:
    y = function(lambda ctx, x: x * 2).apply(leaf([1.0]))
    assert y.grad_fn.name() == type(y.grad_fn).__name__ == "OwnBackward"
    assert isinstance(y.grad_fn, torch.autograd.function.FunctionCtx)
    assert isinstance(y.grad_fn, torch.autograd.graph.Node)
    assert not isinstance(y.grad_fn, torch.autograd.Function)


def test_a_function_inside_of_a_function() -> None:
    inner = function(lambda ctx, x: x * 2, lambda ctx, g: g * 100)

    def outer(ctx: Any, x: Any) -> Any:
        y = inner.apply(x)
        assert not y.requires_grad
        return y + 1

    x = leaf([1.0])
    function(outer, lambda ctx, g: g * 2).apply(x).backward()
    assert x.grad.tolist() == [2.0]


def test_keywords_of_forward() -> None:
    x = leaf([1.0])
    scaled = function(lambda ctx, x, k=2.0: x * k, lambda ctx, g: (g * 3, None))
    assert scaled.apply(x, k=3.0).tolist() == [3.0]
    scaled.apply(k=5.0, x=x).backward()
    assert x.grad.tolist() == [3.0]


def test_outputs_may_change_afterwards() -> None:
    x = leaf([1.0])
    y = function(lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply(x)
    y.add_(1)
    assert type(y.grad_fn).__name__ == "AddBackward0"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y.backward()
    assert x.grad.tolist() == [2.0]
    assert shape(x.grad) == [1]


def test_a_call_in_a_narrow_part_changes_the_base() -> None:
    class Add(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.mark_dirty(x)
            return x.add_(y)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, g * 3

    x, y = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([5.0])
    z = x * 2
    Add.apply(z.narrow(1, 1, 1).narrow(0, 0, 1), y)
    assert z.tolist() == [[2.0, 9.0], [6.0, 8.0]]
    z.sum().backward()
    assert x.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert y.grad.tolist() == [3.0]


def test_outputs_without_a_derivative_as_none() -> None:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        y = x.detach()
        ctx.mark_non_differentiable(y)
        ctx._materialize_non_diff_grads = False
        return x * 2, y

    def backward(ctx: Any, first: Any, second: Any) -> Any:
        seen.append(second)
        return first

    function(forward, backward).apply(leaf([1.0]))[0].backward()
    assert seen == [None]


def test_one_changed_input_returned_twice() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(2)
        ctx.mark_dirty(x)
        return x, x

    x = leaf([1.0, 2.0])
    y = x * 1
    first, second = function(forward, lambda ctx, g, h: g * 2 + h * 2).apply(y)
    assert first is second is y
    (first + second).sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_a_changed_input_is_returned_without_a_history_if_nothing_is_recorded() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    y = leaf([1.0, 2.0]) * 1
    with torch.no_grad():
        z = function(forward, lambda ctx, g: g * 2).apply(y)
    assert z is not y
    assert not z.requires_grad
    assert y.requires_grad
    assert y._version == 2
    assert z.tolist() == y.tolist() == [2.0, 4.0]


def test_saved_outputs_must_not_change() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.save_for_backward(y)
        return y

    y = function(forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(leaf([1.0]))
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"which is output 0 of Own(Backward)?, is at version 1; expected version 0 instead"):
        y.backward()


# vmap


def doubled(**more: Any) -> Any:
    """A function ``2*x`` without ``ctx`` in ``forward``."""
    return function(lambda x: x * 2, lambda ctx, g: g * 2, setup_context=staticmethod(lambda ctx, inputs, output: None), **more)


X = [[0.5, -1.0], [2.0, 0.25], [1.5, 3.0]]


def test_a_generated_vmap_rule_sees_one_example() -> None:
    seen = []

    def forward(x: Any, power: int = 2) -> Any:
        seen.append(shape(x))
        return x**power

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.power = inputs[1]

    power = function(
        forward,
        lambda ctx, g: (g * ctx.power * ctx.saved_tensors[0] ** (ctx.power - 1), None),
        setup_context=staticmethod(setup),
        generate_vmap_rule=True,
    )
    assert torch.vmap(lambda x: power.apply(x, power=3))(const(X)).tolist() == (const(X) ** 3).tolist()
    assert set(map(tuple, seen)) == {(2,)}
    slopes = torch.vmap(torch.func.grad(lambda x: power.apply(x).sum()))(const(X))
    assert slopes.tolist() == (const(X) * 2).tolist()


def test_vmap_of_a_function_calls_its_vmap_method_with_all_examples() -> None:
    seen = []

    def over_all(info: Any, in_dims: Any, x: Any, factor: float, others: Any) -> Any:
        seen.append((info.batch_size, info.randomness, in_dims, shape(x), factor, shape(others[0])))
        return (x * factor, None), (0, None)

    scaled = function(
        lambda x, factor, others: (x * factor, None),
        setup_context=staticmethod(lambda ctx, inputs, output: None),
        vmap=staticmethod(over_all),
    )
    found = torch.vmap(lambda x: scaled.apply(x, 3.0, [x]), out_dims=(0, None))(const(X))
    assert found[0].tolist() == (const(X) * 3).tolist()
    assert found[1] is None
    assert seen == [(3, "error", (0, None, [0]), [3, 2], 3.0, [3, 2])]


def test_a_vmap_method_chooses_the_dimension_of_the_examples() -> None:
    transposed = doubled(vmap=staticmethod(lambda info, in_dims, x: (x.T * 2, 1)))
    assert torch.vmap(transposed.apply)(const(X)).tolist() == (const(X) * 2).tolist()
    first = doubled(vmap=staticmethod(lambda info, in_dims, x: (x[0] * 2, None)))
    assert torch.vmap(first.apply, out_dims=None)(const(X)).tolist() == [1.0, -2.0]


def test_nested_vmap_calls_the_vmap_method_for_the_inner_batch() -> None:
    seen = []

    def over_all(info: Any, in_dims: Any, x: Any) -> Any:
        seen.append(info.batch_size)
        return plain.apply(x), 0

    plain = doubled(generate_vmap_rule=True)
    outer = doubled(vmap=staticmethod(over_all))
    assert torch.vmap(torch.vmap(outer.apply))(const([X, X])).tolist() == (const([X, X]) * 2).tolist()
    assert seen == [3]


def test_a_vmap_method_is_differentiable() -> None:
    cubed = doubled(vmap=staticmethod(lambda info, in_dims, x: (x**3, 0)))
    x = leaf(X)
    torch.vmap(cubed.apply)(x).sum().backward()
    assert x.grad.tolist() == (3 * const(X) ** 2).tolist()


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({}, "You tried to vmap over Own, but it does not have vmap support"),
        (
            {"generate_vmap_rule": True, "vmap": staticmethod(lambda info, in_dims, x: (x, 0))},
            "it has both generate_vmap_rule=True and an overridden vmap staticmethod",
        ),
        ({"vmap": staticmethod(lambda info, in_dims, x: x)}, "to have two returns, .* Got a <class '.*Tensor'> instead"),
        ({"vmap": staticmethod(lambda info, in_dims, x: (x, 0, 0))}, "Got 3 returns instead"),
        (
            {"vmap": staticmethod(lambda info, in_dims, x: ((x, x), (0, 0, 0)))},
            r"returned an incompatible \(output, out_dims\) tuple. Expected out_dims=\(0, 0, 0\) to be compatible",
        ),
    ],
)
def test_wrong_vmap_methods(methods: dict[str, Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        torch.vmap(doubled(**methods).apply)(const(X))


def test_the_vmap_method_of_the_base_class_is_refused() -> None:
    assert torch.autograd.Function.generate_vmap_rule is False
    with pytest.raises(NotImplementedError, match="you must either override the vmap staticmethod or set generate_vmap_rule"):
        torch.autograd.Function.vmap(None, (), const(X))


def test_the_class_of_the_nodes_of_a_function() -> None:
    own = function(lambda ctx, x: x * 2)
    assert type(own.apply(leaf([1.0])).grad_fn) is own._backward_cls


def test_results_that_are_differentiable_once_have_one_node_that_ends_the_history() -> None:
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2, None, g * 3

    x, y, g = leaf([1.0]), leaf([2.0]), leaf([1.0])
    out = function(lambda ctx, x, factor, y: x * factor + y, backward).apply(x, 2.0, y)
    by_x, by_y = torch.autograd.grad(out, (x, y), g, create_graph=True)
    assert by_x.grad_fn is by_y.grad_fn
    assert (by_x.output_nr, by_y.output_nr) == (0, 2)
    nodes = [node for node, _ in by_x.grad_fn.next_functions]
    assert [type(node).__name__ for node in nodes] == ["AccumulateGrad", "NoneType", "AccumulateGrad"]
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad(by_x, g)
    with pytest.raises(RuntimeError, match="trying to differentiate twice"):
        by_x.backward()


def test_a_view_that_was_not_an_input_cannot_be_dirty() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        made = x.clone().view_as(x)
        ctx.mark_dirty(made)
        return made

    with pytest.raises(RuntimeError, match="received a tensor that was not an input"):
        function(forward).apply(leaf([1.0]).clone())


def test_one_of_several_views_of_a_leaf_cannot_be_dirty() -> None:
    first, _ = leaf([1.0, 2.0]).split([1, 1])
    with pytest.raises(RuntimeError, match="output of a function that returns multiple views"):
        function(dirty).apply(first)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        function(dirty).apply(leaf([1.0]).view(1))
