"""The compiled engine: a program as kernels, with calls of NumPy between them where a kernel cannot compute an instruction."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.compiler.llvm.array_protocol import KINDS
from autodiff_cli.compiler.llvm.kernel import kernel, uncomputable
from autodiff_cli.compiler.llvm.machine_code import LoadedKernel, compiled, machine
from autodiff_cli.compiler.partition import ProgramPartition, computing, evaluated, resolved
from autodiff_cli.compiler.threads import in_threads

if TYPE_CHECKING:
    from autodiff_cli.autograd.dtypes import Array, DType

INLINED: Final = 100
"""The maximum number of instructions of a kernel whose elementary functions are written in place of their calls."""
BLOCK: Final = 8_192
"""The number of rows of a block if values are kept between kernels, or columns are converted."""
LARGEST: Final = 500
"""The number of instructions of a kernel; the time to compile longer functions grows faster than their length."""
SHARE: Final = 65_536
"""The number of rows that a thread takes at a time."""
LEAST: Final = 1_000_000
"""The least number of rows times instructions for a thread; fewer do not repay the time to wake it, 30 to 60 µs."""


class Stage(NamedTuple):
    """Calls of NumPy, and the kernel that follows them.

    Attributes:
        calls: the instructions that NumPy computes.
        function: the kernel; ``None`` if there is nothing to compute after the calls.
        columns: the instructions that the kernel reads.
        results: what the kernel writes.
    """

    calls: list[Instruction]
    function: LoadedKernel | None
    columns: list[Instruction]
    results: list[Instruction]


class Plan:
    """A program as kernels, for a given set of scalar variables; without llvmlite, ``MissingPackage`` is raised.

    Args:
        parts: the division of the program.
        results: the instruction or constant that computes each result.
        dtype: the element type of the results.
    """

    def __init__(self, parts: ProgramPartition, results: Sequence[Operand], dtype: DType) -> None:
        self.dtype = dtype
        self._parts = parts
        self._results = list(map(resolved, results))
        self._once = {*parts.scalars, *parts.once}
        read = {op for instruction in parts.rows for op in computing(instruction.operands)}
        self._scalars = [op for op in (*parts.scalars, *parts.once) if op in read]  # what kernels read
        # The results that are equal in all rows, by their positions.
        self._constants = {i: op for i, op in enumerate(self._results) if op in self._once or type(op) is not Instruction}
        # A kernel writes a repeated result into its first array: in reversed order, the first position is set last, and stays.
        rows = set(parts.rows)
        self._first = {op: i for i, op in reversed(list(enumerate(self._results))) if op in rows}
        self._stages = self._stages_of_rows()
        self._copies = self._copied_results()

    def _copied_results(self) -> list[tuple[int, Instruction]]:
        """Return the results that no kernel writes into their arrays: repeated ones, those of NumPy, and those of other types."""
        written = {op for stage in self._stages for op in stage.results}  # by kernels
        direct = {i for op, i in self._first.items() if op in written and op.dtype == self.dtype}
        others = [(i, op) for i, op in enumerate(self._results) if i not in self._constants and i not in direct]
        return [(i, op) for i, op in others if type(op) is Instruction]  # all are, without the constants

    def _stages_of_rows(self) -> list[Stage]:
        """Return the stages that compute what is not equal in all rows: one kernel, if it can compute all instructions."""
        rows = self._parts.rows
        refused = uncomputable(rows)
        if refused or len(rows) > LARGEST:
            return self._divided_stages(refused)
        return [self._stage([], rows, self._parts.columns, results=list(self._first))]

    def _divided_stages(self, refused: set[Instruction]) -> list[Stage]:
        """Return the stages of a program that is too long for one kernel, or has instructions that kernels have refused.

        Going back from the last stage, each stage stores what later stages and the results need.
        """
        stages = []
        needed_later: set[Operand] = set(self._results)
        for calls, rows in reversed(self._pieces(refused)):
            own = set(rows)
            inputs = dict.fromkeys(op for each in rows for op in computing(each.operands) if op not in own)
            columns = [op for op in inputs if op not in self._once]
            stages.append(self._stage(calls, rows, columns, [op for op in rows if op in needed_later]))
            needed_later.update(op for instruction in (*calls, *rows) for op in computing(instruction.operands))
        return stages[::-1]

    def _pieces(self, refused: set[Instruction]) -> list[tuple[list[Instruction], list[Instruction]]]:
        """Return the calls of NumPy, which are those in ``refused``, and the instructions of the kernel of each stage.

        The level of an instruction is the largest number of refused ones on a path to it.  A level has one stage, or more if its
        kernel would have more than ``LARGEST`` instructions; only the first then has calls.
        """
        levels = dict.fromkeys((*self._parts.columns, *self._parts.scalars, *self._parts.once), 0)
        for instruction in self._parts.rows:
            operand_level = max(levels[op] for op in computing(instruction.operands))  # constants have no level
            levels[instruction] = operand_level + 1 if instruction in refused else operand_level
        pieces: list[tuple[list[Instruction], list[Instruction]]] = []
        for level in range(max(levels.values()) + 1):
            calls = [op for op in self._parts.rows if levels[op] == level and op in refused]
            rows = [op for op in self._parts.rows if levels[op] == level and op not in refused]
            pieces.append((calls, rows[:LARGEST]))
            pieces.extend(([], rows[i : i + LARGEST]) for i in range(LARGEST, len(rows), LARGEST))
        return pieces

    def _stage(
        self, calls: list[Instruction], rows: Sequence[Instruction], columns: list[Instruction], results: list[Instruction]
    ) -> Stage:
        """Return a stage: ``calls`` of NumPy, and a kernel that computes ``rows`` from ``columns`` unless ``results`` is empty."""
        if not results:
            return Stage(calls, function=None, columns=[], results=[])
        width, inline = machine().width, len(rows) <= INLINED
        code = kernel(width, inline, columns, self._scalars, instructions=rows, results=results)
        return Stage(calls, compiled(code, width), columns, results)

    def run(self, columns: Mapping[str, Array], out: Sequence[Array], threads: int) -> None:
        """Compute all results in at most so many threads, fewer for few rows; see ``Compiled.run``."""
        rows = len(out[0])
        constants = self._parts.constants(columns, self.dtype)
        inputs = {variable: columns[variable.variable] for variable in self._parts.columns}
        is_direct = all(array.dtype == self.dtype and array.flags.c_contiguous for array in inputs.values())
        most_rows = SHARE if is_direct and len(self._stages) == 1 else BLOCK
        threads = max(min(threads, rows * len(self._parts.rows) // LEAST), 1)
        step = max(min(most_rows, -(-rows // threads)), 1)  # the number of rows that a thread takes; the quotient is rounded up
        for i, operand in self._constants.items():
            out[i][:] = constants[operand] if type(operand) is Instruction else operand
        dtypes = [op.dtype if op.dtype in KINDS else np.dtype(np.float64) for op in self._scalars]
        # Kernels read scalars as arrays of equal elements for the rows of a group.
        scalars = [np.full(machine().width, constants[op], dtype) for op, dtype in zip(self._scalars, dtypes, strict=True)]
        starts = iter(range(0, rows, step))

        def work() -> None:
            with np.errstate(all="ignore"):
                for start in starts:
                    self._compute_block(slice(start, min(start + step, rows)), inputs, constants, scalars, out)

        in_threads(work, min(threads, -(-rows // step)))

    def _compute_block(
        self,
        rows: slice,
        inputs: Mapping[Instruction, Array],
        constants: dict[Instruction, Any],
        scalars: Sequence[Array],
        out: Sequence[Array],
    ) -> None:
        """Compute all results for some rows of ``inputs``, and write them into ``out``; ``scalars`` are constants for kernels."""
        values: dict[Instruction, Any] = {op: np.ascontiguousarray(array[rows], self.dtype) for op, array in inputs.items()}
        length = rows.stop - rows.start
        for calls, function, columns, results in self._stages:
            for instruction in calls:
                result = evaluated(instruction, ChainMap(values, constants))
                values[instruction] = np.ascontiguousarray(np.broadcast_to(result, length), instruction.dtype)
            if function is None:
                continue
            for op in results:
                is_direct = op in self._first and op.dtype == self.dtype  # then the kernel writes into the array of the result
                values[op] = out[self._first[op]][rows] if is_direct else np.empty(length, op.dtype)
            function.run([values[op] for op in columns], scalars, [values[op] for op in results])
        for i, op in self._copies:
            out[i][rows] = values[op]
