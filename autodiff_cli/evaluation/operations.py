"""Operations on values: calls to functions, attributes and indices, and the work items of the evaluator that calls them.

All operations are counted, listed and traced.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from autodiff_cli import ops  # noqa: F401  installs the functions
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.autograd.tensor import Tensor, new_tensor
from autodiff_cli.errors import FOREIGN, ArgumentError, AutodiffError, LimitError, UnknownName
from autodiff_cli.evaluation import coercion
from autodiff_cli.evaluation.tensor_log import TensorLog
from autodiff_cli.evaluation.trace import invoke
from autodiff_cli.language.tree import Syntax
from autodiff_cli.lazy import named
from autodiff_cli.limits import LIFT, hold, lifted
from autodiff_cli.suggest import suggestion
from autodiff_cli.wording import plural

ATTRIBUTES = ("T", "mT", "shape", "ndim")
MOST_OPERATIONS = 10_000_000
"""The maximum number of operations, calls, statements and turns of loops of a program."""
QUICK_OPERATIONS = 200_000
"""The number of operations that a program may run however long they take, such as products of large matrices."""
MOST_SECONDS = 10.0
"""The maximum processor time of a program of more than ``QUICK_OPERATIONS``; each takes 15 to 40 microseconds if it is cheap."""
_INDEX_KINDS = "index with whole numbers, slices a:b, masks, lists of positions, none or ..."
Work = tuple[Syntax, Callable[[Syntax, list[Any]], Any] | None, int]
"""A work item: the node to evaluate; the function that computes the value from the operand values, which is ``None`` if the node is
not visited yet; and the number of operands.  A plain tuple, because several are made for each operation."""


class Pending(list[Work]):
    """The work items that must be done before a value is available; the last item is done first."""


def after(node: Syntax, operands: Sequence[Syntax], then: Callable[[Syntax, list[Any]], Any]) -> Pending:
    """Return the work that evaluates operands, and then calls ``then`` with the node and the list of operand values."""
    work = Pending([(node, then, len(operands))])
    for operand in reversed(operands):
        work.append((operand, None, 0))
    return work


class Operations:
    """The operations of an evaluator: functions, indices and attributes; its ``tensors`` is the log that lists all tensors."""

    most_operations = MOST_OPERATIONS
    quick_operations = QUICK_OPERATIONS
    most_seconds = MOST_SECONDS

    def __init__(self, tensors: TensorLog) -> None:
        self.tensors = tensors
        self.dtype = tensors.dtype
        self.start_counting()

    def start_counting(self) -> None:
        """Count operations and their time from here on."""
        self._operations, self._begun = 0, time.thread_time()

    def apply(self, op: FunctionInfo, operands: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        """Return the result of a function, which is listed and traced; an error of Python or NumPy is an ``ArgumentError``."""
        self.count(node)
        arguments, keywords = self.tensors.arguments(op, operands, named, node)
        tensors = [value for value in arguments if isinstance(value, Tensor)]
        if tensors:
            coercion.check_result_size(op, tensors)
        try:
            result = invoke(op, arguments, keywords)
        except FOREIGN as error:
            if isinstance(error, AutodiffError):
                raise
            raise coercion.refusal(op.name, [*arguments, *keywords.values()], f"it is {op.signature}") from error
        result = self.list_result(result, node)
        self.tensors.trace(op, arguments, keywords, result, node)
        return result

    def list_result(self, result: object, node: Syntax) -> Any:
        """List the tensors in the result of a function, and return the result as a value of the language.

        An array becomes a tensor, its floats those of the program's type, and a NumPy scalar, also one in a tuple, a plain number.
        """
        if isinstance(result, Tensor):
            hold(result._data)
            return self.tensors.keep(result, node)
        if isinstance(result, tuple):
            parts = [part.item() if isinstance(part, np.generic) else part for part in result]
            for i, part in enumerate(parts):
                if isinstance(part, Tensor):
                    hold(part._data)
                    self.tensors.keep(part, node, f"{self.tensors.text(node.span)}[{i}]")
            return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
        if isinstance(result, np.ndarray) and result.ndim:
            return self.tensors.keep(new_tensor(result, dtype=self.dtype if result.dtype.kind == "f" else None), node)
        return result.item() if isinstance(result, (np.generic, np.ndarray)) else result

    def count(self, node: Syntax, more: int = 1) -> None:
        """Count one operation; it is an error if the program may not run ``more`` operations from here on, or runs for too long."""
        self._operations += 1
        if self._operations + more - 1 > self.most_operations and not lifted():
            raise LimitError(f"the program runs more than {self.most_operations:,} operations", span=node.span, hint=LIFT)
        if self._operations > self.quick_operations and time.thread_time() - self._begun > self.most_seconds and not lifted():
            message = f"the program runs more than {self._operations - 1:,} operations, which took {self.most_seconds:g} s"
            raise LimitError(message, span=node.span, hint=LIFT)

    def unpack(self, value: Any, count: int, node: Syntax) -> Sequence[Any]:
        """Return the elements of a value that is assigned to ``count`` names; a tensor is divided along its first dimension."""
        if isinstance(value, Tensor) and value.shape:
            unbind, tree = FUNCTIONS["unbind"], node.children[-1]
            parts = tuple(self.tensors.keep(part, tree) for part in unbind.function(value))
            self.tensors.trace(unbind, [value], {}, parts, tree)
            value = parts
        available = len(value) if isinstance(value, (tuple, list)) else 1
        if not isinstance(value, (tuple, list)) or available != count:
            message = f"{plural(count, 'name')} for {plural(available, 'value')}"
            raise ArgumentError(message, span=node.span, source=self.tensors.source)
        return value

    def keys(self, values: Sequence[object]) -> list[Any]:
        """Return the values between the brackets of an index as index keys of a tensor; any other kind of value is an error."""
        for value in values:
            is_key = value is None or value is ... or isinstance(value, (bool, int, float, Tensor, list, slice))
            if not is_key:
                raise ArgumentError(f"{coercion.value_description(value)} is not a position", hint=_INDEX_KINDS)
        keys = [coercion.as_whole_number(key, "a position") if isinstance(key, float) else key for key in values]
        stacked = (self.tensors.as_tensor(key) if isinstance(key, list) and coercion.holds_tensor(key) else key for key in keys)
        return [coercion.as_index_key(key) for key in stacked]

    def element(self, thing: object, keys: list[Any], node: Syntax) -> Any:
        """Return ``thing[keys]`` for a tuple, a tensor or a list, which becomes a tensor."""
        if isinstance(thing, tuple):
            return _tuple_items(thing, keys)
        tensor = self.as_indexable(thing, node)
        result = self.tensors.keep(get_elements(tensor, keys), node)
        self.tensors.trace(None, (tensor,), {}, result, node)
        return result

    def as_indexable(self, thing: object, node: Syntax) -> Tensor:
        """Return the operand of an index, a tensor or a list, as a tensor, and import the functions that index tensors."""
        if isinstance(thing, list):
            thing = self.tensors.as_tensor(thing, node.children[0])
        if not isinstance(thing, Tensor):
            what = "a plain number" if coercion.is_plain_number(thing) else coercion.value_description(thing)
            raise ArgumentError(f"{what} cannot be indexed", span=node.span)
        named("autodiff_cli.ops.indexing")
        return thing

    def members(self, thing: object) -> Collection[str]:
        """Return the names that may follow a dot after a value, without the functions of the language."""
        return ATTRIBUTES

    def attribute(self, thing: object, name: str, node: Syntax) -> Any:
        """Return ``thing.name``: a field of a named tuple, or one of ``ATTRIBUTES`` of a tensor."""
        if isinstance(thing, tuple) and name in getattr(thing, "_fields", ()):
            return getattr(thing, name)
        if name not in ATTRIBUTES:
            hint = f"write .{name}() to call it" if name in FUNCTIONS else suggestion(name, self.members(thing))
            hint = hint or f"the attributes are {', '.join(ATTRIBUTES)}, and functions can be called as methods: x.sum()"
            raise UnknownName(f"unknown attribute '{name}'", span=node.children[1].span, hint=hint)
        tensor = self.tensors.as_tensor(thing, node.children[0])
        if name in ("shape", "ndim"):
            return list(tensor.shape) if name == "shape" else tensor.ndim
        named("autodiff_cli.ops.shape")
        result = self.tensors.keep(getattr(tensor, name), node)
        self.tensors.trace(None, (tensor,), {}, result, node)
        return result


def as_slice(node: Syntax, bounds: Sequence[object]) -> slice:
    """Return the slice ``a:b:c`` with the node ``node``; ``bounds`` are the values of the bounds that are present."""
    values = iter(bounds)
    parts: list[int | None] = [None]  # the start, and after each colon the stop and the step
    for child in node.children:
        if child.kind == "COLON":
            parts.append(None)
        else:
            bound = coercion.as_whole_number(next(values), "a slice bound")
            if bound is not None and not isinstance(bound, int):
                raise ArgumentError("a slice bound must be a whole number", span=child.span)
            parts[-1] = bound
    if parts[2:] == [0]:
        raise ArgumentError("the step of a slice cannot be 0")
    return slice(*parts)


def _tuple_items(values: tuple[Any, ...], keys: Sequence[object]) -> Any:
    """Return the element or the elements of a tuple at the only key, a position or a slice."""
    key = keys[0]
    if len(keys) != 1 or not isinstance(key, (int, slice)):
        raise ArgumentError("a tuple index must be one whole number")
    try:
        return values[key]
    except IndexError:
        raise ArgumentError(f"this tuple has {plural(len(values), 'element')}: positions go from 0 to {len(values) - 1}") from None


def get_elements(tensor: Tensor, keys: list[Any]) -> Tensor:
    """Return ``tensor[keys]``, after a check of its size."""
    coercion.check_gathered_size(tensor, keys)
    try:
        return tensor[tuple(keys)]
    except FOREIGN as error:
        raise _index_refusal("an index", error, [tensor, *keys]) from error


def set_elements(tensor: Tensor, keys: Sequence[Any], value: float | Tensor) -> None:
    """Run ``tensor[keys] = value``."""
    try:
        tensor[tuple(keys)] = value
    except FOREIGN as error:
        raise _index_refusal("an assignment to elements", error, [tensor, *keys, value]) from error


def _index_refusal(what: str, error: Exception, values: Sequence[object]) -> Exception:
    """Return the error to raise for ``error``: an error of this package itself, or a description of the values in its place."""
    return error if isinstance(error, AutodiffError) else coercion.refusal(what, values, _INDEX_KINDS)
