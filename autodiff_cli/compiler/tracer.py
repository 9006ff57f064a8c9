"""Tracing: scalar operations are recorded on a tape instead of being executed.

A ``Tracer`` takes the place of a tensor in an expression and in VJP rules.  A function of a tracer appends scalar
instructions to the tape.  An array such as ``[x, y, z]`` becomes an array of operands: elementwise functions append one
instruction for each element.  For functions that only move, add and multiply elements, NumPy computes with the operands.
The tape therefore contains scalars only.

Python control flow that depends on a value cannot be traced; it raises ``NotRecordable``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.compiler.instruction import Instruction, Operand, undecided
from autodiff_cli.compiler.tape import Tape
from autodiff_cli.errors import FOREIGN, NotRecordable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.autograd.dtypes import DType
    from autodiff_cli.autograd.primitives.multi_output import MultiOutput

    Operands = NDArray[Any]
    """An array of operands."""


_LINEAR = ("linear", "bilinear", "product")
_UNROLLED = frozenset(["prod", "cumprod", "cross", "tril", "triu", "gather", "einsum", "pad", "diag_embed", "addmm"])
"""Further functions that only move, add and multiply elements."""


def _refuse(self: Tensor, *_: object, **__: object) -> NoReturn:
    raise undecided()


class Tracer(Tensor):
    """A tensor whose elements are operands."""

    __slots__ = ("_element_type", "tape")

    tape: Tape
    _element_type: DType

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self._element_type

    def is_floating_point(self) -> bool:
        """Return whether the elements are float32 or float64."""
        return self._element_type.kind == "f"

    def applied(self, primitive: Primitive, arguments: Sequence[Any]) -> Tensor:
        """Return the result of a primitive that has this tensor as an argument, or raise ``NotRecordable``."""
        return apply(self.tape, primitive, arguments)

    def applied_several(self, operation: MultiOutput, arguments: Sequence[Any]) -> Sequence[Tensor]:
        """Return the results of an operation that has several: those of a formula, or else views.  May raise ``NotRecordable``."""
        formula = self.tape.formulas.get(operation.name)
        if formula is not None:
            results: Sequence[Tensor] = formula(*arguments)
            return results
        if operation.view is None:
            raise NotRecordable(f"'{operation.name}' has no elementwise formula")
        return operation.views(self, arguments)

    item = tolist = numpy = __bool__ = __float__ = __int__ = __index__ = __array__ = _refuse


def as_tensor(tape: Tape, operands: Operands | Operand) -> Tensor:
    """Return operands as a ``Tracer``.  If all are constants, return an ordinary tensor with floats of the type of the tape."""
    if type(operands) is Instruction:
        return _tracer(tape, _in_array(operands), operands.dtype)
    array = operands if isinstance(operands, np.ndarray) else _in_array(operands)
    types = [operand.dtype for operand in array.flat if type(operand) is Instruction]
    if types:
        return _tracer(tape, array, np.result_type(*types))
    values = np.array(array.tolist())
    typed = values.astype(tape.dtype) if values.dtype.kind == "f" else values
    return tensor_on(typed[()])


def _tracer(tape: Tape, operands: Operands, dtype: DType) -> Tracer:
    """Return a tracer without a graph.  The constructor is not called, because it does not take an array of operands."""
    tracer = Tracer.__new__(Tracer)
    tracer._data = operands
    tracer._requires_grad = False
    tracer._edge = tracer._extra = None
    tracer._element_type = dtype
    tracer.tape = tape
    return tracer


def as_operand(value: object) -> Operand:
    """Return the single element of a tensor, an array or a number as an operand."""
    operand: Operand = as_operands(value).item()
    return operand


def as_operands(value: object) -> Operands:
    """Return the elements of a tensor, an array or a number as an array of operands."""
    if isinstance(value, Tracer):
        elements: Operands = value._data
        return elements
    array = np.asarray(value._data if isinstance(value, Tensor) else value)
    return _in_array(array.item()) if array.ndim == 0 else array.astype(object)


def _in_array(operand: Operand) -> Operands:
    """Return an operand as a 0-d array."""
    box = np.empty((), object)
    box[()] = operand
    return box


def apply(tape: Tape, primitive: Primitive, arguments: Sequence[Any]) -> Tensor:
    """Return the result of a primitive that has a ``Tracer`` as an argument; ``NotRecordable`` if it cannot be traced.

    A formula of the tape comes first; else an elementwise primitive is recorded for each element, and NumPy computes others.
    """
    formula = None if primitive.elementwise else tape.formulas.get(primitive.name)
    if formula is not None:
        tensor: Tensor = formula(*arguments)
        return tensor
    if primitive.of_sequence:  # such as ``stack``, whose first argument is a sequence of tensors
        return _apply_to_elements(tape, primitive, [as_operands(value) for value in arguments[0]], *arguments[1:])
    tensors, statics = [as_operands(value) for value in arguments[: primitive.arity]], tuple(arguments[primitive.arity :])
    if not primitive.elementwise:
        return _apply_to_elements(tape, primitive, *tensors, *statics)
    if any(isinstance(value, Tensor) for value in statics):  # an argument that must be known
        raise undecided()
    if all(operands.ndim == 0 for operands in tensors):
        return as_tensor(tape, tape.record(primitive, tuple(operands.item() for operands in tensors), statics))
    return as_tensor(tape, _recorded_elements(tape, primitive, np.broadcast_arrays(*tensors), statics))


def _recorded_elements(tape: Tape, primitive: Primitive, arrays: Sequence[Operands], statics: tuple[Any, ...]) -> Operands:
    """Record an elementwise primitive for each element of arrays of one shape, and return the results in this shape."""
    results = np.empty(arrays[0].shape, object)
    for i, elements in enumerate(zip(*[operands.flat for operands in arrays], strict=True)):
        results.flat[i] = tape.record(primitive, elements, statics)
    return results


def _apply_to_elements(tape: Tape, primitive: Primitive, *arguments: Any) -> Tensor:
    """Apply a primitive that only moves, adds and multiplies elements with NumPy; raise ``NotRecordable`` for another one."""
    refusal = NotRecordable(f"'{primitive.name}' has no elementwise formula")
    if primitive.series not in _LINEAR and primitive.name not in _UNROLLED:
        raise refusal
    try:
        return as_tensor(tape, primitive.forward(*arguments))
    except FOREIGN:
        raise refusal from None


_SECTIONS = ("reduce", "norms", "extremes", "linalg", "contract", "loss", "matrices", "decompose")
"""The modules whose functions take arrays; most of these functions return a scalar unchanged."""
_MIXED_SECTIONS = ("activation", "comparison", "layers", "numerical")
"""The modules some of whose functions take arrays."""


def takes_array(op: FunctionInfo) -> bool:
    """Return whether a function takes an array, such as ``sum`` and ``softmax``."""
    return op.section in _SECTIONS or (op.section in _MIXED_SECTIONS and "dim" in op.parameters) or op.name in ("cov", "corrcoef")


def is_of_scalars(values: Iterable[object]) -> bool:
    """Return whether the tensors among the arguments of a call are scalars, and one of them depends on a variable."""
    tensors = [value for value in values if isinstance(value, Tensor)]
    return any(isinstance(t, Tracer) or t.requires_grad for t in tensors) and not any(t.shape for t in tensors)


def is_per_row(op: FunctionInfo, arguments: Sequence[object], named: Mapping[str, object]) -> bool:
    """Return whether a call is a loss, or ``x.max(y)``, which compares two numbers."""
    return "reduction" in op.parameters or (op.name in ("max", "min") and len(arguments) + len(named) == 2 and "dim" not in named)
