"""The data structure of formulas: symbols, calls, sums and products, which ``normal_form`` constructs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias, final

from autodiff_cli.postorder import postorder
from autodiff_cli.symbolic.constants import Coefficient

NOWHERE = 10**9  # the value of ``Formula.place`` for a formula without variables
_MOST_SIZE = 10**9  # the largest value of ``Formula.size``, whose exact value may have thousands of digits if parts are shared
DEFINED = "defined"  # the name of a call of the primitive that is its first part, which writes itself


@final
@dataclass(slots=True, eq=False)
class Formula:
    """A formula; equal formulas of one ``Algebra`` are the same object.

    Attributes:
        kind: ``symbol``, ``call``, ``product`` or ``sum``; a number is a product without factors.
        name: the name of the symbol or function.
        coefficient: the coefficient of the product.
        parts: the arguments of a call; the pairs of factor and exponent of a product, where an exponent is a fraction or a formula;
            or the pairs of term and coefficient of a sum.
        number: the creation index of the formula in its algebra.
        place: the smallest index of its variables in the list of variables.
        size: the approximate length of the formula as text.
    """

    kind: str
    name: str
    coefficient: Coefficient
    parts: tuple[Any, ...]
    number: int
    place: int
    size: int = field(init=False)

    def __post_init__(self) -> None:
        """Compute ``size``, and take ``place`` from the parts if a part has a smaller one."""
        inside = children(self)
        # Estimates: a term of a sum has a sign and a coefficient, and a call has a comma or a bracket beside each argument.
        own = 6 * len(self.parts) if self.kind == "sum" else len(self.name) + 3 * len(self.parts) + 2
        self.place = min([self.place, *(child.place for child in inside)])
        self.size = min(own + sum(child.size for child in inside), _MOST_SIZE)

    def is_call(self, *names: str) -> bool:
        """Return whether the formula is a call to one of the named functions."""
        return self.kind == "call" and self.name in names

    @property
    def value(self) -> Coefficient | None:
        """The value if the formula is a number, else ``None``."""
        return self.coefficient if self.kind == "product" and not self.parts else None


Exponent: TypeAlias = Fraction | Formula


def children(formula: Formula) -> list[Formula]:
    """Return the direct subformulas in order, with repetitions; those of a product include its symbolic exponents."""
    if formula.kind == "call":
        return [part for part in formula.parts if type(part) is Formula]
    if formula.kind == "sum":
        return [term for term, _ in formula.parts]
    if formula.kind == "product":
        return [base for factor in formula.parts for base in factor if type(base) is Formula]
    return []


def in_order(formulas: Iterable[Formula]) -> list[Formula]:
    """Return formulas and all their subformulas in postorder."""
    return postorder(formulas, children)


def factors_of(formula: Formula) -> Sequence[tuple[Formula, Exponent]]:
    """Return the factors of a formula with their exponents; a formula that is not a product is its only factor."""
    return formula.parts if formula.kind == "product" else ((formula, Fraction(1)),)
