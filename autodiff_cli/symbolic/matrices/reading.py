"""Conversion of programs to arrays: an evaluator whose values are arrays."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache, reduce
from itertools import product
from typing import Any, NoReturn, TypeAlias

import numpy as np

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.primitives.primitive import argument_names
from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.compiler.tape import Tape
from autodiff_cli.compiler.tracer import as_operand, as_tensor, takes_array
from autodiff_cli.errors import AutodiffError, NotRecordable, ShapeError, setting
from autodiff_cli.evaluation.coercion import flat_items, list_literal_text, takes_sequence
from autodiff_cli.evaluation.evaluator import Evaluator
from autodiff_cli.evaluation.user_function import UserFunction
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax
from autodiff_cli.symbolic.from_trace import formulas
from autodiff_cli.symbolic.matrices.arrays import Array, Arrays, Factor, Length, length_product

Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]
_Dimension: TypeAlias = tuple[int, Length]  # its label and its length
_ONE = Fraction(1)
_HINT = f"use grad with {setting('at')} to compute numbers"
_WAYS = {
    **dict.fromkeys(("max", "amax"), "write logsumexp(k*x)/k for a smooth maximum, or "),
    **dict.fromkeys(("min", "amin"), "write -logsumexp(-k*x)/k for a smooth minimum, or "),
    **dict.fromkeys(("cat", "hstack", "vstack"), "write the terms of the blocks as a sum, or "),
    **dict.fromkeys(("var", "std"), "write mean((x - mean(x))**2), or "),
    "cumprod": "write exp(cumsum(log(x))) if x is positive, or ",
}
"""What to write in place of functions without a formula."""
_MOVING = ("shape", "views", "positions", "arrange", "counting", "creation", "extremes", "stop_gradient")
"""The sections of functions that are not elementwise, in addition to those that take arrays."""


class Symbol(Tensor):
    """An array as a value of a program.  Checks of arguments take it for a number, which nothing may read."""

    __slots__ = ("array",)
    array: Array

    def __init__(self, array: Array) -> None:
        super().__init__(1.0)
        self.array = array

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise NotRecordable("this must be a number, not the value of a variable", hint=_HINT)

    item = tolist = numpy = __bool__ = __float__ = __int__ = __index__ = __array__ = _refuse


class Reader(Evaluator):
    """Reads the text of a program as an array, given the dimensions of variables and the names of symmetric matrices."""

    def __init__(self, arrays: Arrays, source: str, dims: Mapping[str, tuple[Length, ...]], symmetric: Container[str] = ()) -> None:
        leaves = {name: Symbol(arrays.leaf(name, own, name in symmetric)) for name, own in dims.items()}
        super().__init__(source, leaves, np.dtype("float64"))
        self.arrays = arrays

    def result(self) -> Array:
        """Return the result; raise ``NotRecordable`` if an operation has no formula, ``ShapeError`` if shapes do not fit."""
        return self.array(self.run())

    def array(self, value: object) -> Array:
        """Return a value of the program as an array; constant arrays become leaves that are called like their text."""
        if isinstance(value, Symbol):
            return value.array
        if isinstance(value, list) and _has_symbol(value):
            return self.stacked([self.array(item) for item in value])
        constant = np.asarray(self.tensors.as_tensor(value)._data)
        if not constant.ndim:
            return self.arrays.map(self.arrays.algebra.number(constant.item()), ())
        whole = constant.astype(int)
        text = list_literal_text((whole if (whole == constant).all() else constant).tolist())
        return self.arrays.leaf(text, tuple(length_product([size]) for size in constant.shape))

    # The evaluator

    most_nested = 100  # conditions are unknown, so a recursive function would never return

    def _set(self, name: str, value: Any, tree: Syntax) -> Any:
        """Assign a value to a name; a list that contains arrays becomes one array."""
        return super()._set(name, self._whole(value), tree)

    def _whole(self, value: object) -> Any:
        """Return a list that contains arrays as one array, and any other value unchanged."""
        return Symbol(self.array(value)) if isinstance(value, list) and _has_symbol(value) else value

    def define(self, node: Syntax, values: list[Any]) -> NoReturn:
        raise NotRecordable(f"'{node.children[0].text}' has no formula for vectors and matrices, and no steps", hint=_HINT)

    def enter(self, function: UserFunction, arguments: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        if function.partials is not None:
            raise NotRecordable(f"'{function.name}' has user-written derivatives, which have no formula here", hint=_HINT)
        return super().enter(function, list(map(self._whole, arguments)), named, node)

    def choose(self, node: Syntax, values: list[Any]) -> Any:
        """Return the result of a conditional: with an array as condition, ``where`` of both branches, else the chosen one."""
        condition = self._whole(values[0])
        return self.select(node, condition) if isinstance(condition, Symbol) else super().choose(node, [condition])

    def attribute(self, thing: object, name: str, node: Syntax) -> Any:
        """Return the transpose, the shape as a list of arrays of no dimension, or the number of dimensions of an array."""
        thing = self._whole(thing)
        if not isinstance(thing, Symbol) or name not in ("T", "mT", "shape", "ndim"):
            return super().attribute(thing, name, node)
        if name == "shape":
            return [Symbol(self.arrays.length(length)) for length in thing.array.dims]
        return len(thing.array.dims) if name == "ndim" else Symbol(self.permuted(thing.array, (-1, -2)))

    def keys(self, values: Sequence[object]) -> list[Any]:
        return list(values) if _has_symbol(values) else super().keys(values)

    def element(self, thing: object, keys: list[Any], node: Syntax) -> Any:
        """Return elements of an array, or an item of a list that contains arrays; other values are indexed as usual."""
        if not _has_symbol([thing, *keys]):
            return super().element(thing, keys, node)
        if isinstance(thing, list) and len(keys) == 1 and isinstance(keys[0], int) and -len(thing) <= keys[0] < len(thing):
            return thing[keys[0]]
        return Symbol(self.selected(self.array(thing), keys))

    def apply(self, op: FunctionInfo, operands: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        """Apply a function: to arrays by its rule or program, or element by element; without arrays, it is computed."""
        if op.name in ("eye", "ones", "zeros") and _has_symbol(operands) and not named:
            return Symbol(self.constant(op, operands))
        if op.name in ("reshape", "view") and _has_symbol(operands[:1]) and not named:
            return Symbol(self.reshaped(self.array(operands[0]), list(map(self.array, flat_items(operands[1:])))))
        if not _has_symbol([*operands, *named.values()]):
            return super().apply(op, operands, named, node)
        self.count(node)
        operands = operands if takes_sequence(op, operands) else list(map(self._whole, operands))
        arguments, keywords = self.tensors.arguments(op, operands, named, node)
        return self._apply_to_arrays(op, arguments, keywords)

    def _apply_to_arrays(self, op: FunctionInfo, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Return the value of a function of arrays: by its rule, by its program of other functions, or element by element."""
        if op.name == "einsum":
            return Symbol(self.einsum(arguments[0], *map(self.array, arguments[1:])))
        values = dict(zip(op.parameters[op.required :], op.defaults, strict=True))
        values |= {**dict(zip(op.parameters, arguments, strict=False)), **keywords}
        if op.name in FUNCTIONS:
            rule = FUNCTIONS[op.name]
            used = self._used(op, values, argument_names(rule)[1:])
            arrays = {name: self.array(value) if name in op.tensors else value for name, value in used.items()}
            return Symbol(rule(self, **arrays))
        if op.name in _programs():
            return self._run_program(_programs()[op.name], op, values)
        return Symbol(self._elementwise(op, arguments, keywords))

    def _run_program(self, function: UserFunction, op: FunctionInfo, values: Mapping[str, Any]) -> Any:
        """Return the value of a function that is a program of others, for the arguments ``values`` by parameter."""
        used = self._used(op, values, function.parameters)
        try:
            return self.evaluate_body(function, function.body, [used[name] for name in function.parameters])
        except AutodiffError as error:
            error.span = error.source = None  # the place is in the definition, which the user does not know
            raise

    def _used(self, op: FunctionInfo, values: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
        """Return the arguments ``names`` that a rule uses; the others must have their defaults."""
        for name in values:
            if name not in names and values[name] != op.default(name):
                raise self._refusal(op, f" with {name}={values[name]}")
        return {name: values[name] for name in names}

    def _refusal(self, op: FunctionInfo, where: str = "") -> NotRecordable:
        """Return the error for a function without a formula; ``where`` is the argument that has none, `` with dim=1``."""
        return NotRecordable(f"'{op.name}'{where} has no formula for vectors and matrices", hint=_WAYS.get(op.name, "") + _HINT)

    def _elementwise(self, op: FunctionInfo, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Array:
        """Return an elementwise operation, whose formula is found by tracing it with numbers."""
        if takes_array(op) or op.section in _MOVING:
            raise self._refusal(op)
        algebra, tape, arrays = self.arrays.algebra, Tape("float64"), list[Array]()

        def traced(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            arrays.append(self.array(value))
            return as_tensor(tape, tape.variable(f"_{len(arrays)}"))

        try:
            with np.errstate(all="ignore"), set_grad_enabled(False):
                output = op.function(*map(traced, arguments), **{name: traced(value) for name, value in keywords.items()})
            (formula,) = formulas(algebra, [as_operand(output)])
        except NotRecordable:
            raise self._refusal(op) from None
        symbols = {algebra.variable(f"_{i}"): array.formula for i, array in enumerate(arrays, 1)}
        return self.arrays.map(algebra.substituted(formula, symbols), self.arrays.broadcast(array.dims for array in arrays))

    # Constants, indices and dimensions

    def constant(self, op: FunctionInfo, values: Sequence[Any]) -> Array:
        """Return an identity matrix, or ones or zeros."""
        lengths = [self.arrays.length_of(self.array(value)) for value in values]
        if op.name == "zeros":
            return self.arrays.zero(tuple(lengths))
        if op.name == "eye" and len(lengths) == 1:
            return self.arrays.identity(lengths[0])
        if op.name == "eye":
            raise self._refusal(op)
        vectors = [(self.arrays.ones(length), self.arrays.new_labels(1)) for length in lengths]
        return self.arrays.contraction(vectors, tuple(label for _, (label,) in vectors))

    def selected(self, array: Array, keys: Sequence[Any]) -> Array:
        """Return elements of an array: keys are integers, slices, one list of places, ``None`` for a new dimension, or ``...``."""
        labels, factors, result = self.arrays.labels(array), list[Factor](), list[int]()
        rest = len(labels) - sum(key is not None and key is not ... for key in keys)  # the dimensions for which ``...`` stands
        if rest < 0 or sum(isinstance(key, np.ndarray) for key in keys) > 1:
            raise ShapeError(f"{len(keys)} indices for {len(labels)} dimensions", hint="use slices, or one list of places")
        whole = slice(None)
        dimensions = iter(zip(labels, array.dims, strict=True))
        for key in (one for part in keys for one in ([whole] * rest if part is ... else [part])):
            (new,) = self.arrays.new_labels(1)
            if key is None:
                factors.append((self.arrays.ones(1), (new,)))
                result.append(new)
                continue
            label, length = next(dimensions)
            is_list = isinstance(key, np.ndarray) and key.ndim == 1 and key.dtype.kind == "i"
            if isinstance(key, slice) and key == whole:
                result.append(label)
            elif isinstance(key, int):
                factors.append((self.arrays.rows((), length, str(key)), (label,)))
            elif is_list or isinstance(key, slice):
                count = _count(length, key) if isinstance(key, slice) else length_product([len(key)])
                factors.append((self.arrays.rows((count,), length, _text(key)), (new, label)))
                result.append(new)
            else:
                raise NotRecordable("an index that depends on values has no formula", hint=f"multiply by a mask, or {_HINT}")
        return self.arrays.contraction([(array, labels), *factors], (*result, *(label for label, _ in dimensions)))

    def places(self, array: Array, dim: Any) -> list[int]:
        """Return the dimensions over which a function works, counted from 0; all for ``none``."""
        wanted = range(len(array.dims)) if dim is None else [int(one) for one in np.ravel(dim)]
        if any(not -len(array.dims) <= place < len(array.dims) for place in wanted):
            raise ShapeError(f"dimension {dim} of an array with {len(array.dims)} dimensions", hint="the first dimension is 0")
        return [place % len(array.dims) for place in wanted]

    def permuted(self, array: Array, order: Sequence[int]) -> Array:
        """Return an array with its dimensions in another order."""
        if array.symmetric or len(array.dims) < 2:
            return array
        labels = self.arrays.labels(array)
        return self.arrays.contraction([(array, labels)], tuple(labels[place] for place in order))

    def stacked(self, items: Sequence[Array]) -> Array:
        """Return arrays along a new first dimension."""
        dims, terms = items[0].dims, []
        if any(item.dims != dims for item in items):
            raise ShapeError("the elements of a list must have equal shapes")
        for place, item in enumerate(items):
            new, labels = self.arrays.new_labels(1), self.arrays.labels(item)
            unit = self.arrays.rows((), length_product([len(items)]), str(place))  # 1 at the place of the item, else 0
            terms.append(self.arrays.contraction([(unit, new), (item, labels)], new + labels))
        return self.arrays.sum(terms, (length_product([len(items)]), *dims))

    def reshaped(self, array: Array, sizes: Sequence[Array]) -> Array:
        """Return an array in another shape, with -1 for a missing length; raise ``NotRecordable`` if its size may be another."""
        dims = [-1 if size.formula.value == -1 else self.arrays.length_of(size) for size in sizes]
        known = length_product(length for length in dims if length != -1)
        dims = [_quotient(length_product(array.dims), known) if length == -1 else length for length in dims]
        labels, result = self.arrays.labels(array), self.arrays.new_labels(len(dims))
        before = list(zip(labels, array.dims, strict=True))
        after = list(zip(result, dims, strict=True))
        factors: list[Factor] = [(array, labels)]
        while before or after:  # a place of the old dimensions is the place of the new ones with the same number
            old, new = _shortest_equal(before, after)
            ends = (self._number_places(old, factors), self._number_places(new, factors))
            factors.append((self.arrays.identity(length_product(length for _, length in old)), ends))
            del before[: len(old)], after[: len(new)]
        return self.arrays.contraction(factors, result)

    def _number_places(self, dims: Sequence[_Dimension], factors: list[Factor]) -> int:
        """Add the factors that number the places of several dimensions, and return the label of the number."""
        if not dims:  # a number has one place
            (label,) = self.arrays.new_labels(1)
            factors.append((self.arrays.ones(1), (label,)))
            return label
        label, length = dims[0]
        for other_label, other_length in dims[1:]:
            pairs, (number,) = self.arrays.pairs(length, other_length), self.arrays.new_labels(1)
            factors.append((pairs, (number, label, other_label)))
            label, length = number, pairs.dims[0]
        return label

    # Products and sums

    def einsum(self, equation: str, *arrays: Array) -> Array:
        """Return a product that is summed over indices, as in ``einsum("ij,j->i", A, x)``."""
        inputs, arrow, output = equation.replace(" ", "").partition("->")
        terms, lengths = inputs.split(","), dict[str, Length]()
        if not arrow or [len(array.dims) for array in arrays] != list(map(len, terms)) or not set(output) <= set(inputs):
            raise ShapeError(f"'{equation}' does not name the dimensions of each array and of the result")
        for array, term in zip(arrays, terms, strict=True):
            for letter, length in zip(term, array.dims, strict=True):
                if lengths.setdefault(letter, length) != length:
                    raise ShapeError(f"the lengths {lengths[letter]} and {length} do not match")
        labels = dict(zip(lengths, self.arrays.new_labels(len(lengths)), strict=True))
        factors = [(array, tuple(labels[letter] for letter in term)) for array, term in zip(arrays, terms, strict=True)]
        return self.arrays.contraction(factors, tuple(labels[letter] for letter in output))

    def matmul(self, left: Array, right: Array) -> Array:
        """Return the product of vectors and matrices."""
        if not left.dims or not right.dims or len(left.dims) > 2 or len(right.dims) > 2:
            hint = f"add {setting('shape', 'x=n')}, or use * to multiply by a number"
            raise ShapeError("@ takes vectors and matrices", hint=hint)
        first, second = "ij"[-len(left.dims) :], "jk"[: len(right.dims)]  # j is summed over
        return self.einsum(f"{first},{second}->{(first + second).replace('j', '')}", left, right)

    def kronecker(self, left: Array, right: Array) -> Array:
        """Return the Kronecker product of two vectors or of two matrices."""
        if len(left.dims) != len(right.dims):
            raise ShapeError("kron takes arrays with equal numbers of dimensions", hint="use unsqueeze to add a dimension")
        factors = [(array, self.arrays.labels(array)) for array in (left, right)]
        pairs = zip(*(zip(labels, array.dims, strict=True) for array, labels in factors), strict=True)
        result = tuple(self._number_places(pair, factors) for pair in pairs)
        return self.arrays.contraction(factors, result)

    def total(self, array: Array, dim: Any = None, keepdim: bool = False) -> Array:
        """Return the sum over dimensions, or over all; with ``keepdim``, they keep the length 1."""
        labels, over = self.arrays.labels(array), self.places(array, dim)
        if not keepdim:
            return self.arrays.contraction([(array, labels)], tuple(label for i, label in enumerate(labels) if i not in over))
        new = {place: self.arrays.new_labels(1) for place in over}
        result = [new[place][0] if place in new else label for place, label in enumerate(labels)]
        return self.arrays.contraction([(array, labels), *((self.arrays.ones(1), own) for own in new.values())], tuple(result))

    def mean(self, array: Array, dim: Any, keepdim: bool) -> Array:
        """Return the mean over dimensions, or over all."""
        lengths = [self.arrays.length(array.dims[place]).formula for place in self.places(array, dim)]
        reciprocal = self.arrays.map(self.arrays.algebra.product([(length, -_ONE) for length in lengths]), ())
        total = self.total(array, dim, keepdim)
        labels = self.arrays.labels(total)
        return self.arrays.contraction([(reciprocal, ()), (total, labels)], labels)

    def power(self, array: Array, exponent: Fraction) -> Array:
        """Return a power of each element."""
        return self.arrays.map(self.arrays.algebra.product([(array.formula, exponent)]), array.dims)

    def norm(self, array: Array, p: Any, dim: Any, keepdim: bool) -> Array:
        """Return the norm of order ``p`` of all elements, or along dimensions; ``None`` and ``"fro"`` are the order 2."""
        order = 2 if p in ("fro", None) else p
        is_finite = isinstance(order, (int, float)) and np.isfinite(order)
        exponent = Fraction(order).limit_denominator() if is_finite else Fraction(0)
        if not exponent:  # also for the order 0, which counts elements
            raise NotRecordable("only norms with a finite exponent have a formula", hint=_HINT)
        elements = array if exponent == 2 else self.arrays.map(self.arrays.algebra.call("abs", array.formula), array.dims)
        return self.power(self.total(self.power(elements, exponent), dim, keepdim), 1 / exponent)

    def diagonal(self, array: Array) -> Array:
        """Return the diagonal of a matrix, or the diagonal matrix of a vector."""
        if len(array.dims) == 1:
            return self.einsum("i,ij->ij", array, self.arrays.identity(array.dims[0]))
        return self.einsum("ii->i", self.square(array))

    def square(self, matrix: Array) -> Array:
        """Return a matrix, which must be square."""
        if len(matrix.dims) != 2 or matrix.dims[0] != matrix.dims[1]:
            raise ShapeError(f"this takes a square matrix, not the dimensions {', '.join(map(str, matrix.dims)) or 'of a number'}")
        return matrix

    def cumulated(self, array: Array, dim: int) -> Array:
        """Return the cumulative sum along a dimension."""
        labels, (place,), new = self.arrays.labels(array), self.places(array, dim), self.arrays.new_labels(1)
        result = labels[:place] + new + labels[place + 1 :]
        return self.arrays.contraction([(array, labels), (self.arrays.triangle(array.dims[place]), (*new, labels[place]))], result)

    def matrix_power(self, matrix: Array, n: int) -> Array:
        """Return a product of ``n`` equal matrices, of inverses if ``n`` is negative; the identity if it is 0."""
        factor = self.square(matrix) if n > 0 else self.arrays.inverse(matrix)
        return reduce(self.matmul, [factor] * abs(n)) if n else self.arrays.identity(matrix.dims[0])


def _has_symbol(values: Iterable[object]) -> bool:
    """Return whether a value, or an item of a list among the values, is an array of the reader."""
    return any(isinstance(item, Symbol) for item in flat_items(list(values)))


def _quotient(length: Length, divisor: Length) -> Length:
    """Return a length divided by another, ``n`` for ``m*n`` and ``m``; raise ``NotRecordable`` if the quotient is not known."""
    if all(str(one).isdecimal() for one in (length, divisor)):
        return length_product([int(length) // int(divisor)])
    factors = str(length).split("*")
    for factor in str(divisor).split("*") if divisor != 1 else ():
        if factor not in factors:
            raise NotRecordable(f"the length {length} divided by {divisor} is not known", hint="write the length in place of -1")
        factors.remove(factor)
    return length_product(factors)


def _shortest_equal(before: Sequence[_Dimension], after: Sequence[_Dimension]) -> tuple[Sequence[_Dimension], Sequence[_Dimension]]:
    """Return the fewest first dimensions of two shapes that have equal numbers of places; without any, raise ``NotRecordable``."""
    for i, j in sorted(product(range(len(before) + 1), range(len(after) + 1)), key=sum)[1:]:  # without no dimensions at all
        if length_product(length for _, length in before[:i]) == length_product(length for _, length in after[:j]):
            return before[:i], after[:j]
    raise NotRecordable("this shape has another number of elements", hint=_HINT)


def _text(key: slice | Numbers) -> str:
    """Return an index as text: ``1:``, ``[0, 2]``."""
    if not isinstance(key, slice):
        return str(key.tolist())
    bounds = ["" if bound is None else str(bound) for bound in (key.start, key.stop, key.step)]
    return ":".join(bounds if bounds[2] else bounds[:2])


def _count(length: Length, key: slice) -> Length:
    """Return the length of a slice; a dimension whose length is a name is taken to be longer than the slice."""
    if str(length).isdecimal():
        return length_product([len(range(*key.indices(int(length))))])
    start, stop = key.start or 0, key.stop or 0
    if key.step not in (None, 1) or (start < 0 < stop):
        hint = f"give numbers as lengths, as in {setting('shape', 'x=9')}"
        raise NotRecordable("the length of this slice is not known", hint=hint)
    if start < 0 or (key.stop is not None and stop > 0):
        return length_product([stop - start])  # 3 for 2:5 and for -3:
    name, _, subtracted = str(length).partition("-")
    missing = int(subtracted or 0) + start - stop  # 2 for 1:-1
    return f"{name}-{missing}" if missing else length


FUNCTIONS: dict[str, Callable[..., Array]] = {
    "sum": lambda read, x, dim, keepdim: read.total(x, dim, keepdim),
    "mean": lambda read, x, dim, keepdim: read.mean(x, dim, keepdim),
    "prod": lambda read, x, dim: read.arrays.product(x, read.places(x, dim)),
    "norm": lambda read, x, p, dim, keepdim: read.norm(x, p, dim, keepdim),
    **dict.fromkeys(("matmul", "dot", "vdot", "mv", "mm"), lambda read, x, y: read.matmul(x, y)),
    "outer": lambda read, x, y: read.einsum("i,j->ij", x, y),
    "kron": lambda read, x, y: read.kronecker(x, y),
    **dict.fromkeys(("flatten", "ravel"), lambda read, x: read.reshaped(x, [read.arrays.number(-_ONE)])),
    "t": lambda read, x: read.permuted(x, (-1, -2)),
    "transpose": lambda read, x: read.permuted(x, (*range(len(x.dims) - 2), -1, -2)),
    "permute": lambda read, x, dims: read.permuted(x, dims),
    "unsqueeze": lambda read, x, dim: read.selected(x, [*[slice(None)] * (dim % (len(x.dims) + 1)), None, ...]),
    **dict.fromkeys(("diag", "diagonal"), lambda read, x: read.diagonal(x)),
    "inv": lambda read, x: read.arrays.inverse(read.square(x)),
    "cholesky": lambda read, x: read.arrays.cholesky(read.square(x)),
    "det": lambda read, x: read.arrays.determinant(read.square(x)),
    "matrix_power": lambda read, x, n: read.matrix_power(x, n),
    "cumsum": lambda read, x, dim: read.cumulated(x, dim),
    "tril": lambda read, x: read.einsum("ij,ij->ij", x, read.arrays.triangle(x.dims[-1])),
    "triu": lambda read, x: read.einsum("ij,ji->ij", x, read.arrays.triangle(x.dims[-1])),
    "clone": lambda read, x: x,
    "stack": lambda read, tensors: tensors,  # a list of arrays is one array already
}
"""The functions that are not elementwise: each makes an array of the reader and the arguments, by the names of the parameters."""

_PROGRAMS = """
trace(x) = sum(diagonal(x))
logdet(x) = log(det(x))
solve(A, B) = inv(A) @ B
logsumexp(x, dim, keepdim) = log(sum(exp(x), dim, keepdim))
logcumsumexp(x, dim) = log(cumsum(exp(x), dim))
vector_norm(x, ord, dim, keepdim) = norm(x, ord, dim, keepdim)
dist(x, y, p) = norm(x - y, p)
vecdot(x, y, dim) = sum(x*y, dim)
addmm(x, mat1, mat2, beta, alpha) = beta*x + alpha*(mat1 @ mat2)
addmv(x, mat, vec, beta, alpha) = beta*x + alpha*(mat @ vec)
softmax(x, dim) = exp(x)/sum(exp(x), dim, true)
log_softmax(x, dim) = x - logsumexp(x, dim, true)
softmin(x, dim) = softmax(-x, dim)
mse_loss(x, target) = mean((x - target)**2)
l1_loss(x, target) = mean(abs(x - target))
soft_margin_loss(x, target) = mean(softplus(-target*x))
binary_cross_entropy(x, target) = -mean(target*log(x) + (1 - target)*log(1 - x))
binary_cross_entropy_with_logits(x, target) = mean(softplus(x) - target*x)
diff(x) = x[1:] - x[:-1]
"""
"""The functions that are programs of other functions."""


@cache
def _programs() -> dict[str, UserFunction]:
    """Return the functions that are programs of others, by name."""
    functions = [UserFunction(node) for node in parse(_PROGRAMS.strip()).children]
    return {function.name: function for function in functions}
