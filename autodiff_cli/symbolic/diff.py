"""``diff``: the derivatives of an expression as expressions, or the differences of a tensor, as in PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from autodiff_cli.lazy import named
from autodiff_cli.ops import arrange

if TYPE_CHECKING:
    from autodiff_cli.autograd.primitives.argument_kinds import Argument
    from autodiff_cli.autograd.tensor import Tensor
    from autodiff_cli.evaluation.evaluation import Value
    from autodiff_cli.symbolic.differentiate import Derivatives
    from autodiff_cli.symbolic.matrices.arrays import Length


@overload
def diff(
    expression: str,
    /,
    at: Mapping[str, Value] | None = None,
    const: Mapping[str, Value] | None = None,
    order: int = 1,
    wrt: Sequence[str] | None = None,
    *,
    simplify: bool = False,
    stable: bool = False,
    shape: Mapping[str, str | Sequence[Length]] | None = None,
    symmetric: Sequence[str] = (),
    steps: bool = False,
) -> Derivatives: ...
@overload
def diff(x: Tensor, n: int = 1, dim: int = -1) -> Tensor: ...


def diff(*args: Argument, **kwargs: Argument) -> Any:
    """Return the derivatives of an expression as expressions, or the differences of neighbouring elements of a tensor.

    Args:
        args, kwargs: an expression and the options of ``symbolic.differentiate``; or a tensor, ``n`` and ``dim``, as in PyTorch.
    """
    if "expression" in kwargs or isinstance(args[0] if args else None, str):
        return named("autodiff_cli.symbolic.differentiate:diff")(*args, **kwargs)
    return arrange.diff(*args, **kwargs)
