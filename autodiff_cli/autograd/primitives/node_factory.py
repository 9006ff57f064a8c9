"""The recording of calls: the node of a primitive, with its edges and the values that its VJP rules need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.hooks import node_observers, observed
from autodiff_cli.autograd.memory import next_sequence_nr
from autodiff_cli.autograd.node import NO_EDGE, OUTPUT, Edge, Node, leaf_edge
from autodiff_cli.autograd.primitives.nodes import OpNode, PairNode, SingleNode
from autodiff_cli.autograd.primitives.primitive import Primitive, argument_names
from autodiff_cli.autograd.tensor import Tensor

_new = object.__new__


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
        needed = [argument_names(vjp)[1:] for vjp in self._vjps]
        self.names = tuple(dict.fromkeys(name for names in needed for name in names))
        self._picks = tuple(tuple(map(self.names.index, names)) for names in needed)
        self._saved_values: tuple[SavedValue, ...] = tuple(
            (*_source(name, primitive.parameters), tuple(i for i, read in enumerate(self._picks) if k in read))
            for k, name in enumerate(self.names)
        )
        self.is_crossed = self._saved_values == (("value", 1, (0,)), ("value", 0, (1,)))

    def create_type(self) -> Any:
        """Create the class of the nodes, on first use."""
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
        if source == "output":
            return OUTPUT
        return self._edge_args.index(position) if source == "value" and position in self._edge_args else NO_EDGE

    def record(self, values: Sequence[Any], data: Array) -> Tensor:
        """Return the output of a call with an argument that requires grad, as a tensor with a node.

        Args:
            values: the arguments of the call.
            data: the result as an array.
        """
        edges: list[Edge | None] = []
        for i in self._edge_args:
            value = values[i]
            needs = type(value) is Tensor and value._requires_grad
            edges.append((value._edge or leaf_edge(value)) if needs else None)
        node = _new(self.node_type or self.create_type())
        node._saved = self.saved(edges, values, data)
        return output_of(node, tuple(edges), data)

    def saved(self, edges: Sequence[Edge | None], values: Sequence[Any], data: Array) -> list[Any]:
        """Return the values that the VJP rules need, with ``None`` for a value that no rule of an existing edge needs."""
        saved: list[Any] = []
        for kind, position, readers in self._saved_values:
            for reader in readers:
                if edges[reader] is not None:
                    break
            else:
                saved.append(None)
                continue
            if kind == "value":
                saved.append(values[position])
            elif kind == "output":
                saved.append(data)
            else:
                value = values[position]
                saved.append(value.shape if hasattr(value, "shape") else ())
        return saved


def _source(name: str, parameters: tuple[str, ...]) -> tuple[Source, int]:
    if name == "out":
        return "output", -1
    if name in parameters:
        return "value", parameters.index(name)
    return "shape", parameters.index(name.removesuffix("_shape"))


def output_of(node: Node, edges: tuple[Edge | None, ...], data: Array) -> Tensor:
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
