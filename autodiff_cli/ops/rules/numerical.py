"""Polynomials, the trapezoidal rule, interpolation and quantiles."""
# Made from grammar/rules/numerical.rules by ``python grammar/compile_rules.py``.  Do not edit.

from __future__ import annotations

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, DIMENSIONS, FLAG, TENSOR, WHOLE, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.numerics.extremes import is_repeated
from autodiff_cli.numerics.numerical import some_whole

_declare = Declarations(__name__)
described = _declare.described

_declare.python('polyval', ('c', 'x'), parameters=('c', 'x'), defaults=(), tensors=('c', 'x'), kinds={'c': TENSOR, 'x': TENSOR}, summary='polynomial with the coefficients c, highest power first, at x', formula='powers of x; with respect to x, the sum of k*c*x**(k - 1)', samples=(([2.0, -1.0, 3.0], 0.7), ([2.0, -1.0, 0.5, 3.0], [0.7, -1.2]),), methods=())
_declare.python('trapezoid', ('y', 'x', 'dx', 'dim'), parameters=('y', 'x', 'dx', 'dim'), defaults=(None, 1.0, -1, ), tensors=('y', 'x', 'dx'), kinds={'y': TENSOR, 'x': optional(TENSOR), 'dx': TENSOR, 'dim': DIMENSION}, summary='integral along dim by the trapezoidal rule, for samples y at the points x, or at points with the distance dx', formula='half the distance of the two neighbouring points; with respect to x, half of (previous sample - next sample)', aliases=('trapz',), samples=(([1.0, -2.0, 3.0], [0.0, 0.5, 2.0]), ([[1.0, 2.0], [3.0, 5.0]], None, 0.5, 0), ([[1.0, 2.0], [3.0, 5.0]], [0.0, 2.0], 1.0, 0),))
_declare.python('interp', ('x', 'xp', 'fp'), parameters=('x', 'xp', 'fp'), defaults=(), tensors=('x', 'xp', 'fp'), kinds={'x': TENSOR, 'xp': TENSOR, 'fp': TENSOR}, summary='piecewise linear interpolation at x between the points (xp, fp), constant outside; xp increases', formula='slope of the segment; for fp, the weights of its two points; for xp, -slope times these weights', smooth='x is not one of the points xp', kink=lambda x, xp: np.isin(x, xp), convention='the derivative at a point xp is the slope on its right, at the last point on its left; PyTorch does not have this function', samples=((0.7, [0.0, 1.0, 3.0], [2.0, -1.0, 0.5]), ([-1.0, 0.2, 2.5, 7.0], [0.0, 1.0, 3.0], [2.0, -1.0, 0.5]),), edges=((1.0, [0.0, 1.0, 3.0], [2.0, -1.0, 0.5]), (0.0, [0.0, 1.0, 3.0], [2.0, -1.0, 0.5]), (3.0, [0.0, 1.0, 3.0], [2.0, -1.0, 0.5]),), methods=())
_declare.python('quantile', ('x', 'q', 'dim', 'keepdim'), parameters=('x', 'q', 'dim', 'keepdim'), defaults=(None, False, ), tensors=('x', 'q'), kinds={'x': TENSOR, 'q': TENSOR, 'dim': optional(DIMENSION), 'keepdim': FLAG}, summary='quantiles q, from 0 to 1, of all elements or along dim, with linear interpolation between neighbouring elements', formula='the weights of the two neighbouring elements; with respect to q, (n - 1) times their difference', smooth='no two elements are equal, and q*(n - 1) is not a whole number', kink=lambda x, q, dim: is_repeated(x) | some_whole(x, q, dim), convention='where q*(n - 1) is whole, the derivative is that on the right, where PyTorch and JAX return 0 with respect to q; one of several equal elements receives the derivative (PyTorch)', samples=(([1.0, -2.0, 3.0, 7.0], 0.3), ([[1.0, 2.5], [4.0, 3.0], [0.5, 2.0]], [0.2, 0.9], 0), ([[1.0, 2.5, 4.0]], 0.7, 1, True),), edges=(([5.0, 1.0, 5.0], 0.7), ([1.0, 2.0, 4.0], 0.5),))
_declare.python('gradient', ('dim', 'edge_order'), parameters=('x',), defaults=(), tensors=('x',), kinds={'dim': optional(DIMENSIONS), 'edge_order': WHOLE}, summary='slopes of the samples x along each dimension, estimated by finite differences at distances or coordinates spacing', samples=(([1.0, -2.0, 3.0, 7.0],), ([[1.0, 2.0], [3.0, 5.0]],),), methods=())
