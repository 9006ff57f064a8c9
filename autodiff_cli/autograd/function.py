"""Functions with a custom VJP: PyTorch's ``torch.autograd.Function``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.hooks import node_observers
from autodiff_cli.autograd.modes import is_recording, no_grad, set_grad_enabled
from autodiff_cli.autograd.node import NO_EDGE, OUTPUT, Cotangent, Edge, Node, SavedOutput, leaf_edge, recorded, restore
from autodiff_cli.autograd.primitives.rebase_history import rebase_history
from autodiff_cli.autograd.reverse.accumulate import as_tensor
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import DtypeError, GraphError, ShapeError, type_name

if TYPE_CHECKING:
    from autodiff_cli.autograd.saved.packing import Packed, SavedTensor

Output = Any
"""One result of ``forward``: a tensor, or any other object, which ``apply`` returns unchanged."""


class FunctionNode(Node):
    """The node of a ``Function``; the methods of the function receive this node as ``ctx`` and may set attributes on it."""

    __slots__ = ("__dict__",)

    _function: type[Function]
    needs_input_grad: tuple[bool, ...]
    runs_undefined = True

    def __init__(self) -> None:
        self._saved = ()
        self._edges = ()
        self._hooks = None
        self._materialize = True
        self._constant: tuple[Tensor, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save input tensors or output tensors of this function for ``backward``.

        Raises:
            DtypeError: if an argument is not a tensor; set other values as attributes.
        """
        wrong = next((t for t in tensors if t is not None and not isinstance(t, Tensor)), None)
        if wrong is not None:
            raise DtypeError(
                f"save_for_backward can only save variables, but argument is of type {type_name(wrong)}",
                hint="store other values as attributes: ctx.name = value",
            )
        self._saved = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Mark outputs as not differentiable."""
        self._constant = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Mark inputs that ``forward`` changed in place; each must be returned as an output."""
        self._dirty = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether ``backward`` receives zeros (the default) or ``None`` for an unused output."""
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors that ``save_for_backward`` saved.

        Raises:
            GraphError: if the graph was freed, or one of the tensors was changed in place.
        """
        self.check_saved()
        return tuple(self._unpack(entry) for entry in self._saved)

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        """The tensors of ``saved_tensors`` as they are stored; each accepts hooks."""
        from autodiff_cli.autograd.saved.packing import SavedTensor

        if self._saved is None:
            self.check_saved()
        return tuple(SavedTensor(self, i) for i in range(len(self.saved_slots)))

    def _unpack(self, entry: Tensor | SavedOutput | Packed | None) -> Tensor | None:
        if isinstance(entry, Tensor):
            if not entry._requires_grad:
                return entry
            edge = next((e for e in self._edges if e is not None and _leads_to(e, entry)), None)
            return entry if edge is None else restore(entry, edge)
        if entry is None or isinstance(entry, SavedOutput):
            found: Tensor | None = recorded(self, entry, OUTPUT)
            return found
        return entry.unpack(self)

    def saved_entries(self) -> Sequence[Any]:
        entries: Sequence[Any] = self._saved
        return entries

    def seal(self, outputs: Sequence[Output]) -> None:
        """Replace saved outputs by their arrays, which do not refer back to this node, and pack values if hooks are in effect."""
        places = {id(value): None if value._edge is None else i for i, value in enumerate(outputs) if isinstance(value, Tensor)}
        self._saved = tuple(
            SavedOutput(entry._data, places[id(entry)]) if isinstance(entry, Tensor) and id(entry) in places else entry
            for entry in self._saved
        )
        self.keeps_output = any(isinstance(entry, SavedOutput) for entry in self._saved)
        edges = [OUTPUT if isinstance(entry, SavedOutput) else NO_EDGE for entry in self._saved]
        self.saved_slots = tuple((str(i), edge) for i, edge in enumerate(edges))
        if node_observers:
            from autodiff_cli.autograd.saved.packing import pack_saved

            pack_saved(self)
            self.keeps_output = any(isinstance(entry, SavedOutput) for entry in self._saved)

    def apply(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        with set_grad_enabled(False):
            return [None if part is None else part._data for part in self._run(grad)]

    def apply_recorded(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        return self._run(grad)

    def _run(self, grad: Cotangent) -> list[Tensor | None]:
        grads = grad if self._outputs != 1 else [grad]
        tensors = [None if each is None else as_tensor(each) for each in grads]
        if self._materialize:
            tensors = [self._zeros(i) if each is None else each for i, each in enumerate(tensors)]
        result = self._function._backward()(self, *tensors)
        parts = list(result) if isinstance(result, tuple) else [result]
        while len(parts) > len(self._edges) and parts[-1] is None:
            parts.pop()
        if len(parts) != len(self._edges):
            raise GraphError(
                f"function {self.name()} returned an incorrect number of gradients (expected {len(self._edges)}, got {len(parts)})",
                hint="return one gradient from backward for each argument of forward, or None for an argument without a gradient",
            )
        return [self._checked(i, part) for i, part in enumerate(parts)]

    def _zeros(self, output: int) -> Tensor | None:
        shape, dtype = self.output_type(output)
        return None if shape is None else tensor_on(np.zeros(shape, dtype)[()])

    def _checked(self, index: int, part: Tensor | None) -> Tensor | None:
        edge = self._edges[index]
        if part is None or edge is None:
            return None
        if not isinstance(part, Tensor):
            raise DtypeError(f"{self.name()}: expected Variable or None (got {type_name(part)}) for gradient {index}")
        shape, _ = edge[0].output_type(edge[1])
        if part.shape != shape and not _sums_to(part.shape, shape):
            raise ShapeError(
                f"Function {self.name()} returned an invalid gradient at index {index} - got {list(part.shape)} "
                f"but expected shape compatible with {list(shape)}"
            )
        return part

    def release(self) -> None:
        if self._saved:
            self._saved = None


def _sums_to(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Return whether a gradient of shape ``shape`` can be summed to ``target``, the shape of a broadcast value."""
    return len(shape) >= len(target) and all(n == m or m == 1 for n, m in zip(reversed(shape), reversed(target), strict=False))


def _leads_to(edge: Edge, tensor: Tensor) -> bool:
    return edge is tensor._edge or getattr(edge[0], "variable", None) is tensor


class Function:
    """A function with a custom VJP.

    Subclasses define the static methods ``forward(ctx, *args)`` and ``backward(ctx, *grads)``; users call ``apply``.
    Alternatively, ``forward(*args)`` does not take ``ctx``, and ``setup_context(ctx, inputs, output)`` saves the values for
    ``backward``.  The method ``backward`` may also be named ``vjp``.
    """

    _node: type[FunctionNode] | None = None

    @staticmethod
    def forward(ctx: FunctionNode, *args: Any, **kwargs: Any) -> Any:
        """Compute the result; the operations are not recorded."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: FunctionNode, inputs: tuple[Any, ...], output: Output | tuple[Output, ...]) -> Any:
        """Save the values for ``backward``, if ``forward`` does not take ``ctx``."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: FunctionNode, *grads: Any) -> Any:
        """Return one gradient for each argument of ``forward``, or ``None`` for an argument without a gradient."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
            "mode AD."
        )

    vjp = backward

    @classmethod
    def _backward(cls) -> Callable[..., Any]:
        if cls.backward is not Function.backward and cls.vjp is not Function.vjp:
            raise GraphError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed.")
        return cls.vjp if cls.backward is Function.backward else cls.backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward``, and record a node whose class is named after the function, such as ``CubeBackward`` for ``Cube``."""
        if "_node" not in cls.__dict__:
            cls._node = type(f"{cls.__name__}Backward", (FunctionNode,), {"__slots__": ()})
        assert cls._node is not None
        node = cls._node()
        node._function = cls
        without_ctx = cls.setup_context is not Function.setup_context
        args, kwargs = _in_order(cls.forward, () if without_ctx else (node,), args, kwargs)
        needs = tuple(isinstance(a, Tensor) and a._requires_grad for a in args)
        node.needs_input_grad = needs
        recording = any(needs) and bool(is_recording())
        node._edges = tuple((a._edge or leaf_edge(a)) if need else None for a, need in zip(args, needs, strict=True))
        with no_grad():
            if without_ctx:
                result = cls.forward(*args, **kwargs)
                cls.setup_context(node, args, result)
            else:
                result = cls.forward(node, *args, **kwargs)
        several = isinstance(result, tuple)
        outputs = list(result) if several else [result]
        _check_dirty(node, outputs, recording)
        if not recording:
            return result
        outputs = [
            tensor_on(value._data) if _is_one_of(value, args) and not _is_one_of(value, node._dirty) else value for value in outputs
        ]
        _record(node, outputs)
        return tuple(outputs) if several else outputs[0]


def _in_order(
    forward: Callable[..., Any], first: tuple[FunctionNode, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call in the order of the parameters of ``forward``, with defaults filled in.

    The arguments are unchanged if ``forward`` has keyword-only parameters or a ``**kwargs`` parameter."""
    if not kwargs and getattr(forward, "__defaults__", None) is None:
        return args, kwargs
    signature = inspect.signature(forward)
    if any(p.kind in (p.VAR_KEYWORD, p.KEYWORD_ONLY) for p in signature.parameters.values()):
        return args, kwargs
    bound = signature.bind(*first, *args, **kwargs)
    bound.apply_defaults()
    return bound.args[len(first) :], {}


def _is_one_of(value: Output, tensors: Sequence[Output]) -> bool:
    return isinstance(value, Tensor) and any(value is other for other in tensors)


def _check_dirty(node: FunctionNode, outputs: Sequence[Output], recording: bool) -> None:
    for tensor in node._dirty:
        if not _is_one_of(tensor, outputs):
            raise GraphError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
                "modified inplace must all be outputs of the Function."
            )
        view = None if tensor._extra is None else tensor._extra.view
        if recording and tensor.is_leaf and tensor._requires_grad:
            raise GraphError("a leaf Variable that requires grad is being used in an in-place operation.")
        if recording and view is not None and view.source.is_leaf and view.source._requires_grad:
            raise GraphError("a view of a leaf Variable that requires grad is being used in an in-place operation.")


def _record(node: FunctionNode, outputs: list[Output]) -> None:
    """Set the node as the ``grad_fn`` of the outputs."""
    node.describe_outputs([value if isinstance(value, Tensor) else None for value in outputs])
    for i, tensor in enumerate(outputs):
        if isinstance(tensor, Tensor) and tensor.is_floating_point() and not _is_one_of(tensor, node._constant):
            made = tensor_on(tensor._data, (node, i))
            if _is_one_of(tensor, node._dirty):
                rebase_history(tensor, made)
            else:
                tensor._edge, tensor._requires_grad = made._edge, True
    node.seal(outputs)


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a ``backward`` method that is not differentiable, so that differentiating its result raises an error."""

    @functools.wraps(backward)
    def call(ctx: FunctionNode, *grads: Any) -> Any:
        recorded = is_recording() and any(isinstance(g, Tensor) and g._requires_grad for g in grads)
        with no_grad():
            result = backward(ctx, *grads)
        if not recorded:
            return result
        parts = result if isinstance(result, tuple) else (result,)
        barred = tuple(_Barrier.apply(part, *grads) if isinstance(part, Tensor) else part for part in parts)
        return barred if isinstance(result, tuple) else barred[0]

    return call


class _Barrier(Function):
    """The identity function, whose differentiation raises an error."""

    @staticmethod
    def forward(ctx: FunctionNode, *args: Any, **kwargs: Any) -> Any:
        return args[0]

    @staticmethod
    def backward(ctx: FunctionNode, *grads: Any) -> Any:
        raise GraphError("trying to differentiate twice a function that was marked with @once_differentiable")


FunctionCtx = FunctionNode
"""PyTorch's name for the type of ``ctx``."""
