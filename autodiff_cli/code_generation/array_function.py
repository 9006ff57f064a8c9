"""Export of an expression of vectors and matrices as a function of arrays or tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.code_generation.array_tape import CREATORS, array_tape
from autodiff_cli.code_generation.codegen import Code, Fragment, is_boolean
from autodiff_cli.code_generation.export import NotInTarget, check_name, code_and_helpers, decide_to_keep
from autodiff_cli.code_generation.source_file import MODULES, SourceFile, python_module, python_tuple
from autodiff_cli.code_generation.targets import TARGETS, Target
from autodiff_cli.compiler.instruction import Instruction
from autodiff_cli.compiler.program import Term, output_name, terms
from autodiff_cli.errors import UsageError
from autodiff_cli.evaluation.evaluation import evaluated_inputs
from autodiff_cli.evaluation.lowering import lower
from autodiff_cli.symbolic.differentiate import dimensions, variables_and_constants
from autodiff_cli.symbolic.matrices.diff import matrix_derivatives
from autodiff_cli.symbolic.short_form import AccurateForms

if TYPE_CHECKING:
    from autodiff_cli.symbolic.matrices.arrays import Length

_MEMBERS = {"T": ".T", "shape": ".shape[{0}]", "index": "[{0}]", "reshape": ".reshape({0})"}
"""The templates of what is written behind an array, for primitives that are not calls."""


class ArrayCode(Code):
    """Straight-line code whose values are arrays."""

    def _operation(self, instruction: Instruction, primitive: Primitive) -> Fragment:
        """Return an operation as an expression.  PyTorch's functions of arrays take no conditions, which become numbers here."""
        conditions = {op: self.fragments[op] for op in instruction.operands if type(op) is Instruction and is_boolean(op)}
        if primitive.elementwise or self.target.title != "PyTorch" or not conditions:
            return self._array_operation(instruction, primitive)
        tensor = next(iter(self.variables.values()))  # any variable, because all have the type of the numbers
        # The fragments are replaced for this operation only; others take the conditions as they are.
        self.fragments |= {op: Fragment(f"({text}).to({tensor}.dtype)") for op, (text, _) in conditions.items()}
        result = self._array_operation(instruction, primitive)
        self.fragments |= conditions
        return result

    def _array_operation(self, instruction: Instruction, primitive: Primitive) -> Fragment:
        """Return an operation with operators as for numbers, a member of an array, or the call of a function of arrays."""
        name = primitive.name
        if primitive.elementwise or name == "matmul":
            return super()._operation(instruction, primitive)
        if name in _MEMBERS:
            return self._member(instruction, name)
        first, *others = (self._text(operand) for operand in instruction.operands)
        statics = [f'"{value}"' if isinstance(value, str) else repr(value) for value in instruction.statics]
        if name in CREATORS:  # the first operand is a variable, whose type the new array has: ``{tensor}`` in the template
            arguments = [*others, *statics]
        elif name == "einsum":  # its static argument is the equation, which comes first
            arguments = [*statics, first, *others]
        else:
            arguments = [first, *others, *statics]
        return Fragment(self.target.arrays[name].format(args=", ".join(arguments), tensor=first))

    def _member(self, instruction: Instruction, name: str) -> Fragment:
        """Return ``A.T``, ``A.shape[0]``, ``A.reshape(n, 2)`` or, for the name ``index``, ``A[0]``."""
        inner = self._fragment(instruction.operands[0]).text
        array = inner if inner.isidentifier() else f"({inner})"
        arguments = [*map(self._text, instruction.operands[1:]), *map(str, instruction.statics)]
        return Fragment(array + _MEMBERS[name].format(", ".join(arguments)))


def array_function(
    to: str,
    expression: str,
    name: str,
    wrt: Sequence[str] | None,
    order: int,
    const: Mapping[str, Any] | None,
    shape: Mapping[str, str | Sequence[Length]],
    symmetric: Sequence[str],
) -> str:
    """Return the source of a function of arrays; ``export`` describes the arguments and errors.

    A target that is a language of numbers, or a constant that is an array, also raises ``UsageError``.
    """
    if to not in MODULES:
        raise UsageError(f"the functions of '{to}' are functions of numbers", hint="vectors and matrices need numpy, torch or jax")
    target = TARGETS[to]
    check_name(name, target)
    constants = evaluated_inputs(None, const, "float64")[1]
    array = next((constant for constant, value in constants.items() if np.ndim(value)), None)
    if array is not None:
        raise UsageError(f"the constant '{array}' is an array", hint="leave it out: it becomes an argument of the function")
    names, by, numbers = variables_and_constants(expression, wrt, const)
    dims = dimensions(names, {}, shape, symmetric)
    formulas = matrix_derivatives(expression, [*names, *numbers], terms(by, order), dims, symmetric, AccurateForms)
    tape, results = array_tape([formula.tree for formula in formulas.values()], names, numbers)
    results = lower(tape, results, lambda primitive, statics: _decide_to_keep(primitive, statics, target))
    code, helper_functions = code_and_helpers(target, names, list(map(output_name, formulas)), results, ArrayCode)

    texts = dict(zip(formulas, code.results.values(), strict=True))  # the code of each derivative
    several = len(by) > 1
    returned = [texts[()], _tuple_of_several([texts[(variable,)] for variable in by])]
    notes = [f"the value; the gradient with respect to {', '.join(by)}{', a tuple' if several else ''}."]
    if order == 2:
        ranks = {variable: len(dims.get(variable, ())) for variable in by}
        block_ranks = {term: len(formula.dims) for term, formula in formulas.items()}
        returned.append(_hessian(by, texts, ranks, block_ranks, to))
        notes.append(f"The Hessian{', as a tuple of rows' if several else ''}: the dimensions of the first variable come first.")
    parts = SourceFile(code, helper_functions, name, " ".join(expression.split()), by, order, texts)
    return python_module(parts, notes, returned)


def _decide_to_keep(primitive: Primitive, statics: tuple[Any, ...], target: Target) -> bool:
    """Return whether a primitive stays a call, instead of its decomposition; ``NotInTarget`` if the target has neither."""
    if primitive.elementwise:
        return decide_to_keep(primitive, statics, target)
    if primitive.name in ("matmul", *_MEMBERS, *target.arrays):
        return True
    raise NotInTarget(f"{target.title} has no function '{primitive.name}' of arrays")


def _tuple_of_several(entries: Sequence[str]) -> str:
    """Return the code of a tuple, or of its only entry."""
    return entries[0] if len(entries) == 1 else python_tuple(entries)


def _hessian(
    wrt: Sequence[str], texts: Mapping[Term, str], ranks: Mapping[str, int], block_ranks: Mapping[Term, int], to: str
) -> str:
    """Return the code of the Hessian: a tuple of rows of blocks, or the only block; see ``_block``."""
    rows = [[_block(row, column, texts, ranks, block_ranks, to) for column in wrt] for row in wrt]
    return _tuple_of_several([_tuple_of_several(row) for row in rows])


def _block(
    row: str, column: str, texts: Mapping[Term, str], ranks: Mapping[str, int], block_ranks: Mapping[Term, int], to: str
) -> str:
    """Return the code of the Hessian's block for two variables in the library ``to``; ``texts`` has each pair in one order.

    A derivative has the dimensions of the value, then those of each variable; ``block_ranks`` and ``ranks`` are their numbers.
    """
    if (row, column) in texts:
        return texts[row, column]
    text, rank = texts[column, row], block_ranks[column, row]
    row_start = rank - ranks[row]  # the dimensions of ``row`` are the last ones, and go before those of ``column``
    column_start = row_start - ranks[column]
    axes = (*range(column_start), *range(row_start, rank), *range(column_start, row_start))
    permute = "permute" if to == "torch" else "transpose"
    return text if axes == tuple(range(rank)) else f"{MODULES[to]}.{permute}({text}, {axes})"
