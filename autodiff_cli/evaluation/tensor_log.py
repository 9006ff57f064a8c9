"""The log of a program, which converts literals to tensors and lists every tensor with its expression."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import DType
from autodiff_cli.autograd.primitives.argument_kinds import how_many, parameter_for
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.autograd.printing import Size
from autodiff_cli.autograd.tensor import Tensor, new_tensor
from autodiff_cli.errors import ArgumentError, ShapeError, Span
from autodiff_cli.evaluation import coercion
from autodiff_cli.evaluation.trace import Step, Trace
from autodiff_cli.language.tree import Syntax, unparse
from autodiff_cli.suggest import suggestion

_MOST_TEXT = 400
"""The maximum number of characters of an expression in the list; longer ones would fill the memory of long programs."""
_WITHOUT_ARITHMETIC = ("shape", "views", "arrange", "positions", "extremes", "comparison", "creation")
"""The sections whose functions move or compare elements without arithmetic."""
Call = tuple[int, str]
"""A call to a function that the program defines: its number and its text."""


class TensorLog:
    """The log of a program, which converts values to tensors and lists the tensors.

    Args:
        source, dtype: the text that spans refer to, and the type of tensors made from literals.
        leaves: existing tensors, which are not listed.
        listing: whether to list tensors; the list keeps all tensors alive.

    Attributes:
        entries: every tensor in order, with its expression.
        steps: the trace, from which notes are computed; ``None`` disables tracing.
        calls: the calls to functions that the program defines, each with its range of steps.
        integrals: for each integral, its expression, span and value, and an estimate of its error.
    """

    def __init__(self, source: str, dtype: DType, leaves: Iterable[Tensor] = (), listing: bool = True) -> None:
        self.source = source
        self.dtype = dtype
        self.listing = listing
        self.entries: list[tuple[Tensor, str]] = []
        self.steps: Trace | None = None
        self.calls: list[tuple[Syntax, int, int]] = []
        self.integrals: list[dict[str, Any]] = []
        self._known = {id(tensor) for tensor in leaves}

    def trace(
        self, op: FunctionInfo | None, arguments: Sequence[Any], keywords: Mapping[str, Any], result: Any, node: Syntax
    ) -> None:
        """Append a step to the trace if tracing is enabled."""
        if self.steps is not None and self.listing:
            self.steps.append(Step(op, arguments, keywords, result, node))

    def mark(self) -> int:
        """Return the number of steps so far, or 0 without a trace."""
        return 0 if self.steps is None else len(self.steps)

    def called(self, node: Syntax, mark: int) -> None:
        """Log a call to a function that the program defines; ``mark`` is the number of steps before the call."""
        if self.steps is not None and self.listing:
            self.calls.append((node, mark, len(self.steps)))

    def outermost_calls(self) -> Iterator[Call | None]:
        """Yield the outermost call that contains each step of the trace; ``None`` for a step outside calls."""
        done = 0  # the number of steps whose call was yielded
        outer_first = sorted(self.calls, key=lambda call: (call[1], -call[2]))  # by start, the longest ones first
        for number, (node, start, end) in enumerate(outer_first):
            if start < done or start == end:  # inside another call, or without steps
                continue
            call = (number, self.text(node.span))
            yield from [None] * (start - done)
            yield from [call] * (end - start)
            done = end
        yield from [None] * (self.mark() - done)

    def keep(self, tensor: Tensor, node: Syntax, text: str | None = None) -> Tensor:
        """List the tensor of an expression if it is new, under ``text`` if it is not the expression, and return the tensor."""
        if self.listing and id(tensor) not in self._known:
            self._known.add(id(tensor))
            self.entries.append((tensor, text or self.text(node.span)))
        return tensor

    @contextmanager
    def unlisted(self) -> Iterator[None]:
        """Suspend listing inside a ``with`` block."""
        before, self.listing = self.listing, False
        try:
            yield
        finally:
            self.listing = before

    def text(self, span: Span) -> str:
        """Return a part of the source on one line, shortened in the middle if it is very long."""
        start, end = span
        if end - start > _MOST_TEXT:
            half = _MOST_TEXT // 2
            return f"{self.text((start, start + half))} ... {self.text((end - half, end))}"
        return " ".join(self.source[start:end].split())

    def as_tensor(self, value: object, node: Syntax | None = None) -> Tensor:
        """Return a value as a tensor: a tensor unchanged, a number as a constant, and a list as its stacked elements.

        The tensor of a list is listed under the expression ``node``, or is not listed for ``None``.

        Raises:
            ArgumentError: if the value is not a number, a tensor or a list in the shape of a tensor.
        """
        if isinstance(value, Tensor):
            return value
        if coercion.is_plain_number(value):
            return new_tensor(value if isinstance(value, bool) else np.array(value, dtype=self.dtype))
        if isinstance(value, (list, Size)):
            own_node = value.node if isinstance(value, coercion.Items) else None
            return self._from_list(list(value), None if node is None else own_node or node)
        names = getattr(value, "_fields", None)
        element = f".{names[0]} or [0]" if names else "[0]"
        hint = f"take one of its elements: {element}" if isinstance(value, tuple) else None
        raise ArgumentError(f"expected a number or a tensor, not {coercion.value_description(value)}", hint=hint)

    def _from_list(self, items: list[Any], node: Syntax | None) -> Tensor:
        """Return the tensor of a list of numbers or tensors; it is listed as ``node``, or not listed for ``None``."""
        if coercion.holds_tensor(items):
            return self._stacked(items, node)
        if any(item is None for item in coercion.flat_items(items)):
            raise ArgumentError("a list of numbers cannot contain none", hint="write nan for a missing number")
        try:
            tensor = new_tensor(np.array(items, dtype=self.dtype))
        except (ValueError, TypeError):
            raise coercion.ragged_list_error() from None
        return tensor if node is None else self.keep(tensor, node, coercion.list_literal_text(items))

    def _stacked(self, items: list[Any], node: Syntax | None) -> Tensor:
        """Return the tensor of a list that contains tensors; it is listed as ``node``, or not listed for ``None``."""
        inner = [node if isinstance(item, list) and coercion.holds_tensor(item) else None for item in items]
        tensors = [self.as_tensor(item, at) for item, at in zip(items, inner, strict=True)]
        try:
            stacked: Tensor = FUNCTIONS["stack"].function(tensors)
        except ShapeError as error:
            error.hint = "write the elements of a list as numbers, or as lists of the same length"
            raise
        if node is None:
            return stacked
        self.trace(None, tensors, {}, stacked, node)
        return self.keep(stacked, node)

    def _argument(self, op: FunctionInfo, parameter: str, value: object, node: Syntax) -> Any:
        """Return the argument for a parameter: a tensor, a weakly typed number, a plain value, or ``None`` if it is optional."""
        if parameter not in op.tensors:
            return coercion.as_static_argument(value, op, parameter)
        if value is None and (op.default(parameter) is not None or parameter in op.parameters[: op.required]):
            gradients = (part for part in node.children if part.kind == "attribute" and part.children[1].text == "grad")
            hint = next((f"{unparse(part)} is none: {_NO_GRAD}" for part in gradients), f"it is {op.signature}")
            raise ArgumentError(f"{op.name}: '{parameter}' must be a number or a tensor, not none", hint=hint)
        if value is None or coercion.is_plain_number(value):
            return value
        tensor = self.as_tensor(value, node)
        if tensor.dtype.kind == "i" and op.section not in _WITHOUT_ARITHMETIC:  # arithmetic of integers can overflow
            return tensor.to(self.dtype)
        return tensor

    def arguments(
        self, op: FunctionInfo, values: list[Any], named: Mapping[str, Any], node: Syntax
    ) -> tuple[list[Any], dict[str, Any]]:
        """Convert arguments for a function: tensors for tensor parameters, and plain values for all other parameters.

        Too many or too few arguments, and a keyword that is unknown or given twice, are an error.
        """
        ready = None if named else _ready_operands(op, values)
        if ready is not None:  # the common case, several times as fast as the general one
            return ready, {}
        by_parameter = _keywords(op, len(values), named)
        _check_count(op, len(values), by_parameter)
        arguments = self._positional(op, values, node)
        keywords = {p: self._argument(op, p, v, node) for p, v in by_parameter.items()}
        if not op.tensors:  # it creates a tensor
            keywords["dtype"] = self.dtype
        elif not op.variadic and not any(isinstance(v, Tensor) for v in (*arguments, *keywords.values())):  # numbers only
            logical = op.section == "comparison"
            arguments = [coercion.weak_operand(v, logical) if i < len(op.tensors) else v for i, v in enumerate(arguments)]
        if op.spread and op.parameters[-1] in keywords:  # the last parameter is positional
            arguments.append(keywords.pop(op.parameters[-1]))
        return arguments, keywords

    def _positional(self, op: FunctionInfo, values: list[Any], node: Syntax) -> list[Any]:
        """Convert positional arguments; those of a function of any number of tensors become one list."""
        parameters, count = op.parameters, len(values)
        if coercion.takes_sequence(op, values):  # as in cat([x, y], 0)
            if not values[0]:
                raise ArgumentError(f"{op.name} expects at least one tensor")
            rest = zip(parameters[1:], values[1:], strict=False)
            return [[self.as_tensor(v, node) for v in values[0]], *(coercion.as_static_argument(v, op, p) for p, v in rest)]
        if op.variadic and not op.tensors:  # as in zeros(2, 3)
            static: list[Any] = coercion.as_static_argument(values, op, parameters[0])
            return static
        if op.variadic:  # as in cat(x, y)
            return [[self.as_tensor(v, node) for v in values]]
        repeated = [*parameters, *parameters[-1:] * (count - len(parameters))][:count]  # the last parameter may take several
        return [self._argument(op, p, v, node) for p, v in zip(repeated, values, strict=True)]


def _check_count(op: FunctionInfo, count: int, keywords: Mapping[str, Any]) -> None:
    """Raise an error if ``count`` positional arguments and the keywords are too few or too many for a function."""
    total = count + len(keywords)
    are_too_few = total < op.required or any(p not in keywords for p in op.parameters[count : op.required])
    are_too_many = count > len(op.parameters) and not op.spread
    if not op.variadic and (are_too_few or are_too_many):
        expected = how_many(op.required, len(op.parameters))
        raise ArgumentError(f"{op.name} takes {expected}, not {total}", hint=f"it is {op.signature}")


def _ready_operands(op: FunctionInfo, arguments: list[Any]) -> list[Any] | None:
    """Return positional operands as they are, with plain numbers only as NumPy floats; ``None`` if more has to be checked."""
    count = len(arguments)
    has_right_count = op.required <= count <= len(op.parameters)
    takes_tensors = op.tensors[:count] == op.parameters[:count]
    if op.variadic or op.spread or not (has_right_count and takes_tensors):
        return None
    has_tensor = False
    for value in arguments:
        if isinstance(value, Tensor):
            if value.dtype.kind == "i":
                return None  # arithmetic needs it as floats
            has_tensor = True
        elif not isinstance(value, (int, float)):
            return None
    if has_tensor:
        return arguments
    logical = op.section == "comparison"
    return [coercion.weak_operand(value, logical) for value in arguments]


_NO_GRAD = "backward stores a gradient only in a leaf, or after retain_grad()"


def _keywords(op: FunctionInfo, positional: int, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments by parameter; the first ``positional`` parameters have values, and cannot get another."""
    parameters = op.parameters
    keywords: dict[str, Any] = {}
    for keyword, value in named.items():
        parameter = parameter_for(keyword, parameters)
        if parameter not in parameters or (op.variadic and parameter == parameters[0]):  # which has no name in a call
            hint = suggestion(keyword, parameters) or f"it is {op.signature}"
            raise ArgumentError(f"{op.name} has no parameter '{keyword}'", hint=hint)
        if parameter in keywords or (parameter in parameters[:positional] and not op.variadic):
            raise ArgumentError(f"{op.name} got two values for '{parameter}'", hint=f"it is {op.signature}")
        keywords[parameter] = value
    return keywords
