"""Operations as statements of other languages: one for each that is used twice, the rest inside of others."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.compiler.schedule import computing, needed, resolved
from autodiff_cli.compiler.tracer import Cell, Instruction
from autodiff_cli.export.targets import Target

MOST_INSIDE = 60
"""A longer expression is given a name, even if it is used once."""

_CHOICE, _OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(10)
_INFIX = {"add": (" + ", _SUM), "sub": (" - ", _SUM), "mul": ("*", _PRODUCT), "div": ("/", _PRODUCT)}
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}

Helpers = dict[tuple[Primitive, tuple[Any, ...]], str]
Piece = tuple[str, int]
"""An expression, and how tightly it binds."""


class Code:
    """Straight-line code that computes results.

    Args:
        target: the language.
        results: operations that the language has, or constants, by the names that they get.
        variables: the names of the variables there, by their own.
        helpers: the names of functions that are written beside the code, by operation and plain values; those that it calls are
            added.

    Attributes:
        statements: names and expressions, in order; ``flags`` are the names of those that are true or false.
        results: the expression for each of the results: a name, or a number.
        about: what it computes, for a comment.
    """

    def __init__(self, target: Target, results: Sequence[tuple[str, Cell]], variables: dict[str, str], helpers: Helpers) -> None:
        self.target = target
        self.variables = variables
        self.helpers = helpers
        self.about = ""
        self.statements: list[tuple[str, str]] = []
        self.flags: set[str] = set()
        self._count = 0
        cells = [resolved(cell) for _, cell in results]
        operations = needed(cells)
        self.chooses = any(operation.is_("where") for operation in operations)
        names: dict[Instruction, str] = {}
        for (name, _), cell in zip(results, cells, strict=True):
            if type(cell) is Instruction:
                names.setdefault(cell, name)
        uses = Counter(value for operation in operations for value in computing(operation.inputs))
        taken = {*variables.values(), *names.values(), *target.reserved}
        self.pieces: dict[Instruction, Piece] = {}
        for operation in operations:
            if operation.primitive is None:
                self.pieces[operation] = variables[operation.given[0]], _ATOM
                continue
            text, level = self._operation(operation)
            if operation in names or uses[operation] > 1 or len(text) > MOST_INSIDE:
                name = names.get(operation) or self._free_name(taken)
                self.statements.append((name, text))
                if operation.dtype.kind == "b":
                    self.flags.add(name)
                text, level = name, _ATOM
            self.pieces[operation] = text, level
        self.results = {name: self._piece(cell)[0] for (name, _), cell in zip(results, cells, strict=True)}

    def _free_name(self, taken: set[str]) -> str:
        """``v1``, ``v2``, ... without those that somebody has."""
        self._count += 1
        while f"v{self._count}" in taken:
            self._count += 1
        return f"v{self._count}"

    # Operands

    def _piece(self, cell: Cell) -> Piece:
        cell = resolved(cell)
        return self.pieces[cell] if type(cell) is Instruction else self.number(cell)

    def _operand(self, cell: Cell, level: int) -> str:
        text, binds = self._piece(cell)
        return text if binds >= level else f"({text})"

    def number(self, value: Any) -> Piece:
        """A constant."""
        if isinstance(value, (bool, np.bool_)):
            return (str(int(value)) if self.target.floats else str(value)), _ATOM
        if value < 0 or (value == 0 and math.copysign(1, value) < 0):
            return f"-{self.number(-value)[0]}", _SIGN
        if not math.isfinite(value):
            return self.target.nan if math.isnan(value) else self.target.infinity, _ATOM
        if value == math.pi and self.target.pi:
            return self.target.pi, _ATOM
        text = repr(float(value))
        return (text if self.target.floats else re.sub(r"\.0$", "", text)), _ATOM

    # Operations

    def _operation(self, operation: Instruction) -> Piece:
        primitive, given = operation.primitive, operation.given
        assert primitive is not None
        name = primitive.name
        if name in _INFIX or name in self.target.operators:
            sign, level = _INFIX.get(name) or (self.target.operators[name], _PRODUCT)
            if name == "mul":
                return self._product(*map(resolved, given))
            left, right = self._operand(given[0], level), self._operand(given[1], level + 1)
            certain = type(resolved(given[1])) is not Instruction and given[1] != 0
            if name not in ("add", "sub") and self._guards and not certain:
                return f"_defined(lambda: {left}{sign}{right})", _ATOM
            return f"{left}{sign}{right}", level
        if name == "neg":
            inner, level = self._piece(given[0])
            # -(x % y) is not -x % y, also where that is the first of several factors.
            brackets = inner.startswith("-") or level < _PRODUCT or (level == _PRODUCT and self._rounds(inner))
            return (f"-({inner})", _SIGN) if brackets else (f"-{inner}", min(level, _SIGN))
        if name == "pow":
            return self._power(*((given[1], given[0]) if primitive.arity == 1 and primitive.series != "power" else given[:2]))
        if name in _COMPARISONS:
            return f"{self._operand(given[0], _SUM)} {_COMPARISONS[name]} {self._operand(given[1], _SUM)}", _COMPARISON
        if name == "where":
            return self._choice(*given)
        if self.target.logic is not None and name.startswith("logical_"):
            return self._logic(name, given)
        if not self.target.has(name):
            return self._helped(primitive, given)
        return self._call(name, given, primitive.arity)

    def _product(self, x: Cell, y: Cell) -> Piece:
        """``2*x`` with numbers first, ``x/y`` where y is inverted on the way, and no brackets that products do not need."""
        if type(y) is not Instruction or self._is_inverse(x):
            x, y = y, x
        left = self._operand(x, _PRODUCT)
        if type(y) is Instruction and self._is_inverse(y) and not self._guards:
            return f"{left}/{self._operand(y.given[0], _POWER)}", _PRODUCT
        flat = type(y) is Instruction and y.is_("mul") and self.pieces[y][1] == _PRODUCT and not self._divides(self.pieces[y][0])
        return f"{left}*{self._operand(y, _PRODUCT if flat else _SIGN)}", _PRODUCT

    def _rounds(self, text: str) -> bool:
        """Whether an operator occurs whose result is not that of the same factors in another order."""
        return any(sign in text for sign in self.target.operators.values())

    def _divides(self, text: str) -> bool:
        return "/" in text or self._rounds(text)

    def _is_inverse(self, cell: Cell) -> bool:
        """Whether it is ``1/x``, to be written inside of something else."""
        inverts = (
            type(cell) is Instruction and cell.primitive is not None and cell.primitive.series == "power" and cell.given[1] == -1
        )
        return inverts and self.pieces[cell][1] != _ATOM

    @property
    def _guards(self) -> bool:
        """Whether what raises must be caught: Python's arithmetic, in a branch that may not be chosen."""
        return self.chooses and self.target.name == "python"

    def _call(self, name: str, given: Sequence[Any], arity: int) -> Piece:
        template = self.target.functions[name]
        arguments = []
        for i, value in enumerate(given):
            if i < arity and type(value) is not Instruction and arity > 1:
                arguments.append(self._as_tensor(value))
            elif i >= arity:
                arguments.append(self.number(int(value) if float(value).is_integer() else value)[0])
            else:
                arguments.append(self._piece(value)[0])
        text = template.format(*arguments)
        if self._guards and template.startswith("math."):
            function, _, inside = text.partition("(")
            return f"_defined({function}, {inside}", _ATOM
        return text, _ATOM

    def _helped(self, primitive: Primitive, given: Sequence[Any]) -> Piece:
        """A call of a function that is written beside this code."""
        key = primitive, tuple(given[primitive.arity :])
        if key not in self.helpers:
            digits = "".join(f"_{value}" for value in key[1])
            self.helpers[key] = f"{self.target.helper}{primitive.name}{digits}"
        arguments = [self._piece(v)[0] if type(v) is Instruction else self._as_tensor(v) for v in given[: primitive.arity]]
        return f"{self.helpers[key]}({', '.join(arguments)})", _ATOM

    def _as_tensor(self, value: Any) -> str:
        tensor = next(iter(self.variables.values()), "")
        return self.target.number.format(self.number(value)[0], tensor=tensor)

    def _power(self, base: Cell, exponent: Cell) -> Piece:
        whole = type(exponent) is not Instruction and float(exponent).is_integer()
        if exponent == 0.5 and type(exponent) is not Instruction:
            return self._call("sqrt", [base], 1)
        if exponent == -1 and type(exponent) is not Instruction:
            text = f"{self.number(1)[0]}/{self._operand(base, _POWER)}"
            return (f"_defined(lambda: {text})", _ATOM) if self._guards else (text, _PRODUCT)
        if self.target.name == "c":
            text, level = self._piece(base)
            if level == _ATOM and text.isidentifier() and exponent in (2, 3):
                return "*".join([text] * int(exponent)), _PRODUCT
            return f"pow({text}, {self._piece(exponent)[0]})", _ATOM
        if self.target.name == "python" and (not whole or (self._guards and exponent < 0)):
            arguments = f"{self._piece(base)[0]}, {self._piece(exponent)[0]}"
            return (f"_defined(math.pow, {arguments})" if self._guards else f"math.pow({arguments})"), _ATOM
        if whole and exponent < 0:
            return f"{self._operand(base, _ATOM)}**{float(exponent)!r}".removesuffix(".0"), _POWER
        return f"{self._operand(base, _ATOM)}**{self._operand(exponent, _SIGN)}", _POWER

    def _choice(self, condition: Cell, x: Cell, y: Cell) -> Piece:
        if self.target.where.startswith("{"):
            # An operator: a choice inside needs no brackets on the right.
            parts = {"c": self._condition(condition, _OR), "x": self._operand(x, _OR), "y": self._operand(y, _CHOICE)}
            return self.target.where.format(**parts), _CHOICE
        if type(x) is not Instruction and type(y) is not Instruction:
            branches = [self._as_tensor(value) for value in (x, y)]
        else:
            branches = [self._piece(value)[0] for value in (x, y)]
        return self.target.where.format(c=self._condition(condition, _CHOICE), x=branches[0], y=branches[1]), _ATOM

    def _condition(self, cell: Cell, level: int) -> str:
        """A truth value; of a number, whether it is not 0."""
        cell = resolved(cell)
        if type(cell) is Instruction and cell.dtype.kind != "b":
            text = f"{self._operand(cell, _SUM)} != {self.number(0)[0]}"
            return text if level <= _COMPARISON else f"({text})"
        return self._operand(cell, level)

    def _logic(self, name: str, given: Sequence[Cell]) -> Piece:
        assert self.target.logic is not None
        both, either, no = self.target.logic
        if name == "logical_not":
            # Written in C, the sign binds more tightly than a comparison.
            inner = self._condition(given[0], _ATOM if no == "!" else _NOT)
            return (f"!{inner}", _SIGN) if no == "!" else (f"not {inner}", _NOT)
        sign, level = (both, _AND) if name == "logical_and" else (either, _OR)
        # Compilers warn of && within || without brackets.
        inside = _NOT if no == "!" else level + 1
        return f" {sign} ".join(self._condition(value, inside) for value in given), level
