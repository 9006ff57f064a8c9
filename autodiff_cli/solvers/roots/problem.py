"""A system of equations at a point: residuals, Jacobian, and bounds of their rounding errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.errors import AutodiffError, NotSolved, UsageError, setting
from autodiff_cli.evaluation.names import check_functions, free_names
from autodiff_cli.language.tree import number_tree
from autodiff_cli.notes.nonfinite_value import nonfinite_value_notes
from autodiff_cli.solvers.equations import equations, names_in
from autodiff_cli.solvers.system import System

if TYPE_CHECKING:
    from autodiff_cli.arrays import Matrix, Vector
    from autodiff_cli.errors import Span
    from autodiff_cli.evaluation.evaluation import Evaluation, Value

EPS = float(np.finfo(float).eps)
CUTOFF = 1e-13  # the part of the largest singular value of a Jacobian matrix below which others count as 0
_ROUNDINGS = 16  # the assumed number of rounding errors of an equation


class Point:
    """A point x of n unknowns with the m residuals f, and their Jacobian matrix, which is computed when it is first read."""

    def __init__(self, system: System, x: Vector) -> None:
        self.x = x
        self.f = system.values(x)
        self._system = system

    @cached_property
    def jacobian(self) -> Matrix:
        """The Jacobian matrix, of shape (m, n)."""
        return self._system.jacobian(self.x)

    @property
    def finite(self) -> bool:
        """Whether all residuals and derivatives are finite."""
        return bool(np.isfinite(self.f).all() and np.isfinite(self.jacobian).all())


def _without_unknowns(expression: str, const: Mapping[str, Value]) -> AutodiffError:
    """Return the error for equations without unknowns, which names those that the equations may have."""
    parsed = equations(expression, const)
    programs = [parsed.program(equation.residual) for equation in parsed.equations]
    for program in programs:
        check_functions(program, expression)
    names = list(dict.fromkeys(name for program in programs for name in free_names(program, const))) or ["x"]
    starts = setting("at", ",".join(f"{name}=1" for name in names))
    search = setting("over", f"{names[0]}=-10:10")
    return UsageError("the unknowns are not given", hint=f"give each unknown a start with {starts}, or a range with {search}")


class RootProblem:
    """Equations in n unknowns.

    Args:
        expression: the text of the equations.
        at: the unknowns with their starting values; a value may be an array.
        const: the values of constants.

    Attributes:
        parsed: the equations, and the definitions that they use.
        unused: the given names that do not occur in the equations.
        system: the residuals as functions of the unknowns that occur in the equations.
        start: the starting values of the n unknowns.

    Raises:
        AutodiffError: if the equations are invalid, or cannot be evaluated at the start.
    """

    def __init__(self, expression: str, at: Mapping[str, Value], const: Mapping[str, Value] | None = None) -> None:
        if not at:
            raise _without_unknowns(expression, const or {})
        self.expression = expression
        self.const = dict(const or {})
        self.parsed = equations(expression, [*at, *self.const])
        residuals = [equation.residual for equation in self.parsed.equations]
        used = names_in(*self.parsed.definitions, *residuals)
        self.unused = [name for name in (*at, *self.const) if name not in used]
        unknowns = {name: value for name, value in at.items() if name in used} or at  # all if no name occurs
        self.system = System(expression, list(map(self.parsed.program, residuals)), unknowns, self.const)
        self.start = self.system.start
        if not len(self.start):
            raise UsageError("the unknowns have no elements", hint=f"give each unknown a start with {setting('at', 'x=1')}")
        if not self.system.count:
            span = self.parsed.equations[0].span
            raise UsageError(
                "the equations have no elements", span=span, source=expression, hint="write one equation, such as x**2 = 2"
            )

    def at(self, x: Vector) -> Point:
        """Return the residuals and the Jacobian matrix at given values of the unknowns."""
        return Point(self.system, x)

    def place(self, x: Vector) -> str:
        """Return values of the unknowns in words, such as ``x = 1, y = 2.5``."""
        return ", ".join(f"{label} = {value:.6g}" for label, value in zip(self.system.labels, x, strict=True))

    def check_finite(self, x: Vector) -> None:
        """Raise ``NotSolved``, with its place in the expression, if a residual or the start is nan or infinite."""
        if np.isfinite(self.system.values(x)).all():
            if np.isfinite(x).all():
                return
            raise NotSolved("the start is not finite", hint=f"give each unknown a finite start with {setting('at', 'x=1')}")
        for i, equation in enumerate(self.parsed.equations):
            evaluation = self.system.evaluation(i, x)
            if not np.isfinite(evaluation.output._data).all():
                raise self._not_finite(evaluation, equation.span)

    def _not_finite(self, evaluation: Evaluation, span: Span) -> NotSolved:
        """Return the error for an equation that is not finite at the start, at the operation that causes it, if one is known."""
        with np.errstate(all="ignore"):
            first = next(iter(nonfinite_value_notes(evaluation)), None)
        if first is not None and first["span"] is not None:
            span = (first["span"][0], first["span"][1])
        message = "the equation is not finite at the start" + (f": {first['message']}" if first else "")
        hint = f"start at values where the equation is finite, with {setting('at')}"
        return NotSolved(message, span=span, source=self.expression, hint=hint)

    def noise(self, point: Point) -> Vector:
        """Return a bound of the m residuals that rounding errors can cause: in the evaluation, and in the unknowns themselves."""
        moved = np.abs(point.jacobian) @ (EPS * np.abs(point.x))
        return np.asarray(self._rounding(point) + np.where(np.isfinite(moved), moved, 0.0))

    def _rounding(self, point: Point) -> Vector:
        """Return a bound of the rounding errors of the residuals, from intervals; an estimate for functions without a rule."""
        bound = np.full(len(point.f), np.inf)
        if self.system.enclosure is not None:
            intervals = self.system.enclosure(point.x, point.x)
            errors = [np.maximum(interval.high - f, f - interval.low) for interval, f in zip(intervals, point.f, strict=True)]
            bound = np.reshape(errors, -1)
        rough = ~np.isfinite(bound)
        if rough.any():
            bound[rough] = self._estimate(point)[rough]
        return bound

    def _estimate(self, point: Point) -> Vector:
        """Return an estimate of the rounding errors from the magnitudes of the sides of each equation; 0 if they are not paired."""
        if self._sides is None:
            return np.full(len(point.f), 0.0)
        size = np.nan_to_num(np.abs(self._sides.values(point.x)).reshape(2, -1).sum(axis=0))
        return np.asarray(_ROUNDINGS * EPS * (size + np.abs(point.jacobian) @ np.abs(point.x)))

    @cached_property
    def _sides(self) -> System | None:
        """The left sides, then the right sides; ``None`` if their shapes differ, so that they cannot be paired."""
        zero = number_tree("0")  # the right side of an expression without ``=``
        trees = [pair.left for pair in self.parsed.equations] + [pair.right or zero for pair in self.parsed.equations]
        result = System(self.expression, list(map(self.parsed.program, trees)), self.system.named(self.start), self.const)
        return result if result.count == 2 * self.system.count else None


def sensitivities(problem: RootProblem, x: Vector, constants: Sequence[str]) -> dict[str, dict[str, Vector]]:
    """Return the derivatives of a root x with respect to named constants.

    With fewer equations than unknowns, the result is the shortest change of the unknowns.

    Returns:
        For each unknown and each constant, an array with the shape of the unknown followed by the shape of the constant; inf
        or nan where the Jacobian is singular.
    """
    system = problem.system
    others = {name: value for name, value in problem.const.items() if name not in constants}
    variables = {**system.named(x), **{name: problem.const[name] for name in constants}}
    wider = System(problem.expression, system.programs, variables, others)  # the unknowns are followed by the constants
    jacobian = wider.jacobian(wider.start)
    slopes = _implicit_slopes(jacobian[:, : len(x)], jacobian[:, len(x) :])
    row_ends, column_ends = (
        np.cumsum([math.prod(wider.shapes[name]) for name in names])[:-1] for names in (system.names, constants)
    )
    result: dict[str, dict[str, Vector]] = {}
    for unknown, rows in zip(system.names, np.split(slopes, row_ends), strict=True):
        blocks = zip(constants, np.split(rows, column_ends, axis=1), strict=True)
        result[unknown] = {a: block.reshape((*wider.shapes[unknown], *wider.shapes[a]))[()] for a, block in blocks}
    return result


def _implicit_slopes(by_unknowns: Matrix, by_constants: Matrix) -> Matrix:
    """Return dx/da = -(dF/dx)^-1 dF/da, given dF/dx and dF/da; nan if dF/dx is singular (the implicit function theorem)."""
    n = by_unknowns.shape[1]
    matrix, rows, columns = scaled(by_unknowns)
    singular_values = np.linalg.svd(matrix, compute_uv=False)
    if not np.isfinite(singular_values).all() or singular_values[-1] <= 1e-14 * singular_values[0]:
        return np.full((n, by_constants.shape[1]), np.nan)
    if len(matrix) < n:  # a change of the columns would change the shortest solution
        return np.asarray(-np.linalg.pinv(by_unknowns) @ by_constants)
    return np.asarray(-np.linalg.pinv(matrix) @ (by_constants / rows[:, None]) / columns[:, None])


def norm(vector: Vector) -> float:
    """Return the Euclidean norm, without overflow; inf if an element is not finite."""
    largest = float(np.max(np.abs(vector), initial=0.0))
    if not np.isfinite(largest):
        return np.inf
    return largest * float(np.linalg.norm(vector / largest)) if largest else 0.0


def scaled(matrix: Matrix) -> tuple[Matrix, Vector, Vector]:
    """Return a matrix with rows and then columns of maximum 1, and the divisors of the rows and of the columns."""
    rows = _divisors(matrix, 1)
    even = matrix / rows[:, None]
    columns = _divisors(even, 0)
    return even / columns, rows, columns


def _divisors(matrix: Matrix, axis: int) -> Vector:
    """Return the largest magnitudes along an axis, with 1 in place of 0."""
    sizes = np.max(np.abs(matrix), axis=axis, initial=0.0)
    return np.where(sizes > 0, sizes, 1.0)


def newton_step(jacobian: Matrix, f: Vector) -> tuple[Vector, int]:
    """Return the full Newton step, and the rank of the Jacobian matrix.

    The step is the solution of ``J @ step = -f`` for J of shape (m, n); the least-squares solution if there are more equations than
    unknowns, and the shortest solution if there are fewer, or if the matrix is singular.
    """
    m, n = jacobian.shape
    if m > n:  # a change of the rows would change the least-squares solution
        columns = _divisors(jacobian, 0)
        size = float(np.max(np.abs(f), initial=0.0)) or 1.0
        step, _, rank, _ = np.linalg.lstsq(jacobian / columns, -f / size, CUTOFF)
        return step * size / columns, int(rank)
    matrix, rows, columns = scaled(jacobian)
    if m < n:  # a change of the columns would change the shortest solution
        matrix, columns = matrix * columns, np.ones(n)
    step, _, rank, _ = np.linalg.lstsq(matrix, -f / rows, CUTOFF)
    return step / columns, int(rank)


def largest_cosine(point: Point) -> float:
    """Return the largest cosine of the angle between the residuals and a column of the Jacobian; 0 at a minimum of the norm."""
    sizes = np.linalg.norm(point.jacobian, axis=0) * norm(point.f)
    products = np.abs(point.jacobian.T @ point.f)
    return float(np.max(np.where(sizes > 0, products / np.where(sizes > 0, sizes, 1.0), 0.0), initial=0.0))
