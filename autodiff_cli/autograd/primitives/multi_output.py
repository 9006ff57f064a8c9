"""Operations on one tensor with several results: ``unbind``, ``max`` along a dimension, ``eigh``."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Any

from autodiff_cli.autograd.modes import is_recording
from autodiff_cli.autograd.node import NO_EDGE, OUTPUT, Cotangent, Node, SavedOutput, leaf_edge
from autodiff_cli.autograd.primitives.argument_kinds import Argument, checked_operand
from autodiff_cli.autograd.primitives.arguments import UNFIT, mismatch
from autodiff_cli.autograd.primitives.calls import shares_memory
from autodiff_cli.autograd.primitives.nodes import OpNode
from autodiff_cli.autograd.primitives.primitive import Declared, TensorFunction, VjpRule, argument_names
from autodiff_cli.autograd.tensor import Tensor, shared_array, tensor_on
from autodiff_cli.autograd.views_and_versions import created_now, view_of
from autodiff_cli.errors import NoSeriesError


class MultiOutputNode(OpNode):
    """A node with several outputs: its VJP rule receives a list of cotangents, with ``None`` for unused outputs."""

    __slots__ = ("_outputs",)

    def run_rules(self, grad: Cotangent, values: Sequence[Any], needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        return (self.vjps[0](grad if isinstance(grad, list) else [grad], *values),)


class MultiOutput(Declared, kw_only=True):
    """An operation with several results; see ``Declarations.several``.

    Attributes:
        vjp: the VJP rule.
        results: the names of the results; empty if the function returns a plain tuple.
        constant: the names of the results that are not differentiable.
        view: the function ``view(x, i, *statics)`` that returns the i-th result as a view of ``x``, if results are views.
    """

    vjp: VjpRule
    results: Sequence[str] = ()
    constant: Sequence[str] = ()
    view: Callable[..., Tensor] | None = None

    @cached_property
    def vjp_arguments(self) -> tuple[str, ...]:
        """The names of the parameters of the VJP rule, without the first."""
        return argument_names(self.vjp)[1:]

    @cached_property
    def packed(self) -> Callable[[Sequence[Any]], Any]:
        """The function that makes the tuple of results."""
        make: Any = namedtuple
        return make(self.name, self.results)._make if self.results else tuple

    def applied_to(self, x: Tensor, args: Sequence[Any]) -> Sequence[Tensor]:
        """Return the results for an instance of a subclass of ``Tensor``; ``args`` are all arguments, beginning with ``x``.

        A class may define ``applied_several(operation, args)``.  For other classes, such as Taylor series, only views are
        supported, which are applied to the coefficients.
        """
        if hasattr(x, "applied_several"):
            return x.applied_several(self, args)  # type: ignore[no-any-return]
        if self.view is None:
            raise NoSeriesError(f"{self.name} has no rule for power series")
        return self.views(x, args)

    def views(self, x: Tensor, args: Sequence[Any]) -> Sequence[Tensor]:
        """Return the results as views of ``x``, for an operation whose results are views; ``args`` begin with ``x``."""
        assert self.view is not None
        return [self.view(x, i, *args[1:]) for i in range(len(self.forward(x._data, *args[1:])))]

    def is_differentiable(self, i: int, result: Tensor) -> bool:
        """Return whether the i-th result is differentiable: a tensor of floats that the declaration does not call constant."""
        return result.is_floating_point() and not (self.results and self.results[i] in self.constant)

    def record(self, node: MultiOutputNode, args: Sequence[Any], tensors: Sequence[Tensor]) -> None:
        """Complete a new node of a call with the arguments ``args``, and make the differentiable results its outputs."""
        x = args[0]
        node._edges = (x._edge or leaf_edge(x),)
        node._hooks = None
        differentiable = [self.is_differentiable(i, tensor) for i, tensor in enumerate(tensors)]
        values: dict[str, Any] = {"x_shape": x.shape, **dict(zip(self.parameters, args, strict=True))}
        for i, (name, tensor) in enumerate(zip(self.results, tensors, strict=False)):
            values[name] = SavedOutput(tensor._data, i if differentiable[i] else None)
        node._saved = [values[name] for name in self.vjp_arguments]
        node.describe_outputs(tensors)
        for i, tensor in enumerate(tensors):
            if differentiable[i]:
                tensor._edge, tensor._requires_grad = (node, i), True


def multi_output(operation: MultiOutput, node: str) -> TensorFunction:
    """Return the function of an operation with several results; ``node`` is PyTorch's name of the backward node."""
    view, results, arguments = operation.view, operation.results, operation.binder()
    edge_numbers = dict.fromkeys(results, OUTPUT) | {"x": 0}  # the tensor ``x`` has the only edge
    slots = tuple((name, edge_numbers.get(name, NO_EDGE)) for name in operation.vjp_arguments)
    frees = any(edge != NO_EDGE for _, edge in slots)
    attributes = {"__slots__": (), "vjps": (operation.vjp,), "saved_slots": slots, "frees": frees}
    node_type: Any = type(node, (MultiOutputNode,), attributes)

    def function(*call: Argument, **kwargs: Argument) -> Any:
        # Other classes than Tensor compute in their own way, an array is not recorded, a tensor is if it requires grad.
        args = arguments(call, kwargs)
        x = args[0]
        if type(x) is not Tensor and isinstance(x, Tensor):
            return operation.packed(operation.applied_to(x, args))
        if type(x) is Tensor:
            data: Any = x._data if view is None else shared_array(x)
        else:
            data = checked_operand(x, operation.name)
        try:
            arrays = operation.forward(data, *args[1:])
        except UNFIT as error:
            raise mismatch(operation.name, error, [data]) from None
        if type(x) is not Tensor:
            return operation.packed(arrays)
        tensors = [tensor_on(array, None) for array in arrays]
        if x._requires_grad and is_recording():
            operation.record(node_type.__new__(node_type), args, tensors)
        if view is not None and tensors and shares_memory(tensors[0]._data, data):
            # Register each result as a view; the tuple is not a tensor.
            for i, tensor in enumerate(tensors):
                view_of(tensor, x, lambda source, *statics, i=i: view(source, i, *statics), args[1:], created_now("several"))
        return operation.packed(tensors)

    return function
