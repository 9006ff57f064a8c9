"""Parameters: leaves that are marked as such."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import DtypeError
from autodiff_cli.ops.creation import empty


class _Parameters(type):
    """The type of ``Parameter``: a tensor is an instance if it is marked as a parameter."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance._extra is not None and instance._extra.is_parameter


class Parameter(metaclass=_Parameters):
    """A leaf that requires grad, as a parameter of a model; it shares the memory of ``data``.

    A parameter is an ordinary tensor with a mark, because operations are fastest on instances of ``Tensor`` itself.

    Args:
        data: the tensor with the values; an empty tensor if left out.
        requires_grad: whether operations on the parameter are recorded.

    Raises:
        DtypeError: if the elements of a parameter that requires grad are not floating-point numbers.
    """

    if TYPE_CHECKING:  # a parameter has the attributes of a tensor

        def __getattr__(self, name: str) -> object: ...

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Tensor:  # type: ignore[misc]
        parameter = (empty(0) if data is None else data).detach()
        if requires_grad and parameter._data.dtype.kind != "f":
            raise DtypeError("Only Tensors of floating point and complex dtype can require gradients")
        parameter.requires_grad_(requires_grad)
        parameter.extra().is_parameter = True
        return parameter
