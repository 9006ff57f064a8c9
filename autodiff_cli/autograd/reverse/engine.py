"""Backward passes inside each other, and in several threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.autograd.dtypes import as_float
from autodiff_cli.autograd.modes import restore_recording, switch_recording
from autodiff_cli.autograd.node import Cotangent, Edge
from autodiff_cli.autograd.reverse.backward_pass import BackwardPass
from autodiff_cli.autograd.tensor import Tensor, new_tensor, tensor_on

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

PASSES_PER_THREAD = 20
"""The depth of nested backward passes after which a pass runs in a new thread, whose stack is empty."""

current_pass: ContextVar[BackwardPass | None] = ContextVar("autodiff_backward_pass", default=None)
"""The backward pass that is running in this context, the innermost of nested passes."""

Captured = dict[Edge, Cotangent]


def run_backward(
    roots: Sequence[tuple[Edge, Cotangent]],
    retain_graph: bool,
    create_graph: bool,
    inputs: Sequence[Edge] | None = None,
    accumulates: bool = True,
) -> Captured:
    """Run all nodes that can be reached from ``roots``.

    Args:
        roots: the edges to start from, each with a cotangent.
        retain_graph: whether to keep the saved values of the nodes.
        create_graph: whether to record the pass; cotangents are then tensors.
        inputs: the only edges whose cotangents are computed; ``None`` for all leaves.
        accumulates: whether to add the cotangents of leaves to ``.grad``.

    Returns:
        Without ``accumulates``, the cotangent of each edge of ``inputs`` that was reached.
    """
    started = BackwardPass([edge[0] for edge, _ in roots], retain_graph, create_graph, inputs, accumulates)
    outer = current_pass.get()
    if outer is not None:
        started.depth = outer.depth + 1
        if started.depth % PASSES_PER_THREAD == 0:
            return _in_thread(lambda: _run(started, roots))
    return _run(started, roots)


def _run(started: BackwardPass, roots: Sequence[tuple[Edge, Cotangent]]) -> Captured:
    outer, recording = current_pass.set(started), switch_recording(started.create_graph)
    try:
        # NumPy's warnings are suppressed, because an infinite or nan derivative is a valid result.
        with np.errstate(all="ignore"):
            return started.run(roots)
    finally:
        restore_recording(recording)
        current_pass.reset(outer)


def _in_thread(function: Callable[[], Captured]) -> Captured:
    """Call a function in a new thread and a copy of this context, and wait for it."""
    import threading

    results: list[Captured] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=copy_context().run, args=(run,), name="autodiff-backward", daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


class _VariableType(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableType):
    """PyTorch's deprecated name of the tensor: a call returns a tensor, and all tensors are instances."""

    def __new__(cls, data: ArrayLike | Tensor, requires_grad: bool = False) -> Tensor:  # type: ignore[misc]
        data = tensor_on(as_float(data._data)) if isinstance(data, Tensor) and requires_grad else data
        return new_tensor(data, requires_grad)
