"""Numerically stable rewrites of expressions that lose digits or overflow, matched on the syntax tree."""

from __future__ import annotations

import functools

from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax, unparse, walk

# ``a`` and ``b`` match any expression.  ``x`` and ``y`` match only names: the value of a variable is exact, so the difference of
# two variables does not lose digits.
_CANCELS = """
log(1 + a)            log1p(a)
log(a + 1)            log1p(a)
log(1 - a)            log1p(-a)
exp(a) - 1            expm1(a)
1 - exp(a)            -expm1(a)
1 - cos(a)            2*sin(a/2)**2
cos(a) - 1            -2*sin(a/2)**2
cosh(a) - 1           2*sinh(a/2)**2
1 - cosh(a)           -2*sinh(a/2)**2
1 - sin(a)**2         cos(a)**2
1 - cos(a)**2         sin(a)**2
1 - tanh(a)**2        1/cosh(a)**2
1 - tanh(a)           2*sigmoid(-2*a)
1 - sigmoid(a)        sigmoid(-a)
1 - erf(a)            erfc(a)
1 - erfc(a)           erf(a)
1 - ndtr(a)           ndtr(-a)
sqrt(1 + a) - 1       a/(sqrt(1 + a) + 1)
sqrt(a + 1) - 1       a/(sqrt(a + 1) + 1)
sqrt(x) - sqrt(y)     (x - y)/(sqrt(x) + sqrt(y))
x**2 - y**2           (x - y)*(x + y)
1 - x**2              (1 - x)*(1 + x)
x**2 - 1              (x - 1)*(x + 1)
mean(a**2) - mean(a)**2   mean((a - mean(a))**2)
log(sigmoid(a))       logsigmoid(a)
log(ndtr(a))          log_ndtr(a)
log(softmax(a))       log_softmax(a)
exp(x) - exp(y)       exp(y)*expm1(x - y)
log(x) - log(y)       log1p((x - y)/y)
"""
_OVERFLOWS = """
sqrt(a**2 + b**2)     hypot(a, b)
sqrt(a**2 + 1)        hypot(a, 1)
sqrt(1 + a**2)        hypot(1, a)
sqrt(a*a + b*b)       hypot(a, b)
sqrt(a*a + 1)         hypot(a, 1)
sqrt(1 + a*a)         hypot(1, a)
sqrt(a**2 + b)        hypot(a, sqrt(b))
sqrt(b + a**2)        hypot(sqrt(b), a)
sqrt(sum(a**2))       norm(a)
sqrt(a**2)            abs(a)
log(exp(a) + exp(b))  logaddexp(a, b)
log(sum(exp(a)))      logsumexp(a, 0)
log(1 + exp(a))       softplus(a)
log(exp(a) + 1)       softplus(a)
log(cosh(a))          softplus(2*a) - a - log(2)
exp(a)/sum(exp(a))    softmax(a)
1/(1 + exp(-a))       sigmoid(a)
exp(a)/(1 + exp(a))   sigmoid(a)
log(gamma(a))         lgamma(a)
log(prod(a))          sum(log(a))
log(a*b)              log(a) + log(b)
log(a/b)              log(a) - log(b)
1/(1 + exp(a))        sigmoid(-a)
exp(a)/exp(b)         exp(a - b)
exp(a)/(exp(a) + 1)   sigmoid(a)
log(exp(a))           a
log(1 + exp(-a))      softplus(-a)
log(exp(a) - 1)       a + log(-expm1(-a))
gamma(a)/gamma(b)     exp(lgamma(a) - lgamma(b))
sinh(a)/cosh(a)       tanh(a)
(exp(a) - exp(-a))/(exp(a) + exp(-a))   tanh(a)
"""


@functools.cache
def _table(overflow: bool) -> list[tuple[Syntax, str]]:
    rows = (row.split("  ", 1) for row in (_OVERFLOWS if overflow else _CANCELS).strip().splitlines())
    return [(parse(pattern).children[0], better.strip()) for pattern, better in rows]


def way_out(tree: Syntax, program: Syntax, overflow: bool = False) -> str | None:
    """Return a stable rewrite of a subexpression, or ``None`` if none is known.

    Args:
        tree: the syntax tree of the subexpression.
        program: the syntax tree of the program.
        overflow: whether the subexpression overflows instead of losing digits; if so, an enclosing expression may be rewritten.
    """
    start, end = tree.span
    around = [node for node in walk(program) if node.span[0] <= start and end <= node.span[1]] if overflow else [tree]
    for node in around:
        for pattern, better in _table(overflow):
            result: dict[str, Syntax] = {}
            if _matches(pattern, node, result):
                written = parse(better).children[0]
                names = {part.text for part in walk(written) if part.kind == "NAME"} - set(result)
                if all(name in FUNCTIONS for name in names):
                    return unparse(_filled(written, result))
    return None


def _matches(pattern: Syntax, tree: Syntax, bindings: dict[str, Syntax]) -> bool:
    pairs = [(pattern, tree)]
    while pairs:
        expected, actual = pairs.pop()
        if expected.kind == "name":
            name = expected.children[0].text
            if name in ("x", "y") and actual.kind != "name":
                return False
            if unparse(bindings.setdefault(name, actual)) != unparse(actual):
                return False
        elif expected.kind == "number":
            if actual.kind != "number" or float(actual.children[0].text.replace("_", "")) != float(expected.children[0].text):
                return False
        elif expected.kind != actual.kind or len(expected.children) != len(actual.children):
            return False
        elif not expected.children:
            if expected.text != actual.text and FUNCTIONS.get(expected.text) is not FUNCTIONS.get(actual.text, expected):
                return False
        else:
            pairs.extend(zip(expected.children, actual.children, strict=True))
    return True


def _filled(tree: Syntax, bindings: dict[str, Syntax]) -> Syntax:
    """Substitute trees for the names of a pattern; recursion is safe, as patterns are small."""
    if tree.kind == "name" and tree.children[0].text in bindings:
        return bindings[tree.children[0].text]
    return Syntax(tree.kind, [_filled(child, bindings) for child in tree.children], tree.text, tree.span)
