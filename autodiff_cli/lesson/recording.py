"""The recording of a program: every tensor that it makes, and what happens in each statement, as events of a lesson.

A program is run once, statement by statement.  What a statement changed is found by comparison of the state of all names before
and after it.  The nodes of a backward pass are explained while it runs, because it frees their saved values.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.graph import observing
from autodiff_cli.autograd.modes import is_grad_enabled
from autodiff_cli.autograd.node import AccumulateGrad, Node, input_nodes
from autodiff_cli.autograd.reverse.backward_pass import BackwardPass, Visit
from autodiff_cli.autograd.reverse.engine import current_pass
from autodiff_cli.autograd.saved.memory import SavedMemory, text_of
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import AutodiffError, LimitError, ParseError, Span, setting
from autodiff_cli.evaluation.evaluation import TensorRow
from autodiff_cli.explanation.local_derivatives import filled_in
from autodiff_cli.explanation.model import CotangentContribution, ExplainedStep
from autodiff_cli.explanation.names import Named, Names
from autodiff_cli.explanation.operations import Operations
from autodiff_cli.explanation.steps import Steps
from autodiff_cli.language.tree import Syntax, free_in, name_tree
from autodiff_cli.limits import lifted
from autodiff_cli.postorder import postorder
from autodiff_cli.script.interpreter import LAST, Interpreter, Shown

MOST_EVENTS = 2_000
"""The most events of a lesson that opens in a few seconds."""


@dataclass(slots=True, eq=False)
class Line:
    """A tensor of a program.

    Attributes:
        name: its name, which no other tensor of the lesson has: ``x₂`` for the second tensor called ``x``.
        label: the name in the program; empty for an intermediate result.
        operation: what computed the tensor.
        value: its value when it was made; ``None`` if it is unknown.
        leaf, requires_grad: whether it was a leaf, and whether it required grad, when it was made.
        grad_fn: the name of its node.
        inputs: the names of the tensors that it was computed from.
        traced: whether an operation of the language computed it, and not a function of autograd such as ``detach``.
        requires: whether one of the inputs requires grad.
        recording: whether operations were recorded when it was made.
        saved: what its node saved for the backward pass, as text.
        span: the place of the operation in the program.
    """

    name: str
    label: str
    operation: Syntax
    value: Array | None
    leaf: bool
    requires_grad: bool
    grad_fn: str | None
    inputs: list[str]
    traced: bool
    requires: bool
    recording: bool
    saved: str
    span: Span


@dataclass(slots=True, eq=False)
class Started:
    """The start of a backward pass: its first tensor, and the gradient of the pass with respect to this tensor."""

    root: str
    gradient: Array


@dataclass(slots=True, eq=False)
class Hooked:
    """A hook that changed the gradient of a tensor in a backward pass."""

    name: str
    before: Array
    after: Array


@dataclass(slots=True, eq=False)
class Contributed:
    """A contribution of a node to the gradient of one of its inputs."""

    step: ExplainedStep
    part: CotangentContribution


class Stored(NamedTuple):
    """A gradient that a backward pass stored in the ``.grad`` of a tensor.

    Attributes:
        name: the name of the tensor in the lesson; the program may have given its name to another tensor.
        leaf: whether the tensor is a leaf, and not one that keeps its gradient.
        before, after: the gradient before and after the statement.
    """

    name: str
    leaf: bool
    before: Array | None
    after: Array


@dataclass(slots=True, eq=False)
class Ended:
    """The end of a statement.

    Attributes:
        tree: the statement.
        before, after: the state of each name.
        called: the name in the lesson of the tensor that each name refers to.
        same: the names that refer to the same tensor as before.
        aliases: the names that refer to a tensor of another name since this statement.
        parts: the contributions that reached each tensor in the backward passes of the statement.
        freed: the names of the tensors whose nodes the backward passes freed.
        kept: whether the backward passes kept the saved values of a node.
        output: what the statement printed.
        failed: whether an error ended the statement.
        indices: the indices of the loops around the statement.
        recording: whether operations are recorded.
        stored: the gradients that the backward passes of the statement stored.
    """

    tree: Syntax
    before: Mapping[str, TensorRow]
    after: Mapping[str, TensorRow]
    called: Mapping[str, str]
    same: set[str]
    aliases: set[str]
    parts: Mapping[str, list[Array]] = field(default_factory=dict)
    freed: list[str] = field(default_factory=list)
    kept: bool = False
    output: list[Shown] = field(default_factory=list)
    failed: bool = False
    indices: Mapping[str, int] = field(default_factory=dict)
    recording: bool = True
    stored: list[Stored] = field(default_factory=list)


Event = Line | Started | Hooked | Contributed | Ended


class _TooLong(LimitError):
    """A program has more events than a lesson may have."""


class Recorder(Interpreter):
    """An interpreter that records events.

    Attributes:
        events: the events so far.
        called: the name in the lesson of the tensor that each name refers to.
        error: the error that ended the program.
    """

    def __init__(self, variables: Mapping[str, Tensor], dtype: str = "float64") -> None:
        super().__init__(variables, dtype)
        self.tensors.listing, self.tensors.steps = True, []
        self.events: list[Event] = []
        self.error: AutodiffError | None = None
        self.called: dict[str, str] = {}
        self._known = Names()
        self._operations_of = Operations(self._known)
        self._lines: set[str] = set()
        self._tensors: dict[str, Tensor] = {}
        self._labels: dict[str, str] = {}
        self._gradients: dict[str, Array | None] = {}
        self._shown: dict[Node, Syntax] = {}
        self._recorded = True
        self._steps: Steps | None = None
        self._pass: BackwardPass | None = None
        self._accumulates = self._retains = False
        self._loops: list[str] = []
        self._marks = [0, 0]
        self._unnamed = 0
        self._visited: dict[Node, str] = {}
        self._parts: dict[str, list[Array]] = {}
        self._state = self._rows()
        for name, tensor in variables.items():
            self._add(tensor, name, name_tree(name), name, (0, 0))

    def record(self, text: str) -> None:
        """Run a program; an error of a statement ends it.

        Raises:
            ParseError: if the program cannot be read.
            LimitError: if it has more than ``MOST_EVENTS`` events, unless limits are lifted.
        """
        try:
            for _ in self.run(text):
                pass
        except (ParseError, _TooLong):
            raise
        except AutodiffError as error:
            self.error = error

    def _run_one(self, tree: Syntax) -> None:
        self._visited, self._parts, self._accumulates, self._retains = {}, {}, False, False
        self._recorded, self.tensors.listing = is_grad_enabled(), True
        failed = True
        try:
            with observing(self._visit_node):
                super()._run_one(tree)
            failed = False
        finally:
            self._ended(tree, failed)

    def _ended(self, tree: Syntax, failed: bool) -> None:
        before, called = self._state, {**self.called}
        self._catch_up(tree)
        self._state = self._rows()
        freed = [name for node, name in self._visited.items() if node._saved is None]
        same = {name for name in self._state if called.get(name) == self.called[name]}
        aliases = {name for name in self._state if name not in same and self._labels[self.called[name]] != name}
        ended = Ended(tree, before, self._state, {**self.called}, same, aliases, self._parts, freed, self._retains)
        ended.output, ended.failed, ended.indices = [*self._output], failed, {name: self.names[name] for name in self._loops}
        ended.recording, ended.stored = self._recorded, self._stored()
        self._happened(ended)

    def _stored(self) -> list[Stored]:
        """Return the gradients that the backward passes of this statement stored, and remember all gradients."""
        found = []
        for name, tensor in self._tensors.items() if self._visited or self._parts else ():
            if not (tensor.is_leaf or tensor.retains_grad) or tensor.grad is None:
                continue
            before, after = self._gradients.get(name), np.array(tensor.grad._data)
            reached = name in self._parts and (self._accumulates or tensor.retains_grad)
            if reached or before is None or not np.array_equal(before, after, equal_nan=True):
                found.append(Stored(name, tensor.is_leaf, before, after))
            self._gradients[name] = after
        for name, row in self._state.items():
            self._gradients[self.called[name]] = row.grad
        return found

    def turns(self, node: Syntax) -> Generator[Syntax]:
        if node.kind != "for":
            return (yield from super().turns(node))
        self._loops.append(node.children[0].text)
        try:
            yield from super().turns(node)
        finally:
            self._loops.pop()

    def _note(self, root: Syntax, shows_value: bool) -> None:
        with observing(lambda _: None):  # notes evaluate the program again
            super()._note(root, shows_value)

    def _happened(self, event: Event) -> None:
        self.events.append(event)
        if len(self.events) > MOST_EVENTS and not lifted():
            hint = f"use a shorter loop, or lift the limit with {setting('no_limits')}"
            raise _TooLong(f"the lesson has more than {MOST_EVENTS:,} steps", hint=hint)

    # Tensors

    def _named(self) -> list[tuple[str, Tensor]]:
        """Return the names of the program that refer to tensors, with these tensors."""
        return [(name, value) for name, value in self.names.items() if isinstance(value, Tensor) and name != LAST]

    def _rows(self) -> dict[str, TensorRow]:
        rows = [TensorRow.of(tensor, name, self.expressions.get(name, name)) for name, tensor in self._named()]
        return {row.name: _copied(row) for row in rows}

    def _catch_up(self, tree: Syntax) -> None:
        """Add the tensors that the program has made since the last call; ``tree`` is the statement."""
        steps, made = self.tensors.steps or [], self.tensors.made
        places: dict[int, Span] = {}
        for step in steps[self._marks[0] :]:
            self._known.add_step(step)
            places.update({id(result): step.tree.span for result in step.results})
        new = made[self._marks[1] :]
        self._marks = [len(steps), len(made)]
        named = self._named()
        bound = {id(tensor): name for name, tensor in reversed(named)}
        for tensor, expression in new:
            if not self._known.of_tensor(tensor):
                operation = self._operations_of.of_tensor(tensor, expression)
                self._add(tensor, bound.get(id(tensor), ""), operation, expression, places.get(id(tensor), tree.span))
        for name, tensor in named:
            changed = tensor._edge is not None and not self._known.of(tensor._edge)
            if changed or not self._known.of_tensor(tensor):
                expression = self.expressions.get(name, name)
                operation = tree.children[-1] if tree.kind == "assignment" else name_tree(expression)
                self._add(tensor, name, operation, expression, tree.span)
            self.called[name] = self._known.of_tensor(tensor)
            gradient = tensor.grad if tensor.is_leaf or tensor.retains_grad else None
            if gradient is not None and not self._known.of_tensor(gradient):
                label = f"{name}.grad"
                if gradient._edge is not None:
                    self._add(gradient, label, name_tree(label), label, tree.span)
                else:
                    self._known.add(Named(label, label, gradient))

    def _add(self, tensor: Tensor, label: str, operation: Syntax, expression: str, span: Span) -> None:
        """Add a tensor, after the nodes behind it that no tensor of the program has."""
        name, own, step = self._new_name(label), tensor.grad_fn, self._known.step(tensor)
        nodes = [] if own is None else self._new_nodes(own)
        below = [edge[0] for node in nodes for edge in node._edges if edge is not None]
        for leaf in [end.variable for end in below if isinstance(end, AccumulateGrad)]:
            if not self._known.of_tensor(leaf):
                self._add(leaf, "", name_tree("tensor"), "", span)
        for i, node in enumerate(nodes[:-1], 1):
            self._add_node(node, self._new_name("") if label.endswith(".grad") else f"{name}.{i}", span)
        if own is not None and self._known.of_tensor(tensor):  # an operation changed the tensor in place
            operation = self._operations_of.of(own)
        elif step is None:
            operation = filled_in(operation, {old: name_tree(new) for old, new in self.called.items()})
        self._known.add(Named(name, expression, tensor))
        made = self._line(name, label, operation, np.array(tensor._data), own, span)
        made.leaf, made.requires_grad, made.traced = tensor.is_leaf, tensor.requires_grad, own is not None or step is not None
        self._tensors[name], self._labels[name] = tensor, label
        self._happened(made)

    def _add_node(self, node: Node, name: str, span: Span) -> None:
        """Add the result of a node whose tensor the program does not have."""
        self._known.name(node, name)
        self._operations_of.learn([node])
        self._happened(self._line(name, "", self._operations_of.of(node), self._known.value((node, 0)), node, span))

    def _line(self, name: str, label: str, operation: Syntax, value: Array | None, node: Node | None, span: Span) -> Line:
        inputs = [text for part in free_in(operation) if (text := part.children[0].text) in self._lines and text != name]
        if node is not None:
            self._shown[node] = operation
            behind = [self._known.of(edge) for edge in node._edges if edge is not None]
            inputs += [each for each in dict.fromkeys(behind) if each in self._lines and each not in inputs]
        self._lines.add(name)
        requires = any(each not in self._tensors or self._tensors[each].requires_grad for each in inputs)
        values = [] if node is None else SavedMemory(self._known.of_tensor, ()).of(node, name)
        saved = text_of([value for value in values if value.of or value.shape is None], "`")
        grad_fn = None if node is None else type(node).__name__
        return Line(name, label, operation, value, False, True, grad_fn, inputs, True, requires, self._recorded, saved, span)

    def _new_nodes(self, node: Node) -> list[Node]:
        """Return the nodes behind a node, with the node, that do not have names yet, oldest first."""
        found = postorder([node], lambda one: [each for each in input_nodes(one) if not self._known.of((each, 0))])
        return sorted((one for one in found if one.sequence_nr), key=lambda one: one.sequence_nr)

    def _new_name(self, label: str) -> str:
        if label:
            return self._known.another(label)
        self._unnamed += 1
        return f"%{self._unnamed}"

    # Backward passes

    def _visit_node(self, visit: Visit) -> None:
        running, node = current_pass.get(), visit.node
        if running is not self._pass or self._steps is None:
            self._catch_up(self.current)
            if running is not None:
                self._accumulates |= running.accumulates
                self._retains |= running.retain_graph
            self._pass, self._steps = running, Steps(self._known, self.functions, self._shown)
            self.tensors.listing = False  # what hooks compute is not a part of the program
            roots = [one for one in running.roots if one.sequence_nr] if running is not None else [node]
            for root in roots:
                for each in self._new_nodes(root) if not self._known.of((root, 0)) else ():
                    self._add_node(each, self._new_name(""), self.current.span)
            self._happened(Started(self._known.of((node, 0)), _first(visit)))
        name = self._known.of((node, 0))
        arrived = self._steps.arrived((node, 0))
        if arrived is not None and not np.array_equal(arrived, _first(visit), equal_nan=True):
            self._happened(Hooked(name, arrived, _first(visit)))
        step = self._steps.step(visit)
        if node._saved is not None:
            self._visited[node] = name
        for part in step.contributions:
            self._parts.setdefault(part.to, []).append(part.value)
            self._happened(Contributed(step, part))


def _first(visit: Visit) -> Array:
    """Return the gradient of the first output of a node that has one."""
    return next(gradient._data for gradient in visit.gradients if gradient is not None)


def _copied(row: TensorRow) -> TensorRow:
    """Return a row whose numbers stay when the tensor changes in place."""
    return row._replace(value=np.array(row.value), grad=None if row.grad is None else np.array(row.grad))
