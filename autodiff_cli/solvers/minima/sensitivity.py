"""Derivatives of a minimizer and of the minimal value with respect to constants, by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.errors import UsageError, setting
from autodiff_cli.solvers.bounds import check_names
from autodiff_cli.solvers.system import System

if TYPE_CHECKING:
    from autodiff_cli.arrays import Vector
    from autodiff_cli.evaluation.evaluation import Value
    from autodiff_cli.solvers.minima.certificate import Certificate
    from autodiff_cli.solvers.minima.problem import Problem

VALUE = "value"
"""The name of the minimal value among the derivatives."""


def check(names: Sequence[str], const: Mapping[str, Value]) -> None:
    """Raise an error if a name is not a constant that is a number.

    Raises:
        UnknownName: if a name is not a constant.
        UsageError: if a constant is an array.
    """
    check_names(names, const, "sensitivity", "constant")
    for name in names:
        if np.ndim(const[name]):
            raise UsageError(f"{setting('sensitivity')} needs a number, but '{name}' is an array", hint="name scalar constants")


def sensitivities(
    problem: Problem, found: Certificate, const: Mapping[str, Value], names: Sequence[str]
) -> dict[str, dict[str, Vector | float]]:
    """Return the derivative of each element of the solution and of the value with respect to each constant.

    The first-order conditions hold for every value of a constant a.  Their derivative is a linear system with the Hessian matrix H
    of the Lagrangian and the Jacobian matrix A of the active constraints: H dx - A.T dm = -d(grad L)/da and A dx = -dc/da.  The
    derivative of the value is the partial derivative of the Lagrangian with respect to a (Fiacco, Introduction to Sensitivity and
    Stability Analysis in Nonlinear Programming, 1983).

    Args:
        problem: the problem.
        found: the certificate of the minimum.
        const: the values of all constants.
        names: the constants.
    """
    system, n = problem.system, problem.size
    others = {name: value for name, value in const.items() if name not in names}
    at = {**system.named(found.x), **{name: const[name] for name in names}}
    wider = System(system.source, system.programs, at, others)
    point = wider.start
    weights = problem.weights(found.multipliers)
    hessian, jacobian = wider.hessian(point, weights), wider.jacobian(point)
    free = np.flatnonzero(~found.active.fixed)
    rows = 1 + np.flatnonzero(found.active.constraints)
    normal = jacobian[np.ix_(rows, free)]
    matrix = np.block([[hessian[np.ix_(free, free)], -normal.T], [normal, np.zeros((len(rows), len(rows)))]])
    result: dict[str, dict[str, Vector | float]] = {}
    for k, name in enumerate(names, start=n):
        right = -np.concatenate([hessian[free, k], jacobian[rows, k]])
        moved = np.zeros(n)
        moved[free] = np.linalg.lstsq(matrix, right, rcond=None)[0][: len(free)]
        result[name] = {**system.named(moved + 0.0), VALUE: float(problem.sign * (weights @ jacobian[:, k])) + 0.0}
    return result
