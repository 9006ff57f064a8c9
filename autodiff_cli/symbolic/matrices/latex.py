"""LaTeX of expressions of vectors and matrices: ``language.latex`` writes them after a change to the notation of mathematics.

Names are bold, products have no sign, ``outer(a, b)`` is a product with a transpose, and broadcasting is a product with ones.  A
name that begins with ``$`` is LaTeX.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.evaluation.bindings import new_leaves
from autodiff_cli.evaluation.evaluator import Evaluator
from autodiff_cli.language.latex import latex
from autodiff_cli.language.latex_names import bold
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax, arguments, call_tree, name_tree, new_token, new_tree, number_tree, unparse
from autodiff_cli.postorder import postorder
from autodiff_cli.symbolic.matrices.arrays import Length
from autodiff_cli.symbolic.matrices.diff import random_values
from autodiff_cli.symbolic.matrices.writing import index_tree, transposed

_ONES = name_tree(r"$\mathbf{1}")


class _Part(NamedTuple):
    """A part of an expression: its tree, its number of dimensions, and whether it is a column such as ``x[:, none]``."""

    tree: Syntax
    ndim: int
    is_column: bool = False


def matrix_latex(expression: Syntax, dims: Mapping[str, tuple[Length, ...]]) -> str:
    """Return the LaTeX of an expression or a program of the language in the notation of mathematics.

    Args:
        expression: an expression of vectors and matrices.
        dims: the dimensions of its names.
    """
    tree = parse(unparse(expression))  # the nodes of a derivative may occur in several places
    return latex(_with_products(_Notation(tree, dims, _dimensions(tree, random_values(dims, (), seed=1))).tree))


def _dimensions(tree: Syntax, values: Mapping[str, Any]) -> dict[Syntax, int]:
    """Return the number of dimensions of the parts of a program, which is evaluated to find them."""
    dtype = np.dtype("float64")
    evaluator = Evaluator(unparse(tree), new_leaves(dict(values), dtype, ()), dtype, tree)
    evaluator.tensors.steps = []
    with np.errstate(all="ignore"), set_grad_enabled(False):
        evaluator.run()
    ndims = {step.tree: step.result.ndim for step in evaluator.tensors.steps if isinstance(step.result, Tensor)}
    names = {name: value.ndim for name, value in evaluator.names.items() if isinstance(value, Tensor)}
    nodes = postorder([tree], lambda node: node.children)
    return ndims | {node: names[node.children[0].text] for node in nodes if node.kind == "name" and node.children[0].text in names}


class _Notation:
    """Rewrites a program from its leaves to its root."""

    def __init__(self, tree: Syntax, dims: Mapping[str, tuple[Length, ...]], ndims: Mapping[Syntax, int]) -> None:
        self.dims = dims
        self.parts: dict[Syntax, _Part] = {}
        for node in postorder([tree], lambda node: node.children):
            self.parts[node] = self._part(node, ndims.get(node, 0))
        self.tree = self.parts[tree].tree

    def _part(self, node: Syntax, ndim: int) -> _Part:
        """Rewrite a node whose children are rewritten and whose value has ``ndim`` dimensions."""
        whole = node.with_children([self.parts[child].tree for child in node.children])
        if node.kind == "name" and ndim:
            return _Part(name_tree(f"${bold(node.children[0].text)}"), ndim)
        if node.kind == "assignment" and self.parts[node.children[1]].ndim:
            return _Part(new_tree("assignment", new_token("NAME", f"${bold(node.children[0].text)}"), whole.children[1]), 0)
        if node.kind == "index":
            return self._selected(node, whole, ndim)
        if node.kind == "attribute" and node.children[1].text in ("T", "mT"):
            return _Part(transposed(whole.children[0]), ndim - self.parts[node.children[0]].is_column)
        if node.kind in ("call", "method"):
            before = node.children[:1] if node.kind == "method" else []  # the operand before the name of a method
            return self._call(node.children[len(before)].text, [*before, *arguments(node)], ndim)
        if node.kind in _OPERATIONS:
            return _operation(node.kind, [self.parts[child] for child in node.children], ndim)
        return _Part(whole, ndim)

    def _selected(self, node: Syntax, whole: Syntax, ndim: int) -> _Part:
        """Rewrite an index, which is ``whole`` with rewritten parts: a length, ``eye(n)[0]``, ``x[:, none]``, or ``x[0]``."""
        base, subscripts = node.children[0], node.children[1].children
        if base.kind == "attribute" and unparse(base.children[1]) == "shape":
            length = str(self.dims[unparse(base.children[0])][int(unparse(subscripts[0]))])  # x.shape[0] is n or 3
            return _Part(number_tree(length) if length.isdecimal() else name_tree(length), 0)
        if any(subscript.kind == "none" for subscript in subscripts):  # x[:, none] is a column, and x[none, :] a row
            return _Part(whole.children[0], ndim, subscripts[-1].kind == "none")
        if unparse(base).startswith("eye"):
            return _Part(name_tree(rf"$\mathbf{{e}}_{{{unparse(subscripts[0])}}}"), ndim)
        is_element = base.kind == "name" and not ndim  # the name of an array is bold, but not in x[0]
        return _Part(index_tree(base, *subscripts) if is_element else whole, ndim)

    def _call(self, name: str, operands: Sequence[Syntax], ndim: int) -> _Part:
        """Rewrite a call of a function or a method: with a notation of its own, or as a call, which keeps a column a column."""
        parts = [self.parts[operand] for operand in operands]
        if name == "einsum":
            return _Part(_indexed(unparse(operands[0])[1:-1], operands[1:], parts[1:]), ndim)
        if name == "sum" and len(parts) == 1 and operands[0].kind == "pow" and unparse(operands[0].children[1]) == "2":
            return _Part(new_tree("pow", _norm(self.parts[operands[0].children[0]]), number_tree("2")), 0)
        if name in _CALLS and (tree := _CALLS[name](parts)) is not None:
            return _Part(tree, ndim)
        columns = [part.is_column for part in parts if part.ndim]
        return _Part(call_tree(r"$\exp" if name == "exp" and ndim else name, *(part.tree for part in parts)), ndim, any(columns))


def _operation(kind: str, parts: Sequence[_Part], ndim: int) -> _Part:
    """Return an elementwise operation, whose operands are broadcast, or a product of vectors and matrices."""
    first, second = parts[0], parts[-1]
    if kind == "matmul":
        return _Part(_product(first, second), ndim)
    is_column = all(part.is_column or not part.ndim for part in parts) and ndim > 0
    if kind in ("add", "sub"):
        return _Part(new_tree(kind, *(_repeated(part, ndim - is_column) for part in parts)), ndim, is_column)
    if kind == "pow" and first.ndim and not second.ndim:
        return _Part(new_tree("pow", first.tree, _matmul(name_tree(r"$\odot"), second.tree)), ndim, is_column)
    if kind == "mul" and first.ndim and not second.ndim:
        first, second = second, first
    if kind in ("mul", "div") and second.ndim:
        return _Part(_scaled(kind, first, second), ndim, is_column)
    return _Part(new_tree(kind, *(part.tree for part in (first, second)[: len(parts)])), ndim, is_column)


def _scaled(kind: str, first: _Part, second: _Part) -> Syntax:
    """Return a product or quotient of arrays: element by element, or with a diagonal matrix for the rows or columns of a matrix."""
    if not first.ndim and kind == "mul":
        number, array = call_tree("$", first.tree) if first.tree.kind == "matmul" else first.tree, second.tree
        if array.kind == "mul":
            number, array = new_tree("mul", array.children[0], number), array.children[1]
        return new_tree("mul", number, array)
    if not first.ndim:
        return new_tree("hadamard_quotient", first.tree, second.tree)
    if first.is_column == second.is_column and first.ndim == second.ndim:
        if kind == "div":
            return new_tree("hadamard_quotient", first.tree, second.tree)
        # Numbers of both factors come first: (2*x) * (3*y) is 2*3 times the elementwise product.
        scales = [part.tree.children[0] for part in (first, second) if part.tree.kind == "mul"]
        factors = [part.tree.children[1] if part.tree.kind == "mul" else part.tree for part in (first, second)]
        factors = [inner for factor in factors for inner in (factor.children if factor.kind == "hadamard" else [factor])]
        return reduce(partial(new_tree, "mul"), [*scales, new_tree("hadamard", *factors)])
    if kind == "mul" and (second.is_column or (first.ndim == 2 and second.ndim == 1)) and not first.is_column:
        first, second = second, first  # the vector is the first
    vector, matrix = (second, first) if kind == "div" else (first, second)
    if kind == "mul" and {first.ndim, second.ndim} == {1, 2} and (first.is_column or second.is_column):
        column, row = (first, second) if first.is_column else (second, first)
        return _matmul(column.tree, transposed(row.tree))
    diagonal = call_tree("diag", vector.tree)
    diagonal = call_tree("inv", diagonal) if kind == "div" else diagonal
    return _matmul(diagonal, matrix.tree) if vector.is_column else _matmul(matrix.tree, diagonal)


def _repeated(part: _Part, ndim: int) -> Syntax:
    """Return an operand, as a product with ones if it is broadcast to ``ndim`` dimensions."""
    if part.is_column and ndim == 2:
        return _matmul(part.tree, transposed(_ONES))
    if part.ndim == 1 and ndim == 2:
        return _matmul(_ONES, transposed(part.tree))
    if part.ndim or ndim not in (1, 2):
        return part.tree
    ones = _ONES if ndim == 1 else _matmul(_ONES, transposed(_ONES))
    return ones if unparse(part.tree) == "1" else new_tree("mul", part.tree, ones)


def _product(first: _Part, second: _Part) -> Syntax:
    """Return a product with vectors as columns: ``x @ A`` is the transpose of ``A`` times ``x``."""
    if (first.ndim, second.ndim) == (1, 2):
        return _matmul(transposed(second.tree), first.tree)
    return _matmul(transposed(first.tree) if first.ndim == second.ndim == 1 else first.tree, second.tree)


def _total(parts: Sequence[_Part]) -> Syntax | None:
    """Return a sum as a product with ones: over all elements, or over dimension 0 or 1 of a matrix; ``None`` for other sums."""
    first, dim = parts[0], unparse(parts[1].tree).rpartition("=")[2] if len(parts) == 2 else ""
    if len(parts) > 2 or first.ndim not in (1, 2):
        return None
    if first.ndim == 1:
        return _matmul(transposed(_ONES), first.tree)
    return {
        "": _matmul(_matmul(transposed(_ONES), first.tree), _ONES),
        "0": _matmul(transposed(first.tree), _ONES),
        "1": _matmul(first.tree, _ONES),
    }.get(dim)


def _norm(part: _Part) -> Syntax:
    """Return the norm of a vector, or the Frobenius norm of a matrix."""
    return call_tree("norm" if part.ndim == 1 else "frobenius_norm", part.tree)


def _indexed(subscripts: str, operands: Sequence[Syntax], parts: Sequence[_Part]) -> Syntax:
    """Return an ``einsum`` as a sum over indices of a product of elements; ones are left out, and an identity is a delta."""
    terms, _, result = subscripts.partition("->")
    labels = terms.split(",")
    factors: list[Syntax] = []
    for own, operand, part in zip(labels, operands, parts, strict=True):
        text = unparse(operand)
        if not own:  # a number comes first
            factors.insert(0, part.tree)
        elif not text.startswith("ones("):
            base = operand if operand.kind == "name" else part.tree
            factors.append(index_tree(name_tree(r"$\delta") if text.startswith("eye(") else base, name_tree(f"${own}")))
    tree = reduce(partial(new_tree, "mul"), factors or [number_tree("1")])
    inner = ", ".join(dict.fromkeys(label for label in "".join(labels) if label not in result))
    tree = _matmul(name_tree(rf"$\sum_{{{inner}}}"), tree) if inner else tree
    return index_tree(tree, name_tree(f"${result}")) if result else tree


_matmul = partial(new_tree, "matmul")
_OPERATIONS = ("add", "sub", "mul", "div", "pow", "neg", "matmul")
_CALLS: dict[str, Callable[[Sequence[_Part]], Syntax | None]] = {
    "sum": _total,
    "solve": lambda x: _matmul(call_tree("inv", x[0].tree), x[1].tree),
    "kron": lambda x: new_tree("kronecker", x[0].tree, x[1].tree),
    "outer": lambda x: _matmul(x[0].tree, transposed(x[1].tree)),
    **dict.fromkeys(("dot", "vdot", "mv", "mm", "matmul"), lambda x: _product(*x)),
    **dict.fromkeys(("t", "transpose"), lambda x: transposed(x[0].tree)),
    "norm": lambda x: _norm(x[0]) if len(x) == 1 else None,
    "eye": lambda x: name_tree(r"$\mathbf{I}"),
    "zeros": lambda x: name_tree(r"$\mathbf{0}"),
    "ones": lambda x: _ONES if len(x) == 1 else _matmul(_ONES, transposed(_ONES)),
}
"""Functions that have a notation of their own for vectors and matrices; ``None`` is the notation of a function."""


def _with_products(tree: Syntax) -> Syntax:
    """Write products by juxtaposition, and inverses of transposes with one exponent."""
    results: dict[Syntax, Syntax] = {}
    for node in postorder([tree], lambda node: node.children):
        children = [results[child] for child in node.children]
        if node.kind == "matmul":
            results[node] = new_tree("product", *children)
        elif node.kind == "call" and node.children[0].text == "inv" and node.children[1].children[0].kind == "attribute":
            results[node] = new_tree("pow", children[1].children[0].children[0], name_tree(r"$-\top"))
        else:
            results[node] = node.with_children(children)
    return results[tree]
