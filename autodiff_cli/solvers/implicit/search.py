"""Which solution a definition means: the root next to its start, the only root in its bracket, or the minimum at its start.

Newton's method finds a root, and interval arithmetic excludes others that are as near: the derivative keeps its sign on the
interval of all numbers that are as near.  What is not decided so is searched with branch and bound, one element at a time.
"""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.errors import NoValue, setting
from autodiff_cli.lazy import library
from autodiff_cli.solvers.implicit.components import in_time
from autodiff_cli.solvers.roots.all_roots import roots_over
from autodiff_cli.solvers.roots.newton import search
from autodiff_cli.solvers.roots.root import Root
from autodiff_cli.solvers.roots.row_search import RowSearch

if TYPE_CHECKING:
    from autodiff_cli.arrays import Mask, Vector
    from autodiff_cli.solvers.implicit.equation import Equation
    from autodiff_cli.solvers.roots.problem import RootProblem

MOST_SECONDS = 10.0
"""The maximum processor time of the search for one element."""
MOST_ALONE = 200
"""The maximum number of elements of a block that are decided one by one."""
_SECONDS = 0.5
"""The time for further starts of one element."""
_BLOCK = 4_096
"""The number of elements from which they are taken for a block of many rows, which repay the time to compile."""
_MANY = 1e6
"""The number of elements for which such a block stands."""
_HALVINGS = 12
"""The number of times that a bracket is halved before Newton's method."""
_PIECES = 16
"""The number of parts of an interval on each of which other roots are excluded."""
_AS_NEAR = 1e-9
"""The difference of two distances, relative to them, up to which two roots are as near."""
_searching: ContextVar[bool] = ContextVar("searching", default=False)
"""Whether the body of a definition is being evaluated for a search."""


class Choice:
    """The choice of a solution for each element.

    Args:
        equation: the equations.
        bracketed: whether the unknown has a bracket in place of a start.
    """

    def __init__(self, equation: Equation, bracketed: bool) -> None:
        self.equation = equation
        self.bracketed = bracketed
        self._rows = RowSearch(equation.system, equation.problem)
        self._settled = Lock()

    def solved(self, start: Vector, constants: Vector) -> Vector:
        """Return the unknowns, of shape (n, elements); nan where the definition does not have a value.

        The starts, or the two ends of a bracket, have the shape (n or 2, elements); the m parameters the shape (m, elements).
        """
        if start.shape[1] >= _BLOCK and self._settled.acquire(blocking=False):  # once
            self._rows.settle(_MANY)
        inner = _searching.get()  # for a definition around this one, a point without a value is one of many
        token = _searching.set(True)
        try:
            with np.errstate(all="ignore"), in_time(start.shape[1], MOST_SECONDS, _LATE):
                x, done = self.proven(start, constants)
                x[:, ~done] = np.nan
                usable = np.isfinite(start).all(axis=0) & np.isfinite(constants).all(axis=0)
                for i in [] if inner else np.flatnonzero(~done & usable)[:MOST_ALONE]:
                    with suppress(NoValue):
                        x[:, i] = self.alone(start[:, i], constants[:, i])
        finally:
            _searching.reset(token)
        return x

    def proven(self, start: Vector, constants: Vector) -> tuple[Vector, Mask]:
        """Return the unknowns, and where they are proven to be the solution that is meant."""
        x, done = self._rows.proven(self._halved(start, constants) if self.bracketed else start, constants)
        if self.equation.is_minimum:
            return x, done & self._is_minimum(x, constants)
        if len(x) > 1:
            return x, done
        if self.bracketed:
            return x, done & self._is_alone(x, start[0], start[1], constants)
        reach = np.abs(x[0] - start[0])
        ends = np.minimum(start[0] - reach, x[0]), np.maximum(start[0] + reach, x[0])  # x, although the sums are rounded
        return x, done & self._is_alone(x, *ends, constants)

    def enclosed(self, start: Vector, low: Vector, high: Vector) -> tuple[Vector, Mask]:
        """Return bounds of the unknowns for all parameters in boxes, of shape (2, n, boxes), and where they are proven."""
        with np.errstate(all="ignore"):
            x, done = self.proven(start, low / 2 + high / 2)
            bounds, proven = self._rows.enclosed(x, low, high)
            for corner in (low, high):
                at_corner, known = self.proven(start, corner)
                proven = proven & known & ((bounds[0] <= at_corner) & (at_corner <= bounds[1])).all(axis=0)
        return bounds, proven & done

    def alone(self, start: Vector, constants: Vector) -> Vector:
        """Return the unknowns of one element.

        Raises:
            NoValue: if the definition does not have a value; the error says why.
        """
        with in_time(1, MOST_SECONDS, _LATE):
            problem = self.equation.problem(constants)
            if self.equation.is_minimum:
                return self._minimum(problem, start, constants)
            if self.bracketed:
                return _only_root(problem, float(start[0]), float(start[1]))
            result = search(problem, start, _SECONDS)
            if not result.check.converged:
                bracket = f"a bracket if there is one unknown: root({problem.system.labels[0]}=0..2, ...)"
                raise NoValue(Root(problem, result).reason, hint=f"{_AGAIN}, or {bracket}")
            x = result.check.point.x
            if not result.check.multiplicity:
                raise NoValue(f"the root {problem.place(x)} is not isolated: the equation also holds beside it", hint=_AGAIN)
            return _nearest_root(problem, float(start[0]), x) if len(start) == 1 else x

    def _halved(self, bracket: Vector, constants: Vector) -> Vector:
        """Return a start in each bracket: near the change of sign if its ends have different signs, else its middle."""
        low, high = bracket[0].copy(), bracket[1].copy()
        at_low = self._values(low, constants)
        changes = at_low * self._values(high, constants) < 0
        for _ in range(_HALVINGS * bool(changes.any())):
            middle = low / 2 + high / 2
            left = at_low * self._values(middle, constants) <= 0
            low, high = np.where(changes & ~left, middle, low), np.where(changes & left, middle, high)
        return np.asarray(low / 2 + high / 2)[None]

    def _values(self, x: Vector, constants: Vector) -> Vector:
        """Return the residuals of one equation in many elements."""
        values: Vector = self.equation.system.columns(np.vstack([x[None], constants]))[0]
        return values

    def _is_alone(self, x: Vector, low: Vector, high: Vector, constants: Vector) -> Mask:
        """Return where it is proven that an interval contains one root, which is x: where the residual is monotone, or by parts."""
        is_inside = np.asarray((low <= x[0]) & (x[0] <= high))
        if not self._rows.is_traced:
            return np.zeros_like(is_inside)
        result = is_inside & self._monotone(low, high, constants)[0]
        rest = np.flatnonzero(~result & is_inside)
        if len(rest):
            result[rest] = self._is_alone_by_parts(x[0, rest], low[rest], high[rest], constants[:, rest])
        return result

    def _is_alone_by_parts(self, x: Vector, low: Vector, high: Vector, constants: Vector) -> Mask:
        """Return where no part of an interval has a root but the one with x, on which the residual is monotone."""
        cuts = np.linspace(low, high, _PIECES + 1)
        monotone, without_root = self._parts(cuts, constants)
        has_x = (cuts[:-1] <= x) & (x <= cuts[1:])
        return np.asarray(np.where(has_x, monotone, without_root).all(axis=0))

    def is_empty(self, bracket: Vector, constants: Vector) -> Mask:
        """Return where it is proven that a bracket does not contain a root, by parts."""
        if not self._rows.is_traced:
            return np.zeros(bracket.shape[1], bool)
        return np.asarray(self._parts(np.linspace(bracket[0], bracket[1], _PIECES + 1), constants)[1].all(axis=0))

    def _parts(self, cuts: Vector, constants: Vector) -> tuple[Mask, Mask]:
        """Return on which parts between cuts the residual is proven to be monotone, and on which it is proven not to be 0."""
        count = len(cuts) - 1
        ends = cuts[:-1].ravel(), cuts[1:].ravel()
        monotone, possible = (mask.reshape(count, -1) for mask in self._monotone(*ends, np.tile(constants, count)))
        points = [cuts.ravel(), *np.tile(constants, count + 1)]
        assert self.equation.system.enclosure is not None
        at = self.equation.system.enclosure(points, points)[0]
        signs = np.where(at.low > 0, 1, np.where(at.high < 0, -1, 0)).reshape(count + 1, -1)
        return monotone, ~possible | (monotone & (signs[:-1] * signs[1:] > 0))

    def _monotone(self, low: Vector, high: Vector, constants: Vector) -> tuple[Mask, Mask]:
        """Return on which intervals the residual is proven to rise or to fall, and on which it may be 0."""
        assert self.equation.system.enclosure_with_slopes is not None
        values, slopes = self.equation.system.enclosure_with_slopes([low, *constants], [high, *constants])
        return np.asarray(values.regular & ((slopes.low > 0) | (slopes.high < 0))), values.holds(0.0)

    def _is_minimum(self, x: Vector, constants: Vector) -> Mask:
        """Return where the Hessian matrix is positive definite beyond rounding; not where it is not finite."""
        n = len(x)
        matrices = np.moveaxis(self.equation.system.columns(np.vstack([x, constants]), "jacobian").reshape(n, n, -1), 2, 0)
        finite: Mask = np.asarray(np.isfinite(matrices).all(axis=(1, 2)))
        sizes = np.linalg.eigvalsh(np.where(finite[:, None, None], matrices, 0.0))
        return np.asarray(finite & (sizes[:, 0] > 1e-14 * np.abs(sizes).max(axis=1)))

    def _minimum(self, problem: RootProblem, start: Vector, constants: Vector) -> Vector:
        """Return the point of the minimum to which a trust-region method descends, verified as a root of the gradient."""
        objective = self.equation.system_alone(self.equation.results, constants)
        minimize = library("scipy.optimize", "argmin").minimize
        try:
            reached = minimize(
                lambda x: float(objective.values(x)[0]),
                start,
                jac=problem.system.values,
                hess=problem.system.jacobian,
                method="trust-exact",
            )
        except ValueError:  # a derivative that is not finite
            raise NoValue("no minimum found: the descent reaches a point where a derivative is not finite", hint=_AGAIN) from None
        check = search(problem, reached.x, _SECONDS).check
        x = check.point.x
        if not check.converged or not np.isfinite(x).all():
            raise NoValue(f"no minimum found: at {problem.place(reached.x)}, the gradient is not 0, or not defined", hint=_AGAIN)
        curvatures = problem.system.jacobian(x)
        if check.multiplicity != 1:
            what = f"at {problem.place(x)}, which may be a minimum, the curvature is 0"
            raise NoValue(f"no minimum that has derivatives found: {what}", hint="find it with the command minimize")
        if not np.isfinite(curvatures).all() or np.linalg.eigvalsh(curvatures)[0] <= 0:
            raise NoValue(f"no minimum found: {problem.place(x)} is a stationary point without positive curvature", hint=_AGAIN)
        return x


_AGAIN = "write another start"
_LATE = "if a root inside the equation is multiple, write one system of several unknowns, root([y, z]=[1, 1], [..., ...])[0]; "


def _nearest_root(problem: RootProblem, start: float, x: Vector) -> Vector:
    """Return the root that is nearest to a start, given one root; it is an error if another one is as near."""
    reach = abs(float(x[0]) - start) * (1 + _AS_NEAR)
    if not reach:
        return x
    others = roots_over(problem, np.array([start - reach]), np.array([start + reach])).checks
    points = sorted((check.point.x for check in others), key=lambda point: abs(float(point[0]) - start))
    if len(points) > 1 and abs(points[1][0] - start) - abs(points[0][0] - start) <= _AS_NEAR * reach:
        raise NoValue(
            f"two roots are as near to the start {start:.6g}: {problem.place(points[0])} and {problem.place(points[1])}",
            hint="write a start nearer to one of them, or a bracket that contains one",
        )
    return points[0] if points else x


def _only_root(problem: RootProblem, low: float, high: float) -> Vector:
    """Return the only root in a bracket; it is an error if there are none or several."""
    if not low < high or not np.isfinite(high - low):
        kind, ends = ("not finite", "-1e6..1e6") if low < high else ("empty", f"{high:.6g}..{low:.6g}")
        raise NoValue(f"the bracket {low:.6g}..{high:.6g} is {kind}", hint=f"write {problem.system.labels[0]}={ends}")
    roots = roots_over(problem, np.array([low]), np.array([high]))
    points = [check.point.x for check in roots.checks]
    if len(points) == 1:
        return points[0]
    where = f"the bracket {low:.6g}..{high:.6g}"
    if points:
        places = [problem.place(point) for point in points]
        raise NoValue(f"{where} contains {len(points)} roots: {'; '.join(places[:4])}", hint="write a bracket that contains one")
    broken = f": {roots.broken[0].sentence}" if roots.broken else ""
    why = f"{where} does not contain a root{broken}" if roots.complete or broken else f"no root was found in {where}"
    raise NoValue(why, hint=f"write a wider bracket, or search one with the command root and {setting('over')}")
