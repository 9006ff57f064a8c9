"""Derivatives of vectors and matrices as formulas, each checked against the engine before it is returned."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from autodiff_cli.compiler.program import Term, terms
from autodiff_cli.errors import AutodiffError, NotRecordable, setting
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax, names_in, unparse
from autodiff_cli.symbolic.matrices.arrays import Array, Arrays, Length
from autodiff_cli.symbolic.matrices.derivative import Derivative
from autodiff_cli.symbolic.matrices.reading import Reader
from autodiff_cli.symbolic.matrices.writing import Writer
from autodiff_cli.symbolic.short_form import AccurateForms, ShortForms
from autodiff_cli.symbolic.to_trace import Numbers, formula_values
from autodiff_cli.symbolic.to_tree import in_written_order, with_names

if TYPE_CHECKING:
    from autodiff_cli.arrays import Matrix

    HessianFunction: TypeAlias = Callable[[Mapping[str, Any]], Matrix | None]

_LARGEST_ERROR, _STEP, _SMALLEST = 1e-7, 1e-12, 1e-8
"""The largest error of a formula, the step between values that shows how sensitive the engine is, and the least scale of errors."""
_DRAWS, _AGREEING = 24, 2
"""The most random values that are tried, and how many must agree; values at which the engine itself is sensitive do not count."""
LEAST_DESCENT = 10_000
"""The least number of elements of all values, times those of the variables, for which a formula pays in a descent."""


class MatrixDerivative(NamedTuple):
    """A derivative as a formula.

    Attributes:
        tree: the formula.
        dims: its dimensions: those of the expression, then those of the variables.
        error: the largest relative difference from the engine at random values.
    """

    tree: Syntax
    dims: tuple[Length, ...]
    error: float


def matrix_derivatives(
    expression: str,
    names: Sequence[str],
    wanted: Sequence[Term],
    dims: Mapping[str, tuple[Length, ...]],
    symmetric: Sequence[str] = (),
    forms: type[ShortForms] = ShortForms,
) -> dict[Term, MatrixDerivative]:
    """Return derivatives as formulas.

    Args:
        expression: a program of the language.
        names: the names of its variables and constants.
        wanted: the variables of each derivative, in order; none for the expression itself.
        dims: the dimensions of vectors and matrices; other names are numbers.
        symmetric: the names of symmetric matrices.
        forms: the choice of elementwise formulas.

    Raises:
        NotRecordable: if an operation does not have a formula, or if a formula does not have the numbers of the engine.
        ShapeError: if shapes do not fit.
    """
    ordered = {name: tuple(dims.get(name, ())) for name in in_written_order(names, parse(expression))}
    arrays = Arrays()
    short_forms = forms(arrays.algebra)
    # The elements of a symmetric matrix are independent variables for the engine, so the matrix is symmetric in the result only.
    is_wrt = set().union(*wanted)
    results: dict[Term, Array] = {(): Reader(arrays, expression, ordered, set(symmetric) - is_wrt).result()}
    for term in (whole[:order] for order in (1, 2) for whole in wanted):  # those of order 1 first, of which order 2 is made
        if term not in results:
            leaf = arrays.leaf(term[-1], ())
            results[term] = Derivative.by(leaf, arrays, short_forms).of_array(results[term[:-1]])
    writer = Writer(arrays, short_forms)
    trees = {term: writer.tree(results[term]) for term in wanted}
    if not is_wrt.isdisjoint(symmetric):
        arrays = Arrays()
        arrays_again = {term: Reader(arrays, unparse(tree), ordered, symmetric).result() for term, tree in trees.items()}
        writer = Writer(arrays, forms(arrays.algebra))
        trees = {term: writer.tree(array) for term, array in arrays_again.items()}
    trees = {term: with_names(tree, names) for term, tree in trees.items()}
    all_dims = {name: dims.get(name, ()) for name in names}
    errors = {term: _largest_error(expression, term, tree, all_dims, symmetric) for term, tree in trees.items()}
    return {term: MatrixDerivative(tree, results[term].dims, errors[term]) for term, tree in trees.items()}


def random_values(dims: Mapping[str, tuple[Length, ...]], symmetric: Sequence[str], seed: int) -> dict[str, Any]:
    """Return random values for names, which are positive for odd seeds; square matrices are far from singular.

    The lengths are 3, 4 and so on, in one order and then in the other: some expressions need tall matrices, or long ones.
    """
    rng = np.random.default_rng(seed)
    shapes = {name: [str(length).split("*") for length in shape] for name, shape in dims.items()}
    lengths = list(dict.fromkeys(factor for shape in shapes.values() for length in shape for factor in length if factor != "1"))
    least, most = (3, 8.0) if seed < _DRAWS // 2 else (8, float("inf"))  # the expression may need the true lengths
    sizes = {"1": 1, **{length: least + i for i, length in enumerate(lengths if seed % 4 < 2 else lengths[::-1])}}
    sizes |= {length: int(length) for length in lengths if str(length).isdecimal() and int(length) <= most}
    values: dict[str, Any] = {}
    for name, shape in shapes.items():
        scale = 1 if seed < _AGREEING else 8 ** rng.uniform(-1, 1)  # some functions need small or large values
        value = scale * rng.uniform(0.2 if seed % 2 else -1, 1, [math.prod(sizes[factor] for factor in length) for length in shape])
        if len(shape) == 2 and shape[0] == shape[1]:
            value = value + 2 * np.eye(len(value))
            value = value + value.T if name in symmetric else value
        values[name] = value
    return values


def _largest_error(
    expression: str, term: Term, tree: Syntax, dims: Mapping[str, tuple[Length, ...]], symmetric: Sequence[str]
) -> float:
    """Return the largest relative difference of a formula ``tree`` from the engine at random values, or raise ``NotRecordable``."""
    errors: list[float] = []
    for seed in range(_DRAWS):
        values = random_values(dims, symmetric, seed)
        try:
            computed = formula_values(unparse(tree), {name: values[name] for name in names_in(tree) if name in values})
            expected = numbers_of_engine(expression, term, values)
            is_inside = np.isfinite(formula_values(expression, values)).all() and np.isfinite(expected).all()
            nearby = numbers_of_engine(expression, term, {name: value * (1 + _STEP) for name, value in values.items()})
        except AutodiffError:
            continue
        size = max(np.abs(expected).max(initial=0.0), _SMALLEST)
        is_certain = is_inside and np.abs(nearby - expected).max(initial=0.0) <= _LARGEST_ERROR * size
        if is_certain:
            difference = np.abs(computed - expected).max(initial=0.0) if computed.shape == expected.shape else math.inf
            errors.append(float(difference / size))
        if errors and (errors[-1] > _LARGEST_ERROR or len(errors) == _AGREEING):
            break
    if len(errors) == _AGREEING and max(errors) <= _LARGEST_ERROR:
        return max(errors)
    raise NotRecordable(
        f"no formula was found for the derivative with respect to {', '.join(term)}",
        hint=f"use grad or hessian with {setting('at')} to compute numbers",
    )


def numbers_of_engine(expression: str, term: Sequence[str], values: Mapping[str, Any]) -> Numbers:
    """Return a derivative with respect to at most two variables, ``term``, as the engine computes it from values of all names."""
    from autodiff_cli.derivatives.matrices_and_products import hessian, jacobian

    if not term:
        return formula_values(expression, values)
    at = {name: values[name] for name in dict.fromkeys(term)}
    const = {name: value for name, value in values.items() if name not in at}
    kind, function = ("jacobian", jacobian) if len(term) == 1 else ("hessian", hessian)
    block = function(expression, at=at, const=const).to_dict()[kind]
    for name in term:
        block = block[name]
    return np.asarray(block, dtype=np.float64)


def hessian_by_formula(expression: str, values: Mapping[str, Any], by: Sequence[str], least: int) -> HessianFunction | None:
    """Return a function that computes the Hessian matrix of a number at a point.

    Args:
        expression: a program of the language.
        values: the values of its variables and constants.
        by: the variables to differentiate with respect to, whose elements are the rows in order.
        least: the least size, the number of elements of all values, times those of the variables.

    Returns:
        A function of the values, whose result is ``None`` where the formula is not finite.  It is ``None`` if no formula is found,
        or if the expression is small or has no vectors.
    """
    sizes = {name: np.size(value) for name, value in values.items()}
    size = sum(sizes[name] for name in by) * sum(sizes.values())
    if size < least or not any(np.ndim(values[name]) for name in by):
        return None
    dims = {name: tuple(1 if n == 1 else f"n{n}" for n in np.shape(value)) for name, value in values.items()}
    second = [term for term in terms(by, 2) if len(term) == 2]
    try:  # the lengths in dims are names, so that the formula is checked with short arrays
        derivatives = matrix_derivatives(expression, list(values), second, dims, forms=AccurateForms)
    except AutodiffError:
        return None

    def hessian(point: Mapping[str, Any]) -> Matrix | None:  # a block that is not computed is the transpose of another
        try:
            results = {term: formula_values(unparse(derivative.tree), point) for term, derivative in derivatives.items()}
        except AutodiffError:
            return None
        blocks = {
            (a, b): np.broadcast_to(results[a, b], (*np.shape(values[a]), *np.shape(values[b]))).reshape(sizes[a], sizes[b])
            for a, b in second
        }
        matrix = np.block([[blocks[a, b] if (a, b) in blocks else blocks[b, a].T for b in by] for a in by])
        return matrix if np.isfinite(matrix).all() else None

    return hessian
