"""Expressions whose derivative at a point is a matter of convention: ours, PyTorch's and JAX's, side by side.

Each is written in the language, and twice in Python for the peers; ``t`` is the library, ``x`` and ``y`` are its numbers.
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
        at: its variables.
        why: in words, what is answered and where the peers differ.
        python: the same over a library ``t`` and the variables in order.
        order: the order of the derivative, by the first variable.
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
        "The branch with the root was not taken, so it contributes nothing. PyTorch and JAX multiply its infinite slope by 0.",
        lambda t, x: t.where(x > 0, t.sqrt(x), 0.0),
    ),
    Case(
        "where(x == 0, 1, sin(x)/x)",
        {"x": 0.0},
        "The quotient was not taken. `sinc` is defined at 0.",
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
        "The larger argument is x + 1; the root is not taken.",
        lambda t, x: t.maximum(t.sqrt(x), x + 1),
    ),
    Case(
        "sqrt(x)*sqrt(x)",
        {"x": 0.0},
        "A computed zero times an infinite slope is nan; the libraries do not detect that the product is x.",
        lambda t, x: t.sqrt(x) * t.sqrt(x),
    ),
    Case(
        "sqrt(x**2)",
        {"x": 0.0},
        "Infinity times 0 again. `abs(x)` has the derivative 0.",
        lambda t, x: t.sqrt(x**2),
    ),
    Case("x**2", {"x": 0.0}, "A power with a constant exponent does not have a kink at 0.", lambda t, x: x**2, order=2),
    Case("x**2", {"x": 0.0}, "From the third order on, the derivative is 0, not nan.", lambda t, x: x**2, order=3),
    Case(
        "x**y",
        {"x": 0.0, "y": 2.0},
        "The exponent is a tensor: the second derivative with respect to the base is `y*(y - 1)*x**(y - 2)`.",
        lambda t, x, y: x**y,
        order=2,
    ),
    Case("x**y", {"x": 0.0, "y": 2.0}, "The third derivative is 0 by the same rule.", lambda t, x, y: x**y, order=3),
    Case(
        "x*abs(x)",
        {"x": 0.0},
        "The derivative `2*abs(x)` has a kink; its slope there is 0 by convention.",
        lambda t, x: x * abs(x),
        order=2,
    ),
    Case(
        "max(x, 0)**2",
        {"x": 0.0},
        "`max` gives one half to each of two equal arguments; twice its square is 1/2. `relu(x)**2` has 0.",
        lambda t, x: t.maximum(x, t.zeros_like(x)) ** 2,
        order=2,
    ),
    Case("x*log(x)", {"x": 0.0}, "The value is 0 times -inf. `xlogy(x, x)` has the value 0.", lambda t, x: x * t.log(x)),
    Case(
        "log(sum(exp(x)))",
        {"x": [1000.0, 0.0]},
        "Not a kink but an overflow, which `logsumexp(x)` avoids. A note reports it.",
        lambda t, x: t.log(t.exp(x).sum()),
    ),
]
