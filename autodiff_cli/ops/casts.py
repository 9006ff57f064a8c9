"""Conversion of tensors to other types, and the only device.

A conversion to a floating-point type is recorded; the other types do not carry gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import DType, DTypeLike, as_dtype, bool_, default_type, dtype, torch_type
from autodiff_cli.autograd.primitives.interface_kinds import A_TENSOR
from autodiff_cli.autograd.primitives.structural import cast
from autodiff_cli.autograd.primitives.types import Value
from autodiff_cli.autograd.tensor import Tensor, add_methods, tensor_on
from autodiff_cli.errors import ArgumentError, DtypeError, type_name

__all__ = [
    "accelerator", "can_cast", "cuda", "device", "finfo", "get_default_device", "iinfo", "is_floating_point",
    "promote_types", "result_type", "set_default_device",
]  # fmt: skip


class device:
    """A place for tensors, as in PyTorch.  All tensors are in the memory of the processor: the device ``cpu``.

    Args:
        type: the name of a device, such as ``cpu`` or ``cuda:0``, or another device.
        index: the number of the device.
    """

    __slots__ = ("index", "type")

    def __init__(self, type: str | device, index: int | None = None) -> None:
        name, _, number = str(type).partition(":")
        self.type: str = name
        self.index: Any = int(number) if number.isdecimal() else index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type='{self.type}'" + (")" if self.index is None else f", index={self.index})")


_Device = device
CPU = device("cpu")
DeviceLike = str | device | None
_FLOATS = {"double": "float64", "float": "float32", "half": "float16"}
_INTEGERS = {"long": "int64", "int": "int32", "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool"}
_DEVICES = ("cpu", "cuda", "mps", "meta", "xpu", "hpu", "xla")
"""The names of PyTorch's devices; another text names a type in the language."""


def check_device(place: DeviceLike | int) -> None:
    """Raise an error unless a device is the only one, ``cpu``, or ``None``; a number is that of a graphics processor."""
    if place is not None and (isinstance(place, int) or device(place).type != "cpu"):
        raise ArgumentError(f"tensors are on the device 'cpu', not on '{place}'", hint="leave the device out, or use 'cpu'")


def to(x: Value, dtype: DTypeLike) -> Tensor:
    """Convert the elements of ``x`` to a type; return ``x`` itself if its elements have this type."""
    wanted = as_dtype(dtype)
    if type(x) is Tensor:
        if x._data.dtype is wanted:
            return x
        if not x._requires_grad or wanted.kind != "f":
            return tensor_on(x._data.astype(wanted))
    # Only floating-point numbers carry gradients, so other types are recorded without a history.
    result: Tensor = cast(x.detach() if isinstance(x, Tensor) and wanted.kind != "f" else x, wanted)
    return result


def _to(
    self: Tensor,
    *arguments: Any,
    dtype: DTypeLike | None = None,
    device: str | device | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: object = None,
) -> Tensor:
    """Convert the tensor to a type, or that of another tensor; also accepts the device ``cpu``.  ``copy`` forces a new tensor."""
    for one in arguments:
        if isinstance(one, Tensor):
            dtype = one._data.dtype
        elif isinstance(one, bool) or one is None:  # non_blocking, copy
            continue
        elif isinstance(one, _Device) or (isinstance(one, str) and one.partition(":")[0] in _DEVICES):
            device = one
        elif type(one) is int:
            check_device(one)
        else:
            dtype = one
    check_device(device)
    copy = copy or [one for one in arguments if isinstance(one, bool)][1:] == [True]  # after ``non_blocking``
    result = self if dtype is None else to(self, dtype)
    return result.clone() if copy and result is self else result


def _type(self: Tensor, dtype: DTypeLike | None = None, non_blocking: bool = False) -> Any:
    """Return the name of the tensor's type, such as ``torch.DoubleTensor``; with ``dtype``, convert the tensor to this type."""
    if dtype is None:
        return f"torch.{self.dtype.scalar_name}Tensor"
    return to(self, dtype)


def _converting(wanted: str) -> Any:
    """Return the method that converts a tensor to a type."""

    def method(self: Tensor, memory_format: object = None) -> Tensor:
        return to(self, wanted)

    method.__doc__ = f"Convert the elements to {wanted}."
    return method


def _cuda(self: Tensor, device: str | int | None = None, non_blocking: bool = False) -> Tensor:
    """Refuse to move the tensor to a graphics processor, but accept the device ``cpu``."""
    check_device("cuda" if device is None else device)
    return self


def _stride(self: Tensor, dim: int | None = None) -> Any:
    """Return the distances, in elements, between neighbours along each dimension, as a tuple, or along ``dim``, as a number."""
    array = np.asarray(self._data)
    steps = tuple(step // array.itemsize for step in array.strides)
    return steps if dim is None else steps[dim]


def _no_astype(self: Tensor) -> Any:
    """NumPy's method, which is refused; a property, so that ``hasattr`` returns false."""
    raise AttributeError("'Tensor' object has no attribute 'astype'\n  hint: use x.to(ad.float32), x.double() or x.long()")


add_methods(
    **{name: _converting(wanted) for name, wanted in (_FLOATS | _INTEGERS).items()},
    to=_to,
    type=_type,
    type_as=lambda self, other: to(self, A_TENSOR(other, "type_as", "other").dtype),
    astype=property(_no_astype),
    cpu=lambda self, memory_format=None: self,
    pin_memory=lambda self, memory_format=None: self,
    cuda=_cuda,
    device=property(lambda self: CPU, doc="The device, which is always the CPU."),
    is_cuda=property(lambda self: False, doc="Whether the tensor is on a graphics processor: never."),
    is_cpu=property(lambda self: True, doc="Whether the tensor is in the memory of the processor: always."),
    is_sparse=property(lambda self: False, doc="Whether only some elements are stored: never."),
    is_quantized=property(lambda self: False, doc="Whether the elements are quantized: never."),
    is_complex=lambda self: False,
    is_signed=lambda self: self.dtype.is_signed,
    get_device=lambda self: -1,
    ndimension=lambda self: self.ndim,
    itemsize=property(lambda self: self.dtype.itemsize, doc="The size of one element in bytes."),
    nbytes=property(lambda self: self.numel() * self.dtype.itemsize, doc="The size of all elements in bytes."),
    stride=_stride,
    data_ptr=lambda self: int(np.asarray(self._data).ctypes.data),
    is_nonzero=lambda self: bool(self),
    is_same_size=lambda self, other: self.shape == other.shape,
)


class cuda:
    """The graphics processors, of which there are none."""

    @staticmethod
    def is_available() -> bool:
        """Return whether there is a graphics processor that tensors can be on: never."""
        return False

    @staticmethod
    def device_count() -> int:
        """Return the number of graphics processors: 0."""
        return 0


class accelerator(cuda):
    """The devices other than the CPU, of which there are none."""

    @staticmethod
    def current_accelerator(check_available: bool = False) -> None:
        """Return the accelerator in use: none."""


def set_default_device(device: DeviceLike) -> None:
    """Accept the only device, ``cpu``, for new tensors; any other one is an error."""
    check_device(device)


def get_default_device() -> device:
    """Return the device of new tensors: the CPU."""
    return CPU


def is_floating_point(x: Tensor) -> bool:
    """Return whether the elements of a tensor are floating-point numbers."""
    return x.is_floating_point()


def promote_types(type1: DTypeLike, type2: DTypeLike) -> dtype:
    """Return the smallest type to which both types can be converted: a floating-point type if either is one."""
    a, b = as_dtype(type1), as_dtype(type2)
    if (a.kind == "f") != (b.kind == "f"):
        return torch_type(a if a.kind == "f" else b)
    return torch_type(np.promote_types(a, b))


def can_cast(from_: DTypeLike, to: DTypeLike) -> bool:
    """Return whether a type can be converted to another: not from a floating-point type to integers, and not to booleans."""
    source, target = as_dtype(from_).kind, as_dtype(to).kind
    return target == "f" or (source != "f" and target != "b") or source == target


def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """Return the type of the result of an arithmetic operation on two tensors or numbers.

    Tensors with dimensions have the highest rank, then scalar tensors, then numbers.  A lower rank changes the type only if it has
    floating-point numbers and the ranks above do not, or if they have booleans.
    """
    operands = [tensor1, tensor2]
    arrays = [value._data for value in operands if isinstance(value, Tensor)]
    numbers = [_type_of_number(value) for value in operands if not isinstance(value, Tensor)]
    result: dtype | None = None
    for kinds in filter(None, ([a.dtype for a in arrays if a.ndim], [a.dtype for a in arrays if not a.ndim], numbers)):
        common = promote_types(kinds[0], kinds[-1])  # there are at most two
        if result is None:
            result = common
        elif not result.is_floating_point and (result is bool_ or common.is_floating_point):
            result = promote_types(result, common)
    assert result is not None
    return result


def _type_of_number(value: Any) -> DType:
    """Return the type of a plain number in arithmetic: booleans and int64 for Python's, and the default type for a float."""
    if not isinstance(value, (bool, int, float)):
        raise DtypeError(f"result_type takes tensors and numbers, not {type_name(value)}")
    return default_type() if isinstance(value, float) else np.dtype(type(value))


class _Limits:
    """The limits of a type, with the attributes of NumPy's ``finfo`` or ``iinfo``."""

    def __init__(self, dtype: str, numbers: dict[str, Any]) -> None:
        self.dtype = dtype
        self.bits = np.dtype(dtype).itemsize * 8
        self._numbers = numbers
        vars(self).update(numbers)

    def __repr__(self) -> str:
        numbers = "".join(f"{name}={value:g}, " for name, value in self._numbers.items())
        return f"{type(self).__name__}({numbers}dtype={self.dtype})"


class finfo(_Limits):
    """The limits of a floating-point type: ``eps``, ``min``, ``max``, ``tiny``, ``smallest_normal``, ``resolution``, ``bits``."""

    eps: float
    min: float
    max: float
    tiny: float
    smallest_normal: float
    resolution: float

    def __init__(self, type: DTypeLike | None = None) -> None:
        wanted = default_type() if type is None else as_dtype(type)
        if wanted.kind != "f":
            raise DtypeError("torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'")
        info = np.finfo(wanted)
        super().__init__(
            str(wanted),
            {name: float(getattr(info, name)) for name in ("resolution", "min", "max", "eps", "smallest_normal", "tiny")},
        )


class iinfo(_Limits):
    """The limits of an integer type: ``min``, ``max``, ``bits``."""

    min: int
    max: int

    def __init__(self, type: DTypeLike) -> None:
        wanted = as_dtype(type)
        if wanted.kind not in "iu":
            raise DtypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        info = np.iinfo(wanted)
        super().__init__(str(wanted), {"min": int(info.min), "max": int(info.max)})
