"""The backward graph: nodes, their edges, and the leaves' ends of it.

A node is made when an operation is recorded.  It keeps the edges to the nodes of its inputs (``next_functions``, as
PyTorch shows them), the shape and type of its output, and exactly those values that its partial derivatives name.
"""

from __future__ import annotations

import itertools
import weakref
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from autodiff_cli.autograd.dtypes import DType
from autodiff_cli.errors import GraphError

if TYPE_CHECKING:
    from autodiff_cli.autograd.primitives.declare import Primitive
    from autodiff_cli.autograd.tensor import Tensor

Edge = tuple["Node", int]
Grad = Any
"""A gradient in a sweep: a plain array, or a Tensor where the sweep itself is recorded (``create_graph``)."""

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
    "saved tensors after calling backward."
)

FREED_HINT = "give the first backward retain_graph=True"

NO_EDGE, OUTPUT = -1, -2

next_sequence_nr = itertools.count(1).__next__


last_change = [0]
"""The number, of those that nodes have, of the last change in place anywhere: a node that is younger need not look."""


class Changed:
    """What stands in the place of saved values that were changed in place."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        self.message = message


class Node:
    """One recorded operation.

    ``sequence_nr`` grows with every node, so that a node is always younger than the nodes it leads to: a sweep that
    takes the youngest pending node first needs no other sorting.
    """

    __slots__ = ("__weakref__", "_dtype", "_edges", "_hooks", "_metadata", "_saved", "_shape", "sequence_nr")

    _edges: tuple[Edge | None, ...]
    _saved: Any
    _shape: tuple[int, ...]
    _dtype: DType
    _hooks: Hooks | None
    sequence_nr: int

    _outputs: int = 1
    elementwise: bool = False
    """Whether each element of the result depends on those of the inputs at its own place only."""
    selects: bool = False
    """Whether the operation takes some elements of its inputs and leaves others."""
    keeps_output: bool = False
    """Whether what was saved is, or contains, the output's own values."""
    primitive: ClassVar[Primitive | None] = None
    """What was declared of the operation; ``primitive.moving`` are the arguments that the edges belong to, in order."""

    def name(self) -> str:
        """The name that PyTorch gives to this node, such as ``PowBackward0``."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes of the inputs, each with the number of its output; ``(None, 0)`` where no gradient flows."""
        return tuple((None, 0) if edge is None else edge for edge in self._edges)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for whoever wants to note something about this node."""
        try:
            return self._metadata
        except AttributeError:
            self._metadata: dict[Any, Any] = {}
            return self._metadata

    def apply(self, grad: Grad, needed: Collection[Node] | None) -> Sequence[Grad | None]:
        """The gradient of each input, from the gradient of the output, on plain arrays.

        Edges that lead to no node of ``needed`` may be left out (``None`` means that all are wanted).
        """
        raise NotImplementedError

    def apply_recorded(self, grad: Grad, needed: Collection[Node] | None) -> Sequence[Grad | None]:
        """The same on tensors, recorded, so that the result can be differentiated again."""
        raise NotImplementedError

    def release(self) -> None:
        """Let go of what was saved for backward; a second sweep then fails with PyTorch's message."""

    def check_saved(self) -> None:
        """Raise if what was saved for backward was freed or changed since."""
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
        """What is saved for backward, by the names that the partials have for it."""
        return {}

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after this node has run; a tuple it returns replaces grad_inputs."""
        return RemovableHandle(self.ensure_hooks().after, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before this node runs; a tuple it returns replaces grad_outputs."""
        return RemovableHandle(self.ensure_hooks().before, hook)

    def __call__(self, *gradients: Tensor) -> Any:
        """The gradients of the inputs for given gradients of the outputs; nothing is accumulated."""
        parts = self.apply_recorded(gradients[0] if self._outputs == 1 else list(gradients), None)
        return parts[0] if len(parts) == 1 else tuple(parts)

    def describe_outputs(self, tensors: Sequence[Any]) -> None:
        """Note how many outputs there are, with shape and type of each; what is no tensor has none."""
        shapes: Any = tuple(getattr(t, "shape", None) for t in tensors)
        dtypes: Any = tuple(getattr(t, "dtype", None) for t in tensors)
        self._outputs = len(tensors)  # type: ignore[misc]  # nodes of several outputs have room for it
        self._shape, self._dtype = (shapes, dtypes) if len(tensors) != 1 else (shapes[0], dtypes[0])
        self.sequence_nr = next_sequence_nr()

    def ensure_hooks(self) -> Hooks:
        if self._hooks is None:
            self._hooks = Hooks()
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

    return property(look, doc="What is saved for backward, by PyTorch's name for it; see ``saved_values``.")


# Not __getattr__, which would slow every other attribute down.
for _shown, _names in {"self": ("x",), "result": ("out",), "other": ("y",), "exponent": ("y",)}.items():
    setattr(Node, f"_saved_{_shown}", _shown_as(*_names))


class Hooks:
    """What a node carries only when somebody looks at its gradients."""

    __slots__ = ("after", "before", "retaining", "tensor")

    def __init__(self) -> None:
        self.tensor: dict[int, tuple[int, Callable[..., Any]]] = {}
        self.before: dict[int, Callable[..., Any]] = {}
        self.after: dict[int, Callable[..., Any]] = {}
        self.retaining: dict[int, weakref.ref[Tensor]] = {}


class RemovableHandle:
    """What registering a hook returns: ``remove()`` takes the hook away again; also a context manager."""

    _next_id = itertools.count().__next__

    def __init__(self, hooks: dict[int, Any], entry: Any) -> None:
        self.id = self._next_id()
        self._hooks = hooks
        hooks[self.id] = entry

    def remove(self) -> None:
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class AccumulateGrad(Node):
    """The end of the graph at a leaf: adds what arrives to ``variable.grad``."""

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


class UnaryNode(Node):
    """An operation of one tensor whose partial names nothing, its input, or its output."""

    __slots__ = ()

    partial: ClassVar[Callable[..., Any]]


class LinearNode(UnaryNode):
    """The partial names nothing: nothing is saved and nothing can be freed."""

    __slots__ = ()

    def apply(self, grad: Grad, needed: Collection[Node] | None) -> Sequence[Grad | None]:
        return (self.partial(grad),)

    apply_recorded = apply


class InputNode(UnaryNode):
    """The partial names the input, which is saved as a tensor."""

    __slots__ = ()

    def apply(self, grad: Grad, needed: Collection[Node] | None) -> Sequence[Grad | None]:
        saved = self._saved
        if saved is None or last_change[0] > self.sequence_nr:
            self.check_saved()
        return (self.partial(grad, saved._data),)

    def apply_recorded(self, grad: Grad, needed: Collection[Node] | None) -> Sequence[Grad | None]:
        self.check_saved()
        return (self.partial(grad, restore(self._saved, self._edges[0])),)

    def saved_values(self) -> dict[str, Any]:
        return {"x": self._saved}

    def release(self) -> None:
        self._saved = None


class OutputNode(UnaryNode):
    """The partial names the output, which is saved as an array: a saved tensor would be a cycle."""

    __slots__ = ()

    keeps_output = True

    def apply(self, grad: Grad, needed: Collection[Node] | None) -> Sequence[Grad | None]:
        if self._saved is None or last_change[0] > self.sequence_nr:
            self.check_saved()
        return (self.partial(grad, self._saved),)

    def apply_recorded(self, grad: Grad, needed: Collection[Node] | None) -> Sequence[Grad | None]:
        self.check_saved()
        return (self.partial(grad, tensor_on(self._saved, (self, 0))),)

    def saved_values(self) -> dict[str, Any]:
        return {"out": tensor_on(self._saved, (self, 0))}

    def release(self) -> None:
        self._saved = None


class BothNode(UnaryNode):
    """The partial names the input and the output: a pair of the tensor and the array is saved.

    Where the input was changed in place since, ``recover`` finds it from the output, which alone PyTorch saves.
    """

    __slots__ = ()

    keeps_output = True
    recover: ClassVar[Callable[[Any], Any] | None] = None

    def apply(self, grad: Grad, needed: Collection[Node] | None) -> Sequence[Grad | None]:
        x, out = self._pair()
        return (self.partial(grad, x._data, out),)

    def apply_recorded(self, grad: Grad, needed: Collection[Node] | None) -> Sequence[Grad | None]:
        x, out = self._pair()
        return (self.partial(grad, restore(x, self._edges[0]), tensor_on(out, (self, 0))),)

    def _pair(self) -> Any:
        pair = self._saved
        if pair is not None and last_change[0] <= self.sequence_nr:
            return pair
        if self.recover is not None and isinstance(pair, tuple) and changes_since(pair[0], self.sequence_nr)[1]:
            return tensor_on(type(self).recover(pair[1]), self._edges[0]), pair[1]  # type: ignore[misc]
        self.check_saved()
        return pair

    def saved_values(self) -> dict[str, Any]:
        return {"x": self._saved[0], "out": tensor_on(self._saved[1], (self, 0))}

    def release(self) -> None:
        self._saved = None


class OpNode(Node):
    """Any other operation: a tuple of saved values, and for each partial which of them it names."""

    __slots__ = ()

    partials: ClassVar[tuple[Callable[..., Any], ...]]
    picks: ClassVar[tuple[tuple[int, ...], ...]]
    """For each partial the positions in ``saved`` of its arguments after the gradient."""
    edge_of: ClassVar[tuple[int, ...]]
    """For each saved value the edge of the input that it is, or ``NO_EDGE``, or ``OUTPUT``."""
    frees: ClassVar[bool]
    saved_names: ClassVar[tuple[str, ...]]

    def saved_values(self) -> dict[str, Any]:
        values = zip(self.saved_names, self._saved, self.edge_of, strict=True)
        return {name: tensor_on(v, (self, 0)) if edge == OUTPUT and v is not None else v for name, v, edge in values}

    def apply(self, grad: Grad, needed: Collection[Node] | None) -> Sequence[Grad | None]:
        saved = self._saved
        if saved is None or last_change[0] > self.sequence_nr:
            self.check_saved()
        return self._partials(grad, [getattr(value, "_data", value) for value in saved], needed)

    def apply_recorded(self, grad: Grad, needed: Collection[Node] | None) -> Sequence[Grad | None]:
        self.check_saved()
        values = []
        for value, edge in zip(self._saved, self.edge_of, strict=True):
            if edge == OUTPUT and value is not None:
                value = tensor_on(value, (self, 0))
            elif edge >= 0 and hasattr(value, "_data"):
                value = restore(value, self._edges[edge])
            values.append(value)
        return self._partials(grad, values, needed)

    def _partials(self, grad: Grad, values: list[Any], needed: Collection[Node] | None) -> list[Grad | None]:
        parts: list[Grad | None] = []
        for i, edge in enumerate(self._edges):
            if edge is None or (needed is not None and edge[0] not in needed):
                parts.append(None)
                continue
            picks = self.picks[i]
            if len(picks) == 1:
                parts.append(self.partials[i](grad, values[picks[0]]))
            else:
                parts.append(self.partials[i](grad, *[values[k] for k in picks]))
        return parts

    def release(self) -> None:
        if self.frees:
            self._saved = None


class SequenceNode(Node):
    """An operation on a sequence of tensors (stack, cat): one partial, told which of them is asked for."""

    __slots__ = ()

    partial: ClassVar[Callable[..., Any]]

    def apply(self, grad: Grad, needed: Collection[Node] | None) -> Sequence[Grad | None]:
        return [
            None if edge is None or (needed is not None and edge[0] not in needed) else self.partial(grad, i, *self._saved)
            for i, edge in enumerate(self._edges)
        ]

    apply_recorded = apply


def restore(saved: Any, edge: Edge | None) -> Any:
    """A saved input as the tensor that it was when it was recorded, whatever was done to its ``requires_grad`` since."""
    if edge is None:
        return tensor_on(saved._data, None) if saved._requires_grad else saved
    if saved._edge is edge or getattr(edge[0], "variable", None) is saved:
        return saved
    return tensor_on(saved._data, edge)


CHANGED_HINT = "use the operation that makes a new tensor, or clone() before the change"


def changes_since(entry: Any, sequence_nr: int) -> tuple[int, int]:
    """How often the memory of a saved value was changed in place, and how often of those after a node was made."""
    extra = getattr(entry, "_extra", None)
    root = None if extra is None else (entry if extra.base is None else extra.base)._extra
    if root is None or root.changes is None:
        return 0, 0
    return root.version, sum(when > sequence_nr for when in root.changes)


def changed_message(tensor: Tensor, version: int, later: int) -> str:
    """PyTorch's words for a saved tensor that is no longer what it was: it was changed ``later`` times since."""
    kind = "Double" if tensor.dtype.itemsize == 8 else "Float"
    made = "" if tensor._edge is None else f", which is output {tensor._edge[1]} of {tensor._edge[0].name()},"
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{kind}Tensor {list(tensor.shape)}]{made} is at version {version}; "
        f"expected version {version - later} instead."
    )


_MOST_CHANGES = 1000


def mark_changed(tensor: Tensor) -> None:
    """Count a change in place, before it is made, and spoil what nodes have saved of the old values."""
    base = None if tensor._extra is None else tensor._extra.base
    root = tensor if base is None else base
    extra = root.extra()
    extra.version += 1
    last_change[0] = next_sequence_nr()
    if extra.changes is None:
        extra.changes = deque(maxlen=_MOST_CHANGES)
    extra.changes.append(last_change[0])
    for changed in (root, tensor):
        if changed._edge is not None:
            node = changed._edge[0]
            if node.keeps_output and node._saved is not None and not isinstance(node._saved, Changed):
                node._saved = Changed(changed_message(changed, extra.version, 1))


def tensor_on(data: Any, edge: Edge | None) -> Tensor:
    """A tensor over ``data`` at the end of ``edge``."""
    from autodiff_cli.autograd.tensor import Tensor

    tensor = Tensor.__new__(Tensor)
    tensor._data = data
    tensor._requires_grad = edge is not None
    tensor._edge = edge
    tensor._extra = None
    return tensor
