"""The graph of an expression or of a tensor."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from autodiff_cli.autograd.primitives.argument_kinds import either, optional
from autodiff_cli.autograd.primitives.interface_kinds import A_TENSOR, EXPRESSION, VALUES, at_a_point, checks
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, UsageError, setting
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.evaluation.note_phrases import note
from autodiff_cli.graph_drawing.backward import backward_graph, graph_of_tensor, run_backward
from autodiff_cli.graph_drawing.depth import cut, readable
from autodiff_cli.graph_drawing.forward import graph_of_text, graph_of_values
from autodiff_cli.graph_drawing.model import LIMITS, Graph, Limits

if TYPE_CHECKING:
    from autodiff_cli.evaluation.evaluation import Value


@checks(**{**at_a_point(), "expression": either(EXPRESSION, A_TENSOR)}, names=optional(VALUES))
def graph(
    expression: str | Tensor,
    at: Mapping[str, Value] | None = None,
    const: Mapping[str, Value] | None = None,
    *,
    wrt: Sequence[str] | None = None,
    dtype: str = "float64",
    gradient: Value | None = None,
    backward: bool = False,
    saved: bool = False,
    names: Mapping[str, Tensor] | None = None,
    depth: int | Literal["all"] | None = None,
) -> Graph:
    """Return the graph of an expression or of a tensor, which a notebook shows as a picture.

    Args:
        expression: a program of the language, or a tensor that requires grad.  The graph of a tensor is that of its backward pass.
        at: the values of the variables; without values, the graph of an expression has neither values nor gradients.
        const: the values of constants, which are not differentiated.
        wrt: the variables to differentiate with respect to; by default, all variables in ``at``.
        dtype: ``float64`` or ``float32``.
        gradient: the gradient that starts the backward pass, required if the output is not a scalar.
        backward: whether to show the backward pass instead of the forward pass.
        saved: whether to show what each node saves for the backward pass; implies ``backward``.
        names: for the graph of a tensor, the names of tensors in it.
        depth: the number of levels below the output, or ``"all"``; by default, as many as stay readable.

    Raises:
        GraphError: if the tensor does not require grad.
        AutodiffError: if the expression or an argument is invalid, or belongs to expressions only.
    """
    if isinstance(expression, str):
        whole = whole_graph(expression, at, const, wrt, dtype, gradient, backward=backward, saved=saved)
    elif at or const or wrt or gradient is not None:
        raise ArgumentError("at, const, wrt and gradient belong to expressions", hint="name tensors with names={'x': x}")
    else:
        whole = graph_of_tensor(expression, names or {}, saved)
    return reduced(whole, depth, "svg", "set depth to show more levels")


def reduced(whole: Graph, depth: int | Literal["all"] | None, style: str, way_out: str) -> Graph:
    """Return the part of a graph that is shown: ``depth`` levels below the output, or for ``None`` as many as stay readable.

    The note on hidden nodes ends with ``way_out``, which says how to show them.  ``style`` is the format, such as ``svg``.
    """
    graph = readable(whole, *LIMITS.get(style, Limits())) if depth is None else cut(whole, _levels(depth))
    graph.notes = list(whole.notes)  # ``graph`` is the whole graph itself if it is small
    if graph.memory is not None and style in ("svg", "png", "dot", "mermaid"):  # other formats show the memory themselves
        graph.notes.append(note("saved", graph.memory.text))
    if graph.hidden and depth is None:
        graph.notes.append(note("left_out", f"{graph.hidden:,} nodes further from the output are hidden; {way_out}"))
    return graph


def _levels(depth: int | Literal["all"]) -> int:
    """Return the number of levels to show, and raise a ``UsageError`` if ``depth`` is not one."""
    if depth == "all":
        return sys.maxsize
    if not isinstance(depth, int) or depth < 1:
        raise UsageError(f"{setting('depth')}: '{depth}' is not a number of levels", hint="use 1, 2, ... or all")
    return depth


def whole_graph(
    expression: str,
    at: Mapping[str, Value] | None,
    const: Mapping[str, Value] | None,
    wrt: Sequence[str] | None,
    dtype: str,
    gradient: Value | None = None,
    *,
    backward: bool = False,
    saved: bool = False,
) -> Graph:
    """Return the complete graph of an expression, with the notes of the evaluation; the arguments are those of ``graph``."""
    backward = backward or saved
    if not (backward or at or const or wrt or gradient is not None):
        return graph_of_text(expression)
    evaluation = Evaluation(expression, at, const, wrt, dtype, gradient=gradient)
    graph_notes, output = evaluation.notes(), evaluation.output  # before the backward pass, which stores gradients
    if backward:
        graph = backward_graph(evaluation, output, saved)
        has_gradients = graph.nodes[-1].grad is not None
    else:
        has_gradients = run_backward(evaluation, output)  # it stores the gradients that the graph shows
        graph = graph_of_values(evaluation, output)
    lacks_gradients = output.requires_grad and not has_gradients
    graph.notes = [*graph_notes, _note_on_gradients(output)] if lacks_gradients else graph_notes
    return graph


def _note_on_gradients(output: Tensor) -> dict[str, object]:
    """Return the note that a graph does not have gradients, because its output has several elements."""
    shape = list(output.shape)
    ones = f"ones({', '.join(map(str, shape))})"
    return note("gradient", f"no gradients are shown: the output has shape {shape}; sum it, or give a gradient such as {ones}")
