"""Declarations: a primitive, the function that users call, and its entry in the language, from one call.

A declaration takes the forward computation on arrays and one VJP rule for each differentiable argument.  The parameters
of a rule name what it needs, and only that is saved: ``g``, always first, is the cotangent of the output; then come
parameters of the operation, ``out`` for its result, and ``x_shape`` for the shape of ``x``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.argument_kinds import Kind
from autodiff_cli.autograd.primitives.calls import binary, general, of_sequence, unary, viewing
from autodiff_cli.autograd.primitives.multi_output import multi_output
from autodiff_cli.autograd.primitives.node_factory import NodeFactory
from autodiff_cli.autograd.primitives.primitive import PRIMITIVES, Decomposition, Primitive, TensorFunction, VjpRule
from autodiff_cli.autograd.primitives.registry import Registration, describe
from autodiff_cli.autograd.tensor import Tensor


class Declarations:
    """Declares the operations of one module.

    Args:
        module: the name of the module; the last part is the section that its functions are listed in.
        elementwise: whether its operations work element by element, if they have no parameter ``dim``.
    """

    def __init__(self, module: str, elementwise: bool = False) -> None:
        self._module = module
        self._elementwise = elementwise

    def __call__(
        self,
        name: str,
        forward: Callable[..., Any],
        vjps: Mapping[str, VjpRule | None],
        *,
        series: str | TensorFunction | None = None,
        node: str | None = None,
        statics: Mapping[str, Any] | None = None,
        kinds: Mapping[str, Kind] | None = None,
        public: bool = True,
        view: bool = False,
        selects: bool = False,
        elementwise: bool | None = None,
        recover: Callable[[Array], Array] | None = None,
        decomposition: Decomposition | None = None,
        **description: Unpack[Registration],
    ) -> TensorFunction:
        """Declare an operation with one result.

        Args:
            name: what users call it.
            forward: computes the result from arrays, and from the ``statics`` after them.
            vjps: for each tensor argument its VJP rule, ``None`` where the operation is not differentiable.
            series: the rule of Taylor mode, see ``autograd.taylor_mode``; if left out, ``chain`` for elementwise operations,
                and none for others.
            node: PyTorch's name of the backward node; from ``name`` if left out (``log`` gives ``LogBackward0``).
            statics: further parameters, which are plain Python values, with their defaults.
            kinds: what each of those is: arguments are checked before anything runs.
            public: whether it belongs to the language; if not, only rules and other functions use it.
            view: whether the result shares the memory of the argument, where NumPy can do that.
            selects: whether it takes some elements of its arguments and leaves others; see ``autograd.primitives.selection_masks``.
            elementwise: whether each element depends on its own place only; if left out, what the module says.
            recover: the input from the result, for a rule that saves both, should the input be changed in place.
            decomposition: the operation as an expression of simpler ones, used where a target has no such function.
            description: see ``registry.describe``.
        """
        statics = statics or {}
        differentiable = any(vjps.values())
        if elementwise is None:
            elementwise = self._elementwise and "dim" not in statics
        if series is None and elementwise:
            series = "chain"
        primitive = Primitive(
            name=name,
            forward=forward,
            vjps=vjps,
            parameters=(*vjps, *statics),
            defaults=tuple(statics.values()),
            kinds=kinds or {},
            series=series if differentiable else "fixed",
            elementwise=elementwise,
            selects=selects,
            decomposition=decomposition,
        )
        nodes = NodeFactory(primitive, node or node_name(name), {} if recover is None else {"recover": staticmethod(recover)})
        if view:
            function = viewing(primitive, nodes)
        elif not statics and len(vjps) == 1 and differentiable:
            function = unary(primitive, nodes)
        elif not statics and len(vjps) == 2:
            function = binary(primitive, nodes)
        else:
            function = general(primitive, nodes)
        return self._register(primitive, function, public, description)

    def sequence(
        self,
        name: str,
        forward: Callable[..., Any],
        vjp: VjpRule,
        *,
        node: str,
        statics: Mapping[str, Any],
        kinds: Mapping[str, Kind],
        series: str | None = None,
        public: bool = True,
        **description: Unpack[Registration],
    ) -> TensorFunction:
        """Declare an operation on a sequence of tensors; ``vjp(g, i, shapes, *statics)`` is the rule of the i-th."""
        primitive = Primitive(
            name=name,
            forward=forward,
            vjps={"tensors": vjp},
            parameters=("tensors", *statics),
            defaults=tuple(statics.values()),
            kinds=kinds,
            series=series,
        )
        return self._register(primitive, of_sequence(primitive, node), public, description)

    def several(
        self,
        name: str,
        forward: Callable[..., Sequence[Any]],
        vjp: VjpRule,
        *,
        results: Sequence[str] = (),
        constant: Sequence[str] = (),
        node: str | None = None,
        statics: Mapping[str, Any] | None = None,
        kinds: Mapping[str, Kind] | None = None,
        view: Callable[..., Tensor] | None = None,
        public: bool = True,
        **description: Unpack[Registration],
    ) -> TensorFunction:
        """Declare an operation of one tensor ``x`` with several results.

        Args:
            name: what users call it.
            forward: the tuple of results, from the array and the ``statics``.
            vjp: the cotangent of ``x``: its first argument is the list of cotangents of the results, with ``None`` for
                those that nothing used; the others name what is saved: ``x``, ``x_shape``, results and statics.
            results: the names of the results, which are then returned as a named tuple.
            constant: the results that have no gradient.
            node: PyTorch's name of the backward node.
            statics: further parameters, which are plain Python values, with their defaults.
            kinds: what each of those is.
            view: ``view(x, i, *statics)`` gives the i-th result as a view of ``x``, where the results share its memory.
            public: whether it belongs to the language.
            description: see ``registry.describe``.
        """
        statics, kinds = statics or {}, kinds or {}
        function = multi_output(name, forward, vjp, results, constant, node or node_name(name), statics, kinds, view)
        parameters, defaults = ("x", *statics), tuple(statics.values())
        self._name(function, name)
        if not public:
            return function
        return describe(function, name=name, parameters=parameters, defaults=defaults, tensors=("x",), kinds=kinds, **description)

    def _register(self, primitive: Primitive, function: TensorFunction, public: bool, description: Registration) -> TensorFunction:
        primitive.function = function
        PRIMITIVES[function] = primitive
        self._name(function, primitive.name)
        return describe(function, **description) if public else function

    def _name(self, function: TensorFunction, name: str) -> None:
        function.__name__ = function.__qualname__ = name
        function.__module__ = self._module


def node_name(name: str) -> str:
    """Return PyTorch's name for the node of an operation: ``log_ndtr`` gives ``LogNdtrBackward0``."""
    return f"{''.join(part.capitalize() for part in name.split('_'))}Backward0"
