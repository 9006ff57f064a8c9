"""Functions that a program defines: ``f(a, b) = body``, and ``with grad (df/da, df/db)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, NoSeriesError, ParseError, ShapeError
from autodiff_cli.language.tree import Syntax, arguments
from autodiff_cli.wording import plural

if TYPE_CHECKING:
    from autodiff_cli.autograd.custom.node import FunctionNode
    from autodiff_cli.evaluation.stack_machine import Machine


class UserFunction:
    """A function that a program defines.

    Attributes:
        name, parameters: the name of the function, and those of its parameters.
        body: the expression of the result.
        partials: the user-written derivative with respect to each parameter; ``None`` without ``with grad``.
        scope: the local names where the function was defined.
    """

    def __init__(self, node: Syntax, scope: Mapping[str, Any] | None = None) -> None:
        self.scope = {} if scope is None else scope
        call = node.children[0]
        parameters = arguments(call)
        self.name = call.children[0].text
        self.parameters = [argument.children[0].text for argument in parameters if argument.kind == "name"]
        self.body = node.children[1]
        self.partials = node.children[3].children if node.kind == "definition_with_grad" else None  # child 2 is ``with grad``
        self._check(node, parameters)

    def _check(self, node: Syntax, parameters: Sequence[Syntax]) -> None:
        """Raise an error if a definition has a wrong parameter, or not one derivative for each parameter."""
        for argument in parameters:
            if argument.kind != "name":
                hint = "name the parameters without types and without default values"
                raise ParseError("a parameter of a function must be a plain name", span=argument.span, hint=hint)
        for partial in self.partials or ():
            if partial.kind == "keyword":
                raise ParseError("a derivative must be an expression, not a keyword argument", span=partial.span)
        if len(set(self.parameters)) < len(self.parameters):
            raise ParseError(f"two parameters of '{self.name}' have the same name", span=node.children[0].span)
        if self.partials is not None and len(self.partials) != len(self.parameters):
            counts = f"{len(self.parameters)}, not {len(self.partials)}"
            message = f"'{self.name}' needs one derivative for each of its parameters: {counts}"
            hint = f"write with grad ({', '.join(f'd/d{name}' for name in self.parameters)})"
            raise ParseError(message, span=node.children[3].span, hint=hint)

    def bind_arguments(self, arguments: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        """Return the arguments of a call in the order of the parameters; too many, too few and unknown ones are an error."""
        together = {**named, **dict(zip(self.parameters, arguments, strict=False))}
        count = len(arguments) + len(named)
        if count != len(self.parameters) or set(together) != set(self.parameters):
            message = f"{self.name} takes {plural(len(self.parameters), 'argument')}, not {count}"
            raise ArgumentError(message, hint=f"call it as {self.name}({', '.join(self.parameters)})")
        return [together[name] for name in self.parameters]


def call_with_own_vjp(machine: Machine, function: UserFunction, arguments: Sequence[Tensor]) -> Tensor:
    """Call a function with user-written derivatives, which the backward pass and Taylor mode use at every order.

    It is an error if an argument is of another transformation, or if a derivative of a power series is not elementwise.
    """
    from autodiff_cli.autograd.function import Function

    if any(type(argument) is not Tensor for argument in arguments):
        return _power_series_call(machine, function, arguments)
    partials = function.partials or ()

    class UserVjp(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(ctx: FunctionNode, *args: Any, **kwargs: Any) -> Tensor:
            ctx.save_for_backward(*args)
            return machine.evaluate_body(function, function.body, args)

        @staticmethod
        def backward(ctx: FunctionNode, *grads: Any) -> tuple[Tensor | None, ...]:
            saved = [tensor for tensor in ctx.saved_tensors if tensor is not None]
            cotangents: list[Tensor | None] = [None] * len(saved)
            for i, (partial, argument) in enumerate(zip(partials, saved, strict=True)):
                if ctx.needs_input_grad[i]:
                    derivative = machine.evaluate_body(function, partial, saved)
                    cotangents[i] = _cotangent(grads[0], derivative, argument, partial, machine.source)
            return tuple(cotangents)

    UserVjp.__name__ = function.name
    result: Tensor = UserVjp.apply(*arguments)
    return result


def _power_series_call(machine: Machine, function: UserFunction, arguments: Sequence[Tensor]) -> Tensor:
    """Return the power series of a call: its value is that of the body, and the derivatives have series of their own."""
    from autodiff_cli.autograd.taylor_mode.recurrences import Series, primal_of

    why = f"'{function.name}' has no rule for power series, because its derivatives are user-written"
    expansion = next((argument.expansion for argument in arguments if isinstance(argument, Series)), None)
    if expansion is None:  # the arguments are of another transformation
        raise NoSeriesError(why)

    def evaluated(body: Syntax, values: Sequence[Tensor], *inputs: Tensor) -> Tensor:
        """Return the value of an expression, which must be a scalar or have the shape that the inputs broadcast to."""
        result = machine.evaluate_body(function, body, values)
        if result.shape and result.shape != np.broadcast_shapes(*(each.shape for each in inputs)):
            raise NoSeriesError(f"{why} and do not apply element by element")
        return result

    def value(*primals: Tensor) -> Tensor:
        result: Tensor = primal_of(evaluated(function.body, primals, *arguments))
        return result

    def rule(body: Syntax, argument: Tensor) -> Callable[[Tensor], Tensor]:
        return lambda g: evaluated(body, arguments, argument)

    pairs = zip(function.partials or (), arguments, strict=True)
    rules = {f"x{i}": rule(body, argument) for i, (body, argument) in enumerate(pairs)}
    primitive = Primitive(name=function.name, function=value, forward=value, vjps=rules, parameters=tuple(rules), series="total")
    return expansion.cached(function, arguments, lambda: expansion.apply(primitive, arguments))


def _cotangent(gradient: Tensor, derivative: Tensor, argument: Tensor, node: Syntax, source: str) -> Tensor:
    """Multiply a gradient by a derivative; a scalar derivative applies to all elements.  The place of an error is ``node``."""
    product = gradient * derivative
    if product.shape == argument.shape:
        return product
    try:
        shape = np.broadcast_shapes(product.shape, argument.shape)
    except ValueError:
        message = f"this derivative has shape {list(derivative.shape)}, but its argument has shape {list(argument.shape)}"
        hint = "give 'with grad' the derivative of the output with respect to each element of the argument"
        raise ShapeError(message, span=node.span, source=source, hint=hint) from None
    spread: Tensor = FUNCTIONS["expand"].function(product, shape)
    return spread
