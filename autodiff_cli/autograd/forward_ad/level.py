"""The levels of forward mode, and the switch that turns it off."""

from __future__ import annotations

from contextvars import ContextVar
from types import TracebackType

from autodiff_cli.autograd.modes import is_inference_mode_enabled
from autodiff_cli.autograd.primitives.primitive import next_level


class Level:
    """One application of forward mode; a context manager, whose end turns its dual tensors into ordinary tensors.

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
        self.close()

    def close(self) -> None:
        """End the level."""
        self.is_open = False


_enabled: ContextVar[bool] = ContextVar("autodiff_forward_mode", default=True)


def set_forward_enabled(mode: bool) -> bool:
    """Set whether results have tangents, and return the previous setting."""
    before = _enabled.get()
    _enabled.set(mode)
    return before


def is_forward_enabled() -> bool:
    """Return whether results have tangents."""
    return _enabled.get() and not is_inference_mode_enabled()
