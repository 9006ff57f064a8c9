"""The law of propagation of uncertainty, with terms of first and second order.

Sources: JCGM 100:2008, 5.1.2 and its note (terms of second order), 5.2.2 (correlations), G.4 (degrees of freedom) and table G.2
(coverage factors).  A group of correlated quantities with common degrees of freedom is one component of the Welch-Satterthwaite
formula, because a linear combination of jointly estimated quantities has the degrees of freedom of the estimate.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.errors import UsageError, setting
from autodiff_cli.numerics.backend import from_scipy

if TYPE_CHECKING:
    from autodiff_cli.arrays import Matrix, Stack, Vector
    from autodiff_cli.solvers.system import System
    from autodiff_cli.solvers.uncertainty.joint import Joint


def check_order(order: int) -> None:
    """Raise an error unless an order is 1 or 2."""
    if order not in (1, 2):
        raise UsageError(f"the order must be 1 or 2, not {order}", hint=f"use {setting('order', '2')} for terms of second order")


def second_order(
    gradient: Matrix, hessian: Stack, third: Matrix | None, cubes: Matrix | None, correlation: Matrix, excess: Vector
) -> tuple[Vector, Vector]:
    """Return the shifts of N expected values, and what is added to their variances, from derivatives times uncertainties.

    With the correlation matrix R, the shift is ``tr(H R)/2``, and the variance ``tr(H R H R)/2 + g R t`` for normal quantities.
    For a distribution with an excess, the excess times ``f_jj**2/4 + f_j*f_jjj/3`` is added.  What is added may be negative.

    Args:
        gradient: the first derivatives, of shape (n, N).
        hessian: the second derivatives, of shape (n, n, N).
        third: the third derivatives ``f_jkl`` contracted with R, of shape (n, N); ``None`` to leave their terms out.
        cubes: the derivatives ``f_jjj``, of shape (n, N); ``None`` exactly if ``third`` is.
        correlation: the correlation matrix.
        excess: the fourth moment of each quantity divided by ``u**4``, minus 3.
    """
    product = np.einsum("ij,jkr->ikr", correlation, hessian)  # R H
    shift = np.einsum("iir->r", product) / 2
    variance = np.einsum("ijr,jir->r", product, product) / 2
    variance += np.einsum("i,iir->r", excess, hessian**2) / 4
    if third is not None and cubes is not None:
        normal = np.einsum("ir,ij,jr->r", gradient, correlation, third)
        variance += normal + np.einsum("i,ir,ir->r", excess, gradient, cubes) / 3
    return shift, variance


def second_order_of_output(system: System, joint: Joint, i: int, gradient: Vector, has_third: bool = True) -> tuple[Vector, Vector]:
    """Return ``second_order`` of element i of the results, as arrays of one number; without ``has_third``, that derivative is 0."""
    u = joint.u[:, None]
    third, cubes = _third_derivatives(system, joint, i) if has_third else (np.zeros_like(u), np.zeros_like(u))
    hessian = system.hessian(joint.x, np.eye(system.count)[i])[:, :, None] * u[:, None] * u
    return second_order(gradient[:, None] * u, hessian, third, cubes, joint.correlation, joint.excess)


def _third_derivatives(system: System, joint: Joint, i: int) -> tuple[Matrix, Matrix]:
    """Return ``third`` and ``cubes``, see ``second_order``, of element i of the results, each of shape (n, 1).

    The correlation matrix R of a group is the sum of ``v v'`` over the columns v of its root.  So the contraction of third
    derivatives with R is the sum of their products with each direction v twice; no array of all third derivatives is needed.
    """
    u = joint.u[:, None]
    third, cubes = np.zeros_like(u), np.zeros_like(u)
    for group in joint.groups:
        if not u[group].any():
            continue
        for column in joint.root(group).T:
            direction = np.zeros(len(u))
            direction[group] = u[group, 0] * column
            slopes = system.third(joint.x, direction)[i][:, None] * u
            third += slopes
            cubes[group[0]] = slopes[group[0]]  # needed for groups of one only: correlated quantities have no excess
    return third, cubes


def effective_dof(joint: Joint, gradient: Vector) -> float:
    """Return ``u**4/sum(u_i**4/dof_i)`` over groups i (Welch-Satterthwaite); nan if it differs within a group, inf if all are."""
    covariance = joint.covariance
    total = float(gradient @ covariance @ gradient)
    divisor = 0.0
    for group in joint.groups:
        variance = float(gradient[group] @ covariance[np.ix_(group, group)] @ gradient[group])
        contributing = [joint.distributions[j] for j in group if gradient[j] and joint.distributions[j].size]
        freedoms = {spread.dof for spread in contributing}
        if len(freedoms) > 1:
            return math.nan
        divisor += sum(variance**2 / dof for dof in freedoms)
    return total**2 / divisor if divisor > 0 else math.inf


def coverage_factor(level: float, dof: float) -> float:
    """Return k for which a t distribution has the probability ``level`` between -k and k.

    The degrees of freedom are rounded down to an integer, as in JCGM 100:2008, G.4.1, note 1; inf and nan stand for a normal
    distribution.  A level that is not between 0 and 1 is an error.
    """
    if not 0 < level < 1:
        raise UsageError(f"the level must be between 0 and 1, not {level}", hint=f"write {setting('level', '0.95')}")
    upper = (1 + level) / 2
    return float(_NORMAL_QUANTILE(upper) if not math.isfinite(dof) else _T_QUANTILE(_whole(dof), upper))


def _whole(dof: float) -> float:
    """Return the degrees of freedom rounded down, but not below 1; rounding errors do not turn 9 into 8."""
    return max(math.floor(dof * (1 + 1e-9)), min(dof, 1.0))


_NORMAL_QUANTILE, _T_QUANTILE = from_scipy("ndtri"), from_scipy("stdtrit")
