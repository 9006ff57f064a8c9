"""Derivatives and differentials of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.compiler.gradient import gradient
from autodiff_cli.evaluation.lowering import lower
from autodiff_cli.postorder import postorder
from autodiff_cli.symbolic.formula import Formula
from autodiff_cli.symbolic.from_trace import formulas
from autodiff_cli.symbolic.matrices.arrays import Array, Arrays, Factor, Length
from autodiff_cli.symbolic.short_form import ShortForms
from autodiff_cli.symbolic.to_trace import retraced


class Derivative:
    """The derivatives of arrays, from those of the leaves.

    Args:
        arrays: the factory of the arrays.
        of_leaves: the derivatives of leaves, whose dimensions are those of the leaf, then ``dims``; those of other leaves are 0.
        dims: the dimensions of what one differentiates with respect to; none for differentials.
        short_forms: the search for short forms of elementwise derivatives.
    """

    def __init__(self, arrays: Arrays, of_leaves: dict[Array, Array], dims: tuple[Length, ...], short_forms: ShortForms) -> None:
        self.arrays = arrays
        self.of_leaves = of_leaves
        self.dims = dims
        self.short_forms = short_forms

    @classmethod
    def by(cls, leaf: Array, arrays: Arrays, short_forms: ShortForms) -> Derivative:
        """Return the derivatives with respect to a leaf, whose derivative by itself has the elements 1 and 0."""
        first, second = arrays.labels(leaf), arrays.labels(leaf)
        pairs = zip(leaf.dims, first, second, strict=True)
        unit = arrays.contraction([(arrays.identity(length), (i, j)) for length, i, j in pairs], first + second)
        return cls(arrays, {leaf: unit}, leaf.dims, short_forms)

    def of_array(self, array: Array) -> Array:
        """Return the derivative of an array; its dimensions are those of the array, then ``dims``."""
        derivatives: dict[Array, Array] = {}
        for node in postorder([array], self.arrays.inside):
            derivatives[node] = self._derivative(node, derivatives)
        return derivatives[array]

    def _derivative(self, array: Array, inner: Mapping[Array, Array]) -> Array:
        """Return the derivative of an array from those of the arrays from which it is computed, ``inner``; 0 for a constant."""
        if array in self.of_leaves:
            return self.of_leaves[array]
        rules = {"product": self._of_product, "inverse": self._of_inverse, "determinant": self._of_determinant}
        rules["cholesky"] = self._of_cholesky
        if array.kind in rules and not self.arrays.is_zero(inner[array.parts[0]]):  # of the only argument
            return rules[array.kind](array, inner[array.parts[0]])
        terms: list[Array] = []
        if array.kind == "sum":
            terms = [inner[term] for term in array.parts]
        elif array.kind == "map":
            terms = self._terms_of_map(array, inner)
        elif array.kind == "contraction":
            terms = self._terms_of_contraction(array, inner)
        return self.arrays.sum(terms, array.dims + self.dims)

    def _terms_of_map(self, array: Array, inner: Mapping[Array, Array]) -> list[Array]:
        """Return the terms of the chain rule: for each array in an elementwise formula, the slope times its derivative."""
        arrays, terms = self.arrays, list[Array]()
        atoms = [atom for atom in arrays.atoms(array.formula) if not arrays.is_zero(inner[atom])]
        for atom, slope in zip(atoms, self._slopes(array.formula, [atom.symbol for atom in atoms]), strict=True):
            own, wrt = arrays.labels(array), arrays.new_labels(len(self.dims))
            slope_map = arrays.map(slope, arrays.broadcast(atom.dims for atom in arrays.atoms(slope)))
            factors = [(slope_map, arrays.aligned(slope_map, own, array.dims))]
            factors.append((inner[atom], arrays.aligned(atom, own, array.dims) + wrt))
            # The ones have the dimensions to which the others are broadcast.
            factors += [(arrays.ones(length), (label,)) for length, label in zip(array.dims, own, strict=True)]
            terms.append(arrays.contraction(factors, own + wrt))
        return terms

    def _terms_of_contraction(self, array: Array, inner: Mapping[Array, Array]) -> list[Array]:
        """Return the terms of the product rule: for each factor, the contraction with its derivative in its place."""
        arrays, terms = self.arrays, list[Array]()
        wrt = tuple(-1 - i for i in range(len(self.dims)))  # the labels of a contraction are not negative
        for place, (factor, own) in enumerate(array.parts):
            if not arrays.is_zero(inner[factor]):
                factors = [*array.parts[:place], (inner[factor], own + wrt), *array.parts[place + 1 :]]
                terms.append(arrays.contraction(factors, array.labels + wrt, array.coefficient))
        return terms

    def _of_product(self, array: Array, inner: Array) -> Array:
        """Return ``prod(x)*sum(dx/x)`` for a product over the dimensions ``array.labels`` of ``x``; ``inner`` is ``dx``."""
        arrays, (operand,) = self.arrays, array.parts
        own, wrt = arrays.labels(operand), arrays.new_labels(len(self.dims))
        rest = tuple(label for place, label in enumerate(own) if place not in array.labels)
        reciprocal = arrays.map(arrays.algebra.product([(operand.formula, -Fraction(1))]), operand.dims)
        return arrays.contraction([(array, rest), (reciprocal, own), (inner, own + wrt)], rest + wrt)

    def _of_inverse(self, inverse: Array, inner: Array) -> Array:
        """Return ``-inv(A) @ dA @ inv(A)`` for an inverse ``inv(A)``; ``inner`` is ``dA``."""
        (i, j), (a, b), wrt = self.arrays.labels(inverse), self.arrays.labels(inverse), self.arrays.new_labels(len(self.dims))
        return self.arrays.contraction([(inverse, (i, a)), (inner, (a, b, *wrt)), (inverse, (b, j))], (i, j, *wrt), Fraction(-1))

    def _of_determinant(self, determinant: Array, inner: Array) -> Array:
        """Return ``det(A)*trace(inv(A) @ dA)`` for a determinant ``det(A)``; ``inner`` is ``dA``."""
        (matrix,) = determinant.parts
        (a, b), wrt = self.arrays.labels(matrix), self.arrays.new_labels(len(self.dims))
        return self.arrays.contraction([(determinant, ()), (self.arrays.inverse(matrix), (b, a)), (inner, (a, b, *wrt))], wrt)

    def _of_cholesky(self, factor: Array, inner: Array) -> Array:
        """Return ``L @ mask(inv(L) @ dS @ inv(L).T)`` for a factor ``L``, where ``dS``, which is ``inner``, is made symmetric.

        The mask keeps the elements below the diagonal, and halves those on it: I. Murray, Differentiation of the Cholesky
        decomposition, arXiv:1602.07527, equation 8.
        """
        arrays, inverse, length = self.arrays, self.arrays.inverse(factor), factor.dims[0]
        mask = arrays.sum([arrays.triangle(length), arrays.times(-Fraction(1, 2), arrays.identity(length))], factor.dims)
        (i, a), (b, c), (d, _), wrt = *(arrays.new_labels(2) for _ in range(3)), arrays.new_labels(len(self.dims))
        outside: list[Factor] = [(factor, (i, a)), (mask, (a, b)), (inverse, (a, c)), (inverse, (b, d))]
        terms = [arrays.contraction([*outside, (inner, ends + wrt)], (i, b, *wrt), Fraction(1, 2)) for ends in ((c, d), (d, c))]
        return arrays.sum(terms, factor.dims + self.dims)

    def _slopes(self, formula: Formula, symbols: Sequence[Formula]) -> list[Formula]:
        """Return the derivatives of an elementwise formula with respect to symbols."""
        names = [symbol.name for symbol in symbols]
        others = [atom.symbol.name for atom in self.arrays.atoms(formula) if atom.symbol not in symbols]
        tape, outputs, variables = retraced(formula, [*names, *others])
        own = len(tape.instructions)  # the instructions after these belong to VJP rules
        with np.errstate(all="ignore"), set_grad_enabled(False):
            slopes = lower(tape, gradient(outputs[0], [variables[name] for name in names]))
        return [self.short_forms.shortest(slope) for slope in formulas(self.arrays.algebra, slopes, own)]
