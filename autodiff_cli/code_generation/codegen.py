"""Code generation: translation of instructions to statements of a target language.

An instruction that is used more than once becomes a statement of its own.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.code_generation.targets import Target
from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.compiler.partition import computing, needed, resolved
from autodiff_cli.language import operators as precedence
from autodiff_cli.language.operators import COMPARISONS, OPERATORS

MOST_INSIDE = 60
"""The largest length of an expression that is inlined; a longer expression becomes a statement even if it is used once."""
_ARITHMETIC = ("add", "sub", "mul", "div")

Helpers = dict[tuple[Primitive, tuple[Any, ...]], str]
"""The names of helper functions by primitive and static arguments."""


def is_boolean(operand: Operand) -> bool:
    """Return whether an operand is an instruction with a boolean value."""
    operand = resolved(operand)
    return type(operand) is Instruction and operand.dtype.kind == "b"


class Fragment(NamedTuple):
    """An expression and its operator precedence; see ``language.operators``."""

    text: str
    level: int = precedence.ATOM


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
        chooses: whether the code contains a conditional.
        fragments: the expression of each instruction: a name, if the instruction is a statement.
        results: the expression of each result: a name or a number.
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
        instructions = needed(results.values())
        self.chooses = any(instruction.is_("where") for instruction in instructions)
        self.fragments: dict[Instruction, Fragment] = {}
        self._write(instructions, results)
        # A boolean result becomes a number, and a constant one a tensor, if the target needs one.
        self.results = {
            name: self._as_number(operand) if type(operand) is Instruction else self._as_tensor(operand)
            for name, operand in results.items()
        }

    def _write(self, instructions: Sequence[Instruction], results: Mapping[str, Operand]) -> None:
        """Fill ``fragments`` in order, and ``statements`` and ``flags`` with what is not inlined.

        These are the results, and values that are used more than once or are too long.  Such values are named v1, v2, ...
        """
        result_names: dict[Operand, str] = {}
        for name, operand in results.items():
            result_names.setdefault(resolved(operand), name)  # of equal results, the first is the statement
        uses = Counter(operand for instruction in instructions for operand in computing(instruction.operands))
        taken = {*self.variables.values(), *result_names.values(), *self.target.reserved}
        free_names = (name for i in itertools.count(1) if (name := f"v{i}") not in taken)
        for instruction in instructions:
            if instruction.primitive is None:  # a variable
                self.fragments[instruction] = Fragment(self.variables[instruction.variable])
                continue
            fragment = self._operation(instruction, instruction.primitive)
            if instruction in result_names or uses[instruction] > 1 or len(fragment.text) > MOST_INSIDE:
                name = result_names.get(instruction) or next(free_names)
                self.statements.append((name, fragment.text))
                if is_boolean(instruction):
                    self.flags.add(name)
                fragment = Fragment(name)
            self.fragments[instruction] = fragment

    @property
    def body(self) -> tuple[list[tuple[str, str]], str]:
        """The statements of a helper function, and the expression of its value."""
        statements = dict(self.statements)
        value = statements.pop("value", self.results["value"])  # a parameter or a number is not a statement
        return list(statements.items()), value

    # Operands

    def _fragment(self, operand: Operand) -> Fragment:
        """Return the expression of an instruction, or the literal of a constant."""
        operand = resolved(operand)
        return self.fragments[operand] if type(operand) is Instruction else self.number(operand)

    def _text(self, operand: Operand, level: int = precedence.CONDITIONAL) -> str:
        """Return the text of an operand, in brackets if its precedence is lower than ``level``."""
        fragment = self._fragment(operand)
        return fragment.text if fragment.level >= level else f"({fragment.text})"

    def number(self, value: float) -> Fragment:
        """Return a literal of the target language: a name for infinity, nan or pi, or digits with a decimal point if needed."""
        if isinstance(value, bool):  # the index of its name
            return Fragment(self.target.booleans[value])
        if value < 0 or (value == 0 and math.copysign(1, value) < 0):  # or -0.0
            return Fragment(f"-{self.number(-value).text}", precedence.SIGN)
        if not math.isfinite(value):
            return Fragment(self.target.nan if math.isnan(value) else self.target.infinity)
        if value == math.pi and self.target.pi:
            return Fragment(self.target.pi)
        text = repr(float(value))
        return Fragment(text if self.target.floats else text.removesuffix(".0"))

    def _as_number(self, operand: Operand, level: int = precedence.CONDITIONAL) -> str:
        """Return the text of an operand as ``_text`` does, with a boolean converted to a number."""
        return self.target.boolean_as_number.format(self._text(operand)) if is_boolean(operand) else self._text(operand, level)

    def _as_tensor(self, operand: Operand) -> str:
        """Return the text of an operand, with constants converted to tensors for functions that take only tensors."""
        if type(operand) is Instruction:
            return self._text(operand)
        tensor = next(iter(self.variables.values()), "")  # any variable: a template may take its type, ``x.new_tensor(2.0)``
        return self.target.number.format(self._text(operand), tensor=tensor)

    # Operations

    def _operation(self, instruction: Instruction, primitive: Primitive) -> Fragment:
        """Return an operation as an expression: with an operator, as a call of the language, or as a call of a helper function."""
        operands, name = instruction.operands, primitive.name
        if name in _ARITHMETIC or name in self.target.operators:
            left, right = map(resolved, [*operands, *instruction.statics])  # x - 1 may have the number as a static argument
            return self._product(left, right) if name == "mul" else self._infix(name, left, right)
        if name == "neg":
            return self._negative(operands[0])
        if name == "pow":
            base, exponent = map(resolved, [*operands, *instruction.statics])
            has_constant_base = primitive.arity == 1 and primitive.series != "power"
            if has_constant_base:  # 2**x, whose static argument 2 follows the operand
                base, exponent = exponent, base
            return self._power(base, exponent)
        if name in COMPARISONS:
            sides = f" {COMPARISONS[name]} ".join(self._text(operand, precedence.SUM) for operand in operands)
            return Fragment(sides, precedence.COMPARISON)
        if name == "where":
            condition, x, y = operands
            return self._choice(condition, x, y, is_number=not is_boolean(instruction))
        if self.target.logic is not None and name.startswith("logical_"):
            return self._logic(name, operands)
        if not self.target.has(name):
            return self._helped(primitive, operands, instruction.statics)
        return self._call(name, operands, instruction.statics)

    def _negative(self, operand: Operand) -> Fragment:
        """Return a number with a minus sign, in brackets if the sign would not apply to all of it."""
        inner, level = self._fragment(operand)
        is_remainder = level == precedence.PRODUCT and self._rounds(inner)  # -(x % y) is not -x % y, nor -(x % y*z) -x % y*z
        if inner.startswith("-") or level < precedence.PRODUCT or is_remainder:
            return Fragment(f"-({inner})", precedence.SIGN)
        return Fragment(f"-{inner}", min(level, precedence.SIGN))  # -x*y is a product

    def _infix(self, name: str, x: Operand, y: Operand) -> Fragment:
        """Return an operation with an operator between its operands; a division is guarded if its error must be caught."""
        operator = OPERATORS[name]
        # On the right, an operator of the same level needs brackets: x - (y - z).
        text = f"{self._text(x, operator.level)}{operator.text}{self._text(y, operator.level + 1)}"
        may_divide_by_zero = name not in ("add", "sub") and (type(y) is Instruction or y == 0)
        return Fragment(f"_defined(lambda: {text})") if may_divide_by_zero and self._guards else Fragment(text, operator.level)

    def _product(self, x: Operand, y: Operand) -> Fragment:
        """Return a product as text, with numbers first (``2*x``), inverses as divisions (``x/y``) and no redundant brackets."""
        if type(y) is not Instruction or self._is_inverse(x):
            x, y = y, x  # a product does not depend on the order
        left = self._text(x, precedence.PRODUCT)
        if type(y) is Instruction and self._is_inverse(y) and not self._guards:
            return Fragment(f"{left}/{self._text(y.operands[0], precedence.POWER)}", precedence.PRODUCT)
        right = self._fragment(y)
        has_products_only = "/" not in right.text and not self._rounds(right.text)
        # y*z loses its brackets in x*(y*z), but not y/z.
        is_product = type(y) is Instruction and y.is_("mul") and right.level == precedence.PRODUCT and has_products_only
        return Fragment(f"{left}*{self._text(y, precedence.PRODUCT if is_product else precedence.SIGN)}", precedence.PRODUCT)

    def _rounds(self, text: str) -> bool:
        """Return whether a text contains an operator, such as ``%``, that is not associative with products."""
        return any(OPERATORS[name].text in text for name in self.target.operators)

    def _is_inverse(self, operand: Operand) -> bool:
        """Return whether an operand is an inlined ``1/x``; as a statement, it would be a name, an atom."""
        if type(operand) is not Instruction or operand.primitive is None:
            return False
        return operand.primitive.series == "power" and operand.statics[0] == -1 and self.fragments[operand].level != precedence.ATOM

    @property
    def _guards(self) -> bool:
        """Whether the helper ``_defined`` must catch errors, which Python may raise in branches that are not selected."""
        return self.chooses and self.target.raises

    def _call(self, name: str, operands: Sequence[Operand], statics: Sequence[float] = ()) -> Fragment:
        """Return a call of a function of the language, ``statics`` last; constants among several operands may become tensors."""
        template = self.target.functions[name]
        arguments = [self._as_tensor(operand) if len(operands) > 1 else self._text(operand) for operand in operands]
        arguments += [self._text(int(value) if float(value).is_integer() else value) for value in statics]
        text = template.format(*arguments)
        if self._guards and template.startswith("math."):  # math.log(x) becomes _defined(math.log, x)
            function, _, inside = text.partition("(")
            return Fragment(f"_defined({function}, {inside}")
        return Fragment(text)

    def _helped(self, primitive: Primitive, operands: Sequence[Operand], statics: tuple[Any, ...]) -> Fragment:
        """Return a call of a helper function, which is added to ``helpers``: one for each primitive with its static arguments."""
        suffix = "".join(f"_{value}".replace("-", "minus_") for value in statics)
        name = self.helpers.setdefault((primitive, statics), f"{self.target.helper}{primitive.name}{suffix}")
        return Fragment(f"{name}({', '.join(map(self._as_tensor, operands))})")

    def _power(self, base: Operand, exponent: Operand) -> Fragment:
        """Return a power: a square root, an inverse, a product of two or three names, or a power as the language writes it."""
        constant = math.nan if type(exponent) is Instruction else float(exponent)  # nan, which equals nothing, if it is not one
        if constant == 0.5:
            return self._call("sqrt", [base])
        if constant == -1:
            text = f"{self._text(1)}/{self._text(base, precedence.POWER)}"
            return Fragment(f"_defined(lambda: {text})") if self._guards else Fragment(text, precedence.PRODUCT)
        atom = self._text(base, precedence.ATOM)
        # A call of pow costs more than two products.  In Python, a product becomes inf where a power raises an error.
        most_factors = 3 if self.target.power else 2 if self._guards else 0
        if constant in (2, 3) and constant <= most_factors and atom.isidentifier():
            return Fragment("*".join([atom] * int(constant)), precedence.PRODUCT)
        return self._written_power(atom, base, exponent, constant)

    def _written_power(self, atom: str, base: Operand, exponent: Operand, constant: float) -> Fragment:
        """Return a power as the language writes it: a call or ``x**y``; ``constant`` is nan if the exponent is not constant."""
        arguments = self._text(base), self._text(exponent)
        if self.target.power:
            return Fragment(self.target.power.format(*arguments))
        if self._guards:
            return Fragment(f"_defined(math.pow, {', '.join(arguments)})")
        if self.target.raises and not constant.is_integer():
            return Fragment(f"math.pow({', '.join(arguments)})")
        if constant.is_integer() and constant < 0:
            return Fragment(f"{atom}**{constant!r}".removesuffix(".0"), precedence.POWER)
        return Fragment(f"{atom}**{self._text(exponent, precedence.SIGN)}", precedence.POWER)

    def _choice(self, condition: Operand, x: Operand, y: Operand, is_number: bool) -> Fragment:
        """Return a conditional as an operator or a call.  With ``is_number``, a boolean branch of an operator becomes a number."""
        template = self.target.where
        if template.startswith("{"):  # an operator, such as ``{c} ? {x} : {y}``; one inside y does not need brackets
            as_text = self._as_number if is_number else self._text
            test, first, second = self._condition(condition, precedence.OR), as_text(x, precedence.OR), as_text(y)
            return Fragment(template.format(c=test, x=first, y=second), precedence.CONDITIONAL)
        are_numbers = type(x) is not Instruction and type(y) is not Instruction  # so that the call does not know their type
        first, second = [self._as_tensor(value) if are_numbers else self._text(value) for value in (x, y)]
        return Fragment(template.format(c=self._condition(condition, precedence.CONDITIONAL), x=first, y=second))

    def _condition(self, operand: Operand, level: int) -> str:
        """Return an operand as a condition, in brackets if its precedence is lower than ``level``; a number is compared with 0."""
        operand = resolved(operand)
        if type(operand) is Instruction and not is_boolean(operand):
            text = f"{self._text(operand, precedence.SUM)} != {self._text(0)}"
            return text if level <= precedence.COMPARISON else f"({text})"
        return self._text(operand, level)

    def _logic(self, name: str, operands: Sequence[Operand]) -> Fragment:
        """Return ``logical_and``, ``logical_or`` or ``logical_not`` with the operators of the language, C's or Python's."""
        assert self.target.logic is not None
        both, either, negation = self.target.logic
        is_like_c = negation == "!"
        if name == "logical_not":
            # In C, the operator ! binds more tightly than a comparison.
            inner = self._condition(operands[0], precedence.ATOM if is_like_c else precedence.NOT)
            return Fragment(f"!{inner}", precedence.SIGN) if is_like_c else Fragment(f"not {inner}", precedence.NOT)
        sign, level = (both, precedence.AND) if name == "logical_and" else (either, precedence.OR)
        # Compilers warn about && inside || without brackets.
        inside = precedence.NOT if is_like_c else level + 1
        return Fragment(f" {sign} ".join(self._condition(operand, inside) for operand in operands), level)
