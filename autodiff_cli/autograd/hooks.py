"""Hooks: where nodes keep them, and the handles that remove them."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
