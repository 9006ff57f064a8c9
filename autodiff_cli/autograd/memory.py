"""Memory that several tensors share: views, and version counters for in-place changes."""

from __future__ import annotations

import itertools
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from autodiff_cli.autograd.tensor import Tensor, root_of, share_memory

next_sequence_nr = itertools.count(1).__next__
"""Return the next sequence number, which increases with every node and every in-place change."""

last_change = [0]
"""The sequence number of the latest in-place change of any tensor; a node recorded after it skips the version check."""

change_observers: list[Callable[[Tensor], None]] = []
"""Functions that are called with each tensor that is about to be changed in place."""

CHANGED_HINT = "use the out-of-place operation, or call clone() before the change"
_MOST_CHANGES = 1000
_FEW_VIEWS = 8


class Changed:
    """The placeholder of a saved value that was changed in place."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        self.message = message


class View:
    """The steps that make a view from its source, as a linked list: the last step, and the view that it was applied to.

    Attributes:
        source: the tensor that owns the history.
        before: the view that ``function`` was applied to; ``None`` if it was applied to the source.
        function, args: the function of the last step, and its arguments after the tensor.
        barred: the error message for an in-place change of the view while operations are recorded; empty if it is allowed.
    """

    __slots__ = ("args", "barred", "before", "function", "source")

    def __init__(self, source: Tensor, before: View | None, function: Callable[..., Any], args: Sequence[Any], barred: str) -> None:
        self.source = source
        self.before = before
        self.function = function
        self.args = args
        self.barred = barred

    def of(self, value: Any) -> Any:
        """Apply the steps of this view to another tensor or array."""
        steps = []
        step: View | None = self
        while step is not None:
            steps.append(step)
            step = step.before
        for step in reversed(steps):
            value = step.function(value, *step.args)
        return value


class Version(NamedTuple):
    """The number of in-place changes of memory: in total, and since a node was recorded."""

    version: int
    later: int


def changes_since(saved: Any, sequence_nr: int) -> Version:
    """Return how often the memory of a saved value was changed in place, in total and since a node was recorded."""
    extra = getattr(saved, "_extra", None)
    root = None if extra is None else (saved if extra.base is None else extra.base)._extra
    if root is None or root.changes is None:
        return Version(0, 0)
    return Version(root.version, sum(when > sequence_nr for when in root.changes))


def changed_message(tensor: Tensor, version: int, later: int) -> str:
    """Return PyTorch's message for a saved tensor that was changed in place ``later`` times since it was saved."""
    kind = tensor.dtype.scalar_name
    made = "" if tensor._edge is None else f", which is output {tensor._edge[1]} of {tensor._edge[0].name()},"
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{kind}Tensor {list(tensor.shape)}]{made} is at version {version}; "
        f"expected version {version - later} instead."
    )


def mark_changed(tensor: Tensor) -> None:
    """Count an in-place change that is about to be made, and replace saved outputs of nodes by ``Changed``."""
    for observe in change_observers:
        observe(tensor)
    root = root_of(tensor)
    extra = root.extra()
    extra.version += 1
    last_change[0] = next_sequence_nr()
    if extra.changes is None:
        extra.changes = deque(maxlen=_MOST_CHANGES)
    extra.changes.append(last_change[0])
    for changed in (root, tensor):
        if changed._edge is not None:
            node = changed._edge[0]
            if node.keeps_output and node._saved is not None and not isinstance(node._saved, Changed):
                node._saved = Changed(changed_message(changed, extra.version, 1))


def view_of(made: Tensor, tensor: Tensor, function: Callable[..., Any], args: Sequence[Any], barred: str = "") -> Tensor:
    """Mark ``made`` as the view ``function(tensor, *args)`` and return it.

    See ``View`` for ``barred``.
    """
    extra = share_memory(made, tensor).extra()
    before = None if tensor._extra is None else tensor._extra.view
    source = tensor if before is None else before.source
    extra.view = View(source, before, function, args, barred or ("" if before is None else before.barred))
    under = source.extra()
    if under.views is None:
        under.views = []
    elif len(under.views) >= _FEW_VIEWS and not len(under.views) & (len(under.views) - 1):
        under.views = [reference for reference in under.views if reference() is not None]
    under.views.append(weakref.ref(made))
    return made


def adopt(tensor: Tensor, made: Tensor) -> None:
    """Give ``tensor`` the history of ``made``; if the gradient is retained, retain it at the new node."""
    retains = tensor.retains_grad
    if retains and tensor._edge is not None:
        node, output = tensor._edge
        node.ensure_hooks().retaining.pop(output, None)
    tensor._edge, tensor._requires_grad = made._edge, made._requires_grad
    if retains and tensor._edge is not None:
        tensor.retain_grad()
