"""Declarations, each of which defines a primitive, its public function, and its entry in the language.

A declaration takes the forward computation on arrays and one VJP rule for each differentiable argument.  The parameters
of a rule name the values that it needs, and only these values are saved.  The first parameter, ``g``, is the cotangent of the
output; the others are parameters of the operation, ``out`` for its result, or ``x_shape`` for the shape of ``x``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.argument_kinds import Kind, takes
from autodiff_cli.autograd.primitives.calls import binary, general, sequence_function, single, unary
from autodiff_cli.autograd.primitives.multi_output import MultiOutput, multi_output
from autodiff_cli.autograd.primitives.nodes import NodeFactory
from autodiff_cli.autograd.primitives.primitive import PRIMITIVES, Declared, Primitive, TensorFunction, VjpRule, argument_names
from autodiff_cli.autograd.primitives.registry import FunctionInfo, register

_Operation = TypeVar("_Operation", bound=Declared)


class Declarations:
    """The declarations of the operations of one module.

    Args:
        module: the name of the module; its last part is the section of the reference that lists its functions.
        elementwise: whether the operations without a parameter ``dim`` are elementwise.
    """

    def __init__(self, module: str, elementwise: bool = False) -> None:
        self._module = module
        self._section = module.rpartition(".")[2]
        self._elementwise = elementwise
        self._rows: dict[str, tuple[Sequence[str] | None, dict[str, Any]]] = {}  # from ``python`` for ``described``, by name

    def __call__(
        self,
        name: str,
        forward: Callable[..., Any],
        vjps: Mapping[str, VjpRule | None],
        *,
        statics: Mapping[str, Any] = MappingProxyType({}),
        node: str | None = None,
        selects: bool | Collection[str] = False,
        elementwise: bool | None = None,
        recover: Callable[[Array], Array] | None = None,
        **attributes: Any,
    ) -> TensorFunction:
        """Declare an operation with one result.

        Args:
            name: the name of the operation.
            forward: the function that computes the result; its arguments are the arrays, followed by the ``statics``.
            vjps: for each tensor argument, its VJP rule; ``None`` for an argument that is not differentiable.
            statics: the other parameters, which are plain Python values, with their defaults.
            node: PyTorch's name of the backward node; derived from ``name`` if left out (``log`` gives ``LogBackward0``).
            selects: the parameters of which the operation selects some elements, and ignores the other elements; true for
                all parameters; see ``autograd.primitives.selection_masks``.
            elementwise: whether each element of the result depends only on the input elements at the same position; the
                default is the setting of the module.
            recover: a function that computes the input from the result, for a rule that needs both; it is called if the input was
                changed in place.
            attributes: the other attributes of ``Primitive``; without ``series``, it is ``chain`` for elementwise operations.
                See also ``_add``.
        """
        if elementwise is None:
            elementwise = self._elementwise and "dim" not in statics
        differentiable = any(vjps.values())
        default_series = "chain" if elementwise else None
        attributes["series"] = attributes.get("series", default_series) if differentiable else "fixed"
        attributes |= {"elementwise": elementwise, "selects": frozenset(vjps if selects is True else selects or ())}
        primitive = _record(Primitive, name, forward, vjps, statics, {"vjps": vjps, **attributes})
        nodes = NodeFactory(primitive, node or node_name(name), {} if recover is None else {"recover": staticmethod(recover)})
        if len(vjps) > 1:
            call = binary if len(vjps) == 2 and not statics else general
        else:
            call = unary if differentiable and not statics and not primitive.view else single
        return self._add(primitive, call(primitive, nodes), attributes)

    def sequence(
        self, name: str, forward: Callable[..., Any], vjp: VjpRule, *, statics: Mapping[str, Any], node: str, **attributes: Any
    ) -> TensorFunction:
        """Declare an operation on a sequence of tensors; ``vjp(g, i, shapes, *statics)`` is the VJP rule of the i-th tensor."""
        vjps = {"tensors": vjp}
        primitive = _record(Primitive, name, forward, vjps, statics, {"vjps": vjps, **attributes})
        return self._add(primitive, sequence_function(primitive, node), attributes)

    def several(
        self,
        name: str,
        forward: Callable[..., Sequence[Any]],
        vjp: VjpRule,
        *,
        statics: Mapping[str, Any] = MappingProxyType({}),
        node: str | None = None,
        **attributes: Any,
    ) -> TensorFunction:
        """Declare an operation on one tensor ``x`` with several results.

        Args:
            name: the name of the operation.
            forward: the function that computes the tuple of results from the array and the ``statics``.
            vjp: the VJP rule of ``x``.  Its first parameter is the list of cotangents of the results, with ``None`` for each
                unused result; the others name the saved values: ``x``, ``x_shape``, results and statics.
            statics: the other parameters, which are plain Python values, with their defaults.
            node: PyTorch's name of the backward node.
            attributes: the other attributes of ``MultiOutput``; see also ``_add``.
        """
        operation = _record(MultiOutput, name, forward, ("x",), statics, {"vjp": vjp, **attributes})
        return self._add(operation, multi_output(operation, node or node_name(name)), attributes)

    def composed(
        self, name: str, function: TensorFunction, kinds: Mapping[str, Kind], tensors: Sequence[str], **description: Any
    ) -> TensorFunction:
        """Declare a function that is composed of other functions.

        Args:
            name: the name of the function.
            function: the function, whose arguments have been converted.
            kinds: the kinds of the arguments that it converts, by name.
            tensors: the names of the parameters that take tensors.
            description: see ``_add``.
        """
        checked = takes(**kinds)(function)
        self._name(checked, name)
        defaults = function.__defaults__ or ()
        return self._describe(
            checked, name=name, parameters=argument_names(function), defaults=defaults, tensors=tensors, kinds=kinds, **description
        )

    def python(self, name: str, checks: Sequence[str] | None, **description: Any) -> None:
        """Record the description of a function that is written in Python, which ``described`` decorates.

        Args:
            name: the name of the function.
            checks: the names of the arguments that are converted by their kinds; ``None`` if the function converts them itself.
            description: see ``_add``.
        """
        self._rows[name] = checks, description

    def described(self, function: TensorFunction) -> TensorFunction:
        """Decorate a function: add it to the language with its description from ``python``; its name loses an ``_`` at the end."""
        checks, description = self._rows.pop(function.__name__)
        checked = function if checks is None else takes(**{each: description["kinds"][each] for each in checks})(function)
        return self._describe(checked, name=function.__name__.rstrip("_"), **description)

    def _add(self, operation: Declared, function: TensorFunction, attributes: Mapping[str, Any]) -> TensorFunction:
        """Set the function of an operation, add it to the language if it is public, and return it.

        Args:
            operation: the operation.
            function: the function.
            attributes: attributes of ``registry.FunctionInfo``, and arguments of ``registry.register``; ``public`` is false for an
                operation that only rules and other functions use.
        """
        operation.function = function
        if isinstance(operation, Primitive):
            PRIMITIVES[function] = operation
        self._name(function, operation.name)
        if not attributes.get("public", True):
            return function
        return self._describe(
            function,
            name=operation.name,
            parameters=operation.parameters,
            defaults=operation.defaults,
            tensors=operation.parameters[: operation.arity],
            kinds=operation.kinds,
            variadic=operation.of_sequence,
            **{key: value for key, value in attributes.items() if key not in type(operation).fields()},
        )

    def _describe(
        self, function: TensorFunction, *, methods: Sequence[str] | None = None, operator: str | None = None, **description: Any
    ) -> TensorFunction:
        """Add a function to the language; see ``FunctionInfo`` for the description, and ``register`` for the others."""
        function.__doc__ = function.__doc__ or description["summary"]
        defaults = {"section": self._section, "samples": (), "edges": (), "smooth": description.get("domain", "")}
        attributes = {key: value for key, value in (defaults | description).items() if value is not None}
        return register(FunctionInfo(function=function, **attributes), methods, operator)

    def _name(self, function: TensorFunction, name: str) -> None:
        """Give a function its name and its module, which messages and the documentation show."""
        function.__name__ = function.__qualname__ = name
        function.__module__ = self._module


def _record(
    record: type[_Operation],
    name: str,
    forward: Callable[..., Any],
    tensors: Iterable[str],
    statics: Mapping[str, Any],
    attributes: Mapping[str, Any],
) -> _Operation:
    """Return the record of an operation on ``tensors`` (names) and ``statics``, with those of the attributes that its class has."""
    own: dict[str, Any] = {key: value for key, value in attributes.items() if key in record.fields()}
    return record(name=name, forward=forward, parameters=(*tensors, *statics), defaults=tuple(statics.values()), **own)


def node_name(name: str) -> str:
    """Return PyTorch's name for the node of an operation, such as ``LogNdtrBackward0`` for ``log_ndtr``."""
    return f"{''.join(part.capitalize() for part in name.split('_'))}Backward0"
