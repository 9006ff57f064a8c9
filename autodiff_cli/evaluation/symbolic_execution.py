"""Symbolic execution of programs: variables are symbols, and operations on symbols are recorded as steps of the trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autodiff_cli.autograd.dtypes import DType
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import AutodiffError, MissingValue, setting
from autodiff_cli.evaluation.coercion import Items, takes_sequence
from autodiff_cli.evaluation.evaluator import Evaluator
from autodiff_cli.evaluation.names import CONSTANTS, check_no_module, free_names
from autodiff_cli.evaluation.operations import ATTRIBUTES, Pending
from autodiff_cli.evaluation.user_function import UserFunction
from autodiff_cli.language.tree import Syntax, free_name_nodes


class Symbol(Tensor):
    """A tensor without a value; the number 1 is a placeholder for argument checks."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(1.0)


class SymbolicEvaluator(Evaluator):
    """An evaluator for programs whose variables do not have values.

    An undefined name is a variable.  Expressions without variables are computed numerically.  Both branches of a
    conditional are run, because the condition is unknown; a recursive call would therefore not end, so it is recorded
    as a single step.
    """

    def __init__(self, source: str, dtype: DType) -> None:
        super().__init__(source, {}, dtype)
        self.tensors.steps = []
        self._active: list[str] = []

    def run(self) -> Tensor:
        """Run all statements and return the output."""
        value = super().run()
        return self.as_tensor(self._as_one_symbol(value, self.tree.children[-1]))

    def _require_values(self) -> None:
        """Accept variables without values, except Python modules."""
        check_no_module(free_names(self.tree), self.source)

    def name(self, node: Syntax) -> Any:
        """Return the value of a name; a name without a value becomes a variable, whose value is a new symbol."""
        text = node.children[0].text
        if not any(text in scope for scope in (self._scope, self.names, CONSTANTS)):
            self.names[text] = self.variables[text] = Symbol()
        return super().name(node)

    def _set(self, name: str, value: Any, tree: Syntax) -> Any:
        """Give a name the value of an expression, and return the value; a list that contains symbols becomes a symbol."""
        self.names[name] = self._as_one_symbol(value, tree)
        return self.names[name]

    def _assign_all(self, node: Syntax, values: list[Any]) -> Any:
        """Assign the elements of a value to several names; those of a symbol are new symbols."""
        *names, tree = node.children
        value = values[0]
        if not isinstance(value, Symbol):
            return super()._assign_all(node, values)
        unbind = FUNCTIONS["unbind"]
        parts = tuple(Symbol() for _ in names)
        for i, (name, part) in enumerate(zip(names, parts, strict=True)):
            self.names[name.text] = self.tensors.keep(part, tree, f"{self.tensors.text(tree.span)}[{i}]")
        self.tensors.trace(unbind, [value], {}, parts, tree)
        return parts

    # Steps on symbols

    def _record_symbol(
        self, op: FunctionInfo | None, arguments: Sequence[Any], keywords: Mapping[str, Any], node: Syntax
    ) -> Symbol:
        """Append a step to the trace, and return the new symbol that is its result; see ``Step`` for the arguments."""
        symbol = Symbol()
        self.tensors.keep(symbol, node)
        self.tensors.trace(op, arguments, keywords, symbol, node)
        return symbol

    def _as_one_symbol(self, value: object, node: Syntax) -> Any:
        """Convert a list that contains symbols to one symbol, if its other items fit into a tensor; keep any other value."""
        if not isinstance(value, list) or not _contains_symbol(value):
            return value
        node = (value.node if isinstance(value, Items) else None) or node
        for item in value:
            if not isinstance(item, (Tensor, list)):
                try:
                    self.tensors.as_tensor(item)
                except AutodiffError as error:
                    raise error.at(node.span, self.source) from None
        return self._record_symbol(None, [self._as_one_symbol(item, node) for item in value], {}, node)

    def apply(self, op: FunctionInfo, operands: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        """Apply a function; if an argument contains a symbol, record a step instead of computing."""
        if not _contains_symbol([*operands, *named.values()]):
            return super().apply(op, operands, named, node)
        self.count(node)
        if takes_sequence(op, operands):
            operands = [[self._as_one_symbol(value, node) for value in operands[0]], *operands[1:]]
        else:
            operands = [self._as_one_symbol(value, node) for value in operands]
        named = {name: self._as_one_symbol(value, node) for name, value in named.items()}
        arguments, keywords = self.tensors.arguments(op, operands, named, node)
        return self._record_symbol(op, arguments, keywords, node)

    def keys(self, values: Sequence[object]) -> list[Any]:
        """Return index keys; keys with a symbol are not converted, because their elements are unknown."""
        return list(values) if _contains_symbol(values) else super().keys(values)

    def element(self, thing: object, keys: list[Any], node: Syntax) -> Any:
        """Return ``thing[keys]``; if one of them contains a symbol, the elements are a new symbol."""
        if not _contains_symbol([thing, *keys]):
            return super().element(thing, keys, node)
        thing = self._as_one_symbol(thing, node.children[0])
        return self._record_symbol(None, (thing if isinstance(thing, tuple) else self.as_indexable(thing, node),), {}, node)

    def attribute(self, thing: object, name: str, node: Syntax) -> Any:
        """Return an attribute; that of a symbol is a new symbol."""
        thing = self._as_one_symbol(thing, node.children[0])
        # An unknown name may be a named result, such as ``values`` of sort.  The name of a function without brackets is an error.
        if isinstance(thing, Symbol) and (name in ATTRIBUTES or name not in FUNCTIONS):
            return self._record_symbol(None, (thing,), {}, node)
        return super().attribute(thing, name, node)

    def choose(self, node: Syntax, values: list[Any]) -> Any:
        """Return the work of both branches for a symbol as the condition, and that of one branch otherwise."""
        condition = self._as_one_symbol(values[0], node.children[1])
        return self.select(node, condition) if isinstance(condition, Symbol) else super().choose(node, [condition])

    def over_index(self, node: Syntax, limits: list[Any]) -> Any:
        """Return the work of a sum or product over an index, whose limits must be numbers."""
        if _contains_symbol(limits):
            hint = f"give them values with {setting('const', 'n=10')}"
            raise MissingValue(f"the limits of {node.children[0].text} must be known", hint=hint)
        return super().over_index(node, limits)

    def define(self, node: Syntax, values: list[Any]) -> Any:
        """Return the value that a call defines; if the call contains a symbol, it is a new symbol."""
        inputs = {id(value): value for value in map(self.name, free_name_nodes(node)) if isinstance(value, Tensor)}
        if not _contains_symbol([*inputs.values()]):
            return super().define(node, values)
        return self._record_symbol(None, [*inputs.values()], {}, node)

    def enter(self, function: UserFunction, arguments: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        """Return the work of a call, or a new symbol for a call of a function that is already active."""
        arguments = [self._as_one_symbol(value, node) for value in arguments]
        named = {name: self._as_one_symbol(value, node) for name, value in named.items()}
        if function.name in self._active:
            return self._record_symbol(None, [*arguments, *named.values()], {}, node)
        work = super().enter(function, arguments, named, node)
        if type(work) is Pending:
            self._active.append(function.name)
        return work

    def leave(self, node: Syntax, before: dict[str, Any], mark: int) -> None:
        """Restore the scope after a call, whose function is then not active any more."""
        super().leave(node, before, mark)
        self._active.pop()

    def with_own_vjp(self, function: UserFunction, arguments: list[Any], node: Syntax) -> Any:
        """Call a function with user-written derivatives; with a symbol as an argument, the result is a new symbol."""
        if not _contains_symbol(arguments):
            return super().with_own_vjp(function, arguments, node)
        return self._record_symbol(None, arguments, {}, node)


def _contains_symbol(values: Sequence[Any]) -> bool:
    """Return whether one of some values, which may be nested lists and tuples, is a symbol."""
    stack = list(values)
    while stack:
        value = stack.pop()
        if isinstance(value, Symbol):
            return True
        if isinstance(value, (list, tuple)):
            stack.extend(value)
    return False
