"""Covariance matrices with names, from files and from the results of ``fit`` and ``propagate``."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autodiff_cli.command_result import CommandResult
from autodiff_cli.errors import DataError, NotSolved, setting
from autodiff_cli.language.limited_reading import display_name, read_program

if TYPE_CHECKING:
    from autodiff_cli.arrays import Matrix

    Table = Mapping[str, Mapping[str, float]]
    Covariance = str | CommandResult | Mapping[str, Any]
    """The name of a file (``-`` for standard input), a result of ``fit`` or ``propagate``, or the object in a JSON file."""

_SLACK = 1e-9
"""The largest relative difference of two entries that should be equal."""
_FORMS = '{"a": {"a": 1, "b": 0}, ...}, or the output of fit or propagate as JSON'


class Estimates(NamedTuple):
    """What is known of several quantities together.

    Attributes:
        names: the names of the quantities.
        matrix: the covariance matrix.
        values: the estimates by name, which may include quantities without an uncertainty; empty if they are not known.
        dof: the degrees of freedom of the covariances.
    """

    names: list[str]
    matrix: Matrix
    values: dict[str, float]
    dof: dict[str, float]

    def restricted(self, used: Collection[str]) -> Estimates:
        """Return the names, covariances and values of the quantities in ``used``; ``dof`` stays whole."""
        places = [i for i, name in enumerate(self.names) if name in used]
        values = {name: value for name, value in self.values.items() if name in used}
        return Estimates([self.names[i] for i in places], self.matrix[np.ix_(places, places)], values, self.dof)


NOTHING = Estimates([], np.zeros((0, 0)), {}, {})


def covariance(source: Covariance) -> Estimates:
    """Return the covariance matrix in a file (``-`` is standard input), in the object of a JSON file, or in a result of a command.

    Raises:
        FileError: if the file cannot be read.
        DataError: if the content is not a covariance matrix with names.
        NotSolved: if it is the result of a fit that did not converge.
    """
    if isinstance(source, str):
        path = None if source == "-" else source
        place, content = display_name(path), read_program(path)
        try:
            document = json.loads(content)
        except ValueError as error:
            raise DataError(f"{place} is not valid JSON: {error}", hint=f"use {_FORMS}") from None
    else:
        place = setting("cov")
        document = source.to_dict() if isinstance(source, CommandResult) else dict(source)
    try:
        estimates = _from_object(document)
    except (TypeError, ValueError, KeyError, AttributeError):
        raise DataError(f"{place} does not contain a covariance matrix with names", hint=f"use {_FORMS}") from None
    _check(estimates, place)
    return estimates


def _from_object(document: Mapping[str, Any]) -> Estimates:
    """Return the estimates of ``fit`` or ``propagate`` as JSON, of a table ``{"a": {"a": 1}}``, or of a table and ``values``."""
    if "parameters" in document:
        return _from_fit(document)
    if document.get("command") == "propagate":
        return _from_propagation(document)
    if "covariance" not in document:
        return _from_table(document, {}, {})
    values = document.get("values", {})
    return _from_table(document["covariance"], {name: float(value) for name, value in values.items()}, {})


def _from_propagation(document: Mapping[str, Any]) -> Estimates:
    """Return the outputs of ``propagate``; a single one is the object itself, without a matrix; ``dof`` is infinite if ``None``."""
    outputs = document.get("outputs") or [{"name": document["expression"], **document}]
    table = document.get("covariance") or {output["name"]: {output["name"]: float(output["u"]) ** 2} for output in outputs}
    dof = {output["name"]: math.inf if output["dof"] is None else float(output["dof"]) for output in outputs}
    return _from_table(table, {output["name"]: float(output["value"]) for output in outputs}, dof)


def _from_fit(document: Mapping[str, Any]) -> Estimates:
    """Return the parameters of a fit; fixed ones have no uncertainty, and tied ones, which have no covariances, are left out."""
    if not document.get("converged", True):
        raise NotSolved("the fit is not verified, so its covariances cannot be used", hint="run the fit alone to see the reason")
    table, parameters = document["covariance"], document["parameters"]
    varying = {name for name, record in parameters.items() if record.get("std_error") and not record.get("fixed")}
    tied = varying - table.keys()
    values = {name: float(record["value"]) for name, record in parameters.items() if name not in tied}
    # Standard deviations of the data give known covariances; otherwise the residuals estimate them.
    dof = math.inf if document.get("errors_from") == "sigma" else float(document["residual"]["dof"])
    return _from_table(table, values, dict.fromkeys(table, dof))


def _from_table(table: Table, values: dict[str, float], dof: dict[str, float]) -> Estimates:
    """Return the estimates with a table of covariances by two names; see ``Estimates``."""
    return Estimates([*table], np.array([[float(table[a][b]) for b in table] for a in table]).reshape(len(table), -1), values, dof)


def _check(estimates: Estimates, place: str) -> None:
    """Raise an error unless the matrix is symmetric and finite, without a negative variance; it names the first bad entry."""
    names, matrix = estimates.names, estimates.matrix
    for i, j in np.argwhere(~np.isfinite(matrix))[:1]:  # the first one, if there is any
        message = f"the covariance of {names[i]} and {names[j]} in {place} is {matrix[i, j]}"
        raise DataError(message, hint="every entry must be a number")
    for i in np.flatnonzero(np.diag(matrix) < 0)[:1]:
        raise DataError(f"the variance of {names[i]} in {place} is negative: {matrix[i, i]}", hint="a variance is a square")
    sizes = np.sqrt(np.diag(matrix))
    for i, j in np.argwhere(abs(matrix - matrix.T) > _SLACK * sizes[:, None] * sizes)[:1]:
        message = f"the matrix of {place} is not symmetric: {names[i]}, {names[j]} is {matrix[i, j]}, and {matrix[j, i]}"
        raise DataError(message, hint="a covariance matrix is symmetric")
