"""Forward mode on an evaluated expression: the expression is run once more, with dual tensors in place of its variables.

Forward mode is an addition to reverse mode, which remains the reference: the functions return ``None`` if an operation does not
support forward mode, or if a derivative is infinite or nan.  Reverse mode masks branches that were not selected, and its result
may then be finite.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.forward_ad.dual import dual, split
from autodiff_cli.autograd.forward_ad.level import Level
from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import AutodiffError
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.evaluation.stack_machine import Machine


def product_with_jacobian(evaluation: Evaluation, vector: Sequence[Tensor]) -> Array | None:
    """Return the product of the Jacobian of an expression with a vector, which has the shapes of the variables."""
    with Level() as level, set_grad_enabled(False), np.errstate(all="ignore"):
        duals = [dual(x.detach(), t, level) for x, t in zip(evaluation.variables.values(), vector, strict=True)]
        values: dict[str, Tensor] = {**evaluation.leaves, **dict(zip(evaluation.variables, duals, strict=True))}
        machine = Machine(evaluation.expression, values, np.dtype(evaluation.dtype), listing=False)
        try:
            value = machine.program(evaluation.evaluator.tree)
            primal, tangent = split(machine.tensors.as_tensor(value), level)
        except (AutodiffError, NotImplementedError):  # the evaluation succeeded, so only forward mode fails
            return None
    moved: Array = np.zeros_like(primal._data)[()] if tangent is None else tangent._data
    return moved if np.all(np.isfinite(moved)) else None


def jacobian_by_columns(evaluation: Evaluation) -> list[Array] | None:
    """Return the Jacobian with respect to each variable, with one run for each element of the variables."""
    shape = evaluation.output.shape
    variables = list(evaluation.variables.values())
    result = []
    for k, x in enumerate(variables):
        columns = []
        for unit in np.eye(x.numel(), dtype=x._data.dtype):
            vector = [tensor_on(np.zeros(v.shape, v._data.dtype)[()]) for v in variables]
            vector[k] = tensor_on(unit.reshape(x.shape)[()])
            column = product_with_jacobian(evaluation, vector)
            if column is None:
                return None
            columns.append(column)
        stacked = np.stack(columns, axis=-1) if columns else np.zeros(0, x._data.dtype)
        result.append(stacked.reshape((*shape, *x.shape))[()])
    return result
