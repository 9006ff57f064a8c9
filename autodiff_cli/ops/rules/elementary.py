"""Elementary functions, applied element by element."""
# Made from grammar/rules/elementary.rules by ``python grammar/compile_rules.py``.  Do not edit.

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import WHOLE, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.structural import where, zero_cotangent
from autodiff_cli.numerics import decomposition, elementary as arrays

declare = Declarations(__name__, elementwise=True)

exp = declare('exp', np.exp, {'x': lambda g, out: g * out}, summary='e to the power x', formula='exp(x)', samples=None)
expm1 = declare('expm1', np.expm1, {'x': lambda g, x, out: g * (where(out < (-0.5), exp(x), out + 1))}, recover=np.log1p, summary='exp(x) - 1, accurate for small x', formula='exp(x)', samples=None)
exp2 = declare('exp2', np.exp2, {'x': lambda g, out: g * (out * 0.6931471805599453)}, decomposition='2**x', summary='2 to the power x', formula='2**x*log(2)', samples=None)
log = ln = declare('log', np.log, {'x': lambda g, x: g / x}, summary='natural logarithm', formula='1/x', aliases=('ln',), domain='x > 0', inside=lambda x: x > 0, convention='at 0 the value is -inf and the derivative is inf; below 0 the value is nan and the derivative is 1/x (PyTorch)', samples=None, edges=None)
log1p = declare('log1p', np.log1p, {'x': lambda g, x: g / (1 + x)}, node='Log1PBackward0', summary='log(1 + x), accurate for small x', formula='1/(1 + x)', domain='x > -1', inside=lambda x: x > (-1), convention='at -1 the value is -inf and the derivative is inf; below -1 the value is nan (PyTorch)', samples=None, edges=None)
log2 = declare('log2', np.log2, {'x': lambda g, x: g / (x * 0.6931471805599453)}, summary='logarithm to base 2', formula='1/(x*log(2))', domain='x > 0', inside=lambda x: x > 0, convention='at 0 the value is -inf and the derivative is inf; below 0 the value is nan (PyTorch)', samples=None, edges=None)
log10 = declare('log10', np.log10, {'x': lambda g, x: g / (x * 2.302585092994046)}, summary='logarithm to base 10', formula='1/(x*log(10))', domain='x > 0', inside=lambda x: x > 0, convention='at 0 the value is -inf and the derivative is inf; below 0 the value is nan (PyTorch)', samples=None, edges=None)
sqrt = declare('sqrt', np.sqrt, {'x': lambda g, out: g / (2 * out)}, summary='square root', formula='1/(2*sqrt(x))', domain='x >= 0', inside=lambda x: x >= 0, smooth='x > 0', kink=lambda x: (x >= 0) & (np.logical_not((x > 0))), convention='the derivative at 0 is inf (PyTorch)', samples=None, edges=None)
rsqrt = declare('rsqrt', lambda x: 1 / np.sqrt(x), {'x': lambda g, out: ((-0.5) * g) * (out ** 3)}, decomposition='1/sqrt(x)', summary='1 / sqrt(x)', formula='-x**-1.5/2', domain='x > 0', inside=lambda x: x > 0, convention='at 0 the value is inf and the derivative is -inf (PyTorch)', samples=None, edges=None)
cbrt = declare('cbrt', np.cbrt, {'x': lambda g, out: g / (3 * (out * out))}, decomposition='sign(x)*abs(x)**(1/3)', summary='real cube root, including for negative arguments', formula='1/(3*cbrt(x)**2)', smooth='x != 0', kink=lambda x: x == 0, convention='the derivative at 0 is inf, which is the limit from both sides; PyTorch does not have cbrt', samples=None, edges=None)
reciprocal = declare('reciprocal', lambda x: 1 / x, {'x': lambda g, out: (-g) * (out * out)}, series='quotient', decomposition='x**-1', summary='1 / x', formula='-1/x**2', domain='x != 0', inside=lambda x: x != 0, convention='at 0 the value is inf and the derivative is -inf (PyTorch)', samples=None, edges=None)
square = declare.composed('square', lambda x: x ** 2, dict(), tensors=('x',), summary='x**2', formula='2*x', samples=None)
real = declare.composed('real', lambda x: x, dict(), tensors=('x',), summary='the argument x, unchanged, because tensors are real', formula='1', samples=None, methods=())
conj = declare.composed('conj', lambda x: x, dict(), tensors=('x',), summary='the argument x, unchanged, because tensors are real', formula='1', samples=None)
sign = declare('sign', arrays.sign, {'x': lambda g: zero_cotangent(g)}, series='fixed', selects=True, summary='sign of x: -1, 0 or 1', formula='0', smooth='x != 0', kink=lambda x: x == 0, convention='the derivative at a jump is 0 (PyTorch)', samples=None, edges=None)
sgn = declare('sgn', arrays.sign, {'x': lambda g: zero_cotangent(g)}, series='fixed', selects=True, decomposition='sign(x)', summary='sign of x, the same function as sign; PyTorch has a separate node for each', formula='0', smooth='x != 0', kink=lambda x: x == 0, convention='the derivative at a jump is 0 (PyTorch)', samples=None, edges=None)
angle = declare('angle', arrays.angle, {'x': lambda g: zero_cotangent(g)}, series='fixed', selects=True, decomposition='x if x != x else pi if x < 0 else 0.0', summary='the angle of a real number: 0, or pi where x < 0', formula='0', smooth='x != 0', kink=lambda x: x == 0, convention='the derivative at a jump is 0 (PyTorch)', samples=None, edges=None)
floor = declare('floor', np.floor, {'x': lambda g: zero_cotangent(g)}, series='fixed', selects=True, summary='x rounded down', formula='0', smooth='x != floor(x)', kink=lambda x: x == floor(x), convention='the derivative at a jump is 0 (PyTorch)', samples=None, edges=None)
ceil = declare('ceil', np.ceil, {'x': lambda g: zero_cotangent(g)}, series='fixed', selects=True, summary='x rounded up', formula='0', smooth='x != floor(x)', kink=lambda x: x == floor(x), convention='the derivative at a jump is 0 (PyTorch)', samples=None, edges=None)
trunc = declare('trunc', np.trunc, {'x': lambda g: zero_cotangent(g)}, series='fixed', selects=True, summary='x rounded towards 0', formula='0', smooth='x != trunc(x) or x == 0', kink=lambda x: np.logical_not(((x != trunc(x)) | (x == 0))), convention='the derivative at a jump is 0 (PyTorch)', samples=None, edges=None)
round = declare.composed('round', lambda x, decimals=None: round_whole(x) if decimals is None else round_to(x, decimals), dict(decimals=optional(WHOLE)), tensors=('x',), summary='x rounded to the nearest whole number, or to a number of decimals, with halves rounded to even', formula='0', smooth='x is not halfway between two rounded numbers', kink=arrays.is_halfway, convention='the derivative at a jump is 0 (PyTorch)', samples=((0.3,), (-1.7,), ([0.4, -2.2],), (0.237, 2),), edges=((2.5,),))
abs = absolute = declare('abs', np.abs, {'x': lambda g, x: g * sign(x)}, summary='absolute value', formula='sign(x)', aliases=('absolute',), smooth='x != 0', kink=lambda x: x == 0, convention='the derivative at 0 is 0 (PyTorch)', samples=None, edges=None, operator='abs')
frac = declare('frac', lambda x: x - np.trunc(x), {'x': lambda g: g}, decomposition='x - trunc(x)', summary='x - trunc(x), the fractional part', formula='1', smooth='x != trunc(x) or x == 0', kink=lambda x: np.logical_not(((x != trunc(x)) | (x == 0))), convention='the derivative at a jump is 1 (PyTorch)', samples=None, edges=None)
deg2rad = radians = declare('deg2rad', lambda x: x * (math.pi / 180), {'x': lambda g: g * (math.pi / 180)}, node='Deg2RadBackward0', decomposition='x*(pi/180)', summary='x converted from degrees to radians', formula='pi/180', aliases=('radians',), samples=None)
rad2deg = degrees = declare('rad2deg', lambda x: x * (180 / math.pi), {'x': lambda g: g * (180 / math.pi)}, node='Rad2DegBackward0', decomposition='x*(180/pi)', summary='x converted from radians to degrees', formula='180/pi', aliases=('degrees',), samples=None)
sin = declare('sin', np.sin, {'x': lambda g, x: g * cos(x)}, summary='sine of x in radians', formula='cos(x)', samples=None)
cos = declare('cos', np.cos, {'x': lambda g, x: g * (-sin(x))}, summary='cosine of x in radians', formula='-sin(x)', samples=None)
tan = declare('tan', np.tan, {'x': lambda g, out: g * ((out * out) + 1)}, summary='tangent of x in radians', formula='tan(x)**2 + 1', domain='cos(x) != 0', inside=lambda x: cos(x) != 0, samples=None, edges=None)
asin = arcsin = declare('asin', np.arcsin, {'x': lambda g, x: g * rsqrt(one_minus_square(x))}, summary='inverse sine in radians', formula='1/sqrt(1 - x**2)', aliases=('arcsin',), domain='-1 <= x <= 1', inside=lambda x: ((-1) <= x) & (x <= 1), smooth='-1 < x < 1', kink=lambda x: (((-1) <= x) & (x <= 1)) & (np.logical_not((((-1) < x) & (x < 1)))), convention='the derivative at -1 and 1 is inf (PyTorch)', samples=None, edges=None)
acos = arccos = declare('acos', np.arccos, {'x': lambda g, x: (-g) * rsqrt(one_minus_square(x))}, summary='inverse cosine in radians', formula='-1/sqrt(1 - x**2)', aliases=('arccos',), domain='-1 <= x <= 1', inside=lambda x: ((-1) <= x) & (x <= 1), smooth='-1 < x < 1', kink=lambda x: (((-1) <= x) & (x <= 1)) & (np.logical_not((((-1) < x) & (x < 1)))), convention='the derivative at -1 and 1 is -inf (PyTorch)', samples=None, edges=None)
atan = arctan = declare('atan', np.arctan, {'x': lambda g, x: g * over_root(x, 0, 2, 1)}, summary='inverse tangent in radians', formula='1/(x**2 + 1)', aliases=('arctan',), samples=None)
atan2 = arctan2 = declare('atan2', np.arctan2, {'y': lambda g, y, x: g * inverse_power(x, y, 1, False), 'x': lambda g, y, x: g * inverse_power(x, y, 1, True)}, summary='angle of the point (x, y) in radians, from -pi to pi', formula='x/(x**2 + y**2), -y/(x**2 + y**2)', aliases=('arctan2',), smooth='y != 0 or x > 0', kink=lambda y, x: np.logical_not(((y != 0) | (x > 0))), convention='both derivatives at (0, 0) are 0; at the jump on the negative x axis they are the limits from both sides (PyTorch)', samples=None, edges=((0.0, 0.0), (0.0, -1.0),))
hypot = declare('hypot', np.hypot, {'x': lambda g, x, y: g * share_of_hypot(x, y, False), 'y': lambda g, x, y: g * share_of_hypot(x, y, True)}, summary='sqrt(x**2 + y**2) without overflow', formula='x/hypot(x, y), y/hypot(x, y)', smooth='x != 0 or y != 0', kink=lambda x, y: np.logical_not(((x != 0) | (y != 0))), convention='both derivatives at (0, 0) are 0, the subgradient of least norm; PyTorch gives nan', samples=((0.7, -1.2), (3.0, 4.0),), edges=None)
sinh = declare('sinh', np.sinh, {'x': lambda g, x: g * cosh(x)}, summary='hyperbolic sine', formula='cosh(x)', samples=None)
cosh = declare('cosh', np.cosh, {'x': lambda g, x: g * sinh(x)}, summary='hyperbolic cosine', formula='sinh(x)', samples=None)
tanh = declare('tanh', np.tanh, {'x': lambda g, x, out: g * tanh_slope(x, out)}, recover=np.arctanh, summary='hyperbolic tangent', formula='1 - tanh(x)**2', samples=None)
asinh = arcsinh = declare('asinh', np.arcsinh, {'x': lambda g, x: g * over_root(x, 0, 1, 1)}, summary='inverse hyperbolic sine', formula='1/sqrt(x**2 + 1)', aliases=('arcsinh',), samples=None)
acosh = arccosh = declare('acosh', np.arccosh, {'x': lambda g, x: g * over_root(x, 0, 1, -1)}, summary='inverse hyperbolic cosine', formula='1/sqrt(x**2 - 1)', aliases=('arccosh',), domain='x >= 1', inside=lambda x: x >= 1, smooth='x > 1', kink=lambda x: (x >= 1) & (np.logical_not((x > 1))), convention='the derivative at 1 is inf (PyTorch)', samples=None, edges=None)
atanh = arctanh = declare('atanh', np.arctanh, {'x': lambda g, x: g / one_minus_square(x)}, summary='inverse hyperbolic tangent', formula='1/(1 - x**2)', aliases=('arctanh',), domain='-1 < x < 1', inside=lambda x: ((-1) < x) & (x < 1), convention='at -1 and 1 the value is infinite and the derivative is inf (PyTorch)', samples=None, edges=None)
sec = declare('sec', arrays.sec, {'x': lambda g, x, out: g * (out * tan(x))}, decomposition='1/cos(x)', summary='secant of x in radians, 1/cos(x)', formula='sec(x)*tan(x)', domain='cos(x) != 0', inside=lambda x: cos(x) != 0, samples=None, edges=None)
csc = declare('csc', arrays.csc, {'x': lambda g, x, out: g * ((-out) * cot(x))}, decomposition='1/sin(x)', summary='cosecant of x in radians, 1/sin(x)', formula='-csc(x)*cot(x)', domain='sin(x) != 0', inside=lambda x: sin(x) != 0, convention='at 0 the value is inf and the derivative is -inf', samples=None, edges=None)
cot = declare('cot', arrays.cot, {'x': lambda g, out: (-g) * ((out * out) + 1)}, decomposition='1/tan(x)', summary='cotangent of x in radians, 1/tan(x)', formula='-1 - cot(x)**2', domain='sin(x) != 0', inside=lambda x: sin(x) != 0, convention='at 0 the value is inf and the derivative is -inf', samples=None, edges=None)
round_whole = declare('round', np.round, {'x': lambda g: zero_cotangent(g)}, series='fixed', selects=True, public=False)
round_to = declare('round_to', arrays.round_to, {'x': lambda g: zero_cotangent(g)}, statics={'decimals': 0}, series='fixed', node='RoundBackward1', selects=True, decomposition=lambda decimals: decomposition('round_to', decimals), public=False)
tanh_slope = declare('tanh_slope', arrays.tanh_slope, {'x': lambda g, t, out: g * (((-2) * t) * out), 't': None}, decomposition='1/cosh(x)**2', public=False)
one_minus_square = declare('one_minus_square', lambda x: (1 - x) * (1 + x), {'x': lambda g, x: g * ((-2) * x)}, decomposition='(1 - x)*(1 + x)', public=False)
def _over_root_by_x(g: Any, x: Any, j: Any, m: Any, shift: Any) -> Any:
    right = over_root(x, j + 1, m + 2, shift) * (-m)
    return g * (right if j == 0 else ((over_root(x, j - 1, m, shift) * j) + right))
over_root = declare('over_root', arrays.over_root, {'x': _over_root_by_x}, statics={'j': 0, 'm': 1, 'shift': 1}, decomposition=lambda j, m, shift: decomposition('over_root', j, m, shift), public=False)
inverse_power = declare('inverse', arrays.inverse_power, {'x': lambda g, x, y, n, imaginary: g * (inverse_power(x, y, n + 1, imaginary) * (-n)), 'y': lambda g, x, y, n, imaginary: g * (inverse_power(x, y, n + 1, not imaginary) * ((-n) if imaginary else n))}, statics={'n': 1, 'imaginary': False}, decomposition=lambda n, imaginary: decomposition('inverse_power', n, imaginary), public=False)
def _share_of_hypot_by_x(g: Any, x: Any, y: Any, second: Any) -> Any:
    curve = product_over(share_of_hypot(x, y, not second), share_of_hypot(x, y, True), hypot(x, y))
    return g * ((-curve) if second else curve)
def _share_of_hypot_by_y(g: Any, x: Any, y: Any, second: Any) -> Any:
    curve = product_over(share_of_hypot(x, y, not second), share_of_hypot(x, y, False), hypot(x, y))
    return g * (curve if second else (-curve))
share_of_hypot = declare('share_of_hypot', arrays.share_of_hypot, {'x': _share_of_hypot_by_x, 'y': _share_of_hypot_by_y}, statics={'second': False}, decomposition=lambda second: decomposition('share_of_hypot', second), public=False)
product_over = declare('product_over', arrays.product_over, {'a': lambda g, b, size: g * (where(size == 0, 0.0, b / size)), 'b': lambda g, a, size: g * (where(size == 0, 0.0, a / size)), 'size': lambda g, size, out: g * (where(size == 0, 0.0, -(out / size)))}, decomposition='0 if size == 0 else a*b/size', public=False)
