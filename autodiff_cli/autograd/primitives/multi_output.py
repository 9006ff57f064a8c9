"""Operations on one tensor with several results: ``unbind``, ``max`` along a dimension, ``eigh``."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.memory import created_now, view_of
from autodiff_cli.autograd.modes import is_recording
from autodiff_cli.autograd.node import NO_EDGE, OUTPUT, Cotangent, Node, SavedOutput, leaf_edge, recorded
from autodiff_cli.autograd.primitives.argument_kinds import Argument, Kind, bind, checks_of, converted, operand
from autodiff_cli.autograd.primitives.arguments import UNFIT, mismatch
from autodiff_cli.autograd.primitives.calls import shares
from autodiff_cli.autograd.primitives.primitive import TensorFunction, VjpRule, argument_names
from autodiff_cli.autograd.primitives.saved_names import node_class
from autodiff_cli.autograd.tensor import Tensor, shared_array, tensor_on
from autodiff_cli.errors import NoSeriesError


class MultiOutputNode(Node):
    """A node with several outputs: its VJP rule receives a list of cotangents, with ``None`` for unused outputs."""

    __slots__ = ("_outputs",)

    vjp: ClassVar[VjpRule]

    def apply(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        self.check_saved()
        return self.run_rules(grad, [getattr(value, "_data", value) for value in self._saved], needed)

    def apply_recorded(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        self.check_saved()
        values = [recorded(self, value, edge) for value, (_, edge) in zip(self._saved, self.saved_slots, strict=True)]
        return self.run_rules(grad, values, needed)

    def run_rules(self, grad: Cotangent, values: Sequence[Any], needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        return (self.vjp(grad if isinstance(grad, list) else [grad], *values),)

    def saved_entries(self) -> Sequence[Any]:
        entries: Sequence[Any] = self._saved
        return entries

    def release(self) -> None:
        if self._saved is not None and any(hasattr(value, "_data") for value in self._saved):
            self._saved = None


class MultiOutput(NamedTuple):
    """An operation with several results; see ``Declarations.several``.

    Attributes:
        function: the public function.
        parameters: the names of all parameters.
        results: the names of the results; empty if the function returns a plain tuple.
        constant: the names of the results that are not differentiable.
        wanted: the names of the parameters of the VJP rule, without the first.
        view: the function ``view(x, i, *statics)`` that returns the i-th result as a view of ``x``, if results are views.
    """

    name: str
    function: TensorFunction
    parameters: tuple[str, ...]
    forward: Callable[..., Sequence[Array]]
    vjp: VjpRule
    results: Sequence[str]
    constant: Sequence[str]
    wanted: tuple[str, ...]
    view: Callable[..., Tensor] | None

    def on(self, x: Tensor, args: Sequence[Any]) -> Sequence[Tensor]:
        """Return the results for an instance of a subclass of ``Tensor``.

        A class may define ``applied_several(operation, args)``.  For other classes, such as Taylor series, only views are
        supported, which are applied to the coefficients.
        """
        if hasattr(x, "applied_several"):
            parts: Sequence[Tensor] = x.applied_several(self, args)
            return parts
        if self.view is None:
            raise NoSeriesError(f"{self.name} has no rule for power series")
        return self.views(x, args)

    def views(self, x: Tensor, args: Sequence[Any]) -> Sequence[Tensor]:
        """Return the results as views of ``x``, if they are views."""
        assert self.view is not None
        return [self.view(x, i, *args[1:]) for i in range(len(self.forward(x._data, *args[1:])))]


def multi_output(
    name: str,
    forward: Callable[..., Sequence[Array]],
    vjp: VjpRule,
    results: Sequence[str],
    constant: Sequence[str],
    node: str,
    statics: Mapping[str, Any],
    kinds: Mapping[str, Kind],
    view: Callable[..., Tensor] | None,
) -> TensorFunction:
    """Return the function of an operation with several results; see ``Declarations.several`` for the arguments."""
    wanted = argument_names(vjp)[1:]
    parameters, defaults = ("x", *statics), tuple(statics.values())
    checks = checks_of(parameters, defaults, kinds)
    node_type: type[MultiOutputNode] = node_class(
        node, MultiOutputNode, vjp=staticmethod(vjp), saved_slots=tuple((n, _edge_of(n, results)) for n in wanted)
    )
    together: Any = namedtuple(name, results) if results else tuple

    def function(*args: Argument, **kwargs: Argument) -> Any:
        args = tuple(converted(name, checks, bind(name, parameters, defaults, args, kwargs)))
        x = args[0]
        if type(x) is not Tensor and isinstance(x, Tensor):
            parts = operation.on(x, args)
            return together(*parts) if results else tuple(parts)
        data: Any = operand(x, name) if type(x) is not Tensor else x._data if view is None else shared_array(x)
        try:
            arrays = forward(data, *args[1:])
        except UNFIT as error:
            raise mismatch(name, error, [data]) from None
        if type(x) is not Tensor:
            return together(*arrays) if results else tuple(arrays)
        recording = x._requires_grad and is_recording()
        tensors = [tensor_on(array, None) for array in arrays]
        if recording:
            _record(x, args, tensors)
        if view is not None and tensors and shares(tensors[0]._data, data):
            # Register each result as a view; the tuple is not a tensor.
            for i, tensor in enumerate(tensors):
                view_of(tensor, x, _one(view, i), args[1:], created_now("several"))
        return together(*tensors) if results else tuple(tensors)

    def _record(x: Tensor, args: tuple[Any, ...], tensors: list[Tensor]) -> None:
        result = node_type.__new__(node_type)
        result._edges = (x._edge or leaf_edge(x),)
        result._hooks = None
        differentiable = [t.is_floating_point() and not (results and results[i] in constant) for i, t in enumerate(tensors)]
        kept: dict[str, Any] = {"x": x, "x_shape": x.shape, **dict(zip(parameters[1:], args[1:], strict=True))}
        for i, (n, t) in enumerate(zip(results, tensors, strict=False)):
            kept[n] = SavedOutput(t._data, i if differentiable[i] else None)
        result._saved = [kept[n] for n in wanted]
        result.describe_outputs(tensors)
        for i, tensor in enumerate(tensors):
            if differentiable[i]:
                tensor._edge, tensor._requires_grad = (result, i), True

    operation = MultiOutput(name, function, parameters, forward, vjp, results, constant, wanted, view)
    return function


def _edge_of(name: str, results: Sequence[str]) -> int:
    return OUTPUT if name in results else 0 if name == "x" else NO_EDGE


def _one(view: Callable[..., Any], i: int) -> Callable[..., Any]:
    return lambda x, *statics: view(x, i, *statics)
