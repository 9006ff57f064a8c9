"""Likely mistakes of wrong claims, found by comparing the terms of a claim with those of the right formula at random values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from autodiff_cli.errors import AutodiffError
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax, new_tree, unparse
from autodiff_cli.symbolic.differentiate import as_length, diff
from autodiff_cli.symbolic.matrices.diff import random_values
from autodiff_cli.symbolic.to_trace import Numbers, formula_values

_SEEDS, _CLOSE = (1, 5), 1e-9  # of the random values of the variables, and the largest relative difference of equal numbers


def mistake(expression: str, values: Mapping[str, Any], name: str, claim: str) -> str | None:
    """Return a sentence with the right derivative and the likely mistake, if there is one.

    The claim is a formula of the derivative of a scalar expression with respect to the variable ``name``.  ``values`` are those
    of the variables and constants, of which only the shapes matter.  The result is ``None`` if the derivative has no formula, or
    if this formula or the claim cannot be evaluated at random values.
    """
    shapes = {key: np.shape(value) for key, value in values.items()}
    array_shapes = {key: ",".join(map(str, shape)) for key, shape in shapes.items() if shape}
    try:
        (right,) = diff(expression, wrt=[name], shape=array_shapes).trees.values()
        lengths = {key: tuple(map(as_length, shape)) for key, shape in shapes.items()}
        points = [random_values(lengths, symmetric=(), seed=seed) for seed in _SEEDS]
        program = unparse(parse(expression))  # without a comment, which would hide what follows it
        comparison = _Comparison(program, points, _only_statement(right), _only_statement(parse(claim)))
    except AutodiffError:
        return None
    verdict = comparison.verdict_on_claim()
    return f"the right derivative is {unparse(right)}" + (f"; the claim {verdict}" if verdict else "")


class _Comparison:
    """Compares a claim, which may use names that the program assigns, with the right formula at several points."""

    def __init__(self, program: str, points: list[dict[str, Any]], right: Syntax, claim: Syntax) -> None:
        self.program, self.points = program, points
        self.exact = self._numbers(right)
        self.claimed = self._numbers(claim, self.exact)
        self.right, self.claim = right, claim

    def _numbers(self, tree: Syntax, like: list[Numbers] | None = None) -> list[Numbers]:
        """Return the values of a formula at the points, broadcast to the shapes of the numbers ``like`` if there are some."""
        text = f"{self.program}; {unparse(tree)}"
        values = [formula_values(text, point) for point in self.points]
        return [np.broadcast_to(a, b.shape) for a, b in zip(values, like, strict=True)] if like else values

    def verdict_on_claim(self) -> str | None:
        """Return what is wrong with the claim, such as ``has the opposite sign``; ``None`` if it is none of the usual mistakes."""
        factor = _quotient(self.claimed, self.exact)
        if factor == 1:  # but not at the checked point, or not to all digits
            return "agrees with it at random positive values, to 9 digits"
        if factor == -1:
            return "has the opposite sign"
        if factor:  # not 0, which lacks every term
            return f"is {factor} of it" if 0 < factor < 1 else f"is {factor} times it"
        if all(array.ndim == 2 and array.shape[0] == array.shape[1] for array in self.exact):  # square matrices
            factor = _quotient(self.claimed, [array.T for array in self.exact])
            if factor:
                return "is its transpose" if factor == 1 else f"is {factor} times its transpose"
        return self._wrong_term()

    def _wrong_term(self) -> str | None:
        """Return the term by a multiple of which the claim differs from the right formula; ``None`` without such a term."""
        difference = [exact - claimed for exact, claimed in zip(self.exact, self.claimed, strict=True)]
        for term in _terms(self.right):
            missing = _quotient(difference, self._numbers(term, self.exact))
            if missing:  # instead of the term, the claim has 1 - missing times the term
                kinds = {Fraction(1): "lacks", Fraction(2): "has the opposite sign in"}
                return f"{kinds.get(missing, f'has {1 - missing} times')} the term {unparse(term)}"
        for term in _terms(self.claim):
            if _quotient(difference, self._numbers(term, self.exact)) == -1:  # the claim is the right formula plus the term
                return f"has the term {unparse(term)} too many"
        return None


def _only_statement(tree: Syntax) -> Syntax:
    """Return the expression of a program of one statement, and any other tree unchanged."""
    return tree.children[0] if tree.kind == "start" and len(tree.children) == 1 else tree


def _quotient(values: list[Numbers], unit: list[Numbers]) -> Fraction | None:
    """Return the fraction, with a denominator of at most 12, for which values are ``fraction*unit``; ``None`` if there is none."""
    a = np.concatenate([np.ravel(array) for array in values])
    b = np.concatenate([np.ravel(array) for array in unit])
    with np.errstate(all="ignore"):
        ratio = float(a @ b / (b @ b))  # the least-squares solution of a = ratio*b
    if not np.isfinite(ratio):  # the unit is 0 everywhere, or a value is not finite
        return None
    factor = Fraction(ratio).limit_denominator(12)
    return factor if np.allclose(a, float(factor) * b, rtol=_CLOSE, atol=_CLOSE * np.abs(a).max()) else None


def _terms(tree: Syntax) -> Iterator[Syntax]:
    """Yield the terms of a sum from left to right, each with its sign: ``a``, ``-b`` and ``c`` for ``a - (b - c)``."""
    work = [(tree, False)]  # the last item is the next one
    while work:
        node, is_negative = work.pop()
        if node.kind in ("add", "sub"):
            left, right = node.children
            right_is_negative = not is_negative if node.kind == "sub" else is_negative
            work += [(right, right_is_negative), (left, is_negative)]
        elif node.kind == "neg" and node.children[0].kind in ("add", "sub"):
            work.append((node.children[0], not is_negative))
        else:
            yield new_tree("neg", node) if is_negative else node
