"""Context managers for hooks for saved tensors: ``saved_tensors_hooks`` and ``save_on_cpu`` of ``torch.autograd.graph``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType

from autodiff_cli.autograd.saved.packing import PackHook, UnpackHook, hooks_in_effect, pop_hooks, push_hooks
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import DtypeError, GraphError, type_name

_disabled: ContextVar[str | None] = ContextVar("autodiff_saved_tensors_hooks_disabled", default=None)
"""The message of the innermost ``disable_saved_tensors_hooks``; ``None`` if hooks are allowed."""


class saved_tensors_hooks:
    """A ``with`` block in which the tensors that nodes save for the backward pass are packed by a hook.

    Of nested blocks, only the innermost is used.  The hooks apply to the current thread.

    Args:
        pack_hook: the function that is called with each tensor that is saved; the node stores the object that it returns.
        unpack_hook: the function that is called with this object when the tensor is needed, and returns a tensor.

    Raises:
        DtypeError: when the block is entered, if a hook is not a function.
        GraphError: when the block is entered, if ``disable_saved_tensors_hooks`` is active.
    """

    def __init__(self, pack_hook: PackHook, unpack_hook: UnpackHook) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if not callable(self.pack_hook) or not callable(self.unpack_hook):
            raise DtypeError(
                "saved_tensors_hooks(): incompatible function arguments: "
                f"{type_name(self.pack_hook)} and {type_name(self.unpack_hook)}",
                hint="pass pack_hook(tensor), which returns any object, and unpack_hook(object), which returns a tensor",
            )
        message = _disabled.get()
        if message is not None:
            raise GraphError(message)
        push_hooks((self.pack_hook, self.unpack_hook))

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        pop_hooks()


class save_on_cpu(saved_tensors_hooks):
    """A ``with`` block in which saved tensors are stored in the memory of the CPU.

    All tensors are in this memory already, so that only ``pin_memory`` has an effect: it copies each saved tensor, which
    can then be changed in place.

    Args:
        pin_memory: whether to copy the tensors.
        device_type: ignored; there is one device.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> Tensor:
            return tensor_on(tensor._data.copy() if pin_memory else tensor._data)

        super().__init__(pack, lambda packed: packed)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Return a ``with`` block in which hooks for saved tensors raise an error.

    Args:
        error_message: the message of the error.

    Raises:
        GraphError: if hooks are in effect.
    """
    if hooks_in_effect() is not None:
        raise GraphError(error_message)
    before = _disabled.get()
    _disabled.set(error_message)
    try:
        yield
    finally:
        _disabled.set(before)
