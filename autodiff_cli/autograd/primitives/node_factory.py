"""The recording of calls: the node of a primitive, with its edges and the values that its VJP rules need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.hooks import node_observers, observed
from autodiff_cli.autograd.memory import next_sequence_nr, refuse_inference
from autodiff_cli.autograd.modes import inference_used
from autodiff_cli.autograd.node import NO_EDGE, OUTPUT, Edge, Node, leaf_edge
from autodiff_cli.autograd.primitives.nodes import OpNode, PairNode, SingleNode
from autodiff_cli.autograd.primitives.primitive import Primitive, argument_names
from autodiff_cli.autograd.primitives.saved_names import node_class
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
    """

    __slots__ = (
        "_arity",
        "_crossed",
        "_edge_args",
        "_names",
        "_node_name",
        "_node_type",
        "_picks",
        "_saved_values",
        "_traits",
        "vjps",
    )

    def __init__(self, primitive: Primitive, node_name: str, traits: Mapping[str, Any]) -> None:
        self._node_name = node_name
        self._traits = {"primitive": primitive, "selects": bool(primitive.selects), "elementwise": primitive.elementwise, **traits}
        self._edge_args = primitive.differentiable_args
        self._arity = primitive.arity
        self._node_type: type[OpNode] | None = None
        self.vjps = tuple(vjp for vjp in primitive.vjps.values() if vjp is not None)
        wanted = [argument_names(vjp)[1:] for vjp in self.vjps]
        self._names = tuple(dict.fromkeys(name for names in wanted for name in names))
        self._picks = tuple(tuple(map(self._names.index, names)) for names in wanted)
        self._saved_values: tuple[SavedValue, ...] = tuple(
            (*_source(name, primitive.parameters), tuple(i for i, read in enumerate(self._picks) if k in read))
            for k, name in enumerate(self._names)
        )
        self._crossed = self._saved_values == (("value", 1, (0,)), ("value", 0, (1,)))  # each rule needs the other argument

    @property
    def node_type(self) -> type[OpNode]:
        """The class of the nodes, created on first use."""
        if self._node_type is None:
            edge_of = tuple(
                OUTPUT
                if kind == "output"
                else self._edge_args.index(position)
                if kind == "value" and position in self._edge_args
                else NO_EDGE
                for kind, position, _ in self._saved_values
            )
            attributes = {
                "vjps": self.vjps,
                "picks": self._picks,
                "saved_slots": tuple(zip(self._names, edge_of, strict=True)),
                "keeps_output": OUTPUT in edge_of,
                "saves_statics": any(kind == "value" and at >= self._arity for kind, at, _ in self._saved_values),
                "frees": any(kind == "output" or (kind == "value" and at < self._arity) for kind, at, _ in self._saved_values),
            }
            base = SingleNode if len(self._edge_args) == 1 else PairNode if self._edge_args == (0, 1) else OpNode
            self._node_type = self.subclass(base, **attributes)
        return self._node_type

    def subclass(self, base: type[Node], **attributes: Any) -> Any:
        """Return a class of nodes with the name and the traits of this primitive."""
        return node_class(self._node_name, base, **attributes, **self._traits)

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
        node = _new(self._node_type or self.node_type)
        node._saved = self._saved(edges, values, data)
        if inference_used[0]:
            refuse_inference(node._saved)
        return output_of(node, tuple(edges), data)

    def _saved(self, edges: Sequence[Edge | None], values: Sequence[Any], data: Array) -> list[Any]:
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

    def record_pair(self, x: Any, y: Any, data: Array, first: bool, second: bool) -> Tensor:
        """Return the output of a call with two tensor arguments, like ``record``; this method must be fast.

        Args:
            x, y: the arguments of the call.
            data: the result as an array.
            first, second: whether the derivatives with respect to ``x`` and ``y`` are recorded.
        """
        node = _new(self._node_type or self.node_type)
        node._edges = (
            (x._edge or leaf_edge(x)) if first else None,
            (y._edge or leaf_edge(y)) if second else None,
        )
        saved = self._saved_values
        if not saved:
            node._saved = ()
        elif self._crossed:
            node._saved = (y if first else None, x if second else None)
        else:
            node._saved = self._saved(node._edges, (x, y), data)
        if inference_used[0]:
            refuse_inference(node._saved)
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


def _source(name: str, parameters: tuple[str, ...]) -> tuple[Source, int]:
    if name == "out":
        return "output", -1
    if name in parameters:
        return "value", parameters.index(name)
    return "shape", parameters.index(name.removesuffix("_shape"))


def output_of(node: Node, edges: tuple[Edge | None, ...], data: Array) -> Tensor:
    """Complete a node, and return its only output as a tensor."""
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
