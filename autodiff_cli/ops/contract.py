"""Products summed over chosen dimensions; ``grammar/rules/contract.rules`` describes the functions without a docstring."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, TENSOR, TEXT, takes
from autodiff_cli.autograd.primitives.structural import dimension
from autodiff_cli.autograd.primitives.types import Dims, Value, Wholes
from autodiff_cli.errors import ArgumentError, ShapeError
from autodiff_cli.limits import check_size
from autodiff_cli.ops.linalg import matmul
from autodiff_cli.ops.rules.contract import contracted, cross_kernel, declare
from autodiff_cli.ops.rules.linalg import mm
from autodiff_cli.ops.rules.reduce import sum
from autodiff_cli.ops.rules.shape import permuted
from autodiff_cli.ops.rules.views import diagonal
from autodiff_cli.ops.shape import reshape, tensor_list


def _parsed_equation(equation: str, ndims: list[int]) -> tuple[list[list[int]], list[int]]:
    """Return the labels of each operand (of the given numbers of dimensions) and of the result; negative ones stand for '...'."""
    operands, arrow, output = equation.replace(" ", "").partition("->")
    inputs = operands.split(",")
    if len(inputs) != len(ndims):
        word = "fewer" if len(ndims) < len(inputs) else "more"
        raise ArgumentError(f"einsum(): {word} operands were provided than specified in the equation")
    longest = 0  # the most dimensions for which a '...' stands
    labels = []
    for i, (text, ndim) in enumerate(zip(inputs, ndims, strict=True)):
        named = len(text.replace("...", ""))
        if "..." not in text and named != ndim:
            raise ArgumentError(
                f"einsum(): the number of subscripts in the equation ({named}) does not match the number of dimensions "
                f"({ndim}) for operand {i} and no ellipsis was given"
            )
        if named > ndim:
            raise ArgumentError(
                f"einsum(): the number of subscripts in the equation ({named}) is more than the number of dimensions ({ndim}) "
                f"for operand {i}"
            )
        longest = max(longest, ndim - named)
        labels.append(_labels_of(text, ndim - named))
    return labels, _result_labels(output, longest, labels) if arrow else _implicit_labels(longest, labels)


def _result_labels(text: str, hidden: int, labels: list[list[int]]) -> list[int]:
    """Return the labels of the result that an equation names, each that of an operand; '...' stands for ``hidden`` dimensions."""
    out = _labels_of(text, hidden)
    for label in out:
        if out.count(label) > 1:
            raise ArgumentError(f"einsum(): output subscript {chr(label)} appears more than once in the output")
        if label > 0 and not any(label in each for each in labels):
            raise ArgumentError(f"einsum(): output subscript {chr(label)} does not appear in the equation for any input operand")
    return out


def _implicit_labels(hidden: int, labels: list[list[int]]) -> list[int]:
    """Return the labels of the result of an equation without an arrow: those that occur once, in alphabetical order."""
    every = [label for each in labels for label in each]
    return [*range(-hidden, 0), *sorted(label for label in set(every) if label > 0 and every.count(label) == 1)]


def _labels_of(text: str, hidden: int) -> list[int]:
    """Return the labels of one operand as integers; its ellipsis stands for ``hidden`` dimensions."""
    before, dots, after = text.partition("...")
    for letter in before + after:
        if not letter.isalpha():
            raise ArgumentError(f"einsum(): invalid subscript given: '{letter}'; subscripts must be in [a-zA-Z]")
    return [*map(ord, before), *(range(-hidden, 0) if dots else ()), *map(ord, after)]


def _without_repeats(x: Value, labels: list[int]) -> tuple[Any, list[int]]:
    """Take the diagonal of an operand along each repeated label; return it with the labels left, each of which occurs once."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if x.shape[first] != x.shape[second]:
                raise ShapeError(
                    f"einsum(): subscript {chr(label)} is repeated for dimensions of {x.shape[first]} and {x.shape[second]}"
                )
            x = diagonal(x, 0, first, second)
            labels = [*(b for i, b in enumerate(labels) if i not in (first, second)), label]  # the diagonal is last
    return x, labels


def _sum_unneeded(x: Value, labels: list[int], needed: set[int]) -> tuple[Any, list[int]]:
    """Return an operand summed over the labels that are not in ``needed``, and its labels left."""
    alone = [i for i, label in enumerate(labels) if label not in needed]
    return (sum(x, alone), [label for label in labels if label in needed]) if alone else (x, labels)


def _unstretched(x: Value, of_x: list[int], y: Value, of_y: list[int]) -> tuple[Any, list[int]]:
    """Return x and its labels without dimensions of length 1 that would broadcast to y: the VJP rule does not sum over them."""
    lengths = dict(zip(of_y, y.shape, strict=True))
    stretched = [i for i, label in enumerate(of_x) if x.shape[i] == 1 != lengths.get(label, 1)]
    if stretched:
        x = reshape(x, [n for i, n in enumerate(x.shape) if i not in stretched])
        of_x = [label for i, label in enumerate(of_x) if i not in stretched]
    return x, of_x


def _in_order(x: Value, labels: list[int], out: list[int]) -> Any:
    """Return the dimensions of an operand in the order of the result."""
    order = tuple(labels.index(label) for label in out)
    return permuted(x, order) if order != tuple(range(len(order))) else x


@declare.described
def einsum(equation: str, *operands: Value) -> Any:
    """Sums of products over the indices of an equation such as 'ij,jk->ik', contracted in pairs from the left."""
    equation = TEXT(equation, "einsum", "equation")
    parts = tensor_list("einsum", "operands", operands)
    if not parts:
        raise ArgumentError("einsum(): must provide at least one operand")
    labels, out = _parsed_equation(equation, [len(part.shape) for part in parts])
    parts, labels = map(list, zip(*map(_without_repeats, parts, labels), strict=True))
    result, of_result = parts[0], labels[0]
    for i in range(1, len(parts)):
        later = {label for each in labels[i + 1 :] for label in each} | set(out)  # the labels that are still needed
        other, of_other = _unstretched(parts[i], labels[i], result, of_result)
        result, of_result = _unstretched(result, of_result, other, of_other)
        result, of_result = _sum_unneeded(result, of_result, later | set(of_other))
        other, of_other = _sum_unneeded(other, of_other, later | set(of_result))
        both = list(dict.fromkeys(of_result + of_other))
        of_product = out if i == len(parts) - 1 else [label for label in both if label in later]
        numbers = [tuple(map(both.index, each)) for each in (of_result, of_other, of_product)]  # small labels from 0
        result, of_result = contracted(result, other, *numbers), of_product
    if len(parts) == 1:  # no product has summed it
        result, of_result = _sum_unneeded(result, of_result, set(out))
    return _in_order(result, of_result, out)


@declare.described
def tensordot(x: Value, y: Value, dims: int | Sequence[Wholes] = 2) -> Any:
    """Sum of products over the last dims dimensions of x and the first dims dimensions of y, or over two lists of dimensions."""
    of_x, of_y = _contracted_dimensions(x, y, dims)
    free_x = [d for d in range(len(x.shape)) if d not in of_x]
    free_y = [d for d in range(len(y.shape)) if d not in of_y]
    summed = int(np.prod([x.shape[d] for d in of_x], dtype=np.int64))
    shape = (*(x.shape[d] for d in free_x), *(y.shape[d] for d in free_y))
    rows = int(np.prod(shape[: len(free_x)], dtype=np.int64))
    columns = int(np.prod(shape[len(free_x) :], dtype=np.int64))
    check_size(shape)
    left = reshape(permuted(x, (*free_x, *of_x)), (rows, summed))
    return reshape(mm(left, reshape(permuted(y, (*of_y, *free_y)), (summed, columns))), shape)


def _contracted_dimensions(x: Value, y: Value, dims: int | Sequence[Wholes]) -> tuple[list[int], list[int]]:
    """Return the dimensions of x and of y over which ``tensordot`` sums, after a check of their lengths."""
    if isinstance(dims, int):
        most = min(len(x.shape), len(y.shape))
        if not 0 <= dims <= most:
            raise ShapeError(f"tensordot expects 0 <= dims <= {most}, but got dims={dims}")
        of_x, of_y = list(range(len(x.shape) - dims, len(x.shape))), list(range(dims))
    else:
        of_x, of_y = ([d] if isinstance(d, int) else list(d) for d in dims)
    if (of_x and not x.shape) or (of_y and not y.shape):
        raise ShapeError(f"tensordot cannot contract a number, but the shapes are {list(x.shape)} and {list(y.shape)}")
    of_x, of_y = [dimension(d, len(x.shape)) for d in of_x], [dimension(d, len(y.shape)) for d in of_y]
    lengths = [x.shape[d] for d in of_x], [y.shape[d] for d in of_y]
    if lengths[0] != lengths[1]:
        raise ShapeError(f"contracted dimensions need to match, but first has sizes {lengths[0]} and second has {lengths[1]}")
    return of_x, of_y


@declare.described
def inner(x: Value, y: Value) -> Any:
    if not x.shape or not y.shape:
        return x * y
    if x.shape[-1] != y.shape[-1]:
        raise ShapeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(x.shape)} and {list(y.shape)}"
        )
    return matmul(x, y) if len(x.shape) == len(y.shape) == 1 else tensordot(x, y, [[-1], [-1]])


@declare.described
def kron(x: Value, y: Value) -> Any:
    """The Kronecker product: every element of x multiplied by the whole of y."""
    ndim = max(len(x.shape), len(y.shape))
    of_x, of_y = ((*(1,) * (ndim - len(v.shape)), *v.shape) for v in (x, y))
    check_size(tuple(n * m for n, m in zip(of_x, of_y, strict=True)))
    left = reshape(x, [n for pair in zip(of_x, (1,) * ndim, strict=True) for n in pair])
    right = reshape(y, [n for pair in zip((1,) * ndim, of_y, strict=True) for n in pair])
    return reshape(left * right, [n * m for n, m in zip(of_x, of_y, strict=True)])


@declare.described
def chain_matmul(*matrices: Value) -> Any:
    """Product of several matrices, computed in the order with the fewest multiplications; the first and the last may be vectors."""
    parts = tensor_list("chain_matmul", "matrices", matrices)
    if len(parts) < 2:
        raise ArgumentError(f"multi_dot(): expected at least 2 tensors but got {len(parts)}")
    row, column = len(parts[0].shape) == 1, len(parts[-1].shape) == 1
    if row:
        parts[0] = reshape(parts[0], (1, -1))
    if column:
        parts[-1] = reshape(parts[-1], (-1, 1))
    for left, right in itertools.pairwise(parts):
        if len(left.shape) != 2 or len(right.shape) != 2 or left.shape[1] != right.shape[0]:
            raise ShapeError(f"multi_dot(): shapes {list(left.shape)} and {list(right.shape)} cannot be multiplied")
    product = _product_in_cheapest_order(parts)
    shape = product.shape[1 if row else 0 : 1 if column else 2]  # without the dimensions that vectors got
    return reshape(product, shape) if row or column else product


def _product_in_cheapest_order(parts: list[Any]) -> Any:
    """Return the product in the order with the fewest multiplications, by dynamic programming over the products of neighbours."""
    n = len(parts)
    sizes = [part.shape[0] for part in parts] + [parts[-1].shape[1]]
    # The multiplications of parts[i:j], and the last split k into parts[i:k] and parts[k:j].
    costs: dict[tuple[int, int], tuple[int, Any]] = {(i, i + 1): (0, None) for i in range(n)}
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length
            costs[i, j] = min((costs[i, k][0] + costs[k, j][0] + sizes[i] * sizes[k] * sizes[j], k) for k in range(i + 1, j))

    def product(i: int, j: int) -> Any:
        return parts[i] if j == i + 1 else mm(product(i, costs[i, j][1]), product(costs[i, j][1], j))

    return product(0, n)


@takes(x=TENSOR, y=TENSOR, dim=DIMENSION)
def cross_along(x: Value, y: Value, dim: int = -1) -> Any:
    """``torch.linalg.cross``: the vector product along dim, by default the last dimension."""
    if len(x.shape) != len(y.shape):
        raise ShapeError(f"linalg.cross: inputs must have the same number of dimensions: {len(x.shape)} and {len(y.shape)}")
    at = dimension(dim, len(x.shape))
    if not x.shape or x.shape[at] != 3 or y.shape[at] != 3:
        lengths = [v.shape[at] if v.shape else 1 for v in (x, y)]
        raise ShapeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {lengths[0]} and {lengths[1]}")
    return cross_kernel(x, y, at - len(x.shape))


cross_along.__name__ = "linalg.cross"


@declare.described
def cross(x: Value, y: Value, dim: Dims = None) -> Any:
    if dim is None:  # the first dimension of length 3
        if 3 not in x.shape:
            raise ShapeError("no dimension of size 3 in input")
        dim = tuple(x.shape).index(3)
    return cross_along(x, y, dim)
