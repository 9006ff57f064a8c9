"""The search for the roots of the same equations with other numbers in every row.

Newton's method runs on whole columns, and the Krawczyk operator proves the root of each row.  Rows without a proof start again
from the root of the row before and from further starts; the last ones are solved one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.compiler.program import REPAID, has_compiler
from autodiff_cli.errors import AutodiffError
from autodiff_cli.lazy import named
from autodiff_cli.solvers.intervals.branch_and_bound import inverses, krawczyk_images, products, stacked
from autodiff_cli.solvers.roots.newton import search, starts
from autodiff_cli.solvers.roots.problem import EPS, RootProblem
from autodiff_cli.solvers.system import System

if TYPE_CHECKING:
    from autodiff_cli.arrays import Mask, Vector
    from autodiff_cli.compiler.llvm.machine_code import LoadedKernel

TOGETHER = 50_000
"""The number of rows that are solved together: memory for larger arrays is mapped anew each time, which takes twice the time."""
STEPS = 8
"""The typical number of Newton steps, which decides whether machine code repays the time to compile it."""
_OPERATIONS = 10
"""The number of operations that limit a step."""
MOST_STEPS = 60
"""The maximum number of steps of all rows together."""
MOST_SHORTENED = 7
"""The maximum number of times that a step is divided by four."""
MOST_ALONE = 500
"""The maximum number of rows of a block that are solved one by one."""
MOST_SECONDS = 0.1
"""The time for further starts of such a row."""


class RowSearch:
    """The search for the roots of n equations in every row.

    Args:
        system: the residuals as functions of the n unknowns, which are its active variables, and of the constants, which follow.
        alone: returns the equations of one row, given its constants.
    """

    def __init__(self, system: System, alone: Callable[[Vector], RootProblem]) -> None:
        self._system = system
        self._alone = alone
        enclosed = system.enclosure is not None and system.enclosure_with_slopes is not None
        self.is_traced = enclosed and system.tape is not None and system.count == system.active
        self._limited_steps: LoadedKernel | None = None
        self._programs = [system.program(kind) for kind in ("values", "linear")]  # before several threads use the tape

    def settle(self, rows: float) -> None:
        """Choose machine code for all further searches if it repays its compilation for a number of rows, else NumPy."""
        for program in self._programs:
            if program is not None:
                program.settle(rows * STEPS)
        for enclosure in (self._system.enclosure, self._system.enclosure_with_slopes):
            if enclosure is not None:
                enclosure.compile(rows)
        n = self._system.active
        if self.is_traced and rows * STEPS * _OPERATIONS >= REPAID and has_compiler():
            compiled = named("autodiff_cli.solvers.intervals.machine_code:compiled_function")
            self._limited_steps = compiled(_limited_steps, 3 * n, [np.dtype(float)] * (n + 1) + [np.dtype(bool)])

    def solved(self, start: Vector, constants: Vector) -> tuple[Vector, Mask]:
        """Return the roots of shape (n, rows), and whether each is verified, from starts (n, rows) and constants (m, rows).

        Rows without a proof are solved one by one, from their starts and then from the root of the last solved row.
        """
        x, done = self.proven(start, constants)
        for i in np.flatnonzero(~done & _usable(start, constants))[:MOST_ALONE].tolist():
            try:
                problem = self._alone(constants[:, i])
                check = search(problem, start[:, i], MOST_SECONDS).check
                before = np.flatnonzero(done[:i])
                if not check.converged and len(before):
                    check = search(problem, x[:, before[-1]], MOST_SECONDS / 2).check
            except AutodiffError:
                continue
            if check.converged:
                x[:, i], done[i] = check.point.x, True
        return x, done

    def proven(self, start: Vector, constants: Vector) -> tuple[Vector, Mask]:
        """Return the roots that Newton's method reaches, and whether the Krawczyk operator proves each; see ``solved``."""
        x = start.copy()
        done = np.zeros(x.shape[1], bool)
        usable = _usable(start, constants)
        with np.errstate(all="ignore"):
            for first in range(0, len(done), TOGETHER) if self.is_traced else ():
                part = slice(first, first + TOGETHER)
                x[:, part], done[part] = self._together(start[:, part], constants[:, part], usable[part])
        return x, done

    def _together(self, start: Vector, constants: Vector, usable: Mask) -> tuple[Vector, Mask]:
        """Return the roots of rows from several starts, and whether each is proven; the second is the root of a row before."""
        x = self._newton(start, constants)
        done = self.enclosed(x, constants, constants)[1] & usable
        x = np.where(done, x, start)
        further = [point[:, None] for point in islice(starts(start[:, 0]), 1, 7)]
        for trial, begin in enumerate([start, *further]):
            left = np.flatnonzero(~done & usable)
            if not len(left):
                break
            first = np.take(np.broadcast_to(begin, start.shape), left, 1)
            if trial == 0:
                before = np.maximum.accumulate(np.where(done, np.arange(len(done)), -1))[left]
                first = np.where(before >= 0, x[:, before], first)
            others = np.take(constants, left, 1)
            reached = self._newton(first, others)
            _, proven = self.enclosed(reached, others, others)
            x[:, left[proven]] = reached[:, proven]
            done[left[proven]] = True
        return x, done

    def _at(self, x: Vector, constants: Vector) -> tuple[Vector, Vector]:
        """Return the residuals of shape (n, rows), and the Jacobian matrices of shape (n, n, rows)."""
        n, rows = x.shape
        out = self._system.columns([*x, *constants], "linear")
        return out[:n], out[n:].reshape(n, n, rows)

    def _step(self, x: Vector, constants: Vector) -> tuple[Vector, Vector, Mask]:
        """Return the Newton steps of shape (n, rows), the largest residuals, and the rows that the steps move.

        A step is at most as long as the unknowns plus 1.  A row with a residual of 0 or without a finite step does not move.
        """
        f, jacobian = self._at(x, constants)
        n, columns = len(x), [*products(inverses(jacobian), -f), *x, *f]
        if self._limited_steps is None:
            *steps, size, moves = _limited_steps(*columns)
            return np.array(steps), size, moves
        out = np.empty((n + 1, x.shape[1]))
        moves = np.empty(x.shape[1], bool)
        self._limited_steps.run([np.ascontiguousarray(column) for column in columns], [], [*out, moves])
        return out[:n], out[n], moves

    def _newton(self, x: Vector, constants: Vector) -> Vector:
        """Return the points that Newton steps reach in all rows; a step is divided by 4 until the largest residual decreases."""
        result, rows = x.copy(), np.arange(x.shape[1])  # the rows that have not been left out
        step, size, moves = self._step(x, constants)
        for _ in range(MOST_STEPS):
            if 2 * np.count_nonzero(moves) < len(rows):  # most have ended, so it pays to copy the others
                result[:, rows] = x
                left = np.flatnonzero(moves)
                rows, size, moves = rows[left], size[left], moves[left]
                x, step, constants = (np.take(array, left, 1) for array in (x, step, constants))
            if not len(rows):
                return result
            reached = x + np.where(moves, step, 0)
            following, smaller, goes_on = self._step(reached, constants)
            worse = trial = np.flatnonzero(moves & ~(smaller < size))  # also nan
            for _ in range(MOST_SHORTENED):
                step[:, trial] /= 4
                trial = trial[(x[:, trial] + step[:, trial] != x[:, trial]).any(axis=0)]
                if not len(trial):
                    break
                reached[:, trial] = x[:, trial] + step[:, trial]
                following[:, trial], smaller[trial], goes_on[trial] = self._step(reached[:, trial], constants[:, trial])
                trial = trial[~(smaller[trial] < size[trial])]
            stays = worse[~(smaller[worse] < size[worse])]  # no step reduces the largest residual
            reached[:, stays], goes_on[stays] = x[:, stays], False
            x, step, size, moves = reached, following, smaller, moves & goes_on
        result[:, rows] = x
        return result

    def enclosed(self, x: Vector, low: Vector, high: Vector) -> tuple[Vector, Mask]:
        """Return bounds of the roots near x for all constants in boxes, of shape (2, n, rows), and in which rows they are proven.

        The Krawczyk operator proves that the equations have one root there for each value of the constants.
        """
        n = len(x)
        assert self._system.enclosure is not None
        assert self._system.enclosure_with_slopes is not None
        residuals = stacked(self._system.enclosure([*x, *low], [*x, *high]))
        _, jacobian = self._at(x, low if low is high else low / 2 + high / 2)
        # twice the Newton step of the largest residuals, so that the image has room in the box
        step = products(np.abs(inverses(jacobian)), np.maximum(np.abs(residuals[0]), np.abs(residuals[1])))
        radius = 2 * step + 16 * EPS * np.abs(x) + 1e-100
        bottom, top = x - radius, x + radius
        intervals = self._system.enclosure_with_slopes([*bottom, *low], [*top, *high])
        least, most = stacked(intervals[n:]).reshape(2, n, n, -1) / 2
        center, half = least + most, (most - least) * (1 + 4 * EPS)
        regular = np.logical_and.reduce([interval.regular for interval in intervals[:n]])
        images, valid = krawczyk_images(residuals, center, half, x, top)
        return images, np.asarray(regular & valid & ((images[0] > bottom) & (images[1] < top)).all(axis=0))


def _limited_steps(*columns: Any) -> list[Any]:
    """Return the columns of n steps, of the largest residuals, and of the rows that move, see ``RowSearch._step``.

    The columns are those of n steps, which may be too long, of the n unknowns and of the n residuals.  They are not joined to
    arrays, so that machine code can be made of this function.
    """
    n = len(columns) // 3
    steps, lengths, scales = columns[:n], [*map(np.abs, columns[:n])], [*map(np.abs, columns[n : 2 * n])]
    size = reduce(np.maximum, map(np.abs, columns[2 * n :]))
    moves = reduce(np.logical_or, [length > 2 * EPS * scale for length, scale in zip(lengths, scales, strict=True)]) & (size > 0)
    for length in lengths:
        moves &= length < np.inf
    factor = 1 / reduce(np.maximum, [1.0, *(length / (scale + 1) for length, scale in zip(lengths, scales, strict=True))])
    return [*(step * factor for step in steps), size, moves]


def _usable(start: Vector, constants: Vector) -> Mask:
    """Return which rows have finite starts and constants."""
    return np.asarray(np.isfinite(constants).all(axis=0) & np.isfinite(start).all(axis=0))
