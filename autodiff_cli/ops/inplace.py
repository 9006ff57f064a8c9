"""In-place operations: ``add_``, ``zero_``, ``+=``, ``x[i] = y``.

Each method applies the ordinary operation to a copy of the old values and writes the result into the tensor, which takes over
the history of the result.  Changes are counted, so that the backward pass rejects a graph whose saved values were changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.modes import inference_used, is_recording, no_grad
from autodiff_cli.autograd.node import Node
from autodiff_cli.autograd.primitives.argument_kinds import value_text
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.autograd.primitives.structural import edge_from_source, rebase_history, writable
from autodiff_cli.autograd.primitives.types import Data, Operand, Shape, Value
from autodiff_cli.autograd.tensor import Tensor, add_methods, shared_array, tensor_on
from autodiff_cli.autograd.views_and_versions import adopt, check_changeable, check_recorded, count_change, mark_changed
from autodiff_cli.errors import ArgumentError, DtypeError, GraphError, ShapeError
from autodiff_cli.ops.casts import can_cast
from autodiff_cli.ops.indexing import getitem, sliced
from autodiff_cli.ops.names import IN_PLACE
from autodiff_cli.ops.rules import inplace as rules
from autodiff_cli.ops.rules.elementary import trunc
from autodiff_cli.ops.shape import reshape

_NAMES = IN_PLACE.split()
_RESHAPED = {"t": 1, "transpose": 1, "swapaxes": 1, "swapdims": 1, "unsqueeze": 1, "squeeze": 3}
"""Operations that return a view, whose in-place methods change the shape; and the number in the name of the node."""
_OPERATORS = {
    "add": "iadd", "sub": "isub", "mul": "imul", "div": "itruediv", "floor_divide": "ifloordiv", "remainder": "imod", "pow": "ipow",
    "bitwise_and": "iand", "bitwise_or": "ior", "bitwise_xor": "ixor",
    "bitwise_left_shift": "ilshift", "bitwise_right_shift": "irshift",
}  # fmt: skip
"""The operators of in-place methods, by the functions."""
_NUMBERED: dict[str, type[Node]] = {}


def change(tensor: Tensor, compute: Callable[[Tensor], Tensor], one_value: bool = False) -> Tensor:
    """Replace the values and the history of ``tensor`` with the values and the history of ``compute(old)``.

    If the tensor is a view, the new history passes through its base tensor, and so do the histories of the other views.

    Args:
        tensor: the tensor.
        compute: the ordinary operation.
        one_value: whether all elements of the result are equal, so that elements which share memory may be written.

    Raises:
        GraphError: if operations are recorded and the tensor is a leaf that requires grad, or a view of such a leaf; if the
            tensor is an inference tensor, or several of its elements share memory.
        ShapeError: if the result and the tensor differ in shape.
        DtypeError: if the result cannot be cast to the type of the tensor.
    """
    if type(tensor) is not Tensor:
        if not isinstance(tensor, Tensor):
            raise DtypeError(f"only a tensor can be changed in place, not {value_text(tensor)}")
        return tensor.changed(compute, change)  # type: ignore[no-any-return]  # by forward mode or vmap
    recording = is_recording()
    view = None if tensor._extra is None else tensor._extra.view
    if inference_used[0]:
        check_changeable(tensor)
    if recording and tensor._requires_grad:
        check_recorded(tensor, view)
    result = compute(_old_value(tensor, recording))
    if type(result) is not Tensor:
        return result.written_to(tensor, change)  # type: ignore[no-any-return]
    _check_result(result, tensor)
    if recording and result._requires_grad and not tensor._requires_grad:
        check_recorded(tensor, view)
    rebases = recording and (result._requires_grad or tensor._requires_grad)
    target = _writable_target(tensor, one_value)
    (count_change if rebases else mark_changed)(tensor)  # a rebase derives the histories of views itself
    if target is None:
        tensor._data = result._data.astype(tensor._data.dtype)
    else:
        np.copyto(target, result._data, casting="unsafe")  # the types were compared before
    if rebases:
        rebase_history(tensor, result)
    return tensor


def _old_value(tensor: Tensor, recording: bool | None) -> Tensor:
    """Return a copy of the values before a change, with the history of the tensor if it has one and operations are recorded."""
    old = tensor_on(np.array(tensor._data)[()])
    if recording and tensor._requires_grad:
        edge: Any = tensor._edge
        view = None if tensor._extra is None else tensor._extra.view
        if view is not None and edge[0]._hooks is not None:  # hooks on the view must not see the gradient of its old value
            edge = edge_from_source(view)
        old._edge, old._requires_grad = edge, True
    return old


def _check_result(result: Tensor, tensor: Tensor) -> None:
    """Raise PyTorch's error if a result cannot be written into a tensor because of its shape or its type."""
    if result._data.shape != tensor._data.shape:
        raise ShapeError(
            f"output with shape {list(tensor.shape)} doesn't match the broadcast shape {list(result.shape)}",
            hint="use the ordinary operation: an in-place operation cannot change the shape",
        )
    if result._data.dtype is not tensor._data.dtype and not can_cast(result.dtype, tensor.dtype):
        raise DtypeError(
            f"result type {result.dtype.scalar_name} can't be cast to the desired output type {tensor.dtype.scalar_name}"
        )


def _overlaps(array: Array) -> bool:
    """Return whether several elements of an array are one number in memory."""
    if 0 not in array.strides or not array.size:
        return False
    return any(step == 0 and length > 1 for step, length in zip(array.strides, array.shape, strict=True))


def _writable_target(tensor: Tensor, one_value: bool) -> Array | None:
    """Return the array to write into, or ``None`` for a NumPy scalar, which is replaced."""
    if not isinstance(tensor._data, np.ndarray):
        return None
    target: Array = tensor._data
    if not target.flags.writeable:  # NumPy does not allow changes of a broadcast view
        target = writable(target)
    if not target.flags.writeable or (_overlaps(target) and not one_value):
        raise GraphError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )
    return target


def reshape_in_place(tensor: Tensor, name: str, compute: Callable[[Tensor], Tensor], number: int) -> Tensor:
    """Replace the shape of ``tensor`` with the shape of ``compute(old)``, a view of its memory, and record the operation.

    Args:
        tensor: the tensor.
        name: the name of the in-place method.
        compute: the ordinary operation.
        number: the number that PyTorch adds to the name of the node.

    Raises:
        GraphError: as for ``change``.
    """
    if type(tensor) is not Tensor:
        raise GraphError(f"{name} is not supported inside a transformation", hint=f"use {name.rstrip('_')}")
    recording = is_recording() and tensor._requires_grad
    view = None if tensor._extra is None else tensor._extra.view
    if inference_used[0]:
        check_changeable(tensor)
    if recording:
        check_recorded(tensor, view)
    old = tensor_on(shared_array(tensor), tensor._edge if recording else None)
    if view is not None:
        old.extra().view = view
    result = compute(old)
    edge = result._edge  # of the view, which the change would renew
    mark_changed(tensor)
    tensor._data = result._data
    extra = tensor.extra()
    extra.accumulator = None
    if view is not None and result._extra is not None and result._extra.view is not None:
        extra.view = result._extra.view
        extra.view.created = view.created  # a change of the shape does not count as a creation, as in PyTorch
        if not recording and tensor._edge is not None and not view.created:
            extra.view.renew(tensor)
    if edge is not None:
        adopt(tensor, edge, True)
        edge[0].__class__ = _node_type_numbered(type(edge[0]), number)
    return tensor


def _node_type_numbered(kind: type[Node], number: int) -> type[Node]:
    """Return the class of nodes with a number added to its name: ``TBackward1`` for ``TBackward0`` and 1."""
    name = f"{kind.__name__[:-1]}{int(kind.__name__[-1]) + number}"
    if name not in _NUMBERED:
        _NUMBERED[name] = type(name, (kind,), {"__slots__": ()})
    return _NUMBERED[name]


def _install_method(name: str) -> None:
    """Add the in-place method of a function."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        FUNCTIONS.get(name)  # installs the method ``name`` of tensors, which is called
        return change(self, lambda old: getattr(old, name)(*args, **kwargs))

    if name.startswith("logical_"):  # as in PyTorch, the tensor keeps its history, and a leaf may be changed
        method = no_grad()(method)
    _add_documented_method(f"{name}_", name, method)
    if name in _OPERATORS:
        add_methods(**{f"__{_OPERATORS[name]}__": method})


def _install_reshape(name: str, number: int) -> None:
    """Add the in-place method of a function that changes the shape."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return reshape_in_place(self, f"{name}_", lambda old: getattr(old, name)(*args, **kwargs), number)

    _add_documented_method(f"{name}_", name, method)


def _add_documented_method(name: str, ordinary: str, method: Callable[..., Tensor]) -> None:
    """Add an in-place method with a docstring that names the ordinary function."""
    method.__doc__ = f"Apply ``{ordinary}`` in place."
    add_methods(**{name: method})


for _name in _NAMES:
    _install_method(_name)
for _name, _number in _RESHAPED.items():
    _install_reshape(_name, _number)


def zero_(self: Tensor) -> Tensor:
    """Set all elements to 0 in place."""
    return change(self, lambda old: rules.zero(old), one_value=True)


def fill_(self: Tensor, value: Operand) -> Tensor:
    """Set all elements to one number in place.

    Raises:
        ArgumentError: if the value is ``None``.
        ShapeError: if the value is a tensor with dimensions.
    """
    if not isinstance(value, Tensor):
        if value is None:
            raise ArgumentError("fill_(): argument 'value' must be a number, not NoneType")
        return change(self, lambda old: rules.filled(old, value), one_value=True)
    return change(self, lambda old: _filled_by(old, value), one_value=True)


def _filled_by(old: Tensor, value: Tensor) -> Any:
    """Return a tensor filled with the only element of another tensor."""
    if value.ndim:
        raise ShapeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.",
            hint="use copy_(), which broadcasts its argument",
        )
    return rules.filled_with(old, value)


def fill_diagonal_(self: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Set the elements of the main diagonal to one number in place."""
    return change(self, lambda old: rules.fill_diagonal(old, fill_value, wrap))


def copy_(self: Tensor, source: Tensor) -> Tensor:
    """Copy the values of another tensor, which may broadcast, in place."""
    return change(self, lambda old: rules.copy(old, source))


def setitem(self: Tensor, key: object, value: Data) -> None:
    """Assign ``tensor[key] = value`` through a view, or with ``index_put`` if the key contains masks or lists of positions."""
    region, gathered = sliced(self, key)
    if gathered:
        _put(region, gathered, value)
        return
    view = getitem(self, key) if region is self else region
    if isinstance(value, Tensor):
        value = _without_leading_ones(value, view.ndim)
    change(view, lambda old: rules.copy(old, value) if isinstance(value, Tensor) else rules.filled(old, value))


def _put(region: Tensor, key: tuple[Any, ...], value: Data) -> None:
    """Assign a value, which may broadcast, to the elements of a tensor at a key of masks, positions and full slices."""
    from autodiff_cli.ops.rules.positions import index_putted

    shape = np.shape(np.broadcast_to(False, region.shape)[key])
    source: Any = value if isinstance(value, Tensor) else np.asarray(value, region._data.dtype)
    source = _without_leading_ones(source, len(shape))
    if not _broadcasts(source.shape, shape):
        raise ShapeError(
            f"shape mismatch: value tensor of shape {list(source.shape)} cannot be broadcast to indexing result of shape "
            f"{list(shape)}"
        )
    change(region, lambda old: index_putted(old, source, key, False))


def _broadcasts(shape: Shape, target: Shape) -> bool:
    """Return whether a shape broadcasts to another one."""
    return len(shape) <= len(target) and all(n in (1, m) for n, m in zip(reversed(shape), reversed(target), strict=False))


def _without_leading_ones(value: Value, ndim: int) -> Any:
    """Return a tensor without the dimensions in front of the last ``ndim`` if all have length 1, which PyTorch ignores."""
    extra = len(value.shape) - ndim
    return reshape(value, value.shape[extra:]) if extra > 0 and set(value.shape[:extra]) == {1} else value


add_methods(zero_=zero_, fill_=fill_, copy_=copy_, fill_diagonal_=fill_diagonal_, __setitem__=setitem)
add_methods(fix_=lambda self: change(self, trunc))
METHODS = (*(f"{_name}_" for _name in _NAMES), "fix_", "zero_", "fill_", "copy_", "fill_diagonal_")
"""The names of the in-place methods that do not change the shape."""
