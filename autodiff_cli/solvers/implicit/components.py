"""Elementwise operations with one result for each of n components, whose VJP rules are formulas on a tape of their own.

Every mode of differentiation calls the rules with its own kind of tensor, and the formulas are computed with the public functions
of the language: derivatives of every order, power series, tracing and many digits need nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.primitives.calls import general
from autodiff_cli.autograd.primitives.nodes import NodeFactory
from autodiff_cli.autograd.primitives.primitive import Primitive, TensorFunction, VjpRule, outermost
from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.postorder import postorder

if TYPE_CHECKING:
    from autodiff_cli.autograd.dtypes import Array
    from autodiff_cli.solvers.intervals.interval import Interval

Solve = Callable[..., "Array"]
"""A function of arrays of one shape, which returns an array with one more dimension in front: the components."""


def replayed(operands: Sequence[Operand], values: Mapping[Instruction, Any]) -> list[Any]:
    """Compute operands of a tape with the public functions of the language.

    Args:
        operands: instructions or constants.
        values: the values of the variables: arrays, numbers or tensors of any kind.
    """
    known: dict[Operand, Any] = {variable: value for variable, value in values.items()}
    for instruction in postorder([o for o in operands if type(o) is Instruction], lambda instruction: instruction.inputs):
        if instruction not in known and instruction.primitive is not None:
            inputs = [known[operand] if type(operand) is Instruction else operand for operand in instruction.operands]
            known[instruction] = instruction.primitive.function(*inputs, *instruction.statics)
    return [known[operand] if type(operand) is Instruction else np.float64(operand) for operand in operands]


class Components:
    """The components of a value that a function of n+m numbers computes for each element.

    Args:
        name: the name of the operation.
        parameters: the names of the arguments.
        count: the number of components.
        solve: the function that computes all components.
        vjps: for each argument that is differentiable, the function that returns the rule of a component.
        precise: computes all components from numbers of many digits, given the arithmetic.
        intervals: encloses all components, given the intervals of the arguments.

    Attributes:
        functions: the function of each component.
    """

    def __init__(
        self,
        name: str,
        parameters: Sequence[str],
        count: int,
        solve: Solve,
        vjps: Mapping[str, Callable[[int], VjpRule]],
        precise: Callable[..., Sequence[Any]],
        intervals: Callable[..., Sequence[Interval]] | None = None,
    ) -> None:
        self._solve = solve
        self._last: tuple[list[Array], Array] | None = None
        self.functions: list[TensorFunction] = []
        for k in range(count):
            rules = {p: vjps[p](k) if p in vjps else None for p in parameters}
            enclosed = None if intervals is None else _interval_of(intervals, k)
            self.functions.append(_function(name, parameters, self._forward(k), rules, _component(precise, k), enclosed))

    def _forward(self, k: int) -> Callable[..., Array]:
        def forward(*arrays: Array) -> Array:
            last = self._last  # another component may have been computed just before; read once, because threads share it
            if last is None or not all(map(np.array_equal, last[0], arrays)):
                spread = np.broadcast_arrays(*arrays)
                last = self._last = [np.array(array) for array in arrays], self._solve(*spread)
            result: Array = last[1][k]
            return result

        return forward


def _component(precise: Callable[..., Sequence[Any]], k: int) -> Callable[..., Any]:
    return lambda *arguments: precise(*arguments)[k]


def _interval_of(intervals: Callable[..., Sequence[Interval]], k: int) -> Callable[..., Interval]:
    return lambda call, operands: intervals(*operands)[k]


def _function(
    name: str,
    parameters: Sequence[str],
    forward: Callable[..., Any],
    vjps: Mapping[str, VjpRule | None],
    precise: Callable[..., Any],
    interval: Callable[..., Interval] | None,
) -> TensorFunction:
    """Return the public function of an elementwise operation, which exists as long as the function is used."""
    primitive = Primitive(
        name=name,
        forward=forward,
        vjps=vjps,
        parameters=tuple(parameters),
        series="chain" if any(vjps.values()) else "fixed",
        elementwise=True,
        precise=precise,
        interval=interval,
    )
    call = general(primitive, NodeFactory(primitive, f"{name.capitalize()}Backward0", {}))

    def function(*arguments: Any) -> Any:
        outer = outermost([arguments])
        return call(*arguments) if outer is None else outer.applied(primitive, arguments)

    primitive.function = function
    return function


def as_rule(names: Sequence[str], rule: VjpRule) -> VjpRule:
    """Return a VJP rule that receives the result and the arguments with these names."""
    rule.names = ("g", "out", *names)  # type: ignore[attr-defined]
    return rule
