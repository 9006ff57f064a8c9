"""The search for the roots of the same equations with other numbers in every row.

Newton's method runs on whole columns, and the Krawczyk operator proves the root of each row.  Rows without a proof start again
from the root of the row before and from further starts; the last ones are solved one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.errors import AutodiffError
from autodiff_cli.solvers.intervals.branch_and_bound import krawczyk_images
from autodiff_cli.solvers.intervals.enclosure import Enclosure
from autodiff_cli.solvers.roots.newton import search, starts
from autodiff_cli.solvers.roots.problem import EPS, RootProblem
from autodiff_cli.solvers.system import System

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.arrays import Mask, Vector

MOST_STEPS = 60
"""The maximum number of steps of all rows of a block together."""
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
        enclosed = system.enclosure is not None and system.slopes is not None
        self.is_traced = enclosed and system.tape is not None and system.count == system.active

    def solved(self, start: Vector, constants: Vector) -> tuple[Vector, Mask]:
        """Return the roots of shape (n, rows), and whether the root of each row is verified.

        Args:
            start: the starts, of shape (n, rows).
            constants: the constants, of shape (m, rows).
        """
        x = start.copy()
        done = np.zeros(x.shape[1], bool)
        usable = np.isfinite(constants).all(axis=0) & np.isfinite(start).all(axis=0)
        with np.errstate(all="ignore"):
            if self.is_traced:
                for k, begin in enumerate([start, start, *(point[:, None] for point in islice(starts(start[:, 0]), 1, 7))]):
                    left = np.flatnonzero(~done & usable)
                    if not len(left):
                        break
                    first = np.broadcast_to(begin, start.shape)[:, left]
                    if k == 1:  # the root of the last row that is solved
                        before = np.maximum.accumulate(np.where(done, np.arange(len(done)), -1))[left]
                        first = np.where(before >= 0, x[:, before], first)
                    reached = self._newton(first, constants[:, left])
                    proven = self._proven(reached, constants[:, left])
                    x[:, left[proven]] = reached[:, proven]
                    done[left[proven]] = True
            self._one_by_one(x, done, np.flatnonzero(~done & usable)[:MOST_ALONE], start, constants)
        return x, done

    def _at(self, x: Vector, constants: Vector) -> tuple[Vector, Vector]:
        """Return the residuals of shape (n, rows), and the Jacobian matrices of shape (rows, n, n)."""
        n, rows = x.shape
        out = self._system.columns(np.vstack([x, constants]), "linear")
        return out[:n], np.moveaxis(out[n:].reshape(n, n, rows), 2, 0)

    def _newton(self, x: Vector, constants: Vector) -> Vector:
        """Return the points that damped Newton steps reach in all rows."""
        x = x.copy()
        f, jacobian = self._at(x, constants)
        active = np.arange(x.shape[1])
        for _ in range(MOST_STEPS):
            step = _steps(jacobian, f)
            size = np.abs(f).max(axis=0)
            going = np.isfinite(step).all(axis=0) & (np.abs(step) > 2 * EPS * np.abs(x[:, active])).any(axis=0) & (size > 0)
            active, step, size = active[going], step[:, going], size[going]
            if not len(active):
                break
            f, jacobian = f[:, going], jacobian[going]
            factor = np.minimum(1.0, (1 / (np.abs(step) / (np.abs(x[:, active]) + 1)).max(axis=0)))
            improved = np.zeros(len(active), bool)
            for _ in range(8):
                trial = np.flatnonzero(~improved)
                reached = x[:, active[trial]] + factor[trial] * step[:, trial]
                new, matrices = self._at(reached, constants[:, active[trial]])
                better = np.abs(new).max(axis=0) < size[trial]
                places = trial[better]
                x[:, active[places]] = reached[:, better]
                f[:, places], jacobian[places] = new[:, better], matrices[better]
                improved[places] = True
                factor[trial] /= 4
                if improved.all():
                    break
            active, f, jacobian = active[improved], f[:, improved], jacobian[improved]
            if not len(active):
                break
        return x

    def _proven(self, x: Vector, constants: Vector) -> Mask:
        """Return in which rows the Krawczyk operator proves a root."""
        n = len(x)
        at = self._bounds(self._system.enclosure, x, x, constants)
        f, jacobian = self._at(x, constants)
        noise = np.maximum(at[1] - f, f - at[0])
        inverse = inverses(jacobian)
        radius = 2 * np.einsum("kij,jk->ik", np.abs(inverse), np.abs(f) + noise) + 16 * EPS * np.abs(x) + 1e-100
        low, high = x - radius, x + radius
        matrix = self._bounds(self._system.slopes, low, high, constants).reshape(2, n, n, -1)
        center, half = matrix[0] / 2 + matrix[1] / 2, (matrix[1] / 2 - matrix[0] / 2) * (1 + 4 * EPS)
        regular = np.isfinite(center).all(axis=(0, 1)) & np.isfinite(at).all(axis=(0, 1))
        assert self._system.enclosure is not None
        for interval in self._system.enclosure(np.vstack([low, constants]), np.vstack([high, constants])):
            regular &= interval.regular
        proven = np.zeros(x.shape[1], bool)
        some = np.flatnonzero(regular & np.isfinite(radius).all(axis=0))
        if len(some):
            images, valid = krawczyk_images(at[:, :, some], center[:, :, some], half[:, :, some], x[:, some], high[:, some])
            proven[some] = valid & ((images[0] > low[:, some]) & (images[1] < high[:, some])).all(axis=0)
        return proven

    def _bounds(self, enclosure: Enclosure | None, low: Vector, high: Vector, constants: Vector) -> Vector:
        assert enclosure is not None
        result = enclosure(np.vstack([low, constants]), np.vstack([high, constants]))
        return np.array([[interval.low for interval in result], [interval.high for interval in result]])

    def _one_by_one(self, x: Vector, done: Mask, rows: NDArray[np.intp], start: Vector, constants: Vector) -> None:
        """Solve rows alone, and set their solutions."""
        for i in rows.tolist():
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


def inverses(jacobian: Vector) -> Vector:
    """Return the inverses of matrices; nan for a singular matrix."""
    if jacobian.shape[1] == 1:
        return np.asarray(1 / jacobian)
    valid = np.flatnonzero(np.isfinite(jacobian).all(axis=(1, 2)))
    valid = valid[np.abs(np.linalg.det(jacobian[valid])) > 0]
    inverse = np.full_like(jacobian, np.nan)
    inverse[valid] = np.linalg.inv(jacobian[valid])
    return inverse


def _steps(jacobian: Vector, f: Vector) -> Vector:
    """Return the Newton steps, of shape (n, rows)."""
    return np.asarray(-np.einsum("kij,jk->ik", inverses(jacobian), f))
