"""Polynomials of formulas: sums of monomials, whose bases are symbols, function calls and roots of sums.

The exponents are fractions, and may be negative.  An exponential is a power: the base of ``exp(-2*x)`` is ``exp(x)``, and its
exponent is -2.  A power with a symbolic exponent is a base of its own, without the numbers in the exponent: ``x**(n - 1)`` has
the bases ``x**n`` and ``x``.
"""

from __future__ import annotations

import itertools
import operator
from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import partial
from math import gcd, lcm
from typing import TypeAlias

from autodiff_cli.symbolic.constants import Coefficient
from autodiff_cli.symbolic.formula import Formula, factors_of
from autodiff_cli.symbolic.normal_form import Algebra

Monomial: TypeAlias = tuple[tuple[Formula, Fraction], ...]
Polynomial: TypeAlias = dict[Monomial, Fraction]

MOST_TERMS = 80  # the largest number of terms of a polynomial
_MOST_POWER = 12  # the largest exponent of a sum that is multiplied out


class TooLong(Exception):
    """A polynomial has too many terms, or coefficients that are not finite."""


class Polynomials:
    """Conversions between polynomials and formulas, which ``algebra`` constructs."""

    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra

    # Factors

    def factors(self, formula: Formula) -> tuple[Fraction, dict[Formula, Fraction]]:
        """Return the coefficient of a formula and the exponents of its bases, which have no numeric factors."""
        coefficient = formula.coefficient
        exponents: defaultdict[Formula, Fraction] = defaultdict(Fraction)
        for base, exponent in factors_of(formula):
            if isinstance(exponent, Formula):  # x**(n - 1) is x**-1 times the base x**n
                number, exponent = self._split_exponent(exponent)
                exponents[base] += number
                base, exponent = self.algebra.power(base, exponent), Fraction(1)
            number, base, exponent = self._without_number(base, exponent)
            coefficient = coefficient * number
            exponents[base] += exponent
        return finite(coefficient), {base: exponent for base, exponent in exponents.items() if exponent}

    def _split_exponent(self, exponent: Formula) -> tuple[Fraction, Formula]:
        """Split an exponent into a number and a formula without a number: ``n - 1`` into -1 and ``n``."""
        counts = dict(exponent.parts) if exponent.kind == "sum" else {}
        number = counts.pop(self.algebra.one, Fraction(0))
        return (finite(number), self.algebra.sum(counts.items())) if number else (Fraction(0), exponent)

    def _without_number(self, base: Formula, exponent: Fraction) -> tuple[Fraction, Formula, Fraction]:
        """Return ``number, base, exponent`` of a power whose base has no numeric factor: ``(2*x + 2)**2`` is ``4*(x + 1)**2``."""
        if base.is_call("exp"):
            number, argument = self.content(base.parts[0])
            return Fraction(1), self.algebra.call("exp", argument), exponent * number
        if base.kind == "sum" and exponent.denominator == 1 and abs(exponent) <= _MOST_POWER:
            number, rest = self.content(base)
            return number**exponent.numerator, rest, exponent
        return Fraction(1), base, exponent

    def content(self, formula: Formula) -> tuple[Fraction, Formula]:
        """Split a formula into a number and a formula without a common numeric factor and a leading sign."""
        if formula.kind == "product":
            return finite(formula.coefficient), self.algebra.product(formula.parts)
        if formula.kind != "sum":
            return Fraction(1), formula
        number = common_factor([count for _, count in formula.parts])
        if formula.parts[0][1] < 0:
            number = -number
        return number, self.algebra.sum([(term, count / number) for term, count in formula.parts])

    def product(self, exponents: Mapping[Formula, Fraction], coefficient: Fraction = Fraction(1)) -> Formula:
        """Return the formula of a product of powers, the inverse of ``factors``: a power of ``exp(x)`` is ``exp`` of a multiple."""
        pairs = []
        for base, exponent in exponents.items():
            if base.is_call("exp"):
                pairs.append((self.algebra.call("exp", self.algebra.sum([(base.parts[0], exponent)])), Fraction(1)))
            else:
                pairs.append((base, exponent))
        return self.algebra.product(pairs, coefficient)

    # Polynomials

    def expanded(self, formula: Formula) -> Polynomial:
        """Return a formula as a polynomial, with products and powers of sums multiplied out; more than 80 terms are ``TooLong``."""
        if formula.kind == "sum":
            result: Polynomial = {}
            for term, count in formula.parts:
                add(result, self.expanded_product(*self.factors(term)), finite(count))
            return result
        return self.expanded_product(*self.factors(formula))

    def expanded_product(self, coefficient: Fraction, exponents: Mapping[Formula, Fraction]) -> Polynomial:
        """Return a product of powers as a polynomial, in which the integer parts of the powers of sums are multiplied out."""
        rest: dict[Formula, Fraction] = {}
        result: Polynomial = {(): coefficient}
        for base, exponent in exponents.items():
            times = int(exponent) if base.kind == "sum" and exponent >= 1 else 0
            if times > _MOST_POWER:
                raise TooLong
            rest[base] = exponent - times
            if times:
                inner = self.expanded(base)
                for _ in range(times):
                    result = self.times(result, inner)
        return self.times(result, {monomial(rest): Fraction(1)})

    def times(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """Return the product of two polynomials; a power of a sum that arises, as ``sqrt(x + 1)**2``, is multiplied out."""
        result: Polynomial = {}
        for (first, first_count), (second, second_count) in itertools.product(left.items(), right.items()):
            exponents = dict(first)
            for base, exponent in second:
                exponents[base] = exponents.get(base, Fraction(0)) + exponent
            product = monomial(exponents)
            has_sum = any(base.kind == "sum" and exponent >= 1 for base, exponent in product)
            term = self.expanded_product(Fraction(1), dict(product)) if has_sum else {product: Fraction(1)}
            add(result, term, first_count * second_count)
        return result

    def quotient(self, dividend: Polynomial, divisor: Polynomial) -> Polynomial | None:
        """Return the quotient of two polynomials by long division, or ``None`` if the division is not exact.

        A monomial of an exact quotient has at least the smallest exponent of the dividend minus that of the divisor, for each base.
        """
        bases = sorted({base for powers in (*dividend, *divisor) for base, _ in powers}, key=lambda base: base.number)
        degree = partial(_exponents, bases=bases)
        least, least_of_divisor = (
            [min(exponents) for exponents in zip(*map(degree, polynomial), strict=True)] for polynomial in (dividend, divisor)
        )
        smallest = list(map(operator.sub, least, least_of_divisor))
        remainder, result = dict(dividend), Polynomial()
        divisor_lead = max(divisor, key=degree)
        for _ in range(MOST_TERMS):
            if not remainder:
                return result
            lead = max(remainder, key=degree)
            exponents = list(map(operator.sub, degree(lead), degree(divisor_lead)))
            if any(map(operator.lt, exponents, smallest)):
                return None
            ratio = monomial(dict(zip(bases, exponents, strict=True)))
            result[ratio] = remainder[lead] / divisor[divisor_lead]
            add(remainder, self.times({ratio: result[ratio]}, divisor), Fraction(-1))
        return None  # too many terms

    def formula(self, polynomial: Polynomial) -> Formula:
        """Return the formula of a polynomial."""
        return self.algebra.sum([(self.product(dict(powers)), count) for powers, count in polynomial.items()])


def _exponents(powers: Monomial, bases: Iterable[Formula]) -> list[Fraction]:
    """Return the exponents of bases in a monomial; 0 for those that it does not have."""
    exponents = dict(powers)
    return [exponents.get(base, Fraction(0)) for base in bases]


def monomial(exponents: Mapping[Formula, Fraction]) -> Monomial:
    """Return the monomial with the exponents that are not 0."""
    return tuple(sorted(((base, power) for base, power in exponents.items() if power), key=lambda pair: pair[0].number))


def finite(value: Coefficient) -> Fraction:
    """Return a coefficient that is a fraction; raise ``TooLong`` if it is infinite or nan."""
    if not isinstance(value, Fraction):
        raise TooLong
    return value


def add(polynomial: Polynomial, other: Polynomial, times: Fraction) -> None:
    """Add a multiple of another polynomial to a polynomial, in place; raise ``TooLong`` if it has more than 80 terms."""
    for powers, count in other.items():
        total = polynomial.get(powers, Fraction(0)) + times * count
        if total:
            polynomial[powers] = total
        else:
            polynomial.pop(powers, None)
    if len(polynomial) > MOST_TERMS:
        raise TooLong


def common_factor(counts: Iterable[Coefficient]) -> Fraction:
    """Return the largest positive number of which all numbers are integer multiples."""
    fractions = [finite(count) for count in counts]
    return Fraction(gcd(*(count.numerator for count in fractions)), lcm(*(count.denominator for count in fractions)))
