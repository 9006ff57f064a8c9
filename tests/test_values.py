"""Values and gradients of every declared function: as PyTorch was recorded with, or as mpmath computes them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import numpy as np
import pytest
from mpmath import mp

import autodiff_cli
from tests.values import RECORDS, Call, answer, calls

RECORDED = json.loads(RECORDS.read_text(encoding="utf-8"))["answers"]
CALLS = list(calls())

AGREED = {
    "exp([3, -2])": "PyTorch computes with whole numbers in float32",
    "exp([True, False])": "PyTorch computes with truth values in float32",
    "det([[1.0, 2.0], [2.0, 4.0]])": "the gradient is the adjugate, which PyTorch does not compute of a singular matrix",
    "det([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])": "the same",
    "svd([[1.0, 2.0], [0.5, -1.0], [3.0, 0.2]], False)": "the signs of singular vectors are free",
    "svd([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]], False)": "the same",
    "scatter_reduce([1.0, -2.0, 3.0], 0, [0, 0, 2], [1.0, 6.0, 3.0], 'amax', include_self=False)": "PyTorch shares the gradient of "
    "a tie with the element that is left out",
    "scatter_reduce([1.0, -2.0, 3.0], 0, [0, 0, 2], [1.0, 6.0, 3.0], 'amin', include_self=False)": "the same",
    "poisson_nll_loss([0.5, -1.0, 2.0], [0.0, 2.0, 3.0], full=True)": "PyTorch's gradient with respect to a target of 0 is nan",
}
"""Calls whose answers are not PyTorch's, with the reason."""
NOT_SYMMETRIC = "eigh", "eigvalsh"
"""PyTorch reads the lower triangle of a matrix that is not symmetric, where the symmetric part is taken here."""
TRIANGULAR = "cholesky_solve", "cholesky_inverse"
"""PyTorch's gradient has entries in the triangle that is not read."""
LESS_EXACT = {"hardsigmoid": 1e-7}
"""The relative errors of PyTorch's answers, where they are larger than 1e-8: a constant in float32."""


def differences(theirs: dict[str, Any], ours: dict[str, Any], tolerance: float) -> Iterator[str]:
    """What is not the same in two answers; PyTorch may lack a gradient."""
    grads = [pair for pair in zip(ours["grad"], theirs["grad"], strict=True) if pair[1] is not None]
    for a, b in [(ours["value"], theirs["value"]), *grads]:
        found, wanted = list(_flat(a)), list(_flat(b))
        if len(found) != len(wanted) or not np.allclose(found, wanted, rtol=tolerance, atol=1e-13, equal_nan=True):
            yield f"{a}, and not {b}"


def _flat(value: Any) -> Iterator[float]:
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _flat(part)
    else:
        yield float("nan" if value is None else value)


@pytest.mark.parametrize("name", sorted({call.op.name for call in CALLS if call.key in RECORDED}))
def test_answers_of_pytorch(name: str) -> None:
    wrong = []
    for call in CALLS:
        if call.op.name != name or call.key not in RECORDED or call.key in AGREED or name in NOT_SYMMETRIC:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a dimension left out, as in PyTorch
            ours, theirs = answer(autodiff_cli, call), RECORDED[call.key]
        assert ours is not None, call.key
        if name in TRIANGULAR:
            ours, theirs = ({**each, "grad": []} for each in (ours, theirs))
        wrong += [f"{call.key} is {said}" for said in differences(theirs, ours, LESS_EXACT.get(name, 1e-8))]
    assert wrong == []


def _normal(x: Any, mean: Any = 0, std: Any = 1) -> Any:
    return mp.log(mp.npdf(x, mean, std))


def _mills(x: Any, k: int = 1) -> Any:
    """The continued fraction k/(t + (k + 1)/(t + ...)) with t = -x, from x + hazard(x), which is the first."""
    found = x + mp.npdf(x) / mp.ncdf(x)
    for i in range(1, k):
        found = i / found + x
    return found


def _gap(a: Any, b: Any, n: int = 0) -> Any:
    return mp.polygamma(n, a + b) - mp.polygamma(n, a)


def _faddeeva(z: Any) -> Any:
    return mp.exp(-z * z) * mp.erfc(-1j * z)


def _derivative_of_faddeeva(x: Any, y: Any, scale: Any, order: int = 0, imaginary: bool = False) -> Any:
    found = mp.diff(lambda z: _faddeeva(z / scale) / scale, mp.mpc(x, y), order)
    return found.imag if imaginary else found.real


def _voigt(x: Any, sigma: Any, gamma: Any) -> Any:
    if sigma == 0:
        return gamma / mp.pi / (x * x + gamma * gamma)
    return (_faddeeva(mp.mpc(x, gamma) / (sigma * mp.sqrt(2))) / (sigma * mp.sqrt(2 * mp.pi))).real


def _bessel(kind: str) -> Callable[..., Any]:
    found: Callable[..., Any] = {"jv": mp.besselj, "yv": mp.bessely, "iv": mp.besseli, "kv": mp.besselk}[kind]
    return found


def _slope(function: Callable[..., Any], points: tuple[Any, ...], orders: tuple[int, ...]) -> Any:
    return mp.diff(function, points, orders) if any(orders) else function(*points)


def _gamma_density(a: Any, x: Any) -> Any:
    return x ** (a - 1) * mp.exp(-x) / mp.gamma(a)


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    return x ** (a - 1) * (1 - x) ** (b - 1) / mp.beta(a, b)


def _interp(x: Any, xp: list[Any], fp: list[Any]) -> Any:
    for left, right, low, high in zip(xp, xp[1:], fp, fp[1:], strict=False):
        if left <= x <= right:
            return low + (high - low) * (x - left) / (right - left)
    return fp[0] if x < xp[0] else fp[-1]


TRUTHS: dict[str, Callable[..., Any]] = {
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "pos": lambda x: x,
    "sgn": mp.sign,
    "sec": mp.sec,
    "csc": mp.csc,
    "cot": mp.cot,
    "hazard": lambda x: mp.npdf(x) / mp.ncdf(x),
    "mills_fraction": _mills,
    "sinc_slope": lambda x, order=1: mp.diff(lambda t: mp.sinc(mp.pi * t), x, order),
    "lambertw": lambda x, k=0: mp.lambertw(x, k).real,
    "airy_ai_prime": lambda x: mp.airyai(x, derivative=1),
    "airy_bi": mp.airybi,
    "airy_bi_prime": lambda x: mp.airybi(x, derivative=1),
    "bessel_i": lambda x, n=0: mp.besseli(n, x),
    "bessel_j": lambda x, n=0: mp.besselj(n, x),
    **{f"{kind}{n}": lambda x, n=n, kind=kind: _bessel(f"{kind}v")(n, x) for kind in "jyk" for n in (0, 1)},
    "bessel_scaled": lambda x, n=0, order=0: mp.diff(lambda t: mp.exp(-abs(t)) * mp.besseli(n, t), x, order),
    "gamma": mp.gamma,
    "factorial": mp.factorial,
    "polygamma_gap": _gap,
    "beta": mp.beta,
    "betaln": lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b),
    "erfcx_slope": lambda x, order=1: mp.diff(lambda t: mp.exp(t * t) * mp.erfc(t), x, order),
    "dawsn": lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x),
    "dawsn_slope": lambda x, order=1: mp.diff(lambda t: mp.sqrt(mp.pi) / 2 * mp.exp(-t * t) * mp.erfi(t), x, order),
    "faddeeva": _derivative_of_faddeeva,
    "wofz_real": lambda x, y: _faddeeva(mp.mpc(x, y)).real,
    "wofz_imag": lambda x, y: _faddeeva(mp.mpc(x, y)).imag,
    "voigt": _voigt,
    "normal_logpdf": _normal,
    "binomial_logpmf": lambda k, n, p: mp.log(mp.binomial(n, k)) + k * mp.log(p) + (n - k) * mp.log(1 - p),
    "poisson_logpmf": lambda k, rate: k * mp.log(rate) - rate - mp.loggamma(k + 1),
    "expi": mp.ei,
    "exp1": mp.e1,
    "gammainc_density": lambda a, x, order=0: mp.diff(lambda t: _gamma_density(t, x), a, order),
    "gammainc_slope": lambda a, x, order=1: mp.diff(lambda t: mp.gammainc(t, 0, x, regularized=True), a, order),
    "betainc": lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
    "betainc_density": lambda a, b, x, i=0, j=0: _slope(lambda s, t: _beta_density(s, t, x), (a, b), (i, j)),
    "betainc_slope": lambda a, b, x, i=1, j=0: _slope(lambda s, t: mp.betainc(s, t, 0, x, regularized=True), (a, b), (i, j)),
    "polyval": lambda c, x: reduce(lambda total, a: total * x + a, c),
    "interp": _interp,
    "bessel_partial": lambda v, x, kind, i=0, j=0: _slope(_bessel(kind), (v, x), (i, j)),
    **{kind: lambda v, x, kind=kind: _bessel(kind)(v, x) for kind in ("jv", "yv", "iv", "kv")},
    "ellipk": mp.ellipk,
    "ellipe": mp.ellipe,
    "zeta_slope": lambda x, q, order=1: mp.zeta(x, q, order),
}
"""Functions that PyTorch does not have, for one element."""
NOT_THERE = {("lambertw", (("k", 1),))}
"""Calls with an option that is refused."""
LISTS = {"polyval": (0,), "interp": (1, 2)}
"""The arguments that one element of the result needs whole."""


def _elements(call: Call) -> Any:
    """The value of a call by mpmath, element by element."""
    function, whole = TRUTHS[call.op.name], LISTS.get(call.op.name, ())
    lists = [i for i, value in enumerate(call.given) if isinstance(value, list) and i not in whole]
    if not lists:
        return float(function(*map(_exact, call.given), **dict(call.options)))
    count = len(call.given[lists[0]])
    rows = [[value[k] if i in lists else value for i, value in enumerate(call.given)] for k in range(count)]
    return [float(function(*map(_exact, row), **dict(call.options))) for row in rows]


def _exact(value: Any) -> Any:
    return [mp.mpf(one) for one in value] if isinstance(value, list) else mp.mpf(value) if isinstance(value, float) else value


@pytest.mark.parametrize("name", TRUTHS)
def test_values_of_mpmath(name: str) -> None:
    wrong = []
    for call in CALLS:
        if call.op.name == name and (name, call.options) not in NOT_THERE:
            with mp.workdps(40):
                wanted = _elements(call)
            arguments = [np.array(value) if call.takes_tensor(i) else value for i, value in enumerate(call.given)]
            found = call.op.function(*map(_leaf, arguments), **dict(call.options)).tolist()
            if not np.allclose(found, wanted, rtol=1e-12, atol=0):
                wrong.append(f"{call.key} is {found}, and not {wanted}")
    assert wrong == []


def _leaf(value: Any) -> Any:
    return autodiff_cli.tensor(value) if isinstance(value, np.ndarray) else value


def test_every_function_has_an_answer() -> None:
    known = {call.op.name for call in CALLS if call.key in RECORDED} | set(TRUTHS)
    assert {call.op.name for call in CALLS} - known == ELSEWHERE


ELSEWHERE = {"index_put", "soft_margin_loss", "unfold"}
"""Functions whose calls PyTorch writes in another way; other tests have their values."""


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "bool"])
def test_whole_numbers_have_values_of_all_digits(dtype: str) -> None:
    x = autodiff_cli.tensor([0, 1] if dtype == "bool" else [3, 1, 2], dtype=getattr(autodiff_cli, dtype))
    for name in ("exp", "sin", "sqrt", "log1p", "sigmoid", "lgamma", "erf"):
        found = getattr(autodiff_cli, name)(x)
        wanted = getattr(autodiff_cli, name)(autodiff_cli.tensor(x.tolist(), dtype=found.dtype))
        assert found.tolist() == wanted.tolist(), name
