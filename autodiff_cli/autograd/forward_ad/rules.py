"""Tangents of primitives, derived from their declarations.

A primitive does not have a second rule for forward mode.  Depending on its declaration, its tangent is

- for a linear operation, the operation applied to the tangents;
- for a bilinear operation, a sum of two products, each with one tangent in place of its argument;
- for an elementwise operation, the VJP rule applied to the tangent, because its Jacobian is diagonal;
- for a reduction, the sum of the tangent weighted with the VJP rule of a cotangent of ones;
- for any other operation, the transpose of the VJP rule: the rule is linear in the cotangent, so its own backward pass, started
  from the tangents, gives the product with the Jacobian.

All rules are functions ``tangent(out, primals, tangents)``, which call public functions.  Therefore a tangent is recorded if
reverse mode is active, and the primals may be instances of a transformation with a lower level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.modes import enable_grad, is_recording
from autodiff_cli.autograd.primitives.multi_output import MultiOutput
from autodiff_cli.autograd.primitives.primitive import Primitive, VjpRule, argument_names
from autodiff_cli.autograd.primitives.structural import cast, dimension, expanded, reshaped, sum_to, where
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor, tensor_on

Primals = Sequence[Any]
"""The arguments of a call, with each dual tensor replaced by its primal."""
Tangents = Sequence[Any]
"""The tangent of each argument; ``None`` for a constant.  For an operation on a sequence, the first entry is a list."""
Rule = Callable[[Tensor, Primals, Tangents], "Tensor | None"]
"""A function that returns the tangent of the result, or ``None`` if the result does not have a tangent."""
Values = Callable[[str], Any]
"""A function that returns the value of a parameter of a VJP rule."""

_RULES: dict[Primitive, Rule] = {}


def rule_of(primitive: Primitive) -> Rule:
    """Return the forward-mode rule of a primitive, derived on first use."""
    found = _RULES.get(primitive)
    if found is None:
        found = _RULES[primitive] = _derived(primitive)
    return found


def _derived(primitive: Primitive) -> Rule:
    if primitive.series == "fixed":
        return _zero if primitive.differentiable_args else _none
    if primitive.of_sequence:
        return _joined(primitive)
    if primitive.series == "linear":
        return _linear(primitive)
    if primitive.series == "bilinear":
        return _bilinear(primitive)
    if primitive.elementwise:
        return _diagonal(primitive)
    if primitive.series == "total":
        return _total(primitive)
    if primitive.arity == 1 and {"dim", "keepdim"} <= set(primitive.parameters):
        return _reduction(primitive)
    return _transposed(primitive)


def _none(out: Tensor, primals: Primals, tangents: Tangents) -> Tensor | None:
    return None


def _zero(out: Tensor, primals: Primals, tangents: Tangents) -> Tensor | None:
    return zeros_of(out) if out.is_floating_point() else None


def _linear(primitive: Primitive) -> Rule:
    function, differentiable = primitive.function, primitive.differentiable_args
    if len(differentiable) == 1:
        (only,) = differentiable

        def of_one(out: Tensor, primals: Primals, tangents: Tangents) -> Tensor | None:
            return fitted(function(*primals[:only], tangents[only], *primals[only + 1 :]), out)

        return of_one

    def of_several(out: Tensor, primals: Primals, tangents: Tangents) -> Tensor | None:
        args = list(primals)
        for i in differentiable:
            args[i] = 0.0 if tangents[i] is None else tangents[i]
        return fitted(function(*args), out)

    return of_several


def _joined(primitive: Primitive) -> Rule:
    def rule(out: Tensor, primals: Primals, tangents: Tangents) -> Tensor | None:
        parts = [
            np.zeros(np.shape(getattr(x, "_data", x)), out._data.dtype) if t is None else t
            for x, t in zip(primals[0], tangents[0], strict=True)
        ]
        return fitted(primitive.function(parts, *primals[1:]), out)

    return rule


def _bilinear(primitive: Primitive) -> Rule:
    function = primitive.function

    def rule(out: Tensor, primals: Primals, tangents: Tangents) -> Tensor | None:
        x, y, *statics = primals
        found: Any = None if tangents[0] is None else function(tangents[0], y, *statics)
        if tangents[1] is not None:
            other = function(x, tangents[1], *statics)
            found = other if found is None else found + other
        return fitted(found, out)

    return rule


def _diagonal(primitive: Primitive) -> Rule:
    vjps = _vjps(primitive)
    selects = primitive.selects

    def rule(out: Tensor, primals: Primals, tangents: Tangents) -> Tensor | None:
        found: Any = None
        for i, vjp, picks in vjps:
            g = tangents[i]
            if g is None:
                continue
            if g._data.shape != out._data.shape:
                g = expanded(g, out.shape)
            values = [pick(primals, out) for pick in picks]
            part = vjp(g, *values)
            if selects and not _is_finite(part):
                part = where(vjp(ones_of(out), *values) == 0, 0.0, part)
            found = part if found is None else found + part
        return fitted(found, out)

    return rule


def _total(primitive: Primitive) -> Rule:
    vjps, diagonal = _vjps(primitive), _diagonal(primitive)

    def rule(out: Tensor, primals: Primals, tangents: Tangents) -> Tensor | None:
        if out.shape == np.broadcast_shapes(*(np.shape(array_of(x)) for x in primals[: primitive.arity])):
            return diagonal(out, primals, tangents)
        found: Any = None
        for i, vjp, picks in vjps:
            if tangents[i] is not None:
                weights = vjp(ones_of(out), *[pick(primals, out) for pick in picks])
                part = sum_to(weights * tangents[i], ())
                found = part if found is None else found + part
        return fitted(found, out)

    return rule


def _reduction(primitive: Primitive) -> Rule:
    """Return the rule of a reduction of ``x`` along ``dim``: each element of ``x`` contributes to one element of the result."""
    ((_, vjp, picks),) = _vjps(primitive)
    at = primitive.parameters.index("dim")
    selects = primitive.selects

    def rule(out: Tensor, primals: Primals, tangents: Tangents) -> Tensor | None:
        x, t, dims = primals[0], tangents[0], primals[at]
        weights = vjp(ones_of(out), *[pick(primals, out) for pick in picks])
        products = weights * t
        if selects and not _is_finite(products):
            products = where(weights == 0, 0.0, products)
        ndim = len(x.shape)
        reduced = range(ndim) if dims is None or dims == () else [dims] if isinstance(dims, int) else dims
        over = {dimension(d, ndim) for d in reduced} if ndim else set()
        kept = tuple(1 if d in over else n for d, n in enumerate(x.shape))
        return fitted(reshaped(sum_to(products, kept), tuple(out.shape)), out)

    return rule


def _transposed(primitive: Primitive) -> Rule:
    vjps = _vjps(primitive)

    def rule(out: Tensor, primals: Primals, tangents: Tangents) -> Tensor | None:
        chosen = [(vjp, picks, tangents[i]) for i, vjp, picks in vjps if tangents[i] is not None]
        return transposed(
            [out],
            lambda cotangents: [(vjp(cotangents[0], *[pick(primals, out) for pick in picks]), t) for vjp, picks, t in chosen],
        )[0]

    return rule


def several_tangents(operation: MultiOutput, outs: Sequence[Tensor], primals: Primals, tangent: Tensor) -> list[Tensor | None]:
    """Return the tangents of the results of an operation on one tensor with several results."""
    if operation.view is not None:
        return [operation.view(tangent, i, *primals[1:]) for i in range(len(outs))]
    results = dict(zip(operation.results, outs, strict=True))
    named = dict(zip(operation.parameters, primals, strict=True)) | {"x_shape": primals[0].shape} | results

    def pairs(cotangents: list[Tensor | None]) -> list[tuple[Any, Tensor]]:
        return [(operation.vjp(cotangents, *[named[name] for name in operation.wanted]), tangent)]

    differentiable = [out if out.is_floating_point() and name not in operation.constant else None for name, out in results.items()]
    return transposed(differentiable, pairs)


def transposed(
    outs: Sequence[Tensor | None], pairs: Callable[[list[Tensor | None]], list[tuple[Any, Tensor]]]
) -> list[Tensor | None]:
    """Return the tangents of results by the backward pass of the VJP rule, which is linear in the cotangents.

    Args:
        outs: the results, with ``None`` for a result that is not differentiable.
        pairs: a function that takes cotangents of the results; it returns pairs of the cotangent and the tangent of an argument.
    """
    recorded = bool(is_recording())
    with enable_grad():
        cotangents = [None if out is None else zeros_of(out).requires_grad_() for out in outs]
        found = pairs(cotangents)
    live = [(part, t) for part, t in found if isinstance(part, Tensor) and part.requires_grad]
    leaves = [c for c in cotangents if c is not None]
    if not live:
        return [None if out is None else zeros_of(out) for out in outs]
    swept = iter(
        grad(
            [part for part, _ in live],
            leaves,
            [fitted(t, part) for part, t in live],
            retain_graph=recorded,
            create_graph=recorded,
            allow_unused=True,
        )
    )
    tangents: list[Tensor | None] = []
    for out in outs:
        part = None if out is None else next(swept)
        tangents.append(None if out is None else zeros_of(out) if part is None else fitted(part, out))
    return tangents


Pick = Callable[[Primals, Tensor], Any]


def _vjps(primitive: Primitive) -> list[tuple[int, VjpRule, list[Pick]]]:
    """Return, for each differentiable argument, its position, its VJP rule and the functions that pick the values of the rule."""
    found = []
    for i in primitive.differentiable_args:
        vjp = primitive.vjps[primitive.parameters[i]]
        assert vjp is not None
        found.append((i, vjp, [_pick(primitive, name) for name in argument_names(vjp)[1:]]))
    return found


def _pick(primitive: Primitive, name: str) -> Pick:
    if name == "out":
        return lambda primals, out: out
    if name not in primitive.parameters:
        at = primitive.parameters.index(name.removesuffix("_shape"))
        return lambda primals, out: np.shape(array_of(primals[at]))
    at = primitive.parameters.index(name)
    if at in primitive.differentiable_args:
        return lambda primals, out: _number(primals[at])
    return lambda primals, out: primals[at]


def _number(value: Any) -> Any:
    """Return a value with booleans converted to integers, because VJP rules compute with numbers."""
    data = array_of(value)
    if getattr(data, "dtype", None) == np.bool_:
        return tensor_on(data.astype(np.int64)) if isinstance(value, Tensor) else data.astype(np.int64)
    return value


def _is_finite(tensor: Tensor) -> bool:
    """Return whether all elements are known to be finite."""
    return type(tensor) is Tensor and bool(np.isfinite(tensor._data).all())


def array_of(value: Any) -> Any:
    """Return the array of a tensor; return any other value unchanged."""
    return value._data if isinstance(value, Tensor) else value


def ones_of(out: Tensor) -> Tensor:
    """Return a tensor of ones with the shape and the type of ``out``."""
    return tensor_on(np.ones(out._data.shape, out._data.dtype)[()])


def zeros_of(out: Tensor) -> Tensor:
    """Return a tensor of zeros with the shape and the type of ``out``."""
    return tensor_on(np.zeros(out._data.shape, out._data.dtype)[()])


def fitted(tangent: Any, out: Tensor) -> Tensor:
    """Return a tangent with the shape and the type of ``out``."""
    if not isinstance(tangent, Tensor):
        tangent = tensor_on(np.asarray(tangent)[()])
    if tangent._data.dtype is not out._data.dtype:
        tangent = cast(tangent, out._data.dtype)
    if tangent._data.shape != out._data.shape:
        shape = tuple(out.shape)
        tangent = expanded(tangent, shape) if math.prod(tangent.shape) <= math.prod(shape) else sum_to(tangent, shape)
    fit: Tensor = tangent
    return fit
