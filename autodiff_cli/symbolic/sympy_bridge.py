"""Simplification by SymPy: conversion of formulas to SymPy expressions and back.

Variables become real symbols, and functions that SymPy does not provide become undefined functions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import nullcontext
from fractions import Fraction
from functools import reduce
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from autodiff_cli.compiler.program import Term
from autodiff_cli.deadline import Late, within
from autodiff_cli.errors import FOREIGN, LimitError, setting
from autodiff_cli.language.operators import COMPARISONS, LOGIC
from autodiff_cli.lazy import library
from autodiff_cli.limits import check_count, lifted
from autodiff_cli.postorder import postorder
from autodiff_cli.symbolic.constants import Coefficient
from autodiff_cli.symbolic.formula import Formula, children, in_order
from autodiff_cli.symbolic.normal_form import Algebra

if TYPE_CHECKING:
    Expression: TypeAlias = Any
    """A SymPy object; SymPy itself does not declare types."""

MOST_PARTS = 400
"""The largest number of parts of a formula; for longer formulas, SymPy takes minutes or exceeds the recursion limit."""
MOST_SECONDS = 6.0
"""The limit on the processor time for all formulas; the time that SymPy takes cannot be predicted from their length."""

_SAME = (
    *("exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("sign", "floor", "erf", "erfc", "erfinv", "gamma", "digamma", "polygamma", "factorial", "sec", "csc", "cot"),
)
_NAMES = {"abs": "Abs", "ceil": "ceiling", "max": "Max", "min": "Min", "lgamma": "loggamma", "expi": "Ei"} | {
    **{"airy_ai": "airyai", "airy_ai_prime": "airyaiprime", "airy_bi": "airybi", "airy_bi_prime": "airybiprime"},
    **{"jv": "besselj", "yv": "bessely", "iv": "besseli", "kv": "besselk"},
    **{"ellipk": "elliptic_k", "ellipe": "elliptic_e"},
}
_COMPARISONS = {name: name.capitalize() for name in COMPARISONS}
_LOGIC = {name: name.removeprefix("logical_").capitalize() for name in LOGIC}
_FUNCTIONS = {**{name: name for name in _SAME}, **_NAMES, **_COMPARISONS, **_LOGIC}
"""The names in SymPy of the functions that it has."""
_SYMBOLS = {"pi": "pi", "e": "E", "inf": "oo", "nan": "nan", "true": "true", "false": "false"}


def simplified(algebra: Algebra, formulas: Mapping[Term, Formula]) -> dict[Term, Formula]:
    """Simplify formulas with SymPy, except formulas whose simplified form cannot be expressed in the language.

    Raises:
        MissingPackage: if SymPy is not installed.
        LimitError: if a formula is too long or too deeply nested, or if SymPy takes too long.
    """
    sympy = library("sympy", setting("simplify"))
    leave_out = f"leave out {setting('simplify')}: equal terms are collected without it"
    too_long = f"{setting('simplify')} is limited to formulas of {{1}} parts, but this formula has {{0}}"
    for formula in formulas.values():
        parts = sum(1 + len(children(node)) for node in in_order([formula]))
        check_count(parts, MOST_PARTS, too_long, hint=leave_out)
    try:
        with nullcontext() if lifted() else within(MOST_SECONDS):
            return {term: _simple(sympy, algebra, formula) for term, formula in formulas.items()}
    except RecursionError:
        raise LimitError("the formula is nested too deeply for SymPy", hint=leave_out) from None
    except Late:
        message = f"SymPy did not simplify the formula in {MOST_SECONDS:g} seconds of processor time"
        raise LimitError(message, hint=leave_out) from None


def _simple(sympy: ModuleType, algebra: Algebra, formula: Formula) -> Formula:
    """Return a formula as SymPy simplifies it, or unchanged if SymPy or the language cannot express it."""
    converter = _ToSymPy(sympy)
    try:
        simple = sympy.simplify(converter.expression(formula))
    except FOREIGN:  # SymPy does not compare nan, and rejects some infinities
        return formula
    return _FromSymPy(sympy, algebra, converter.undefined).formula(simple) or formula


class _ToSymPy:
    """A converter to SymPy; ``undefined`` has, by the name there, the call of a function, with ``None`` in place of formulas."""

    def __init__(self, sympy: ModuleType) -> None:
        self.sympy = sympy
        self.undefined: dict[str, tuple[Any, ...]] = {}

    def expression(self, formula: Formula) -> Expression:
        """Convert a formula."""
        done: dict[Formula, Expression] = {}
        for node in in_order([formula]):
            done[node] = self._converted(node, done)
        return done[formula]

    def _as_number(self, value: Expression) -> Expression:
        """Convert a condition to 1 or 0; return any other expression unchanged."""
        is_condition = isinstance(value, self.sympy.logic.boolalg.Boolean) and not isinstance(value, self.sympy.Symbol)
        return self.sympy.Piecewise((1, value), (0, True)) if is_condition else value

    def _as_condition(self, value: Expression) -> Expression:
        """Convert a number to the condition that it is not 0; return a condition unchanged."""
        return value if isinstance(value, self.sympy.logic.boolalg.Boolean) else self.sympy.Ne(value, 0)

    def _number(self, value: Coefficient) -> Expression:
        """Convert a coefficient: a fraction, an infinity or nan."""
        if isinstance(value, Fraction):
            return self.sympy.Rational(value.numerator, value.denominator)
        return self.sympy.nan if math.isnan(value) else self.sympy.oo if value > 0 else -self.sympy.oo

    def _converted(self, node: Formula, done: Mapping[Formula, Expression]) -> Expression:
        """Convert a formula from the expressions of its parts; a call that SymPy does not have is added to ``undefined``."""
        sympy = self.sympy
        if node.kind == "symbol":
            known = _SYMBOLS.get(node.name)
            return getattr(sympy, known) if known else sympy.Symbol(node.name, real=True)
        if node.kind == "sum":
            return sympy.Add(*[self._number(count) * self._as_number(done[term]) for term, count in node.parts])
        if node.kind == "product":
            exponents = [self._as_number(done[e]) if type(e) is Formula else self._number(e) for _, e in node.parts]
            powers = [self._as_number(done[base]) ** e for (base, _), e in zip(node.parts, exponents, strict=True)]
            return sympy.Mul(self._number(node.coefficient), *powers)
        operands = [done[part] for part in node.parts if type(part) is Formula]
        if node.name == "where":
            return sympy.Piecewise((operands[1], self._as_condition(operands[0])), (operands[2], True))
        operands = [self._as_condition(part) if node.name in _LOGIC else self._as_number(part) for part in operands]
        if node.name in _FUNCTIONS and len(operands) == len(node.parts):
            return getattr(sympy, _FUNCTIONS[node.name])(*operands)
        call = (node.name, *(None if type(part) is Formula else part for part in node.parts))
        new_name = f"{node.name}_{len(self.undefined)}"
        name = next((name for name, known in self.undefined.items() if known == call), new_name)
        self.undefined[name] = call
        return sympy.Function(name, real=True)(*operands)


class _FromSymPy:
    """A converter of SymPy expressions to formulas; ``undefined`` is that of ``_ToSymPy``."""

    def __init__(self, sympy: ModuleType, algebra: Algebra, undefined: Mapping[str, tuple[Any, ...]]) -> None:
        self.sympy = sympy
        self.algebra = algebra
        self.undefined = undefined
        self.functions = {getattr(sympy, theirs): ours for ours, theirs in _FUNCTIONS.items()}
        self.symbols = {getattr(sympy, theirs): ours for ours, theirs in _SYMBOLS.items()}

    def formula(self, expression: Expression) -> Formula | None:
        """Convert an expression to a formula; return ``None`` if the language lacks one of its functions."""
        done: dict[Expression, Formula] = {}
        for part in postorder([expression], lambda part: part.args):
            result = self._converted(part, done)
            if result is None:
                return None
            done[part] = result
        return done[expression]

    def _converted(self, expression: Expression, done: Mapping[Expression, Formula]) -> Formula | None:
        """Convert an expression whose arguments are converted: ``done`` contains their formulas; ``None`` if it has no formula."""
        sympy, algebra = self.sympy, self.algebra
        operands = [done[part] for part in expression.args]
        if expression.is_Symbol:
            return algebra.symbol(expression.name)
        if expression.is_Rational:
            return algebra.rational(Fraction(int(expression.p), int(expression.q)))
        if expression.is_Float:
            return algebra.number(float(expression))
        if expression == -sympy.oo:
            return algebra.sum([(algebra.symbol("inf"), Fraction(-1))])
        if expression in self.symbols:
            return algebra.symbol(self.symbols[expression])
        if expression.is_Add:
            return algebra.sum([(part, Fraction(1)) for part in operands])
        if expression.is_Mul:
            return algebra.product([(part, Fraction(1)) for part in operands])
        if expression.is_Pow:
            return algebra.power(*operands)
        if expression.func is sympy.Piecewise:
            return self._choices(expression, done)
        if expression.func is sympy.functions.elementary.piecewise.ExprCondPair:
            return operands[0]
        return self._function(expression, operands)

    def _choices(self, piecewise: Expression, done: Mapping[Expression, Formula]) -> Formula:
        """Convert a piecewise expression to nested ``where`` calls; it is nan where no condition holds."""
        branches = [(done[value], done[condition]) for value, condition in piecewise.args]
        result = branches[-1][0] if branches[-1][1] is self.algebra.symbol("true") else self.algebra.symbol("nan")
        for value, condition in reversed(branches):
            result = self.algebra.choice(condition, value, result)
        return result

    def _function(self, expression: Expression, arguments: list[Formula]) -> Formula | None:
        """Convert a call of a function; return ``None`` if the language lacks the function."""
        algebra, name = self.algebra, expression.func.__name__
        if name in self.undefined:
            formulas = iter(arguments)
            ours, *parts = self.undefined[name]  # ``None`` in place of a formula
            return algebra.call(ours, *[next(formulas) if part is None else part for part in parts])
        ours = self.functions.get(expression.func)
        if ours is None:
            return None
        if ours in _COMPARISONS or ours in _LOGIC:
            return algebra.condition(ours, *arguments)
        if ours in ("max", "min"):  # those of SymPy have any number of arguments
            return reduce(lambda left, right: algebra.call(ours, left, right), arguments)
        return algebra.call(ours, *arguments)
