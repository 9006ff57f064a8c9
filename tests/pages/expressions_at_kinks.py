"""Expressions whose derivative at a point depends on a convention, for the comparison of autodiff, PyTorch and JAX.

Each expression is written in the language, and as a Python function of a library ``t`` and of variables ``x`` and ``y``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """One derivative of one expression at one point.

    Attributes:
        text: the expression.
                at: the values of the variables.
        why: an explanation of the result and of the differences between the libraries.
        python: the expression as a function of a library ``t`` and the variables in order.
        order: the order of the derivative with respect to the first variable.
    """

    text: str
    at: dict[str, Any]
    why: str
    python: Callable[..., Any]
    order: int = 1


CASES = [
    Case(
        "where(x > 0, sqrt(x), 0)",
        {"x": 0.0},
        "The branch with the root was not taken, so it contributes nothing. PyTorch and JAX multiply its infinite derivative by 0.",
        lambda t, x: t.where(x > 0, t.sqrt(x), 0.0),
    ),
    Case(
        "where(x == 0, 1, sin(x)/x)",
        {"x": 0.0},
        "The branch with the quotient was not taken. The function `sinc` is also defined at 0.",
        lambda t, x: t.where(x == 0, 1.0, t.sin(x) / x),
    ),
    Case(
        "sum(sqrt(x)[x > 0])",
        {"x": [0.0, 4.0]},
        "An element that the index does not select contributes nothing.",
        lambda t, x: t.sqrt(x)[x > 0].sum(),
    ),
    Case(
        "max(sqrt(x), x + 1)",
        {"x": 0.0},
        "The larger argument is x + 1, so the root is not selected.",
        lambda t, x: t.maximum(t.sqrt(x), x + 1),
    ),
    Case(
        "sqrt(x)*sqrt(x)",
        {"x": 0.0},
        "A computed zero times an infinite derivative is nan; the libraries do not detect that the product is x.",
        lambda t, x: t.sqrt(x) * t.sqrt(x),
    ),
    Case(
        "sqrt(x**2)",
        {"x": 0.0},
        "The chain rule multiplies infinity by 0. The derivative of the equivalent `abs(x)` is 0.",
        lambda t, x: t.sqrt(x**2),
    ),
    Case("x**2", {"x": 0.0}, "A power with a constant exponent does not have a kink at 0.", lambda t, x: x**2, order=2),
    Case("x**2", {"x": 0.0}, "Derivatives of order 3 and above are 0, not nan.", lambda t, x: x**2, order=3),
    Case(
        "x**y",
        {"x": 0.0, "y": 2.0},
        "The exponent is a tensor: the second derivative with respect to the base is `y*(y - 1)*x**(y - 2)`.",
        lambda t, x, y: x**y,
        order=2,
    ),
    Case(
        "x**y",
        {"x": 0.0, "y": 2.0},
        "The factor `y - 2` of the third derivative is 0, so the result is 0.",
        lambda t, x, y: x**y,
        order=3,
    ),
    Case(
        "x*abs(x)",
        {"x": 0.0},
        "The derivative `2*abs(x)` has a kink at 0; the second derivative there is 0 by convention.",
        lambda t, x: x * abs(x),
        order=2,
    ),
    Case(
        "max(x, 0)**2",
        {"x": 0.0},
        "`max` has the derivative 1/2 for each of two equal arguments, and 2*(1/2)**2 is 1/2. The result for `relu(x)**2` is 0.",
        lambda t, x: t.maximum(x, t.zeros_like(x)) ** 2,
        order=2,
    ),
    Case(
        "clamp(x, y)",
        {"x": 0.0, "y": 0.0},
        "A bound that is a tensor is a variable too, so both receive half. The derivative at a bound that is a number is 0.",
        lambda t, x, y: t.clip(x, y),
    ),
    Case(
        "x*log(x)",
        {"x": 0.0},
        "The value is 0 times -inf, which is nan. The value of `xlogy(x, x)` is 0.",
        lambda t, x: x * t.log(x),
    ),
    Case(
        "log(sum(exp(x)))",
        {"x": [1000.0, 0.0]},
        "The point is not a kink: `exp` overflows. `logsumexp(x)` avoids the overflow. A note reports it.",
        lambda t, x: t.log(t.exp(x).sum()),
    ),
]
