"""Primitives: operations with VJP rules, as the interpreters of Taylor mode, tracing and exact numbers see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autodiff_cli.autograd.primitives.argument_kinds import Kind
from autodiff_cli.autograd.tensor import Tensor

TensorFunction = Callable[..., Any]
"""A function that users call: it takes tensors, arrays and numbers, and returns a tensor if it was given one."""
VjpRule = Callable[..., Any]
"""The cotangent of one argument.  It takes the cotangent of the result, then by name what it needs: arguments of the
operation, ``out`` for its result, ``x_shape`` for the shape of ``x``."""
Decomposition = str | Callable[..., str | None]
"""An expression of simpler operations, or a function that returns one (or ``None``) for the plain arguments of a call."""


def _undefined(*args: object) -> None:
    raise NotImplementedError("the primitive has no function yet")


@dataclass(slots=True, eq=False, kw_only=True)
class Primitive:
    """An operation with VJP rules.

    Attributes:
        name: what users call it.
        function: the callable that records a node.
        forward: computes the result from arrays.
        vjps: for each tensor argument its VJP rule, ``None`` where the operation is not differentiable.
        parameters: the names of all arguments, those of tensors first.
        defaults: the defaults of the last parameters.
        kinds: what the plain arguments are.
        series: the rule of Taylor mode, see ``autograd.taylor_mode``.
        elementwise: whether each element of the result depends on the elements at its own place only.
        selects: whether it takes some elements of its arguments and leaves others.
        decomposition: the operation as an expression of simpler ones, for targets that lack it.
        arity: how many of the parameters are tensors.
        of_sequence: whether the first argument is a sequence of tensors.
        differentiable_args: the positions of the arguments that have a VJP rule.
    """

    name: str
    function: TensorFunction = field(default=_undefined)
    forward: Callable[..., Any]
    vjps: Mapping[str, VjpRule | None]
    parameters: tuple[str, ...]
    defaults: tuple[Any, ...] = ()
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    series: str | TensorFunction | None = None
    elementwise: bool = False
    selects: bool = False
    decomposition: Decomposition | None = None
    arity: int = field(init=False)
    of_sequence: bool = field(init=False)
    differentiable_args: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.arity = len(self.vjps)
        self.of_sequence = self.parameters[0] == "tensors"
        self.differentiable_args = tuple(i for i, name in enumerate(self.parameters) if self.vjps.get(name) is not None)


PRIMITIVES: dict[TensorFunction, Primitive] = {}
"""The primitive of every declared function."""


def dispatch(function: TensorFunction, args: Sequence[Any]) -> Any:
    """Return the result of a declared function, one of whose arguments is an instance of a subclass of ``Tensor``.

    Such a class (a Taylor series, a tracer) defines ``applied(primitive, args)``; the first instance decides.
    """
    for value in args:
        for one in value if isinstance(value, list) else (value,):
            if type(one) is not Tensor and isinstance(one, Tensor):
                return one.applied(PRIMITIVES[function], args)
    raise AssertionError("no argument is an instance of a subclass of Tensor")


def argument_names(rule: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the positional parameters of a function."""
    code = rule.__code__
    return code.co_varnames[: code.co_argcount]
