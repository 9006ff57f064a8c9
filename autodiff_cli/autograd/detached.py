"""Tensors without a history: ``detach``, ``data``, copies and serialized values; and the attributes of views."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.modes import inference_used, is_inference_mode_enabled
from autodiff_cli.autograd.tensor import CLONE_INFERENCE, Tensor, add_methods, is_inference, root_of, shared_array, tensor_on
from autodiff_cli.autograd.views_and_versions import ChangedOutput, share_memory
from autodiff_cli.errors import ArgumentError, DtypeError, GraphError


def detach(self: Tensor) -> Tensor:
    """Return a tensor that shares the memory of this tensor, without a history and without requiring grad."""
    return share_memory(data(self), self)


def detach_(self: Tensor) -> Tensor:
    """Make this tensor a leaf that does not require grad, and return it; in ``inference_mode``, return it unchanged.

    Raises:
        GraphError: if the tensor is a view, whose history belongs to another tensor.
    """
    if is_inference_mode_enabled():
        return self
    if self._extra is not None and self._extra.view is not None:
        raise GraphError("Can't detach views in-place. Use detach() instead.")
    self._edge, self._requires_grad = None, False
    return self


def data(self: Tensor) -> Tensor:
    """The result of ``detach()``, without version counting; an assignment replaces the values and keeps the history.

    Raises:
        ArgumentError: if the value is not a tensor.
        DtypeError: if this tensor requires grad and the elements of the value are not floating-point numbers.
    """
    alias = tensor_on(shared_array(self))
    if inference_used[0]:
        alias._inference = is_inference(self)
    return alias


def _set_data(self: Tensor, value: Tensor) -> None:
    """Replace the values of a tensor, and keep its history; a new shape or type is allowed."""
    if not isinstance(value, Tensor):
        raise ArgumentError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    if self._requires_grad and value._data.dtype.kind != "f":
        raise DtypeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    differs = value._data.shape != self._data.shape or value._data.dtype != self._data.dtype
    self._data = shared_array(value)
    if differs and self._extra is not None:
        self._extra.accumulator = None  # its node describes the old shape and type


def version(self: Tensor) -> int:
    """The number of in-place changes of this tensor's memory.

    Raises:
        GraphError: if this tensor is an inference tensor.
    """
    if is_inference(self):
        raise GraphError("Inference tensors do not track version counter.", hint=CLONE_INFERENCE)
    root = root_of(self)
    if root._extra is not None:
        return root._extra.version
    node = None if root._edge is None else root._edge[0]
    if node is not None and node._outputs == 1 and isinstance(node._saved, ChangedOutput):
        return node._saved.version  # of a saved output (``_saved_result``), which shares the memory of the output
    return 0


def base(self: Tensor) -> Tensor | None:
    """The tensor of which this tensor is a view; ``None`` if it is not a view."""
    view = None if self._extra is None else self._extra.view
    return None if view is None else view.source


def is_view(self: Tensor) -> bool:
    """Return whether this tensor is a view that takes part in the history of another tensor."""
    return base(self) is not None


def deep_copy(self: Tensor, memo: dict[int, object]) -> Tensor:
    """Return a leaf with copies of the values and of the gradient, for ``copy.deepcopy``, whose ``memo`` has the copies by ``id``.

    Raises:
        GraphError: if the tensor is not a leaf.
    """
    if self._edge is not None:
        raise GraphError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.",
            hint="call detach() on the tensor first",
        )
    leaf = _new_leaf(np.array(self._data)[()], self._requires_grad, _is_parameter(self))
    memo[id(self)] = leaf
    if self._extra is not None and self._extra.grad is not None:
        leaf.grad = copy.deepcopy(self._extra.grad, memo)
    return leaf


def reduced(self: Tensor) -> tuple[Callable[[Array, bool, bool], Tensor], tuple[Array, bool, bool]]:
    """Return the values and ``requires_grad`` for ``copy.copy`` and serialization, without history, gradient and hooks."""
    return _new_leaf, (shared_array(self), self._requires_grad, _is_parameter(self))


def _is_parameter(tensor: Tensor) -> bool:
    return tensor._extra is not None and tensor._extra.is_parameter


def _new_leaf(values: Array, requires_grad: bool, is_parameter: bool = False) -> Tensor:
    """Return a leaf on an array; ``is_parameter`` tells whether it is an ``nn.Parameter``."""
    leaf = tensor_on(values)
    leaf._requires_grad = requires_grad
    if is_parameter:
        leaf.extra().is_parameter = True
    return leaf


add_methods(
    detach=detach,
    detach_=detach_,
    data=property(data, _set_data),
    _version=property(version),
    _base=property(base),
    _is_view=is_view,
    __deepcopy__=deep_copy,
    __reduce__=reduced,
)
