"""Compiled programs: a value and its derivatives as one list of instructions, computed for columns of numbers.

NumPy releases Python's global interpreter lock inside a kernel, so threads process blocks in parallel
(``compiler.schedule``).  Machine code, which needs llvmlite, is several times as fast (``compiler.llvm``).
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import math
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.compiler.gradient import gradient
from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.compiler.partition import needed, partition, resolved
from autodiff_cli.compiler.schedule import Schedule
from autodiff_cli.compiler.threads import processors
from autodiff_cli.errors import DtypeError, ShapeError, UnknownName
from autodiff_cli.lazy import named

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

    from autodiff_cli.autograd.dtypes import Array, DType
    from autodiff_cli.compiler.llvm.plan import Plan

Term = tuple[str, ...]
"""A result of a program: ``()`` is the value, ``("x", "y")`` a second derivative."""


def terms(wrt: Sequence[str], order: int) -> tuple[Term, ...]:
    """Return the terms of the value and of all derivatives up to an order, each mixed derivative once."""
    return tuple(combination for k in range(order + 1) for combination in itertools.combinations_with_replacement(wrt, k))


def derivatives(output: Operand, variables: Mapping[str, Instruction], terms: Sequence[Term]) -> list[Operand]:
    """Append the derivatives ``terms`` to the tape of the output, and return them; ``terms`` has lower orders first."""
    operands: dict[Term, Operand] = {(): output}
    for term in terms:
        if term not in operands:
            # Differentiate with respect to all remaining variables at once: one backward pass for each row of the Hessian.
            names = list(variables)
            if len(term) > 1:  # a term names variables in their order, so the last one is not before the one that precedes it
                names = names[names.index(term[-2]) :]
            slopes = gradient(operands[term[:-1]], [variables[name] for name in names])
            operands.update({(*term[:-1], name): slope for name, slope in zip(names, slopes, strict=True)})
    return [operands[term] for term in terms]


ENGINES = ("auto", "numpy", "llvm")
"""The engines of a program."""
REPAID = 2_000_000
"""The number of operations, over all rows, from which compiling takes less time than it saves."""


class Compiled:
    """An expression and its derivatives, ready to be computed for many rows; the base class of ``Program``.

    Attributes:
        variables: the variable names, which are the keyword arguments of a call.
        wrt: the variables of the derivatives.
        named: the names of several outputs; empty for one output.
        wanted: the terms of one output.
        terms: the results: ``()`` for the value, ``("x", "y")`` for a second derivative; those of each output in turn.
        outputs: the names of the results: ``value``, ``d_x``, ``d_x_y``; with several outputs, ``u``, ``d_u_x``, ``d_u_x_y``.
        dtype: the element type of all results.
        reason: the reason for evaluating each row separately; ``None`` for a ``Program``.
    """

    engine: str
    reason: str | None = None

    def __init__(self, variables: Sequence[str], wanted: Sequence[Term], dtype: DTypeLike, named: Sequence[str] = ()) -> None:
        self.variables = tuple(variables)
        self.named = tuple(named)
        self.wanted = tuple(wanted)
        self.terms = self.wanted * max(len(named), 1)  # those of one output after the other
        self.wrt = tuple(dict.fromkeys(name for term in wanted for name in term))
        # One output does not have a name.
        self.outputs = tuple(output_name(term, output) for output in self.named or ("",) for term in self.wanted)
        self.dtype: DType = np.dtype(dtype)

    def __call__(self, **columns: ArrayLike) -> dict[str, Any]:
        """Compute all results.

        Args:
            columns: the value of each variable: arrays of the same shape, or numbers.

        Returns:
            A new array for each name in ``outputs``, with the shape of the columns; numbers if all values are numbers.

        Raises:
            UnknownName: if a variable is missing, or a name is not a variable.
            ShapeError: if the shapes differ.
            DtypeError: if a column contains anything other than real numbers.
        """
        arrays, shape = checked(self.variables, columns)
        flat = {name: array.reshape(-1) if array.ndim else array for name, array in arrays.items()}
        out = [np.empty(math.prod(shape), self.dtype) for _ in self.outputs]
        self.run(flat, out)
        return {name: array.reshape(shape)[()] for name, array in zip(self.outputs, out, strict=True)}

    def settle(self, rows: float) -> None:
        """Choose how to compute a number of rows, perhaps infinite, for all later calls, so that equal rows have equal results."""

    def run(self, columns: Mapping[str, Array], out: Sequence[Array]) -> None:
        """Compute all results, and write them into the caller's arrays.

        Args:
            columns: a 1-d array or a number for each variable.
            out: a contiguous 1-d array of type ``dtype`` for each name in ``outputs``, all of the same length.
        """
        raise NotImplementedError


class Program(Compiled):
    """An expression and its derivatives as one list of instructions, created by ``ad.compile``.

    Args:
        results: the instruction or constant that computes each result.
        variables: the variable names, in the order of their instructions.
        wanted: the term of each result, the same for each output.
        dtype: the element type of the tape.
        threads: the number of threads; by default one for each processor.
        named: the names of several outputs; empty for one output.
        engine: ``numpy``, ``llvm``, or ``auto`` for the one that takes less time for the number of rows.

    Attributes:
        instructions: the instructions that the results depend on, in tape order.
        results: the given results, with each custom VJP replaced by the operand that computes its value.
    """

    def __init__(
        self,
        results: Sequence[Operand],
        variables: Sequence[str],
        wanted: Sequence[Term],
        dtype: DTypeLike,
        threads: int | None = None,
        named: Sequence[str] = (),
        engine: str = "auto",
    ) -> None:
        super().__init__(variables, wanted, dtype, named)
        self.engine = engine
        self.threads = threads or processors()
        self.results = [resolved(result) for result in results]
        self.instructions = needed(self.results)
        # By the name of the engine and the variables that are scalars.
        self._prepared: dict[tuple[str, frozenset[str]], Schedule | Plan] = {}

    def run(self, columns: Mapping[str, Array], out: Sequence[Array]) -> None:
        """Compute all results, and write them into the caller's arrays; see ``Compiled.run``."""
        scalars = frozenset(name for name in self.variables if np.ndim(columns[name]) == 0)
        key = (self.engine_for(len(out[0])), scalars)
        with _preparing:
            if key not in self._prepared:
                self._prepared[key] = self._prepare(*key)
        self._prepared[key].run(columns, out, self.threads)

    def settle(self, rows: float) -> None:
        """Choose the engine for a number of rows, for all later calls."""
        self.engine = self.engine_for(rows)

    def engine_for(self, rows: float) -> str:
        """Return the engine for a number of rows; a chosen engine other than ``auto`` is the one for all numbers."""
        if self.engine != "auto":
            return self.engine
        return "llvm" if rows * len(self.instructions) >= REPAID and has_compiler() else "numpy"

    def _prepare(self, engine: str, scalars: frozenset[str]) -> Schedule | Plan:
        """Return the program as the engine with this name runs it, for variables some of which are scalars."""
        parts = partition(self.instructions, scalars)
        if engine == "numpy":
            return Schedule(parts, self.results, self.dtype)
        plan = named("autodiff_cli.compiler.llvm.plan:Plan")  # which imports llvmlite
        prepared: Plan = plan(parts, self.results, self.dtype)
        return prepared


_preparing = Lock()
"""Held while a program is prepared, because several threads may call it."""


@functools.cache
def has_compiler() -> bool:
    """Return whether llvmlite, which the compiled engine needs, is installed."""
    return importlib.util.find_spec("llvmlite") is not None


def output_name(term: Term, output: str = "") -> str:
    """Return the name of a term: ``value``, ``d_x`` or ``d_x_y``; of a named output, ``u``, ``d_u_x`` or ``d_u_x_y``."""
    return "_".join(filter(None, ("d", output, *term))) if term else output or "value"


def _column(name: str, value: ArrayLike) -> Array:
    """Return a column as an array; raise ``DtypeError`` if it contains anything other than real numbers, or is masked."""
    try:
        array = np.asarray(value)
    except ValueError:  # nested lists of different lengths
        raise DtypeError(f"the column '{name}' is not an array of numbers") from None
    is_masked = isinstance(value, np.ma.MaskedArray)
    if array.dtype.kind not in "biuf" or is_masked:  # booleans, integers and floats
        kind = "masked values" if is_masked else f"{array.dtype} values"
        hint = "use floats, integers or booleans, and nan for missing values"
        raise DtypeError(f"the column '{name}' contains {kind}", hint=hint)
    return array


def checked(variables: Sequence[str], columns: Mapping[str, ArrayLike]) -> tuple[dict[str, Array], tuple[int, ...]]:
    """Return the values of all variables as arrays, and the common shape of those that are not scalars: () if all are scalars.

    The errors are ``UnknownName``, ``ShapeError`` and ``DtypeError``, as in ``Compiled.__call__``.
    """
    missing = [name for name in variables if name not in columns]
    if missing:
        raise UnknownName(f"no values for {', '.join(map(repr, missing))}")
    unknown = [name for name in columns if name not in variables]
    if unknown:
        raise UnknownName(f"the expression has no variable {unknown[0]!r}", hint=f"its variables: {', '.join(variables) or 'none'}")
    arrays = {name: _column(name, value) for name, value in columns.items()}
    shapes = {array.shape for array in arrays.values() if array.ndim}
    if len(shapes) > 1:
        lengths = ", ".join(f"{name} {list(array.shape)}" for name, array in arrays.items() if array.ndim)
        raise ShapeError(f"the columns have different shapes: {lengths}")
    return arrays, shapes.pop() if shapes else ()
