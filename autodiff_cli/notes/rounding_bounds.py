"""Bounds of rounding errors to first order, which show that an evaluation and its derivatives are accurate.

The trace of an evaluation is repeated once with values that carry a bound of their error.  The VJP rules of the operations give
the derivatives by which errors are multiplied, and run on such values, too: a bound of the error of a derivative covers the
operations of its rules.  A value with an unknown bound ends the computation, and the more expensive trials decide.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autodiff_cli.autograd.primitives.primitive import Primitive, argument_names
from autodiff_cli.autograd.primitives.structural import sum_to
from autodiff_cli.autograd.primitives.types import array_of
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import FOREIGN, AutodiffError
from autodiff_cli.evaluation.trace import Trace, flat_inputs, invoke, raw

if TYPE_CHECKING:
    from autodiff_cli.autograd.dtypes import Array
    from autodiff_cli.evaluation.evaluation import Evaluation

MOST_STEPS, MOST_ELEMENTS, MOST_VARIABLES = 500, 10_000, 12
"""The largest trace, the largest tensor, and the largest number of variable elements for second derivatives."""
MOST_ORDER = 2
"""The highest order of the derivatives that are examined."""
SUSPECT = 30
"""The ratio of the error that produces a note to the error that makes a number suspect."""
_ONE = np.float64(1.0)
ROUNDING = 2.0
"""The largest rounding error of an operation, in units of the machine epsilon relative to its result."""
_ABSOLUTE = {
    *("lgamma", "digamma", "polygamma", "betaln", "zeta", "expi", "lambertw", "logit", "logaddexp", "logaddexp2", "sinc"),
    *("bessel_j", "j0", "j1", "y0", "y1", "jv", "yv", "airy_ai", "airy_bi", "airy_ai_prime", "airy_bi_prime", "dawsn"),
    *("faddeeva", "wofz_real", "wofz_imag", "normal_logpdf", "binomial_logpmf", "poisson_logpmf", "voigt"),
}
"""Functions whose error near their roots is not small relative to the result."""
MAY_BE_0 = {
    *("add", "sub", "sum", "mean", "floor", "ceil", "round", "trunc", "frac", "sign", "relu"),
    *("relu6", "remainder", "fmod", "where", "hardtanh", "hardsigmoid", "floor_divide", "clamp", "max", "min", "maximum"),
    *("minimum", "log", "log1p", "sin", "cos", "amax", "dot", "matmul", "diff", "var", "std"),
    *("acos", "acosh", "log2", "log10", "amin", "hardshrink", "softshrink", "hardswish", "threshold"),
}
"""Functions whose result may be 0 although no argument is small."""
_MOVING_ZEROS = {
    *("alias", "cat", "diagonal", "expand", "flip", "index", "mm", "mv", "permute", "repeat", "reshape", "rsub", "select", "slice"),
    *("stack", "sum_to", "t", "transpose", "unindex", "unsqueeze"),
}
"""Operations that may move a 0 that is not an argument of a function of the language."""


class UnknownBound(Exception):
    """The bound of an error is not known, or it is too large."""


class Bounded(Tensor):
    """A tensor with a bound of the error of each element, in units of the machine epsilon.

    Attributes:
        error: the bound, which has the shape of the tensor or is one number.
        primitive, args: the operation that computed the tensor; ``None`` for a variable.
        tape: the tensors in the order of their computation.
        number: the position on the tape.
    """

    __slots__ = ("args", "error", "number", "primitive", "tape")

    error: Any
    primitive: Primitive | None
    args: Sequence[Any]
    tape: Tape
    number: int

    def applied(self, primitive: Primitive, args: Sequence[Any]) -> Tensor:
        """Return the result of a primitive with a bound of its error; raise ``UnknownBound`` if the bound is not known."""
        return self.tape.apply(primitive, args)


class _Rule(NamedTuple):
    """The VJP rule of an argument, which needs the arguments ``picks``: ``_OUT`` is the result and ``_SHAPE`` the own shape."""

    position: int
    vjp: Callable[..., Any]
    picks: tuple[int, ...]

    def values(self, args: Sequence[Any], out: Any) -> list[Any]:
        """Return the values that the rule needs."""
        return [args[i] if i >= 0 else out if i == _OUT else np.shape(args[self.position]) for i in self.picks]


_OUT, _SHAPE = -1, -2


@cache
def _rules(primitive: Primitive) -> list[_Rule]:
    """Return the rules of the arguments of a primitive that have one."""
    positions = {name: i for i, name in enumerate(primitive.parameters)}
    rules = []
    for name, vjp in primitive.vjps.items():
        if vjp is not None:
            _cotangent, *needed = argument_names(vjp)
            picks = [_OUT if key == "out" else _SHAPE if key.endswith("_shape") else positions[key] for key in needed]
            rules.append(_Rule(positions[name], vjp, tuple(picks)))
    return rules


class Tape:
    """Values with bounds of their errors, in the order of their computation; ``dtype`` is the type of the evaluation."""

    def __init__(self, dtype: str) -> None:
        info = np.finfo(dtype)
        self.eps = float(info.eps)
        self._smallest, self._largest = float(info.tiny) ** 0.5, float(info.max) ** 0.5  # their squares are in the range
        self.values: list[Bounded] = []

    def tensor(
        self, data: Array | np.floating, error: Any, primitive: Primitive | None = None, args: Sequence[Any] = ()
    ) -> Bounded:
        """Append a tensor with a bound, ``error``, to ``values`` and return it; a variable has no ``primitive``."""
        result = Bounded.__new__(Bounded)
        result._data, result._requires_grad, result._edge, result._extra = data, False, None, None
        result.error, result.primitive, result.args, result.tape, result.number = error, primitive, args, self, len(self.values)
        self.values.append(result)
        return result

    def apply(self, primitive: Primitive, args: Sequence[Any]) -> Tensor:
        """Return the result of a primitive, which is a plain tensor if it is not of floats; see ``Bounded.applied``."""
        # The first argument of a primitive of a sequence is a list of tensors.
        values = [list(map(array_of, args[0])), *args[1:]] if primitive.of_sequence else list(map(array_of, args))
        data = primitive.forward(*values)
        if data.size > MOST_ELEMENTS:
            raise UnknownBound
        if data.dtype.kind != "f":
            return tensor_on(data)
        self._check_range(primitive, data, values)
        size = abs(data)
        own_error = (size + 1 if primitive.name in _ABSOLUTE else size) * ROUNDING
        return self.tensor(data, own_error + self._propagated_error(primitive, args, values, data), primitive, args)

    def _check_range(self, primitive: Primitive, data: Array, values: Sequence[Any]) -> None:
        """Raise ``UnknownBound`` if a result is near the ends of the range of floats, or 0 for a reason that is not known."""
        sizes = abs(data)
        smallest = largest = sizes
        if type(data) is np.ndarray:  # and not a scalar of NumPy
            smallest, largest = sizes.min(initial=1.0), sizes.max(initial=0.0)
        if not largest < self._largest:
            raise UnknownBound
        if smallest < self._smallest:
            tiny = (sizes < self._smallest) & (sizes > 0)
            may_be_zero = (
                primitive.name in MAY_BE_0
                or primitive.name in _MOVING_ZEROS
                or any(np.any(np.equal(value, 0)) for value in values if _is_number(value))
            )
            if np.any(tiny) or not may_be_zero:
                raise UnknownBound

    def _propagated_error(self, primitive: Primitive, args: Sequence[Any], values: Sequence[Any], data: Array) -> Any:
        """Return the bound of the error that the errors of the arguments cause, or raise ``UnknownBound``."""
        if primitive.series == "product":
            (x, y), (x_error, y_error) = values, (getattr(value, "error", 0.0) for value in args)
            return abs(x) * y_error + abs(y) * x_error + x_error * y_error * self.eps
        if primitive.elementwise:
            return self._elementwise_error(primitive, args, values, data)
        if primitive.series == "linear" and primitive.name != "nll_loss":  # it moves and adds elements, and so errors
            first = args[0]
            errors = [_rounded_error(item) for item in first] if primitive.of_sequence else _rounded_error(first)
            return primitive.forward(errors, *values[1:])
        if primitive.name in ("dot", "mv", "mm", "bmm"):  # products of matrices, and so of sizes with errors
            (a, b), (a_error, b_error) = map(np.abs, values), map(_rounded_error, args)
            return primitive.forward(a, b_error) + primitive.forward(a_error, b)
        raise UnknownBound

    def _elementwise_error(self, primitive: Primitive, args: Sequence[Any], values: Sequence[Any], data: Array) -> Any:
        """Return the sum of the errors of ``args``, each times the derivative; ``values`` are their arrays, ``data`` the result."""
        total: Any = 0.0
        for rule in _rules(primitive):
            argument = args[rule.position]
            if not isinstance(argument, Bounded) or not np.any(error := argument.error):
                continue
            slope = abs(rule.vjp(_ONE, *rule.values(values, data)))
            total = total + slope * error
            if primitive.series != "linear" and not np.all(slope):  # at a step or an extremum, a slope of 0 hides the change
                total = total + self._change_within_error(primitive, values, rule.position, error, data)
        return total

    def _change_within_error(self, primitive: Primitive, values: Sequence[Any], position: int, error: Any, data: Array) -> Any:
        """Return the change of a result in units of the machine epsilon if an argument changes by its error."""
        ends = [[*values[:position], values[position] + side * error * self.eps, *values[position + 1 :]] for side in (-1, 1)]
        return sum(np.abs(primitive.forward(*end) - data) for end in ends) / self.eps

    def gradients(self, output: Tensor, variables: Iterable[Tensor], start: Any = None) -> list[Tensor | None]:
        """Return the gradients of an output for a cotangent ``start``, by default 1; ``None`` for variables that it lacks."""
        if not isinstance(output, Bounded):
            return [None for _ in variables]
        cotangents: dict[int, Any] = {output.number: np.ones_like(output._data) if start is None else start}
        pending = [-output.number]  # a heap, from which the latest tensor comes first
        while pending:
            value = self.values[-heapq.heappop(pending)]
            primitive = value.primitive
            if primitive is None:  # a variable, which keeps its cotangent
                continue
            for argument, part in _argument_cotangents(primitive, value, cotangents.pop(value.number)):
                if not isinstance(argument, Bounded) or part is None:
                    continue
                if np.shape(part) != argument.shape:  # the argument was broadcast
                    part = sum_to(part, argument.shape)
                if argument.number in cotangents:
                    cotangents[argument.number] = cotangents[argument.number] + part
                else:
                    cotangents[argument.number] = part
                    heapq.heappush(pending, -argument.number)
        return [cotangents.get(variable.number) if isinstance(variable, Bounded) else None for variable in variables]


def _argument_cotangents(primitive: Primitive, value: Bounded, cotangent: Any) -> list[tuple[Any, Any]]:
    """Return each argument of the operation that computed a value, with its cotangent."""
    if primitive.of_sequence:
        (vjp,) = primitive.vjps.values()
        assert vjp is not None
        shapes = tuple(np.shape(item) for item in value.args[0])
        return [(item, vjp(cotangent, i, shapes, *value.args[1:])) for i, item in enumerate(value.args[0])]
    return [
        (value.args[rule.position], rule.vjp(cotangent, *rule.values(value.args, value)))
        for rule in _rules(primitive)
        if isinstance(value.args[rule.position], Bounded)
    ]


def _is_number(value: Any) -> bool:
    """Return whether an argument is a number or an array of numbers, and not a shape or another option."""
    return isinstance(value, (np.ndarray, np.generic, float, int))


def _rounded_error(argument: Any) -> Any:
    """Return the error of an argument as an array of its shape, with the rounding of one addition."""
    value = array_of(argument)
    return np.broadcast_to(getattr(argument, "error", 0.0), np.shape(value)) + ROUNDING * np.abs(value)


def absorbs(trace: Trace) -> bool:
    """Return whether a sum of two numbers is equal to one of them because the other is too small to change it."""
    for step in trace:
        is_sum = step.op is not None and step.op.name in ("add", "sub") and len(step.arguments) == 2
        if is_sum and np.ndim(raw(step.result)) == 0:
            a, b, total = map(raw, (*step.arguments, step.result))
            if (a != 0 and np.abs(total) == np.abs(b)) or (b != 0 and total == a):  # 0 - b is -b
                return True
    return False


def is_accurate(evaluation: Evaluation, order: int, shows_value: bool) -> bool:
    """Return whether first-order bounds show that the derivatives up to an order are accurate, and the value if it is shown."""
    most_elements = MOST_VARIABLES if order > 1 else MOST_ELEMENTS
    if len(evaluation.trace) > MOST_STEPS or sum(leaf.numel() for leaf in evaluation.variables.values()) > most_elements:
        return False
    if absorbs(evaluation.trace) or any(function.partials is not None for function in evaluation.evaluator.functions.values()):
        return False
    tape = Tape(evaluation.dtype)
    limit = tape.eps**-0.5  # in units of the machine epsilon: half of the digits
    leaves: dict[str, Tensor] = {
        name: tape.tensor(leaf._data, 0.0) if leaf.dtype.kind == "f" else leaf for name, leaf in evaluation.leaves.items()
    }
    try:
        output = _repeat_with_bounds(evaluation, tape, leaves)
        if shows_value and not _is_small(output, limit / 4):  # a margin for what the first order leaves out
            return False
        if order == 0 or not isinstance(output, Bounded):  # without derivatives, or those of a constant
            return True
        if output._data.size != 1 and evaluation.gradient is None:
            return False  # the derivatives of several elements are not examined
        start = None if evaluation.gradient is None else evaluation.gradient._data
        variables = [leaves[name] for name in evaluation.variables]
        return _are_small(tape, output, variables, start, min(order, MOST_ORDER), limit / SUSPECT)
    except (UnknownBound, AutodiffError, NotImplementedError, *FOREIGN):
        return False
    finally:
        tape.values.clear()  # each value refers to the tape


def _are_small(tape: Tape, output: Tensor, variables: Sequence[Tensor], start: Any, order: int, most: float) -> bool:
    """Return whether the errors of derivatives up to an order are at most ``most``; ``start`` is the cotangent of the output."""
    gradients = tape.gradients(output, variables, start)
    for k, gradient in enumerate(gradients):
        if not _is_small(gradient, most):
            return False
        if order > 1 and isinstance(gradient, Bounded):
            elements = [gradient[place] for place in np.ndindex(gradient.shape)] if gradient.shape else [gradient]
            remaining = variables[k:]  # mixed derivatives with earlier variables are known already
            if not all(_are_small(tape, element, remaining, None, order - 1, most) for element in elements):
                return False
    return True


def _is_small(value: Any, most: float) -> bool:
    """Return whether the relative error of a value, 0 if it has no bound, is at most ``most`` units of the machine epsilon."""
    return not isinstance(value, Bounded) or bool(np.all(value.error <= most * abs(value._data)))


def _repeat_with_bounds(evaluation: Evaluation, tape: Tape, leaves: Mapping[str, Tensor]) -> Tensor:
    """Return the output of an evaluation for leaves with bounds.

    Plain Python numbers of the program are replaced by tensors with bounds.

    Raises:
        UnknownBound: if the trace does not show an argument, or does not say which plain number it is.
    """
    has_plain = any(isinstance(step.result, float) for step in evaluation.trace)
    is_simple = not any(step.op is None or step.keywords or isinstance(step.result, tuple) for step in evaluation.trace)
    if has_plain and not (is_simple and evaluation.dtype == "float64"):
        raise UnknownBound  # only repeated steps give a plain number a bound, which is of float64
    return _repeat_steps(evaluation, tape, leaves, has_plain) if is_simple else evaluation.recomputed(leaves)


def _repeat_steps(evaluation: Evaluation, tape: Tape, leaves: Mapping[str, Tensor], has_plain: bool) -> Tensor:
    """Return the output as ``_repeat_with_bounds`` does, from the steps of the trace, in half of the time of an evaluation."""
    tensors: dict[int, Any] = {id(leaf): leaves[name] for name, leaf in evaluation.leaves.items()}  # by the id of the original
    plain: dict[float, Bounded] = {}  # the results of operations on plain numbers, by the number
    for step in evaluation.trace:
        assert step.op is not None
        arguments = [tensors.get(id(value), value) for value in step.arguments]
        if has_plain:
            arguments = [plain.get(value, value) if isinstance(value, float) else value for value in arguments]
        if isinstance(step.result, float):
            arguments = [tape.tensor(np.float64(value), 0.0) if isinstance(value, float) else value for value in arguments]
            plain[step.result] = invoke(step.op, arguments, {})
        elif any(isinstance(value, Bounded) for value in arguments):
            tensors[id(step.result)] = invoke(step.op, arguments, {})
        elif any(id(value) in tensors for value in flat_inputs(step)):
            raise UnknownBound
    output = evaluation.output
    if id(output) not in tensors and plain and not output.shape:
        return plain.get(float(output._data), output)
    result: Tensor = tensors.get(id(output), output)
    return result
