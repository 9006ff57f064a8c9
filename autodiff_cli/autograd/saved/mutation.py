"""In-place changes of saved tensors: ``torch.autograd.graph.allow_mutation_on_saved_tensors``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

import numpy as np

from autodiff_cli.autograd.memory import change_observers
from autodiff_cli.autograd.saved.hooks import saved_tensors_hooks
from autodiff_cli.autograd.tensor import Tensor, root_of, tensor_on
from autodiff_cli.errors import GraphError, OutsideContext

_active: list[MutationContext] = []
"""The active context; there is at most one."""


class Handle:
    """The packed form of a saved tensor."""

    __slots__ = ("__weakref__",)


class MutationContext:
    """The tensors that were saved in a ``with`` block of ``allow_mutation_on_saved_tensors``.

    Attributes:
        original: the saved tensors that were not changed.
        cloned: for the others, a copy of the values that were saved.
        tid_to_weakhandle: the handles, by the tensor and its version when it was saved.
    """

    def __init__(self) -> None:
        self.original: WeakKeyDictionary[Handle, Tensor] = WeakKeyDictionary()
        self.cloned: WeakKeyDictionary[Handle, Tensor] = WeakKeyDictionary()
        self.tid_to_weakhandle: WeakValueDictionary[tuple[int, int], Handle] = WeakValueDictionary()
        self._by_memory: dict[int, WeakSet[Handle]] = {}

    def clear(self) -> None:
        """Forget all saved tensors; a later backward pass through them raises an error."""
        for state in (self.original, self.cloned, self.tid_to_weakhandle, self._by_memory):
            state.clear()

    def pack(self, tensor: Tensor) -> Handle:
        """Store a saved tensor, and return its handle."""
        key = (id(tensor), tensor._version)
        handle = self.tid_to_weakhandle.get(key)
        if handle is None:
            handle = self.tid_to_weakhandle[key] = Handle()
            self.original[handle] = tensor
            for memory in _memory_of(tensor):
                self._by_memory.setdefault(memory, WeakSet()).add(handle)
        return handle

    def unpack(self, handle: Handle) -> Tensor:
        """Return the values that were saved.

        Raises:
            OutsideContext: if the block has ended.
        """
        found = self.cloned.get(handle)
        if found is None:
            found = self.original.get(handle)
        if not _active or found is None:
            raise OutsideContext(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was originally "
                "recorded.",
                hint="run the forward pass and the backward pass in the same with block",
            )
        return found

    def before_change(self, tensor: Tensor) -> None:
        """Copy the saved tensors that share the memory of a tensor that is about to be changed."""
        for memory in _memory_of(tensor):
            for handle in self._by_memory.pop(memory, ()):
                saved = self.original.pop(handle, None)
                if saved is not None:
                    self.cloned[handle] = tensor_on(np.array(saved._data)[()])


def _memory_of(tensor: Tensor) -> tuple[int, ...]:
    """Return what identifies the memory of a tensor: its root, and the array that owns the memory, because an output of a node
    and the array that the node saved are different tensors."""
    root = root_of(tensor)
    data = root._data
    if not isinstance(data, np.ndarray):
        return (id(root),)
    return (id(root), id(data if data.base is None else data.base))


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[MutationContext]:
    """Return a ``with`` block in which saved tensors may be changed in place: they are copied before the change.

    The forward pass and the backward pass must run in the same block.

    Raises:
        GraphError: if the block is inside another such block.
    """
    if _active:
        raise GraphError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = MutationContext()
    with saved_tensors_hooks(context.pack, context.unpack):
        _active.append(context)
        change_observers.append(context.before_change)
        try:
            yield context
        finally:
            context.clear()
            change_observers.remove(context.before_change)
            _active.clear()
