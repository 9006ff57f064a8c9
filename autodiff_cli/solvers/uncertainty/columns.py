"""The law of propagation of uncertainty for many rows at once, with the compiled derivatives of an expression.

The formulas are those of ``law``; the derivatives are scaled by the standard uncertainties of their quantities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autodiff_cli.compiler.program import Compiled, terms
from autodiff_cli.evaluation.compile import compile_terms, names_and_values
from autodiff_cli.solvers.uncertainty.written import tolerances

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.arrays import Mask, Matrix
    from autodiff_cli.evaluation.evaluation import Value

    Array = NDArray[np.float64]

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
                parts.append(self._part([np.asarray(each[part], float) for each in out], np.array([size[part] for size in sizes])))
        return Uncertain(*(np.concatenate(column, axis=-1) for column in zip(*parts, strict=True)))

    def _part(self, out: Sequence[Array], u: Array) -> Uncertain:
        found = dict(zip(self.program.terms, out, strict=True))
        value = found[()]
        gradient = self._scaled(found, u, 1)
        along = self._correlate(gradient)
        variance = np.maximum(np.sum(gradient * along, axis=0), 0)
        squares = gradient**2
        shift, second = self._second(found, u, gradient, along) if self._depth > 1 else (np.zeros_like(value),) * 2
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

    def _second(self, found: Mapping[tuple[str, ...], Array], u: Array, gradient: Array, along: Array) -> tuple[Array, Array]:
        """Return the shift and the variance of second order; see ``law.second_order``."""
        hessian = self._scaled(found, u, 2)
        product = self._correlate(hessian)
        variance = np.einsum("ijr,jir->r", product, product) / 2 + np.einsum("i,iir->r", self._excess, hessian**2) / 4
        if self._depth > 2:
            third = self._scaled(found, u, 3)
            variance += np.einsum("ir,ijkr,jk->r", along, third, self._correlation)
            variance += np.einsum("i,ir,iiir->r", self._excess, gradient, third) / 3
        return np.einsum("iir->r", product) / 2, variance

    def _scaled(self, found: Mapping[tuple[str, ...], Array], u: Array, order: int) -> Array:
        """Return all derivatives of an order, each times the uncertainties of its variables, with one axis for each variable."""
        count = len(u)
        made = np.empty((count,) * order + u.shape[1:])
        for place in product(range(count), repeat=order):
            if list(place) == sorted(place):
                made[place] = found[tuple(self.uncertain[i] for i in place)]
                for i in place:
                    made[place] *= u[i]
            else:
                made[place] = made[tuple(sorted(place))]
        return made

    def _correlate(self, array: Array) -> Array:
        """Return the correlation matrix times an array."""
        if not self._correlated:
            return array
        found: Array = np.einsum("ij,j...->i...", self._correlation, array)
        return found
