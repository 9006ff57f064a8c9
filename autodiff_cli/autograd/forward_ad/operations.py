"""Operations on dual tensors: primitives, operations with several results, custom functions and gradients.

The functions are installed as methods of ``Dual``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from autodiff_cli.autograd.forward_ad.custom import custom_tangents
from autodiff_cli.autograd.forward_ad.dual import Dual, attach, dual, join_views, settled, split, take
from autodiff_cli.autograd.forward_ad.level import Level, is_forward_enabled
from autodiff_cli.autograd.forward_ad.reverse import gradients
from autodiff_cli.autograd.forward_ad.rules import RULES, Rule, rules_of, several_tangents
from autodiff_cli.autograd.modes import is_recording
from autodiff_cli.autograd.primitives.multi_output import MultiOutput
from autodiff_cli.autograd.primitives.primitive import Primitive, outermost
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import GraphError

if TYPE_CHECKING:
    from autodiff_cli.autograd.function import Function

_new = object.__new__


def applied(self: Dual, primitive: Primitive, args: Sequence[Any]) -> Any:
    """Return the result of a primitive for arguments with at least one dual tensor of the level of this tensor."""
    level = self._forward[1]
    rules = RULES.get(primitive) or rules_of(primitive)
    if rules.on_arrays is not None and level.is_open:
        quick = _applied_to_arrays(rules.on_arrays, primitive, args, level)
        if quick is not None:
            return quick
    primals, tangents, active = _unpacked(primitive, args, level)
    out = primitive.function(*primals)
    if not active or not is_forward_enabled():
        return out
    composed: Any = primitive.series
    tangent = split(composed(*args), level)[1] if rules.tangent is None else rules.tangent(out, primals, tangents)
    if tangent is None:
        return out
    made = attach(out, tangent if tangent is not tangents[0] else tangent + 0.0, level)
    if out._extra is not None and out._extra.view is not None:
        join_views(made, self, primals[0])
    return made


def applied_several(self: Dual, operation: MultiOutput, args: Sequence[Any]) -> Sequence[Any]:
    """Return the results of an operation with several results."""
    level = self._forward[1]
    primal, tangent = split(self, level)
    primals = [primal, *args[1:]]
    outs = operation.function(*primals)
    if tangent is None or not is_forward_enabled():
        return list(outs)
    made: list[Any] = []
    for out, part in zip(outs, several_tangents(operation, outs, primals, tangent), strict=True):
        made.append(out if part is None else attach(out, part, level))
        if out._extra is not None and out._extra.view is not None:
            join_views(made[-1], self, primal)
    return made


def applied_custom(self: Dual, function: type[Function], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return the result of a custom function, whose ``jvp`` computes the tangents."""
    level = self._forward[1]
    if not level.is_open:
        return function.apply(*[settled(arg) for arg in args], **kwargs)
    pairs = [split(arg, level) for arg in args]
    primals = [primal for primal, _ in pairs]
    if outermost((primals,)) is not None:
        raise GraphError(
            f"{function.__name__}: a custom function cannot be differentiated by several nested transformations",
            hint="compose the function of other functions",
        )
    result, node = function.run(tuple(primals), dict(kwargs))
    if not is_forward_enabled():
        return result
    tangents = custom_tangents(function, node, primals, [tangent for _, tangent in pairs], result)
    several = isinstance(result, tuple)
    made: list[Any] = []
    for output, tangent in zip(result if several else (result,), tangents, strict=True):
        changed = next((arg for arg, primal in zip(args, primals, strict=True) if primal is output and arg is not output), None)
        if isinstance(changed, Dual):  # changed in place
            take(changed, output)
            changed._forward = (changed._forward[0] if tangent is None else tangent, level, None)
            made.append(changed)
        else:
            made.append(output if tangent is None else attach(output, tangent, level))
    return tuple(made) if several else made[0]


def differentiated(
    self: Dual, outputs: Sequence[Any], inputs: Sequence[Any], grad_outputs: Any, *options: Any
) -> list[Tensor | None]:
    """Return the gradients of outputs, as ``reverse_mode.grad`` does, if one of its arguments is a dual tensor."""
    level = self._forward[1]
    several = isinstance(grad_outputs, (list, tuple))
    found = gradients(
        [split(y, level) for y in outputs],
        [split(x, level)[0] for x in inputs],
        [split(v, level) for v in (grad_outputs if several else [grad_outputs] * len(outputs))],
        *options,
    )
    return [primal if tangent is None else dual(primal, tangent, level) for primal, tangent in found]


def _unpacked(primitive: Primitive, args: Sequence[Any], level: Level) -> tuple[list[Any], list[Any], bool]:
    """Return the primals and the tangents of arguments, and whether a differentiable argument has a tangent."""
    if primitive.of_sequence:
        pairs = [split(arg, level) for arg in args[0]]
        tangents: list[Any] = [tangent for _, tangent in pairs]
        return [[primal for primal, _ in pairs], *args[1:]], [tangents], any(tangent is not None for tangent in tangents)
    primals, tangents = list(args), [None] * len(args)
    for i in range(primitive.arity):
        primals[i], tangents[i] = split(args[i], level)
    return primals, tangents, any(tangents[i] is not None for i in primitive.differentiable_args)


def _applied_to_arrays(rule: Rule, primitive: Primitive, args: Sequence[Any], level: Level) -> Dual | None:
    """Return the result of a primitive if reverse mode and other transformations are not involved, otherwise ``None``.

    The result and its tangent are then computed with arrays.
    """
    values, tangents = list(args), [None] * len(args)
    dtype = moving = None
    for i in range(primitive.arity):
        arg = args[i]
        kind = type(arg)
        if kind is Dual:
            tangent, own, _ = arg._forward
            if (
                own is not level
                or type(tangent) is not Tensor
                or ((arg._requires_grad or tangent._requires_grad) and is_recording())
            ):
                return None
            moving = tangents[i] = tangent._data
        elif kind is not Tensor:
            if kind is not float and kind is not int:
                return None
            continue
        elif arg._requires_grad and is_recording():
            return None
        data = values[i] = arg._data
        if data.dtype is not dtype:
            if dtype is not None:
                return None
            dtype = data.dtype
    if moving is None or not is_forward_enabled():
        return None
    try:
        out = primitive.forward(*values)
    except Exception:  # the ordinary function raises the error that users see
        return None
    if out.dtype is not dtype:
        return None
    found: Any = rule(out, values, tangents)
    if found is moving and found.ndim:
        found = found.copy()
    made: Any = _new(Dual)
    made._data = out
    made._requires_grad = False
    made._edge = made._extra = None
    made._forward = (tensor_on(found), level, None)
    return made  # type: ignore[no-any-return]


for _method in (applied, applied_several, applied_custom, differentiated):
    setattr(Dual, _method.__name__, _method)
