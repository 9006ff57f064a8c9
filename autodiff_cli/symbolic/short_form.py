"""Short forms of formulas, as a person writes them.

For each part of a formula, several equal forms are built: over one denominator with common factors in front, multiplied out, and
with identities of functions.  The form with the shortest text is chosen, from the innermost parts to the whole.  The forms are
equal in exact arithmetic where the original formula is defined; they may lose digits that the original formula keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import combinations

from autodiff_cli.language.tree import unparse
from autodiff_cli.symbolic.constants import Coefficient
from autodiff_cli.symbolic.formula import Exponent, Formula, factors_of, in_order
from autodiff_cli.symbolic.normal_form import Algebra
from autodiff_cli.symbolic.polynomial import Polynomial, Polynomials, TooLong, add, common_factor, monomial
from autodiff_cli.symbolic.to_tree import to_tree

MOST_SIZE, MOST_FORMS, MOST_LENGTH = 2_000, 1_000, 150
"""The limits on the size of a formula that is shortened, on the forms tried, and on the length of forms that have forms in turn."""
_MOST_PASSES = 4
_ONE, _TWO, _HALF = Fraction(1), Fraction(2), Fraction(1, 2)

_PYTHAGORAS = {"sin": ("cos", 1, -1), "cos": ("sin", 1, -1), "cosh": ("sinh", 1, 1), "sinh": ("cosh", -1, 1)}
"""For each function, ``(other, a, b)`` of the identity ``f(x)**2 == a + b*other(x)**2``."""
_PAIRS = {
    ("sin", "cos", -1): ("tan", 1, _ONE),
    ("sinh", "cosh", -1): ("tanh", 1, _ONE),
    ("sin", "cos", 1): ("sin", 2, _HALF),
    ("sinh", "cosh", 1): ("sinh", 2, _HALF),
}
"""For ``f(x)*g(x)**p`` with the key ``(f, g, p)``, ``(h, n, c)`` of the equal formula ``c*h(n*x)``."""

_ELEMENTARY: dict[str, dict[str, int]] = {
    "tan": {"sin": 1, "cos": -1},
    "sec": {"cos": -1},
    "csc": {"sin": -1},
    "cot": {"cos": 1, "sin": -1},
    "abs": {"sign": 1},
}
"""The functions of which a function is a product of powers; ``abs(x)`` is ``x*sign(x)``."""


class ShortForms:
    """A search for the shortest form of each part of formulas.

    Args:
        algebra: the algebra that constructed the formulas.
    """

    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra
        self.polynomials = Polynomials(algebra)
        self.chosen: dict[Formula, Formula] = {}
        self.lengths: dict[Formula, int] = {}
        self.forms: dict[Formula, list[Formula]] = {}
        self.remaining = 0

    def length(self, formula: Formula) -> int:
        """Return the number of characters of a formula, without spaces."""
        if formula not in self.lengths:
            self.lengths[formula] = len(unparse(to_tree(formula)).replace(" ", ""))
        return self.lengths[formula]

    def shortest(self, formula: Formula) -> Formula:
        """Return an equal formula whose text is at most as long: the shortest that the search reaches."""
        if formula.size > MOST_SIZE:
            return formula
        unused = MOST_FORMS
        for _ in range(_MOST_PASSES):
            parts = [part for part in in_order([formula]) if part not in self.chosen]
            for count, part in enumerate(parts):  # the whole comes last, and has the forms that its parts did not need
                share = self.remaining = unused // (len(parts) - count)
                self.chosen[part] = self._improved(self.algebra.with_parts(part, self.chosen))
                unused -= share - max(self.remaining, 0)
            if self.chosen[formula] is formula:
                break
            formula = self.chosen[formula]
        return min([formula, *(self._without_exponentials(formula, name) for name in ("sigmoid", "cosh"))], key=self.length)

    def _without_exponentials(self, formula: Formula, function: str) -> Formula:
        """Write ``1 + exp(-x)`` as ``1/sigmoid(x)``, or ``exp(x) + exp(-x)`` as ``2*cosh(x)``, wherever a formula has them."""
        results: dict[Formula, Formula] = {}
        for part in in_order([formula]):
            new = self.algebra.with_parts(part, results)
            if (
                new.kind == "sum"
                and len(new.parts) == 2
                and all(term is self.algebra.one or term.is_call("exp") for term, _ in new.parts)
            ):
                new = self._pair_of_exponentials(*new.parts, function) or new
            results[part] = new
        return formula if results[formula] is formula else self._improved(results[formula])

    def _pair_of_exponentials(
        self, first: tuple[Formula, Coefficient], second: tuple[Formula, Coefficient], function: str
    ) -> Formula | None:
        algebra, (count, other) = self.algebra, (first[1], second[1])
        x, y = (algebra.zero if term is algebra.one else term.parts[0] for term, _ in (first, second))
        if function == "sigmoid" and algebra.zero in (x, y) and count == other:
            return algebra.product([(algebra.call("sigmoid", algebra.sum([(x, -_ONE), (y, -_ONE)])), -_ONE)], count)
        half, middle = (algebra.sum([(x, _HALF), (y, sign * _HALF)]) for sign in (-1, 1))
        number, _ = self.polynomials.content(half)
        if function == "sigmoid" or abs(count) != abs(other) or number.denominator > 1:
            return None
        call = algebra.call("cosh" if count == other else "sinh", algebra.sum([(half, Fraction(1 if number > 0 else -1))]))
        factors = [(call, _ONE), *([] if middle is algebra.zero else [(algebra.call("exp", middle), _ONE)])]
        return algebra.product(factors, 2 * (count if number > 0 else other))

    def _improved(self, formula: Formula) -> Formula:
        """Replace a formula by the shortest of its forms and their forms, as long as it becomes shorter."""
        while True:
            forms = [formula, *self._forms(formula)]
            for form in forms[1:]:
                forms += self._forms(form) if self.length(form) <= min(1.5 * self.length(formula), MOST_LENGTH) else []
            best = min(forms, key=self.length)
            if best is formula:
                return formula
            formula = best

    def _forms(self, formula: Formula) -> list[Formula]:
        """Return equal forms of a formula, as many as remain of the limit."""
        if formula not in self.forms and self.remaining > 0:
            results: dict[Formula, None] = {}
            for form in _FORMS.get(formula.kind, ()):
                with suppress(TooLong):
                    results.update(dict.fromkeys(form(self, formula)))
            self.forms[formula] = list(results)
            self.remaining -= len(results)
        return self.forms.get(formula, [])

    def _multiplied_out(self, formula: Formula) -> Iterator[Formula]:
        """Multiply products and powers of sums out."""
        for polynomial in self._variants(self.polynomials.expanded(formula)):
            yield self.polynomials.formula(polynomial)

    # Sums

    def _over_one_denominator(self, formula: Formula) -> Iterator[Formula]:
        """Write a sum over one denominator, with common factors in front, and cancel what divides the numerator."""
        terms, counts = zip(*formula.parts, strict=True)
        for bases in dict.fromkeys([terms, tuple(map(self._elementary, terms))]):
            factors = [self.polynomials.factors(base) for base in bases]
            common = _common_exponents([exponents for _, exponents in factors])
            numerator: Polynomial = {}
            rests: list[tuple[Formula, Coefficient]] = []
            for (coefficient, exponents), count in zip(factors, counts, strict=True):
                rest = {base: exponents.get(base, Fraction(0)) - common.get(base, 0) for base in (*exponents, *common)}
                rest = {base: exponent for base, exponent in rest.items() if exponent}
                rests.append((self.polynomials.product(rest, coefficient), count))
                add(numerator, self.polynomials.expanded_product(coefficient, rest), count)
            yield self.algebra.product([(self.polynomials.product(common), _ONE), (self.algebra.sum(rests), _ONE)])
            for variant in self._variants(numerator):
                yield self._fraction(common, variant)

    def _fraction(self, common: Mapping[Formula, Fraction], numerator: Polynomial) -> Formula:
        """Return a product of powers times a polynomial, after powers that divide the polynomial are cancelled."""
        if not numerator:
            return self.algebra.zero
        exponents = dict(common)
        for base in [base for base, exponent in exponents.items() if exponent < 0 and base.kind == "sum"]:
            divisor = self.polynomials.expanded(base)
            while exponents[base] < 0 and (quotient := self.polynomials.quotient(numerator, divisor)) is not None:
                numerator = quotient
                exponents[base] += 1
            if exponents[base] == -1 and (quotient := self.polynomials.quotient(divisor, numerator)) is not None:
                exponents[base] = Fraction(0)
                exponents[self.polynomials.formula(quotient)] = -_ONE
                numerator = {(): _ONE}
        outside = _common_exponents([dict(powers) for powers in numerator])
        number = common_factor(numerator.values())
        inside = self.polynomials.times(numerator, {monomial({base: -exponent for base, exponent in outside.items()}): 1 / number})
        for base, exponent in outside.items():
            exponents[base] = exponents.get(base, Fraction(0)) + exponent
        rest = self.polynomials.formula(inside)
        return self.algebra.product([(self.polynomials.product(exponents, number), _ONE), (rest, _ONE)])

    def _variants(self, polynomial: Polynomial) -> Iterator[Polynomial]:
        """Return a polynomial, and forms of it by ``sin(x)**2 + cos(x)**2 == 1`` and by the formulas of double angles."""
        yield polynomial
        for base in dict.fromkeys(base for powers in polynomial for base, _ in powers if base.is_call("sigmoid", *_PYTHAGORAS)):
            (argument,) = base.parts
            if base.name == "sigmoid":
                opposite = self.algebra.call("sigmoid", self.algebra.sum([(argument, -_ONE)]))
                yield self._substituted(polynomial, base, {(): _ONE, ((opposite, _ONE),): -_ONE}, _ONE)
                continue
            name, constant, factor = _PYTHAGORAS[base.name]
            other = self.algebra.call(name, argument)
            result = polynomial
            while any(dict(powers).get(base, 0) >= _TWO for powers in result):
                result = self._substituted(result, base, {(): Fraction(constant), ((other, _TWO),): Fraction(factor)})
            cosine, rest = (base, polynomial) if base.name in ("cos", "cosh") else (other, result)
            double = self.algebra.call(cosine.name, self.algebra.sum([(argument, _TWO)]))
            yield result
            yield self._substituted(rest, cosine, {(): _HALF, ((double, _ONE),): _HALF})

    def _substituted(self, polynomial: Polynomial, base: Formula, value: Polynomial, power: Fraction = _TWO) -> Polynomial:
        """Replace a power of a base, by default its square, in each monomial that has it by a polynomial."""
        result: Polynomial = {}
        for powers, count in polynomial.items():
            exponents = dict(powers)
            if exponents.get(base, 0) < power:
                add(result, {powers: _ONE}, count)
            else:
                rest = monomial({**exponents, base: exponents[base] - power})
                add(result, self.polynomials.times({rest: _ONE}, value), count)
        return result

    def _extremes(self, formula: Formula) -> Iterator[Formula]:
        """Write ``min(x, y)`` as one of its arguments in the branches of a condition on both."""
        if formula.is_call("where") and formula.parts[0].is_call("lt", "gt", "eq"):
            condition, *branches = formula.parts
            extremes = [self.algebra.call(name, *condition.parts) for name in ("max", "min")]
            order = condition.parts if condition.is_call("gt") else condition.parts[::-1]
            branches[0] = self.algebra.substituted(branches[0], dict(zip(extremes, order, strict=True)))
            if not condition.is_call("eq"):
                branches[1] = self.algebra.substituted(branches[1], dict(zip(extremes, order[::-1], strict=True)))
            yield self.algebra.choice(condition, *branches)

    # Products

    def _factors_rewritten(self, formula: Formula) -> Iterator[Formula]:
        """Replace a sum that is a factor by its forms, as in ``1/(x*(1/x + 1))``, which is ``1/(x + 1)``."""
        for base, exponent in formula.parts:
            if base.kind == "sum" and isinstance(exponent, Fraction) and exponent.denominator == 1:
                for form in self._forms(base):
                    yield self._replaced(formula, (base,), form, exponent)

    def _equal_exponents(self, formula: Formula) -> Iterator[Formula]:
        """Multiply the bases of two sums with equal exponents, or of two roots: ``1/((1 - x)*(1 + x))`` is ``1/(1 - x**2)``."""
        for (first, exponent), (second, other) in combinations(formula.parts, 2):
            if exponent == other and isinstance(exponent, Fraction):
                if first.kind == second.kind == "sum":
                    product = self.polynomials.expanded_product(_ONE, {first: _ONE, second: _ONE})
                    yield self._replaced(formula, (first, second), self.polynomials.formula(product), exponent)
                elif abs(exponent) == _HALF:
                    yield self._replaced(formula, (first, second), self.algebra.product([(first, _ONE), (second, _ONE)]), exponent)

    def _exponentials(self, formula: Formula) -> Iterator[Formula]:
        """Write a product of exponentials as one, and move an exponential into or out of a sum."""
        arguments = [base.parts[0] for base, exponent in formula.parts if base.is_call("exp") and exponent == 1]
        if len(arguments) > 1:
            rest = [pair for pair in formula.parts if not (pair[0].is_call("exp") and pair[1] == 1)]
            whole = self.algebra.call("exp", self.algebra.sum([(argument, _ONE) for argument in arguments]))
            yield self.algebra.product([*rest, (whole, _ONE)], formula.coefficient)
        for base, exponent in formula.parts:
            if base.kind != "sum" or not isinstance(exponent, Fraction) or exponent.denominator != 1:
                continue
            polynomial = self.polynomials.expanded(base)
            for factor, power in _powers_of_exponentials(polynomial):
                inside = self.polynomials.times(polynomial, {((factor, -power),): _ONE})
                outside = self.polynomials.product({factor: power * exponent})
                rest = [factor for factor in formula.parts if factor[0] is not base]
                coefficient, exponents = self.polynomials.factors(
                    self.algebra.product([*rest, (outside, _ONE)], formula.coefficient)
                )
                yield self.algebra.product(
                    [(self.polynomials.product(exponents, coefficient), _ONE), (self.polynomials.formula(inside), exponent)]
                )

    def _identities(self, formula: Formula) -> Iterator[Formula]:
        """Apply identities of two functions of one argument: ``sin(x)/cos(x)``, ``sin(x)*cos(x)``, ``x*sign(x)``."""
        exponents = {base: exponent for base, exponent in formula.parts if isinstance(exponent, Fraction)}
        for base, exponent in exponents.items():
            for (name, second, power), (result, times, factor) in _PAIRS.items():
                if base.is_call(name) and exponent.denominator == 1:
                    (argument,) = base.parts
                    other = self.algebra.call(second, argument)
                    if exponents.get(other) == power * exponent:
                        call = self.algebra.call(result, self.algebra.sum([(argument, Fraction(times))]))
                        yield self._replaced(formula, (base, other), call, exponent, factor**exponent.numerator)
            root = self.algebra.call("cbrt", base)
            if root in exponents:
                yield self._replaced(formula, (base, root), root, exponents[root] + 3 * exponent)
            if base.is_call("cos") and exponent < 0 and self.algebra.is_known("sec", *base.parts):
                yield self._replaced(formula, (base,), self.algebra.call("sec", *base.parts), -exponent)
            if base.is_call("sign") and exponents.get(base.parts[0]) == exponent == 1:
                yield self._replaced(formula, (base, base.parts[0]), self.algebra.call("abs", *base.parts), exponent)
        yield self._elementary(formula)

    def _elementary(self, formula: Formula) -> Formula:
        """Write ``tan(x)`` as ``sin(x)/cos(x)``, ``abs(x)`` as ``x*sign(x)``, and ``hypot(x, y)`` as a root."""
        pairs: list[tuple[Formula, Exponent]] = []
        for base, exponent in factors_of(formula):
            if base.is_call("hypot"):
                squares = [(self.algebra.product([(part, _TWO)]), _ONE) for part in base.parts]
                base = self.algebra.product([(self.algebra.sum(squares), _HALF)])
            elif base.is_call(*_ELEMENTARY) and isinstance(exponent, Fraction) and exponent.denominator == 1:
                pairs += [(base.parts[0], exponent)] if base.name == "abs" else []
                factors = _ELEMENTARY[base.name].items()
                base = self.algebra.product([(self.algebra.call(name, *base.parts), Fraction(power)) for name, power in factors])
            elif base.is_call("cbrt") and base.parts[0].kind == "product" and base.parts[0].coefficient == 1:
                base = self.algebra.product([(self.algebra.call("cbrt", b), e) for b, e in base.parts[0].parts])
            pairs.append((base, exponent))
        product = self.algebra.product(pairs, formula.coefficient)
        odd = [(b, e % 2 if b.is_call("sign") and isinstance(e, Fraction) else e) for b, e in factors_of(product)]
        return self.algebra.product(odd, product.coefficient)

    def _replaced(
        self, formula: Formula, bases: Sequence[Formula], base: Formula, exponent: Fraction, factor: Fraction = _ONE
    ) -> Formula:
        """Return a product in which a power of another base replaces the powers of some bases."""
        rest = [pair for pair in formula.parts if pair[0] not in bases]
        return self.algebra.product([*rest, (base, exponent)], formula.coefficient * factor)


class AccurateForms(ShortForms):
    """Formulas that keep their digits, in place of the shortest ones."""

    def shortest(self, formula: Formula) -> Formula:
        """Return the formula as it was derived."""
        return formula


_FORMS: dict[str, Sequence[Callable[[ShortForms, Formula], Iterator[Formula]]]] = {
    "sum": (ShortForms._multiplied_out, ShortForms._over_one_denominator),
    "call": (ShortForms._extremes,),
    "product": (
        ShortForms._multiplied_out,
        ShortForms._factors_rewritten,
        ShortForms._equal_exponents,
        ShortForms._exponentials,
        ShortForms._identities,
    ),
}


def _powers_of_exponentials(polynomial: Polynomial) -> Iterator[tuple[Formula, Fraction]]:
    """Return the smallest, the middle and the largest power of each exponential in a polynomial."""
    for base in dict.fromkeys(base for powers in polynomial for base, _ in powers if base.is_call("exp")):
        exponents = [dict(powers).get(base, Fraction(0)) for powers in polynomial]
        least, most = min(exponents), max(exponents)
        yield from ((base, power) for power in dict.fromkeys([least, (least + most) / 2, most]) if power)


def _common_exponents(monomials: Sequence[Mapping[Formula, Fraction]]) -> dict[Formula, Fraction]:
    """Return the exponents of the powers that divide all monomials; exponentials have no smallest power but 0."""
    result: dict[Formula, Fraction] = {}
    for base in dict.fromkeys(base for exponents in monomials for base in exponents):
        powers = [exponents.get(base, Fraction(0)) for exponents in monomials]
        least = min(powers) if not base.is_call("exp") or min(powers) > 0 else min(max(powers), Fraction(0))
        if least:
            result[base] = least
    return result
