"""The levels of forward mode."""

from __future__ import annotations

from types import TracebackType

from autodiff_cli.autograd.primitives.primitive import next_level


class Level:
    """One application of forward mode; a context manager, after whose end its dual tensors act as their primals.

    Attributes:
        number: the level of dispatch; levels that start later are higher.
        is_open: whether the level has not ended.
    """

    __slots__ = ("is_open", "number")

    def __init__(self) -> None:
        self.number = next_level()
        self.is_open = True

    def __enter__(self) -> Level:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.is_open = False
