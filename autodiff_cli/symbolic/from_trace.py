"""Conversion of the instructions of a tape to formulas in normal form, in execution order.

A chain of additions is converted to a single sum, and a chain of multiplications to a single product, because building a sum
for each addition in the chain would take quadratic time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.compiler.partition import computing, needed, resolved
from autodiff_cli.evaluation.lowering import is_function
from autodiff_cli.language.operators import COMPARISONS
from autodiff_cli.symbolic.formula import DEFINED, Formula
from autodiff_cli.symbolic.normal_form import Algebra

_SUMS = {"add": (1, 1), "sub": (1, -1), "rsub": (-1, 1), "neg": (-1,)}
"""The primitives that belong to sums, with the sign of each operand."""
_PRODUCTS = {"mul": (1, 1), "div": (1, -1), "reciprocal": (-1,), "neg": (1,)}
"""The primitives that belong to products, with the exponent of each operand; a negation also changes the sign."""
_LOGIC = {f"{kind}_{name}": f"logical_{name}" for kind in ("logical", "bitwise") for name in ("and", "or", "not")}


def formulas(algebra: Algebra, results: Sequence[Operand], guards_from: int | None = None) -> list[Formula]:
    """Convert results of a tape to formulas, which ``algebra`` constructs.

    The guards of VJP rules, whose instructions have the indices from ``guards_from`` on, are removed: they replace the value at
    single points at which the formula is 0/0.  The conditions of the program are kept.
    """
    return _Conversion(algebra, results, guards_from).formulas


class _Conversion:
    """The conversion of results: ``done`` has the formulas of instructions, but not of those ``inside`` a chain, see ``_kind``."""

    def __init__(self, algebra: Algebra, results: Sequence[Operand], guards_from: int | None) -> None:
        self.algebra = algebra
        self.guards_from = guards_from
        instructions = needed(results)
        self.done: dict[Instruction, Formula] = {}
        self.kinds: dict[Instruction, str] = {}
        for instruction in instructions:  # in execution order: the kind of a negation is that of its operand
            self.kinds[instruction] = self._kind(instruction)
        self.inside = self._inside(instructions, computing(results))
        for instruction in instructions:
            if instruction not in self.inside:
                self.done[instruction] = self._converted(instruction)
        self.formulas = [self.formula(result) for result in results]

    def formula(self, operand: Operand) -> Formula:
        """Return the formula of a constant or of a converted instruction."""
        operand = resolved(operand)
        return self.done[operand] if type(operand) is Instruction else self.algebra.number(operand)

    def _kind(self, instruction: Instruction) -> str:
        """Return the kind of chain that an instruction belongs to: ``sum``, ``product`` or ``""``."""
        primitive = instruction.primitive
        name = "" if primitive is None else primitive.name
        if name == "neg":  # it belongs to the chain of its operand
            inner = resolved(instruction.operands[0])
            return self.kinds[inner] if type(inner) is Instruction else ""
        return "sum" if name in _SUMS else "product" if name in _PRODUCTS else ""

    def _inside(self, instructions: Sequence[Instruction], results: Sequence[Instruction]) -> set[Instruction]:
        """Return the instructions that are inside a chain: those whose only user is an instruction of the same kind."""
        uses = Counter(results)
        users: dict[Instruction, Instruction] = {}
        for instruction in instructions:
            for operand in computing(instruction.operands):
                uses[operand] += 1
                users[operand] = instruction
        used_once = ((inner, user) for inner, user in users.items() if uses[inner] == 1)
        return {inner for inner, user in used_once if self.kinds[inner] and self.kinds[inner] == self.kinds[user]}

    def _converted(self, instruction: Instruction) -> Formula:
        """Return the formula of a variable or an operation; the end of a chain becomes the formula of the whole chain."""
        primitive, operands = instruction.primitive, instruction.operands
        if primitive is None:
            return self.algebra.symbol(instruction.variable)
        name = primitive.name
        if self.kinds[instruction] == "sum":
            signed_terms, _ = self._chain(instruction, _SUMS)
            return self.algebra.sum(signed_terms)
        if self.kinds[instruction] == "product" or name == "neg":
            factors, is_negative = self._chain(instruction, _PRODUCTS)
            return self.algebra.product(factors, Fraction(-1 if is_negative else 1))
        if name == "pow":
            first, second = map(self.formula, (*operands, *instruction.statics))
            is_exponential = primitive.arity == 1 and primitive.series != "power"  # a static base to the power of x
            return self.algebra.power(second, first) if is_exponential else self.algebra.power(first, second)
        if name in ("sqrt", "rsqrt"):
            return self.algebra.product([(self.formula(operands[0]), Fraction(1 if name == "sqrt" else -1, 2))])
        if name == "where":
            return self.formula(operands[2]) if self._is_guard(*operands[:2]) else self.algebra.choice(*map(self.formula, operands))
        if name in COMPARISONS or name in _LOGIC:
            return self.algebra.condition(_LOGIC.get(name, name), *map(self.formula, operands))
        return self._call(primitive, operands, instruction.statics)

    def _chain(self, root: Instruction, factors: Mapping[str, Sequence[int]]) -> tuple[list[tuple[Formula, Fraction]], bool]:
        """Return the operands of the chain that ends with ``root``, and whether it has an odd number of negations.

        Each operand has a sign or an exponent: the product of its ``factors``, ``_SUMS`` or ``_PRODUCTS``, along the chain.
        """
        parts: list[tuple[Formula, Fraction]] = []
        is_negative = False
        work: list[tuple[Operand, int]] = [(root, 1)]
        while work:
            operand, factor = work.pop()
            operand = resolved(operand)
            if type(operand) is not Instruction or (operand is not root and operand not in self.inside):
                parts.append((self.formula(operand), Fraction(factor)))
                continue
            assert operand.primitive is not None
            name = operand.primitive.name
            is_negative ^= name == "neg"
            inside = (*operand.operands, *operand.statics)  # the number in x - 1 may be a static argument
            work += reversed([(inner, factor * own) for inner, own in zip(inside, factors[name], strict=True)])
        return parts, is_negative

    def _is_guard(self, condition: Operand, value: Operand) -> bool:
        """Return whether a ``where`` instruction is a guard, with which a VJP rule returns 0 at single points."""
        condition = resolved(condition)
        if self.guards_from is None or type(condition) is not Instruction or condition.index < self.guards_from:
            return False
        is_zero = type(value) is not Instruction and value == 0
        return is_zero and _at_points(condition)

    def _call(self, primitive: Primitive, operands: Sequence[Operand], statics: Sequence[Any]) -> Formula:
        """Return a function call as a formula, without the trailing arguments that are equal to their defaults."""
        if not is_function(primitive):
            return self.algebra.call(primitive.name, *map(self.formula, operands), *statics)
        if primitive.notation is not None:
            return self.algebra.call(DEFINED, primitive, *map(self.formula, operands))
        function = FUNCTIONS[primitive.name]
        values = dict(zip(primitive.parameters, (*operands, *statics), strict=True))
        arguments = [values[name] for name in function.parameters if name in values]
        for default in function.defaults[::-1]:  # the defaults are those of the last parameters
            if type(arguments[-1]) is Instruction or arguments[-1] != default:
                break
            arguments.pop()
        name = {"maximum": "max", "minimum": "min"}.get(primitive.name, primitive.name)
        return self.algebra.call(name, *(arg if arg is None or isinstance(arg, str) else self.formula(arg) for arg in arguments))


def _at_points(condition: Instruction) -> bool:
    """Return whether a condition can hold only at isolated points: it is an equality, or a conjunction that contains one."""
    work = [condition]
    while work:
        part = work.pop()
        if part.is_("logical_and") or part.is_("bitwise_and"):
            work += computing(part.operands)
        elif part.is_("eq"):
            return True
    return False
