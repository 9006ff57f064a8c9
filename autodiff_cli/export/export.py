"""A function in another language that returns the value of an expression and its derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.compiler.program import derivatives, output_name, terms
from autodiff_cli.compiler.tracer import Instruction, Tape
from autodiff_cli.errors import NoSeriesError, NotRecordable, UsageError
from autodiff_cli.evaluation.compile import names_and_values, recorded
from autodiff_cli.evaluation.lowering import by_formula, formula, lowered
from autodiff_cli.export.codegen import Code, Helpers
from autodiff_cli.export.source_file import Sources, source
from autodiff_cli.export.targets import NAMES, TARGETS, Target
from autodiff_cli.suggest import suggestion
from autodiff_cli.symbolic.differentiate import not_written
from autodiff_cli.symbolic.scalars import ScalarWriter


class NotInTarget(NotRecordable):
    """A function that the language of an export does not have."""


def export(
    expression: str,
    to: str,
    name: str = "f",
    wrt: Sequence[str] | None = None,
    order: int = 1,
    const: Mapping[str, Any] | None = None,
) -> str:
    """The source text of a function that returns value and gradient, with ``order=2`` the Hessian too.

    Args:
        expression: a program of the language whose result is one number; names without a value are arguments.
        to: ``python``, ``numpy``, ``torch``, ``jax``, ``c`` or ``latex``.
        name: of the function.
        wrt: which arguments to differentiate by; all if left out.
        order: 1 or 2.
        const: values of names that are no arguments.

    Raises:
        NotInTarget: for a function that the target does not have.
        NotRecordable: if the derivative depends on values in a way that cannot be written down.
        AutodiffError: of any other kind, with its place in the expression.
    """
    if to not in NAMES:
        raise UsageError(f"cannot export to '{to}'", hint=suggestion(to, NAMES) or f"use one of {', '.join(NAMES)}")
    if order not in (1, 2):
        raise UsageError(f"the order must be 1 or 2, not {order}")
    if to == "latex":
        from autodiff_cli.export.latex_document import document

        return document(expression, name, wrt, order, const)
    target = TARGETS[to]
    if not name.isidentifier() or name in target.reserved:
        raise UsageError(f"'{name}' cannot be the name of a function in {target.title}")
    return source(_derived(target, expression, name, wrt, order, const))


def _derived(
    target: Target, expression: str, name: str, wrt: Sequence[str] | None, order: int, const: Mapping[str, Any] | None
) -> Sources:
    names, by, leaves = names_and_values(expression, wrt, const, "float64")
    if not by:
        raise UsageError("the expression has no variable to differentiate by", hint="every name without a value is one")
    wanted = terms(by, order)
    try:
        recording, value, columns = recorded(expression, names, leaves, "float64", ScalarWriter)
        with np.errstate(all="ignore"), set_grad_enabled(False):
            cells = derivatives(recording, value, {variable: columns[variable] for variable in by}, wanted)
        cells = lowered(recording, cells, lambda primitive, statics: _stays(primitive, statics, target))
    except NotInTarget:
        raise
    except (NotRecordable, NoSeriesError) as error:
        raise not_written(error, f"there is no formula to export; numbers: autodiff grad EXPR --at {names[0]}=1") from None
    arguments: dict[str, str] = {}
    for variable in names:
        plain = variable if not variable.startswith(target.helper) else f"v{variable}"
        arguments[variable] = _unused(plain, {*target.reserved, *arguments.values()})
    outputs = [_unused(output_name(term), arguments.values()) for term in wanted]
    helpers: Helpers = {}
    code = Code(target, list(zip(outputs, cells, strict=True)), arguments, helpers)
    return Sources(
        code,
        _beside(target, helpers),
        name,
        " ".join(expression.split()),
        by,
        order,
        {term: code.results[output] for term, output in zip(wanted, outputs, strict=True)},
        {term for term, cell in zip(wanted, cells, strict=True) if type(cell) is not Instruction},
    )


MOST_INLINE = 160
"""A formula that is longer is a function of its own."""


def _stays(primitive: Primitive, statics: Sequence[Any], target: Target) -> bool:
    """Whether an operation is written as it is: as a function of the target, or as one beside the code."""
    if target.has(primitive.name):
        return True
    text = formula(primitive, statics)
    if text is None:
        able = [other.title for other in TARGETS.values() if other.has(primitive.name)]
        hint = f"{' and '.join(able)} {'have' if len(able) > 1 else 'has'} it" if able else "no target has it"
        raise NotInTarget(f"{target.title} has no function '{primitive.name}'", hint=hint)
    return len(text) > MOST_INLINE


def _beside(target: Target, helpers: Helpers) -> dict[str, Code]:
    """The functions that are written beside the code, those that others call first."""
    found: dict[str, Code] = {}
    called: dict[str, list[str]] = {}
    while len(found) < len(helpers):
        (primitive, statics), name = next(item for item in helpers.items() if item[1] not in found)
        recording = Tape("float64")
        variables = [recording.variable(parameter)._data[()] for parameter in primitive.parameters[: primitive.arity]]
        with np.errstate(all="ignore"), set_grad_enabled(False):
            value = by_formula(recording, primitive, (*variables, *statics))
        value = lowered(recording, [value], lambda primitive, statics: _stays(primitive, statics, target))[0]
        own: Helpers = {}
        found[name] = Code(
            target, [("value", value)], {parameter: parameter for parameter in primitive.parameters[: primitive.arity]}, own
        )
        found[name].about = " ".join(
            [
                primitive.function.__doc__ or primitive.name,
                *(f"({p} = {v})" for p, v in zip(primitive.parameters[primitive.arity :], statics, strict=True)),
            ]
        )
        called[name] = list(own.values())
        helpers.update(own)
    order: dict[str, None] = {}
    stack = [(name, False) for name in reversed(found)]
    while stack:
        name, is_done = stack.pop()
        if is_done:
            order[name] = None
        elif name not in order:
            stack += [(name, True), *((other, False) for other in called[name])]
    return {name: found[name] for name in order}


def _unused(name: str, taken: Any) -> str:
    """A name with as many underscores behind it as it takes."""
    while name in taken:
        name += "_"
    return name
