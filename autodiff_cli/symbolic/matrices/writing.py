"""Conversion of arrays to syntax trees in the notation of vectors and matrices."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from fractions import Fraction
from functools import partial, reduce
from itertools import combinations, permutations
from typing import NamedTuple

from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax, call_tree, name_tree, names_in, new_token, new_tree, number_tree, unparse
from autodiff_cli.postorder import postorder
from autodiff_cli.symbolic.formula import Exponent, Formula, factors_of, in_order
from autodiff_cli.symbolic.matrices.arrays import Array, Arrays, Labels, Length
from autodiff_cli.symbolic.short_form import AccurateForms, ShortForms
from autodiff_cli.symbolic.to_tree import expression_tree, with_names_replaced

_ONE, _TWO = Fraction(1), Fraction(2)
_CALLS = {"inverse": "inv", "determinant": "det", "product": "prod", "cholesky": "cholesky"}
_ARRAYS = ("eye", "ones", "zeros")  # the functions of numbers whose values are arrays
_NUMBERS = ("sum", "mean", "prod", "norm", "det", "logdet", "trace", "logsumexp")

_ALL = new_tree("slice", new_token("COLON", ":"))  # the index of all places of a dimension


class _Piece(NamedTuple):
    """A factor of a contraction: an elementwise formula with the labels of its dimensions."""

    formula: Formula
    labels: Labels


class Writer:
    """Writes arrays as expressions of the language.

    Args:
        arrays: the factory of the arrays.
        short_forms: the search for short forms of elementwise formulas.

    Attributes:
        trees: the expressions of the symbols of arrays.
        symmetric: the texts of symmetric matrices.
        columns: the texts of products of a matrix and a vector.
        lengths: an expression for each length that has a name.
    """

    def __init__(self, arrays: Arrays, short_forms: ShortForms) -> None:
        self.arrays = arrays
        self.algebra = arrays.algebra
        self.short_forms = short_forms
        self.trees: dict[Formula, Syntax] = {}
        self.symmetric: set[str] = set()
        self.columns: set[str] = set()
        self.lengths = self._lengths()

    def _lengths(self) -> dict[str, Syntax]:
        """Return an expression for each length that has a name: ``x.shape[0]``."""
        result: dict[str, Syntax] = {}
        for array in self.arrays.of_symbol.values():
            if array.kind == "leaf" and not array.symbol.name.startswith("%"):
                shape = new_tree("attribute", name_tree(array.symbol.name), new_token("NAME", "shape"))
                for place, length in enumerate(array.dims):
                    if isinstance(length, str):
                        result.setdefault(length, index_tree(shape, number_tree(str(place))))
        return result

    def tree(self, array: Array) -> Syntax:
        """Return the expression of an array."""
        for node in postorder([array], self.arrays.inside):
            if node.symbol not in self.trees:
                self.trees[node.symbol] = self._written(node)
            if node.symmetric:
                self.symmetric.add(unparse(self.trees[node.symbol]))
        return self.trees[array.symbol]

    def _written(self, array: Array) -> Syntax:
        """Return the expression of an array; those of the arrays inside of it are in ``trees``."""
        if array.kind == "leaf":
            return parse(array.symbol.name).children[-1]  # a name, or a constant such as [1, 2]
        if self.arrays.is_zero(array) and array.dims:
            return call_tree("zeros", *map(self.length, array.dims))
        if array.kind == "map":
            return self.formula_tree(array.formula)
        if array.kind == "product" and array.dims:
            over = [number_tree(str(place)) for place in array.labels]
            return call_tree("prod", self.trees[array.parts[0].symbol], new_tree("list", *over) if over[1:] else over[0])
        if array.kind in _CALLS:
            return call_tree(_CALLS[array.kind], self.trees[array.parts[0].symbol])
        if array.kind == "rows":
            return index_tree(call_tree("eye", self.length(array.dims[-1])), subscript(array))
        if array.kind == "pairs":
            return self.reshaped(call_tree("eye", self.length(array.dims[0])), array.dims)
        if array.kind == "triangle":
            return call_tree("tril", call_tree("ones", *map(self.length, array.dims)))
        if array.kind in ("identity", "ones"):
            return call_tree("eye" if array.kind == "identity" else "ones", self.length(array.dims[0]))
        if array.kind == "length":
            length = str(self.arrays.length_of(array))
            return self.lengths.get(length, number_tree(length))
        return self._sum_or_transpose(array) if array.kind == "sum" else self.formula_tree(self._term(array))

    def _sum_or_transpose(self, array: Array) -> Syntax:
        """Return the expression of a sum; if most of its terms contain a transpose, that of its transpose where it is shorter."""
        tree = self._sum_tree(array.parts)
        if len(array.dims) < 2 or unparse(tree).count(".T") <= len(array.parts):
            return tree
        i, j = self.arrays.labels(array)
        turned = self._sum_tree([self.arrays.contraction([(part, (i, j))], (j, i)) for part in array.parts])
        return min(tree, new_tree("attribute", turned, new_token("NAME", "T")), key=lambda form: len(unparse(form)))

    def _sum_tree(self, terms: Sequence[Array]) -> Syntax:
        """Return the expression of a sum of arrays."""
        shorter = [self.arrays.without_leading_ones(term) for term in terms]
        if any(after is before for before, after in zip(terms, shorter, strict=True)):  # it has all dimensions: others broadcast
            terms = shorter
        return self.formula_tree(self._common_products([self._term(term) for term in terms]))

    def length(self, length: Length) -> Syntax:
        """Return the expression of a length."""
        return self.tree(self.arrays.length(length))

    def reshaped(self, tree: Syntax, dims: Sequence[Length]) -> Syntax:
        """Return an expression of the elements of an array in another shape, of which an inner ``reshape`` is left out."""
        tree = tree.children[1].children[0] if _is_call(tree, "reshape") else tree
        if len(dims) == 1:
            return call_tree("flatten", tree)
        return call_tree("reshape", tree, new_tree("list", *map(self.length, dims)))

    def _term(self, array: Array) -> Formula:
        """Return an array as numbers times the symbol of an expression."""
        return _Contraction(self, array).formula if array.kind == "contraction" else array.formula

    def _common_products(self, terms: Sequence[Formula]) -> Formula:
        """Return a sum of terms, in which matrix products with an equal factor are joined: ``(A + A.T) @ x``."""
        rest = list(terms)
        for first, second in combinations(terms, 2):
            if first in rest and second in rest:
                joined = self._joined(first, second)
                if joined is not None:
                    return self._common_products([joined, *(term for term in rest if term not in (first, second))])
        return self.algebra.sum([(term, _ONE) for term in rest])

    def _joined(self, first: Formula, second: Formula) -> Formula | None:
        """Return the sum of two products with equal first or last factors as one product, or ``None``."""
        (left, scale), (right, other_scale) = self._main(first), self._main(second)
        ratio = self.algebra.product([(other_scale, _ONE), (scale, -_ONE)]).value
        if left is None or right is None or left.kind != right.kind or ratio not in (1, -1):
            return None
        if ratio == -1 and scale.coefficient < 0:
            return self._joined(second, first)
        chains = [_chain(left), _chain(right)]
        are_grouped = [_is_grouped(left), _is_grouped(right)]
        at_start, at_end = _numbers_of_equal_ends(*chains)
        if any(are_grouped) and max(map(len, chains)) > at_start + at_end + 1:
            at_end = 0  # a vector at the end is multiplied first
        if not at_start + at_end:
            return None
        before, after = chains[0][:at_start], chains[0][len(chains[0]) - at_end :]
        middles = [chain[at_start : len(chain) - at_end] for chain in chains]
        number, inside = self._sum_of_products(middles, Fraction(ratio), from_end=any(are_grouped) and not after)
        if left.kind == "call":
            tree = call_tree("outer", *before, inside, *after)
        else:
            tree = _multiplied([*before, inside, *after], all(are_grouped))
        return self.algebra.product([(self.symbol(tree), _ONE), (scale, _ONE)], number)

    def _sum_of_products(self, chains: Sequence[list[Syntax]], ratio: Fraction, from_end: bool) -> tuple[Fraction, Syntax]:
        """Return the sum of a product of matrices and ``ratio`` times another one, as a number times an expression."""
        symbols = [self.symbol(_multiplied(chain, from_end)) for chain in chains]
        pairs = zip(symbols, (_ONE, ratio), strict=True)
        total = self._common_products([self.algebra.product([(symbol, _ONE)], times) for symbol, times in pairs])
        number, rest = self.without_number(total)
        return number, self.formula_tree(rest)

    def without_number(self, formula: Formula) -> tuple[Fraction, Formula]:
        """Return the number that multiplies a formula, or an integer that multiplies all terms of a sum, and the rest."""
        formula = self.short_forms.shortest(formula)
        number, rest = self.short_forms.polynomials.content(formula)
        if formula.kind == "product":
            return number, rest
        number = abs(number) if number.denominator == 1 else _ONE
        return number, self.algebra.product([(formula, _ONE)], 1 / number)

    def _main(self, term: Formula) -> tuple[Syntax | None, Formula]:
        """Return the matrix product (not a number) or the outer product of a term, or ``None``, and its other factors."""
        for base, exponent in factors_of(term):
            tree = self.trees.get(base)
            is_dot = tree is not None and tree.kind == "matmul" and unparse(tree.children[0]) in self.columns  # (A @ x) @ y
            if exponent == 1 and tree is not None and not is_dot and (tree.kind == "matmul" or _is_call(tree, "outer")):
                return tree, self.algebra.product([pair for pair in factors_of(term) if pair[0] is not base], term.coefficient)
        return None, term

    def formula_tree(self, formula: Formula) -> Syntax:
        """Return the expression of an elementwise formula, in which the trees of arrays replace their symbols."""
        tree = expression_tree(self._recognized(self.short_forms.shortest(formula)))
        tree = with_names_replaced(tree, lambda name: self.trees[self.algebra.symbol(name)] if name.startswith("%") else None)
        return tree if isinstance(self.short_forms, AccurateForms) else self._scaled(tree)  # a vector is scaled in less time

    def _scaled(self, tree: Syntax) -> Syntax:
        """Multiply the first matrix of a product by numbers, as in ``2*A.T @ r``; products of matrices are the last factors."""
        results: dict[Syntax, Syntax] = {}
        numbers: set[Syntax] = set()
        for node in postorder([tree], lambda node: node.children):
            results[node] = node.with_children([results[child] for child in node.children])
            if self._is_number(node, numbers):
                numbers.add(node)
            if node.kind == "neg" and results[node].children[0].kind == "matmul":
                results[node] = _with_first_scaled(results[node].children[0], [], is_negative=True)
            elif node.kind == "mul":
                results[node] = self._ordered(node, results, numbers)
        return results[tree]

    def _ordered(self, product: Syntax, results: Mapping[Syntax, Syntax], numbers: Container[Syntax]) -> Syntax:
        """Return a product of rewritten factors, with numbers in the first matrix and products of matrices as the last factors."""
        first, *rest = _factors(product)
        is_negative = first.kind == "neg"
        factors = [first.children[0] if is_negative else first, *rest]
        products = [results[factor] for factor in factors if results[factor].kind == "matmul"]
        others = [factor for factor in factors if results[factor].kind != "matmul"]
        if len(products) == 1 and all(factor in numbers for factor in others):
            return _with_first_scaled(products[0], [results[factor] for factor in others], is_negative)
        others.sort(key=lambda factor: factor not in numbers or _is_call(factor, "exp"))  # simple numbers come first
        first, *rest = [*(results[factor] for factor in others), *products]
        return reduce(partial(new_tree, "mul"), [_with_first_scaled(first, [], is_negative), *rest])

    def _is_number(self, tree: Syntax, numbers: set[Syntax]) -> bool:
        """Return whether an expression is surely a number and not an array, given those of its parts that are."""
        if tree.kind == "name":
            array = self.arrays.of_symbol.get(self.algebra.symbol(tree.children[0].text))
            return array is None or not array.dims
        if tree.kind == "call":
            name, inner = tree.children[0].text, tree.children[1].children
            return (name in _NUMBERS and len(inner) == 1) or (name not in _ARRAYS and numbers.issuperset(inner))
        if tree.kind in ("add", "sub", "mul", "div", "pow", "neg"):
            return numbers.issuperset(tree.children)
        is_length = tree.kind == "index" and tree.children[0].kind == "attribute"  # x.shape[0]
        return tree.kind == "number" or is_length

    def symbol(self, tree: Syntax) -> Formula:
        """Return a symbol for an expression, which is added to ``trees``; a name is its own symbol."""
        if tree.kind == "name":
            return self.algebra.symbol(tree.children[0].text)
        place = min((self.algebra.symbol(name).place for name in names_in(tree)), default=None)
        symbol = self.algebra.variable("%" + unparse(tree), place)
        self.trees[symbol] = tree
        return symbol

    def _recognized(self, formula: Formula) -> Formula:
        """Write ``sqrt(sum(x**2))`` as a norm, ``log(sum(exp(x)))`` as a logsumexp, and ``exp(x)/sum(exp(x))`` as a softmax."""
        done: dict[Formula, Formula] = {}
        for part in in_order([formula]):
            if part.kind == "product":
                factors = [self._norm(base, exponent, done) for base, exponent in self._with_softmax(part.parts)]
                done[part] = self.algebra.product(factors, part.coefficient)
            elif part.is_call("log") and part.parts[0] in self.arrays.of_symbol:
                done[part] = self._logarithm(self.arrays.of_symbol[part.parts[0]]) or self.algebra.with_parts(part, done)
            else:
                done[part] = self.algebra.with_parts(part, done)
        return done[formula]

    def _logarithm(self, array: Array) -> Formula | None:
        """Return the logarithm of a sum of exponentials over one dimension, or of a determinant; ``None`` for other arrays."""
        if array.kind == "determinant":
            return self.symbol(call_tree("logdet", self.trees[array.parts[0].symbol]))
        inner, over = self.argument_of_sum(array.symbol, "exp")
        if inner is None or len(over) != 1:
            return None
        dim = [number_tree(str(over[0]))] if array.dims else []  # a vector has only one
        return self.symbol(call_tree("logsumexp", self.formula_tree(inner), *dim))

    def _norm(self, base: Formula, exponent: Exponent, done: Mapping[Formula, Formula]) -> tuple[Formula, Exponent]:
        """Return a factor of a product with other formulas in place of its parts: a root of a sum of squares is a norm."""
        inner, _ = self.argument_of_sum(base, "square")
        is_total = inner is not None and not self.arrays.of_symbol[base].dims
        if inner is not None and is_total and isinstance(exponent, Fraction) and (exponent.denominator == 2 or abs(exponent) > 1):
            return self.symbol(call_tree("norm", self.formula_tree(inner))), 2 * exponent
        exponent = self.algebra.exponent(done[exponent]) if isinstance(exponent, Formula) else exponent
        return done.get(base, base), exponent

    def _with_softmax(self, factors: Sequence[tuple[Formula, Exponent]]) -> list[tuple[Formula, Exponent]]:
        """Replace an exponential and the sum of its elements, which divides it, by a softmax."""
        exponents = dict(factors)
        for divisor, power in factors:
            inner, over = self.argument_of_sum(divisor, "exp")
            if inner is None or over != [0] or self.arrays.of_symbol[divisor].dims or not isinstance(power, Fraction) or power > 0:
                continue  # not the sum of a vector, or not a divisor
            exponential = self.algebra.call("exp", inner)
            if exponents.get(exponential) == 1:
                del exponents[exponential]
                exponents |= {self.symbol(call_tree("softmax", self.formula_tree(inner))): _ONE, divisor: power + 1}
        return list(exponents.items())

    def argument_of_sum(self, symbol: Formula, function: str) -> tuple[Formula | None, list[int]]:
        """Return ``x`` and the dimensions summed over, if a symbol is a sum of ``exp(x)``, or ``x**2`` for ``square``."""
        array = self.arrays.of_symbol.get(symbol)
        if array is not None and array.kind == "contraction" and array.coefficient == 1 and len(array.parts) == 1:
            ((factor, labels),) = array.parts
            formula: Formula = factor.formula
            is_square = formula.kind == "product" and formula.coefficient == 1 and [power for _, power in formula.parts] == [_TWO]
            if len(set(labels)) == len(labels) and (is_square if function == "square" else formula.is_call(function)):
                argument = formula.parts[0][0] if is_square else formula.parts[0]
                return argument, [place for place, label in enumerate(labels) if label not in array.labels]
        return None, []


class _Contraction:
    """The expression of one contraction, found by joining two factors after another.

    ``labels`` are those of the result, and ``scalars`` and ``pieces`` the factors without and with labels that are not joined yet.
    """

    def __init__(self, writer: Writer, array: Array) -> None:
        self.writer = writer
        self._tree = writer.formula_tree
        self.arrays = writer.arrays
        self.algebra = writer.algebra
        self.labels = array.labels
        self.lengths = {label: length for part, own in array.parts for label, length in zip(own, part.dims, strict=True)}
        self.scalars: list[Formula] = []
        self.pieces: list[_Piece] = []
        for factor, labels in self._with_softmax(array.parts):
            if labels:
                self.pieces.append(_Piece(factor.formula, labels))
            else:
                self.scalars.append(factor.formula)
        steps = [self._kronecker, self._reshape, self._select, self._multiply, self._diagonal, self._total, self._matmul]
        steps += [self._scale, self._outer, partial(self._reshape, most=len(self.lengths))]
        while any(step() for step in steps):  # a step joins factors, and returns whether it did; then the first comes again
            pass
        self.formula = self._finished(array.coefficient)

    def _with_softmax(self, factors: Sequence[tuple[Array, Labels]]) -> list[tuple[Array, Labels]]:
        """Return factors with ``softmax(x)`` in place of ``exp(x)/sum(exp(x))``, also along a dimension of a matrix."""
        for place, (factor, labels) in enumerate(factors):
            for divisor, own in factors if factor.formula.is_call("exp") else ():
                base, exponent = factors_of(divisor.formula)[0]
                argument, over = self.writer.argument_of_sum(base, "exp")
                if argument is None or argument is not factor.formula.parts[0] or not isinstance(exponent, Fraction):
                    continue
                if exponent >= 0 or len(over) != 1 or over != [i for i, label in enumerate(labels) if label not in own]:
                    continue
                dim = [number_tree(str(over[0]))] if len(labels) > 1 else []
                symbol = self.writer.symbol(call_tree("softmax", self._tree(argument), *dim))
                result = list(factors)
                result[place] = (Array("map", factor.dims, symbol, symbol), labels)
                result.remove((divisor, own))
                if exponent != -1:
                    result.append((self.arrays.map(self.algebra.product([(base, exponent + 1)]), divisor.dims), own))
                return self._with_softmax(result)
        return list(factors)

    def _uses(self, label: int) -> int:
        """Return the number of pieces that have a label, and 1 more if the result has it."""
        return sum(label in piece.labels for piece in self.pieces) + (label in self.labels)

    def _is_inner(self, label: int) -> bool:
        """Return whether a label is summed over two pieces."""
        return label not in self.labels and self._uses(label) == 2

    def _replace(self, old: Sequence[_Piece], formula: Formula, labels: Labels) -> bool:
        """Replace pieces by one, which is a scalar if it has no labels; return true, the result of a step that joined factors."""
        for piece in old:
            self.pieces.remove(piece)
        if labels:
            self.pieces.append(_Piece(formula, labels))
        else:
            self.scalars.append(formula)
        return True

    def _factor(self, formula: Formula) -> Syntax:
        """Return the tree of a factor without its number, which is added to ``scalars``."""
        number, rest = self.writer.without_number(formula)
        self.scalars.append(self.algebra.rational(number))
        return self._tree(rest)

    def _call(self, name: str, *formulas: Formula) -> Formula:
        """Return a symbol for the call of a function."""
        return self.writer.symbol(call_tree(name, *map(self._tree, formulas)))

    def _transposed(self, formula: Formula) -> Formula:
        return self.writer.symbol(transposed(self._tree(formula), self.writer.symmetric))

    # Steps: each joins factors of one kind and returns true, or returns false if there are none

    def _pairs(self) -> list[_Piece]:
        """Return the pieces that are ``pairs``, with the labels of the number, the first and the second of a pair."""
        arrays = [(piece, self.arrays.of_symbol.get(piece.formula)) for piece in self.pieces]
        return [piece for piece, array in arrays if array is not None and array.kind == "pairs"]

    def _kronecker(self) -> bool:
        """Write numbered pairs of vectors, or of rows and of columns of matrices, as a Kronecker product."""
        pairs = self._pairs()
        for numbers in [(one,) for one in pairs] + list(permutations(pairs, 2)):  # of vectors, or of matrices
            sides = [tuple(piece.labels[side] for piece in numbers) for side in (1, 2)]
            operands = [piece for side in sides for piece in self.pieces if piece.labels == side]
            if len(operands) == 2 and all(map(self._is_inner, (*sides[0], *sides[1]))):
                product = self._call("kron", *(piece.formula for piece in operands))
                return self._replace([*numbers, *operands], product, tuple(piece.labels[0] for piece in numbers))
        return False

    def _reshape(self, most: int = 2) -> bool:
        """Write a factor of which pairs split or join dimensions in another shape, of at most ``most`` dimensions."""
        for pairs in self._pairs():
            number, pair = pairs.labels[:1], pairs.labels[1:]
            for piece in self.pieces:
                is_transposed = piece.labels == pair[::-1]
                before = pair if is_transposed else piece.labels
                old, new = (number, pair) if number[0] in before else (pair, number)
                place = before.index(old[0]) if old[0] in before else 0
                end = place + len(old)
                if piece is pairs or before[place:end] != old or not all(map(self._is_inner, old)):
                    continue
                labels = (*before[:place], *new, *before[end:])
                if len(labels) > most:
                    continue
                tree = self._tree(self._transposed(piece.formula) if is_transposed else piece.formula)
                tree = self.writer.reshaped(tree, [self.lengths[label] for label in labels])
                return self._replace([pairs, piece], self.writer.symbol(tree), labels)
        return False

    def _select(self) -> bool:
        """Write products of rows of an identity matrix as indices, ``A[:, 0]``, and those of a triangle as cumulative sums."""
        for rows, other in permutations(self.pieces, 2):
            array, label = self.arrays.of_symbol.get(rows.formula), rows.labels[-1]
            if array is None or array.kind not in ("rows", "triangle"):
                continue
            if not self._is_inner(label) or other.labels.count(label) != 1:
                continue
            place = other.labels.index(label)
            labels = other.labels[:place] + rows.labels[:-1] + other.labels[place + 1 :]
            if array.kind == "triangle":
                tree = call_tree("cumsum", self._tree(other.formula), number_tree(str(place)))
            else:
                tree = index_tree(self._tree(other.formula), *[_ALL] * place, subscript(array))
            return self._replace([rows, other], self.writer.symbol(tree), labels)
        return False

    def _multiply(self) -> bool:
        """Multiply two factors with the same labels element by element."""
        for first, second in combinations(self.pieces, 2):
            if sorted(first.labels) != sorted(second.labels) or len(set(first.labels)) < len(first.labels):
                continue
            if first.labels != second.labels and len(first.labels) > 2:  # only a matrix has a transpose
                continue
            inner = [label for label in first.labels if self._is_inner(label)]
            if inner and (len(inner) < len(first.labels) or len(inner) == 1):  # this is a product of matrices or vectors
                continue
            other = second.formula if second.labels == first.labels else self._transposed(second.formula)
            product = self.algebra.product([(first.formula, _ONE), (other, _ONE)])
            return self._replace([first, second], product, first.labels)
        return False

    def _diagonal(self) -> bool:
        """Take the diagonal, or the trace, of a factor whose labels are equal."""
        for piece in self.pieces:
            if len(piece.labels) == 2 and piece.labels[0] == piece.labels[1]:
                label = piece.labels[0]
                if label in self.labels or self._uses(label) > 1:
                    return self._replace([piece], self._call("diagonal", piece.formula), (label,))
                return self._replace([piece], self._call("trace", piece.formula), ())
        return False

    def _total(self) -> bool:
        """Sum a factor over labels that no other factor has."""
        for piece in self.pieces:
            free = [label for label in piece.labels if label not in self.labels and self._uses(label) == 1]
            if free and len(free) == len(piece.labels):  # all
                name = "mean" if self._remove_divisor(piece.labels) else "sum"
                number, inner = self.writer.without_number(piece.formula)
                return self._replace([piece], self.algebra.product([(self._call(name, inner), _ONE)], number), ())
            if free:
                place = number_tree(str(piece.labels.index(free[0])))
                tree = call_tree("sum", self._tree(piece.formula), place)
                return self._replace([piece], self.writer.symbol(tree), tuple(label for label in piece.labels if label != free[0]))
        return False

    def _remove_divisor(self, labels: Labels) -> bool:
        """Remove the divisors whose product is the number of elements of a piece; return false if there are none."""
        lengths = [self.arrays.length(self.lengths[label]).formula for label in labels]
        below = self.algebra.product([(length, -_ONE) for length in lengths])
        divisors = [scalar for scalar in self.scalars if scalar.kind == "product" and set(scalar.parts) <= set(below.parts)]
        if self.algebra.product([(divisor, _ONE) for divisor in divisors]) is not below:
            return False
        self.scalars = [scalar for scalar in self.scalars if scalar not in divisors]
        return True

    def _factors_of_matmul(self) -> tuple[_Piece, _Piece, int] | None:
        """Return two factors, and the one label that they share and that is summed over; ``None`` if there are none."""
        candidates: list[tuple[tuple[int, int, bool], _Piece, _Piece, int]] = []
        for first, second in permutations(self.pieces, 2):
            common = [label for label in first.labels if label in second.labels]
            if len(common) != 1 or not self._is_inner(common[0]) or max(len(first.labels), len(second.labels)) > 2:
                continue
            transposes = [first.labels[-1] != common[0], second.labels[0] != common[0]]
            outer = tuple(label for label in (*first.labels, *second.labels) if label not in common)
            # Vectors come first, then products with few transposes, then those in the order of the result.
            order = (len(first.labels) + len(second.labels), sum(transposes), outer != self.labels)
            candidates.append((order, first, second, common[0]))
        return min(candidates, key=lambda candidate: candidate[0])[1:] if candidates else None

    def _matmul(self) -> bool:
        """Multiply two factors by ``@`` that share one label which is summed over."""
        best = self._factors_of_matmul()
        if best is None:
            return False
        first, second, label = best
        if len(first.labels) == len(second.labels) == 1 and first.formula is second.formula:  # x @ x
            return self._replace([first, second], self._call("sum", self.algebra.product([(first.formula, _TWO)])), ())
        is_vector_first = len(first.labels) == 1 and len(second.labels) == 2
        if is_vector_first and (second.labels[1] in self.labels or second.labels[0] != label):
            first, second = second, first  # matrices come first, as in A.T @ x
        left = first.formula if first.labels[-1] == label else self._transposed(first.formula)
        right = second.formula if second.labels[0] == label else self._transposed(second.formula)
        labels = (*(a for a in first.labels if a != label), *(b for b in second.labels if b != label))
        left_tree, right_tree = self._factor(left), self._factor(right)
        columns = self.writer.columns
        if not labels and right_tree.kind == "matmul" and unparse(right_tree) not in columns:
            left_tree, right_tree = right_tree, left_tree  # x @ A @ y
        tree = _product(left_tree, right_tree, len(first.labels), len(second.labels), self.writer.symmetric)
        if len(second.labels) == 1 and (len(first.labels) == 2 or unparse(left_tree) in columns):
            columns.add(unparse(tree))
        return self._replace([first, second], self.writer.symbol(tree), labels)

    def _scale(self) -> bool:
        """Multiply the rows or the columns of a matrix by a vector."""
        pairs = list(permutations(self.pieces, 2))
        for vector, matrix in sorted(pairs, key=lambda pair: -self._last_place(pair[1])):  # those at the end of the result first
            if len(vector.labels) != 1 or len(matrix.labels) != 2 or vector.labels[0] not in matrix.labels:
                continue
            array = self.arrays.of_symbol.get(matrix.formula)
            if array is not None and array.kind == "identity":
                return self._replace([vector, matrix], self._call("diag", vector.formula), matrix.labels)
            tree = self._tree(vector.formula)
            if matrix.labels[0] == vector.labels[0]:
                tree = index_tree(tree, _ALL, new_tree("none"))
                if array is not None:
                    scaled = self.writer.symbol(new_tree("mul", tree, self._tree(matrix.formula)))
                    return self._replace([vector, matrix], scaled, matrix.labels)
            product = self.algebra.product([(self.writer.symbol(tree), _ONE), (matrix.formula, _ONE)])
            return self._replace([vector, matrix], product, matrix.labels)
        return False

    def _last_place(self, piece: _Piece) -> int:
        """Return the last place of the labels of a piece in the result, -1 if the result has none of them."""
        return max([self.labels.index(label) for label in piece.labels if label in self.labels], default=-1)

    def _outer(self) -> bool:
        """Write a product of vectors with different labels as an outer product, ``x[:, none]`` for one place, or ``ones(m, n)``."""
        for pair in combinations(self.pieces, 2):
            if any(len(piece.labels) != 1 or piece.labels[0] not in self.labels for piece in pair):
                continue
            first, second = sorted(pair, key=self._last_place)
            arrays = [self.arrays.of_symbol.get(piece.formula) for piece in (first, second)]
            labels = first.labels + second.labels
            if self.lengths[second.labels[0]] == 1 and second.formula is self.arrays.ones(1).formula:
                tree = index_tree(self._tree(first.formula), _ALL, new_tree("none"))
            elif all(array is not None and array.kind == "ones" for array in arrays):
                tree = call_tree("ones", *(self.writer.length(self.lengths[label]) for label in labels))
            else:
                tree = call_tree("outer", *(self._factor(piece.formula) for piece in (first, second)))
            return self._replace([first, second], self.writer.symbol(tree), labels)
        return False

    # The result

    def _finished(self, coefficient: Fraction) -> Formula:
        """Return the product of the scalars and of the last piece, or of an ``einsum`` of pieces that no step joined."""
        pairs = [(scalar, _ONE) for scalar in self.scalars]
        is_joined = len(self.pieces) == 1 and set(self.pieces[0].labels) == set(self.labels) and len(self.labels) <= 2
        if self.labels and not is_joined:
            pairs.append((self.writer.symbol(self._einsum()), _ONE))
        elif self.labels:
            (piece,) = self.pieces
            pairs.append((piece.formula if piece.labels == self.labels else self._transposed(piece.formula), _ONE))
        return self.algebra.product(pairs, coefficient)

    def _einsum(self) -> Syntax:
        """Return the pieces as a call of ``einsum``, with letters for the labels."""
        letters: dict[int, str] = {}
        for label in (*self.labels, *(label for piece in self.pieces for label in piece.labels)):
            letters.setdefault(label, "ijklmnpqrstuvw"[len(letters)])
        labels = (*(piece.labels for piece in self.pieces), self.labels)
        *inputs, output = ("".join(letters[label] for label in own) for own in labels)
        text = new_tree("string", new_token("STRING", f'"{",".join(inputs)}->{output}"'))
        return call_tree("einsum", text, *(self._tree(piece.formula) for piece in self.pieces))


def _chain(product: Syntax) -> list[Syntax]:
    """Return the factors of a product of matrices or of an outer product."""
    if product.kind == "call":
        return [*product.children[1].children]
    factors, work = list[Syntax](), [product]
    while work:
        factor = work.pop()
        if factor.kind == "matmul":
            work += factor.children[::-1]
        else:
            factors.append(factor)
    return factors


def _numbers_of_equal_ends(first: Sequence[Syntax], second: Sequence[Syntax]) -> tuple[int, int]:
    """Return how many factors two products share at their beginning and at their end, at most all but one of the shorter."""
    most, numbers = min(len(first), len(second)) - 1, [0, 0]
    for side, (left, right) in enumerate(((first, second), (first[::-1], second[::-1]))):
        for factor, other in zip(left, right, strict=False):
            if unparse(factor) != unparse(other) or sum(numbers) >= most:
                break
            numbers[side] += 1
    return numbers[0], numbers[1]


def _is_grouped(product: Syntax) -> bool:
    """Return whether a product is computed from its end, as in ``A @ (B @ x)``."""
    return product.kind == "matmul" and product.children[1].kind == "matmul"


def _multiplied(factors: Sequence[Syntax], from_end: bool) -> Syntax:
    """Return the product of matrices, which is computed from its end where this saves time."""
    if from_end:
        return reduce(lambda right, left: new_tree("matmul", left, right), factors[::-1])
    return reduce(partial(new_tree, "matmul"), factors)


def _factors(product: Syntax) -> list[Syntax]:
    """Return the factors of a product such as ``a*b*c``."""
    factors = [product]
    while factors[0].kind == "mul":
        factors[:1] = factors[0].children
    return factors


def _with_first_scaled(product: Syntax, factors: Sequence[Syntax], is_negative: bool) -> Syntax:
    """Multiply the first matrix of a product by factors, and by -1 if it is negative: ``2*A.T @ r``."""
    if product.kind == "matmul":
        return new_tree("matmul", _with_first_scaled(product.children[0], factors, is_negative), product.children[1])
    first, *rest = [*factors, *_factors(product)]
    return reduce(partial(new_tree, "mul"), [new_tree("neg", first) if is_negative else first, *rest])


def _product(left: Syntax, right: Syntax, left_dims: int, right_dims: int, symmetric: Container[str]) -> Syntax:
    """Return ``left @ right``, or the solution of a system of equations in place of a product of an inverse and a vector."""
    if right.kind == "conditional" and [unparse(right.children[i]) for i in (0, 2)] == ["1", "0"]:
        right = right.children[1]  # a condition is 1 or 0
    if right_dims == 1 and _is_call(left, "inv"):
        return call_tree("solve", left.children[1].children[0], right)
    if left_dims == 1 and _is_call(right, "inv"):
        return call_tree("solve", transposed(right.children[1].children[0], symmetric), left)
    if right.kind == "matmul" and right_dims == 2:
        return new_tree("matmul", _product(left, right.children[0], left_dims, 2, symmetric), right.children[1])
    return new_tree("matmul", left, right)


def index_tree(tree: Syntax, *subscripts: Syntax) -> Syntax:
    """Return an index of an expression: ``x[0]``, and ``A[0, 1]`` for ``A[0][1]``."""
    if tree.kind == "index" and all(one.kind == "number" for one in tree.children[1].children):
        return new_tree("index", tree.children[0], new_tree("subscripts", *tree.children[1].children, *subscripts))
    return new_tree("index", tree, new_tree("subscripts", *subscripts))


def subscript(rows: Array) -> Syntax:
    """Return the index of the rows of an identity matrix as a tree."""
    return parse(f"x[{rows.subscript}]").children[-1].children[1].children[0]


def _is_call(tree: Syntax, name: str) -> bool:
    return tree.kind == "call" and tree.children[0].text == name


def transposed(tree: Syntax, symmetric: Container[str] = ()) -> Syntax:
    """Return the transpose of a matrix: ``(A @ B).T`` is ``B.T @ A.T``; the texts of symmetric matrices may be given."""
    factors = _chain(tree) if tree.kind == "matmul" else [tree]
    return _multiplied([_transposed_factor(factor, symmetric) for factor in factors[::-1]], from_end=False)


def _transposed_factor(tree: Syntax, symmetric: Container[str]) -> Syntax:
    """Return the transpose of a matrix that is not a product; a symmetric or diagonal matrix is its own."""
    if unparse(tree) in symmetric:
        return tree
    if tree.kind == "attribute" and tree.children[1].text == "T":
        return tree.children[0]
    if tree.kind == "neg":
        return new_tree("neg", _transposed_factor(tree.children[0], symmetric))
    name = tree.children[0].text if tree.kind == "call" else ""
    if name in ("diag", "eye"):
        return tree
    if name in ("outer", "ones"):
        return call_tree(name, *reversed(tree.children[1].children))
    if name in ("tril", "triu", "inv"):
        other = {"tril": "triu", "triu": "tril"}.get(name, name)
        return call_tree(other, transposed(tree.children[1].children[0], symmetric))
    return new_tree("attribute", tree, new_token("NAME", "T"))
