"""Operations of one tensor that have several results: ``unbind``, ``max`` along a dimension, ``eigh``."""

from __future__ import annotations

import sys
from collections import namedtuple
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar

from autodiff_cli.autograd.modes import is_grad_enabled
from autodiff_cli.autograd.node import Grad, Node, restore, tensor_on
from autodiff_cli.autograd.primitives.arguments import UNFIT, bind, mismatch
from autodiff_cli.autograd.primitives.declare import NO_GRAD_VIEW, argument_names, node_name, shares
from autodiff_cli.autograd.primitives.kinds import Kind, checks_of, settled
from autodiff_cli.autograd.primitives.registry import Function, describe
from autodiff_cli.autograd.tensor import Tensor, leaf_edge, shared_array, view_of
from autodiff_cli.errors import NoSeriesError

MULTIPLE_VIEWS = (
    "This view is the output of a function that returns multiple views. Such functions do not allow the output views to be "
    "modified inplace. You should replace the inplace operation by an out-of-place one."
)


class SeveralNode(Node):
    """Its gradient is a list, with ``None`` for results that nothing used; its partial is given that list."""

    __slots__ = ("_outputs",)

    partial: ClassVar[Callable[..., Any]]
    wanted: ClassVar[tuple[str, ...]]
    """What the partial names after the gradients, in order."""

    def apply(self, grad: Grad, needed: Collection[Node] | None) -> Sequence[Grad | None]:
        self.check_saved()
        values = [getattr(self._saved[name], "_data", self._saved[name]) for name in self.wanted]
        return (self.partial(grad if isinstance(grad, list) else [grad], *values),)

    def apply_recorded(self, grad: Grad, needed: Collection[Node] | None) -> Sequence[Grad | None]:
        self.check_saved()
        values = [self._recorded(name, self._saved[name]) for name in self.wanted]
        return (self.partial(grad if isinstance(grad, list) else [grad], *values),)

    def _recorded(self, name: str, value: Any) -> Any:
        if name == "x":
            return restore(value, self._edges[0])
        if isinstance(value, _Result):
            return tensor_on(value._data, (self, value.number) if value.differentiable else None)
        return value

    def release(self) -> None:
        if any(hasattr(value, "_data") for value in self._saved.values()):
            self._saved = None


class _Result:
    """A result kept for backward, as an array: a saved tensor would be a cycle."""

    __slots__ = ("_data", "differentiable", "number")

    def __init__(self, data: Any, number: int, differentiable: bool) -> None:
        self._data = data
        self.number = number
        self.differentiable = differentiable


def declare_several(
    name: str,
    forward: Callable[..., Any],
    partial: Callable[..., Any],
    *,
    results: Sequence[str] = (),
    constant: Sequence[str] = (),
    node: str | None = None,
    statics: Mapping[str, Any] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    view: Callable[..., Any] | None = None,
    public: bool = True,
    **description: Any,
) -> Function:
    """Declare an operation of one tensor ``x`` with several results.

    Args:
        name: what users call it.
        forward: the tuple of results, from the array and the ``statics``.
        partial: the gradient of ``x``: its first argument is the list of gradients of the results, the others name what
            is saved: ``x``, ``x_shape``, results and statics.
        results: the names of the results, which are then returned as a named tuple.
        constant: those of them that have no gradient.
        kinds: what each of the ``statics`` is, where users give them.
        node: PyTorch's name of the backward node.
        view: ``view(x, i, *statics)`` gives the i-th result as a view of ``x``, where the results share its memory.
        public: whether it belongs to the language.
        description: see ``describe``.
    """
    wanted = argument_names(partial)[1:]
    statics = dict(statics or {})
    parameters, defaults = ("x", *statics), tuple(statics.values())
    node = node or node_name(name)
    checks = checks_of(parameters, defaults, kinds or {})
    node_type = type(node, (SeveralNode,), {"__slots__": (), "partial": staticmethod(partial), "wanted": wanted})
    together: Any = namedtuple(name, results) if results else tuple

    def function(*args: Any, **kwargs: Any) -> Any:
        args = tuple(settled(name, checks, bind(name, parameters, defaults, args, kwargs)))
        x = args[0]
        if type(x) is not Tensor and isinstance(x, Tensor):
            if hasattr(x, "of_several"):  # numbers of many digits
                parts = x.of_several(name, forward, args[1:])
                return together(*parts) if results else tuple(parts)
            # A power series: taken apart as its coefficients are.
            if view is None:
                raise NoSeriesError(f"{name} has no rule for power series")
            return tuple(view(x, i, *args[1:]) for i in range(len(forward(x._data, *args[1:]))))
        data = x if type(x) is not Tensor else x._data if view is None else shared_array(x)
        try:
            arrays = forward(data, *args[1:])
        except UNFIT as error:
            raise mismatch(name, error, [data]) from None
        if type(x) is not Tensor:
            return together(*arrays) if results else tuple(arrays)
        recording = x._requires_grad and is_grad_enabled()
        tensors = [tensor_on(array, None) for array in arrays]
        if recording:
            _record(node_type, x, args, tensors)
        if view is not None and tensors and shares(tensors[0]._data, data):
            # In the steps of a view stands how to get one result, not all.
            for i, tensor in enumerate(tensors):
                several = f"Output {i} of {node} is a view and is being modified inplace. {MULTIPLE_VIEWS}"
                barred = NO_GRAD_VIEW if x._requires_grad and not recording else several
                view_of(tensor, x, _one(view, i), args[1:], barred)
        return together(*tensors) if results else tuple(tensors)

    def _record(node_type: type[SeveralNode], x: Tensor, args: Any, tensors: list[Tensor]) -> None:
        made = node_type.__new__(node_type)
        made._edges = (x._edge or leaf_edge(x),)
        made._hooks = None
        made.describe_outputs(tensors)
        differentiable = [t.is_floating_point() and not (results and results[i] in constant) for i, t in enumerate(tensors)]
        kept: dict[str, Any] = {"x": x, "x_shape": x.shape, **dict(zip(parameters[1:], args[1:], strict=True))}
        kept |= {n: _Result(t._data, i, differentiable[i]) for i, (n, t) in enumerate(zip(results, tensors, strict=False))}
        made._saved = {n: kept[n] for n in wanted}
        for i, tensor in enumerate(tensors):
            if differentiable[i]:
                tensor._edge, tensor._requires_grad = (made, i), True

    function.__name__ = function.__qualname__ = name
    function.__module__ = sys._getframe(1).f_globals["__name__"]
    function.__doc__ = description.get("summary")
    if not public:
        return function
    return describe(function, name=name, parameters=parameters, defaults=defaults, tensors=("x",), kinds=kinds, **description)


def _one(view: Callable[..., Any], i: int) -> Callable[..., Any]:
    return lambda x, *statics: view(x, i, *statics)
