"""Trees to tensors: a machine with stacks of its own, so that neither nesting nor calls recurse.

A value is a tensor, a plain number (weak: it never widens a tensor's type), a list literal that nobody has used as a
tensor yet, or a text.  Arithmetic between plain numbers is floating point throughout, as there are no big integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli import ops  # noqa: F401  installs the functions
from autodiff_cli.autograd.function import Function
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import (
    FOREIGN,
    ArgumentError,
    AutodiffError,
    LimitError,
    NoSeriesError,
    OutOfMemory,
    ParseError,
    ShapeError,
    UnknownName,
)
from autodiff_cli.evaluation.coercion import (
    Items,
    check_gather,
    check_result,
    described,
    holds_tensor,
    is_plain,
    nesting,
    number,
    positions,
    refused,
    whole,
)
from autodiff_cli.evaluation.tensor_log import TensorLog
from autodiff_cli.evaluation.trace import invoke
from autodiff_cli.language.operators import COMPARING
from autodiff_cli.language.tree import EFFECTS, Syntax
from autodiff_cli.limits import hold, lifted
from autodiff_cli.suggest import suggestion

CONSTANTS: dict[str, Any] = {
    "pi": math.pi,
    "e": math.e,
    "inf": math.inf,
    "nan": math.nan,
    "True": True,
    "False": False,
    "None": None,
}
ATTRIBUTES = ("T", "mT", "shape", "ndim")
POSITIONS = "between the brackets stand whole numbers, slices a:b, masks, lists of positions, none and ..."
_STATEMENTS = ("tensor", "backward", "retain_grad", "register_hook", "requires_grad_", "item", "show", "print", "gradcheck", "grad")
"""Names of programs that somebody may try in an expression."""
_WITHOUT_GRADIENT = ("detach", "detach_")
_MOST_DIMENSIONS = 32
MOST_OPERATIONS = 10_000_000
MOST_NESTED_CALLS = 100_000


Work = tuple[Callable[..., None] | None, Any, Any]
"""What is still to be done: a step with its node and what it needs to know, or ``None`` to visit the node."""


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
        named = next((partial for partial in self.partials or () if partial.kind == "keyword"), None)
        if named is not None:
            raise ParseError("a derivative is an expression, without a name", span=named.span)
        if len(set(self.parameters)) < len(self.parameters):
            raise ParseError(f"two parameters of '{self.name}' have the same name", span=call.span)
        if self.partials is not None and len(self.partials) != len(self.parameters):
            raise ParseError(
                f"'{self.name}' needs one derivative for each of its parameters: {len(self.parameters)}, not {len(self.partials)}",
                span=node.children[3].span,
                hint=f"with grad ({', '.join(f'd/d{name}' for name in self.parameters)})",
            )


class Machine:
    """Evaluates trees, one after the other, with the names and functions that they leave behind.

    Args:
        source: the text that the trees were parsed from.
        variables: tensors by name.
        dtype: the type of tensors made from literals.
        listing: whether to keep a list of every tensor made.

    Attributes:
        names: what each name means by now.
        functions: the functions that were defined.
        tensors: makes tensors of literals, and has the list of all.
    """

    most_nested = MOST_NESTED_CALLS
    most_operations = MOST_OPERATIONS

    def __init__(self, source: str, variables: Mapping[str, Tensor], dtype: Any, listing: bool = True) -> None:
        self.names: dict[str, Any] = dict(variables)
        self.functions: dict[str, UserFunction] = {}
        self.tensors = TensorLog(source, dtype, variables.values(), listing)
        self.dtype = dtype
        self._scope: dict[str, Any] = {}
        self._operations = 0
        self._depth = 0

    @property
    def source(self) -> str:
        """The text that places in errors refer to."""
        return self.tensors.source

    def statement(self, node: Syntax) -> Any:
        """Run one statement; its value, ``None`` for a definition."""
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
            raise ArgumentError(f"{len(names)} names for {count} value{'s' * (count != 1)}", span=node.span, source=self.source)
        for name, item in zip(names, value, strict=True):
            self.names[name.text] = self.tensors.of(item) if isinstance(item, list) else item
        return value

    # Names

    def name(self, node: Syntax) -> Any:
        """What a name means here."""
        name = node.children[0].text
        for scope in (self._scope, self.names, CONSTANTS):
            if name in scope:
                return scope[name]
        close = suggestion(name, [*self._scope, *self.names, *self.functions])
        raise UnknownName(
            f"'{name}' has no value here", span=node.span, source=self.source, hint=close or f"give it one before: {name} = ..."
        )

    # The machine

    def evaluate(self, tree: Syntax) -> Any:
        """The value of one expression.

        Raises:
            AutodiffError: of any kind, with its place in the source.
        """
        return self._run([(None, tree, None)])

    def call(self, function: UserFunction, given: Sequence[Any]) -> Any:
        """The value of a function of the program."""
        work: list[Work] = []
        values: list[Any] = []
        self._enter(function, list(given), {}, function.body, values, work)
        return self._run(work) if work else values.pop()

    def _run(self, work: list[Work]) -> Any:
        values: list[Any] = []
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
                raise OutOfMemory("not enough memory for this tensor", span=node.span, source=self.source) from None
        return values.pop()

    def _visit(self, node: Syntax, values: list[Any], work: list[Work]) -> None:
        kind = node.kind
        if kind == "number":
            values.append(number(node.children[0].text))
        elif kind == "name":
            values.append(self.name(node))
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

    def _visit_call(self, node: Syntax, work: list[Work]) -> None:
        method = node.kind == "method"
        arguments = node.children[2 if method else 1 :]
        given = arguments[0].children if arguments else []
        name = node.children[1 if method else 0].text
        keywords = [argument.children[0].text if argument.kind == "keyword" else None for argument in given]
        first_keyword = next((i for i, keyword in enumerate(keywords) if keyword), len(given))
        late = next((a for a, keyword in zip(given[first_keyword:], keywords[first_keyword:], strict=True) if not keyword), None)
        if late is not None:
            raise ArgumentError("a positional argument follows a keyword", span=late.span)
        self.find(name, node, method)
        parts = [argument.children[1] if keyword else argument for argument, keyword in zip(given, keywords, strict=True)]
        if method:
            parts.insert(0, node.children[0])
            keywords.insert(0, None)
        work.append((self._call, node, (name, keywords)))
        work.extend((None, part, None) for part in reversed(parts))

    def find(self, name: str, node: Syntax, method: bool) -> Any:
        """What a call or a method names.

        Raises:
            UnknownName: if there is no such function.
        """
        if name in self.functions and not method:
            return self.functions[name]
        if name in FUNCTIONS:
            return FUNCTIONS[name]
        token = node.children[1 if method else 0]
        if method and name in self.functions:
            raise UnknownName(f"'{name}' is a function, not a method", span=token.span, hint=f"write {name}(...)")
        if name in self.names or name in self._scope:
            raise UnknownName(f"'{name}' is a variable, not a function", span=token.span, hint=f"write {name}*(...) to multiply")
        hint = suggestion(name, [*FUNCTIONS, *self.functions]) or "'autodiff functions' lists those there are"
        if name in _STATEMENTS:
            hint = "statements of autograd run with 'autodiff run' and 'autodiff repl'"
        if name in _WITHOUT_GRADIENT:
            hint = f"{name} is a method of programs of statements ('autodiff run'); --const gives a value without derivative"
        raise UnknownName(f"unknown function '{name}'", span=token.span, hint=hint)

    # Steps: each takes its operands off the stack of values

    def _operator(self, node: Syntax, count: int, values: list[Any], work: list[Work]) -> None:
        operands = _take(values, count)
        values.append(self.apply(FUNCTIONS[node.kind], operands, {}, node))

    def _call(self, node: Syntax, extra: tuple[str, list[str | None]], values: list[Any], work: list[Work]) -> None:
        name, keywords = extra
        given = _take(values, len(keywords))
        positional = [value for value, keyword in zip(given, keywords, strict=True) if keyword is None]
        named: dict[str, Any] = {}
        for value, keyword in zip(given, keywords, strict=True):
            if keyword is not None:
                if keyword in named:
                    raise ArgumentError(f"{name} got two values for '{keyword}'")
                named[keyword] = value
        found = self.find(name, node, node.kind == "method")
        if node.kind == "call" and name in ("max", "min") and len(positional) == 2:
            # max(x, 2) compares; the method's x.max(2) and max(x, dim=2) go along a dimension, as in PyTorch.
            found = FUNCTIONS[f"{name}imum"]
        self.call_found(found, positional, named, node, values, work)

    def call_found(
        self, found: Any, given: list[Any], named: dict[str, Any], node: Syntax, values: list[Any], work: list[Work]
    ) -> None:
        """Call what ``find`` found: a function of the language at once, one of the program by its own steps."""
        if isinstance(found, FunctionInfo):
            values.append(self.apply(found, given, named, node))
        else:
            self._enter(found, given, named, node, values, work)

    def _enter(
        self, function: UserFunction, given: list[Any], named: dict[str, Any], node: Syntax, values: list[Any], work: list[Work]
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
        given = [self.tensors.of(value, node) if isinstance(value, list) else value for value in given]
        if function.partials is not None:
            values.append(self._by_hand(function, given, node))
            return
        self._depth += 1
        if self._depth > self.most_nested and not lifted():
            raise LimitError(
                f"calls are nested more than {self.most_nested:,} deep",
                span=node.span,
                hint=f"does '{function.name}' call itself without an end?",
            )
        work.append((self._leave, node, (self._scope, self.tensors.mark())))
        work.append((None, function.body, None))
        self._scope = dict(zip(function.parameters, given, strict=True))

    def _leave(self, node: Syntax, extra: tuple[dict[str, Any], int], values: list[Any], work: list[Work]) -> None:
        self._scope, mark = extra
        self.tensors.called(node, mark)
        self._depth -= 1

    def _by_hand(self, function: UserFunction, given: list[Any], node: Syntax) -> Any:
        """Call a function whose derivatives are written by hand: backward uses those, at every order."""
        machine = self

        class ByHand(Function):
            @staticmethod
            def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
                ctx.save_for_backward(*args)
                return machine.within(function, function.body, args)

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                assert function.partials is not None
                arguments = ctx.saved_tensors
                return tuple(
                    machine._contribution(grads[0], machine.within(function, partial, arguments), argument, partial)
                    if needed
                    else None
                    for partial, needed, argument in zip(function.partials, ctx.needs_input_grad, arguments, strict=True)
                )

        ByHand.__name__ = function.name
        arguments = [self.tensors.of(value) for value in given]
        if any(type(argument) is not Tensor for argument in arguments):
            raise NoSeriesError(f"the derivatives of '{function.name}' are written by hand: it has no rule for power series")
        result = self.tensors.keep(ByHand.apply(*arguments), node)
        self.tensors.trace(None, arguments, {}, result, node)
        return result

    def within(self, function: UserFunction, body: Syntax, arguments: Iterable[Any]) -> Tensor:
        """The value of an expression over the parameters of a function."""
        before, self._scope = self._scope, dict(zip(function.parameters, arguments, strict=True))
        try:
            with self.tensors.unlisted():
                return self.tensors.of(self.evaluate(body))
        finally:
            self._scope = before

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

    def _choose(self, node: Syntax, extra: Any, values: list[Any], work: list[Work]) -> None:
        """One number decides which branch is evaluated at all; a tensor of them chooses element by element."""
        condition = values.pop()
        if not isinstance(condition, (bool, int, float, Tensor)):
            condition = self.tensors.of(condition, node)
        if isinstance(condition, Tensor) and condition.shape != ():
            values.append(condition)
            work += [(self._select, node, None), (None, node.children[2], None), (None, node.children[0], None)]
        else:
            work.append((None, node.children[0 if condition else 2], None))

    def _select(self, node: Syntax, extra: Any, values: list[Any], work: list[Work]) -> None:
        values.append(self.apply(FUNCTIONS["where"], _take(values, 3), {}, node))

    def _compare(self, node: Syntax, count: int, values: list[Any], work: list[Work]) -> None:
        """``a < b < c`` means that both hold."""
        operands = _take(values, count)
        result = None
        for i, sign in enumerate(node.children[1::2]):
            one = self.apply(FUNCTIONS[COMPARING[sign.text]], operands[i : i + 2], {}, node)
            result = one if result is None else self.apply(FUNCTIONS["logical_and"], [result, one], {}, node)
        values.append(result)

    def _slice(self, node: Syntax, count: int, values: list[Any], work: list[Work]) -> None:
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

    def _index(self, node: Syntax, count: int, values: list[Any], work: list[Work]) -> None:
        keys = self.keys(_take(values, count))
        values.append(self.element(values.pop(), keys, node))

    def keys(self, values: Iterable[Any]) -> list[Any]:
        """The values between the brackets of an index, as a tensor takes them.

        Raises:
            ArgumentError: for what is neither a position, a slice, a mask nor a list of positions.
        """
        values = list(values)
        for value in values:
            if not (value is None or value is ... or is_plain(value) or isinstance(value, (Tensor, list, slice))):
                raise ArgumentError(f"{described(value)} is not a position", hint=POSITIONS)
        keys = [whole(key, "a position") if isinstance(key, float) else key for key in values]
        return [positions(self.tensors.of(key) if isinstance(key, list) and holds_tensor(key) else key) for key in keys]

    def element(self, thing: Any, keys: list[Any], node: Syntax) -> Any:
        """``thing[keys]``."""
        if isinstance(thing, tuple):
            if len(keys) != 1 or not isinstance(keys[0], (int, slice)):
                raise ArgumentError("a tuple is indexed by one whole number")
            try:
                return thing[keys[0]]
            except IndexError:
                raise ArgumentError(f"this tuple has {len(thing)} elements: positions go from 0 to {len(thing) - 1}") from None
        thing = self.indexed(thing, node)
        check_gather(thing, keys)
        try:
            found = thing[tuple(keys)]
        except FOREIGN as error:
            if isinstance(error, AutodiffError):
                raise
            raise refused("an index", [thing, *keys], POSITIONS) from error
        result = self.tensors.keep(found, node)
        self.tensors.trace(None, (thing,), {}, result, node)
        return result

    def indexed(self, thing: Any, node: Syntax) -> Tensor:
        """What is in front of the brackets of an index, as a tensor."""
        if isinstance(thing, list):
            thing = self.tensors.of(thing, node.children[0])
        if not isinstance(thing, Tensor):
            what = "a plain number" if is_plain(thing) else described(thing)
            raise ArgumentError(f"{what} has no positions to index", span=node.span)
        return thing

    def _attribute(self, node: Syntax, extra: Any, values: list[Any], work: list[Work]) -> None:
        values.append(self.attribute(values.pop(), node.children[1].text, node))

    def attribute(self, thing: Any, name: str, node: Syntax) -> Any:
        """``thing.name``."""
        if isinstance(thing, tuple) and name in getattr(thing, "_fields", ()):
            return getattr(thing, name)
        if name not in ATTRIBUTES:
            hint = f"write .{name}() to call it" if name in FUNCTIONS else suggestion(name, ATTRIBUTES)
            hint = hint or f"there are {', '.join(ATTRIBUTES)}, and functions as methods: x.sum()"
            raise UnknownName(f"unknown attribute '{name}'", span=node.children[1].span, hint=hint)
        tensor = self.tensors.of(thing, node.children[0])
        if name in ("shape", "ndim"):
            return list(tensor.shape) if name == "shape" else tensor.ndim
        result = self.tensors.keep(getattr(tensor, name), node)
        self.tensors.trace(None, (tensor,), {}, result, node)
        return result

    def _list(self, node: Syntax, count: int, values: list[Any], work: list[Work]) -> None:
        items = _take(values, count)
        if nesting(items) > _MOST_DIMENSIONS:
            # Here, where lists are made, so that whatever takes one may walk it as NumPy does.
            raise ArgumentError(f"lists are nested more than {_MOST_DIMENSIONS} deep")
        values.append(Items(items, node))

    # Applying functions

    def apply(self, op: FunctionInfo, given: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        """The result of a function of the language."""
        self._count(node)
        arguments, keywords = self.tensors.arguments(op, given, named, node)
        tensors = [value for value in arguments if isinstance(value, Tensor)]
        if tensors:
            check_result(op, tensors)
        try:
            result = invoke(op, arguments, keywords)
        except FOREIGN as error:
            if isinstance(error, AutodiffError):
                raise
            raise refused(op.name, [*arguments, *keywords.values()], f"it is {op.signature}") from error
        result = self._listed(result, node)
        self.tensors.trace(op, arguments, keywords, result, node)
        return result

    def _listed(self, result: Any, node: Syntax) -> Any:
        """A result as a value of the language, its tensors listed."""
        if isinstance(result, Tensor):
            hold(result._data)
            return self.tensors.keep(result, node)
        if isinstance(result, tuple):
            parts = [self._listed(one, node) if isinstance(one, np.generic) else one for one in result]
            result = type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
            for i, one in enumerate(result):
                if not isinstance(one, Tensor):
                    continue
                hold(one._data)
                self.tensors.keep(one, node, f"{self.tensors.text(node.span)}[{i}]")
            return result
        if isinstance(result, np.ndarray) and result.ndim:
            return self.tensors.keep(Tensor(result, dtype=self.dtype if result.dtype.kind == "f" else None), node)
        return result.item() if isinstance(result, (np.generic, np.ndarray)) else result

    def _count(self, node: Syntax) -> None:
        self._operations += 1
        if self._operations > self.most_operations and not lifted():
            raise LimitError(
                f"the program runs more than {self.most_operations:,} operations", span=node.span, hint="--no-limits allows it"
            )


def _take(values: list[Any], count: int) -> list[Any]:
    taken = values[len(values) - count :] if count else []
    if count:
        del values[-count:]
    return taken
