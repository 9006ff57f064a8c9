"""The choice between the elements of two tensors, as a function and as a method."""

from typing import Any

from autodiff_cli.autograd.primitives.structural import where as choose
from autodiff_cli.autograd.primitives.types import Operand, Value
from autodiff_cli.autograd.tensor import add_methods
from autodiff_cli.ops.rules.comparison import declare

chosen = declare.described(choose)
add_methods(where=lambda self, condition, other: chosen(condition, self, other))


def where(condition: Value, input: Operand | None = None, other: Operand | None = None) -> Any:
    """The elements of ``input`` where ``condition`` is true and of ``other`` elsewhere; without both, the positions of true."""
    if input is None and other is None:
        from autodiff_cli.ops.rules.counting import nonzero

        return nonzero(condition, as_tuple=True)
    return choose(condition, input, other)
