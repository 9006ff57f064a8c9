"""Operations with a derivative written by hand: PyTorch's ``torch.autograd.Function``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

from autodiff_cli.autograd.modes import is_grad_enabled, no_grad, set_grad_enabled
from autodiff_cli.autograd.node import FREED, FREED_HINT, Grad, Node, next_sequence_nr, restore, tensor_on
from autodiff_cli.autograd.tensor import Tensor, leaf_edge
from autodiff_cli.errors import ArgumentError, GraphError


class FunctionNode(Node):
    """The node of a user's function, and the ``ctx`` that its two methods are given; attributes may be added to it."""

    __slots__ = (
        "__dict__",
        "dirty",
        "function",
        "keeps_output",
        "materialize_grads",
        "needs_input_grad",
        "non_differentiable",
        "outputs",
    )

    function: type[Function]
    outputs: int  # type: ignore[misc]
    keeps_output: bool  # type: ignore[misc]
    needs_input_grad: tuple[bool, ...]

    def __init__(self) -> None:
        self.saved = ()
        self.next_functions = ()
        self.hooks = None
        self.materialize_grads = True
        self.non_differentiable: tuple[Tensor, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors, inputs or outputs of this function, for ``backward``."""
        self.saved = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say that these outputs require no grad."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether the gradient of an output that nothing used arrives as zeros (the default) or as ``None``."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What ``save_for_backward`` kept.

        Raises:
            GraphError: after the graph was freed.
        """
        if self.saved is None:
            raise GraphError(FREED, hint=FREED_HINT)
        return tuple(self._unpack(entry) for entry in self.saved)

    def _unpack(self, entry: Any) -> Any:
        if isinstance(entry, tuple):  # an output, kept as its array: see seal
            data, output = entry
            return tensor_on(data, None if output is None else (self, output))
        if isinstance(entry, Tensor) and entry._requires_grad:
            edge = next((e for e in self.next_functions if e is not None and _leads_to(e, entry)), None)
            return restore(entry, edge)
        return entry

    def seal(self, outputs: Sequence[Tensor]) -> None:
        """Replace saved outputs by their arrays, which hold no reference back to this node."""
        self.keeps_output = any(isinstance(entry, Tensor) and any(entry is t for t in outputs) for entry in self.saved)
        places = {id(tensor): None if tensor._edge is None else i for i, tensor in enumerate(outputs)}
        self.saved = tuple(
            (entry._data, places[id(entry)]) if isinstance(entry, Tensor) and id(entry) in places else entry for entry in self.saved
        )

    def apply(self, grad: Grad, needed: Collection[Node] | None) -> Sequence[Grad | None]:
        with set_grad_enabled(False):
            return [None if part is None else part._data for part in self._backward(grad)]

    def apply_recorded(self, grad: Grad, needed: Collection[Node] | None) -> Sequence[Grad | None]:
        return self._backward(grad)

    def _backward(self, grad: Grad) -> list[Tensor | None]:
        from autodiff_cli.ops.creation import zeros

        grads = grad if self.outputs != 1 else [grad]
        tensors = [g if g is None or isinstance(g, Tensor) else tensor_on(g, None) for g in grads]
        if self.materialize_grads:
            shapes: Any = self.shape if self.outputs != 1 else (self.shape,)
            dtypes: Any = self.dtype if self.outputs != 1 else (self.dtype,)
            tensors = [zeros(list(shapes[i]), dtype=dtypes[i]) if g is None else g for i, g in enumerate(tensors)]
        result = self.function.backward(self, *tensors)
        parts = list(result) if isinstance(result, tuple) else [result]
        while len(parts) > len(self.next_functions) and parts[-1] is None:
            parts.pop()
        if len(parts) != len(self.next_functions):
            raise GraphError(
                f"function {self.name()} returned an incorrect number of gradients "
                f"(expected {len(self.next_functions)}, got {len(parts)})",
                hint="backward returns one gradient for each argument of forward, None where there is none",
            )
        return [part if part is None or isinstance(part, Tensor) else Tensor(part) for part in parts]

    def release(self) -> None:
        if self.saved:
            self.saved = None


def _leads_to(edge: Any, tensor: Tensor) -> bool:
    return edge is tensor._edge or getattr(edge[0], "variable", None) is tensor


class Function:
    """Subclass it with static methods ``forward(ctx, *args)`` and ``backward(ctx, *grads)``, and call ``apply``."""

    @staticmethod
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        """Compute the result; what is done here is not recorded."""
        raise NotImplementedError("a Function needs a static method forward(ctx, ...)")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """One gradient for each argument of ``forward``."""
        raise NotImplementedError("a Function needs a static method backward(ctx, *grads)")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward``, and record a node named after the class with ``Backward`` behind it."""
        node = type(f"{cls.__name__}Backward", (FunctionNode,), {"__slots__": ()})()
        node.function = cls
        needs = tuple(isinstance(a, Tensor) and a._requires_grad for a in args)
        node.needs_input_grad = needs
        with no_grad():
            result = cls.forward(node, *args, **kwargs)
        if not any(needs) or not is_grad_enabled():
            return result
        several = isinstance(result, tuple)
        outputs = [
            tensor_on(r._data, None) if isinstance(r, Tensor) and any(r is a for a in args) else r
            for r in (result if several else (result,))
        ]
        tensors = [r for r in outputs if isinstance(r, Tensor)]
        if not tensors:
            raise ArgumentError(f"{cls.__name__}.forward must return a tensor or a tuple with tensors in it")
        node.next_functions = tuple((a._edge or leaf_edge(a)) if need else None for a, need in zip(args, needs, strict=True))
        node.sequence_nr = next_sequence_nr()
        node.outputs = len(tensors)
        shapes, dtypes = tuple(t.shape for t in tensors), tuple(t.dtype for t in tensors)
        node.shape, node.dtype = (shapes, dtypes) if len(tensors) != 1 else (shapes[0], dtypes[0])
        constant = {id(t) for t in node.non_differentiable}
        for i, tensor in enumerate(tensors):
            if id(tensor) not in constant and tensor.is_floating_point():
                tensor._edge, tensor._requires_grad = (node, i), True
        node.seal(tensors)
        return tuple(outputs) if several else outputs[0]


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
