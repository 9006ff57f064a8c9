"""Checks of gradients against finite differences, with PyTorch's arguments and messages."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.printing import tensor_repr
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor, new_tensor, tensor_on
from autodiff_cli.errors import ArgumentError, GradcheckError

Outputs = Tensor | Sequence[Tensor]
CheckedFunction = Callable[..., Outputs]


def gradcheck(
    func: CheckedFunction,
    inputs: Tensor | Sequence[Tensor | float],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    **others: object,
) -> bool:
    """Compare the analytic Jacobian of ``func`` at ``inputs`` with central differences.

    Args:
        func: the function, which takes the inputs and returns a tensor or a tuple of tensors.
        inputs: a tensor or a sequence of arguments; the tensors that require grad are checked, and should be float64.
        eps: the step of the finite differences.
        atol, rtol: the absolute and the relative tolerance, combined as ``atol + rtol*abs(numerical)``.
        raise_exception: whether to raise an error instead of returning False.
        nondet_tol: the tolerance for the difference between two backward passes.
        others: PyTorch's other options (``fast_mode``, ``check_undefined_grad``, ...), which have no effect: every element is
            checked.

    Raises:
        GradcheckError: if the Jacobians differ; the message contains both.
        ArgumentError: if no input requires grad.
    """
    _check_switches("gradcheck", others)
    arguments = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    checked = [(i, a) for i, a in enumerate(arguments) if isinstance(a, Tensor) and a.requires_grad]
    if not checked:
        raise ArgumentError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True."
        )
    if any(a.dtype.itemsize < 8 for _, a in checked):
        warnings.warn(
            "an input that requires grad is not a double precision floating point tensor: the differences will be inaccurate",
            stacklevel=2,
        )
    try:
        outputs = _outputs(func(*arguments))
        for number, output in enumerate(outputs):
            if not output.is_floating_point():
                continue
            for index, argument in checked:
                analytic = analytic_jacobian(output, argument)
                again = analytic_jacobian(output, argument)
                if np.any(np.abs(analytic - again) > nondet_tol):
                    raise GradcheckError(
                        "Backward is not reentrant, i.e., running backward with same input and grad_output "
                        "multiple times gives different values"
                    )
                numeric = numeric_jacobian(lambda: _outputs(func(*arguments))[number], argument, eps)  # noqa: B023
                if not np.allclose(analytic, numeric, rtol, atol):
                    raise GradcheckError(mismatch(number, index, numeric, analytic))
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: CheckedFunction,
    inputs: Tensor | Sequence[Tensor | float],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    **others: object,
) -> bool:
    """Check the second derivatives of ``func`` with ``gradcheck``, including derivatives with respect to ``grad_outputs``."""
    _check_switches("gradgradcheck", others)
    arguments = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    outputs = [o for o in _outputs(func(*arguments)) if o.requires_grad]
    if grad_outputs is None:
        generator = np.random.default_rng(0)
        given = [new_tensor(np.asarray(generator.standard_normal(o.shape)), requires_grad=True, dtype=o.dtype) for o in outputs]
    else:
        given = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)

    def gradient(*everything: Tensor) -> tuple[Tensor, ...]:
        values, starts = everything[: len(arguments)], everything[len(arguments) :]
        results = [o for o in _outputs(func(*values)) if o.requires_grad]
        wanted = [v for v in values if isinstance(v, Tensor) and v.requires_grad]
        found = grad(results, wanted, list(starts), create_graph=True, allow_unused=True)
        return tuple(f for f in found if f is not None)

    tolerances = {"eps": eps, "atol": atol, "rtol": rtol, "nondet_tol": nondet_tol}
    return gradcheck(gradient, [*arguments, *given], raise_exception=raise_exception, **tolerances)


_SWITCHES = (
    *("check_sparse_nnz", "check_undefined_grad", "check_grad_dtypes", "check_batched_grad", "check_batched_forward_grad"),
    *("check_forward_ad", "check_backward_ad", "check_fwd_over_rev", "check_rev_over_rev", "fast_mode", "masked"),
    "gen_non_contig_grad_outputs",
)


def _check_switches(name: str, given: Mapping[str, object]) -> None:
    for switch in given:
        if switch not in _SWITCHES:
            raise ArgumentError(f"{name}() got an unexpected keyword argument '{switch}'")


def _outputs(result: Outputs) -> list[Tensor]:
    return [result] if isinstance(result, Tensor) else [r for r in result if isinstance(r, Tensor)]


def analytic_jacobian(output: Tensor, argument: Tensor) -> Array:
    """Return the derivative of every element of ``output`` with respect to every element of ``argument``.

    The shape is (elements of ``argument``, elements of ``output``), as in PyTorch.
    """
    columns: Array = np.zeros((argument.numel(), output.numel()))
    if not output.requires_grad:
        return columns
    for j in range(output.numel()):
        unit = np.zeros(output.numel(), output.dtype)
        unit[j] = 1
        start = tensor_on(unit.reshape(output.shape)[()])
        (found,) = grad(output, argument, start, retain_graph=True, allow_unused=True)
        if found is not None:
            columns[:, j] = np.ravel(found._data)
    return columns


def numeric_jacobian(function: Callable[[], Tensor], argument: Tensor, eps: float) -> Array:
    """Return the Jacobian of ``function`` by central differences.

    The values of ``argument`` are changed before each call to ``function``, and restored at the end.
    """
    original = argument._data
    rows = []
    try:
        for i in range(argument.numel()):
            ends = []
            for step in (-eps, eps):
                moved = np.array(original)
                moved.reshape(-1)[i] += step
                argument._data = moved[()] if moved.ndim == 0 else moved
                ends.append(np.ravel(function()._data).astype(np.float64))
            rows.append((ends[1] - ends[0]) / (2 * eps))
    finally:
        argument._data = original
    return np.array(rows).reshape(argument.numel(), -1) if rows else np.zeros((0, function().numel()))


def mismatch(output: int, argument: int, numeric: Array, analytic: Array) -> str:
    """Return PyTorch's message for two Jacobians that differ."""
    return (
        f"Jacobian mismatch for output {output} with respect to input {argument},\n"
        f"numerical:{tensor_repr(new_tensor(numeric))}\nanalytical:{tensor_repr(new_tensor(analytic))}\n"
    )
