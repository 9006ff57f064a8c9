"""Arguments of calls: conversion to a common type, and errors for unsuitable arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, promote
from autodiff_cli.autograd.primitives.argument_kinds import LEAST, MOST, PLAIN, Argument, checked_operand, value_text
from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.errors import ArgumentError, AutodiffError, DtypeError, IndexOutOfRange, ShapeError

_NO_NUMBERS = np.dtype(object)
UNFIT = (ValueError, TypeError, IndexError, OverflowError, ZeroDivisionError, AttributeError)
"""The exceptions that unsuitable arguments raise in NumPy; a plain number, which lacks ``shape``, raises AttributeError."""
NO_BOOLEANS = {
    "sub": "Subtraction, the `-` operator, with two bool tensors is not supported. "
    "Use the `^` or `logical_xor()` operator instead.",
    "neg": "Negation, the `-` operator, on a bool tensor is not supported. "
    "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.",
}


def _too_many_bits(value: int) -> ArgumentError:
    """Return the error for a whole number of more than 64 bits."""
    return ArgumentError(
        f"a whole number combined with a tensor must have at most 64 bits, not {value.bit_length():,}",
        hint="convert the number with float()",
    )


def plain(value: Argument, beside: Array) -> Any:
    """Convert an operand that is not a tensor for an operation with the array ``beside``; refuse other values than numbers.

    A scalar becomes a Python number, which does not affect the type of the result; an array is promoted.
    """
    if type(value) is float:
        return value
    if isinstance(value, int):
        if LEAST <= value <= MOST:
            return value
        raise _too_many_bits(value)
    if isinstance(value, (np.generic, np.ndarray)) and value.dtype.kind in "fib":
        if isinstance(value, np.generic):
            return value.item()
        return promote(value, beside)[0] if value.dtype is not beside.dtype else value
    raise DtypeError(f"a tensor can only be combined with a number or a tensor, not {value_text(value)}")


def on_arrays(primitive: Primitive, args: Sequence[Any]) -> Any:
    """Return the result of a primitive for arrays, as VJP rules pass them, and numbers; refuse other operands.

    An error of the forward computation is replaced, see ``mismatch``.
    """
    for i in primitive.differentiable_args or (0,):
        if type(args[i]) not in PLAIN:
            checked_operand(args[i], primitive.name, primitive.parameters[i], i + 1)
    try:
        return primitive.forward(*args)
    except ZeroDivisionError:  # of Python's numbers, where NumPy's numbers give inf
        return primitive.forward(*[np.float64(value) if isinstance(value, (int, float)) else value for value in args])
    except UNFIT as error:
        for i in range(primitive.arity):
            checked_operand(args[i], primitive.name, primitive.parameters[i], i + 1)
        raise mismatch(primitive.name, error, args[: primitive.arity]) from None


def in_common_type(arguments: Sequence[Any], positions: Sequence[int]) -> list[Any]:
    """Return the arguments of a call with the differentiable arrays in a common type; refuse other values than numbers.

    Args:
        arguments: arrays, numbers, masks or positions.
        positions: the positions of the differentiable arguments.
    """
    result = list(arguments)
    for i, value in enumerate(result):
        is_places = isinstance(value, (list, tuple)) and i not in positions  # a mask, or a list of positions
        if isinstance(value, int):
            if not LEAST <= value <= MOST:
                raise _too_many_bits(value)
        elif not is_places and not isinstance(value, float) and getattr(value, "dtype", _NO_NUMBERS).kind not in "fib":
            raise DtypeError(f"a tensor can only be combined with a number or a tensor, not {value_text(value)}")
    arrays = [i for i in positions if isinstance(result[i], (np.ndarray, np.generic))]
    if len({result[i].dtype for i in arrays}) > 1:
        widest = result[arrays[0]]
        for i in arrays[1:]:
            widest = promote(widest, result[i])[0]
        for i in arrays:
            result[i] = result[i].astype(widest.dtype, copy=False)
    return result


def mismatch(name: str, error: Exception, values: Sequence[Any]) -> AutodiffError:
    """Return the error for arguments that a forward computation refused.

    An ``AutodiffError`` is returned unchanged; any other exception is replaced by an error that states types or shapes of the
    ``values``, which are the tensor arguments as arrays or numbers.
    """
    if isinstance(error, AutodiffError):
        return error
    shapes = [list(v.shape) if hasattr(v, "shape") else [] for v in values]
    if isinstance(error, IndexError):
        return IndexOutOfRange(f"{name}: {error}; the shape is {shapes[0]}")
    if isinstance(error, OverflowError):
        return DtypeError(f"{name}: a number is too large for {' and '.join(str(v.dtype) for v in values if hasattr(v, 'dtype'))}")
    if isinstance(error, AttributeError):  # a plain number does not have a shape
        texts = [f"a tensor of shape {list(v.shape)}" if hasattr(v, "shape") else f"the number {value_text(v)}" for v in values]
        hint = f"it is {FUNCTIONS[name].signature}" if name in FUNCTIONS else None
        return ArgumentError(f"{name} cannot be applied to {' and '.join(texts)}", hint=hint)
    if isinstance(error, TypeError) or not shapes:
        if name in NO_BOOLEANS and all(getattr(v, "dtype", None) == np.bool_ for v in values):
            return DtypeError(NO_BOOLEANS[name])
        types = " and ".join(value_text(v) for v in values)
        return DtypeError(f"{name} is not defined for {types}")
    return _shape_mismatch(name, error, shapes)


def _shape_mismatch(name: str, error: Exception, shapes: Sequence[list[int]]) -> ShapeError:
    """Return the error for arguments of these shapes; for two that do not broadcast, PyTorch's, except for ``matmul``."""
    if len(shapes) == 2:
        for from_end, (a, b) in enumerate(zip(reversed(shapes[0]), reversed(shapes[1]), strict=False), start=1):
            if a != b and a != 1 and b != 1 and name != "matmul":
                dimension = max(len(shapes[0]), len(shapes[1])) - from_end
                return ShapeError(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {dimension}",
                    hint=f"{name} was given shapes {shapes[0]} and {shapes[1]}",
                )
        return ShapeError(f"shapes {shapes[0]} and {shapes[1]} are not compatible in {name}")
    if len(shapes) == 1:
        return ShapeError(f"{name}: {error}", hint=f"the shape is {shapes[0]}")
    return ShapeError(
        f"shapes {', '.join(map(str, shapes))} are not compatible in {name}",
        hint="pass arguments whose shapes can be broadcast together",
    )
