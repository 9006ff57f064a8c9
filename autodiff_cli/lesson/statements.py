"""The recording of a program of statements."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping

from autodiff_cli.autograd.graph import observing
from autodiff_cli.autograd.reverse.backward_pass import Visit
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import AutodiffError, ParseError, Span
from autodiff_cli.language.tree import Syntax, name_tree
from autodiff_cli.lesson.recording import ProgramTensor, Recording
from autodiff_cli.script.interpreter import LAST, Interpreter, StatementOutput


class Recorder(Interpreter, Recording):
    """An interpreter that records events."""

    def __init__(self, variables: Mapping[str, Tensor], dtype: str = "float64") -> None:
        super().__init__(variables, dtype)
        self.tensors.listing, self.tensors.steps = True, []
        self._loops: list[str] = []  # the indices of the loops that run
        self._known_steps = self._known_results = 0  # the numbers of steps and of results that ``_new_tensors`` has returned
        Recording.__init__(self)
        for name, tensor in variables.items():
            self._add_named(tensor, name, name_tree(name), name, (0, 0))

    def record(self, text: str, show: Callable[[StatementOutput], object] = lambda _: None) -> None:
        """Run a program, and call ``show`` with each output; an error of a statement ends it, and a ``ParseError`` is raised."""
        try:
            for shown in self.run(text):
                show(shown)
        except ParseError:
            raise
        except AutodiffError as error:
            self.error = error

    def _run_one(self, tree: Syntax) -> None:
        """Run a statement, and record it even if it fails."""
        self._begin_statement()
        self.tensors.listing = not self.cut
        failed = True
        try:
            with observing(self._visit_node):
                super()._run_one(tree)
            failed = False
        finally:
            output = "".join(f"{shown.text}\n" for shown in self._output if shown.rows is None)
            turn = ", ".join(f"{name} = {self.names[name]}" for name in self._loops)
            self._end_statement(tree, output, failed, turn)

    def turns(self, node: Syntax) -> Generator[Syntax]:
        """Run a loop as the interpreter does, and know its index while it runs."""
        if node.kind != "for":
            return (yield from super().turns(node))
        self._loops.append(node.children[0].text)
        try:
            yield from super().turns(node)
        finally:
            self._loops.pop()

    def _collect_notes(self, root: Syntax, shows_value: bool) -> None:
        with observing(lambda _: None):  # notes evaluate the program again
            super()._collect_notes(root, shows_value)

    def _visit_node(self, visit: Visit) -> None:
        super()._visit_node(visit)
        self.tensors.listing = False  # what hooks compute is not a part of the program

    def _expression(self, name: str) -> str:
        return self.expressions.get(name, name)

    def _named(self) -> list[tuple[str, Tensor]]:
        return [(name, value) for name, value in self.names.items() if isinstance(value, Tensor) and name != LAST]

    def _new_tensors(self, tree: Syntax) -> list[ProgramTensor]:
        """Return the tensors since the last call, each at the place of its step, or else of the statement ``tree``."""
        steps, results = self.tensors.steps or [], self.tensors.entries
        places: dict[int, Span] = {}  # by the id of the result
        for step in steps[self._known_steps :]:
            self._known.add_step(step)
            places.update({id(result): step.tree.span for result in step.results})
        new = results[self._known_results :]
        self._known_steps, self._known_results = len(steps), len(results)
        return [self._program_tensor(tensor, expression, places.get(id(tensor), tree.span)) for tensor, expression in new]

    def _program_tensor(self, tensor: Tensor, expression: str, span: Span) -> ProgramTensor:
        """Return a tensor with its operation, which is known only after the nodes behind the tensor have names."""
        traced = self._known.step(tensor) is not None
        return ProgramTensor(tensor, lambda: self._node_operations.of_tensor(tensor, expression), expression, span, traced)
