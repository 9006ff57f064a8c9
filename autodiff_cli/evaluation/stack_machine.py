"""Evaluate trees with a stack of work, so that neither nesting nor calls recurse.

A value is a tensor, a plain number (weakly typed: it never widens the type of a tensor), a list literal that has not been
used as a tensor yet, a text, a tuple or ``none``.  Arithmetic between plain numbers is floating point throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from autodiff_cli import ops  # noqa: F401  installs the functions
from autodiff_cli.autograd.dtypes import DType
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, AutodiffError, LimitError, OutOfMemory, ParseError, UnknownName
from autodiff_cli.evaluation.coercion import Items, nesting, number
from autodiff_cli.evaluation.names import CONSTANTS, function_hint
from autodiff_cli.evaluation.operations import Operations, as_slice
from autodiff_cli.evaluation.tensor_log import TensorLog
from autodiff_cli.evaluation.user_function import UserFunction, call_with_own_vjp
from autodiff_cli.language.operators import COMPARING, OPERATORS
from autodiff_cli.language.tree import EFFECTS, Syntax, arguments
from autodiff_cli.limits import lifted
from autodiff_cli.suggest import suggestion
from autodiff_cli.wording import plural

_LITERALS = {"true": True, "false": False, "none": None, "ellipsis": ...}
_MOST_DIMENSIONS = 32
MOST_NESTED_CALLS = 100_000


class Work(NamedTuple):
    """One item of work.

    Attributes:
        node: the node to evaluate.
        then: computes its value from those of its operands; ``None`` if they have not been visited.
        operands: how many of them there are.
    """

    node: Syntax
    then: Callable[[Syntax, list[Any]], Any] | None = None
    operands: int = 0


class Pending(list[Work]):
    """The work that a value needs first, in place of the value; the last item is done first."""


def after(node: Syntax, operands: Sequence[Syntax], then: Callable[[Syntax, list[Any]], Any]) -> Pending:
    """Evaluate operands, and call ``then`` with the node and the list of their values."""
    return Pending([Work(node, then, len(operands)), *map(Work, reversed(operands))])


class Machine(Operations):
    """Evaluates trees one after the other, and keeps the names and functions that they define.

    Args:
        source: the text that the trees were parsed from.
        variables: tensors by name.
        dtype: the type of tensors made from literals.
        listing: whether to keep a list of every tensor made.

    Attributes:
        names: the current value of each name.
        functions: the functions that were defined.
        tensors: makes tensors of literals, and has the list of all.
    """

    most_nested = MOST_NESTED_CALLS

    def __init__(self, source: str, variables: Mapping[str, Tensor], dtype: DType, listing: bool = True) -> None:
        super().__init__(TensorLog(source, dtype, variables.values(), listing))
        self.names: dict[str, Any] = dict(variables)
        self.functions: dict[str, UserFunction] = {}
        self._scope: dict[str, Any] = {}
        self._depth = 0

    @property
    def source(self) -> str:
        """The text that places in errors refer to."""
        return self.tensors.source

    # Statements

    def statement(self, node: Syntax) -> Any:
        """Run one statement and return its value, ``None`` for a definition."""
        if node.kind == "assignment":
            value = self.evaluate(node.children[1])
            if isinstance(value, list):
                value = self.tensors.of(value, node.children[1])
            self.names[node.children[0].text] = value
            return value
        if node.kind.startswith("definition"):
            try:
                function = UserFunction(node)
            except AutodiffError as error:
                raise error.at(node.span, self.source) from None
            self.functions[function.name] = function
            return None
        if node.kind == "unpack":
            return self._unpack(node)
        if node.kind in EFFECTS:
            raise ParseError(
                "an expression cannot change a tensor",
                span=node.span,
                source=self.source,
                hint="programs of statements run with 'autodiff run' and 'autodiff repl'",
            )
        return self.evaluate(node)

    def _unpack(self, node: Syntax) -> Any:
        """``a, b = several values``."""
        *names, tree = node.children
        value = self.evaluate(tree)
        if isinstance(value, Tensor) and value.shape:
            unbind = FUNCTIONS["unbind"]
            parts = tuple(self.tensors.keep(part, tree) for part in unbind.function(value))
            self.tensors.trace(unbind, [value], {}, parts, tree)
            value = parts
        if not isinstance(value, (tuple, list)) or len(value) != len(names):
            count = len(value) if isinstance(value, (tuple, list)) else 1
            raise ArgumentError(f"{len(names)} names for {plural(count, 'value')}", span=node.span, source=self.source)
        for name, part in zip(names, value, strict=True):
            self.names[name.text] = self.tensors.of(part) if isinstance(part, list) else part
        return value

    # The stack of work

    def evaluate(self, tree: Syntax) -> Any:
        """Return the value of one expression.

        Raises:
            AutodiffError: of any kind, with its place in the source.
        """
        return self._run([Work(tree)])

    def call(self, function: UserFunction, given: Sequence[Any]) -> Any:
        """Return the value of a function of the program."""
        found = self.enter(function, list(given), {}, function.body)
        return self._run(found) if type(found) is Pending else found

    def _run(self, work: list[Work]) -> Any:
        values: list[Any] = []
        while work:
            node, then, count = work.pop()
            try:
                if then is None:
                    found = self._visit(node)
                else:
                    first = len(values) - count
                    operands = values[first:]
                    del values[first:]
                    found = then(node, operands)
            except AutodiffError as error:
                raise error.at(node.span, self.source) from None
            except RecursionError:
                raise LimitError(
                    "functions with derivatives of their own call each other too deeply", span=node.span, source=self.source
                ) from None
            except MemoryError:
                raise OutOfMemory("not enough memory for this tensor", span=node.span, source=self.source) from None
            if type(found) is Pending:
                work += found
            else:
                values.append(found)
        return values.pop()

    def _visit(self, node: Syntax) -> Any:
        """Return the value of a node, or the work that it needs first."""
        kind, children = node.kind, node.children
        if kind in OPERATORS:
            return after(node, children, self._operator)
        if kind == "name":
            return self.name(node)
        if kind == "number":
            return number(children[0].text)
        if kind in ("call", "method"):
            return self._visit_call(node)
        if kind == "comparison":
            return after(node, children[::2], self._compare)
        if kind == "conditional":
            return after(node, children[1:2], self.choose)
        if kind == "index":
            return after(node, [children[0], *children[1].children], self._index)
        if kind == "slice":
            return after(node, [child.children[0] for child in children if child.kind == "bound"], as_slice)
        if kind == "attribute":
            return after(node, children[:1], self._attribute)
        if kind == "list":
            return after(node, children, self._list)
        if kind == "string":
            return children[0].text[1:-1]
        if kind in _LITERALS:
            return _LITERALS[kind]
        raise ArgumentError("a keyword belongs inside the brackets of a function", span=node.span)

    def _visit_call(self, node: Syntax) -> Pending:
        method = node.kind == "method"
        name = node.children[1 if method else 0].text
        keywords: list[str | None] = [None] if method else []
        parts = node.children[:1] if method else []
        for argument in arguments(node):
            if argument.kind == "keyword":
                keywords.append(argument.children[0].text)
                parts.append(argument.children[1])
            elif keywords and keywords[-1]:
                raise ArgumentError("a positional argument follows a keyword", span=argument.span)
            else:
                keywords.append(None)
                parts.append(argument)
        self.find(name, node, method)  # before the arguments are evaluated, which may fail for the same reason
        return after(node, parts, lambda node, values: self._call(node, name, keywords, values))

    # Names

    def name(self, node: Syntax) -> Any:
        """Return the current value of a name."""
        name = node.children[0].text
        for scope in (self._scope, self.names, CONSTANTS):
            if name in scope:
                return scope[name]
        close = suggestion(name, [*self._scope, *self.names, *self.functions])
        raise UnknownName(
            f"'{name}' has no value here", span=node.span, source=self.source, hint=close or f"give it one before: {name} = ..."
        )

    def find(self, name: str, node: Syntax, method: bool) -> Any:
        """Return the function that a call or a method names.

        Raises:
            UnknownName: if there is no such function.
        """
        if name in self.functions and not method:
            return self.functions[name]
        if name in FUNCTIONS:
            return FUNCTIONS[name]
        span = node.children[1 if method else 0].span
        if method and name in self.functions:
            raise UnknownName(f"'{name}' is a function, not a method", span=span, hint=f"write {name}(...)")
        if name in self.names or name in self._scope:
            raise UnknownName(f"'{name}' is a variable, not a function", span=span, hint=f"write {name}*(...) to multiply")
        raise UnknownName(f"unknown function '{name}'", span=span, hint=function_hint(name, [*FUNCTIONS, *self.functions]))

    # Calls

    def _operator(self, node: Syntax, operands: list[Any]) -> Any:
        return self.apply(FUNCTIONS[node.kind], operands, {}, node)

    def _call(self, node: Syntax, name: str, keywords: Sequence[str | None], values: Sequence[Any]) -> Any:
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for value, keyword in zip(values, keywords, strict=True):
            if keyword is None:
                positional.append(value)
            elif keyword in named:
                raise ArgumentError(f"{name} got two values for '{keyword}'")
            else:
                named[keyword] = value
        found = self.find(name, node, node.kind == "method")
        if node.kind == "call" and name in ("max", "min") and len(positional) == 2:
            # max(x, 2) compares; the method's x.max(2) and max(x, dim=2) go along a dimension, as in PyTorch.
            found = FUNCTIONS[f"{name}imum"]
        return self.call_found(found, positional, named, node)

    def call_found(self, found: FunctionInfo | UserFunction, given: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        """Call the result of ``find``; a function of the program is pending work."""
        if isinstance(found, FunctionInfo):
            return self.apply(found, given, named, node)
        return self.enter(found, given, named, node)

    def enter(self, function: UserFunction, given: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        """Return the work of a function of the program, or its value if its derivatives are user-written."""
        bound = function.bound(given, named)
        self.count(node)
        bound = [self.tensors.of(value, node) if isinstance(value, list) else value for value in bound]
        if function.partials is not None:
            return self.with_own_vjp(function, bound, node)
        self._depth += 1
        if self._depth > self.most_nested and not lifted():
            raise LimitError(
                f"calls are nested more than {self.most_nested:,} deep",
                span=node.span,
                hint=f"does '{function.name}' call itself without an end?",
            )
        before, mark = self._scope, self.tensors.mark()
        self._scope = dict(zip(function.parameters, bound, strict=True))

        def leave(node: Syntax, values: list[Any]) -> Any:
            self.leave(node, before, mark)
            return values[0]

        return after(node, [function.body], leave)

    def leave(self, node: Syntax, before: dict[str, Any], mark: int) -> None:
        """End the call of a function of the program."""
        self._scope = before
        self.tensors.called(node, mark)
        self._depth -= 1

    def with_own_vjp(self, function: UserFunction, given: list[Any], node: Syntax) -> Any:
        """Call a function whose derivatives are user-written."""
        tensors = [self.tensors.of(value) for value in given]
        result = self.tensors.keep(call_with_own_vjp(self, function, tensors), node)
        self.tensors.trace(None, tensors, {}, result, node)
        return result

    def within(self, function: UserFunction, body: Syntax, given: Sequence[Any]) -> Tensor:
        """Return the value of an expression over the parameters of a function; its tensors are not listed."""
        before, self._scope = self._scope, dict(zip(function.parameters, given, strict=True))
        try:
            with self.tensors.unlisted():
                return self.tensors.of(self.evaluate(body))
        finally:
            self._scope = before

    # Choices and comparisons

    def choose(self, node: Syntax, values: list[Any]) -> Any:
        """Return the work of the branch that one number selects; a tensor of conditions selects element by element."""
        condition = values[0]
        if not isinstance(condition, (bool, int, float, Tensor)):
            condition = self.tensors.of(condition, node)
        if isinstance(condition, Tensor) and condition.shape != ():
            return self.select(node, condition)
        return Pending([Work(node.children[0 if condition else 2])])

    def select(self, node: Syntax, condition: Tensor) -> Pending:
        """Return the work of both branches and of the selection between them."""
        where = FUNCTIONS["where"]
        return after(node, node.children[::2], lambda node, values: self.apply(where, [condition, *values], {}, node))

    def _compare(self, node: Syntax, operands: list[Any]) -> Any:
        """Return the value of ``a < b < c``, which means that both hold."""
        result = None
        for i, symbol in enumerate(node.children[1::2]):
            one = self.apply(FUNCTIONS[COMPARING[symbol.text]], operands[i : i + 2], {}, node)
            result = one if result is None else self.apply(FUNCTIONS["logical_and"], [result, one], {}, node)
        return result

    # Indices, attributes, lists

    def _index(self, node: Syntax, values: list[Any]) -> Any:
        thing, *keys = values
        return self.element(thing, self.keys(keys), node)

    def _attribute(self, node: Syntax, values: list[Any]) -> Any:
        return self.attribute(values[0], node.children[1].text, node)

    def _list(self, node: Syntax, values: list[Any]) -> Items:
        if nesting(values) > _MOST_DIMENSIONS:
            # Checked where lists are made, so that every function may walk them as NumPy does.
            raise ArgumentError(f"lists are nested more than {_MOST_DIMENSIONS} deep")
        return Items(values, node)
