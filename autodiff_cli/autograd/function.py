"""Operations with a derivative written by hand: PyTorch's ``torch.autograd.Function``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.modes import is_grad_enabled, no_grad, set_grad_enabled
from autodiff_cli.autograd.node import Cotangent, Node, leaf_edge, restore
from autodiff_cli.autograd.primitives.rebase import rebase_history
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import DtypeError, GraphError, ShapeError, type_name


class FunctionNode(Node):
    """The node of a user's function, and the ``ctx`` that its methods are given; attributes may be added to it."""

    __slots__ = ("__dict__",)

    _function: type[Function]
    needs_input_grad: tuple[bool, ...]

    def __init__(self) -> None:
        self._saved = ()
        self._edges = ()
        self._hooks = None
        self._materialize = True
        self._constant: tuple[Tensor, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors, inputs or outputs of this function, for ``backward``."""
        wrong = next((t for t in tensors if t is not None and not isinstance(t, Tensor)), None)
        if wrong is not None:
            raise DtypeError(
                f"save_for_backward can only save variables, but argument is of type {type_name(wrong)}",
                hint="keep anything else as an attribute: ctx.name = value",
            )
        self._saved = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say that these outputs require no grad."""
        self._constant = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say that ``forward`` changed these inputs in place; each must be returned as an output."""
        self._dirty = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether the gradient of an output that nothing used arrives as zeros (the default) or as ``None``."""
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What ``save_for_backward`` kept.

        Raises:
            GraphError: after the graph was freed, or if one of the tensors was changed in place since.
        """
        self.check_saved()
        return tuple(self._unpack(entry) for entry in self._saved)

    def _unpack(self, entry: Any) -> Any:
        if isinstance(entry, tuple):  # an output, kept as its array: see seal
            data, output = entry
            return tensor_on(data, None if output is None else (self, output))
        if isinstance(entry, Tensor) and entry._requires_grad:
            edge = next((e for e in self._edges if e is not None and _leads_to(e, entry)), None)
            return entry if edge is None else restore(entry, edge)
        return entry

    def seal(self, outputs: Sequence[Any]) -> None:
        """Replace saved outputs by their arrays, which hold no reference back to this node."""
        places = {id(value): None if value._edge is None else i for i, value in enumerate(outputs) if isinstance(value, Tensor)}
        self._saved = tuple(
            (entry._data, places[id(entry)]) if isinstance(entry, Tensor) and id(entry) in places else entry
            for entry in self._saved
        )
        self.keeps_output = any(isinstance(entry, tuple) for entry in self._saved)

    def apply(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        with set_grad_enabled(False):
            return [None if part is None else part._data for part in self._run(grad)]

    def apply_recorded(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        return self._run(grad)

    def _run(self, grad: Cotangent) -> list[Tensor | None]:
        grads = grad if self._outputs != 1 else [grad]
        tensors = [g if g is None or isinstance(g, Tensor) else tensor_on(g, None) for g in grads]
        if self._materialize:
            shapes: Any = self._shape if self._outputs != 1 else (self._shape,)
            dtypes: Any = self._dtype if self._outputs != 1 else (self._dtype,)
            tensors = [
                tensor_on(np.zeros(shape, dtype)[()]) if g is None and shape is not None else g
                for g, shape, dtype in zip(tensors, shapes, dtypes, strict=True)
            ]
        result = self._function._backward()(self, *tensors)
        parts = list(result) if isinstance(result, tuple) else [result]
        while len(parts) > len(self._edges) and parts[-1] is None:
            parts.pop()
        if len(parts) != len(self._edges):
            raise GraphError(
                f"function {self.name()} returned an incorrect number of gradients (expected {len(self._edges)}, got {len(parts)})",
                hint="backward returns one gradient for each argument of forward, None where there is none",
            )
        return [self._checked(i, part) for i, part in enumerate(parts)]

    def _checked(self, index: int, part: Any) -> Tensor | None:
        edge = self._edges[index]
        if part is None or edge is None:
            return None
        if not isinstance(part, Tensor):
            raise DtypeError(f"{self.name()}: expected Variable or None (got {type_name(part)}) for gradient {index}")
        shape: Any = edge[0]._shape if edge[0]._outputs == 1 else edge[0]._shape[edge[1]]
        if part.shape != shape and not _sums_to(part.shape, shape):
            raise ShapeError(
                f"Function {self.name()} returned an invalid gradient at index {index} - got {list(part.shape)} "
                f"but expected shape compatible with {list(shape)}"
            )
        return part

    def release(self) -> None:
        if self._saved:
            self._saved = None


def _sums_to(shape: tuple[int, ...], target: Any) -> bool:
    """Whether a gradient of a shape can be that of something broadcast."""
    return len(shape) >= len(target) and all(n == m or m == 1 for n, m in zip(reversed(shape), reversed(target), strict=False))


def _leads_to(edge: Any, tensor: Tensor) -> bool:
    return edge is tensor._edge or getattr(edge[0], "variable", None) is tensor


class Function:
    """Subclass it with static methods ``forward(ctx, *args)`` and ``backward(ctx, *grads)``, and call ``apply``.

    ``forward(*args)`` may leave ``ctx`` to a further method, ``setup_context(ctx, inputs, output)``; ``backward`` may be
    called ``vjp``.
    """

    _node: type[FunctionNode] | None = None

    @staticmethod
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        """Compute the result; what is done here is not recorded."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what ``backward`` needs, if ``forward`` takes no ``ctx``."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """One gradient for each argument of ``forward``."""
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
        """Run ``forward``, and record a node named after the class with ``Backward`` behind it."""
        if "_node" not in cls.__dict__:
            cls._node = type(f"{cls.__name__}Backward", (FunctionNode,), {"__slots__": ()})
        assert cls._node is not None
        node = cls._node()
        node._function = cls
        apart = cls.setup_context is not Function.setup_context
        args, kwargs = _in_order(cls.forward, () if apart else (node,), args, kwargs)
        needs = tuple(isinstance(a, Tensor) and a._requires_grad for a in args)
        node.needs_input_grad = needs
        recording = any(needs) and is_grad_enabled()
        node._edges = tuple((a._edge or leaf_edge(a)) if need else None for a, need in zip(args, needs, strict=True))
        with no_grad():
            if apart:
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
            tensor_on(value._data, None) if _is_one_of(value, args) and not _is_one_of(value, node._dirty) else value
            for value in outputs
        ]
        _record(node, outputs)
        return tuple(outputs) if several else outputs[0]


def _in_order(
    forward: Callable[..., Any], first: tuple[Any, ...], args: Any, kwargs: Any
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments as ``forward`` lists them, with its defaults, where they can be told apart."""
    if not kwargs and getattr(forward, "__defaults__", None) is None:
        return args, kwargs
    signature = inspect.signature(forward)
    if any(p.kind in (p.VAR_KEYWORD, p.KEYWORD_ONLY) for p in signature.parameters.values()):
        return args, kwargs
    bound = signature.bind(*first, *args, **kwargs)
    bound.apply_defaults()
    return bound.args[len(first) :], {}


def _is_one_of(value: Any, tensors: Sequence[Any]) -> bool:
    return isinstance(value, Tensor) and any(value is other for other in tensors)


def _check_dirty(node: FunctionNode, outputs: Sequence[Any], recording: bool) -> None:
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


def _record(node: FunctionNode, outputs: list[Any]) -> None:
    """Make the node the ``grad_fn`` of the outputs."""
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
    """Decorate a ``backward`` that is not made of differentiable operations: differentiating it again is an error."""

    @functools.wraps(backward)
    def call(ctx: Any, *grads: Any) -> Any:
        recorded = is_grad_enabled() and any(isinstance(g, Tensor) and g._requires_grad for g in grads)
        with no_grad():
            result = backward(ctx, *grads)
        if not recorded:
            return result
        parts = result if isinstance(result, tuple) else (result,)
        barred = tuple(_Barrier.apply(part, *grads) if isinstance(part, Tensor) else part for part in parts)
        return barred if isinstance(result, tuple) else barred[0]

    return call


class _Barrier(Function):
    """Lets a value through and refuses to be differentiated."""

    @staticmethod
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        return args[0]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise GraphError("trying to differentiate twice a function that was marked with @once_differentiable")


FunctionCtx = FunctionNode
"""PyTorch's name for the type of ``ctx``."""
