"""The result of a fit: parameters with their uncertainty, the statistics of the residuals, and what was proven."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.command_result import Named, Record
from autodiff_cli.solvers.fitting.engine.optimality import Optimality
from autodiff_cli.solvers.fitting.problem import Problem
from autodiff_cli.solvers.fitting.statistics import Curvature
from autodiff_cli.solvers.solution import Solution

if TYPE_CHECKING:
    from autodiff_cli.arrays import Matrix, Vector
    from autodiff_cli.solvers.fitting.inference import Ends, Prediction


class Fit(Solution):
    """The result of ``fit``.

    Attributes:
        problem: the problem that was solved.
        point: the free parameters at the solution, in the order of ``problem.free``.
        optimality: the facts about the solution, as a stack of one.
        level: the confidence level of the intervals.
        values: the value of every parameter, those that are fixed or tied included, by name.
        errors: the standard errors by name; nan where there is none.
        parameters: the record of each parameter, by name: value, std_error, interval, start, fixed, at_bound.
        covariance, correlation: the matrices of the free parameters, as dictionaries by name.
        residual: rss, std, dof, rows; robust_std for a robust loss.
        statistics: r2, aic, aicc, bic, chi2, reduced_chi2, p.
        scaled: what the standard errors are scaled by: ``residuals``, ``sigma`` or ``weights``.
        curvature: the curvatures after Bates and Watts; ``None`` if they were not computed.
        outliers: the largest standardised residuals, each with its row.
        trace: the record of each step, if it was requested.
        digits: the number of certain digits of the worst parameter.
        k: the half-width of an interval in standard errors.
        matrix: the covariance matrix of the free parameters, in the order of ``problem.free``; nan for those at a bound.
        derived: the record of each quantity that was derived from the parameters.
        prediction: the predictions, if they were requested.
        profiles: the profile interval of each free parameter, if they were requested.
    """

    command = "fit"
    tables = "autodiff_cli.solvers.fitting.tables:tables"

    k: float
    matrix: Matrix
    values: dict[str, float]
    errors: dict[str, float]
    parameters: dict[str, Record]
    covariance: dict[str, dict[str, float]]
    correlation: dict[str, dict[str, float]]
    residual: Record
    statistics: Record
    outliers: list[Record]
    scaled: str
    curvature: Curvature | None

    def __init__(self, problem: Problem, point: Vector, optimality: Optimality, level: float) -> None:
        super().__init__(expression=problem.expression)
        self.problem, self.point, self.optimality, self.level = problem, point, optimality, level
        self.trace: list[Record] | None = None
        self.derived: list[Record] = []
        self.prediction: Prediction | None = None
        self.profiles: dict[str, Ends] = {}
        self.extra: Record = {}

    @property
    def digits(self) -> int | None:
        """The number of certain digits of the worst parameter."""
        found = self.optimality.digits[self.optimality.free]
        return None if not len(found) or np.isnan(found).any() else int(np.min(found))

    @property
    def noise(self) -> float | None:
        """The standard deviation of a weighted observation: 1 if it is given, and from the median residual for a robust loss."""
        found: float | None = 1.0 if self.problem.absolute else self.residual.get("robust_std") or self.residual["std"]
        return found

    def answer(self) -> Record:
        found: Record = {
            "parameters": self.parameters,
            "covariance": self.covariance,
            "correlation": self.correlation,
            "residual": self.residual,
            "statistics": self.statistics,
            "digits": self.digits,
            "errors_from": self.scaled,
            **({"errors_in": list(self.problem.errors)} if self.problem.errors else {}),
            "level": self.level,
            "offset": float(self.optimality.offset[0]),
            "condition": self.optimality.condition,
            "curvature": None if self.curvature is None else {**self.curvature._asdict(), "linear": self.curvature.linear},
            "outliers": self.outliers,
            **({"profile": {name: list(ends) for name, ends in self.profiles.items()}} if self.profiles else {}),
            **({"derived": self.derived} if self.derived else {}),
            **({"prediction": self.prediction.records()} if self.prediction is not None else {}),
            **self.extra,
        }
        if self.trace is not None:
            found["trace"] = self.trace
        return found

    def numbers(self) -> list[Named]:
        if not self.converged:
            return []
        if self.prediction is not None:
            return [("a predicted value", value) for value in self.prediction.value.tolist()]
        found = [(name, record["value"]) for name, record in self.parameters.items()]
        return [*found, *((record["expression"], record["value"]) for record in self.derived)]

    def records(self) -> list[Record]:
        if self.prediction is not None:
            return self.prediction.records()
        if self.trace is not None:
            return self.trace
        return [
            {
                "name": name,
                "value": record["value"],
                "std_error": record["std_error"],
                "low": None if record["interval"] is None else record["interval"][0],
                "high": None if record["interval"] is None else record["interval"][1],
                "start": record["start"],
                "fixed": record["fixed"],
                "at_bound": record["at_bound"],
            }
            for name, record in [*self.parameters.items(), *((one["expression"], _no_start(one)) for one in self.derived)]
        ]


def _no_start(derived: Record) -> Record:
    return {**derived, "start": None, "fixed": False, "at_bound": None}


def by_names(names: tuple[str, ...], matrix: Matrix) -> dict[str, dict[str, Any]]:
    """Return a matrix as a dictionary of rows by name."""
    return {a: dict(zip(names, row, strict=True)) for a, row in zip(names, matrix.tolist(), strict=True)}
