"""Hessian matrices by formula, for expressions of vectors and matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from autodiff_cli.compiler.program import terms
from autodiff_cli.errors import AutodiffError
from autodiff_cli.symbolic.differentiate import formula_values
from autodiff_cli.symbolic.matrices.diff import matrix_derivatives
from autodiff_cli.symbolic.short_form import AccurateForms

if TYPE_CHECKING:
    from autodiff_cli.arrays import Matrix

    HessianFunction: TypeAlias = Callable[[Mapping[str, Any]], Matrix | None]

LEAST_DESCENT = 10_000
"""The least number of elements of all values, times those of the variables, for which a formula pays in a descent."""


def hessian_by_formula(expression: str, values: Mapping[str, Any], by: Sequence[str], least: int) -> HessianFunction | None:
    """Return a function that computes the Hessian matrix of a number at a point.

    Args:
        expression: a program of the language.
        values: the values of its variables and constants.
        by: the variables to differentiate with respect to, whose elements are the rows in order.
        least: the least size, the number of elements of all values, times those of the variables.

    Returns:
        A function of the values, whose result is ``None`` where the formula is not finite.  It is ``None`` if no formula is found,
        or if the expression is small or has no vectors.
    """
    sizes = {name: np.size(value) for name, value in values.items()}
    size = sum(sizes[name] for name in by) * sum(sizes.values())
    if size < least or not any(np.ndim(values[name]) for name in by):
        return None
    dims = {name: tuple(1 if n == 1 else f"n{n}" for n in np.shape(value)) for name, value in values.items()}
    second = [term for term in terms(by, 2) if len(term) == 2]
    try:  # the lengths in dims are names, so that the formula is checked with short arrays
        derivatives = matrix_derivatives(expression, list(values), second, dims, forms=AccurateForms)
    except AutodiffError:
        return None

    def hessian(point: Mapping[str, Any]) -> Matrix | None:  # a block that is not computed is the transpose of another
        try:
            results = {term: formula_values(derivative.tree, point) for term, derivative in derivatives.items()}
        except AutodiffError:
            return None
        blocks = {
            (a, b): np.broadcast_to(results[a, b], (*np.shape(values[a]), *np.shape(values[b]))).reshape(sizes[a], sizes[b])
            for a, b in second
        }
        matrix = np.block([[blocks[a, b] if (a, b) in blocks else blocks[b, a].T for b in by] for a in by])
        return matrix if np.isfinite(matrix).all() else None

    return hessian
