"""Tensors of numbers of many digits, which go through an expression as any tensor does.

An elementwise function looks its name up in ``functions``.  A function that moves, adds and multiplies elements is run by
NumPy on arrays of objects, as its declaration says; the few that ask their array for more than that have a form in
``shaped``.  What has neither raises ``NotPrecise``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import FOREIGN, NotPrecise
from autodiff_cli.precise.functions import computed
from autodiff_cli.precise.number import Arithmetic, Exact, Number
from autodiff_cli.precise.shaped import SHAPED

_UNROUNDED = frozenset(["abs", "neg", "where", "maximum", "minimum", "clamp", "hardtanh", "relu", "sign", "floor", "ceil"])
"""Functions that choose or change a sign: a float64 does that without an error."""


class Precise(Tensor):
    """A tensor whose elements are ``Number``; comparisons give ordinary tensors.

    Attributes:
        math: the arithmetic of its elements.
    """

    __slots__ = ("math",)

    math: Arithmetic

    @property
    def dtype(self) -> Any:
        """The type that it stands in for."""
        return np.dtype(np.float64)

    def is_floating_point(self) -> bool:
        """True: what is no real number is an ordinary tensor."""
        return True

    def applied(self, primitive: Primitive, given: Sequence[Any]) -> Any:
        """The result of a declared function of it.

        Raises:
            NotPrecise: if the function has no form here.
        """
        return applied(self.math, primitive, given)

    def of_several(self, name: str, forward: Callable[..., Any], given: Sequence[Any]) -> list[Tensor]:
        """The results of a function that has several, such as ``sort``."""
        made = _computed(name, SHAPED.get(name, forward), [self._data, *given])
        return [tensor(self.math, part) for part in made]

    def item(self) -> Any:
        """The only element as a plain number that remembers its digits."""
        if self._data.size != 1:
            return super().item()
        return Exact(self._data.reshape(())[()])

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Itself: it has one type only."""
        return self


def tensor(math: Arithmetic, cells: Any) -> Tensor:
    """A tensor of what an operation gave: of numbers, or an ordinary one of booleans and positions."""
    array = cells if isinstance(cells, np.ndarray) else _boxed(cells)
    if array.dtype != object:
        return precise(math, array) if array.dtype.kind == "f" else tensor_on(array[()], None)
    kinds = {type(cell) for cell in array.flat}
    if kinds and kinds <= {bool, np.bool_}:
        return tensor_on(array.astype(bool)[()], None)
    return precise(math, array)


def precise(math: Arithmetic, values: Any) -> Precise:
    """A tensor of any numbers, taken as exactly what they are."""
    array = _boxed(values) if isinstance(values, float) else np.asarray(values)
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


def _boxed(value: Any) -> Any:
    box = np.empty((), object)
    box[()] = value
    return box


def cells_of(value: Any) -> Any:
    """The elements of a tensor, an array or a number as an array."""
    if isinstance(value, Tensor):
        value = value._data
    return value if isinstance(value, np.ndarray) else _boxed(value)


def applied(math: Arithmetic, primitive: Primitive, given: Sequence[Any]) -> Any:
    """The result of a declared function, where one of its tensors is of many digits."""
    if primitive.of_sequence:
        arrays: list[Any] = [[_objects(math, one) for one in given[0]]]
        return tensor(math, _computed(primitive.name, primitive.forward, [*arrays, *given[1:]]))
    statics = [value.item() if isinstance(value, Tensor) and not value.shape else value for value in given[primitive.arity :]]
    if primitive.elementwise:
        return _element_by_element(math, primitive, [cells_of(value) for value in given[: primitive.arity]], statics)
    operands = [None if value is None else _objects(math, value) for value in given[: primitive.arity]]
    forward = SHAPED.get(primitive.name, primitive.forward)
    return tensor(math, _computed(primitive.name, forward, [*operands, *statics]))


def _objects(math: Arithmetic, value: Any) -> Any:
    """Floating-point elements as numbers; booleans and positions as they are."""
    array = cells_of(value)
    if array.dtype == object and all(type(cell) is Number for cell in array.flat):
        return array
    if array.dtype.kind in "bi":
        return array
    return precise(math, array)._data


def _computed(name: str, forward: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    try:
        return forward(*arguments)
    except NotPrecise:
        raise
    except FOREIGN:  # floats have gone this way before: only numbers of another kind cannot
        raise NotPrecise(name) from None


def _element_by_element(math: Arithmetic, primitive: Primitive, arrays: Sequence[Any], statics: Sequence[Any]) -> Any:
    name = primitive.name
    spread = np.broadcast_arrays(*arrays)
    result = np.empty(spread[0].shape, object)
    rounded = name not in _UNROUNDED
    for i, row in enumerate(zip(*[cells.ravel() for cells in spread], strict=True)):
        given = [cell if isinstance(cell, (bool, np.bool_)) else math.of(cell).value for cell in row]
        value = computed(name, math, [*given, *statics])
        if isinstance(value, (bool, np.bool_)):
            result.flat[i] = bool(value)
        else:
            result.flat[i] = math.made(value) if rounded else Number(math, math.mp.mpf(value))
    return tensor(math, result)
