"""Exponential integrals, and the incomplete gamma and beta functions."""

from __future__ import annotations

import numpy as np

from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.ops.elementary import exp
from autodiff_cli.ops.scipy_backend import from_scipy

__all__ = ["exp1", "expi"]

declare = Declarations(__name__, elementwise=True)

expi = declare(
    "expi",
    from_scipy("expi"),
    {"x": lambda g, x: g * (exp(x) / x)},
    decomposition=lambda: None,
    summary="exponential integral Ei(x), the principal value of the integral of exp(t)/t from -inf to x",
    formula="exp(x)/x",
    domain="x is not 0",
    convention="the value is -inf at 0",
    inside=lambda x: x != 0,
    samples=((0.3,), (-1.7,), ([4.0, -9.5],)),
    edges=((0.0,),),
)
exp1 = declare(
    "exp1",
    from_scipy("exp1"),
    {"x": lambda g, x: -g * (exp(-x) / x)},
    decomposition=lambda: None,
    summary="exponential integral E1(x), the integral of exp(-t)/t from x to inf",
    formula="-exp(-x)/x",
    domain="x > 0",
    convention="the value is inf at 0, and nan below",
    inside=lambda x: np.asarray(x) > 0,
    samples=((0.3,), (1.7,), ([4.0, 9.5],)),
    edges=((0.0,), (-1.0,)),
)
