"""Checks of gradients against finite differences, with PyTorch's arguments and messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.checks.derivative_check import CheckedFunction, DerivativeCheck, arguments_of, outputs_of
from autodiff_cli.autograd.primitives.interface_kinds import FUNCTION, checks
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import GradcheckError, InvalidCheck


@checks(func=FUNCTION)
def gradcheck(
    func: CheckedFunction,
    inputs: Tensor | Sequence[Tensor | float],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the derivatives of ``func`` at ``inputs`` with central differences.

    Args:
        func: the function, which takes the inputs and returns a tensor or a tuple of tensors.
        inputs: a tensor or a sequence of arguments; the tensors that require grad are checked, and should be float64.
        eps: the step of the finite differences.
        atol, rtol: the absolute and the relative tolerance, combined as ``atol + rtol*abs(numerical)``.
        raise_exception: whether to raise an error instead of returning False.
        nondet_tol: the tolerance for the difference between two backward passes.
        check_undefined_grad: whether to check backward passes in which the gradients of some outputs are missing, and forward
            mode in which the tangents of some inputs are missing.
        check_grad_dtypes: whether to check the types of gradients.
        check_batched_grad, check_batched_forward_grad: whether to check backward passes and forward mode under ``vmap``.
        check_forward_ad, check_backward_ad: the modes that are checked.
        fast_mode, masked: accepted for compatibility with PyTorch; all elements of the Jacobian are compared.

    Raises:
        GradcheckError: if the derivatives differ; the message contains both Jacobians.
        ArgumentError: if no input requires grad.
        InvalidCheck: if the outputs for neighbouring inputs differ in shape or type, or no mode is checked.
    """
    if not (check_forward_ad or check_backward_ad):
        raise InvalidCheck("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise InvalidCheck("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise InvalidCheck("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    check = DerivativeCheck(func, arguments_of(inputs), eps, atol, rtol, nondet_tol, check_grad_dtypes)
    try:
        if check_backward_ad:
            check.compare_jacobians(forward=False)
        if check_forward_ad:
            check.compare_jacobians(forward=True)
            if check_undefined_grad:
                check.missing_tangents()
        if check_batched_forward_grad:
            check.batched_tangents()
        if check_backward_ad:
            if check_batched_grad:
                check.batched_gradients()
            check.zero_gradients()
            if check_undefined_grad:
                check.undefined_gradients()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


@checks(func=FUNCTION)
def gradgradcheck(
    func: CheckedFunction,
    inputs: Tensor | Sequence[Tensor | float],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    gen_non_contig_grad_outputs: bool = False,
    check_undefined_grad: bool = True,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    **options: Any,
) -> bool:
    """Check the second derivatives of ``func`` with ``gradcheck``, including derivatives with respect to ``grad_outputs``.

    Args:
        func, inputs, check_undefined_grad, check_batched_grad: see ``gradcheck``.
        grad_outputs: the cotangents of the outputs; random numbers if left out.
        gen_non_contig_grad_outputs: whether the random cotangents are not contiguous in memory.
        check_fwd_over_rev, check_rev_over_rev: the modes of the outer derivative that are checked.
        options: other keywords of ``gradcheck``.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise InvalidCheck("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_undefined_grad and not check_rev_over_rev:
        raise InvalidCheck("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise InvalidCheck("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    arguments = arguments_of(inputs)
    if grad_outputs is None:
        generator = np.random.default_rng(0)
        cotangents = []
        for output in outputs_of(func(*arguments)):
            if output.requires_grad:
                wide = np.asarray(generator.uniform(-1, 1, (*output.shape, 2)), output._data.dtype)
                values = wide[..., 0] if gen_non_contig_grad_outputs else wide[..., 0].copy()
                cotangents.append(tensor_on(values[()]).requires_grad_())
    else:
        cotangents = arguments_of(grad_outputs)
    count = len(arguments)
    differentiated = [isinstance(a, Tensor) and a.requires_grad for a in (*arguments, *cotangents)]

    def gradient(*everything: Any) -> tuple[Tensor, ...]:
        # Forward mode detaches its inputs.
        values = [v.requires_grad_() if follows else v for v, follows in zip(everything, differentiated, strict=True)]
        results = [o for o in outputs_of(func(*values[:count])) if o.requires_grad]
        variables = [v for v, follows in zip(values[:count], differentiated, strict=False) if follows]
        gradients = grad(results, variables, values[count:], create_graph=True, allow_unused=True)
        return tuple(each for each in gradients if each is not None)

    return gradcheck(
        gradient,
        [*arguments, *cotangents],
        check_undefined_grad=check_undefined_grad,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        **options,
    )
