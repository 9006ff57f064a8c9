"""The interpreter for programs of statements, which ``autodiff run`` and ``autodiff repl`` use.

In addition to expressions, programs may contain the functions, methods and attributes in ``script.library``, assignments
that change tensors (``x.grad = none``, ``x[0] = 1``, ``x -= 0.1*g``), functions as values (``y.register_hook(f)``,
``gradcheck(f, x)``), nodes and tuples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from autodiff_cli.autograd import modes
from autodiff_cli.autograd.dtypes import default_type, dtype, set_default_dtype
from autodiff_cli.autograd.hooks import RemovableHandle
from autodiff_cli.autograd.node import Node
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.autograd.printing import Size
from autodiff_cli.autograd.reverse import anomaly
from autodiff_cli.autograd.tensor import NO_GRADIENTS, Tensor
from autodiff_cli.errors import ArgumentError, AutodiffError, DtypeError, UnknownName
from autodiff_cli.evaluation.coercion import holds_tensor, is_plain_number, value_description
from autodiff_cli.evaluation.evaluation import TensorRow
from autodiff_cli.evaluation.names import CONSTANTS
from autodiff_cli.evaluation.operations import set_elements
from autodiff_cli.evaluation.user_function import UserFunction
from autodiff_cli.language.operators import IN_PLACE
from autodiff_cli.language.tree import STATEMENTS, Syntax, called_name, new_token, new_tree, unparse
from autodiff_cli.script import library
from autodiff_cli.script.backward_notes import History, Program, notes_on_program, program_behind
from autodiff_cli.script.blocks import Blocks, Index
from autodiff_cli.script.display import display
from autodiff_cli.script.namespaces import PACKAGE
from autodiff_cli.script.statements import COMPOUND, WORDS, parse_statements
from autodiff_cli.suggest import suggestion

LAST = "_"
"""The name of the last value that was shown."""
_MISSING = object()
_FUNCTIONS = (UserFunction, FunctionInfo)
_WHOLE = ("add", "sub", "mul", "floor_divide", "remainder", "pow", "neg")
"""The operators whose results are whole numbers if the operands are."""
_LARGEST = 2**53
"""The bound of the whole numbers that a float represents exactly."""


class StatementOutput(NamedTuple):
    """The output of a statement.

    Attributes:
        tree: the statement, or the call of ``print``.
        rows: the rows of the tensors for ``show``; ``None`` for other statements.
        value: the value of an expression, or the list of values for ``print``.
        text: the printed form of the value.
    """

    tree: Syntax
    rows: list[dict[str, Any]] | None = None
    value: Any = None
    text: str = ""


class Interpreter(Blocks):
    """An interpreter of statements, which keeps names from one statement to the next; ``variables`` are the first names.

    ``notes`` are those on all backward passes so far, without duplicates, and on all values that are shown if ``notes_on_values``.
    """

    def __init__(self, variables: Mapping[str, Tensor], dtype: str = "float64") -> None:
        super().__init__("", variables, np.dtype(dtype), listing=False)
        self._recording = True  # the grad mode of the program
        self._anomaly = (False, True)  # as ``_anomaly_settings`` returns them
        FUNCTIONS.complete()  # tensors have methods only for the functions that are loaded
        self.notes: list[dict[str, Any]] = []
        self.notes_on_values = False
        self._history = History()
        self._definitions: dict[str, Syntax] = {}  # the latest definition of each function
        self._output: list[StatementOutput] = []  # of the statement that runs
        self._lists: dict[str, tuple[Tensor, list[Any]]] = {}  # by name, a stacked list of tensors and its items

    def run(self, text: str) -> Iterator[StatementOutput]:
        """Run the next part of the program and yield its output during the run.

        The text is appended to ``source``, and parsed before the first statement runs.  After an error, the names keep their
        current values.

        Raises:
            AutodiffError: if a statement is invalid or fails; the error contains the position in ``source``.
        """
        start = len(self.source)
        self.tensors.source += text if text.endswith("\n") else text + "\n"
        statements = parse_statements(self.source, start)
        levels = [(one for one in statements)]  # the statements of the blocks that have begun, those of the innermost one last
        self.start_counting()
        with self._modes():
            try:
                while levels:
                    try:
                        self._run_next(levels)
                    finally:  # what a statement showed before its error is output
                        yield from self._output
                        self._output.clear()
            finally:
                self._output.clear()
                while levels:
                    levels.pop().close()  # which ends the modes of a ``with``
                self._scope, self._depth = {}, 0  # reset after an error inside a function

    def _run_next(self, levels: list[Generator[Syntax]]) -> None:
        """Run the next statement of the innermost block, enter the block that it begins, or leave the block at its end."""
        with np.errstate(all="ignore"):
            statement = next(levels[-1], None)
            if statement is None:
                levels.pop()
            elif statement.kind in COMPOUND:
                levels.append(self.turns(statement))
            else:
                self._run_one(statement)

    @contextmanager
    def _modes(self) -> Iterator[None]:
        """Enter the modes that the program has set; at the end, keep those that it has then, and restore those of the caller."""
        callers_dtype, callers_recording, callers_anomaly = default_type(), modes.is_grad_enabled(), _anomaly_settings()
        callers_place = anomaly.forward_place.get()  # not a token: a generator may be closed in another context
        set_default_dtype(self.dtype)
        modes.set_grad_enabled(self._recording)
        anomaly.set_anomaly_enabled(*self._anomaly)
        anomaly.forward_place.set(lambda: anomaly.SourcePlace(self.current.span, self.source))
        try:
            yield
        finally:
            self.dtype = self.tensors.dtype = default_type()
            self._recording, self._anomaly = modes.is_grad_enabled(), _anomaly_settings()
            set_default_dtype(callers_dtype)
            modes.set_grad_enabled(callers_recording)
            anomaly.set_anomaly_enabled(*callers_anomaly)
            anomaly.forward_place.set(callers_place)

    def _run_one(self, tree: Syntax) -> None:
        """Run a statement outside of functions, and show its value."""
        value = self.evaluate(tree)
        self._remember(tree, value)
        if not _is_silent(tree, value):
            self._show_value(tree, value)

    def _show(self, node: Syntax) -> None:
        """Show the table of some tensors, or of all tensors."""
        rows = [self._row(tree) for tree in node.children] if node.children else self._all_rows()
        self._output.append(StatementOutput(node, rows=rows))

    def _print(self, values: list[Any], named: Mapping[str, Any], node: Syntax) -> None:
        """Show the values of a call of ``print`` on one line."""
        if named:
            raise ArgumentError("print has no parameters with names", hint=f"print one line with each call; {PACKAGE}")
        self._output.append(StatementOutput(node, value=values, text=" ".join(map(display, values))))

    def _remember(self, tree: Syntax, value: object) -> None:
        """Record a statement that ran, and collect the notes on its backward passes."""
        if tree.kind.startswith("definition"):
            name, *_ = tree.children[0].children  # of the call on the left side
            self._definitions[name.text] = tree
        for root in self._history.roots(tree):
            self._collect_notes(root, shows_value=False)
        self._history.add(tree, value)

    def _show_value(self, tree: Syntax, value: object) -> None:
        """Show the value of an expression, with its notes if they are wanted, and make it the value of ``_``."""
        self._output.append(StatementOutput(tree, value=value, text=display(value)))
        if self.notes_on_values:
            self._collect_notes(tree, shows_value=True)
        self.names[LAST], self.expressions[LAST] = value, unparse(tree)
        self._history.add(new_tree("assignment", new_token("NAME", LAST), tree), value)

    def _collect_notes(self, root: Syntax, shows_value: bool) -> None:
        """Add the new notes on a backward pass, or on a value that is shown."""
        for one in notes_on_program(self.program(root), self.source, self.dtype, shows_value):
            if all(one["message"] != other["message"] for other in self.notes):
                self.notes.append(one)

    def program(self, root: Syntax) -> Program | None:
        """Return the program that computes an expression; ``None`` if a value that it needs has changed since."""
        return program_behind(root, self._history, self._definitions, self.names)

    def _row(self, tree: Syntax) -> dict[str, Any]:
        """Return the row of the table of ``show`` for an expression; that of ``none`` has only the expression, also as name."""
        name = unparse(tree)
        value = self.evaluate(tree)
        if value is None:
            return {**dict.fromkeys(TensorRow.__annotations__), "name": name, "expression": name}
        if isinstance(value, (Node, UserFunction, RemovableHandle, tuple, str)):  # what cannot become a tensor
            message = f"show requires tensors, not {value_description(value)}"
            raise ArgumentError(message, span=tree.span, source=self.source, hint=f"use print({name})")
        try:
            return TensorRow.from_tensor(self.tensors.as_tensor(value), name, self.expressions.get(name, name))._asdict()
        except AutodiffError as error:
            raise error.at(tree.span, self.source) from None

    def _all_rows(self) -> list[dict[str, Any]]:
        """Return the rows of the table of ``show`` without names: one for each name of a tensor, except ``_``."""
        tensors = [(name, value) for name, value in self.names.items() if isinstance(value, Tensor) and name != LAST]
        return [TensorRow.from_tensor(tensor, name, self.expressions[name])._asdict() for name, tensor in tensors]

    def known(self) -> set[str]:
        """Return every name that is currently defined, for completion."""
        return {*self.names, *self.functions, *FUNCTIONS, *library.ACTIONS, *library.CONTEXTS, *library.DTYPES, *CONSTANTS, *WORDS}

    def members(self, thing: object) -> set[str]:
        """Return the methods and attributes of PyTorch that a value has."""
        kind = library.listed_class(thing)
        return {*library.METHODS.get(kind, ()), *library.ATTRIBUTES.get(kind, ())}

    def members_of(self, name: str) -> set[str]:
        """Return the methods and attributes of the value of a name, for completion."""
        first, *attributes = name.split(".")
        thing = self.names.get(first)
        for attribute in attributes:  # a name with an unknown attribute has the members of none
            thing = getattr(thing, attribute) if attribute in library.ATTRIBUTES.get(library.listed_class(thing), ()) else None
        if library.listed_class(thing) is not Tensor:
            return self.members(thing)
        return {*self.members(thing), *(function for function, op in FUNCTIONS.items() if op.tensors)}  # x.sin() for sin(x)

    # Statements

    def _effect(self, node: Syntax, values: list[Any]) -> None:
        """Run a statement that changes an attribute, elements or the whole of a value: the target, positions and the new value."""
        target, *keys, value = values
        if node.kind == "set_attribute":
            self._set_attribute(node, target, value)
        elif node.kind == "augmented":
            self._set_in_place(node, target, value)
        elif isinstance(target, Tensor):
            set_elements(target, self.keys(keys), value if is_plain_number(value) else self.tensors.as_tensor(value))
        else:
            raise ArgumentError(f"only a tensor has elements to set, not {value_description(target)}")

    def _set_in_place(self, node: Syntax, target: object, value: object) -> None:
        """Run ``x += y`` for a tensor, by the method ``add_``, or for a name with a number, which gets a new value; else raise."""
        variable, sign, _ = node.children
        if isinstance(target, Tensor):
            name = f"{IN_PLACE[sign.text]}_"
            method = getattr(target, name, None)
            if method is None:  # that of ``@=``
                raise ArgumentError(f"'{sign.text}' does not exist for tensors", hint="write x = x @ y")
            library.call_with_values(name, method, [value], {}, self._argument)
        elif variable.kind == "name" and is_plain_number(target):
            self._set_number(node, target, value)
        else:
            raise ArgumentError(f"only a tensor can be changed, not {value_description(target)}")

    def _set_number(self, node: Syntax, target: float, value: Any) -> None:
        """Give a name with the number ``target`` its new value, as in ``i += 1``; constants and names outside are errors."""
        variable, sign, _ = node.children
        name = variable.children[0].text
        if name not in (self._scope if self._depth else self.names):
            if name in self.names:  # of the program, in a function
                hint = "give it to the function as an argument"
                raise ArgumentError(f"'{name}' is not a local name of the function", hint=hint)
            raise ArgumentError(f"'{name}' is a constant and cannot be changed", hint=f"assign it to a variable first: y = {name}")
        self._set(name, self.apply(FUNCTIONS[IN_PLACE[sign.text]], [target, value], {}, node), node)

    def _set(self, name: str, value: Any, tree: Syntax) -> Any:
        """Give a name a value; the items of a list of tensors are kept as well, for functions that take lists."""
        items = list(value) if isinstance(value, list) and holds_tensor(value) else None
        result = super()._set(name, value, tree)
        if not self._depth:
            self._lists.pop(name, None)
            if items is not None:
                self._lists[name] = (result, items)
        return result

    def _set_attribute(self, node: Syntax, target: object, value: object) -> None:
        """Set an attribute of a tensor, as in ``x.grad = none``; a number becomes a tensor, except for ``requires_grad``."""
        name = node.children[1].text
        if not isinstance(target, Tensor) or name not in library.SETTABLE:
            hint = f"set one of the attributes {', '.join(library.SETTABLE)}"
            raise UnknownName(f"'.{name}' of {value_description(target)} cannot be set", span=node.children[1].span, hint=hint)
        if name != "requires_grad" and (value is not None or name == "data"):  # ``none`` is a gradient, but not data
            value = self.tensors.as_tensor(value)
        setattr(target, name, value)

    # Names, attributes, calls

    def _operator(self, node: Syntax, operands: list[Any]) -> Any:
        """Return the value of an operator; sums, differences and products of whole numbers of loops are whole numbers."""
        value = super()._operator(node, operands)
        is_of_loop = Index in map(type, operands) and all(isinstance(operand, int) for operand in operands)
        if not is_of_loop or node.kind not in _WHOLE:
            return value
        is_exact = math.isfinite(value) and abs(value) < _LARGEST and float(value).is_integer()  # not for 2**-1
        return Index(value) if is_exact else value

    def name(self, node: Syntax) -> Any:
        """Return the value of a name, which may also be a function or a type; the error for an unknown name has a hint."""
        text = node.children[0].text
        if text not in self._scope and text not in self.names:
            if text in self.functions:
                return self.functions[text]
            if text in library.DTYPES:
                return library.DTYPES[text]
            if text in FUNCTIONS and FUNCTIONS[text].tensors:
                return FUNCTIONS[text]
            if text == "print":  # as a hook
                return lambda *values: self._print([*values], {}, self.current)
        try:
            return super().name(node)
        except UnknownName as error:
            error.hint = suggestion(text, library.DTYPES) or library.hint_for_name(text, self.source, node.span) or error.hint
            raise

    def find(self, name: str, node: Syntax, method: bool) -> Any:
        """Return the function that a call names: for a ``method``, ``apply`` or one of ``script.library``, the name itself."""
        value = None if method else self._scope.get(name, self.names.get(name))
        if isinstance(value, _FUNCTIONS):
            return value
        if method and (name in library.METHOD_NAMES or name == "apply"):
            return name
        if not method and name in library.ACTIONS and name not in self.functions:
            return name
        try:
            return super().find(name, node, method)
        except UnknownName as error:
            known = library.METHOD_NAMES if method else library.ACTIONS
            error.hint = library.hint_for_function(name) or suggestion(name, known) or error.hint
            raise

    def call_function(
        self, function: FunctionInfo | UserFunction | str, values: list[Any], named: dict[str, Any], node: Syntax
    ) -> Any:
        """Call what ``find`` returned; a name is a method, ``f.apply(x)`` for ``f(x)``, or a function of ``script.library``."""
        if isinstance(function, (FunctionInfo, UserFunction)):
            return super().call_function(function, values, named, node)
        self.count(node)
        if node.kind == "call":
            return self._print(values, named, node) if function == "print" else self._call_action(function, values, named)
        if function == "apply" and isinstance(values[0], UserFunction):
            return self.enter(values[0], values[1:], named, node)
        return self._call_method(function, values, named, node)

    def _call_method(self, name: str, values: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        """Call a method of a value: one of PyTorch's classes, or a function of the language."""
        thing, *rest = values
        if isinstance(thing, (list, bool, int, float)):
            thing = self.tensors.as_tensor(thing)
        if name in library.METHODS.get(library.listed_class(thing), ()):
            return library.call_with_values(name, getattr(thing, name), rest, named, self._argument)
        if isinstance(thing, Tensor) and name in FUNCTIONS:
            return self.apply(FUNCTIONS[name], [thing, *rest], named, node)
        hint = library.hint_for_none(node) if thing is None and node.children[0].kind == "attribute" else None
        raise UnknownName(f"{value_description(thing)} has no method '{name}'", span=node.children[1].span, hint=hint)

    def _call_action(self, name: str, values: list[Any], named: dict[str, Any]) -> Any:
        """Call a function of ``script.library``; one that creates a tensor gets the type of the program unless it has another."""
        if name not in library.CREATING:
            return library.call_with_values(name, library.ACTIONS[name], values, named, self._argument)
        if name in ("tensor", "as_tensor") and values and isinstance(values[0], list):  # a copy without history
            values = [library.without_tensors(values[0]), *values[1:]]
        wants_gradient = name == "tensor" and named.get("requires_grad") is True
        if wants_gradient and "dtype" not in named and library.is_whole(*values[:1]):
            raise DtypeError(NO_GRADIENTS, hint="write numbers with a decimal point, such as 5.0")
        is_truth_value = name == "tensor" and bool(values) and isinstance(values[0], bool)  # it keeps the type bool
        if name not in library.KEEPING_THEIR_TYPE and not is_truth_value:
            named = {"dtype": self.dtype, **named}
        return library.call_with_values(name, library.ACTIONS[name], values, named, self._argument, unconverted=True)

    def _callable(self, value: UserFunction) -> Callable[..., Any]:
        """Return a function of the program as a function of Python, whose result is a tensor, a tuple or ``None``."""

        def function(*arguments: Any) -> Any:
            result = self.call(value, arguments)
            return result if isinstance(result, tuple) or result is None else self.tensors.as_tensor(result)

        return function

    def _argument(self, value: object) -> Any:
        """Convert a value of the language to an argument of a Python function.

        A list of tensors stays one, also if its name has the stacked tensor as its value; a list of numbers becomes a tensor.
        """
        if isinstance(value, FunctionInfo):
            return value.function
        if isinstance(value, UserFunction):
            return self._callable(value)
        for tensor, items in self._lists.values():
            if value is tensor:
                return items
        if isinstance(value, list) and any(isinstance(item, Tensor) for item in value):
            return [self.tensors.as_tensor(item) for item in value]
        return self.tensors.as_tensor(value) if isinstance(value, list) else value

    def attribute(self, thing: object, name: str, node: Syntax) -> Any:
        """Return ``thing.name``: an attribute of PyTorch's classes, or one of the language."""
        if isinstance(thing, tuple) and name in getattr(thing, "_fields", ()):  # a named tuple, such as that of max
            return super().attribute(thing, name, node)
        known = library.ATTRIBUTES.get(library.listed_class(thing), ())
        result = getattr(thing, name, _MISSING) if name in known else _MISSING  # only the node of a leaf has ``variable``
        if result is not _MISSING:
            return result.dtype if isinstance(result, dtype) else result  # the language has its own names of types
        if not isinstance(thing, (Tensor, list, bool, int, float)):
            hint = library.hint_for_none(node) if thing is None else suggestion(name, known)
            raise UnknownName(f"{value_description(thing)} has no attribute '{name}'", span=node.children[1].span, hint=hint)
        if name in library.METHODS[Tensor]:
            raise UnknownName(f"'{name}' is a method", span=node.children[1].span, hint=f"write .{name}() to call it")
        result = super().attribute(thing, name, node)
        return Size(map(Index, result)) if name == "shape" else result


def _is_silent(tree: Syntax, value: object) -> bool:
    """Return whether a statement shows no value: it has none, is a statement, or calls ``backward``, ``x.add_()`` or the like."""
    if value is None or tree.kind in (*STATEMENTS, "show") or isinstance(value, (RemovableHandle, modes.set_grad_enabled)):
        return True
    name = called_name(tree)
    return name in library.SILENT or name.endswith("_")


def _anomaly_settings() -> tuple[bool, bool]:
    """Return whether anomaly detection is on, and whether it checks for nan."""
    return anomaly.is_anomaly_enabled(), anomaly.is_anomaly_check_nan_enabled()
