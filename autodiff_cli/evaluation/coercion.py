"""Values of the evaluator on their way into functions: what is a number, what a tensor, what is too large."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from autodiff_cli.autograd.node import Node
from autodiff_cli.autograd.primitives.kinds import EXACT, MOST, counted
from autodiff_cli.autograd.primitives.primitive import PRIMITIVES
from autodiff_cli.autograd.primitives.registry import FunctionInfo, how_many
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, AutodiffError
from autodiff_cli.language.tree import Syntax
from autodiff_cli.limits import LARGE, check_size
from autodiff_cli.suggest import suggestion

DTYPES = ("float32", "float64", "int64", "bool")
"""The types of elements, by their names."""


class Items(list[Any]):
    """The values of a list of the program, with the place where it is written: as a tensor it is not the call around it."""

    __slots__ = ("node",)

    def __init__(self, values: Iterable[Any], node: Syntax) -> None:
        super().__init__(values)
        self.node = node


def holds_tensor(value: Any) -> bool:
    """Whether a tensor is anywhere in a nested list."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, Tensor):
            return True
        if isinstance(item, list):
            stack.extend(item)
    return False


def holds_none(value: list[Any]) -> bool:
    """Whether ``none`` is anywhere in a nested list, which NumPy would take for nan."""
    stack: list[Any] = [value]
    while stack:
        for item in stack.pop():
            if item is None:
                return True
            if isinstance(item, list):
                stack.append(item)
    return False


def nesting(value: Any) -> int:
    """How deep a list is nested, 0 for what is none."""
    depth = 0
    level = [value]
    while lists := [item for item in level if isinstance(item, list)]:
        level = [item for each in lists for item in each]
        depth += 1
    return depth


def ragged() -> ArgumentError:
    """The error for a list that is no tensor."""
    return ArgumentError("the rows of this list are not numbers in the shape of a tensor", hint="every row needs the same length")


def positions(key: Any) -> Any:
    """A list of positions, or a mask, as an array; any other key as it is."""
    try:
        found = np.asarray(key) if isinstance(key, list) else key
    except ValueError:
        raise ragged() from None
    if isinstance(found, Tensor) and not found.requires_grad:
        found = found._data
    # Every number that a program is given is a floating-point one.
    if isinstance(found, (np.ndarray, np.generic)):
        whole = counted(found)
        if whole is not found:
            return whole
    return key if isinstance(key, Tensor) else found


def described(value: Any) -> str:
    """What a value is, in the middle of a sentence."""
    if value is None:
        return "none"
    if isinstance(value, str):
        return f"the text '{value}'"
    if isinstance(value, tuple):
        return "a tuple"
    if isinstance(value, Node):
        return f"the node {value.name()}"
    if isinstance(value, np.dtype):
        return f"the type {value}"
    if isinstance(value, bool):
        return str(value).lower()
    return "a number" if is_plain(value) else _KINDS.get(type(value).__name__, "something else")


def both(values: Iterable[Any]) -> str:
    """What several values are: ``a tensor of shape [2] and the text 'a'``."""
    texts = [f"a tensor of shape {list(v.shape)}" if isinstance(v, Tensor) else _briefly(v) for v in values]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts) or "nothing"


def refused(name: str, values: Iterable[Any], wanted: str) -> ArgumentError:
    """The error for values that an operation cannot work on, with what it takes instead."""
    return ArgumentError(f"{name} cannot work on {both(values)}", hint=wanted)


def _briefly(value: Any) -> str:
    if isinstance(value, list):
        try:
            np.asarray(value)
        except ValueError:
            return "a list whose rows differ in length"
    return f"the number {value:g}" if is_plain(value) and not isinstance(value, bool) else described(value)


_KINDS = {
    "Tensor": "a tensor",
    "list": "a list",
    "slice": "a slice",
    "ellipsis": "...",
    "UserFunction": "a function",
    "FunctionInfo": "a function",
    "RemovableHandle": "the handle of a hook",
    "set_grad_enabled": "a grad mode",
}


def number(text: str) -> float | int:
    digits = text.replace("_", "")
    if digits.isdigit() and len(digits) < 16:
        return int(digits)
    return float(digits)


def is_plain(value: Any) -> bool:
    return isinstance(value, (bool, int, float))


def weak_operand(value: Any, logical: bool) -> Any:
    """A number on which arithmetic gives inf and nan instead of raising, and never an integer of any length."""
    return np.float64(value) if is_plain(value) and not (logical and isinstance(value, bool)) else value


def takes_sequence(op: FunctionInfo, given: list[Any]) -> bool:
    """Whether the first of these arguments is the sequence of tensors, and what follows is plain: ``cat([x, y], 0)``."""
    return op.variadic and bool(op.tensors) and bool(given) and isinstance(given[0], list) and all(map(is_plain, given[1:]))


def whole(value: Any, what: str) -> Any:
    """A number as an integer; anything else as it is.

    Raises:
        ArgumentError: for a number that is not whole, or larger than any position.
    """
    if isinstance(value, Tensor) and value.shape == () and not value.requires_grad:
        value = value.item()
    if isinstance(value, float):
        if not value.is_integer() or abs(value) > MOST:
            raise ArgumentError(f"{what} must be a whole number{' of 64 bits' * value.is_integer()}, not {value:g}")
        return int(value)
    return value


def static(value: Any, op: FunctionInfo, parameter: str) -> Any:
    """A plain argument: whole numbers as integers, as far as a float counts one by one.

    Raises:
        ArgumentError: for a tensor that is not one known number, for a function, and for any other value that is not plain.
    """
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < EXACT else value
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return [static(v, op, parameter) for v in value]
    if isinstance(value, Tensor):
        if value.shape == () and not value.requires_grad:
            return static(value.item(), op, parameter)
        raise ArgumentError(f"{op.name} needs a plain number here, not a tensor", hint=f"it is {op.signature}")
    if parameter == "dtype" and value is not None and str(value) not in DTYPES:
        raise ArgumentError(f"a dtype is {', '.join(DTYPES[:-1])} or {DTYPES[-1]}, not {described(value)}")
    if not (value is None or is_plain(value) or isinstance(value, (str, np.dtype))):
        raise ArgumentError(f"{op.name} cannot take {described(value)} for '{parameter}'", hint=f"it is {op.signature}")
    return value


def listed(value: Any) -> str:
    """A literal list as text, without recursion over a depth that NumPy would not allow anyway."""
    return str(value).replace("True", "true").replace("False", "false")


def arguments_wanted(op: FunctionInfo) -> str:
    return how_many(op.required, len(op.parameters))


_CHECK_THEMSELVES = ("dot", "einsum", "inner", "kron", "tensordot", "vdot")
_PRODUCTS = ("matmul", "mm", "mv", "bmm", "dot")


def check_result(op: FunctionInfo, tensors: list[Tensor]) -> None:
    """Refuse a result that broadcasting or a product would make too large, before it is allocated."""
    most = math.prod(tensor.numel() for tensor in tensors)
    if most < LARGE // 8 or op.name in _CHECK_THEMSELVES:
        return
    shapes = [tensor.shape for tensor in tensors]
    try:
        if op.name in _PRODUCTS:
            check_size(_product_shape(*shapes[:2]))
        elif op.name == "outer":
            check_size((most,))
        elif len(tensors) > 1 or (op.function in PRIMITIVES and PRIMITIVES[op.function].elementwise):
            check_size(np.broadcast_shapes(*shapes))
    except ValueError as error:  # shapes that do not fit: the operation says so
        if isinstance(error, AutodiffError):
            raise


def _product_shape(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a matrix product, whose leading dimensions broadcast."""
    rows, columns = x[-2:-1], y[-1:] if len(y) > 1 else ()
    return (*np.broadcast_shapes(x[:-2], y[:-2]), *rows, *columns)


def check_gather(tensor: Tensor, keys: list[Any]) -> None:
    """Refuse positions that would gather too many elements."""
    lists = [key for key in keys if isinstance(key, (Tensor, np.ndarray))]
    shapes = [key.shape for key in lists]
    if math.prod(math.prod(shape) for shape in shapes) * tensor.numel() >= LARGE // 8:
        try:
            gathered = np.broadcast_shapes(*shapes)
        except ValueError:
            return
        rest = tensor.shape[len(lists) :]
        check_size((*gathered, *rest))


def variable_hint(name: str, known: Iterable[str]) -> str:
    """A way out for a name that is none of the variables."""
    known = list(known)
    return suggestion(name, known) or f"the variable{'s are' if len(known) > 1 else ' is'} {', '.join(known)}"
