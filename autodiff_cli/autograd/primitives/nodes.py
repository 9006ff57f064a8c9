"""The nodes of primitives: the recording of calls, with the values that VJP rules need, and the run of these rules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.hooks import node_observers, observed
from autodiff_cli.autograd.node import NO_EDGE, OUTPUT, Cotangent, Edge, Node, leaf_edge, recorded
from autodiff_cli.autograd.primitives.primitive import Primitive, VjpRule, argument_names
from autodiff_cli.autograd.primitives.saved_names import saved_name
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.autograd.views_and_versions import changes_since, last_change, next_sequence_nr
from autodiff_cli.lazy import named

_new = object.__new__


class OpNode(Node):
    """A node with a sequence of saved values and, for each VJP rule, the positions of its arguments among them."""

    __slots__ = ()

    vjps: ClassVar[tuple[VjpRule, ...]]
    picks: ClassVar[tuple[tuple[int, ...], ...]]
    """For each VJP rule, the positions of its arguments among the saved values."""

    def __init_subclass__(cls) -> None:
        for i, (slot, _) in enumerate(cls.saved_slots):
            setattr(cls, f"_saved_{saved_name(cls.__name__, slot)}", property(partial(_saved_value, i), doc="A saved value."))

    # A saved value can have been changed in place only if some tensor was changed after this node was recorded (``last_change``).

    def apply(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        """Run the VJP rules with the arrays of the saved values; see ``Node.apply``."""
        if self._saved is None or last_change[0] > self.sequence_nr:
            self.check_saved()
        return self.run_rules(grad, [getattr(value, "_data", value) for value in self._saved], needed)

    def apply_recorded(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        """Run the VJP rules with the saved values as tensors that have their histories; see ``Node.apply_recorded``."""
        if self._saved is None or last_change[0] > self.sequence_nr:
            self.check_saved()
        slots, values = self.saved_slots, list(self._saved)
        for i, value in enumerate(self._saved):
            if slots[i][1] != NO_EDGE:
                values[i] = recorded(self, value, slots[i][1])
        return self.run_rules(grad, values, needed)

    def run_rules(self, grad: Cotangent, values: Sequence[Any], needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        """Run the VJP rule of each edge that leads to a needed node, with those saved values that the rule names."""
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
        """Free the saved values, unless they are only numbers and shapes."""
        if self.frees or (self._saved and any(map(_holds_array, self._saved))):
            self._saved = None


def _saved_value(i: int, node: Node) -> Any:
    """Return the value that a node saved at a position; see ``packing.saved_value``."""
    return named("autodiff_cli.autograd.saved.packing:saved_value")(node, i)


def _holds_array(value: object) -> bool:
    """Return whether a saved value is an array, a tensor, or an index with arrays."""
    return isinstance(value, (np.ndarray, Tensor)) or (isinstance(value, tuple) and any(isinstance(v, np.ndarray) for v in value))


class SingleNode(OpNode):
    """A node of an operation with one differentiable tensor, whose only VJP rule takes all saved values.

    If the input was changed in place, ``recover`` computes it from the output.  PyTorch supports such a change, because it
    saves only the output.
    """

    __slots__ = ()

    recover: ClassVar[Callable[..., Array] | None] = None

    def apply(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        """Run the rule whether or not the input is needed; the pass ignores a cotangent that it does not need."""
        saved = self._saved
        if saved is None or last_change[0] > self.sequence_nr:
            self.check_saved()  # it may compute the input again, see ``recover``
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
        """Run the rule with tensors; the case of at most one saved value does not need a loop."""
        saved = self._saved
        if saved is None or len(saved) > 1 or last_change[0] > self.sequence_nr:
            return OpNode.apply_recorded(self, grad, needed)
        return (self.vjps[0](grad, recorded(self, saved[0], self.saved_slots[0][1])),) if saved else (self.vjps[0](grad),)

    def run_rules(self, grad: Cotangent, values: Sequence[Any], needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        return (self.vjps[0](grad, *values),)

    def check_saved(self) -> None:
        """Compute a changed input again from the output, if the operation can, and check all other saved values."""
        if self.recover is not None and isinstance(self._saved, tuple):
            x, out = self._saved
            _, later = changes_since(x, self.sequence_nr)
            if later:
                self._saved = tensor_on(self.recover(out), self._edges[0]), out
        super().check_saved()


class PairNode(OpNode):
    """A node of an operation on two tensors, the most frequent ``OpNode``; the loop over its two edges is unrolled."""

    __slots__ = ()

    def apply(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        """Return the cotangents of both arguments, ``None`` for an argument that is constant or not needed."""
        saved = self._saved
        if saved is None or last_change[0] > self.sequence_nr:
            self.check_saved()
        first, second = self._edges
        return (
            None if first is None or (needed is not None and first[0] not in needed) else self._vjp(0, grad, saved),
            None if second is None or (needed is not None and second[0] not in needed) else self._vjp(1, grad, saved),
        )

    def _vjp(self, i: int, grad: Cotangent, saved: Sequence[Any]) -> Cotangent:
        """Return the cotangent of the i-th argument."""
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

    def run_rules(self, grad: Cotangent, values: Sequence[Any], needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        """Run the only rule once for each needed tensor of the sequence; ``None`` for the others."""
        return [
            None if edge is None or (needed is not None and edge[0] not in needed) else self.vjps[0](grad, i, *values)
            for i, edge in enumerate(self._edges)
        ]


Source = Literal["value", "shape", "output"]
SavedValue = tuple[Source, int, tuple[int, ...]]
"""A value that a node saves: its source (an argument, the shape of an argument, or the output), the position of the argument
or -1, and the indices of the VJP rules that need it.  Unpacking a named tuple would make an eager operation 2 % slower."""


class NodeFactory:
    """A factory for the nodes of one primitive.

    Args:
        primitive: the primitive.
        node_name: the class name of the nodes, as PyTorch prints it.
        traits: additional class attributes of the nodes.

    Attributes:
        names: the names of the values that the nodes save, as the VJP rules name them.
        node_type: the class of the nodes; ``None`` until the first node.
        is_crossed: whether there are two arguments, and the VJP rule of each needs the other argument.
    """

    def __init__(self, primitive: Primitive, node_name: str, traits: Mapping[str, Any]) -> None:
        self.node_type: Any = None
        self._node_name = node_name
        self._traits = {"primitive": primitive, "selects": bool(primitive.selects), "elementwise": primitive.elementwise, **traits}
        self._edge_args = primitive.differentiable_args
        self._arity = primitive.arity
        self._vjps = tuple(vjp for vjp in primitive.vjps.values() if vjp is not None)
        names_by_rule = [argument_names(vjp)[1:] for vjp in self._vjps]
        self.names = tuple(dict.fromkeys(name for names in names_by_rule for name in names))
        self._picks = tuple(tuple(map(self.names.index, names)) for names in names_by_rule)
        self._saved_values: tuple[SavedValue, ...] = tuple(
            (*_source_of(name, primitive.parameters), tuple(i for i, names in enumerate(names_by_rule) if name in names))
            for name in self.names
        )
        self.is_crossed = self._saved_values == (("value", 1, (0,)), ("value", 0, (1,)))  # argument 1 for rule 0, and conversely

    def create_type(self) -> Any:
        """Create the class of the nodes for the first call, store it in ``node_type``, and return it."""
        edges = [self._slot_edge(source, position) for source, position, _ in self._saved_values]
        attributes = {
            "__slots__": (),
            "vjps": self._vjps,
            "picks": self._picks,
            "saved_slots": tuple(zip(self.names, edges, strict=True)),
            "keeps_output": OUTPUT in edges,
            "frees": any(source == "output" or (source == "value" and at < self._arity) for source, at, _ in self._saved_values),
        }
        base = SingleNode if len(self._edge_args) == 1 else PairNode if self._edge_args == (0, 1) else OpNode
        self.node_type = type(self._node_name, (base,), attributes | self._traits)
        return self.node_type

    def _slot_edge(self, source: Source, position: int) -> int:
        """Return the number of the edge of a saved value: ``OUTPUT``, or ``NO_EDGE`` for a shape or an argument without a rule."""
        if source == "output":
            return OUTPUT
        return self._edge_args.index(position) if source == "value" and position in self._edge_args else NO_EDGE

    def record(self, values: Sequence[Any], data: Array) -> Tensor:
        """Return the output ``data`` of a call with the arguments ``values``, one of which requires grad, with a node."""
        edges: list[Edge | None] = []
        for i in self._edge_args:
            value = values[i]
            needs = type(value) is Tensor and value._requires_grad
            edges.append((value._edge or leaf_edge(value)) if needs else None)
        node = _new(self.node_type or self.create_type())
        node._saved = self.saved(edges, values, data)
        return complete_node(node, tuple(edges), data)

    def saved(self, edges: Sequence[Edge | None], values: Sequence[Any], data: Array) -> list[Any]:
        """Return the values that the VJP rules need, with ``None`` for a value that no rule of an existing edge needs.

        See ``record`` for ``values`` and ``data``; an edge is ``None`` for a constant.
        """
        saved: list[Any] = []
        for source, position, rules in self._saved_values:
            for rule in rules:  # any() would take longer
                if edges[rule] is not None:
                    break
            else:
                saved.append(None)
                continue
            if source == "value":
                saved.append(values[position])
            elif source == "output":
                saved.append(data)
            else:
                value = values[position]
                saved.append(value.shape if hasattr(value, "shape") else ())
        return saved


def _source_of(name: str, parameters: tuple[str, ...]) -> tuple[Source, int]:
    """Return where the value with a name in the VJP rules comes from, and the position of its argument, -1 for the output."""
    if name == "out":
        return "output", -1
    if name in parameters:
        return "value", parameters.index(name)
    return "shape", parameters.index(name.removesuffix("_shape"))


def complete_node(node: Node, edges: tuple[Edge | None, ...], data: Array) -> Tensor:
    """Complete a node, and return its only output as a tensor; this function must be fast."""
    node._edges = edges
    node._shape = data.shape
    node._dtype = data.dtype
    node.sequence_nr = next_sequence_nr()
    node._hooks = None
    if node_observers:
        observed(node)
    out = _new(Tensor)
    out._data = data
    out._requires_grad = True
    out._edge = (node, 0)
    out._extra = None
    return out
