"""Operations that somebody does not know, replaced by formulas over those that he does.

A rule may use operations that are no functions of the language, because they keep digits that a formula would lose.  For
reading, and for other languages, each declaration has the formula beside it (``written``), which is run here on the
arguments of the operation: so it is written down as any other expression.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.compiler.schedule import computing, needed, resolved
from autodiff_cli.compiler.tracer import Cell, Instruction, Tape, Tracer
from autodiff_cli.errors import NotRecordable
from autodiff_cli.evaluation.compile import TracingEvaluator


def is_function(primitive: Primitive, _: Sequence[Any] = ()) -> bool:
    """Whether the language has this operation as a function, with these parameters in some order."""
    return primitive.name in FUNCTIONS and set(primitive.parameters) <= set(FUNCTIONS[primitive.name].parameters)


def formula(primitive: Primitive, statics: Sequence[Any]) -> str | None:
    """What stands in the declaration of an operation, if anything does."""
    if not callable(primitive.decomposition):
        return primitive.decomposition
    values = dict(zip(primitive.parameters[primitive.arity :], statics, strict=True))
    code = primitive.decomposition.__code__
    return primitive.decomposition(*[values[name] for name in code.co_varnames[: code.co_argcount]])


def lowered(
    recording: Tape, results: Sequence[Cell], known: Callable[[Primitive, Sequence[Any]], bool] = is_function
) -> list[Cell]:
    """The same results by operations that are known, appended to the recording where they are new.

    Args:
        recording: the list.
        results: operations of it, or constants.
        known: whether an operation with these plain values may stay.

    Raises:
        NotRecordable: for an operation that is not known and has no formula.
    """
    done: dict[Cell, Cell] = {}

    def now(value: Any) -> Any:
        value = resolved(value)
        return done[value] if type(value) is Instruction else value

    # What is to be replaced, and with it the formula that replaces it, once that is there and is done itself.
    stack: list[tuple[Instruction, Instruction | None]] = [(cell, None) for cell in needed(results)[::-1]]
    while stack:
        operation, replacement = stack.pop()
        primitive = operation.primitive
        if replacement is not None:
            done[operation] = done[replacement]
        if operation in done:
            continue
        if primitive is None:
            done[operation] = operation
            continue
        missing = [value for value in computing(operation.inputs) if value not in done]
        if missing:
            stack.append((operation, None))
            stack += [(value, None) for value in missing]
            continue
        given = tuple(map(now, operation.given))
        stays = known(primitive, given[primitive.arity :])
        cell = recording.operation(primitive, given) if stays else by_formula(recording, primitive, given)
        if stays or type(cell) is not Instruction:
            done[operation] = done[cell] = cell
        else:
            stack += [(operation, cell), (cell, None)]
    return [now(cell) for cell in results]


def by_formula(recording: Tape, primitive: Primitive, given: tuple[Any, ...]) -> Cell:
    """The result of an operation by its formula.

    Raises:
        NotRecordable: if it has none.
    """
    text = formula(primitive, given[primitive.arity :])
    if text is None:
        raise NotRecordable(f"'{primitive.name}' has no formula")
    writer = _writer(text, recording.dtype)
    writer.names = {
        name: recording.tensor(value) if type(value) is Instruction else value
        for name, value in zip(primitive.parameters, given, strict=True)
    }
    with np.errstate(all="ignore"), set_grad_enabled(False), writer.tensors.unlisted():
        for statement in writer.tree.children:
            value = writer.statement(statement)
    value = writer.tensors.of(value)
    return value._data[()] if isinstance(value, Tracer) else value.item()


@functools.lru_cache(256)
def _writer(text: str, dtype: Any) -> TracingEvaluator:
    made = TracingEvaluator(text, {}, dtype)
    made.most_operations = sys.maxsize  # it serves many traces
    return made
