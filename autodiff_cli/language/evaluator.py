"""Trees to tensors: an evaluator with stacks of its own, so that neither nesting nor calls recurse.

A value is a tensor, a plain number (weak: it never widens a tensor's type), a list literal that nobody has used as a
tensor yet, or a text.  Arithmetic between plain numbers is floating point throughout, as there are no big integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from autodiff_cli import ops  # noqa: F401  installs the functions
from autodiff_cli.autograd.function import Function
from autodiff_cli.autograd.op import FUNCTIONS, KEYWORD_ALIASES, Op
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, AutodiffError, LimitError, MissingValue, ParseError, ShapeError, Span, UnknownName
from autodiff_cli.language.operands import (
    along,
    arguments_wanted,
    check_gather,
    check_result,
    described,
    holds_tensor,
    is_plain,
    listed,
    nesting,
    number,
    positions,
    ragged,
    static,
    suggestion,
    weak_operand,
    whole,
)
from autodiff_cli.language.parser import parse
from autodiff_cli.language.syntax import Syntax, walk

CONSTANTS: dict[str, Any] = {
    "pi": math.pi,
    "e": math.e,
    "inf": math.inf,
    "nan": math.nan,
    "True": True,
    "False": False,
    "None": None,
}
_COMPARE = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_ATTRIBUTES = ("T", "mT", "shape", "ndim")
_MOST_TEXT = 400
_MOST_DIMENSIONS = 32
MOST_OPERATIONS = 10_000_000
MOST_NESTED_CALLS = 100_000


class UserFunction:
    """``f(a, b) = body``, with the derivatives of ``with grad`` if there are any."""

    def __init__(self, node: Syntax) -> None:
        call = node.children[0]
        self.name = call.children[0].text
        arguments = call.children[1].children if len(call.children) > 1 else []
        self.parameters = [argument.children[0].text for argument in arguments if argument.kind == "name"]
        self.body = node.children[1]
        self.partials = node.children[3].children if node.kind == "definition_with_grad" else None
        wrong = next((argument for argument in arguments if argument.kind != "name"), None)
        if wrong is not None:
            raise ParseError("a parameter of a function is a plain name", span=wrong.span)
        if len(set(self.parameters)) < len(self.parameters):
            raise ParseError(f"two parameters of '{self.name}' have the same name", span=call.span)
        if self.partials is not None and len(self.partials) != len(self.parameters):
            raise ParseError(
                f"'{self.name}' needs one derivative for each of its parameters: {len(self.parameters)}, not {len(self.partials)}",
                span=node.children[3].span,
                hint=f"with grad ({', '.join(f'd/d{name}' for name in self.parameters)})",
            )


class Evaluator:
    """Runs one program.

    Args:
        source: the text.
        variables: tensors by name.
        dtype: the type of tensors made from literals.
        limited: whether the limits on elements and operations hold.

    Attributes:
        names: what each name of the program means at the end.
        made: every tensor that the program made, in order, with the expression that made it.
    """

    def __init__(self, source: str, variables: Mapping[str, Tensor], dtype: Any, limited: bool = True) -> None:
        self.source = source
        self.tree = parse(source)
        self.variables = dict(variables)
        self.names: dict[str, Any] = dict(variables)
        self.functions: dict[str, UserFunction] = {}
        self.dtype = dtype
        self.limited = limited
        self.made: list[tuple[Tensor, str]] = []
        self._known = {id(tensor) for tensor in variables.values()}
        self._scope: dict[str, Any] = {}
        self._operations = 0
        self._depth = 0

    def run(self) -> Any:
        """Evaluate all statements; the value of the last one.

        Raises:
            AutodiffError: of any kind, with its place in the source.
        """
        self._require_values()
        value: Any = None
        for statement in self.tree.children:
            value = self._statement(statement)
        if value is None and self.tree.children[-1].kind.startswith("definition"):
            raise ParseError(
                "the program ends with a definition and computes nothing",
                span=self.tree.children[-1].span,
                source=self.source,
                hint="add an expression that uses it, after a ';'",
            )
        return value

    def _statement(self, node: Syntax) -> Any:
        if node.kind == "assignment":
            value = self.evaluate(node.children[1])
            if isinstance(value, list):
                value = self._tensor(value, node.children[1])
            self.names[node.children[0].text] = value
            return value
        if node.kind.startswith("definition"):
            try:
                function = UserFunction(node)
            except AutodiffError as error:
                raise error.at(node.span, self.source) from None
            self.functions[function.name] = function
            return None
        return self.evaluate(node)

    def as_tensor(self, value: Any) -> Tensor:
        """The program's result as a tensor."""
        if isinstance(value, Tensor):
            return value
        last = self.tree.children[-1]
        try:
            tensor = self._tensor(value, None)
            if last.kind == "assignment":
                self.names[last.children[0].text] = tensor
                last = last.children[1]
            return self._keep(tensor, last)
        except AutodiffError as error:
            raise error.at(last.span, self.source) from None

    # Names

    def _require_values(self) -> None:
        """Name all variables without a value at once."""
        missing: dict[str, Span] = {}
        known = set(self.variables)
        for statement in self.tree.children:
            parameters: set[str] = set()
            if statement.kind.startswith("definition"):
                call = statement.children[0]
                parameters = {node.text for argument in call.children[1:] for node in walk(argument) if node.kind == "NAME"}
            for node in walk(statement):
                if node.kind == "name":
                    name = node.children[0].text
                    if name not in known and name not in parameters and name not in CONSTANTS:
                        missing.setdefault(name, node.span)
            if statement.kind == "assignment":
                known.add(statement.children[0].text)
        if not missing:
            return
        names = list(missing)
        first = names[0]
        if first in FUNCTIONS:
            raise MissingValue(
                f"'{first}' is a function",
                span=missing[first],
                source=self.source,
                hint=f"write {first}(...), or give it a value: --at {first}=1",
            )
        listed = " and ".join([", ".join(f"'{n}'" for n in names[:-1]), f"'{names[-1]}'"] if len(names) > 1 else [f"'{first}'"])
        raise MissingValue(
            f"no value for {listed}",
            span=missing[first],
            source=self.source,
            hint="add " + " ".join(f"--at {name}=1" for name in names),
        )

    def _name(self, node: Syntax) -> Any:
        name = node.children[0].text
        for scope in (self._scope, self.names, CONSTANTS):
            if name in scope:
                return scope[name]
        raise UnknownName(f"'{name}' has no value here", span=node.span, source=self.source)

    # The machine

    def evaluate(self, tree: Syntax) -> Any:
        """The value of one expression."""
        values: list[Any] = []
        work: list[tuple[Callable[..., None] | None, Any, Any]] = [(None, tree, None)]
        while work:
            step, node, extra = work.pop()
            try:
                if step is not None:
                    step(node, extra, values, work)
                else:
                    self._visit(node, values, work)
            except AutodiffError as error:
                raise error.at(node.span, self.source) from None
            except RecursionError:
                raise LimitError(
                    "functions with derivatives of their own call each other too deeply", span=node.span, source=self.source
                ) from None
            except MemoryError:
                raise LimitError("not enough memory for this tensor", span=node.span, source=self.source) from None
        return values.pop()

    def _visit(self, node: Syntax, values: list[Any], work: list[Any]) -> None:
        kind = node.kind
        if kind == "number":
            values.append(number(node.children[0].text))
        elif kind == "name":
            values.append(self._name(node))
        elif kind in ("true", "false", "none"):
            values.append({"true": True, "false": False, "none": None}[kind])
        elif kind == "string":
            values.append(node.children[0].text[1:-1])
        elif kind == "ellipsis":
            values.append(...)
        elif kind == "conditional":
            work += [(self._choose, node, None), (None, node.children[1], None)]
        elif kind == "comparison":
            operands = node.children[::2]
            work.append((self._compare, node, len(operands)))
            work.extend((None, child, None) for child in reversed(operands))
        elif kind == "slice":
            bounds = [child.children[0] for child in node.children if child.kind == "bound"]
            work.append((self._slice, node, len(bounds)))
            work.extend((None, bound, None) for bound in reversed(bounds))
        elif kind == "index":
            keys = node.children[1].children
            work.append((self._index, node, len(keys)))
            work.extend((None, child, None) for child in reversed([node.children[0], *keys]))
        elif kind == "attribute":
            work += [(self._attribute, node, None), (None, node.children[0], None)]
        elif kind in ("call", "method"):
            self._visit_call(node, work)
        elif kind == "list":
            work.append((self._list, node, len(node.children)))
            work.extend((None, child, None) for child in reversed(node.children))
        elif kind == "keyword":
            raise ArgumentError("a keyword belongs inside the brackets of a function", span=node.span)
        else:
            work.append((self._operator, node, len(node.children)))
            work.extend((None, child, None) for child in reversed(node.children))

    def _visit_call(self, node: Syntax, work: list[Any]) -> None:
        method = node.kind == "method"
        arguments = node.children[2 if method else 1 :]
        given = arguments[0].children if arguments else []
        name = node.children[1 if method else 0].text
        keywords = [argument.children[0].text if argument.kind == "keyword" else None for argument in given]
        first_keyword = next((i for i, keyword in enumerate(keywords) if keyword), len(given))
        late = next((a for a, keyword in zip(given[first_keyword:], keywords[first_keyword:], strict=True) if not keyword), None)
        if late is not None:
            raise ArgumentError("a positional argument follows a keyword", span=late.span)
        self._find(name, node, method)
        parts = [argument.children[1] if keyword else argument for argument, keyword in zip(given, keywords, strict=True)]
        if method:
            parts.insert(0, node.children[0])
            keywords.insert(0, None)
        work.append((self._call, node, (name, keywords)))
        work.extend((None, part, None) for part in reversed(parts))

    def _find(self, name: str, node: Syntax, method: bool) -> UserFunction | Op:
        if name in self.functions and not method:
            return self.functions[name]
        if name in FUNCTIONS:
            return FUNCTIONS[name]
        token = node.children[1 if method else 0]
        if method and name in self.functions:
            raise UnknownName(f"'{name}' is a function, not a method", span=token.span, hint=f"write {name}(...)")
        if name in self.names or name in self._scope:
            raise UnknownName(f"'{name}' is a variable, not a function", span=token.span, hint=f"write {name}*(...) to multiply")
        raise UnknownName(f"unknown function '{name}'", span=token.span, hint=suggestion(name, [*FUNCTIONS, *self.functions]))

    # Steps: each takes its operands off the stack of values

    def _operator(self, node: Syntax, count: int, values: list[Any], work: list[Any]) -> None:
        operands = _take(values, count)
        values.append(self._apply(FUNCTIONS[node.kind], operands, {}, node))

    def _call(self, node: Syntax, extra: tuple[str, list[str | None]], values: list[Any], work: list[Any]) -> None:
        name, keywords = extra
        given = _take(values, len(keywords))
        positional = [value for value, keyword in zip(given, keywords, strict=True) if keyword is None]
        named: dict[str, Any] = {}
        for value, keyword in zip(given, keywords, strict=True):
            if keyword is not None:
                if keyword in named:
                    raise ArgumentError(f"{name} got two values for '{keyword}'")
                named[keyword] = value
        function = self._find(name, node, node.kind == "method")
        if node.kind == "method" and name in ("max", "min") and len(given) > 1 and not isinstance(given[1], Tensor):
            raise ArgumentError(
                f"x.{name}({given[1]}) could mean two things", hint=f"write {name}(x, {given[1]}) or x.a{name}(dim={given[1]})"
            )
        if isinstance(function, Op):
            values.append(self._apply(function, positional, named, node))
        else:
            self._enter(function, positional, named, node, values, work)

    def _enter(
        self, function: UserFunction, given: list[Any], named: dict[str, Any], node: Syntax, values: list[Any], work: list[Any]
    ) -> None:
        positional = dict(zip(function.parameters, given, strict=False))
        together = {**named, **positional}
        count = len(function.parameters)
        if len(given) + len(named) != count or set(together) != set(function.parameters):
            raise ArgumentError(
                f"{function.name} takes {count} argument{'s' * (count != 1)}, not {len(given) + len(named)}",
                hint=f"it is defined as {function.name}({', '.join(function.parameters)})",
            )
        self._count(node)
        given = [together[name] for name in function.parameters]
        given = [self._tensor(value, node) if isinstance(value, list) else value for value in given]
        if function.partials is not None:
            values.append(self._by_hand(function, given, node))
            return
        self._depth += 1
        if self.limited and self._depth > MOST_NESTED_CALLS:
            raise LimitError(
                f"calls are nested more than {MOST_NESTED_CALLS:,} deep",
                span=node.span,
                hint=f"does '{function.name}' call itself without an end?",
            )
        work.append((self._leave, node, self._scope))
        work.append((None, function.body, None))
        self._scope = dict(zip(function.parameters, given, strict=True))

    def _leave(self, node: Syntax, scope: dict[str, Any], values: list[Any], work: list[Any]) -> None:
        self._scope = scope
        self._depth -= 1

    def _by_hand(self, function: UserFunction, given: list[Any], node: Syntax) -> Any:
        """Call a function whose derivatives are written by hand: backward uses those, at every order."""
        evaluator = self

        def within(body: Syntax, arguments: Iterable[Any]) -> Any:
            before, known, made = evaluator._scope, set(evaluator._known), len(evaluator.made)
            evaluator._scope = dict(zip(function.parameters, arguments, strict=True))
            try:
                return evaluator.as_tensor(evaluator.evaluate(body))
            finally:
                evaluator._scope = before
                del evaluator.made[made:]
                evaluator._known = known

        class ByHand(Function):
            @staticmethod
            def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
                ctx.save_for_backward(*args)
                return within(function.body, args)

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                assert function.partials is not None
                arguments = ctx.saved_tensors
                return tuple(
                    evaluator._contribution(grads[0], within(partial, arguments), argument, partial) if needed else None
                    for partial, needed, argument in zip(function.partials, ctx.needs_input_grad, arguments, strict=True)
                )

        ByHand.__name__ = function.name
        arguments = [self._tensor_of(value) for value in given]
        return self._keep(ByHand.apply(*arguments), node)

    def _contribution(self, gradient: Tensor, derivative: Tensor, argument: Tensor, node: Syntax) -> Tensor:
        """The chain rule for a derivative by hand; one number stands for all elements of the argument."""
        product = gradient * derivative
        if product.shape == argument.shape:
            return product
        try:
            np.broadcast_shapes(product.shape, argument.shape)
        except ValueError:
            raise ShapeError(
                f"this derivative has shape {list(derivative.shape)}, but its argument has shape {list(argument.shape)}",
                span=node.span,
                source=self.source,
                hint="'with grad' needs the derivative of the output by each element of the argument",
            ) from None
        spread: Tensor = FUNCTIONS["expand"].function(product, np.broadcast_shapes(product.shape, argument.shape))
        return spread

    def _choose(self, node: Syntax, extra: Any, values: list[Any], work: list[Any]) -> None:
        """One number decides which branch is evaluated at all; a tensor of them chooses element by element."""
        condition = values.pop()
        if not isinstance(condition, (bool, int, float, Tensor)):
            condition = self._tensor(condition, node)
        if isinstance(condition, Tensor) and condition.shape != ():
            values.append(condition)
            work += [(self._select, node, None), (None, node.children[2], None), (None, node.children[0], None)]
        else:
            work.append((None, node.children[0 if condition else 2], None))

    def _select(self, node: Syntax, extra: Any, values: list[Any], work: list[Any]) -> None:
        values.append(self._apply(FUNCTIONS["where"], _take(values, 3), {}, node))

    def _compare(self, node: Syntax, count: int, values: list[Any], work: list[Any]) -> None:
        """``a < b < c`` means that both hold."""
        operands = _take(values, count)
        result = None
        for i, sign in enumerate(node.children[1::2]):
            one = self._apply(FUNCTIONS[_COMPARE[sign.text]], operands[i : i + 2], {}, node)
            result = one if result is None else self._apply(FUNCTIONS["logical_and"], [result, one], {}, node)
        values.append(result)

    def _slice(self, node: Syntax, count: int, values: list[Any], work: list[Any]) -> None:
        bounds = _take(values, count)
        parts: list[int | None] = [None]
        for child in node.children:
            if child.kind == "COLON":
                parts.append(None)
            else:
                bound = whole(bounds.pop(0), "a bound of a slice")
                if bound is not None and not isinstance(bound, int):
                    raise ArgumentError("a bound of a slice must be a whole number", span=child.span)
                parts[-1] = bound
        if parts[2:] == [0]:
            raise ArgumentError("the step of a slice cannot be 0")
        values.append(slice(*parts))

    def _index(self, node: Syntax, count: int, values: list[Any], work: list[Any]) -> None:
        keys = [whole(key, "a position") if isinstance(key, float) else key for key in _take(values, count)]
        thing = values.pop()
        if isinstance(thing, list):
            thing = self._tensor(thing, node.children[0])
        if not isinstance(thing, Tensor):
            raise ArgumentError("a plain number has no positions to index", span=node.span)
        keys = [self._tensor(k, None) if isinstance(k, list) and holds_tensor(k) else positions(k) for k in keys]
        if self.limited:
            check_gather(thing, keys)
        values.append(self._keep(thing[tuple(keys)], node))

    def _attribute(self, node: Syntax, extra: Any, values: list[Any], work: list[Any]) -> None:
        thing, name = values.pop(), node.children[1].text
        if name not in _ATTRIBUTES:
            hint = f"write .{name}() to call it" if name in FUNCTIONS else suggestion(name, _ATTRIBUTES)
            raise UnknownName(f"unknown attribute '{name}'", span=node.children[1].span, hint=hint)
        tensor = thing if isinstance(thing, Tensor) else self._tensor(thing, node.children[0])
        if name in ("shape", "ndim"):
            values.append(list(tensor.shape) if name == "shape" else tensor.ndim)
        else:
            values.append(self._keep(getattr(tensor, name), node))

    def _list(self, node: Syntax, count: int, values: list[Any], work: list[Any]) -> None:
        items = _take(values, count)
        if nesting(items) > _MOST_DIMENSIONS:
            # Here, where lists are made, so that whatever takes one may walk it as NumPy does.
            raise ArgumentError(f"lists are nested more than {_MOST_DIMENSIONS} deep")
        values.append(items)

    # Applying functions

    def _apply(self, op: Op, given: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        self._count(node)
        arguments, keywords = self._arguments(op, given, named, node)
        tensors = [value for value in arguments if isinstance(value, Tensor)]
        if self.limited and len(tensors) > 1:
            check_result(op, tensors)
        try:
            number_first = len(arguments) == 2 and isinstance(arguments[1], Tensor) and not isinstance(arguments[0], Tensor)
            if op.reflected is not None and number_first:
                result = op.reflected(arguments[1], arguments[0])
            else:
                result = op.function(*arguments, **keywords)
        except (AttributeError, TypeError, ValueError) as error:
            if isinstance(error, AutodiffError):
                raise
            raise ArgumentError(f"{op.name} cannot work on these arguments", hint=f"it is {op.signature}") from None
        if isinstance(result, Tensor):
            return self._keep(result, node)
        if isinstance(result, np.ndarray) and result.ndim:
            return self._keep(Tensor(result, dtype=self.dtype if result.dtype.kind == "f" else None), node)
        return result.item() if isinstance(result, (np.generic, np.ndarray)) else result

    def _arguments(self, op: Op, given: list[Any], named: dict[str, Any], node: Syntax) -> tuple[list[Any], dict[str, Any]]:
        """The arguments as the function takes them: tensors for its tensors, plain values for the rest.

        Raises:
            ArgumentError: if there are too many or too few, or a keyword is unknown or given twice.
        """
        parameters = op.parameters
        if not op.variadic and not op.spread and len(given) > len(parameters):
            raise ArgumentError(f"{op.name} takes {arguments_wanted(op)}, not {len(given)}", hint=f"it is {op.signature}")
        keywords: dict[str, Any] = {}
        for keyword, value in named.items():
            parameter = keyword if keyword in parameters else KEYWORD_ALIASES.get(keyword, keyword)
            if parameter not in parameters or (op.variadic and parameter == parameters[0]):
                hint = along(op, parameter) or suggestion(keyword, parameters) or f"it is {op.signature}"
                raise ArgumentError(f"{op.name} has no parameter '{keyword}'", hint=hint)
            if parameter in parameters[: len(given)] and not op.variadic:
                raise ArgumentError(f"{op.name} got two values for '{parameter}'", hint=f"it is {op.signature}")
            keywords[parameter] = value
        have = len(given) + len(keywords)
        if not op.variadic and (have < op.required or any(p not in keywords for p in parameters[len(given) : op.required])):
            raise ArgumentError(f"{op.name} takes {arguments_wanted(op)}, not {have}", hint=f"it is {op.signature}")
        if op.variadic and op.tensors and given and isinstance(given[0], list) and all(is_plain(v) for v in given[1:]):
            # cat([x, y], 0): the list is the sequence, what follows are plain arguments.
            if not given[0]:
                raise ArgumentError(f"{op.name} expects at least one tensor")
            arguments = [[self._tensor_of(v) for v in given[0]], *(static(v, op) for v in given[1:])]
        elif op.variadic:
            arguments = [self._tensor_of(v) if op.tensors else static(v, op) for v in given]
            arguments = [arguments] if op.tensors else arguments
        else:
            arguments = [
                self._operand(v, node) if i < len(parameters) and parameters[i] in op.tensors else static(v, op)
                for i, v in enumerate(given)
            ]
        keywords = {p: self._operand(v, node) if p in op.tensors else static(v, op) for p, v in keywords.items()}
        if op.tensors:
            together = [*arguments, *keywords.values()]
            if not any(isinstance(v, Tensor) for v in together) and not op.variadic:
                logical = op.section == "comparison"
                arguments = [weak_operand(v, logical) if i < len(op.tensors) else v for i, v in enumerate(arguments)]
        else:
            keywords["dtype"] = self.dtype
        if op.spread and op.parameters[-1] in keywords:
            arguments.append(keywords.pop(op.parameters[-1]))
        return arguments, keywords

    def _tensor_of(self, value: Any) -> Tensor:
        return value if isinstance(value, Tensor) else self._tensor(value, None)

    def _operand(self, value: Any, node: Syntax) -> Any:
        if isinstance(value, (bool, int, float, Tensor)):
            return value
        return None if value is None else self._tensor(value, node)

    def _tensor(self, value: Any, node: Syntax | None) -> Tensor:
        """A literal as a tensor of the program's type: a constant, or its elements stacked.

        Raises:
            ArgumentError: if it is no number and no list of numbers in the shape of a tensor.
        """
        if isinstance(value, list) and holds_tensor(value):
            return self._stacked(value, node)
        if value is None or isinstance(value, (str, slice)) or value is ...:
            raise ArgumentError(f"a number or a tensor is expected, not {described(value)}")
        try:
            tensor = Tensor(value if isinstance(value, bool) else np.array(value, dtype=self.dtype))
        except (ValueError, TypeError):
            raise ragged() from None
        if node is not None and isinstance(value, list):
            self._keep(tensor, node, listed(value))
        return tensor

    def _stacked(self, items: list[Any], node: Syntax | None) -> Tensor:
        """A list with tensors in it, joined along a new dimension."""
        inner = [node if isinstance(item, list) and holds_tensor(item) else None for item in items]
        tensors = [item if isinstance(item, Tensor) else self._tensor(item, at) for item, at in zip(items, inner, strict=True)]
        stacked: Tensor = FUNCTIONS["stack"].function(tensors)
        return stacked if node is None else self._keep(stacked, node)

    def _keep(self, tensor: Tensor, node: Syntax, text: str | None = None) -> Tensor:
        if id(tensor) not in self._known:
            self._known.add(id(tensor))
            self.made.append((tensor, text or self._text(node.span)))
        return tensor

    def _text(self, span: Span) -> str:
        """The source of a node on one line; the middle of a very long one is left out."""
        start, end = span
        if end - start > _MOST_TEXT:
            half = _MOST_TEXT // 2
            return f"{self._text((start, start + half))} ... {self._text((end - half, end))}"
        return " ".join(self.source[start:end].split())

    def _count(self, node: Syntax) -> None:
        self._operations += 1
        if self.limited and self._operations > MOST_OPERATIONS:
            raise LimitError("the program runs more than 10 million operations", span=node.span, hint="--no-limits allows it")


def _take(values: list[Any], count: int) -> list[Any]:
    taken = values[len(values) - count :] if count else []
    if count:
        del values[-count:]
    return taken
