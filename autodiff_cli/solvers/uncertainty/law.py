"""The law of propagation of uncertainty, with terms of first and second order.

Sources: JCGM 100:2008, 5.1.2 and its note (terms of second order), 5.2.2 (correlations), G.4 (degrees of freedom) and table G.2
(coverage factors).  A group of correlated quantities with common degrees of freedom is one component of the Welch-Satterthwaite
formula, because a linear combination of jointly estimated quantities has the degrees of freedom of the estimate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autodiff_cli.compiler.program import Compiled, terms
from autodiff_cli.errors import UsageError, setting
from autodiff_cli.evaluation.compile import compile_terms, names_and_values
from autodiff_cli.numerics.backend import from_scipy
from autodiff_cli.solvers.uncertainty.result import tolerances

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.arrays import Mask, Matrix, Stack, Vector
    from autodiff_cli.evaluation.evaluation import Value
    from autodiff_cli.solvers.system import System
    from autodiff_cli.solvers.uncertainty.joint import Joint

    Array = NDArray[np.float64]


def check_order(order: int) -> None:
    """Raise an error unless an order is 1 or 2."""
    if order not in (1, 2):
        raise UsageError(f"the order must be 1 or 2, not {order}", hint=f"use {setting('order', '2')} for terms of second order")


class SecondOrder(NamedTuple):
    """The terms of second order of N results.

    Attributes:
        shift: the differences of the expected values and the values at the estimates.
        variance: the variances that are added to those of first order; they may be negative.
    """

    shift: Vector
    variance: Vector


def second_order(
    gradient: Matrix, hessian: Stack, third: Matrix | None, cubes: Matrix | None, correlation: Matrix, excess: Vector
) -> SecondOrder:
    """Return the terms of second order of N results, from derivatives that are multiplied by the uncertainties of their variables.

    With the correlation matrix R, the shift is ``tr(H R)/2``, and the variance ``tr(H R H R)/2 + g R t`` for normal quantities.
    For a distribution with an excess, the excess times ``f_jj**2/4 + f_j*f_jjj/3`` is added.

    Args:
        gradient: the first derivatives, of shape (n, N).
        hessian: the second derivatives, of shape (n, n, N).
        third: the third derivatives ``f_jkl`` contracted with R, of shape (n, N); ``None`` to leave their terms out.
        cubes: the derivatives ``f_jjj``, of shape (n, N).
        correlation: the correlation matrix.
        excess: the fourth moment of each quantity divided by ``u**4``, minus 3.
    """
    product = np.einsum("ij,jkr->ikr", correlation, hessian)
    variance = np.einsum("ijr,jir->r", product, product) / 2 + np.einsum("i,iir->r", excess, hessian**2) / 4
    if third is not None and cubes is not None:
        variance += np.einsum("ir,ij,jr->r", gradient, correlation, third) + np.einsum("i,ir,ir->r", excess, gradient, cubes) / 3
    return SecondOrder(np.einsum("iir->r", product) / 2, variance)


def second_order_of_output(system: System, joint: Joint, i: int, gradient: Vector, has_third: bool = True) -> SecondOrder:
    """Return the terms of second order of element i of the results of a system, as those of one row; see ``second_order``."""
    u = joint.u[:, None]
    third, cubes = np.zeros_like(u), np.zeros_like(u)
    for group in joint.groups if has_third else ():
        for column in joint.root(group).T if u[group].any() else ():
            direction = np.zeros(len(u))
            direction[group] = u[group, 0] * column
            slopes = system.third(joint.x, direction)[i][:, None] * u
            third += slopes
            cubes[group[0]] = slopes[group[0]]  # only quantities without correlations have an excess
    hessian = system.hessian(joint.x, np.eye(system.count)[i])[:, :, None] * u[:, None] * u
    return second_order(gradient[:, None] * u, hessian, third, cubes, joint.correlation, joint.excess)


def effective_dof(joint: Joint, gradient: Vector) -> float:
    """Return the effective degrees of freedom; nan if correlated quantities have different degrees of freedom."""
    covariance = joint.covariance
    total = float(gradient @ covariance @ gradient)
    parts = 0.0
    for group in joint.groups:
        variance = float(gradient[group] @ covariance[np.ix_(group, group)] @ gradient[group])
        freedoms = {joint.distributions[j].dof for j in group if gradient[j] and joint.distributions[j].size}
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


def _whole(dof: float) -> float:
    """Return the degrees of freedom rounded down; rounding errors do not turn 9 into 8."""
    return max(math.floor(dof * (1 + 1e-9)), min(dof, 1.0))


_NORMAL_QUANTILE, _T_QUANTILE = from_scipy("ndtri"), from_scipy("stdtrit")

_MOST_TERMS = 100
"""The maximum number of derivatives that are computed only to judge whether first order is enough."""
_ROWS = 8_192
"""The number of rows whose derivatives are in memory at the same time."""


class Uncertain(NamedTuple):
    """The results for many rows.

    Attributes:
        value: the values; with terms of second order, the shifted values.
        u: the standard uncertainties.
        shares: the shares in the variance; see ``ColumnLaw.shares``.
        doubtful: whether terms of second order, which are not included, would change the digits that are written.
    """

    value: Array
    u: Array
    shares: Array
    doubtful: Mask


class ColumnLaw:
    """The law of propagation of uncertainty of an expression for columns.

    Args:
        expression: a program of the language.
        uncertain: the variables with an uncertainty.
        variables: names that are variables even if the language has a constant with that name.
        const: the values of constants.
        correlation: the correlation matrix of the uncertain variables.
        excess: the fourth moment of each uncertain variable divided by ``u**4``, minus 3.
        order: 1, or 2 to add the terms of second order.

    Attributes:
        program: the compiled derivatives.
        shares: the names of the shares: the quantities, ``correlation`` if there are correlations, and ``second_order`` with these
            terms.
    """

    def __init__(
        self,
        expression: str,
        uncertain: Sequence[str],
        variables: Sequence[str],
        const: Mapping[str, Value],
        correlation: Matrix,
        excess: Sequence[float],
        order: int,
    ) -> None:
        self.uncertain = list(uncertain)
        self.order = order
        self._correlated = bool(np.count_nonzero(correlation) > len(correlation))
        self._correlation = correlation
        self._excess = np.array(excess, float)
        self.shares = [*uncertain, *["correlation"] * self._correlated, *["second_order"] * (order == 2)]
        count = len(self.uncertain)
        self._depth = 3 if order == 2 or comb(count + 3, 3) <= _MOST_TERMS else 2
        names, by, leaves = names_and_values(expression, self.uncertain, const, "float64", variables)
        self.program: Compiled = compile_terms(expression, names, leaves, terms(by, self._depth), "float64", 1)
        if self.program.reason is not None and order == 1:  # higher derivatives, row by row, would take long
            self._depth = 1
            self.program = compile_terms(expression, names, leaves, terms(by, 1), "float64", 1)

    def results(self, out: Sequence[NDArray[np.floating[Any]]], u: Mapping[str, Array | float]) -> Uncertain:
        """Return the uncertainties, given the results of the program and the standard uncertainties of the variables."""
        rows = len(out[0])
        sizes = [np.broadcast_to(u[name], rows) for name in self.uncertain]
        parts = []
        for start in range(0, max(rows, 1), _ROWS):
            part = slice(start, start + _ROWS)
            with np.errstate(all="ignore"):
                parts.append(self._part([np.asarray(term[part], float) for term in out], np.array([size[part] for size in sizes])))
        return Uncertain(*(np.concatenate(column, axis=-1) for column in zip(*parts, strict=True)))

    def _part(self, out: Sequence[Array], u: Array) -> Uncertain:
        result = dict(zip(self.program.terms, out, strict=True))
        value = result[()]
        gradient = self._scaled(result, u, 1)
        variance = np.maximum(np.einsum("ir,ij,jr->r", gradient, self._correlation, gradient), 0)
        squares = gradient**2
        shift, second = self._second(result, u, gradient) if self._depth > 1 else (np.zeros_like(value),) * 2
        doubtful = np.zeros(len(value), bool)
        rest = [variance - np.sum(squares, axis=0)] if self._correlated else []
        if self.order == 2:
            value, variance = value + shift, variance + second
            rest.append(second)
        else:
            more = np.sqrt(variance + second)
            allowed = tolerances(more)
            doubtful = np.isfinite(variance) & ~((abs(shift) <= allowed) & (abs(more - np.sqrt(variance)) <= allowed)) & (more != 0)
        shares = np.divide([*squares, *rest], variance, out=np.zeros((len(squares) + len(rest), len(value))), where=variance > 0)
        return Uncertain(value, np.sqrt(variance), shares, doubtful)

    def _second(self, derivatives: Mapping[tuple[str, ...], Array], u: Array, gradient: Array) -> SecondOrder:
        hessian, third, cubes = self._scaled(derivatives, u, 2), None, None
        if self._depth > 2:
            cube = self._scaled(derivatives, u, 3)
            third, cubes = np.einsum("ijkr,jk->ir", cube, self._correlation), np.einsum("iiir->ir", cube)
        return second_order(gradient, hessian, third, cubes, self._correlation, self._excess)

    def _scaled(self, derivatives: Mapping[tuple[str, ...], Array], u: Array, order: int) -> Array:
        """Return all derivatives of an order, each times the uncertainties of its variables, with one axis for each variable."""
        count = len(u)
        result = np.empty((count,) * order + u.shape[1:])
        for place in product(range(count), repeat=order):
            if list(place) == sorted(place):
                result[place] = derivatives[tuple(self.uncertain[i] for i in place)]
                for i in place:
                    result[place] *= u[i]
            else:
                result[place] = result[tuple(sorted(place))]
        return result
