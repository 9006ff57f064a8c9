"""Gradient hooks, and accumulation into ``.grad``."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.hooks import Hook, NodeHooks
from autodiff_cli.autograd.memory import check_changeable
from autodiff_cli.autograd.modes import inference_used, set_grad_enabled
from autodiff_cli.autograd.node import AccumulateGrad, Cotangent, Node, leaf_edge
from autodiff_cli.autograd.primitives.node_factory import output_of
from autodiff_cli.autograd.tensor import Tensor, new_tensor, tensor_on
from autodiff_cli.errors import DtypeError, ShapeError, type_name


def as_tensor(value: Cotangent) -> Tensor:
    """Return a cotangent as a tensor."""
    return value if isinstance(value, Tensor) else tensor_on(value)


def _as_cotangent(value: Tensor | Array, create_graph: bool) -> Cotangent:
    """Convert the result of a hook to a cotangent: a tensor with ``create_graph``, else an array."""
    tensor = value if isinstance(value, Tensor) else new_tensor(value)
    return tensor if create_graph else tensor._data


def _after_hook(hook: Hook, gradient: Cotangent, create_graph: bool) -> Cotangent:
    with set_grad_enabled(create_graph):
        result = hook(as_tensor(gradient))
    if result is None:
        return gradient
    if not isinstance(result, Tensor):
        raise DtypeError(f"a hook must return None or a Tensor, not {type_name(result)}")
    if result.shape != gradient.shape:
        raise ShapeError(f"a hook has changed the size of value: from {list(gradient.shape)} to {list(result.shape)}")
    if not result.is_floating_point():
        raise DtypeError(f"a hook has changed the type of value: from {np.dtype(gradient.dtype)} to {result._data.dtype}")
    return _as_cotangent(result, create_graph)


def run_tensor_hooks(node: Node, hooks: NodeHooks, gradient: Cotangent, create_graph: bool) -> Cotangent:
    """Run the hooks on the outputs of a node, store the retained gradients, and return the new cotangent."""
    grads = [gradient] if node._outputs == 1 else gradient
    for output, hook in list(hooks.tensor.values()):
        if grads[output] is not None:
            grads[output] = _after_hook(hook, grads[output], create_graph)
    for output, reference in hooks.retaining.items():
        tensor = reference()
        if tensor is not None and grads[output] is not None:
            accumulate(tensor, grads[output], create_graph)
    return grads[0] if node._outputs == 1 else grads


def run_prehooks(node: Node, hooks: NodeHooks, gradient: Cotangent, create_graph: bool) -> Cotangent:
    """Run the prehooks of a node, and return the new cotangent."""
    grads = [gradient] if node._outputs == 1 else gradient
    for hook in list(hooks.before.values()):
        with set_grad_enabled(create_graph):
            result = hook(tuple(None if g is None else as_tensor(g) for g in grads))
        if result is not None:
            result = result if isinstance(result, tuple) else (result,)
            grads = [None if g is None else _as_cotangent(g, create_graph) for g in result]
    return grads[0] if node._outputs == 1 else grads


def run_posthooks(hooks: NodeHooks, parts: Sequence[Cotangent | None], gradient: Cotangent) -> Sequence[Cotangent | None]:
    """Run the posthooks of a node, and return the new contributions to its inputs."""
    create_graph = any(isinstance(part, Tensor) for part in parts)
    outputs = tuple(None if g is None else as_tensor(g) for g in (gradient if isinstance(gradient, list) else [gradient]))
    for hook in list(hooks.after.values()):
        inputs = tuple(None if part is None else as_tensor(part) for part in parts)
        with set_grad_enabled(create_graph):
            result = hook(inputs, outputs)
        if result is not None:
            result = result if isinstance(result, tuple) else (result,)
            parts = [None if part is None else _as_cotangent(part, create_graph) for part in result]
    return parts


def run_leaf_hooks(leaf: AccumulateGrad, gradient: Cotangent, create_graph: bool) -> Cotangent:
    """Run the hooks on the gradient of a leaf, and return the new gradient."""
    for _, hook in list(leaf.variable.extra().hooks.values()):
        gradient = _after_hook(hook, gradient, create_graph)
    return gradient


def run_accumulated_hooks(leaf: AccumulateGrad, gradient: Cotangent) -> None:
    """Run the post-accumulation hooks of a leaf."""
    for hook in list((leaf.variable.extra().after or {}).values()):
        hook(leaf.variable)
    if leaf._hooks is not None and leaf._hooks.after:
        run_posthooks(leaf._hooks, (), gradient)


def accumulate(tensor: Tensor, gradient: Cotangent, create_graph: bool) -> None:
    """Add a gradient to ``tensor.grad``; the addition is in place without ``create_graph``, as in PyTorch.

    A leaf that does not require grad any more is left out.
    """
    if not tensor._requires_grad:
        return
    extra = tensor.extra()
    before = extra.grad
    if create_graph:
        extra.grad = _copied(gradient) if before is None else before + gradient
        return
    if before is None:
        extra.grad = tensor_on(gradient.copy() if isinstance(gradient, np.ndarray) else gradient)
        return
    if inference_used[0]:
        check_changeable(before)
    if isinstance(before._data, np.ndarray):
        np.add(before._data, gradient, out=before._data)
    else:
        before._data = before._data + gradient


class CopyBackwards(Node):
    """The node of a copy of a recorded gradient; the copy ensures that ``.grad`` does not share memory with another tensor."""

    __slots__ = ()

    def __init__(self) -> None:
        self._saved = None

    def apply(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        return (grad,)

    apply_recorded = apply


def _copied(gradient: Cotangent) -> Tensor:
    tensor = as_tensor(gradient)
    data = tensor._data.copy() if isinstance(tensor._data, np.ndarray) else tensor._data
    if not tensor._requires_grad:
        return tensor_on(data)
    return output_of(CopyBackwards(), (tensor._edge or leaf_edge(tensor),), data)
