"""PyTorch's interface to forward mode: dual levels, and functions that make and unpack dual tensors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from autodiff_cli.autograd.forward_ad.custom import check_size
from autodiff_cli.autograd.forward_ad.dual import Level, dual, split, view
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, DtypeError, GraphError, type_name

_open: list[Level] = []
"""The current level; PyTorch supports only one."""


def make_dual(tensor: Tensor, tangent: Tensor) -> Tensor:
    """Return a dual tensor: a view of ``tensor`` with a tangent.

    Args:
        tensor: the primal.
        tangent: the tangent, with the shape of the primal.

    Raises:
        GraphError: if no level was entered, or if one of the tensors is already a dual tensor.
        DtypeError, ArgumentError: if a value is not a tensor, or its elements are not floating-point numbers.
        ShapeError: if the shapes differ.
    """
    if not _open:
        raise GraphError(
            "Trying to create a dual Tensor for forward AD but no level exists.",
            hint="write 'with dual_level():' around the computation",
        )
    for what, value in (("primal", tensor), ("tangent", tangent)):
        if not isinstance(value, Tensor):
            raise DtypeError(f"make_dual expects a Tensor as the {what}, not {type_name(value)}")
        if not value.is_floating_point():
            raise ArgumentError(f"Expected {what} to be floating point or complex, but got: {value.dtype}")
    current = _open[0]
    _, tangent_of_primal = split(tensor, current)
    if tangent_of_primal is not None:
        raise GraphError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported."
        )
    _, tangent_of_tangent = split(tangent, current)
    if tangent_of_tangent is not None:
        raise GraphError("Setting a forward grad that itself has a forward gradient at the same level0 is not supported.")
    check_size(tensor, tangent)
    return dual(view(tensor), tangent, current)


class UnpackedDualTensor(NamedTuple):
    """The parts of a dual tensor: a view of its primal, and its tangent, ``None`` if it does not have a tangent."""

    primal: Tensor
    tangent: Tensor | None


def unpack_dual(tensor: Tensor) -> UnpackedDualTensor:
    """Return the primal and the tangent of a tensor at the current level.

    Args:
        tensor: a dual tensor; the tangent of an ordinary tensor, and of any tensor outside of a level, is ``None``.
    """
    if not isinstance(tensor, Tensor):
        raise DtypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type_name(tensor)}")
    if not _open:
        return UnpackedDualTensor(tensor, None)
    primal, tangent = split(tensor, _open[0])
    return UnpackedDualTensor(view(primal), tangent)


@contextmanager
def dual_level() -> Iterator[int]:
    """Return a context manager, which is also a decorator, for computations with dual tensors; its value is the level, 0.

    Raises:
        GraphError: if the block is inside another such block.
    """
    if _open:
        raise GraphError("Nested forward mode AD is not supported at the moment", hint="use func.jvp for nested forward mode")
    with Level() as level:
        _open.append(level)
        try:
            yield 0
        finally:
            _open.clear()
