"""Logarithms of probability densities."""
# Made from grammar/rules/density.rules by ``python grammar/compile_rules.py``.  Do not edit.

from __future__ import annotations

from typing import Any

from autodiff_cli.autograd.primitives.argument_kinds import TENSOR
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.numerics import density as arrays
from autodiff_cli.ops.rules.elementary import log, log1p
from autodiff_cli.ops.rules.factorials import digamma
from autodiff_cli.ops.rules.logarithms import over

__all__ = ['binomial_logpmf', 'normal_logpdf', 'poisson_logpmf']

_declare = Declarations(__name__, elementwise=True)

normal_logpdf: TensorFunction = _declare.composed('normal_logpdf', lambda x, mean=0.0, std=1.0: normal_logpdf_of(x, mean, std), dict(x=TENSOR, mean=TENSOR, std=TENSOR), tensors=('x', 'mean', 'std'), summary='logarithm of the density of the normal distribution', formula='with z = (x - mean)/std: -z/std, z/std, (z**2 - 1)/std', domain='std > 0', inside=lambda std: std > 0, samples=((0.7,), (0.7, -1.2, 2.5), ([0.5, 3.0], 1.0, [0.4, 2.0]),), edges=((0.7, 0.0, 0.0), (0.7, 0.0, -1.0),), methods=())
binomial_logpmf: TensorFunction = _declare('binomial_logpmf', arrays.binomial_logpmf, {'k': lambda g, k, n, p: g * (((digamma((n - k) + 1) - digamma(k + 1)) + log(p)) - log1p(-p)), 'n': lambda g, k, n, p: g * ((digamma(n + 1) - digamma((n - k) + 1)) + log1p(-p)), 'p': lambda g, k, n, p: g * (over(k, p) - over(n - k, 1 - p))}, decomposition='lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + xlogy(k, p) + xlog1py(n - k, -p)', summary='logarithm of the probability of k successes in n trials with success probability p', formula='with respect to p: k/p - (n - k)/(1 - p)', domain='0 <= k <= n and 0 < p < 1, or p = 0 and k = 0, or p = 1 and k = n', inside=lambda k, n, p: ((0 <= k) & (k <= n)) & ((((0 < p) & (p < 1)) | ((p == 0) & (k == 0))) | ((p == 1) & (k == n))), convention='counts need not be whole numbers; gamma functions replace factorials', samples=((3.0, 10.0, 0.4), (2.0, 7.5, [0.1, 0.6]),), edges=((0.0, 5.0, 0.0), (5.0, 5.0, 1.0), (3.0, 5.0, 1.5),), methods=())
poisson_logpmf: TensorFunction = _declare('poisson_logpmf', arrays.poisson_logpmf, {'k': lambda g, k, rate: g * (log(rate) - digamma(k + 1)), 'rate': lambda g, k, rate: g * (over(k, rate) - 1)}, decomposition='xlogy(k, rate) - rate - lgamma(k + 1)', summary='logarithm of the probability of k events when the expected number of events is rate', formula='with respect to rate: k/rate - 1', domain='k >= 0 and rate > 0, or k = 0 and rate = 0', inside=lambda k, rate: (k >= 0) & ((rate > 0) | ((k == 0) & (rate == 0))), convention='counts need not be whole numbers; gamma functions replace factorials', samples=((3.0, 2.5), ([2.0, 0.5], [4.0, 1.5]),), edges=((0.0, 0.0), (2.0, -1.0),), methods=())
def _normal_logpdf_of_by_x(g: Any, x: Any, mean: Any, std: Any) -> Any:
    z = (x - mean) / std
    return g * (-(z / std))
def _normal_logpdf_of_by_mean(g: Any, x: Any, mean: Any, std: Any) -> Any:
    z = (x - mean) / std
    return g * (z / std)
def _normal_logpdf_of_by_std(g: Any, x: Any, mean: Any, std: Any) -> Any:
    z = (x - mean) / std
    return g * (((z - 1) * (z + 1)) / std)
normal_logpdf_of: TensorFunction = _declare('normal_logpdf', arrays.normal_logpdf, {'x': _normal_logpdf_of_by_x, 'mean': _normal_logpdf_of_by_mean, 'std': _normal_logpdf_of_by_std}, decomposition='-((x - mean)/std)**2/2 - log(std) - log(2*pi)/2', public=False)
