"""``ad.fit``: the parameters of a model from columns of data, by nonlinear least squares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import optional
from autodiff_cli.autograd.primitives.interface_kinds import EXPRESSION, NAMES, VALUES, VALUES_OR_TEXTS, checks
from autodiff_cli.data.columns import DATA
from autodiff_cli.errors import UsageError, setting
from autodiff_cli.solvers.bounds import check_names
from autodiff_cli.solvers.fitting.arguments import fit_problem
from autodiff_cli.solvers.fitting.engine.levenberg_marquardt import CONVERGED, MOST, MOST_STEPS, SAME, Minimization, Minimizer
from autodiff_cli.solvers.fitting.groups import GroupFit, SharedFit, fit_groups
from autodiff_cli.solvers.fitting.predictions import derived_quantity, predict_with_bands, profiles
from autodiff_cli.solvers.fitting.problem import FitProblem
from autodiff_cli.solvers.fitting.result import Fit, judge
from autodiff_cli.solvers.fitting.starts import with_starts

if TYPE_CHECKING:
    from autodiff_cli.arrays import Vector
    from autodiff_cli.command_result import Record
    from autodiff_cli.data.columns import Data
    from autodiff_cli.evaluation.evaluation import Value
    from autodiff_cli.solvers.bounds import Ends
    from autodiff_cli.solvers.fitting.arguments import Start
    from autodiff_cli.solvers.fitting.engine.levenberg_marquardt import Watch

FEW_STEPS, SLOW = 20, 10
"""The least number of steps, and the divisor of the steps, with the rows, for a model whose rows are evaluated separately."""


@checks(
    expression=EXPRESSION, data=DATA, at=optional(VALUES_OR_TEXTS), const=optional(VALUES), let=optional(VALUES),
    sigma=optional(EXPRESSION), weights=optional(EXPRESSION), fix=NAMES, bounds=VALUES_OR_TEXTS, derive=NAMES, share=NAMES,
    sigma_x=VALUES_OR_TEXTS, where=optional(EXPRESSION),
)  # fmt: skip
def fit(
    expression: str,
    data: Data,
    *,
    at: Mapping[str, Start] | Iterable[str] | None = None,
    const: Mapping[str, Value] | None = None,
    let: Mapping[str, str] | None = None,
    sigma: str | None = None,
    weights: str | None = None,
    fix: Iterable[str] = (),
    bounds: Iterable[str] | Mapping[str, str | Ends] = (),
    loss: str | None = None,
    level: float = 0.95,
    trace: bool = False,
    derive: Iterable[str] = (),
    predict: Data | None = None,
    profile: bool = False,
    on_error: str = "stop",
    by: str | None = None,
    share: Iterable[str] = (),
    sigma_x: Iterable[str] | Mapping[str, str | float] = (),
    where: str | None = None,
) -> Fit | GroupFit:
    """Fit the parameters of a model to data by nonlinear least squares.

    Args:
        expression: the model, such as ``y = b1*(1 - exp(-b2*x))``; names that are columns are data, the others are parameters.
        data: a file name, a list of file names, or arrays of N numbers by column name.
        at: the start of each parameter; a range such as ``(0.1, 10)`` tries several starts in it, and a parameter that is left out
            is given a start by a search.
        const: the values of constants.
        let: the column of a name, if they differ.
        sigma: an expression of columns: the known standard deviation of each row; standard errors are then not scaled.
        weights: an expression of columns: the relative weight of each row; standard errors are scaled by the residuals.
        fix: parameters that keep their start.
        bounds: the interval of a parameter, such as ``{"b2": (0, 10)}`` or ``["b2=0:10"]``.
        loss: ``huber``, ``soft_l1`` or ``cauchy``, with the scale of the residuals after a colon.
        level: the confidence level of the intervals.
        trace: whether to record every step.
        derive: expressions of the parameters, such as ``log(2)/b2``, whose value and standard error are computed.
        predict: a file or arrays with columns of the right side, or a range such as ``x=0:10``, where the model is predicted with
            confidence and prediction bands.
        profile: whether to compute profile intervals, which need not be symmetric.
        on_error: ``stop`` or ``skip``, for rows with a cell that is not a finite number, and for groups without a fit.
        by: a column of text or numbers; the rows with each of its values are fitted separately.
        share: parameters that are common to all groups of ``by``, which are then fitted together.
        sigma_x: the standard deviation of columns whose numbers have errors themselves, such as ``{"x": 0.1}`` or ``["x=dx"]``;
            ``sigma`` or ``weights`` must be given too, and weights are then the inverse squares of standard deviations that
            have an unknown factor in common with those of ``sigma_x``.
        where: a condition such as ``x > 0 and name == "soft"``; rows for which it is false or nan are left out.

    Returns:
        a ``Fit``; or with ``by`` a ``GroupFit``, whose ``groups`` are the results of the groups; or with ``share`` a
        ``SharedFit``, which has the shared ``parameters`` besides.  Its attribute ``converged`` says whether the solution passed
        every check.

    Raises:
        AutodiffError: if the model or the data are invalid, or the model is not finite at the start.
    """
    problem = fit_problem(
        expression, data, at=at, const=const, let=let, sigma=sigma, weights=weights, fix=fix, bounds=bounds, loss=loss,
        on_error=on_error, by=by, sigma_x=sigma_x, where=where,
    )  # fmt: skip
    shared = tuple(share)
    _check_shared(problem, shared)
    if by is not None:
        _refuse_with_groups(sigma_x=problem.errors, trace=trace, predict=predict, profile=profile)
    problem = with_starts(problem)
    if by is not None and not shared:
        return fit_groups(problem, level=level, forgiving=on_error == "skip", derive=tuple(derive))
    problem.check()
    if shared:
        joint = solve(replace(problem, shared=shared, ranges={}), level)
        return SharedFit(problem, joint, tuple(derive))
    result = solve(problem, level, trace)
    if result.converged:
        result.derived = [derived_quantity(result, text) for text in derive]
        result.profiles = profiles(result) if profile else {}
        result.prediction = None if predict is None else predict_with_bands(result, predict)
    return result


def _check_shared(problem: FitProblem, shared: tuple[str, ...]) -> None:
    """Raise an error if ``shared`` parameters have no groups, are not fitted, are all parameters, or have a robust loss."""
    if not shared:
        return
    if problem.data.groups is None:
        message = f"{setting('share')} needs {setting('by')}"
        raise UsageError(message, hint=f"name the column of the groups: {setting('by', 'COLUMN')}")
    check_names(shared, problem.free, "share", "parameter that is fitted")
    if {*shared} >= {*problem.free}:
        message = "every parameter is shared, so the groups do not differ"
        raise UsageError(message, hint=f"omit {setting('by')} and {setting('share')}")
    if not problem.loss.plain:
        raise UsageError(f"{setting('loss')} and {setting('share')} exclude each other", hint="use one of them")


def _refuse_with_groups(**settings: object) -> None:
    """Raise an error if one of these settings, given as values by name, is used (not empty or false): groups do not have them."""
    for name, value in settings.items():
        if value:
            raise UsageError(f"{setting(name)} and {setting('by')} exclude each other", hint="fit the rows of one group")


def solve(problem: FitProblem, level: float, trace: bool = False) -> Fit:
    """Solve a problem that has starts, in fewer steps if rows are slow, and verify the solution; ``trace`` records each step."""
    most_steps = MOST_STEPS
    if problem.model.reason is not None:
        most_steps = max(FEW_STEPS, MOST_STEPS // (SLOW * problem.data.rows))
    records: list[Record] = []

    def record(kind: str, point: list[float], value: float, length: float, damping: float) -> None:
        """Append a step to the records; see ``Minimizer`` for the arguments."""
        parameters = dict(zip(problem.unknowns, point, strict=True))
        step = {"objective": value, "length": length, "damping": damping, "done": kind}
        records.append({"step": len(records), **parameters, **step})

    with np.errstate(all="ignore"):  # a trial point may be anywhere
        outcome = _minimum(problem, most_steps, record if trace else None)  # of a stack of one problem
        result = Fit(problem, outcome.point[0], level)
    result.steps, result.evaluations = int(outcome.steps[0]), problem.objective.evaluations
    judge(result, outcome.ended[0] == MOST, most_steps)
    result.trace = records if trace else None
    return result


LONG = 100_000
"""The number of rows from which the steps begin at the minimum of a part of the rows, which takes few steps to that of all."""
PART = 10_000
"""The number of rows of that part; its minimum is about as close as the standard errors of so many rows."""


def _first_point(problem: FitProblem, most_steps: int) -> Vector:
    """Return where the steps begin: at the start, or for long data at the minimum of evenly spaced rows, if it exists."""
    rows = problem.data.rows
    if rows < LONG or problem.is_reduced:
        return problem.first
    part = problem.only(np.arange(0, rows, rows // PART))  # about PART rows
    outcome = Minimizer(part.objective, problem.first[None], problem.box, most_steps).run()
    return outcome.point[0] if outcome.ended[0] == CONVERGED else problem.first


def _minimum(problem: FitProblem, most_steps: int, watch: Watch | None) -> Minimization:
    """Return the minimum of a problem; ``watch`` is called with each step.

    If columns have errors, there are often several minima: of those that are reached from the start and from the minimum without
    these errors, the smaller one is returned.
    """
    first = Minimizer(problem.objective, _first_point(problem, most_steps)[None], problem.box, most_steps, watch).run()
    if not problem.errors:
        return first
    without_errors = replace(problem, errors={})
    start = Minimizer(without_errors.objective, problem.first[None], problem.box, most_steps).run().point
    if not np.isfinite(problem.objective.value(start)).all():
        return first
    second = Minimizer(problem.objective, start, problem.box, most_steps, watch).run()
    return second if second.value[0] < first.value[0] * (1 - SAME) else first
