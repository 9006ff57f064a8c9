"""Conversion of values to function arguments, with errors for invalid values and for results that would be too large."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard, TypeVar

import numpy as np

from autodiff_cli.autograd.node import Node
from autodiff_cli.autograd.primitives.argument_kinds import EXACT, MOST, whole_as_integers
from autodiff_cli.autograd.primitives.primitive import PRIMITIVES
from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, AutodiffError, setting
from autodiff_cli.language.tree import Syntax
from autodiff_cli.limits import LARGE, check_size
from autodiff_cli.suggest import suggestion
from autodiff_cli.wording import listed

Value = TypeVar("Value")

DTYPES = ("float32", "float64", "int64", "bool")
"""The names of element types."""


class Items(list[Any]):
    """The values of a list literal, with the node of the literal; ``None`` for a list that was made from another.

    In the list of all tensors, the tensor made from the values has this node, not the node of the enclosing call.
    """

    __slots__ = ("node",)

    def __init__(self, values: Iterable[Any], node: Syntax | None = None) -> None:
        super().__init__(values)
        self.node = node


def flat_items(value: object) -> Iterator[object]:
    """Yield the items of nested lists in order, or the value itself if it is not a list; the depth is not limited."""
    unfinished: list[Iterator[object]] = [iter((value,))]  # of the lists that contain the next item, the innermost one last
    while unfinished:
        for item in unfinished[-1]:
            if isinstance(item, list):
                unfinished.append(iter(item))
                break  # the loop over the outer list goes on after the inner list
            yield item
        else:
            unfinished.pop()


def holds_tensor(value: object) -> bool:
    """Return whether a nested list contains a tensor."""
    return any(isinstance(item, Tensor) for item in flat_items(value))


def nesting_depth(value: object) -> int:
    """Return the depth of a nested list, or 0 for any other value."""
    depth = 0
    level: list[object] = [value]
    while lists := [item for item in level if isinstance(item, list)]:
        level = [item for sublist in lists for item in sublist]
        depth += 1
    return depth


def ragged_list_error() -> ArgumentError:
    """Return the error for a list whose rows differ in shape."""
    return ArgumentError("the rows of this list are not numbers in the shape of a tensor", hint="every row needs the same length")


def as_index_key(key: object) -> Any:
    """Return a list of positions or a mask as an array, and any other key unchanged.

    Whole numbers of a list or a constant tensor become integers, because all numbers in a program are floating-point numbers.
    """
    try:
        array: Any = np.asarray(key) if isinstance(key, list) else key
    except ValueError:
        raise ragged_list_error() from None
    if isinstance(array, Tensor) and not array.requires_grad:
        array = array._data
    if isinstance(array, (np.ndarray, np.generic)):
        integers = whole_as_integers(array)
        if integers is not array:
            return integers
    return key if isinstance(key, Tensor) else array  # a mask stays a tensor


def value_description(value: object) -> str:
    """Return the kind of a value as a noun phrase for messages."""
    if value is None:
        return "none"
    if isinstance(value, str):
        return f"the text '{value}'"
    if isinstance(value, tuple):
        return "a tuple"
    if isinstance(value, Node):
        return f"the node {type(value).__name__}"
    if isinstance(value, np.dtype):
        return f"the type {value}"
    if isinstance(value, bool):
        return str(value).lower()
    return "a number" if is_plain_number(value) else _KIND_PHRASES.get(type(value).__name__, "something else")


def refusal(name: str, values: Iterable[object], hint: str) -> ArgumentError:
    """Return the error for values that the operation ``name`` does not accept; ``hint`` names the accepted values."""
    texts = [f"a tensor of shape {list(v.shape)}" if isinstance(v, Tensor) else _brief_description(v) for v in values]
    return ArgumentError(f"{name} cannot be applied to {listed(texts) if texts else 'nothing'}", hint=hint)


def _brief_description(value: object) -> str:
    """Return the text of a number, or the kind of another value, for messages about arguments."""
    if isinstance(value, list):
        try:
            np.asarray(value)
        except ValueError:
            return "a list whose rows differ in length"
    if is_plain_number(value) and not isinstance(value, bool):
        return f"the number {value:g}"
    return value_description(value)


_KIND_PHRASES = {
    **{"Tensor": "a tensor", "slice": "a slice", "ellipsis": "..."},
    **dict.fromkeys(("list", "Items"), "a list"),
    **dict.fromkeys(("UserFunction", "FunctionInfo"), "a function"),
    "RemovableHandle": "the handle of a hook",
    "set_grad_enabled": "a grad mode",
}


def literal_number(text: str) -> float | int:
    """Return the value of a number literal; a short whole number becomes an integer, so that it can be a position."""
    digits = text.replace("_", "")
    is_exact = digits.isdigit() and len(digits) < 16  # below 2**53, so that it is the same number as a float
    return int(digits) if is_exact else float(digits)


def is_plain_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a plain number: a Python ``bool``, ``int`` or ``float``."""
    return isinstance(value, (bool, int, float))


def is_condition(value: object) -> bool:
    """Return whether a value is a boolean, or a tensor of booleans."""
    return isinstance(value, bool) or (isinstance(value, Tensor) and value.dtype.kind == "b")


def weak_operand(value: Value, logical: bool) -> Value | np.float64:
    """Convert a plain number to a NumPy float, whose operations give inf or nan instead of an error.

    Any other value is returned unchanged, and for a ``logical`` operation also a truth value.
    """
    return np.float64(value) if is_plain_number(value) and not (logical and isinstance(value, bool)) else value


def takes_sequence(op: FunctionInfo, values: list[Any]) -> bool:
    """Return whether the first argument is a sequence of tensors and the others are plain numbers, as in ``cat([x, y], 0)``."""
    if not (op.variadic and op.tensors and values):
        return False
    return isinstance(values[0], list) and all(map(is_plain_number, values[1:]))


def as_whole_number(value: object, what: str) -> Any:
    """Return a whole number, also that of a constant scalar tensor, as an integer; a value of another kind stays as it is.

    A number that is not whole, or not a position of 64 bits, is an error, whose message begins with ``what``.
    """
    if isinstance(value, Tensor) and value.shape == () and not value.requires_grad:
        value = value.item()
    if isinstance(value, float):
        if not value.is_integer():
            raise ArgumentError(f"{what} must be a whole number, not {value:g}")
        if abs(value) > MOST:
            raise ArgumentError(f"{what} must be a whole number of 64 bits, not {value:g}")
        return int(value)
    return value


def index_limit(value: object, name: str, tree: Syntax) -> int:
    """Return a limit of the index of a sum or product as an integer; any other value and one with a derivative are an error.

    ``name`` is ``sum`` or ``prod``, and ``tree`` is the limit.
    """
    if isinstance(value, Tensor) and value.requires_grad:
        constant = f"{tree.children[0].text}={value.item():g}" if tree.kind == "name" and value.shape == () else "n=10"
        reason = f"{name} has no derivative with respect to the number of its terms"
        hint = f"give a constant, as in {setting('const', constant)}"
        raise ArgumentError(f"a limit of {name} must be a constant, because {reason}", span=tree.span, hint=hint)
    try:
        result = as_whole_number(value, f"a limit of {name}")
    except ArgumentError as error:
        error.span = tree.span
        raise
    if not isinstance(result, int) or isinstance(result, bool):
        raise ArgumentError(f"a limit of {name} must be a whole number, not {value_description(result)}", span=tree.span)
    return result


def as_static_argument(value: object, op: FunctionInfo, parameter: str) -> Any:
    """Return a plain argument, or a list of them; any other value, such as a function, is an error.

    Whole numbers below 2**53 are integers, and a constant scalar tensor is its number.
    """
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < EXACT else value
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):  # a named tuple is refused below
        return [as_static_argument(item, op, parameter) for item in value]
    if isinstance(value, Tensor):
        if value.shape == () and not value.requires_grad:
            return as_static_argument(value.item(), op, parameter)
        raise ArgumentError(f"{op.name} needs a plain number here, not a tensor", hint=f"it is {op.signature}")
    if parameter == "dtype" and value is not None and str(value) not in DTYPES:
        raise ArgumentError(f"a dtype is {', '.join(DTYPES[:-1])} or {DTYPES[-1]}, not {value_description(value)}")
    if not (value is None or is_plain_number(value) or isinstance(value, (str, np.dtype))):
        raise ArgumentError(f"{op.name} cannot take {value_description(value)} for '{parameter}'", hint=f"it is {op.signature}")
    return value


def list_literal_text(value: list[Any]) -> str:
    """Return a list literal as text; its depth is limited, so ``str`` can recurse safely."""
    return str(value).replace("True", "true").replace("False", "false")


_CHECKING_THEIR_SIZE = ("dot", "einsum", "inner", "kron", "tensordot", "vdot")
_PRODUCTS = ("matmul", "mm", "mv", "bmm", "dot")
_MANY = LARGE // 8
"""The number of elements of a result whose size is checked, at 8 bytes each."""


def check_result_size(op: FunctionInfo, tensors: list[Tensor]) -> None:
    """Raise an error if broadcasting or a matrix product would make too large a result; small results are not checked."""
    most = math.prod(tensor.numel() for tensor in tensors)
    if 0 < most < _MANY or op.name in _CHECKING_THEIR_SIZE:  # a product over an empty dimension may be large
        return
    shapes = [tensor.shape for tensor in tensors]
    try:
        if op.name in _PRODUCTS and len(shapes) > 1:  # an operand that is a plain number is refused later
            check_size(_product_shape(*shapes[:2]))
        elif op.name == "outer":
            check_size((most,))
        elif len(tensors) > 1 or (op.function in PRIMITIVES and PRIMITIVES[op.function].elementwise):
            check_size(np.broadcast_shapes(*shapes))
    except ValueError as error:  # the operation itself reports incompatible shapes
        if isinstance(error, AutodiffError):
            raise


def _product_shape(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a matrix product of tensors of the shapes ``x`` and ``y``; leading dimensions broadcast."""
    rows, columns = x[-2:-1], y[-1:] if len(y) > 1 else ()  # empty for a vector
    return (*np.broadcast_shapes(x[:-2], y[:-2]), *rows, *columns)


def check_gathered_size(tensor: Tensor, keys: list[Any]) -> None:
    """Raise an error if an index would gather too many elements: its arrays broadcast, and each replaces one dimension."""
    shapes = [key.shape for key in keys if isinstance(key, (Tensor, np.ndarray))]
    most = math.prod(math.prod(shape) for shape in shapes) * tensor.numel()
    if most < _MANY:
        return
    try:
        gathered = np.broadcast_shapes(*shapes)
    except ValueError:  # the index itself reports arrays that do not broadcast
        return
    check_size((*gathered, *tensor.shape[len(shapes) :]))


def variable_hint(name: str, known: Iterable[str]) -> str:
    """Return a hint for an unknown variable name."""
    known = list(known)
    return suggestion(name, known) or f"the variable{'s are' if len(known) > 1 else ' is'} {', '.join(known)}"
