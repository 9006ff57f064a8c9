"""The outputs of a call of a function with a custom VJP."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from autodiff_cli.autograd.custom.node import FunctionNode, Output
from autodiff_cli.autograd.modes import no_grad
from autodiff_cli.autograd.primitives.structural import rebase_history, reshaped
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.autograd.views_and_versions import View, check_recorded, mark_changed
from autodiff_cli.errors import GraphError

AS_IS = (
    "An input that has been returned as-is as output is being saved for backward. This is not supported if you override "
    "setup_context. You should return and save a view of the input instead, e.g. with x.view_as(x) or setup ctx inside the "
    "forward function itself."
)
NOT_AN_INPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be passed to "
    "ctx.mark_dirty()."
)
NOT_RETURNED = (
    "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified inplace "
    "must all be outputs of the Function."
)
SEVERAL = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more than one "
    "Tensor. Clone the input, or return one tensor."
)


class Outputs:
    """The outputs of a call of a function, which become outputs of its node.

    Args:
        node: the node of the call.
        args: the arguments of ``forward``.
        outputs: the results of ``forward``.
        recording: whether the call is recorded.
        without_ctx: whether ``forward`` does not take ``ctx``, so that ``setup_context`` saved the values.
    """

    def __init__(self, node: FunctionNode, args: Sequence[Any], outputs: list[Output], recording: bool, without_ctx: bool) -> None:
        self.node = node
        self.args = args
        self.outputs = outputs
        self.recording = recording
        self.saved_by_setup = node._saved if without_ctx else ()

    def completed(self) -> list[Output]:
        """Complete the node, and return the outputs with their histories; raise GraphError if ``mark_dirty`` was used wrongly."""
        node = self.node
        for tensor in node._dirty:
            mark_changed(tensor)
            if not _is_one_of(tensor, self.outputs):
                raise GraphError(NOT_RETURNED)
        if self.recording:
            node.describe_outputs([value if isinstance(value, Tensor) else None for value in self.outputs])
        node._differentiable = [self._is_differentiable(value) for value in self.outputs]
        results = []
        for number, value in enumerate(self.outputs):
            results.append(self._completed_tensor(value, number) if isinstance(value, Tensor) else value)
        if self.recording:
            node.seal(results)
        return results

    def _completed_tensor(self, value: Tensor, number: int) -> Tensor:
        """Return the output ``number`` with its history; ``View.created`` of a view is why it cannot be changed later."""
        differentiable = self.node._differentiable
        result = self._with_history(value, number) if differentiable[number] else self._without_history(value)
        view = _view_of(result)
        is_changed_input = _is_one_of(value, self.args) and _is_one_of(value, self.node._dirty)
        if view is not None and not is_changed_input:
            view.created = "several" if differentiable.count(True) > 1 else "function"
        return result

    def _is_differentiable(self, value: Output) -> bool:
        """Return whether a result is recorded: a tensor of floats that is not marked as constant."""
        return (
            self.recording
            and isinstance(value, Tensor)
            and value._data.dtype.kind == "f"
            and not _is_one_of(value, self.node._constant)
        )

    def _without_history(self, value: Tensor) -> Tensor:
        """Return a result that is not differentiable, without a history; for an input, whose history stays, it is a view."""
        is_input = _is_one_of(value, self.args)
        is_changed = _is_one_of(value, self.node._dirty)
        if value._requires_grad and is_input:
            return value.detach()
        if value._requires_grad:
            return value.detach_() if _view_of(value) is None else value  # a view cannot be detached in place
        return self._alias(value) if is_input and not is_changed else value

    def _with_history(self, value: Tensor, number: int) -> Tensor:
        """Return a result as the output ``number`` of the node: itself, or, for an input that was not changed, a view of it."""
        is_input = _is_one_of(value, self.args)
        if _is_one_of(value, self.node._dirty):
            self._check_dirty(value, is_input)
            rebase_history(value, tensor_on(value._data, (self.node, number)))  # also of its views
            return value
        output = self._alias(value) if is_input else value
        output._edge, output._requires_grad = (self.node, number), True
        return output

    def _alias(self, value: Tensor) -> Tensor:
        """Return a view of an input that was returned unchanged; ``setup_context`` must not have saved this input."""
        if any(value is saved for saved in self.saved_by_setup):
            raise GraphError(AS_IS)
        with no_grad():
            return reshaped(value, value.shape)  # type: ignore[no-any-return]

    def _check_dirty(self, tensor: Tensor, is_input: bool) -> None:
        """Raise GraphError if ``forward`` must not change a tensor in place; warn if it is neither an input nor a view."""
        view = _view_of(tensor)
        if not is_input:
            if view is not None:
                raise GraphError(NOT_AN_INPUT)
            warnings.warn(NOT_AN_INPUT, UserWarning, stacklevel=7)  # the caller of apply
        check_recorded(tensor, view, tense="has been")
        if view is not None and len(self.outputs) > 1:
            raise GraphError(SEVERAL)


def _view_of(value: Output) -> View | None:
    """Return the steps that make a result, if it is a view with a history."""
    return value._extra.view if isinstance(value, Tensor) and value._extra is not None else None


def _is_one_of(value: Output, tensors: Sequence[Output]) -> bool:
    """Return whether a value is a tensor and is one of these objects."""
    return isinstance(value, Tensor) and any(value is other for other in tensors)
