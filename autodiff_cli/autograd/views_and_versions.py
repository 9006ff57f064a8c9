"""Memory that several tensors share: views, and version counters for in-place changes."""

from __future__ import annotations

import itertools
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from autodiff_cli.autograd.modes import inference_used, is_inference_mode_enabled, is_recording
from autodiff_cli.autograd.tensor import CLONE_INFERENCE, Tensor, is_inference, root_of
from autodiff_cli.errors import GraphError
from autodiff_cli.lazy import named
from autodiff_cli.structs import Struct

if TYPE_CHECKING:
    from autodiff_cli.autograd.node import Edge, Node

next_sequence_nr = itertools.count(1).__next__
"""Return the next sequence number, which increases with every node and every in-place change."""

last_change = [0]
"""The sequence number of the latest in-place change of any tensor; a node recorded after it skips the version check."""

CHANGED_HINT = "use the out-of-place operation, or call clone() before the change"
_MOST_CHANGES = 1000
"""The number of latest changes of a memory whose sequence numbers are kept."""
_FEW_VIEWS = 8
"""The number of views from which on the list of views is searched for views that do not exist any more."""


class ChangedOutput(Struct):
    """The placeholder of a saved output that was changed in place.

    Attributes:
        message: PyTorch's message about the change.
        version: the version of the output after the change.
        expected: its version when it was saved.
    """

    message: str
    version: int
    expected: int


Created = Literal["", "no_grad", "inference", "several", "function"]
"""How a view was created: by a recorded operation (empty), in a mode without recording, as one of several views, or by a custom
function.  Only views of the first kind may be changed in place while operations are recorded."""


class View:
    """The steps that make a view from its source, as a linked list: the last step, and the view that it was applied to.

    After an in-place change of the memory, the histories of all views are derived from the source again.

    Attributes:
        source: the tensor that owns the history.
        before: the view that ``function`` was applied to; ``None`` if it was applied to the source.
        function, args: the function of the last step, and its arguments after the tensor.
        created: how the view was created.
    """

    __slots__ = ("args", "before", "created", "function", "source")

    def __init__(
        self, source: Tensor, before: View | None, function: Callable[..., Any], args: Sequence[Any], created: Created
    ) -> None:
        self.source, self.before, self.function, self.args, self.created = source, before, function, args, created

    def renew(self, tensor: Tensor) -> None:
        """Derive the history of the view ``tensor`` from its source after an in-place change; a view of a constant has none."""
        if tensor._edge is None and not self.source._requires_grad:
            return
        if self.created:  # not by a recorded operation, so that a later use of the history is an error
            tensor._edge = LostEdge(self, known_edge(tensor))
        else:
            edge = named("autodiff_cli.autograd.primitives.structural:edge_from_source")(self)
            adopt(tensor, edge, self.source._requires_grad)
        tensor._requires_grad = True

    def refusal(self, edge: Edge | None, indirect: bool) -> GraphError | None:
        """Return PyTorch's error for a change that the history of the view cannot take over, or ``None`` if it can.

        Args:
            edge: the edge of the view.
            indirect: whether the base or another view was changed, and not the view itself.
        """
        if not self.created:
            return None
        change = "its base or another view of its base has been" if indirect else "is being"
        output = "" if edge is None else f"Output {edge[1]} of {operation_name(edge[0])} is a view"
        if not output or self.created in _MODES:
            inference = self.created == "inference"
            start = f"{output} of a view which was created in" if output else "A view was created in"
            ending = "in normal mode" if inference else "with grad mode enabled"
            start = f"{start} {'inference' if inference else 'no_grad'} mode and {change} modified inplace {ending}."
        else:
            start = f"{output} and {change} modified inplace."
        return GraphError(f"{start} {_WHY_NOT[self.created]}", hint="call clone() on the view before the change")

    def applied_to(self, value: Any) -> Any:
        """Apply the steps of this view to another tensor or array."""
        steps = []
        step: View | None = self
        while step is not None:
            steps.append(step)
            step = step.before
        for step in reversed(steps):
            value = step.function(value, *step.args)
        return value


_MODES = ("no_grad", "inference")
_WHY_NOT: dict[str, str] = {
    "several": (
        "This view is the output of a function that returns multiple views. Such functions do not allow the output views to be "
        "modified inplace. You should replace the inplace operation by an out-of-place one."
    ),
    "function": (
        "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
        "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
        "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."
    ),
} | {
    mode: (
        "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the "
        f"view and the inplace either both inside the {mode}{'' if mode == 'no_grad' else '_mode'} block (if you don't want the "
        "inplace to be tracked) or both outside (if you want the inplace to be tracked)."
    )
    for mode in _MODES
}


def operation_name(node: Node) -> str:
    """Return the name of a node without ``Backward0``, as PyTorch shows it in messages."""
    return type(node).__name__.rstrip("0123456789").removesuffix("Backward")


class LostEdge(tuple[Any, ...]):
    """The edge of a view whose history was lost by an in-place change; any use but ``edge``, the former edge, raises."""

    edge: Edge | None
    _view: View

    def __new__(cls, view: View, edge: Edge | None) -> Any:
        lost = super().__new__(cls)
        lost._view, lost.edge = view, edge
        return lost

    def _refuse(self, *_: object) -> Any:
        """Raise the error; any use of the edge as a tuple calls this method."""
        refusal = self._view.refusal(self.edge, indirect=True)
        assert refusal is not None
        raise refusal

    __bool__ = __getitem__ = __iter__ = _refuse


def check_changeable(tensor: Tensor) -> None:
    """Raise GraphError if a tensor is an inference tensor, which may be changed in place in ``inference_mode`` only."""
    if is_inference(tensor) and not is_inference_mode_enabled():
        raise GraphError("Inplace update to inference tensor outside InferenceMode is not allowed.", hint=CLONE_INFERENCE)


def check_recorded(tensor: Tensor, view: View | None, tense: str = "is being") -> None:
    """Raise GraphError if a recorded in-place change is not possible: of a leaf, its view, or a view made without recording.

    ``view`` has the steps of a view with a history; ``tense`` is the verb of the message, ``has been`` after the change.
    """
    refusal = None if view is None else view.refusal(known_edge(tensor), indirect=False)
    if refusal is not None:
        raise refusal
    if tensor._requires_grad and view is not None and view.source.is_leaf:
        raise GraphError(
            "a view of a leaf Variable that requires grad is being used in an in-place operation.",
            hint="use no_grad() or a copy, such as x = x.clone()",
        )
    if tensor._requires_grad and tensor.is_leaf:
        raise GraphError(
            f"a leaf Variable that requires grad {tense} used in an in-place operation.",
            hint="use no_grad() or a new tensor, such as x = x + 1",
        )


def refuse_inference(node: Node) -> None:
    """Raise GraphError if a node that is recorded saves an inference tensor, whose changes would not be noticed."""
    if any(isinstance(value, Tensor) and is_inference(value) for value in node._saved or ()):
        raise GraphError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
            "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in "
            "autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
        )


def changes_since(saved: Any, sequence_nr: int) -> tuple[int, int]:
    """Return how often the memory of a saved value was changed in place, in total and after the number; never if not a tensor."""
    extra = getattr(saved, "_extra", None)  # an array or a number does not have it
    owner = extra if extra is None or extra.base is None else extra.base._extra  # the state of the tensor that owns the memory
    if owner is None or owner.changes is None:
        return 0, 0
    return owner.version, sum(when > sequence_nr for when in owner.changes)


def changed_message(tensor: Tensor, version: int, later: int) -> str:
    """Return PyTorch's message for a saved tensor that was changed in place ``later`` times since it was saved."""
    kind = tensor.dtype.scalar_name
    edge = known_edge(tensor)
    origin = "" if edge is None else f", which is output {edge[1]} of {operation_name(edge[0])},"
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{kind}Tensor {list(tensor.shape)}]{origin} is at version {version}; "
        f"expected version {version - later} instead."
    )


def known_edge(tensor: Tensor) -> Edge | None:
    """Return the edge of a tensor; for a view whose history was lost, the edge that it had before."""
    edge = tensor._edge
    return edge.edge if type(edge) is LostEdge else edge


def count_change(tensor: Tensor) -> None:
    """Count an in-place change that is about to be made, and replace saved outputs of nodes by ``ChangedOutput``."""
    root = root_of(tensor)
    extra = root.extra()
    extra.version += 1
    if extra.changes is None:
        extra.changes = deque(maxlen=_MOST_CHANGES)
    last_change[0] = next_sequence_nr()
    extra.changes.append(last_change[0])
    for changed in (root,) if root is tensor else (root, tensor):
        edge = known_edge(changed)
        if edge is not None:
            node = edge[0]
            if node.keeps_output and node._saved is not None:
                before = node._saved
                expected = before.expected if isinstance(before, ChangedOutput) else extra.version - 1
                message = changed_message(changed, extra.version, extra.version - expected)
                node._saved = ChangedOutput(message, extra.version, expected)


def mark_changed(tensor: Tensor) -> None:
    """Count an in-place change that is about to be made, and derive the histories of the views of the memory again."""
    count_change(tensor)
    root = root_of(tensor)
    source = tensor if tensor._extra is None or tensor._extra.view is None else tensor._extra.view.source
    for owner in (source,) if source is root else (source, root):  # the owners of the history and of the memory
        if owner._requires_grad:
            renew_views(owner)


def renew_views(source: Tensor) -> None:
    """Derive the histories of the views of a source whose memory or history was changed."""
    if source._extra is not None and source._extra.views:
        for tensor, view in live_views(source):
            view.renew(tensor)


def share_memory(result: Tensor, tensor: Tensor) -> Tensor:
    """Mark ``result`` as sharing the memory of ``tensor``, without a common history, and return it."""
    result.extra().base = root_of(tensor)
    return result


def view_of(result: Tensor, tensor: Tensor, function: Callable[..., Any], args: Sequence[Any], created: Created = "") -> Tensor:
    """Mark ``result`` as the view ``function(tensor, *args)`` and return it; see ``Created`` for ``created``.

    A view that was not recorded requires grad like its source, and is then a leaf.  A view of a view was created like that view.
    A view of an inference tensor is an inference tensor, which does not have a history.
    """
    extra = share_memory(result, tensor).extra()
    if inference_used[0]:
        result._inference = is_inference(tensor)
        if result._inference:
            return result
    before = None if tensor._extra is None else tensor._extra.view
    source = tensor if before is None else before.source
    created = created or ("" if before is None else before.created)
    extra.view = View(source, before, function, args, created)
    result._requires_grad = result._requires_grad or source._requires_grad
    owner = source.extra()
    if owner.views is None:
        owner.views = []
    elif len(owner.views) >= _FEW_VIEWS and len(owner.views).bit_count() == 1:  # a power of two: seldom, as the list grows
        owner.views = [reference for reference in owner.views if reference() is not None]
    owner.views.append(weakref.ref(result))
    return result


def created_now(created: Created = "") -> Created:
    """Return how a view is created in the current mode; ``created`` if the mode records operations."""
    return created if is_recording() else "inference" if is_inference_mode_enabled() else "no_grad"


def live_views(source: Tensor) -> list[tuple[Tensor, View]]:
    """Return the views of a source that still exist."""
    references = None if source._extra is None else source._extra.views
    views = [] if references is None else [tensor for reference in references if (tensor := reference()) is not None]
    return [(tensor, tensor._extra.view) for tensor in views if tensor._extra is not None and tensor._extra.view is not None]


def adopt(tensor: Tensor, edge: Edge | None, requires_grad: bool) -> None:
    """Give ``tensor`` the history of ``edge`` (``None``: no history); if its gradient is retained, retain it at the new node."""
    retains = tensor.retains_grad
    if retains and tensor._edge is not None:
        node, output = tensor._edge
        node.ensure_hooks().retaining.pop(output, None)
    tensor._edge, tensor._requires_grad = edge, requires_grad
    if retains and tensor._edge is not None:
        tensor.retain_grad()
