"""The calls of ``vmap`` that are running, which random functions ask for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from autodiff_cli.autograd.transforms.batched import Batch

_Args = ParamSpec("_Args")
_Result = TypeVar("_Result")
_active: ContextVar[tuple[Batch, ...]] = ContextVar("autodiff_batches", default=())

active_batches = _active.get
"""Return the batches of the calls of ``vmap`` that are running, the outermost first."""


class running:
    """A context manager in which the given batches, the outermost first, are the active batches."""

    def __init__(self, *batches: Batch) -> None:
        self._batches = batches

    def __enter__(self) -> None:
        self._token = _active.set(self._batches)

    def __exit__(self, *error: object) -> None:
        _active.reset(self._token)


def draws(function: Callable[_Args, _Result]) -> Callable[_Args, _Result]:
    """Return a random function that follows the ``randomness`` of ``vmap``, if it is called inside."""

    @functools.wraps(function)
    def drawn(*args: _Args.args, **kwargs: _Args.kwargs) -> _Result:
        batches = active_batches()
        return batches[-1].draw(function, args, kwargs) if batches else function(*args, **kwargs)

    return drawn
