"""Activations of neural networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.declare import declare
from autodiff_cli.ops.comparison import where
from autodiff_cli.ops.creation import zeros_like

__all__ = ["relu", "sigmoid", "softplus"]

_ANY = ((0.3,), (-1.7,), ([0.5, -2.0],))


def _sigmoid(x: Any) -> Any:
    # exp of what is negative only: no overflow, and full precision in both tails.
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small)[()] / (1 + small)


sigmoid = declare(
    "sigmoid",
    _sigmoid,
    {"x": lambda g, out: g * (out * (1 - out))},
    aliases=("expit",),
    summary="1 / (1 + exp(-x))",
    formula="sigmoid(x)*(1 - sigmoid(x))",
    samples=_ANY,
)
softplus = declare(
    "softplus",
    lambda x, beta: np.logaddexp(0, x * beta) / beta,
    {"x": lambda g, x, beta: g * sigmoid(x * beta)},
    statics={"beta": 1},
    summary="log(1 + exp(beta*x))/beta, without overflow",
    formula="sigmoid(beta*x)",
    samples=_ANY,
)
# PyTorch's name; a gradient of relu depends on x, though its derivative by x is 0.
_threshold = declare(
    "threshold_backward",
    lambda x, y: np.where(y > 0, x, 0.0)[()],
    {"x": lambda g, y: where(y > 0, g, 0.0), "y": lambda g: zeros_like(g)},
    node="ThresholdBackwardBackward0",
    public=False,
)
relu = declare(
    "relu",
    lambda x: np.maximum(x, 0),
    {"x": lambda g, out: _threshold(g, out)},
    summary="x where it is positive, else 0",
    formula="1 where x > 0 else 0",
    domain="everywhere",
    smooth="x != 0",
    convention="the derivative at 0 is 0 (PyTorch)",
    samples=_ANY,
    edges=((0.0,),),
)
