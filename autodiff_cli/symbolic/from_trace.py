"""Operations of a recording as formulas in normal form, from the first to the last.

A chain of additions is one sum and a chain of multiplications one product, made at once: a sum for each step of the chain
would take quadratic time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.compiler.schedule import computing, needed, resolved
from autodiff_cli.compiler.tracer import Cell, Instruction
from autodiff_cli.evaluation.lowering import is_function
from autodiff_cli.symbolic.normal_form import Algebra, Formula

_SUMS = ("add", "sub", "rsub")
_PRODUCTS = ("mul", "div", "reciprocal")
_LOGIC = {
    "logical_and": "logical_and",
    "bitwise_and": "logical_and",
    "logical_or": "logical_or",
    "bitwise_or": "logical_or",
}
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def formulas(algebra: Algebra, results: Sequence[Cell], guards_from: int | None = None) -> list[Formula]:
    """Results of a recording as formulas.

    Args:
        algebra: makes them.
        results: operations, or constants.
        guards_from: from which operation on the conditions are those of rules.  A rule that says what to answer at a single
            point, where its formula is 0/0, is written as the formula; conditions of the program itself stay.
    """
    return _Formulas(algebra, results, guards_from).found


class _Formulas:
    def __init__(self, algebra: Algebra, results: Sequence[Cell], guards_from: int | None) -> None:
        self.algebra = algebra
        self.guards_from = guards_from
        results = [resolved(cell) for cell in results]
        operations = needed(results)
        self.nodes: dict[Instruction, Formula] = {}
        self.kinds: dict[Instruction, str] = {}
        for operation in operations:
            self.kinds[operation] = self._kind(operation)
        self.inside = self._inside(operations, results)
        for operation in operations:
            if operation not in self.inside:
                self.nodes[operation] = self._formula(operation)
        self.found = [self.of(cell) for cell in results]

    def of(self, cell: Cell) -> Formula:
        """A constant, or an operation that was written already."""
        cell = resolved(cell)
        return self.nodes[cell] if type(cell) is Instruction else self.algebra.number(cell)

    def _kind(self, operation: Instruction) -> str:
        primitive = operation.primitive
        name = "" if primitive is None else primitive.name
        if name == "neg":
            inner = resolved(operation.given[0])
            return self.kinds[inner] if type(inner) is Instruction else ""
        return "sum" if name in _SUMS else "product" if name in _PRODUCTS else ""

    def _inside(self, operations: Sequence[Instruction], results: Sequence[Cell]) -> set[Instruction]:
        """Operations that only one other uses, of the same kind: they are part of that."""
        uses = Counter(cell for cell in results if type(cell) is Instruction)
        user: dict[Instruction, Instruction] = {}
        for operation in operations:
            for value in computing(operation.inputs):
                uses[value] += 1
                user[value] = operation
        return {
            operation
            for operation in user
            if uses[operation] == 1 and self.kinds[operation] and self.kinds[operation] == self.kinds[user[operation]]
        }

    def _formula(self, operation: Instruction) -> Formula:
        primitive, given = operation.primitive, operation.given
        if primitive is None:
            return self.algebra.symbol(given[0])
        if self.kinds[operation] == "sum":
            return self.algebra.sum(self._terms(operation))
        if self.kinds[operation] == "product" or primitive.name == "neg":
            return self._product(operation)
        name = primitive.name
        if name == "pow":
            base, exponent = given if primitive.arity == 2 or primitive.series == "power" else given[::-1]
            return self.algebra.power(self.of(base), self.of(exponent))
        if name in ("sqrt", "rsqrt"):
            return self.algebra.product([(self.of(given[0]), Fraction(1 if name == "sqrt" else -1, 2))])
        if name == "where":
            if self._is_guard(given[0], given[1]):
                return self.of(given[2])
            return self.algebra.choice(*map(self.of, given))
        if name in _COMPARISONS:
            return self.algebra.compare(name, *map(self.of, given))
        if name in _LOGIC:
            return self.algebra.logic(_LOGIC[name], [self.of(value) for value in given])
        if name in ("logical_not", "bitwise_not"):
            return self.algebra.negation(self.of(given[0]))
        return self._call(operation)

    def _terms(self, root: Instruction) -> list[tuple[Formula, Fraction]]:
        """A chain of additions as terms with their signs."""
        terms: list[tuple[Formula, Fraction]] = []
        work: list[tuple[Cell, Fraction]] = [(root, Fraction(1))]
        while work:
            cell, sign = work.pop()
            cell = resolved(cell)
            if cell is not root and cell not in self.inside:
                terms.append((self.of(cell), sign))
                continue
            signs = {"add": (1, 1), "sub": (1, -1), "rsub": (-1, 1), "neg": (-1,)}[cell.primitive.name]
            work += [(value, sign * s) for value, s in zip(cell.given, signs, strict=True)][::-1]
        return terms

    def _product(self, root: Instruction) -> Formula:
        """A chain of multiplications and divisions."""
        factors: list[tuple[Formula, Fraction]] = []
        sign = Fraction(1)
        work: list[tuple[Cell, int]] = [(root, 1)]
        while work:
            cell, exponent = work.pop()
            cell = resolved(cell)
            if cell is not root and cell not in self.inside:
                factors.append((self.of(cell), Fraction(exponent)))
                continue
            name = cell.primitive.name
            sign = -sign if name == "neg" else sign
            signs = {"mul": (1, 1), "div": (1, -1), "reciprocal": (-1,), "neg": (1,)}[name]
            work += [(value, exponent * s) for value, s in zip(cell.given, signs, strict=True)][::-1]
        return self.algebra.product(factors, sign)

    def _is_guard(self, condition: Cell, value: Cell) -> bool:
        """Whether this is what a rule answers at a single point."""
        condition = resolved(condition)
        if self.guards_from is None or type(condition) is not Instruction or condition.number < self.guards_from:
            return False
        return type(value) is not Instruction and value == 0 and _at_points(condition)

    def _call(self, operation: Instruction) -> Formula:
        """A function of the language, with plain arguments left out where they are what they are without saying so."""
        primitive = operation.primitive
        assert primitive is not None
        if not is_function(primitive):
            statics = operation.given[primitive.arity :]
            return self.algebra.call(primitive.name, *map(self.of, operation.given[: primitive.arity]), *statics)
        op = FUNCTIONS[primitive.name]
        values = dict(zip(primitive.parameters, operation.given, strict=True))
        given: list[Any] = [values[name] for name in op.parameters if name in values]
        for default in op.defaults[::-1]:
            if type(given[-1]) is Instruction or given[-1] != default:
                break
            given.pop()
        name = {"maximum": "max", "minimum": "min"}.get(primitive.name, primitive.name)
        return self.algebra.call(name, *(value if value is None or isinstance(value, str) else self.of(value) for value in given))


def _at_points(condition: Instruction) -> bool:
    """Whether a condition can hold at single points only."""
    if condition.is_("logical_and") or condition.is_("bitwise_and"):
        return any(map(_at_points, computing(condition.given)))
    return condition.is_("eq")
