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
    *("sign", "floor", "erf", "erfc", "erfinv", "gamma", "digamma", "polygamma"),
    "factorial",
    *("sec", "csc", "cot"),
)
_NAMES = {"abs": "Abs", "ceil": "ceiling", "max": "Max", "min": "Min", "lgamma": "loggamma", "expi": "Ei"} | {
    **{"airy_ai": "airyai", "airy_ai_prime": "airyaiprime", "airy_bi": "airybi", "airy_bi_prime": "airybiprime"},
    **{"jv": "besselj", "yv": "bessely", "iv": "besseli", "kv": "besselk"},
    **{"ellipk": "elliptic_k", "ellipe": "elliptic_e"},
}
_COMPARISONS = {name: name.capitalize() for name in COMPARISONS}
_LOGIC = {name: name.removeprefix("logical_").capitalize() for name in LOGIC}
_SYMBOLS = {"pi": "pi", "e": "E", "inf": "oo", "nan": "nan", "true": "true", "false": "false"}


def simplified(algebra: Algebra, formulas: Mapping[Term, Formula]) -> dict[Term, Formula]:
    """Simplify formulas with SymPy, except formulas whose simplified form cannot be expressed in the language.

    Raises:
        MissingPackage: if SymPy is not installed.
        LimitError: if a formula is too long or too deeply nested, or if SymPy takes too long.
    """
    sympy = library("sympy", setting("simplify"))
    leave_out = f"leave out {setting('simplify')}: equal terms are collected without it"
    for formula in formulas.values():
        parts = sum(1 + len(children(node)) for node in in_order([formula]))
        too_long = f"{setting('simplify')} is limited to formulas of {{1}} parts, but this formula has {{0}}"
        check_count(parts, MOST_PARTS, too_long, hint=leave_out)
    try:
        with nullcontext() if lifted() else within(MOST_SECONDS):
            return {term: _simple(sympy, algebra, formula) for term, formula in formulas.items()}
    except RecursionError:
        raise LimitError("the formula is nested too deeply for SymPy", hint=leave_out) from None
    except Late:
        raise LimitError(
            f"SymPy did not simplify the formula in {MOST_SECONDS:g} seconds of processor time", hint=leave_out
        ) from None


def _simple(sympy: ModuleType, algebra: Algebra, formula: Formula) -> Formula:
    there = _ToSymPy(sympy)
    try:
        simple = sympy.simplify(there.expression(formula))
    except FOREIGN:  # SymPy does not compare nan, and rejects some infinities
        return formula
    return _FromSymPy(sympy, algebra, there.undefined).formula(simple) or formula


class _ToSymPy:
    """A converter to SymPy; ``undefined`` has, by the name there, the call of a function, with ``None`` in place of formulas."""

    def __init__(self, sympy: ModuleType) -> None:
        self.sympy = sympy
        self.undefined: dict[str, tuple[Any, ...]] = {}

    def expression(self, formula: Formula) -> Expression:
        done: dict[Formula, Expression] = {}
        for node in in_order([formula]):
            done[node] = self._one(node, done)
        return done[formula]

    def _counted(self, value: Expression) -> Expression:
        """Convert a condition to 1 or 0; return any other expression unchanged."""
        is_condition = isinstance(value, self.sympy.logic.boolalg.Boolean) and not isinstance(value, self.sympy.Symbol)
        return self.sympy.Piecewise((1, value), (0, True)) if is_condition else value

    def _condition(self, value: Expression) -> Expression:
        """Convert a number to the condition that it is not 0; return a condition unchanged."""
        return value if isinstance(value, self.sympy.logic.boolalg.Boolean) else self.sympy.Ne(value, 0)

    def _number(self, value: Coefficient) -> Expression:
        if isinstance(value, Fraction):
            return self.sympy.Rational(value.numerator, value.denominator)
        return self.sympy.nan if math.isnan(value) else self.sympy.oo if value > 0 else -self.sympy.oo

    def _one(self, node: Formula, done: Mapping[Formula, Expression]) -> Expression:
        sympy = self.sympy
        if node.kind == "symbol":
            known = _SYMBOLS.get(node.name)
            return getattr(sympy, known) if known else sympy.Symbol(node.name, real=True)
        if node.kind == "sum":
            return sympy.Add(*[self._number(count) * self._counted(done[term]) for term, count in node.parts])
        if node.kind == "product":
            powers = [
                (self._counted(done[b]), self._counted(done[e]) if type(e) is Formula else self._number(e)) for b, e in node.parts
            ]
            return sympy.Mul(self._number(node.coefficient), *[base**exponent for base, exponent in powers])
        given = [done[part] for part in node.parts if type(part) is Formula]
        if node.name == "where":
            return sympy.Piecewise((given[1], self._condition(given[0])), (given[2], True))
        name = {**_NAMES, **_COMPARISONS, **_LOGIC}.get(node.name, node.name if node.name in _SAME else "")
        given = [self._condition(part) if node.name in _LOGIC else self._counted(part) for part in given]
        if name and len(given) == len(node.parts):
            return getattr(sympy, name)(*given)
        shape = (node.name, *(None if type(part) is Formula else part for part in node.parts))
        key = next((key for key, known in self.undefined.items() if known == shape), f"{node.name}_{len(self.undefined)}")
        self.undefined[key] = shape
        return sympy.Function(key, real=True)(*given)


class _FromSymPy:
    """A converter of SymPy expressions to formulas."""

    def __init__(self, sympy: ModuleType, algebra: Algebra, undefined: Mapping[str, tuple[Any, ...]]) -> None:
        self.sympy = sympy
        self.algebra = algebra
        self.undefined = undefined
        names = {**{name: name for name in _SAME}, **_NAMES, **_COMPARISONS, **_LOGIC}
        self.functions = {getattr(sympy, theirs): ours for ours, theirs in names.items()}
        self.symbols = {getattr(sympy, theirs): ours for ours, theirs in _SYMBOLS.items()}

    def formula(self, expression: Expression) -> Formula | None:
        """Convert an expression to a formula; return ``None`` if the language lacks one of its functions."""
        done: dict[Expression, Formula] = {}
        for one in postorder([expression], lambda one: one.args):
            result = self._one(one, done)
            if result is None:
                return None
            done[one] = result
        return done[expression]

    def _one(self, one: Expression, done: Mapping[Expression, Formula]) -> Formula | None:
        sympy, algebra = self.sympy, self.algebra
        given = [done[part] for part in one.args]
        if one.is_Symbol:
            return algebra.symbol(one.name)
        if one.is_Rational:
            return algebra.rational(Fraction(int(one.p), int(one.q)))
        if one.is_Float:
            return algebra.number(float(one))
        if one == -sympy.oo:
            return algebra.sum([(algebra.symbol("inf"), Fraction(-1))])
        if one in self.symbols:
            return algebra.symbol(self.symbols[one])
        if one.is_Add:
            return algebra.sum([(part, Fraction(1)) for part in given])
        if one.is_Mul:
            return algebra.product([(part, Fraction(1)) for part in given])
        if one.is_Pow:
            return algebra.power(*given)
        if one.func is sympy.Piecewise:
            return self._choices(one, done)
        if one.func is sympy.functions.elementary.piecewise.ExprCondPair:
            return given[0]
        return self._function(one, given)

    def _choices(self, one: Expression, done: Mapping[Expression, Formula]) -> Formula:
        branches = [(done[value], done[condition]) for value, condition in one.args]
        result = branches[-1][0] if branches[-1][1] is self.algebra.symbol("true") else self.algebra.symbol("nan")
        for value, condition in reversed(branches):
            result = self.algebra.choice(condition, value, result)
        return result

    def _function(self, one: Expression, given: list[Formula]) -> Formula | None:
        algebra, name = self.algebra, one.func.__name__
        if name in self.undefined:
            parts = iter(given)
            ours, *shape = self.undefined[name]
            return algebra.call(ours, *[next(parts) if part is None else part for part in shape])
        ours = self.functions.get(one.func)
        if ours is None:
            return None
        if ours in _COMPARISONS:
            return algebra.compare(ours, *given)
        if ours == "logical_not":
            return algebra.negation(given[0])
        if ours in _LOGIC:
            return algebra.logic(ours, given)
        if ours in ("max", "min"):
            return reduce(lambda left, right: algebra.call(ours, left, right), given)
        return algebra.call(ours, *given)
