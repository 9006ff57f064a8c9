"""Export of an expression and its derivatives as a function in another language."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.primitives.argument_kinds import optional
from autodiff_cli.autograd.primitives.interface_kinds import COUNT, EXPRESSION, VALUES, checks
from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.code_generation.codegen import Code, Helpers
from autodiff_cli.code_generation.source_file import SourceFile, javascript_functions, javascript_list, source
from autodiff_cli.code_generation.targets import ALIASES, NAMES, SUFFIXES, TARGETS, Target
from autodiff_cli.compiler.instruction import Operand
from autodiff_cli.compiler.program import derivatives, output_name, terms
from autodiff_cli.compiler.tape import Tape
from autodiff_cli.errors import NoSeriesError, NotRecordable, UsageError, setting
from autodiff_cli.evaluation.compile import trace
from autodiff_cli.evaluation.lowering import decomposition, lower, trace_decomposition
from autodiff_cli.lazy import named
from autodiff_cli.postorder import postorder
from autodiff_cli.suggest import suggestion
from autodiff_cli.symbolic.differentiate import ScalarTracingEvaluator, variables_and_constants, without_formula
from autodiff_cli.wording import listed

if TYPE_CHECKING:
    from autodiff_cli.symbolic.matrices.arrays import Length

_OF_ARRAYS = "autodiff_cli.code_generation.array_function:array_function"
MOST_INLINE = 160
"""The largest length of a decomposition that is inlined; a longer decomposition becomes a helper function."""


def target_for(path: str | None) -> str:
    """Return the target for the suffix of an output file, such as ``c`` for ``f.c``; ``UsageError`` if there is none."""
    suffix = os.path.splitext(path or "")[1].lower()
    if suffix not in SUFFIXES:
        raise UsageError("the language of the function is not given", hint=f"set {setting('to')} to {listed(NAMES, 'or')}")
    return SUFFIXES[suffix]


class NotInTarget(NotRecordable):
    """The error for a function that the target language does not have."""


@checks(expression=EXPRESSION, order=COUNT, const=optional(VALUES))
def export(
    expression: str,
    to: str,
    name: str = "f",
    wrt: Sequence[str] | None = None,
    order: int = 1,
    const: Mapping[str, Any] | None = None,
    shape: Mapping[str, str | Sequence[Length]] | None = None,
    symmetric: Sequence[str] = (),
) -> str:
    """Return the source of a function that computes the value and the gradient, including the Hessian for ``order=2``.

    Args:
        expression: a program of the language with a scalar result; names without a value become arguments.
        to: the target: ``python``, ``numpy``, ``torch``, ``jax``, ``c``, ``javascript`` (also ``js``) or ``latex``.
        name: the name of the function.
        wrt: the arguments to differentiate with respect to; by default, all arguments.
        order: the highest order of the derivatives, 1 or 2.
        const: the values of constants, which do not become arguments.
        shape: the dimensions of vectors and matrices, such as ``{"A": "m,n", "x": "n"}``, for ``numpy``, ``torch`` and ``jax``.
        symmetric: the names of symmetric matrices.

    Raises:
        UsageError: if the target or the order is not supported, or if the target or the code does not allow the
            name.
        NotInTarget: if the expression uses a function that the target does not have.
        NotRecordable: if a derivative does not have a formula.
        AutodiffError: if the expression is invalid; the error contains the position in the expression.
    """
    to = ALIASES.get(to, to)
    if to not in NAMES:
        raise UsageError(f"cannot export to '{to}'", hint=suggestion(to, NAMES) or f"use one of {', '.join(NAMES)}")
    if order not in (1, 2):
        raise UsageError(f"the order must be 1 or 2, not {order}")
    if shape or symmetric:
        function: str = named(_OF_ARRAYS)(to, expression, name, wrt, order, const, shape or {}, symmetric)
        return function
    if to == "latex":
        from autodiff_cli.code_generation.latex_document import document

        return document(expression, name, wrt, order, const)
    target = TARGETS[to]
    check_name(name, target)
    return source(_source_file(target, expression, name, wrt, order, const))


def check_name(name: str, target: Target) -> None:
    """Raise ``UsageError`` unless a target allows a function of this name."""
    if not name.isidentifier() or name in target.reserved:
        raise UsageError(f"'{name}' is not a valid function name in {target.title}")


def _source_file(
    target: Target, expression: str, name: str, wrt: Sequence[str] | None, order: int, const: Mapping[str, Any] | None
) -> SourceFile:
    """Return the code of the value and the derivatives; ``export`` describes the arguments and the errors."""
    names, by, numbers = variables_and_constants(expression, wrt, const)
    wanted = terms(by, order)
    try:
        traced = trace(expression, names, numbers, "float64", ScalarTracingEvaluator)
        with np.errstate(all="ignore"), set_grad_enabled(False):
            results = derivatives(traced.outputs[0], {variable: traced.variables[variable] for variable in by}, wanted)
        results = lower(traced.tape, results, lambda primitive, statics: decide_to_keep(primitive, statics, target))
    except NotInTarget:  # its message is about the target, not about a formula
        raise
    except (NotRecordable, NoSeriesError) as error:
        raise without_formula(error, names[0]) from None  # its hint sets a variable
    code, helper_functions = code_and_helpers(target, names, list(map(output_name, wanted)), results)
    if name in helper_functions:
        raise UsageError(f"the code contains another function '{name}'", hint="use another name")
    texts = dict(zip(wanted, code.results.values(), strict=True))
    return SourceFile(code, helper_functions, name, " ".join(expression.split()), by, order, texts)


def results_in_javascript(tape: Tape, results: Sequence[Operand], names: Sequence[str], name: str) -> str:
    """Return a JavaScript function of this name that takes the variables ``names`` of a tape, and returns the list of results.

    If the results need a function that JavaScript does not have, ``NotInTarget`` is raised.
    """
    target = TARGETS["javascript"]
    results = lower(tape, results, lambda primitive, statics: decide_to_keep(primitive, statics, target))
    code, helper_functions = code_and_helpers(target, names, [f"result_{i}" for i in range(len(results))], results)
    return javascript_functions(name, code, helper_functions, javascript_list(code.results.values())) + "\n"


def code_and_helpers(
    target: Target, names: Sequence[str], outputs: Sequence[str], results: Sequence[Operand], code_of: type[Code] = Code
) -> tuple[Code, dict[str, Code]]:
    """Return the code of lowered results, and the helper functions that it calls; names that are taken get underscores.

    ``names`` are the variables, ``outputs`` the names of the results, and ``code_of`` is the class of the code.  The variable
    ``a[0]`` is the argument ``a_0_``, and one that begins like a generated helper function gets a ``v`` in front.
    """
    arguments: dict[str, str] = {}
    for variable in names:
        plain = re.sub(r"\W+", "_", variable)
        plain = plain if not plain.startswith(target.helper) else f"v{plain}"
        arguments[variable] = _unused(plain, {*target.reserved, *arguments.values()})
    unique_outputs: list[str] = []
    for output in outputs:
        unique_outputs.append(_unused(output, {*arguments.values(), *unique_outputs}))
    helpers: Helpers = {}
    code = code_of(target, dict(zip(unique_outputs, results, strict=True)), arguments, helpers)
    return code, _helper_functions(target, helpers)


def decide_to_keep(primitive: Primitive, statics: Sequence[Any], target: Target) -> bool:
    """Decide between a call, of the target or of a helper function (true), and the decomposition written inline (false).

    ``NotInTarget`` is raised for a primitive that is not in the target and has no decomposition for its arguments ``statics``.
    """
    if target.has(primitive.name):
        return True
    text = decomposition(primitive, statics)
    if text is None:
        others = [other.title for other in TARGETS.values() if other.has(primitive.name)]
        hint = f"{listed(others)} {'have' if len(others) > 1 else 'has'} it" if others else "no target has it"
        raise NotInTarget(f"{target.title} has no function '{primitive.name}'", hint=hint)
    return len(text) > MOST_INLINE


def _helper_functions(target: Target, helpers: Helpers) -> dict[str, Code]:
    """Return the helper functions in order of definition, each after those that it calls, which are added to ``helpers``."""
    codes: dict[str, Code] = {}
    while len(codes) < len(helpers):
        key, name = next((key, name) for key, name in helpers.items() if name not in codes)  # the next without code
        codes[name] = _helper_function(target, *key)
        helpers.update(codes[name].helpers)
    return {name: codes[name] for name in postorder(codes, lambda name: codes[name].helpers.values())}


def _helper_function(target: Target, primitive: Primitive, statics: tuple[Any, ...]) -> Code:
    """Return the code of the decomposition of a primitive with these static arguments; its result is named ``value``."""
    parameters, static_parameters = primitive.parameters[: primitive.arity], primitive.parameters[primitive.arity :]
    tape = Tape("float64")
    with np.errstate(all="ignore"), set_grad_enabled(False):
        value = trace_decomposition(tape, primitive, tuple(map(tape.variable, parameters)), statics)
    (value,) = lower(tape, [value], lambda primitive, statics: decide_to_keep(primitive, statics, target))
    constants = [f"({parameter} = {number})" for parameter, number in zip(static_parameters, statics, strict=True)]
    about = " ".join([primitive.function.__doc__ or primitive.name, *constants])
    return Code(target, {"value": value}, {parameter: parameter for parameter in parameters}, helpers={}, about=about)


def _unused(name: str, taken: Collection[str]) -> str:
    """Append underscores to a name until it differs from all taken names."""
    while name in taken:
        name += "_"
    return name
