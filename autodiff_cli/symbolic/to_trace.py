"""Formulas as operations of a recording again, to be differentiated once more."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.primitives.primitive import PRIMITIVES, TensorFunction
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.compiler.tracer import Cell, Instruction, Tape, Tracer
from autodiff_cli.evaluation.lowering import is_function
from autodiff_cli.symbolic.constants import to_float
from autodiff_cli.symbolic.normal_form import Formula, in_order

_NAMED = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "true": True, "false": False}


def recorded_again(formula: Formula, names: Iterable[str]) -> tuple[Tape, Cell, dict[str, Instruction]]:
    """A new recording with a formula, and with variables of these names."""
    recording = Tape("float64")
    variables = {name: recording.variable(name) for name in names}
    values: dict[Formula, Any] = {}
    FUNCTIONS.complete()
    private = {primitive.name: function for function, primitive in PRIMITIVES.items() if not is_function(primitive)}
    with np.errstate(all="ignore"), set_grad_enabled(False):
        for node in in_order([formula]):
            values[node] = _value(node, values, variables, private)
    return recording, _cell(values[formula]), {name: _cell(variable) for name, variable in variables.items()}


def _cell(value: Any) -> Cell:
    if isinstance(value, Tracer):
        return value._data[()]
    return value.item() if isinstance(value, (Tensor, np.generic, np.ndarray)) else value


def _value(
    node: Formula, values: Mapping[Formula, Any], variables: Mapping[str, Any], private: Mapping[str, TensorFunction]
) -> Any:
    if node.kind == "symbol":
        return variables[node.name] if node.name in variables else _NAMED[node.name]
    if node.kind == "sum":
        return reduce(_add, [_times(count, values[term]) for term, count in node.parts])
    if node.kind == "product":
        factors = [_power(values[base], exponent, values) for base, exponent in node.parts]
        return _times(node.coefficient, reduce(lambda x, y: x * y, factors)) if factors else to_float(node.coefficient)
    given = [values[part] if type(part) is Formula else part for part in node.parts]
    if node.name in ("logical_and", "logical_or"):
        return reduce(FUNCTIONS[node.name].function, given)
    if node.name in ("max", "min"):
        return FUNCTIONS[f"{node.name}imum"].function(*given)
    return (private[node.name] if node.name in private else FUNCTIONS[node.name].function)(*given)


def _add(x: Any, y: Any) -> Any:
    return x + y


def _times(count: Fraction | float, value: Any) -> Any:
    if count == -1 and getattr(value, "dtype", None) != np.bool_:  # a condition has no negative, but a product
        return -value
    return value if count == 1 else to_float(count) * value


def _power(base: Any, exponent: Any, values: Mapping[Formula, Any]) -> Any:
    if exponent == 1:
        return base
    power = values[exponent] if type(exponent) is Formula else to_float(exponent)
    return FUNCTIONS["pow"].function(np.float64(base) if isinstance(base, (int, float)) else base, power)
