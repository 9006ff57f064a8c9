"""Primitives: operations with VJP rules.  Taylor mode, tracing and arbitrary-precision arithmetic compute them in other ways."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from autodiff_cli.autograd.primitives.argument_kinds import Kind
from autodiff_cli.autograd.tensor import Tensor

TensorFunction = Callable[..., Any]
"""A public function: it takes tensors, arrays and numbers, and returns a tensor if an argument is a tensor."""
VjpRule = Callable[..., Any]
"""A function that returns the cotangent of one argument.  It takes the cotangent of the result, then the values that its
parameters name: arguments of the operation, ``out`` for its result, ``x_shape`` for the shape of ``x``."""
Decomposition = str | Callable[..., str | None]
"""An expression of simpler operations, or a function that returns it for the plain arguments of a call; ``None`` if none exists."""


def _undefined(*args: object) -> None:
    raise NotImplementedError("the function of the primitive is not set")


class Primitive:
    """An operation with VJP rules.

    Attributes:
        name: the name of the operation.
        function: the public function, which records a node.
        forward: the function that computes the result from arrays.
        vjps: for each tensor argument, its VJP rule; ``None`` for an argument that is not differentiable.
        parameters: the names of all parameters, with the tensor parameters first.
        defaults: the defaults of the last parameters.
        kinds: the kinds of the plain arguments, by name.
        series: the rule of Taylor mode, see ``autograd.taylor_mode``.
        elementwise: whether each element of the result depends only on the input elements at the same position.
        selects: the parameters of which the operation selects some elements, and ignores the other elements.
        view: whether the result shares the memory of the argument.
        decomposition: an expression of simpler operations, for export targets that lack the operation.
        arity: the number of tensor parameters.
        of_sequence: whether the first argument is a sequence of tensors.
        differentiable_args: the positions of the arguments that have a VJP rule.
    """

    __slots__ = (
        "arity",
        "decomposition",
        "defaults",
        "differentiable_args",
        "elementwise",
        "forward",
        "function",
        "kinds",
        "name",
        "of_sequence",
        "parameters",
        "selects",
        "series",
        "view",
        "vjps",
    )

    def __init__(
        self,
        *,
        name: str,
        function: TensorFunction = _undefined,
        forward: Callable[..., Any],
        vjps: Mapping[str, VjpRule | None],
        parameters: tuple[str, ...],
        defaults: tuple[Any, ...] = (),
        kinds: Mapping[str, Kind] = MappingProxyType({}),
        series: str | TensorFunction | None = None,
        elementwise: bool = False,
        selects: bool | Collection[str] = False,
        view: bool = False,
        decomposition: Decomposition | None = None,
    ) -> None:
        self.name = name
        self.function = function
        self.forward = forward
        self.vjps = vjps
        self.parameters = parameters
        self.defaults = defaults
        self.kinds = kinds
        self.series = series
        self.elementwise = elementwise
        self.selects = frozenset(vjps if selects is True else selects or ())
        self.view = view
        self.decomposition = decomposition
        self.arity = len(vjps)
        self.of_sequence = parameters[0] == "tensors"
        self.differentiable_args = tuple(i for i, name in enumerate(parameters) if vjps.get(name) is not None)


PRIMITIVES: dict[TensorFunction, Primitive] = {}
"""The primitive of each declared function."""


next_level = itertools.count(1).__next__
"""Return the level of a new transformation (forward mode, vmap).

A transformation that starts later is nested inside, or it is independent; its level is higher in both cases."""


def dispatch(function: TensorFunction, args: Sequence[Any]) -> Any:
    """Return the result of a declared function for arguments that include an instance of a subclass of ``Tensor``.

    Such a class (a Taylor series, a tracer, a dual tensor) defines ``applied(primitive, args)``; the method of the outermost
    instance is called.
    """
    transformed: Any = None
    for value in args:
        if type(value) is Tensor:
            continue
        for one in value if isinstance(value, list) else (value,):
            if type(one) is not Tensor and isinstance(one, Tensor) and (transformed is None or one._level > transformed._level):
                transformed = one
    return transformed.applied(PRIMITIVES[function], args)


def outermost(groups: Iterable[Sequence[Any]]) -> Any:
    """Return the instance of a subclass of ``Tensor`` with the highest ``_level``, the first of them if several have this level.

    Args:
        groups: sequences of values; the result is ``None`` if they contain only ordinary tensors and other values.
    """
    result: Any = None
    for values in groups:
        for one in values:
            if type(one) is not Tensor and isinstance(one, Tensor) and (result is None or one._level > result._level):
                result = one
    return result


def argument_names(rule: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the positional parameters of a function."""
    code = rule.__code__
    return code.co_varnames[: code.co_argcount]
