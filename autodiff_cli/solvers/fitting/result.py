"""The result of a fit: parameters with their uncertainty, the statistics of the residuals, and what was proven."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.command_result import Named, Record
from autodiff_cli.errors import setting
from autodiff_cli.evaluation.note_phrases import Note, note
from autodiff_cli.solvers.fitting import statistics
from autodiff_cli.solvers.fitting.engine.levenberg_marquardt import SAME, Optimality, determined, optimality
from autodiff_cli.solvers.fitting.problem import FitProblem
from autodiff_cli.solvers.solution import Solution, by_names
from autodiff_cli.wording import listed, plural

if TYPE_CHECKING:
    from autodiff_cli.arrays import Matrix, Vector
    from autodiff_cli.solvers.bounds import Ends
    from autodiff_cli.solvers.fitting.engine.sum_of_squares import SumOfSquares
    from autodiff_cli.solvers.fitting.predictions import Prediction


class Fit(Solution):
    """The result of ``fit``.

    Attributes:
        problem: the problem that was solved.
        point: the free parameters at the solution, in the order of ``problem.unknowns``.
        optimality: the facts about the solution, as a stack of one.
        level: the confidence level of the intervals.
        values: the value of every parameter, those that are fixed included, by name.
        errors: the standard errors by name; nan where there is none.
        parameters: the record of each parameter, by name: value, std_error, interval, start, fixed, at_bound.
        covariance, correlation: the matrices of the free parameters, as dictionaries by name.
        residual: rss, std, dof, rows; robust_std for a robust loss.
        statistics: r2, aic, aicc, bic, chi2, reduced_chi2, p.
        curvature: the curvatures after Bates and Watts; ``None`` if they were not computed.
        outliers: the largest standardised residuals, each with its row.
        trace: the record of each step, if it was requested.
        digits: the number of certain digits of the worst parameter.
        k: the half-width of an interval in standard errors.
        matrix: the covariance matrix of the free parameters, in the order of ``problem.unknowns``; nan for those at a bound.
        derived: the record of each quantity that was derived from the parameters.
        prediction: the predictions, if they were requested.
        profiles: the profile interval of each free parameter, if they were requested.
    """

    command = "fit"
    tables = "autodiff_cli.solvers.fitting.tables:tables"

    def __init__(self, problem: FitProblem, point: Vector, level: float) -> None:
        super().__init__(expression=problem.expression)
        point, facts = _refined_facts(problem, point)
        self.problem, self.point, self.optimality, self.level = problem, point, facts, level
        self.trace: list[Record] | None = None
        self.derived: list[Record] = []
        self.prediction: Prediction | None = None
        self.profiles: dict[str, Ends] = {}
        matrix = self.matrix = statistics.covariances(problem.objective, point[None], facts, problem.absolute)[0]
        self.residual, self.statistics = statistics.residual_statistics(problem, point, facts)
        self.k = statistics.quantile(level, self.residual["dof"], problem.absolute)
        values = dict(zip(problem.unknowns, point.tolist(), strict=True))
        self.values = {name: values.get(name, problem.start[name]) for name in problem.shared or problem.start}
        self.errors = dict(zip(problem.unknowns, statistics.standard_errors(matrix).tolist(), strict=True))
        self.parameters = {name: self._parameter_record(name) for name in self.values}
        self.covariance, self.correlation = self._named_matrices()
        self.curvature = statistics.curvature(problem, point, facts)
        self.notes = notes_on_problem(problem)
        self.outliers = _outliers(problem, point, self.noise)

    def _named_matrices(self) -> tuple[Record, Record]:
        """Return the covariance and the correlation matrix of the parameters with a standard error, as dictionaries by name."""
        names = [name for name, error in self.errors.items() if np.isfinite(error)]
        is_known = np.isfinite(np.diag(self.matrix))
        known = self.matrix[np.ix_(is_known, is_known)]
        with np.errstate(all="ignore"):
            correlation = known / np.sqrt(np.outer(np.diag(known), np.diag(known)))
        return by_names(names, known), by_names(names, correlation)

    def _parameter_record(self, name: str) -> Record:
        """Return the record of a parameter: estimate, start, whether it is fixed, and the bound that holds it or ``None``."""
        problem, value, bound = self.problem, self.values[name], None
        if name in problem.unknowns and not self.optimality.free[0][problem.unknowns.index(name)]:
            bound = "lower" if value <= problem.bounds[name][0] else "upper"
        estimate = self.estimate(value, self.errors.get(name, np.nan))
        return {**estimate, "start": problem.start[name], "fixed": name in problem.fixed, "at_bound": bound}

    def estimate(self, value: float, error: float) -> Record:
        """Return a value, its standard error and its interval as entries of a record; a standard error of nan is not known."""
        if not math.isfinite(error):
            return {"value": value, "std_error": None, "interval": None}
        return {"value": value, "std_error": error, "interval": [value - self.k * error, value + self.k * error]}

    @property
    def digits(self) -> int | None:
        """The number of certain digits of the worst parameter; ``None`` if it is not known, or all parameters are at bounds."""
        digits = self.optimality.digits[self.optimality.free]
        return None if not len(digits) or np.isnan(digits).any() else int(np.min(digits))

    @property
    def noise(self) -> float | None:
        """The standard deviation of a weighted observation: 1 if given, from the median for a robust loss, ``None`` if unknown."""
        result: float | None = 1.0 if self.problem.absolute else self.residual.get("robust_std") or self.residual["std"]
        return result

    def answer(self) -> Record:
        """Return the entries of the JSON object; those of ``extra`` only if they were requested."""
        profile = {name: list(ends) for name, ends in self.profiles.items()}
        prediction = None if self.prediction is None else self.prediction.records()
        extra = {"profile": profile or None, "derived": self.derived or None, "prediction": prediction, "trace": self.trace}
        return {
            "parameters": self.parameters,
            "covariance": self.covariance,
            "correlation": self.correlation,
            "residual": self.residual,
            "statistics": self.statistics,
            "digits": self.digits,
            "errors_from": self.problem.errors_from,
            **({"errors_in": list(self.problem.errors)} if self.problem.errors else {}),
            "level": self.level,
            "offset": float(self.optimality.offset[0]),
            "condition": self.optimality.condition,
            "curvature": None if self.curvature is None else {**self.curvature._asdict(), "linear": self.curvature.linear},
            "outliers": self.outliers,
            **{key: value for key, value in extra.items() if value is not None},
        }

    def numbers(self) -> list[Named]:
        """Return the predicted values if there are any, else the parameters and derived quantities; none without convergence."""
        if not self.converged:
            return []
        if self.prediction is not None:
            return [("a predicted value", value) for value in self.prediction.value.tolist()]
        result = [(name, record["value"]) for name, record in self.parameters.items()]
        return [*result, *((record["expression"], record["value"]) for record in self.derived)]

    def records(self) -> list[Record]:
        """Return the rows of the prediction or the trace, if one was requested, else of the parameters and derived quantities."""
        if self.prediction is not None:
            return self.prediction.records()
        if self.trace is not None:
            return self.trace
        estimates = {**self.parameters, **{estimate["expression"]: estimate for estimate in self.derived}}
        return [
            {
                "name": name,
                "value": record["value"],
                "std_error": record["std_error"],
                **dict(zip(("low", "high"), record["interval"] or (None, None), strict=True)),
                "start": record.get("start"),
                "fixed": record.get("fixed", False),
                "at_bound": record.get("at_bound"),
            }
            for name, record in estimates.items()
        ]


def _refined_facts(problem: FitProblem, point: Vector) -> tuple[Vector, Optimality]:
    """Return a solution with the facts about it; if residuals are close to rounding errors, it is refined with many digits."""
    facts = optimality(problem.objective, point[None], problem.box, PATTERNS if problem.data.rows <= SHORT else 1)
    has_all_directions = not len(facts.null)  # the data determine every parameter
    if has_all_directions and statistics.noisy(problem, float(facts.quadratic.value[0])):
        refined = statistics.refined_solution(problem, point, facts.free[0])
        if refined is not None:
            refined_point, linear = refined
            return refined_point, facts._replace(linear=linear)
    return point, facts


FEW_DIGITS = 4.0
"""The number of certain digits below which a parameter has not converged."""
PATTERNS = 3
"""The number of patterns of signs of neighbouring points; for more than ``SHORT`` rows, one."""
SHORT = 10_000
OUTLIERS = 3
"""The number of residuals that the report lists."""


def notes_on_problem(problem: FitProblem) -> list[Note]:
    """Return the notes on names that do not occur, on starts and rows that are not used, and on slow evaluation."""
    data = problem.data
    result = [note("unused", f"'{name}' does not occur in the model") for name in problem.unused]
    for name, start, begin in zip(problem.unknowns, problem.first, problem.box.inside(problem.first), strict=True):
        if start != begin:
            result.append(note("start", f"the start of '{name}' is outside its bounds; the fit begins at the bound"))
    if data.skipped:
        result.append(note("skipped", f"{plural(data.skipped, 'row')} left out; the first is {data.first_skipped}"))
    if problem.model.reason is not None:
        result.append(note("slow", f"every row is evaluated separately, which is slow: {problem.model.reason}"))
    return result


def judge(result: Fit, exhausted: bool, most_steps: int) -> None:
    """Set ``converged``, ``verdict``, ``reason`` and ``advice`` of a result from the facts about its point.

    The first cause of failure that applies is the reason; ``exhausted`` says that all ``most_steps`` were taken.
    """
    facts = result.optimality
    if facts.is_minimum[0]:
        result.converged, result.verdict = True, "minimum"
    elif len(facts.null):
        result.verdict = "singular"
        result.reason = _undetermined(result.problem.objective, result.point, result.problem.unknowns, facts.null)
        result.advice = _advice_if_singular(result.problem)
    elif not facts.quadratic.finite[0]:
        result.reason = "the derivatives at the best point are not finite"
    elif exhausted:
        result.reason = f"no minimum after {plural(most_steps, 'step')}"
        result.advice = f"choose other starting values with {setting('at')}"
    elif not facts.positive[0]:
        result.verdict = "saddle"
        result.reason = "the point is not a minimum: the exact Hessian is not positive definite"
    elif growing := _growing_parameters(result):
        verb = "grows" if len(growing) == 1 else "grow"
        result.reason = f"the sum of squares decreases without a minimum as {listed(growing)} {verb}"
        result.advice = f"use {setting('bounds')}, or fix a parameter with {setting('fix')}"
    else:
        result.reason = f"the steps end before the minimum: the relative offset is {facts.offset[0]:.1g}"
    if not result.converged and result.problem.statements.equations[0].right is None:
        result.advice = "the model does not have an '=', so it is fitted to 0; write the response: y = EXPR"


def _advice_if_singular(problem: FitProblem) -> str:
    """Return what to do if the data do not determine all parameters here; maybe they do at the start, or where all are 1."""
    others = (problem.first, problem.box.inside(np.ones_like(problem.first)))
    if any(_all_determined(problem.objective, other) for other in others):
        start = f"choose other starting values with {setting('at')}, or rewrite the model"
        return f"{start}; at other values, the data determine all parameters"
    return f"rewrite the model, or fix a parameter with {setting('fix')}"


def _growing_parameters(result: Fit) -> list[str]:
    """Return the parameters that have few certain digits, and whose Newton step leads away from 0."""
    facts = result.optimality
    is_growing = (facts.digits[0] < FEW_DIGITS) & (facts.step[0] * result.point > 0)
    return [name for name, grows in zip(result.problem.unknowns, is_growing, strict=True) if grows]


def _outliers(problem: FitProblem, point: Vector, unit: float | None) -> list[Record]:
    """Return the ``OUTLIERS`` largest weighted residuals in terms of their standard deviation ``unit``; none if 0 or not known."""
    residuals = problem.objective.residuals(point[None])
    if not unit or not np.isfinite(residuals).all():
        return []
    size = np.abs(residuals)
    candidates = np.arange(len(size))
    if len(size) > OUTLIERS:  # find the largest ones without sorting all
        candidates = np.flatnonzero(size >= np.partition(size, -OUTLIERS)[-OUTLIERS])
    largest = candidates[np.argsort(-size[candidates], kind="stable")][:OUTLIERS].tolist()
    data = problem.data
    return [{"row": data.line(i), "place": data.place(i), "standardized": float(residuals[i] / unit)} for i in largest]


PART = 1e-4
"""The smallest relative change of a parameter along a direction that counts."""
TINY = 1e-100
"""The size below which a parameter counts as 0."""
_PAIRS: tuple[tuple[str, Callable[[float, float, float], tuple[float, float]]], ...] = (
    ("{}*{}", lambda a, b, t: (a * t, b / t)),
    ("{}/{}", lambda a, b, t: (a * t, b * t)),
    ("{} + {}", lambda a, b, t: (a + t, b - t)),
    ("{} - {}", lambda a, b, t: (a + t, b + t)),
)
"""Combinations of two parameters, each with a movement that does not change the combination."""
_MOVEMENTS = (1.25, 0.8)
"""The numbers t of these movements that are tried: any that change the parameters visibly."""


def _undetermined(objective: SumOfSquares, point: Vector, names: tuple[str, ...], null: Matrix) -> str:
    """Return a sentence that names what the data do not determine; along the rows of ``null``, the residuals do not change."""
    sizes = np.abs(null) / np.where(np.abs(point) < TINY, 1.0, np.abs(point))  # relative to the parameters
    is_moving = (sizes > PART * np.max(sizes, axis=1, keepdims=True)).any(axis=0)
    involved = [i for i in range(len(names)) if is_moving[i]] or list(range(len(names)))  # all, if none stands out
    # Move these parameters, each alone (by any visible change, of 0 too) and then two together, to see if the objective stays.
    alone = [names[i] for i in involved if _is_same_after(objective, point, {i: point[i] * 1.5 + 0.1})]
    if alone or len(involved) == 1:
        return f"the data do not determine {listed(alone or [names[i] for i in involved])}"
    for i, j in itertools.combinations([i for i in involved if point[i]], 2):
        text = _determined_combination(objective, point, i, j)
        if text is not None:
            return f"the data determine only {text.format(names[i], names[j])}, not {names[i]} and {names[j]}"
    return f"the data determine only a combination of {listed(names[i] for i in involved)}, not each of them"


def _determined_combination(objective: SumOfSquares, point: Vector, i: int, j: int) -> str | None:
    """Return the form, such as ``{}*{}``, of a combination of two parameters that alone matters to the objective, if any."""
    for text, move in _PAIRS:
        moves = [move(float(point[i]), float(point[j]), t) for t in _MOVEMENTS]
        if all(_is_same_after(objective, point, {i: a, j: b}) for a, b in moves):
            return text
    return None


def _all_determined(objective: SumOfSquares, point: Vector) -> bool:
    """Return whether the data determine all parameters near a point, such as the start, to first order."""
    linear = objective.linear(point[None])
    return bool(linear.finite[0] and determined(linear)[0])


def _is_same_after(objective: SumOfSquares, point: Vector, moves: dict[int, float]) -> bool:
    """Return whether the objective at a point keeps its value when parameters, given by their places, get other values."""
    target = point[None].copy()
    for i, value in moves.items():
        target[0, i] = value
    before, after = (float(objective.value(parameters)[0]) for parameters in (point[None], target))
    return bool(abs(after - before) <= SAME * abs(before)) if before else after == 0  # nothing is relative to 0
