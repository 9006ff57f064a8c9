"""The scaled complementary error function, Dawson's integral, the Faddeeva function and the Voigt profile.

Made from grammar/rules/faddeeva.rules by ``python grammar/compile_rules.py``.  Do not edit.
"""

from __future__ import annotations

from typing import Any

from autodiff_cli.autograd.primitives.argument_kinds import FLAG, ORDER
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.numerics import faddeeva as arrays
from autodiff_cli.numerics.backend import from_scipy

__all__ = ['dawsn', 'dawsn_slope', 'dawson', 'erfcx', 'erfcx_slope', 'faddeeva', 'voigt', 'voigt_profile', 'wofz_imag', 'wofz_real']

_declare = Declarations(__name__, elementwise=True)

def _decompositions() -> Any:
    from autodiff_cli.numerics import decompositions

    return decompositions

erfcx: TensorFunction = _declare('erfcx', from_scipy('erfcx'), {'x': lambda g, x: g * erfcx_slope(x, 1)}, node='SpecialErfcxBackward0', decomposition=lambda: _decompositions().erfcx(), summary='exp(x**2)*erfc(x) without overflow for large x', formula='2*x*erfcx(x) - 2/sqrt(pi)', samples=((0.3,), (-1.7,), ([0.4, 2.2],), (30.0,),), methods=())
erfcx_slope: TensorFunction = _declare('erfcx_slope', arrays.erfcx_slope, {'x': lambda g, x, order: g * erfcx_slope(x, order + 1)}, statics={'order': 1}, kinds={'order': ORDER}, decomposition=lambda order: _decompositions().erfcx(order), summary='derivative of the given order of erfcx', formula='erfcx_slope(x, order + 1)', samples=((0.3,), (-1.7,), ([0.4, 2.2],), (30.0,), (0.7, 2),), methods=())
dawsn: TensorFunction = _declare('dawsn', from_scipy('dawsn'), {'x': lambda g, x: g * dawsn_slope(x, 1)}, decomposition=lambda: _decompositions().dawsn(), summary="Dawson's integral: exp(-x**2) times the integral of exp(t**2) from 0 to x", formula='1 - 2*x*dawsn(x)', aliases=('dawson',), samples=((0.3,), (-1.7,), ([0.4, 2.2],), (30.0,),), methods=())
dawson = dawsn
dawsn_slope: TensorFunction = _declare('dawsn_slope', arrays.dawsn_slope, {'x': lambda g, x, order: g * dawsn_slope(x, order + 1)}, statics={'order': 1}, kinds={'order': ORDER}, decomposition=lambda order: _decompositions().dawsn(order), summary='derivative of the given order of dawsn', formula='dawsn_slope(x, order + 1)', samples=((0.3,), (-1.7,), ([0.4, 2.2],), (30.0,), (0.7, 2),), methods=())
faddeeva: TensorFunction = _declare('faddeeva', arrays.faddeeva, {'x': lambda g, x, y, scale, order, imaginary: g * faddeeva(x, y, scale, order + 1, imaginary), 'y': lambda g, x, y, scale, order, imaginary: (g if imaginary else (-g)) * faddeeva(x, y, scale, order + 1, not imaginary), 'scale': lambda g, x, y, scale, order, imaginary: g * ((scale * faddeeva(x, y, scale, order + 2, imaginary)) / 2)}, statics={'order': 0, 'imaginary': False}, kinds={'order': ORDER, 'imaginary': FLAG}, decomposition=lambda order, imaginary: _decompositions().faddeeva(order, imaginary), summary='derivative of the given order of w(z/scale)/scale at z = x + i*y, where w is the Faddeeva function: its real part, or its imaginary part', formula='faddeeva(x, y, scale, order + 1, imaginary)', domain='scale >= 0', inside=lambda scale: scale >= 0, samples=((0.3, 0.5, 1.2), (-1.7, 0.4, 0.6, 1, True), (9.0, 2.0, 0.5, 1),), edges=((0.3, 0.5, -1.0),), methods=())
wofz_real: TensorFunction = _declare('wofz_real', arrays.wofz_real, {'x': lambda g, x, y: g * faddeeva(x, y, 1.0, 1, False), 'y': lambda g, x, y: (-g) * faddeeva(x, y, 1.0, 1, True)}, decomposition=lambda: _decompositions().wofz(False), summary='real part of the Faddeeva function w(z) = exp(-z**2)*erfc(-i*z) at z = x + i*y', formula='faddeeva(x, y, 1, 1), -faddeeva(x, y, 1, 1, true)', samples=((0.3, 0.5), (-1.7, 0.4), ([4.0, 0.2], [0.1, 9.0]),), methods=())
wofz_imag: TensorFunction = _declare('wofz_imag', arrays.wofz_imag, {'x': lambda g, x, y: g * faddeeva(x, y, 1.0, 1, True), 'y': lambda g, x, y: g * faddeeva(x, y, 1.0, 1, False)}, decomposition=lambda: _decompositions().wofz(True), summary='imaginary part of the Faddeeva function w(z) = exp(-z**2)*erfc(-i*z) at z = x + i*y', formula='faddeeva(x, y, 1, 1, true), faddeeva(x, y, 1, 1)', samples=((0.3, 0.5), (-1.7, 0.4), ([4.0, 0.2], [0.1, 9.0]),), methods=())
voigt: TensorFunction = _declare('voigt', arrays.voigt, {'x': lambda g, x, sigma, gamma: g * (faddeeva(x, gamma, sigma * 1.4142135623730951, 1, False) / 1.7724538509055159), 'sigma': lambda g, x, sigma, gamma: g * ((sigma * faddeeva(x, gamma, sigma * 1.4142135623730951, 2, False)) / 1.7724538509055159), 'gamma': lambda g, x, sigma, gamma: (-g) * (faddeeva(x, gamma, sigma * 1.4142135623730951, 1, True) / 1.7724538509055159)}, decomposition='faddeeva(x, gamma, sigma*sqrt(2), 0, false)/sqrt(pi) if sigma >= 0 and gamma >= 0 else nan', summary='Voigt profile: convolution of a Gauss profile of standard deviation sigma and a Lorentz profile of half width gamma', formula="with the Faddeeva function w at z = (x + i*gamma)/(sigma*sqrt(2)): Re(w')/(2*sigma**2*sqrt(pi)); sigma times the second derivative with respect to x; -Im(w')/(2*sigma**2*sqrt(pi))", aliases=('voigt_profile',), domain='sigma >= 0, gamma >= 0', inside=lambda sigma, gamma: (sigma >= 0) & (gamma >= 0), smooth='sigma > 0 or x != 0 or gamma != 0', kink=lambda x, sigma, gamma: ((sigma == 0) & (x == 0)) & (gamma == 0), convention='the value is inf where all arguments are 0; PyTorch does not have this function', samples=((0.3, 0.5, 1.2), (-1.7, 0.4, 0.6), ([9.0, 0.2], 0.5, [2.0, 0.1]),), edges=((0.0, 0.0, 0.0), (0.3, -1.0, 0.5), (0.3, 0.5, -1.0),), methods=())
voigt_profile = voigt
