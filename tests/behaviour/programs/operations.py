"""Derivatives of operations: ties, zeros, broadcasting, types, indexing, reductions."""

import math
from math import inf, nan

from tests.behaviour import const, leaf, shape, torch

MATRIX = [[1.0, 2.0], [3.0, 4.0]]
WIDE = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def slope(function, at):
    """The gradient of the sum of what a function gives."""
    x = leaf(at)
    (g,) = torch.autograd.grad(function(x).sum(), x)
    return g


def slopes(function, *at):
    arguments = [leaf(a) for a in at]
    return list(torch.autograd.grad(function(*arguments).sum(), arguments))

## elementary functions
# The function of an element, and the method of a vector.
def both(name, at):
    return slope(lambda x: torch.cat([getattr(torch, name)(x[0]).reshape(1), getattr(x[1:], name)()]), [at, at])
both("exp", 0.5)  # ~[1.6487212707001282, 1.6487212707001282]
both("log", 0.5)  # ~[2.0, 2.0]
both("log2", 0.5)  # ~[2.8853900817779268, 2.8853900817779268]
both("log10", 0.5)  # ~[0.8685889638065037, 0.8685889638065037]
both("log1p", 0.5)  # ~[0.6666666666666666, 0.6666666666666666]
both("expm1", 0.5)  # ~[1.6487212707001282, 1.6487212707001282]
both("exp2", 0.5)  # ~[0.9802581434685472, 0.9802581434685472]
both("sqrt", 0.25)  # ~[1.0, 1.0]
both("rsqrt", 0.25)  # ~[-4.0, -4.0]
both("sin", 0.5)  # ~[0.8775825618903728, 0.8775825618903728]
both("cos", 0.5)  # ~[-0.479425538604203, -0.479425538604203]
both("tan", 0.5)  # ~[1.2984464104095248, 1.2984464104095248]
both("asin", 0.5)  # ~[1.1547005383792517, 1.1547005383792517]
both("acos", 0.5)  # ~[-1.1547005383792517, -1.1547005383792517]
both("atan", 0.5)  # ~[0.8, 0.8]
both("sinh", 0.5)  # ~[1.1276259652063807, 1.1276259652063807]
both("cosh", 0.5)  # ~[0.5210953054937474, 0.5210953054937474]
both("tanh", 0.5)  # ~[0.7864477329659274, 0.7864477329659274]
both("asinh", 0.5)  # ~[0.8944271909999159, 0.8944271909999159]
both("acosh", 1.5)  # ~[0.8944271909999159, 0.8944271909999159]
both("atanh", 0.5)  # ~[1.3333333333333333, 1.3333333333333333]
both("sigmoid", 0.0)  # ~[0.25, 0.25]
both("reciprocal", 0.5)  # ~[-4.0, -4.0]
both("square", 0.5)  # ~[1.0, 1.0]
both("neg", 0.5)  # ~[-1.0, -1.0]
both("abs", -0.5)  # ~[-1.0, -1.0]
both("sign", 0.5)  # ~[0.0, 0.0]
both("floor", 0.5)  # ~[0.0, 0.0]
both("ceil", 0.5)  # ~[0.0, 0.0]
both("round", 0.3)  # ~[0.0, 0.0]
both("trunc", 0.3)  # ~[0.0, 0.0]
both("frac", 0.3)  # ~[1.0, 1.0]
both("erf", 0.5)  # ~[0.8787825789354448, 0.8787825789354448]
both("erfc", 0.5)  # ~[-0.8787825789354448, -0.8787825789354448]
both("lgamma", 1.0)  # ~[-0.5772156649015328, -0.5772156649015328]
both("logit", 0.5)  # ~[4.0, 4.0]
both("sinc", 0.5)  # ~[-1.2732395447351625, -1.2732395447351625]
both("relu", 0.5)  # ~[1.0, 1.0]
both("deg2rad", 90.0)  # ~[0.017453292519943295, 0.017453292519943295]
both("rad2deg", 1.0)  # ~[57.29577951308232, 57.29577951308232]
both("clone", 1.0)  # ~[1.0, 1.0]

## where a function is not smooth
slope(torch.abs, 0.0)  # 0.0
slope(torch.relu, 0.0)  # 0.0
slope(torch.sign, 0.0)  # 0.0
slope(torch.sqrt, 0.0)  # inf
slope(torch.log, 0.0)  # inf
slope(lambda x: x.clamp(0.0, 1.0), 1.5)  # 0.0
slope(lambda x: x.clamp(min=0.0), -1.0)  # 0.0
slope(torch.tanh, 1000.0)  # 0.0
slope(torch.sigmoid, -1000.0)  # 0.0
slope(torch.reciprocal, 0.0)  # -inf
# Nothing overflows.
slope(torch.nn.functional.softplus, [-1000.0, 0.0, 1000.0])  # [0.0, 0.5, 1.0]
slope(lambda x: torch.logsumexp(x, 0), [1000.0, 1000.0])  # ~[0.5, 0.5]

## softmax and log_softmax
torch.softmax(leaf([0.0, 0.0]), dim=0)  # [0.5, 0.5]
slope(lambda x: torch.softmax(x, dim=0)[0], [0.0, 0.0])  # [0.25, -0.25]
slope(lambda x: torch.log_softmax(x, dim=0)[0], [0.0, 0.0])  # [0.5, -0.5]

## powers with a number
slope(lambda x: x**3, [2.0, -2.0, 0.0])  # [12.0, 12.0, 0.0]
slope(lambda x: x**0, [0.0, 2.0])  # [0.0, 0.0]
slope(lambda x: x**0.0, [0.0, 2.0])  # [0.0, 0.0]
slope(lambda x: x**1, [0.0])  # [1.0]
slope(lambda x: x**0.5, [0.0])  # [inf]
slope(lambda x: 2.0**x, [3.0])  # ~[5.545177444479562]
slope(lambda x: 0.0**x, [2.0, 0.0])  # [0.0, 0.0]

## powers of two tensors
slopes(lambda a, b: a**b, [2.0, 3.0], [3.0, 2.0])[0]  # [12.0, 6.0]
slopes(lambda a, b: a**b, [2.0, 3.0], [3.0, 2.0])  # ~[[12.0, 6.0], [5.545177444479562, 9.887510598012987]]
slopes(lambda a, b: a**b, [0.0, 0.0], [2.0, 0.0])  # [[0.0, 0.0], [0.0, 0.0]]
slope(lambda x: x ** torch.tensor([2, 3]), [-2.0, -3.0])  # [-4.0, 27.0]

## second derivatives where a factor is zero
x, y = leaf(0.0), leaf([2.0, 0.0, 4.0])
(g,) = torch.autograd.grad(x**2, x, create_graph=True)
g, *torch.autograd.grad(g, x, create_graph=True)  # (0.0, 2.0)
(g,) = torch.autograd.grad(y.prod(), y, create_graph=True)
torch.autograd.grad(g[1], y)  # ([4.0, 0.0, 2.0],)

## equal extremes share the gradient
slope(lambda x: x.max(), [1.0, 3.0, 3.0])  # [0.0, 0.5, 0.5]
slope(lambda x: x.min(), [1.0, 1.0, 3.0])  # [0.5, 0.5, 0.0]
slope(lambda x: torch.amax(x, 0), [1.0, 3.0, 3.0])  # [0.0, 0.5, 0.5]
slope(lambda x: torch.amin(x, dim=0), [1.0, 1.0, 3.0])  # [0.5, 0.5, 0.0]
slopes(torch.maximum, [1.0, 2.0, 3.0], [1.0, 5.0, 0.0])  # [[0.5, 0.0, 1.0], [0.5, 1.0, 0.0]]
slopes(torch.minimum, [1.0, 2.0, 3.0], [1.0, 5.0, 0.0])  # [[0.5, 1.0, 0.0], [0.5, 0.0, 1.0]]
slopes(torch.max, [1.0, 2.0], [1.0, 5.0])  # [[0.5, 0.0], [0.5, 1.0]]

## the largest along a dimension is the one at the index
ROWS = [[1.0, 5.0, 2.0], [7.0, 3.0, 4.0]]
found = leaf(ROWS).max(dim=1)
found.values, found.indices, found.indices.requires_grad  # ([5.0, 7.0], [1, 0], False)
slope(lambda x: x.max(dim=1)[0] * const([1.0, 10.0]), ROWS)  # [[0.0, 1.0, 0.0], [10.0, 0.0, 0.0]]
found = torch.max(const([[1.0, 5.0], [7.0, 3.0]]), dim=0, keepdim=True)
found.values, found.indices  # ([[7.0, 5.0]], [[1, 0]])
# One of equal ones is chosen.
x = leaf([3.0, 3.0])
values, index = x.max(0)
values.backward()
sorted(x.grad.tolist()), x.grad[index]  # ([0.0, 1.0], 1.0)
[shape(part) for part in torch.max(const(3.0), dim=0, keepdim=True)]  # [[], []]
[shape(part) for part in torch.median(const(3.0), dim=0, keepdim=True)]  # [[], []]

## argmax is not differentiable
x = leaf([1.0, 3.0, 2.0])
x.argmax(), torch.argmin(x, dim=0), x.argmax().requires_grad  # (1, 0, False)

## sort and topk
torch.sort(leaf([3.0, 1.0, 2.0])).indices  # [1, 2, 0]
slope(lambda x: torch.sort(x)[0] * const([1.0, 10.0, 100.0]), [3.0, 1.0, 2.0])  # [100.0, 1.0, 10.0]
slope(lambda x: x.topk(2)[0], [3.0, 1.0, 2.0])  # [1.0, 0.0, 1.0]

## choices
mask = torch.tensor([True, False, True])
slopes(lambda a, b: torch.where(mask, a, b), [1.0, 2.0, 3.0], [4.0, 5.0, 6.0])  # [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
slopes(lambda a, b: a.where(mask, b), [[1.0], [2.0]], [10.0, 20.0, 30.0])  # [[[2.0], [2.0]], [0.0, 2.0, 0.0]]
slope(lambda x: torch.where(x > 0, x, 0.0), [1.0, -1.0])  # [1.0, 0.0]
slope(lambda x: torch.where(x > 0, 2.0, x * x), [1.0, -1.0])  # [0.0, -2.0]
slope(lambda x: x * (x > 2), [1.5, 2.5])  # [0.0, 1.0]
slopes(lambda x, low: torch.clamp(x, min=low), [0.0, 5.0], [1.0, 1.0])  # [[0.0, 1.0], [1.0, 0.0]]
slope(lambda x: x.masked_fill(torch.tensor([True, False]), 5.0), [1.0, 2.0])  # [0.0, 1.0]
slope(lambda x: x.masked_select(torch.tensor([True, False])), [1.0, 2.0])  # [1.0, 0.0]
slope(lambda x: x.gather(0, torch.tensor([1, 1])), [1.0, 2.0])  # [0.0, 2.0]
slope(lambda x: x.index_select(0, torch.tensor([1, 1, 0])), [1.0, 2.0])  # [1.0, 2.0]
slope(lambda x: x.take(torch.tensor([3, 3])), MATRIX)  # [[0.0, 0.0], [0.0, 2.0]]

## since 2.14: where a bound is reached
# The gradients of all arguments, which are the derivatives forward too.
dual = torch.autograd.forward_ad
def both(function, *points):
    backward = slopes(lambda *x: function(*(each * 1 for each in x)), *points)
    for i, slope_of in enumerate(backward):
        with dual.dual_level():
            duals = [const(point) * 1 for point in points]
            duals[i] = dual.make_dual(const(points[i]), torch.ones_like(duals[i])) * 1
            assert dual.unpack_dual(function(*duals)).tangent.tolist() == slope_of.tolist()
    return backward
slope(lambda x: x.clamp(0.0, 1.0), 0.0)  # 0.0
slope(lambda x: x.clamp(0.0, 1.0), 1.0)  # 0.0
slope(lambda x: x.clamp(max=0.0), 0.0)  # 0.0
both(lambda x: x.clamp_(-1, 1), [-2, -1, 0, 1, 2])  # [[0.0, 0.0, 1.0, 0.0, 0.0]]
both(lambda x: x.clip(max=1), [0, 1, 2])  # [[1.0, 0.0, 0.0]]
both(lambda x: x.clamp(1, 1), [0, 1, 2])  # [[0.0, 0.0, 0.0]]
both(lambda x: x.clamp(0, 1), [nan])  # [[0.0]]
both(torch.clamp, [-1, 0, 1, 2], [-1, -1, -1, -1], [1, 1, 1, 1])  # [[0.5, 1.0, 0.5, 0.0], [0.5, 0.0, 0.0, 0.0], [0.0, 0.0, 0.5, 1.0]]
both(torch.clamp, [0, 1, 2], [1, 1, 1], [1, 1, 1])  # [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
both(torch.clamp, [1, 1.5, 2], [2, 2, 2], [1, 1, 1])  # [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
both(torch.clamp, [nan], [0], [1])  # [[1.0], [0.0], [0.0]]
both(lambda x, low: x.clamp(min=low), [0, 1, inf], [0, 2, 0])  # [[0.5, 0.0, 1.0], [0.5, 1.0, 0.0]]
both(lambda x, high: x.clamp(max=high), [0, 1, -inf], [0, 2, 0])  # [[0.5, 1.0, 1.0], [0.5, 0.0, 0.0]]
both(torch.fmax, [0, 1, 2, nan], [0, 2, 1, nan])  # [[0.5, 0.0, 1.0, 1.0], [0.5, 1.0, 0.0, 0.0]]
both(torch.fmin, [0, 1, 2, nan], [0, 2, 1, nan])  # [[0.5, 1.0, 0.0, 1.0], [0.5, 0.0, 1.0, 0.0]]

## comparisons require no grad
x = leaf([1.0, 2.0])
[(y.requires_grad, y.grad_fn) for y in (x > 1, x < 1, x >= 1)]  # [(False, None), (False, None), (False, None)]
[(y.requires_grad, y.grad_fn) for y in (x <= 1, x == 1, x != 1)]  # [(False, None), (False, None), (False, None)]

## types have names in the package
(leaf([1.0]) > 0).dtype == torch.bool, torch.ones(1, dtype=torch.float32).dtype == torch.float  # (True, True)
leaf([1.0]).dtype == torch.double, torch.tensor([1]).dtype == torch.long, isinstance(torch.float64, torch.dtype)  # (True, True, True)
torch.float64.is_floating_point, torch.int64.is_floating_point, str(torch.float64)  # (True, False, 'torch.float64')

## products of tensors that broadcast
slopes(torch.mul, [1.0, 2.0], 3.0)  # [[3.0, 3.0], 3.0]
slopes(torch.mul, [[1.0], [2.0]], [3.0, 4.0])  # [[[7.0], [7.0]], [3.0, 3.0]]
slopes(torch.mul, [[1.0, 2.0]], [[3.0], [4.0]])  # [[[7.0, 7.0]], [[3.0], [3.0]]]
slopes(torch.mul, [[[1.0]]], [2.0, 3.0])  # [[[[5.0]]], [1.0, 1.0]]
slopes(torch.mul, 2.0, 3.0)  # [3.0, 2.0]
slopes(torch.mul, [2.0], 3.0)  # [[3.0], 2.0]
slopes(torch.mul, MATRIX, [10.0, 20.0])  # [[[10.0, 20.0], [10.0, 20.0]], [4.0, 6.0]]
leaf([1.0, 2.0]) + leaf([1.0, 2.0, 3.0])  # RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0

## shapes of gradients where something is empty
def shapes(first, second):
    x, y = (torch.ones(size, dtype=torch.float64, requires_grad=True) for size in (first, second))
    (x * y).sum().backward()
    return shape(x.grad), shape(y.grad), y.grad.sum()
[shapes((0, 3), second) for second in ((1, 1), (), (1,))]  # [([0, 3], [1, 1], 0.0), ([0, 3], [], 0.0), ([0, 3], [1], 0.0)]
[shapes((1, 3), second) for second in ((1, 1), (), (1,))]  # [([1, 3], [1, 1], 3.0), ([1, 3], [], 3.0), ([1, 3], [1], 3.0)]
[shapes((2, 0), second) for second in ((1, 1), (), (1,))]  # [([2, 0], [1, 1], 0.0), ([2, 0], [], 0.0), ([2, 0], [1], 0.0)]
[shapes((1, 1), second) for second in ((1, 1), (), (1,))]  # [([1, 1], [1, 1], 1.0), ([1, 1], [], 1.0), ([1, 1], [1], 1.0)]

## expanding and repeating
slope(lambda x: x.expand(2, 3) * const(WIDE), [[1.0], [2.0]])  # [[6.0], [15.0]]
shape(leaf([[1.0], [2.0]]).expand(2, 3)), shape(leaf([1.0, 2.0]).expand(3, -1))  # ([2, 3], [3, 2])
shape(const(1.0).expand_as(other=const([1.0, 2.0])))  # [2]
ones = torch.ones(3, 2, dtype=torch.float64)
slope(lambda x: x.expand_as(ones), [1.0, 2.0])  # [3.0, 3.0]
slope(lambda x: torch.broadcast_to(x, (3, 2)), [1.0, 2.0])  # [3.0, 3.0]
slope(lambda x: x.repeat(3, 2), [1.0, 2.0])  # [6.0, 6.0]
slope(lambda x: x.tile(2), [1.0, 2.0])  # [2.0, 2.0]
slope(lambda x: x.repeat_interleave(2), [1.0, 2.0])  # [2.0, 2.0]

## gradients have the types of their leaves
def types(one, other):
    """The types of a product and of its gradients, and the gradients."""
    product = one * other
    grads = torch.autograd.grad(product.sum(), (one, other))
    return product.dtype, *(g.dtype for g in grads), *grads
single = torch.tensor([1.0, 2.0], dtype=torch.float32, requires_grad=True)
types(single, leaf([3.0, 4.0]))  # (torch.float64, torch.float32, torch.float64, [3.0, 4.0], [1.0, 2.0])
# A tensor without a dimension does not widen, and neither does a number.
types(single, leaf(3.0))  # (torch.float32, torch.float32, torch.float64, [3.0, 3.0], 3.0)
(torch.ones(2, dtype=torch.float32) * 2.5).dtype, (torch.ones(2, dtype=torch.int64) * 2).dtype  # (torch.float32, torch.int64)
slope(lambda x: x * torch.tensor([2, 3]), [1.5, 2.5])  # [2.0, 3.0]
(leaf([1.5, 2.5]) * torch.tensor([2, 3])).dtype, (torch.ones(2, dtype=torch.float32) * torch.tensor([1, 2])).dtype  # (torch.float64, torch.float32)
g = slope(lambda x: (x.float() * 2).double() * 3, [1.0, 2.0])
g, g.dtype  # ([6.0, 6.0], torch.float64)
total = single.sum(dtype=torch.float64)
total.backward()
total.dtype, single.grad.dtype  # (torch.float64, torch.float32)
total = torch.tensor([True, True, False]).sum()
total, total.dtype  # (2, torch.int64)

## joining tensors of different types, or one alone
a, b = torch.tensor([1.0], dtype=torch.float32, requires_grad=True), leaf([2.0])
joined = torch.cat([a, b])
joined.dtype  # torch.float64
(joined * const([3.0, 4.0])).sum().backward()
a.grad.dtype, a.grad, b.grad  # (torch.float32, [3.0], [4.0])
torch.hstack([const([[1.0, 2.0]])])  # [[1.0, 2.0]]
torch.hstack([const([[1.0], [2.0]]), const([[3.0], [4.0]])])  # [[1.0, 3.0], [2.0, 4.0]]

## gradients of indexing
slope(lambda x: x[0], WIDE)  # [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]
slope(lambda x: x[1, 2], WIDE)  # [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
slope(lambda x: x[:, 1], WIDE)  # [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
slope(lambda x: x[:, ::2], WIDE)  # [[1.0, 0.0, 1.0], [1.0, 0.0, 1.0]]
slope(lambda x: x[..., 0], WIDE)  # [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
slope(lambda x: x[None], WIDE)  # [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
slope(lambda x: x[[1, 1, 1]], WIDE)  # [[0.0, 0.0, 0.0], [3.0, 3.0, 3.0]]
slope(lambda x: x[[0, 0, 1], [2, 2, 0]], WIDE)  # [[0.0, 0.0, 2.0], [1.0, 0.0, 0.0]]
slope(lambda x: x[:, [0, 0]], WIDE)  # [[2.0, 0.0, 0.0], [2.0, 0.0, 0.0]]
slope(lambda x: x[0, [1, 1, 2]], WIDE)  # [[0.0, 2.0, 1.0], [0.0, 0.0, 0.0]]
slope(lambda x: x[0:0], WIDE)  # [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
slope(lambda x: x[torch.tensor([[0, 1], [1, 1]])], WIDE)  # [[1.0, 1.0, 1.0], [3.0, 3.0, 3.0]]

## indexing by tensors, and iterating
x = leaf([[1.0, -2.0], [-3.0, 4.0]])
x[x > 0]  # [1.0, 4.0]
slope(lambda x: x[x > 0] ** 2, [[1.0, -2.0], [-3.0, 4.0]])  # [[2.0, 0.0], [0.0, 8.0]]
shape(leaf([1.0, 2.0, 3.0])[torch.tensor([[0, 2], [2, 2]])])  # [2, 2]
slope(lambda x: x[torch.tensor([[0, 2], [2, 2]])], [1.0, 2.0, 3.0])  # [1.0, 0.0, 3.0]
slope(lambda x: x[torch.tensor(1)], [1.0, 2.0, 3.0])  # [0.0, 1.0, 0.0]
slope(lambda x: sum(value * (k + 1) for k, value in enumerate(x)), [1.0, 2.0, 3.0])  # [1.0, 2.0, 3.0]
slope(lambda x: x[0] * x[0] * x[1], [1.0, 2.0])  # [4.0, 1.0]
["a", "b"][torch.tensor(1)]  # 'b'

## wrong positions are refused
leaf([1.0, 2.0])[2]  # IndexError: index 2 is out of bounds for dimension 0 with size 2
leaf([1.0, 2.0])[0, 0]  # IndexError: too many indices for tensor of dimension 1
leaf([1.0, 2.0])[::-1]  # ValueError: step must be greater than zero
leaf([1.0, 2.0])[1.0]  # IndexError: only integers, slices...
leaf([1.0, 2.0])[const([0.0, 1.0])]  # IndexError: tensors used as indices must be long, int, byte or bool tensors
list(leaf(1.0))  # TypeError: iteration over a 0-d tensor
len(leaf(1.0))  # TypeError: len() of a 0-d tensor
["a", "b"][const(1.0)]  # TypeError: only integer tensors of a single element can be converted to an index

## sum and mean along dimensions
slope(lambda x: x.sum(dim=1) * const([1.0, 10.0]), WIDE)  # [[1.0, 1.0, 1.0], [10.0, 10.0, 10.0]]
slope(lambda x: x.sum(1, keepdim=True) * x, WIDE)[0]  # [12.0, 12.0, 12.0]
slope(lambda x: x.mean(), WIDE)  # [[0.16666666666666666, 0.16666666666666666, 0.16666666666666666], [0.16666666666666666, 0.16666666666666666, 0.16666666666666666]]
slope(lambda x: x.mean(0), WIDE)  # [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]
slope(lambda x: x.sum((0, 1)), WIDE)  # [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
slope(lambda x: x.mean(dim=-1, keepdim=True), WIDE)[1]  # ~[0.3333333333333333, 0.3333333333333333, 0.3333333333333333]

## products with zeros
def product(values):
    return slope(lambda x: x.prod(), values), slope(lambda x: torch.prod(x, dim=0), values)
product([2.0, 3.0, 4.0])  # ([12.0, 8.0, 6.0], [12.0, 8.0, 6.0])
product([2.0, 0.0, 4.0])  # ([0.0, 8.0, 0.0], [0.0, 8.0, 0.0])
product([0.0, 0.0, 4.0])  # ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
product([5.0])  # ([1.0], [1.0])
product(3.0)  # (1.0, 1.0)

## cumulative sums and products
slope(lambda x: torch.cumsum(x, 0), [1.0, 2.0, 3.0])  # [3.0, 2.0, 1.0]
slope(lambda x: torch.cumprod(x, 0), [2.0, 3.0, 4.0])  # [16.0, 10.0, 6.0]
slope(lambda x: torch.cumprod(x, 0), [2.0, 0.0, 4.0])  # [1.0, 10.0, 0.0]

## norms
slope(lambda x: x.norm(), [3.0, 4.0])  # ~[0.6, 0.8]
slope(lambda x: torch.norm(x, 1), [3.0, -4.0])  # [1.0, -1.0]
slope(lambda x: torch.linalg.norm(x), [3.0, 4.0])  # ~[0.6, 0.8]
slope(lambda x: torch.linalg.vector_norm(x, 3), [1.0, 0.0])  # [1.0, 0.0]
[slope(lambda x, p=p: x.norm(p), [0.0, 0.0]) for p in (1, 2, 3, 1.5)]  # [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
slope(lambda x: x.norm(inf), [3.0, -3.0, 1.0])  # [0.5, -0.5, 0.0]

## variance, deviation and median
slope(lambda x: x.var(), [1.0, 2.0, 3.0])  # [-1.0, 0.0, 1.0]
slope(lambda x: x.std(), [1.0, 2.0, 3.0])  # [-0.5, 0.0, 0.5]
slope(lambda x: x.var(unbiased=False), [1.0, 3.0])  # [-1.0, 1.0]
slope(lambda x: x.median(), [3.0, 1.0, 2.0])  # [0.0, 0.0, 1.0]
# Equal ones among the known elements share; along a dimension there is one position.
slope(lambda x: x.nanmedian(), [1.0, nan, 1.0, 2.0])  # [0.5, 0.0, 0.5, 0.0]
slope(lambda x: x.nanmedian(), [nan, nan])  # [0.5, 0.5]
slope(lambda x: x.nanmedian(), [3.0, nan, 1.0, 2.0])  # [0.0, 0.0, 0.0, 1.0]
slope(lambda x: x.nanmedian(0).values, [3.0, nan, 1.0, 2.0])  # [0.0, 0.0, 0.0, 1.0]

## products of matrices and vectors
slopes(torch.mm, MATRIX, [[5.0, 6.0], [7.0, 8.0]])  # [[[11.0, 15.0], [11.0, 15.0]], [[4.0, 4.0], [6.0, 6.0]]]
slopes(torch.matmul, MATRIX, [[5.0, 6.0], [7.0, 8.0]])  # [[[11.0, 15.0], [11.0, 15.0]], [[4.0, 4.0], [6.0, 6.0]]]
slopes(lambda x, y: x @ y, MATRIX, [[5.0, 6.0], [7.0, 8.0]])  # [[[11.0, 15.0], [11.0, 15.0]], [[4.0, 4.0], [6.0, 6.0]]]
slopes(torch.mv, MATRIX, [5.0, 6.0])  # [[[5.0, 6.0], [5.0, 6.0]], [4.0, 6.0]]
slopes(torch.dot, [1.0, 2.0], [3.0, 4.0])  # [[3.0, 4.0], [1.0, 2.0]]
slopes(torch.outer, [1.0, 2.0], [3.0, 4.0])  # [[7.0, 7.0], [3.0, 3.0]]
slope(torch.trace, MATRIX)  # [[1.0, 0.0], [0.0, 1.0]]
slopes(torch.addmm, [[0.0, 0.0], [0.0, 0.0]], MATRIX, MATRIX)[0]  # [[1.0, 1.0], [1.0, 1.0]]
slopes(lambda x, y: torch.einsum("ij,jk->ik", x, y), MATRIX, MATRIX)  # [[[3.0, 7.0], [3.0, 7.0]], [[4.0, 4.0], [6.0, 6.0]]]
slope(lambda x: torch.nn.functional.linear(x, const(MATRIX), const([1.0, 2.0])), [1.0, 1.0])  # [4.0, 6.0]

## inverse, determinant, triangles and diagonals
slope(torch.inverse, [[2.0, 0.0], [0.0, 4.0]])[0][0]  # ~-0.25
slope(torch.det, [[2.0, 1.0], [1.0, 3.0]])[0]  # ~[3.0, -1.0]
slope(torch.linalg.inv, [[2.0, 0.0], [0.0, 4.0]])[1][1]  # ~-0.0625
slope(torch.triu, MATRIX)  # [[1.0, 1.0], [0.0, 1.0]]
slope(torch.tril, MATRIX)  # [[1.0, 0.0], [1.0, 1.0]]
slope(torch.diag, MATRIX)  # [[1.0, 0.0], [0.0, 1.0]]
slope(torch.diag, [1.0, 2.0])  # [1.0, 1.0]

## changes of shape pass gradients through
def passed(change):
    x = leaf(WIDE)
    y = change(x)
    (y * y.detach()).sum().backward()
    return x.grad.tolist() == WIDE
passed(lambda x: x.view(6)), passed(lambda x: x.view(-1, 2)), passed(lambda x: x.reshape(3, 2))  # (True, True, True)
passed(lambda x: x.reshape((6,))), passed(lambda x: x.t()), passed(lambda x: x.T), passed(lambda x: x.transpose(0, 1))  # (True, True, True, True)
passed(lambda x: x.permute(1, 0)), passed(lambda x: x.permute((1, 0))), passed(lambda x: x.flatten())  # (True, True, True)
passed(lambda x: x.unsqueeze(1)), passed(lambda x: x.unsqueeze(-1).squeeze(-1)), passed(lambda x: x.contiguous())  # (True, True, True)
passed(lambda x: torch.stack([x, x])[0]), passed(lambda x: torch.cat([x, x], dim=1)[:, :3])  # (True, True)
passed(lambda x: torch.flip(x, [0])), passed(lambda x: x.roll(1, 0)), passed(lambda x: x.swapaxes(0, 1))  # (True, True, True)
passed(lambda x: x.movedim(0, 1)), passed(lambda x: torch.stack(x.unbind(1))), passed(lambda x: torch.cat(x.split(1)))  # (True, True, True)
passed(lambda x: torch.cat(x.chunk(2))), passed(lambda x: torch.vstack([x[0], x[1]])), passed(lambda x: x.ravel())  # (True, True, True)
passed(lambda x: torch.hstack([x[0], x[1]])), passed(lambda x: x.view_as(x)), passed(lambda x: x.narrow(0, 0, 2))  # (True, True, True)

## a view needs the right number of elements and contiguous memory
leaf([1.0, 2.0, 3.0]).view(2, 2)  # RuntimeError: shape '[2, 2]' is invalid for input of size 3
x = leaf(WIDE).t()
x.is_contiguous()  # False
x.view(6)  # RuntimeError: view size is not compatible with input tensor's size and stride...
x.reshape(6)  # [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]
leaf(2.0).t(), leaf(2.0).transpose(0, -1), slope(lambda v: v.t() * 3, 2.0)  # (2.0, 2.0, 3.0)

## grids and parts of transposed tensors
slope(lambda x: x.t()[:, ::2] * const(MATRIX), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])  # [[1.0, 3.0], [0.0, 0.0], [2.0, 4.0]]
slopes(lambda x, y: torch.mul(*torch.meshgrid(x, y, indexing="ij")), [1.0, 2.0], [3.0, 4.0, 5.0])  # [[12.0, 12.0], [3.0, 3.0, 3.0]]
leaf([WIDE]).transpose(0, 1)  # [[[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0]]]
slope(lambda x: x.transpose(0, 1) * const([[WIDE[0]], [WIDE[1]]]), [WIDE])  # [[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]

## losses
losses = torch.nn.functional
slope(lambda x: losses.mse_loss(x, const([0.0, 0.0])), [1.0, 2.0])  # [1.0, 2.0]
slope(lambda x: losses.l1_loss(x, const([0.0, 0.0])), [1.0, -2.0])  # [0.5, -0.5]
slope(lambda x: losses.relu(x), [1.0, -2.0])  # [1.0, 0.0]
losses.cross_entropy(const([[1.0, 2.0]]), const([[0.25, 0.75]]))  # ~0.5632616875182228

## arithmetic with numbers, and remainders
slope(lambda x: 3.0 - x, [2.0])  # [-1.0]
slope(lambda x: 3.0 / x, [2.0])  # [-0.75]
slope(lambda x: 3.0 * x, [2.0])  # [3.0]
slope(lambda x: 3.0 + x, [2.0])  # [1.0]
slopes(torch.fmod, [7.0], [3.0])  # [[1.0], [-2.0]]
slopes(torch.remainder, [-7.0], [3.0])  # [[1.0], [3.0]]
slope(lambda x: x % 3, [7.0])  # [1.0]

## two and three arguments
slopes(torch.atan2, [1.0], [1.0])  # [[0.5], [-0.5]]
slopes(torch.hypot, [3.0], [4.0])  # ~[[0.6], [0.8]]
slopes(lambda a, b: torch.lerp(a, b, 0.25), [1.0], [5.0])  # [[0.75], [0.25]]
slopes(lambda a, b: torch.add(a, b, alpha=3), [1.0], [5.0])  # [[1.0], [3.0]]
slopes(lambda a, b: torch.sub(a, b, alpha=3), [1.0], [5.0])  # [[1.0], [-3.0]]
slopes(lambda a, b, c: torch.addcmul(a, b, c, value=2), [1.0], [2.0], [3.0])  # [[1.0], [6.0], [4.0]]
slopes(torch.addcdiv, [1.0], [2.0], [4.0])  # [[1.0], [0.25], [-0.125]]

## what is not a number
slope(lambda x: x.max(), [1.0, nan, 3.0])  # [0.0, 1.0, 0.0]
slopes(torch.maximum, [1.0, nan], [nan, 1.0])  # [[1.0, 1.0], [1.0, 1.0]]
slope(lambda x: x.clamp(0.0, 1.0), [nan, 0.5])  # [0.0, 1.0]
slope(torch.abs, [nan, -0.5])  # [0.0, -1.0]
slope(torch.relu, [nan, -0.5])  # [1.0, 0.0]

## tensors of positions among other positions
x, pair = torch.ones(2, 3, 4, dtype=torch.float64), torch.tensor([0, 1])
shape(x[:, pair, pair]), shape(x[pair, :, pair]), shape(x[0, :, pair])  # ([2, 2], [2, 3], [3, 2])
shape(x[:, None, pair]), shape(x[pair[:, None], pair])  # ([2, 1, 2, 4], [2, 2, 4])
shape(leaf([1.0, 2.0])[True]), shape(leaf([1.0, 2.0])[False])  # ([1, 2], [0, 2])

## shapes and types that are refused
a, x = torch.ones(2, 3, dtype=torch.float64), const([1.0, 2.0])
torch.tensor([1, 2]).mean()  # RuntimeError: ...could not infer output dtype...
a @ a  # RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)
a @ const(1.0)  # RuntimeError: both arguments to matmul need to be at least 1D, but they are 2D and 0D
torch.dot(x, const([1.0, 2.0, 3.0]))  # RuntimeError: inconsistent tensor size, expected tensor...
torch.cat([torch.ones(2, 2), torch.ones(3, 3)])  # RuntimeError: Sizes of tensors must match except in dimension 0...
torch.stack([torch.ones(2), torch.ones(3)])  # RuntimeError: stack expects each tensor to be equal size...
x.sum(1)  # IndexError: Dimension out of range (expected to be in range of [-1, 0], but got 1)
torch.linalg.cholesky(const([[-1.0, 0.0], [0.0, 1.0]]))  # RuntimeError: ...leading minor of order 1 is not positive-definite...
torch.linalg.cholesky(const([[1.0, 2.0], [2.0, 1.0]]))  # RuntimeError: ...leading minor of order 2 is not positive-definite...
x = torch.zeros(0, dtype=torch.float64)
x.max()  # RuntimeError: ...Expected reduction dim to be specified...
x.mean(), x.sum()  # (nan, 0.0)

## booleans and whole numbers
mask = torch.tensor([True, False])
mask + mask  # [True, False]
mask - mask  # RuntimeError: Subtraction, the `-` operator, with two bool tensors is not supported...
torch.neg(mask)  # RuntimeError: Negation, the `-` operator, on a bool tensor is not supported...
torch.tensor([2]) ** -1  # RuntimeError: ...Integers to negative integer powers are not allowed...
torch.tensor([7, -7]) // 2  # [3, -4]
torch.tensor([1, 2]) / 2  # [0.5, 1.0]

## einsum of a list, with a repeated label and with lists of labels
a, b, m = const([1.0, 2.0]), const([3.0, 4.0]), const(MATRIX)
torch.einsum("i,i->", [a, b]), torch.einsum("i,i->", a, b)  # (11.0, 11.0)
torch.einsum("ii->", m), torch.einsum("ii->i", m), torch.einsum("iji->j", torch.stack([m, 10 * m]))  # (5.0, [1.0, 4.0], [21.0, 43.0])
torch.einsum(m, [..., 0], [...]), torch.einsum(m, [1, 0])  # ([3.0, 7.0], [[1.0, 3.0], [2.0, 4.0]])
torch.einsum(m, [0, 52])  # ValueError: einsum(): subscript in subscript list is not within the valid range [0, 52)
slopes(lambda x, y: torch.einsum(x, [0, 1], y, [1, 2], [0, 2]) ** 2, MATRIX, [[0.5, -1.0], [2.0, 0.25]])  # [[[5.5, 17.75], [13.5, 37.0]], [[66.0, -13.0], [94.0, -18.0]]]
slopes(lambda x, y: torch.einsum("ij,jk->ik", x, y) ** 2, MATRIX, [[0.5, -1.0], [2.0, 0.25]])  # [[[5.5, 17.75], [13.5, 37.0]], [[66.0, -13.0], [94.0, -18.0]]]
torch.inner(m, const([[5.0, 7.0], [11.0, 13.0]])), torch.inner(a, const([[5.0, 7.0], [11.0, 13.0]]))  # ([[19.0, 37.0], [43.0, 85.0]], [19.0, 37.0])

## a tensor taken apart into one part
def derivatives(parts):
    x = leaf([[1.0, 2.0]])
    (only,) = parts(x)
    (g,) = torch.autograd.grad((only * only).sum(), x, create_graph=True)
    g.sum().backward()
    return g, x.grad
derivatives(torch.unbind)  # ([[2.0, 4.0]], [[2.0, 2.0]])
derivatives(lambda x: torch.split(x, 1))  # ([[2.0, 4.0]], [[2.0, 2.0]])
derivatives(lambda x: torch.chunk(x, 1))  # ([[2.0, 4.0]], [[2.0, 2.0]])

## a dimension of 1 is stretched by einsum
# The same as with operands that were stretched before, but for the diagonal of one operand.
def slopes_of(equation, *sizes, stretch=()):
    operands = [(torch.arange(math.prod(size)) + 2.0).reshape(size).tolist() for size in sizes]
    whole = stretch or [(-1,) * len(size) for size in sizes]
    return slopes(lambda *x: torch.einsum(equation, *(p.expand(s) for p, s in zip(x, whole, strict=True))) ** 2, *operands)
slopes_of("ij,jk->ik", (2, 2), (1, 2))  # [[[130.0, 130.0], [234.0, 234.0]], [[424.0, 636.0]]]
slopes_of("ij,jk->ik", (2, 2), (1, 2), stretch=((2, 2), (2, 2)))  # [[[130.0, 130.0], [234.0, 234.0]], [[424.0, 636.0]]]
slopes_of("ij,jk->ik", (2, 1), (3, 2))  # [[[1476.0], [2214.0]], [[312.0, 390.0], [312.0, 390.0], [312.0, 390.0]]]
slopes_of("ij,jk->ik", (2, 1), (3, 2), stretch=((2, 3), (3, 2)))  # [[[1476.0], [2214.0]], [[312.0, 390.0], [312.0, 390.0], [312.0, 390.0]]]
slopes_of("ii,i->i", (1, 1), (3,))  # [[[116.0]], [16.0, 24.0, 32.0]]
slopes_of("ij,ij->", (1, 3), (2, 1))  # [[[450.0, 450.0, 450.0]], [[810.0], [810.0]]]
slopes_of("ij,ij->", (1, 3), (2, 1), stretch=((2, 3), (2, 3)))  # [[[450.0, 450.0, 450.0]], [[810.0], [810.0]]]
slopes_of("ij,j,jk->ik", (2, 1), (1,), (3, 2))  # [[[5904.0], [8856.0]], [19188.0], [[1248.0, 1560.0], [1248.0, 1560.0], [1248.0, 1560.0]]]
slopes_of("ij,j,jk->ik", (2, 1), (1,), (3, 2), stretch=((2, 3), (3,), (3, 2)))  # [[[5904.0], [8856.0]], [19188.0], [[1248.0, 1560.0], [1248.0, 1560.0], [1248.0, 1560.0]]]
slopes_of("i...,i...,ij->j...", (1, 2), (2, 1), (2, 1))  # [[[676.0, 1014.0]], [[676.0], [1014.0]], [[676.0], [1014.0]]]
slopes_of("i...,i...,ij->j...", (1, 2), (2, 1), (2, 1), stretch=((2, 2), (2, 2), (2, 1)))  # [[[676.0, 1014.0]], [[676.0], [1014.0]], [[676.0], [1014.0]]]

## positions along one of three dimensions
x = torch.arange(24.0).reshape(2, 3, 4)
torch.equal(torch.take_along_dim(x, x.argmax(dim=0, keepdim=True), 0), x[1:])  # True
torch.take_along_dim(x, torch.tensor([[[3], [0], [1]]]), 2)  # [[[3.0], [4.0], [9.0]], [[15.0], [16.0], [21.0]]]

## one number or a tensor scattered
x, index = leaf([1.0, 2.0, 3.0]), torch.tensor([0, 2])
one = x.scatter(0, index, 5.0)
one, one.grad_fn.name()  # ([5.0, 2.0, 5.0], 'ScatterBackward1')
x.scatter(0, index, const([5.0, 6.0])).grad_fn.name()  # 'ScatterBackward0'

## a copy in another order is not a view
x = leaf([[1.0, 2.0], [3.0, 4.0]])
turned = (x * 1).t()
copy = turned.reshape(-1)
copy.mul_(10)
turned.sum().backward()
x.grad, turned  # ([[1.0, 1.0], [1.0, 1.0]], [[1.0, 3.0], [2.0, 4.0]])

## extremes of two without nan
torch.fmax(const([1.0, nan, 2.0]), const([3.0, 2.0, nan]))  # [3.0, 2.0, 2.0]
slopes(torch.fmax, [1.5, nan, 2.0, 3.0], [1.0, 2.0, nan, 5.0])  # [[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]
slopes(torch.fmin, [0.5, nan, 2.0, 3.0], [1.0, 2.0, nan, 5.0])  # [[1.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 0.0]]
torch.fmax(leaf(1.0), leaf(2.0)).grad_fn.name()  # 'FmaxBackward0'

## complex parts of real tensors
x = leaf([-1.0, 2.0])
torch.real(x) is x, torch.conj(x) is x  # (True, True)
torch.angle(x)  # ~[3.141592653589793, 0.0]
slope(torch.angle, [-1.0, 2.0])  # [0.0, 0.0]

## slopes of samples
samples = [1.0, 4.0, 9.0, 16.0, 3.0]
torch.gradient(const(samples))  # ([3.0, 4.0, 6.0, -3.0, -13.0],)
torch.gradient(const(samples), spacing=(const([0.0, 1.0, 3.0, 4.0, 6.0]),), edge_order=2)  # ~([3.166666666666667, 2.8333333333333335, 5.499999999999999, 2.5, -15.5],)
slope(lambda x: torch.gradient(x, spacing=2.0)[0] ** 2, samples)  # [-2.5, 0.0, 1.75, 8.0, -7.25]
torch.gradient(const([[1.0, 4.0, 2.0], [3.0, 1.0, 7.0]]))  # ([[2.0, -3.0, 5.0], [2.0, -3.0, 5.0]], [[3.0, 0.5, -2.0], [-2.0, 2.0, 6.0]])
torch.gradient(const(samples), edge_order=3)  # RuntimeError: torch.gradient only supports edge_order=1 and edge_order=2.
torch.gradient(const([1.0]))  # RuntimeError: torch.gradient expected each dimension size to be at least edge_order+1
