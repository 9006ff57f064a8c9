"""The run of a backward pass, which may be inside another."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar

import numpy as np

from autodiff_cli.autograd.modes import restore_recording, switch_recording
from autodiff_cli.autograd.node import Cotangent, Edge
from autodiff_cli.autograd.reverse.backward_pass import BackwardPass

current_pass: ContextVar[BackwardPass | None] = ContextVar("autodiff_backward_pass", default=None)
"""The backward pass that is running in this context, the innermost of nested passes."""


def run_backward(
    roots: Sequence[tuple[Edge, Cotangent]],
    retain_graph: bool,
    create_graph: bool,
    inputs: Sequence[Edge] | None = None,
    accumulates: bool = True,
) -> dict[Edge, Cotangent]:
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
    outer, recording = current_pass.set(started), switch_recording(create_graph)
    try:
        # NumPy's warnings are suppressed, because an infinite or nan derivative is a valid result.
        with np.errstate(all="ignore"):
            return started.run(roots)
    finally:
        restore_recording(recording)
        current_pass.reset(outer)
