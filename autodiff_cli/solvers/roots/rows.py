"""``root`` over rows of files and columns of arrays."""

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
from autodiff_cli.solvers.roots.columns import RootProgram

if TYPE_CHECKING:
    from autodiff_cli.arrays import Mask, Vector
    from autodiff_cli.data.columns import Data
    from autodiff_cli.evaluation.evaluation import Value

NO_ROOT = "no root was verified"


@dataclass(slots=True)
class RootTask(Task):
    """The solution of equations in every row.

    Attributes:
        equations: the equations as they were written; ``expression`` has them without their equals signs.
        starts: the unknowns with their starts.
        max_steps: the maximum number of steps of a row that is solved alone.
        sensitivity: the columns and constants with respect to which the unknowns are differentiated.
    """

    equations: str = ""
    starts: Mapping[str, Value] = field(default_factory=dict)
    max_steps: int = 200
    sensitivity: Sequence[str] = ()

    def program(self) -> Compiled:
        """Compile the equations."""
        made = RootProgram(self.equations, self.starts, self.const, list(self.lets), self.max_steps, self.sensitivity)
        self.expression = made.text
        self.derivative_name = "{}"
        return made

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
    max_steps: int,
    sensitivity: Sequence[str] = (),
) -> dict[str, Vector | Mask]:
    """Solve equations for every row of columns in memory or in a file.

    Args:
        expression: the equations.
        data: the columns by name, or files.
        at: the unknowns with their starts.
        const: the constants that are the same in all rows.
        max_steps: the maximum number of steps of a row that is solved alone.
        sensitivity: the columns and constants with respect to which the unknowns are differentiated.

    Returns:
        The unknowns, their derivatives such as ``d_x_a``, ``residual`` and ``converged`` as arrays; a row without a verified root
        has nan.
    """
    task = RootTask("", const=const, keep=False, equations=expression, starts=at, max_steps=max_steps, sensitivity=sensitivity)
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
    out = [np.empty(max((len(each) for each in columns.values()), default=1)) for _ in program.terms]
    program.run(columns, out)
    found: dict[str, Vector | Mask] = dict(zip(rows.results[:-1], out[:-1], strict=True))
    found["converged"] = out[-1] > 0
    return found
