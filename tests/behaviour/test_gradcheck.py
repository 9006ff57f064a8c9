"""Checks of gradients against finite differences: options, failures, and words."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from tests.behaviour import const, each_time, leaf, quiet, torch

gradcheck: Any = torch.autograd.gradcheck
gradgradcheck: Any = torch.autograd.gradgradcheck
GradcheckError: Any = (
    torch.autograd.GradcheckError
    if hasattr(torch.autograd, "GradcheckError")
    else torch.autograd.gradcheck.__globals__["GradcheckError"]
)
ALL = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True, "check_grad_dtypes": True}


class Halved(torch.autograd.Function):
    """A square whose derivative is half of what it should be."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]


class NotMultiplied(torch.autograd.Function):
    """A function whose backward adds something to the gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g + 1e-7


class Drifting(torch.autograd.Function):
    """A function whose backward gives another gradient every time."""

    calls = 0

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        Drifting.calls += 1
        return g * (1 + 1e-7 * Drifting.calls)


def hooked(x: Any) -> Any:
    def hook(g: Any) -> None:
        if g is None:
            raise RuntimeError("undefined")

    y = x.clone()
    y.register_hook(hook)
    return y


@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (torch.sin, ([1.0, 2.0],)),
        (torch.sin, (2.0,)),
        (lambda a, b: a @ b, ([[1.0, 2.0], [3.0, 4.0]], [[0.5, 1.0], [2.0, 0.0]])),
        (lambda a, b: (a * b, a.sum()), ([1.0, 2.0], [3.0, 4.0])),
        (lambda a, b: a * 2, ([1.0, 2.0], [3.0])),
        (lambda a: torch.softmax(a, 0).prod(), ([1.0, 2.0],)),
    ],
    ids=range(6),
)
def test_right_derivatives_pass_every_check(function: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    assert gradcheck(function, tuple(map(leaf, inputs)), **ALL)


def test_arguments_that_are_not_checked() -> None:
    assert gradcheck(lambda a, b, k: a * b * k, (leaf([1.0, 2.0]), const([3.0, 4.0]), 2.0), **ALL)


def test_second_derivatives() -> None:
    matrices = (leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([[0.5, 1.0], [2.0, 0.0]]))
    options = {"check_fwd_over_rev": True, "check_batched_grad": True, "gen_non_contig_grad_outputs": True}
    assert gradgradcheck(lambda a, b: (a @ b).sin(), matrices, **options)
    assert gradgradcheck(torch.sin, leaf([1.0, 2.0]), leaf([1.0, -1.0]))
    only = {"check_rev_over_rev": False, "check_fwd_over_rev": True, "check_undefined_grad": False}
    assert gradgradcheck(torch.sin, leaf([1.0, 2.0]), fast_mode=True, **only)


def test_a_wrong_derivative() -> None:
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0,"):
        gradcheck(Halved.apply, leaf([1.0, 2.0]))
    assert not gradcheck(Halved.apply, leaf([1.0, 2.0]), raise_exception=False)


def test_a_backward_that_is_not_linear() -> None:
    with pytest.raises(GradcheckError, match="backward not multiplied by grad_output"):
        gradcheck(NotMultiplied.apply, leaf([1.0, 2.0]))


def test_a_backward_that_is_not_deterministic() -> None:
    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradcheck(Drifting.apply, leaf([1.0, 2.0]))
    assert gradcheck(Drifting.apply, leaf([1.0, 2.0]), nondet_tol=1.0)


def test_missing_gradients() -> None:
    with quiet(), pytest.raises(GradcheckError, match="Expected backward function to handle undefined output grads"):
        gradcheck(hooked, leaf([1.0, 2.0]))
    assert gradcheck(hooked, leaf([1.0, 2.0]), check_undefined_grad=False)


def test_outputs_that_change_their_shape_or_type() -> None:
    with pytest.raises(AssertionError, match="return outputs with the same shape when inputs are perturbed"):
        gradcheck(lambda x: x * 1 if x[0].item() > 1 else (x * 1)[:2], leaf([1.0, 2.0, 3.0]))
    with pytest.raises(AssertionError, match="return outputs with the same dtype when inputs are perturbed"):
        gradcheck(lambda x: x * 1 if x[0].item() > 1 else (x * 1).float(), leaf([1.0, 2.0, 3.0]))


def test_outputs_that_should_require_grad() -> None:
    with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda x: x.detach(), leaf([1.0, 2.0]))
    assert gradcheck(lambda x: x.detach() * 0, leaf([1.0, 2.0]))


def test_inputs_that_cannot_be_checked() -> None:
    with pytest.raises(ValueError, match="expects at least one input tensor to require gradient"):
        gradcheck(torch.sin, const([1.0]))
    with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
        gradcheck(torch.sin, const([1.0]).expand(3).requires_grad_())
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision floating point"):
        gradcheck(torch.sin, torch.ones(2, dtype=torch.float32, requires_grad=True), eps=1e-2, atol=1e-1)


@pytest.mark.parametrize(
    ("check", "options", "words"),
    [
        (gradcheck, {"check_backward_ad": False}, "at least one of check_forward_ad or check_backward_ad"),
        (
            gradcheck,
            {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True},
            "check_batched_grad=True requires check_backward_ad",
        ),
        (gradcheck, {"check_batched_forward_grad": True}, "check_batched_forward_grad=True requires check_forward_ad"),
        (gradgradcheck, {"check_rev_over_rev": False}, "at least one of check_fwd_over_rev or check_rev_over_rev"),
        (
            gradgradcheck,
            {"check_rev_over_rev": False, "check_fwd_over_rev": True},
            "check_undefined_grad=True requires check_rev_over_rev",
        ),
    ],
    ids=range(5),
)
def test_options_that_cannot_be_combined(check: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check(torch.sin, leaf([1.0]), **options)


def test_an_unknown_option() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        gradcheck(torch.sin, leaf([1.0]), foo=1)


def test_an_empty_input() -> None:
    inputs = torch.zeros(0, 3, dtype=torch.float64, requires_grad=True), leaf([[1.0, 2.0, 3.0]])
    assert torch.autograd.gradcheck(lambda x, y: torch.cat((x, y)), inputs)
    assert torch.autograd.gradgradcheck(lambda x, y: torch.cat((x, y * y)), inputs)


def test_forward_mode_computes_all_outputs_in_one_pass() -> None:
    passes = []

    class Both(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x.clone(), y.clone()

        @staticmethod
        def jvp(ctx: Any, x: Any, y: Any) -> Any:
            passes.append(1)
            return x, y

    def count(y: Any, **options: bool) -> int:
        passes.clear()
        off = {"check_backward_ad": False, "check_undefined_grad": False}
        assert torch.autograd.gradcheck(Both.apply, (leaf([1.0]), y), check_forward_ad=True, **{**off, **options})
        return len(passes)

    assert count(leaf([2.0])) == 2
    assert count(leaf([2.0]), check_undefined_grad=True) == 6
    assert count(leaf([2.0]), check_undefined_grad=True, check_batched_forward_grad=True) == 12
    assert count(const([2.0]), check_undefined_grad=True, check_batched_forward_grad=True) == 5


def test_a_missing_tangent_is_a_tangent_of_zeros() -> None:
    class Confused(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x + y

        @staticmethod
        def jvp(ctx: Any, x: Any, y: Any) -> Any:
            if y is None:
                return x * 5
            return y if x is None else x + y

    inputs, options = (leaf([1.0]), leaf([2.0])), {"check_forward_ad": True, "check_backward_ad": False}
    assert torch.autograd.gradcheck(Confused.apply, inputs, check_undefined_grad=False, **options)
    with pytest.raises(RuntimeError):
        torch.autograd.gradcheck(Confused.apply, inputs, check_undefined_grad=True, **options)


def test_a_batch_of_gradients_of_a_custom_function() -> None:
    class Scaled(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any, factor: float) -> Any:
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.factor, None

    assert torch.autograd.gradcheck(Scaled.apply, (leaf([1.0, 2.0]), 3.0), check_batched_grad=True)
    x = leaf([1.0, 2.0])
    (found,) = torch.autograd.grad(Scaled.apply(x, 3.0), x, const([[1.0, 0.0], [2.0, 1.0]]), is_grads_batched=True)
    assert found.tolist() == [[3.0, 0.0], [6.0, 3.0]]


def test_an_output_that_was_computed_from_a_list_of_tensors() -> None:
    def function(x: Any) -> Any:
        return torch.tensor([x])

    x = leaf([1.0])
    with each_time(), pytest.warns(UserWarning, match="to a scalar may lead to unexpected behavior"):
        assert function(x).tolist() == [1.0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not torch.autograd.gradcheck(function, x, raise_exception=False)
        with pytest.raises(RuntimeError, match="Numerical gradient for function expected to be zero"):
            torch.autograd.gradcheck(function, x)
