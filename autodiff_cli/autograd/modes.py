"""The modes of the engine: recording and inference.

Each thread and each asynchronous task has its own modes, as in PyTorch.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, Self

from autodiff_cli.autograd.hooks import node_observers
from autodiff_cli.errors import ArgumentError, type_name
from autodiff_cli.lazy import named

_mode: ContextVar[bool | None] = ContextVar("autodiff_grad_mode", default=True)

is_recording = _mode.get
"""Return a true value if operations on tensors that require grad are recorded.

The value ``None`` means that recording was enabled inside ``inference_mode``, where it does not have an effect."""

_inference: ContextVar[bool] = ContextVar("autodiff_inference_mode", default=False)

inference_used = [False]
"""Whether any code has entered ``inference_mode``; if not, tensors are not examined for it."""


def is_inference_mode_enabled() -> bool:
    """Return whether ``inference_mode`` is active."""
    return _inference.get()


def is_grad_enabled() -> bool:
    """Return whether the grad mode is enabled; in ``inference_mode``, operations are not recorded even if it is."""
    return _mode.get() is not False


def switch_recording(enabled: bool) -> Token[bool | None]:
    """Set the grad mode, see ``is_recording`` for ``None``, and return the token with which ``restore_recording`` undoes it."""
    return _mode.set((None if _inference.get() else True) if enabled else False)


restore_recording = _mode.reset


class _ContextDecorator(AbstractContextManager[None]):
    """A context manager of a mode that is also a decorator of functions and generator functions."""

    mode: bool

    def clone(self) -> Self:
        """Return a new context manager for the same mode."""
        return type(self)(self.mode)  # type: ignore[call-arg]

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that runs ``function``, which may be a generator function, inside a new context."""
        if inspect.isgeneratorfunction(function):
            return _generator_in_context(function, self.clone)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return call


class set_grad_enabled(_ContextDecorator):
    """A switch for recording, which takes effect immediately.

    In a ``with`` statement, it is undone at the end of the block; as a decorator, it affects only the function.

    Raises:
        ArgumentError: if ``mode`` is not a boolean.
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise ArgumentError(f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {type_name(mode)}")
        self.mode = mode
        self._before = _mode.get()
        switch_recording(mode)

    def __enter__(self) -> None:
        switch_recording(self.mode)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        _mode.set(self._before)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        _mode.set(self._before)  # undo the switch that the constructor made: a decorator affects only the function
        return super().__call__(function)


class grad_mode(_ContextDecorator):
    """A mode whose instances are context managers, which may be nested, and decorators; the class is a decorator without ``()``."""

    def __new__(cls, mode: bool | Callable[..., Any] | None = None) -> Any:
        """Return an instance, or, if ``mode`` is a function (the class is the decorator), the function in the mode."""
        instance = super().__new__(cls)
        if not callable(mode):
            return instance
        instance.__init__()  # type: ignore[misc]  # Python does not call it, because the result is a function
        return instance(mode)

    def __init__(self, mode: bool | None = None) -> None:
        self._before: list[tuple[bool | None, bool]] = []

    def __enter__(self) -> None:
        self._before.append((_mode.get(), _inference.get()))
        self._start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        recording, inference = self._before.pop()
        _inference.set(inference)
        _mode.set(recording)

    def _start(self) -> None:
        """Set the modes of the block."""
        switch_recording(self.mode)


class no_grad(grad_mode):
    """A mode without recording: results have ``requires_grad=False`` and no ``grad_fn``."""

    mode = False


class enable_grad(grad_mode):
    """A mode with recording, for use inside ``no_grad``."""

    mode = True


class inference_mode(grad_mode):
    """A mode without recording, whose new tensors are inference tensors.

    Inference tensors do not have a version counter, and cannot be used in recorded operations that save them.
    ``inference_mode(False)`` ends the mode in its block and enables recording.
    """

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self.mode = bool(mode)

    def _start(self) -> None:
        """Set the modes of the block; the first use of the mode also starts the check of what nodes save."""
        if self.mode and not inference_used[0]:
            inference_used[0] = True
            node_observers.insert(0, named("autodiff_cli.autograd.views_and_versions:refuse_inference"))
        _inference.set(self.mode)
        switch_recording(not self.mode)


def _generator_in_context(function: Callable[..., Any], context: Callable[[], _ContextDecorator]) -> Callable[..., Any]:
    """Return a generator function whose code runs inside a new context each time that it is resumed, unlike its caller."""

    @functools.wraps(function)
    def generate(*args: Any, **kwargs: Any) -> Any:
        generator = function(*args, **kwargs)
        resume: Callable[[Any], Any] = generator.send
        argument: Any = None
        while True:
            try:
                with context():
                    value = resume(argument)
            except StopIteration as stop:
                return stop.value
            try:
                resume, argument = generator.send, (yield value)
            except BaseException as error:  # also ``GeneratorExit``, if the caller closes the generator
                resume, argument = generator.throw, error

    return generate
