"""The tensor: a NumPy array that remembers where it came from.

A 0-d tensor holds a NumPy scalar, whose arithmetic is several times faster than that of a 0-d array.  What few tensors
need (a gradient, hooks) lives in ``Extra``, made on first use.  Operators and methods are installed by the declarations
in ``autodiff_cli.ops``; the block under ``TYPE_CHECKING`` only tells type checkers of them.
"""

from __future__ import annotations

import copy
import math
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, DType, as_float, to_array
from autodiff_cli.autograd.hooks import RemovableHandle
from autodiff_cli.autograd.printing import tensor_repr
from autodiff_cli.errors import ArgumentError, DtypeError, GraphError, ShapeError, type_name

if TYPE_CHECKING:
    from autodiff_cli.autograd.memory import View
    from autodiff_cli.autograd.node import AccumulateGrad, Edge, Node

ONLY_FLOATING = "only Tensors of floating point dtype can require gradients"


LEAVES_ONLY = "you can only change requires_grad flags of leaf variables."
LEAVES_ONLY_HINT = "use detach() for a tensor that shares the values and has no history"


_new = object.__new__


class Extra:
    """What only some tensors have.

    Attributes:
        grad: what backward added up.
        accumulator: the node that adds it, weakly.
        hooks: those of a leaf.
        base: the tensor that owns the memory; ``None`` for the owner itself.
        changes: for an owner, when its memory was changed in place; the last of many.
        version: how often.
        view: for a view with a history, how to find it in the tensor that it is a view of.
        views: for a tensor that has such views, those that are left.
    """

    __slots__ = ("accumulator", "after", "base", "changes", "grad", "hooks", "retains_grad", "version", "view", "views")

    def __init__(self) -> None:
        self.grad: Tensor | None = None
        self.accumulator: weakref.ref[AccumulateGrad] | None = None
        self.hooks: dict[int, tuple[int, Callable[..., Any]]] = {}
        self.after: dict[int, Callable[..., Any]] | None = None
        self.retains_grad = False
        self.base: Tensor | None = None
        self.version = 0
        self.changes: deque[int] | None = None
        self.view: View | None = None
        self.views: list[weakref.ref[Tensor]] | None = None


class Size(tuple[int, ...]):
    """A shape, printed as PyTorch prints it."""

    __slots__ = ()

    def numel(self) -> int:
        """How many elements a tensor of this shape has."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


class Tensor:
    """An array of numbers that records the operations it takes part in.

    Args:
        data: a number, nested lists of numbers, or a NumPy array, which is copied.
        requires_grad: whether operations on this tensor are recorded.
        dtype: float64, float32, int64 or bool; found from ``data`` if left out.
    """

    __slots__ = ("__weakref__", "_data", "_edge", "_extra", "_requires_grad")

    _data: Any
    _requires_grad: bool
    _edge: Edge | None
    _extra: Extra | None

    # NumPy's operators leave the work to ours: array * tensor is tensor.__rmul__(array).
    __array_ufunc__ = None
    __hash__ = object.__hash__

    def __init__(self, data: Any, requires_grad: bool = False, dtype: Any = None) -> None:
        if isinstance(data, Tensor):
            data = data._data
        self._data = to_array(data, dtype)
        self._requires_grad = False
        self._edge = None
        self._extra = None
        if requires_grad:
            if self._data.dtype.kind != "f":
                raise DtypeError("Only Tensors of floating point and complex dtype can require gradients")
            self._requires_grad = True

    # What a tensor is

    @property
    def shape(self) -> Size:
        """The length of each dimension; ``()`` for a scalar."""
        return Size(self._data.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._data.shape)

    def dim(self) -> int:
        """The same as ``ndim``."""
        return self.ndim

    def size(self, dim: int | None = None) -> Any:
        """``shape``, or the length of one dimension."""
        return self.shape if dim is None else self.shape[dim]

    def nelement(self) -> int:
        """The same as ``numel``."""
        return self.numel()

    def element_size(self) -> int:
        """The bytes of one element."""
        return int(self._data.dtype.itemsize)

    def numel(self) -> int:
        """The number of elements."""
        return int(self._data.size)

    def is_contiguous(self) -> bool:
        """Whether the elements lie in memory in the order of their positions."""
        return bool(np.asarray(self._data).flags.c_contiguous)

    @property
    def dtype(self) -> DType:
        """The type of the elements, as a NumPy dtype."""
        dtype: DType = self._data.dtype
        return dtype

    def is_floating_point(self) -> bool:
        """True if the elements are float32 or float64."""
        return bool(self._data.dtype.kind == "f")

    def item(self) -> Any:
        """The one element as a Python number.

        Raises:
            ShapeError: if there is not exactly one element.
        """
        if self._data.size != 1:
            raise ShapeError(f"a Tensor with {self._data.size} elements cannot be converted to Scalar")
        return self._data.item()

    def tolist(self) -> Any:
        """Nested Python lists of numbers; a number for a scalar."""
        return self._data.tolist()

    def numpy(self) -> Any:
        """The values as a NumPy array.

        Raises:
            GraphError: if the tensor requires grad; use ``detach().numpy()``.
        """
        if self._requires_grad:
            raise GraphError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        return np.asarray(self._data)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __len__(self) -> int:
        if not self._data.shape:
            raise ArgumentError("len() of a 0-d tensor")
        return int(self._data.shape[0])

    def __bool__(self) -> bool:
        if self._data.size != 1:
            raise ShapeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self._data.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self._data.dtype.kind not in "ib":
            raise DtypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __repr__(self) -> str:
        return tensor_repr(self)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self._data.shape == () else str(self)

    # Where it stands in the graph

    @property
    def requires_grad(self) -> bool:
        """True if operations on this tensor are recorded."""
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if self._edge is not None:
            raise GraphError(LEAVES_ONLY, hint=LEAVES_ONLY_HINT)
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Make this leaf require grad, or not.

        Raises:
            GraphError: if it is no leaf and ``requires_grad`` is false.
            DtypeError: if its elements are not floating-point numbers.
            ArgumentError: for anything but true and false.
        """
        if not isinstance(requires_grad, (bool, np.bool_)):
            raise ArgumentError("requires_grad must be true or false")
        if self._edge is not None:
            if not requires_grad:
                raise GraphError(LEAVES_ONLY, hint=LEAVES_ONLY_HINT)
            return self
        if requires_grad and self._data.dtype.kind != "f":
            raise DtypeError(ONLY_FLOATING)
        self._requires_grad = bool(requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        """True if no recorded operation made this tensor."""
        return self._edge is None

    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that made this tensor; ``None`` for a leaf."""
        return None if self._edge is None else self._edge[0]

    @property
    def output_nr(self) -> int:
        """Which output of ``grad_fn`` this tensor is."""
        return 0 if self._edge is None else self._edge[1]

    @property
    def grad(self) -> Tensor | None:
        """What backward has added up here: for leaves, and where ``retain_grad()`` was called."""
        if self._edge is not None and not self.retains_grad and self._extra_grad() is None:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
                "won't be populated during autograd.backward(). If you indeed want the .grad field to be populated "
                "for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor.",
                stacklevel=2,
            )
        return self._extra_grad()

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise DtypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type_name(value)}")
        if value is self:
            raise GraphError("can't assign Variable as its own grad")
        if value is not None and value.dtype != self.dtype:
            raise DtypeError(
                f"attempting to assign a gradient with dtype '{value.dtype}' to a tensor with grad_dtype '{self.dtype}'. "
                "The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype)."
            )
        if value is not None and value.shape != self.shape:
            raise ShapeError(
                f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size '{list(self.shape)}'. "
                "Please ensure that the gradient and the tensor are the same size"
            )
        self.extra().grad = value

    @grad.deleter
    def grad(self) -> None:
        self.extra().grad = None

    def _extra_grad(self) -> Tensor | None:
        return None if self._extra is None else self._extra.grad

    def extra(self) -> Extra:
        if self._extra is None:
            self._extra = Extra()
        return self._extra

    @property
    def retains_grad(self) -> bool:
        """True for a non-leaf tensor whose gradient is kept."""
        return self._extra is not None and self._extra.retains_grad

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf tensor when backward passes through; a leaf keeps it anyway."""
        if not self._requires_grad:
            raise GraphError("can't retain_grad on Tensor that has requires_grad=False")
        if self._edge is not None:
            node, output = self._edge
            node.ensure_hooks().retaining[output] = weakref.ref(self)
            self.extra().retains_grad = True

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call ``hook(grad)`` whenever the gradient of this tensor is known; what it returns replaces the gradient."""
        if not self._requires_grad:
            raise GraphError("cannot register a hook on a tensor that doesn't require gradient")
        if not callable(hook):
            raise DtypeError(f"a hook must be a function, not {type_name(hook)}")
        if self._edge is None:
            return RemovableHandle(self.extra().hooks, (0, hook))
        node, output = self._edge
        return RemovableHandle(node.ensure_hooks().tensor, (output, hook))

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call ``hook(tensor)`` after backward has added to ``.grad`` of this leaf."""
        if not self._requires_grad:
            raise GraphError("cannot register a hook on a tensor that doesn't require gradient")
        if self._edge is not None:
            raise GraphError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        extra = self.extra()
        if extra.after is None:
            extra.after = {}
        return RemovableHandle(extra.after, hook)

    def detach(self) -> Tensor:
        """A tensor over the same memory that has no history and requires no grad."""
        return share_memory(tensor_on(shared_array(self), None), self)

    @property
    def data(self) -> Tensor:
        """As ``detach()``, but changes of it are not counted; assigned to, it replaces the values and leaves the history."""
        return tensor_on(shared_array(self), None)

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise ArgumentError("data can be set to a tensor only")
        if value.dtype != self.dtype:
            raise DtypeError(f"data has elements of type {self.dtype}, and cannot be set to a tensor of {value.dtype}")
        self._data = value._data

    @property
    def _version(self) -> int:
        """How often the memory of this tensor was changed in place."""
        root = root_of(self)
        return 0 if root._extra is None else root._extra.version

    @property
    def _base(self) -> Tensor | None:
        """The tensor that this one is a view of."""
        view = None if self._extra is None else self._extra.view
        return None if view is None else view.source

    def _is_view(self) -> bool:
        return self._base is not None

    def __deepcopy__(self, memo: Any) -> Tensor:
        if self._edge is not None:
            raise GraphError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment."
            )
        made = Tensor(self._data, self._requires_grad)
        memo[id(self)] = made
        if self._extra_grad() is not None:
            made.grad = copy.deepcopy(self.grad, memo)
        return made

    def detach_(self) -> Tensor:
        """Make this tensor a leaf that requires no grad.

        Raises:
            GraphError: if it is a view, whose history is that of another tensor.
        """
        if self._extra is not None and self._extra.view is not None:
            raise GraphError("Can't detach views in-place. Use detach() instead.")
        self._edge = None
        self._requires_grad = False
        return self

    if TYPE_CHECKING:

        def backward(
            self,
            gradient: Tensor | None = None,
            retain_graph: bool | None = None,
            create_graph: bool = False,
            inputs: Tensor | Sequence[Tensor] | None = None,
        ) -> None: ...
        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, key: Any) -> Tensor: ...
        def __iter__(self) -> Iterator[Tensor]: ...
        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __rfloordiv__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __rmod__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __rmatmul__(self, other: Any) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __pos__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __invert__(self) -> Tensor: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...


def tensor_on(data: Array, edge: Edge | None = None) -> Tensor:
    """Return a tensor over ``data``, made by the operation that ``edge`` leads to, or a constant."""
    tensor = _new(Tensor)
    tensor._data = data
    tensor._requires_grad = edge is not None
    tensor._edge = edge
    tensor._extra = None
    return tensor


def root_of(tensor: Tensor) -> Tensor:
    """The tensor whose memory this one is a view of, or itself."""
    base = None if tensor._extra is None else tensor._extra.base
    return tensor if base is None else base


def shared_array(tensor: Tensor) -> Any:
    """The array of a tensor for others to look into; a NumPy scalar, which could not be shared, becomes one."""
    if not isinstance(tensor._data, np.ndarray):
        tensor._data = np.array(tensor._data)
    return tensor._data


def share_memory(view: Tensor, tensor: Tensor) -> Tensor:
    """``view``, marked as sharing the memory of ``tensor``, and nothing else."""
    view.extra().base = root_of(tensor)
    return view


def Variable(data: Any, requires_grad: bool = False) -> Tensor:
    """PyTorch's old name for a tensor that may require grad."""
    data = tensor_on(as_float(data._data), None) if isinstance(data, Tensor) and requires_grad else data
    return Tensor(data, requires_grad=requires_grad)
