"""Export of an expression of vectors and matrices as a function of arrays or tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.code_generation.array_tape import array_tape
from autodiff_cli.code_generation.codegen import Code, Fragment, is_boolean
from autodiff_cli.code_generation.export import NotInTarget, check_name, generated, stays
from autodiff_cli.code_generation.source_file import MODULES, SourceFile, python_module, python_tuple
from autodiff_cli.code_generation.targets import TARGETS
from autodiff_cli.compiler.instruction import Instruction
from autodiff_cli.compiler.program import output_name, terms
from autodiff_cli.errors import UsageError
from autodiff_cli.evaluation.evaluation import evaluated_inputs
from autodiff_cli.evaluation.lowering import lower
from autodiff_cli.symbolic.differentiate import dimensions, variables_and_constants
from autodiff_cli.symbolic.matrices.diff import matrix_derivatives
from autodiff_cli.symbolic.short_form import AccurateForms

if TYPE_CHECKING:
    from autodiff_cli.symbolic.matrices.arrays import Length

_MEMBERS = {"T": ".T", "shape": ".shape[{0}]", "index": "[{0}]", "reshape": ".reshape({0})"}
"""What follows an array, with arguments."""


class ArrayCode(Code):
    """Straight-line code whose values are arrays."""

    def _operation(self, instruction: Instruction, primitive: Primitive) -> Fragment:
        conditions = {op: self.fragments[op] for op in instruction.operands if type(op) is Instruction and is_boolean(op)}
        if primitive.elementwise or self.target.title != "PyTorch" or not conditions:
            return self._array(instruction, primitive)
        tensor = next(iter(self.variables.values()))  # PyTorch does not multiply matrices of conditions and of numbers
        self.fragments |= {op: Fragment(f"({text}).to({tensor}.dtype)") for op, (text, _) in conditions.items()}
        result = self._array(instruction, primitive)
        self.fragments |= conditions
        return result

    def _array(self, instruction: Instruction, primitive: Primitive) -> Fragment:
        name = primitive.name
        if primitive.elementwise or name == "matmul":
            return super()._operation(instruction, primitive)
        first, *others = (self._text(operand) for operand in instruction.operands)
        if name in _MEMBERS:
            inner = self._fragment(instruction.operands[0])
            text = inner.text if inner.text.isidentifier() else f"({inner.text})"
            return Fragment(text + _MEMBERS[name].format(", ".join([*others, *map(str, instruction.statics)])))
        statics = [f'"{value}"' if isinstance(value, str) else repr(value) for value in instruction.statics]
        arguments = [*others, *statics] if name in ("eye", "ones", "zeros") else [first, *others, *statics]
        arguments = [*statics, first, *others] if name == "einsum" else arguments
        return Fragment(self.target.arrays[name].format(args=", ".join(arguments), tensor=first))


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
    """Return the source of a function of arrays; ``export`` describes the arguments.

    Raises:
        UsageError: if the target is a language of numbers, or a constant is an array.
        NotRecordable: if a derivative has no formula, or the target does not have a function.
    """
    if to not in MODULES:
        raise UsageError(f"the functions of '{to}' are functions of numbers", hint="vectors and matrices need numpy, torch or jax")
    target, module = TARGETS[to], MODULES[to]
    check_name(name, target)
    arrays = [constant for constant, value in evaluated_inputs(None, const, "float64")[1].items() if np.ndim(value)]
    if arrays:
        raise UsageError(f"the constant '{arrays[0]}' is an array", hint="leave it out: it becomes an argument of the function")
    names, by, numbers = variables_and_constants(expression, wrt, const)
    dims = dimensions(names, {}, shape, symmetric)
    wanted = terms(by, order)
    formulas = matrix_derivatives(expression, [*names, *numbers], wanted, dims, symmetric, AccurateForms)
    tape, results = array_tape([formula.tree for formula in formulas.values()], names, numbers)

    def known(primitive: Primitive, statics: tuple[Any, ...]) -> bool:
        if primitive.elementwise or primitive.name in ("matmul", *_MEMBERS, *target.arrays):
            return not primitive.elementwise or stays(primitive, statics, target)
        raise NotInTarget(f"{target.title} has no function '{primitive.name}' of arrays")

    results = lower(tape, results, known)
    code, beside = generated(target, names, list(map(output_name, formulas)), results, ArrayCode)
    texts = dict(zip(formulas, code.results.values(), strict=True))
    ranks = {variable: len(dims.get(variable, ())) for variable in names}

    def block(a: str, b: str) -> str:
        if (a, b) in texts:
            return texts[a, b]
        first = len(formulas[b, a].dims) - ranks[a] - ranks[b]
        middle, last = first + ranks[b], first + ranks[a] + ranks[b]
        axes = [*range(first), *range(middle, last), *range(first, middle)]
        permute = "permute" if to == "torch" else "transpose"
        return texts[b, a] if axes == sorted(axes) else f"{module}.{permute}({texts[b, a]}, {tuple(axes)})"

    returned = [texts[()], texts[by[0],] if len(by) == 1 else python_tuple([texts[own,] for own in by])]
    notes = [f"the value; the gradient with respect to {', '.join(by)}{', a tuple' if len(by) > 1 else ''}."]
    if order == 2:
        rows = [python_tuple([block(a, b) for b in by]) for a in by]
        returned.append(block(by[0], by[0]) if len(by) == 1 else python_tuple(rows))
        notes.append(
            f"The Hessian{', as a tuple of rows' if len(by) > 1 else ''}: the dimensions of the first variable come first."
        )
    parts = SourceFile(code, beside, name, " ".join(expression.split()), by, order, texts)
    return python_module(parts, notes, returned)
