"""The batches of the calls of ``vmap`` that are running."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from autodiff_cli.errors import VmapError

_Args = ParamSpec("_Args")
_Result = TypeVar("_Result")
_active: ContextVar[tuple[Any, ...]] = ContextVar("autodiff_batches", default=())

active_batches = _active.get
"""Return the batches of the calls of ``vmap`` that are running, the outermost first."""


@contextmanager
def running(*batches: Any) -> Iterator[None]:
    """Return a context in which the given batches, the outermost first, are the active batches."""
    before = _active.set(batches)
    try:
        yield
    finally:
        _active.reset(before)


def draws(function: Callable[_Args, _Result]) -> Callable[_Args, _Result]:
    """Decorate a function that draws random numbers: inside ``vmap``, a call raises VmapError."""

    @functools.wraps(function)
    def drawn(*args: _Args.args, **kwargs: _Args.kwargs) -> _Result:
        if active_batches():
            raise VmapError(
                "vmap: called random operation while in randomness error mode. Please perform the randomness operation out of vmap",
                hint="draw the numbers before, and pass them as an argument of the function",
            )
        return function(*args, **kwargs)

    return drawn
