"""Vector norms, and logarithms of sums of exponentials."""  # made from grammar/rules/norms.rules by grammar/compile_rules.py

import math
from typing import Any

from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, DIMENSIONS, FLAG, NUMBER, TEXT, TYPE, either, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.structural import where
from autodiff_cli.numerics import norms as arrays
from autodiff_cli.numerics.norms import corner, order_of
from autodiff_cli.ops.creation import zeros_like
from autodiff_cli.ops.rules.elementary import abs, exp, sign
from autodiff_cli.ops.rules.extremes import equal_shares
from autodiff_cli.ops.rules.reduce import kept, of_type, over_size, recurrence, spread
from autodiff_cli.ops.shape import lanes
from autodiff_cli.ops.views import neighbour

declare = Declarations(__name__)

weight_in: Any = lambda x, out: exp(x - where(out == -math.inf, 0.0, out))
vector_norm = declare.composed('vector_norm', lambda x, ord=2, dim=None, keepdim=False, dtype=None: linalg_vector_norm(of_type(x, dtype), order_of(ord), dim, keepdim), dict(ord=optional(either(NUMBER, TEXT)), dim=optional(DIMENSIONS), keepdim=FLAG, dtype=optional(TYPE)), tensors=('x',), summary='sum(abs(x)**ord)**(1/ord) over all elements, or along dim; the largest abs(x) for inf, the smallest abs(x) for -inf', formula='sign(x)*(abs(x)/norm(x))**(p - 1)', smooth='norm(x) != 0 for p = 2; no element is 0 for p < 2; the extreme element is unique for inf and -inf', kink=lambda x, ord: corner(x, ord), convention='the derivative at 0 is 0; for inf and -inf, elements of equal absolute value share the derivative (PyTorch)', samples=(([[1.0, -2.0], [3.0, 0.5]], 1, 1), ([[1.0, -2.0], [3.0, 0.5]], 2, 1), ([[1.0, -2.0], [3.0, 0.5]], 3, 1), ([[1.0, -2.0], [3.0, 0.5]], 1.5, 1), ([[1.0, -2.0], [3.0, 0.5]], 0.5, 1), ([[1.0, -2.0], [3.0, 0.5]], -1, 1), ([[1.0, -2.0], [3.0, 0.5]], math.inf, 1), ([[1.0, -2.0], [3.0, 0.5]], -math.inf, 1),), edges=(([0.0, 0.0],), ([0.0, 0.0], 3), ([0.0, 0.0], 1.5), ([3.0, -3.0], math.inf),))
norm = declare.composed('norm', lambda x, p='fro', dim=None, keepdim=False, dtype=None: linalg_vector_norm(of_type(x, dtype), order_of(p), dim, keepdim), dict(p=optional(either(NUMBER, TEXT)), dim=optional(DIMENSIONS), keepdim=FLAG, dtype=optional(TYPE)), tensors=('x',), summary='sum(abs(x)**p)**(1/p) over all elements, or along dim; the largest abs(x) for inf, the smallest abs(x) for -inf', formula='sign(x)*(abs(x)/norm(x))**(p - 1)', smooth='norm(x) != 0 for p = 2; no element is 0 for p < 2; the extreme element is unique for inf and -inf', kink=lambda x, p: corner(x, p), convention='the derivative at 0 is 0; for inf and -inf, elements of equal absolute value share the derivative (PyTorch)', samples=(([3.0, -4.0],), ([[1.0, -2.0], [3.0, 0.5]], 1, 1), ([[1.0, -2.0], [3.0, 0.5]], 2, 1), ([[1.0, -2.0], [3.0, 0.5]], 3, 1), ([[1.0, -2.0], [3.0, 0.5]], 1.5, 1), ([[1.0, -2.0], [3.0, 0.5]], 0.5, 1), ([[1.0, -2.0], [3.0, 0.5]], -1, 1), ([[1.0, -2.0], [3.0, 0.5]], math.inf, 1), ([[1.0, -2.0], [3.0, 0.5]], -math.inf, 1),), edges=(([0.0, 0.0],), ([0.0, 0.0], 3), ([0.0, 0.0], 1.5), ([3.0, -3.0], math.inf),))
logsumexp = declare('logsumexp', arrays.logsumexp, {'x': lambda g, x, out, dim: kept(g, x.shape, dim) * weight_in(x, kept(out, x.shape, dim))}, statics={'dim': None, 'keepdim': False}, kinds={'dim': optional(DIMENSIONS), 'keepdim': FLAG}, summary='log(sum(exp(x))) over all elements, or along dim, without overflow', formula='softmax(x)', convention='the derivative with respect to an element that is -inf is 0, even if all elements are -inf', samples=(([1.0, -2.0, 3.0],), ([[1.0, 2.0], [3.0, 4.0]], 1), ([[1.0, 2.0], [3.0, 4.0]], 0, True),), edges=(([-math.inf, 1.0],),))
logcumsumexp = declare.composed('logcumsumexp', lambda x, dim=0: lanes(x, running_logsumexp, dim), dict(dim=DIMENSION), tensors=('x',), summary='running log(sum(exp(x))) along dim without overflow', formula='reverse running sum of g*exp(x - out)', samples=(([1.0, -2.0, 3.0],), ([[1.0, 2.0], [3.0, 4.0]], 1),))
linalg_vector_norm = declare('linalg_vector_norm', arrays.vector_norm, {'x': lambda g, x, out, ord, dim: zeros_like(x) if ord == 0 else ((spread(g, x.shape, dim) * sign(x)) if ord == 1 else ((sign(x) * equal_shares(g, abs(x), out, dim)) if (ord == math.inf) or (ord == -math.inf) else ((kept(g, x.shape, dim) * over_size(x, kept(out, x.shape, dim))) if ord == 2 else (spread(g, x.shape, dim) * odd_share(x, spread(out, x.shape, dim), ord - 1)))))}, statics={'ord': 2, 'dim': None, 'keepdim': False}, public=False)
odd_share = declare('odd_share', arrays.odd, {'x': lambda g, x, size, p: zeros_like(g) if p == 0 else (g * (over_size(even_share(x, size, p - 1), size) * p)), 'size': lambda g, size, out, p: zeros_like(g) if p == 0 else (g * (over_size(out, size) * (-p)))}, statics={'p': 1.0}, elementwise=True, decomposition='0 if x == 0 else sign(x)*abs(x/size)**p', public=False)
even_share = declare('even_share', arrays.even, {'x': lambda g, x, size, p: zeros_like(g) if p == 0 else (g * (over_size(odd_share(x, size, p - 1), size) * p)), 'size': lambda g, size, out, p: zeros_like(g) if p == 0 else (g * (over_size(out, size) * (-p)))}, statics={'p': 1.0}, elementwise=True, decomposition='abs(x/size)**p', public=False)
def _running_logsumexp_by_x(g: Any, x: Any, out: Any, dim: Any) -> Any:
    decay = weight_in(out, neighbour(out, dim, True, math.inf))
    return recurrence(g, decay, dim, True) * weight_in(x, out)
running_logsumexp = declare('logcumsumexp', arrays.running_logsumexp, {'x': _running_logsumexp_by_x}, statics={'dim': 0}, public=False)
