"""Checks of gradients against finite differences, with PyTorch's arguments: ``gradcheck`` and ``gradgradcheck``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff_cli.autograd.checks.finite_differences import analytic_jacobian, mismatch, numeric_jacobians
from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.forward_ad.api import dual_level, make_dual, unpack_dual
from autodiff_cli.autograd.primitives.interface_kinds import FUNCTION, checks
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor, tensor_on, zeros_on
from autodiff_cli.errors import ArgumentError, GradcheckError, GraphError, InvalidCheck

Outputs = Tensor | Sequence[Tensor]
CheckedFunction = Callable[..., Outputs]

_NOT_DOUBLE = (
    "Input #{} requires gradient and is not a double precision floating point or complex. This check will likely fail if all the "
    "inputs are not of double precision floating point or complex. "
)
_OVERLAPS = (
    "The {}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be able to compute "
    "the numerical gradients correctly. You should call .contiguous on the input before passing it to gradcheck."
)
_NOT_REENTRANT = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different values, "
    "although analytical gradient matches numerical gradient.The tolerance for nondeterminism was {}."
)


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
    check_batched_grad: bool = False,
    check_grad_dtypes: bool = False,
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
        check_grad_dtypes: whether the tangents of forward mode must have the types of the outputs.
        check_forward_ad, check_backward_ad: the modes that are checked.
        check_undefined_grad, check_batched_grad, fast_mode, masked: accepted for compatibility with PyTorch; all elements of the
            Jacobian are compared.

    Raises:
        GradcheckError: if the derivatives differ (the message contains both Jacobians), or two backward passes do.
        ArgumentError: if no input requires grad.
        GraphError: if elements of an input share memory.
        InvalidCheck: if the outputs for neighbouring inputs differ in shape or type, or no mode is checked.
    """
    if not (check_forward_ad or check_backward_ad):
        raise InvalidCheck("Expected at least one of check_forward_ad or check_backward_ad to be True")
    check = DerivativeCheck(func, arguments_of(inputs), eps, atol, rtol, nondet_tol, check_grad_dtypes)
    try:
        if check_backward_ad:
            check.compare_jacobians(forward=False)
        if check_forward_ad:
            check.compare_jacobians(forward=True)
        if check_backward_ad:
            check.check_zero_cotangents()
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
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    **options: Any,
) -> bool:
    """Check the second derivatives of ``func`` with ``gradcheck``, including derivatives with respect to ``grad_outputs``.

    Args:
        func, inputs: see ``gradcheck``.
        grad_outputs: the cotangents of the outputs; random numbers if left out.
        check_fwd_over_rev, check_rev_over_rev: the modes of the outer derivative that are checked.
        options: other keywords of ``gradcheck``.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise InvalidCheck("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    arguments = arguments_of(inputs)
    # A start of the backward pass for each output that requires grad.
    cotangents = _random_cotangents(outputs_of(func(*arguments))) if grad_outputs is None else arguments_of(grad_outputs)
    count = len(arguments)
    is_variable = [isinstance(value, Tensor) and value.requires_grad for value in (*arguments, *cotangents)]

    def gradient(*values: Any) -> tuple[Tensor, ...]:
        """Return the gradients with respect to the used arguments; ``values`` are the arguments, followed by the cotangents."""
        for i, value in enumerate(values):
            if is_variable[i]:  # forward mode has detached it
                value.requires_grad_()
        inputs, starts = values[:count], values[count:]
        recorded = [output for output in outputs_of(func(*inputs)) if output.requires_grad]
        variables = [value for i, value in enumerate(inputs) if is_variable[i]]
        gradients = grad(recorded, variables, starts, create_graph=True, allow_unused=True)
        return tuple(slope for slope in gradients if slope is not None)

    return gradcheck(
        gradient, [*arguments, *cotangents], check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev, **options
    )


def _random_cotangents(outputs: Sequence[Tensor]) -> list[Tensor]:
    """Return a tensor of random numbers that requires grad for each output that does; the numbers are always the same."""
    generator = np.random.default_rng(0)
    recorded = [output for output in outputs if output.requires_grad]
    arrays = [np.asarray(generator.uniform(-1, 1, output.shape), output._data.dtype) for output in recorded]
    return [tensor_on(array[()]).requires_grad_() for array in arrays]


@dataclass
class DerivativeCheck:
    """One check of a function, see ``gradcheck``; ``checked`` and ``outputs`` are its arguments and results that require grad."""

    func: CheckedFunction
    arguments: list[Any]
    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_grad_dtypes: bool

    def __post_init__(self) -> None:
        """Check the arguments, and set the attributes that follow from them and from one call of the function."""
        self.checked = [a for a in self.arguments if isinstance(a, Tensor) and a.requires_grad]
        self._check_arguments()
        self.all_outputs = self.call()
        self.outputs = [o for o in self.all_outputs if o.requires_grad]

    def _check_arguments(self) -> None:
        """Warn of arguments that are not float64; raise an error if elements share memory, or no argument requires grad."""
        for i, argument in enumerate(self.arguments):
            if isinstance(argument, Tensor) and argument.requires_grad:
                if argument._data.dtype != np.float64:
                    warnings.warn(_NOT_DOUBLE.format(i), stacklevel=6)  # the caller of gradcheck
                if _repeats_elements(argument._data):
                    raise GraphError(_OVERLAPS.format(i))
        if not self.checked:
            raise ArgumentError(
                "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
            )

    def numeric(self, argument: Tensor) -> list[Array]:
        """Return the numerical Jacobian of each output that requires grad, or of each output if none does."""
        jacobians = zip(numeric_jacobians(self.call, argument, self.eps), self.all_outputs, strict=True)
        return [jacobian for jacobian, output in jacobians if output.requires_grad or not self.outputs]

    def call(self) -> list[Tensor]:
        """Return the outputs for the current values of the arguments."""
        return outputs_of(self.func(*self.arguments))

    def compare_jacobians(self, forward: bool) -> None:
        """Raise GradcheckError if a Jacobian differs from finite differences, or is not 0 without recorded outputs."""
        numeric = [self.numeric(argument) for argument in self.checked]  # by argument, then by output
        if not self.outputs:
            if any(np.any(block != 0) for blocks in numeric for block in blocks):
                raise GradcheckError("Numerical gradient for function expected to be zero")
            return
        by_forward_mode = [self._jacobians_by_forward_mode(argument) for argument in self.checked] if forward else []
        for i, output in enumerate(self.outputs):
            for j, argument in enumerate(self.checked):
                numerical = numeric[j][i]
                analytic = by_forward_mode[j][i] if forward else self._reproduced_jacobian(output, argument)
                if not np.allclose(analytic, numerical, self.rtol, self.atol):
                    raise GradcheckError(mismatch(i, j, numerical, analytic, forward))

    def _reproduced_jacobian(self, output: Tensor, argument: Tensor) -> Array:
        """Return a Jacobian by reverse mode; raise GradcheckError if a second pass differs by more than ``nondet_tol``."""
        analytic = analytic_jacobian(output, argument)
        again = analytic_jacobian(output, argument)
        if np.any(np.abs(analytic - again) > self.nondet_tol):
            raise GradcheckError(_NOT_REENTRANT.format(self.nondet_tol))
        return analytic

    def _jacobians_by_forward_mode(self, argument: Tensor) -> list[Array]:
        """Return the Jacobians of all outputs with respect to an input by forward mode, one pass for each of its elements."""
        passes = [self._tangents(argument, unit.reshape(argument.shape)) for unit in np.eye(argument.numel())]
        jacobians = []
        for i, output in enumerate(self.outputs):
            rows = [np.ravel(tangents[i]._data) for tangents in passes]
            jacobians.append(np.reshape(rows, (argument.numel(), output.numel())))
        return jacobians

    def _tangents(self, argument: Tensor, direction: Any) -> list[Tensor]:
        """Return the tangents of the recorded outputs, 0 without one; ``argument`` has the tangent ``direction``, others 0."""
        with dual_level():
            values = [_with_tangent(value, direction if value is argument else 0.0) for value in self.arguments]
            tangents = []
            for output, recorded in zip(outputs_of(self.func(*values)), self.all_outputs, strict=True):
                if not recorded.requires_grad:
                    continue
                primal, tangent = unpack_dual(output)
                tangents.append(primal * 0.0 if tangent is None else tangent)
                if self.check_grad_dtypes and tangents[-1].dtype != recorded.dtype:
                    raise GradcheckError("Forward AD gradient has dtype mismatch.")
        return tangents

    def check_zero_cotangents(self) -> None:
        """Raise GradcheckError if a backward pass from cotangents of 0 gives a gradient other than 0: a rule ignores them."""
        if not self.outputs:
            return
        starts = [zeros_on(o.shape, o) for o in self.outputs]
        for gradient in grad(self.outputs, self.checked, starts, retain_graph=True, allow_unused=True):
            if gradient is not None and np.any(gradient._data != 0):
                raise GradcheckError("backward not multiplied by grad_output")


def _with_tangent(value: Any, tangent: Array | float) -> Any:
    """Return a checked argument as a dual tensor; a number as ``tangent`` is that of all elements.  Return others unchanged."""
    if not isinstance(value, Tensor) or not value.requires_grad:
        return value
    tangents = np.full(value.shape, tangent, value._data.dtype)
    return make_dual(value.detach(), tensor_on(tangents[()]))


def _repeats_elements(data: Array) -> bool:
    """Return whether all elements along a dimension of an array, of length 2 or more, are in the same memory."""
    lengths = zip(getattr(data, "strides", ()), data.shape, strict=False)  # a NumPy scalar does not have strides
    return data.size > 0 and any(stride == 0 and length > 1 for stride, length in lengths)


def arguments_of(inputs: Tensor | Sequence[Any]) -> list[Any]:
    """Return the arguments of a checked function as a list."""
    return list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]


def outputs_of(result: Outputs) -> list[Tensor]:
    """Return the tensors among the results of a checked function, which may also return one tensor; others are left out."""
    return [result] if isinstance(result, Tensor) else [r for r in result if isinstance(r, Tensor)]
