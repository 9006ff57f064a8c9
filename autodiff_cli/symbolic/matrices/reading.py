"""Conversion of syntax trees to arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from autodiff_cli.errors import AutodiffError, NotRecordable, ShapeError, setting
from autodiff_cli.evaluation.compile import trace
from autodiff_cli.language.tree import Syntax, arguments, call_tree, name_tree, unparse
from autodiff_cli.postorder import postorder
from autodiff_cli.symbolic.from_trace import formulas
from autodiff_cli.symbolic.matrices.arrays import Array, Arrays, Length
from autodiff_cli.symbolic.scalars import ScalarTracingEvaluator

_ONE, _HALF = Fraction(1), Fraction(1, 2)
_HINT = f"use grad with {setting('at')} to compute numbers"
_OPERATORS = (
    "add",
    "sub",
    "mul",
    "div",
    "pow",
    "neg",
    "pos",
    "comparison",
    "conditional",
    "logical_and",
    "logical_or",
    "logical_not",
)


class Reader:
    """Reads programs as arrays.

    Args:
        arrays: the factory of the arrays.
        source: the text of the program, for errors.
        dims: the dimensions of each name; other names are numbers.
        symmetric: the names of symmetric matrices.
    """

    def __init__(self, arrays: Arrays, source: str, dims: Mapping[str, tuple[Length, ...]], symmetric: Sequence[str] = ()) -> None:
        self.arrays = arrays
        self.source = source
        self.dims = dims
        self.symmetric = symmetric
        self.assigned: dict[str, Array] = {}

    def program(self, tree: Syntax) -> Array:
        """Return the result of a program.

        Raises:
            NotRecordable: if the program contains an operation that does not have a formula.
            ShapeError: if shapes do not fit.
        """
        result: Array | None = None
        for statement in tree.children if tree.kind == "start" else [tree]:
            if statement.kind == "assignment":
                self.assigned[statement.children[0].text] = result = self.expression(statement.children[1])
            elif statement.kind in ("definition", "definition_with_grad", "unpack"):
                raise self._refusal(statement, "a definition has no formula for vectors and matrices")
            else:
                result = self.expression(statement)
        assert result is not None
        return result

    def expression(self, tree: Syntax) -> Array:
        """Return the array of an expression."""
        values: dict[Syntax, Array] = {}
        for node in postorder([tree], self._operands):
            try:
                values[node] = self._value(node, [values[operand] for operand in self._operands(node)])
            except AutodiffError as error:
                if error.span is None:
                    error.span, error.source = node.span, self.source
                raise
        return values[tree]

    def _operands(self, node: Syntax) -> list[Syntax]:
        if node.kind == "index" and _is_shape(node.children[0]):
            return []
        if node.kind == "call" and node.children[0].text in ("eye", "ones", "zeros"):
            return []
        if node.kind == "call":
            return [argument for argument in arguments(node) if argument.kind not in ("keyword", "string")]
        if node.kind == "method":
            return [node.children[0], *(argument for argument in arguments(node) if argument.kind not in ("keyword", "string"))]
        if node.kind in ("attribute", "index"):
            return node.children[:1]
        if node.kind == "comparison":
            return node.children[::2]
        return [] if node.kind in ("number", "name", "list") else node.children

    def _value(self, node: Syntax, operands: Sequence[Array]) -> Array:
        if node.kind == "name":
            name = node.children[0].text
            if name in self.assigned:
                return self.assigned[name]
            if name in ("pi", "e") and name not in self.dims:
                return self.arrays.map(self.arrays.algebra.symbol(name), ())
            return self.arrays.leaf(name, self.dims.get(name, ()), name in self.symmetric)
        if node.kind == "number":
            return self.arrays.number(Fraction(node.children[0].text.replace("_", "")))
        if node.kind == "matmul":
            return self.matmul(*operands)
        if node.kind == "attribute" and node.children[1].text in ("T", "mT"):
            return self.transposed(operands[0])
        if node.kind == "call" and not operands:
            return self._constant(node)
        if node.kind in ("call", "method"):
            name = node.children[0 if node.kind == "call" else 1].text
            named = {argument.children[0].text: argument.children[1] for argument in arguments(node) if argument.kind == "keyword"}
            if name in FUNCTIONS:
                return FUNCTIONS[name](self, operands, self._dim(node, operands, named))
            return self._elementwise(call_tree(name, *map(_placeholder, range(len(operands)))), operands)
        if node.kind == "index":
            return self._selected(node, operands[0]) if operands else self.arrays.length(self._length(node))
        if node.kind in _OPERATORS:
            return self._elementwise(_with_placeholders(node), operands)
        raise self._refusal(node, f"'{unparse(node)}' has no formula for vectors and matrices")

    def _dim(self, node: Syntax, operands: Sequence[Array], named: Mapping[str, Syntax]) -> int | None:
        """Return the dimension over which a function works, or ``None`` for all."""
        dim = named.get("dim", named.get("axis"))
        if set(named) - {"dim", "axis"} or (unparse(node.children[0]) == "norm" and len(operands) > 1):
            raise self._refusal(node, f"'{unparse(node)}' has no formula for vectors and matrices")
        if dim is None and len(operands) > 1 and operands[1].formula.value is not None:
            return int(operands[1].formula.value)
        return None if dim is None else int(unparse(dim))

    def _refusal(self, node: Syntax, message: str) -> NotRecordable:
        return NotRecordable(message, span=node.span, source=self.source, hint=_HINT)

    def _elementwise(self, tree: Syntax, operands: Sequence[Array]) -> Array:
        """Return an elementwise operation, whose formula is found by tracing it with numbers."""
        algebra = self.arrays.algebra
        names = [f"_{i}" for i in range(len(operands))]
        try:
            traced = trace(unparse(tree), names, {}, "float64", ScalarTracingEvaluator)
        except NotRecordable:
            name = tree.children[0].text if tree.kind == "call" else unparse(tree)
            raise NotRecordable(f"'{name}' has no formula for vectors and matrices", hint=_HINT) from None
        except AutodiffError as error:
            error.span = None
            raise
        (formula,) = formulas(algebra, traced.outputs)
        symbols = {algebra.variable(name): array.formula for name, array in zip(names, operands, strict=True)}
        return self.arrays.map(algebra.substituted(formula, symbols), self.arrays.broadcast(array.dims for array in operands))

    def _length(self, node: Syntax) -> Length:
        """Return the length that ``x.shape[0]`` or a number means."""
        if node.kind == "index" and _is_shape(node.children[0]):
            dims = self.dims.get(unparse(node.children[0].children[0]), ())
            place = unparse(node.children[1].children[0])
            if place.isdecimal() and int(place) < len(dims):
                return dims[int(place)]
        if node.kind == "number" and unparse(node).isdecimal():
            return unparse(node)
        raise self._refusal(node, f"'{unparse(node)}' is not a length: write x.shape[0]")

    def _constant(self, node: Syntax) -> Array:
        """Return an identity matrix, or ones or zeros."""
        name, lengths = node.children[0].text, [self._length(argument) for argument in arguments(node)]
        if name == "eye" and len(lengths) == 1:
            return self.arrays.identity(lengths[0])
        if name == "zeros":
            return self.arrays.zero(tuple(lengths))
        if name != "ones":
            raise self._refusal(node, f"'{unparse(node)}' has no formula for vectors and matrices")
        vectors = [self.arrays.ones(length) for length in lengths]
        labels = [self.arrays.labels(vector) for vector in vectors]
        return self.arrays.contraction(zip(vectors, labels, strict=True), tuple(label for (label,) in labels))

    def _selected(self, node: Syntax, array: Array) -> Array:
        """Return elements, rows or columns at constant places, which are not negative."""
        labels, factors = list(self.arrays.labels(array)), []
        subscripts = node.children[1].children
        for label, length, subscript in zip(labels[: len(subscripts)], array.dims, subscripts, strict=False):
            if subscript.kind == "number" and subscript.children[0].text.isdecimal():
                factors.append((self.arrays.unit(length, int(subscript.children[0].text)), (label,)))
            elif subscript.kind != "slice" or subscript.children[1:]:
                raise self._refusal(node, f"'{unparse(node)}' has no formula for vectors and matrices")
        if len(subscripts) > len(labels):
            raise ShapeError(f"{len(subscripts)} indices for {len(labels)} dimensions")
        selected = {a for _, (a,) in factors}
        return self.arrays.contraction([(array, tuple(labels)), *factors], tuple(a for a in labels if a not in selected))

    # Products

    def matmul(self, left: Array, right: Array) -> Array:
        """Return the product of vectors and matrices."""
        if not left.dims or not right.dims or len(left.dims) > 2 or len(right.dims) > 2:
            raise ShapeError(
                "@ takes vectors and matrices", hint=f"add {setting('shape', 'x=n')}, or use * to multiply by a number"
            )
        first, second = list(self.arrays.labels(left)), list(self.arrays.labels(right))
        place = max(len(second) - 2, 0)
        if left.dims[-1] != right.dims[place]:
            raise ShapeError(f"the lengths {left.dims[-1]} and {right.dims[place]} do not match")
        second[place] = first[-1]
        labels = tuple(label for label in (*first, *second) if label != first[-1])
        return self.arrays.contraction([(left, tuple(first)), (right, tuple(second))], labels)

    def transposed(self, array: Array) -> Array:
        """Return the transpose of a matrix."""
        labels = self.arrays.labels(array)
        return array if array.symmetric else self.arrays.contraction([(array, labels)], labels[::-1])

    def total(self, array: Array, dim: int | None = None) -> Array:
        """Return the sum over a dimension, or over all."""
        labels = self.arrays.labels(array)
        return self.arrays.contraction([(array, labels)], () if dim is None else _without(labels, dim))

    def mean(self, array: Array, dim: int | None = None) -> Array:
        """Return the mean over a dimension, or over all."""
        lengths = array.dims if dim is None else (array.dims[dim],)
        below = [self.arrays.length(length) for length in lengths]
        product = self.arrays.algebra.product([(length.formula, -_ONE) for length in below])
        total = self.total(array, dim)
        labels = self.arrays.labels(total)
        return self.arrays.contraction([(self.arrays.map(product, ()), ()), (total, labels)], labels)

    def power(self, array: Array, exponent: Fraction) -> Array:
        """Return a power of each element."""
        return self.arrays.map(self.arrays.algebra.product([(array.formula, exponent)]), array.dims)

    def call(self, name: str, array: Array) -> Array:
        """Return a function of each element."""
        return self.arrays.map(self.arrays.algebra.call(name, array.formula), array.dims)

    def softmax(self, array: Array, dim: int | None) -> Array:
        """Return exponentials divided by their sum over a dimension."""
        place = -1 if dim is None else dim
        exponentials = self.call("exp", array)
        labels = self.arrays.labels(array)
        below = self.power(self.total(exponentials, place), -_ONE)
        return self.arrays.contraction([(exponentials, labels), (below, _without(labels, place))], labels)

    def logsumexp(self, array: Array, dim: int) -> Array:
        """Return the logarithm of a sum of exponentials over a dimension."""
        return self.call("log", self.total(self.call("exp", array), dim))

    def log_softmax(self, array: Array, dim: int) -> Array:
        """Return the array minus the logarithm of a sum of exponentials, which is repeated along the dimension."""
        labels = self.arrays.labels(array)
        ones = self.arrays.ones(array.dims[dim])
        total = (self.logsumexp(array, dim), _without(labels, dim))
        repeated = self.arrays.contraction([total, (ones, (labels[dim],))], labels) if len(labels) > 1 else total[0]
        difference = self.arrays.algebra.sum([(array.formula, _ONE), (repeated.formula, -_ONE)])
        return self.arrays.map(difference, array.dims)

    def diagonal(self, array: Array) -> Array:
        """Return the diagonal of a matrix, or the diagonal matrix of a vector."""
        (i, *_), (j, *_) = self.arrays.labels(array), self.arrays.labels(array)
        if len(array.dims) == 1:
            return self.arrays.contraction([(array, (i,)), (self.arrays.identity(array.dims[0]), (i, j))], (i, j))
        return self.arrays.contraction([(array, (i, i))], (i,))

    def outer(self, one: Array, other: Array) -> Array:
        """Return the outer product of vectors."""
        first, second = self.arrays.labels(one), self.arrays.labels(other)
        return self.arrays.contraction([(one, first), (other, second)], first + second)


def _without(labels: tuple[int, ...], dim: int) -> tuple[int, ...]:
    place = dim % len(labels)
    return labels[:place] + labels[place + 1 :]


FUNCTIONS: dict[str, Callable[[Reader, Sequence[Array], int | None], Array]] = {
    "sum": lambda read, x, dim: read.total(x[0], dim),
    "mean": lambda read, x, dim: read.mean(x[0], dim),
    "norm": lambda read, x, dim: read.power(read.total(read.power(x[0], 2 * _ONE), dim), _HALF),
    "logsumexp": lambda read, x, dim: read.logsumexp(x[0], -1 if dim is None else dim),
    "softmax": lambda read, x, dim: read.softmax(x[0], dim),
    "log_softmax": lambda read, x, dim: read.log_softmax(x[0], -1 if dim is None else dim),
    **dict.fromkeys(("dot", "vdot", "mv", "mm", "matmul"), lambda read, x, dim: read.matmul(*x)),
    **dict.fromkeys(("t", "transpose"), lambda read, x, dim: read.transposed(x[0])),
    **dict.fromkeys(("diag", "diagonal"), lambda read, x, dim: read.diagonal(x[0])),
    **dict.fromkeys(("inv", "inverse"), lambda read, x, dim: read.arrays.inverse(x[0])),
    "outer": lambda read, x, dim: read.outer(*x),
    "trace": lambda read, x, dim: read.total(read.diagonal(x[0])),
    "solve": lambda read, x, dim: read.matmul(read.arrays.inverse(x[0]), x[1]),
    "prod": lambda read, x, dim: read.arrays.product(x[0]),
    "det": lambda read, x, dim: read.arrays.determinant(x[0]),
    "logdet": lambda read, x, dim: read.call("log", read.arrays.determinant(x[0])),
}
"""The functions that are not elementwise: each makes an array of the reader, its operands and the dimension."""


def _is_shape(node: Syntax) -> bool:
    return node.kind == "attribute" and node.children[1].text == "shape"


def _placeholder(place: int) -> Syntax:
    return name_tree(f"_{place}")


def _with_placeholders(node: Syntax) -> Syntax:
    if node.kind == "comparison":
        children = [_placeholder(i // 2) if i % 2 == 0 else child for i, child in enumerate(node.children)]
    else:
        children = [_placeholder(i) for i in range(len(node.children))]
    return node.with_children(children)
