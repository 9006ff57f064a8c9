"""The arguments of ``fit``: from the texts and values of a user to a problem."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.errors import MissingValue, ParseError, UsageError, setting
from autodiff_cli.evaluation.bindings import bindings, constant_value
from autodiff_cli.evaluation.evaluation import evaluated_inputs
from autodiff_cli.evaluation.names import CONSTANTS, check_no_module, free_names
from autodiff_cli.evaluation.ranges import COLON, parse_interval
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import split_outside_brackets
from autodiff_cli.solvers.bounds import check_names, intervals, pairs
from autodiff_cli.solvers.equations import Equations, equations, names_in
from autodiff_cli.solvers.fitting.losses import LOSSES, Loss
from autodiff_cli.solvers.fitting.model import Model
from autodiff_cli.solvers.fitting.problem import FitProblem
from autodiff_cli.suggest import suggestion
from autodiff_cli.wording import listed

if TYPE_CHECKING:
    from autodiff_cli.arrays import Vector
    from autodiff_cli.data.columns import Data, Dataset, Source
    from autodiff_cli.evaluation.evaluation import Value
    from autodiff_cli.solvers.bounds import Ends, Interval

    Start = Value | Interval
    """The start of a parameter: a number, an expression, or a range as a text or a pair of numbers."""


def problem_of(
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
    on_error: str = "stop",
    by: str | None = None,
    sigma_x: Iterable[str] | Mapping[str, str | float] = (),
    where: str | None = None,
) -> FitProblem:
    """Return the problem that the arguments of ``fit`` describe; see there."""
    if sigma is not None and weights is not None:
        raise UsageError(
            f"{setting('sigma')} and {setting('weights')} exclude each other",
            hint=f"{setting('sigma')} takes known standard deviations, {setting('weights')} relative weights",
        )
    spread = weights if sigma is None else sigma
    starts, ranges = _starts(at or {})
    _, constants = evaluated_inputs(None, const, "float64")
    from autodiff_cli.data.columns import Source
    from autodiff_cli.data.selection import Condition, constant_or_column

    lets = dict(let or {})
    condition = None if where is None else Condition(where, constants, lets)
    source = Source(data)
    try:
        columns = dict.fromkeys([*(name.strip() for name in source.names), *lets])
        for name in (*starts, *ranges, *constants):
            if name in columns:
                raise UsageError(
                    f"'{name}' is a column of {source.name}, but it is also given a value",
                    hint="give the parameter another name in the model",
                )
        statements = _parsed(expression, columns.keys() | starts.keys() | ranges.keys() | constants.keys())
        model = statements.program(statements.equations[0].residual)
        hidden = next(
            (name for name in free_names(model, (), columns) if name in CONSTANTS and name in columns and name not in lets), None
        )
        hidden = hidden or (condition.constant_among(columns) if condition else None)
        if hidden is not None:
            raise constant_or_column(hidden, source.name)
        range_names = tuple(ranges)
        occurring = names_in(model)
        parameters = _parameters(statements, columns, constants, {*starts, *ranges})
        used = {name: lets.get(name, name) for name in occurring if name in columns}
        spreads = _errors(sigma_x, columns, spread)
        for text in (spread, *spreads.values()):
            used.update({name: lets.get(name, name) for name in names_in(parse(text)) if name in columns} if text else {})
        if not used:
            raise _no_data(source, parameters, occurring)
        ranges.update({name: None for name in parameters if name not in starts and name not in ranges})
        _check_free(parameters, ranges, statements, source, columns)
        table = source.read(used, on_error, by, condition)
        occurring += condition.names if condition else ()
    finally:
        source.close()
    start = {name: starts.get(name, 1.0) for name in parameters}
    fixed = tuple(fix)
    box = intervals(bounds, "bounds")
    check_names(fixed, [*parameters], "fix", "parameter")
    check_names(box, [*parameters], "bounds", "parameter")
    scale = None if spread is None else scale_of(spread, sigma is not None, table, constants)
    if spreads and loss is not None:
        raise UsageError(f"{setting('loss')} and {setting('sigma_x')} exclude each other", hint="use one of them")
    return FitProblem(
        expression=expression,
        statements=statements,
        data=table,
        start=start,
        fixed=fixed,
        constants=constants,
        bounds=box,
        scale=scale,
        spread=spread,
        absolute=sigma is not None,
        loss=_loss(loss),
        errors={name: 1 / scale_of(text, True, table, constants, "sigma_x") for name, text in spreads.items()},
        ranges={name: ranges[name] for name in parameters if name in ranges},
        unused=tuple(name for name in (*starts, *range_names, *constants) if name not in occurring),
    )


def _parsed(expression: str, known: Collection[str]) -> Equations:
    """Return a parsed model, in which the known names are columns or have a value."""
    result = equations(expression, known)
    if len(result.equations) > 1:
        raise ParseError(
            "a model is one equation",
            span=result.equations[1].span,
            source=expression,
            hint="write y = EXPRESSION, where y is a column; definitions may come before it",
        )
    return result


def _parameters(statements: Equations, columns: Collection[str], constants: Collection[str], starts: Collection[str]) -> list[str]:
    """Return the names that are neither columns nor constants, in order of occurrence; names with a start hide constants."""
    names = {*columns, *starts}
    result = free_names(statements.program(statements.equations[0].residual), {*constants}, names)
    check_no_module(result, statements.source, names)
    return [name for name in result if name not in columns]


def _no_data(source: Source, parameters: Sequence[str], occurring: Collection[str]) -> UsageError:
    from autodiff_cli.data.mapping import other_format
    from autodiff_cli.data.selection import column_list

    let = f"use {setting('let', f'{parameters[0]}=COLUMN')} for a column with another name" if parameters else "name columns"
    message = f"the model names no column of {source.name}, which has {column_list(source.names)}"
    return UsageError(message, hint=other_format(source.names, occurring) or let)


def _starts(starts: Mapping[str, Start] | Iterable[str]) -> tuple[dict[str, float], dict[str, Interval | None]]:
    """Return the starts that are numbers, and those that are ranges."""
    numbers: dict[str, float] = {}
    ranges: dict[str, Interval | None] = {}
    for name, value in pairs(starts, "at"):
        if name in numbers or name in ranges:
            raise UsageError(f"'{name}' is given twice with {setting('at')}", hint="give each parameter one start")
        if isinstance(value, str) and len(split_outside_brackets(value, COLON)) > 1:
            ranges[name] = parse_interval(value, "at")
        elif isinstance(value, tuple) and len(value) == 2:
            ranges[name] = (float(value[0]), float(value[1]))
        else:
            array = np.asarray(bindings([f"{name}={value}"], "at")[name] if isinstance(value, str) else value, float)
            if array.ndim or not np.isfinite(array):
                raise UsageError(f"the start of '{name}' is not a number", hint=f"write {setting('at', f'{name}=1')}")
            numbers[name] = float(array)
    return numbers, ranges


def _errors(texts: Iterable[str] | Mapping[str, str | float], columns: Collection[str], spread: str | None) -> dict[str, str]:
    """Return the expression of the standard deviations of each column that has errors itself."""
    stated = pairs(texts, "sigma_x", "0.1")
    result = {name: str(value) for name, value in stated}
    check_names(result, columns, "sigma_x", "column")
    if len(result) < len(stated):
        raise UsageError(f"a column is given twice with {setting('sigma_x')}", hint="give each column one standard deviation")
    if result and spread is None:
        raise UsageError(
            f"{setting('sigma_x')} needs the standard deviations of the left side too",
            hint=f"add {setting('sigma', 'EXPR')}, or {setting('weights', 'EXPR')} if only their ratios are known",
        )
    return result


def _check_free(
    parameters: Sequence[str],
    ranges: Mapping[str, Interval | None],
    statements: Equations,
    source: Source,
    columns: Collection[str],
) -> None:
    """Raise an error if a name that has no start must be meant as a column."""
    left, right, _ = statements.equations[0]
    free = [name for name in parameters if name in ranges and ranges[name] is None]
    known = ", ".join(source.names)
    for name in free:
        hint = suggestion(name, source.names)
        if hint or (left.kind == "name" and left.children[0].text == name):
            message = f"'{name}' is neither a column of {source.name} nor given a start"
            raise MissingValue(message, hint=hint or f"the columns: {known}")
    if free and right is not None and len(parameters) > 1 and not {*names_in(statements.program(right))} & {*columns}:
        let = setting("let", f"{free[-1]}=COLUMN")
        message = f"the right side of the model names no column of {source.name}, only {listed(free)}"
        raise MissingValue(message, hint=f"use {let} for a column with another name; the columns: {known}")


_LARGEST_SCALE = 1e100


def _loss(text: str | None) -> Loss:
    if text is None:
        return Loss()
    name, colon, scale = text.partition(":")
    if name not in LOSSES:
        raise UsageError(f"unknown loss '{name}'", hint=suggestion(name, LOSSES) or f"use {listed(LOSSES[1:], 'or')}")
    value = float(constant_value(scale, "loss")) if colon else 1.0
    if not 1 / _LARGEST_SCALE <= value <= _LARGEST_SCALE:  # the square of others may overflow
        message = f"the scale {scale} of {setting('loss')} is outside 1e-100 to 1e100"
        raise UsageError(message, hint=f"write {setting('loss', f'{name}:1.5')}")
    return Loss(name, value)


def scale_of(text: str, absolute: bool, table: Dataset, constants: Mapping[str, Value], name: str | None = None) -> Vector:
    """Return the factor of the residual of each row.

    Args:
        text: an expression of columns: the standard deviations or the weights.
        absolute: whether ``text`` is the standard deviations.
        table: the rows.
        constants: the values of other names.
        name: the setting that contains the text; ``sigma`` or ``weights`` by default.

    Raises:
        UsageError: if a standard deviation or a weight is not positive, or depends on a name that is not a column.
    """
    name = name or ("sigma" if absolute else "weights")
    others = [variable for variable in free_names(parse(text), {*constants}, table.columns) if variable not in table.columns]
    if others:
        raise UsageError(f"{setting(name)} contains '{others[0]}', which is not a column", hint="use numbers and columns")
    model = Model(text, parse(text), (), table.columns, constants)
    result = model.values(np.zeros(0))
    bad = ~(np.isfinite(result) & (result > 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise UsageError(f"{table.place(row)}: {setting(name)} is {result[row]:g}", hint="every row needs a positive number")
    return 1 / result if absolute else np.sqrt(result)
