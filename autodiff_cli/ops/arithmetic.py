"""Functions of arithmetic that choose between operations; ``grammar/rules/arithmetic.rules`` describes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import checked_operand
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.types import Number, Operand
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import GraphError
from autodiff_cli.numerics.arithmetic import is_number, is_plain, weak
from autodiff_cli.ops.rules import arithmetic as rules
from autodiff_cli.ops.rules.elementary import trunc


@rules.declare.described
def remainder(x: Operand, y: Operand) -> Any:
    if is_number(y) and isinstance(x, Tensor):
        return rules.remainder_number(x, weak(y))
    return rules.remainder_tensor(x, y)


@rules.declare.described
def pow(input: Operand, exponent: Operand) -> Any:
    """x to the power y, where a plain base or exponent has a rule of its own."""
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        return checked_operand(input, "pow") ** checked_operand(exponent, "pow", "exponent", 2)
    if isinstance(input, Tensor) and (input._data if type(input) is Tensor else input).dtype.kind == "b":  # booleans are 0 and 1
        from autodiff_cli.ops.casts import to

        input = to(input, np.int64)
    if is_number(exponent):
        return rules.power_constant(input, weak(exponent))
    return rules.power_of_number(exponent, input) if is_number(input) else rules.power_tensor(input, exponent)


def _with_alpha(operation: TensorFunction, fused: TensorFunction) -> TensorFunction:
    """Return a version of ``operation`` with a keyword argument that scales the second operand, as in ``x.add(y, alpha=2)``.

    The function ``fused`` does the same, with the factor as its third argument, for operands that ``is_plain`` accepts.
    """

    def scaled(input: Operand, other: Operand, *, alpha: Number = 1) -> Any:
        if alpha == 1:
            return operation(input, other)
        return fused(input, other, alpha) if is_plain(input, other) else operation(input, other * alpha)

    scaled.__name__ = scaled.__qualname__ = operation.__name__
    scaled.__doc__ = operation.__doc__
    return scaled


# The operators + and - do not take alpha, so they keep the functions without alpha, which are faster.
add = Tensor.add = _with_alpha(rules.add, rules.add_scaled)  # type: ignore[attr-defined]
sub = Tensor.sub = _with_alpha(rules.sub, rules.sub_scaled)  # type: ignore[attr-defined]


def div(input: Operand, other: Operand, *, rounding_mode: str | None = None) -> Any:
    """x / y, or x / y rounded towards 0 ('trunc') or down ('floor')."""
    if rounding_mode is None:
        return rules.div(input, other)
    if rounding_mode == "floor":
        return rules.floor_divide(input, other)
    if rounding_mode != "trunc":
        raise GraphError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'",
            hint="leave it out for an exact quotient",
        )
    from autodiff_cli.ops.casts import result_type, to

    result = trunc(rules.div(input, other))
    kind = result_type(input, other)
    return result if kind.is_floating_point else to(result, kind)


Tensor.div = true_divide = div  # type: ignore[attr-defined]
