"""The computation of a checkpointed function a second time, when the backward pass needs its saved tensors.

While the function runs for the first time, a hook replaces each tensor that a node saves by a ``Slot``.  The first slot that a
backward pass unpacks starts the recomputation, in which another hook fills the slots in the same order.  Each backward pass
recomputes the values that it needs, and a value is dropped as soon as it is unpacked.

Checkpoints may be nested.  The innermost one saves a tensor, and its inputs are saved by the checkpoint around it, so that
the recomputation of the inner function first recomputes the outer one.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from autodiff_cli.autograd.modes import enable_grad
from autodiff_cli.autograd.reverse.backward_pass import current_pass
from autodiff_cli.autograd.saved.packing import SavedInput, saved_tensors_hooks
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import CheckpointError

_HINT = "the function must run the same operations when it is called again"


class _OutsidePass:
    """The access to saved values outside of a backward pass."""

    __slots__ = ("__weakref__",)


class _AllRecomputed(Exception):
    """Raised inside the function when all values that are needed were recomputed."""


class Slot:
    """A saved tensor that is recomputed: its values, by the backward pass that needs them; ``None`` after it was unpacked."""

    __slots__ = ("__weakref__", "values")

    def __init__(self) -> None:
        self.values: WeakKeyDictionary[Any, Tensor | None] = WeakKeyDictionary()


class Region:
    """One call of a checkpointed function.

    Args:
        recompute: a function that calls the checkpointed function again, in the state in which it was called first.
        args: the positional arguments.
        early_stop: whether the recomputation stops after the last value that is needed.
        compares: whether the shapes and the types of saved tensors are compared, and not only their number.
    """

    def __init__(self, recompute: Callable[..., object], args: Sequence[object], early_stop: bool, compares: bool) -> None:
        self._recompute = recompute
        self._args = [SavedInput(arg) if isinstance(arg, Tensor) else arg for arg in args]  # hooks around may pack them
        self._early_stop = early_stop
        self._compares = compares
        self._slots: list[weakref.ref[Slot]] = []  # of the tensors saved in the first call, in order; a freed node frees its slots
        self._expected: list[object] = []  # the shapes and types of these tensors
        self._done: WeakSet[Any] = WeakSet()  # the backward passes that have recomputed the values
        self._ended = False  # whether the first call has returned
        self._is_partial = False  # whether a backward pass inside the function recomputed the values of a call that had not ended

    @contextmanager
    def first_call(self) -> Iterator[None]:
        """Return a ``with`` block for the first call of the function, in which each tensor that a node saves becomes a slot."""
        with saved_tensors_hooks(self._pack, self._unpack):
            yield
        self._ended = True

    def _pack(self, tensor: Tensor) -> Slot:
        """Register a tensor that a node saves in the first call, and return an empty slot, which the node stores instead."""
        slot = Slot()
        self._slots.append(weakref.ref(slot))
        self._expected.append(_shape_and_dtype(tensor))
        return slot

    def _unpack(self, slot: Slot) -> Tensor:
        """Return the tensor of a slot, which can be read once in a backward pass; the first read of any slot recomputes all."""
        running: Any = current_pass.get() or _OutsidePass()  # a new object: a read outside of a pass recomputes each time
        if running not in self._done:
            self._recompute_slots(running)
        value = slot.values.get(running)
        if value is None:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. "
                "If you are calling ctx.saved_tensors in backward, make sure to do so only once.",
                hint="assign ctx.saved_tensors to variables: x, y = ctx.saved_tensors",
            )
        slot.values[running] = None
        return value

    def _recompute_slots(self, running: object) -> None:
        """Call the function again, and store the tensors that it saves in the slots, for the pass ``running`` alone."""
        args = [arg.unpack() if isinstance(arg, SavedInput) else arg for arg in self._args]
        numbers = itertools.count()  # of the tensors that the second call saves

        def pack(tensor: Tensor) -> Tensor:
            """Store the next tensor that the function saves, without its history, which leads to the second call."""
            value = tensor_on(tensor._data) if tensor._requires_grad else tensor
            self._store(next(numbers), value, running)
            return value

        try:
            with saved_tensors_hooks(pack, lambda packed: packed), enable_grad():
                self._recompute(*args)
        except _AllRecomputed:  # ``_store`` ended the call, because it has stored the last tensor
            pass
        self._done.add(running)
        self._check_recomputed(running, count=next(numbers))  # the next number is the count of those before

    def _store(self, number: int, value: Tensor, running: object) -> None:
        """Store a recomputed tensor in the slot of this number, from 0, for the pass ``running``.

        With ``early_stop``, the tensor of the last slot ends the second call, by raising ``_AllRecomputed``.  A tensor after it is
        dropped if the first call is still running; otherwise it raises CheckpointError.
        """
        if number >= len(self._slots):
            if self._ended:
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward "
                    "pass.",
                    hint=_HINT,
                )
            self._is_partial = True  # a backward pass inside the function, which will save more tensors after it
            return
        slot = self._slots[number]()
        if slot is not None:  # otherwise its node was freed
            slot.values[running] = value
        if self._early_stop and number == len(self._slots) - 1:
            raise _AllRecomputed

    def _check_recomputed(self, running: object, count: int) -> None:
        """Raise CheckpointError if ``count``, or a tensor recomputed for the pass ``running``, differs from the first call."""
        if self._is_partial:  # a second call came before the first had saved all of its tensors
            return
        if count != len(self._slots):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self._slots)}\n"
                f"Number of tensors saved during recomputation: {count}.",
                hint=_HINT,
            )
        if self._compares:
            self._check_shapes_and_types(running)

    def _check_shapes_and_types(self, running: object) -> None:
        """Raise CheckpointError if a tensor that ``running`` recomputed has another shape or type than in the first call."""
        different = []
        for i, (reference, expected) in enumerate(zip(self._slots, self._expected, strict=True)):
            slot = reference()
            value = None if slot is None else slot.values.get(running)
            if value is None:  # its node was freed
                continue
            metadata = _shape_and_dtype(value)
            if metadata != expected:
                different.append(f"tensor at position {i}:\nsaved metadata: {expected}\nrecomputed metadata: {metadata}")
        if different:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
                "forward pass.\n" + "\n".join(different),
                hint=_HINT,
            )


def _shape_and_dtype(tensor: Tensor) -> dict[str, object]:
    return {"shape": tensor.shape, "dtype": tensor.dtype}
