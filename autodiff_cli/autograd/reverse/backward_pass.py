"""The backward pass, which propagates cotangents from the outputs through the graph to the leaves.

Nodes run youngest first.  The inputs of a node are always older than the node, so the cotangent of the youngest pending node
is complete.  The pass therefore needs a heap of nodes, but neither a topological sort nor recursion.

The pass computes with plain arrays.  With ``create_graph``, the same VJP rules receive tensors and record their operations.
The adjoints of broadcasting and of type conversion are applied in this module, for all rules.

A node whose output does not get a gradient (its cotangent is ``None``) runs as well if a node above it runs: its hooks are called
with ``None``, and a custom function may compute with zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from heapq import heappop, heappush
from operator import attrgetter
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import DType
from autodiff_cli.autograd.hooks import node_observers
from autodiff_cli.autograd.modes import restore_recording, switch_recording
from autodiff_cli.autograd.node import AccumulateGrad, Cotangent, Edge, Node, input_nodes
from autodiff_cli.autograd.primitives.selection_masks import Mask, intersection, mask_contributions, summed_mask
from autodiff_cli.autograd.primitives.structural import cast, sum_to, summed
from autodiff_cli.autograd.reverse.accumulate import accumulate, as_tensor
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.lazy import named
from autodiff_cli.structs import Struct


class Visit(Struct):
    """A node that a backward pass ran.

    Attributes:
        node: the node.
        gradients: the gradient of each output, ``None`` for an unused output.
        parts: for each edge, the contribution to the gradient of the input, or ``None`` if it was not needed; a contribution
            may still have the broadcast shape of the output.
    """

    node: Node
    gradients: Sequence[Tensor | None]
    parts: Sequence[Tensor | None]


observer: ContextVar[Callable[[Visit], object] | None] = ContextVar("autodiff_observer", default=None)
"""The function that backward passes call for each node that they run; see ``graph.observing``."""


current_pass: ContextVar[BackwardPass | None] = ContextVar("autodiff_backward_pass", default=None)
"""The backward pass that is running in this context, the innermost of nested passes."""
_RUN_HOOKS = "autodiff_cli.autograd.reverse.run_hooks"
"""The module that runs hooks, which a pass without hooks does not need."""


class BackwardPass:
    """The state of one backward pass.

    Args:
        roots: the nodes that the pass starts from.
        retain_graph, create_graph, inputs, accumulates: see ``run_backward``.

    Attributes:
        needed: the nodes on a path to an input; ``None`` for all nodes.
        targets: the edges whose cotangents are captured, grouped by node.
        captured: the cotangents of the targets that were reached.
        pending: the partially accumulated cotangents of the nodes that have not run yet.
        heap: the pending nodes that are not leaves, youngest first, as pairs of -``sequence_nr`` and the node.
        leaves: the pending leaves.
        masks: for pending nodes, the elements of the cotangent that come from unselected branches.
        observe: the current ``observer``.
    """

    def __init__(
        self, roots: Sequence[Node], retain_graph: bool, create_graph: bool, inputs: Sequence[Edge] | None, accumulates: bool
    ) -> None:
        self.roots = roots
        self.retain_graph = retain_graph
        self.create_graph = create_graph
        self.accumulates = accumulates
        self.needed = None if inputs is None else nodes_towards(roots, inputs)
        self.targets: dict[Node, list[Edge]] = {}
        if inputs is not None and not accumulates:
            for edge in inputs:
                self.targets.setdefault(edge[0], []).append(edge)
        self.captured: dict[Edge, Cotangent] = {}
        self.pending: dict[Node, Cotangent | None] = {}
        self.heap: list[tuple[int, Node]] = []
        self.leaves: list[AccumulateGrad] = []
        self.masks: dict[Node, Mask] = {}
        self.observe = observer.get()

    def run(self, cotangents: Sequence[tuple[Edge, Cotangent]]) -> dict[Edge, Cotangent]:
        """Run all nodes from these edges, each with a cotangent, then the leaves, and return the captured cotangents."""
        edges, parts = [edge for edge, _ in cotangents], [part for _, part in cotangents]
        anomaly = named("autodiff_cli.autograd.reverse.anomaly") if node_observers else None  # the mode is one of them
        if anomaly is not None and anomaly.is_anomaly_enabled():
            anomaly.run_explained(lambda: self._run_nodes(edges, parts, anomaly))
        else:
            self._run_nodes(edges, parts, None)
        self._run_leaves()
        return self.captured

    def _run_leaves(self) -> None:
        """Add the cotangents of leaves to ``.grad``, or capture them: last, so that an error in the pass changes no ``.grad``."""
        for leaf in self.leaves:
            extra = leaf.variable._extra
            cotangent = self.pending[leaf]
            if leaf._hooks is not None or (extra is not None and (extra.hooks or extra.after)):
                self._run_leaf_with_hooks(leaf, cotangent)
            elif cotangent is None:
                continue
            elif self.accumulates:
                accumulate(leaf.variable, cotangent, self.create_graph)
            else:
                self.captured[(leaf, 0)] = cotangent

    def _run_nodes(self, edges: Sequence[Edge | None], parts: Sequence[Cotangent | None], anomaly: Any) -> None:
        """Run the nodes that are not leaves, youngest first, from ``edges`` with the cotangents ``parts``; it must be fast.

        ``anomaly`` is the module of anomaly mode, ``None`` if this mode is off.
        """
        heap, pending, needed, masks, targets = self.heap, self.pending, self.needed, self.masks, self.targets
        create_graph, retain_graph = self.create_graph, self.retain_graph
        is_watched = anomaly is not None or self.observe is not None
        target: Any
        while True:
            # Add each contribution to the pending cotangent of the node that its edge leads to.
            i = 0
            for part in parts:  # an index takes a quarter of the time of zip
                edge = edges[i]
                i += 1
                if edge is None:
                    continue
                target = edge[0]
                if needed is not None and target not in needed:
                    continue
                if part is None:
                    self._schedule_undefined(target)
                    continue
                array = part._data if type(part) is Tensor else part
                if array.shape != target._shape or array.dtype is not target._dtype:
                    if target._outputs != 1:  # its ``_shape``, one shape for each output, is not equal to one shape
                        self._accumulate_output(target, edge[1], part)
                        continue
                    part = fit(part, target._shape, target._dtype)
                if target in pending:
                    # NumPy adds in place to a large array that nothing else refers to, as after ``pop``.
                    pending[target] = part if pending[target] is None else pending.pop(target) + part
                    continue
                pending[target] = part
                if target.sequence_nr:  # 0 for a leaf
                    heappush(heap, (-target.sequence_nr, target))
                else:
                    self.leaves.append(target)
            if not heap:
                break
            # Run the youngest node; most nodes need only their VJP rules.
            node = heappop(heap)[1]
            cotangent = pending.pop(node)
            edges = node._edges
            if cotangent is None or node._hooks is not None or node.selects or masks or is_watched or node in targets:
                parts = self._run_special_node(node, cotangent, anomaly)
            else:
                parts = node.apply_recorded(cotangent, needed) if create_graph else node.apply(cotangent, needed)
                if not retain_graph and node._saved:
                    node.release()

    def _run_special_node(self, node: Node, cotangent: Cotangent | None, anomaly: Any) -> Sequence[Cotangent | None]:
        """Run a node with its hooks, masks, observers and checks; return its contributions, ``()`` if it is only captured."""
        hooks, needed, create_graph = node._hooks, self.needed, self.create_graph
        if anomaly is not None:
            anomaly.running_node.set(node)
        if hooks is not None:
            run_hooks = named(_RUN_HOOKS)
            cotangent = run_hooks.run_tensor_hooks(node, hooks, cotangent, create_graph)
        if node in self.targets:
            self._capture(node, cotangent)
            if needed is not None and not any(below in needed for below in input_nodes(node)):
                return ()
        if hooks is not None and hooks.before:
            cotangent = run_hooks.run_prehooks(node, hooks, cotangent, create_graph)
        new_masks = None
        if cotangent is None:
            parts = self._apply_undefined(node)
        else:
            parts, new_masks = self._apply_masked(node, cotangent)
        if hooks is not None and hooks.after:
            parts = run_hooks.run_posthooks(node, _fit_parts(node, parts), cotangent, create_graph)
        if not self.retain_graph and node._saved:
            node.release()
        if anomaly is not None:
            anomaly.check_nan(node, parts)
        if self.masks or new_masks:
            self._store_masks(node, parts, new_masks)
        return parts

    def _apply_masked(self, node: Node, cotangent: Cotangent) -> tuple[Sequence[Cotangent | None], Sequence[Mask | None] | None]:
        """Run a node, call the observer, and return the contributions and their masks; ``None`` if none of them is masked."""
        needed, masks = self.needed, None
        parts = node.apply_recorded(cotangent, needed) if self.create_graph else node.apply(cotangent, needed)
        mask = self.masks.pop(node, None)
        if node.selects or mask is not None:
            parts, masks = mask_contributions(node, cotangent, parts, mask, needed)
        if self.observe is not None:
            self.observe(_visit_of(node, cotangent, parts))
        return parts, masks

    def _apply_undefined(self, node: Node) -> Sequence[Cotangent | None]:
        """Return the contributions of a node whose outputs have no gradient: ``None``, unless the node ``runs_undefined``."""
        if not node.runs_undefined:
            return (None,) * len(node._edges)
        grads = None if node._outputs == 1 else [None] * node._outputs
        return node.apply_recorded(grads, self.needed) if self.create_graph else node.apply(grads, self.needed)

    def _schedule_undefined(self, target: Any) -> None:
        """Schedule a node that an undefined gradient leads to, with the cotangent ``None``, unless it is pending or not needed."""
        if target not in self.pending and (self.needed is None or target in self.needed):
            self.pending[target] = None
            if target.sequence_nr:  # 0 for a leaf
                heappush(self.heap, (-target.sequence_nr, target))
            else:
                self.leaves.append(target)

    def _accumulate_output(self, node: Node, output: int, part: Cotangent) -> None:
        """Add a contribution to the cotangent of one output of several, whose cotangents are a list in ``pending``."""
        part = fit(part, *node.output_type(output))
        self._schedule_undefined(node)  # with ``None`` in place of the list
        cotangents = self.pending[node]
        if cotangents is None:  # the first contribution
            cotangents = self.pending[node] = [None] * node._outputs
        cotangents[output] = part if cotangents[output] is None else cotangents[output] + part

    def _run_leaf_with_hooks(self, leaf: AccumulateGrad, cotangent: Cotangent | None) -> None:
        """Run the hooks of a leaf around the addition to ``.grad``; without it, only its tensor hooks before the capture."""
        run_hooks = named(_RUN_HOOKS)
        cotangent = run_hooks.run_leaf_hooks(leaf.variable, cotangent, self.create_graph)
        if not self.accumulates:
            if cotangent is not None:
                self.captured[(leaf, 0)] = cotangent
            return
        hooks = leaf._hooks
        if hooks is not None:
            cotangent = run_hooks.run_prehooks(leaf, hooks, cotangent, self.create_graph)
        if cotangent is not None:
            accumulate(leaf.variable, cotangent, self.create_graph)
        run_hooks.run_accumulated_hooks(leaf.variable)
        if hooks is not None and hooks.after:
            run_hooks.run_posthooks(leaf, (), cotangent, self.create_graph)

    def _capture(self, node: Node, cotangent: Cotangent | None) -> None:
        """Store the cotangents of those outputs of a node that the caller asked for; an output without a gradient is left out."""
        for edge in self.targets[node]:
            _, output = edge
            value = cotangent if cotangent is None or node._outputs == 1 else cotangent[output]
            if value is not None:
                self.captured[edge] = value

    def _store_masks(self, node: Node, parts: Sequence[Cotangent | None], masks: Sequence[Mask | None] | None) -> None:
        """Store the masks of contributions that are not pending yet: at each node their intersection, none if a part has none."""
        reached = set()
        for edge, part, mask in zip(node._edges, parts, masks or (None,) * len(parts), strict=False):
            if edge is None or part is None:
                continue
            target = edge[0]
            is_pending = target in reached or self.pending.get(target) is not None
            reached.add(target)
            has_unmasked_part = is_pending and target not in self.masks
            if mask is None or has_unmasked_part or target._outputs != 1 or target.sequence_nr == 0:  # 0 for a leaf
                self.masks.pop(target, None)
                continue
            mask = summed_mask(mask, target._shape)
            self.masks[target] = intersection(self.masks[target], mask) if is_pending else mask


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
    running = BackwardPass([edge[0] for edge, _ in roots], retain_graph, create_graph, inputs, accumulates)
    outer, recording = current_pass.set(running), switch_recording(create_graph)
    try:
        # NumPy's warnings are suppressed, because an infinite or nan derivative is a valid result.
        with np.errstate(all="ignore"):
            return running.run(roots)
    finally:
        restore_recording(recording)
        current_pass.reset(outer)


def _visit_of(node: Node, cotangent: Cotangent, parts: Sequence[Cotangent | None]) -> Visit:
    """Return what observers see of a node that ran: tensors, or ``None`` for an undefined gradient."""
    grads = [cotangent] if node._outputs == 1 else cotangent
    gradients, contributions = ([None if v is None else as_tensor(v) for v in values] for values in (grads, parts))
    return Visit(node, gradients, contributions)


def _fit_parts(node: Node, parts: Sequence[Cotangent | None]) -> list[Cotangent | None]:
    """Return the contributions of a node in the shapes of the inputs, one for each edge: ``None`` where one is missing."""
    result: list[Cotangent | None] = []
    for i, edge in enumerate(node._edges):
        part = parts[i] if i < len(parts) else None
        if edge is not None and part is not None:
            shape, dtype = edge[0].output_type(edge[1])
            part = fit(part, shape, dtype)
        result.append(None if edge is None else part)
    return result


def fit(part: Cotangent, shape: tuple[int, ...], dtype: DType) -> Cotangent:
    """Sum and cast a contribution to the shape and the type of the value that it belongs to."""
    if part.shape != shape:
        part = summed(part, shape) if isinstance(part, np.ndarray) else sum_to(part, shape)
    array = part._data if type(part) is Tensor else part
    return part if array.dtype is dtype else cast(part, dtype)


_age = attrgetter("sequence_nr")


def nodes_towards(starts: Iterable[Node], targets: Iterable[Edge]) -> set[Node]:
    """Return the nodes on the paths from ``starts`` to ``targets``, with both ends.

    The first loop collects the nodes that the starts lead to; the second, oldest first, those of them that lead to a target.
    """
    ends = {node for node, _ in targets}
    oldest = min(map(_age, ends), default=0)
    nodes = {node for node in starts if node.sequence_nr >= oldest}
    reached = list(nodes)
    for node in reached:  # which grows in the loop
        for edge in node._edges:
            # The inputs of a node are older than the node: no path leads from a node older than all targets to a target.
            if edge is not None and (below := edge[0]) not in nodes and below.sequence_nr >= oldest:
                nodes.add(below)
                reached.append(below)
    needed = ends & nodes
    reached.sort(key=_age)
    for node in reached:
        for edge in node._edges:
            if edge is not None and edge[0] in needed:
                needed.add(node)
                break
    return needed
