"""The recording of a program: every tensor that it makes, and what happens in each statement, as events of a lesson.

A program is run once, statement by statement.  What a statement changed is found by comparison of the state of all names before
and after it.  The nodes of a backward pass are explained while it runs, because it frees their saved values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from autodiff_cli.arrays import Array
from autodiff_cli.autograd.modes import is_grad_enabled
from autodiff_cli.autograd.node import AccumulateGrad, Node, input_nodes
from autodiff_cli.autograd.reverse.backward_pass import BackwardPass, Visit, current_pass
from autodiff_cli.autograd.saved.memory_use import SavedMemory, text_of
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import AutodiffError, Span
from autodiff_cli.evaluation.evaluation import TensorRow
from autodiff_cli.evaluation.user_function import UserFunction
from autodiff_cli.explanation.local_derivatives import filled_in
from autodiff_cli.explanation.names import NamedTensor, TensorNames
from autodiff_cli.explanation.operations import NodeOperations
from autodiff_cli.explanation.steps import Steps
from autodiff_cli.language.tree import Syntax, free_name_nodes, name_tree
from autodiff_cli.lesson.events import Contribution, Event, HookChange, PassStart, StatementEnd, StoredGradient, TensorLine
from autodiff_cli.limits import lifted
from autodiff_cli.postorder import postorder

MOST_EVENTS = 2_000
"""The most events of a lesson that opens in a few seconds."""


class ProgramTensor(NamedTuple):
    """A tensor that an operation of the program returned.

    Attributes:
        tensor: the tensor.
        operation: returns the operation in terms of tensors that have names, once the nodes behind the tensor have names.
        expression: the expression of the program that computed it.
        span: the place of the expression.
        traced: whether an operation of the language computed it, and not a function of autograd such as ``detach``.
    """

    tensor: Tensor
    operation: Callable[[], Syntax]
    expression: str
    span: Span
    traced: bool


class Recording(ABC):
    """The events of a program; a subclass runs the program, and calls ``__init__`` once it knows the names of the program.

    Attributes:
        events: the events so far.
        called: the name in the lesson of the tensor that each name refers to.
        error: the error that ended the program.
        cut: whether the program has more events than ``MOST_EVENTS``, and the rest was not recorded.
        rest: what the program printed after that.
        notes: the notes on the backward passes.
        current: the syntax tree of what runs now.
        functions: the functions whose derivatives the program declares.
    """

    notes: list[dict[str, Any]]
    current: Syntax
    functions: dict[str, UserFunction]

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.error: AutodiffError | None = None
        self.cut = False
        self.rest = ""
        self.called: dict[str, str] = {}
        self._known = TensorNames()
        self._node_operations = NodeOperations(self._known)
        self._lines: set[str] = set()  # the names of the tensors that have events
        self._tensors: dict[str, Tensor] = {}  # by their names in the lesson, as the next two
        self._labels: dict[str, str] = {}  # their names in the program
        self._gradients: dict[str, Array | None] = {}  # their gradients before the statement
        self._shown: dict[Node, Syntax] = {}  # the operations of nodes in the lesson
        self._recorded = True  # whether recording was on when the statement began
        self._steps: Steps | None = None  # of the last backward pass
        self._pass: BackwardPass | None = None  # the last one
        self._accumulates = self._retains = False  # whether a pass of the statement stores gradients, and keeps saved values
        self._unnamed = 0  # the number of tensors without a name in the program
        self._visited: dict[Node, str] = {}  # the nodes with saved values that the passes of the statement ran
        self._parts: dict[str, list[Array]] = {}  # the contributions of these passes to each tensor
        self._state = self._rows()  # after the last statement

    @property
    @abstractmethod
    def source(self) -> str:
        """The text of the program."""

    @abstractmethod
    def _named(self) -> list[tuple[str, Tensor]]:
        """Return the names of the program that refer to tensors, with these tensors."""

    @abstractmethod
    def _new_tensors(self, tree: Syntax) -> list[ProgramTensor]:
        """Return the tensors that the program has made since the last call; ``tree`` is the statement."""

    def _expression(self, name: str) -> str:
        """Return the expression that computed the tensor of a name."""
        return name

    # Statements

    def _begin_statement(self) -> None:
        """Forget the backward passes of the last statement."""
        self._visited, self._parts, self._accumulates, self._retains = {}, {}, False, False
        self._recorded = is_grad_enabled()

    def _end_statement(self, tree: Syntax, output: str, failed: bool, turn: str, quiet: bool = False, caught: str = "") -> None:
        """Add the event of the end of a statement, whose attributes are the arguments; after ``cut``, keep only the output."""
        if self.cut:
            self.rest += output
            return
        before, called_before = self._state, {**self.called}
        self._add_new_tensors(tree)
        self._state = self._rows()
        same = {name for name in self._state if called_before.get(name) == self.called[name]}
        end = StatementEnd(tree, before, self._state, {**self.called}, same, set(), output=output, failed=failed, turn=turn)
        end.aliases = {name for name in self._state if name not in same and self._labels[self.called[name]] != name}
        end.parts, end.kept, end.recording = self._parts, self._retains, self._recorded
        end.freed = [name for node, name in self._visited.items() if node._saved is None]
        end.stored, end.quiet, end.caught = self._stored_gradients(), quiet, caught
        self._gradients.update({gradient.name: gradient.after for gradient in end.stored})
        self._gradients.update({self.called[name]: row.grad for name, row in self._state.items()})
        self._add_event(end)

    def _stored_gradients(self) -> list[StoredGradient]:
        """Return the gradients that backward passes of this statement reached or changed; without a pass, there are none."""
        gradients: list[StoredGradient] = []
        if not (self._visited or self._parts):
            return gradients
        for name, tensor in self._tensors.items():
            if not (tensor.is_leaf or tensor.retains_grad) or tensor.grad is None:
                continue
            before, after = self._gradients.get(name), np.array(tensor.grad._data)
            is_reached = name in self._parts and (self._accumulates or tensor.retains_grad)  # even if the gradient stays equal
            if is_reached or before is None or not np.array_equal(before, after, equal_nan=True):
                gradients.append(StoredGradient(name, tensor.is_leaf, before, after))
        return gradients

    def _add_event(self, event: Event) -> None:
        """Add an event, unless there are too many: then the rest of the program is not recorded, and ``cut`` is true."""
        self.cut = self.cut or (len(self.events) >= MOST_EVENTS and not lifted())
        if not self.cut:
            self.events.append(event)

    # Tensors

    def _rows(self) -> dict[str, TensorRow]:
        """Return the state of each name of the program, as a copy that stays when a tensor changes in place."""
        rows = [TensorRow.from_tensor(tensor, name, self._expression(name)) for name, tensor in self._named()]
        gradients = [None if row.grad is None else np.array(row.grad) for row in rows]
        return {row.name: row._replace(value=np.array(row.value), grad=grad) for row, grad in zip(rows, gradients, strict=True)}

    def _add_new_tensors(self, tree: Syntax) -> None:
        """Add the tensors that the program has made since the last call; ``tree`` is the statement."""
        results, named = self._new_tensors(tree), self._named()
        first_names = {id(tensor): name for name, tensor in reversed(named)}
        for result in results:
            if not self._known.of_tensor(result.tensor):
                self._add(result, first_names.get(id(result.tensor), ""))
        for name, tensor in named:  # also those that no traced operation returned
            is_changed = tensor._edge is not None and not self._known.of_edge(tensor._edge)  # in place, by a new node
            if is_changed or not self._known.of_tensor(tensor):
                expression = self._expression(name)
                operation = tree.children[-1] if tree.kind == "assignment" else name_tree(expression)
                self._add_named(tensor, name, operation, expression, tree.span)
            self.called[name] = self._known.of_tensor(tensor)
            self._name_gradient(tensor, f"{name}.grad", tree.span)

    def _name_gradient(self, tensor: Tensor, label: str, span: Span) -> None:
        """Give the gradient of a tensor a name, if it has none; one with a graph, from ``create_graph``, is a new tensor."""
        gradient = tensor.grad if tensor.is_leaf or tensor.retains_grad else None
        if gradient is None or self._known.of_tensor(gradient):
            return
        if gradient._edge is not None:
            self._add_named(gradient, label, name_tree(label), label, span)
        else:
            self._known.add(NamedTensor(label, label, gradient))

    def _add_named(self, tensor: Tensor, label: str, operation: Syntax, expression: str, span: Span) -> None:
        """Add a tensor whose operation was not traced: ``operation`` describes it in the names of the program."""
        lesson_names = {old: name_tree(new) for old, new in self.called.items()}
        self._add(ProgramTensor(tensor, lambda: filled_in(operation, lesson_names), expression, span, False), label)

    def _add(self, result: ProgramTensor, label: str) -> None:
        """Add a tensor, whose name in the program is ``label``, after the nodes behind it that no tensor of the program has."""
        tensor, operation, expression, span, traced = result
        name, node = self._new_name(label), tensor.grad_fn
        nodes = [] if node is None else self._new_nodes(node)
        self._add_leaves(nodes, span)
        for i, behind in enumerate(nodes[:-1], 1):  # the last one is ``node``
            self._add_node(behind, self._new_name("") if label.endswith(".grad") else f"{name}.{i}", span)
        self._known.keep_tensor(tensor)
        is_changed = bool(self._known.of_tensor(tensor))  # an operation changed the tensor in place
        tree = self._node_operations.of_node(node) if node is not None and is_changed else operation()
        self._known.add(NamedTensor(name, expression, tensor))
        line = self._tensor_line(name, label, tree, np.array(tensor._data), node, span)
        line.requires_grad, line.traced = tensor.requires_grad, node is not None or traced
        self._tensors[name], self._labels[name] = tensor, label
        self._add_event(line)

    def _add_leaves(self, nodes: Iterable[Node], span: Span) -> None:
        """Add the leaves that nodes take and that the program does not have."""
        inputs = [edge[0] for node in nodes for edge in node._edges if edge is not None]
        for leaf in [node.variable for node in inputs if isinstance(node, AccumulateGrad)]:
            if not self._known.of_tensor(leaf):
                self._add_named(leaf, "", name_tree("tensor"), "", span)

    def _add_node(self, node: Node, name: str, span: Span) -> None:
        """Add the results of a node whose tensors the program does not have; the first one gets the name."""
        self._known.name_outputs(node, name)
        self._node_operations.learn([node])
        operation = self._node_operations.of_node(node)
        for edge in [(node, i) for i in range(node._outputs)]:
            result_name = self._known.of_edge(edge)
            if result_name not in self._lines:
                self._add_event(self._tensor_line(result_name, "", operation, self._known.value(edge), node, span))

    def _tensor_line(
        self, name: str, label: str, operation: Syntax, value: Array | None, node: Node | None, span: Span
    ) -> TensorLine:
        """Return the event of a new tensor, and note its name and operation; a leaf has no ``node`` that computed it.

        The event is that of the result of a node, which is traced and requires grad; the caller corrects it for other tensors.
        """
        operands = [part.children[0].text for part in free_name_nodes(operation)]
        inputs = [operand for operand in operands if operand in self._lines and operand != name]
        if node is not None:
            self._shown[node] = operation
            behind = [self._known.of_edge(edge) for edge in node._edges if edge is not None]
            inputs += [each for each in dict.fromkeys(behind) if each in self._lines and each not in inputs]
        self._lines.add(name)
        requires = any(each not in self._tensors or self._tensors[each].requires_grad for each in inputs)
        values = [] if node is None else SavedMemory(self._known.of_tensor, ()).values_of(node, name)
        saved = text_of([value for value in values if value.tensor or value.shape is None], "`")
        grad_fn, traced = None if node is None else type(node).__name__, True
        return TensorLine(name, label, operation, value, True, grad_fn, inputs, traced, requires, self._recorded, saved, span)

    def _new_nodes(self, node: Node) -> list[Node]:
        """Return the nodes behind a node, with the node, that do not have names yet, oldest first; leaves are left out."""
        behind = postorder([node], lambda one: [each for each in input_nodes(one) if not self._known.of_edge((each, 0))])
        operations = [one for one in behind if one.sequence_nr]  # the number of a leaf is 0
        return sorted(operations, key=lambda one: one.sequence_nr)

    def _new_name(self, label: str) -> str:
        """Return a name that no tensor has: the label with a number, or a number alone."""
        if label:
            return self._known.another(label)
        self._unnamed += 1
        return f"%{self._unnamed}"

    # Backward passes

    def _visit_node(self, visit: Visit) -> None:
        """Add the events of a node of a backward pass: the start of the pass, a change by a hook, and the contributions."""
        node = visit.node
        arriving = [((node, i), gradient) for i, gradient in enumerate(visit.gradients) if gradient is not None]
        if self.cut or not arriving or any(type(gradient) is not Tensor for _edge, gradient in arriving):
            return  # in a pass inside of a transformation, gradients do not have numbers
        edge, gradient = arriving[0]
        if current_pass.get() is not self._pass or self._steps is None:
            self._steps = self._begin_pass(node)
            self._add_event(PassStart(self._known.of_edge(edge), gradient._data))
        name, before_hooks = self._known.of_edge(edge), self._steps.arrived(edge)
        if before_hooks is not None and not np.array_equal(before_hooks, gradient._data, equal_nan=True):
            self._add_event(HookChange(name, before_hooks, gradient._data))
        step = self._steps.step(visit)
        if node._saved is not None:
            self._visited[node] = name
        for part in step.contributions:
            self._parts.setdefault(part.to, []).append(part.value)
            self._add_event(Contribution(step, part))

    def _begin_pass(self, first: Node) -> Steps:
        """Name the tensors behind the roots of a new backward pass, or behind its ``first`` node, and return its steps."""
        self._add_new_tensors(self.current)
        self._pass = running = current_pass.get()
        roots = [first]
        if running is not None:
            self._accumulates |= running.accumulates
            self._retains |= running.retain_graph
            roots = [root for root in running.roots if root.sequence_nr]
        for root in roots:
            nodes = [] if self._known.of_edge((root, 0)) else self._new_nodes(root)
            self._add_leaves(nodes, self.current.span)
            for node in nodes:
                self._add_node(node, self._new_name(""), self.current.span)
        return Steps(self._known, self.functions, self._shown)
