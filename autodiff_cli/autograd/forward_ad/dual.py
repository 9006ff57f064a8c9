"""Dual tensors: a primal and a tangent, the state of forward mode.

A dual tensor is computed inside a ``Level``, one application of forward mode.  A function of dual tensors calls ``applied``,
which computes the primal with the ordinary function, so that reverse mode records it, and the tangent with the rules in
``rules``.  After the end of its level, a dual tensor acts as an ordinary tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.forward_ad.level import Level, is_forward_enabled
from autodiff_cli.autograd.forward_ad.reverse import gradients
from autodiff_cli.autograd.forward_ad.rules import RULES, Rule, rules_of, several_tangents, zeros_of
from autodiff_cli.autograd.memory import view_of
from autodiff_cli.autograd.modes import is_recording
from autodiff_cli.autograd.primitives.multi_output import MultiOutput
from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.autograd.primitives.structural import reshaped
from autodiff_cli.autograd.printing import tensor_repr
from autodiff_cli.autograd.tensor import Tensor, shared_array, tensor_on

_new = object.__new__


class Dual(Tensor):
    """A tensor with a tangent.

    The values and the history of the primal are those of the object itself, so that an in-place change can turn an ordinary
    tensor into a dual tensor.
    """

    __slots__ = ()

    @property
    def _level(self) -> int:  # type: ignore[override]
        number: int = self._forward[1].number
        return number

    def applied(self, primitive: Primitive, args: Sequence[Any]) -> Any:
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
        tangent = _split(composed(*args), level)[1] if rules.tangent is None else rules.tangent(out, primals, tangents)
        if tangent is None:
            return out
        made = attach(out, tangent if tangent is not tangents[0] else tangent + 0.0, level)
        if out._extra is not None and out._extra.view is not None:
            _join_views(made, self, primals[0])
        return made

    def applied_several(self, operation: MultiOutput, args: Sequence[Any]) -> Sequence[Any]:
        """Return the results of an operation with several results."""
        level = self._forward[1]
        primal, tangent = _split(self, level)
        primals = [primal, *args[1:]]
        outs = operation.function(*primals)
        if tangent is None or not is_forward_enabled():
            return list(outs)
        made = []
        for out, part in zip(outs, several_tangents(operation, outs, primals, tangent), strict=True):
            made.append(out if part is None else attach(out, part, level))
            if out._extra is not None and out._extra.view is not None:
                _join_views(made[-1], self, primal)
        return made

    def differentiated(
        self, outputs: Sequence[Any], inputs: Sequence[Any], grad_outputs: Any, *options: Any
    ) -> list[Tensor | None]:
        """Return the gradients of outputs, as ``reverse_mode.grad`` does, if one of its arguments is a dual tensor."""
        level = self._forward[1]
        several = isinstance(grad_outputs, (list, tuple))
        found = gradients(
            [_split(y, level) for y in outputs],
            [_split(x, level)[0] for x in inputs],
            [_split(v, level) for v in (grad_outputs if several else [grad_outputs] * len(outputs))],
            *options,
        )
        return [primal if tangent is None else dual(primal, tangent, level) for primal, tangent in found]

    def changed(self, compute: Callable[[Tensor], Tensor], change: Callable[..., Tensor]) -> Tensor:
        """Change this tensor in place, see ``ops.inplace.change``."""
        ordinary = settled(self)
        return _change_dual(self, compute, change) if isinstance(ordinary, Dual) else change(ordinary, compute)

    def written_to(self, tensor: Tensor, change: Callable[..., Tensor]) -> Tensor:
        """Write this tensor, the result of an in-place operation on an ordinary tensor, into the ordinary tensor."""
        ordinary = settled(self)
        return _change_by_dual(tensor, self, change) if isinstance(ordinary, Dual) else change(tensor, lambda old: ordinary)

    def detach(self) -> Tensor:
        return stripped(self).detach()

    def __repr__(self) -> str:
        tangent, level, _ = self._forward
        return tensor_repr(self, f"tangent={tangent}") if level.is_open else tensor_repr(self)


class Nested(Dual):
    """A dual tensor whose primal is an instance of a transformation with a lower level."""

    __slots__ = ()

    @property
    def shape(self) -> Any:
        return primal_of(self).shape

    def __repr__(self) -> str:
        return repr(primal_of(self))


def _delegated(name: str) -> property:
    return property(lambda self: getattr(self._forward[2], name), lambda self, value: setattr(self._forward[2], name, value))


for _name in ("_data", "_edge", "_extra", "_requires_grad"):
    setattr(Nested, _name, _delegated(_name))


def _unpacked(primitive: Primitive, args: Sequence[Any], level: Level) -> tuple[list[Any], list[Any], bool]:
    """Return the primals and the tangents of arguments, and whether a differentiable argument has a tangent."""
    if primitive.of_sequence:
        pairs = [_split(arg, level) for arg in args[0]]
        tangents: list[Any] = [tangent for _, tangent in pairs]
        return [[primal for primal, _ in pairs], *args[1:]], [tangents], any(tangent is not None for tangent in tangents)
    primals, tangents = list(args), [None] * len(args)
    for i in range(primitive.arity):
        primals[i], tangents[i] = _split(args[i], level)
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


def attach(primal: Tensor, tangent: Tensor, level: Level) -> Tensor:
    """Return the dual tensor of a primal and a tangent; a primal that is an ordinary tensor becomes the dual tensor."""
    if type(primal) is Tensor:
        primal.__class__ = Dual
        primal._forward = (tangent, level, None)
        return primal
    made = _new(Nested)
    made._forward = (tangent, level, primal)
    return made


def view(tensor: Tensor) -> Tensor:
    """Return a view of all elements of a tensor."""
    if type(tensor) is not Tensor or tensor._requires_grad:
        return reshaped(tensor, tuple(tensor.shape))  # type: ignore[no-any-return]
    made = tensor_on(shared_array(tensor)[...])
    return view_of(made, tensor, reshaped, (made._data.shape,))


def dual(primal: Tensor, tangent: Tensor, level: Level) -> Tensor:
    """Return a dual tensor, without a change of ``primal``."""
    return attach(alias(primal) if type(primal) is Tensor else primal, tangent, level)


def split(tensor: Any, level: Level) -> tuple[Any, Tensor | None]:
    """Return the primal and the tangent of a tensor at a level; the tangent of any other value is ``None``."""
    primal, tangent = _split(tensor, level)
    return primal, tangent if is_forward_enabled() else None


def _split(tensor: Any, level: Level) -> tuple[Any, Tensor | None]:
    if not isinstance(tensor, Dual):
        return tensor, None
    tangent, own, under = tensor._forward
    if own is not level:
        return (tensor, None) if own.is_open else _split(settled(tensor), level)
    if not level.is_open:
        return _split(settled(tensor), level)
    return (alias(tensor) if under is None else under), tangent


def settled(tensor: Any) -> Any:
    """Return a dual tensor of a level that has ended as an ordinary tensor."""
    while isinstance(tensor, Dual) and not tensor._forward[1].is_open:
        under = tensor._forward[2]
        if under is None:
            tensor.__class__ = Tensor  # type: ignore[assignment]
            del tensor._forward
        else:
            tensor = under
    return tensor


def primal_of(tensor: Dual) -> Tensor:
    """Return the primal of a dual tensor."""
    under = tensor._forward[2]
    return alias(tensor) if under is None else under


def stripped(tensor: Tensor) -> Tensor:
    """Return a tensor without the tangents of all levels."""
    while isinstance(tensor, Dual):
        tensor = primal_of(tensor)
    return tensor


def alias(tensor: Tensor) -> Tensor:
    """Return an ordinary tensor with the same values, history and rarely used state."""
    if tensor._edge is None and tensor._requires_grad:
        tensor.extra()  # the gradient of a leaf is stored here
    made = _new(Tensor)
    made._data = tensor._data
    made._requires_grad = tensor._requires_grad
    made._edge = tensor._edge
    made._extra = tensor._extra
    return made


def _join_views(made: Tensor, tensor: Tensor, primal: Tensor) -> None:
    """Register a view of the primal of a dual tensor as a view of the dual tensor.

    Args:
        made: the view.
        tensor: the dual tensor.
        primal: its alias, of which the view was taken.
    """
    extra = made._extra
    if extra is None or extra.view is None:
        return
    tensor._data, tensor._extra = primal._data, primal._extra
    if extra.view.source is primal:
        extra.view.source = tensor
    if extra.base is primal:
        extra.base = tensor


# In-place changes.  The tangent of a view is the same view of the tangent of its source, so a change of the tangent of one view is
# visible in all of them.

Change = Callable[[Tensor, Callable[[Tensor], Tensor]], Tensor]
"""The function ``ops.inplace.change``."""


def _change_dual(tensor: Dual, compute: Callable[[Tensor], Tensor], change: Change) -> Tensor:
    """Change the primal and the tangent of a dual tensor in place."""
    tangent, level, under = tensor._forward
    primal = primal_of(tensor)
    new: list[Tensor | None] = []

    def compute_primal(old: Tensor) -> Tensor:
        result, moved = split(compute(attach(old, _copy(tangent), level)), level)
        new.append(moved)
        return result  # type: ignore[no-any-return]

    change(primal, compute_primal)
    if under is None:
        for name in ("_data", "_edge", "_extra", "_requires_grad"):
            setattr(tensor, name, getattr(primal, name))
    _put(tensor, zeros_of(tensor) if new[0] is None else new[0], level, change)
    return tensor


def _change_by_dual(tensor: Tensor, result: Dual, change: Change) -> Tensor:
    """Write a dual tensor into a tensor that does not have a tangent."""
    level = result._forward[1]
    primal, tangent = split(result, level)
    change(tensor, lambda old: primal)
    if tangent is not None:
        _put(tensor, tangent, level, change)
    return tensor


def _put(tensor: Tensor, tangent: Tensor, level: Level, change: Change) -> None:
    """Write a tangent into a tensor, with the type of the tensor."""
    before = split(tensor, level)[1]
    view = None if tensor._extra is None else tensor._extra.view
    if before is None and view is not None:
        _set(view.source, zeros_of(view.source), level)
        before = split(tensor, level)[1]
    if before is not None and (type(before) is not Tensor or _is_writable(before._data)):
        change(before, lambda old: tangent)
    else:
        _set(tensor, _copy(tangent), level)


def _is_writable(data: Any) -> bool:
    return not isinstance(data, np.ndarray) or bool(data.flags.writeable)


def _set(tensor: Tensor, tangent: Tensor, level: Level) -> None:
    """Give a tensor a tangent, and its views without a tangent the views of this tangent."""
    if isinstance(tensor, Dual) and tensor._forward[1] is level:
        tensor._forward = (tangent, level, tensor._forward[2])
    elif isinstance(tensor, Dual):
        _, lower, under = tensor._forward
        inner = attach(alias(tensor), tensor._forward[0], lower) if under is None else under
        tensor.__class__ = Nested
        tensor._forward = (tangent, level, inner)
    else:
        attach(tensor, tangent, level)
    extra = tensor._extra
    for reference in (extra.views if extra is not None and extra.views is not None else ())[:]:
        view = reference()
        if view is not None and view._extra is not None and view._extra.view is not None and split(view, level)[1] is None:
            _set(view, view._extra.view.of(tangent), level)


def _copy(tangent: Tensor) -> Tensor:
    """Return a tangent in memory of its own, with its history."""
    if type(tangent) is not Tensor or tangent._requires_grad:
        return tangent + 0.0
    return tensor_on(np.array(tangent._data)[()])
