"""Anomaly mode: a backward pass that fails names the operation of the forward pass.

While the mode is on, each node that is recorded stores its forward place in ``node.metadata["traceback_"]``.  If a node then
fails, or returns nan, the error tells the forward place.  As in PyTorch, the mode applies to all threads.

A forward place is the Python stack, as a list of lines.  An interpreter whose statements are not Python sets ``forward_place``:

    reset = forward_place.set(lambda: SourcePlace(span, source, path))
    ...
    forward_place.reset(reset)

An error in the backward pass of a node with a ``SourcePlace`` gets this place (``AutodiffError.at``) unless it has one; there is
no warning then, because the message shows the line and the caret.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from os.path import dirname
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autodiff_cli.autograd.hooks import node_observers
from autodiff_cli.errors import AutodiffError, GraphError, Span

if TYPE_CHECKING:
    from types import TracebackType

    from autodiff_cli.autograd.node import Cotangent, Node

ENABLED = "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging."
NO_PLACE = (
    "Error detected in {}. No forward pass information available. Enable detect anomaly during forward pass for more information."
)
_PACKAGE = dirname(dirname(dirname(__file__)))


class SourcePlace(NamedTuple):
    """The place of an operation in a text: a range of characters, the text, and the file that it was read from."""

    span: Span
    source: str
    path: str | None = None


forward_place: ContextVar[Callable[[], SourcePlace | None] | None] = ContextVar("autodiff_forward_place", default=None)
"""A function that returns the place of the operation that is being evaluated; without it, a place is the Python stack."""

running_node: ContextVar[Node | None] = ContextVar("autodiff_running_node", default=None)
"""The node that a backward pass is running; it is set only in anomaly mode."""


class _State:
    """Whether the mode is on, and whether it raises an error at nan."""

    enabled = False
    check_nan = True


def is_anomaly_enabled() -> bool:
    """Return whether anomaly mode is on."""
    return _State.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly mode raises an error at the first node that returns nan."""
    return _State.check_nan


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Switch anomaly mode on or off, for all threads; with ``check_nan``, a node that returns nan is then an error."""
    if mode and not _State.enabled:
        node_observers.append(_store_place)
    if _State.enabled and not mode:
        node_observers.remove(_store_place)
    _State.enabled, _State.check_nan = mode, check_nan


class set_detect_anomaly:
    """A switch for anomaly mode, which takes effect immediately; in a ``with`` statement, it is undone at the end.

    Args:
        mode: whether a failing backward pass names the operation of the forward pass.
        check_nan: whether a node that returns nan is an error.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev = is_anomaly_enabled()
        self.prev_check_nan = is_anomaly_check_nan_enabled()
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        set_anomaly_enabled(self.prev, self.prev_check_nan)


class detect_anomaly(set_detect_anomaly):
    """Anomaly mode in a ``with`` block; see ``set_detect_anomaly``."""

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(is_anomaly_enabled(), is_anomaly_check_nan_enabled())  # changes nothing until the block
        self.check_nan = check_nan
        warnings.warn(ENABLED, stacklevel=2)

    def __enter__(self) -> None:
        set_anomaly_enabled(True, self.check_nan)


def _store_place(node: Node) -> None:
    """Store the forward place of a node that is being recorded; the Python stack if no interpreter tells a place."""
    place = forward_place.get()
    source_place = None if place is None else place()
    node.metadata["traceback_"] = _python_stack() if source_place is None else source_place


def _python_stack() -> list[str]:
    """Return the lines of the Python stack, without the functions of this package."""
    import traceback

    return traceback.format_list([frame for frame in traceback.extract_stack() if not frame.filename.startswith(_PACKAGE)])


def run_explained(run: Callable[[], None]) -> None:
    """Run a backward pass; if it fails, its error or a warning tells the forward place of the node that was running."""
    before = running_node.set(None)
    try:
        run()
    except BaseException as error:
        node = running_node.get()
        if node is not None:
            _explain_failure(node, error)
        raise
    finally:
        running_node.reset(before)


def check_nan(node: Node, parts: Sequence[Cotangent | None]) -> None:
    """Raise GraphError if a contribution that a node returned contains nan, unless the mode allows it."""
    if not _State.check_nan:
        return
    for i, part in enumerate(parts):
        values: Any = getattr(part, "_data", part)
        if part is not None and np.any(np.isnan(values)):
            raise GraphError(
                f"Function '{node.name()}' returned nan values in its {i}th output.",
                hint="check the inputs of this operation, which is the first operation with a nan gradient",
            )


def _explain_failure(node: Node, error: BaseException) -> None:
    """Tell the forward place of a node whose backward pass failed: a ``SourcePlace`` in the error, a Python stack in a warning."""
    place = node.metadata.get("traceback_")
    if isinstance(place, SourcePlace):
        if isinstance(error, AutodiffError):  # other errors do not show a place
            error.at(place.span, place.source)
            error.path = error.path or place.path
        return
    if place is None:
        _warn(NO_PLACE.format(node.name()))
        return
    _warn(f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{''.join(place)}")


def _warn(message: str) -> None:
    """Issue a warning about the error that is being raised; a filter that makes warnings errors must not replace this error."""
    try:
        warnings.warn(message, stacklevel=3)
    except Warning as raised:
        sys.stderr.write(f"{type(raised).__name__}: {raised}\n")
