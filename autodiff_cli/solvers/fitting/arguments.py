"""The arguments of ``fit``: from the texts and values of a user to a problem."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
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
    from autodiff_cli.arrays import Array, Vector
    from autodiff_cli.data.columns import Data, Dataset, Source
    from autodiff_cli.data.selection import Condition
    from autodiff_cli.evaluation.evaluation import Value
    from autodiff_cli.language.tree import Syntax
    from autodiff_cli.solvers.bounds import Ends, Interval

    Start = Value | Interval
    """The start of a parameter: a number, an expression, or a range as a text or a pair of numbers."""


def fit_problem(
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
    """Return the problem that the arguments of ``fit`` describe, with the columns that it needs; see there, for errors too."""
    if sigma is not None and weights is not None:
        message = f"{setting('sigma')} and {setting('weights')} exclude each other"
        raise UsageError(message, hint=f"{setting('sigma')} takes known standard deviations, {setting('weights')} relative weights")
    spread = weights if sigma is None else sigma
    starts, ranges = _starts(at or {})
    _, constants = evaluated_inputs(None, const, "float64")
    from autodiff_cli.data.columns import Source
    from autodiff_cli.data.selection import Condition

    lets = dict(let or {})
    condition = None if where is None else Condition(where, constants, lets)
    with closing(Source(data)) as source:  # parse the model, and read the columns that it needs
        columns = dict.fromkeys([*(name.strip() for name in source.names), *lets])
        statements = _parsed_model(expression, (*starts, *ranges, *constants), columns, source)
        model = statements.program(statements.equations[0].residual)
        _check_constants(model, columns, lets, condition, source)
        parameters = _parameters(model, expression, columns, constants, {*starts, *ranges})
        searched = {name: ranges.get(name) for name in parameters if name not in starts}  # ``None``: not mentioned
        spreads = _spreads_of_columns(sigma_x, columns, spread)
        used = [name for name in names_in(model, *(parse(text) for text in (spread, *spreads.values()) if text)) if name in columns]
        if not used:
            raise _no_column(source, parameters, names_in(model))
        _check_meaning(searched, statements, source, columns, parameters)
        table = source.read({name: lets.get(name, name) for name in used}, on_error, by, condition)
    fixed, box = tuple(fix), intervals(bounds, "bounds")  # check the settings of parameters and rows
    check_names(fixed, parameters, "fix", "parameter")
    check_names(box, parameters, "bounds", "parameter")
    scale = None if spread is None else row_scale(spread, sigma is not None, table, constants)
    if spreads and loss is not None:
        raise UsageError(f"{setting('loss')} and {setting('sigma_x')} exclude each other", hint="use one of them")
    occurring = {*names_in(model), *(condition.names if condition else ())}
    return FitProblem(
        expression=expression,
        statements=statements,
        data=table,
        start={name: starts.get(name, 1.0) for name in parameters},  # 1 until ``with_starts`` chooses one
        fixed=fixed,
        constants=constants,
        bounds=box,
        scale=scale,
        spread=spread,
        absolute=sigma is not None,
        loss=Loss() if loss is None else _loss_from_text(loss),
        errors={name: _positive_numbers(text, "sigma_x", table, constants) for name, text in spreads.items()},
        ranges=searched,
        unused=tuple(name for name in (*starts, *ranges, *constants) if name not in occurring),
    )


def _parsed_model(expression: str, valued: Sequence[str], columns: Collection[str], source: Source) -> Equations:
    """Return a parsed model of one equation; the ``valued`` names, to which the user gave a value, must not be columns too."""
    for name in valued:
        if name in columns:
            message = f"'{name}' is a column of {source.name}, but it is also given a value"
            raise UsageError(message, hint="give the parameter another name in the model")
    result = equations(expression, {*columns, *valued})
    if len(result.equations) > 1:
        hint = "write y = EXPRESSION, where y is a column; definitions may come before it"
        raise ParseError("a model is one equation", span=result.equations[1].span, source=expression, hint=hint)
    return result


def _check_constants(
    model: Syntax, columns: Collection[str], lets: Collection[str], condition: Condition | None, source: Source
) -> None:
    """Raise an error if the model or the condition uses the name of a column and of a constant, unless ``lets`` assigns it."""
    from autodiff_cli.data.selection import constant_or_column

    names = (name for name in free_names(model, (), columns) if name in CONSTANTS and name in columns and name not in lets)
    ambiguous = next(names, None) or (condition.constant_among(columns) if condition else None)
    if ambiguous is not None:
        raise constant_or_column(ambiguous, source.name)


def _parameters(
    model: Syntax, expression: str, columns: Collection[str], constants: Collection[str], starts: Collection[str]
) -> list[str]:
    """Return the names that are neither columns nor constants, in order; ``starts`` hide constants; a Python module is an error."""
    names = {*columns, *starts}
    result = free_names(model, {*constants}, names)
    check_no_module(result, expression, names)
    return [name for name in result if name not in columns]


def _no_column(source: Source, parameters: Sequence[str], occurring: Collection[str]) -> UsageError:
    """Return the error for a model without a name of a column; all names in it, ``occurring``, may be columns of another format."""
    from autodiff_cli.data.mapping import other_format
    from autodiff_cli.data.selection import column_list

    let = f"use {setting('let', f'{parameters[0]}=COLUMN')} for a column with another name" if parameters else "name columns"
    message = f"the model names no column of {source.name}, which has {column_list(source.names)}"
    return UsageError(message, hint=other_format(source.names, occurring) or let)


def _starts(starts: Mapping[str, Start] | Iterable[str]) -> tuple[dict[str, float], dict[str, Interval | None]]:
    """Return the starts that are numbers, and those that are ranges, as a text with a colon or a pair, by parameter."""
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
            number = bindings([f"{name}={value}"], "at")[name] if isinstance(value, str) else value
            numbers[name] = _finite_number(np.asarray(number, float), name)
    return numbers, ranges


def _finite_number(array: Array, name: str) -> float:
    """Return the start of a parameter as a number; raise an error if it has several elements or is not finite."""
    if array.ndim or not np.isfinite(array):
        raise UsageError(f"the start of '{name}' is not a number", hint=f"write {setting('at', f'{name}=1')}")
    return float(array)


def _spreads_of_columns(
    texts: Iterable[str] | Mapping[str, str | float], columns: Collection[str], spread: str | None
) -> dict[str, str]:
    """Return the expressions of ``sigma_x`` by column; ``spread`` is that of ``sigma`` or ``weights``, which must be given too."""
    stated = pairs(texts, "sigma_x", "0.1")
    result = {name: str(value) for name, value in stated}
    check_names(result, columns, "sigma_x", "column")
    if len(result) < len(stated):
        raise UsageError(f"a column is given twice with {setting('sigma_x')}", hint="give each column one standard deviation")
    if result and spread is None:
        hint = f"add {setting('sigma', 'EXPR')}, or {setting('weights', 'EXPR')} if only their ratios are known"
        raise UsageError(f"{setting('sigma_x')} needs the standard deviations of the left side too", hint=hint)
    return result


def _check_meaning(
    searched: Mapping[str, Interval | None],
    statements: Equations,
    source: Source,
    columns: Collection[str],
    parameters: Collection[str],
) -> None:
    """Raise an error if a parameter not mentioned by the user (``None`` in ``searched``) seems a column by its name or place."""
    left, right, _ = statements.equations[0]
    unmentioned = [name for name, interval in searched.items() if interval is None]
    known = ", ".join(source.names)
    for name in unmentioned:
        hint = suggestion(name, source.names)
        if hint or (left.kind == "name" and names_in(left) == [name]):  # a similar name, or the whole left side
            message = f"'{name}' is neither a column of {source.name} nor given a start"
            raise MissingValue(message, hint=hint or f"the columns: {known}")
    if unmentioned and right is not None and len(parameters) > 1 and not {*names_in(statements.program(right))} & {*columns}:
        let = setting("let", f"{unmentioned[-1]}=COLUMN")
        message = f"the right side of the model names no column of {source.name}, only {listed(unmentioned)}"
        raise MissingValue(message, hint=f"use {let} for a column with another name; the columns: {known}")


_LARGEST_SCALE = 1e100
"""The largest scale of a loss, and the inverse of the smallest: the squares of others may overflow."""


def _loss_from_text(text: str) -> Loss:
    """Return the loss in a text such as ``huber`` or ``huber:1.5``; its scale is 1 if left out."""
    name, colon, scale = text.partition(":")
    if name not in LOSSES:
        raise UsageError(f"unknown loss '{name}'", hint=suggestion(name, LOSSES) or f"use {listed(LOSSES[1:], 'or')}")
    value = float(constant_value(scale, "loss")) if colon else 1.0
    if not 1 / _LARGEST_SCALE <= value <= _LARGEST_SCALE:
        message = f"the scale {scale} of {setting('loss')} is outside 1e-100 to 1e100"
        raise UsageError(message, hint=f"write {setting('loss', f'{name}:1.5')}")
    return Loss(name, value)


def row_scale(text: str, absolute: bool, table: Dataset, constants: Mapping[str, Value]) -> Vector:
    """Return the factor of the residual of each row: 1/s if ``absolute`` (the text is the known s), else the root of the weight."""
    values = _positive_numbers(text, "sigma" if absolute else "weights", table, constants)
    return 1 / values if absolute else np.sqrt(values)


def _positive_numbers(text: str, name: str, table: Dataset, constants: Mapping[str, Value]) -> Vector:
    """Return the numbers in the rows of a table for the expression in a setting; raise an error if one is not positive."""
    others = [variable for variable in free_names(parse(text), {*constants}, table.columns) if variable not in table.columns]
    if others:
        raise UsageError(f"{setting(name)} contains '{others[0]}', which is not a column", hint="use numbers and columns")
    result = Model(text, parse(text), (), table.columns, constants).values(np.zeros(0))
    bad = ~(np.isfinite(result) & (result > 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise UsageError(f"{table.place(row)}: {setting(name)} is {result[row]:g}", hint="every row needs a positive number")
    return result
