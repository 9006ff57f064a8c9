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
    """The hooks of a node, made with the first one.

    Attributes:
        tensor: hooks of output tensors, each with the number of the output.
        before: hooks that run before the node does.
        after: hooks that run after it.
        retaining: outputs by number whose gradient is kept in ``.grad``.
    """

    tensor: dict[int, tuple[int, Hook]] = field(default_factory=dict)
    before: dict[int, Hook] = field(default_factory=dict)
    after: dict[int, Hook] = field(default_factory=dict)
    retaining: dict[int, weakref.ref[Tensor]] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Extra:
    """Rarely used state of a tensor.

    Attributes:
        grad: the gradient that backward has accumulated.
        accumulator: for a leaf, the node that accumulates it, weakly.
        hooks: hooks of a leaf on its gradient.
        after: hooks of a leaf that run after its gradient was accumulated.
        retains_grad: whether the gradient of a tensor that is not a leaf is kept.
        base: for a view, the tensor that owns the memory.
        version: for an owner of memory, the number of in-place changes.
        changes: their sequence numbers, of the latest ones.
        view: for a view with a history, how it is made of its source.
        views: for a source, its views that are alive.
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
    """The handle of a registered hook: ``remove()`` removes the hook, and so does leaving a ``with`` block."""

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
