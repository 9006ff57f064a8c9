"""Signs, mantissas and exponents of floating-point numbers."""  # made from grammar/rules/representation.rules by grammar/compile_rules.py

import numpy as np
from autodiff_cli.autograd.primitives.argument_kinds import VALUE
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.structural import zeros_of
from autodiff_cli.numerics import arithmetic as arithmetic_arrays, elementary as elementary_arrays
from autodiff_cli.numerics.arithmetic import is_any_tensor, is_number, weak
from autodiff_cli.numerics.elementary import in_float64
from autodiff_cli.ops.arithmetic import pow
from autodiff_cli.ops.casts import to
from autodiff_cli.ops.rules.elementary import floor, sign
declare = Declarations(__name__, elementwise=True)
signbit = declare('signbit', np.signbit, {'x': None}, decomposition='atan2(0.0, x) > 1', summary='true where the sign of x is negative, also of -0.0')
copysign = declare.composed('copysign', lambda x, y: copysign_number(x, weak(y) * 1.0) if is_any_tensor(x) and is_number(y) else copysign_tensor(x, y), dict(y=VALUE), tensors=('x', 'y'), summary='the absolute value of x with the sign of y', formula='sign(x)*sign(y), 0', smooth='x != 0 and y != 0', kink=lambda x, y: np.logical_not(((x != 0) & (y != 0))), convention='the derivative with respect to x is 0 at x = 0, and the derivative with respect to y is 0 (PyTorch)', samples=((1.5, -0.5), ([1.0, -2.0], 3.0),), edges=((0.0, 1.0), (1.5, 0.0),))
ldexp = declare('ldexp', elementary_arrays.ldexp, {'x': lambda g, y: ldexp(g, y), 'y': lambda g, out: g * out * 0.6931471805599453}, decomposition='x*2**y', summary='x*2**y', formula='2**y, x*2**y*log(2)', samples=((1.5, 3.0), ([1.0, -2.0], [2.0, -1.0]),))
frexp = declare.several('frexp', elementary_arrays.frexp, lambda g, exponent: ldexp(g[0], -exponent), results=('mantissa', 'exponent'), constant=('exponent',), summary='mantissa and exponent of x = mantissa*2**exponent, with 1/2 <= abs(mantissa) < 1', formula='2**(-exponent) for the mantissa', smooth='x is not a power of 2', kink=lambda x: np.abs(np.frexp(x)[0]) == 0.5, convention='the derivative at a power of 2 is one-sided (PyTorch)', samples=(([1.5],), ([0.3, -5.0],),), edges=(([2.0],),))
float_power = declare.composed('float_power', lambda x, y: pow(to(x, 'float64') if is_any_tensor(x) else in_float64(x), to(y, 'float64') if is_any_tensor(y) else in_float64(y)), dict(x=VALUE, y=VALUE), tensors=('x', 'y'), summary='x to the power y, computed in float64', formula='y*x**(y - 1), x**y*log(x)', domain='x > 0, or x = 0 and y >= 0, or y is a whole number and x != 0', inside=lambda x, y: ((x > 0) | ((y == floor(y)) & (x != 0))) | ((x == 0) & (y >= 0)), smooth='x > 0, or x = 0 and y >= 1, or y is a whole number and x != 0', kink=arithmetic_arrays.power_kink, convention='the derivative with respect to x is inf at x = 0 with 0 < y < 1; the derivative with respect to y is 0 at x = 0 with y >= 0, and nan at x < 0 (PyTorch)', samples=((1.3, 2.5), (2.0, 3.0), (0.7, -1.5),), edges=((0.0, 2.0), (0.0, 1.0), (0.0, 0.0), (0.0, 0.5), (0.0, -1.0), (-2.0, 3.0), (-2.0, 0.5),))
copysign_tensor = declare('copysign', elementary_arrays.copysign, {'x': lambda g, x, out: g * (sign(x) * sign(out)), 'y': lambda g: zeros_of(g)}, selects=('y',), decomposition='-abs(x) if atan2(0.0, y) > 1 else abs(x)', public=False)
copysign_number = declare('copysign', elementary_arrays.copysign, {'x': lambda g, x, out: g * (sign(x) * sign(out))}, statics={'y': 1.0}, node='CopysignBackward1', decomposition='-abs(x) if atan2(0.0, y) > 1 else abs(x)', public=False)
