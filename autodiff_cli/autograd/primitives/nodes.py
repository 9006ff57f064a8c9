"""The nodes of primitives, which run VJP rules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.memory import changes_since, last_change
from autodiff_cli.autograd.node import NO_EDGE, Cotangent, Node, recorded
from autodiff_cli.autograd.primitives.primitive import VjpRule
from autodiff_cli.autograd.primitives.saved_names import shown_names
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.lazy import named


class OpNode(Node):
    """A node with a sequence of saved values and, for each VJP rule, the positions of its arguments among them."""

    __slots__ = ()

    vjps: ClassVar[tuple[VjpRule, ...]]
    picks: ClassVar[tuple[tuple[int, ...], ...]]
    """For each VJP rule, the positions of its arguments among the saved values."""

    def __init_subclass__(cls) -> None:
        for name in shown_names(cls.__name__, [slot for slot, _ in cls.saved_slots]):
            setattr(cls, f"_saved_{name}", property(partial(_saved_attribute, name), doc="A saved value."))

    def apply(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        if self._saved is None or last_change[0] > self.sequence_nr:
            self.check_saved()
        return self.run_rules(grad, [getattr(value, "_data", value) for value in self._saved], needed)

    def apply_recorded(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        if self._saved is None or last_change[0] > self.sequence_nr:
            self.check_saved()
        slots, values = self.saved_slots, list(self._saved)
        for i, value in enumerate(self._saved):
            if slots[i][1] != NO_EDGE:
                values[i] = recorded(self, value, slots[i][1])
        return self.run_rules(grad, values, needed)

    def run_rules(self, grad: Cotangent, values: Sequence[Any], needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        parts: list[Cotangent | None] = []
        for i, edge in enumerate(self._edges):
            if edge is None or (needed is not None and edge[0] not in needed):
                parts.append(None)
                continue
            picks, vjp = self.picks[i], self.vjps[i]
            if len(picks) == 1:
                parts.append(vjp(grad, values[picks[0]]))
            else:
                parts.append(vjp(grad, *[values[k] for k in picks]) if picks else vjp(grad))
        return parts

    def release(self) -> None:
        if self.frees or (self._saved and any(map(_has_array, self._saved))):
            self._saved = None


def _saved_attribute(name: str, node: Node) -> Any:
    return named("autodiff_cli.autograd.saved.packing:saved_attribute")(node, name)


def _has_array(value: object) -> bool:
    return isinstance(value, (np.ndarray, Tensor)) or (isinstance(value, tuple) and any(isinstance(v, np.ndarray) for v in value))


class SingleNode(OpNode):
    """A node of an operation with one differentiable tensor, whose only VJP rule takes all saved values.

    If the input was changed in place, ``recover`` computes it from the output.  PyTorch supports such a change, because it
    saves only the output.
    """

    __slots__ = ()

    recover: ClassVar[Callable[..., Array] | None] = None

    def apply(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        saved = self._saved
        if saved is None or last_change[0] > self.sequence_nr:
            self.check_saved()
            saved = self._saved
        if not saved:
            return (self.vjps[0](grad),)
        # Loops over the values would take longer than the rule.
        value = saved[0]._data if type(saved[0]) is Tensor else saved[0]
        if len(saved) == 1:
            return (self.vjps[0](grad, value),)
        if len(saved) == 2:
            return (self.vjps[0](grad, value, saved[1]._data if type(saved[1]) is Tensor else saved[1]),)
        return (self.vjps[0](grad, *[value._data if type(value) is Tensor else value for value in saved]),)

    def apply_recorded(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        saved = self._saved
        if saved is None or len(saved) > 1 or last_change[0] > self.sequence_nr:
            return OpNode.apply_recorded(self, grad, needed)
        return (self.vjps[0](grad, recorded(self, saved[0], self.saved_slots[0][1])),) if saved else (self.vjps[0](grad),)

    def run_rules(self, grad: Cotangent, values: Sequence[Any], needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        return (self.vjps[0](grad, *values),)

    def check_saved(self) -> None:
        if self.recover is not None and isinstance(self._saved, tuple):
            x, out = self._saved
            if changes_since(x, self.sequence_nr).later:
                self._saved = tensor_on(self.recover(out), self._edges[0]), out
        super().check_saved()


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

    def _vjp(self, i: int, grad: Cotangent, saved: Sequence[Any]) -> Cotangent:
        picks = self.picks[i]
        if not picks:
            return self.vjps[i](grad)
        if len(picks) == 1:
            value = saved[picks[0]]
            return self.vjps[i](grad, value._data if type(value) is Tensor else value)
        return self.vjps[i](grad, *[getattr(saved[k], "_data", saved[k]) for k in picks])


class SequenceNode(OpNode):
    """A node of an operation on a sequence of tensors (stack, cat), whose VJP rule receives the position of the tensor."""

    __slots__ = ()

    frees = False

    def run_rules(self, grad: Cotangent, values: Sequence[Any], needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        return [
            None if edge is None or (needed is not None and edge[0] not in needed) else self.vjps[0](grad, i, *values)
            for i, edge in enumerate(self._edges)
        ]
