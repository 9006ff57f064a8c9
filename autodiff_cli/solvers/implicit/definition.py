"""Values that equations, minima and integrals define inside an expression.

``root(y=1, y**3 + y = x)`` is the root next to 1, ``root(y=0..2, ...)`` the only root in a bracket, ``argmin(y=0, (y - x)**2)``
the point of the minimum that a descent from 0 reaches, and ``integral(t=0..x, exp(-t**2))`` the integral.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, LimitError, NoValue, ShapeError
from autodiff_cli.language.tree import DEFINING, Binding, Syntax, binding
from autodiff_cli.solvers.implicit.body import Body, elements_of
from autodiff_cli.solvers.implicit.equation import Equation
from autodiff_cli.solvers.implicit.integral import Integral
from autodiff_cli.wording import plural

if TYPE_CHECKING:
    from autodiff_cli.evaluation.stack_machine import Machine

MOST_UNKNOWNS = 20
"""The maximum number of unknowns of one definition, whose linear systems have the square of this many entries."""


def value(machine: Machine, node: Syntax, values: list[Any]) -> Any:
    """Return the value that a call of ``root``, ``argmin`` or ``integral`` defines, given the values of its starts or limits.

    Raises:
        NoValue: if the call does not define a value; the error has its position.
        ArgumentError: if the call is not of one of the forms in ``DEFINING``.
    """
    machine.count(node)
    call = binding(node)
    assert call is not None
    name, form = node.children[0].text, node.children[1].children[0].kind
    is_range = form == "index_range"
    is_one_body = bool(call.names) and len(call.inside) == 1
    is_right_form = name == "root" or (is_range == (name == "integral") and call.inside[0].kind not in ("equation", "keyword"))
    if not (is_one_body and is_right_form):
        raise ArgumentError(f"{name} takes what it binds, and one expression", hint=f"write it as {DEFINING[name]}")
    starts = list(values[0]) if form == "equation" else values
    tensors = [machine.tensors.as_tensor(start) for start in starts]
    body = Body(machine, _shapes(call, tensors, is_range), _residuals(call.inside[0]))
    _check_counts(name, call, body)
    operation: Equation | Integral
    if name == "integral":
        operation = Integral(body.unknowns[0], body.parameters, body.results[0])
        elements = tensors
    else:
        operation = Equation(name, body.unknowns, body.parameters, body.results, is_range, (node, body.sources))
        elements = [element.detach() for tensor in tensors for element in elements_of(tensor)]
    parts = [function(*elements, *body.arguments) for function in operation.functions]
    result = parts[0]
    if all(type(part) is Tensor for part in parts):  # and not a tracer, or another tensor without numbers
        _check_solved(operation, [*elements, *body.arguments], result)
        if isinstance(operation, Integral) and machine.tensors.listing:
            record = {"expression": machine.tensors.text(node.span), "span": list(node.span), "value": result._data}
            machine.tensors.integrals.append({**record, "error": operation.errors()})
    if form == "equation" or len(parts) > 1:
        result = FUNCTIONS["stack"].function(parts)
    if form == "keyword" and len(parts) > 1:
        result = FUNCTIONS["reshape"].function(result, list(tensors[0].shape))
    result = machine.list_result(result, node)
    machine.tensors.trace(None, body.arguments, {}, result, node)
    return result


def _shapes(call: Binding, tensors: list[Tensor], is_range: bool) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the bound names, which are those of their starts."""
    if is_range:
        return {call.names[0]: ()}
    if len(call.names) != len(tensors):
        raise ShapeError(f"{plural(len(call.names), 'unknown')} for {plural(len(tensors), 'start')}", span=call.outside[0].span)
    return {name: tensor.shape for name, tensor in zip(call.names, tensors, strict=True)}


def _residuals(inside: Syntax) -> list[Syntax]:
    """Return the expressions that are to be 0."""
    trees = inside.children if inside.kind == "list" else [inside]
    return [Syntax("sub", tree.children, "", tree.span) if tree.kind == "equation" else tree for tree in trees]


def _check_counts(name: str, call: Binding, body: Body) -> None:
    """Raise an error unless there are as many equations as unknowns, or one objective, and not too many unknowns."""
    count, expected = len(body.results), len(body.unknowns) if name == "root" else 1
    if count != expected:
        difference = f"{plural(count, 'equation')} in {plural(len(body.unknowns), 'unknown')}"
        if name != "root":
            difference = f"the expression has {plural(count, 'value')}, but {name} takes one number"
        raise ShapeError(difference, span=call.inside[0].span, hint=f"write it as {DEFINING[name]}")
    if len(body.unknowns) > MOST_UNKNOWNS:
        raise LimitError(f"{name} has {len(body.unknowns)} unknowns, more than the limit of {MOST_UNKNOWNS}")


def _check_solved(operation: Equation | Integral, arguments: list[Any], result: Tensor) -> None:
    """Raise the error of the first element without a value; nan among its arguments gives nan."""
    failed = np.flatnonzero(np.isnan(result._data))
    if len(failed):
        cells = np.array([np.ravel(array)[failed[0]] for array in np.broadcast_arrays(*(a._data for a in arguments))])
        if not np.isnan(cells).any():
            operation.alone(cells)
            raise NoValue(f"no value of {operation.name} is proven", hint="write another start, or other limits")
