"""Reverse mode through other transformations.

Inside ``vmap`` and forward mode, the recorded graph is the graph of the innermost tensors: physical tensors, and the primals and
the tangents of dual tensors.  ``fresh`` makes leaves of the innermost tensors of an input; gradients are with respect to these.

Examples are independent, so the gradient of the sum over the batch contains the gradient of each example; for this, an input that
all examples share is first repeated for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from autodiff_cli.autograd.active_batches import active_batches
from autodiff_cli.autograd.forward_ad.dual import Dual, dual, settled
from autodiff_cli.autograd.node import AccumulateGrad, Node, input_nodes, leaf_edge
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.autograd.transforms.batched import Batch, Batched
from autodiff_cli.autograd.views_and_versions import share_memory
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
    """Return a tensor with one value for each example of a batch; the batches of the tensor that started later remain around it."""
    later_batches: list[Batch] = []
    inner = x
    while type(inner) is Batched and inner.batch.level > batch.level:
        later_batches.append(inner.batch)
        inner = inner.physical
    if type(inner) is Batched and inner.batch is batch:
        return x
    # The examples of inner batches come first in the physical tensor.
    result = batch.wrap(batch.lift(inner))
    for later in reversed(later_batches):
        result = later.wrap(result)
    return result


def fresh(x: Tensor, leaves: list[Tensor]) -> Tensor:
    """Return an input as a variable of its own: its innermost tensor is a new leaf, which is appended to ``leaves``.

    An innermost tensor that requires grad becomes a new node of its graph instead.  Other elements than floats are refused.
    """
    if type(x) is Batched:
        return x.batch.wrap(fresh(x.physical, leaves))
    x = settled(x)  # a dual tensor only if its level is open
    if isinstance(x, Dual):
        primal, tangent, level = x._forward
        leaf = fresh(primal, leaves)
        return leaf if tangent is None else dual(leaf, tangent, level)
    if x._data.dtype.kind != "f":
        raise DtypeError("only Tensors of floating point dtype can require gradients")
    leaf = _joined(x) if x._requires_grad else tensor_on(x._data).requires_grad_()
    leaves.append(share_memory(leaf, x))  # an in-place change of the input is then noticed where the graph saved the copy
    return leaf


def reaches_others(outputs: Sequence[Tensor], leaves: Sequence[Tensor]) -> bool:
    """Return whether the graph of the outputs may have other leaves than ``leaves``, so that gradients must be recorded."""
    if any(leaf._edge is not None for leaf in leaves):  # it belongs to a graph itself, see ``fresh``
        return True
    own = {_node_of(leaf) for leaf in leaves}
    tensors = [inner for output in outputs for inner in _innermost_all(output)]
    roots = [_node_of(tensor) for tensor in tensors if tensor._requires_grad]
    return any(isinstance(node, AccumulateGrad) and node not in own for node in postorder(roots, input_nodes))


def _node_of(tensor: Tensor) -> Node:
    """Return the node that computed a tensor that requires grad, or the node of a leaf."""
    return (tensor._edge or leaf_edge(tensor))[0]


def _innermost_all(value: Tensor) -> list[Tensor]:
    """Return all ordinary tensors inside a tensor: the physical tensor, or the primals and the tangents."""
    tensors, waiting = [], [value]
    while waiting:
        tensor = settled(waiting.pop())
        if type(tensor) is Batched:
            waiting.append(tensor.physical)
        elif isinstance(tensor, Dual):
            waiting += [part for part in tensor._forward[:2] if part is not None]
        else:
            tensors.append(tensor)
    return tensors


def detached(x: Tensor) -> Tensor:
    """Return a tensor without its graph; its tangents are kept."""
    if type(x) is Batched:
        return x.batch.wrap(detached(x.physical))
    x = settled(x)
    if isinstance(x, Dual):
        primal, tangent, level = x._forward
        return detached(primal) if tangent is None else dual(detached(primal), detached(tangent), level)
    return x.detach() if x._requires_grad else x
