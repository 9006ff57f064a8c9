"""Hooks and their handles, and the rarely used state of nodes and tensors, which is allocated on first use."""

from __future__ import annotations

import itertools
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autodiff_cli.autograd.memory import View
    from autodiff_cli.autograd.node import AccumulateGrad
    from autodiff_cli.autograd.tensor import Tensor

Hook = Callable[..., Any]


@dataclass(slots=True, eq=False)
class NodeHooks:
    """The hooks of a node, allocated with the first hook.

    Attributes:
        tensor: the hooks of output tensors, each with the number of the output.
        before: the hooks that run before the node.
        after: the hooks that run after the node.
        retaining: the output tensors whose gradients are kept in ``.grad``, by output number.
    """

    tensor: dict[int, tuple[int, Hook]] = field(default_factory=dict)
    before: dict[int, Hook] = field(default_factory=dict)
    after: dict[int, Hook] = field(default_factory=dict)
    retaining: dict[int, weakref.ref[Tensor]] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
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
    """

    grad: Tensor | None = None
    accumulator: weakref.ref[AccumulateGrad] | None = None
    hooks: dict[int, tuple[int, Hook]] = field(default_factory=dict)
    after: dict[int, Hook] | None = None
    retains_grad: bool = False
    base: Tensor | None = None
    version: int = 0
    changes: deque[int] | None = None
    view: View | None = None
    views: list[weakref.ref[Tensor]] | None = None


class RemovableHandle:
    """The handle of a registered hook: ``remove()`` or the end of a ``with`` block removes the hook."""

    _next_id = itertools.count().__next__

    def __init__(self, hooks: dict[int, Any], entry: Hook | tuple[int, Hook]) -> None:
        self.id = self._next_id()
        self._hooks = hooks
        hooks[self.id] = entry

    def remove(self) -> None:
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()
