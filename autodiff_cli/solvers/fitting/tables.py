"""The tables of a fit for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autodiff_cli.report.array_text import human
from autodiff_cli.report.result_tables import rows_table, steps_table
from autodiff_cli.report.table import EXPRESSION, MOST_ROWS, NUMBER, Column, Table, title
from autodiff_cli.solvers.fitting.groups import GroupFit, SharedFit
from autodiff_cli.wording import listed, plural

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autodiff_cli.command_result import Record
    from autodiff_cli.report.table import Renderable
    from autodiff_cli.solvers.fitting.predictions import Prediction
    from autodiff_cli.solvers.fitting.result import Fit

_ERRORS = {
    "residuals": ("standard errors scaled by s", "scaled by the residuals"),
    "weights": ("relative weights; standard errors scaled by s", "scaled by the residuals, with relative weights"),
    "sigma": ("standard errors from the given standard deviations, not scaled", "from the given standard deviations"),
    "sandwich": ("robust standard errors (sandwich)", "from the sandwich matrix of the loss"),
}
"""The words for ``FitProblem.errors_from``: of one fit, and of groups."""
NO_ERRORS = "no degrees of freedom, so no standard errors"
_STATISTICS = {
    **{"std": "s", "robust_std": "robust s", "rss": "RSS", "dof": "dof"},
    **{"r2": "R2", "chi2": "chi2", "reduced_chi2": "chi2/dof", "p": "p"},
    **{"aic": "AIC", "aicc": "AICc", "bic": "BIC"},
}
ROUNDING = 1e-10
"""The relative offset below which the report does not state its size, which depends on the machine."""
MANY = 12
"""The number of digits from which on the report does not count them."""
_PARAMETER = Column("parameter", style="bold green")
_VALUE = Column("value", NUMBER, "bold cyan")
LEAST_DIGITS, SHORT = 2, 4
"""The digits that errors and ends of intervals have at least, and that starts and distances have at most."""
MOST_CORRELATED = 12
"""The maximum number of parameters of a correlation matrix in the terminal."""


def tables(result: Fit, precision: int) -> list[Renderable]:
    """Return the table of parameters, the correlations, the statistics, and what was proven."""
    parts: list[Renderable] = [] if result.trace is None else [steps_table(result.trace, precision)]
    parts.append(parameter_table(result, precision))
    if result.profiles:
        parts += ["", _profile_table(result, precision)]
    if result.derived:
        parts += ["", _derived_table(result, precision)]
    if 1 < len(result.correlation) <= MOST_CORRELATED:
        parts += [title("correlation"), _correlation_table(result)]
    parts += [title("residuals"), _statistics_table(result, precision)]
    parts.append("\n" + "\n".join(_sentences(result)))
    if result.prediction is not None:
        parts += [title(f"prediction of {result.prediction.response}"), _prediction_table(result.prediction, precision)]
    return parts


def parameter_table(result: Fit | SharedFit, precision: int) -> Renderable:
    """Return the table of the parameters with their standard errors and intervals."""
    headers = ("std error", "relative", f"{100 * result.level:g} % interval")
    rows = []
    for name, record in result.parameters.items():
        value, error, interval = _estimate_texts(record, precision, max(precision - 1, LEAST_DIGITS))
        bound = f"{record['at_bound']} bound" if record["at_bound"] else ""
        held = "fixed" if record["fixed"] else bound  # such a parameter has no error
        relative = _percent(abs(100 * record["std_error"] / record["value"])) if error and record["value"] else ""
        rows.append((name, value, error or held, relative, interval, human(record["start"], min(precision, SHORT))))
    return Table([_PARAMETER, _VALUE, *_number_columns(headers), Column("start", NUMBER, "dim")], rows)


def _estimate_texts(record: Record, precision: int, interval_precision: int) -> tuple[str, str, str]:
    """Return the texts of a value, of its standard error, which is less precise, and of its interval; "" for one not known."""
    std_error, ends = record["std_error"], record["interval"]
    error = "" if std_error is None else human(std_error, max(precision - 2, LEAST_DIGITS))
    interval = "" if ends is None else " .. ".join(human(end, interval_precision) for end in ends)
    return human(record["value"], precision), error, interval


def _number_columns(headers: Iterable[str]) -> list[Column]:
    return [Column(header, NUMBER) for header in headers]


def _prediction_table(prediction: Prediction, precision: int) -> Renderable:
    """Return the table of a prediction with the bands of the mean and, if known, of a new observation."""
    headers = {"std_error": "std error", "low": "mean from", "high": "to", "prediction_low": "new from", "prediction_high": "to"}
    records = prediction.records()
    names = records[0] if records else ()  # the same in every record
    columns = [_VALUE if name == "value" else Column(headers.get(name, name), NUMBER) for name in names]
    return Table(columns, [[human(value, precision) for value in record.values()] for record in records])


def _profile_table(result: Fit, precision: int) -> Renderable:
    """Return the table of profile intervals, with the distances of their ends from the value; an end may be open."""
    rows = []
    for name, ends in result.profiles.items():
        low, high = ("open" if end is None else human(end, precision) for end in ends)
        distances = ("open" if end is None else human(end - result.values[name], min(precision, SHORT)) for end in ends)
        rows.append((name, f"{low} .. {high}", *distances))
    return Table([_PARAMETER, *_number_columns((f"{100 * result.level:g} % profile interval", "below", "above"))], rows)


def _derived_table(result: Fit, precision: int) -> Renderable:
    rows = [(record["expression"], *_estimate_texts(record, precision, precision)) for record in result.derived]
    headers = ("std error", f"{100 * result.level:g} % interval")
    return Table([Column("derived", style="bold green"), _VALUE, *_number_columns(headers)], rows)


def _percent(value: float) -> str:
    """Return a percentage with two digits, as an integer from 100 on, and as a power of ten from a million on."""
    return f"{value:.2g} %" if value < 99.5 else f"{value:.0f} %" if value < 1e6 else f"{value:.0e} %"


def _correlation_table(result: Fit) -> Renderable:
    """Return the lower triangle of the correlation matrix as a table."""
    names = list(result.correlation)
    rows = [[name, *(f"{result.correlation[name][other]:.3f}" for other in names[: i + 1])] for i, name in enumerate(names)]
    return Table([Column("", EXPRESSION, "bold"), *_number_columns(names)], rows)


def _statistics_table(result: Fit, precision: int) -> Renderable:
    """Return the table, of one row, of those statistics of the residuals that are known."""
    numbers = {**result.residual, **result.statistics}
    cells = [(label, human(numbers[key], precision)) for key, label in _STATISTICS.items() if numbers.get(key) is not None]
    return Table(_number_columns(label for label, _ in cells), [[text for _, text in cells]])


def _sentences(result: Fit) -> list[str]:
    """Return what is known about the fit, in short sentences."""
    problem = result.problem
    errors = _ERRORS[problem.errors_from][0] if result.residual["dof"] or problem.absolute else NO_ERRORS
    lines = [f"{plural(problem.data.rows, 'row')}; {errors}."]
    if result.residual.get("robust_std") and not problem.absolute:
        lines.append("Robust s is from the median residual: standardized residuals and bands of new values use it.")
    if problem.errors:
        lines.append(f"Errors in {listed(problem.errors)} are taken into account (orthogonal distance regression).")
    if problem.tried > 1:
        chosen = listed(name for name in problem.free if name in problem.ranges)
        lines.append(f"Start of {chosen} chosen from {problem.tried} points.")
    if result.outliers:  # at places such as "data.csv, line 3"
        largest = ", ".join(f"{row['standardized']:+.2f} in {row['place'].rsplit(', ')[-1]}" for row in result.outliers)
        lines.append(f"Largest residuals in standard deviations: {largest}.")
    return [*lines, *_proofs(result)] if result.converged else [*lines, f"Not solved: {result.reason}."]


def _proofs(result: Fit) -> list[str]:
    """Return what was proven about a minimum, and whether linear intervals can be trusted, in short sentences."""
    relative = float(result.optimality.offset[0])
    offset = f"below {ROUNDING:g}" if relative < ROUNDING else f"{relative:.1g}"
    lines = [f"Minimum after {plural(result.steps, 'step')}: relative offset {offset}, Hessian positive definite."]
    if result.digits is not None:
        lines.append(f"Certain digits of every parameter: {f'at least {MANY}' if result.digits >= MANY else result.digits}.")
    if result.curvature is not None:
        parameters, intrinsic = (f"{value:.2g}" for value in result.curvature)
        trusted = "can be trusted" if result.curvature.linear else "cannot be trusted, profile intervals can"
        lines.append(f"Curvature {parameters} (parameters), {intrinsic} (intrinsic): linear intervals {trusted}.")
    curved = [row["expression"] for row in result.derived if row["linear"] is False]
    return [*lines, *(f"The interval of {text} is linear, but terms of second order are not small." for text in curved)]


def group_tables(result: GroupFit, precision: int) -> list[Renderable]:
    """Return the table of the groups, or of the first and the last of many, and what was proven; a table of shared parameters."""
    has_failure = any(not row["converged"] for row in result.groups)
    hidden = {"converged"} if has_failure else {"converged", "verdict"}
    if isinstance(result, SharedFit):
        hidden |= {column for name in result.shared for column in (name, f"u_{name}")}
    else:
        hidden.add("rss")
    names = [name for name in result.groups[0] if name not in hidden]
    left_out = max(len(result.groups) - MOST_ROWS, 0)
    half = MOST_ROWS // 2
    groups = [*result.groups[:half], *result.groups[-half:]] if left_out else result.groups
    rows = [[row[name] for name in names] for row in groups]
    parts: list[Renderable] = [rows_table(names[:1], names[1:], rows, left_out, precision), "\n".join(_group_sentences(result))]
    return [parameter_table(result, precision), title("groups"), *parts] if isinstance(result, SharedFit) else parts


def _group_sentences(result: GroupFit) -> list[str]:
    """Return what is known about the fits of groups, separate or with shared parameters, in short sentences."""
    groups, errors = plural(len(result.groups), "group"), f"standard errors u {_ERRORS[result.problem.errors_from][1]}"
    if not isinstance(result, SharedFit):
        solved = plural(sum(row["converged"] for row in result.groups), "group")
        return [f"{groups}; {errors}.", f"Minimum with a positive definite Hessian in {solved}."]
    rows, dof, std = plural(result.residual["rows"], "row"), plural(result.residual["dof"], "degree"), result.residual["std"]
    deviation = "" if std is None else f", s = {std:.6g}"
    proven = f"Minimum after {plural(result.steps, 'step')}: Hessian positive definite."
    return [
        f"{rows} in {groups}; {errors}.",
        f"{listed(result.shared)} shared by all groups; {dof} of freedom{deviation}.",
        proven if result.converged else f"Not solved: {result.reason}.",
    ]
