"""A function in another language that returns the value of an expression and its derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.declare import Law
from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.program import derivatives, output_name, terms
from autodiff_cli.autograd.recording import Operation
from autodiff_cli.errors import NoSeriesError, NotRecordable, UsageError
from autodiff_cli.language.code import Code
from autodiff_cli.language.compiled import names_and_values, recorded
from autodiff_cli.language.lowering import lowered
from autodiff_cli.language.sources import Sources, source
from autodiff_cli.language.symbolic import not_written
from autodiff_cli.language.targets import NAMES, TARGETS, Target
from autodiff_cli.similar import suggestion


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
        from autodiff_cli.language.document import document

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
        recording, value, columns = recorded(expression, names, leaves, "float64")
        with np.errstate(all="ignore"), set_grad_enabled(False):
            cells = derivatives(recording, value, {variable: columns[variable] for variable in by}, wanted)
        cells = lowered(recording, cells, lambda law: _known(law, target))
    except NotInTarget:
        raise
    except (NotRecordable, NoSeriesError) as error:
        raise not_written(error, f"there is no formula to export; numbers: autodiff grad EXPR --at {names[0]}=1") from None
    arguments: dict[str, str] = {}
    for variable in names:
        arguments[variable] = _unused(variable, {*target.reserved, *arguments.values()})
    outputs = [_unused(output_name(term), arguments.values()) for term in wanted]
    code = Code(target, list(zip(outputs, cells, strict=True)), arguments)
    return Sources(
        code,
        name,
        " ".join(expression.split()),
        by,
        order,
        {term: code.results[output] for term, output in zip(wanted, outputs, strict=True)},
        {term for term, cell in zip(wanted, cells, strict=True) if type(cell) is not Operation},
    )


def _known(law: Law, target: Target) -> bool:
    """Whether an operation is written as it is."""
    if target.has(law.name):
        return True
    if law.written is None:
        able = [other.title for other in TARGETS.values() if other.has(law.name)]
        hint = f"{' and '.join(able)} {'have' if len(able) > 1 else 'has'} it" if able else "no target has it"
        raise NotInTarget(f"{target.title} has no function '{law.name}'", hint=hint)
    return False


def _unused(name: str, taken: Any) -> str:
    """A name with as many underscores behind it as it takes."""
    while name in taken:
        name += "_"
    return name
