"""The recording of a Python program, line by line, with Python's own tracing.

Only the lines of the program's own file are traced, and the calls from them to this package: a call that returns a tensor is an
operation, and its place in the line gives its text.  What this package calls (hooks, the methods of a ``Function``) is not a part
of the program, as in programs of statements.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from functools import partial
from inspect import CO_OPTIMIZED
from itertools import islice
from traceback import walk_tb
from types import FrameType, ModuleType
from typing import Any, TextIO, cast

from autodiff_cli.autograd.graph import observing
from autodiff_cli.autograd.node import leaf_edge
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import AutodiffError, Span
from autodiff_cli.explanation.local_derivatives import number
from autodiff_cli.explanation.operations import replaced
from autodiff_cli.language.operators import OPERATORS
from autodiff_cli.language.tree import STATEMENTS, Syntax, name_tree, new_tree
from autodiff_cli.lesson.python_text import PythonText, Statement
from autodiff_cli.lesson.recording import ProgramTensor, Recording
from autodiff_cli.script.library import ACTIONS, ATTRIBUTES, METHODS

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_LEVELS = 4  # the levels of an expression in which operands are replaced by their names
_COMPUTED = (*OPERATORS, "comparison", "call", "method", "index", "conditional")
"""The kinds of expressions whose results are noted."""
_MOST_HELD = 16  # the most tensors of a list, a dictionary or an object that have names
_Tracer = Callable[[FrameType, str, Any], Any]


class _CopyingStream:
    """A stream that writes to another stream, and a copy of it to ``copy``."""

    def __init__(self, stream: TextIO, copy: TextIO) -> None:
        self._stream, self._copy = stream, copy

    def write(self, text: str) -> int:
        self._copy.write(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Frame:
    """A module or a function of the program that runs.

    Attributes:
        statement: the statement that runs.
        results: the results of operations of the statement, by their places.
        passes: the number of passes of each loop so far, by its line.
        returned: the result of the function, by the name that its caller gives to it.
        called: whether the statement has called a function of the program.
        raised: the error that ended the statement.
    """

    def __init__(self, frame: FrameType) -> None:
        self.frame = frame
        self.statement: Statement | None = None
        self.results: dict[Span, Tensor] = {}
        self.passes: dict[int, int] = {}
        self.returned: dict[str, object] = {}
        self.called = False
        self.raised: BaseException | None = None

    def count(self, line: int, statements: Mapping[int, Statement]) -> None:
        """Count a pass of the loop on a line; the loops inside of it begin again."""
        self.passes = {each: count for each, count in self.passes.items() if line not in statements[each].loops}
        self.passes[line] = self.passes.get(line, 0) + 1

    def turn(self, statement: Statement) -> str:
        """Return the indices of the loops around a statement, or the number of the pass of a loop without a number as index."""
        texts: list[str] = []
        for line, names in statement.loops.items():
            values = {name: self.frame.f_locals.get(name) for name in names}
            indices = [f"{name} = {value}" for name, value in values.items() if isinstance(value, (int, float, str))]
            texts += indices or [f"pass = {self.passes.get(line, 1)}"]
        return ", ".join(texts)


class PythonRecorder(Recording):
    """A tracer of a Python program that records events.

    Args:
        text: the program.
        path: the name of its file in the frames of its functions.

    Raises:
        SyntaxError: if the text is not a Python program.
    """

    def __init__(self, text: str, path: str) -> None:
        FUNCTIONS.complete()
        self._text, self._path = PythonText(text), path
        self._statements = self._text.statements()
        self._frames: list[_Frame] = []
        self._inside = False  # whether a function of this package runs
        self._new: list[ProgramTensor] = []  # the tensors since the last call of ``_new_tensors``
        self._output = io.StringIO()
        self.notes, self.functions, self.current = [], {}, new_tree("start")
        super().__init__()

    @property
    def source(self) -> str:
        return self._text.source

    @contextmanager
    def tracing(self) -> Iterator[None]:
        """Record the program that runs inside a ``with`` block; an error of the program ends the recording.

        After ``MOST_EVENTS`` events, unless limits are lifted, the program goes on without being recorded.
        """
        trace_before = sys.gettrace()
        try:
            with observing(self._visit_node), redirect_stdout(cast(TextIO, _CopyingStream(sys.stdout, self._output))):
                sys.settrace(self._trace_call)
                yield
        except SystemExit:
            raise
        except BaseException as problem:
            self._keep_error(problem)
            raise
        finally:
            sys.settrace(trace_before)
            self.rest += self._output.getvalue()

    def _keep_error(self, problem: BaseException) -> None:
        """Set ``error`` to the exception that ended the program, with its place."""
        lines = [line for frame, line in walk_tb(problem.__traceback__) if frame.f_code.co_filename == self._path]
        statement = self._statements.get(lines[-1]) if lines else None  # the innermost one of the program
        hint = problem.hint if isinstance(problem, AutodiffError) else None
        span = None if statement is None else statement.tree.span
        self.error = AutodiffError(_message(problem), span=span, source=self.source, hint=hint)

    # Tracing

    def _trace_call(self, frame: FrameType, event: str, value: object) -> _Tracer | None:
        """Begin to trace a frame of the program, or the return of a call from it to this package; ``None`` traces nothing."""
        if self._inside:
            return None  # what this package calls is not a part of the program
        code, caller = frame.f_code, frame.f_back
        if code.co_filename == self._path:
            is_function = bool(code.co_flags & CO_OPTIMIZED) and not code.co_name.startswith("<")
            if not (is_function or code.co_name == "<module>"):
                return None  # a comprehension, a lambda or the body of a class is a part of its statement
            self._end(failed=False, quiet=True)  # the statement goes on when the function has returned
            self._frames.append(_Frame(frame))
            self._enter()
            return self._trace_line
        is_called_by_program = caller is not None and caller.f_code.co_filename == self._path
        if not (is_called_by_program and code.co_filename.startswith(_PACKAGE)):
            return None
        self._inside, frame.f_trace_lines = True, False
        return self._trace_return

    def _trace_return(self, frame: FrameType, event: str, value: object) -> _Tracer:
        """Record the result of a call of this package when it returns."""
        if event == "return":
            self._inside = False
            if isinstance(value, Tensor) and frame.f_back is not None:
                self._operation(frame.f_back, value)
        return self._trace_return

    def _trace_line(self, frame: FrameType, event: str, value: Any) -> _Tracer:
        """Follow a frame of the program: a new line, an exception with its ``value``, or the return of ``value``."""
        if not self._frames or self._frames[-1].frame is not frame:
            return self._trace_line
        if event == "exception":
            _class, self._frames[-1].raised, _traceback = value
        elif event == "return":
            self._leave(frame, value)
        elif event == "line":
            self._go_to_line(frame.f_lineno)
        return self._trace_line

    def _leave(self, frame: FrameType, value: object) -> None:
        """End the innermost frame with its last statement, and give its result to the statement that called it."""
        running = self._frames[-1]
        running.returned = self._assigned(frame, value)  # which the last statement shows with the name that the caller gives
        self._end(failed=running.raised is not None)
        self._frames.pop()
        self._enter()
        if self._frames and isinstance(value, Tensor) and frame.f_back is not None:
            self._frames[-1].results[self._span(frame.f_back)] = value

    def _go_to_line(self, line: int) -> None:
        """End the statement of the innermost frame, and begin that of a line, unless it is the same."""
        running, statement = self._frames[-1], self._statements.get(line)
        if statement is None or statement is running.statement:
            return
        self._end(failed=False, caught="" if running.raised is None else _message(running.raised))
        running.statement, running.raised = statement, None
        if statement.is_loop:
            running.count(line, self._statements)
        running.results.clear()
        self.current = statement.tree

    def _assigned(self, frame: FrameType, value: object) -> dict[str, object]:
        """Return the name that the caller of a function gives to its result, with the result; empty if it does something else."""
        statement = self._frames[-2].statement if len(self._frames) > 1 else None  # that of the caller
        if statement is None or statement.tree.kind != "assignment" or frame.f_back is None:
            return {}
        name, call = statement.tree.children
        is_this_call = self._text.span_with_modules(call) == self._span(frame.f_back)
        return {name.text: value} if is_this_call else {}

    def _enter(self) -> None:
        """Begin to follow the names of the innermost frame, when a function begins or has returned."""
        lesson_names = {name: self._known.of_tensor(tensor) for name, tensor in self._named()}
        self.called = {name: lesson_name for name, lesson_name in lesson_names.items() if lesson_name}
        self._state = self._rows()
        self._begin_statement()
        if self._frames and (statement := self._frames[-1].statement) is not None:
            self.current = statement.tree

    def _end(self, failed: bool, quiet: bool = False, caught: str = "") -> None:
        """End the statement that runs, if any; ``quiet``: it goes on after a call; ``caught``: an error that is handled."""
        running = self._frames[-1] if self._frames else None
        if running is None or (statement := running.statement) is None:
            return
        output = self._output.getvalue()
        self._output.seek(0)
        self._output.truncate()  # so that the next statement begins with no output
        is_quiet = quiet or statement.quiet or running.called or len(self._frames) > 1  # the call or the function has scenes
        running.called = quiet
        self._end_statement(statement.tree, output, failed, running.turn(statement), is_quiet, caught)
        self._begin_statement()
        if self.cut:
            sys.settrace(None)  # the rest of the program is not recorded

    # Tensors

    def _named(self) -> list[tuple[str, Tensor]]:
        """Return the names of the innermost frame that refer to tensors, and the expressions of tensors in lists and objects."""
        if not self._frames:
            return []
        frame = self._frames[-1].frame
        variables = {**frame.f_globals, **frame.f_locals, **self._frames[-1].returned}
        variables = {name: value for name, value in variables.items() if not name.startswith("__")}
        named = {name: value for name, value in variables.items() if isinstance(value, Tensor)}
        for name, value in variables.items():
            for expression, tensor in _member_tensors(name, value):
                label = self._labels.get(self._known.of_tensor(tensor), "")
                if named.get(label) is not tensor:  # a member that is a variable, too, has the name of the variable
                    named[expression] = tensor
        return [*named.items()]

    def _new_tensors(self, tree: Syntax) -> list[ProgramTensor]:
        results, self._new = self._new, []
        return results

    def _span(self, frame: FrameType) -> Span:
        """Return the place of the instruction that a frame runs."""
        return self._text.span(frame.f_code, frame.f_lasti)

    def _operation(self, frame: FrameType, result: Tensor) -> None:
        """Record the result of a call from a frame of the program to this package as a new tensor, unless it is not new."""
        if not self._frames or self._frames[-1].statement is None:
            return
        span, results = self._span(frame), self._frames[-1].results
        expression = " ".join(self.source[slice(*span)].split())  # on one line
        tree = _without_modules(self._text.tree(span), frame)
        tree = name_tree(expression) if tree.kind == "python" else tree
        name = _called_name(tree)
        if name in ATTRIBUTES[Tensor] or name.endswith("_") or tree.kind in STATEMENTS:
            return  # the gradient of a tensor and a tensor that was changed in place are not new
        operands = _operands(self._text, tree, frame, results)
        results[span] = result
        operation = partial(self._operation_on_names, result, tree, operands)
        self._new.append(ProgramTensor(result, operation, expression, span, _is_operation(tree, name)))

    def _operation_on_names(self, result: Tensor, tree: Syntax, operands: Mapping[int, Tensor | float]) -> Syntax:
        """Return an operation on names and numbers, with ``operands`` by the ``id`` of trees; of several nodes, the last one."""
        node, tensors = result.grad_fn, [value for value in operands.values() if isinstance(value, Tensor)]
        edges = {tensor._edge or leaf_edge(tensor) for tensor in tensors if tensor.requires_grad}
        has_several_nodes = node is not None and edges != {edge for edge in node._edges if edge is not None}
        if node is not None and has_several_nodes:
            return self._node_operations.of_node(node)
        constant = self._node_operations.constant
        names = {key: constant(value) if isinstance(value, Tensor) else number(float(value)) for key, value in operands.items()}
        return replaced(tree, names, _LEVELS)


def _message(problem: BaseException) -> str:
    """Return the message of an exception, with the name of its class if it is one of Python."""
    return problem.message if isinstance(problem, AutodiffError) else f"{type(problem).__name__}: {problem}".removesuffix(": ")


def _member_tensors(name: str, value: object) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors among the first members of a list, a dictionary or an object, with the expressions that read them."""
    members: Iterable[tuple[str, object]] = ()
    if isinstance(value, (list, tuple)):
        members = ((f"{name}[{i}]", member) for i, member in enumerate(value))
    elif isinstance(value, dict):
        members = ((f"{name}[{key!r}]", member) for key, member in value.items())
    elif type(value).__module__ == "__main__":  # an object of a class of the program
        members = ((f"{name}.{key}", member) for key, member in getattr(value, "__dict__", {}).items())
    for expression, member in islice(members, _MOST_HELD):
        if isinstance(member, Tensor):
            yield expression, member


def _called_name(tree: Syntax) -> str:
    """Return the name of the function, the method or the attribute of an expression; empty for other expressions."""
    place = {"call": 0, "method": 1, "attribute": 1}.get(tree.kind)
    return "" if place is None else tree.children[place].text


def _is_operation(tree: Syntax, name: str) -> bool:
    """Return whether an expression, which calls ``name`` or nothing, is an operation of the language, and not of autograd."""
    if not name:
        return tree.kind in OPERATORS or tree.kind in ("index", "comparison")
    return name in FUNCTIONS and bool(FUNCTIONS[name].tensors) and name not in METHODS[Tensor] and name not in ACTIONS


def _without_modules(tree: Syntax, frame: FrameType) -> Syntax:
    """Return ``relu(x)`` for ``F.relu(x)``, where ``F`` is a module in the frame; other trees stay as they are."""
    if tree.kind == "method" and isinstance(_value(tree.children[0], frame), ModuleType):
        return Syntax("call", tree.children[1:], "", tree.span)
    return tree


def _operands(text: PythonText, tree: Syntax, frame: FrameType, results: Mapping[Span, Tensor]) -> dict[int, Tensor | float]:
    """Return the tensors and numbers in an operation by the ``id`` of their trees; ``results`` are those of its statement."""
    values: dict[int, Tensor | float] = {}
    parts = tree.children[:]
    for part in parts:  # the list grows during the loop, by the parts of what has no value
        value = results.get(text.span_with_modules(part)) if part.kind in _COMPUTED else _value(part, frame)
        if isinstance(value, (Tensor, int, float)) and not isinstance(value, bool):
            values[id(part)] = value
        else:
            parts += part.children
    return values


def _value(tree: Syntax, frame: FrameType) -> object:
    """Return the value of a name, or of an attribute that can be read without an effect; ``None`` for other expressions."""
    names = []
    while tree.kind == "attribute":
        tree, name = tree.children
        names.append(name.text)
    if tree.kind != "name":
        return None
    first = tree.children[0].text
    value: object = frame.f_locals.get(first, frame.f_globals.get(first))
    for attribute in reversed(names):
        value = value.grad if isinstance(value, Tensor) and attribute == "grad" else getattr(value, "__dict__", {}).get(attribute)
    return value
