"""Execution of a tape over columns, block by block.

Blocks are small enough to stay in the cache, and every instruction writes into a preallocated array, because allocation
dominates the cost for large columns.  Blocks are independent, so neither their size nor the number of threads changes a
result.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.compiler.partition import ProgramPartition, computing, resolved
from autodiff_cli.compiler.threads import in_threads

if TYPE_CHECKING:
    from autodiff_cli.autograd.dtypes import Array, DType

WORKSPACE = 8 << 20
"""The maximum size in bytes of a thread's arrays.

Larger arrays do not fit in the caches, and smaller arrays would require too many blocks.
"""
SMALLEST, LARGEST = 1_000, 32_768
"""The minimum and the maximum number of rows of a block."""
LARGEST_ALLOCATING = 15_000
"""The maximum number of rows if a kernel allocates; C libraries request arrays of 128 KiB or more from the operating system."""


ARITHMETIC = frozenset(
    [
        *(np.add, np.subtract, np.multiply, np.divide, np.negative, np.square, np.sqrt, np.reciprocal, np.absolute, np.sign),
        *(np.maximum, np.minimum, np.copysign, np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal),
    ]
)
"""The functions that take about as long as reading and writing their arrays."""
LONG_SHARE = 1 / 8
"""The minimum share of other functions for which several threads save time: short calls wait for the interpreter's lock."""


class NumpyKernel(NamedTuple):
    """A function that computes an instruction on arrays.

    Attributes:
        function: the function, which takes the operands and, if ``writes`` is true, the output array as ``out``.
        writes: whether the function writes its result into ``out``.
        over: whether ``out`` may be the array of an operand.
    """

    function: Callable[..., Any]
    writes: bool = True
    over: bool = True


_POWERS: dict[object, NumpyKernel] = {
    2: NumpyKernel(np.square),
    3: NumpyKernel(lambda x, out: np.multiply(np.square(x, out=out), x, out=out), over=False),
    4: NumpyKernel(lambda x, out: np.square(np.square(x, out=out), out=out)),
    0.5: NumpyKernel(np.sqrt),
    -1: NumpyKernel(np.reciprocal),
    -2: NumpyKernel(lambda x, out: np.reciprocal(np.square(x, out=out), out=out)),
}
"""The kernels by exponent, much faster than ``pow``; NumPy itself uses such kernels for squares, square roots and reciprocals."""
UFUNCS: dict[Callable[..., Any], np.ufunc] = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.divide,
    operator.pow: np.power,
    operator.neg: np.negative,
    operator.lt: np.less,
    operator.le: np.less_equal,
    operator.gt: np.greater,
    operator.ge: np.greater_equal,
    operator.eq: np.equal,
    operator.ne: np.not_equal,
}


def kernel(instruction: Instruction) -> NumpyKernel:
    """Return the kernel that computes an instruction: a fast one of ``_POWERS``, or the primitive with its static arguments."""
    primitive, statics = instruction.primitive, instruction.statics
    assert primitive is not None
    if primitive.series == "power" and statics[0] in _POWERS:  # the exponent
        return _POWERS[statics[0]]
    function = UFUNCS.get(primitive.forward, primitive.forward)
    with_statics = (lambda *arrays, **out: function(*arrays, *statics, **out)) if statics else function
    return NumpyKernel(with_statics, writes=isinstance(function, np.ufunc))  # other functions do not take ``out``


class KernelCall(NamedTuple):
    """A kernel call of a schedule.

    Attributes:
        operands: the registers of the operands.
        target: the register of the result.
        stored: whether the result of the kernel is copied into the array of the target.
        ends: the registers to clear after the call, because no later call reads them.
    """

    kernel: NumpyKernel
    operands: tuple[int, ...]
    target: int
    stored: bool
    ends: tuple[int, ...]


class Buffers:
    """The assignment of registers to workspace arrays; an array is reused after the last read of its register.

    Attributes:
        counts: the number of arrays of each element type.
        places: the array of each register, as its number and element type.
    """

    def __init__(self) -> None:
        self.counts: dict[DType, int] = {}
        self.places: dict[int, tuple[int, DType]] = {}
        self._free: dict[DType, list[int]] = {}

    def take(self, register: int, dtype: DType) -> None:
        """Assign an array to a register: one that was released, or a new one."""
        count = self.counts.get(dtype, 0)
        number = self._free[dtype].pop() if self._free.get(dtype) else count  # that of a new array
        self.counts[dtype] = max(count, number + 1)
        self.places[register] = number, dtype

    def release(self, registers: Iterable[int]) -> None:
        """Release the arrays of these registers for reuse; a register may have none."""
        for register in registers:
            if register in self.places:
                number, dtype = self.places[register]
                self._free.setdefault(dtype, []).append(number)


class Schedule:
    """The execution order and the memory layout of a program for a given set of scalar variables.

    Every instruction and every constant has a register.  Instructions that depend on scalars only are computed once.
    Results are written into the caller's arrays, and intermediate values into as few arrays as possible.

    Args:
        parts: the division of the program.
        results: the instruction or constant that computes each result.
        dtype: the element type of the results.
    """

    def __init__(self, parts: ProgramPartition, results: Sequence[Operand], dtype: DType) -> None:
        self.dtype = dtype
        self._parts = parts
        self._literals: list[tuple[int, Operand]] = []  # the registers of constants
        self._registers: dict[Hashable, int] = {}
        self._inputs = list(map(self._register, parts.columns))
        written: set[Operand] = set()  # results that are computed directly in an output array
        self._outputs: list[tuple[int, int]] = []  # the registers that are output arrays, and the numbers of these arrays
        self._copies: list[tuple[int, int]] = []  # the registers that are copied into output arrays, and their numbers
        rows = set(parts.rows)
        for i, result in enumerate(map(resolved, results)):
            if result in rows and result not in written:
                written.add(result)
                self._outputs.append((self._register(result), i))
            else:
                self._copies.append((self._register(result), i))
        self._calls, self._buffers = self._kernel_calls(parts.rows, written)
        long_calls = sum(call.kernel.function not in ARITHMETIC for call in self._calls)
        self._threads_pay = long_calls >= LONG_SHARE * len(self._calls)

    def _register(self, operand: Operand) -> int:
        """Return the register of an operand; the first call numbers it.  1 and 1.0 have two registers, and so have 0.0 and -0.0."""
        operand = resolved(operand)
        key: Hashable = operand if type(operand) is Instruction else (type(operand), repr(operand))
        if key not in self._registers:
            self._registers[key] = len(self._registers)
            if type(operand) is not Instruction:
                self._literals.append((self._registers[key], operand))
        return self._registers[key]

    def _kernel_calls(self, rows: Iterable[Instruction], written: Set[Operand]) -> tuple[list[KernelCall], Buffers]:
        """Return the kernel calls, and the buffers of results except those in ``written`` and those that a kernel allocates."""
        buffers = Buffers()
        last_readers = {value: instruction for instruction in rows for value in computing(instruction.operands)}
        temporary = {instruction for instruction in rows if instruction not in written}
        calls = []
        for instruction in rows:
            own_kernel = kernel(instruction)
            target = self._register(instruction)
            values = dict.fromkeys(computing(instruction.operands))
            # The registers that are read here for the last time.
            ends = [self._registers[value] for value in values if value in temporary and last_readers[value] is instruction]
            if own_kernel.over:  # the result may take the array of an operand
                buffers.release(ends)
            if own_kernel.writes and instruction in temporary:
                buffers.take(target, instruction.dtype)
            if not own_kernel.over:
                buffers.release(ends)
            allocated = tuple(register for register in ends if register not in buffers.places)  # by a kernel
            stored = instruction in written and not own_kernel.writes
            calls.append(KernelCall(own_kernel, tuple(map(self._register, instruction.operands)), target, stored, allocated))
        return calls, buffers

    def block_rows(self, rows: int, threads: int) -> int:
        """Return the number of rows of a block, chosen so that all threads process the same number of blocks."""
        row_bytes: int = sum(count * dtype.itemsize for dtype, count in self._buffers.counts.items())
        largest = LARGEST if all(call.kernel.writes for call in self._calls) else min(LARGEST, LARGEST_ALLOCATING)
        block = min(max(WORKSPACE // max(row_bytes, 1), SMALLEST), largest)
        if rows <= block:
            return max(rows, 1)
        rounds = -(-rows // (block * threads))  # the number of blocks of a thread; rounded up, as the next quotient
        return -(-rows // (rounds * threads))

    def run(self, columns: Mapping[str, Array], out: Sequence[Array], threads: int) -> None:
        """Compute all results in at most so many threads, or one if more do not pay; see ``Compiled.run``."""
        rows = len(out[0])
        threads = threads if self._threads_pay else 1
        block = self.block_rows(rows, threads)
        starts = iter(range(0, rows, block))
        arrays = [columns[variable.variable] for variable in self._parts.columns]
        initial = self._initial_registers(columns)
        blocks = -(-rows // block)  # rounded up
        in_threads(lambda: self._compute_blocks(starts, block, arrays, initial, out), min(threads, blocks))

    def _initial_registers(self, columns: Mapping[str, Array]) -> list[Any]:
        """Return the initial registers of a block: constants, scalars, and values computed from them; ``None`` for the others."""
        values = self._parts.constants(columns, self.dtype)
        registers: list[Any] = [values.get(key) if type(key) is Instruction else None for key in self._registers]
        for register, value in self._literals:
            registers[register] = value
        return registers

    def _compute_blocks(
        self, starts: Iterator[int], block: int, columns: Sequence[Array], initial: Sequence[object], out: Sequence[Array]
    ) -> None:
        """Compute blocks until ``starts`` is exhausted; several threads may share ``starts``.

        ``block`` is the number of rows of a block, ``columns`` are the input arrays, and ``initial`` are the initial registers.
        """
        rows = len(out[0])
        spaces = {dtype: np.empty((count, block), dtype) for dtype, count in self._buffers.counts.items()}
        registers = list(initial)
        length = -1  # of no block
        with np.errstate(all="ignore"):
            for start in starts:
                stop = min(start + block, rows)
                if stop - start != length:  # in the first block, and in the last, which may be shorter
                    length = stop - start
                    for register, (number, dtype) in self._buffers.places.items():
                        registers[register] = spaces[dtype][number, :length]
                for register, column in zip(self._inputs, columns, strict=True):
                    registers[register] = np.ascontiguousarray(column[start:stop], self.dtype)
                for register, i in self._outputs:
                    registers[register] = out[i][start:stop]
                self._compute_block(registers)
                for register, i in self._copies:
                    out[i][start:stop] = registers[register]

    def _compute_block(self, registers: list[Any]) -> None:
        """Run all kernels for one block, and store their results in ``registers``: in the arrays there, or as new arrays."""
        for kernel, operands, target, stored, ends in self._calls:
            arguments = [registers[operand] for operand in operands]
            if kernel.writes:  # into the array of the target
                kernel.function(*arguments, out=registers[target])
            elif stored:
                registers[target][...] = kernel.function(*arguments)
            else:
                registers[target] = kernel.function(*arguments)
            for register in ends:
                registers[register] = None
