"""Hooks and their handles, and the rarely used state of nodes and tensors, which is allocated on first use."""

from __future__ import annotations

import itertools
import weakref
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autodiff_cli.autograd.node import AccumulateGrad, Node
    from autodiff_cli.autograd.tensor import Tensor
    from autodiff_cli.autograd.views_and_versions import View

Hook = Callable[..., Any]

node_observers: list[Callable[[Node], None]] = []
"""Functions that are called with each node that is recorded, after its edges, its saved values and its number are set.

The list is empty unless a mode needs it (anomaly mode, hooks for saved tensors, inference tensors): otherwise, recording a node
only tests it.
"""


def observed(node: Node) -> None:
    """Call the observers with a node that was recorded."""
    for observe in node_observers:
        observe(node)


# The classes of the engine are not dataclasses, because each dataclass adds 0.4 ms to the start of the program (measured).
class NodeHooks:
    """The hooks of a node, allocated with the first hook.

    Attributes:
        tensor: the hooks of output tensors, by output number.
        before: the hooks that run before the node.
        after: the hooks that run after the node.
        retaining: the output tensors whose gradients are kept in ``.grad``, by output number.
    """

    __slots__ = ("after", "before", "retaining", "tensor")

    def __init__(self) -> None:
        self.tensor: dict[int, dict[int, Hook]] = {}
        self.before: dict[int, Hook] = {}
        self.after: dict[int, Hook] = {}
        self.retaining: dict[int, weakref.ref[Tensor]] = {}


class Extra:
    """The rarely used state of a tensor.

    Attributes:
        grad: the accumulated gradient.
        accumulator: for a leaf, a weak reference to the node that accumulates its gradient.
        hooks: for a leaf, the hooks on its gradient.
        after: for a leaf, the hooks that run after its gradient was accumulated.
        retains_grad: whether the gradient of a tensor that is not a leaf is kept.
        base: for a view, the tensor that owns the memory.
        version: for a tensor that owns its memory, the number of in-place changes.
        changes: for a tensor that owns its memory, the sequence numbers of the latest in-place changes.
        view: for a view with a history, the steps that make it from its source.
        views: for a source, weak references to its views.
        is_parameter: whether the tensor is an ``nn.Parameter``.
    """

    grad: Tensor | None = None
    accumulator: weakref.ref[AccumulateGrad] | None = None
    hooks: dict[int, Hook] | None = None
    after: dict[int, Hook] | None = None
    retains_grad = False
    base: Tensor | None = None
    version = 0
    changes: deque[int] | None = None
    view: View | None = None
    views: list[weakref.ref[Tensor]] | None = None
    is_parameter = False


class RemovableHandle:
    """The handle of a registered hook: ``remove()`` or the end of a ``with`` block removes the hook."""

    _next_id = itertools.count().__next__

    def __init__(self, hooks: dict[int, Hook], hook: Hook) -> None:
        self.id = self._next_id()
        self._hooks = hooks
        hooks[self.id] = hook

    def remove(self) -> None:
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()
