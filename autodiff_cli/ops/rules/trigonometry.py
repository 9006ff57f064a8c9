"""The reciprocals of the trigonometric functions, in radians."""
# Made from grammar/rules/trigonometry.rules by ``python grammar/compile_rules.py``.  Do not edit.

from __future__ import annotations

from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.numerics import trigonometry as arrays
from autodiff_cli.ops.rules.elementary import cos, sin, tan

__all__ = ['cot', 'csc', 'sec']

_declare = Declarations(__name__, elementwise=True)

sec: TensorFunction = _declare('sec', arrays.sec, {'x': lambda g, x, out: g * (out * tan(x))}, decomposition='1/cos(x)', summary='secant of x in radians, 1/cos(x)', formula='sec(x)*tan(x)', domain='cos(x) != 0', inside=lambda x: cos(x) != 0, samples=None, edges=None)
csc: TensorFunction = _declare('csc', arrays.csc, {'x': lambda g, x, out: g * ((-out) * cot(x))}, decomposition='1/sin(x)', summary='cosecant of x in radians, 1/sin(x)', formula='-csc(x)*cot(x)', domain='sin(x) != 0', inside=lambda x: sin(x) != 0, convention='at 0 the value is inf and the derivative is -inf', samples=None, edges=None)
cot: TensorFunction = _declare('cot', arrays.cot, {'x': lambda g, out: (-g) * ((out * out) + 1)}, decomposition='1/tan(x)', summary='cotangent of x in radians, 1/tan(x)', formula='-1 - cot(x)**2', domain='sin(x) != 0', inside=lambda x: sin(x) != 0, convention='at 0 the value is inf and the derivative is -inf', samples=None, edges=None)
