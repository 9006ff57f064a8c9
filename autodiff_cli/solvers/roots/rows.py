"""``root`` over rows: the same equations with other numbers in every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.arrays import Floats
from autodiff_cli.compiler.program import Compiled
from autodiff_cli.data.columns import Source
from autodiff_cli.data.mapping import RowMap, Task
from autodiff_cli.data.row_blocks import Block, Results, Tally, without
from autodiff_cli.errors import UsageError, setting
from autodiff_cli.evaluation.names import check_no_module, free_names
from autodiff_cli.language.tree import unparse
from autodiff_cli.solvers.bounds import check_names
from autodiff_cli.solvers.equations import equations
from autodiff_cli.solvers.intervals.branch_and_bound import inverses, products
from autodiff_cli.solvers.roots.problem import RootProblem, sensitivities
from autodiff_cli.solvers.roots.row_search import RowSearch
from autodiff_cli.solvers.system import System

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.arrays import Mask, Vector
    from autodiff_cli.autograd.dtypes import Array
    from autodiff_cli.data.columns import Data
    from autodiff_cli.evaluation.evaluation import Value


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
        columns = {name: span for tree in trees for name, span in free_names(tree, const, [*at, *names]).items() if name not in at}
        check_no_module(columns, parsed.source, names)
        self._problem = RootProblem(expression, at, {**const, **dict.fromkeys(columns, 1.0)})
        self._arguments = (expression, dict(at), dict(const))
        self.labels = self._problem.system.labels
        check_names(sensitivity, [*const, *columns], "sensitivity", "constant")
        self._wanted = tuple(sensitivity)
        slopes = [f"d_{label}_{name}" for label in self.labels for name in sensitivity]
        super().__init__(list(columns), [()], np.float64, [*self.labels, *slopes, "residual", "converged"])
        self.text = "; ".join(map(unparse, [*parsed.definitions, *(equation.residual for equation in parsed.equations)]))
        # A constant of ``sensitivity`` becomes a variable of the system with the same value in all rows.
        self._same = {name: _number(name, const[name]) for name in sensitivity if name in const}
        rest = {name: value for name, value in const.items() if name not in self._same}
        start = self._problem.system.named(self._problem.start)
        variables: dict[str, Value] = {**start, **dict.fromkeys(columns, 1.0), **self._same}
        self._system = System(expression, trees, variables, rest, active=len(self.labels))
        self._search = RowSearch(self._system, self._alone)
        if sensitivity:
            self._system.program("whole_jacobian")  # before several threads use the tape

    def settle(self, rows: float) -> None:
        """Choose the engine of the residuals for a number of rows; see ``Compiled.settle``."""
        self._search.settle(rows)

    def run(self, columns: Mapping[str, Array], out: Sequence[Array]) -> None:
        """Solve all rows; a row without a verified root has nan as its solution, and 0 as ``converged``."""
        rows = len(out[0])
        values = [*(columns[name] for name in self.variables), *map(np.asarray, self._same.values())]
        constants = np.array([np.broadcast_to(value, rows) for value in values]).reshape(-1, rows)
        start = np.repeat(self._problem.start[:, None], rows, axis=1)
        x, converged = self._search.solved(start, constants)
        residual = np.abs(self._system.columns([*x, *constants])).max(axis=0)
        slopes = self._sensitivity(x, constants, np.flatnonzero(converged))
        for array, numbers in zip(out, [*np.where(converged, x, np.nan), *slopes, residual, converged * 1.0], strict=True):
            array[:] = numbers

    def _sensitivity(self, x: Vector, constants: Vector, rows: NDArray[np.intp]) -> Vector:
        """Return the derivatives of the roots in some rows, nan in the others, of shape (n*m, rows) for m constants."""
        n, m = len(x), len(self._wanted)
        result = np.full((n * m, x.shape[1]), np.nan)
        if not m:
            return result
        if not self._search.is_traced:
            for i in rows.tolist():
                slopes = sensitivities(self._alone(constants[:, i]), x[:, i], self._wanted)
                parts = [np.reshape([row[name] for name in self._wanted], (m, -1)).T.ravel() for row in slopes.values()]
                result[:, i] = np.concatenate(parts)
            return result
        with np.errstate(all="ignore"):
            whole = self._system.columns(np.vstack([x, constants])[:, rows], "whole_jacobian").reshape(n, -1, len(rows))
            places = [self._system.labels.index(name) for name in self._wanted]
            # dx/da = -(dF/dx)^-1 dF/da in each row
            slopes_by_row = -products(inverses(whole[:, :n]), whole[:, places])
        result[:, rows] = slopes_by_row.reshape(n * m, -1)
        return result

    def _alone(self, constants: Vector) -> RootProblem:
        """Return the equations of one row, given the values of its columns and then of the constants of ``sensitivity``."""
        expression, at, const = self._arguments
        return RootProblem(expression, at, {**const, **dict(zip([*self.variables, *self._same], constants.tolist(), strict=True))})


def _number(name: str, value: Value) -> float:
    """Return the value of a constant of ``sensitivity``, which must be a number."""
    if np.ndim(value):
        raise UsageError(f"{setting('sensitivity')} over rows names '{name}', which is an array", hint="name numbers and columns")
    return float(np.asarray(value))


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

    def mapping(self, program: Compiled, columns: Sequence[str], source: str) -> RootRows:
        """Return the mapping of rows for an input."""
        return RootRows(self, program, columns, source)


class RootRows(RowMap):
    """A mapping of rows in which a row without a root is counted, and skipped if ``on_error`` is ``skip``."""

    def computed(self, block: Block) -> tuple[Block, list[Floats]]:
        """Solve the rows of a block, and note each row without a root as a problem of the block, or leave it out."""
        block, out = super().computed(block)
        failed = [i for i in np.flatnonzero(out[-1] == 0).tolist() if i not in block.problems]  # the last result is ``converged``
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
    expression: str, data: Data, at: Mapping[str, Value], const: Mapping[str, Value], sensitivity: Sequence[str] = ()
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
    count = max((len(cells) for cells in columns.values()), default=1)
    program.settle(count)
    out = [np.empty(count) for _ in program.terms]
    program.run(columns, out)
    result: dict[str, Vector | Mask] = dict(zip(rows.results[:-1], out[:-1], strict=True))
    result["converged"] = out[-1] > 0
    return result
