"""The law of propagation of uncertainty, with terms of first and second order.

Sources: JCGM 100:2008, 5.1.2 and its note (terms of second order), 5.2.2 (correlations), G.4 (degrees of freedom) and table G.2
(coverage factors).  A group of correlated quantities with common degrees of freedom is one component of the Welch-Satterthwaite
formula, because a linear combination of jointly estimated quantities has the degrees of freedom of the estimate.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.errors import UsageError, setting
from autodiff_cli.ops.scipy_backend import from_scipy

if TYPE_CHECKING:
    from autodiff_cli.arrays import Vector
    from autodiff_cli.solvers.system import System
    from autodiff_cli.solvers.uncertainty.joint import Joint


def check_order(order: int) -> None:
    """Raise an error unless an order is 1 or 2."""
    if order not in (1, 2):
        raise UsageError(f"the order must be 1 or 2, not {order}", hint=f"use {setting('order', '2')} for terms of second order")


class SecondOrder(NamedTuple):
    """The terms of second order.

    Attributes:
        shift: the difference of the expected value and the value at the estimates.
        variance: the variance that is added to the variance of first order; it may be negative.
    """

    shift: float
    variance: float


def second_order(system: System, joint: Joint, i: int, gradient: Vector, third: bool = True) -> SecondOrder:
    """Return the terms of second order of element i of the results of a system.

    The shift is ``tr(H V)/2``.  The variance is ``tr(H V H V)/2 + g V t`` for normal quantities, where ``t`` contains the third
    derivatives ``f_jkl`` contracted with ``V_kl``.  For a distribution with another fourth moment m, ``(m - 3*u**4)`` times
    ``f_jj**2/4 + f_j*f_jjj/3`` is added.  The terms with third derivatives are included if ``third`` is true.
    """
    covariance, u = joint.covariance, joint.u
    hessian = system.hessian(joint.x, np.eye(system.count)[i])
    product = hessian @ covariance
    variance = float(np.sum(product * product.T)) / 2
    for j in range(len(u)):
        variance += joint.excess[j] * u[j] ** 4 * float(hessian[j, j]) ** 2 / 4
    for group in joint.groups if third else ():
        for column in joint.root(group).T if u[group].any() else ():
            direction = np.zeros(len(u))
            direction[group] = u[group] * column
            slopes = system.third(joint.x, direction)[i]
            variance += float(gradient @ covariance @ slopes)
            variance += float(joint.excess[group[0]] * u[group[0]] ** 2 * gradient[group[0]] * slopes[group[0]]) / 3
    return SecondOrder(float(np.trace(product)) / 2, variance)


def effective_dof(joint: Joint, gradient: Vector) -> float:
    """Return the effective degrees of freedom; nan if correlated quantities have different degrees of freedom."""
    covariance = joint.covariance
    total = float(gradient @ covariance @ gradient)
    parts = 0.0
    for group in joint.groups:
        variance = float(gradient[group] @ covariance[np.ix_(group, group)] @ gradient[group])
        freedoms = {joint.spreads[j].dof for j in group if gradient[j] and joint.spreads[j].size}
        if len(freedoms) > 1:
            return math.nan
        parts += sum(variance**2 / dof for dof in freedoms)
    return total**2 / parts if parts > 0 else math.inf


def coverage_factor(level: float, dof: float) -> float:
    """Return k for which a t distribution has the probability ``level`` between -k and k.

    The degrees of freedom are rounded down to an integer, as in JCGM 100:2008, G.4.1, note 1; nan stands for a normal distribution.
    """
    if not 0 < level < 1:
        raise UsageError(f"the level must be between 0 and 1, not {level}", hint=f"write {setting('level', '0.95')}")
    upper = (1 + level) / 2
    return float(_NORMAL_QUANTILE(upper) if not math.isfinite(dof) else _T_QUANTILE(_whole(dof), upper))


def coverage_level(k: float, dof: float) -> float:
    """Return the probability between -k and k; see ``coverage_factor``."""
    if not 0 < k < math.inf:
        raise UsageError(f"the coverage factor must be positive, not {k}", hint=f"write {setting('k', '2')}")
    return 2 * float(_NORMAL(k) if not math.isfinite(dof) else _T(_whole(dof), k)) - 1


def _whole(dof: float) -> float:
    """Return the degrees of freedom rounded down; rounding errors do not turn 9 into 8."""
    return max(math.floor(dof * (1 + 1e-9)), min(dof, 1.0))


_NORMAL, _NORMAL_QUANTILE = from_scipy("ndtr"), from_scipy("ndtri")
_T, _T_QUANTILE = from_scipy("stdtr"), from_scipy("stdtrit")
