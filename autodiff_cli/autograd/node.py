"""The backward graph: its nodes, their edges, and the nodes at leaves.

A node is made when an operation is recorded.  It keeps the edges to the nodes of its inputs (``next_functions``, as
PyTorch shows them), the shape and type of its output, and exactly those values that its VJP rules name.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from autodiff_cli.autograd.dtypes import DType
from autodiff_cli.autograd.hooks import Hook, NodeHooks, RemovableHandle
from autodiff_cli.autograd.memory import CHANGED_HINT, Changed, changed_message, changes_since, next_sequence_nr
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import GraphError

if TYPE_CHECKING:
    from autodiff_cli.autograd.primitives.primitive import Primitive

Edge = tuple["Node", int]
"""A node, and the number of one of its outputs."""


class GradientEdge(NamedTuple):
    """An edge as users have it: a node, and the number of one of its outputs."""

    node: Node
    output_nr: int


Cotangent = Any
"""The gradient of the output with respect to an intermediate value: a plain array, or a Tensor with ``create_graph``.  For
a node of several outputs it is a list, with ``None`` for an output that nothing used."""

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
    "saved tensors after calling backward."
)
FREED_HINT = "give the first backward retain_graph=True"


class Node:
    """One recorded operation.

    ``sequence_nr`` grows with every node, so that a node is younger than all nodes it leads to: a backward pass that
    takes the youngest pending node first needs no other sorting.
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
    """Whether each element of the result depends on those of the inputs at its own place only."""
    selects: bool = False
    """Whether the operation takes some elements of its inputs and leaves others."""
    keeps_output: bool = False
    """Whether the values of the output are saved."""
    primitive: ClassVar[Primitive | None] = None
    """The primitive, if it is one; the edges belong to its ``differentiable_args``, in that order."""

    def name(self) -> str:
        """The name that PyTorch gives to this node, such as ``PowBackward0``."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes of the inputs, each with the number of its output; ``(None, 0)`` where no gradient flows."""
        return tuple((None, 0) if edge is None else edge for edge in self._edges)

    @property
    def metadata(self) -> dict[Any, Any]:
        """User metadata."""
        try:
            return self._metadata
        except AttributeError:
            self._metadata: dict[Any, Any] = {}
            return self._metadata

    def apply(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        """Return the cotangent of each input, from that of the output, on plain arrays.

        Args:
            grad: the cotangent of the output.
            needed: the nodes that a cotangent is needed for, ``None`` for all; the result may be ``None`` for others.
        """
        raise NotImplementedError

    def apply_recorded(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        """Do the same as ``apply`` on tensors, and record it, so that the result can be differentiated again."""
        raise NotImplementedError

    def release(self) -> None:
        """Free the values saved for backward; a second backward pass then fails with PyTorch's message."""

    def check_saved(self) -> None:
        """Check that the saved values were neither freed nor changed in place.

        Raises:
            GraphError: in PyTorch's words, if they were.
        """
        saved = self._saved
        if saved is None:
            raise GraphError(FREED, hint=FREED_HINT)
        if isinstance(saved, Changed):
            raise GraphError(saved.message, hint=CHANGED_HINT)
        entries = saved.values() if isinstance(saved, dict) else saved if isinstance(saved, (list, tuple)) else (saved,)
        for entry in entries:
            version, later = changes_since(entry, self.sequence_nr)
            if later:
                raise GraphError(changed_message(entry, version, later), hint=CHANGED_HINT)

    def saved_values(self) -> dict[str, Any]:
        """Return the values saved for backward, by the names that VJP rules have for them."""
        return {}

    def register_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after this node has run; a tuple returned by it replaces grad_inputs."""
        return RemovableHandle(self.ensure_hooks().after, hook)

    def register_prehook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before this node runs; a tuple returned by it replaces grad_outputs."""
        return RemovableHandle(self.ensure_hooks().before, hook)

    def __call__(self, *gradients: Tensor) -> Any:
        """Return the gradients of the inputs for gradients of the outputs; nothing is accumulated."""
        parts = self.apply_recorded(gradients[0] if self._outputs == 1 else list(gradients), None)
        return parts[0] if len(parts) == 1 else tuple(parts)

    def output_type(self, output: int) -> tuple[tuple[int, ...], DType]:
        """Return the shape and the type of one output."""
        if self._outputs == 1:
            return self._shape, self._dtype
        shapes: Any = self._shape
        dtypes: Any = self._dtype
        return shapes[output], dtypes[output]

    def describe_outputs(self, tensors: Sequence[Tensor | None]) -> None:
        """Set the number of outputs, and the shape and type of each, which are ``None`` for an output that is not a tensor."""
        shapes: Any = tuple(getattr(t, "shape", None) for t in tensors)
        dtypes: Any = tuple(getattr(t, "dtype", None) for t in tensors)
        self._outputs = len(tensors)  # type: ignore[misc]  # nodes of several outputs have room for it
        self._shape, self._dtype = (shapes, dtypes) if len(tensors) != 1 else (shapes[0], dtypes[0])
        self.sequence_nr = next_sequence_nr()

    def ensure_hooks(self) -> NodeHooks:
        """Return the hooks of this node, made on first use."""
        if self._hooks is None:
            self._hooks = NodeHooks()
        return self._hooks

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


def _shown_as(*names: str) -> property:
    def look(node: Node) -> Any:
        node.check_saved()
        kept = node.saved_values()
        for name in names:
            if name in kept:
                return kept[name]
        raise AttributeError(f"'{type(node).__name__}' saves no such value")

    return property(look, doc="A value saved for backward, by PyTorch's name for it; see ``saved_values``.")


# Not __getattr__, which would slow down every other attribute.
for _shown, _names in {"self": ("x",), "result": ("out",), "other": ("y",), "exponent": ("y",)}.items():
    setattr(Node, f"_saved_{_shown}", _shown_as(*_names))


class AccumulateGrad(Node):
    """The node of a leaf: its cotangent is added to ``variable.grad``."""

    __slots__ = ("variable",)

    variable: Tensor

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable
        self._edges = ()
        self._saved = None
        self._shape = variable.shape
        self._dtype = variable.dtype
        self.sequence_nr = 0
        self._hooks = None


def input_nodes(node: Node) -> list[Node]:
    """Return the nodes that the edges of a node lead to."""
    return [edge[0] for edge in node._edges if edge is not None]


def restore(saved: Tensor, edge: Edge | None) -> Tensor:
    """Return a saved input with the history that it had when it was recorded, even if ``requires_grad`` changed since.

    Args:
        saved: the tensor.
        edge: the edge that the node has for it.
    """
    if edge is None:
        return tensor_on(saved._data) if saved._requires_grad else saved
    if saved._edge is edge or getattr(edge[0], "variable", None) is saved:
        return saved
    return tensor_on(saved._data, edge)


def leaf_edge(leaf: Tensor) -> Edge:
    """Return the edge to the ``AccumulateGrad`` of a leaf; the node is the same as long as some graph holds it.

    The leaf knows its accumulator weakly and the accumulator holds the leaf, so that no cycle keeps them alive.
    """
    extra = leaf.extra()
    node = extra.accumulator() if extra.accumulator is not None else None
    if node is None:
        node = AccumulateGrad(leaf)
        extra.accumulator = weakref.ref(node)
    return (node, 0)
