"""Jacobians, Hessians and Taylor series as LaTeX equations of numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.errors import ShapeError
from autodiff_cli.language.latex_names import identifier, number
from autodiff_cli.report.array_text import human

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from autodiff_cli.derivatives.matrices_and_products import Product
    from autodiff_cli.derivatives.taylor import Taylor


def jacobian(result: Product, precision: int) -> str:
    """Return the equation of a Jacobian, with a row for each output element and a column for each element of the variables."""
    return rf"\frac{{\partial f}}{{\partial {_elements(result.shapes)}}} = {_matrix(result.jacobian_matrix(), precision)}" + "\n"


def hessian(result: Product, precision: int) -> str:
    """Return the equation of the Hessian, with a row and a column for each element of the variables.

    An output that is not a scalar raises ``ShapeError``.
    """
    if np.size(result.value) != 1:
        raise ShapeError(
            f"an output of shape {list(np.shape(result.value))} has a Hessian for each element",
            hint="select one element, or use another format",
        )
    sizes = {name: math.prod(shape) for name, shape in result.shapes.items()}
    blocks = [[np.reshape(result.derivatives[a][b], (sizes[a], sizes[b])) for b in sizes] for a in sizes]  # of each two variables
    below = rf"\partial {_elements(result.shapes)}^{{2}}"
    return rf"\frac{{\partial^{{2}} f}}{{{below}}} = {_matrix(np.block(blocks), precision)}" + "\n"


def taylor(result: Taylor, precision: int) -> str:
    """Return the equation of a Taylor series, without the terms whose coefficient is 0.

    The coefficients of a vector or matrix are vectors or matrices, and more dimensions raise ``ShapeError``.  The elements of a
    variable that is not a scalar are shifted by ``t``.
    """
    name = identifier(result.variable)
    if np.ndim(result.at):
        argument, distance = f"{name} + t", "t"
    else:
        argument, distance = name, _distance(name, result.at, precision)
    terms = []
    for power, coefficient in enumerate(result.coefficients):
        if np.any(coefficient):
            factor = "" if power == 0 else distance
            if power > 1:
                factor += f"^{{{power}}}"
            terms.append(_term(coefficient, factor, precision))
    total = " ".join(terms).removeprefix("+ ") or "0"
    if total.startswith("- "):  # the first sign stands next to its number
        total = f"-{total[2:]}"
    remainder = rf"O\left({distance}^{{{result.order + 1}}}\right)"
    return f"f({argument}) = {total} + {remainder}\n"


def _distance(name: str, at: ArrayLike, precision: int) -> str:
    """Return the distance of a scalar variable from a point, such as ``(x - 2)``, which at 0 is the variable itself."""
    point = float(np.asarray(at))
    sign = "+" if point < 0 else "-"
    return rf"\left({name} {sign} {number(human(abs(point), precision))}\right)" if point else name


def _term(coefficient: ArrayLike, factor: str, precision: int) -> str:
    """Return a term of a sum with its sign; ``factor`` is the power of the distance, and empty for power 0."""
    value = np.asarray(coefficient)
    if value.ndim:
        return rf"+ {_matrix(value, precision)} {factor}".rstrip()
    sign = "-" if value < 0 else "+"
    size = human(np.abs(value), precision)
    if size == "1" and factor:  # x, not 1 x
        return f"{sign} {factor}"
    return f"{sign} {number(size)} {factor}".rstrip()


def _elements(shapes: Mapping[str, tuple[int, ...]]) -> str:
    """Return the list of the elements of the variables: ``(x, v_{0}, v_{1})``, or ``x`` for a single one."""
    elements = []
    for name, shape in shapes.items():
        for position in np.ndindex(*shape):  # of a scalar, one empty position
            indices = ",".join(map(str, position))
            elements.append(f"{{{identifier(name)}}}_{{{indices}}}" if position else identifier(name))
    return f"({', '.join(elements)})" if len(elements) > 1 else "".join(elements)


def _matrix(value: ArrayLike, precision: int) -> str:
    r"""Return a ``pmatrix`` of a matrix or of a vector, which is a column; more dimensions raise ``ShapeError``."""
    array = np.asarray(value)
    if array.ndim > 2:
        raise ShapeError(f"a matrix has two dimensions, but the shape is {list(array.shape)}", hint="use another format")
    rows = array.reshape(len(array), -1)  # of one number each for a vector
    lines = r" \\ ".join(" & ".join(number(human(element, precision)) for element in row) for row in rows)
    return rf"\begin{{pmatrix}} {lines} \end{{pmatrix}}"
