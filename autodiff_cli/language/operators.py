"""The operators of the language: one table for the parser's kinds, for printing and for generated code."""

from __future__ import annotations

from typing import NamedTuple

STATEMENT, CONDITIONAL, OR, AND, NOT, COMPARISON, SUM, PRODUCT, SIGN, POWER, POSTFIX, ATOM = range(12)
"""Precedence: a higher level binds more tightly."""


class Operator(NamedTuple):
    """One operator.

    Attributes:
        name: the function that computes it, which is also the kind of its nodes (comparisons are of the kind ``comparison``).
        symbol: how it is written.
        level: its precedence.
        arity: the number of operands; with one operand the symbol stands in front.
        associates: ``left``, ``right``, or ``chain`` for comparisons: ``a < b < c`` means that both hold.
        spaced: whether text has spaces around the symbol.
        in_place: whether ``x += y`` exists for it.
    """

    name: str
    symbol: str
    level: int
    arity: int = 2
    associates: str = "left"
    spaced: bool = True
    in_place: bool = False

    @property
    def text(self) -> str:
        """The symbol with the spaces around it."""
        if self.arity == 1:
            return f"{self.symbol} " if self.symbol.isalpha() else self.symbol
        return f" {self.symbol} " if self.spaced else self.symbol


OPERATORS = {
    operator.name: operator
    for operator in (
        Operator("logical_or", "or", OR),
        Operator("logical_and", "and", AND),
        Operator("logical_not", "not", NOT, arity=1),
        *(
            Operator(name, symbol, COMPARISON, associates="chain")
            for name, symbol in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="), ("ne", "!="))
        ),
        Operator("add", "+", SUM, in_place=True),
        Operator("sub", "-", SUM, in_place=True),
        Operator("mul", "*", PRODUCT, spaced=False, in_place=True),
        Operator("div", "/", PRODUCT, spaced=False, in_place=True),
        Operator("floor_divide", "//", PRODUCT, spaced=False, in_place=True),
        Operator("remainder", "%", PRODUCT, in_place=True),
        Operator("matmul", "@", PRODUCT, in_place=True),
        Operator("neg", "-", SIGN, arity=1),
        Operator("pos", "+", SIGN, arity=1),
        Operator("pow", "**", POWER, associates="right", spaced=False, in_place=True),
    )
}
"""Every operator by its name."""
COMPARISONS = {name: operator.symbol for name, operator in OPERATORS.items() if operator.level == COMPARISON}
"""``lt`` to ``<`` and so on."""
COMPARING = {symbol: name for name, symbol in COMPARISONS.items()}
"""``<`` to ``lt`` and so on."""
LOGIC = ("logical_and", "logical_or", "logical_not")
IN_PLACE = {f"{operator.symbol}=": name for name, operator in OPERATORS.items() if operator.in_place}
"""``+=`` to ``add`` and so on."""
