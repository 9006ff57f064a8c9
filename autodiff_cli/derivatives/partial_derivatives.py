"""Computation of all partial derivatives of an evaluation up to a given order."""

from __future__ import annotations

from collections.abc import Mapping

from autodiff_cli.arrays import Floats
from autodiff_cli.autograd.higher_order import Index, partials, symmetric
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.evaluation.evaluation import Evaluation


def partial_derivatives(evaluation: Evaluation, order: int) -> dict[Index, Floats]:
    """Return all partial derivatives up to ``order``, keyed by combinations of variables as in ``autograd.higher_order.partials``.

    For a single variable, Taylor mode computes orders above 2 if it supports the expression; for order 2, nested reverse mode is
    faster.  An output that is not a scalar raises ``ShapeError``, and too many derivatives raise ``LimitError``.
    """
    if evaluation.differentiable:
        evaluation.require_scalar()
    if order > 2 and len(evaluation.variables) == 1 and evaluation.differentiable:
        from autodiff_cli.derivatives.taylor import derivatives_by_taylor_mode

        result = derivatives_by_taylor_mode(evaluation, order)
        if result is not None:
            return result
    return partials(evaluation.output, evaluation.variables, order, evaluation.gradient)


def hessian(evaluation: Evaluation, partials: Mapping[Index, Floats]) -> dict[str, dict[str, Floats]]:
    """Return the second derivatives with respect to every ordered pair of variables.

    User-written derivatives need not be derivatives of a common function, so their Hessian may be asymmetric and is computed in
    full; any other one consists of the partial derivatives of order 2, which have each mixed derivative once.
    """
    has_written_derivatives = any(function.partials is not None for function in evaluation.evaluator.functions.values())
    if has_written_derivatives and evaluation.differentiable:
        return _full_hessian(evaluation)
    return {a: {b: symmetric(partials, a, b, evaluation.variables) for b in evaluation.wrt} for a in evaluation.wrt}


def _full_hessian(evaluation: Evaluation) -> dict[str, dict[str, Floats]]:
    """Return the Hessian of a scalar output as the Jacobian of its gradient, without the use of symmetry."""
    from autodiff_cli.autograd.jacobians import jacobian_of

    inputs = list(evaluation.variables.values())
    gradients = grad(evaluation.output, inputs, evaluation.gradient, retain_graph=True, create_graph=True, materialize_grads=True)
    rows = {}
    for name, gradient in zip(evaluation.variables, gradients, strict=True):
        blocks = jacobian_of(gradient, inputs)
        rows[name] = {other: block._data for other, block in zip(evaluation.variables, blocks, strict=True)}
    return rows
