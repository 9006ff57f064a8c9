"""The backward pass, which propagates cotangents from the outputs through the graph to the leaves.

Nodes run youngest first.  The inputs of a node are always older than the node, so the cotangent of the youngest pending node
is complete.  The pass therefore needs a heap of nodes, but neither a topological sort nor recursion.

The pass computes with plain arrays.  With ``create_graph``, the same VJP rules receive tensors and record their operations.
The adjoints of broadcasting and of type conversion are applied in this module, for all rules.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import DType
from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.node import AccumulateGrad, Cotangent, Edge, Node, input_nodes
from autodiff_cli.autograd.primitives.selection_masks import LazyMask, intersection, mask_contributions, summed
from autodiff_cli.autograd.primitives.structural import cast, sum_to
from autodiff_cli.autograd.reverse.accumulate import (
    accumulate,
    run_accumulated_hooks,
    run_leaf_hooks,
    run_posthooks,
    run_prehooks,
    run_tensor_hooks,
)
from autodiff_cli.autograd.reverse.anomaly import explain_failure, is_anomaly_check_nan_enabled, is_anomaly_enabled, running_node
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import GraphError
from autodiff_cli.postorder import postorder


def run_backward(
    roots: Sequence[tuple[Edge, Cotangent]], retain_graph: bool, create_graph: bool, targets: Sequence[Edge] | None = None
) -> dict[Edge, Cotangent]:
    """Run all nodes that can be reached from ``roots``.

    Args:
        roots: the edges to start from, each with a cotangent.
        retain_graph: whether to keep the saved values of the nodes.
        create_graph: whether to record the pass; cotangents are then tensors.
        targets: the edges whose cotangents are returned; ``None`` to add the cotangents of leaves to ``.grad``.

    Returns:
        The cotangent of each target that was reached.
    """
    # NumPy's warnings are suppressed, because an infinite or nan derivative is a valid result.
    with np.errstate(all="ignore"):
        if not create_graph:
            return BackwardPass(roots, retain_graph, False, targets).run(roots)
        with set_grad_enabled(True):
            return BackwardPass(roots, retain_graph, True, targets).run(roots)


class BackwardPass:
    """The state of one backward pass; see ``run_backward`` for the arguments.

    Attributes:
        targets: the edges whose cotangents are returned, grouped by node.
        needed: the nodes on a path to a target; ``None`` for all nodes.
        captured: the cotangents of the targets that were reached.
        pending: the partially accumulated cotangents of the nodes that have not run yet.
        heap: the pending nodes that are not leaves, youngest first.
        leaves, leaves_with_hooks: the pending leaves without hooks and with hooks.
        pending_count: for each leaf, the number of edges from nodes that have not run yet; set at the first leaf with hooks.
        masks: for pending nodes, the elements of the cotangent that come from unselected branches.
    """

    __slots__ = (
        "captured",
        "create_graph",
        "fills_leaves",
        "heap",
        "leaves",
        "leaves_with_hooks",
        "masks",
        "needed",
        "pending",
        "pending_count",
        "retain_graph",
        "targets",
    )

    def __init__(
        self,
        roots: Sequence[tuple[Edge, Cotangent]],
        retain_graph: bool,
        create_graph: bool,
        targets: Sequence[Edge] | None,
    ) -> None:
        self.retain_graph = retain_graph
        self.create_graph = create_graph
        self.fills_leaves = targets is None
        self.needed = None if targets is None else nodes_towards([edge[0] for edge, _ in roots], targets)
        self.targets: dict[Node, list[Edge]] = {}
        for edge in targets or ():
            self.targets.setdefault(edge[0], []).append(edge)
        self.captured: dict[Edge, Cotangent] = {}
        self.pending: dict[Node, Cotangent] = {}
        self.heap: list[tuple[int, Node]] = []
        self.leaves: list[AccumulateGrad] = []
        self.leaves_with_hooks: list[AccumulateGrad] = []
        self.pending_count: dict[Node, int] | None = None
        self.masks: dict[Node, LazyMask] = {}

    def run(self, roots: Sequence[tuple[Edge, Cotangent]]) -> dict[Edge, Cotangent]:
        """Run all nodes, then the leaves, and return the captured cotangents."""
        for edge, cotangent in roots:
            self.accumulate_cotangent(edge, cotangent)
        if is_anomaly_enabled():
            before = running_node.set(None)
            try:
                self._run_nodes(anomaly=True)
            except BaseException as error:
                node = running_node.get()
                if node is not None:
                    explain_failure(node, error)
                raise
            finally:
                running_node.reset(before)
        else:
            self._run_nodes(anomaly=False)
        for leaf in self.leaves_with_hooks[:]:  # leaves with an edge from a node that did not run
            self.accumulate_leaf(leaf)
        # All other leaves are accumulated after the pass, so that an error in the pass does not change their .grad.
        for leaf in self.leaves:
            if self.fills_leaves:
                accumulate(leaf.variable, self.pending[leaf], self.create_graph)
            else:
                self.captured[(leaf, 0)] = self.pending[leaf]
        return self.captured

    def _run_nodes(self, anomaly: bool) -> None:
        """Run the nodes that are not leaves, youngest first."""
        heap, pending, needed, masks, create_graph = self.heap, self.pending, self.needed, self.masks, self.create_graph
        accumulate_cotangent = self.accumulate_cotangent
        while heap:
            node = heappop(heap)[1]
            cotangent = pending.pop(node)
            if anomaly:
                running_node.set(node)
            hooks = node._hooks
            if hooks is not None:
                cotangent = run_tensor_hooks(node, hooks, cotangent, create_graph)
            if node in self.targets:
                self._capture(node, cotangent)
                if needed is not None and node not in needed.inner:
                    continue
            if hooks is not None and hooks.before:
                cotangent = run_prehooks(node, hooks, cotangent, create_graph)
            parts = node.apply_recorded(cotangent, needed) if create_graph else node.apply(cotangent, needed)
            new_masks = None
            if node.selects or masks:
                mask = masks.pop(node, None)
                if node.selects or mask is not None:
                    parts, new_masks = mask_contributions(node, cotangent, parts, mask, needed)
            if anomaly and is_anomaly_check_nan_enabled():
                _check_nan(node, parts)
            if not self.retain_graph:
                node.release()
            if hooks is not None and hooks.after:
                parts = run_posthooks(hooks, parts, cotangent)
            for i, (next_edge, part) in enumerate(zip(node._edges, parts, strict=False)):
                if part is not None and next_edge is not None:
                    if masks or new_masks:
                        self._note_mask(next_edge[0], new_masks[i] if new_masks else None)
                    accumulate_cotangent(next_edge, part)
            if self.leaves_with_hooks:
                self._run_complete_leaves(node)

    def accumulate_cotangent(self, edge: Edge, part: Cotangent) -> None:
        """Add a contribution to the pending cotangent of the node that an edge leads to."""
        target: Any = edge[0]
        if self.needed is not None and target not in self.needed:
            return
        if target._outputs != 1:
            self._accumulate_output(target, edge[1], part)
            return
        if part.shape != target._shape or (part._data if type(part) is Tensor else part).dtype is not target._dtype:
            part = fit(part, target._shape, target._dtype)
        pending = self.pending
        if target in pending:
            pending[target] = pending[target] + part
            return
        pending[target] = part
        if target.sequence_nr:
            heappush(self.heap, (-target.sequence_nr, target))
        else:
            extra = target.variable._extra
            with_hooks = extra.hooks or extra.after or target._hooks is not None
            (self.leaves_with_hooks if with_hooks else self.leaves).append(target)

    def _accumulate_output(self, node: Node, output: int, part: Cotangent) -> None:
        """Add a contribution to the cotangent of one output of a node with several outputs.

        The pending cotangent of such a node is a list with an entry for each output.
        """
        shape, dtype = node.output_type(output)
        if part.shape != shape or (part._data if type(part) is Tensor else part).dtype is not dtype:
            part = fit(part, shape, dtype)
        if node not in self.pending:
            self.pending[node] = [None] * node._outputs
            heappush(self.heap, (-node.sequence_nr, node))
        cotangents = self.pending[node]
        cotangents[output] = part if cotangents[output] is None else cotangents[output] + part

    def accumulate_leaf(self, leaf: AccumulateGrad) -> None:
        """Run the hooks of a leaf whose cotangent is complete, and add the cotangent to ``.grad`` or capture it."""
        self.leaves_with_hooks.remove(leaf)
        cotangent = run_leaf_hooks(leaf, self.pending.pop(leaf), self.create_graph)
        if not self.fills_leaves:
            self.captured[(leaf, 0)] = cotangent
            return
        if leaf._hooks is not None:
            cotangent = run_prehooks(leaf, leaf._hooks, cotangent, self.create_graph)
        accumulate(leaf.variable, cotangent, self.create_graph)
        run_accumulated_hooks(leaf, cotangent)

    def _run_complete_leaves(self, node: Node) -> None:
        """Accumulate the leaves with hooks whose cotangents became complete when ``node`` ran.

        They are accumulated before the hooks of later nodes run.
        """
        if self.pending_count is None:
            self.pending_count = count_edges_to_leaves([pending for _, pending in self.heap], self.needed)
        else:
            for target in input_nodes(node):
                if target in self.pending_count:
                    self.pending_count[target] -= 1
        for leaf in [leaf for leaf in self.leaves_with_hooks if not self.pending_count.get(leaf)]:
            self.accumulate_leaf(leaf)

    def _capture(self, node: Node, cotangent: Cotangent) -> None:
        for edge in self.targets[node]:
            value = cotangent if node._outputs == 1 else cotangent[edge[1]]
            if value is not None:
                self.captured[edge] = value

    def _note_mask(self, target: Node, mask: LazyMask | None) -> None:
        """Store the mask of a contribution; for several contributions, store the intersection of their masks."""
        is_pending = target in self.pending
        if mask is None or target._outputs != 1 or target.sequence_nr == 0 or (is_pending and target not in self.masks):
            self.masks.pop(target, None)
            return
        mask = summed(mask, target._shape)
        self.masks[target] = intersection(self.masks[target], mask) if is_pending else mask


def _check_nan(node: Node, parts: Sequence[Cotangent | None]) -> None:
    for i, part in enumerate(parts):
        values: Any = getattr(part, "_data", part)
        if part is not None and np.any(np.isnan(values)):
            raise GraphError(
                f"Function '{node.name()}' returned nan values in its {i}th output.",
                hint="check the inputs of this operation, which is the first operation with a nan gradient",
            )


def fit(part: Cotangent, shape: tuple[int, ...], dtype: DType) -> Cotangent:
    """Sum and cast a contribution to the shape and the type of the value that it belongs to."""
    if part.shape != shape:
        part = sum_to(part, shape)
    return part if (part._data if type(part) is Tensor else part).dtype is dtype else cast(part, dtype)


class NeededNodes(set[Node]):
    """The nodes on a path to a target.

    Attributes:
        inner: the nodes with an input on a path to a target; all other nodes are targets.
    """

    def __init__(self) -> None:
        super().__init__()
        self.inner: set[Node] = set()


def nodes_towards(starts: Iterable[Node], targets: Iterable[Edge]) -> NeededNodes:
    """Return the nodes on the paths from ``starts`` to ``targets``."""
    ends = {node for node, _ in targets}
    needed = NeededNodes()
    for node in postorder(starts, input_nodes):
        if node in ends:
            needed.add(node)
        for edge in node._edges:
            if edge is not None and edge[0] in needed:
                needed.add(node)
                needed.inner.add(node)
                break
    return needed


def count_edges_to_leaves(starts: Iterable[Node], needed: Collection[Node] | None) -> dict[Node, int]:
    """Return, for each leaf, the number of edges that lead to it from the nodes that can be reached from ``starts``."""
    counts: dict[Node, int] = {}

    def inputs(node: Node) -> list[Node]:
        return [each for each in input_nodes(node) if needed is None or each in needed]

    for node in postorder(starts, inputs):
        for target in inputs(node):
            if target.sequence_nr == 0:
                counts[target] = counts.get(target, 0) + 1
    return counts
