"""LaTeX output for syntax trees, with fractions, roots, powers and as few brackets as possible.

The output is for math mode and requires only amsmath.  The tree is traversed with a stack, and the LaTeX of a node is
built from the LaTeX of its children.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from autodiff_cli.language.latex_names import RAISED, UNNAMED, escaped, function, identifier, number
from autodiff_cli.language.operators import AND, ATOM, COMPARISON, CONDITIONAL, NOT, OPERATORS, OR, POWER, PRODUCT, SIGN, SUM
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import DEFINING, Syntax

_SIGNED, _PRODUCT = PRODUCT, SIGN
"""In LaTeX, a sign binds less tightly than a product: ``a - (-b)`` needs brackets, and ``-a b`` is the negation of ``a b``."""
Text: TypeAlias = str | Sequence["Text"]
"""Nested sequences of strings, which are joined once at the end."""


@dataclass(slots=True)
class _Piece:
    """The LaTeX of one node, with the properties that the formatting of its parent needs.

    Attributes:
        text, level: the LaTeX, and the precedence of the outermost operator.
        begins, ends: the kinds of the first and the last symbol: ``number``, ``name``, ``bracket``, ``minus`` or ``other``.
        tall: whether the formula is taller than a line of text.
        items: the items of a list or the parts of another group; an empty list marks a name that cannot take a subscript.
        unsigned: the text without its leading minus sign; ``None`` without a minus sign.
        called: the name and the bracketed arguments of a function whose exponent is written after its name.
    """

    text: Text
    level: int = ATOM
    begins: str = "other"
    ends: str = ""
    tall: bool = False
    items: list[_Piece] | None = None
    unsigned: Text | None = None
    called: tuple[str, Text] | None = None

    def __post_init__(self) -> None:
        self.ends = self.ends or self.begins

    def at_least(self, level: int) -> _Piece:
        """Return the piece, in brackets if its precedence is below ``level``."""
        return self if self.level >= level else _bracketed(self)


def latex(expression: Syntax | str, names: Mapping[str, str] | None = None, unnamed: str = UNNAMED[0]) -> str:
    """Return an expression, or the statements of a program on one line, as LaTeX for math mode.

    Args:
        expression: the text or the tree of the expression.
        names: the LaTeX to use for some of the names.
        unnamed: the letter for unnamed tensors such as ``%1``.

    Raises:
        ParseError: if the text is not an expression.
    """
    tree = parse(expression) if isinstance(expression, str) else expression
    pieces: list[_Piece] = []  # of the nodes whose parents are not done
    stack = [(tree, False)]  # the nodes to do, each first without and then with the pieces of its children
    while stack:
        node, has_pieces_of_children = stack.pop()
        if not has_pieces_of_children:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.children))
            continue
        first = len(pieces) - len(node.children)  # the last pieces are those of the children
        name = node.children[0].text if node.kind == "name" else ""
        if names and name in names:
            result = _Piece(names[name], tall=True)  # it may have any height
        elif name.startswith("%"):
            result = _Piece(identifier(name, unnamed), begins="name", items=[])  # it has a subscript
        else:
            result = _piece(node, pieces[first:])
        del pieces[first:]
        pieces.append(result)
    return _joined(pieces[0].text)


def _joined(text: Text) -> str:
    """Join nested sequences of strings."""
    result: list[str] = []
    stack = [text]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            result.append(part)
        else:
            stack.extend(reversed(part))
    return "".join(result)


def _piece(node: Syntax, parts: list[_Piece]) -> _Piece:
    """Return the LaTeX of a node from that of its children; a word of the language, such as ``true``, is its kind."""
    if node.kind in _BUILD:
        return _BUILD[node.kind](*parts)
    if node.kind == "call":
        return _call(node.children[0].text, _items(parts[1:]))  # without the part of the name
    if node.kind == "method":
        return _call(node.children[1].text, [parts[0], *_items(parts[2:])])
    if node.kind == "attribute":
        return _attribute(parts[0], node.children[1].text)
    if node.children:
        return parts[0]  # a name, a number or a slice bound, which has a single token
    return _TOKENS[node.kind](node.text) if node.kind in _TOKENS else _Piece(rf"\mathrm{{{node.kind}}}", begins="name")


def _items(arguments: Sequence[_Piece]) -> list[_Piece]:
    """Return the arguments of a call from the piece of its argument list, which is missing if there are none."""
    return [item for piece in arguments for item in piece.items or []]


# Brackets


def _bracketed(piece: _Piece) -> _Piece:
    return _Piece(_in_brackets([piece]), begins="bracket", tall=piece.tall)


def _in_brackets(pieces: Sequence[_Piece]) -> Text:
    """Return pieces with commas between them in round brackets, which are as tall as the pieces."""
    left, right = (r"\left(", r"\right)") if _tall(pieces) else ("(", ")")
    return (left, _commas(pieces), right)


def _tall(pieces: Sequence[_Piece]) -> bool:
    return any(piece.tall for piece in pieces)


def _commas(pieces: Sequence[_Piece], comma: str = ", ") -> Text:
    """Return pieces with a separator between them."""
    return tuple(text for i, piece in enumerate(pieces) for text in ((comma, piece.text) if i else (piece.text,)))


# Operators


def _add(a: _Piece, b: _Piece) -> _Piece:
    """Return ``a + b``; ``a + (b + c)`` is written without brackets, as usual in mathematics, and ``a + (-b)`` keeps them."""
    right = b if b.level >= SUM and b.begins != "minus" else b.at_least(_PRODUCT)  # brackets for a sign or a lower level
    return _Piece((a.at_least(SUM).text, " + ", right.text), SUM, a.begins, b.ends, a.tall or b.tall)


def _sub(a: _Piece, b: _Piece) -> _Piece:
    return _Piece((a.at_least(SUM).text, " - ", b.at_least(_PRODUCT).text), SUM, a.begins, b.ends, a.tall or b.tall)


def _mul(a: _Piece, b: _Piece, sign: str | None = None) -> _Piece:
    """Return a product with a sign between the factors; by default, a dot where it is needed, and a space elsewhere."""
    left, right = a.at_least(_SIGNED), b.at_least(_PRODUCT)
    if sign is None:
        needs_dot = right.begins == "number" or (left.ends, right.begins) in _NEED_A_DOT
        sign = r" \cdot " if needs_dot else _SPACES.get(left.ends, r" \, ")
    result = _Piece((left.text, sign, right.text), _PRODUCT, left.begins, right.ends, a.tall or b.tall)
    if left.unsigned is not None:  # the sign of the first factor is that of the product
        result.level = _SIGNED
        result.unsigned = (left.unsigned, sign, right.text)
    return result


_NEED_A_DOT = {("name", "bracket"), ("number", "fraction")}
"""The end of a factor and the beginning of the next factor, if they need a dot between them.

Without a dot, ``x (1 + y)`` looks like a call, and 2 before a fraction looks like a mixed number.
"""
_SPACES = {"number": " "}


def _div(a: _Piece, b: _Piece) -> _Piece:
    """Return a fraction; the sign of its numerator is written before it."""
    if a.unsigned is not None:
        return _negative(_fraction(a.unsigned, b))
    return _fraction(a.text, b)


def _fraction(above: Text, below: _Piece) -> _Piece:
    return _Piece((r"\frac{", above, "}{", below.text, "}"), _PRODUCT, "fraction", tall=True)


def _negative(piece: _Piece) -> _Piece:
    """Return a piece with a minus sign before it, which a product or a fraction of it can move to the front with ``unsigned``."""
    operand = piece.at_least(_PRODUCT)
    result = _Piece(("-", operand.text), _SIGNED, "minus", operand.ends, piece.tall)
    result.unsigned = operand.text
    return result


def _pow(base: _Piece, exponent: _Piece) -> _Piece:
    """Return a power; an exponent of one symbol is written after the name of a function, as in the square of ``sin(x)``."""
    is_simple = exponent.begins in ("number", "name") and exponent.level == ATOM  # ``-1`` would mean the inverse function
    if base.called is not None and is_simple:
        name, arguments = base.called
        return _Piece((name, "^{", exponent.text, "}", arguments), POWER, "name", "bracket", base.tall)
    base = base.at_least(ATOM)
    return _Piece((base.text, "^{", exponent.text, "}"), POWER, base.begins, ends="other", tall=True)


def _between(sign: str, level: int) -> Callable[[_Piece, _Piece], _Piece]:
    """Return the function that writes an operator of a precedence, which associates to the left, between two pieces."""

    def build(a: _Piece, b: _Piece) -> _Piece:
        return _Piece((a.at_least(level).text, sign, b.at_least(level + 1).text), level, a.begins, b.ends, a.tall or b.tall)

    return build


def _elementwise(sign: str, parts: Sequence[_Piece]) -> _Piece:
    """Return an elementwise product with the precedence of a sum, so that it gets brackets as a factor."""
    return _Piece(_commas([part.at_least(POWER) for part in parts], sign), SUM, parts[0].begins, "other", _tall(parts))


def _remainder(a: _Piece, b: _Piece) -> _Piece:
    """Return ``a mod b`` with the precedence of a sum, so that it gets brackets as a factor."""
    return _Piece((a.at_least(_PRODUCT).text, r" \bmod ", b.at_least(POWER).text), SUM, a.begins, b.ends, a.tall or b.tall)


def _floor_divide(a: _Piece, b: _Piece) -> _Piece:
    return _Piece((r"\left\lfloor ", _div(a, b).text, r" \right\rfloor"), tall=True)


def _conditional(value: _Piece, condition: _Piece, otherwise: _Piece) -> _Piece:
    """Return a conditional as a list of cases, its ``items``: a value and a condition each, but only a value in the last case."""
    cases = [_Piece("", items=[value, condition])]
    if otherwise.begins == "cases":  # a conditional in the last branch
        cases += otherwise.items or []
    else:
        cases.append(_Piece("", items=[otherwise]))
    lines: list[Text] = []
    for case in cases:
        branch, *conditions = case.items or []  # no condition in the last case
        when = (r" & \text{if } ", conditions[0].text) if conditions else (r" & \text{otherwise}",)
        lines.append((r" \\ " if lines else "", branch.text, *when))
    return _Piece((r"\begin{cases} ", lines, r" \end{cases}"), CONDITIONAL, "cases", tall=True, items=cases)


def _index(thing: _Piece, keys: _Piece) -> _Piece:
    """Return an element with its position as a subscript; what is indexed gets brackets unless it is a name without a subscript."""
    takes_subscript = thing.level == ATOM and thing.begins == "name" and thing.items is None
    base = thing if takes_subscript else _bracketed(thing)
    return _Piece((base.text, "_{", _commas(keys.items or [], ","), "}"), begins="name", tall=thing.tall, items=[])


def _attribute(thing: _Piece, name: str) -> _Piece:
    """Return a transposed matrix, or another attribute as a function of its object."""
    if name in ("T", "mT"):
        return _Piece((thing.at_least(ATOM).text, r"^{\top}"), POWER, thing.begins, ends="other", tall=True)
    return _Piece((rf"\operatorname{{{escaped(name)}}}", _in_brackets([thing])), begins="name", ends="bracket", tall=thing.tall)


def _comparison(*parts: _Piece) -> _Piece:
    """Return a chain of comparisons from its operands and, at odd positions, its signs."""
    return _Piece([part.text if i % 2 else part.at_least(SUM).text for i, part in enumerate(parts)], COMPARISON, tall=_tall(parts))


def _list(*items: _Piece) -> _Piece:
    """Return a list of lists of the same length, not 0, as a matrix, and any other list in square brackets."""
    rows = [(item.items or []) if item.begins == "list" else [] for item in items]  # empty for an item that is not a list
    lengths = {len(row) for row in rows}
    if len(lengths) == 1 and 0 not in lengths:
        lines = tuple((r" \\ " if i else "", _commas(row, " & ")) for i, row in enumerate(rows))
        return _Piece((r"\begin{bmatrix} ", lines, r" \end{bmatrix}"), tall=True)
    left, right = (r"\left[", r"\right]") if _tall(items) else ("[", "]")
    return _Piece((left, _commas(items), right), begins="list", tall=_tall(items), items=[*items])


# Calls


def _over_index(name: str, index: _Piece, body: _Piece) -> _Piece:
    """Return a sum or product over an index; its precedence is that of a sum, so that it gets brackets as a factor."""
    symbol, low, high = index.items or []
    text = (rf"\{name}_{{", symbol.text, " = ", low.text, "}^{", high.text, "} ", body.at_least(_PRODUCT).text)
    return _Piece(text, SUM, "other", tall=True)


def _equation(left: _Piece, right: _Piece) -> _Piece:
    return _Piece((left.text, " = ", right.text), begins="keyword", tall=left.tall or right.tall, items=[left, right])


def _defined(name: str, bound: _Piece, body: _Piece) -> _Piece:
    """Return a root, an argmin or an integral; ``bound`` is the range, or the unknown with its start, which is not written."""
    symbol, *ends = bound.items or []
    if name == "integral":
        low, high = ends
        text = (r"\int_{", low.text, "}^{", high.text, "} ", body.at_least(_PRODUCT).text, r" \, d", symbol.text)
        return _Piece(text, SUM, "other", tall=True)
    sign = r"\operatorname{root}" if name == "root" else r"\operatorname*{arg\,min}"
    return _Piece((sign, "_{", symbol.text, "}", _in_brackets([body])), begins="name", ends="bracket", tall=body.tall)


def _call(name: str, arguments: list[_Piece]) -> _Piece:
    """Return the LaTeX of a call, in the notation of the function if it has one for these arguments."""
    if name in DEFINING and len(arguments) == 2 and arguments[0].begins in ("keyword", "range"):
        return _defined(name, *arguments)
    if name in ("sum", "prod") and len(arguments) == 2 and arguments[0].begins == "range":
        return _over_index(name, *arguments)
    has_keyword = any(argument.begins == "keyword" for argument in arguments)  # a notation has no place for it
    if name in _NOTATION and not has_keyword:
        count, build = _NOTATION[name]
        if len(arguments) == count:
            return build(*arguments)
    if name in _ARITHMETIC and len(arguments) == OPERATORS[name].arity:
        return _BUILD[name](*arguments)
    sign, brackets = function(name), _in_brackets(arguments)
    result = _Piece((sign, brackets), begins="name", ends="bracket", tall=_tall(arguments), items=[])
    if name in RAISED and len(arguments) == 1 and "_" not in sign:  # it has room for an exponent
        result.called = (sign, brackets)
    return result


def _around(left: str, right: str) -> Callable[[_Piece], _Piece]:
    """Return the function that writes two signs around a piece."""
    return lambda x: _Piece((left, x.text, right), begins="other", tall=True)


def _norm(x: _Piece) -> _Piece:
    left, right = (r"\left\lVert ", r" \right\rVert") if x.tall else (r"\lVert ", r" \rVert")
    return _Piece((left, x.text, right), tall=True)


def _exponential(base: str) -> Callable[[_Piece], _Piece]:
    """Return the function that writes a piece as the exponent of ``e`` or ``2``."""
    return lambda x: _Piece((base, "^{", x.text, "}"), POWER, "number" if base == "2" else "name", "other", True)


def _square(x: _Piece) -> _Piece:
    return _pow(x, _Piece("2", begins="number"))


def _root(x: _Piece) -> _Piece:
    return _Piece((r"\sqrt{", x.text, "}"), tall=True)


_ARITHMETIC = ("add", "sub", "mul", "div", "pow", "neg", "matmul")
"""Functions whose calls are written as operators."""
_ONE = _Piece("1", begins="number")
_matmul = _between(r" \mathbin{@} ", _PRODUCT)

_NOTATION: dict[str, tuple[int, Callable[..., _Piece]]] = {
    "mm": (2, _matmul),
    "square": (1, _square),
    "sqrt": (1, _root),
    "cbrt": (1, lambda x: _Piece((r"\sqrt[3]{", x.text, "}"), tall=True)),
    "rsqrt": (1, lambda x: _div(_ONE, _root(x))),
    "reciprocal": (1, lambda x: _div(_ONE, x)),
    "hypot": (2, lambda x, y: _root(_add(_square(x), _square(y)))),
    "exp": (1, _exponential("e")),
    "exp2": (1, _exponential("2")),
    "abs": (1, _around(r"\left| ", r" \right|")),
    "norm": (1, _norm),
    "frobenius_norm": (1, lambda x: _Piece((_norm(x).text, "_{F}"), tall=True)),
    "floor": (1, _around(r"\left\lfloor ", r" \right\rfloor")),
    "ceil": (1, _around(r"\left\lceil ", r" \right\rceil")),
    "inv": (1, lambda x: _pow(_bracketed(x) if x.level < ATOM else x, _Piece("-1", begins="other"))),
    "where": (3, lambda c, x, y: _conditional(x, c, y)),
}
"""Functions with their own notation: the number of arguments, and the function that builds the piece."""

_BUILD: dict[str, Callable[..., _Piece]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "pow": _pow,
    "neg": _negative,
    "pos": lambda x: _Piece(("+", x.at_least(_PRODUCT).text), _SIGNED, "minus", x.ends, x.tall),
    "matmul": _matmul,
    "product": lambda a, b: _mul(a, b, " "),
    "hadamard": lambda *parts: _elementwise(r" \odot ", parts),
    "kronecker": lambda *parts: _elementwise(r" \otimes ", parts),
    "hadamard_quotient": lambda *parts: _elementwise(r" \oslash ", parts),
    "remainder": _remainder,
    "floor_divide": _floor_divide,
    "logical_or": _between(r" \lor ", OR),
    "logical_and": _between(r" \land ", AND),
    "logical_not": lambda x: _Piece((r"\lnot ", x.at_least(COMPARISON + 1).text), NOT, tall=x.tall),
    "comparison": _comparison,
    "conditional": _conditional,
    "index": _index,
    **dict.fromkeys(("arguments", "subscripts"), lambda *parts: _Piece("", items=[*parts])),
    "list": _list,
    "slice": lambda *parts: _Piece([part.text for part in parts]),
    "ellipsis": lambda _: _Piece(r"\ldots"),
    **dict.fromkeys(("keyword", "equation"), _equation),
    "index_range": lambda *parts: _Piece(
        (parts[0].text, " = ", parts[1].text, r", \ldots, ", parts[2].text), begins="range", items=[*parts]
    ),
    "assignment": lambda name, value: _Piece((name.text, " = ", value.text)),
    "unpack": lambda *parts: _Piece((_commas(parts[:-1]), " = ", parts[-1].text)),
    "start": lambda *parts: parts[0] if len(parts) == 1 else _Piece(_commas(parts, r", \quad ")),
    "definition": lambda call, value: _Piece((call.text, " = ", value.text)),
    "definition_with_grad": lambda call, value, _, partials: _Piece(
        (call.text, " = ", value.text, r" \quad \text{with gradient } ", _in_brackets(partials.items or []))
    ),
    "augmented": lambda name, sign, value: _Piece((name.text, r" \mathrel{", sign.text, "} ", value.text)),
    "set_attribute": lambda thing, name, value: _Piece((_attribute(thing, name.text).text, " = ", value.text)),
    "set_index": lambda thing, keys, value: _Piece((_index(thing, keys).text, " = ", value.text)),
}

_RELATIONS = {"<": " < ", "<=": r" \le ", ">": " > ", ">=": r" \ge ", "==": " = ", "!=": r" \ne "}


def _number(text: str) -> _Piece:
    """Return the LaTeX of a number, which may be a product with a power of ten, or only such a power."""
    latex = number(text)
    return _Piece(latex, _PRODUCT if "cdot" in latex else POWER if "^" in latex else ATOM, "number")


def _name(text: str) -> _Piece:
    """Return the LaTeX of a name; a text that begins with ``$`` is LaTeX already."""
    latex = r"\infty" if text == "inf" else text[1:] if text.startswith("$") else identifier(text)
    return _Piece(latex, begins="name", items=[] if "_" in latex else None)


_TOKENS: dict[str, Callable[[str], _Piece]] = {
    "NAME": _name,
    "NUMBER": _number,
    "STRING": lambda text: _Piece(rf"\text{{{escaped(text)}}}"),
    "COMPARISON": lambda text: _Piece(_RELATIONS[text]),
    "AUGMENTED": lambda text: _Piece(escaped(text)),
    "COLON": lambda text: _Piece(":"),
    "ELLIPSIS": lambda text: _Piece(r"\ldots"),
}
