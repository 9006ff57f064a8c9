"""``autograd.grad``: gradients handed back instead of added up."""

from __future__ import annotations

import pytest

from tests.behaviour import const, leaf, shape, torch


def test_the_result_is_a_tuple() -> None:
    x = leaf(3.0)
    result = torch.autograd.grad(x * x, x)
    assert isinstance(result, tuple)
    assert len(result) == 1
    assert result[0].item() == 6.0


def test_nothing_is_accumulated() -> None:
    x = leaf(3.0)
    y = leaf(2.0)
    torch.autograd.grad(x * y, x)
    assert x.grad is None
    assert y.grad is None


def test_existing_gradients_stay() -> None:
    x = leaf(3.0)
    (x * 5).backward()
    torch.autograd.grad(x * x, x)
    assert x.grad.item() == 5.0


def test_one_gradient_for_each_input() -> None:
    x, y = leaf(3.0), leaf(4.0)
    a, b = torch.autograd.grad(x * x * y, (x, y))
    assert (a.item(), b.item()) == (24.0, 9.0)


def test_the_same_input_twice() -> None:
    x = leaf(3.0)
    a, b = torch.autograd.grad(x * x, [x, x])
    assert (a.item(), b.item()) == (6.0, 6.0)


def test_several_outputs_are_summed() -> None:
    x = leaf(3.0)
    (g,) = torch.autograd.grad([x * x, x * 5], [x])
    assert g.item() == 11.0


def test_several_outputs_with_gradients() -> None:
    x = leaf([1.0, 2.0])
    (g,) = torch.autograd.grad([x * x, x.sum()], x, [const([1.0, 10.0]), None])
    assert g.tolist() == [3.0, 41.0]


def test_an_output_as_its_own_input() -> None:
    x = leaf(3.0)
    y = x * x
    (g,) = torch.autograd.grad(y, y)
    assert g.item() == 1.0
    (g,) = torch.autograd.grad(x, x)
    assert g.item() == 1.0


def test_an_output_as_its_own_input_with_gradient() -> None:
    x = leaf([3.0, 4.0])
    y = x * x
    (g,) = torch.autograd.grad(y, y, const([1.0, 2.0]))
    assert g.tolist() == [1.0, 2.0]


def test_inner_tensors_as_inputs() -> None:
    x = leaf(3.0)
    y = x * x
    z = y * x
    gy, gx = torch.autograd.grad(z, [y, x])
    assert (gy.item(), gx.item()) == (3.0, 27.0)


def test_inner_tensor_in_the_middle_of_a_chain() -> None:
    x = leaf([0.5, 2.0])
    a = x * 2
    b = a * a
    c = b * 3
    ga, gb = torch.autograd.grad(c.sum(), [a, b])
    assert ga.tolist() == [6.0, 24.0]
    assert gb.tolist() == [3.0, 3.0]


def test_what_lies_behind_an_inner_input_is_not_swept() -> None:
    x = leaf(3.0)
    y = x * x
    (g,) = torch.autograd.grad(y * 2, y)
    assert g.item() == 2.0
    y.backward()  # its own node was not freed
    assert x.grad.item() == 6.0


def test_an_inner_tensor_outside_of_the_graph() -> None:
    x = leaf(3.0)
    y = x * x
    other = x * 5
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad(y, other)


def test_a_copy_is_not_the_tensor() -> None:
    x = leaf(3.0)
    y = x * 2
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad(y, x.clone())


def test_unused_inputs_are_refused() -> None:
    x, y = leaf(3.0), leaf(4.0)
    with pytest.raises(RuntimeError, match="The differentiated Tensor at index 1 appears to not have been used in the graph"):
        torch.autograd.grad(x * 2, [x, y])


def test_allow_unused_gives_none() -> None:
    x, y = leaf(3.0), leaf(4.0)
    a, b = torch.autograd.grad(x * 2, [x, y], allow_unused=True)
    assert a.item() == 2.0
    assert b is None


def test_allow_unused_where_nothing_is_used() -> None:
    x, y = leaf(3.0), leaf(4.0)
    assert torch.autograd.grad(x * 2, [y], allow_unused=True) == (None,)


def test_materialize_grads_gives_zeros() -> None:
    x, y = leaf(3.0), leaf([4.0, 5.0])
    a, b = torch.autograd.grad(x * 2, [x, y], materialize_grads=True)
    assert a.item() == 2.0
    assert b.tolist() == [0.0, 0.0]
    assert b.dtype == torch.float64


def test_materialize_grads_with_allow_unused() -> None:
    x, y = leaf(3.0), leaf([4.0, 5.0])
    (b,) = torch.autograd.grad(x * 2, [y], allow_unused=True, materialize_grads=True)
    assert b.tolist() == [0.0, 0.0]


def test_materialize_grads_excludes_allow_unused_false() -> None:
    x = leaf(3.0)
    y = x * 2
    with pytest.raises(ValueError, match="Expected allow_unused to be True or not passed when materialize_grads=True"):
        torch.autograd.grad(y, [x], allow_unused=False, materialize_grads=True)


def test_materialized_zeros_require_grad_with_create_graph() -> None:
    x, y = leaf(3.0), leaf([4.0, 5.0])
    a, b = torch.autograd.grad(x * x, [x, y], create_graph=True, materialize_grads=True)
    assert a.requires_grad
    assert b.requires_grad
    assert b.tolist() == [0.0, 0.0]


def test_outputs_must_have_a_graph() -> None:
    x = leaf(3.0)
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
        torch.autograd.grad(const(1.0), x)


def test_inputs_must_require_grad() -> None:
    x = leaf(3.0)
    y = x * 2
    with pytest.raises(RuntimeError, match="One of the differentiated Tensors does not require grad"):
        torch.autograd.grad(y, const(3.0))


def test_inputs_that_require_no_grad_are_refused_even_with_allow_unused() -> None:
    x = leaf(3.0)
    y = x * 2
    with pytest.raises(RuntimeError, match="One of the differentiated Tensors does not require grad"):
        torch.autograd.grad(y, [x, const(3.0)], allow_unused=True)


def test_inputs_cannot_be_empty() -> None:
    x = leaf(3.0)
    y = x * 2
    with pytest.raises(RuntimeError, match="cannot be empty"):
        torch.autograd.grad(y, [])


def test_no_implicit_gradient_for_vectors() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        torch.autograd.grad(y, x)


def test_grad_outputs_must_have_the_shape() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        torch.autograd.grad(y, x, const([1.0]))


def test_grad_outputs_must_be_as_many() -> None:
    x = leaf([1.0, 2.0])
    outputs = [x * 2, x * 3]
    with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
        torch.autograd.grad(outputs, x, [const([1.0, 1.0])])


def test_the_arguments_in_their_order() -> None:
    x = leaf([1.0, 2.0])
    (g,) = torch.autograd.grad(x * x, x, const([1.0, 1.0]), True, True)
    assert g.requires_grad
    (h,) = torch.autograd.grad(g.sum(), x)
    assert h.tolist() == [2.0, 2.0]


def test_the_graph_is_freed() -> None:
    x = leaf(3.0)
    y = x * x
    torch.autograd.grad(y, x)
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        torch.autograd.grad(y, x)


def test_retain_graph_keeps_it() -> None:
    x = leaf(3.0)
    y = x * x
    torch.autograd.grad(y, x, retain_graph=True)
    (g,) = torch.autograd.grad(y, x)
    assert g.item() == 6.0


def test_create_graph_keeps_it() -> None:
    x = leaf(3.0)
    y = x * x
    torch.autograd.grad(y, x, create_graph=True)
    (g,) = torch.autograd.grad(y, x)
    assert g.item() == 6.0


def test_without_create_graph_the_result_is_a_constant() -> None:
    x = leaf(3.0)
    (g,) = torch.autograd.grad(x * x * x, x)
    assert not g.requires_grad
    assert g.grad_fn is None


def test_with_create_graph_a_linear_function_has_a_constant_gradient() -> None:
    x = leaf(3.0)
    (g,) = torch.autograd.grad(x * 2, x, create_graph=True)
    assert g.item() == 2.0
    assert not g.requires_grad


def test_derivatives_of_rising_order() -> None:
    x = leaf(2.0)
    value = x**5
    for expected in (80.0, 160.0, 240.0, 240.0, 120.0):
        (value,) = torch.autograd.grad(value, x, create_graph=True)
        assert value.item() == pytest.approx(expected)


def test_mixed_second_derivatives_are_equal() -> None:
    x, y = leaf(2.0), leaf(3.0)
    z = x * x * y + torch.exp(x * y)
    gx, gy = torch.autograd.grad(z, [x, y], create_graph=True)
    (xy,) = torch.autograd.grad(gx, y, retain_graph=True)
    (yx,) = torch.autograd.grad(gy, x)
    assert xy.item() == pytest.approx(yx.item(), rel=1e-14)


def test_the_gradient_handed_in_is_differentiated() -> None:
    x, start = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    (g,) = torch.autograd.grad(x * x, x, start, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), start)
    assert h.tolist() == [2.0, 4.0]


def test_it_works_under_no_grad() -> None:
    x = leaf(3.0)
    y = x * x
    with torch.no_grad():
        (g,) = torch.autograd.grad(y, x)
    assert g.item() == 6.0


def test_create_graph_records_even_under_no_grad() -> None:
    x = leaf(3.0)
    y = x * x
    with torch.no_grad():
        (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert g.requires_grad


def test_shapes_and_types_follow_the_inputs() -> None:
    x = torch.ones(2, 1, dtype=torch.float32, requires_grad=True)
    y = torch.ones(3, dtype=torch.float64, requires_grad=True)
    a, b = torch.autograd.grad((x * y).sum(), [x, y])
    assert (shape(a), a.dtype) == ([2, 1], torch.float32)
    assert (shape(b), b.dtype) == ([3], torch.float64)
    assert a.tolist() == [[3.0], [3.0]]


def test_batched_gradients_give_the_jacobian() -> None:
    x = leaf([1.0, 2.0])
    y = x * x
    (rows,) = torch.autograd.grad(y, x, torch.eye(2, dtype=torch.float64), is_grads_batched=True)
    assert rows.tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_batched_gradients_of_a_scalar() -> None:
    x = leaf([1.0, 2.0])
    (rows,) = torch.autograd.grad((x * x).sum(), x, const([1.0, 10.0, 100.0]), is_grads_batched=True)
    assert rows.tolist() == [[2.0, 4.0], [20.0, 40.0], [200.0, 400.0]]


def test_batched_gradients_of_several_inputs() -> None:
    x, y = leaf([1.0, 2.0]), leaf(3.0)
    a, b = torch.autograd.grad(x * y, (x, y), torch.eye(2, dtype=torch.float64), is_grads_batched=True)
    assert a.tolist() == [[3.0, 0.0], [0.0, 3.0]]
    assert b.tolist() == [1.0, 2.0]


def test_batched_gradients_with_unused_inputs() -> None:
    x, y = leaf([1.0, 2.0]), leaf(3.0)
    a, b = torch.autograd.grad(x * 2, (x, y), torch.eye(2, dtype=torch.float64), is_grads_batched=True, allow_unused=True)
    assert a.tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert b is None


def test_batched_gradients_with_create_graph() -> None:
    x = leaf([1.0, 2.0])
    (rows,) = torch.autograd.grad(x * x, x, torch.eye(2, dtype=torch.float64), is_grads_batched=True, create_graph=True)
    (g,) = torch.autograd.grad(rows.sum(), x)
    assert g.tolist() == [2.0, 2.0]


def test_batched_gradients_must_fit_behind_the_first_dimension() -> None:
    x = leaf([1.0, 2.0])
    y = x * x
    with pytest.raises(RuntimeError, match="If `is_grads_batched=True`, we interpret the first dimension"):
        torch.autograd.grad(y, x, torch.ones(2, 3, dtype=torch.float64), is_grads_batched=True)


def test_unreachable_through_detach() -> None:
    x = leaf(3.0)
    y = x.detach() * leaf(2.0)
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad(y, x)


def test_a_result_is_no_view_of_another() -> None:
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    a, b = torch.autograd.grad((x + y).sum(), [x, y])
    a.clone().add_(1)
    assert b.tolist() == [1.0, 1.0]


def test_outputs_may_be_inner_tensors_of_each_other() -> None:
    x = leaf(2.0)
    y = x * x
    z = y * y
    (g,) = torch.autograd.grad([z, y], [x])
    assert g.item() == 36.0


def test_keyword_only_inputs_and_outputs() -> None:
    x = leaf(2.0)
    (g,) = torch.autograd.grad(outputs=x * x, inputs=x, grad_outputs=const(2.0))
    assert g.item() == 8.0


def test_grad_of_a_view_of_the_input_is_not_the_input() -> None:
    x = leaf([1.0, 2.0])
    part = x[0]
    (g,) = torch.autograd.grad((part * part).sum(), part)
    assert g.item() == 2.0
    assert shape(g) == []


def test_a_dict_of_inputs_gives_a_dict() -> None:
    x, y = leaf(2.0), leaf(3.0)
    result = torch.autograd.grad(x * y, {"a": x, "b": y})
    assert {name: g.item() for name, g in result.items()} == {"a": 3.0, "b": 2.0}


def test_only_inputs_stands_before_allow_unused() -> None:
    x, y = leaf(2.0), leaf(3.0)
    assert torch.autograd.grad(x * 2, [y], None, None, False, True, True) == (None,)


def test_only_inputs_by_keyword() -> None:
    x = leaf(2.0)
    (g,) = torch.autograd.grad(x * x, x, only_inputs=True)
    assert g.item() == 4.0


def test_none_among_grad_outputs_for_a_scalar() -> None:
    x = leaf(2.0)
    (g,) = torch.autograd.grad([x * x, x * 3], x, [None, const(2.0)])
    assert g.item() == 10.0


def test_materialize_grads_of_unrelated_inputs_in_a_second_derivative() -> None:
    x, y = leaf(2.0), leaf(3.0)
    (first,) = torch.autograd.grad(x * x + y * y, x, create_graph=True)
    gx, gy = torch.autograd.grad(first, [x, y], materialize_grads=True)
    assert (gx.item(), gy.item()) == (2.0, 0.0)
