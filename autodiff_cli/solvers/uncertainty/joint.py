"""The joint distribution of quantities: estimates, distributions, and the correlations between them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.errors import UnknownName, UsageError, setting
from autodiff_cli.evaluation.bindings import constant_value
from autodiff_cli.language.tree import split_outside_brackets
from autodiff_cli.solvers.uncertainty.covariances import NOTHING, Estimates
from autodiff_cli.solvers.uncertainty.distributions import Distribution
from autodiff_cli.solvers.uncertainty.quantities import quantities
from autodiff_cli.suggest import suggestion

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from autodiff_cli.arrays import Matrix, Vector
    from autodiff_cli.solvers.uncertainty.quantities import Array, Stated

    Correlations = Mapping[str, float] | Mapping[tuple[str, str], float]
    """Correlation coefficients: by ``"L,T"`` or by ``("L", "T")``."""

_ROUNDING = 1e-9
"""The largest negative eigenvalue of a correlation matrix that rounding errors are taken to cause."""


class Joint(NamedTuple):
    """The joint distribution of n quantities.

    Attributes:
        values: the estimates by variable, which may be arrays.
        labels: the name of each quantity.
        x: the estimates.
        distributions: the distribution of each quantity.
        correlation: the correlation matrix.
    """

    values: dict[str, Array]
    labels: list[str]
    x: Vector
    distributions: list[Distribution]
    correlation: Matrix

    @property
    def u(self) -> Vector:
        """The standard uncertainties."""
        return np.array([spread.u for spread in self.distributions])

    @property
    def covariance(self) -> Matrix:
        """The covariance matrix."""
        return np.asarray(self.u[:, None] * self.correlation * self.u)

    @property
    def excess(self) -> Vector:
        """The fourth moment of each quantity divided by ``u**4``, minus 3; correlated quantities are normal."""
        is_alone = np.count_nonzero(self.correlation, axis=1) == 1  # on the diagonal
        return np.where(is_alone, [spread.excess for spread in self.distributions], 0.0)

    @property
    def groups(self) -> list[list[int]]:
        """The quantities in groups that are not correlated with each other (by breadth-first search), in order of first ones."""
        rest = list(range(len(self.x)))
        result = []
        while rest:
            group = newest = [rest.pop(0)]
            while newest:  # ``rest`` becomes a new list with each step
                newest = [j for j in rest if any(self.correlation[i, j] for i in newest)]
                rest = [j for j in rest if j not in newest]
                group = [*group, *newest]
            result.append(sorted(group))
        return result

    def root(self, group: Sequence[int]) -> Matrix:
        """Return a matrix L for which ``L @ L.T`` is the correlation matrix of a group, which may be singular."""
        values, vectors = np.linalg.eigh(self.correlation[np.ix_(group, group)])
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))  # less than 0 by rounding


def correlations(texts: Iterable[str]) -> dict[tuple[str, str], float]:
    """Return the correlation coefficients in texts such as ``L,T=0.3``, by pairs of names in either order.

    Raises:
        UsageError: if a text does not have this form, or a pair is given twice.
    """
    result: dict[tuple[str, str], float] = {}
    for text in texts:
        names, _, value = text.rpartition("=")
        pair = [name.replace(" ", "").replace(",", ", ") for name in split_outside_brackets(names)]  # as in v[0, 1]
        if len(pair) != 2 or not all(pair) or not value.strip():
            message = f"{setting('corr')} expects NAME,NAME=NUMBER, but got '{text}'"
            raise UsageError(message, hint=f"write {setting('corr')} L,T=0.3")
        key = (pair[0], pair[1])
        if key in result or key[::-1] in result:
            raise UsageError(f"the correlation of {pair[0]} and {pair[1]} is given twice", hint="give each pair one number")
        result[key] = float(constant_value(value.strip(), "corr"))
    return result


def joint_distribution(
    at: Mapping[str, Stated],
    u: Mapping[str, str | ArrayLike],
    dof: Mapping[str, str | ArrayLike],
    corr: Correlations,
    known: Estimates = NOTHING,
) -> Joint:
    """Return the joint distribution of quantities.

    Args:
        at, u, dof, known: see ``quantities``.
        corr: further correlation coefficients.

    Raises:
        UnknownName: if a correlation names a quantity that does not exist.
        UsageError: if a coefficient is not between -1 and 1, or no distribution has these correlations.
    """
    inputs = quantities(at, u, dof, known)
    labels, distributions = inputs.labels, inputs.distributions
    matrix = correlation_matrix(labels, distributions, corr, _known_correlations(labels, known))
    x = np.concatenate([np.zeros(0), *(value.ravel() for value in inputs.values.values())])
    return Joint(inputs.values, labels, x, [distributions.get(label, Distribution()) for label in labels], matrix)


def _known_correlations(labels: Sequence[str], known: Estimates) -> Matrix:
    """Return the correlation matrix of quantities, of which some have known covariances; the others are not correlated."""
    matrix = np.eye(len(labels))
    part = known.restricted(labels)
    places = [labels.index(name) for name in part.names]
    deviations = np.sqrt(np.diag(part.matrix))
    products = deviations[:, None] * deviations
    uncorrelated = np.eye(len(places))  # stays for a variance of 0
    correlations = np.divide(part.matrix, products, out=uncorrelated, where=products > 0)
    matrix[np.ix_(places, places)] = (correlations + correlations.T) / 2  # symmetric in spite of rounding
    return matrix


def correlation_matrix(
    labels: Sequence[str], uncertain: Collection[str], corr: Correlations, start: Matrix | None = None
) -> Matrix:
    """Return the correlation matrix of quantities.

    Args:
        labels: the name of each quantity.
        uncertain: the names of the quantities with an uncertainty.
        corr: the correlation coefficients.
        start: a correlation matrix to a copy of which the coefficients are added; the identity matrix by default.

    Raises:
        UnknownName, UsageError: see ``joint_distribution``.
    """
    matrix = np.eye(len(labels)) if start is None else start.copy()
    for key, coefficient in corr.items():
        first, second = (name.strip() for name in key.split(",")) if isinstance(key, str) else key
        i, j = _place(first, labels, uncertain), _place(second, labels, uncertain)
        if i == j or not -1 <= coefficient <= 1:
            what = "itself" if i == j else f"{second} is not between -1 and 1: {coefficient}"
            raise UsageError(f"the correlation of {first} and {what}", hint=f"write {setting('corr', 'L,T=0.3')}")
        if matrix[i, j]:
            message = f"the correlation of {first} and {second} is stated twice"
            raise UsageError(message, hint=f"state it in {setting('corr')} or in {setting('cov')}")
        matrix[i, j] = matrix[j, i] = coefficient
    _check_semidefinite(matrix)
    return matrix


def _check_semidefinite(matrix: Matrix) -> None:
    """Raise an error if a correlation matrix has a negative eigenvalue that is not due to rounding."""
    least = float(np.linalg.eigvalsh(matrix)[0]) if len(matrix) else 0.0
    if not least >= -_ROUNDING * len(matrix):
        message = f"no distribution has these correlations: the correlation matrix has the negative eigenvalue {least:.3g}"
        hint = "the matrix must be positive semidefinite: check the signs, and state the correlations of all pairs"
        raise UsageError(message, hint=hint)


def _place(name: str, labels: Sequence[str], uncertain: Collection[str]) -> int:
    """Return the place among the labels of a name in ``corr``; raise an error if it does not exist or has no uncertainty."""
    if name not in labels:
        hint = suggestion(name, labels) or f"the quantities: {', '.join(labels)}"
        raise UnknownName(f"{setting('corr')} names '{name}', which is not a quantity", hint=hint)
    if name not in uncertain:
        message = f"{setting('corr')} names '{name}', which has no uncertainty"
        raise UsageError(message, hint=f"state it with {setting('u')}")
    return labels.index(name)
