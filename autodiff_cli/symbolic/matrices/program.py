"""Formulas of arrays as one program, in which equal parts are computed once and products are computed in a cheap order.

Each instruction of the tape stands for an array: elementwise functions are recorded as for numbers, and functions of arrays are
instructions with primitives of this module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.compiler.partition import needed, resolved
from autodiff_cli.compiler.program import Term
from autodiff_cli.compiler.tape import Tape
from autodiff_cli.compiler.tracer import Tracer, as_operand, as_tensor, takes_array
from autodiff_cli.errors import LinAlgError, NotRecordable
from autodiff_cli.evaluation.compile import TracingEvaluator
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax
from autodiff_cli.symbolic.formula import Formula
from autodiff_cli.symbolic.matrices.arrays import Length
from autodiff_cli.symbolic.matrices.diff import matrix_derivatives, random_values
from autodiff_cli.symbolic.short_form import ShortForms

_NAMES = {**dict.fromkeys(("dot", "vdot", "mv", "mm"), "matmul"), **dict.fromkeys(("t", "transpose", "mT"), "T")}
_NEW = ("eye", "ones", "zeros")
_PARTS: dict[str, Any] = {":": slice(None), "None": None}


class AccurateForms(ShortForms):
    """Formulas that keep their digits, instead of the shortest ones."""

    def shortest(self, formula: Formula) -> Formula:
        """Return the formula as it was derived."""
        return formula


def _computed(name: str, x: Any, *arguments: Any) -> Any:
    """Return the result of a function of arrays."""
    if name == "T":
        return np.transpose(x)
    if name == "shape":
        return float(x.shape[arguments[0]])
    if name == "index":
        return x[tuple(_PARTS[part] if part in _PARTS else int(part) for part in arguments)]
    if name in _NEW:
        lengths = [int(length) for length in arguments]
        return np.eye(lengths[0]) if name == "eye" else np.full(lengths, float(name == "ones"))
    values = [tensor_on(np.asarray(value)) if isinstance(value, (np.ndarray, np.floating)) else value for value in (x, *arguments)]
    if name == "einsum":
        values = [values[-1], *values[:-1]]
    with set_grad_enabled(False):
        return FUNCTIONS[name].function(*values)._data


@cache
def _primitive(name: str) -> Primitive:
    return Primitive(name=name, forward=partial(_computed, name), parameters=(), vjps={}, series="linear")


class ArrayTracingEvaluator(TracingEvaluator):
    """A tracing evaluator whose variables are arrays.

    Attributes:
        of: the program that records the operations.
    """

    of: ArrayProgram

    def apply(self, op: FunctionInfo, operands: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        """Record a function of arrays as one instruction, and other functions as for numbers."""
        name = _NAMES.get(op.name, op.name)
        if name in _NEW:
            return self.of.tensor(self.of.record(name, self.of.first, *map(as_operand, operands)))
        if name in ("T", "matmul", "einsum", "diag", "diagonal") or takes_array(op):
            return self.of.tensor(self._array(op, name, operands, named, node))
        if op.name in ("add", "sub") and any(isinstance(value, Tracer) for value in operands):
            return self.of.tensor(self.of.total(op.name, *map(as_operand, operands)))
        result = super().apply(op, operands, named, node)
        if isinstance(result, Tensor) and result.shape:
            raise NotRecordable("a list of numbers is not exported", span=node.span, source=self.source)
        return result

    def _array(self, op: FunctionInfo, name: str, operands: list[Any], named: dict[str, Any], node: Syntax) -> Operand:
        if name == "einsum":
            return self.of.record(name, *map(as_operand, operands[1:]), statics=operands[:1])
        arguments, keywords = self.tensors.arguments(op, operands, named, node)
        defaults = dict(zip(op.parameters[op.required :], op.defaults, strict=True))
        values = {**defaults, **dict(zip(op.parameters, arguments, strict=False)), **keywords}
        arrays = [as_operand(values.pop(parameter)) for parameter in op.tensors]
        statics = list(values.items())
        while statics and (statics[-1][1] is None or (statics[-1][0] != "dim" and statics[-1][1] == defaults[statics[-1][0]])):
            statics.pop()
        if name == "matmul":
            return self.of.product(arrays[0], arrays[1])
        return self.of.record(name, *arrays, statics=[] if name == "T" else [value for _, value in statics])

    def attribute(self, thing: object, name: str, node: Syntax) -> Any:
        """Return the transpose or the shape of an array."""
        x = as_operand(thing)
        if name == "shape":
            return [self.of.tensor(self.of.record(name, x, statics=[place])) for place in range(self.of.rank(x))]
        return self.of.tensor(self.of.record("T", x))

    def element(self, thing: object, keys: list[Any], node: Syntax) -> Any:
        """Return elements, rows or columns of an array, or an element of a shape."""
        if isinstance(thing, list):
            return thing[keys[0]]
        return self.of.tensor(self.of.record("index", as_operand(thing), statics=[_part(key) for key in keys]))


def _part(key: object) -> str:
    if key is not None and key != slice(None) and type(key) is not int:
        raise NotRecordable("an index is a number, none or a whole slice in formulas of arrays")
    return ":" if isinstance(key, slice) else str(key)


class ArrayProgram:
    """Several formulas of arrays on one tape.

    Args:
        trees: the formulas by key.
        samples: a value of each variable with as many dimensions as in use.
        numbers: the values of constants, which are numbers.

    Attributes:
        variables: the instruction of each variable.
        results: the result of each formula.
    """

    def __init__(
        self, trees: Mapping[Term, Syntax], samples: Mapping[str, Any], numbers: Mapping[str, Tensor] | None = None
    ) -> None:
        self.tape = Tape("float64")
        self.variables = {name: self.tape.variable(name) for name in samples}
        self.first = next(iter(self.variables.values()))
        self._samples: dict[Instruction, Any] = {self.variables[name]: np.asarray(value) for name, value in samples.items()}
        names = {**(numbers or {}), **{name: self.tensor(variable) for name, variable in self.variables.items()}}
        self.results: dict[Term, Operand] = {}
        for key, tree in trees.items():
            evaluator = ArrayTracingEvaluator("", names, np.dtype("float64"), tree)
            evaluator.of = self
            with np.errstate(all="ignore"), set_grad_enabled(False):
                self.results[key] = as_operand(evaluator.as_tensor(evaluator.program(tree)))

    def tensor(self, operand: Operand) -> Tensor:
        """Return an operand as a tensor of the evaluator."""
        return as_tensor(self.tape, operand)

    def record(self, name: str, *operands: Operand, statics: Sequence[Any] = ()) -> Operand:
        """Return the result of a function of arrays."""
        return self.tape.record(_primitive(name), operands, tuple(statics))

    def rank(self, operand: Operand) -> int:
        """Return the number of dimensions."""
        return np.ndim(self._sample(operand))

    def _sample(self, operand: Operand) -> Any:
        return _evaluated([operand], self._samples)[0]

    def run(self, values: Mapping[str, Any]) -> dict[Term, Any]:
        """Return the results at a point; the values are arrays."""
        known = {self.variables[name]: np.asarray(value, dtype=float) for name, value in values.items() if name in self.variables}
        try:
            return dict(zip(self.results, _evaluated(list(self.results.values()), known), strict=True))
        except LinAlgError:
            return dict.fromkeys(self.results, np.nan)

    # Products and sums

    def product(self, x: Operand, y: Operand) -> Operand:
        """Return ``x @ y``: numbers are multiplied last and vectors first, diagonal matrices scale, and inverses solve."""
        scales: list[tuple[str, Operand]] = []
        x, y = self._bare(x, scales), self._bare(y, scales)
        result = self._chain(x, y)
        for name, scale in reversed(scales):
            result = self.tape.call(name, result, *([] if name == "neg" else [scale]))
        return result

    def _bare(self, factor: Operand, scales: list[tuple[str, Operand]]) -> Operand:
        """Return a factor without the numbers that multiply or divide it."""
        while type(factor) is Instruction:
            first, second = (*factor.operands, *factor.statics, 0.0, 0.0)[:2]
            name = "" if factor.primitive is None else factor.primitive.name
            if name == "mul" and self.rank(first) == 0:
                first, second = second, first
            if name != "neg" and (name not in ("mul", "div") or self.rank(second)):
                break
            scales.append((name, second))
            factor = first
        return factor

    def _chain(self, x: Operand, y: Operand) -> Operand:
        assert isinstance(x, Instruction)
        assert isinstance(y, Instruction)
        if self.rank(y) == 1 and x.is_("matmul") and self.rank(x) == 2:
            return self.product(x.operands[0], self.product(x.operands[1], y))
        if self.rank(x) == 1 and y.is_("matmul") and self.rank(y) == 2:
            return self.product(self.product(x, y.operands[0]), y.operands[1])
        if y.is_("diag") and self.rank(y) == 2:
            return self.tape.call("mul", x, y.operands[0])
        if x.is_("diag") and self.rank(x) == 2:
            scale = x.operands[0] if self.rank(y) == 1 else self.record("index", x.operands[0], statics=[":", "None"])
            return self.tape.call("mul", scale, y)
        if x.is_("inv") and self.rank(y) == 1:
            return self.record("solve", x.operands[0], y)
        return self.record("matmul", x, y)

    def total(self, name: str, x: Operand, y: Operand) -> Operand:
        """Return a sum or a difference, in which a common factor larger than the others is multiplied once."""
        if isinstance(x, Instruction) and isinstance(y, Instruction) and x.is_("mul") and y.is_("mul"):
            for factor in x.operands:
                if factor in y.operands:
                    rest = [next((o for o in z.operands if o is not factor), factor) for z in (x, y)]
                    if max(np.size(self._sample(one)) for one in rest) < np.size(self._sample(factor)):
                        return self.tape.call("mul", self.tape.call(name, *rest), factor)
        return self.tape.call(name, x, y)


def _evaluated(results: Sequence[Operand], values: dict[Instruction, Any]) -> list[Any]:
    """Compute results, and add the values of their parts to those that are known."""

    def value(operand: Operand) -> Any:
        operand = resolved(operand)
        return values[operand] if type(operand) is Instruction else operand

    if any(type(resolved(result)) is Instruction and resolved(result) not in values for result in results):
        with np.errstate(all="ignore"):
            for instruction in needed(results):
                if instruction not in values and instruction.primitive is not None:
                    operands = map(value, instruction.operands)
                    values[instruction] = np.asarray(instruction.primitive.forward(*operands, *instruction.statics))
    return [value(result) for result in results]


def array_program(
    expression: str,
    names: Sequence[str],
    terms: Sequence[Term],
    dims: Mapping[str, tuple[Length, ...]],
    symmetric: Sequence[str] = (),
    numbers: Mapping[str, Tensor] | None = None,
) -> ArrayProgram:
    """Return the value and derivatives of an expression as one program; the numbers of its formulas are those of the engine.

    Args:
        expression: a program of the language.
        names: its variables and constants.
        terms: the derivatives, and ``()`` for the value.
        dims: the dimensions of vectors and matrices.
        symmetric: the names of symmetric matrices.
        numbers: the values of constants, which are numbers.

    Raises:
        NotRecordable: if a derivative has no formula.
        ShapeError: if shapes do not fit.
    """
    by = list(dict.fromkeys(name for term in terms for name in term))
    trees: dict[Term, Syntax] = {(): parse(expression)} if () in terms else {}
    for order in sorted({len(term) for term in terms} - {0}):
        derivatives = matrix_derivatives(expression, names, by, order, dims, symmetric, AccurateForms)
        trees |= {term: derivative.tree for term, derivative in derivatives.items() if term in terms}
    shapes = {name: tuple(dims.get(name, ())) for name in names}
    samples = {name: value for name, value in random_values(shapes, symmetric, 1).items() if name not in (numbers or {})}
    try:
        return ArrayProgram(trees, samples, numbers)
    except (IndexError, ValueError):
        raise NotRecordable("a function of arrays has no formula at small shapes") from None
