"""Error functions, the normal distribution, and sinc."""
# Made from grammar/rules/special.rules by ``python grammar/compile_rules.py``.  Do not edit.

from __future__ import annotations

from typing import Any

from autodiff_cli.autograd.primitives.argument_kinds import ORDER
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.structural import where
from autodiff_cli.numerics import decomposition, special as arrays
from autodiff_cli.numerics.backend import from_scipy

__all__ = ['erf', 'erfc', 'erfinv', 'hazard', 'log_ndtr', 'mills_fraction', 'ndtr', 'ndtri', 'sinc', 'sinc_slope']

_declare = Declarations(__name__, elementwise=True)

def normal_density(x: Any) -> Any:
    return bell(x, 0.5) * (1 / 2.5066282746310002)
erf: TensorFunction = _declare('erf', arrays.erf, {'x': lambda g, x: g * (bell(x, 1.0) * (2 / 1.7724538509055159))}, decomposition=lambda: decomposition('ERF'), summary='error function', formula='2/sqrt(pi)*exp(-x**2)', samples=None)
erfc: TensorFunction = _declare('erfc', arrays.erfc, {'x': lambda g, x: g * (bell(x, 1.0) * ((-2) / 1.7724538509055159))}, decomposition=lambda: decomposition('ERFC'), summary='1 - erf(x), accurate for large x', formula='-2/sqrt(pi)*exp(-x**2)', samples=((0.3,), (-1.7,), ([0.4, -2.2],), (-5.0,), (3.0,),))
erfinv: TensorFunction = _declare('erfinv', from_scipy('erfinv'), {'x': lambda g, x: g * erfinv_slope(x)}, decomposition=lambda: decomposition('ERFINV'), summary='inverse of erf', formula='sqrt(pi)/2*exp(erfinv(x)**2)', domain='-1 < x < 1', inside=lambda x: ((-1) < x) & (x < 1), convention='at -1 and 1 the value is infinite and the derivative is inf (PyTorch)', samples=None, edges=None)
sinc: TensorFunction = _declare('sinc', lambda x: arrays.sinc(x, 0), {'x': lambda g, x: g * sinc_slope(x)}, decomposition=lambda: decomposition('sinc_slope', 0), summary='sin(pi*x)/(pi*x), but 1 at 0', formula='sinc_slope(x)', samples=((0.3,), (-1.7,), ([0.4, -2.2],), (0.0,), (1e-4,),))
ndtr: TensorFunction = _declare('ndtr', arrays.ndtr, {'x': lambda g, x: g * normal_density(x)}, node='SpecialNdtrBackward0', decomposition='erfc(-x/sqrt(2))/2', summary='probability that a standard normal variable is below x', formula='exp(-x**2/2)/sqrt(2*pi)', samples=((0.3,), (-1.7,), ([0.4, -2.2],), (-5.0,), (3.0,),), methods=())
ndtri: TensorFunction = _declare('ndtri', from_scipy('ndtri'), {'x': lambda g, x: g * ndtri_slope(x)}, node='SpecialNdtriBackward0', decomposition=lambda: decomposition('NDTRI'), summary='inverse of ndtr: the quantile of the standard normal distribution', formula='sqrt(2*pi)*exp(ndtri(x)**2/2)', domain='0 < x < 1', inside=lambda x: (0 < x) & (x < 1), convention='at 0 and 1 the value is infinite and the derivative is inf (PyTorch)', samples=None, edges=None, methods=())
log_ndtr: TensorFunction = _declare('log_ndtr', arrays.log_ndtr, {'x': lambda g, x: g * hazard(x)}, node='SpecialLogNdtrBackward0', decomposition='-x*x/2 - log(2*pi)/2 - log(hazard(x)) if x < -1 else log1p(-erfc(x/sqrt(2))/2)', summary='log(ndtr(x)), accurate in both tails', formula='hazard(x)', samples=((0.3,), (-1.7,), ([0.4, -2.2],), (-5.0,), (3.0,),), methods=())
hazard: TensorFunction = _declare('hazard', arrays.hazard, {'x': lambda g, x, out: g * (-(out * mills_fraction(x)))}, decomposition=lambda: decomposition('HAZARD'), summary='standard normal density divided by ndtr: the derivative of log_ndtr', formula='-hazard(x)*mills_fraction(x)', samples=((0.3,), (-1.7,), ([0.4, -2.2],), (-5.0,), (3.0,),), methods=())
mills_fraction: TensorFunction = _declare('mills_fraction', arrays.mills_fraction, {'x': lambda g, x, out, k: g * (where(x < (-3), out * (mills_fraction(x, k + 1) - out), k - (out * (out - x))))}, statics={'k': 1}, kinds={'k': ORDER}, decomposition=lambda k: decomposition('mills_fraction', k), summary='x + hazard(x) without cancellation; for k > 1 the continued fraction k/(t + (k + 1)/(t + ...)) with t = -x', formula='mills_fraction(x, k)*(mills_fraction(x, k + 1) - mills_fraction(x, k))', samples=((0.3,), (-1.7,), ([0.4, -2.2],), (-5.0,), (3.0,), (-0.4, 2),), methods=())
sinc_slope: TensorFunction = _declare('sinc_slope', arrays.sinc, {'x': lambda g, x, order: g * sinc_slope(x, order + 1)}, statics={'order': 1}, kinds={'order': ORDER}, decomposition=lambda order: decomposition('sinc_slope', order), summary='derivative of the given order of sinc', formula='sinc_slope(x, order + 1)', samples=((0.3,), (-1.7,), ([0.4, -2.2],), (0.0,), (1e-4,), (0.7, 2),), methods=())
bell: TensorFunction = _declare('bell', arrays.bell, {'x': lambda g, x, out, scale: g * ((x * out) * ((-2) * scale))}, statics={'scale': 1.0}, decomposition='exp(-scale*x**2)', public=False)
erfinv_slope: TensorFunction = _declare('erfinv_slope', arrays.erfinv_slope, {'x': lambda g, x, out: g * ((2 * erfinv(x)) * (out * out))}, decomposition='sqrt(pi)/2*exp(erfinv(x)**2)', public=False)
ndtri_slope: TensorFunction = _declare('ndtri_slope', arrays.ndtri_slope, {'x': lambda g, x, out: g * (ndtri(x) * (out * out))}, decomposition='sqrt(2*pi)*exp(ndtri(x)**2/2)', public=False)
