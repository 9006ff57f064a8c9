"""The statements of programs as work of the evaluator: assignments, blocks, functions with several statements.

A function of a program may contain statements, and calls may be nested as deeply as those of expressions.  Its statements are
therefore work items on the same stack as expressions.  The blocks outside of functions are run by ``Interpreter.run``, which
shows their output during the run.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from typing import Any

from autodiff_cli.errors import ArgumentError, AutodiffError, ShapeError
from autodiff_cli.evaluation.coercion import as_whole_number, holds_tensor
from autodiff_cli.evaluation.operations import after
from autodiff_cli.evaluation.stack_machine import Machine
from autodiff_cli.evaluation.user_function import UserFunction
from autodiff_cli.language.tree import EFFECTS, Syntax, arguments, new_token, new_tree
from autodiff_cli.script.format_strings import format_value
from autodiff_cli.script.library import CONTEXTS, call_with_values
from autodiff_cli.script.statements import COMPOUND


class Index(int):
    """A whole number from a loop; sums, differences and products of such numbers stay whole."""

    __slots__ = ()


class Blocks(Machine):
    """An evaluator of statements, with the arguments of ``Machine``; ``Interpreter`` adds the names of PyTorch.

    ``expressions`` has the expression of the value of each name.
    """

    # Methods of ``Interpreter``.
    _show: Callable[[Syntax], None]
    _effect: Callable[[Syntax, list[Any]], None]
    _argument: Callable[[object], Any]

    def __init__(self, *settings: Any, **options: Any) -> None:
        super().__init__(*settings, **options)
        self.expressions: dict[str, str] = {name: name for name in self.names}
        # What each kind of statement does, in the form of ``Machine._visits``.
        statements: Mapping[str, Callable[[Syntax], Any]] = {
            "show": self._show,
            "lambda": self._lambda,
            "format_string": self._format_string,
            **{kind: self._visits[kind] for kind in ("assignment", "unpack", "definition", "definition_with_grad")},
            "return": lambda node: after(node, node.children[1:], lambda node, values: values[0] if values else None),
            "block": lambda node: self._sequence(node, (statement for statement in node.children)),
            **{kind: lambda node: self._sequence(node, self.turns(node)) for kind in COMPOUND},
            **{kind: lambda node: after(node, _operands(node), self._effect) for kind in EFFECTS},
        }
        self._visits |= {kind: self._counted(visit) for kind, visit in statements.items()}

    def _counted(self, visit: Callable[[Syntax], Any]) -> Callable[[Syntax], Any]:
        """Return a visit of a statement that counts it as an operation first."""

        def count(node: Syntax) -> Any:
            self.count(node)
            return visit(node)

        return count

    # Blocks

    def turns(self, node: Syntax) -> Generator[Syntax]:
        """Yield the statements that a ``with`` or a ``for`` runs; the mode or the index is set before each statement.

        The iterator must be closed if a statement fails, so that the modes are restored.
        """
        try:
            yield from self._loop(node) if node.kind == "for" else self._in_modes(node)
        except AutodiffError as error:  # of the header, because the statements are run elsewhere
            raise error.at(node.span, self.source) from None

    def _loop(self, node: Syntax) -> Generator[Syntax]:
        """Yield the statements of a ``for`` once for each value of the index, to which its name is set."""
        name, header, block = node.children
        turns = self._range(header)
        number_of_turns = max(0, -((turns.start - turns.stop) // turns.step))  # rounded up; len(turns) fails above 2**63
        self.count(node, number_of_turns)  # raises an error at once if there are too many
        for index in turns:
            self.count(node)
            self._set(name.text, Index(index), header)
            yield from block.children

    def _in_modes(self, node: Syntax) -> Generator[Syntax]:
        """Yield the statements of a ``with`` inside its modes, which end in reverse order."""
        entered = []
        try:
            for tree in node.children[:-1]:
                context = self._context(tree)
                context.__enter__()
                entered.append(context)
            yield from node.children[-1].children
        finally:
            for context in reversed(entered):
                context.__exit__(None, None, None)  # also after an error, of which the modes take no notice

    def _range(self, tree: Syntax) -> range:
        """Return the range of a loop, whose header is the call ``tree`` with one to three whole numbers."""
        values = [as_whole_number(self.evaluate(argument), "an argument of range") for argument in arguments(tree)]
        if not 0 < len(values) < 4 or not all(isinstance(value, int) for value in values):  # a text or a list stays as it is
            raise ArgumentError("range takes one to three whole numbers", hint="write range(10), or range(start, stop, step)")
        if values[2:] == [0]:  # the step, if it is given
            raise ArgumentError("the step of a range cannot be 0", hint="write range(10), or range(start, stop, step)")
        return range(*values)

    def _context(self, tree: Syntax) -> Any:
        """Return the context manager of a mode in the header of a ``with``, which is a name or a call."""
        name = tree.children[0].text
        positional = [argument for argument in arguments(tree) if argument.kind != "keyword"]
        keywords = [argument.children for argument in arguments(tree) if argument.kind == "keyword"]
        values = [self.evaluate(argument) for argument in positional]
        named = {keyword.text: self.evaluate(value) for keyword, value in keywords}
        return call_with_values(name, CONTEXTS[name], values, named, self._argument)

    def _sequence(self, node: Syntax, statements: Generator[Syntax]) -> Any:
        """Return the work that runs statements in a function; its value is that of the last one if it returns a value."""
        self._open.append(closing(statements))  # the modes of a block end if a statement fails
        last: Syntax | None = None

        def step(node: Syntax, values: list[Any]) -> Any:
            """Return the work of the next statement, or, after the last one, its value, which is the only item of ``values``."""
            nonlocal last
            statement = next(statements, None)
            if statement is not None:
                last = statement
                return after(node, [statement], step)
            self._open.pop()
            may_return = last is not None and last.kind in ("return", *COMPOUND)  # a ``with`` may end with a ``return``
            return values[0] if values and may_return else None

        return step(node, [])

    # Names

    def _set(self, name: str, value: Any, tree: Syntax) -> Any:
        """Give a name a value, a list as a tensor if it fits, and return it; in a function, the name is a local one."""
        if isinstance(value, list):
            try:
                value = self.tensors.as_tensor(value, tree)
            except ShapeError:
                if not holds_tensor(value):
                    raise  # tensors of different shapes stay a list
        if self._depth:
            self._scope[name] = value
        else:
            self.names[name] = value
            self.expressions[name] = self.tensors.text(tree.span)
        return value

    def _assign_all(self, node: Syntax, values: list[Any]) -> Any:
        """Assign the elements of a value, the only one of ``values``, to several names; keep the expression of each."""
        *names, tree = node.children
        parts = self.unpack(values[0], len(names), node)
        for i, (name, part) in enumerate(zip(names, parts, strict=True)):
            self._set(name.text, part, tree)
            if not self._depth:
                self.expressions[name.text] = f"{self.tensors.text(tree.span)}[{i}]"
        return parts

    def _define(self, node: Syntax) -> None:
        """Define a function of the program, or a local one in a function; it replaces a value or function of the same name."""
        function = UserFunction(node, self._scope)
        if self._depth:
            self._scope[function.name] = function
        else:
            self.names.pop(function.name, None)  # a value of the same name, which calls would find first
            self.functions[function.name] = function

    def _lambda(self, node: Syntax) -> UserFunction:
        """Return the function without a name that a ``lambda`` makes."""
        _word, *names, _colon, body = node.children
        parameters = [new_tree("name", name) for name in names]
        signature = new_tree("call", new_token("NAME", "lambda"), new_tree("arguments", *parameters))
        return UserFunction(Syntax("definition", [signature, body], "", node.span), self._scope)

    def _format_string(self, node: Syntax) -> Any:
        """Return the work of a format string: the values of its fields, and the text that joins them."""
        parts = node.children[0].children  # texts, and fields whose text is their format
        expressions = [part.children[0] for part in parts if part.kind == "field"]

        def join(_: Syntax, values: list[Any]) -> str:
            remaining = iter(values)  # one for each field
            return "".join(format_value(next(remaining), part.text) if part.kind == "field" else part.text for part in parts)

        return after(node, expressions, join)


def _operands(node: Syntax) -> list[Syntax]:
    """Return the expressions in a statement that changes a value: the target, the positions of an index, and the new value."""
    if node.kind == "set_index":
        return [node.children[0], *node.children[1].children, node.children[2]]
    return [node.children[0], node.children[-1]]
