"""Roots for many rows: the same equations with other numbers in every row.

Newton's method runs on whole columns, and the Krawczyk operator proves the root of each row.  Rows without a proof start again
from the root of the row before and from further starts; the last ones are solved one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.compiler.gradient import gradient
from autodiff_cli.compiler.program import Compiled, Program
from autodiff_cli.errors import AutodiffError, LimitError, NotRecordable, UsageError, setting
from autodiff_cli.evaluation.names import check_no_module, free_names
from autodiff_cli.solvers.equations import equations
from autodiff_cli.solvers.intervals.branch import krawczyk_images
from autodiff_cli.solvers.intervals.enclosure import Enclosure
from autodiff_cli.solvers.roots.problem import EPS, Problem, check_constants, sensitivities
from autodiff_cli.solvers.roots.search import search, starts
from autodiff_cli.solvers.system import System

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.arrays import Mask, Vector
    from autodiff_cli.autograd.dtypes import Array
    from autodiff_cli.evaluation.evaluation import Value


MOST_STEPS = 60
"""The maximum number of steps of all rows of a block together."""
MOST_ALONE = 500
"""The maximum number of rows of a block that are solved one by one."""
MOST_SECONDS = 0.1
"""The time for further starts of such a row."""


class RootProgram(Compiled):
    """Equations whose constants are columns, solved for every row.

    Args:
        expression: the equations.
        at: the unknowns with their starts.
        const: the constants that are the same in all rows.
        names: further names that are columns.
        max_steps: the maximum number of steps of a row that is solved alone.
        sensitivity: the columns and constants with respect to which the unknowns are differentiated.

    Attributes:
        variables: the names of the columns.
        labels: the names of the elements of the unknowns.
        text: the equations as expressions of the language.
    """

    engine = "blocks"

    def __init__(
        self,
        expression: str,
        at: Mapping[str, Value],
        const: Mapping[str, Value],
        names: Sequence[str],
        max_steps: int,
        sensitivity: Sequence[str] = (),
    ) -> None:
        parsed = equations(expression, [*at, *const, *names])
        trees = [parsed.program(each.residual) for each in parsed.equations]
        found = {name: span for tree in trees for name, span in free_names(tree, const, [*at, *names]).items() if name not in at}
        check_no_module(found, parsed.source, names)
        self._problem = Problem(expression, at, {**const, **dict.fromkeys(found, 1.0)})
        self._arguments = (expression, dict(at), dict(const), max_steps)
        self.labels = self._problem.labels
        check_constants(sensitivity, {**const, **dict.fromkeys(found, 1.0)})
        self._wanted = tuple(sensitivity)
        self._same = {name: _number(name, const[name]) for name in sensitivity if name in const}
        slopes = [f"d_{label}_{name}" for label in self.labels for name in sensitivity]
        super().__init__(list(found), [(name,) for name in (*self.labels, *slopes, "residual", "converged")], np.float64)
        self.text = "; ".join(self._texts(parsed.definitions, [each.residual for each in parsed.equations]))
        start = self._problem.system.named(self._problem.start)
        rest = {name: value for name, value in const.items() if name not in self._same}
        self._system = System(expression, trees, {**start, **dict.fromkeys(found, 1.0), **self._same}, rest)
        self._prepare()

    @staticmethod
    def _texts(*groups: Sequence[object]) -> list[str]:
        from autodiff_cli.language.tree import Syntax, unparse

        return [unparse(tree) for group in groups for tree in group if isinstance(tree, Syntax)]

    def _prepare(self) -> None:
        """Compile the residuals and their derivatives, and their enclosures."""
        self._program: Program | None = None
        self._changes: Program | None = None
        tape, n = self._system.tape, len(self.labels)
        if tape is None or self._system.count != n:
            return
        by, of = tape
        try:
            with np.errstate(all="ignore"), set_grad_enabled(False):
                slopes = [slope for each in of for slope in gradient(each, by[:n])]
            self._program = Program([*of, *slopes], self._system.labels, [()] * (n + n * n), np.float64, threads=1)
            self._values, self._slopes = Enclosure(by, of), Enclosure(by, slopes)
            if self._wanted:
                wanted = [by[self._system.labels.index(name)] for name in self._wanted]
                with np.errstate(all="ignore"), set_grad_enabled(False):
                    changes = [change for each in of for change in gradient(each, wanted)]
                self._changes = Program(changes, self._system.labels, [()] * len(changes), np.float64, threads=1)
        except (NotRecordable, LimitError):
            self._program = None

    def settle(self, rows: float) -> None:
        """Choose the engine of the residuals for a number of rows; see ``Compiled.settle``."""
        if self._program is not None:
            self._program.settle(rows)

    def run(self, columns: Mapping[str, Array], out: Sequence[Array]) -> None:
        """Solve all rows; a row without a verified root has nan as its solution, and 0 as ``converged``."""
        rows = len(out[0])
        values = [*(columns[name] for name in self.variables), *map(np.asarray, self._same.values())]
        given = np.array([np.broadcast_to(value, rows) for value in values]).reshape(-1, rows)
        x, residual, converged = self._solved(given)
        slopes = self._sensitivity(x, given, np.flatnonzero(converged))
        for array, numbers in zip(out, [*np.where(converged, x, np.nan), *slopes, residual, converged * 1.0], strict=True):
            array[:] = numbers

    def _sensitivity(self, x: Vector, given: Vector, rows: NDArray[np.intp]) -> Vector:
        """Return the derivatives of the roots in some rows, nan in the others, of shape (n*m, rows) for m constants.

        See ``sensitivity.sensitivities``.
        """
        n, m = len(x), len(self._wanted)
        found = np.full((n * m, x.shape[1]), np.nan)
        if self._program is None or self._changes is None:
            for i in rows.tolist() if m else ():
                slopes = sensitivities(self._alone(given[:, i]), x[:, i], self._wanted)
                parts = [np.reshape([row[name] for name in self._wanted], (m, -1)).T.ravel() for row in slopes.values()]
                found[:, i] = np.concatenate(parts)
            return found
        with np.errstate(all="ignore"):
            _, jacobian = self._at(x[:, rows], given[:, rows])
            changes = np.empty((n * m, len(rows)))
            self._changes.run(dict(zip(self._system.labels, [*x[:, rows], *given[:, rows]], strict=True)), list(changes))
            slopes_of = -np.einsum("kij,jmk->imk", _inverses(jacobian), changes.reshape(n, m, -1))
        found[:, rows] = slopes_of.reshape(n * m, -1)
        return found

    def _alone(self, given: Vector) -> Problem:
        """Return the equations of one row."""
        expression, at, const, _ = self._arguments
        return Problem(expression, at, {**const, **dict(zip([*self.variables, *self._same], given.tolist(), strict=True))})

    def _solved(self, given: Vector) -> tuple[Vector, Vector, Mask]:
        """Return the solutions of shape (n, rows), the largest residual of each row, and whether the row is solved."""
        start, rows = self._problem.start, given.shape[1]
        x = np.repeat(start[:, None], rows, axis=1)
        done = np.zeros(rows, bool)
        usable = np.isfinite(given).all(axis=0)
        with np.errstate(all="ignore"):
            if self._program is not None:
                for k, begin in enumerate([start, start, *islice(starts(start), 1, 7)]):
                    left = np.flatnonzero(~done & usable)
                    if not len(left):
                        break
                    first = np.repeat(begin[:, None], len(left), axis=1)
                    if k == 1:  # the root of the last row that is solved
                        before = np.maximum.accumulate(np.where(done, np.arange(rows), -1))[left]
                        first = np.where(before >= 0, x[:, before], first)
                    reached = self._newton(first, given[:, left])
                    proven = self._proven(reached, given[:, left])
                    x[:, left[proven]] = reached[:, proven]
                    done[left[proven]] = True
            self._one_by_one(x, done, np.flatnonzero(~done & usable)[:MOST_ALONE], given)
            return x, self._residuals(x, given), done

    def _at(self, x: Vector, given: Vector) -> tuple[Vector, Vector]:
        """Return the residuals of shape (n, rows), and the Jacobian matrices of shape (rows, n, n)."""
        assert self._program is not None
        n, rows = x.shape
        out = np.empty((n + n * n, rows))
        self._program.run(dict(zip(self._system.labels, [*x, *given], strict=True)), list(out))
        return out[:n], np.moveaxis(out[n:].reshape(n, n, rows), 2, 0)

    def _newton(self, x: Vector, given: Vector) -> Vector:
        """Return the points that damped Newton steps reach in all rows."""
        x = x.copy()
        f, jacobian = self._at(x, given)
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
                new, matrices = self._at(reached, given[:, active[trial]])
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

    def _proven(self, x: Vector, given: Vector) -> Mask:
        """Return in which rows the Krawczyk operator proves a root."""
        n = len(x)
        at = self._bounds(self._values, x, x, given)
        f, jacobian = self._at(x, given)
        noise = np.maximum(at[1] - f, f - at[0])
        inverse = _inverses(jacobian)
        radius = 2 * np.einsum("kij,jk->ik", np.abs(inverse), np.abs(f) + noise) + 16 * EPS * np.abs(x) + 1e-100
        low, high = x - radius, x + radius
        matrix = self._bounds(self._slopes, low, high, given).reshape(2, n, n, -1)
        center, half = matrix[0] / 2 + matrix[1] / 2, (matrix[1] / 2 - matrix[0] / 2) * (1 + 4 * EPS)
        regular = np.isfinite(center).all(axis=(0, 1)) & np.isfinite(at).all(axis=(0, 1))
        for one in self._values(np.vstack([low, given]), np.vstack([high, given])):
            regular &= one.regular
        proven = np.zeros(x.shape[1], bool)
        some = np.flatnonzero(regular & np.isfinite(radius).all(axis=0))
        if len(some):
            images, valid = krawczyk_images(at[:, :, some], center[:, :, some], half[:, :, some], x[:, some], high[:, some])
            proven[some] = valid & ((images[0] > low[:, some]) & (images[1] < high[:, some])).all(axis=0)
        return proven

    def _bounds(self, enclosure: Enclosure, low: Vector, high: Vector, given: Vector) -> Vector:
        found = enclosure(np.vstack([low, given]), np.vstack([high, given]))
        return np.array([[one.low for one in found], [one.high for one in found]])

    def _one_by_one(self, x: Vector, done: Mask, rows: NDArray[np.intp], given: Vector) -> None:
        """Solve rows alone, and set their solutions."""
        most = self._arguments[3]
        for i in rows.tolist():
            try:
                problem = self._alone(given[:, i])
                check = search(problem, problem.start, most, MOST_SECONDS).check
                before = np.flatnonzero(done[:i])
                if not check.converged and len(before):
                    check = search(problem, x[:, before[-1]], most, MOST_SECONDS / 2).check
            except AutodiffError:
                continue
            if check.converged:
                x[:, i], done[i] = check.point.x, True

    def _residuals(self, x: Vector, given: Vector) -> Vector:
        """Return the largest residual of each row."""
        if self._program is not None:
            return np.asarray(np.abs(self._at(x, given)[0]).max(axis=0))
        return np.array([np.abs(self._system.values(np.concatenate(pair))).max() for pair in zip(x.T, given.T, strict=True)])


def _number(name: str, value: Value) -> float:
    """Return the value of a constant of ``sensitivity``.

    Raises:
        UsageError: if it is an array.
    """
    if np.ndim(value):
        raise UsageError(f"{setting('sensitivity')} over rows names '{name}', which is an array", hint="name numbers and columns")
    return float(np.asarray(value))


def _inverses(jacobian: Vector) -> Vector:
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
    return np.asarray(-np.einsum("kij,jk->ik", _inverses(jacobian), f))
