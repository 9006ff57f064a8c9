"""Primitives: operations with VJP rules.  Taylor mode, tracing and arbitrary-precision arithmetic compute them in other ways."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any

from autodiff_cli.autograd.primitives.argument_kinds import Kind, bind, checks_of, converted
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.structs import Struct

TensorFunction = Callable[..., Any]
"""A public function: it takes tensors, arrays and numbers, and returns a tensor if an argument is a tensor."""
VjpRule = Callable[..., Any]
"""A function that returns the cotangent of one argument.  It takes the cotangent of the result, then the values that its
parameters name: arguments of the operation, ``out`` for its result, ``x_shape`` for the shape of ``x``."""
Decomposition = str | Callable[..., str | None]
"""An expression of simpler operations, or a function that returns it for the plain arguments of a call; ``None`` if none exists."""


def _undefined(*args: object) -> None:
    """Stand in for the function of an operation until its declaration sets it."""
    raise NotImplementedError("the function of the primitive is not set")


class Declared(Struct, kw_only=True):
    """A function that is declared with its computation on arrays.

    Attributes:
        name: the name of the operation.
        function: the public function, which records a node.
        forward: the function that computes the result, or the results, from arrays.
        parameters: the names of all parameters, with the tensor parameters first.
        defaults: the defaults of the last parameters.
        kinds: the kinds of the plain arguments, by name.
        arity: the number of tensor parameters.
        of_sequence: whether the first argument is a sequence of tensors.
    """

    name: str
    function: TensorFunction = _undefined
    forward: Callable[..., Any]
    parameters: tuple[str, ...]
    defaults: tuple[Any, ...] = ()
    kinds: Mapping[str, Kind] = MappingProxyType({})

    @classmethod
    @cache
    def fields(cls) -> frozenset[str]:
        """Return the names of the attributes that a declaration gives, without the cached properties."""
        return frozenset({*Declared.__annotations__, *cls.__annotations__})

    @cached_property
    def arity(self) -> int:
        return 1

    @cached_property
    def of_sequence(self) -> bool:
        return self.parameters[0] == "tensors"

    def binder(self) -> Callable[[Sequence[Any], Mapping[str, Any]], Sequence[Any]]:
        """Return a function that returns the arguments of a call in the order of the parameters, converted by their kinds."""
        name, parameters, defaults = self.name, self.parameters, self.defaults
        checks = checks_of(parameters, defaults, self.kinds)

        def arguments(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
            if kwargs or len(args) != len(parameters):
                args = bind(name, parameters, defaults, args, kwargs)
            return converted(name, checks, args) if checks else args

        return arguments


class Primitive(Declared, kw_only=True):
    """An operation with VJP rules and one result.

    Attributes:
        vjps: for each tensor argument, its VJP rule; ``None`` for an argument that is not differentiable.
        series: the rule of Taylor mode, see ``autograd.taylor_mode``.
        elementwise: whether each element of the result depends only on the input elements at the same position.
        selects: the parameters of which the operation selects some elements, and ignores the other elements.
        view: whether the result shares the memory of the argument.
        decomposition: an expression of simpler operations, for export targets that lack the operation.
        precise: computes one element from numbers of many digits, given their arithmetic.
        interval: its interval rule, if it is not in the table of these rules.
        partial: says how the derivative with respect to a parameter comes about, if no function declares it.
        notation: writes a call as an expression, given those of the arguments, if the primitive is not a function of the language.
        differentiable_args: the positions of the arguments that have a VJP rule.
    """

    vjps: Mapping[str, VjpRule | None]
    series: str | TensorFunction | None = None
    elementwise: bool = False
    selects: Collection[str] = ()
    view: bool = False
    decomposition: Decomposition | None = None
    precise: Callable[..., Any] | None = None
    interval: Callable[..., Any] | None = None
    partial: Callable[[str], str] | None = None
    notation: Callable[..., Any] | None = None

    @cached_property
    def arity(self) -> int:
        return len(self.vjps)

    @cached_property
    def differentiable_args(self) -> tuple[int, ...]:
        return tuple(i for i, name in enumerate(self.parameters) if self.vjps.get(name) is not None)


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
    groups = (value if isinstance(value, list) else (value,) for value in args)
    return outermost(groups).applied(PRIMITIVES[function], args)


def outermost(groups: Iterable[Sequence[Any]]) -> Any:
    """Return the instance of a subclass of ``Tensor`` with the highest ``_level``, the first of them if several have this level.

    The result is ``None`` if the groups contain only ordinary tensors and other values.
    """
    result: Any = None
    for values in groups:
        for value in values:
            if type(value) is not Tensor and isinstance(value, Tensor) and (result is None or value._level > result._level):
                result = value
    return result


def argument_names(rule: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the positional parameters of a function, or its attribute ``names`` if it takes any number of them."""
    names: tuple[str, ...] | None = getattr(rule, "names", None)
    return names or rule.__code__.co_varnames[: rule.__code__.co_argcount]
