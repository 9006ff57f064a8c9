"""Derivatives of arrays with respect to a leaf."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.compiler.gradient import gradient
from autodiff_cli.evaluation.lowering import lower
from autodiff_cli.postorder import postorder
from autodiff_cli.symbolic.formula import Formula
from autodiff_cli.symbolic.from_trace import formulas
from autodiff_cli.symbolic.matrices.arrays import Array, Arrays
from autodiff_cli.symbolic.short_form import ShortForms
from autodiff_cli.symbolic.to_trace import retraced


class Derivative:
    """The derivatives of arrays with respect to one leaf.

    Args:
        arrays: the factory of the arrays.
        leaf: the variable to differentiate with respect to.
        short_forms: the search for short forms of elementwise derivatives.
    """

    def __init__(self, arrays: Arrays, leaf: Array, short_forms: ShortForms) -> None:
        self.arrays = arrays
        self.leaf = leaf
        self.short_forms = short_forms

    def of_array(self, array: Array) -> Array:
        """Return the derivative of an array; its dimensions are those of the array, then those of the leaf."""
        derivatives: dict[Array, Array] = {}
        for node in postorder([array], self._inside):
            derivatives[node] = self._derivative(node, derivatives)
        return derivatives[array]

    def _inside(self, array: Array) -> Sequence[Array]:
        if array.kind == "map":
            return self.arrays.atoms(array.formula)
        if array.kind == "contraction":
            return [factor for factor, _ in array.parts]
        return array.parts

    def _derivative(self, array: Array, inner: dict[Array, Array]) -> Array:
        arrays = self.arrays
        dims = array.dims + self.leaf.dims
        if array is self.leaf:
            first, second = arrays.labels(array), arrays.labels(array)
            pairs = zip(array.dims, first, second, strict=True)
            return arrays.contraction([(arrays.identity(length), (i, j)) for length, i, j in pairs], first + second)
        terms: list[Array] = []
        if array.kind == "sum":
            terms = [inner[term] for term in array.parts]
        elif array.kind == "map":
            atoms = [atom for atom in arrays.atoms(array.formula) if not arrays.is_zero(inner[atom])]
            for atom, slope in zip(atoms, self._slopes(array.formula, [atom.symbol for atom in atoms]), strict=True):
                own, wrt = arrays.labels(array), arrays.labels(self.leaf)
                slope_dims = arrays.broadcast(atom.dims for atom in arrays.atoms(slope))
                slope_map = arrays.map(slope, slope_dims)
                factors = [(slope_map, arrays.aligned(slope_map, own, array.dims))]
                factors.append((inner[atom], arrays.aligned(atom, own, array.dims) + wrt))
                factors += [(arrays.ones(length), (label,)) for length, label in zip(array.dims, own, strict=True)]
                terms.append(arrays.contraction(factors, own + wrt))
        elif array.kind == "contraction":
            for place, (factor, own) in enumerate(array.parts):
                if not arrays.is_zero(inner[factor]):
                    wrt = tuple(-1 - i for i in range(len(self.leaf.dims)))
                    rest = [*array.parts[:place], (inner[factor], own + wrt), *array.parts[place + 1 :]]
                    terms.append(arrays.contraction(rest, array.labels + wrt, array.coefficient))
        elif array.kind == "product" and not arrays.is_zero(inner[array.parts[0]]):
            (operand,) = array.parts
            own, wrt = arrays.labels(operand), arrays.labels(self.leaf)
            kept = tuple(label for place, label in enumerate(own) if place not in array.labels)
            reciprocal = arrays.map(arrays.algebra.product([(operand.formula, -Fraction(1))]), operand.dims)
            return arrays.contraction([(array, kept), (reciprocal, own), (inner[operand], own + wrt)], kept + wrt)
        elif array.kind in ("inverse", "determinant") and not arrays.is_zero(inner[array.parts[0]]):
            (matrix,) = array.parts
            (i, j), (a, b), wrt = arrays.labels(matrix), arrays.labels(matrix), arrays.labels(self.leaf)
            if array.kind == "determinant":
                factors = [(array, ()), (arrays.inverse(matrix), (b, a)), (inner[matrix], (a, b, *wrt))]
                return arrays.contraction(factors, wrt)
            return arrays.contraction([(array, (i, a)), (inner[matrix], (a, b, *wrt)), (array, (b, j))], (i, j, *wrt), Fraction(-1))
        return arrays.sum(terms, dims)

    def _slopes(self, formula: Formula, symbols: Sequence[Formula]) -> list[Formula]:
        """Return the derivatives of an elementwise formula with respect to symbols."""
        names = [symbol.name for symbol in symbols]
        others = [atom.symbol.name for atom in self.arrays.atoms(formula) if atom.symbol not in symbols]
        tape, outputs, variables = retraced(formula, [*names, *others])
        own = len(tape.instructions)
        with np.errstate(all="ignore"), set_grad_enabled(False):
            slopes = lower(tape, gradient(outputs[0], [variables[name] for name in names]))
        return [self.short_forms.shortest(slope) for slope in formulas(self.arrays.algebra, slopes, own)]
