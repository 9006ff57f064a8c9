"""Conversion of formulas to readable syntax trees with named common subexpressions."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce

from autodiff_cli.language.operators import COMPARISONS, OPERATORS
from autodiff_cli.language.tree import Syntax, binding, call_tree, name_tree, new_token, new_tree, number_tree, unparse, walk
from autodiff_cli.postorder import postorder
from autodiff_cli.symbolic.constants import Coefficient, to_float
from autodiff_cli.symbolic.formula import DEFINED, NOWHERE, Exponent, Formula, factors_of, in_order

LONG = 240  # the largest length of a formula whose common parts are written repeatedly instead of assigned to names
_LEAST_GAIN = 4  # the number of characters that a name for a common part must save
_NAME, _STATEMENT = 2, 6  # the numbers of characters of a name such as ``v1``, and of its statement ``v1 = ...; `` without the part
SHORT = 7  # the largest length of a common part that is written repeatedly
_PARTS = ("add", "sub", "mul", "div", "pow", "matmul", "call", "conditional", "logical_and", "logical_or")
_OPERATORS = {**dict.fromkeys(("add", "sub", "mul", "div", "matmul", "attribute", "neg"), 1), "arguments": 2, "pow": 2}
"""The lengths of the characters that nodes write besides their children, without brackets."""
_NAMED = ("root", "argmin")  # the functions whose values have a name wherever they occur in a formula
_LETTERS = {"sub": "r", "matmul": "z", "sigmoid": "p", "softmax": "p", "solve": "u"}
"""The usual name of a residual, of a product of matrices, and of the result of some functions."""
_MOST_EXACT = 10**15  # the smallest integer that is rounded to a float


def to_tree(formula: Formula, taken: Iterable[str] = ()) -> Syntax:
    """Convert a formula to an expression, preceded by statements ``v1 = ...`` if it is long, which assign no names ``taken``."""
    tree = expression_tree(formula)
    is_long = formula.size > LONG or any(node.name == DEFINED for node in in_order([formula]))
    return with_names(tree, taken) if is_long else new_tree("start", tree)


def expression_tree(formula: Formula) -> Syntax:
    """Convert a formula to the syntax tree of an expression."""
    return _Builder(formula).trees[formula]


def with_names(tree: Syntax, taken: Iterable[str] = ()) -> Syntax:
    """Return a program in which common parts of an expression have names, except ``taken`` ones, where the text gets shorter."""
    nodes, number_of = _distinct_nodes(tree)
    uses = _uses(nodes, number_of)
    trees: list[Syntax] = []
    lengths: list[int] = []
    statements: list[Syntax] = []
    names = set(taken)
    for number, node in enumerate(nodes):
        children = [number_of[child] for child in _parts_of(node)]
        tree = node.with_children([trees[child] for child in children]) if children else node
        length = len(_own_text(node)) + _OPERATORS.get(node.kind, 0) + sum(lengths[child] for child in children)
        gain = (uses[number] - 1) * (length - _NAME) - _STATEMENT
        is_worth_a_name = length > SHORT and gain >= _LEAST_GAIN
        is_whole = number == len(nodes) - 1
        must_have_name = node.kind == "call" and node.children[0].text in _NAMED and not is_whole
        if node.kind in _PARTS and (is_worth_a_name or must_have_name):
            name = _free_name(node, names)
            names.add(name)
            statements.append(new_tree("assignment", new_token("NAME", name), tree))
            tree, length = name_tree(name), len(name)
        trees.append(tree)
        lengths.append(length)
    return new_tree("start", *statements, trees[-1])


def _uses(nodes: Sequence[Syntax], number_of: Mapping[Syntax, int]) -> Counter[int]:
    """Return how often each distinct node is used, by its number; each of the calls that share their arguments uses them."""
    uses = Counter[int]()
    for number, node in reversed([*enumerate(nodes)]):
        for child in _parts_of(node):
            uses[number_of[child]] += uses[number] if node.kind == "arguments" else 1
    return uses


def _distinct_nodes(tree: Syntax) -> tuple[list[Syntax], dict[Syntax, int]]:
    """Return one node of each set of equal nodes of a tree, in postorder, and the index of its set for each node."""
    numbers: dict[tuple[object, ...], int] = {}
    number_of: dict[Syntax, int] = {}
    nodes: list[Syntax] = []
    for node in postorder([tree], _parts_of):
        key = (node.kind, _own_text(node), *(number_of[child] for child in _parts_of(node)))
        number_of[node] = numbers.setdefault(key, len(numbers))
        if number_of[node] == len(nodes):  # the key is new
            nodes.append(node)
    return nodes, number_of


def with_names_replaced(tree: Syntax, value: Callable[[str], Syntax | None]) -> Syntax:
    """Return a tree in which other trees replace the names for which ``value`` returns one."""
    trees: dict[Syntax, Syntax] = {}
    for node in postorder([tree], lambda node: node.children):
        new = value(node.children[0].text) if node.kind == "name" else None
        trees[node] = new or node.with_children([trees[child] for child in node.children])
    return trees[tree]


def _parts_of(node: Syntax) -> list[Syntax]:
    """Return the parts of a node that may have names; those of a call that binds names depend on them."""
    return [] if binding(node) else node.children


def _own_text(node: Syntax) -> str:
    """Return the text of a node without that of its parts."""
    return unparse(node) if binding(node) else node.text


def _free_name(node: Syntax, taken: Container[str]) -> str:
    """Return the usual name of a part, or ``v1``, ``v2`` and so on; for a root or a minimum, the name of the unknown."""
    called = node.children[0].text if node.kind == "call" else node.kind
    bound = binding(node) if called in _NAMED else None
    usual = bound.names[0] if bound else _LETTERS.get(called, "v1")
    candidates = itertools.chain([usual], (f"v{number}" for number in itertools.count(1)))
    return next(name for name in candidates if name not in taken)


class _Builder:
    """The conversion of a formula; ``trees`` contains the tree of each of its parts."""

    def __init__(self, formula: Formula) -> None:
        self.trees: dict[Formula, Syntax] = {}
        for node in in_order([formula]):
            self.trees[node] = self._tree(node)

    def _tree(self, node: Formula) -> Syntax:
        """Convert a formula whose parts are converted."""
        if node.kind == "symbol":
            return new_tree(node.name) if node.name in ("true", "false") else name_tree(node.name)
        if node.kind == "sum":
            return self._sum(node.parts)
        if node.kind == "product":
            return self._product(node.coefficient, node.parts)
        if node.name == DEFINED:
            defined: Syntax = node.parts[0].notation([self.trees[part] for part in node.parts[1:]])
            return defined
        parts = [self.trees[part] if type(part) is Formula else _literal(part) for part in node.parts]
        if node.name == "where":
            return new_tree("conditional", parts[1], parts[0], parts[2])
        if node.name in COMPARISONS:
            return new_tree("comparison", parts[0], new_token("COMPARISON", COMPARISONS[node.name]), parts[1])
        if node.name in OPERATORS:
            return _joined(node.name, parts)
        return call_tree(node.name, *parts)

    # Sums

    def _sum(self, parts: Sequence[tuple[Formula, Coefficient]]) -> Syntax:
        """Return a sum with ordered terms; a term with a positive coefficient, if there is any, comes first."""
        terms = sorted(parts, key=lambda pair: _term_key(pair[0]))
        first = next((i for i, (_, count) in enumerate(terms) if count >= 0), 0)
        terms.insert(0, terms.pop(first))
        tree = self._term(*terms[0])
        for term, count in terms[1:]:
            kind, size = ("sub", -count) if count < 0 else ("add", count)
            tree = new_tree(kind, tree, self._term(term, size))
        return tree

    def _term(self, term: Formula, count: Coefficient) -> Syntax:
        """Return a multiple of a term."""
        if count == 1:
            return self.trees[term]
        return self._product(count, factors_of(term))

    # Products

    def _product(self, coefficient: Coefficient, factors: Sequence[tuple[Formula, Exponent]]) -> Syntax:
        """Return a product such as ``2*a*x/(3*b)``, with ordered factors and negative exponents in the denominator."""
        above: list[Syntax] = []
        below: list[Syntax] = []
        negated_sum = self._negated_sum(factors) if coefficient < 0 else None  # which has the sign of the product
        for base, exponent in sorted(factors, key=lambda pair: _factor_key(*pair)):
            if base is negated_sum:
                above.append(self._sum([(term, -count) for term, count in base.parts]))
            elif type(exponent) is Fraction and exponent < 0:
                below.append(self._power(base, -exponent))
            else:
                above.append(self._power(base, exponent))
        numerator, denominator = _as_fraction(-coefficient if coefficient < 0 else coefficient)
        if numerator is not None or not above:
            above.insert(0, numerator or number_tree("1"))
        if denominator is not None:
            below.insert(0, denominator)
        if coefficient < 0 and negated_sum is None:
            above[0] = new_tree("neg", above[0])
        tree = _joined("mul", above)
        return new_tree("div", tree, _joined("mul", below)) if below else tree

    def _negated_sum(self, factors: Sequence[tuple[Formula, Exponent]]) -> Formula | None:
        """Return the factor that absorbs a negative sign, or ``None``: the only sum, ``-(x - m)/s`` becomes ``(m - x)/s``."""
        sums = [base for base, exponent in factors if base.kind == "sum" and exponent == 1]
        return sums[0] if len(sums) == 1 and any(count < 0 for _, count in sums[0].parts) else None

    def _power(self, base: Formula, exponent: Exponent) -> Syntax:
        """Return a power such as ``sqrt(x)``, ``x**1.5``, ``x**(1/3)`` or ``x**n``."""
        if exponent == 1:
            return self.trees[base]
        if exponent == Fraction(1, 2):
            return call_tree("sqrt", self.trees[base])
        if isinstance(exponent, Formula):
            tree = self.trees[exponent]
        elif exponent.denominator in (2, 4, 8):
            tree = number_tree(_decimal(exponent))
        else:
            tree = self._product(exponent, ())
        return new_tree("pow", self.trees[base], tree)


# Order


def in_written_order(names: Sequence[str], program: Syntax) -> list[str]:
    """Sort names so that ``b`` comes before ``x`` if the program contains ``b*x``; others keep their order."""
    before: dict[str, set[str]] = {}  # the names that come before a name
    for node in walk(program):
        if node.kind == "mul":
            left, right = node.children
            first, second = _factor(left.children[1] if left.kind == "mul" else left), _factor(right)
            is_contradicted = second in before.get(first, ())  # by an earlier product
            if first in names and first != second and not is_contradicted:
                before.setdefault(second, set()).add(first)
    rest, result = list(names), []
    while rest:  # take the first name before which no other comes; in a cycle, the first of all
        name = next((name for name in rest if before.get(name, set()).isdisjoint(rest)), rest[0])
        rest.remove(name)
        result.append(name)
    return result


def _factor(tree: Syntax) -> str:
    """Return the name that a factor is, with a sign or as the base of a power, or an empty text."""
    while tree.kind in ("pow", "neg"):
        tree = tree.children[0]
    return tree.children[0].text if tree.kind == "name" else ""


def _factor_key(base: Formula, exponent: Exponent) -> tuple[int, int, int]:
    """Return the sort key of a factor: its rank, the place of its first variable, and the number of its base.

    The ranks are 0 for a constant such as pi, 1 for a variable, 2 for a sum, 3 for a function and a power with a variable in the
    exponent, and 4 for other numbers such as log(2).
    """
    inside = exponent.place if isinstance(exponent, Formula) else NOWHERE
    place = min(base.place, inside)
    if place == NOWHERE:
        return (0 if base.kind == "symbol" else 4, 0, base.number)
    rank = 3 if isinstance(exponent, Formula) else {"symbol": 1, "sum": 2}.get(base.kind, 3)
    return (rank, place, base.number)


def _term_key(term: Formula) -> tuple[int, Fraction, int, int]:
    """Return the sort key of a term: numbers last, higher powers of variables first, then by first variable and by number."""
    powers = [e for base, e in factors_of(term) if base.kind == "symbol" and base.place < NOWHERE and type(e) is Fraction]
    return (1 if term.value is not None else 0, -max(powers, default=Fraction(0)), term.place, term.number)


# Numbers


def _as_fraction(value: Coefficient) -> tuple[Syntax | None, Syntax | None]:
    """Return the numerator and the denominator of a coefficient, ``None`` for 1: 3/2 as a fraction, 0.1 as a decimal number."""
    if isinstance(value, float):
        return name_tree(repr(value)), None
    top, bottom = value.numerator, value.denominator
    is_decimal = bottom % 5 == 0 and bottom % 3 != 0  # a person writes 0.2, but 1/15
    is_short_fraction = max(top, bottom) < 1000 and not is_decimal
    if not (top < _MOST_EXACT if bottom == 1 else is_short_fraction):
        return number_tree(_decimal(value)), None
    return (None if top == 1 else number_tree(str(top))), (None if bottom == 1 else number_tree(str(bottom)))


def _decimal(value: Fraction) -> str:
    """Return a fraction as a literal of the language, with 1e999 for infinity, because the language lacks an infinite literal."""
    short = to_float(value)
    return repr(short).removesuffix(".0") if math.isfinite(short) else "1e999"


# Trees


def _literal(value: object) -> Syntax:
    return new_tree("none") if value is None else new_tree("string", new_token("STRING", f'"{value}"'))


def _joined(operator: str, parts: Sequence[Syntax]) -> Syntax:
    """Combine operands with a left-associative operator."""
    if len(parts) == 1:
        return new_tree(operator, parts[0]) if OPERATORS[operator].arity == 1 else parts[0]
    return reduce(lambda left, right: new_tree(operator, left, right), parts)
