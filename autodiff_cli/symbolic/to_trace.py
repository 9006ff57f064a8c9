"""Evaluation of formulas: with tracers on a tape, to differentiate them again, and with numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.primitives.primitive import PRIMITIVES, TensorFunction
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.compiler.tape import Tape
from autodiff_cli.compiler.tracer import as_operand, as_tensor
from autodiff_cli.evaluation.bindings import new_leaves
from autodiff_cli.evaluation.compile import Traced
from autodiff_cli.evaluation.evaluator import Evaluator
from autodiff_cli.evaluation.lowering import is_function
from autodiff_cli.language.operators import LOGIC
from autodiff_cli.symbolic.constants import Coefficient, to_float
from autodiff_cli.symbolic.formula import DEFINED, Exponent, Formula, in_order

if TYPE_CHECKING:
    from autodiff_cli.evaluation.evaluation import Value

_NAMED = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "true": True, "false": False}
TracedValue: TypeAlias = Tensor | float
Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


def formula_values(text: str, at: Mapping[str, Value]) -> Numbers:
    """Evaluate a formula at a point, or at the points of arrays."""
    evaluator = Evaluator(text, new_leaves(dict(at), np.dtype("float64"), ()), np.dtype("float64"))
    with np.errstate(all="ignore"), set_grad_enabled(False):
        return np.asarray(evaluator.as_tensor(evaluator.run())._data, dtype=np.float64)


def retraced(formula: Formula, names: Iterable[str]) -> Traced:
    """Trace a formula on a new tape, on which the variables ``names`` come first, in order."""
    tape = Tape("float64")
    variables = {name: tape.variable(name) for name in names}
    tensors = {name: as_tensor(tape, variable) for name, variable in variables.items()}
    values: dict[Formula, TracedValue] = {}
    FUNCTIONS.complete()
    # A formula is a number, so its operations are elementwise; in-place comparisons have the names of the comparisons.
    private = {p.name: function for function, p in PRIMITIVES.items() if p.elementwise and not is_function(p)}
    with np.errstate(all="ignore"), set_grad_enabled(False):
        for node in in_order([formula]):
            values[node] = _value(node, values, tensors, private)
    return Traced(tape, [as_operand(values[formula])], variables)


def _value(
    node: Formula, values: Mapping[Formula, TracedValue], variables: Mapping[str, Tensor], private: Mapping[str, TensorFunction]
) -> TracedValue:
    """Compute a formula from the values of its parts; ``private`` has, by name, the functions that the language does not have."""
    if node.kind == "symbol":
        return variables[node.name] if node.name in variables else _NAMED[node.name]
    if node.kind == "sum":
        return reduce(operator.add, [_times(count, values[term]) for term, count in node.parts])
    if node.kind == "product":
        factors = [_power(values[base], exponent, values) for base, exponent in node.parts]
        return _times(node.coefficient, reduce(operator.mul, factors)) if factors else to_float(node.coefficient)
    arguments = [values[part] if type(part) is Formula else part for part in node.parts]
    if node.name == DEFINED:
        defined: TracedValue = node.parts[0].function(*arguments[1:])
        return defined
    if node.name in LOGIC[:2]:
        return reduce(FUNCTIONS[node.name].function, arguments)
    name = {"max": "maximum", "min": "minimum"}.get(node.name, node.name)
    result: TracedValue = (private[name] if name in private else FUNCTIONS[name].function)(*arguments)
    return result


def _times(count: Coefficient, value: TracedValue) -> TracedValue:
    """Return a multiple of a value, without a multiplication by 1 or -1 where there is a shorter way."""
    if count == -1 and getattr(value, "dtype", None) != np.bool_:  # booleans can be multiplied by -1, but not negated
        return -value
    return value if count == 1 else to_float(count) * value


def _power(base: TracedValue, exponent: Exponent, values: Mapping[Formula, TracedValue]) -> TracedValue:
    """Return a power, inf or nan where Python raises an error; ``values`` has the value of an exponent that is a formula."""
    if exponent == 1:
        return base
    power = values[exponent] if isinstance(exponent, Formula) else to_float(exponent)
    result: TracedValue = FUNCTIONS["pow"].function(np.float64(base) if isinstance(base, (int, float)) else base, power)
    return result
