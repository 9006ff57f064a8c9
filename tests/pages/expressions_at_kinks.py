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
        "The branch with the root was not taken, so it contributes nothing. The peers multiply its infinite slope by 0.",
        lambda t, x: t.where(x > 0, t.sqrt(x), 0.0),
    ),
    Case(
        "where(x == 0, 1, sin(x)/x)",
        {"x": 0.0},
        "The quotient was not taken. `sinc` needs no such care.",
        lambda t, x: t.where(x == 0, 1.0, t.sin(x) / x),
    ),
    Case(
        "sum(sqrt(x)[x > 0])",
        {"x": [0.0, 4.0]},
        "An element that an index left out contributes nothing either.",
        lambda t, x: t.sqrt(x)[x > 0].sum(),
    ),
    Case(
        "max(sqrt(x), x + 1)",
        {"x": 0.0},
        "The pair's larger one is x + 1; the root is not taken.",
        lambda t, x: t.maximum(t.sqrt(x), x + 1),
    ),
    Case(
        "sqrt(x)*sqrt(x)",
        {"x": 0.0},
        "A zero that was computed, times an infinite slope: nan, as no library sees that the product is x.",
        lambda t, x: t.sqrt(x) * t.sqrt(x),
    ),
    Case(
        "sqrt(x**2)",
        {"x": 0.0},
        "Infinite times 0 once more. `abs(x)` has the derivative 0.",
        lambda t, x: t.sqrt(x**2),
    ),
    Case("x**2", {"x": 0.0}, "A constant exponent is no kink: 2, at 0 too.", lambda t, x: x**2, order=2),
    Case("x**2", {"x": 0.0}, "And 0, not nan, from the third order on.", lambda t, x: x**2, order=3),
    Case(
        "x**y",
        {"x": 0.0, "y": 2.0},
        "With an exponent that is a tensor: the second derivative by the base, `y*(y - 1)*x**(y - 2)`.",
        lambda t, x, y: x**y,
        order=2,
    ),
    Case("x**y", {"x": 0.0, "y": 2.0}, "The third one is 0 by the same rule.", lambda t, x, y: x**y, order=3),
    Case("x*abs(x)", {"x": 0.0}, "The derivative `2*abs(x)` has a kink, where the slope is 0.", lambda t, x: x * abs(x), order=2),
    Case(
        "max(x, 0)**2",
        {"x": 0.0},
        "`max` hands one half to each of an equal pair; twice its square is 1/2. `relu(x)**2` has 0.",
        lambda t, x: t.maximum(x, t.zeros_like(x)) ** 2,
        order=2,
    ),
    Case("x*log(x)", {"x": 0.0}, "The value is 0 times -inf. `xlogy(x, x)` has the value 0.", lambda t, x: x * t.log(x)),
    Case(
        "log(sum(exp(x)))",
        {"x": [1000.0, 0.0]},
        "No kink, but an overflow: `logsumexp(x)` has none. A note says so.",
        lambda t, x: t.log(t.exp(x).sum()),
    ),
]
