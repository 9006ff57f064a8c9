"""Enclosures of the values and derivatives of a system over boxes: its tape, run with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.compiler.partition import needed, resolved
from autodiff_cli.errors import LimitError, NotRecordable
from autodiff_cli.evaluation.lowering import decomposition, lowered
from autodiff_cli.solvers.intervals.interval import Interval, point, unbounded
from autodiff_cli.solvers.intervals.rules import Call, Rule, rule_of

if TYPE_CHECKING:
    from autodiff_cli.solvers.intervals.interval import Bounds


class Enclosure:
    """Operands of a tape, ready to be enclosed over boxes.

    Args:
        variables: the instructions of the n variables.
        results: the operands to enclose.
    """

    def __init__(self, variables: Sequence[Instruction], results: Sequence[Operand]) -> None:
        if variables:
            try:
                with np.errstate(all="ignore"), set_grad_enabled(False):
                    results = lowered(variables[0].tape, results, _has_rule)
            except (NotRecordable, LimitError):  # a function without a rule stays, and is unbounded
                pass
        self._variables = {one: i for i, one in enumerate(variables)}
        self._results = [resolved(one) for one in results]
        self._calls: list[tuple[Instruction, Rule | None, Call | None]] = []
        for one in needed(self._results):
            primitive = one.primitive
            if primitive is not None:
                call = Call(primitive.forward, one.statics)
                self._calls.append((one, rule_of(primitive.name, primitive.series, primitive.arity), call))

    def __call__(self, low: Bounds, high: Bounds) -> list[Interval]:
        """Return an enclosure of each result.

        Args:
            low, high: the bounds of the boxes, of shape (n,) for one box or (n, boxes).
        """
        shape = low.shape[1:]
        true = np.ones(shape, bool)
        known: dict[Operand, Interval] = {one: Interval(low[i], high[i], true) for one, i in self._variables.items()}

        def of(operand: Operand) -> Interval:
            operand = resolved(operand)
            return known[operand] if type(operand) is Instruction else point(operand)

        with np.errstate(all="ignore"):
            for one, rule, call in self._calls:
                operands = tuple(map(of, one.operands))
                known[one] = unbounded(*operands) if rule is None or call is None else rule(call, operands)
            found = [of(one) for one in self._results]
        return [
            Interval(np.broadcast_to(one.low, shape), np.broadcast_to(one.high, shape), np.broadcast_to(one.regular, shape))
            for one in found
        ]


def _has_rule(primitive: Primitive, statics: tuple[Any, ...]) -> bool:
    """Return whether an instruction stays on the tape; one without a rule and without a decomposition stays too."""
    if rule_of(primitive.name, primitive.series, primitive.arity) is not None:
        return True
    return decomposition(primitive, statics) is None
