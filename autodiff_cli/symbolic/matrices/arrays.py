"""Vectors and matrices as formulas: elementwise formulas of arrays, contractions over indices, inverses and determinants.

A contraction is a product of factors with a label for each dimension; labels that the result does not have are summed over.  All
products of vectors and matrices are contractions: ``A @ x`` is ``A[i, j]*x[j]``, a trace is ``A[i, i]``, an outer product is
``x[i]*y[j]``.  Equal arrays of one ``Arrays`` are the same object.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, count, permutations, product
from typing import Any, TypeAlias, final

from autodiff_cli.errors import NotRecordable, ShapeError
from autodiff_cli.symbolic.constants import Coefficient
from autodiff_cli.symbolic.formula import Exponent, Formula, factors_of, in_order
from autodiff_cli.symbolic.normal_form import Algebra

Length: TypeAlias = str | int
"""The length of a dimension: a name, the digits of a number, ``m*n`` or ``n-1``; the length 1, which broadcasts, is an integer."""
Labels: TypeAlias = tuple[int, ...]
"""The labels of the dimensions of an array, in order."""
_MOST_ORDERS = 5
"""The largest number of like factors of a contraction of which all orders are tried to recognize equal contractions."""


def length_product(lengths: Iterable[Length]) -> Length:
    """Return the number of combinations of places, ``m*n``, or 1 without a longer length; raise ``NotRecordable`` for ``n-1``."""
    factors = [factor for length in lengths for factor in str(length).split("*")]
    if any("-" in factor for factor in factors):
        raise NotRecordable("a product of lengths such as n-1 has no formula", hint="give numbers as lengths")
    number = math.prod(int(factor) for factor in factors if factor.isdecimal())
    names = sorted(factor for factor in factors if not factor.isdecimal())
    return "*".join([str(number), *names] if number > 1 else names) or 1


@final
@dataclass(slots=True, eq=False)
class Array:
    """A number, a vector, a matrix, or an array of more dimensions.

    Attributes:
        kind: ``leaf``, ``map`` (an elementwise formula), ``contraction``, ``sum``, ``inverse``, ``determinant``, ``product`` (of
            elements), ``cholesky`` (a lower triangular factor), ``identity``, ``ones``, ``triangle`` (1 on and below the diagonal),
            ``rows`` (of an identity matrix), ``pairs`` (their numbers) or ``length`` (of a dimension).
        dims: the length of each dimension: a number, or a name.
        symbol: the symbol of the array in elementwise formulas.
        formula: the formula of a map; for other kinds, the symbol.
        coefficient: the coefficient of a contraction.
        parts: the pairs of array and labels of a contraction; the terms of a sum; the matrix of an inverse or a determinant.
        labels: the labels of the dimensions of a contraction; the dimensions over which a product is taken.
        symmetric: whether it is known to be a symmetric matrix.
        subscript: the index of the rows of an identity matrix, as text.
    """

    kind: str
    dims: tuple[Length, ...]
    symbol: Formula
    formula: Formula
    coefficient: Fraction = Fraction(1)
    parts: tuple[Any, ...] = ()
    labels: Labels = ()
    symmetric: bool = False
    subscript: str = ""


Factor: TypeAlias = tuple[Array, Labels]


class Arrays:
    """A factory of arrays; leaves appear in formulas in the order of their creation, and ``of_symbol`` has that of a symbol."""

    def __init__(self) -> None:
        self.algebra = Algebra()
        self.of_symbol: dict[Formula, Array] = {}
        self._known: dict[object, Array] = {}
        self._lengths: dict[Array, Length] = {}
        self._new_label = count(1_000).__next__  # labels of stored contractions begin at 0

    def _array(self, kind: str, dims: tuple[Length, ...], key: object, formula: Formula | None = None, **attributes: Any) -> Array:
        """Return the array that ``key`` tells from others of its kind and dimensions; create it if new, and find its symmetry."""
        if (kind, dims, key) not in self._known:
            parts = [part[0] if isinstance(part, tuple) else part for part in attributes.get("parts", ())]  # without labels
            place = formula.place if formula else min((part.symbol.place for part in parts), default=None)
            symbol = self.algebra.variable(f"%{len(self._known)}", place)
            array = self._known[kind, dims, key] = Array(kind, dims, symbol, formula or symbol, **attributes)
            self.of_symbol[symbol] = array
            is_square = len(dims) == 2 and dims[0] == dims[1]
            if is_square and kind == "map":
                array.symmetric = all(atom.symmetric or not atom.dims for atom in self.atoms(array.formula))
            elif is_square and kind == "contraction":  # it is its transpose
                array.symmetric = self.contraction(array.parts, array.labels[::-1], array.coefficient) is array
        return self._known[kind, dims, key]

    # Leaves

    def leaf(self, name: str, dims: tuple[Length, ...], symmetric: bool = False) -> Array:
        """Return a variable or a constant."""
        if ("leaf", name) not in self._known:
            symbol = self.algebra.variable(name)
            self._known["leaf", name] = self.of_symbol[symbol] = Array("leaf", dims, symbol, symbol, symmetric=symmetric)
        return self._known["leaf", name]

    def number(self, value: Coefficient) -> Array:
        """Return an exact number."""
        return self.map(self.algebra.rational(value), ())

    def identity(self, length: Length) -> Array:
        """Return an identity matrix."""
        return self._array("identity", (length, length), None, symmetric=True)

    def ones(self, length: Length) -> Array:
        """Return a vector of ones."""
        return self._array("ones", (length,), None)

    def rows(self, count: tuple[Length, ...], length: Length, subscript: str) -> Array:
        """Return ``eye(length)[subscript]``: one row if ``count`` is empty, or as many rows as its only length says."""
        if str(length).isdecimal() and subscript.lstrip("-").isdecimal() and not -int(length) <= int(subscript) < int(length):
            raise ShapeError(f"the place {subscript} is outside of a dimension of the length {length}")
        return self._array("rows", (*count, length), subscript, subscript=subscript)

    def triangle(self, length: Length) -> Array:
        """Return a square matrix of ones on and below the diagonal, and zeros above."""
        return self._array("triangle", (length, length), None)

    def pairs(self, first: Length, second: Length) -> Array:
        """Return the array that is 1 at ``[i*second + k, i, k]`` and else 0: it numbers the pairs of places of two dimensions."""
        return self._array("pairs", (length_product([first, second]), first, second), None)

    def length(self, length: Length) -> Array:
        """Return the number of elements of a dimension: a name, ``m*n``, or that of another less a number, ``n-1``."""
        if "*" in str(length):
            factors = [(self.length(factor).formula, Fraction(1)) for factor in str(length).split("*")]
            return self.map(self.algebra.product(factors), ())
        name, _, number = str(length).partition("-")
        if number:
            return self.map(self.algebra.sum([(self.length(name).formula, Fraction(1)), (self.algebra.one, -Fraction(number))]), ())
        array = self.number(Fraction(length)) if isinstance(length, int) else self._array("length", (), length)  # an int is 1
        self._lengths[array] = length
        return array

    def length_of(self, array: Array) -> Length:
        """Return the length that a number of elements means, the inverse of ``length``; raise ``ShapeError`` if there is none."""
        if array in self._lengths:
            return self._lengths[array]
        value = array.formula.value
        if value is not None:
            return 1 if value == 1 else str(value)
        product = length_product(self._lengths[atom] for atom in self.atoms(array.formula) if atom in self._lengths)
        if self.length(product) is array:
            return product
        raise ShapeError("this is not a length", hint="write a number or x.shape[0]")

    # Elementwise formulas

    def map(self, formula: Formula, dims: tuple[Length, ...]) -> Array:
        """Return an elementwise formula of arrays that broadcast to some dimensions."""
        array = self.of_symbol.get(formula)
        if array is not None and array.dims == dims:
            return array
        return self._spread(formula, dims) or self._array("map", dims, formula, formula)

    def without_leading_ones(self, array: Array) -> Array:
        """Return an array without the first dimensions along which it repeats."""
        if array.kind != "contraction":
            return self.number(Fraction(1)) if array.kind == "ones" else array
        labels, of_ones = array.labels, {own for factor, own in array.parts if factor.kind == "ones"}
        while labels[:1] in of_ones:
            labels = labels[1:]
        repeated = array.labels[: len(array.labels) - len(labels)]
        factors = [(factor, own) for factor, own in array.parts if not (factor.kind == "ones" and own[0] in repeated)]
        return self.contraction(factors, labels, array.coefficient) if repeated else array

    def _spread(self, formula: Formula, dims: tuple[Length, ...]) -> Array | None:
        """Return a formula of one array with new dimensions, ``exp(x[:, none])``, with these outside; ``None`` for any other."""
        arrays = [atom for atom in self.atoms(formula) if atom.dims]
        if len(arrays) != 1 or arrays[0].kind != "contraction" or arrays[0].dims != dims:
            return None
        (array,) = arrays
        new = [(factor, own) for factor, own in array.parts if factor.kind == "ones" and factor.dims == (1,)]
        if not new:
            return None
        labels = tuple(label for label in array.labels if (label,) not in [own for _, own in new])
        smaller = self.contraction([part for part in array.parts if part not in new], labels, array.coefficient)
        inside = self.map(self.algebra.substituted(formula, {array.symbol: smaller.formula}), smaller.dims)
        return self.contraction([(inside, labels), *new], array.labels)

    def power(self, base: Formula, exponent: Exponent) -> Array:
        """Return a power of an elementwise formula, with the dimensions to which its arrays are broadcast."""
        formula = self.algebra.product([(base, exponent)])
        return self.map(formula, self.broadcast(atom.dims for atom in self.atoms(formula)))

    def atoms(self, formula: Formula) -> list[Array]:
        """Return the arrays that occur in an elementwise formula."""
        return [self.of_symbol[part] for part in in_order([formula]) if part in self.of_symbol]

    def inside(self, array: Array) -> Sequence[Array]:
        """Return the arrays from which an array is computed."""
        if array.kind == "map":
            return self.atoms(array.formula)
        return [factor for factor, _ in array.parts] if array.kind == "contraction" else array.parts

    def broadcast(self, shapes: Iterable[tuple[Length, ...]]) -> tuple[Length, ...]:
        """Return the dimensions to which arrays are broadcast; raise ``ShapeError`` if lengths differ, and neither is 1."""
        dims: list[Length] = []
        for shape in shapes:
            for place, length in enumerate(reversed(shape)):
                if place == len(dims):
                    dims.append(length)
                elif dims[place] == 1:
                    dims[place] = length
                elif length not in (1, dims[place]):
                    raise ShapeError(f"the lengths {dims[place]} and {length} do not match")
        return tuple(reversed(dims))

    def is_zero(self, array: Array) -> bool:
        """Return whether an array is 0."""
        return array.formula is self.algebra.zero

    def zero(self, dims: tuple[Length, ...]) -> Array:
        """Return an array of zeros."""
        return self._array("map", dims, self.algebra.zero, self.algebra.zero)

    # Sums, inverses, determinants

    def sum(self, terms: Iterable[Array], dims: tuple[Length, ...]) -> Array:
        """Return the sum of arrays of equal dimensions, in which equal terms are collected."""
        counts: dict[Array, Fraction] = {}
        for term in terms:
            for part in term.parts if term.kind == "sum" else (term,):
                unit, times = self._apart(part)
                counts[unit] = counts.get(unit, Fraction(0)) + times
        parts = self._merged([self.times(times, unit) for unit, times in counts.items() if times and not self.is_zero(unit)])
        if len(parts) > 1 and all(part.kind in ("map", "leaf") for part in parts):  # one elementwise formula
            return self.map(self.algebra.sum([(part.formula, Fraction(1)) for part in parts]), dims)
        if not parts:
            return self.zero(dims)
        return parts[0] if len(parts) == 1 else self._array("sum", dims, tuple(parts), parts=tuple(parts))

    def _merged(self, terms: list[Array]) -> list[Array]:
        """Return terms after products that differ in one vector are added: ``outer(x, z) + outer(y, z)`` is ``outer(x + y, z)``."""
        while (pair := self._first_pair(terms)) is not None:
            whole, *merged = pair
            terms = [whole, *(term for term in terms if term not in merged)]
        return terms

    def _first_pair(self, terms: list[Array]) -> tuple[Array, Array, Array] | None:
        """Return the sum of the first two terms that differ in one vector as one product, and the terms; ``None`` without such."""
        seen: dict[Array, tuple[Array, Formula]] = {}  # the first term of a template, and its vector
        for term in terms:
            for template, hole, vector in self._vectors(term):
                first, first_vector = seen.setdefault(template, (term, vector))
                if first is not term:
                    total = self.map(self.algebra.sum([(first_vector, Fraction(1)), (vector, Fraction(1))]), hole.dims)
                    parts = [(total if part is hole else part, own) for part, own in template.parts]
                    return self.contraction(parts, template.labels), first, term
        return None

    def _vectors(self, term: Array) -> Iterator[tuple[Array, Array, Formula]]:
        """Yield for each vector of a product a template, with a leaf in its place, the leaf, and the vector as a formula.

        The vector of a label is the product of the numbers and of the vectors with this label, where matrices have it, too.
        """
        is_product = term.kind == "contraction"
        labels = term.labels if is_product else self.labels(term)
        parts = term.parts if is_product else ((term, labels),)
        lengths = {label: length for part, own in parts for label, length in zip(own, part.dims, strict=True)}
        inner = [label for label in lengths if label not in labels]
        sums = [(label,) for label in inner if all(label not in own or own == (label,) for _, own in parts)]
        totals = [(self.contraction([pair for pair in parts if pair[1] == own], ()), ()) for own in sums]  # such as sum(y)
        parts = (*totals, *(pair for pair in parts if pair[1] not in sums))
        for label, length in lengths.items():
            vectors = [(part, own) for part, own in parts if own in ((), (label,))]
            rest = [(part, own) for part, own in parts if own not in ((), (label,))]
            has_matrix = any(label in own for _, own in rest) or (len(labels) > 1 and label in labels)
            if has_matrix and all(part.kind in ("map", "leaf") or not own for part, own in vectors):
                hole = self.leaf(f"%vector of {length}", (length,))
                formula = self.algebra.product([(part.formula, Fraction(1)) for part, _ in vectors], term.coefficient)
                template = self.contraction([*rest, (hole, (label,))], labels)
                if template.kind == "contraction":
                    yield template, hole, formula

    def _apart(self, array: Array) -> tuple[Array, Fraction]:
        """Return an array without the coefficient of a contraction, and the coefficient, which is 1 for other arrays."""
        if array.kind == "contraction" and array.coefficient != 1:
            return self.contraction(array.parts, array.labels, Fraction(1)), array.coefficient
        return array, Fraction(1)

    def times(self, number: Fraction, array: Array) -> Array:
        """Return a multiple of an array."""
        if number == 1:
            return array
        if array.kind == "map":
            return self.map(self.algebra.product([(array.formula, Fraction(1))], number), array.dims)
        labels = self.labels(array)
        return self.contraction([(array, labels)], labels, number)

    def inverse(self, matrix: Array) -> Array:
        """Return the inverse of a matrix, or the matrix of an inverse; numbers and a transpose of one matrix are outside of it."""
        if matrix.kind == "inverse":
            inner: Array = matrix.parts[0]
            return inner
        matrices = [(factor, own) for factor, own in matrix.parts if own] if matrix.kind == "contraction" else []
        if len(matrices) == 1 and len(set(matrices[0][1])) == 2:
            ((only, labels),) = matrices
            scalars = [(self.power(factor.formula, -Fraction(1)), own) for factor, own in matrix.parts if not own]
            return self.contraction([*scalars, (self.inverse(only), labels)], matrix.labels, 1 / matrix.coefficient)
        return self._array("inverse", matrix.dims[::-1], matrix, parts=(matrix,), symmetric=matrix.symmetric)

    def determinant(self, matrix: Array) -> Array:
        """Return the determinant of a matrix."""
        return self._array("determinant", (), matrix, parts=(matrix,))

    def cholesky(self, matrix: Array) -> Array:
        """Return the lower triangular factor of a symmetric matrix."""
        return self._array("cholesky", matrix.dims, matrix, parts=(matrix,))

    def product(self, array: Array, over: Sequence[int]) -> Array:
        """Return the product over the dimensions ``over``, which the result does not have."""
        dims = tuple(length for place, length in enumerate(array.dims) if place not in over)
        return self._array("product", dims, (array, *over), parts=(array,), labels=tuple(over))

    # Contractions

    def labels(self, array: Array) -> Labels:
        """Return a new label for each dimension of an array."""
        return self.new_labels(len(array.dims))

    def new_labels(self, count: int) -> Labels:
        """Return labels that no other dimension has."""
        return tuple(self._new_label() for _ in range(count))

    def aligned(self, array: Array, labels: Labels, lengths: Sequence[Length]) -> Labels:
        """Return the labels of an array that is broadcast to dimensions; a dimension of length 1 gets a label of its own."""
        pairs = zip(array.dims, labels[len(labels) - len(array.dims) :], lengths[len(labels) - len(array.dims) :], strict=True)
        return tuple(label if own == length else self._new_label() for own, label, length in pairs)

    def contraction(self, factors: Iterable[Factor], labels: Labels, coefficient: Fraction = Fraction(1)) -> Array:
        """Return a product of factors, summed over the labels that the result does not have.

        Products of products are one product, identity matrices and vectors of ones disappear where their labels occur elsewhere,
        and powers of equal factors are collected.
        """
        factors = list(factors)
        for place, (array, own) in enumerate(factors):  # a sum is multiplied out where this makes terms shorter
            if array.kind == "sum" and (len(own) > 2 or any(map(self._has_identity, array.parts))):
                rest = [*factors[:place], *factors[place + 1 :]]
                terms = [self.contraction([*rest, (term, own)], labels, coefficient) for term in array.parts]
                return self.sum(terms, terms[0].dims)
        lengths = {label: length for array, own in factors for label, length in zip(own, array.dims, strict=True)}
        flat, coefficient = self._flat(factors, coefficient, lengths)
        dims = tuple(lengths[label] for label in labels)
        uses = Counter(label for _, own in flat for label in own)
        summed_alone = [array for array, own in flat if own and all(uses[label] == 1 and label not in labels for label in own)]
        if coefficient == 0 or any(map(self._sums_to_zero, summed_alone)):
            return self.zero(dims)
        flat = self._without_identities(flat, labels)
        for step in (self._without_pairs, self._without_cholesky_factors, self._without_inverses):
            if (simpler := step(flat, labels)) is not None:
                return self.contraction(simpler, labels, coefficient)
        flat, coefficient = self._collected(flat, labels, coefficient, lengths)
        if not flat and not labels:
            return self.number(coefficient)
        first, own = flat[0]
        is_multiple = len(flat) == 1 and own == labels and len(set(labels)) == len(labels)
        if is_multiple and (first.kind == "map" or coefficient == 1):
            return self.times(coefficient, first)
        return self._interned(flat, labels, coefficient, dims)

    @staticmethod
    def _has_identity(array: Array) -> bool:
        """Return whether a term contains an identity matrix or ones, so that a product with it is shorter."""
        parts = [factor for factor, _ in array.parts] if array.kind == "contraction" else []
        return any(part.kind in ("identity", "ones") for part in (array, *parts))

    def _sums_to_zero(self, array: Array) -> bool:
        """Return whether the elements of a sum such as ``x - mean(x)``, of which a term is a number, add up to 0."""
        if array.kind != "map" or array.formula.kind != "sum" or all(atom.dims for atom in self.atoms(array.formula)):
            return False
        labels, totals = self.labels(array), []
        ones = [(self.ones(length), (label,)) for length, label in zip(array.dims, labels, strict=True)]
        for term, times in array.formula.parts:
            part = self.power(term, Fraction(1))
            own = labels[len(labels) - len(part.dims) :]
            totals.append(self.contraction([(part, own), *ones], (), Fraction(times)))
        return self.is_zero(self.sum(totals, ()))

    def _flat(self, factors: Sequence[Factor], coefficient: Fraction, lengths: dict[int, Length]) -> tuple[list[Factor], Fraction]:
        """Take contractions and products apart; return the factors and the coefficient, and add new labels to ``lengths``."""
        work, flat = list(factors)[::-1], list[Factor]()
        while work:
            array, labels = work.pop()
            if array.kind == "contraction":
                coefficient *= array.coefficient
                names = dict(zip(array.labels, labels, strict=True))
                for inner, own in array.parts:
                    for label, length in zip(own, inner.dims, strict=True):
                        if label not in names:  # it is summed over inside
                            names[label] = self._new_label()
                            lengths[names[label]] = length
                work += [(inner, tuple(names[label] for label in own)) for inner, own in reversed(array.parts)]
            elif array.kind == "map" and array.formula.kind == "product":
                number = array.formula.coefficient
                if not math.isfinite(number):
                    raise NotRecordable(f"the constant {number} has no formula", hint="compute numbers with grad instead")
                coefficient *= Fraction(number)
                for base, exponent in reversed(array.formula.parts):
                    part = self.power(base, exponent)
                    own = self.aligned(part, labels, array.dims)
                    lengths.update(zip(own, part.dims, strict=True))
                    (flat if part is array else work).append((part, own))
            else:
                flat.append((array, labels))
        return flat, coefficient

    def _without_identities(self, factors: list[Factor], labels: Labels) -> list[Factor]:
        """Return factors without identity matrices, whose labels become one unless the result has both, and triangle diagonals."""
        for place, (array, own) in enumerate(factors):
            rest = [*factors[:place], *factors[place + 1 :]]
            if array.kind == "identity" and not (own[0] != own[1] and own[0] in labels and own[1] in labels):
                old, new = own if own[0] not in labels else own[::-1]
                renamed = [(factor, tuple(new if label == old else label for label in names)) for factor, names in rest]
                return self._without_identities([*renamed, (self.ones(array.dims[0]), (new,))], labels)
            if array.kind == "triangle" and own[0] == own[1]:
                return self._without_identities([*rest, (self.ones(array.dims[0]), own[:1])], labels)
        return factors

    def _without_cholesky_factors(self, factors: list[Factor], labels: Labels) -> list[Factor] | None:
        """Return factors after two factors of Cholesky are multiplied, or ``None``: ``L @ L.T`` is the symmetric matrix."""
        uses = Counter([*labels, *(label for _, own in factors for label in own)])
        for (array, own), (other, names) in combinations(factors, 2):
            if array is other and array.kind == "cholesky" and own[1] == names[1] and uses[own[1]] == 2:
                rest = [pair for pair in factors if pair not in ((array, own), (other, names))]
                (matrix,), ends = array.parts, self.labels(array)
                # Only its symmetric part counts, (S + S.T)/2.
                halves = [self.contraction([(matrix, turned)], ends, Fraction(1, 2)) for turned in (ends, ends[::-1])]
                return [*rest, (self.sum(halves, array.dims), (own[0], names[0]))]
        return None

    def _without_pairs(self, factors: list[Factor], labels: Labels) -> list[Factor] | None:
        """Return factors after a step with ``pairs``, or ``None``: equal numbers mean equal pairs, and a sum is over all."""
        uses = Counter([*labels, *(label for _, own in factors for label in own)])
        for place, (array, own) in enumerate(factors):
            if array.kind != "pairs":
                continue
            number, first, second = own
            rest = [*factors[:place], *factors[place + 1 :]]
            for other, names in rest:
                if other is array and (number == names[0] or own[1:] == names[1:]):
                    equal = [(length, ends) for length, *ends in zip(array.dims, own, names, strict=True) if ends[0] != ends[1]]
                    return [*rest, *((self.identity(length), tuple(ends)) for length, ends in equal)]
            ones = [(self.ones(length), (label,)) for length, label in zip(array.dims, own, strict=True)]
            if uses[number] == 1:  # it is 1 for one number of each pair, and for one pair of each number
                return [*rest, *ones[1:]]
            if uses[first] == uses[second] == 1:
                return [*rest, *ones[:1]]
        return None

    def _without_inverses(self, factors: list[Factor], labels: Labels) -> list[Factor] | None:
        """Return factors after a product with an inverse, or ``None``: ``inv(A) @ A`` is 1, ``inv(A @ B) @ A`` is ``inv(B)``."""
        for i, (inverse, own) in enumerate(factors):
            others = [*factors[:i], *factors[i + 1 :]]
            for side, label in enumerate(own if inverse.kind == "inverse" and own[0] != own[1] else ()):
                users = [pair for pair in others if label in pair[1]]
                if label not in labels and len(users) == 1 and len(set(users[0][1])) == 2:  # a matrix that is multiplied by it
                    ((factor, names),) = users
                    place = names.index(label)
                    product = self._product_with_inverse(inverse.parts[0], side, factor, place)
                    if product is not None:
                        others.remove((factor, names))
                        return [*others, (product, tuple(names[1 - place] if one == label else one for one in own))]
        return None

    def _product_with_inverse(self, matrix: Array, side: int, factor: Array, place: int) -> Array | None:
        """Return the product of the inverse of a matrix and a square factor of the matrix, or ``None`` if it stays as it is.

        Their dimensions ``side`` and ``place`` are summed over: the side is 0 for ``factor @ inv(matrix)``, and else 1.
        """
        if factor is matrix and (place != side or factor.symmetric):
            return self.identity(matrix.dims[0])
        if matrix.kind != "contraction":
            return None
        end = matrix.labels[1 - side]
        pairs = [(part, own) for part, own in matrix.parts if end in own]  # the factors at this end of the matrix
        if len(pairs) != 1 or pairs[0][0] is not factor or factor.dims[0] != factor.dims[1]:
            return None
        ((_, own),) = pairs
        at = own.index(end)
        if place != at and not factor.symmetric:
            return None
        ends = tuple(own[1 - at] if label == end else label for label in matrix.labels)
        rest = [pair for pair in matrix.parts if pair != pairs[0]]
        return self.inverse(self.contraction(rest, ends, matrix.coefficient))

    def _collected(
        self, factors: Sequence[Factor], labels: Labels, coefficient: Fraction, lengths: Mapping[int, Length]
    ) -> tuple[list[Factor], Fraction]:
        """Return factors in which powers with equal labels are collected, also of ``x - y`` and ``y - x``, and the coefficient."""
        groups: dict[Labels, list[Formula]] = {}
        for array, own in factors:
            if array.kind != "ones":
                key = tuple(sorted(own)) if array.symmetric else own
                groups.setdefault(key, []).append(array.formula)
        result: list[Factor] = []
        for own, group in groups.items():
            formulas, sign = self._with_equal_signs(group)
            whole = self.algebra.product([(formula, Fraction(1)) for formula in formulas])
            coefficient *= sign * Fraction(whole.coefficient)
            for base, exponent in factors_of(whole):
                part = self.power(base, exponent)
                result.append((part, own[len(own) - len(part.dims) :]))
        covered = {label for _, own in result for label in own}
        for label in dict.fromkeys([*labels, *(label for _, own in factors for label in own)]):
            if label in covered:
                continue
            if label in labels:
                result.append((self.ones(lengths[label]), (label,)))
            elif (length := self.length(lengths[label])).kind == "map":  # a sum over ones is the length, here a number
                coefficient *= Fraction(length.formula.coefficient)
            else:
                result.append((length, ()))
        return result, coefficient

    def _with_equal_signs(self, formulas: Sequence[Formula]) -> tuple[list[Formula], int]:
        """Return formulas with ``x - y``, whose first term is positive, in place of ``y - x`` beside it, and the sign of this."""
        result, sign = list(formulas), 1
        for place, formula in enumerate(result):
            opposite = self.algebra.sum([(formula, -Fraction(1))])
            if opposite in result[:place]:
                result[place] = result[result.index(opposite)] = min(formula, opposite, key=lambda one: one.parts[0][1] < 0)
                sign = -sign
        return result, sign

    def _interned(self, factors: list[Factor], labels: Labels, coefficient: Fraction, dims: tuple[Length, ...]) -> Array:
        """Return the one object of a contraction, whatever the order of its factors and the names of its labels."""

        def sort_key(factor: Factor) -> tuple[int, list[int]]:  # labels that are summed over come after those of the result
            array, own = factor
            return array.symbol.number, [labels.index(label) if label in labels else len(labels) for label in own]

        factors = sorted(factors, key=sort_key)
        arrays = [array for array, _ in factors]
        orders = permutations(factors) if len(factors) <= _MOST_ORDERS else iter([tuple(factors)])
        # The labels of the result, and the factors: those with the smallest labels of all orders and transposes of equal arrays.
        best: tuple[Labels, tuple[Factor, ...]] | None = None
        for order in orders:
            if [array for array, _ in order] != arrays:  # only like factors change places
                continue
            for turned in product(*([own, own[::-1]] if array.symmetric else [own] for array, own in order)):
                names: dict[int, int] = {}
                for label in (*labels, *(label for own in turned for label in own)):
                    names.setdefault(label, len(names))
                renamed = [tuple(names[label] for label in own) for own in turned]
                if best is None or renamed < [own for _, own in best[1]]:
                    best = (tuple(names[label] for label in labels), tuple(zip(arrays, renamed, strict=True)))
        assert best is not None
        return self._array("contraction", dims, (coefficient, *best), coefficient=coefficient, parts=best[1], labels=best[0])
