"""A Program: a value and its derivatives as one straight list of operations, replayed over columns of numbers.

Columns are taken in blocks that stay in the cache, and every operation of a block writes into an array that is there
already: fresh memory is what costs at large sizes.  Blocks are independent of each other, so that neither their size nor
the number of threads that work on them changes a result.  NumPy releases Python's lock inside an operation.

What depends on no column, only on numbers, is computed once.
"""

from __future__ import annotations

import itertools
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.declare import Law
from autodiff_cli.autograd.recording import BY_HAND, Cell, Operation, Recording
from autodiff_cli.errors import ShapeError, UnknownName

Terms = tuple[tuple[str, ...], ...]
"""What a program computes: ``()`` is the value, ``("x", "y")`` a second derivative."""

WORKSPACE = 8 << 20
"""The most bytes that the arrays of a thread take; more than the caches hold is slower, many small blocks are too."""
SMALLEST, LARGEST = 1_000, 32_768
"""Rows of a block."""
ALLOCATING = 15_000
"""The most rows of a block with operations that make arrays: C libraries take 128 KiB and more fresh from the system."""


def terms(wrt: Sequence[str], order: int) -> Terms:
    """The value, and every derivative up to an order once."""
    return tuple(combination for k in range(order + 1) for combination in itertools.combinations_with_replacement(wrt, k))


def derivatives(recording: Recording, output: Cell, variables: Mapping[str, Operation], wanted: Terms) -> list[Cell]:
    """The numbers that ``wanted`` names, appended to a recording."""
    found: dict[tuple[str, ...], Cell] = {(): output}
    for term in wanted:
        if term not in found:
            # By all that follow at once: one sweep for each row of the Hessian.
            names = list(variables)[list(variables).index(term[-2]) if len(term) > 1 else 0 :]
            slopes = recording.gradient(found[term[:-1]], [variables[name] for name in names])
            found.update({(*term[:-1], name): slope for name, slope in zip(names, slopes, strict=True)})
    return [found[term] for term in wanted]


class Program:
    """An expression and its derivatives, ready to be computed for many rows.

    Made by ``ad.compile``.

    Args:
        recording: the operations.
        results: those that are wanted, or constants.
        variables: names in the order of their operations.
        wanted: what the results are.
        threads: how many work on blocks; as many as there are processors if left out.

    Attributes:
        variables: the names that a call gives values to.
        wrt: those that it differentiates by.
        terms: what is computed, ``()`` for the value and ``("x", "y")`` for a second derivative.
        outputs: the same as names: ``value``, ``d_x``, ``d_x_y``.
        operations: the list, in order, without what no result needs.
        results: an operation or a constant for each of the outputs.
        dtype: the type of all results.
    """

    engine = "blocks"

    def __init__(
        self, recording: Recording, results: Sequence[Cell], variables: Sequence[str], wanted: Terms, threads: int | None = None
    ) -> None:
        self.dtype = recording.dtype
        self.variables = tuple(variables)
        self.terms = wanted
        self.wrt = tuple(dict.fromkeys(name for term in wanted for name in term))
        self.outputs = tuple(output_name(term) for term in wanted)
        self.threads = threads or processors()
        self.results = [resolved(cell) for cell in results]
        self.operations = needed(self.results)
        self._plans: dict[frozenset[str], Plan] = {}

    def __call__(self, **columns: Any) -> dict[str, Any]:
        """The results for values of all variables: arrays of one shape, and numbers.

        Returns:
            for each of ``outputs`` a new array of that shape; numbers if all values are.

        Raises:
            UnknownName: if a variable has no value, or a value no variable.
            ShapeError: if the shapes are not the same.
        """
        arrays, shape = checked(self.variables, columns)
        flat = {name: array.reshape(-1) if array.ndim else array for name, array in arrays.items()}
        out = [np.empty(int(np.prod(shape)), self.dtype) for _ in self.outputs]
        self.run(flat, out)
        return {name: array.reshape(shape)[()] for name, array in zip(self.outputs, out, strict=True)}

    def run(self, columns: Mapping[str, Any], out: Sequence[Any]) -> None:
        """The same into arrays that are there.

        Args:
            columns: for each variable a 1-d array, or a number.
            out: for each of ``outputs`` a contiguous 1-d array of type ``dtype``, of the same length.
        """
        rows = len(out[0])
        scalars = frozenset(name for name in self.variables if np.ndim(columns[name]) == 0)
        if scalars not in self._plans:
            self._plans[scalars] = Plan(self.operations, self.results, scalars, self.dtype)
        plan = self._plans[scalars]
        with np.errstate(all="ignore"):
            constants = plan.prepared({name: self.dtype.type(columns[name]) for name in scalars})
        block = plan.block(rows, self.threads)
        places = iter(range(0, rows, block))
        workers = min(self.threads, -(-rows // block))
        arrays = [columns[name] for name in plan.columns]
        if workers <= 1:
            plan.work(places, block, arrays, constants, out)
            return
        others = [pool(workers - 1).submit(plan.work, places, block, arrays, constants, out) for _ in range(workers - 1)]
        try:
            plan.work(places, block, arrays, constants, out)
        finally:
            for other in others:  # none may write to ``out`` after this call
                other.result()


def output_name(term: tuple[str, ...]) -> str:
    """``value``, ``d_x``, ``d_x_y``."""
    return "_".join(("d", *term)) if term else "value"


_pools: dict[tuple[int, int], Any] = {}


def pool(workers: int) -> Any:
    """Threads that wait for work, kept: starting them takes as long as 10,000 rows."""
    key = (os.getpid(), workers)
    if key not in _pools:
        from concurrent.futures import ThreadPoolExecutor

        _pools[key] = ThreadPoolExecutor(workers, "autodiff")
    return _pools[key]


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def checked(variables: Sequence[str], columns: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[int, ...]]:
    """The values of all variables as arrays, and the shape of those that are none numbers.

    Raises:
        UnknownName, ShapeError: see ``Program.__call__``.
    """
    missing = [name for name in variables if name not in columns]
    if missing:
        raise UnknownName(f"no values for {', '.join(map(repr, missing))}")
    unknown = [name for name in columns if name not in variables]
    if unknown:
        raise UnknownName(f"the expression has no variable {unknown[0]!r}", hint=f"it has {', '.join(variables) or 'none'}")
    arrays = {name: np.asarray(value) for name, value in columns.items()}
    shapes = {array.shape for array in arrays.values() if array.ndim}
    if len(shapes) > 1:
        raise ShapeError(
            "columns of different lengths: "
            + ", ".join(f"{name} {list(array.shape)}" for name, array in arrays.items() if array.ndim)
        )
    return arrays, shapes.pop() if shapes else ()


def resolved(cell: Cell) -> Cell:
    """What a function with derivatives by hand computes in the end."""
    while type(cell) is Operation and cell.is_(BY_HAND):
        cell = cell.given[0]
    return cell


def needed(results: Iterable[Cell]) -> list[Operation]:
    """The operations that lead to results, in order."""
    found: set[Operation] = set()
    work = [cell for cell in results if type(cell) is Operation]
    while work:
        operation = work.pop()
        if operation not in found:
            found.add(operation)
            work += [resolved(value) for value in operation.inputs]
    return sorted(found, key=lambda one: one.number)


# Replay

Kernel = Callable[..., Any]

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


def _cube(x: Any, out: Any) -> Any:
    # Not into out at once, which may be where x is.
    return np.multiply(np.square(x), x, out=out)


def _fourth(x: Any, out: Any) -> Any:
    return np.square(np.square(x, out=out), out=out)


def _inverse_square(x: Any, out: Any) -> Any:
    return np.reciprocal(np.square(x, out=out), out=out)


_POWERS: dict[Any, Kernel] = {
    2: np.square,
    3: _cube,
    4: _fourth,
    0.5: np.sqrt,
    -1: np.reciprocal,
    -2: _inverse_square,
}
"""Powers by what is much quicker than ``pow``; all but the first three are what NumPy does too."""


class Step:
    """One operation of a plan: a kernel, where its arguments are, and where its result goes.

    Attributes:
        writes: whether the kernel writes into an array that it is given; if not, it makes one.
        ends: registers that nobody reads afterwards.
    """

    __slots__ = ("arguments", "ends", "kernel", "target", "writes")

    def __init__(self, kernel: Kernel, arguments: tuple[int, ...], target: int, writes: bool) -> None:
        self.kernel = kernel
        self.arguments = arguments
        self.target = target
        self.writes = writes
        self.ends: tuple[int, ...] = ()


def kernel(operation: Operation) -> tuple[Kernel, bool]:
    """How an operation is computed on arrays, and whether into a given one, which may be one of its arguments."""
    law = operation.law
    assert law is not None
    statics = operation.given[law.arity :]
    forward = law.forward
    if law.kind == "power" and statics[0] in _POWERS:
        return _POWERS[statics[0]], True
    ufunc = _UFUNCS.get(forward, forward)
    writes = isinstance(ufunc, np.ufunc)
    if not statics:
        return ufunc, writes
    return lambda *arrays, **into: ufunc(*arrays, *statics, **into), writes


class Plan:
    """How the operations of a program are carried out when some of its variables are numbers.

    Every operation has a register.  Results go to the caller's arrays; of the others as few arrays are made as can be, each
    used again when nobody reads what it holds.

    Attributes:
        columns: the names of the variables that are columns, in the order of their registers.
    """

    def __init__(self, operations: Sequence[Operation], results: Sequence[Cell], scalars: frozenset[str], dtype: Any) -> None:
        self.dtype = dtype
        self._register: dict[Any, int] = {}
        self._constants: list[tuple[int, Any]] = []
        self._numbers: list[tuple[Law, tuple[int, ...], tuple[Any, ...], int]] = []  # computed once
        self.columns: list[str] = []
        self._inputs: list[int] = []
        rows: list[Operation] = []
        fixed: set[Operation] = set()
        for operation in operations:
            number = self._place(operation)
            if operation.law is None:
                if operation.given[0] in scalars:
                    fixed.add(operation)
                else:
                    self.columns.append(operation.given[0])
                    self._inputs.append(number)
            elif all(resolved(value) in fixed for value in operation.inputs):
                fixed.add(operation)
                law, given = operation.law, operation.given
                places = tuple(self._place(value) for value in given[: law.arity])
                self._numbers.append((law, places, given[law.arity :], number))
            else:
                rows.append(operation)
        self._fixed = fixed
        computed = set(rows)
        self._outputs: list[tuple[int, int]] = []  # register and output, for what an operation writes there itself
        self._copies: list[tuple[int, int]] = []
        homes: dict[Operation, int] = {}
        for i, cell in enumerate(results):
            if cell in computed and cell not in homes:
                homes[cell] = i
                self._outputs.append((self._place(cell), i))
            else:
                self._copies.append((self._place(cell), i))
        self._steps = self._scheduled(rows, homes)

    def _place(self, cell: Cell) -> int:
        cell = resolved(cell)
        key: Any = cell if type(cell) is Operation else (type(cell), repr(cell))
        if key not in self._register:
            self._register[key] = len(self._register)
            if type(cell) is not Operation:
                self._constants.append((self._register[key], cell))
        return self._register[key]

    def _scheduled(self, rows: Sequence[Operation], homes: Mapping[Operation, int]) -> list[Step]:
        """The steps, and which array of the workspace each writes to."""
        last: dict[Operation, int] = {}
        for i, operation in enumerate(rows):
            for value in operation.inputs:
                last[resolved(value)] = i
        self._slots: dict[int, tuple[int, Any]] = {}  # of a register: which array of which type
        free: dict[Any, list[int]] = {}
        made: dict[Any, int] = {}
        steps = []
        for i, operation in enumerate(rows):
            law = operation.law
            assert law is not None
            function, writes = kernel(operation)
            step = Step(function, tuple(self._place(v) for v in operation.given[: law.arity]), self._place(operation), writes)
            over = [value for value in dict.fromkeys(map(resolved, operation.inputs)) if last[value] == i and value not in homes]
            ended = [self._register[value] for value in over]
            freed = [self._slots[register] for register in ended if register in self._slots]
            for slot, dtype in freed:
                free.setdefault(dtype, []).append(slot)
            if operation not in homes and writes:
                dtype = operation.dtype
                waiting = free.setdefault(dtype, [])
                if waiting:
                    slot = waiting.pop()
                else:
                    slot = made[dtype] = made.get(dtype, -1) + 1
                self._slots[step.target] = slot, dtype
            fixed = {self._register[one] for one in self._fixed}
            step.ends = tuple(r for r in ended if r not in self._slots and r not in self._inputs and r not in fixed)
            steps.append(step)
        self._made = {dtype: count + 1 for dtype, count in made.items()}
        return steps

    def block(self, rows: int, threads: int) -> int:
        """How many rows are done at once, such that all threads have the same number of blocks."""
        width: int = sum(count * dtype.itemsize for dtype, count in self._made.items())
        largest = LARGEST if all(step.writes for step in self._steps) else min(LARGEST, ALLOCATING)
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
        for operation in self._fixed:
            if operation.law is None:
                registers[self._register[operation]] = values[operation.given[0]]
        for law, places, statics, target in self._numbers:
            registers[target] = law.forward(*[registers[place] for place in places], *statics)
        return registers

    def work(self, places: Iterator[int], block: int, columns: Sequence[Any], constants: Sequence[Any], out: Sequence[Any]) -> None:
        """Do blocks until there are none left; several threads share ``places``."""
        rows = len(out[0])
        spaces = {dtype: np.empty((count, block), dtype) for dtype, count in self._made.items()}
        registers = list(constants)
        ready = -1
        with np.errstate(all="ignore"):
            for start in places:
                stop = min(start + block, rows)
                if stop - start != ready:
                    ready = stop - start
                    for register, (slot, dtype) in self._slots.items():
                        registers[register] = spaces[dtype][slot, :ready]
                for register, column in zip(self._inputs, columns, strict=True):
                    registers[register] = np.ascontiguousarray(column[start:stop], self.dtype)
                for register, i in self._outputs:
                    registers[register] = out[i][start:stop]
                self._replay(registers)
                for register, i in self._copies:
                    out[i][start:stop] = registers[register]

    def _replay(self, registers: list[Any]) -> None:
        targets = {register for register, _ in self._outputs}
        for step in self._steps:
            arguments = [registers[register] for register in step.arguments]
            if step.writes:
                step.kernel(*arguments, out=registers[step.target])
            elif step.target in targets:
                registers[step.target][...] = step.kernel(*arguments)
            else:
                registers[step.target] = step.kernel(*arguments)
            for register in step.ends:
                registers[register] = None
