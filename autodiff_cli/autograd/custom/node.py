"""The node of a function with a custom VJP, which is also the context that its methods receive."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.hooks import node_observers
from autodiff_cli.autograd.modes import inference_used, set_grad_enabled
from autodiff_cli.autograd.node import NO_EDGE, OUTPUT, Cotangent, Node, SavedOutput, leaf_edge, recorded
from autodiff_cli.autograd.reverse.accumulate import as_tensor
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.autograd.views_and_versions import refuse_inference
from autodiff_cli.errors import ArgumentError, DtypeError, GraphError, ShapeError, type_name

if TYPE_CHECKING:
    from autodiff_cli.autograd.function import Function

Output = Any
"""One result of ``forward``: a tensor, or any other object, which ``apply`` returns unchanged."""


PYTORCH = "torch.autograd.function"
"""The module of the classes of these nodes in PyTorch, which their printed form names."""


class FunctionNode(Node):
    """The node of a ``Function``; the methods of the function receive this node as ``ctx`` and may set attributes on it."""

    __slots__ = ("__dict__",)

    _function: type[Function]
    _takes_tensors: tuple[bool, ...]
    """Whether each argument of ``forward`` was a tensor."""
    needs_input_grad: tuple[bool, ...]
    _differentiable: Sequence[bool]
    """Whether each output is differentiable."""
    _materialize_non_diff_grads: bool = True
    """Whether ``backward`` receives zeros for outputs that are not differentiable; PyTorch's name."""
    runs_undefined = True

    def __init__(self, function: type[Function]) -> None:
        self._function = function
        self._saved = ()
        self._saved_for_forward: tuple[Tensor | None, ...] = ()
        self._in_jvp = False  # whether ``jvp`` is running
        self._sealed = False  # whether ``forward`` has ended, see ``seal``
        self._edges = ()
        self._hooks = None
        self._materialize = True  # see ``set_materialize_grads``
        self._constant: tuple[Tensor, ...] = ()  # the outputs that are marked as not differentiable
        self._dirty: tuple[Tensor, ...] = ()  # the inputs that ``forward`` changed in place

    def __repr__(self) -> str:
        return f"<{PYTORCH}.{type(self).__name__} object at {id(self):#x}>"

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save input tensors or output tensors of this function for ``backward``.

        Raises:
            DtypeError: if an argument is neither a tensor nor ``None``; set other values as attributes.
        """
        for i, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Tensor):
                raise DtypeError(
                    f"save_for_backward can only save variables, but argument {i} is of type {type_name(tensor)}",
                    hint="store other values as attributes: ctx.name = value",
                )
        self._saved = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Save tensors for ``jvp``, where they are ``ctx.saved_tensors``.

        Raises:
            ArgumentError: if an argument is neither a tensor nor ``None``.
        """
        if not all(tensor is None or isinstance(tensor, Tensor) for tensor in tensors):
            raise ArgumentError(
                "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on ctx."
            )
        self._saved_for_forward = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Mark outputs as not differentiable.

        Raises:
            DtypeError: if an argument is not a tensor.
        """
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise DtypeError(f"mark_non_differentiable only accepts variable arguments, but got {type_name(tensor)}")
        self._constant = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Mark inputs that ``forward`` changed in place; each must be returned as an output.

        Raises:
            DtypeError: if an argument is not a tensor.
        """
        for i, tensor in enumerate(tensors):
            if not isinstance(tensor, Tensor):
                raise DtypeError(f"mark_dirty can only accept variables, but argument {i} is of type {type_name(tensor)}")
        self._dirty = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether ``backward`` receives zeros (the default) or ``None`` for an unused output."""
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors that ``save_for_backward`` saved, with their histories; inside ``jvp``, those of ``save_for_forward``.

        Raises:
            GraphError: if the graph was freed, or one of the tensors was changed in place.
        """
        if self._in_jvp:
            return self._saved_for_forward
        if not self._sealed:  # ``forward`` has not ended
            return tuple(self._saved)
        self.check_saved()
        tensors = []
        for entry, (_, edge) in zip(self._saved, self.saved_slots, strict=True):
            is_packed = hasattr(entry, "unpack")  # by a hook for saved tensors; ``recorded`` adds the history
            tensors.append(entry.unpack(self) if is_packed else recorded(self, entry, edge))
        return tuple(tensors)

    def seal(self, outputs: Sequence[Output]) -> None:
        """Complete the node after ``forward``, whose results are ``outputs``; raise GraphError if it saves an inference tensor.

        The saved values get their final form, packed if hooks are in effect, and ``saved_slots`` the numbers of their edges.
        """
        self._saved = _with_saved_outputs(self._saved, outputs)
        self._sealed = True
        if inference_used[0]:
            refuse_inference(self)
        self.saved_slots = tuple((str(i), self._edge_number(entry)) for i, entry in enumerate(self._saved))
        if node_observers:
            from autodiff_cli.autograd.saved.packing import pack_saved

            pack_saved(self)
        self.keeps_output = any(isinstance(entry, SavedOutput) for entry in self._saved)  # not one that a hook packed

    def _edge_number(self, entry: Tensor | SavedOutput | None) -> int:
        """Return the number of the edge of a saved value: ``OUTPUT`` for an output and ``None``, ``NO_EDGE`` for a constant."""
        if not isinstance(entry, Tensor):
            return OUTPUT
        edge = (entry._edge or leaf_edge(entry)) if entry._requires_grad else None
        return NO_EDGE if edge is None or edge not in self._edges else self._edges.index(edge)

    def apply(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        """Run ``backward`` without recording, and return arrays; all gradients are computed, ``needed`` or not."""
        with set_grad_enabled(False):
            return [part._data if type(part) is Tensor else part for part in self._run(grad)]

    def apply_recorded(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        return self._run(grad)

    def _run(self, grad: Cotangent) -> list[Tensor | None]:
        """Call ``backward``, and return the gradients of the arguments; raise GraphError if it returns too many or too few."""
        result = self._function._backward()(self, *self._output_gradients(grad))
        parts = list(result) if isinstance(result, tuple) else [result]
        # A surplus ``None`` at the end is ignored, as in PyTorch.
        while len(parts) > len(self._edges) and parts[-1] is None:
            parts.pop()
        if len(parts) != len(self._edges):
            raise GraphError(
                f"function {self.name()} returned an incorrect number of gradients (expected {len(self._edges)}, got {len(parts)})",
                hint="return one gradient from backward for each argument of forward, or None for an argument without a gradient",
            )
        return [self._checked_gradient(i, part) for i, part in enumerate(parts)]

    def _output_gradients(self, grad: Cotangent) -> list[Tensor | None]:
        """Return the gradient of each output as a tensor; for an undefined one, zeros or ``None``, as the function has set."""
        tensors: list[Tensor | None] = []
        gradients = [grad] if self._outputs == 1 else grad  # a list for several outputs
        for i, gradient in enumerate(gradients):
            if gradient is not None:
                tensors.append(as_tensor(gradient))
                continue
            takes_zeros = self._materialize and (self._materialize_non_diff_grads or self._differentiable[i])
            shape, dtype = self.output_type(i)  # ``None`` for an output that is not a tensor
            tensors.append(tensor_on(np.zeros(shape, dtype)[()]) if takes_zeros and shape is not None else None)
        return tensors

    def _checked_gradient(self, index: int, part: Tensor | None) -> Tensor | None:
        """Return the gradient ``part`` of an argument, ``None`` if it does not need one; refuse another type or shape."""
        if part is None:
            return None
        if not isinstance(part, Tensor):
            raise DtypeError(
                f"expected Variable or None (got {type_name(part)})",
                hint=f"it is gradient {index} of {self.name()}, counted from 0",
            )
        if not self._takes_tensors[index]:
            raise GraphError(
                f"function {self.name()} returned a gradient different than None at position {index + 1}, but the corresponding "
                "forward input was not a Variable"
            )
        edge = self._edges[index]
        if edge is None:
            return None
        node, output = edge
        shape, _ = node.output_type(output)
        if part.shape != shape and not _sums_to(part.shape, shape):
            raise ShapeError(
                f"Function {self.name()} returned an invalid gradient at index {index} - got {list(part.shape)} "
                f"but expected shape compatible with {list(shape)}"
            )
        return part

    def release(self) -> None:
        if self._saved:  # a node that saved nothing may run again
            self._saved = None


def _with_saved_outputs(saved: Sequence[Tensor | None], outputs: Sequence[Output]) -> tuple[Tensor | SavedOutput | None, ...]:
    """Return saved values, with a ``SavedOutput`` for each output: its tensor would form a reference cycle with the node."""
    # By ``id``, the number of each output among the results, ``None`` for an output that is not differentiable.
    numbers = {id(value): None if value._edge is None else i for i, value in enumerate(outputs) if isinstance(value, Tensor)}
    return tuple(
        SavedOutput(entry._data, numbers[id(entry)]) if entry is not None and id(entry) in numbers else entry for entry in saved
    )


def _sums_to(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Return whether a gradient of shape ``shape`` can be summed to ``target``, the shape of a broadcast value."""
    return len(shape) >= len(target) and all(n == m or m == 1 for n, m in zip(reversed(shape), reversed(target), strict=False))
