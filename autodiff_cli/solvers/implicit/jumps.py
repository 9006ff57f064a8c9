"""Jumps and kinks of an integrand, at places that depend on parameters.

If the integrand f jumps at s, where u(s, p) = 0, the derivative of its integral with respect to p has the further term
(f(s-) - f(s+)) ds/dp, with ds/dp = -(du/dp)/(du/ds).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.compiler.gradient import gradient
from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.compiler.partition import needed
from autodiff_cli.compiler.tracer import as_operand, as_tensor
from autodiff_cli.language.tree import name_tree
from autodiff_cli.solvers.implicit.components import Components, replayed
from autodiff_cli.solvers.implicit.equation import Equation
from autodiff_cli.solvers.roots.all_roots import roots_over
from autodiff_cli.solvers.roots.problem import EPS

if TYPE_CHECKING:
    from autodiff_cli.arrays import Matrix
    from autodiff_cli.autograd.dtypes import Array
    from autodiff_cli.autograd.tensor import Tensor
    from autodiff_cli.precise.arithmetic import Arithmetic

FARTHEST = 1e6
"""The distance from 0 up to which places are searched in an infinite range."""
STEP = 1e-9
"""The distance, relative to a place, from which the value beside it is extrapolated, and up to which two places are the same."""


def _bounds(value: Any, low: float, high: float = math.nan, *_: float) -> Any:
    """Return a function of a value that is 0 at its bounds; nan stands for no upper bound."""
    return value - low if math.isnan(high) else (value - low) * (value - high)


JUMPS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("lt", "le", "gt", "ge"), lambda x, y: x - y * 1.0),  # also of truth values
    **dict.fromkeys(("sign", "sgn", "signbit", "angle", "heaviside", "share_of_hypot"), lambda x, *_: x),
    **dict.fromkeys(("copysign", "threshold_backward"), lambda _, x: x),
    **dict.fromkeys(("floor", "ceil", "trunc", "frac", "round"), lambda x, *_: (2 * math.pi * x).sin()),
    **dict.fromkeys(("remainder", "fmod", "floor_divide"), lambda x, y: (math.pi * x / y).sin()),
    "hardtanh_backward": lambda _, *operands: _bounds(*operands),
    "hardshrink": lambda value, bound: _bounds(value, -bound, bound),
}
"""For the operations that jump, a function of their operands that is 0 at a jump."""
KINKS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("abs", "relu", "elu", "selu", "celu", "leaky_relu", "hypot", "cbrt", "sqrt"), lambda x, *_: x),
    **dict.fromkeys(("maximum", "minimum", "fmax", "fmin"), lambda x, y: x - y),
    **dict.fromkeys(("clamp", "hardtanh", "threshold"), _bounds),
    "softshrink": lambda value, bound: _bounds(value, -bound, bound),
}
"""For the operations with a kink, a function of their operands that is 0 there."""


def switching(variable: Instruction, integrand: Operand, table: Mapping[str, Callable[..., Any]]) -> list[Operand]:
    """Return the functions of a variable, on its tape, that are 0 where operations in a table, such as ``JUMPS``, switch."""
    zeros: dict[Operand, None] = {}
    for step in needed([integrand]):
        rule = None if step.primitive is None else table.get(step.primitive.name)
        if rule is not None:
            zero = as_operand(rule(*_tensors(variable, step.operands), *step.statics))
            while type(zero) is Instruction and zero.primitive is not None and zero.primitive.name in ("relu", "abs"):
                zero = zero.operands[0]  # crosses 0, where the operation has a kink
            zeros[zero] = None
    return [zero for zero in zeros if gradient(zero, [variable]) != [0.0]]


class Switches:
    """The places in ranges at which functions of the variable of integration and of parameters are 0.

    Args:
        variable: the variable of integration.
        parameters: the other variables.
        zeros: the functions, on a tape.
    """

    def __init__(self, variable: Instruction, parameters: Sequence[Instruction], zeros: list[Operand]) -> None:
        self.variable, self.parameters, self.zeros = variable, list(parameters), zeros
        call = name_tree(variable.variable), [""] * len(parameters)
        self._equations = [Equation("root", [variable], self.parameters, [zero], True, call) for zero in zeros]

    def places(self, ranges: Matrix) -> list[tuple[int, float, int]]:
        """Return the places inside ranges, each with the numbers of its range and its function, sorted by range and place.

        The rows of ``ranges`` are the two limits, in any order, and the parameters.  A place at which two functions are 0 counts
        once.  A place that may exist, but is not found, is nan.
        """
        ends, parameters = np.clip(np.sort(ranges[:2], axis=0), -FARTHEST, FARTHEST), ranges[2:]
        zeros: list[tuple[int, float, int]] = []
        for number, equation in enumerate(self._equations):
            only, is_known = equation.choice.proven(ends, parameters)
            zeros += [(i, float(only[0, i]), number) for i in np.flatnonzero(is_known).tolist()]
            is_known |= ~np.isfinite(ends.sum(axis=0) + parameters.sum(axis=0))
            is_known[~is_known] = equation.choice.is_empty(ends[:, ~is_known], parameters[:, ~is_known])
            for i in np.flatnonzero(~is_known).tolist():
                roots = roots_over(equation.problem(parameters[:, i]), ends[:1, i], ends[1:, i])
                zeros += [(i, float(check.point.x[0]), number) for check in roots.checks]
                zeros += [] if roots.complete else [(i, math.nan, number)]
        result = [(-1, math.nan, 0)]
        for i, place, number in sorted(zeros):
            low, high = ends[:, i]
            is_again = i == result[-1][0] and place - result[-1][1] <= STEP * max(abs(place), min(high - low, 1.0))
            if not is_again and not min(place - low, high - place) <= 4 * EPS * max(abs(low), abs(high)):
                result.append((i, place, number))
        return result[1:]

    def precise(self, math: Arithmetic, cells: Sequence[Any]) -> list[Any]:
        """Return the places in many digits, in ascending order, given the limits and parameters of one range."""
        result = []
        for _, place, number in self.places(np.array([[float(cell)] for cell in cells])):
            near = math.mpf(place)
            refined = self._equations[number].refined(math, [near], cells[2:])[0]
            result.append(refined if abs(refined - near) < STEP * (1 + abs(near)) else near)  # else a multiple zero
        return result


class Jumps(Components):
    """The sum of the jumps f(s-) - f(s+) of functions at places s inside a range, a function of its limits and of the parameters.

    Args:
        switches: the places, at which functions u are 0.
        jumping: the function f for each u, on the same tape.
    """

    def __init__(self, switches: Switches, jumping: list[Operand]) -> None:
        self._switches, self._jumping = switches, jumping
        self._zeros = [zero for f in jumping for zero in switching(switches.variable, f, {**JUMPS, **KINKS})]
        super().__init__("jumps", ["low", "high", *(f"p{i}" for i in range(len(switches.parameters)))], 2)

    def vjp(self, i: int, k: int, g: Any, out: Any, *arguments: Any) -> Any:
        """Return g times the derivative with respect to parameter i - 2: the jumps of df/dp + df/ds ds/dp."""
        return g * self._derivatives[i - 2].functions[0](*arguments)

    @cached_property
    def _derivatives(self) -> list[Jumps]:
        """The jumps of the derivatives of the functions, whose places move, with respect to each parameter."""
        variable, result = self._switches.variable, []
        for parameter in self._switches.parameters:
            slopes = []
            for function, zero in zip(self._jumping, self._switches.zeros, strict=True):
                by_parameter, by_place = _tensors(variable, gradient(function, [parameter, variable]))
                slopes.append(as_operand(by_parameter + by_place * _speed(zero, variable, parameter)))
            result.append(Jumps(self._switches, slopes))
        return result

    def solve(self, *arrays: Array) -> Array:
        """Return the sums for arrays of limits and parameters; nan where not all places are found."""
        ranges = np.array([np.ravel(array) for array in arrays], float)
        total = np.where(np.isnan(ranges).any(axis=0), math.nan, 0.0)
        variables = [self._switches.variable, *self._switches.parameters]
        for i, place, number in self._switches.places(ranges):
            values = dict(zip(variables, [np.float64(place), *ranges[2:, i]], strict=True))
            before, after = (self._tends_to(number, values, side * STEP * max(abs(place), 1.0)) for side in (-1, 1))
            total[i] += (before - after) * np.sign(ranges[1, i] - ranges[0, i])
        return np.asarray(total.reshape(1, *arrays[0].shape), np.result_type(*arrays, np.float32))

    def _tends_to(self, number: int, values: Mapping[Instruction, Any], step: float) -> Any:
        """Return the value to which a function tends at a place from the side of a step; what is 0 there is exactly 0."""
        variable, function = self._switches.variable, self._jumping[number]
        at = replayed(self._zeros, values)
        near = replayed(self._zeros, {**values, variable: values[variable] + step})
        zeros: dict[Operand, Any] = {zero: 0.0 for zero, a, b in zip(self._zeros, at, near, strict=True) if abs(a) <= 1e-3 * abs(b)}
        return replayed([function], {**values, **zeros, **one_sided(function, variable, values, step)})[0]


def one_sided(function: Operand, variable: Instruction, values: Mapping[Instruction, Any], step: Any) -> dict[Instruction, Any]:
    """Return the values to which the operations that jump tend at a place, from the side of a small step.

    Args:
        function: the operand with the operations.
        variable: the variable that the step changes.
        values: the place as the value of the variable, and the values of the other variables.
        step: the step.
    """
    steps = [s for s in needed([function]) if s.primitive is not None and s.primitive.name in (*JUMPS, "eq", "ne")]
    near, far = (replayed(steps, {**values, variable: values[variable] + n * step}) for n in (1.0, 2.0))
    return {s: a if s.dtype == np.bool_ else 2.0 * a - b for s, a, b in zip(steps, near, far, strict=True)}


def moving_jumps(variable: Instruction, parameters: Sequence[Instruction], zeros: list[Operand], f: Operand) -> list[list[Jumps]]:
    """Return what the jumps of f, where functions are 0, add to the derivatives of its integral with respect to each parameter."""
    result = []
    for parameter in parameters:
        moving = [zero for zero in zeros if gradient(zero, [parameter]) != [0.0]]
        jumping = [as_operand(_tensors(variable, [f])[0] * _speed(zero, variable, parameter)) for zero in moving]
        result.append([Jumps(Switches(variable, parameters, moving), jumping)] if moving else [])
    return result


def _speed(zero: Operand, variable: Instruction, parameter: Instruction) -> Tensor:
    """Return the derivative of the place at which a function u is 0 with respect to a parameter, -(du/dp)/(du/ds)."""
    by_parameter, by_variable = _tensors(variable, gradient(zero, [parameter, variable]))
    return -by_parameter / by_variable


def _tensors(variable: Instruction, operands: Sequence[Operand]) -> list[Tensor]:
    """Return operands as tensors on the tape of a variable."""
    return [as_tensor(variable.tape, operand) for operand in operands]
