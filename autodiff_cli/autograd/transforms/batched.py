"""Batched tensors: the tensors that a function receives inside ``vmap``.

A batched tensor is written as one example, and wraps a physical tensor whose first dimension is the batch.  The physical tensor
is an ordinary tensor, which may have a history, or a batched tensor of an outer ``vmap``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from autodiff_cli.autograd.active_batches import active_batches
from autodiff_cli.autograd.dtypes import DType
from autodiff_cli.autograd.primitives.argument_kinds import Argument
from autodiff_cli.autograd.primitives.multi_output import MultiOutput
from autodiff_cli.autograd.primitives.primitive import Primitive, next_level
from autodiff_cli.autograd.primitives.structural import expanded, reshaped, select_key, stack
from autodiff_cli.autograd.primitives.types import Value
from autodiff_cli.autograd.printing import Size
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import ShapeError, ValuesNeeded, VmapError
from autodiff_cli.lazy import named

NO_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please try "
    "to rewrite what you're doing with other operations."
)
NO_CONDITION = "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow, which is not supported."
NO_VALUES = "Cannot access data pointer of Tensor that doesn't have storage"
_new = object.__new__

ABOVE_DUALS = 1 << 40
"""What is added to the level of a batch: ``vmap`` is applied before forward mode, so that the tensors inside are dual tensors on
physical tensors, whichever of the two transformations started first."""


class ExampleValues:
    """The stand-in for the array of a batched tensor: it has a shape and a type, but no values, because they differ by example."""

    __slots__ = ("dtype", "shape")

    nbytes = 0
    """The memory belongs to the physical tensor."""

    def __init__(self, shape: tuple[int, ...], dtype: DType) -> None:
        self.shape = shape
        self.dtype = dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return Size(self.shape).numel()

    def item(self) -> NoReturn:
        raise VmapError(NO_ITEM, hint="return the tensor from the function, and call item() on the results of vmap")

    def __array__(self, dtype: DType | None = None, copy: bool | None = None) -> NoReturn:
        raise _no_values()

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse all other attributes of an array, such as ``tolist``; the protocols of Python and NumPy do not exist."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise _no_values()


def _no_values() -> ValuesNeeded:
    """Return the error for reading the values of a batched tensor."""
    return ValuesNeeded(
        NO_VALUES, hint="inside vmap a tensor has one value for each example: read the values of the results of vmap"
    )


class Batch:
    """One call of a function under ``vmap``.

    Attributes:
        level: the level of the transformation.
        depth: the number of calls of ``vmap`` around the function, including this one.
        size: the number of examples.
    """

    __slots__ = ("depth", "level", "size")

    def __init__(self, size: int) -> None:
        self.level = next_level() + ABOVE_DUALS
        self.depth = len(active_batches()) + 1
        self.size = size

    def wrap(self, physical: Tensor) -> Batched:
        """Return the batched tensor on a physical tensor, whose first dimension is the batch."""
        tensor = _new(Batched)
        tensor._data = ExampleValues(physical.shape[1:], physical._data.dtype)
        tensor._requires_grad = physical._requires_grad
        tensor._edge = tensor._extra = None
        tensor._level = self.level
        tensor.batch = self
        tensor.physical = physical
        return tensor

    def holds(self, value: Argument) -> bool:
        """Return whether a value is a batched tensor of this batch."""
        return type(value) is Batched and value.batch is self

    def physical(self, value: Argument, ndim: int = 0) -> Any:
        """Return the physical tensor of a batched tensor; return any other value unchanged.

        An example of fewer than ``ndim`` dimensions gets dimensions of length 1 after the batch.
        """
        if not self.holds(value):
            return value
        tensor = value.physical
        missing = ndim - len(value.shape)
        return reshaped(tensor, (self.size, *(1,) * missing, *value.shape)) if missing > 0 else tensor

    def lift(self, value: Value) -> Tensor:
        """Return the physical tensor of a value; a value that is not batched is repeated for every example."""
        if self.holds(value):
            return self.physical(value)  # type: ignore[no-any-return]
        return expanded(value if isinstance(value, Tensor) else tensor_on(value), (self.size, *value.shape))  # type: ignore[no-any-return]

    def inside(self, value: Tensor) -> Tensor:
        """Return the physical tensor of a cotangent in this batch; the cotangent may be inside batches that started later."""
        if type(value) is Batched and value.batch.level > self.level:
            return value.batch.wrap(self.inside(value.physical).movedim(0, 1))  # exchanges the outer and the inner batch
        return self.lift(value)

    def around(self, value: Tensor) -> Tensor:
        """Return a gradient as a batched tensor, inside the batches that started later; the inverse of ``inside``."""
        if type(value) is Batched and value.batch.level > self.level:
            return value.batch.wrap(self.around(value.physical.movedim(0, 1)))
        return self.wrap(value)

    def example(self, value: Argument, i: int) -> Any:
        """Return an argument for the i-th example; lists and tuples are searched for batched tensors."""
        if isinstance(value, (list, tuple)):
            return type(value)([self.example(item, i) for item in value])
        return select_key(value.physical, (i,)) if self.holds(value) else value

    def loop(self, function: Any, args: Sequence[Argument], kwargs: dict[str, Argument] | None = None) -> Any:
        """Call a function once for each example and stack the results, if it has no batch rule; refuse an empty batch."""
        results = []
        for i in range(self.size):
            keywords = {name: self.example(value, i) for name, value in (kwargs or {}).items()}
            results.append(function(*[self.example(value, i) for value in args], **keywords))
        if not results:
            raise ShapeError(
                f"vmap: {function.__name__} has no batch rule, and cannot be called for a batch without examples",
                hint="pass at least one example",
            )
        if isinstance(results[0], tuple):
            parts = [self._stack_examples(function.__name__, list(examples)) for examples in zip(*results, strict=True)]
            return type(results[0])(*parts) if hasattr(results[0], "_fields") else tuple(parts)  # a named or a plain tuple
        return self._stack_examples(function.__name__, results)

    def _stack_examples(self, name: str, results: list[Any]) -> Any:
        """Return the tensors of all examples as one batched tensor; of other objects, the first.  ``name`` is for the error."""
        if not isinstance(results[0], Tensor):  # from a custom function
            return results[0]
        if any(result.shape != results[0].shape for result in results):
            raise VmapError(
                f"vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over {name}.",
                hint="replace the elements that are not wanted, as in where(mask, x, 0), instead of leaving them out",
            )
        return self.wrap(stack(results, 0))


@functools.cache
def _rule_function(function: str) -> Any:
    """Return a function of the batch rules, which are computed with batched tensors themselves."""
    named("autodiff_cli.ops.batching")  # registers the rules of operations on shapes and positions
    return named(f"autodiff_cli.autograd.transforms.batch_rules:{function}")


class Batched(Tensor):
    """A tensor inside ``vmap``: one example of a physical tensor."""

    __slots__ = ("_level", "batch", "physical")

    batch: Batch
    physical: Tensor

    def applied(self, primitive: Primitive, args: Sequence[Argument]) -> Tensor:
        """Return the result of a primitive for all examples."""
        return _rule_function("apply")(self.batch, primitive, args)  # type: ignore[no-any-return]

    def applied_several(self, operation: MultiOutput, args: Sequence[Argument]) -> Sequence[Tensor]:
        """Return the results of an operation with several results for all examples."""
        return _rule_function("apply_several")(self.batch, operation, args)  # type: ignore[no-any-return]

    def applied_function(self, function: Any, args: Sequence[Argument], kwargs: dict[str, Argument]) -> Any:
        """Return the result of a function that needs the values of a batched tensor, such as positions, for every example."""
        return self.batch.loop(function, args, kwargs)

    def applied_custom(self, function: Any, args: Sequence[Argument], kwargs: dict[str, Argument]) -> Any:
        """Return the result of a function with a custom VJP for all examples; see ``transforms.custom``."""
        return named("autodiff_cli.autograd.transforms.custom:apply")(self.batch, function, args, kwargs)

    def differentiated(
        self, outputs: Sequence[Any], inputs: Sequence[Any], grad_outputs: Any, **options: Any
    ) -> Sequence[Tensor | None]:
        """Return the gradients of outputs, as ``reverse_mode.grad`` does, if one of its arguments is batched.

        The ``options`` are those of ``grad``.  The result is ``NotImplemented`` if only cotangents are batched: then the backward
        pass computes with batched cotangents.
        """
        batches = [value.batch for value in (*outputs, *inputs) if type(value) is Batched]
        if not batches:
            return NotImplemented  # type: ignore[no-any-return]
        batch = max(batches, key=lambda one: one.level)  # the innermost
        cotangents = grad_outputs if isinstance(grad_outputs, (list, tuple)) else [grad_outputs] * len(outputs)  # one for all
        starts = [
            tensor_on(np.ones((batch.size,), output._data.dtype)) if cotangent is None else batch.inside(cotangent)
            for output, cotangent in zip(outputs, cotangents, strict=True)
        ]
        gradients = grad([batch.lift(value) for value in outputs], [batch.physical(value) for value in inputs], starts, **options)
        return [None if gradient is None else batch.around(gradient) for gradient in gradients]

    def changed(self, compute: Callable[[Tensor], Tensor], change: Callable[..., Tensor]) -> Tensor:
        """Change this tensor in place, see ``ops.inplace.change``: change the physical tensor."""
        batch = self.batch
        change(self.physical, lambda old: batch.lift(compute(batch.wrap(old))))
        return self

    def written_to(self, tensor: Tensor, change: Callable[..., Tensor]) -> Tensor:
        """Refuse to write this tensor, the result of an in-place operation, into a tensor that all examples share."""
        raise VmapError(
            "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that "
            "has more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a "
            "vmap. Please try to use out-of-place operators instead of inplace arithmetic.",
            hint="make the tensor from a batched tensor, as in zeros_like(x), or use the operation that returns a new tensor",
        )

    def __bool__(self) -> bool:
        if self._data.size == 1:
            raise VmapError(NO_CONDITION, hint="select with where(condition, a, b), which computes both branches")
        return super().__bool__()

    def __repr__(self) -> str:
        value = "\n".join(f"    {line}" for line in repr(self.physical).splitlines())
        return f"BatchedTensor(lvl={self.batch.depth}, bdim=0, value=\n{value}\n)"

    def detach(self) -> Tensor:
        return self.batch.wrap(self.physical.detach())

    def is_contiguous(self) -> bool:
        return self.physical.is_contiguous()

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        raise VmapError(
            "You are attempting to call Tensor.requires_grad_() inside of a function being transformed. This is unsupported.",
            hint="use func.grad, vjp, jacrev, jacfwd or hessian, or call requires_grad_() outside of the function",
        )

    def numpy(self, *, force: bool = False) -> NoReturn:
        raise _no_values()


def dtype_of(value: Argument) -> Any:
    """Return the NumPy dtype of a tensor or an array; ``None`` for a plain number."""
    return value._data.dtype if isinstance(value, Tensor) else getattr(value, "dtype", None)


def without_dimensions(value: Argument) -> bool:
    """Return whether a tensor or an array has no dimensions."""
    return np.ndim(value._data if isinstance(value, Tensor) else value) == 0
