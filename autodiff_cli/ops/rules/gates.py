"""Gates, and functions with a learned slope."""
# Made from grammar/rules/gates.rules by ``python grammar/compile_rules.py``.  Do not edit.

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, TENSOR
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.numerics import activation as activation_arrays
from autodiff_cli.ops.rules.activation import sigmoid, sigmoid_slope, softmax
from autodiff_cli.ops.rules.shape import cat
from autodiff_cli.ops.views import narrow

__all__ = ['softmin']

_declare = Declarations(__name__)
described = _declare.described

_declare.python('prelu', ('x', 'weight'), parameters=('x', 'weight'), defaults=(), tensors=('x', 'weight'), kinds={'x': TENSOR, 'weight': TENSOR}, summary='x where x > 0, else weight*x, with one weight or one for each channel, which is the second dimension of x', formula='1 where x > 0 else weight, and 0 where x > 0 else x', smooth='x != 0, or weight = 1', kink=lambda x, weight: (x == 0) & np.any(weight != 1), convention='the derivative with respect to x at 0 is weight (PyTorch)', samples=(([0.7, -0.4], 0.25), ([[0.7, -0.4], [-1.2, -2.0]], [0.25, 0.1]), (-1.5, 0.2),), edges=((0.0, 0.25),))
_declare.python('glu', ('x', 'dim'), parameters=('x', 'dim'), defaults=(-1, ), tensors=('x',), kinds={'x': TENSOR, 'dim': DIMENSION}, summary='the first half of x along dim, multiplied by the sigmoid of the second half', formula='sigmoid(b), a*sigmoid(b)*sigmoid(-b) for the halves a and b of x', samples=(([0.3, -1.0, 2.0, 0.5],), ([[0.5, -1.0], [2.0, 0.1]], 0),), methods=())
softmin: TensorFunction = _declare.composed('softmin', lambda x, dim=-1: softmax(-x, dim), dict(x=TENSOR, dim=DIMENSION), tensors=('x',), summary='softmax(-x) along dim', formula='s*(sum(g*s) - g) with s = softmin(x)', samples=(([0.3, -1.0, 2.0],), ([[0.5, -1.0], [2.0, 0.1]], 0),), methods=())
def _gated_by_x(g: Any, x: Any, dim: Any) -> Any:
    half = g.shape[dim]
    a = narrow(x, dim, 0, half)
    b = narrow(x, dim, half, half)
    gate = sigmoid(b)
    return cat((g * gate, (g * a) * sigmoid_slope(b, gate)), dim)
gated: TensorFunction = _declare('glu', activation_arrays.glu, {'x': _gated_by_x}, statics={'dim': -1}, public=False)
