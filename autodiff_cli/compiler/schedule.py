"""Replay of a list of operations over columns, block by block.

Blocks stay in the cache, and every operation of a block writes into an array that is there already: fresh memory is what
costs at large sizes.  Blocks do not know of each other, so neither their size nor the number of threads that work on them
changes a result.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.compiler.tracer import BY_HAND, Cell, Instruction

WORKSPACE = 8 << 20
"""The most bytes that the arrays of a thread take; more than the caches hold is slower, many small blocks are too."""
SMALLEST, LARGEST = 1_000, 32_768
"""Rows of a block."""
ALLOCATING = 15_000
"""The most rows of a block with operations that make arrays: C libraries take 128 KiB and more fresh from the system."""


def resolved(cell: Cell) -> Cell:
    """What a function with derivatives by hand computes in the end."""
    while type(cell) is Instruction and cell.is_(BY_HAND):
        cell = cell.given[0]
    return cell


def computing(cells: Iterable[Cell]) -> list[Instruction]:
    """The operations that are computed for these cells; a function with derivatives by hand may compute a constant."""
    return [cell for cell in map(resolved, cells) if type(cell) is Instruction]


def needed(results: Iterable[Cell]) -> list[Instruction]:
    """The operations that lead to results, in order."""
    found: set[Instruction] = set()
    work = computing(results)
    while work:
        operation = work.pop()
        if operation not in found:
            found.add(operation)
            work += computing(operation.inputs)
    return sorted(found, key=lambda one: one.number)


class Kernel(NamedTuple):
    """How an operation is computed on arrays.

    Attributes:
        function: of the arguments, and of ``out`` if it ``writes`` into an array that it is given.
        over: whether that array may be one of the arguments.
    """

    function: Callable[..., Any]
    writes: bool = True
    over: bool = True


def _cube(x: Any, out: Any) -> None:
    np.multiply(np.square(x, out=out), x, out=out)


def _fourth(x: Any, out: Any) -> None:
    np.square(np.square(x, out=out), out=out)


def _inverse_square(x: Any, out: Any) -> None:
    np.reciprocal(np.square(x, out=out), out=out)


_POWERS: dict[Any, Kernel] = {
    2: Kernel(np.square),
    3: Kernel(_cube, over=False),
    4: Kernel(_fourth),
    0.5: Kernel(np.sqrt),
    -1: Kernel(np.reciprocal),
    -2: Kernel(_inverse_square),
}
"""Powers by what is much quicker than ``pow``; squares, roots and reciprocals are what NumPy does too."""
_UFUNCS: dict[Any, Any] = {
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


def kernel(operation: Instruction) -> Kernel:
    """How an operation is computed."""
    primitive = operation.primitive
    assert primitive is not None
    statics = operation.given[primitive.arity :]
    if primitive.series == "power" and statics[0] in _POWERS:
        return _POWERS[statics[0]]
    function = _UFUNCS.get(primitive.forward, primitive.forward)
    writes = isinstance(function, np.ufunc)
    return Kernel((lambda *arrays, **into: function(*arrays, *statics, **into)) if statics else function, writes)


class Step:
    """One operation of a plan.

    Attributes:
        arguments, target: registers.
        stored: whether what the kernel makes has to be copied to where the target is.
        ends: registers that nobody reads afterwards.
    """

    __slots__ = ("arguments", "ends", "kernel", "stored", "target")

    def __init__(self, kernel: Kernel, arguments: tuple[int, ...], target: int, stored: bool, ends: tuple[int, ...]) -> None:
        self.kernel = kernel
        self.arguments = arguments
        self.target = target
        self.stored = stored
        self.ends = ends


class Slots:
    """Arrays of the workspace, each used again when nobody reads what it holds."""

    def __init__(self) -> None:
        self.counts: dict[Any, int] = {}  # how many of each type
        self.of: dict[int, tuple[int, Any]] = {}  # of a register: which array of which type
        self._free: dict[Any, list[int]] = {}

    def take(self, register: int, dtype: Any) -> None:
        """An array for a register."""
        waiting = self._free.get(dtype)
        if not waiting:
            waiting = [self.counts.get(dtype, 0)]
            self.counts[dtype] = waiting[0] + 1
        self.of[register] = waiting.pop(), dtype

    def release(self, registers: Iterable[int]) -> None:
        """Registers that are not read any more."""
        for register in registers:
            if register in self.of:
                slot, dtype = self.of[register]
                self._free.setdefault(dtype, []).append(slot)


class Plan:
    """How the operations of a program are carried out when some of its variables are numbers.

    Every operation and every constant has a register.  What depends on numbers only is computed once; of the rest, results
    go to the caller's arrays, and everything else to as few arrays as can be.

    Args:
        operations: the list, in order.
        results: operations of it, or constants.
        scalars: the names of variables that are numbers.
        dtype: the type of the results.

    Attributes:
        columns: the names of the variables that are columns, in the order of their registers.
    """

    def __init__(self, operations: Sequence[Instruction], results: Sequence[Cell], scalars: frozenset[str], dtype: Any) -> None:
        self.dtype = dtype
        self.columns: list[str] = []
        self._inputs: list[int] = []
        self._constants: list[tuple[int, Any]] = []
        self._scalars: list[tuple[int, str]] = []
        self._numbers: list[tuple[Primitive, tuple[int, ...], tuple[Any, ...], int]] = []
        self._register: dict[Any, int] = {}
        once: set[Instruction] = set()
        rows: list[Instruction] = []
        for operation in operations:
            primitive, given = operation.primitive, operation.given
            if primitive is None and given[0] in scalars:
                once.add(operation)
                self._scalars.append((self._place(operation), given[0]))
            elif primitive is None:
                self.columns.append(given[0])
                self._inputs.append(self._place(operation))
            elif once.issuperset(computing(operation.inputs)):
                once.add(operation)
                self._numbers.append((primitive, self._places(operation), given[primitive.arity :], self._place(operation)))
            else:
                rows.append(operation)
        homes: dict[Instruction, int] = {}
        computed = set(rows)
        self._outputs: list[tuple[int, int]] = []  # register and output, where an operation writes there itself
        self._copies: list[tuple[int, int]] = []
        for i, cell in enumerate(results):
            if cell in computed and cell not in homes:
                homes[cell] = i
                self._outputs.append((self._place(cell), i))
            else:
                self._copies.append((self._place(cell), i))
        self._slots = Slots()
        self._steps = self._scheduled(rows, homes)

    def _place(self, cell: Cell) -> int:
        cell = resolved(cell)
        key: Any = cell if type(cell) is Instruction else (type(cell), repr(cell))
        if key not in self._register:
            self._register[key] = len(self._register)
            if type(cell) is not Instruction:
                self._constants.append((self._register[key], cell))
        return self._register[key]

    def _places(self, operation: Instruction) -> tuple[int, ...]:
        assert operation.primitive is not None
        return tuple(self._place(value) for value in operation.given[: operation.primitive.arity])

    def _scheduled(self, rows: Sequence[Instruction], homes: Mapping[Instruction, int]) -> list[Step]:
        """The steps, and which array of the workspace each writes to."""
        last: dict[Instruction, int] = {}
        for i, operation in enumerate(rows):
            for value in computing(operation.inputs):
                last[value] = i
        temporary = set(rows) - set(homes)
        steps = []
        for i, operation in enumerate(rows):
            how = kernel(operation)
            target = self._place(operation)
            read = dict.fromkeys(computing(operation.inputs))
            ends = [self._register[value] for value in read if value in temporary and last[value] == i]
            if how.over:
                self._slots.release(ends)
            if how.writes and operation in temporary:
                self._slots.take(target, operation.dtype)
            if not how.over:
                self._slots.release(ends)
            dropped = tuple(register for register in ends if register not in self._slots.of)
            steps.append(Step(how, self._places(operation), target, operation in homes and not how.writes, dropped))
        return steps

    def block(self, rows: int, threads: int) -> int:
        """How many rows are done at once, such that all threads have the same number of blocks."""
        width: int = sum(count * dtype.itemsize for dtype, count in self._slots.counts.items())
        largest = LARGEST if all(step.kernel.writes for step in self._steps) else min(LARGEST, ALLOCATING)
        block = min(max(WORKSPACE // max(width, 1), SMALLEST), largest)
        if rows <= block:
            return max(rows, 1)
        rounds = -(-rows // (block * threads))
        return -(-rows // (rounds * threads))

    def prepared(self, values: Mapping[str, Any]) -> list[Any]:
        """The registers as every block starts with them: constants, and what depends on numbers only."""
        registers: list[Any] = [None] * len(self._register)
        for register, value in self._constants:
            registers[register] = value
        for register, name in self._scalars:
            registers[register] = values[name]
        with np.errstate(all="ignore"):
            for primitive, places, statics, target in self._numbers:
                registers[target] = primitive.forward(*[registers[place] for place in places], *statics)
        return registers

    def work(self, places: Iterator[int], block: int, columns: Sequence[Any], prepared: Sequence[Any], out: Sequence[Any]) -> None:
        """Do blocks until there are none left; several threads share ``places``."""
        rows = len(out[0])
        spaces = {dtype: np.empty((count, block), dtype) for dtype, count in self._slots.counts.items()}
        registers = list(prepared)
        ready = -1
        with np.errstate(all="ignore"):
            for start in places:
                stop = min(start + block, rows)
                if stop - start != ready:
                    ready = stop - start
                    for register, (slot, dtype) in self._slots.of.items():
                        registers[register] = spaces[dtype][slot, :ready]
                for register, column in zip(self._inputs, columns, strict=True):
                    registers[register] = np.ascontiguousarray(column[start:stop], self.dtype)
                for register, i in self._outputs:
                    registers[register] = out[i][start:stop]
                self._replay(registers)
                for register, i in self._copies:
                    out[i][start:stop] = registers[register]

    def _replay(self, registers: list[Any]) -> None:
        for step in self._steps:
            arguments = [registers[register] for register in step.arguments]
            if step.kernel.writes:
                step.kernel.function(*arguments, out=registers[step.target])
            elif step.stored:
                registers[step.target][...] = step.kernel.function(*arguments)
            else:
                registers[step.target] = step.kernel.function(*arguments)
            for register in step.ends:
                registers[register] = None
