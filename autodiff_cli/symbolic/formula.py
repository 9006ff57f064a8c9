"""Formulas: symbols, calls, sums and products, as ``normal_form`` makes them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias, final

from autodiff_cli.postorder import postorder
from autodiff_cli.symbolic.constants import Coefficient

NOWHERE = 10**9
"""The place of a formula without variables."""
_LONG = 10**9


@final
@dataclass(slots=True, eq=False)
class Formula:
    """A formula; equal formulas of one ``Algebra`` are one object.

    Attributes:
        kind: ``symbol``, ``call``, ``product`` or ``sum``; a number is a product without factors.
        name: of a symbol or a function.
        coefficient: of a product.
        parts: the arguments of a call; the factors of a product as pairs with their exponents, which are fractions or
            formulas; the terms of a sum as pairs with their coefficients.
        number: the position of the formula among all of its algebra.
        place: the position of its first variable among the variables.
        size: approximately its length as text.
    """

    kind: str
    name: str
    coefficient: Coefficient
    parts: tuple[Any, ...]
    number: int
    place: int
    size: int = field(init=False)

    def __post_init__(self) -> None:
        inside = children(self)
        own = 6 * len(self.parts) if self.kind == "sum" else len(self.name) + 3 * len(self.parts) + 2
        self.place = min([self.place, *(child.place for child in inside)])
        self.size = min(own + sum(child.size for child in inside), _LONG)

    def is_call(self, *names: str) -> bool:
        """Return whether it is a call of one of these functions."""
        return self.kind == "call" and self.name in names

    @property
    def value(self) -> Coefficient | None:
        """The number, if it is one."""
        return self.coefficient if self.kind == "product" and not self.parts else None


Exponent: TypeAlias = Fraction | Formula


def children(formula: Formula) -> list[Formula]:
    """Return the formulas that one is made of, in order; one that occurs twice is there twice."""
    if formula.kind == "call":
        return [part for part in formula.parts if type(part) is Formula]
    if formula.kind == "sum":
        return [term for term, _ in formula.parts]
    if formula.kind == "product":
        return [one for factor in formula.parts for one in factor if type(one) is Formula]
    return []


def in_order(formulas: Iterable[Formula]) -> list[Formula]:
    """Return formulas and all that they are made of, parts first."""
    return postorder(formulas, children)
