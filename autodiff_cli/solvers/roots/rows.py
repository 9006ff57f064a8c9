"""Roots for many rows: the same equations with other numbers in every row.

Newton's method runs on whole columns, and the Krawczyk operator proves the root of each row.  Rows without a proof start again
from the root of the row before and from further starts; the last ones are solved one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.arrays import Floats
from autodiff_cli.compiler.program import Compiled
from autodiff_cli.data.columns import Source
from autodiff_cli.data.mapping import RowMap, Task
from autodiff_cli.data.row_blocks import Block, Results, Tally, without
from autodiff_cli.errors import AutodiffError, UsageError, setting
from autodiff_cli.evaluation.names import check_no_module, free_names
from autodiff_cli.language.tree import unparse
from autodiff_cli.solvers.bounds import check_names
from autodiff_cli.solvers.equations import equations
from autodiff_cli.solvers.intervals.branch import krawczyk_images
from autodiff_cli.solvers.intervals.enclosure import Enclosure
from autodiff_cli.solvers.roots.iteration import search, starts
from autodiff_cli.solvers.roots.problem import EPS, RootProblem, sensitivities
from autodiff_cli.solvers.system import System

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.arrays import Mask, Vector
    from autodiff_cli.autograd.dtypes import Array
    from autodiff_cli.data.columns import Data
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
        sensitivity: Sequence[str] = (),
    ) -> None:
        parsed = equations(expression, [*at, *const, *names])
        trees = [parsed.program(equation.residual) for equation in parsed.equations]
        result = {name: span for tree in trees for name, span in free_names(tree, const, [*at, *names]).items() if name not in at}
        check_no_module(result, parsed.source, names)
        self._problem = RootProblem(expression, at, {**const, **dict.fromkeys(result, 1.0)})
        self._arguments = (expression, dict(at), dict(const))
        self.labels = self._problem.labels
        check_names(sensitivity, [*const, *result], "sensitivity", "constant")
        self._wanted = tuple(sensitivity)
        self._same = {name: _number(name, const[name]) for name in sensitivity if name in const}
        slopes = [f"d_{label}_{name}" for label in self.labels for name in sensitivity]
        super().__init__(list(result), [(name,) for name in (*self.labels, *slopes, "residual", "converged")], np.float64)
        self.text = "; ".join(map(unparse, [*parsed.definitions, *(equation.residual for equation in parsed.equations)]))
        start = self._problem.system.named(self._problem.start)
        rest = {name: value for name, value in const.items() if name not in self._same}
        columns: dict[str, Value] = {**start, **dict.fromkeys(result, 1.0), **self._same}
        self._system = System(expression, trees, columns, rest, active=len(self.labels))
        # Blocks of rows are solved by several threads, which must not append to the tape.
        self._programs = [self._system.program(kind) for kind in ("linear", "values", *["whole_jacobian"] * bool(sensitivity))]
        enclosed = self._system.enclosure is not None and self._system.slopes is not None
        self._is_traced = enclosed and self._system.tape is not None and self._system.count == len(self.labels)

    def settle(self, rows: float) -> None:
        """Choose the engine of the residuals for a number of rows; see ``Compiled.settle``."""
        for program in self._programs:
            if program is not None:
                program.settle(rows)

    def run(self, columns: Mapping[str, Array], out: Sequence[Array]) -> None:
        """Solve all rows; a row without a verified root has nan as its solution, and 0 as ``converged``."""
        rows = len(out[0])
        values = [*(columns[name] for name in self.variables), *map(np.asarray, self._same.values())]
        constants = np.array([np.broadcast_to(value, rows) for value in values]).reshape(-1, rows)
        x, residual, converged = self._solved(constants)
        slopes = self._sensitivity(x, constants, np.flatnonzero(converged))
        for array, numbers in zip(out, [*np.where(converged, x, np.nan), *slopes, residual, converged * 1.0], strict=True):
            array[:] = numbers

    def _sensitivity(self, x: Vector, constants: Vector, rows: NDArray[np.intp]) -> Vector:
        """Return the derivatives of the roots in some rows, nan in the others, of shape (n*m, rows) for m constants."""
        n, m = len(x), len(self._wanted)
        result = np.full((n * m, x.shape[1]), np.nan)
        if not self._is_traced or not m:
            for i in rows.tolist() if m else ():
                slopes = sensitivities(self._alone(constants[:, i]), x[:, i], self._wanted)
                parts = [np.reshape([row[name] for name in self._wanted], (m, -1)).T.ravel() for row in slopes.values()]
                result[:, i] = np.concatenate(parts)
            return result
        with np.errstate(all="ignore"):
            whole = self._system.columns(np.vstack([x, constants])[:, rows], "whole_jacobian").reshape(n, -1, len(rows))
            places = [self._system.labels.index(name) for name in self._wanted]
            slopes_of = -np.einsum("kij,jmk->imk", _inverses(np.moveaxis(whole[:, :n], 2, 0)), whole[:, places])
        result[:, rows] = slopes_of.reshape(n * m, -1)
        return result

    def _alone(self, constants: Vector) -> RootProblem:
        """Return the equations of one row."""
        expression, at, const = self._arguments
        return RootProblem(expression, at, {**const, **dict(zip([*self.variables, *self._same], constants.tolist(), strict=True))})

    def _solved(self, constants: Vector) -> tuple[Vector, Vector, Mask]:
        """Return the solutions of shape (n, rows), the largest residual of each row, and whether the row is solved."""
        start, rows = self._problem.start, constants.shape[1]
        x = np.repeat(start[:, None], rows, axis=1)
        done = np.zeros(rows, bool)
        usable = np.isfinite(constants).all(axis=0)
        with np.errstate(all="ignore"):
            if self._is_traced:
                for k, begin in enumerate([start, start, *islice(starts(start), 1, 7)]):
                    left = np.flatnonzero(~done & usable)
                    if not len(left):
                        break
                    first = np.repeat(begin[:, None], len(left), axis=1)
                    if k == 1:  # the root of the last row that is solved
                        before = np.maximum.accumulate(np.where(done, np.arange(rows), -1))[left]
                        first = np.where(before >= 0, x[:, before], first)
                    reached = self._newton(first, constants[:, left])
                    proven = self._proven(reached, constants[:, left])
                    x[:, left[proven]] = reached[:, proven]
                    done[left[proven]] = True
            self._one_by_one(x, done, np.flatnonzero(~done & usable)[:MOST_ALONE], constants)
            return x, self._residuals(x, constants), done

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
        inverse = _inverses(jacobian)
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

    def _one_by_one(self, x: Vector, done: Mask, rows: NDArray[np.intp], constants: Vector) -> None:
        """Solve rows alone, and set their solutions."""
        for i in rows.tolist():
            try:
                problem = self._alone(constants[:, i])
                check = search(problem, problem.start, MOST_SECONDS).check
                before = np.flatnonzero(done[:i])
                if not check.converged and len(before):
                    check = search(problem, x[:, before[-1]], MOST_SECONDS / 2).check
            except AutodiffError:
                continue
            if check.converged:
                x[:, i], done[i] = check.point.x, True

    def _residuals(self, x: Vector, constants: Vector) -> Vector:
        """Return the largest residual of each row."""
        return np.asarray(np.abs(self._system.columns(np.vstack([x, constants]))).max(axis=0))


def _number(name: str, value: Value) -> float:
    """Return the value of a constant of ``sensitivity``."""
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


NO_ROOT = "no root was verified"


@dataclass(slots=True)
class RootTask(Task):
    """The solution of equations in every row.

    Attributes:
        equations: the equations as they were written; ``expression`` has them without their equals signs.
        starts: the unknowns with their starts.
        sensitivity: the columns and constants with respect to which the unknowns are differentiated.
    """

    equations: str = ""
    starts: Mapping[str, Value] = field(default_factory=dict)
    sensitivity: Sequence[str] = ()

    def program(self) -> Compiled:
        """Compile the equations."""
        result = RootProgram(self.equations, self.starts, self.const, list(self.lets), self.sensitivity)
        self.expression = result.text
        return result

    def names(self, program: Compiled) -> tuple[str, ...]:
        """Return the names of the result columns."""
        return tuple(name for (name,) in program.terms)

    def mapping(self, program: Compiled, columns: Sequence[str], source: str) -> RootRows:
        """Return the mapping of rows for an input."""
        return RootRows(self, program, columns, source)


class RootRows(RowMap):
    """A mapping of rows in which a row without a root is counted, and skipped if ``on_error`` is ``skip``."""

    def computed(self, block: Block) -> tuple[Block, list[Floats]]:
        """Solve the rows of a block."""
        block, out = super().computed(block)
        failed = [i for i in np.flatnonzero(out[-1] == 0).tolist() if i not in block.problems]
        if failed:
            block.bad += len(failed)
            block.first_bad = block.first_bad or f"{block.where} {block.lines[failed[0]]}: {NO_ROOT}"
            if self.task.on_error == "skip":
                return without(block, set(failed)), [np.delete(array, failed) for array in out]
            block.problems |= {i: f"{block.where} {block.lines[i]}: {NO_ROOT}" for i in failed}
        return block, out

    def tally(self, block: Block, results: Results) -> Tally:
        """Count the rows of a block; the residual of a row without a root may have any value."""
        return Tally(block.rows, block.bad, block.first_bad)


def root_columns(
    expression: str,
    data: Data,
    at: Mapping[str, Value],
    const: Mapping[str, Value],
    sensitivity: Sequence[str] = (),
) -> dict[str, Vector | Mask]:
    """Solve equations for every row of columns in memory or in a file.

    Args:
        expression: the equations.
        data: the columns by name, or files.
        at: the unknowns with their starts.
        const: the constants that are the same in all rows.
        sensitivity: the columns and constants with respect to which the unknowns are differentiated.

    Returns:
        The unknowns, their derivatives such as ``d_x_a``, ``residual`` and ``converged`` as arrays; a row without a verified root
        has nan.
    """
    task = RootTask("", const=const, keep=False, equations=expression, starts=at, sensitivity=sensitivity)
    source = Source(data)
    try:
        task.lets = {name: name for name in source.names if name.isidentifier() and name not in at}
        program = task.program()
        rows = RootRows(task, program, source.names, source.name)
        columns: Mapping[str, Vector] = (
            {name: np.asarray(data[name], float) for name in rows.used}
            if isinstance(data, Mapping)  # a row with nan stays
            else source.read({column: column for column in rows.used}).columns
        )
    finally:
        source.close()
    out = [np.empty(max((len(cells) for cells in columns.values()), default=1)) for _ in program.terms]
    program.run(columns, out)
    result: dict[str, Vector | Mask] = dict(zip(rows.results[:-1], out[:-1], strict=True))
    result["converged"] = out[-1] > 0
    return result
