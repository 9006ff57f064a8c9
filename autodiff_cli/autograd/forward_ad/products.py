"""Products of a Jacobian with a vector, by forward mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autodiff_cli.autograd.forward_ad.dual import dual, split
from autodiff_cli.autograd.forward_ad.level import Level
from autodiff_cli.autograd.forward_ad.rules import zeros_of
from autodiff_cli.autograd.tensor import Tensor


def jvp_of(function: Callable[..., Any], inputs: Sequence[Tensor], tangents: Sequence[Tensor]) -> tuple[Any, Any]:
    """Return the result of a function, and the product of its Jacobian with a vector.

    Both are recorded as functions of ``inputs`` and ``tangents``, if these require grad.

    Args:
        function: the function, which takes the inputs and returns a tensor or a sequence of tensors.
        inputs: the point.
        tangents: the vector, with the shapes of the inputs.

    Returns:
        The result and the product, which has the structure of the result; it is zero for an output that is constant.
    """
    with Level() as level:
        result = function(*[dual(x, t, level) for x, t in zip(inputs, tangents, strict=True)])
        if isinstance(result, Tensor):
            return _moved(*split(result, level))
        pairs = [_moved(*split(each, level)) for each in result]
        return tuple(primal for primal, _ in pairs), tuple(tangent for _, tangent in pairs)


def _moved(primal: Any, tangent: Tensor | None) -> tuple[Any, Any]:
    return primal, zeros_of(primal) if tangent is None and isinstance(primal, Tensor) else tangent
