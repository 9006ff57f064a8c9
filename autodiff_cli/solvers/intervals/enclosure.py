"""Enclosures of the values and derivatives of a system over boxes: its tape, run with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.compiler.partition import needed, resolved
from autodiff_cli.compiler.program import REPAID, has_compiler
from autodiff_cli.errors import LimitError, NotRecordable
from autodiff_cli.evaluation.lowering import decomposition, lower
from autodiff_cli.lazy import named
from autodiff_cli.solvers.intervals.interval import UNBOUNDED, Interval, point
from autodiff_cli.solvers.intervals.rules import Call, Rule, pieces, rule_of

if TYPE_CHECKING:
    from autodiff_cli.autograd.dtypes import DType
    from autodiff_cli.compiler.llvm.machine_code import LoadedKernel
    from autodiff_cli.solvers.intervals.interval import Bounds

    Box = Sequence[Bounds] | Bounds

_MOST_PIECES = 64  # the maximum number of combinations of branches of the functions at a pole or a jump
_OPERATIONS = 20  # the typical number of operations of a rule, which decides whether machine code repays the time to compile it
_NEAR_0 = 1e-300  # below which numbers are not told from 0
_TRUE = np.array(True)
_NOTHING: Mapping[Operand, Interval] = MappingProxyType({})


class Enclosure:
    """Operands of a tape, ``results``, ready to be enclosed over boxes, given the instructions of the n variables."""

    def __init__(self, variables: Sequence[Instruction], results: Sequence[Operand]) -> None:
        if variables:
            # What cannot be lowered stays, and is unbounded: an error leaves all results as they are.
            with suppress(NotRecordable, LimitError), np.errstate(all="ignore"), set_grad_enabled(False):
                results = lower(variables[0].tape, results, _has_rule)
        self._variables = {operand: i for i, operand in enumerate(variables)}
        self._results = [resolved(operand) for operand in results]
        self._calls: list[tuple[Instruction, Rule | None, Call]] = []  # in the order of the tape; ``None``: unbounded
        self._machine_code: LoadedKernel | None = None
        for instruction in needed(self._results):
            primitive = instruction.primitive
            if primitive is not None:  # variables have no primitive
                call = Call(primitive.forward, instruction.statics, primitive.name)
                self._calls.append((instruction, _rule(primitive), call))

    def __call__(self, low: Box, high: Box) -> list[Interval]:
        """Return an enclosure of each result, given the bounds of each variable: numbers for one box, or columns for many."""
        shape = low[0].shape
        if self._machine_code is not None:
            columns = [np.ascontiguousarray(column) for column in (*low, *high)]
            parts = [np.empty(shape, kind) for kind in self._kinds]  # which the machine code fills: low, high, regular, low, ...
            self._machine_code.run(columns, [], parts)
            return [Interval(*parts[i : i + 3]) for i in range(0, len(parts), 3)]  # three parts for each result
        return [
            Interval(np.broadcast_to(part.low, shape), np.broadcast_to(part.high, shape), np.broadcast_to(part.regular, shape))
            for part in self._enclosed(low, high)
        ]

    def _enclosed(self, low: Box, high: Box) -> list[Interval]:
        """Return an enclosure of each result, whose bounds may be numbers for all boxes."""
        known = self._run(low, high)
        return [_operand(known, result) for result in self._results]

    def compile(self, boxes: float) -> None:
        """Enclose with machine code from now on, if it can compute all rules, and so many ``boxes`` repay its compilation."""
        if boxes * len(self._calls) * _OPERATIONS >= REPAID and has_compiler():
            n = len(self._variables)
            compiled = named("autodiff_cli.solvers.intervals.machine_code:compiled_function")
            self._machine_code = compiled(lambda *ends: chain(*self._enclosed(ends[:n], ends[n:])), 2 * n, self._kinds)

    @property
    def _kinds(self) -> list[DType]:
        """The types of the bounds and of the condition of each result."""
        return list(map(np.dtype, (float, float, bool))) * len(self._results)

    def is_regular(self, low: Bounds, high: Bounds) -> bool:
        """Return whether all results are defined and continuous on one box."""
        return all(bool(interval.regular) for interval in self(low, high))

    def is_bounded(self, low: Bounds, high: Bounds) -> bool:
        """Return whether all instructions with a rule are bounded on one box, except those singular at its corner low or high."""
        known = self._run(low, high)
        with_rule = [op for op, rule, _ in self._calls if rule is not None]
        unbounded = [op for op in with_rule if not known[op].regular and np.isinf(known[op].magnitude)]
        corners = [self._run(corner, corner) for corner in (low, high)] if unbounded else []
        return all(any(_is_singular(corner, op) for corner in corners) for op in unbounded)

    def excludes(self, low: Bounds, high: Bounds) -> bool:
        """Return whether it is proven that the results are not 0 together at any point of one box where they are defined.

        An instruction with a pole or a jump has several continuous branches.  Each combination of them must exclude 0.
        """
        waiting: list[dict[Operand, Interval]] = [{}]  # combinations: the chosen branch of each of some instructions
        for _ in range(_MOST_PIECES):
            if not waiting:
                return True
            branches = waiting.pop()
            known = self._run(low, high, branches)
            if all(bool(_operand(known, result).holds(0.0)) for result in self._results):
                further = self._further_branches(known, branches)
                if not further:
                    return False
                waiting += further
        return False  # too many combinations

    def _further_branches(self, known: dict[Operand, Interval], branches: dict[Operand, Interval]) -> list[dict[Operand, Interval]]:
        """Return ``branches`` extended by each branch of the next instruction that has several; none if no instruction has."""
        for op, _, call in self._calls:
            if op not in branches and not known[op].regular:
                options = pieces(call, tuple(_operand(known, operand) for operand in op.operands), known[op])
                if options:
                    return [{**branches, op: option} for option in options]
        return []

    def _run(self, low: Box, high: Box, branches: Mapping[Operand, Interval] = _NOTHING) -> dict[Operand, Interval]:
        """Return the intervals of all instructions; ``branches`` replaces those of which one continuous branch is chosen."""
        known: dict[Operand, Interval] = {op: Interval(low[i], high[i], _TRUE) for op, i in self._variables.items()}
        with np.errstate(all="ignore"):
            for op, rule, call in self._calls:
                operands = tuple(_operand(known, operand) for operand in op.operands)
                if op in branches:
                    known[op] = branches[op]
                else:
                    known[op] = UNBOUNDED if rule is None else rule(call, operands)
        return known


def _is_singular(known: dict[Operand, Interval], op: Instruction) -> bool:
    """Return whether an instruction is singular at a point, given all intervals there, and not only close to it."""
    last = _operand(known, op.operands[-1])  # if it is wider than a number, the singular point is only close
    return not known[op].regular and bool(last.low == last.high or last.magnitude < _NEAR_0)


def _operand(known: dict[Operand, Interval], operand: Operand) -> Interval:
    """Return the interval of an instruction, or of a constant."""
    operand = resolved(operand)
    return known[operand] if type(operand) is Instruction else point(operand)


def _has_rule(primitive: Primitive, statics: tuple[Any, ...]) -> bool:
    """Return whether an instruction stays on the tape; one without a rule and without a decomposition stays too."""
    return _rule(primitive) is not None or decomposition(primitive, statics) is None


def _rule(primitive: Primitive) -> Rule | None:
    """Return the interval rule of a primitive, its own or that of its name; ``None`` without one."""
    return primitive.interval or rule_of(primitive.name, primitive.series, primitive.arity)
