"""The operators of the language, in one table for parsing, printing and code generation."""

from __future__ import annotations

from autodiff_cli.structs import Struct

STATEMENT, CONDITIONAL, OR, AND, NOT, COMPARISON, SUM, PRODUCT, SIGN, POWER, POSTFIX, ATOM = range(12)
"""The precedence levels; an operator with a higher level binds more tightly."""


class Operator(Struct):
    """An operator of the language.

    Attributes:
        name: the name of its function and the kind of its tree nodes (nodes of comparisons have the kind ``comparison``).
        symbol: the symbol in the source text.
        level: the precedence level.
        arity: the number of operands; the symbol of a unary operator precedes the operand.
        associates: ``left``, ``right``, or ``chain`` for comparisons: ``a < b < c`` means ``a < b and b < c``.
        spaced: whether printed text has spaces around the symbol.
        in_place: whether the operator has an in-place form such as ``x += y``.
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
        """The symbol with the surrounding spaces; of a unary operator, only ``not`` has one, after it."""
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
"""All operators, by name."""
COMPARISONS = {name: operator.symbol for name, operator in OPERATORS.items() if operator.level == COMPARISON}
"""The symbols of comparisons by name, such as ``<`` for ``lt``."""
COMPARING = {symbol: name for name, symbol in COMPARISONS.items()}
"""The names of comparisons by symbol, such as ``lt`` for ``<``."""
LOGIC = ("logical_and", "logical_or", "logical_not")
IN_PLACE = {f"{operator.symbol}=": name for name, operator in OPERATORS.items() if operator.in_place}
"""The names of in-place operators by symbol, such as ``add`` for ``+=``."""
