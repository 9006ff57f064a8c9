"""Code generation: translation of instructions to statements of a target language.

An instruction that is used more than once becomes a statement of its own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.code_generation.targets import Target
from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.compiler.partition import computing, needed, resolved
from autodiff_cli.language.operators import (
    AND,
    ATOM,
    COMPARISON,
    COMPARISONS,
    CONDITIONAL,
    NOT,
    OPERATORS,
    OR,
    POWER,
    PRODUCT,
    SIGN,
    SUM,
)

MOST_INSIDE = 60
"""The largest length of an expression that is inlined; a longer expression becomes a statement even if it is used once."""
_ARITHMETIC = ("add", "sub", "mul", "div")

Helpers = dict[tuple[Primitive, tuple[Any, ...]], str]
"""The names of helper functions by primitive and static arguments."""


def is_boolean(operand: Operand) -> bool:
    operand = resolved(operand)
    return type(operand) is Instruction and operand.dtype.kind == "b"


class Fragment(NamedTuple):
    """An expression and its operator precedence; see ``language.operators``."""

    text: str
    level: int = ATOM


class Code:
    """Straight-line code that computes a set of results.

    Args:
        target: the target language.
        results: the instructions or constants to compute, by result name; the target must support their primitives.
        variables: the names of the variables in the code, by their names in the expression.
        helpers: the dictionary of helper functions, to which the helper functions that the code calls are added.
        about: a description of the results, for a comment.

    Attributes:
        statements: the pairs of name and expression, in order.
        flags: the names of the statements with a boolean value.
        results: the expression of each result: a name or a number.
        about: the description of the results.
    """

    def __init__(
        self, target: Target, results: Mapping[str, Operand], variables: dict[str, str], helpers: Helpers, about: str = ""
    ) -> None:
        self.target = target
        self.variables = variables
        self.helpers = helpers
        self.about = about
        self.statements: list[tuple[str, str]] = []
        self.flags: set[str] = set()
        self._count = 0
        instructions = needed(results.values())
        self.chooses = any(instruction.is_("where") for instruction in instructions)
        names: dict[Operand, str] = {}
        for name, operand in results.items():
            names.setdefault(resolved(operand), name)
        uses = Counter(operand for instruction in instructions for operand in computing(instruction.operands))
        taken = {*variables.values(), *names.values(), *target.reserved}
        self.fragments: dict[Instruction, Fragment] = {}
        for instruction in instructions:
            if instruction.primitive is None:
                self.fragments[instruction] = Fragment(variables[instruction.variable])
                continue
            fragment = self._operation(instruction, instruction.primitive)
            if instruction in names or uses[instruction] > 1 or len(fragment.text) > MOST_INSIDE:
                name = names.get(instruction) or self._free_name(taken)
                self.statements.append((name, fragment.text))
                if is_boolean(instruction):
                    self.flags.add(name)
                fragment = Fragment(name)
            self.fragments[instruction] = fragment
        self.results = {
            name: self._as_number(operand) if type(operand) is Instruction else self._as_tensor(operand)
            for name, operand in results.items()
        }

    @property
    def body(self) -> tuple[list[tuple[str, str]], str]:
        """The statements of a helper function, and the expression of its value."""
        statements = dict(self.statements)
        value = statements.pop("value", self.results["value"])
        return list(statements.items()), value

    def _free_name(self, taken: set[str]) -> str:
        """Return the next free name among ``v1``, ``v2``, ..."""
        self._count += 1
        while f"v{self._count}" in taken:
            self._count += 1
        return f"v{self._count}"

    # Operands

    def _fragment(self, operand: Operand) -> Fragment:
        operand = resolved(operand)
        return self.fragments[operand] if type(operand) is Instruction else self.number(operand)

    def _text(self, operand: Operand, level: int = CONDITIONAL) -> str:
        """Return the text of an operand, in brackets if its precedence is lower than ``level``."""
        fragment = self._fragment(operand)
        return fragment.text if fragment.level >= level else f"({fragment.text})"

    def number(self, value: float) -> Fragment:
        """Return a literal of the target language, with its names for infinity, nan and pi, and with a decimal point in C."""
        if isinstance(value, bool):
            return Fragment(self.target.booleans[value])
        if value < 0 or (value == 0 and math.copysign(1, value) < 0):
            return Fragment(f"-{self.number(-value).text}", SIGN)
        if not math.isfinite(value):
            return Fragment(self.target.nan if math.isnan(value) else self.target.infinity)
        if value == math.pi and self.target.pi:
            return Fragment(self.target.pi)
        text = repr(float(value))
        return Fragment(text if self.target.floats else text.removesuffix(".0"))

    def _as_number(self, operand: Operand, level: int = CONDITIONAL) -> str:
        """Return the text of an operand, with a boolean converted to a number."""
        return self.target.boolean_as_number.format(self._text(operand)) if is_boolean(operand) else self._text(operand, level)

    def _as_tensor(self, operand: Operand) -> str:
        """Return the text of an operand, with constants converted to tensors for functions that take only tensors."""
        if type(operand) is Instruction:
            return self._text(operand)
        tensor = next(iter(self.variables.values()), "")
        return self.target.number.format(self._text(operand), tensor=tensor)

    # Operations

    def _operation(self, instruction: Instruction, primitive: Primitive) -> Fragment:
        operands, name = instruction.operands, primitive.name
        if name in _ARITHMETIC or name in self.target.operators:
            left, right = map(resolved, [*operands, *instruction.statics])  # x - 1 may have the number as a static argument
            return self._product(left, right) if name == "mul" else self._infix(name, left, right)
        if name == "neg":
            inner, level = self._fragment(operands[0])
            # Without the brackets, the sign would apply to x: -(x % y) differs from -x % y, and -(x % y*z) from -x % y*z.
            brackets = inner.startswith("-") or level < PRODUCT or (level == PRODUCT and self._rounds(inner))
            return Fragment(f"-({inner})", SIGN) if brackets else Fragment(f"-{inner}", min(level, SIGN))
        if name == "pow":
            first, second = map(resolved, [*operands, *instruction.statics])
            swapped = primitive.arity == 1 and primitive.series != "power"  # a constant to the power of x
            return self._power(second, first) if swapped else self._power(first, second)
        if name in COMPARISONS:
            sides = f" {COMPARISONS[name]} ".join(self._text(operand, SUM) for operand in operands)
            return Fragment(sides, COMPARISON)
        if name == "where":
            return self._choice(not is_boolean(instruction), *operands)
        if self.target.logic is not None and name.startswith("logical_"):
            return self._logic(name, operands)
        if not self.target.has(name):
            return self._helped(primitive, operands, instruction.statics)
        return self._call(name, operands, instruction.statics)

    def _infix(self, name: str, x: Operand, y: Operand) -> Fragment:
        operator = OPERATORS[name]
        text = f"{self._text(x, operator.level)}{operator.text}{self._text(y, operator.level + 1)}"
        divides_by_zero = name not in ("add", "sub") and (type(y) is Instruction or y == 0)
        return self._guarded(text) if divides_by_zero and self._guards else Fragment(text, operator.level)

    def _product(self, x: Operand, y: Operand) -> Fragment:
        """Return a product as text, with numbers first (``2*x``), inverses as divisions (``x/y``) and no redundant brackets."""
        if type(y) is not Instruction or self._is_inverse(x):
            x, y = y, x
        left = self._text(x, PRODUCT)
        if type(y) is Instruction and self._is_inverse(y) and not self._guards:
            return Fragment(f"{left}/{self._text(y.operands[0], POWER)}", PRODUCT)
        factors = self._fragment(y)
        divides = "/" in factors.text or self._rounds(factors.text)
        flat = type(y) is Instruction and y.is_("mul") and factors.level == PRODUCT and not divides
        return Fragment(f"{left}*{self._text(y, PRODUCT if flat else SIGN)}", PRODUCT)

    def _rounds(self, text: str) -> bool:
        """Return whether a text contains an operator, such as ``%``, that is not associative with products."""
        return any(OPERATORS[name].text in text for name in self.target.operators)

    def _is_inverse(self, operand: Operand) -> bool:
        """Return whether an operand is an inlined ``1/x``."""
        if type(operand) is not Instruction or operand.primitive is None:
            return False
        return operand.primitive.series == "power" and operand.statics[0] == -1 and self.fragments[operand].level != ATOM

    @property
    def _guards(self) -> bool:
        """Whether the code must catch errors, because Python arithmetic may raise errors in branches that are not selected."""
        return self.chooses and self.target.raises

    @staticmethod
    def _guarded(text: str) -> Fragment:
        return Fragment(f"_defined(lambda: {text})")

    def _call(self, name: str, operands: Sequence[Operand], statics: Sequence[float] = ()) -> Fragment:
        template = self.target.functions[name]
        arguments = [self._as_tensor(operand) if len(operands) > 1 else self._text(operand) for operand in operands]
        arguments += [self._text(int(value) if float(value).is_integer() else value) for value in statics]
        text = template.format(*arguments)
        if self._guards and template.startswith("math."):
            function, _, inside = text.partition("(")
            return Fragment(f"_defined({function}, {inside}")
        return Fragment(text)

    def _helped(self, primitive: Primitive, operands: Sequence[Operand], statics: tuple[Any, ...]) -> Fragment:
        """Return the text of a call to a helper function."""
        digits = "".join(f"_{value}".replace("-", "minus_") for value in statics)
        name = self.helpers.setdefault((primitive, statics), f"{self.target.helper}{primitive.name}{digits}")
        return Fragment(f"{name}({', '.join(map(self._as_tensor, operands))})")

    def _power(self, base: Operand, exponent: Operand) -> Fragment:
        constant = math.nan if type(exponent) is Instruction else float(exponent)
        if constant == 0.5:
            return self._call("sqrt", [base])
        if constant == -1:
            text = f"{self._text(1)}/{self._text(base, POWER)}"
            return self._guarded(text) if self._guards else Fragment(text, PRODUCT)
        if self.target.power:
            text, level = self._fragment(base)
            if level == ATOM and text.isidentifier() and constant in (2, 3):
                return Fragment("*".join([text] * int(constant)), PRODUCT)
            return Fragment(self.target.power.format(text, self._text(exponent)))
        if self._guards and constant == 2 and self._text(base, ATOM).isidentifier():
            return Fragment("*".join([self._text(base, ATOM)] * 2), PRODUCT)  # a product becomes inf, where a power raises an error
        if self.target.raises and (self._guards or not constant.is_integer()):
            arguments = f"{self._text(base)}, {self._text(exponent)}"
            return Fragment(f"_defined(math.pow, {arguments})" if self._guards else f"math.pow({arguments})")
        if constant.is_integer() and constant < 0:
            return Fragment(f"{self._text(base, ATOM)}**{constant!r}".removesuffix(".0"), POWER)
        return Fragment(f"{self._text(base, ATOM)}**{self._text(exponent, SIGN)}", POWER)

    def _choice(self, number: bool, condition: Operand, x: Operand, y: Operand) -> Fragment:
        if self.target.where.startswith("{"):
            # The conditional is an operator; a nested conditional on the right does not need brackets.
            text = self._as_number if number else self._text
            parts = {"c": self._condition(condition, OR), "x": text(x, OR), "y": text(y, CONDITIONAL)}
            return Fragment(self.target.where.format(**parts), CONDITIONAL)
        of_numbers = type(x) is not Instruction and type(y) is not Instruction
        branches = [self._as_tensor(value) if of_numbers else self._text(value) for value in (x, y)]
        return Fragment(self.target.where.format(c=self._condition(condition, CONDITIONAL), x=branches[0], y=branches[1]))

    def _condition(self, operand: Operand, level: int) -> str:
        """Convert an operand to a condition; a number is compared with 0."""
        operand = resolved(operand)
        if type(operand) is Instruction and not is_boolean(operand):
            text = f"{self._text(operand, SUM)} != {self._text(0)}"
            return text if level <= COMPARISON else f"({text})"
        return self._text(operand, level)

    def _logic(self, name: str, operands: Sequence[Operand]) -> Fragment:
        assert self.target.logic is not None
        both, either, no = self.target.logic
        if name == "logical_not":
            # In C, the operator ! binds more tightly than a comparison.
            inner = self._condition(operands[0], ATOM if no == "!" else NOT)
            return Fragment(f"!{inner}", SIGN) if no == "!" else Fragment(f"not {inner}", NOT)
        sign, level = (both, AND) if name == "logical_and" else (either, OR)
        # Compilers warn about && inside || without brackets.
        inside = NOT if no == "!" else level + 1
        return Fragment(f" {sign} ".join(self._condition(operand, inside) for operand in operands), level)
