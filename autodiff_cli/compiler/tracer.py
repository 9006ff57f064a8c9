"""Operations written down instead of carried out: what a Program replays, and what is printed as a formula.

A ``Tracer`` tensor goes through an expression as any tensor does, and through the rules of derivatives too: they were
written for tensors.  Functions of it add operations on single numbers to a list.  What is small and has a shape, as
``[x, y, z]``, is taken apart: its elements are operations of their own, and functions that only move, add and multiply
elements are run on NumPy arrays of such.  So the list is straight, without shapes, and one sweep over it is enough to
append its derivatives, which can be swept again.

Equal operations are one, constants are folded, and what changes nothing (``x*1``, ``x**1``, ``-(-x)``) is left away.  Only
what is exact for every number is: ``0*x`` stays, as it is nan at infinity.

A decision in Python that depends on a value cannot be written down: it raises ``NotRecordable``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.arguments import UNFIT, mismatch
from autodiff_cli.autograd.primitives.primitive import PRIMITIVES, Primitive, argument_names
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import FOREIGN, AutodiffError, NotRecordable

MOST_OPERATIONS = 200_000

Cell = Any
"""An ``Instruction``, or a Python number: a constant."""

_MOVING = ("linear", "bilinear", "product")
_UNROLLED = frozenset(["prod", "cumprod", "cross", "tril", "triu", "gather", "einsum", "pad", "diag_embed", "addmm"])
"""Functions without such a kind that nevertheless only move, add and multiply elements."""
BY_HAND = "by_hand"
"""The name of a primitive whose result is its first argument, and whose derivatives somebody wrote."""


class Instruction:
    """One number of the list: a variable, or the result of a function of others.

    Attributes:
        primitive: the function; ``None`` for a variable.
        given: its arguments, operations and constants and then plain values; for a variable its name.
        dtype: the type of the result.
        number: its place in the list.
    """

    __slots__ = ("dtype", "given", "number", "primitive", "recording")

    def __init__(self, recording: Tape, primitive: Primitive | None, given: tuple[Any, ...], dtype: Any, number: int) -> None:
        self.recording = recording
        self.primitive = primitive
        self.given = given
        self.dtype = dtype
        self.number = number

    @property
    def inputs(self) -> list[Instruction]:
        """The operations among the arguments."""
        return [value for value in self.given if type(value) is Instruction]

    def is_(self, name: str) -> bool:
        """Whether it is of the function of this name."""
        return self.primitive is not None and self.primitive.name == name

    # What NumPy asks of the elements of an array.

    def __add__(self, other: Cell) -> Cell:
        return self.recording.of("add", self, other)

    def __radd__(self, other: Cell) -> Cell:
        return self.recording.of("add", other, self)

    def __sub__(self, other: Cell) -> Cell:
        return self.recording.of("sub", self, other)

    def __rsub__(self, other: Cell) -> Cell:
        return self.recording.of("sub", other, self)

    def __mul__(self, other: Cell) -> Cell:
        return self.recording.of("mul", self, other)

    def __rmul__(self, other: Cell) -> Cell:
        return self.recording.of("mul", other, self)

    def __truediv__(self, other: Cell) -> Cell:
        return self.recording.of("div", self, other)

    def __neg__(self) -> Cell:
        return self.recording.of("neg", self)

    def __getitem__(self, key: tuple[()]) -> Instruction:
        return self  # a sum of all elements is one of them, and NumPy's functions take it out of itself

    def __bool__(self) -> bool:
        raise _undecided()

    def __float__(self) -> float:
        raise _undecided()

    __int__ = __index__ = __float__


def _undecided() -> NotRecordable:
    return NotRecordable("what is computed next depends on a value, which is not known when the operations are written down")


def _refuse(self: Any, *_: Any, **__: Any) -> Any:
    raise _undecided()


class Tracer(Tensor):
    """A tensor whose elements are operations and constants."""

    __slots__ = ("_kind", "recording")

    recording: Tape
    _kind: Any

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self._kind

    def is_floating_point(self) -> bool:
        """True if the elements are float32 or float64."""
        return bool(self._kind.kind == "f")

    def applied(self, primitive: Primitive, given: Sequence[Any]) -> Any:
        """The result of a declared function of it.

        Raises:
            NotRecordable: if it cannot be written down.
        """
        return self.recording.apply(primitive, given)

    item = tolist = numpy = __bool__ = __float__ = __int__ = __index__ = __array__ = _refuse


class Tape:
    """A list of operations on single numbers.

    Args:
        dtype: float64 or float32, the type of the variables.

    Attributes:
        operations: all, in order: each comes after its arguments.
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.operations: list[Instruction] = []
        self._known: dict[Any, Instruction] = {}
        self._kinds: dict[Any, Any] = {}

    # Tensors

    def variable(self, name: str) -> Tracer:
        """A new number that is not known yet."""
        recorded = self.tensor(self._appended(None, (name,), self.dtype))
        assert isinstance(recorded, Tracer)
        return recorded

    def apply(self, primitive: Primitive, given: Sequence[Any]) -> Any:
        """The result of a declared function, where one of the tensors is recorded."""
        if primitive.of_sequence:
            return self._moved(primitive, [[_cells(v) for v in given[0]]], given[1:])
        tensors, statics = [_cells(v) for v in given[: primitive.arity]], tuple(given[primitive.arity :])
        if not primitive.elementwise:
            return self._moved(primitive, tensors, statics)
        if any(isinstance(value, Tensor) for value in statics):
            raise _undecided()
        if all(cells.ndim == 0 for cells in tensors):
            return self.tensor(self.operation(primitive, (*[cells[()] for cells in tensors], *statics)))
        spread = np.broadcast_arrays(*tensors)
        result = np.empty(spread[0].shape, object)
        for i, row in enumerate(zip(*[cells.ravel() for cells in spread], strict=True)):
            result.flat[i] = self.operation(primitive, (*row, *statics))
        return self.tensor(result)

    def _moved(self, primitive: Primitive, tensors: Sequence[Any], statics: Sequence[Any]) -> Any:
        """The result of a function that only moves, adds and multiplies elements: NumPy's, on arrays of operations."""
        if primitive.series not in _MOVING and primitive.name not in _UNROLLED:
            raise NotRecordable(f"'{primitive.name}' cannot be taken apart into operations on single numbers")
        try:
            return self.tensor(primitive.forward(*tensors, *statics))
        except FOREIGN:
            raise NotRecordable(f"'{primitive.name}' cannot be taken apart into operations on single numbers") from None

    def tensor(self, cells: Any) -> Tensor:
        """A tensor of operations; an ordinary one if they are all known."""
        if type(cells) is not np.ndarray:
            cells = _boxed(cells)
        kinds = [cell.dtype for cell in cells.flat if type(cell) is Instruction]
        if not kinds:
            values = np.array(cells.tolist())
            return tensor_on((values.astype(self.dtype) if values.dtype.kind == "f" else values)[()], None)
        recorded = Tracer.__new__(Tracer)
        recorded._data = cells
        recorded._requires_grad = False
        recorded._edge = recorded._extra = None
        recorded._kind = np.result_type(*kinds)
        recorded.recording = self
        return recorded

    # Operations

    def of(self, name: str, *given: Cell) -> Cell:
        """The result of the function of this name."""
        return self.operation(PRIMITIVES[FUNCTIONS[name].function], given)

    def operation(self, primitive: Primitive, given: tuple[Any, ...]) -> Cell:
        """The result of a function of single numbers: an operation, or a constant.

        Args:
            primitive: the function.
            given: a number or an operation for each of its tensors, then its plain values.

        Raises:
            NotRecordable: if the list gets too long.
        """
        conditions = [_is_condition(value) for value in given[: primitive.arity]]
        if any(conditions) and self._kind(primitive, given) == np.float16:  # of booleans NumPy computes in half precision
            counted = [self._counted(v) if is_condition else v for v, is_condition in zip(given, conditions, strict=False)]
            given = (*counted, *given[primitive.arity :])
        if not any(type(value) is Instruction for value in given[: primitive.arity]):
            return self._folded(primitive, given)
        shorter = _shorter(self, primitive, given)
        if shorter is not None:
            return shorter
        key = (primitive, *map(_token, given))
        if primitive.name in ("add", "mul"):
            key = (primitive, frozenset(key[1:]))
        if key not in self._known:
            self._known[key] = self._appended(primitive, given, self._kind(primitive, given))
        return self._known[key]

    def _appended(self, primitive: Primitive | None, given: tuple[Any, ...], dtype: Any) -> Instruction:
        if len(self.operations) >= MOST_OPERATIONS:
            raise NotRecordable(f"the derivatives are more than {MOST_OPERATIONS:,} operations")
        operation = Instruction(self, primitive, given, dtype, len(self.operations))
        self.operations.append(operation)
        return operation

    def _folded(self, primitive: Primitive, given: tuple[Any, ...]) -> Cell:
        with np.errstate(all="ignore"):
            value = primitive.forward(*[self._constant(v) for v in given[: primitive.arity]], *given[primitive.arity :])
        return value.item() if hasattr(value, "item") else value

    def _counted(self, condition: Cell) -> Cell:
        """A condition as 1.0 or 0.0."""
        return self.of("mul", condition, 1.0) if type(condition) is Instruction else float(condition)

    def _constant(self, value: Any) -> Any:
        return self.dtype.type(value) if type(value) is float else np.asarray(value)[()]

    def _kind(self, primitive: Primitive, given: tuple[Any, ...]) -> Any:
        """The type of a result: that of the function of a few ones."""
        kinds = [value.dtype if type(value) is Instruction else type(value) for value in given[: primitive.arity]]
        if primitive.series != "fixed" and all(kind is self.dtype or kind is float or kind is int for kind in kinds):
            return self.dtype
        key = (primitive, *kinds)
        if key not in self._kinds:
            ones = [np.ones(1, v.dtype) if type(v) is Instruction else v for v in given[: primitive.arity]]
            with np.errstate(all="ignore"):
                try:
                    made = primitive.forward(*ones, *given[primitive.arity :])
                except UNFIT as error:
                    raise mismatch(primitive.name, error, ones) from None
            self._kinds[key] = np.asarray(made).dtype  # by hand it may be a plain one
        return self._kinds[key]

    # Derivatives

    def gradient(self, output: Cell, wrt: Sequence[Instruction]) -> list[Cell]:
        """The derivatives of one number by others, appended to the list by a sweep in reverse.

        The rules are those of the declarations.  What a choice did not take contributes nothing (``autograd.untaken``):
        here the condition under which it was taken goes with a gradient.
        """
        if type(output) is not Instruction:
            return [0.0] * len(wrt)
        leading = self._leading(output, wrt)
        arrived: dict[Instruction, tuple[Cell, Cell]] = {output: (1.0, True)}
        for operation in reversed(leading):
            if operation.primitive is None or operation not in arrived:
                continue
            gradient, taken = arrived[operation]
            for argument, part, reached in self._parts(operation, gradient, taken, leading):
                if argument in arrived:
                    before, when = arrived[argument]
                    arrived[argument] = (self.of("add", before, part), self._either(when, reached))
                else:
                    arrived[argument] = (part, reached)
        return [arrived[variable][0] if variable in arrived else 0.0 for variable in wrt]

    def _leading(self, output: Instruction, wrt: Sequence[Instruction]) -> dict[Instruction, None]:
        """The operations that lead from variables to the output with a derivative, in order."""
        behind: set[Instruction] = set()
        inputs = set(wrt)
        work = [output]
        while work:
            operation = work.pop()
            if operation not in behind:
                behind.add(operation)
                work += differentiable(operation)
        leads: dict[Instruction, None] = {}
        for operation in sorted(behind, key=lambda one: one.number):
            if operation in inputs or any(argument in leads for argument in differentiable(operation)):
                leads[operation] = None
        return leads

    def _parts(
        self, operation: Instruction, gradient: Cell, taken: Cell, wanted: Mapping[Instruction, Any]
    ) -> Iterable[tuple[Instruction, Cell, Cell]]:
        """What the rules of an operation hand to its arguments, and when they do at all."""
        primitive = operation.primitive
        assert primitive is not None
        values: dict[str, Any] = {
            name: self._operand(value) if position < primitive.arity else value
            for position, (name, value) in enumerate(zip(primitive.parameters, operation.given, strict=True))
        }
        values["out"] = self.tensor(operation)
        incoming = self._operand(gradient)
        for position, (name, partial) in enumerate(primitive.vjps.items()):
            argument = operation.given[position]
            if partial is None or type(argument) is not Instruction or argument not in wanted:
                continue
            saved = [values.get(name, ()) for name in argument_names(partial)[1:]]  # no value: the shape of a number
            part = self._rule(primitive, partial, incoming, saved)
            reached = taken
            if primitive.selects:
                reached = self._both(taken, self._nonzero(self._rule(primitive, partial, np.float64(1), saved)))
            if reached is not True and primitive.series != "linear":
                part = self.of("where", reached, part, 0.0)
            yield argument, part, reached

    def _operand(self, cell: Cell) -> Any:
        """A number as a rule takes it: a constant as NumPy's, which can be divided by 0."""
        return self.tensor(cell) if type(cell) is Instruction else np.float64(cell)

    def _rule(self, primitive: Primitive, partial: Callable[..., Any], gradient: Any, saved: Sequence[Any]) -> Cell:
        try:
            with np.errstate(all="ignore"):
                return _cells(partial(gradient, *saved))[()]
        except FOREIGN as error:
            why = f": {error.message}" if isinstance(error, AutodiffError) else ""  # Python's words say nothing to a user
            raise NotRecordable(f"the derivative of '{primitive.name}' cannot be written down{why}") from error

    def _nonzero(self, cell: Cell) -> Cell:
        """When a number is not 0."""
        if type(cell) is Instruction and cell.is_("where"):
            condition, one, other = cell.given
            if other == 0.0 and type(one) is not Instruction and one != 0:
                return condition
            if one == 0.0 and type(other) is not Instruction and other != 0:
                return self.of("logical_not", condition)
        return self.of("ne", cell, 0.0) if type(cell) is Instruction else bool(cell != 0)

    def _both(self, one: Cell, other: Cell) -> Cell:
        if one is True or other is True:
            return other if one is True else one
        return self.of("logical_and", one, other)

    def _either(self, one: Cell, other: Cell) -> Cell:
        return True if one is True or other is True else self.of("logical_or", one, other)


def differentiable(operation: Instruction) -> list[Instruction]:
    """The arguments of an operation that have a derivative."""
    primitive = operation.primitive
    if primitive is None or primitive.series == "fixed":
        return []
    return [operation.given[i] for i in primitive.differentiable_args if type(operation.given[i]) is Instruction]


# Cells


def _boxed(cell: Cell) -> Any:
    box = np.empty((), object)
    box[()] = cell
    return box


def _cells(value: Any) -> Any:
    """The elements of a tensor, an array or a number as an array of objects."""
    if isinstance(value, Tracer):
        return value._data
    array = np.asarray(value._data if isinstance(value, Tensor) else value)
    return _boxed(array.item()) if array.ndim == 0 else array.astype(object)


def _is_condition(value: Any) -> bool:
    """Whether a number or an operation is true or false."""
    return value.dtype == np.bool_ if type(value) is Instruction else isinstance(value, (bool, np.bool_))


def _token(value: Any) -> Any:
    """What two arguments have in common if they are the same: 1, 1.0 and True are not, nor 0.0 and -0.0."""
    if type(value) is Instruction:
        return value
    try:
        hash(value)
    except TypeError:
        raise NotRecordable("an argument that is no plain number") from None
    return (type(value), repr(value) if type(value) is float else value)


def _is(value: Any, number: float) -> bool:
    return type(value) in (float, int) and value == number


def _shorter(recording: Tape, primitive: Primitive, given: tuple[Any, ...]) -> Cell | None:
    """The same number by a shorter way, where that is exact; ``None`` if there is none."""
    rule = _SHORTER.get(primitive.name if primitive.series != "chain" else "")  # pow is the name of three
    return None if rule is None else rule(recording, *given)


def _float(value: Any) -> bool:
    return type(value) is not Instruction or value.dtype.kind == "f"


def _shorter_mul(recording: Tape, x: Cell, y: Cell) -> Cell | None:
    for one, other in ((x, y), (y, x)):
        if _is(one, 1) and _float(other):
            return other
        if _is(one, -1) and _float(other):
            return recording.of("neg", other)
        if type(one) is Instruction and one.is_("neg"):
            return recording.of("neg", recording.of("mul", one.given[0], other))  # a sum takes the sign off again
    return None


def _shorter_add(recording: Tape, x: Cell, y: Cell) -> Cell | None:
    if type(y) is Instruction and y.is_("neg"):
        return recording.of("sub", x, y.given[0])
    return recording.of("sub", y, x.given[0]) if type(x) is Instruction and x.is_("neg") else None


def _shorter_sub(recording: Tape, x: Cell, y: Cell) -> Cell | None:
    return recording.of("add", x, y.given[0]) if type(y) is Instruction and y.is_("neg") else None


def _shorter_neg(recording: Tape, x: Cell) -> Cell | None:
    return x.given[0] if x.is_("neg") else None


def _shorter_div(recording: Tape, x: Cell, y: Cell) -> Cell | None:
    if type(x) is Instruction and x.is_("neg"):
        return recording.of("neg", recording.of("div", x.given[0], y))
    return x if _is(y, 1) and _float(x) else None


def _shorter_pow(recording: Tape, x: Cell, y: Cell) -> Cell | None:
    if _is(y, 0):
        return 1.0
    return x if _is(y, 1) and _float(x) else None


def _shorter_and(recording: Tape, x: Cell, y: Cell) -> Cell | None:
    for one, other in ((x, y), (y, x)):
        if type(one) is bool and type(other) is Instruction and other.dtype.kind == "b":
            return other if one else False
    return None


def _shorter_where(recording: Tape, condition: Cell, x: Cell, y: Cell) -> Cell | None:
    if type(condition) is not Instruction:
        return x if condition else y
    if condition.is_("logical_not"):
        return recording.of("where", condition.given[0], y, x)
    # A choice inside of one by the same condition is made already.
    chosen = x.given[1] if type(x) is Instruction and x.is_("where") and x.given[0] is condition else x
    other = y.given[2] if type(y) is Instruction and y.is_("where") and y.given[0] is condition else y
    if chosen is not x or other is not y:
        return recording.of("where", condition, chosen, other)
    return x if _token(x) == _token(y) else None


def _shorter_ne(recording: Tape, x: Cell, y: Cell) -> Cell | None:
    if not (type(x) is Instruction and x.is_("where") and _is(y, 0)):
        return None
    condition, one, other = x.given
    if type(one) is Instruction:
        return None
    if type(other) is Instruction:  # a choice among more than two
        more = recording.of("ne", other, 0.0) if other.is_("where") and one != 0 else None
        return None if more is None else recording.of("logical_or", condition, more)
    if (one == 0) == (other == 0):
        return None
    return condition if other == 0 else recording.of("logical_not", condition)


_SHORTER: dict[str, Callable[..., Cell | None]] = {
    "add": _shorter_add,
    "bitwise_and": _shorter_and,
    "div": _shorter_div,
    "mul": _shorter_mul,
    "ne": _shorter_ne,
    "neg": _shorter_neg,
    "pow": _shorter_pow,
    "sub": _shorter_sub,
    "where": _shorter_where,
}
