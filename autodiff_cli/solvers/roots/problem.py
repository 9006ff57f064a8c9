"""A system of equations at a point: residuals, Jacobian, and bounds of their rounding errors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.errors import AutodiffError, NotSolved, UsageError, setting
from autodiff_cli.evaluation.names import check_functions, free_names
from autodiff_cli.language.tree import Syntax, walk
from autodiff_cli.notes.nonfinite_value import of_value
from autodiff_cli.solvers.equations import equations
from autodiff_cli.solvers.system import System

if TYPE_CHECKING:
    from autodiff_cli.arrays import Matrix, Vector
    from autodiff_cli.evaluation.evaluation import Value
    from autodiff_cli.solvers.intervals.enclosure import Enclosure

EPS = float(np.finfo(float).eps)


class Point:
    """A point with the residuals and their Jacobian matrix, which is computed when it is first read.

    Attributes:
        x: the n unknowns.
        f: the m residuals.
    """

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
    programs = [parsed.program(each.residual) for each in parsed.equations]
    for program in programs:
        check_functions(program, expression)
    names = list({name: None for program in programs for name in free_names(program, const)}) or ["x"]
    start, search = setting("at", ",".join(f"{name}=1" for name in names)), setting("over", f"{names[0]}=-10:10")
    return UsageError("the unknowns are not given", hint=f"give each unknown a start with {start}, or a range with {search}")


class Problem:
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
        trees = [*self.parsed.definitions, *(each.residual for each in self.parsed.equations)]
        used = {node.text for tree in trees for node in walk(tree) if node.kind == "NAME"}
        self.unused = [name for name in (*at, *self.const) if name not in used]
        unknowns = {name: value for name, value in at.items() if name in used} or at
        self.system = System(
            expression, [self.parsed.program(each.residual) for each in self.parsed.equations], unknowns, self.const
        )
        self.start = self.system.start
        if not len(self.start):
            raise UsageError("the unknowns have no elements", hint=f"give each unknown a start with {setting('at', 'x=1')}")
        if not self.system.count:
            span = self.parsed.equations[0].span
            raise UsageError(
                "the equations have no elements", span=span, source=expression, hint="write one equation, such as x**2 = 2"
            )
        self.labels = self.system.labels

    def at(self, x: Vector) -> Point:
        """Return the residuals and the Jacobian matrix at given values of the unknowns."""
        return Point(self.system, x)

    def check_finite(self, x: Vector) -> None:
        """Raise an error if a residual is not finite at the start.

        Raises:
            NotSolved: if a residual is nan or infinite; the error has its place in the expression.
        """
        if np.isfinite(self.system.values(x)).all():
            return
        for i in range(len(self.parsed.equations)):
            evaluation = self.system.evaluation(i, x)
            if not np.isfinite(evaluation.output._data).all():
                with np.errstate(all="ignore"):
                    first = next(iter(of_value(evaluation)), None)
                span = self.parsed.equations[i].span
                if first is not None and first["span"] is not None:
                    span = (first["span"][0], first["span"][1])
                raise NotSolved(
                    f"the equation is not finite at the start: {first['message']}"
                    if first
                    else "the equation is not finite at the start",
                    span=span,
                    source=self.expression,
                    hint=f"start at values where the equation is finite, with {setting('at')}",
                )

    def noise(self, point: Point) -> Vector:
        """Return a bound of the residuals that rounding errors can cause: in the evaluation, and in the unknowns themselves."""
        moved = np.abs(point.jacobian) @ (EPS * np.abs(point.x))
        return np.asarray(self._rounding(point) + np.where(np.isfinite(moved), moved, 0.0))

    def _rounding(self, point: Point) -> Vector:
        """Return a bound of the rounding errors of the residuals, from intervals; an estimate for functions without a rule."""
        bound = np.full(len(point.f), np.inf)
        if self.enclosure is not None:
            found = self.enclosure(point.x, point.x)
            bound = np.array([np.maximum(one.high - f, f - one.low) for one, f in zip(found, point.f, strict=True)]).reshape(-1)
        rough = ~np.isfinite(bound)
        if rough.any():
            bound[rough] = self._estimate(point)[rough]
        return bound

    def _estimate(self, point: Point) -> Vector:
        """Return an estimate of the rounding errors from the magnitudes of the sides of each equation."""
        sides = self._sides
        if sides is None:
            return np.full(len(point.f), 0.0)
        size = np.nan_to_num(np.abs(sides.values(point.x)).reshape(2, -1).sum(axis=0))
        return np.asarray(16 * EPS * (size + np.abs(point.jacobian) @ np.abs(point.x)))

    @cached_property
    def _sides(self) -> System | None:
        """The left sides, then the right sides; ``None`` if their shapes differ, so that they cannot be paired."""
        zero = Syntax("number", [Syntax("NUMBER", [], "0", (0, 0))], "", (0, 0))
        trees = [each.left for each in self.parsed.equations] + [each.right or zero for each in self.parsed.equations]
        start = self.system.named(self.start)
        made = System(self.expression, [self.parsed.program(tree) for tree in trees], start, self.const)
        return made if made.count == 2 * self.system.count else None

    @property
    def enclosure(self) -> Enclosure | None:
        """The residuals over boxes; ``None`` if the equations cannot be traced."""
        return self.system.enclosure

    @property
    def slopes(self) -> Enclosure | None:
        """The Jacobian matrix over boxes, row by row; ``None`` if the equations cannot be traced."""
        return self.system.slopes
