"""Tangents of primitives, derived from their declarations.

A primitive does not have a second rule for forward mode.  Depending on its declaration, its tangent is

- for a linear operation, the operation applied to the tangents;
- for a bilinear operation, a sum of two products, each with one tangent in place of its argument;
- for an elementwise operation, the VJP rule applied to the tangent, because its Jacobian is diagonal;
- for a reduction along dimensions, the sum of the tangent times the VJP rule of ones, because an element belongs to one result;
- for a function composed of other operations in Taylor mode, the tangent of these operations (see ``dual``);
- for any other operation, the transpose of the VJP rule: the rule is linear in the cotangent, so its own backward pass, started
  from the tangents, gives the product with the Jacobian.

All rules are functions ``tangent(out, primals, tangents)``.  They call public functions, which accept arrays and tensors: for
arrays, a tangent is computed without any overhead; for tensors, it is recorded if reverse mode is active, and the primals may be
instances of a transformation with a lower level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from autodiff_cli.autograd.jacobians import gradients_of
from autodiff_cli.autograd.modes import enable_grad, is_recording
from autodiff_cli.autograd.primitives.multi_output import MultiOutput
from autodiff_cli.autograd.primitives.primitive import Primitive, VjpRule, argument_names
from autodiff_cli.autograd.primitives.structural import cast, expanded, kept_shape, reshaped, sum_to, where, zeros_of
from autodiff_cli.autograd.primitives.types import Value, array_of
from autodiff_cli.autograd.tensor import Tensor, tensor_on

Primals = Sequence[Any]
"""The arguments of a call, with each dual tensor replaced by its primal."""
Tangents = Sequence[Any]
"""The tangent of each argument; ``None`` for a constant.  For an operation on a sequence, the first entry is a list."""
Rule = Callable[[Value, Primals, Tangents], Any]
"""A function that returns the tangent of the result, or ``None`` if the result does not have a tangent."""


@cache
def rule_on_arrays(primitive: Primitive) -> Rule | None:
    """Return the rule of a primitive if it may be called with arrays: not of a view, whose tangent is a view, or a sequence."""
    plain = not primitive.view and not primitive.of_sequence and primitive.series != "fixed"
    one_or_all = len(primitive.differentiable_args) in (1, primitive.arity)  # not ``where``: its condition has another type
    return rule_of(primitive) if plain and one_or_all else None


@cache
def rule_of(primitive: Primitive) -> Rule | None:
    """Return the rule that follows from a declaration, see the top of this module; ``None`` for a composition."""
    if primitive.series == "fixed":
        return _zero_tangent if primitive.differentiable_args else lambda out, primals, tangents: None
    if primitive.of_sequence:
        return _sequence_rule(primitive)
    if primitive.series == "linear":
        return _linear_rule(primitive)
    if primitive.series == "bilinear":
        return _bilinear_rule(primitive)
    if primitive.elementwise:
        return _diagonal_rule(primitive)
    if callable(primitive.series):
        return None
    if {"dim", "keepdim"}.issubset(primitive.parameters):
        return _reduction_rule(primitive)
    return partial(_transposed_tangent, _vjps(primitive))


def _zero_tangent(out: Value, primals: Primals, tangents: Tangents) -> Any:
    """Return the tangent of a function that is constant around any point; ``None`` for whole numbers and booleans."""
    return zeros_of(out) if array_of(out).dtype.kind == "f" else None


def _linear_rule(primitive: Primitive) -> Rule:
    """Return the rule that applies the operation to the tangents, 0 for a constant among the differentiable arguments."""
    function, differentiable = primitive.function, primitive.differentiable_args

    def rule(out: Value, primals: Primals, tangents: Tangents) -> Any:
        args = list(primals)
        for i in differentiable:
            args[i] = 0.0 if tangents[i] is None else tangents[i]
        return fitted(function(*args), out)

    return rule


def _sequence_rule(primitive: Primitive) -> Rule:
    """Return the rule that applies the operation to the tangents of a sequence, with zeros for constants."""

    def rule(out: Value, primals: Primals, tangents: Tangents) -> Any:
        dtype = array_of(out).dtype
        parts = [np.zeros(np.shape(array_of(x)), dtype) if t is None else t for x, t in zip(primals[0], tangents[0], strict=True)]
        return fitted(primitive.function(parts, *primals[1:]), out)

    return rule


def _bilinear_rule(primitive: Primitive) -> Rule:
    """Return the rule that adds the products with one factor replaced by its tangent; at least one factor is not constant."""
    function = primitive.function

    def rule(out: Value, primals: Primals, tangents: Tangents) -> Any:
        x, y, *statics = primals
        total: Any = None if tangents[0] is None else function(tangents[0], y, *statics)
        if tangents[1] is not None:
            other = function(x, tangents[1], *statics)
            total = other if total is None else total + other
        return fitted(total, out)

    return rule


def _diagonal_rule(primitive: Primitive) -> Rule:
    """Return the rule that applies the VJP rule to the tangent, because the Jacobian is diagonal."""
    vjps, selects = _vjps(primitive), primitive.selects

    def rule(out: Value, primals: Primals, tangents: Tangents) -> Any:
        """Return the sum of the VJP rules, each applied to the tangent of its argument, expanded to the shape of the result."""
        arguments = (*primals, out)
        total: Any = None
        for i, vjp, picks in vjps:
            tangent = tangents[i]
            if tangent is None:
                continue
            if tangent.shape != out.shape:
                tangent = expanded(tangent, tuple(out.shape))
            values = _picked(picks, arguments)
            part = vjp(tangent, *values)
            if primitive.parameters[i] in selects and not _is_finite(part):
                # The tangent of an element that is not selected, where the rule for ones gives 0, is 0, and not 0*inf.
                part = where(vjp(zeros_of(out) + 1, *values) == 0, 0.0, part)
            total = part if total is None else total + part
        return fitted(total, out)

    return rule


def _reduction_rule(primitive: Primitive) -> Rule:
    """Return the rule that sums the tangent times the slopes (the VJP rule of ones) of the only differentiable argument."""
    ((_, vjp, picks),) = _vjps(primitive)
    dim_position = primitive.parameters.index("dim")

    def rule(out: Value, primals: Primals, tangents: Tangents) -> Any:
        slopes = vjp(zeros_of(out) + 1, *_picked(picks, (*primals, out)))
        total = sum_to(slopes * tangents[0], kept_shape(tuple(primals[0].shape), primals[dim_position]))
        return fitted(reshaped(total, tuple(out.shape)), out)

    return rule


def _transposed_tangent(vjps: Sequence[PickedVjp], out: Value, primals: Primals, tangents: Tangents) -> Any:
    """Return the tangent of a result from the transposed VJP rules of the arguments that have a tangent."""
    arguments = (*primals, out)

    def pairs(cotangents: list[Tensor | None]) -> list[tuple[Any, Any]]:
        """Return the cotangent of each argument, as a function of the cotangent of the result, and its tangent."""
        variable = [(tangents[i], vjp, picks) for i, vjp, picks in vjps if tangents[i] is not None]
        return [(vjp(cotangents[0], *_picked(picks, arguments)), tangent) for tangent, vjp, picks in variable]

    (tangent,) = transposed([out], pairs)
    return tangent


def several_tangents(operation: MultiOutput, outs: Sequence[Tensor], primals: Primals, tangent: Tensor) -> list[Tensor | None]:
    """Return the tangents of results of one tensor, views of its tangent or by the transposed VJP rule; ``None`` for constants."""
    if operation.view is not None:
        return [operation.view(tangent, i, *primals[1:]) for i in range(len(outs))]
    results = dict(zip(operation.results, outs, strict=True))
    # What the VJP rule may name.
    values = dict(zip(operation.parameters, primals, strict=True)) | {"x_shape": primals[0].shape} | results

    def pairs(cotangents: list[Tensor | None]) -> list[tuple[Any, Tensor]]:
        return [(operation.vjp(cotangents, *[values[name] for name in operation.vjp_arguments]), tangent)]

    differentiable = [out if out.is_floating_point() and name not in operation.constant else None for name, out in results.items()]
    return transposed(differentiable, pairs)


def transposed(outs: Sequence[Value | None], pairs: Callable[[list[Tensor | None]], Sequence[tuple[Any, Value]]]) -> list[Any]:
    """Return the tangents of results by the backward pass of the VJP rule, which is linear in the cotangents.

    Args:
        outs: the results, with ``None`` for a result that is not differentiable.
        pairs: a function that takes cotangents of the results; it returns pairs of the cotangent and the tangent of an argument.
    """
    recorded = bool(is_recording())
    with enable_grad():
        cotangents = [None if out is None else as_tensor(zeros_of(out)).requires_grad_() for out in outs]
        products = pairs(cotangents)
    leaves = [cotangent for cotangent in cotangents if cotangent is not None]
    live = [(part, t) for part, t in products if isinstance(part, Tensor) and part.requires_grad]  # depend on the cotangents
    starts = [as_tensor(fitted(t, part)) for part, t in live]
    slopes = iter(gradients_of([part for part, _ in live], leaves, starts, create_graph=recorded))  # one for each leaf
    return [None if out is None else _tangent_from(next(slopes), out) for out in outs]


def _tangent_from(slope: Tensor | None, out: Value) -> Any:
    """Return the tangent of a result as a tensor or an array, as the result is; 0 without a slope."""
    if slope is None:
        return zeros_of(out)
    return fitted(slope if isinstance(out, Tensor) else slope._data, out)


Pick = int | Callable[[Sequence[Any]], Any]
"""The position of a value of a VJP rule among the arguments and the result, or a function that computes it from these."""
PickedVjp = tuple[int, VjpRule, list[Pick]]
"""The position of a differentiable argument, its VJP rule, and the values that the rule needs after the cotangent."""


def _vjps(primitive: Primitive) -> list[PickedVjp]:
    """Return the VJP rules of a primitive, one for each differentiable argument."""
    rules = []
    for i in primitive.differentiable_args:
        vjp = primitive.vjps[primitive.parameters[i]]
        assert vjp is not None
        rules.append((i, vjp, [_pick(primitive, name) for name in argument_names(vjp)[1:]]))
    return rules


def _picked(picks: Sequence[Pick], arguments: Sequence[Any]) -> list[Any]:
    """Return the values of a VJP rule from the arguments and the result of a call."""
    return [pick(arguments) if callable(pick) else arguments[pick] for pick in picks]


def _pick(primitive: Primitive, name: str) -> Pick:
    """Return where the value that a VJP rule calls ``name`` comes from; the result follows the arguments, at -1."""
    if name == "out":
        return -1
    if name not in primitive.parameters:
        at = primitive.parameters.index(name.removesuffix("_shape"))
        return lambda arguments: np.shape(array_of(arguments[at]))
    at = primitive.parameters.index(name)
    may_be_boolean = at in primitive.differentiable_args and primitive.arity > 1  # such as x > 0 in (x > 0)*y
    return (lambda arguments: _number(arguments[at])) if may_be_boolean else at


def _number(value: Any) -> Any:
    """Return a value with booleans converted to integers, because VJP rules compute with numbers."""
    data = array_of(value)
    if getattr(data, "dtype", None) == np.bool_:
        return tensor_on(data.astype(np.int64)) if isinstance(value, Tensor) else data.astype(np.int64)
    return value


def _is_finite(value: Value) -> bool:
    """Return whether all elements are known to be finite; those of a tracer or a batched tensor are not."""
    if isinstance(value, Tensor):
        return type(value) is Tensor and bool(np.isfinite(value._data).all())
    return bool(np.isfinite(value).all())


def as_tensor(value: Any) -> Tensor:
    """Return a value as a tensor; a tensor is returned unchanged."""
    return value if isinstance(value, Tensor) else tensor_on(np.asarray(value)[()])


def fitted(tangent: Any, out: Value) -> Any:
    """Return a tangent in the shape of ``out``, expanded or summed to it, and in its type; for a tensor, it is a tensor."""
    if isinstance(out, Tensor):
        wanted = out._data
        tangent = as_tensor(tangent)
        actual = tangent._data
    else:
        wanted, actual = out, tangent
    if actual.dtype is not wanted.dtype and actual.dtype != wanted.dtype:  # ``is`` first: it is faster
        tangent = cast(tangent, wanted.dtype)
    if actual.shape != wanted.shape:
        shape = tuple(wanted.shape)
        tangent = expanded(tangent, shape) if math.prod(actual.shape) <= math.prod(shape) else sum_to(tangent, shape)
    return tangent
