"""Random expressions: value, gradient and Hessian against mpmath's numeric derivatives at 50 digits."""

from __future__ import annotations

import mpmath
from hypothesis import given, settings

from autodiff_cli.derivatives.evaluate import evaluate
from tests.expressions import FORMULAS, POINTS, Formula


@given(FORMULAS, POINTS, POINTS)
@settings(max_examples=150, deadline=None)
def test_value_gradient_and_hessian(formula: Formula, x: float, y: float) -> None:
    result = evaluate(formula.text, {"x": x, "y": y}, order=2)
    with mpmath.workdps(50):
        truth = {
            order: mpmath.diff(formula.function, (mpmath.mpf(x), mpmath.mpf(y)), order) if any(order) else formula.function(x, y)
            for order in ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
        }
        size = 1 + max(abs(float(value)) for value in truth.values())
    got = {
        (0, 0): result.value,
        (1, 0): result.grad["x"],
        (0, 1): result.grad["y"],
        (2, 0): result.hessian["x"]["x"],
        (1, 1): result.hessian["x"]["y"],
        (0, 2): result.hessian["y"]["y"],
    }
    for order, value in got.items():
        assert abs(float(value) - float(truth[order])) <= 1e-9 * size, (order, value, truth[order])
    assert result.hessian["x"]["y"] == result.hessian["y"]["x"]
