"""Reverse mode through other transformations.

Inside ``vmap`` and forward mode, the recorded graph is the graph of the innermost tensors: physical tensors, and the primals and
the tangents of dual tensors.  ``fresh`` makes leaves of the innermost tensors of an input, and ``gradients`` differentiates with
respect to these leaves.

Examples are independent, so the gradient of the sum over the batch contains the gradient of each example; for this, an input that
all examples share is first repeated for each of them.  The tangent of a gradient is the gradient of the tangent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.active_batches import active_batches
from autodiff_cli.autograd.forward_ad.dual import Dual, dual, settled, split
from autodiff_cli.autograd.forward_ad.level import Level
from autodiff_cli.autograd.memory import share_memory
from autodiff_cli.autograd.node import AccumulateGrad, Node, input_nodes, leaf_edge
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.autograd.transforms.batched import Batch, Batched, innermost
from autodiff_cli.errors import DtypeError
from autodiff_cli.postorder import postorder

declare = Declarations(__name__)
_joined = declare("alias", lambda x: x[...], {"x": lambda g: g}, series="linear", public=False)
"""The input of a function as a new node of the graph, so that its gradient is not the gradient of other uses of the same tensor."""


def lifted(x: Tensor) -> Tensor:
    """Return a tensor with one value for each example of all active batches."""
    for batch in active_batches():
        x = _lifted_to(x, batch)
    return x


def _lifted_to(x: Tensor, batch: Batch) -> Tensor:
    above: list[Batch] = []
    under = x
    while type(under) is Batched and under.batch.level > batch.level:
        above.append(under.batch)
        under = under.physical
    if type(under) is Batched and under.batch is batch:
        return x
    if not above:
        return batch.wrap(batch.lift(x))
    # The examples of inner batches come first in the physical tensor.
    result = batch.wrap(batch.lift(under))
    for outer in reversed(above):
        result = outer.wrap(result)
    return result


def fresh(x: Tensor, leaves: list[Tensor]) -> Tensor:
    """Return a copy of an input whose innermost tensors are leaves, or new nodes of the graph of a tensor that requires grad.

    Args:
        x: the input.
        leaves: the list to which the innermost tensor is added.

    Raises:
        DtypeError: if the elements of the input are not floating-point numbers.
    """
    if type(x) is Batched:
        return x.batch.wrap(fresh(x.physical, leaves))
    x = settled(x)
    if isinstance(x, Dual):
        level: Level = x._forward[1]
        primal, tangent = split(x, level)
        leaf = fresh(primal, leaves)
        return leaf if tangent is None else dual(leaf, tangent, level)
    if x._data.dtype.kind != "f":
        raise DtypeError("only Tensors of floating point dtype can require gradients")
    leaf = _joined(x) if x._requires_grad else tensor_on(x._data).requires_grad_()
    leaves.append(share_memory(leaf, x))  # an in-place change of the input is then noticed where the graph saved the copy
    return leaf


def gradients(
    outputs: Sequence[Tensor],
    leaves: Sequence[Tensor],
    cotangents: Sequence[Tensor],
    create_graph: bool,
    batches: Sequence[Batch] = (),
) -> list[Tensor]:
    """Return the gradient of each leaf, with zeros for a leaf that the outputs do not depend on.

    Args:
        outputs: results of a function of inputs that ``fresh`` made.
        leaves: the innermost tensors of these inputs.
        cotangents: the cotangent of each output.  They may belong to a ``vmap`` that started after the function was called; then
            there is one backward pass for all of its examples.
        create_graph: whether the gradients are recorded.
        batches: the batches of the inputs, the outermost first.
    """
    if batches:
        *outer, batch = batches
        starts = [batch.inside(value) for value in cotangents]
        results = gradients([batch.lift(value) for value in outputs], leaves, starts, create_graph, outer)
        return [batch.around(value) for value in results]
    values = [settled(value) for value in outputs]
    levels = {level.number: level for value in (*values, *map(innermost, cotangents)) for level in _levels(value)}
    if levels:
        level = levels[max(levels)]
        primals, tangents = zip(*[split(value, level) for value in values], strict=True)
        start_parts = [parts_of(value, level) for value in cotangents]
        starts = [primal for primal, _ in start_parts]
        results = gradients(primals, leaves, starts, create_graph)
        moving = [(t, start) for t, start in zip(tangents, starts, strict=True) if t is not None]
        moving += [(primal, t) for primal, (_, t) in zip(primals, start_parts, strict=True) if t is not None]
        if not moving:
            return results
        moved = gradients([output for output, _ in moving], leaves, [cotangent for _, cotangent in moving], create_graph)
        return [dual_of(value, tangent, level) for value, tangent in zip(results, moved, strict=True)]
    return _plain(values, leaves, cotangents, create_graph)


def _levels(value: Tensor) -> list[Level]:
    value = settled(value)
    return [value._forward[1]] if isinstance(value, Dual) else []


def dual_of(primal: Tensor, tangent: Tensor, level: Level) -> Tensor:
    """Return a dual tensor; inside ``vmap``, a batched tensor on a dual tensor."""
    batches = {value.batch.level: value.batch for value in (primal, tangent) if type(value) is Batched}
    if batches:
        batch = batches[max(batches)]
        return batch.wrap(dual_of(batch.lift(primal), batch.lift(tangent), level))
    return dual(primal, tangent, level)


def parts_of(value: Tensor, level: Level) -> tuple[Tensor, Tensor | None]:
    """Return the primal and the tangent of a tensor; inside ``vmap``, of the dual tensor on which a batched tensor is."""
    if type(value) is Batched:
        primal, tangent = parts_of(value.physical, level)
        return value.batch.wrap(primal), None if tangent is None else value.batch.wrap(tangent)
    return split(settled(value), level)


def _plain(outputs: Sequence[Tensor], leaves: Sequence[Tensor], cotangents: Sequence[Tensor], create_graph: bool) -> list[Tensor]:
    recorded = [i for i, output in enumerate(outputs) if output._requires_grad]
    results: Sequence[Any] = [None] * len(leaves)
    if recorded:
        results = grad(
            [outputs[i] for i in recorded],
            list(leaves),
            [cotangents[i] for i in recorded],
            retain_graph=True,
            create_graph=create_graph,
            allow_unused=True,
        )
    return [tensor_on(np.zeros(x._data.shape, x._data.dtype)[()]) if g is None else g for x, g in zip(leaves, results, strict=True)]


def reaches_others(outputs: Sequence[Tensor], leaves: Sequence[Tensor]) -> bool:
    """Return whether the graph of the outputs has leaves other than the given ones, so that gradients must be recorded."""
    if any(leaf._edge is not None for leaf in leaves):
        return True
    own = {_node_of(leaf) for leaf in leaves}
    waiting: list[Node] = []
    for output in outputs:
        for inner in _innermost_all(output):
            if inner._requires_grad:
                waiting.append(_node_of(inner))
    return any(isinstance(node, AccumulateGrad) and node not in own for node in postorder(waiting, input_nodes))


def _node_of(tensor: Tensor) -> Node:
    edge = tensor._edge or leaf_edge(tensor)
    assert edge is not None
    return edge[0]


def _innermost_all(value: Tensor) -> list[Tensor]:
    """Return all ordinary tensors inside a tensor: the physical tensor, or the primals and the tangents."""
    tensors, waiting = [], [value]
    while waiting:
        tensor = settled(waiting.pop())
        if type(tensor) is Batched:
            waiting.append(tensor.physical)
        elif isinstance(tensor, Dual):
            waiting += [part for part in split(tensor, tensor._forward[1]) if part is not None]
        else:
            tensors.append(tensor)
    return tensors


def detached(x: Tensor) -> Tensor:
    """Return a tensor without its graph; its tangents are kept."""
    if type(x) is Batched:
        return x.batch.wrap(detached(x.physical))
    x = settled(x)
    if isinstance(x, Dual):
        level: Level = x._forward[1]
        primal, tangent = split(x, level)
        return detached(primal) if tangent is None else dual(detached(primal), detached(tangent), level)
    return x.detach() if x._requires_grad else x
