"""Arbitrary-precision tensors, which an expression evaluates like any other tensor.

Functions are looked up by name: elementwise functions in ``elementary`` and ``special``, all others in ``array_functions``.  For
an array function without an entry, NumPy runs the declared forward computation on object arrays.  If the computation fails,
``NotPrecise`` is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autodiff_cli.autograd.primitives.multi_output import MultiOutput
from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import FOREIGN, NotPrecise
from autodiff_cli.language.parser import parse
from autodiff_cli.precise.arithmetic import Arithmetic, Exact, Number
from autodiff_cli.precise.array_functions import ARRAY_FUNCTIONS, Cells, boxed
from autodiff_cli.precise.elementary import ELEMENTARY
from autodiff_cli.precise.special import SPECIAL

_UNROUNDED = frozenset(["abs", "neg", "where", "maximum", "minimum", "clamp", "hardtanh", "relu", "sign", "floor", "ceil"])
"""Functions that do not round in float64, as they select a value, change a sign or return an integer."""


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

    def applied(self, primitive: Primitive, given: Sequence[Any]) -> Any:
        """Apply a primitive.

        Raises:
            NotPrecise: if the primitive does not have an arbitrary-precision implementation.
        """
        return applied(self.math, primitive, given)

    def applied_several(self, operation: MultiOutput, given: Sequence[Any]) -> list[Tensor]:
        """Return the results of an operation with several results, such as ``sort``."""
        forward = ARRAY_FUNCTIONS.get(operation.name, operation.forward)
        made = _computed(operation.name, forward, [self._data, *given[1:]])
        return [tensor(self.math, part) for part in made]

    def item(self) -> Any:
        """Return the only element as a float that stores its exact number."""
        if self._data.size != 1:
            return super().item()
        return Exact(self._data.reshape(())[()])

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Return the tensor itself, because arbitrary-precision tensors have only one type."""
        return self


def tensor(math: Arithmetic, result: NDArray[Any] | Number | bool) -> Tensor:
    """Convert the result of an operation to a tensor: an ordinary tensor for booleans and indices."""
    array = result if isinstance(result, np.ndarray) else boxed(result)
    if array.dtype != object:
        return precise(math, array) if array.dtype.kind == "f" else tensor_on(array[()], None)
    kinds = {type(cell) for cell in array.flat}
    if kinds and kinds <= {bool, np.bool_}:
        return tensor_on(array.astype(bool)[()], None)
    return precise(math, array)


def precise(math: Arithmetic, values: object) -> Precise:
    """Convert numbers of any type to an arbitrary-precision tensor without rounding."""
    array = boxed(values) if isinstance(values, float) else np.asarray(values)
    cells = array
    if array.dtype != object or any(type(cell) is not Number for cell in array.flat):
        cells = np.empty(array.shape, object)
        for i, value in enumerate(array.flat):
            cells.flat[i] = math.of(value)
    made = Precise.__new__(Precise)
    made._data = cells
    made._requires_grad = False
    made._edge = made._extra = None
    made.math = math
    return made


def _elements(value: object) -> NDArray[Any]:
    """Convert a tensor, an array or a number to an array."""
    if isinstance(value, Tensor):
        value = value._data
    return value if isinstance(value, np.ndarray) else boxed(value)


def applied(math: Arithmetic, primitive: Primitive, given: Sequence[Any]) -> Any:
    """Apply a primitive to arguments that include an arbitrary-precision tensor."""
    if primitive.of_sequence:
        arrays = [_cells(math, one) for one in given[0]]
        return tensor(math, _computed(primitive.name, primitive.forward, [arrays, *given[1:]]))
    operands = given[: primitive.arity]
    statics = [value.item() if isinstance(value, Tensor) and not value.shape else value for value in given[primitive.arity :]]
    if primitive.elementwise:
        return _element_by_element(math, primitive, [_elements(value) for value in operands], statics)
    cells = [None if value is None else _cells(math, value) for value in operands]
    forward = ARRAY_FUNCTIONS.get(primitive.name, primitive.forward)
    return tensor(math, _computed(primitive.name, forward, [*cells, *statics]))


def _cells(math: Arithmetic, value: object) -> NDArray[Any]:
    """Convert floating-point elements to ``Number`` objects; return booleans and indices unchanged."""
    array = _elements(value)
    if array.dtype.kind in "bi" or (array.dtype == object and all(type(cell) is Number for cell in array.flat)):
        return array
    cells: Cells = precise(math, array)._data
    return cells


def _computed(
    name: str, forward: Callable[..., Any], arguments: Sequence[Any], errors: tuple[type[Exception], ...] = FOREIGN
) -> Any:
    try:
        return forward(*arguments)
    except NotPrecise:
        raise
    except errors:  # the call succeeds with floats, so ``Number`` objects cause the error
        raise NotPrecise(name) from None


_FUNCTIONS = ELEMENTARY | SPECIAL
_OF_MPMATH = (ArithmeticError, ValueError, NotImplementedError, MemoryError, TypeError)


def _identity(primitive: Primitive) -> Callable[..., Any] | None:
    """Return the function that evaluates the decomposition of a primitive, if it is a text, which holds exactly."""
    text = primitive.decomposition
    if not isinstance(text, str):
        return None
    from autodiff_cli.precise.evaluator import PreciseEvaluator

    tree = parse(text)

    def function(math: Arithmetic, *values: Any) -> Any:
        arguments = dict(zip(primitive.parameters, values, strict=True))
        inputs = {name: arguments.pop(name) for name in primitive.parameters[: primitive.arity]}
        result = PreciseEvaluator(text, tree, math, inputs, arguments).output()
        return result._data.item().value if isinstance(result, Precise) else result.item()

    return function


def _element_by_element(
    math: Arithmetic, primitive: Primitive, arrays: Sequence[NDArray[Any]], statics: Sequence[object]
) -> Tensor:
    name = primitive.name
    function = _FUNCTIONS.get(name) or _identity(primitive)
    spread = np.broadcast_arrays(*arrays)
    result = np.empty(spread[0].shape, object)
    for i, row in enumerate(zip(*[cells.ravel() for cells in spread], strict=True)):
        if function is None:
            raise NotPrecise(name)
        given = [cell if isinstance(cell, (bool, np.bool_)) else math.of(cell).value for cell in row]
        value = _computed(name, function, [math, *given, *statics], _OF_MPMATH)
        if isinstance(value, math.mp.mpc):
            value = math.mp.nan if value.imag else value.real
        if isinstance(value, (bool, np.bool_)):
            result.flat[i] = bool(value)
        else:
            result.flat[i] = Number(math, math.mp.mpf(value)) if name in _UNROUNDED else math.made(value)
    return tensor(math, result)
