"""Elementwise operations with one result for each of n components, whose VJP rules are formulas on a tape of their own.

Every mode of differentiation calls the rules with its own kind of tensor, and the formulas are computed with the public functions
of the language: derivatives of every order, power series, tracing and many digits need nothing else.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.primitives.calls import general
from autodiff_cli.autograd.primitives.nodes import NodeFactory
from autodiff_cli.autograd.primitives.primitive import Primitive, TensorFunction, VjpRule, outermost
from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.deadline import Late, within
from autodiff_cli.errors import NotRecordable, NoValue
from autodiff_cli.language.tree import Syntax, new_tree, number_tree
from autodiff_cli.limits import LIFT, lifted
from autodiff_cli.postorder import postorder

if TYPE_CHECKING:
    from autodiff_cli.autograd.dtypes import Array
    from autodiff_cli.precise.arithmetic import Arithmetic

_MANY_SECONDS, _SECONDS_EACH = 60.0, 0.002
"""The maximum processor time of many elements: a fixed time, and a time for each."""
_inside: ContextVar[bool] = ContextVar("inside", default=False)
"""Whether a value that a definition defines is being computed."""


@contextmanager
def in_time(elements: int, most: float, hint: str = "") -> Iterator[bool]:
    """Limit the processor time of a computation of values; yield whether it is a part of another one, whose limit holds.

    A single value takes at most ``most`` seconds.  The hint of the error ``NoValue`` begins with ``hint``.
    """
    seconds = most if elements == 1 else _MANY_SECONDS + _SECONDS_EACH * elements
    is_part = _inside.get()
    token = _inside.set(True)
    try:
        with nullcontext() if is_part or lifted() else within(seconds):
            yield is_part
    except Late:
        if is_part:
            raise
        of_many = "" if elements == 1 else f" of {elements:,} elements"
        raise NoValue(f"the computation{of_many} takes longer than {seconds:g} s", hint=hint + LIFT) from None
    finally:
        _inside.reset(token)


def replayed(operands: Sequence[Operand], values: Mapping[Any, Any]) -> list[Any]:
    """Compute instructions or constants with the functions of the language, for arrays, numbers or tensors as the variables."""
    known: dict[Operand, Any] = dict(values.items())
    for instruction in postorder([o for o in operands if type(o) is Instruction], lambda instruction: instruction.inputs):
        if instruction not in known and instruction.primitive is not None:
            inputs = [known[operand] if type(operand) is Instruction else operand for operand in instruction.operands]
            known[instruction] = instruction.primitive.function(*inputs, *instruction.statics)
    return [known[operand] if type(operand) is Instruction else np.float64(operand) for operand in operands]


class Components:
    """The components of a value that a function of several numbers computes for each element; a subclass computes them.

    A subclass may have a method ``intervals``, which returns enclosures of all components, given the intervals of the arguments.

    Args:
        name: the name of the operation.
        parameters: the names of the arguments.
        fixed: the number of first arguments that are not differentiable.
        count: the number of components.

    Attributes:
        functions: the function of each component.
    """

    def __init__(self, name: str, parameters: Sequence[str], fixed: int, count: int = 1) -> None:
        self.name, self.parameters = name, tuple(parameters)
        self._last: tuple[list[Array], Array] | None = None
        self.functions = [self._function(k, fixed, count) for k in range(count)]

    def solve(self, *arrays: Array) -> Array:
        """Return all components, of shape (count, *shape of the arrays); nan where a value does not exist."""
        raise NotImplementedError

    def vjp(self, i: int, k: int, g: Any, out: Any, *arguments: Any) -> Any:
        """Return the cotangent of argument i, given that of component k, which is ``out``."""
        raise NotImplementedError

    def precise(self, math: Arithmetic, *cells: Any) -> Sequence[Any]:
        """Return all components from numbers of many digits."""
        raise NotImplementedError

    def tree(self, arguments: list[Syntax]) -> Syntax:
        """Return the expression of the components."""
        raise NotRecordable(f"'{self.name}' has no formula here")

    def partial(self, i: int) -> str:
        """Say how the derivative with respect to argument i comes about."""
        return "a linear system"

    def _function(self, k: int, fixed: int, count: int) -> TensorFunction:
        """Return the public function of component k, an elementwise operation that exists as long as its function is used."""
        intervals: Any = getattr(self, "intervals", None)
        subscripts = new_tree("subscripts", number_tree(str(k)))
        rules = {name: None if i < fixed else self._rule(i, k) for i, name in enumerate(self.parameters)}
        primitive = Primitive(
            name=self.name,
            forward=lambda *arrays: self._all(arrays)[k],
            vjps=rules,
            parameters=self.parameters,
            series="chain" if any(rules.values()) else "fixed",
            elementwise=True,
            precise=lambda *arguments: self.precise(*arguments)[k],
            interval=None if intervals is None else lambda _, operands: intervals(*operands)[k],
            notation=self.tree if count == 1 else lambda arguments: new_tree("index", self.tree(arguments), subscripts),
            partial=lambda name: self.partial(self.parameters.index(name)),
        )
        call = general(primitive, NodeFactory(primitive, f"{self.name.capitalize()}Backward0", {}))

        def function(*arguments: Any) -> Any:
            outer = outermost([arguments])
            return call(*arguments) if outer is None else outer.applied(primitive, arguments)

        primitive.function = function
        return function

    def _all(self, arrays: Sequence[Array]) -> Array:
        """Return all components, which are kept, because the function of another component often has the same arguments."""
        last = self._last  # read once, because threads share it
        if last is None or not all(map(np.array_equal, last[0], arrays)):
            last = self._last = [np.array(array) for array in arrays], self.solve(*np.broadcast_arrays(*arrays))
        return last[1]

    def _rule(self, i: int, k: int) -> VjpRule:
        """Return the VJP rule of component k for argument i, with the names of its own parameters."""
        rule = functools.partial(self.vjp, i, k)
        rule.names = ("g", "out", *self.parameters)  # type: ignore[attr-defined]
        return rule
