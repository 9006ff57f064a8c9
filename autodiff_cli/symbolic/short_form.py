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

_ELEMENTARY = {
    "tan": {"sin": 1, "cos": -1},
    "sec": {"cos": -1},
    "csc": {"sin": -1},
    "cot": {"cos": 1, "sin": -1},
    "abs": {"sign": 1},
}
"""The functions of which a function is a product of powers; ``abs(x)`` is ``x*sign(x)``."""


class ShortForms:
    """A search for the shortest form of each part of formulas, which ``algebra`` constructed.

    Attributes:
        chosen: the shortest form of each part.
        lengths, forms: the length and the equal forms of each formula.
        remaining: the number of forms that may still be built.
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
        unused_forms = MOST_FORMS
        for _ in range(_MOST_PASSES):
            parts = [part for part in in_order([formula]) if part not in self.chosen]
            for done, part in enumerate(parts):  # the whole comes last, and has the forms that its parts did not need
                share = unused_forms // (len(parts) - done)
                self.remaining = share
                self.chosen[part] = self._improved(self.algebra.with_parts(part, self.chosen))
                unused_forms -= share - max(self.remaining, 0)
            if self.chosen[formula] is formula:
                break
            formula = self.chosen[formula]
        rewritten = [self._sums_rewritten(formula, rewrite) for rewrite in (self._as_sigmoid, self._as_cosh)]
        return min([formula, *rewritten], key=self.length)

    def _sums_rewritten(
        self, formula: Formula, rewrite: Callable[[Formula, Formula, Coefficient, Coefficient], Formula | None]
    ) -> Formula:
        """Replace sums ``a*exp(x) + b*exp(y)``, where 1 is ``exp(0)``, by ``rewrite(x, y, a, b)`` unless this is ``None``."""
        algebra, results = self.algebra, dict[Formula, Formula]()
        for part in in_order([formula]):
            new = algebra.with_parts(part, results)
            has_two_terms = new.kind == "sum" and len(new.parts) == 2
            if has_two_terms and all(term is algebra.one or term.is_call("exp") for term, _ in new.parts):
                (first, a), (second, b) = new.parts
                x, y = (algebra.zero if term is algebra.one else term.parts[0] for term in (first, second))
                new = rewrite(x, y, a, b) or new
            results[part] = new
        return formula if results[formula] is formula else self._improved(results[formula])

    def _as_sigmoid(self, x: Formula, y: Formula, a: Coefficient, b: Coefficient) -> Formula | None:
        """Write ``a + a*exp(x)`` as ``a/sigmoid(-x)``, or return ``None``; one of ``x`` and ``y`` is 0."""
        if self.algebra.zero not in (x, y) or a != b:
            return None
        return self.algebra.product([(self.algebra.call("sigmoid", self.algebra.sum([(x, -_ONE), (y, -_ONE)])), -_ONE)], a)

    def _as_cosh(self, x: Formula, y: Formula, a: Coefficient, b: Coefficient) -> Formula | None:
        """Write ``a*exp(x) + a*exp(y)`` as ``2*a*cosh((x - y)/2)*exp((x + y)/2)``, and a difference with ``sinh``."""
        half_difference, half_sum = (self.algebra.sum([(x, _HALF), (y, sign * _HALF)]) for sign in (-1, 1))
        number, _ = self.polynomials.content(half_difference)
        if abs(a) != abs(b) or number.denominator > 1:  # a fraction in the argument is not shorter
            return None
        if number < 0:  # the argument begins with a positive term
            return self._as_cosh(y, x, b, a)
        call = self.algebra.call("cosh" if a == b else "sinh", half_difference)
        exponential = [] if half_sum is self.algebra.zero else [(self.algebra.call("exp", half_sum), _ONE)]
        return self.algebra.product([(call, _ONE), *exponential], 2 * a)

    def _improved(self, formula: Formula) -> Formula:
        """Replace a formula by the shortest of its forms and their forms, as long as it becomes shorter."""
        while True:
            forms = self._forms(formula)
            most = min(1.5 * self.length(formula), MOST_LENGTH)  # a longer form has no short forms
            further = [further for form in forms if self.length(form) <= most for further in self._forms(form)]
            best = min([formula, *forms, *further], key=self.length)
            if best is formula:
                return formula
            formula = best

    def _forms(self, formula: Formula) -> list[Formula]:
        """Return equal forms of a formula, or no forms if ``remaining`` is used up; new forms reduce it."""
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
        for forms in dict.fromkeys([terms, tuple(map(self._elementary, terms))]):
            factors = [self.polynomials.factors(form) for form in forms]
            common = _common_exponents([exponents for _, exponents in factors])
            rests = [(coefficient, _divided(exponents, common)) for coefficient, exponents in factors]
            cofactors = [self.polynomials.product(exponents, coefficient) for coefficient, exponents in rests]
            inside = self.algebra.sum(zip(cofactors, counts, strict=True))
            yield self.algebra.product([(self.polynomials.product(common), _ONE), (inside, _ONE)])
            numerator: Polynomial = {}
            for rest, count in zip(rests, counts, strict=True):
                add(numerator, self.polynomials.expanded_product(*rest), count)
            for variant in self._variants(numerator):
                yield self._fraction(common, variant)

    def _fraction(self, powers: Mapping[Formula, Fraction], numerator: Polynomial) -> Formula:
        """Return a product of powers times a polynomial, with common factors cancelled and factors of the polynomial in front."""
        if not numerator:
            return self.algebra.zero
        exponents, numerator = self._cancelled(powers, numerator)
        outside = _common_exponents([dict(monomial) for monomial in numerator])
        number = common_factor(numerator.values())
        inside = self.polynomials.times(numerator, {monomial({base: -exponent for base, exponent in outside.items()}): 1 / number})
        for base, exponent in outside.items():
            exponents[base] = exponents.get(base, Fraction(0)) + exponent
        rest = self.polynomials.formula(inside)
        return self.algebra.product([(self.polynomials.product(exponents, number), _ONE), (rest, _ONE)])

    def _cancelled(self, powers: Mapping[Formula, Fraction], numerator: Polynomial) -> tuple[dict[Formula, Fraction], Polynomial]:
        """Divide a polynomial by the sums with negative powers that divide it, or such a sum by the polynomial; return both."""
        exponents = dict(powers)
        for base in [base for base, exponent in exponents.items() if exponent < 0 and base.kind == "sum"]:
            divisor = self.polynomials.expanded(base)
            while exponents[base] < 0 and (quotient := self.polynomials.quotient(numerator, divisor)) is not None:
                numerator = quotient
                exponents[base] += 1
            if exponents[base] == -1 and (quotient := self.polynomials.quotient(divisor, numerator)) is not None:
                exponents[base] = Fraction(0)
                exponents[self.polynomials.formula(quotient)] = -_ONE
                numerator = {(): _ONE}
        return exponents, numerator

    def _variants(self, polynomial: Polynomial) -> Iterator[Polynomial]:
        """Yield a polynomial, and forms of it by identities of the bases: ``sigmoid(x) == 1 - sigmoid(-x)``, and of angles."""
        yield polynomial
        for base in dict.fromkeys(base for powers in polynomial for base, _ in powers):
            if base.is_call("sigmoid"):
                opposite = self.algebra.call("sigmoid", self.algebra.sum([(base.parts[0], -_ONE)]))
                yield self._substituted(polynomial, base, {(): _ONE, ((opposite, _ONE),): -_ONE}, _ONE)
            elif base.is_call(*_PYTHAGORAS):
                yield from self._variants_of_angle(polynomial, base)

    def _variants_of_angle(self, polynomial: Polynomial, base: Formula) -> Iterator[Polynomial]:
        """Yield forms of a polynomial with ``base``, as ``sin(x)``: by ``sin(x)**2 == 1 - cos(x)**2``, and with a double angle."""
        (argument,) = base.parts
        name, constant, factor = _PYTHAGORAS[base.name]
        other = self.algebra.call(name, argument)
        in_other = polynomial
        while any(dict(powers).get(base, 0) >= _TWO for powers in in_other):
            in_other = self._substituted(in_other, base, {(): Fraction(constant), ((other, _TWO),): Fraction(factor)})
        yield in_other
        cosine, in_cosine = (base, polynomial) if base.name in ("cos", "cosh") else (other, in_other)
        double = self.algebra.call(cosine.name, self.algebra.sum([(argument, _TWO)]))
        yield self._substituted(in_cosine, cosine, {(): _HALF, ((double, _ONE),): _HALF})  # cos(x)**2 == (1 + cos(2*x))/2

    def _substituted(self, polynomial: Polynomial, base: Formula, value: Polynomial, power: Fraction = _TWO) -> Polynomial:
        """Replace a power of a base, by default its square, by a polynomial: once in each monomial that has at least this power."""
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
        """Write ``max(x, y)`` and ``min(x, y)`` as one of their arguments in the branches of a condition such as ``x > y``."""
        if formula.is_call("where") and formula.parts[0].is_call("lt", "gt", "eq"):
            condition, first, second = formula.parts
            extremes = [self.algebra.call(name, *condition.parts) for name in ("max", "min")]
            larger, smaller = condition.parts if condition.is_call("gt") else condition.parts[::-1]  # where the condition holds
            first = self.algebra.substituted(first, dict(zip(extremes, (larger, smaller), strict=True)))
            if not condition.is_call("eq"):
                second = self.algebra.substituted(second, dict(zip(extremes, (smaller, larger), strict=True)))
            yield self.algebra.choice(condition, first, second)

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

    def _exponentials_merged(self, formula: Formula) -> Iterator[Formula]:
        """Write a product of exponentials as one: ``exp(x)*exp(y)`` as ``exp(x + y)``."""
        arguments = [base.parts[0] for base, exponent in formula.parts if base.is_call("exp") and exponent == 1]
        if len(arguments) > 1:
            rest = [pair for pair in formula.parts if not (pair[0].is_call("exp") and pair[1] == 1)]
            whole = self.algebra.call("exp", self.algebra.sum([(argument, _ONE) for argument in arguments]))
            yield self.algebra.product([*rest, (whole, _ONE)], formula.coefficient)

    def _exponentials_moved(self, formula: Formula) -> Iterator[Formula]:
        """Move an exponential out of a sum or into it: ``(exp(2*x) + 1)*exp(-x)`` is ``exp(x) + exp(-x)``."""
        for base, exponent in formula.parts:
            if base.kind != "sum" or not isinstance(exponent, Fraction) or exponent.denominator != 1:
                continue
            rest = [pair for pair in formula.parts if pair[0] is not base]
            polynomial = self.polynomials.expanded(base)
            for exponential, power in _powers_of_exponentials(polynomial):
                inside = self.polynomials.times(polynomial, {((exponential, -power),): _ONE})
                outside = self.polynomials.product({exponential: power * exponent})
                other = self.algebra.product([*rest, (outside, _ONE)], formula.coefficient)
                coefficient, exponents = self.polynomials.factors(other)  # in which exponentials are collected
                merged = self.polynomials.product(exponents, coefficient)
                yield self.algebra.product([(merged, _ONE), (self.polynomials.formula(inside), exponent)])

    def _identities(self, formula: Formula) -> Iterator[Formula]:
        """Apply identities of two factors: ``sin(x)/cos(x)``, ``sin(x)*cos(x)``, ``x*cbrt(x)``, ``x*sign(x)``, and ``1/cos(x)``."""
        exponents = {base: exponent for base, exponent in formula.parts if isinstance(exponent, Fraction)}
        for base, exponent in exponents.items():
            if exponent.denominator == 1:
                yield from self._pairs(formula, base, exponents)
            root = self.algebra.call("cbrt", base)
            if root in exponents:
                yield self._replaced(formula, (base, root), root, exponents[root] + 3 * exponent)
            if base.is_call("cos") and exponent < 0 and self.algebra.is_known("sec", *base.parts):
                yield self._replaced(formula, (base,), self.algebra.call("sec", *base.parts), -exponent)
            if base.is_call("sign") and exponents.get(base.parts[0]) == exponent == 1:
                yield self._replaced(formula, (base, base.parts[0]), self.algebra.call("abs", *base.parts), exponent)
        yield self._elementary(formula)

    def _pairs(self, formula: Formula, first: Formula, exponents: Mapping[Formula, Fraction]) -> Iterator[Formula]:
        """Apply the identities of ``_PAIRS`` to a factor and another one, given the exponents of all factors."""
        for (name, other_name, power), (result, times, factor) in _PAIRS.items():
            if first.is_call(name):
                (argument,), exponent = first.parts, exponents[first]
                other = self.algebra.call(other_name, argument)
                if exponents.get(other) == power * exponent:
                    call = self.algebra.call(result, self.algebra.sum([(argument, Fraction(times))]))
                    yield self._replaced(formula, (first, other), call, exponent, factor**exponent.numerator)

    def _elementary(self, formula: Formula) -> Formula:
        """Write ``tan(x)`` as ``sin(x)/cos(x)``, ``abs(x)`` as ``x*sign(x)``, ``hypot`` as a root, ``cbrt(x*y)`` as a product."""
        pairs: list[tuple[Formula, Exponent]] = []
        for base, exponent in factors_of(formula):
            if base.is_call("hypot"):
                squares = [(self.algebra.product([(part, _TWO)]), _ONE) for part in base.parts]
                base = self.algebra.product([(self.algebra.sum(squares), _HALF)])
            elif base.is_call(*_ELEMENTARY) and isinstance(exponent, Fraction) and exponent.denominator == 1:
                if base.name == "abs":
                    pairs.append((base.parts[0], exponent))
                powers = _ELEMENTARY[base.name].items()
                base = self.algebra.product([(self.algebra.call(name, *base.parts), Fraction(power)) for name, power in powers])
            elif base.is_call("cbrt") and base.parts[0].kind == "product" and base.parts[0].coefficient == 1:
                base = self.algebra.product([(self.algebra.call("cbrt", b), e) for b, e in base.parts[0].parts])
            pairs.append((base, exponent))
        product = self.algebra.product(pairs, formula.coefficient)
        # The square of a sign is 1.
        pairs = [(b, e % 2 if b.is_call("sign") and isinstance(e, Fraction) else e) for b, e in factors_of(product)]
        return self.algebra.product(pairs, product.coefficient)

    def _replaced(
        self, formula: Formula, bases: Sequence[Formula], base: Formula, exponent: Fraction, factor: Fraction = _ONE
    ) -> Formula:
        """Return a product in which ``factor*base**exponent`` replaces the powers of ``bases``."""
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
        ShortForms._exponentials_merged,
        ShortForms._exponentials_moved,
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
    """Return the exponents of the powers that divide all monomials; the exponent nearest to 0 for an exponential."""
    result: dict[Formula, Fraction] = {}
    for base in dict.fromkeys(base for exponents in monomials for base in exponents):
        powers = [exponents.get(base, Fraction(0)) for exponents in monomials]
        common = min(powers)
        if base.is_call("exp") and common <= 0:
            common = min(max(powers), Fraction(0))
        if common:
            result[base] = common
    return result


def _divided(exponents: Mapping[Formula, Fraction], divisor: Mapping[Formula, Fraction]) -> dict[Formula, Fraction]:
    """Return the exponents that are not 0 of a product of powers divided by another one."""
    result = {base: exponents.get(base, Fraction(0)) - divisor.get(base, 0) for base in (*exponents, *divisor)}
    return {base: exponent for base, exponent in result.items() if exponent}
