"""Quantities computed from fitted parameters, with their standard errors by the law of propagation of uncertainty."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.command_result import Record
from autodiff_cli.errors import NotSolved, ShapeError, UnknownName, setting
from autodiff_cli.evaluation.names import free_names
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax
from autodiff_cli.solvers.system import System
from autodiff_cli.suggest import suggestion

if TYPE_CHECKING:
    from autodiff_cli.solvers.fitting.result import Fit

EQUALS_FIRST_ORDER = 0.1
"""The largest shift by terms of second order, in standard errors, for which the linear interval is trusted."""


def derived(fit: Fit, texts: Iterable[str]) -> list[Record]:
    """Return quantities with their standard errors and intervals: ``expression``, ``value``, ``std_error``, ``interval``.

    Args:
        fit: the fit.
        texts: expressions of the parameters, and of the names and functions that the model defines.

    Raises:
        UnknownName: if an expression contains a name that is not a parameter.
        NotSolved: if a value or a derivative is not finite.
    """
    return [_derived(fit, text) for text in texts]


def _derived(fit: Fit, text: str) -> Record:
    problem = fit.problem
    constants = {**problem.constants, **{name: fit.values[name] for name in problem.fixed}}
    given = dict(zip(problem.free, fit.point.tolist(), strict=True))
    tree = parse(text)
    program = Syntax("start", [*_usable(problem.statements.definitions, {*constants, *given}), *tree.children], "", tree.span)
    for name, span in free_names(program, {*constants, *given}).items():
        hint = suggestion(name, given) or f"the parameters: {', '.join(given)}"
        raise UnknownName(f"{setting('derive')}: '{name}' is not a parameter", span=span, source=text, hint=hint)
    system = System(text, [program], given, constants)
    if system.count != 1:
        hint = f"give {setting('derive')} one expression for each number"
        raise ShapeError(f"{setting('derive')}: '{text}' has {system.count} numbers", hint=hint)
    value, slopes = float(system.values(system.start)[0]), system.jacobian(system.start)[0]
    if not np.isfinite([value, *slopes]).all():
        raise NotSolved(f"{setting('derive')}: '{text}' or its derivative is not finite at the solution")
    used = slopes != 0  # a parameter at a bound has no variance, but it may not matter
    error = float(np.sqrt(slopes[used] @ fit.matrix[np.ix_(used, used)] @ slopes[used]))
    known = bool(np.isfinite(error))
    shift = 0.5 * float(np.sum(system.hessian(system.start) * fit.matrix)) if known else np.nan
    return {
        "expression": text,
        "value": value,
        "std_error": error if known else None,
        "interval": [value - fit.k * error, value + fit.k * error] if known else None,
        "linear": bool(abs(shift) <= EQUALS_FIRST_ORDER * error) if known else None,
    }


def _usable(definitions: Iterable[Syntax], known: set[str]) -> list[Syntax]:
    """Return the definitions of the model that do not depend on columns."""
    found: list[Syntax] = []
    for one in definitions:
        program = Syntax("start", [*found, one], "", one.span)
        if not free_names(program, known):
            found.append(one)
    return found
