"""Hooks for saved tensors, and nodes whose saved tensors are packed by them: a part of ``torch.autograd.graph``.

A pack hook receives a tensor that a node saves, and returns any object, which the node stores instead.  When the value is
needed, the unpack hook converts this object to a tensor, which gets the history of the saved tensor.

A node with packed values has a class derived from its class, with the same name.  Other nodes do not test for hooks: an observer
of new nodes (``hooks.node_observers``) packs their values, and is registered only while hooks are in effect.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from types import TracebackType
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import to_array
from autodiff_cli.autograd.hooks import node_observers
from autodiff_cli.autograd.modes import no_grad
from autodiff_cli.autograd.node import OUTPUT, AccumulateGrad, Cotangent, Edge, Node, check_version, leaf_edge, recorded
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.autograd.views_and_versions import ChangedOutput, next_sequence_nr
from autodiff_cli.errors import AutodiffError, DtypeError, GraphError, ShapeError, type_name

PackHook = Callable[[Tensor], object]
UnpackHook = Callable[[Any], Tensor]
Hooks = tuple[PackHook, UnpackHook]
"""A pack hook and an unpack hook."""

_PACKED_IN_PLACE = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be modified by "
    "in-place operations as this can lead to unexpected side-effects."
)
_disabled: ContextVar[str | None] = ContextVar("autodiff_saved_tensors_hooks_disabled", default=None)
"""The message of the innermost ``disable_saved_tensors_hooks``; ``None`` if hooks are allowed."""
_stack: ContextVar[tuple[Hooks, ...]] = ContextVar("autodiff_saved_tensors_hooks", default=())
"""The hooks in effect in this thread or asynchronous task; only the last pair is used."""


def hooks_in_effect() -> Hooks | None:
    """Return the innermost pair of hooks of this thread, ``None`` without hooks."""
    stack = _stack.get()
    return stack[-1] if stack else None


def _set_stack(stack: tuple[Hooks, ...]) -> None:
    """Set the hooks of this thread; ``node_observers`` contains ``pack_saved`` once for each pair of hooks of any thread."""
    added = len(stack) - len(_stack.get())  # negative for hooks that end
    node_observers.extend([pack_saved] * max(added, 0))
    for _ in range(-added):
        node_observers.remove(pack_saved)
    _stack.set(stack)


class saved_tensors_hooks:
    """A ``with`` block in which the tensors that nodes save for the backward pass are packed by a hook.

    Of nested blocks, only the innermost is used.  The hooks apply to the current thread.

    Args:
        pack_hook: the function that is called with each tensor that is saved; the node stores the object that it returns.
        unpack_hook: the function that is called with this object when the tensor is needed, and returns a tensor.

    Raises:
        DtypeError: when the block is entered, if a hook is not a function.
        GraphError: when the block is entered, if ``disable_saved_tensors_hooks`` is active.
    """

    def __init__(self, pack_hook: PackHook, unpack_hook: UnpackHook) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if not callable(self.pack_hook) or not callable(self.unpack_hook):
            raise DtypeError(
                "saved_tensors_hooks(): incompatible function arguments: "
                f"{type_name(self.pack_hook)} and {type_name(self.unpack_hook)}",
                hint="pass pack_hook(tensor), which returns any object, and unpack_hook(object), which returns a tensor",
            )
        message = _disabled.get()
        if message is not None:
            raise GraphError(message)
        _set_stack((*_stack.get(), (self.pack_hook, self.unpack_hook)))

    def __exit__(
        self, kind: type[BaseException] | None = None, error: BaseException | None = None, trace: TracebackType | None = None
    ) -> None:
        _set_stack(_stack.get()[:-1])


class save_on_cpu(saved_tensors_hooks):
    """A ``with`` block in which saved tensors are stored in the memory of the CPU.

    All tensors are in this memory already, so that only ``pin_memory`` has an effect: it copies each saved tensor, which
    can then be changed in place.

    Args:
        pin_memory: whether to copy the tensors.
        device_type: ignored; there is one device.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> Tensor:
            return tensor_on(tensor._data.copy() if pin_memory else tensor._data)

        super().__init__(pack, lambda packed: packed)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Return a ``with`` block in which hooks for saved tensors raise an error.

    Args:
        error_message: the message of the error.

    Raises:
        GraphError: if hooks are in effect.
    """
    if hooks_in_effect() is not None:
        raise GraphError(error_message)
    before = _disabled.get()
    _disabled.set(error_message)
    try:
        yield
    finally:
        _disabled.set(before)


_latest: ContextVar[tuple[Node | None, list[Any]]] = ContextVar("autodiff_latest_unpacked", default=(None, []))
"""The node that selects elements and whose values were unpacked last, and these values, for ``apply_again``."""


class PackedTensor:
    """A saved tensor that was packed by a hook.

    Args:
        tensor: the saved tensor.
        hooks: the pair of hooks.
        output: the number of the output of the node, if the saved tensor is an output.

    Attributes:
        packed: the object that the pack hook returned.
        unpack_hook: the unpack hook.
    """

    __slots__ = ("_accumulator", "_edge", "_output", "_requires_grad", "packed", "unpack_hook")

    def __init__(self, tensor: Tensor, hooks: Hooks, output: int | None = None) -> None:
        """Pack a tensor, and keep its history, but no reference to a leaf or to the node that saves it, which would be a cycle."""
        pack_hook, self.unpack_hook = hooks
        self._requires_grad = tensor._requires_grad
        self._output = output
        self._edge: Edge | None = None
        self._accumulator: weakref.ref[AccumulateGrad] | None = None
        if tensor._edge is None and tensor._requires_grad:  # a leaf
            accumulator: Any = leaf_edge(tensor)[0]
            self._accumulator = weakref.ref(accumulator)
        elif output is None:  # the edge of an output would refer to its node
            self._edge = tensor._edge
        self.packed = _packed(tensor, pack_hook)

    def unpack(self, node: Node | None) -> Tensor:
        """Return the tensor of the unpack hook with the history of the saved one; ``node`` is ``None`` if no node saved it."""
        stack = _stack.get()
        try:
            data = self.unpack_hook(self.packed)
        finally:
            _set_stack(stack)  # an unpack hook must not change the hooks of the code that runs a backward pass
        if not isinstance(data, Tensor):
            raise DtypeError(
                f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(data).__name__}",
                hint="return the tensor that the pack hook received, computed from the object that it returned",
            )
        edge = self._edge if self._output is None or node is None else (node, self._output)  # an output refers to its node
        if edge is None and not self._requires_grad and not data._requires_grad:
            return data  # a constant, as the hook returned it
        tensor = tensor_on(data._data, edge if self._requires_grad else None)
        if self._accumulator is not None:  # the saved tensor was a leaf
            tensor._requires_grad = True
            tensor.extra().accumulator = self._accumulator
        return tensor


def _packed(tensor: Tensor, pack_hook: PackHook) -> object:
    """Return the object that a pack hook makes of a tensor; raise GraphError if the hook changes the tensor in place."""
    version = tensor._version
    with no_grad():
        packed = pack_hook(tensor)
    if tensor._version != version:
        raise GraphError(_PACKED_IN_PLACE, hint="return a new tensor from the pack hook, such as 2 * x")
    return packed


class PackedNode(Node):
    """The base of the nodes with packed values, which are stored in a list in the order of ``saved_slots``.

    Values that are not packed, such as plain numbers, are stored as in other nodes.
    """

    __slots__ = ()

    keeps_output = False

    def apply(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        """Run the VJP rules with the arrays of the unpacked values; see ``Node.apply``."""
        self.check_saved()
        with no_grad():
            values = [getattr(value, "_data", value) for value in self._unpacked()]
        try:
            return self.run_rules(grad, values, needed)
        except ValueError as error:  # NumPy's error about shapes that do not fit
            if isinstance(error, AutodiffError):
                raise
            raise ShapeError(
                f"{self.name()}: the unpacked values do not fit: {error}",
                hint="return a tensor with the shape of the packed tensor from the unpack hook",
            ) from None

    def apply_again(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        """Run the VJP rules with the values that the latest ``apply`` unpacked; if another node did so since, unpack them again."""
        node, values = _latest.get()
        if node is not self:
            return self.apply(grad, needed)
        _latest.set((None, []))  # frees the values
        return self.run_rules(grad, [getattr(value, "_data", value) for value in values], needed)

    def apply_recorded(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        self.check_saved()
        return self.run_rules(grad, self._unpacked(), needed)

    def _unpacked(self) -> list[Any]:
        """Return the saved values with their histories, and store them in ``_latest`` if ``apply_again`` may follow."""
        values = []
        for (_, edge), entry in zip(self.saved_slots, self._saved, strict=True):
            values.append(entry.unpack(self) if isinstance(entry, PackedTensor) else recorded(self, entry, edge))
        if self.selects and self._outputs == 1:  # see ``selection_masks``
            _latest.set((self, values))
        return values


@cache
def _packed_type(node_type: Any) -> Any:
    """Return the class for nodes of ``node_type`` with packed values, under the same name."""
    return type(node_type.__name__, (PackedNode, node_type), {"__slots__": (), "__module__": node_type.__module__})


def holds_packed(node: Node) -> bool:
    """Return whether a hook packed a saved tensor of a node, so that reading it calls a hook."""
    return node._saved is not None and any(isinstance(entry, PackedTensor) for entry in node._saved)


def pack_saved(node: Node) -> None:
    """Pack the saved tensors of a node, which gets the class for packed values, if hooks are in effect in this thread."""
    hooks = hooks_in_effect()
    if hooks is None or not node.saved_slots or isinstance(node, PackedNode):
        return
    entries = []
    for (_, edge), entry in zip(node.saved_slots, node._saved, strict=True):
        tensor = _tensor_at(node, entry, edge)
        # The number of the output if the tensor is one of the outputs of the node.
        output = tensor._edge[1] if tensor is not None and tensor._edge and tensor._edge[0] is node else None
        entries.append(entry if tensor is None else PackedTensor(tensor, hooks, output))
    if not any(isinstance(entry, PackedTensor) for entry in entries):
        return
    node._saved = entries
    if type(node).saved_slots:  # the node of a custom function, whose slots differ between nodes, unpacks its values itself
        plain: Any = type(node)
        node.__class__ = _packed_type(plain)


def _tensor_at(node: Node, entry: Any, edge: int) -> Tensor | None:
    """Return a stored input or output as a tensor, ``None`` for any other value; ``edge`` is its number in ``saved_slots``."""
    if isinstance(entry, Tensor):
        return entry
    output: Tensor | None = recorded(node, entry, edge) if edge == OUTPUT else None
    if output is not None and output._edge is not None:
        # A hook may store output.detach(), which refers to the owner of the memory.  The owner must not refer to the node.
        output.extra().base = tensor_on(output._data)
    return output


def saved_value(node: Node, index: int) -> Any:
    """Return the saved value of a node at ``index``: a saved input is the tensor that was saved, and an array becomes a tensor.

    Raise GraphError if the value was freed or changed in place.
    """
    _, edge = node.saved_slots[index]
    if node._saved is None or isinstance(node._saved, ChangedOutput):
        node.check_saved()  # raises the error
    entry = node._saved[index]
    if isinstance(entry, PackedTensor):
        return entry.unpack(node)
    check_version(entry, node.sequence_nr)
    value: Any = recorded(node, entry, edge) if edge == OUTPUT else entry
    return tensor_on(to_array(value)) if isinstance(value, (np.ndarray, np.generic)) else value


class SavedInput:
    """A tensor that is saved outside of a node, with the hooks in effect."""

    __slots__ = ("_entry", "_sequence_nr")

    def __init__(self, tensor: Tensor) -> None:
        hooks = hooks_in_effect()
        self._entry: Tensor | PackedTensor = tensor if hooks is None else PackedTensor(tensor, hooks)
        self._sequence_nr = next_sequence_nr()

    def unpack(self) -> Tensor:
        """Return the tensor; raise GraphError if it was changed in place since, unless hooks have packed it."""
        if isinstance(self._entry, PackedTensor):
            return self._entry.unpack(None)
        check_version(self._entry, self._sequence_nr)
        return self._entry
