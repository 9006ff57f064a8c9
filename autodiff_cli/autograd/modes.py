"""The grad mode, which enables recording; each thread and each asynchronous task has its own mode, as in PyTorch."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from types import TracebackType
from typing import Any

_mode: ContextVar[bool] = ContextVar("autodiff_grad_mode", default=True)

is_grad_enabled = _mode.get
"""Return whether operations on tensors that require grad are recorded."""


class set_grad_enabled:
    """A switch for recording, which takes effect immediately.

    In a ``with`` statement, it is undone at the end of the block; as a decorator, it affects only the function.
    """

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self._before = [_mode.get()]
        _mode.set(mode)

    def __repr__(self) -> str:
        return f"set_grad_enabled(mode={self.mode})"

    def __enter__(self) -> None:
        _mode.set(self.mode)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        _mode.set(self._before[-1])

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        _mode.set(self._before[-1])
        return _decorated(function, self.mode)


class _Mode:
    """The base class of ``no_grad`` and ``enable_grad``.

    An instance is a context manager, which may be nested, and a decorator.  The class itself is also a decorator, without ``()``.
    """

    mode: bool

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        return super().__new__(cls) if function is None else _decorated(function, cls.mode)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(_mode.get())
        _mode.set(self.mode)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        _mode.set(self._before.pop())

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return _decorated(function, self.mode)


class no_grad(_Mode):
    """A mode without recording: results have ``requires_grad=False`` and no ``grad_fn``."""

    mode = False


class enable_grad(_Mode):
    """A mode with recording, for use inside ``no_grad``."""

    mode = True


class inference_mode(_Mode):
    """A mode without recording, like ``no_grad``; ``inference_mode(False)`` does not change the mode."""

    mode = False

    def __new__(cls, mode: bool | Callable[..., Any] = True) -> Any:
        return object.__new__(cls) if isinstance(mode, bool) else _decorated(mode, False)

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self._inference = [mode]

    def __enter__(self) -> None:
        self._before.append(_mode.get())
        self._inference.append(_inference.get())
        _inference.set(self._inference[0])
        if self._inference[0]:
            _mode.set(False)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        _inference.set(self._inference.pop())
        super().__exit__(kind, error, trace)


_inference: ContextVar[bool] = ContextVar("autodiff_inference_mode", default=False)

is_inference_mode_enabled = _inference.get
"""Return whether ``inference_mode`` is active."""


def _decorated(function: Callable[..., Any], mode: bool) -> Callable[..., Any]:
    context = enable_grad if mode else no_grad
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generate(*args: Any, **kwargs: Any) -> Any:
            # Set the mode while the code of the generator runs, not while its caller runs.
            generator = function(*args, **kwargs)
            resume: Callable[[], Any] = functools.partial(next, generator)
            try:
                while True:
                    with context():
                        value = resume()
                    try:
                        resume = functools.partial(generator.send, (yield value))
                    except GeneratorExit:
                        raise
                    except BaseException as error:
                        resume = functools.partial(generator.throw, error)
            except StopIteration as stop:
                return stop.value
            finally:
                with context():
                    generator.close()

        return generate

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with context():
            return function(*args, **kwargs)

    return call
