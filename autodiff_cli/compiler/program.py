"""A Program: a value and its derivatives as one straight list of operations, computed for columns of numbers.

How a list is replayed is in ``autograd.replay``.  NumPy releases Python's lock inside an operation, so several threads work
on blocks side by side.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.compiler.schedule import Plan, needed, resolved
from autodiff_cli.compiler.tracer import Cell, Instruction, Tape
from autodiff_cli.errors import DtypeError, ShapeError, UnknownName

Terms = tuple[tuple[str, ...], ...]
"""What a program computes: ``()`` is the value, ``("x", "y")`` a second derivative."""


def terms(wrt: Sequence[str], order: int) -> Terms:
    """The value, and every derivative up to an order once."""
    return tuple(combination for k in range(order + 1) for combination in itertools.combinations_with_replacement(wrt, k))


def derivatives(recording: Tape, output: Cell, variables: Mapping[str, Instruction], wanted: Terms) -> list[Cell]:
    """The numbers that ``wanted`` names, appended to a recording."""
    found: dict[tuple[str, ...], Cell] = {(): output}
    for term in wanted:
        if term not in found:
            # By all that follow at once: one sweep for each row of the Hessian.
            names = list(variables)[list(variables).index(term[-2]) if len(term) > 1 else 0 :]
            slopes = recording.gradient(found[term[:-1]], [variables[name] for name in names])
            found.update({(*term[:-1], name): slope for name, slope in zip(names, slopes, strict=True)})
    return [found[term] for term in wanted]


class Compiled:
    """A value and derivatives that can be computed for many rows; how, a subclass says.

    Attributes:
        variables: the names that a call gives values to.
        wrt: those that it differentiates by.
        terms: what is computed, ``()`` for the value and ``("x", "y")`` for a second derivative.
        outputs: the same as names: ``value``, ``d_x``, ``d_x_y``.
        dtype: the type of all results.
    """

    engine: str

    def __init__(self, variables: Sequence[str], wanted: Terms, dtype: Any) -> None:
        self.variables = tuple(variables)
        self.terms = wanted
        self.wrt = tuple(dict.fromkeys(name for term in wanted for name in term))
        self.outputs = tuple(output_name(term) for term in wanted)
        self.dtype = np.dtype(dtype)

    def __call__(self, **columns: Any) -> dict[str, Any]:
        """The results for values of all variables: arrays of one shape, and numbers.

        Returns:
            for each of ``outputs`` a new array of that shape; numbers if all values are.

        Raises:
            UnknownName: if a variable has no value, or a value no variable.
            ShapeError: if the shapes are not the same.
            DtypeError: if a column holds something else than real numbers.
        """
        arrays, shape = checked(self.variables, columns)
        flat = {name: array.reshape(-1) if array.ndim else array for name, array in arrays.items()}
        out = [np.empty(math.prod(shape), self.dtype) for _ in self.outputs]
        self.run(flat, out)
        return {name: array.reshape(shape)[()] for name, array in zip(self.outputs, out, strict=True)}

    def run(self, columns: Mapping[str, Any], out: Sequence[Any]) -> None:
        """The same into arrays that are there.

        Args:
            columns: for each variable a 1-d array, or a number.
            out: for each of ``outputs`` a contiguous 1-d array of type ``dtype``, of the same length.
        """
        raise NotImplementedError


class Program(Compiled):
    """An expression and its derivatives as one list of operations.

    Made by ``ad.compile``.

    Args:
        recording: the operations.
        results: those that are wanted, or constants.
        variables: names in the order of their operations.
        wanted: what the results are.
        threads: how many work on blocks; as many as there are processors if left out.

    Attributes:
        operations: the list, in order, without what no result needs.
        results: an operation or a constant for each of the outputs.
    """

    engine = "blocks"

    def __init__(
        self, recording: Tape, results: Sequence[Cell], variables: Sequence[str], wanted: Terms, threads: int | None = None
    ) -> None:
        super().__init__(variables, wanted, recording.dtype)
        self.threads = threads or processors()
        self.results = [resolved(cell) for cell in results]
        self.operations = needed(self.results)
        self._plans: dict[frozenset[str], Plan] = {}

    def run(self, columns: Mapping[str, Any], out: Sequence[Any]) -> None:
        """See ``Compiled``."""
        rows = len(out[0])
        scalars = frozenset(name for name in self.variables if np.ndim(columns[name]) == 0)
        if scalars not in self._plans:
            self._plans[scalars] = Plan(self.operations, self.results, scalars, self.dtype)
        plan = self._plans[scalars]
        with np.errstate(all="ignore"):  # 1e308 is inf in float32
            prepared = plan.prepared({name: self.dtype.type(columns[name]) for name in scalars})
        block = plan.block(rows, self.threads)
        places = iter(range(0, rows, block))
        workers = min(self.threads, -(-rows // block))
        arrays = [columns[name] for name in plan.columns]
        if workers <= 1:
            plan.work(places, block, arrays, prepared, out)
            return
        others = [pool(workers - 1).submit(plan.work, places, block, arrays, prepared, out) for _ in range(workers - 1)]
        try:
            plan.work(places, block, arrays, prepared, out)
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


def _numbers(name: str, value: Any) -> Any:
    """A column as an array.

    Raises:
        DtypeError: if it holds something else than numbers.
    """
    try:
        array = np.asarray(value)
    except ValueError:  # lists of different lengths
        raise DtypeError(f"the column '{name}' is no array of numbers") from None
    if array.dtype.kind not in "biuf" or hasattr(value, "mask"):
        kind = "masked values" if hasattr(value, "mask") else f"{array.dtype} values"
        raise DtypeError(f"the column '{name}' holds {kind}", hint="give floats, integers or booleans, and nan for what is missing")
    return array


def checked(variables: Sequence[str], columns: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[int, ...]]:
    """The values of all variables as arrays, and the shape of those that are none numbers.

    Raises:
        UnknownName, ShapeError: see ``Compiled.__call__``.
    """
    missing = [name for name in variables if name not in columns]
    if missing:
        raise UnknownName(f"no values for {', '.join(map(repr, missing))}")
    unknown = [name for name in columns if name not in variables]
    if unknown:
        raise UnknownName(f"the expression has no variable {unknown[0]!r}", hint=f"it has {', '.join(variables) or 'none'}")
    arrays = {name: _numbers(name, value) for name, value in columns.items()}
    shapes = {array.shape for array in arrays.values() if array.ndim}
    if len(shapes) > 1:
        raise ShapeError(
            "columns of different lengths: "
            + ", ".join(f"{name} {list(array.shape)}" for name, array in arrays.items() if array.ndim)
        )
    return arrays, shapes.pop() if shapes else ()
