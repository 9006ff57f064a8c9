"""The backward graph: nodes, edges, and the nodes of leaves.

A node is created when an operation is recorded.  It stores the edges to the nodes of its inputs (``next_functions`` in
PyTorch), the shape and type of its output, and only the values that its VJP rules name.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from autodiff_cli.autograd.dtypes import Array, DType
from autodiff_cli.autograd.hooks import Hook, NodeHooks, RemovableHandle, node_observers, observed
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.autograd.views_and_versions import (
    CHANGED_HINT,
    ChangedOutput,
    changed_message,
    changes_since,
    known_edge,
    next_sequence_nr,
)
from autodiff_cli.errors import GraphError

if TYPE_CHECKING:
    from autodiff_cli.autograd.primitives.primitive import Primitive

Edge = tuple["Node", int]
"""A node and the number of one of its outputs."""


class GradientEdge(NamedTuple):
    """An edge in the public interface: a node and the number of one of its outputs."""

    node: Node
    output_nr: int


Cotangent = Any
"""The gradient of the output with respect to an intermediate value: a plain array, or a Tensor with ``create_graph``.  For
a node with several outputs it is a list, with ``None`` for each unused output."""

_IN_NAMESPACE = ("AccumulateGrad", "CopySlices", "CopyBackwards", "Error")
"""The nodes whose names contain the C++ namespace in PyTorch, because they are not generated from a declaration."""
NO_EDGE, OUTPUT = -1, -2
"""The number of the edge of a saved value that is not an input, and of the output of the node."""

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
    "saved tensors after calling backward."
)
FREED_HINT = "pass retain_graph=True to the first backward pass"


class Node:
    """A recorded operation.

    ``sequence_nr`` increases with every node, so a node is younger than all nodes that its edges lead to.  A backward pass that
    runs the youngest pending node first therefore does not need a topological sort.
    """

    __slots__ = ("__weakref__", "_dtype", "_edges", "_hooks", "_metadata", "_saved", "_shape", "sequence_nr")

    _edges: tuple[Edge | None, ...]
    _saved: Any
    _shape: tuple[int, ...]
    _dtype: DType
    _hooks: NodeHooks | None
    sequence_nr: int

    _outputs: int = 1
    elementwise: bool = False
    """Whether each element of the result depends only on the input elements at the same position."""
    selects: bool = False
    """Whether the operation selects some elements of its inputs and ignores the other elements."""
    keeps_output: bool = False
    """Whether the values of the output are saved."""
    saved_slots: tuple[tuple[str, int], ...] = ()
    """For each saved value, its name in the VJP rules, and the number of its edge if it is an input; otherwise ``OUTPUT`` or
    ``NO_EDGE``."""
    frees: bool = True
    """Whether a backward pass frees the saved values, because tensors are among them."""
    runs_undefined: bool = False
    """Whether the node runs if no gradient arrives at it; otherwise the gradients of its inputs are undefined too."""
    primitive: ClassVar[Primitive | None] = None
    """The primitive that the node records, if any; the edges correspond to its ``differentiable_args``, in order."""

    def name(self) -> str:
        """Return PyTorch's name for this node, such as ``PowBackward0``; ``str`` and tables show the name of the class alone."""
        name = type(self).__name__
        return f"torch::autograd::{name}" if name in _IN_NAMESPACE else name

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes of the inputs, each with the number of its output; ``(None, 0)`` where no gradient flows."""
        return tuple((None, 0) if edge is None else edge for edge in self._edges)

    @property
    def metadata(self) -> dict[Any, Any]:
        """The dictionary of user metadata."""
        try:
            return self._metadata
        except AttributeError:
            self._metadata: dict[Any, Any] = {}
            return self._metadata

    def apply(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        """Return the cotangents of the inputs for a cotangent of the output, computed with plain arrays.

        Args:
            grad: the cotangent of the output.
            needed: the nodes whose cotangents are needed, ``None`` for all; the cotangent of any other node may be ``None``.
        """
        raise NotImplementedError

    def apply_recorded(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        """Return the same result as ``apply``, computed with tensors and recorded, so that it can be differentiated again."""
        raise NotImplementedError

    def apply_again(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        """Return the result of ``apply`` directly after another call, without unpacking the saved values again."""
        return self.apply(grad, needed)

    def release(self) -> None:
        """Free the saved values; a second backward pass then fails with PyTorch's message."""

    def check_saved(self) -> None:
        """Raise PyTorch's GraphError if the saved values were freed, or one of them was changed in place."""
        saved = self._saved
        if saved is None:
            raise GraphError(FREED, hint=FREED_HINT)
        if isinstance(saved, ChangedOutput):
            raise GraphError(saved.message, hint=CHANGED_HINT)
        for entry in saved if isinstance(saved, (list, tuple)) else (saved,):
            check_version(entry, self.sequence_nr)

    def run_rules(self, grad: Cotangent, values: Sequence[Any], needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        """Return the cotangents of the inputs, computed by the VJP rules from the saved values in the order of ``saved_slots``.

        Args:
            grad: the cotangent of the output.
            values: the saved values, as arrays or as tensors.
            needed: the nodes whose cotangents are needed, ``None`` for all.
        """
        raise NotImplementedError

    def saved_values(self) -> dict[str, Any]:
        """Return the saved values with their histories, by their names in the VJP rules; an input is the tensor that was saved."""
        slots = zip(self.saved_slots, self._saved or (), strict=True)
        return {name: entry if edge >= 0 else recorded(self, entry, edge) for (name, edge), entry in slots}

    def register_hook(self, hook: Hook) -> RemovableHandle:
        """Register ``hook(grad_inputs, grad_outputs)`` to run after this node; a tuple that it returns replaces grad_inputs."""
        return RemovableHandle(self.ensure_hooks().after, hook)

    def register_prehook(self, hook: Hook) -> RemovableHandle:
        """Register ``hook(grad_outputs)`` to run before this node; a tuple that it returns replaces grad_outputs."""
        return RemovableHandle(self.ensure_hooks().before, hook)

    def output_type(self, output: int) -> tuple[tuple[int, ...], DType]:
        """Return the shape and the type of one output; with several outputs, ``_shape`` and ``_dtype`` are tuples of them."""
        if self._outputs == 1:
            dtype: Any = self._dtype
            return self._shape, dtype
        shapes: Any = self._shape
        dtypes: Any = self._dtype
        return shapes[output], dtypes[output]

    def describe_outputs(self, tensors: Sequence[Tensor | None]) -> None:
        """Complete the record of an operation with these outputs (``None``: not a tensor): shapes, types, the sequence number."""
        shapes: Any = tuple(None if t is None else t.shape for t in tensors)
        dtypes: Any = tuple(None if t is None else t._data.dtype for t in tensors)
        self._outputs = len(tensors)  # type: ignore[misc]  # nodes with several outputs have a slot for it
        self._shape, self._dtype = (shapes, dtypes) if len(tensors) != 1 else (shapes[0], dtypes[0])
        self.sequence_nr = next_sequence_nr()
        if node_observers:
            observed(self)

    def ensure_hooks(self) -> NodeHooks:
        """Return the hooks of this node, allocated on first use."""
        if self._hooks is None:
            self._hooks = NodeHooks()
        return self._hooks

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


class SavedOutput:
    """A saved output of a node with several outputs; it is stored as an array, because a tensor would create a reference cycle.

    Args:
        data: the array.
        output: the number of the output, ``None`` if it is not differentiable.
    """

    __slots__ = ("_data", "output")

    def __init__(self, data: Array, output: int | None) -> None:
        self._data = data
        self.output = output


class AccumulateGrad(Node):
    """The node of a leaf: its cotangent is added to ``variable.grad``."""

    __slots__ = ("variable",)

    variable: Tensor

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable
        self._edges = ()
        self._saved = None
        self._shape, self._dtype = variable._data.shape, variable._data.dtype
        self.sequence_nr = 0
        self._hooks = None


def input_nodes(node: Node) -> list[Node]:
    """Return the nodes that the edges of a node lead to."""
    return [edge[0] for edge in node._edges if edge is not None]


def check_version(saved: object, sequence_nr: int) -> None:
    """Raise PyTorch's GraphError if a saved value is a tensor that was changed in place after the sequence number."""
    changes, later_changes = changes_since(saved, sequence_nr)
    if later_changes and isinstance(saved, Tensor):
        raise GraphError(changed_message(saved, changes, later_changes), hint=CHANGED_HINT)


def restore(saved: Tensor, edge: Edge | None) -> Tensor:
    """Return a saved input with the history that it had when it was recorded, even if ``requires_grad`` has changed since.

    This history is ``edge``, the edge of the node for this input; ``None`` if the input was a constant.
    """
    if edge is None:
        return tensor_on(saved._data) if saved._requires_grad else saved
    if saved._edge is edge or known_edge(saved) is edge or getattr(edge[0], "variable", None) is saved:
        return saved
    return tensor_on(saved._data, edge)


def recorded(node: Node, entry: Any, edge: int) -> Any:
    """Return a saved value with its history: a tensor for an input or an output, any other value unchanged.

    Args:
        node: the node that saved the value.
        entry: the value as it is stored: an output is stored as an array, or as a ``SavedOutput``, which may be a constant.
        edge: the number of its edge, ``OUTPUT`` or ``NO_EDGE``; see ``Node.saved_slots``.
    """
    if edge >= 0:
        return restore(entry, node._edges[edge]) if isinstance(entry, Tensor) else entry
    if edge == NO_EDGE or entry is None:
        return entry
    if isinstance(entry, SavedOutput):
        return tensor_on(entry._data, None if entry.output is None else (node, entry.output))
    return tensor_on(entry, (node, 0))


def leaf_edge(leaf: Tensor) -> Edge:
    """Return the edge to the ``AccumulateGrad`` node of a leaf, which is reused while a graph refers to it.

    The node has a reference to the leaf.  The reference from the leaf to the node is weak, so that they do not form a cycle.
    """
    extra = leaf._extra or leaf.extra()  # a backward pass looks for hooks there
    accumulator = extra.accumulator
    node = None if accumulator is None else accumulator()
    if node is None:
        node = AccumulateGrad(leaf)
        extra.accumulator = weakref.ref(node)
    return (node, 0)
