"""Operations that change a tensor: ``add_``, ``zero_``, ``+=``, ``x[i] = y``.

Each is the ordinary operation on a copy of the old values, whose result is written back; the tensor's history becomes
that of the result.  A change is counted, and a graph that saved what was changed says so when it is swept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_cli.autograd.declare import declare
from autodiff_cli.autograd.modes import is_grad_enabled
from autodiff_cli.autograd.node import mark_changed, tensor_on
from autodiff_cli.autograd.op import FUNCTIONS
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import DtypeError, GraphError, ShapeError
from autodiff_cli.ops.creation import zeros_like
from autodiff_cli.ops.shape import getitem

__all__: list[str] = []

_NAMES = (
    *("add", "sub", "mul", "div", "pow", "remainder", "fmod", "floor_divide", "neg", "abs", "sign", "reciprocal", "square"),
    *("exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "sqrt", "rsqrt", "sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sigmoid", "relu", "clamp", "floor", "ceil", "round", "trunc", "frac"),
    *("erf", "erfc", "erfinv", "lgamma", "digamma", "logit", "sinc", "xlogy", "hypot", "i0"),
)
_OPERATORS = {
    "add": "iadd",
    "sub": "isub",
    "mul": "imul",
    "div": "itruediv",
    "pow": "ipow",
    "remainder": "imod",
    "floor_divide": "ifloordiv",
}


def change(tensor: Tensor, compute: Callable[[Tensor], Tensor]) -> Tensor:
    """Replace the values and the history of ``tensor`` by those of ``compute(old)``.

    Raises:
        GraphError: if it is a leaf that requires grad, or a view of a tensor with a history, while recording.
        ShapeError: if the result has another shape.
        DtypeError: if the result cannot be held by the tensor's type.
    """
    base = None if tensor._extra is None else tensor._extra.base
    if is_grad_enabled():
        _check_recorded(tensor, base)
    old = tensor_on(np.array(tensor._data)[()], tensor._edge)
    result = compute(old)
    if result.shape != tensor.shape:
        raise ShapeError(
            f"output with shape {list(tensor.shape)} doesn't match the broadcast shape {list(result.shape)}",
            hint="an in-place operation cannot change a shape",
        )
    if not np.can_cast(result.dtype, tensor.dtype, "same_kind"):
        raise DtypeError(f"result type {result.dtype} can't be cast to the desired output type {tensor.dtype}")
    if base is not None and result.requires_grad:
        raise GraphError(
            "a view cannot be given a history of its own in place", hint="write to the tensor itself: base[position] = value"
        )
    mark_changed(tensor)
    _write(tensor, result._data)
    if is_grad_enabled():
        tensor._edge, tensor._requires_grad = result._edge, result._requires_grad
    return tensor


def _check_recorded(tensor: Tensor, base: Tensor | None) -> None:
    if tensor.is_leaf and tensor.requires_grad:
        raise GraphError(
            "a leaf Variable that requires grad is being used in an in-place operation.",
            hint="do it under no_grad(), or on a copy: x = x + 1",
        )
    if base is not None and base.requires_grad and tensor.requires_grad:  # a detached one may be changed
        if base.is_leaf:
            raise GraphError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
        raise GraphError("a view of a tensor with a history cannot be changed in place", hint="change the tensor itself")


def _write(tensor: Tensor, data: Any) -> None:
    if not isinstance(tensor._data, np.ndarray):
        tensor._data = data.astype(tensor.dtype)
        return
    if not tensor._data.flags.writeable:
        raise GraphError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location.",
            hint="clone() the tensor before writing to it",
        )
    np.copyto(tensor._data, data, casting="same_kind")


def _install(name: str) -> None:
    operation = FUNCTIONS[name].function

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return change(self, lambda old: operation(old, *args, **kwargs))

    method.__name__ = f"{name}_"
    method.__doc__ = f"``{name}`` in place."
    setattr(Tensor, f"{name}_", method)
    if name in _OPERATORS:
        setattr(Tensor, f"__{_OPERATORS[name]}__", method)


for _name in _NAMES:
    _install(_name)

_filled: Any = declare(
    "fill", lambda x, value: np.full_like(x, value), {"x": lambda g: zeros_like(g)}, statics={"value": 0}, public=False
)
_copied: Any = declare(
    "copy",
    lambda x, y: np.broadcast_to(y, x.shape).astype(x.dtype),
    {"x": lambda g: zeros_like(g), "y": lambda g: g},
    node="CopyBackwards",
    public=False,
)


def _put(x: Any, value: Any, key: Any) -> Any:
    out = np.array(x)
    out[key] = value
    return out


_assigned: Any = declare(
    "copy_slices",
    _put,
    {"x": lambda g, key, value_shape: _assigned(g, np.zeros(value_shape), key), "value": lambda g, key: getitem(g, key)},
    node="CopySlices",
    statics={"key": ()},
    public=False,
)


def zero_(self: Tensor) -> Tensor:
    """All elements 0, in place."""
    return change(self, lambda old: _filled(old, 0))


def fill_(self: Tensor, value: Any) -> Tensor:
    """All elements the same number, in place."""
    return change(self, lambda old: _filled(old, value))


def copy_(self: Tensor, source: Tensor) -> Tensor:
    """The values of another tensor, which may broadcast, in place."""
    return change(self, lambda old: _copied(old, source))


def setitem(self: Tensor, key: Any, value: Any) -> None:
    """``tensor[key] = value``."""
    parts = key if isinstance(key, tuple) else (key,)
    parts = tuple(part._data if isinstance(part, Tensor) else part for part in parts)
    change(self, lambda old: _assigned(old, value if isinstance(value, Tensor) else np.asarray(value, old.dtype), parts))


for _name, _method in (("zero_", zero_), ("fill_", fill_), ("copy_", copy_), ("__setitem__", setitem)):
    setattr(Tensor, _name, _method)
