"""The nodes of primitives, one class for each set of values that VJP rules need."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.memory import changes_since, last_change
from autodiff_cli.autograd.node import OUTPUT, Cotangent, Node, recorded, restore
from autodiff_cli.autograd.primitives.primitive import VjpRule
from autodiff_cli.autograd.tensor import Tensor, tensor_on


class UnaryNode(Node):
    """A node of an operation on one tensor, whose VJP rule needs the input, the output, both or neither."""

    __slots__ = ()

    vjp: ClassVar[VjpRule]

    def run_rules(self, grad: Cotangent, values: Sequence[Any], needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        return (self.vjp(grad, *values),)


class LinearNode(UnaryNode):
    """A node whose VJP rule does not need any values; nothing is saved or freed."""

    __slots__ = ()

    def apply(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        return (self.vjp(grad),)

    apply_recorded = apply


class InputNode(UnaryNode):
    """A node whose VJP rule needs the input, which is saved as a tensor."""

    __slots__ = ()

    saved_slots = (("x", 0),)

    def apply(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        saved = self._saved
        if saved is None or last_change[0] > self.sequence_nr:
            self.check_saved()
        return (self.vjp(grad, saved._data),)

    def apply_recorded(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        if self._saved is None or last_change[0] > self.sequence_nr:
            self.check_saved()
        return (self.vjp(grad, restore(self._saved, self._edges[0])),)

    def saved_entries(self) -> Sequence[Any]:
        return (self._saved,)

    def release(self) -> None:
        self._saved = None


class OutputNode(UnaryNode):
    """A node whose VJP rule needs the output, which is saved as an array, because a saved tensor would create a reference cycle."""

    __slots__ = ()

    keeps_output = True
    saved_slots = (("out", OUTPUT),)

    def apply(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        if self._saved is None or last_change[0] > self.sequence_nr:
            self.check_saved()
        return (self.vjp(grad, self._saved),)

    def apply_recorded(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        if self._saved is None or last_change[0] > self.sequence_nr:
            self.check_saved()
        return (self.vjp(grad, tensor_on(self._saved, (self, 0))),)

    def saved_entries(self) -> Sequence[Any]:
        return (self._saved,)

    def release(self) -> None:
        self._saved = None


class BothNode(UnaryNode):
    """A node whose VJP rule needs the input and the output, which are saved as a tensor and an array.

    If the input was changed in place, ``recover`` computes it from the output.  PyTorch supports such a change, because it
    saves only the output.
    """

    __slots__ = ()

    keeps_output = True
    saved_slots = (("x", 0), ("out", OUTPUT))
    recover: ClassVar[Callable[..., Array] | None] = None

    def apply(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        x, out = self._pair()
        return (self.vjp(grad, x._data, out),)

    def apply_recorded(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        x, out = self._pair()
        return (self.vjp(grad, restore(x, self._edges[0]), tensor_on(out, (self, 0))),)

    def _pair(self) -> Any:
        pair = self._saved
        if pair is not None and last_change[0] <= self.sequence_nr:
            return pair
        if self.recover is not None and isinstance(pair, tuple) and changes_since(pair[0], self.sequence_nr)[1]:
            return tensor_on(self.recover(pair[1]), self._edges[0]), pair[1]
        self.check_saved()
        return pair

    def saved_entries(self) -> Sequence[Any]:
        entries: Sequence[Any] = self._pair()
        return entries

    def release(self) -> None:
        self._saved = None


class OpNode(Node):
    """A node of any other operation, with a list of saved values and, for each VJP rule, the positions of its arguments."""

    __slots__ = ()

    vjps: ClassVar[tuple[VjpRule, ...]]
    picks: ClassVar[tuple[tuple[int, ...], ...]]
    """For each VJP rule, the positions of its arguments in the list of saved values."""
    frees: ClassVar[bool]
    """Whether a saved value is a tensor, so that a backward pass frees the saved values."""
    saves_statics: ClassVar[bool]
    """Whether a saved value is a plain argument; if it contains an array, such as positions, the saved values are freed too."""

    def saved_entries(self) -> Sequence[Any]:
        entries: Sequence[Any] = self._saved
        return entries

    def apply(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        saved = self._saved
        if saved is None or last_change[0] > self.sequence_nr:
            self.check_saved()
        return self.run_rules(grad, [getattr(value, "_data", value) for value in saved], needed)

    def apply_recorded(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        saved, slots = self._saved, self.saved_slots
        if saved is None or last_change[0] > self.sequence_nr:
            self.check_saved()
        return self.run_rules(grad, [recorded(self, value, slots[i][1]) for i, value in enumerate(saved)], needed)

    def run_rules(self, grad: Cotangent, values: Sequence[Any], needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        parts: list[Cotangent | None] = []
        for i, edge in enumerate(self._edges):
            if edge is None or (needed is not None and edge[0] not in needed):
                parts.append(None)
                continue
            parts.append(self.run_rule(i, grad, values))
        return parts

    def run_rule(self, i: int, grad: Cotangent, values: Sequence[Any]) -> Cotangent:
        """Return the cotangent of one input, computed by its VJP rule; see ``run_rules``."""
        picks = self.picks[i]
        if len(picks) == 1:
            return self.vjps[i](grad, values[picks[0]])
        return self.vjps[i](grad, *[values[k] for k in picks]) if picks else self.vjps[i](grad)

    def release(self) -> None:
        if self.frees or (self.saves_statics and self._saved is not None and any(map(_has_array, self._saved))):
            self._saved = None


def _has_array(value: object) -> bool:
    return isinstance(value, (np.ndarray, Tensor)) or (isinstance(value, tuple) and any(isinstance(v, np.ndarray) for v in value))


class SingleNode(OpNode):
    """A node of an operation with one differentiable tensor, whose only VJP rule takes all saved values."""

    __slots__ = ()

    def run_rules(self, grad: Cotangent, values: Sequence[Any], needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        return (self.vjps[0](grad, *values),)


class PairNode(OpNode):
    """A node of an operation on two tensors, the most frequent ``OpNode``; the loop over its two edges is unrolled."""

    __slots__ = ()

    def apply(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        saved = self._saved
        if saved is None or last_change[0] > self.sequence_nr:
            self.check_saved()
        first, second = self._edges
        return (
            None if first is None or (needed is not None and first[0] not in needed) else self._vjp(0, grad, saved),
            None if second is None or (needed is not None and second[0] not in needed) else self._vjp(1, grad, saved),
        )

    def _vjp(self, i: int, grad: Cotangent, saved: list[Any]) -> Cotangent:
        picks = self.picks[i]
        if not picks:
            return self.vjps[i](grad)
        if len(picks) == 1:
            value = saved[picks[0]]
            return self.vjps[i](grad, getattr(value, "_data", value))
        return self.vjps[i](grad, *[getattr(saved[k], "_data", saved[k]) for k in picks])

    def run_rules(self, grad: Cotangent, values: Sequence[Any], needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        first, second = self._edges
        return (
            None if first is None or (needed is not None and first[0] not in needed) else self.run_rule(0, grad, values),
            None if second is None or (needed is not None and second[0] not in needed) else self.run_rule(1, grad, values),
        )


class SequenceNode(Node):
    """A node of an operation on a sequence of tensors (stack, cat), whose VJP rule receives the position of the tensor."""

    __slots__ = ()

    vjp: ClassVar[VjpRule]

    def apply(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        return [
            None if edge is None or (needed is not None and edge[0] not in needed) else self.vjp(grad, i, *self._saved)
            for i, edge in enumerate(self._edges)
        ]

    apply_recorded = apply

    def saved_entries(self) -> Sequence[Any]:
        entries: Sequence[Any] = self._saved
        return entries
