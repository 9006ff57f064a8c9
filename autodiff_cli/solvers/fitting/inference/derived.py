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
from autodiff_cli.solvers.fitting.model import Model
from autodiff_cli.solvers.system import System
from autodiff_cli.suggest import suggestion

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from autodiff_cli.arrays import Matrix, Stack, Vector
    from autodiff_cli.solvers.fitting.problem import Problem
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
    program, constants = _program(fit.problem, text)
    given = dict(zip(fit.problem.free, fit.point.tolist(), strict=True))
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


def derived_in_groups(problem: Problem, text: str, points: Matrix, matrices: Stack) -> tuple[Vector, Vector]:
    """Return the values of a quantity in G groups, and their standard errors.

    Args:
        problem: the problem.
        text: an expression of the parameters; see ``derived``.
        points: the free parameters of each group, of shape (G, n).
        matrices: their covariance matrices, of shape (G, n, n).

    Raises:
        UnknownName: if the expression contains a name that is not a parameter.
    """
    program, constants = _program(problem, text)
    model = Model(text, program, problem.free, {"group:": np.zeros(len(points))}, constants)
    found = np.concatenate([block for _, block in model.blocks("jacobian", points.T)], axis=1)
    slopes = found[:-1].T
    products = slopes[:, :, None] * slopes[:, None, :]
    with np.errstate(all="ignore"):
        errors = np.sqrt(np.where(products == 0, 0.0, products * matrices).sum((1, 2)))
    return found[-1], errors


def _program(problem: Problem, text: str) -> tuple[Syntax, dict[str, ArrayLike]]:
    """Return the program of a quantity with the definitions of the model, and the values of its constants."""
    constants = {**problem.constants, **{name: problem.start[name] for name in problem.fixed}}
    known = {*constants, *problem.free}
    tree = parse(text)
    program = Syntax("start", [*_usable(problem.statements.definitions, known), *tree.children], "", tree.span)
    for name, span in free_names(program, known).items():
        hint = suggestion(name, problem.free) or f"the parameters: {', '.join(problem.free)}"
        raise UnknownName(f"{setting('derive')}: '{name}' is not a parameter", span=span, source=text, hint=hint)
    return program, constants


def _usable(definitions: Iterable[Syntax], known: set[str]) -> list[Syntax]:
    """Return the definitions of the model that do not depend on columns."""
    found: list[Syntax] = []
    for one in definitions:
        program = Syntax("start", [*found, one], "", one.span)
        if not free_names(program, known):
            found.append(one)
    return found
