"""The tensor: a NumPy array with a reference to the operation that computed it.

A 0-d tensor contains a NumPy scalar, because the arithmetic of a 0-d array is several times slower.  Rarely used state (a
gradient, hooks) is stored in ``Extra``, which is allocated on first use.  Operators and methods are installed by the declarations
in ``autodiff_cli.ops`` and by ``reverse_mode``; the block under ``TYPE_CHECKING`` declares them for type checkers.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, DTypeLike, default_type, to_array
from autodiff_cli.autograd.hooks import Extra, RemovableHandle
from autodiff_cli.autograd.modes import inference_used, is_inference_mode_enabled, is_recording
from autodiff_cli.autograd.printing import Size, TensorValues, tensor_repr
from autodiff_cli.errors import ArgumentError, DtypeError, GraphError, ShapeError, type_name
from autodiff_cli.lazy import deferred

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from autodiff_cli.autograd.node import Edge, Node

ONLY_FLOATING = "only Tensors of floating point dtype can require gradients"
NO_GRADIENTS = "Only Tensors of floating point and complex dtype can require gradients"
LEAVES_ONLY = "you can only change requires_grad flags of leaf variables."
DETACH_INSTEAD = (
    " If you want to use a computed variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
)
LEAVES_ONLY_HINT = "call detach() to get a tensor with the same values and without a history"

CLONE_INFERENCE = "call clone() on the tensor outside inference_mode to get an ordinary tensor"

Operand = Any
"""The other operand of a tensor operator: a tensor, an array or a number; any other type raises DtypeError."""
Index = Any
"""An index: a whole number, a slice, ``None``, ``...``, a mask, a tensor or list of positions, or a tuple of these."""

_new = object.__new__


class Tensor(TensorValues):
    """An array of numbers whose operations are recorded for differentiation.

    ``tensor()`` creates a tensor from numbers.  As in PyTorch, this class creates one of the default type.

    Args:
        data: the numbers, as nested lists or as an array; or another tensor, whose type is kept; or whole numbers, which are
            the shape of a tensor of zeros, without elements if left out.
        requires_grad: whether operations on this tensor are recorded.
        dtype: the type; the default type if left out.
    """

    # ``_forward`` is set only in instances of ``forward_ad.dual.Dual``.  It is a slot of this class, so that an in-place change
    # can make a dual tensor of a tensor by an assignment to ``__class__``.
    __slots__ = ("__weakref__", "_edge", "_extra", "_forward", "_inference", "_requires_grad")

    _requires_grad: bool
    _edge: Edge | None
    """The edge to the node that computed the tensor; ``memory.LostEdge`` for a view whose history was lost."""
    _extra: Extra | None
    _forward: Any
    """Of a dual tensor: its primal, its tangent and its level."""
    _inference: bool
    """Whether the tensor is an inference tensor; set only if it is."""

    _level: int = 0
    """The depth of the transformation that an instance of a subclass belongs to; the highest level is applied first."""

    # NumPy's operators defer to the operators of tensors: array * tensor is tensor.__rmul__(array).
    __array_ufunc__ = None
    __hash__ = object.__hash__

    def __init__(self, *data: ArrayLike | Tensor, requires_grad: bool = False, dtype: DTypeLike | None = None) -> None:
        first = data[0] if data else 0
        if isinstance(first, Tensor) and len(data) == 1:  # shares its memory without ``dtype``
            self._data = to_array(shared_array(first), dtype) if dtype is not None else first._data
        elif all(type(length) is int for length in data) or isinstance(first, Size):  # zeros of this shape
            shape: Any = first if isinstance(first, Size) else data or (0,)
            if min(shape, default=0) < 0:
                raise GraphError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
            self._data = np.zeros(shape, dtype or default_type())
        elif len(data) == 1 and not isinstance(first, (str, bool)):
            self._data = to_array(first, dtype or default_type())
        else:
            raise DtypeError(
                "Tensor takes a list of numbers, an array, a tensor, or the lengths of the dimensions",
                hint="use tensor(...) to make a tensor of one number or boolean",
            )
        self._requires_grad = False
        self._edge = None
        self._extra = None
        if inference_used[0] and is_inference_mode_enabled():
            self._inference = True
        if requires_grad:
            self.requires_grad_()

    def numpy(self, *, force: bool = False) -> Array:
        """Return the values as a NumPy array that shares the memory of the tensor.

        Args:
            force: whether to return the values of a tensor that requires grad too.

        Raises:
            GraphError: if the tensor requires grad and operations are recorded; use ``detach().numpy()``.
        """
        if self._requires_grad and not force and is_recording():
            raise GraphError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        return np.asarray(self._data)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return tensor_repr(self)

    _repr_html_ = deferred("autodiff_cli.report.html:tensor_html")  # for notebooks

    # Position in the graph

    @property
    def requires_grad(self) -> bool:
        """Whether operations on this tensor are recorded."""
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, (bool, np.bool_)):
            raise GraphError("requires_grad must be a bool")
        if self._edge is not None:
            raise GraphError(LEAVES_ONLY + ("" if value else DETACH_INSTEAD), hint=LEAVES_ONLY_HINT)
        if value and self._data.dtype.kind != "f":
            raise DtypeError("only Tensors of floating point and complex dtype can require gradients")
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set whether operations on this leaf are recorded, and return the leaf.

        Raises:
            GraphError: if the tensor is not a leaf and ``requires_grad`` is false.
            DtypeError: if the elements of the tensor are not floating-point numbers.
            ArgumentError: if ``requires_grad`` is not a boolean.
        """
        if not isinstance(requires_grad, (bool, np.bool_)):
            raise ArgumentError(
                f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {type_name(requires_grad)}"
            )
        if self._edge is not None:
            if not requires_grad:
                raise GraphError(LEAVES_ONLY + DETACH_INSTEAD, hint=LEAVES_ONLY_HINT)
            return self
        if requires_grad and is_inference(self) and not is_inference_mode_enabled():
            raise GraphError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.", hint=CLONE_INFERENCE
            )
        if requires_grad and self._data.dtype.kind != "f":
            raise DtypeError(ONLY_FLOATING)
        self._requires_grad = bool(requires_grad)
        return self

    def is_inference(self) -> bool:
        """Return whether the tensor was created in ``inference_mode``; such a tensor does not have a version counter."""
        return is_inference(self)

    @property
    def is_leaf(self) -> bool:
        """Whether the tensor is a leaf: a tensor that was not computed by a recorded operation."""
        return not self._edge

    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that computed this tensor, ``None`` for a leaf."""
        return None if self._edge is None else self._edge[0]

    @property
    def output_nr(self) -> int:
        """The number of this tensor among the outputs of ``grad_fn``."""
        return 0 if self._edge is None else self._edge[1]

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient of a leaf, or of a tensor whose ``retain_grad()`` was called."""
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
        if value is not None and value.dtype is not self.dtype:
            raise DtypeError(
                f"attempting to assign a gradient with dtype '{value.dtype.scalar_name.lower()}' to a tensor with dtype "
                f"'{self.dtype.scalar_name}'.",
                hint=f"convert the gradient with .to({self.dtype})",
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
        """Return the rarely used state, which is allocated on first use."""
        if self._extra is None:
            self._extra = Extra()
        return self._extra

    @property
    def retains_grad(self) -> bool:
        """Whether the gradient of this non-leaf tensor is kept."""
        return self._extra is not None and self._extra.retains_grad

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf tensor in ``.grad``; the gradient of a leaf is always kept.

        Raises:
            GraphError: if the tensor does not require grad.
        """
        if not self._requires_grad:
            raise GraphError("can't retain_grad on Tensor that has requires_grad=False")
        if self._edge is not None:
            node, output = self._edge
            node.ensure_hooks().retaining[output] = weakref.ref(self)
            self.extra().retains_grad = True

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Register ``hook(grad)`` to run when the gradient is complete; a tensor that it returns replaces the gradient."""
        if not self._requires_grad:
            raise GraphError("cannot register a hook on a tensor that doesn't require gradient")
        if not callable(hook):
            raise DtypeError(f"a hook must be a function, not {type_name(hook)}")
        if self._edge is None:
            extra = self.extra()
            extra.hooks = hooks = extra.hooks or {}
            return RemovableHandle(hooks, hook)
        node, output = self._edge
        return RemovableHandle(node.ensure_hooks().tensor.setdefault(output, {}), hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Register ``hook(tensor)`` to run after a backward pass has added to ``.grad`` of this leaf."""
        if not self._requires_grad:
            raise GraphError("cannot register a hook on a tensor that doesn't require gradient")
        if self._edge is not None:
            raise GraphError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        extra = self.extra()
        extra.after = hooks = extra.after or {}
        return RemovableHandle(hooks, hook)

    if TYPE_CHECKING:
        _version: int
        _base: Tensor | None

        @property
        def data(self) -> Tensor: ...
        @data.setter
        def data(self, value: Tensor) -> None: ...
        def _is_view(self) -> bool: ...
        def detach(self) -> Tensor: ...
        def detach_(self) -> Tensor: ...
        def backward(
            self,
            gradient: Tensor | None = None,
            retain_graph: bool | None = None,
            create_graph: bool = False,
            inputs: Tensor | Sequence[Tensor] | None = None,
        ) -> None: ...
        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, key: Index) -> Tensor: ...
        def __iter__(self) -> Iterator[Tensor]: ...
        def __add__(self, other: Operand) -> Tensor: ...

        __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __add__
        __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __add__
        __lt__ = __le__ = __gt__ = __ge__ = __and__ = __or__ = __add__

        def __eq__(self, other: Operand) -> Tensor: ...  # type: ignore[override]
        def __ne__(self, other: Operand) -> Tensor: ...  # type: ignore[override]
        def __neg__(self) -> Tensor: ...

        __pos__ = __abs__ = __invert__ = __neg__


def tensor_on(data: Array, edge: Edge | None = None) -> Tensor:
    """Return a tensor with the array ``data``: the output of the operation at ``edge``, or a constant."""
    tensor = _new(Tensor)
    tensor._data = data
    tensor._requires_grad = edge is not None
    tensor._edge = edge
    tensor._extra = None
    if inference_used[0] and edge is None and is_inference_mode_enabled():
        tensor._inference = True
    return tensor


def new_tensor(data: ArrayLike | Tensor, requires_grad: bool = False, dtype: DTypeLike | None = None) -> Tensor:
    """Return a new leaf that holds a copy of ``data``.

    Args:
        data: a number, nested lists of numbers, an array or a tensor.
        requires_grad: whether operations on this tensor are recorded.
        dtype: the type; derived from ``data`` if left out.

    Raises:
        DtypeError: if the elements are not numbers or booleans, or if integers should require grad.
    """
    tensor = tensor_on(to_array(data._data if isinstance(data, Tensor) else data, dtype))
    if requires_grad:
        if tensor._data.dtype.kind != "f":
            raise DtypeError(NO_GRADIENTS)
        tensor._requires_grad = True
    return tensor


def add_methods(**methods: Callable[..., Any] | property) -> None:
    """Add methods and properties to ``Tensor``; a private or local function gets the name of its method, for messages."""
    for name, method in methods.items():
        if not isinstance(method, property) and ("<" in method.__qualname__ or method.__name__[0] == "_"):
            method.__name__, method.__qualname__ = name, f"Tensor.{name}"
        setattr(Tensor, name, method)


def is_inference(tensor: Tensor) -> bool:
    """Return whether a tensor was created in ``inference_mode``."""
    return getattr(tensor, "_inference", False)


def zeros_on(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Return a tensor of zeros of a shape, with the type of the tensor ``like``."""
    return tensor_on(np.zeros(shape, like._data.dtype)[()])


def root_of(tensor: Tensor) -> Tensor:
    """Return the tensor that owns the memory of a tensor: the tensor itself if it is not a view."""
    base = None if tensor._extra is None else tensor._extra.base
    return tensor if base is None else base


def shared_array(tensor: Tensor) -> Array:
    """Return the array of a tensor; a NumPy scalar is first converted to a 0-d array so that its memory can be shared."""
    if not isinstance(tensor._data, np.ndarray):
        tensor._data = np.array(tensor._data)
    return tensor._data
