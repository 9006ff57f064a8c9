"""The evaluator of syntax trees, which uses a stack of work items instead of recursion.

A value is a tensor, a plain number (weakly typed: it never widens the type of a tensor), a list literal before its
conversion to a tensor, a text, a tuple or ``none``.  Arithmetic between plain numbers is always floating-point arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli import ops  # noqa: F401  installs the functions
from autodiff_cli.autograd.dtypes import DType
from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, AutodiffError, LimitError, OutOfMemory, ParseError, UnknownName
from autodiff_cli.evaluation.coercion import Items, index_limit, is_condition, literal_number, nesting_depth
from autodiff_cli.evaluation.names import CONSTANTS, binds_nothing, module_hint, unknown_function_error
from autodiff_cli.evaluation.operations import Operations, Pending, Work, after, as_slice
from autodiff_cli.evaluation.tensor_log import TensorLog
from autodiff_cli.language.operators import COMPARING, OPERATORS
from autodiff_cli.language.tree import DEFINING, EFFECTS, Syntax, arguments, binding, index_range, new_tree, unescaped
from autodiff_cli.lazy import named as imported
from autodiff_cli.limits import MOST_TURNS, check_count, lifted
from autodiff_cli.suggest import suggestion

if TYPE_CHECKING:
    from autodiff_cli.evaluation.user_function import UserFunction

_LITERALS = {"true": True, "false": False, "none": None, "ellipsis": ...}
_MOST_DIMENSIONS = 32
MOST_NESTED_CALLS = 100_000
_OVER_INDEX = {"sum": ("add", 0), "prod": ("mul", 1)}
"""The functions that take an index: the operation that combines two terms, and the value without terms."""


class Machine(Operations):
    """An evaluator of trees, which keeps the names and functions that the trees define.

    Args:
        source: the source text of the trees.
        variables: the tensors of the variables, by name.
        dtype: the type of tensors made from literals.
        listing: whether to keep a list of all tensors.

    Attributes:
        names: the current value of each name.
        functions: the functions that the program defined.
        tensors: the log, which converts literals to tensors and lists all tensors.
        current: the node that is being evaluated.
        _visits: what each kind of node does: it returns the value, or the work that must be done before the value is available.
    """

    most_nested = MOST_NESTED_CALLS

    def __init__(self, source: str, variables: Mapping[str, Tensor], dtype: DType, listing: bool = True) -> None:
        super().__init__(TensorLog(source, dtype, variables.values(), listing))
        self.names: dict[str, Any] = dict(variables)
        self.functions: dict[str, UserFunction] = {}
        self._scope: dict[str, Any] = {}  # the local names where work is done
        self._depth = 0  # the number of calls of functions of the program that have not ended
        self._open: list[AbstractContextManager[Any, Any]] = []  # the modes that a later work item ends
        self.current = new_tree("start")
        self._visits: dict[str, Callable[[Syntax], Any]] = {
            **dict.fromkeys(OPERATORS, lambda node: after(node, node.children, self._operator)),
            **{kind: lambda node: _LITERALS[node.kind] for kind in _LITERALS},
            "name": self.name,
            "number": lambda node: literal_number(node.children[0].text),
            "string": lambda node: unescaped(node.children[0].text[1:-1]),
            "list": lambda node: after(node, node.children, self._list),
            "call": self._visit_call,
            "method": self._visit_call,
            "comparison": lambda node: after(node, node.children[::2], self._compare),
            "conditional": lambda node: after(node, node.children[1:2], self.choose),
            "index": lambda node: after(node, [node.children[0], *node.children[1].children], self._index),
            "slice": lambda node: after(node, [part.children[0] for part in node.children if part.kind == "bound"], as_slice),
            "attribute": lambda node: after(node, node.children[:1], self._attribute),
            "assignment": lambda node: after(node, node.children[1:], self._assign),
            "unpack": lambda node: after(node, node.children[-1:], self._assign_all),
            "definition": self._define,
            "definition_with_grad": self._define,
        }

    @property
    def source(self) -> str:
        """The text that error positions refer to."""
        return self.tensors.source

    # Statements

    def program(self, tree: Syntax) -> Any:
        """Run all statements of a program and return the value of the last one."""
        value: Any = None
        with np.errstate(all="ignore"):
            for node in tree.children:
                value = self.evaluate(node)
        return value

    def _set(self, name: str, value: Any, tree: Syntax) -> Any:
        """Give a name the value of the expression ``tree``, and return the value; a list becomes a tensor."""
        self.names[name] = self.tensors.as_tensor(value, tree) if isinstance(value, list) else value
        return self.names[name]

    def _assign(self, node: Syntax, values: list[Any]) -> Any:
        """Assign the value to the name, as in ``a = 1``; the only item of ``values`` is that of the right side."""
        return self._set(node.children[0].text, values[0], node.children[1])

    def _assign_all(self, node: Syntax, values: list[Any]) -> Any:
        """Assign the elements of a value to several names, as in ``a, b = [1, 2]``."""
        *names, tree = node.children
        parts = self.unpack(values[0], len(names), node)
        for name, part in zip(names, parts, strict=True):
            self._set(name.text, self.tensors.as_tensor(part) if isinstance(part, list) else part, tree)
        return parts

    def _define(self, node: Syntax) -> None:
        """Define a function of the program."""
        from autodiff_cli.evaluation.user_function import UserFunction

        function = UserFunction(node)
        self.functions[function.name] = function

    # The stack of work

    def evaluate(self, tree: Syntax) -> Any:
        """Return the value of one expression; an error has the position in the source."""
        return self._run([(tree, None, 0)])

    def call(self, function: UserFunction, arguments: Sequence[Any]) -> Any:
        """Call a function of the program, and return its value."""
        result = self.enter(function, list(arguments), {}, function.body)
        return self._run(result) if type(result) is Pending else result

    def _run(self, work: list[Work]) -> Any:
        """Do the work items and return the last value; after an error, end the modes that they began."""
        opened = len(self._open)
        try:
            return self._work_off(work)
        except BaseException:
            while len(self._open) > opened:  # the modes that an error left on
                self._open.pop().__exit__(None, None, None)
            raise

    def _work_off(self, work: list[Work]) -> Any:
        """Do the work items, the last one first, and return the last value."""
        values: list[Any] = []
        while work:
            node, then, count = work.pop()
            self.current = node
            try:
                if then is None:  # the node is not visited yet
                    result = self._visits.get(node.kind, self._refuse_node)(node)
                else:
                    first = len(values) - count
                    operands = values[first:]
                    del values[first:]
                    result = then(node, operands)
            except AutodiffError as error:
                raise error.at(node.span, self.source) from None
            except RecursionError:
                message = "calls to functions with user-written derivatives are nested too deeply"
                raise LimitError(message, span=node.span, source=self.source) from None
            except MemoryError:
                raise OutOfMemory("not enough memory for this tensor", span=node.span, source=self.source) from None
            if type(result) is Pending:
                work += result
            else:
                values.append(result)
        return values.pop()

    def _refuse_node(self, node: Syntax) -> Any:
        """Raise an error for a kind of node that has no value of its own, such as a keyword argument."""
        if node.kind in EFFECTS:
            hint = "run programs of statements with 'autodiff run' or 'autodiff repl'"
            raise ParseError("an expression cannot change a tensor", span=node.span, hint=hint)
        if node.kind == "equation":
            hint = "write == to compare, or define a value: root(y=1, y**3 + y = x)"
            raise ArgumentError("an equation is only allowed in root", span=node.span, hint=hint)
        raise ArgumentError("this is only allowed in a call or in a program of statements", span=node.span)

    def _visit_call(self, node: Syntax) -> Pending:
        """Return the work of a call: its arguments, and the call of the function with their values."""
        is_method = node.kind == "method"
        name = node.children[1 if is_method else 0].text
        is_own = name in self.functions
        defines = binding(node) if name in DEFINING and not is_own else None
        if defines is not None:
            return after(node, defines.outside, self.define)
        index = index_range(node)
        if index is not None:
            return self._visit_index(node, name, index)
        keywords, parts = _call_parts(node)
        # An unknown function is reported before the arguments are evaluated, which may fail for the same reason.
        self.find(name, node, is_method)
        call = after(node, parts, lambda node, values: self._call(node, name, keywords, values))
        return self._unrecorded(node, call) if name == "no_grad" and not (is_method or is_own) else call

    def _unrecorded(self, node: Syntax, call: Pending) -> Pending:
        """Return the work of a call of ``no_grad``, whose arguments are evaluated without recording; the mode ends after it."""
        mode = set_grad_enabled(False)
        self._open.append(mode)

        def end(_: Syntax, values: list[Any]) -> Any:
            self._open.pop().__exit__(None, None, None)
            return values[0]

        return Pending([(node, end, 1), *call])

    # Sums and products over an index

    def _visit_index(self, node: Syntax, name: str, index: Syntax) -> Pending:
        """Return the work for a sum or product over an index, such as ``sum(i=1..10, x**i)``."""
        self.find(name, node, node.kind == "method")
        example = f"sum({index.children[0].text}=1..10, x**{index.children[0].text})"
        if node.kind == "method" or name not in _OVER_INDEX or name in self.functions:
            message = f"only sum and prod take the range of an index, not {'the method ' * (node.kind == 'method')}{name}"
            raise ArgumentError(message, span=index.span, hint=f"write a sum as {example}")
        operands = arguments(node)
        if len(operands) != 2 or operands[0] is not index or operands[1].kind in ("keyword", "index_range"):
            raise ArgumentError(f"{name} over an index takes the range and one expression", hint=f"write it as {example}")
        return after(node, index.children[1:], self.over_index)

    def over_index(self, node: Syntax, limits: list[Any]) -> Any:
        """Return the work that evaluates the body of a sum or product once for each value of the index, and combines the values."""
        index, body = arguments(node)
        name, symbol = node.children[0].text, index.children[0].text
        low, high = (index_limit(value, name, tree) for value, tree in zip(limits, index.children[1:], strict=True))
        combining, empty = _OVER_INDEX[name]
        check_count(high - low + 1, MOST_TURNS, f"a {name} of {{}} terms is more than the limit of {{}}")
        before = self._scope
        turns = iter(range(low, high + 1))
        total: Any = None  # before the first term
        step = Syntax(combining, [node, body], "", node.span)  # the tree of a step that combines two values

        def term(node: Syntax, values: list[Any]) -> Any:
            """Combine the value of a term, if there is one, with the total; return the work of the next term, or the total."""
            nonlocal total
            for value in values:
                first = empty if total is None and is_condition(value) else total  # a condition counts as 1 or 0
                total = value if first is None else self.apply(FUNCTIONS[combining], [first, value], {}, step)
            turn = next(turns, None)
            if turn is None:
                self._scope = before
                return empty if total is None else total
            self._scope = {**before, symbol: turn}
            return after(node, [body], term)

        return term(node, [])

    def define(self, node: Syntax, values: list[Any]) -> Any:
        """Return the value that an equation, a minimum or an integral defines, given its starts or limits."""
        return imported("autodiff_cli.solvers.implicit.definition:value")(self, node, values)

    # Names

    def name(self, node: Syntax) -> Any:
        """Return the current value of a name, in the innermost scope that has it; a name without a value is an error."""
        name = node.children[0].text
        for scope in (self._scope, self.names, CONSTANTS):
            if name in scope:
                return scope[name]
        hint = module_hint(name, node.span, self.source) or suggestion(name, [*self._scope, *self.names, *self.functions])
        hint = hint or f"assign a value first: {name} = ..."
        raise UnknownName(f"'{name}' has no value here", span=node.span, source=self.source, hint=hint)

    def find(self, name: str, node: Syntax, method: bool) -> Any:
        """Return the function with the name in a call, or in a method call if ``method``; an unknown name is an error."""
        if name in self.functions and not method:
            return self.functions[name]
        if name in FUNCTIONS:
            return FUNCTIONS[name]
        span = node.children[1 if method else 0].span
        if name in DEFINING:
            raise binds_nothing(node, self.source)
        if method and name in self.functions:
            raise UnknownName(f"'{name}' is a function, not a method", span=span, hint=f"write {name}(...)")
        if name in self.names or name in self._scope:
            raise UnknownName(f"'{name}' is a variable, not a function", span=span, hint=f"write {name}*(...) to multiply")
        raise unknown_function_error(name, span, None, self.functions)

    # Calls

    def _operator(self, node: Syntax, operands: list[Any]) -> Any:
        """Return the value of an operator, whose kind of node is the name of its function."""
        return self.apply(FUNCTIONS[node.kind], operands, {}, node)

    def _call(self, node: Syntax, name: str, keywords: Sequence[str | None], values: Sequence[Any]) -> Any:
        """Call a function with the values of its arguments; ``keywords`` has the name of each, ``None`` for positional ones."""
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for value, keyword in zip(values, keywords, strict=True):
            if keyword is None:
                positional.append(value)
            elif keyword in named:
                raise ArgumentError(f"{name} got two values for '{keyword}'")
            else:
                named[keyword] = value
        function = self.find(name, node, node.kind == "method")
        if node.kind == "call" and name in ("max", "min") and len(positional) == 2:
            # max(x, 2) compares x with 2; the method x.max(2) and max(x, dim=2) reduce a dimension, as in PyTorch.
            function = FUNCTIONS[f"{name}imum"]
        return self.call_function(function, positional, named, node)

    def call_function(
        self, function: FunctionInfo | UserFunction, arguments: list[Any], named: dict[str, Any], node: Syntax
    ) -> Any:
        """Call a function that ``find`` returned; for a function of the program, return pending work."""
        if isinstance(function, FunctionInfo):
            return self.apply(function, arguments, named, node)
        return self.enter(function, arguments, named, node)

    def enter(self, function: UserFunction, arguments: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        """Return the work for calling a function of the program, or its result if the function has user-written derivatives."""
        bound = function.bind_arguments(arguments, named)
        self.count(node)
        bound = [self.tensors.as_tensor(value, node) if isinstance(value, list) else value for value in bound]
        if function.partials is not None:
            return self.with_own_vjp(function, bound, node)
        self._depth += 1
        if self._depth > self.most_nested and not lifted():
            hint = f"check whether '{function.name}' calls itself without end"
            raise LimitError(f"calls are nested more than {self.most_nested:,} deep", span=node.span, hint=hint)
        before, mark = self._scope, self.tensors.mark()
        self._scope = {**function.scope, **dict(zip(function.parameters, bound, strict=True))}

        def end(node: Syntax, values: list[Any]) -> Any:
            self.leave(node, before, mark)
            return values[0]

        return after(node, [function.body], end)

    def leave(self, node: Syntax, before: dict[str, Any], mark: int) -> None:
        """Restore the scope ``before`` after a call to a function of the program, and log the call; see ``TensorLog.called``."""
        self._scope = before
        self.tensors.called(node, mark)
        self._depth -= 1

    def with_own_vjp(self, function: UserFunction, arguments: list[Any], node: Syntax) -> Any:
        """Call a function with user-written derivatives, and list and trace its result as that of one operation."""
        from autodiff_cli.evaluation.user_function import call_with_own_vjp

        tensors = [self.tensors.as_tensor(value) for value in arguments]
        result = self.tensors.keep(call_with_own_vjp(self, function, tensors), node)
        self.tensors.trace(None, tensors, {}, result, node)
        return result

    def evaluate_body(self, function: UserFunction, body: Syntax, arguments: Sequence[Any]) -> Tensor:
        """Return the value of an expression, the body or a derivative, in the parameters of a function; no tensor is listed."""
        before, self._scope = self._scope, {**function.scope, **dict(zip(function.parameters, arguments, strict=True))}
        try:
            with self.tensors.unlisted():
                return self.tensors.as_tensor(self.evaluate(body))
        finally:
            self._scope = before

    # Choices and comparisons

    def choose(self, node: Syntax, values: list[Any]) -> Any:
        """Return the work for child 0 or 2 of the node, if a scalar condition is true or false; a tensor selects by element."""
        condition = values[0]
        if not isinstance(condition, (bool, int, float, Tensor)):
            condition = self.tensors.as_tensor(condition, node)
        if isinstance(condition, Tensor) and condition.shape != ():
            return self.select(node, condition)
        return Pending([(node.children[0 if condition else 2], None, 0)])

    def select(self, node: Syntax, condition: Tensor) -> Pending:
        """Return the work for both branches, the children 0 and 2 of the node, and for the selection between them."""
        where = FUNCTIONS["where"]
        return after(node, node.children[::2], lambda node, values: self.apply(where, [condition, *values], {}, node))

    def _compare(self, node: Syntax, operands: list[Any]) -> Any:
        """Return the value of a chain ``a < b < c``, which is ``a < b and b < c``; every second child of the node is a sign."""
        result = None
        for i, symbol in enumerate(node.children[1::2]):
            comparison = self.apply(FUNCTIONS[COMPARING[symbol.text]], operands[i : i + 2], {}, node)
            result = comparison if result is None else self.apply(FUNCTIONS["logical_and"], [result, comparison], {}, node)
        return result

    # Indices, attributes, lists

    def _index(self, node: Syntax, values: list[Any]) -> Any:
        """Return the elements at an index; the first of ``values`` is indexed by the others."""
        thing, *keys = values
        return self.element(thing, self.keys(keys), node)

    def _attribute(self, node: Syntax, values: list[Any]) -> Any:
        return self.attribute(values[0], node.children[1].text, node)

    def _list(self, node: Syntax, values: list[Any]) -> Items:
        """Return a list literal; its depth is checked here, so that every function can convert lists with NumPy."""
        if nesting_depth(values) > _MOST_DIMENSIONS:
            raise ArgumentError(f"lists are nested more than {_MOST_DIMENSIONS} deep")
        return Items(values, node)


def _call_parts(node: Syntax) -> tuple[list[str | None], list[Syntax]]:
    """Return the keyword of each argument of a call, ``None`` for a positional one and the object of a method, and its tree."""
    keywords: list[str | None] = [None] if node.kind == "method" else []
    parts = node.children[:1] if node.kind == "method" else []
    for argument in arguments(node):
        if argument.kind == "keyword":
            keywords.append(argument.children[0].text)
            parts.append(argument.children[1])
        elif keywords and keywords[-1] is not None:
            raise ArgumentError("a positional argument follows a keyword", span=argument.span)
        else:
            keywords.append(None)
            parts.append(argument)
    return keywords, parts
