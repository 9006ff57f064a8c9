"""Formulas to SymPy and back.  Variables are real numbers; what SymPy does not know is a function without a name to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from fractions import Fraction
from typing import Any

from autodiff_cli.deadline import Late, within
from autodiff_cli.errors import FOREIGN, LimitError
from autodiff_cli.lazy import library
from autodiff_cli.limits import check_count, lifted
from autodiff_cli.symbolic.normal_form import Algebra, Formula, children, in_order

_Term = tuple[str, ...]

MOST_PARTS = 400
"""Longer formulas would take SymPy minutes, and deeper ones its recursion."""
MOST_SECONDS = 6.0
"""For all formulas: how long SymPy takes does not show in their length."""

_SAME = (
    *("exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("sign", "floor", "erf", "erfc", "erfinv", "gamma", "digamma", "polygamma"),
)
_NAMES = {"abs": "Abs", "ceil": "ceiling", "max": "Max", "min": "Min", "lgamma": "loggamma"}
_COMPARISONS = {"lt": "Lt", "le": "Le", "gt": "Gt", "ge": "Ge", "eq": "Eq", "ne": "Ne"}
_LOGIC = {"logical_and": "And", "logical_or": "Or", "logical_not": "Not"}
_SYMBOLS = {"pi": "pi", "e": "E", "inf": "oo", "nan": "nan", "true": "true", "false": "false"}


def simplified(algebra: Algebra, formulas: Mapping[_Term, Formula]) -> dict[_Term, Formula]:
    """What SymPy makes of formulas; the formula itself if its answer cannot be written in the language.

    Raises:
        MissingPackage: without SymPy.
        LimitError: for formulas that take SymPy too long.
    """
    sympy = library("sympy", "--simplify")
    leave_out = "leave it out: the formula is collected"
    for formula in formulas.values():
        parts = sum(1 + len(children(node)) for node in in_order([formula]))
        check_count(parts, MOST_PARTS, "--simplify is for formulas of {1} parts or less, and this one has {0}", hint=leave_out)
    found = {}
    try:
        with nullcontext() if lifted() else within(MOST_SECONDS):
            for term, formula in formulas.items():
                found[term] = _simple(sympy, algebra, formula)
    except RecursionError:
        raise LimitError("this is nested too deep for SymPy", hint=leave_out) from None
    except Late:
        raise LimitError(f"SymPy has not simplified this in {MOST_SECONDS:g} seconds of processor time", hint=leave_out) from None
    return found


def _simple(sympy: Any, algebra: Algebra, formula: Formula) -> Formula:
    there = _There(sympy, algebra)
    try:
        simple = sympy.simplify(there.expression(formula))
    except FOREIGN:  # SymPy compares no nan, and refuses some infinities
        return formula
    return _Back(sympy, algebra, there.opaque).formula(simple) or formula


class _There:
    """Formulas as SymPy's objects.

    Attributes:
        opaque: the call that each function unknown to SymPy stands for, and its arguments that are formulas.
    """

    def __init__(self, sympy: Any, algebra: Algebra) -> None:
        self.sympy = sympy
        self.algebra = algebra
        self.opaque: dict[str, tuple[Any, ...]] = {}

    def expression(self, formula: Formula) -> Any:
        done: dict[Formula, Any] = {}
        for node in in_order([formula]):
            done[node] = self._one(node, done)
        return done[formula]

    def _counted(self, value: Any) -> Any:
        """A condition as 1 or 0, where it is computed with."""
        is_condition = isinstance(value, self.sympy.logic.boolalg.Boolean) and not isinstance(value, self.sympy.Symbol)
        return self.sympy.Piecewise((1, value), (0, True)) if is_condition else value

    def _condition(self, value: Any) -> Any:
        """A number as the condition that it is not 0."""
        return value if isinstance(value, self.sympy.logic.boolalg.Boolean) else self.sympy.Ne(value, 0)

    def _number(self, value: Any) -> Any:
        if isinstance(value, Fraction):
            return self.sympy.Rational(value.numerator, value.denominator)
        return self.sympy.nan if math.isnan(value) else self.sympy.oo if value > 0 else -self.sympy.oo

    def _one(self, node: Formula, done: Mapping[Formula, Any]) -> Any:
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
        key = f"{node.name}_{len(self.opaque)}"
        self.opaque[key] = (node.name, *(None if type(part) is Formula else part for part in node.parts))
        same = [k for k, shape in self.opaque.items() if shape == self.opaque[key]]
        return sympy.Function(same[0], real=True)(*given)


class _Back:
    """SymPy's objects as formulas."""

    def __init__(self, sympy: Any, algebra: Algebra, opaque: Mapping[str, tuple[Any, ...]]) -> None:
        self.sympy = sympy
        self.algebra = algebra
        self.opaque = opaque
        self.functions = {getattr(sympy, name): name for name in _SAME}
        self.functions |= {getattr(sympy, theirs): ours for ours, theirs in _NAMES.items()}
        self.inverse: dict[Any, tuple[str, int]] = {
            getattr(sympy, name): of for name, of in {"sec": ("cos", -1), "csc": ("sin", -1), "cot": ("tan", -1)}.items()
        }

    def formula(self, expression: Any) -> Formula | None:
        """The formula, or ``None`` if there is something in it that the language does not have."""
        order: list[Any] = []
        stack = [expression]
        while stack:  # parents first
            one = stack.pop()
            order.append(one)
            stack += one.args
        done: dict[Any, Formula] = {}
        for one in reversed(order):
            if one not in done:
                found = self._one(one, done)
                if found is None:
                    return None
                done[one] = found
        return done[expression]

    def _one(self, one: Any, done: Mapping[Any, Formula]) -> Formula | None:
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
        for ours, theirs in _SYMBOLS.items():
            if one == getattr(sympy, theirs):
                return algebra.symbol(ours)
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

    def _choices(self, one: Any, done: Mapping[Any, Formula]) -> Formula:
        branches = [(done[value], done[condition]) for value, condition in one.args]
        result = branches[-1][0] if branches[-1][1] is self.algebra.symbol("true") else self.algebra.symbol("nan")
        for value, condition in reversed(branches):
            result = self.algebra.choice(condition, value, result)
        return result

    def _function(self, one: Any, given: list[Formula]) -> Formula | None:
        algebra, name = self.algebra, one.func.__name__
        call: dict[Any, Callable[..., Formula]] = {
            getattr(self.sympy, theirs): (lambda *parts, ours=ours: algebra.compare(ours, *parts))
            for ours, theirs in _COMPARISONS.items()
        }
        if one.func in call:
            return call[one.func](*given)
        for ours, theirs in _LOGIC.items():
            if one.func is getattr(self.sympy, theirs):
                return algebra.negation(given[0]) if theirs == "Not" else algebra.logic(ours, given)
        if name in self.opaque:
            parts = iter(given)
            ours, *shape = self.opaque[name]
            return algebra.call(ours, *[next(parts) if part is None else part for part in shape])
        if one.func in self.inverse:
            ours, exponent = self.inverse[one.func]
            return algebra.product([(algebra.call(ours, *given), Fraction(exponent))])
        if one.func in self.functions:
            ours = self.functions[one.func]
            if ours in ("max", "min"):
                result = given[0]
                for part in given[1:]:
                    result = algebra.call(ours, result, part)
                return result
            return algebra.call(ours, *given)
        return None
