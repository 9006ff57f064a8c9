"""Dual tensors: a primal and a tangent, the state of forward mode.

A dual tensor is computed inside a ``Level``, one application of forward mode.  A function of dual tensors calls ``applied``,
which computes the primal with the ordinary function, so that reverse mode records it, and the tangent with the rules in
``rules``.  After the end of its level, a dual tensor acts as an ordinary tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from autodiff_cli.autograd.forward_ad.level import Level
from autodiff_cli.autograd.memory import view_of
from autodiff_cli.autograd.primitives.structural import reshaped
from autodiff_cli.autograd.printing import tensor_repr
from autodiff_cli.autograd.tensor import Tensor, shared_array, tensor_on

if TYPE_CHECKING:
    from autodiff_cli.autograd.primitives.primitive import Primitive

_new = object.__new__


class Dual(Tensor):
    """A tensor with a tangent.

    The values and the history of the primal are those of the object itself, so that an in-place change can turn an ordinary
    tensor into a dual tensor.
    """

    __slots__ = ()

    if TYPE_CHECKING:  # installed by the modules operations and inplace

        def applied(self, primitive: Primitive, args: Sequence[Any]) -> Any: ...
        def changed(self, compute: Callable[[Tensor], Tensor], change: Callable[..., Tensor]) -> Tensor: ...

    @property
    def _level(self) -> int:  # type: ignore[override]
        number: int = self._forward[1].number
        return number

    def detach(self) -> Tensor:
        return stripped(self).detach()

    def detach_(self) -> Tensor:
        super().detach_()
        self.__class__ = Tensor  # type: ignore[assignment]
        del self._forward
        return self

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
    if not isinstance(tensor, Dual):
        return tensor, None
    tangent, own, under = tensor._forward
    if own is not level:
        return (tensor, None) if own.is_open else split(settled(tensor), level)
    if not level.is_open:
        return split(settled(tensor), level)
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
    made = _new(Tensor)
    made._data = tensor._data
    made._requires_grad = tensor._requires_grad
    made._edge = tensor._edge
    made._extra = tensor.extra()  # both count the same in-place changes, and have the same gradient
    return made


def take(tensor: Tensor, changed: Tensor) -> None:
    """Take over the values and the history of an alias that was changed in place.

    The history of a view is derived from its source.
    """
    tensor._data, tensor._extra = changed._data, changed._extra
    if changed._extra is None or changed._extra.view is None:
        tensor._edge, tensor._requires_grad = changed._edge, changed._requires_grad


def join_views(made: Tensor, tensor: Tensor, primal: Tensor) -> None:
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
