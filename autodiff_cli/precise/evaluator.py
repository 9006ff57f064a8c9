"""Tensors and expressions in arbitrary-precision arithmetic.

The inputs and the literals of the program are exactly the float64 or float32 numbers that ``eval`` uses; for example, ``0.1``
is the nearest float.  Functions of constants (``1/3``, ``sqrt(2)``) and the names ``pi`` and ``e`` are computed to many digits,
because rounding them to the 16 digits of a float64 counts as an error of the answer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autodiff_cli.autograd.modes import no_grad
from autodiff_cli.autograd.primitives.argument_kinds import MASK, POSITIONS
from autodiff_cli.autograd.primitives.multi_output import MultiOutput
from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.autograd.tensor import Tensor, new_tensor, tensor_on
from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.compiler.partition import needed, resolved
from autodiff_cli.errors import FOREIGN, NotPrecise
from autodiff_cli.evaluation.coercion import is_plain_number
from autodiff_cli.evaluation.evaluator import Evaluator
from autodiff_cli.evaluation.tensor_log import TensorLog
from autodiff_cli.evaluation.user_function import UserFunction
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax
from autodiff_cli.precise.arithmetic import Arithmetic, Exact, Number, Real
from autodiff_cli.precise.array_functions import ARRAY_FUNCTIONS, Cells
from autodiff_cli.precise.elementary import ELEMENTARY
from autodiff_cli.precise.special import SPECIAL

_UNROUNDED = frozenset(["abs", "neg", "where", "maximum", "minimum", "clamp", "hardtanh", "relu", "sign", "floor", "ceil"])
"""Functions that do not round in float64, as they select a value, change a sign or return an integer."""
_FUNCTIONS = ELEMENTARY | SPECIAL
Values = Mapping[str, object]
_NO_VALUES: Values = MappingProxyType({})
_MPMATH_ERRORS = (ArithmeticError, ValueError, NotImplementedError, MemoryError, TypeError)


class Precise(Tensor):
    """A tensor whose elements are ``Number`` objects; comparisons return ordinary tensors.

    Attributes:
        math: the arithmetic of the elements.
    """

    __slots__ = ("math",)

    math: Arithmetic

    @property
    def dtype(self) -> Any:
        """The float type that the numbers replace."""
        return np.dtype(np.float64)

    def is_floating_point(self) -> bool:
        """Return True: the elements are always numbers, because booleans and indices are kept in ordinary tensors."""
        return True

    def applied(self, primitive: Primitive, arguments: Sequence[Any]) -> Any:
        """Return the result of a primitive for its operands (a list of arrays if it is ``of_sequence``) and its plain arguments.

        Raises:
            NotPrecise: if the primitive does not have an arbitrary-precision implementation.
        """
        if primitive.of_sequence:
            arrays = [_as_cells(self.math, array) for array in arguments[0]]
            return tensor(self.math, _compute_or_refuse(primitive.name, primitive.forward, [arrays, *arguments[1:]]))
        operands, statics = arguments[: primitive.arity], arguments[primitive.arity :]
        statics = [value.item() if isinstance(value, Tensor) and not value.shape else value for value in statics]
        if primitive.elementwise:
            return _element_by_element(self.math, primitive, [_as_array(value) for value in operands], statics)
        cells = [None if value is None else _as_cells(self.math, value) for value in operands]  # None: an operand that is missing
        forward = ARRAY_FUNCTIONS.get(primitive.name, primitive.forward)
        return tensor(self.math, _compute_or_refuse(primitive.name, forward, [*cells, *statics]))

    def applied_several(self, operation: MultiOutput, arguments: Sequence[Any]) -> list[Tensor]:
        """Return the results of an operation with several results, such as ``sort``; the first argument is this tensor."""
        forward = ARRAY_FUNCTIONS.get(operation.name, operation.forward)
        return [tensor(self.math, part) for part in _compute_or_refuse(operation.name, forward, [self._data, *arguments[1:]])]

    def item(self) -> Any:
        """Return the only element as a float that stores its exact number; the superclass raises the error for several."""
        if self._data.size != 1:
            return super().item()
        return Exact(self._data.reshape(())[()])

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Return the tensor itself, because arbitrary-precision tensors have only one type."""
        return self


def tensor(math: Arithmetic, result: NDArray[Any] | Number | bool) -> Tensor:
    """Convert the result of an operation to an arbitrary-precision tensor, or to an ordinary one for booleans and indices."""
    array = result if isinstance(result, np.ndarray) else np.array(result, object)
    cell_types = {type(cell) for cell in array.flat} if array.dtype == object else set()
    if cell_types and cell_types <= {bool, np.bool_}:
        array = array.astype(bool)
    return precise_tensor(math, array) if array.dtype.kind in "fO" else tensor_on(array[()], None)


def precise_tensor(math: Arithmetic, values: object) -> Precise:
    """Convert one number or an array, of any type, without rounding to an arbitrary-precision tensor outside of a graph."""
    array = np.array(values, object) if isinstance(values, float) else np.asarray(values)  # NumPy would make an ``Exact`` a float64
    result = Precise.__new__(Precise)
    result._data = np.empty(array.shape, object)
    for i, value in enumerate(array.flat):
        result._data.flat[i] = math.number(value)
    result._requires_grad = False
    result._edge = result._extra = None
    result.math = math
    return result


def _as_array(value: object) -> NDArray[Any]:
    """Return the array of a tensor, or a value as an array."""
    if isinstance(value, Tensor):
        value = value._data
    return value if isinstance(value, np.ndarray) else np.array(value, object)


def _as_cells(math: Arithmetic, value: object) -> NDArray[Any]:
    """Convert floating-point elements to ``Number`` objects; return booleans and indices unchanged."""
    array = _as_array(value)
    if array.dtype.kind in "bi" or (array.dtype == object and all(type(cell) is Number for cell in array.flat)):
        return array
    cells: Cells = precise_tensor(math, array)._data
    return cells


def _compute_or_refuse(
    name: str, forward: Callable[..., Any], arguments: Sequence[Any], errors: tuple[type[Exception], ...] = FOREIGN
) -> Any:
    """Return the result of a function of numbers, or raise ``NotPrecise`` if it fails with one of some errors."""
    try:
        return forward(*arguments)
    except NotPrecise:
        raise
    except errors:  # the call succeeds with floats, so ``Number`` objects cause the error
        raise NotPrecise(name) from None


@functools.cache
def _decomposition_function(primitive: Primitive) -> Callable[..., Any] | None:
    """Return the function of mpmath numbers by a decomposition that is a text, as only that is exact; ``None`` for any other."""
    text = primitive.decomposition
    if not isinstance(text, str):
        return None
    tree = parse(text)

    def function(math: Arithmetic, *values: Any) -> Any:
        arguments = dict(zip(primitive.parameters, values, strict=True))
        inputs = {name: arguments.pop(name) for name in primitive.parameters[: primitive.arity]}
        result = PreciseEvaluator(text, tree, math, inputs, arguments).output()
        return result._data.item().value if isinstance(result, Precise) else result.item()

    return function


def _computed_number(math: Arithmetic, primitive: Primitive, operands: Sequence[Any], statics: Sequence[object]) -> Any:
    """Return a primitive of mpmath numbers and booleans as an mpmath number or a boolean; a complex value is nan."""
    name = primitive.name
    if name == "pow" and primitive.arity == 1 and primitive.series != "power":  # the tensor is the exponent, not the base
        name = "power of a number"
    function = primitive.precise or _FUNCTIONS.get(name) or _decomposition_function(primitive)  # the first that exists
    if function is None:
        raise NotPrecise(primitive.name)
    value = _compute_or_refuse(primitive.name, function, [math, *operands, *statics], _MPMATH_ERRORS)
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, math.mpc):
        value = math.nan if value.imag else value.real
    return math.mpf(value)


def number_program(
    math: Arithmetic, variables: Sequence[Instruction], operands: Sequence[Operand]
) -> Callable[[Sequence[Any]], list[Any]]:
    """Return a function of mpmath numbers for the variables of a tape that computes operands, uncounted and not rounded."""
    constants: dict[int, Any] = {}

    def place_or_add(operand: Operand) -> int:
        """Return the place of an operand in the table of values; a constant gets a new place at its end."""
        operand = resolved(operand)
        if type(operand) is Instruction:
            return places[operand]
        number = len(places) + len(constants)  # ``places`` is complete before the first call
        constants[number] = operand if isinstance(operand, bool) else math.mpf(operand)
        return number

    # The table of values, by place: the variables, the results of the steps, and then the constants.
    steps = [instruction for instruction in needed(operands) if instruction.primitive is not None]
    places: dict[Operand, int] = {instruction: i for i, instruction in enumerate([*variables, *steps])}
    calls = [(step.primitive, [place_or_add(operand) for operand in step.operands], step.statics) for step in steps]
    results = [place_or_add(operand) for operand in operands]

    def run(numbers: Sequence[Any]) -> list[Any]:
        values = {**constants, **dict(enumerate(numbers))}
        for number, (primitive, inputs, statics) in enumerate(calls, len(variables)):
            assert primitive is not None
            values[number] = _computed_number(math, primitive, [values[i] for i in inputs], statics)
        return [values[i] for i in results]

    return run


def _element_by_element(
    math: Arithmetic, primitive: Primitive, arrays: Sequence[NDArray[Any]], statics: Sequence[object]
) -> Tensor:
    """Return an elementwise primitive of numbers and booleans, broadcast; ``statics`` are its plain arguments, such as a slope."""
    operands = np.broadcast_arrays(*arrays)
    result = np.empty(operands[0].shape, object)
    for i, cells in enumerate(zip(*[operand.ravel() for operand in operands], strict=True)):
        numbers = [cell if isinstance(cell, (bool, np.bool_)) else math.number(cell).value for cell in cells]
        value = _computed_number(math, primitive, numbers, statics)
        if not isinstance(value, bool):  # only ``result`` simulates rounding
            value = Number(math, value) if primitive.name in _UNROUNDED else math.result(value)
        result.flat[i] = value
    return tensor(math, result)


class _TensorLog(TensorLog):
    """A tensor log that converts literals into arbitrary-precision tensors."""

    def __init__(self, source: str, math: Arithmetic, leaves: Iterable[Tensor], listing: bool) -> None:
        super().__init__(source, np.dtype(np.float64), leaves, listing)
        self.math = math

    def as_tensor(self, value: Any, node: Syntax | None = None) -> Tensor:
        """Return a value as a tensor, with floating-point numbers as arbitrary-precision numbers, also in the list of tensors."""
        if isinstance(value, Precise):
            return value
        tensor = super().as_tensor(value, node)
        if isinstance(value, Tensor) or not tensor.is_floating_point() or isinstance(tensor, Precise):
            return self.as_precise(tensor)
        exact = precise_tensor(self.math, np.array(value, dtype=object))  # of the value, as the float tensor has lost digits
        if node is not None and self.entries:
            listed, expression = self.entries[-1]
            if listed is tensor:  # the superclass has just listed it
                self.entries[-1] = (exact, expression)
        return exact

    def as_precise(self, tensor: Tensor) -> Tensor:
        """Convert a tensor of floats to an arbitrary-precision tensor; return any other tensor unchanged."""
        if isinstance(tensor, Precise) or not tensor.is_floating_point():
            return tensor
        return precise_tensor(self.math, tensor._data)

    def _argument(self, op: FunctionInfo, parameter: str, value: Any, node: Syntax) -> Any:
        """Return an argument as the superclass does, in many digits unless it holds positions or a mask."""
        argument = super()._argument(op, parameter, value, node)
        if op.kinds.get(parameter) in (POSITIONS, MASK):
            return _as_ordinary(argument)
        return self.as_precise(argument) if isinstance(argument, Tensor) else argument


def _as_ordinary(value: Any) -> Any:
    """Convert an arbitrary-precision tensor of indices, or those in a list, to ordinary tensors; return other values unchanged."""
    if isinstance(value, Precise):
        return new_tensor(value._data.astype(np.float64))
    return [_as_ordinary(item) for item in value] if isinstance(value, list) else value


class PreciseEvaluator(Evaluator):
    """An evaluator in arbitrary-precision arithmetic; it ignores user-written derivatives, as it computes values only.

    Args:
        source, tree: the program, as text and as a syntax tree.
        math: the arithmetic of the evaluation.
        inputs: a tensor or an array of numbers for each variable, by name.
        plain: the plain values of other names, such as a slope.
        listing: whether to record all tensors.
    """

    tensors: _TensorLog

    def __init__(
        self, source: str, tree: Syntax, math: Arithmetic, inputs: Values, plain: Values = _NO_VALUES, listing: bool = False
    ) -> None:
        leaves = {name: value if isinstance(value, Tensor) else precise_tensor(math, value) for name, value in inputs.items()}
        super().__init__(source, leaves, np.dtype(np.float64), tree)
        self.math = math
        self.names.update(plain)
        self.tensors = _TensorLog(source, math, leaves.values(), listing)
        self.constants = math.constants

    def run(self) -> Any:
        """Run the program without recording a graph, and return its result."""
        with no_grad():
            return self.program(self.tree)

    def output(self) -> Tensor:
        """Run the program and return its result."""
        return self.tensors.as_precise(self.as_tensor(self.run()))

    def name(self, node: Syntax) -> Any:
        """Return the value of a name; ``pi`` and ``e`` have many digits, and variables may be rounded when they are read."""
        value = super().name(node)
        text = node.children[0].text
        is_constant = type(value) is float and text not in self._scope and text not in self.names
        if is_constant and text in ("pi", "e"):
            return Exact(self.math.result(+self.math.pi if text == "pi" else +self.math.e))  # + computes mpmath's constant
        if self.math.reading and isinstance(value, Precise):
            return precise_tensor(self.math, np.vectorize(self.math.read, otypes=[object])(value._data))
        return value

    def apply(self, op: FunctionInfo, arguments: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        """Return the result of a function; one of plain numbers, such as ``sqrt(2)``, is a plain number that stores many digits."""
        takes_numbers = op.tensors and not op.variadic and all(map(is_plain_number, (*arguments, *named.values())))
        if not takes_numbers or all(isinstance(value, bool) for value in arguments):
            return super().apply(op, arguments, named, node)
        operands, options = arguments[: len(op.tensors)], arguments[len(op.tensors) :]
        with self.tensors.unlisted():  # the tensors are not those of the program
            tensors = [value if isinstance(value, bool) else precise_tensor(self.math, value) for value in operands]
            result = super().apply(op, [*tensors, *options], named, node)
        return result.item() if isinstance(result, Tensor) and not result.shape else result

    def list_result(self, result: Any, node: Syntax) -> Any:
        """List a result in many digits and return it; both the result and what the superclass makes of it may be floats."""
        precise = self.tensors.as_precise(result) if isinstance(result, Tensor) else result
        listed = super().list_result(precise, node)
        return self.tensors.as_precise(listed) if isinstance(listed, Tensor) else listed

    def keys(self, values: Iterable[Any]) -> list[Any]:
        """Return the parts of an index as ordinary values."""
        return super().keys([_as_ordinary(value) for value in values])

    def with_own_vjp(self, function: UserFunction, arguments: list[Any], node: Syntax) -> Any:
        """Return the value of a function; its VJP rule is ignored."""
        value = self.evaluate_body(function, function.body, [self.tensors.as_tensor(value) for value in arguments])
        return self.tensors.keep(value, node)


def numbers(tensor: Tensor) -> list[Real | float]:
    """Return the elements of a tensor: mpmath numbers for an arbitrary-precision tensor, floats for any other."""
    return [cell.value if isinstance(cell, Number) else float(cell) for cell in np.ravel(tensor._data)]
