"""Taylor mode compared with mpmath's derivatives at 30 digits and with nested reverse mode, and the command."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from mpmath import mpf

import autodiff_cli as ad
from autodiff_cli.autograd import higher_order as partials_module
from autodiff_cli.autograd import jacobians
from autodiff_cli.autograd.higher_order import partials
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.taylor_mode import Expansion, Series
from autodiff_cli.autograd.tensor import Tensor, new_tensor
from autodiff_cli.derivatives import taylor
from autodiff_cli.derivatives.partial_derivatives import partial_derivatives
from autodiff_cli.errors import ArgumentError, LimitError, MissingValue, NoSeriesError, UsageError
from autodiff_cli.evaluation.evaluation import Evaluation
from tests.expressions import FORMULAS, POINTS, Formula
from tests.points import samples_of
from tests.shell import run
from tests.truth import TRUTH

assert ad.sin is not None  # declares the functions
OPS = list({op.name: op for op in FUNCTIONS.values()}.values())
ORDER = 8


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("expression", "truth", "x"), [(e, f, x) for e, f, points in TRUTH for x in points])
def test_against_mpmath(expression: str, truth: Callable[[Any], Any], x: float) -> None:
    found = taylor.series(Evaluation(expression, {"x": x}), ORDER)
    with mpmath.workdps(30):
        exact = mpmath.taylor(truth, mpf(x), ORDER)
        size = max(map(abs, exact))
        for k, (a, b) in enumerate(zip(found, exact, strict=True)):
            assert abs(a - mpmath.re(b)) <= 1e-9 * abs(b) + 1e-13 * size, (k, a, b)


# Every function, at every sample of its declaration, in a direction that moves all elements of one argument.


LATER_ROOMS = (
    *("contract", "positions", "matrices", "decompose", "norms", "reduce", "extremes", "arrange"),
    *("counting", "representation"),
    *("views", "numerical", "layers", "loss"),
)
"""Where there are functions without a rule."""


def _moving(op: FunctionInfo, sample: tuple[Any, ...]) -> list[int]:
    """The arguments that a number can be added to."""
    if op.name in ("einsum", "index_put"):
        return []
    takes = [op.variadic or (i < len(op.parameters) and op.parameters[i] in op.tensors) for i in range(len(sample))]
    moves = [i for i, value in enumerate(sample) if takes[i] and np.array(value).dtype.kind == "f"]
    return moves[:1] if op.name == "clamp" else moves


def _total(result: Any) -> Any:
    total: Any = 0.0
    for part in result if isinstance(result, tuple) else (result,):
        if isinstance(part, Tensor) and part.requires_grad:
            weights = np.linspace(0.5, 1.5, part.numel()).reshape(part.shape)
            total = total + (part * weights).sum()
    return total


def _arguments(op: FunctionInfo, sample: tuple[Any, ...], place: int, moving: Any) -> list[Any]:
    tensors = _moving(op, sample)
    return [moving if i == place else new_tensor(np.array(v)) if i in tensors else v for i, v in enumerate(sample)]


def _swept(total: Any, t: Tensor, order: int) -> list[float]:
    found = []
    for _ in range(order):
        (total,) = grad(total, [t], create_graph=True, allow_unused=True) if getattr(total, "requires_grad", False) else (None,)
        found.append(0.0 if total is None else float(total.item()))
    return found


@pytest.mark.sampled(9)
@pytest.mark.parametrize("op", [op for op in OPS if samples_of(op)], ids=lambda op: op.name)
def test_against_sweeps(op: FunctionInfo) -> None:
    for sample in samples_of(op):
        for place in _moving(op, sample):
            _compare_with_sweeps(op, sample, place)


def _compare_with_sweeps(op: FunctionInfo, sample: tuple[Any, ...], place: int) -> None:
    t = ad.tensor(0.0, requires_grad=True)
    by_sweeps = _swept(_total(op.function(*_arguments(op, sample, place, np.array(sample[place]) + t))), t, 4)
    expansion = Expansion(4)
    variable = expansion.variable(np.array(sample[place])[()])
    try:
        total = _total(op.function(*_arguments(op, sample, place, variable)))
    except (NoSeriesError, ArgumentError, AttributeError):
        assert op.section in LATER_ROOMS, (sample, place)
        return  # it has no rule: what it is part of is swept order by order
    found = expansion.coefficients(total) if isinstance(total, Series) else np.zeros(5)
    assert taylor.times_factorials(found)[1:] == pytest.approx(by_sweeps, rel=1e-9, abs=1e-11), (sample, place)


@given(FORMULAS, POINTS)
@settings(max_examples=80, deadline=None)
def test_random_expressions(formula: Formula, x: float) -> None:
    session = Evaluation(formula.text, {"x": x}, {"y": 0.5})
    assume(session.differentiable)
    found = taylor.derivatives_by_taylor_mode(session, 4)
    swept = partials(session.output, session.variables, 4)
    with mpmath.workdps(50):
        exact = [mpmath.diff(lambda v: formula.function(v, mpf(0.5)), mpf(x), k) for k in range(5)]
        size = 1 + max(abs(float(value)) for value in exact)
    for k in range(1, 5):
        assert abs(found[("x",) * k] - float(exact[k])) <= 1e-10 * size
        assert abs(found[("x",) * k] - float(swept[("x",) * k])) <= 1e-10 * size


# High orders

HARD = "exp(sin(x)*cos(x)) + log(x**2 + 1)/(1 + x**2)"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("x", [-2.3, -0.5, 0.0, 1e-3, 0.7, 3.1, 11.0])
def test_order_30(x: float) -> None:
    derivatives = ad.evaluate(HARD, {"x": x}, order=30).derivatives
    with mpmath.workdps(30):
        exact = mpmath.taylor(lambda v: mpmath.exp(mpmath.sin(v) * mpmath.cos(v)) + mpmath.log(v**2 + 1) / (1 + v**2), mpf(x), 30)
        for k in range(2, 31):
            truth = exact[k] * math.factorial(k)
            assert abs(derivatives[("x",) * k] - truth) <= 1e-10 * abs(truth)


@pytest.mark.exhaustive
def test_a_long_chain_does_not_recurse() -> None:
    depth = 3000
    result = ad.evaluate("sin(" * depth + "x" + ")" * depth, {"x": 1.0}, order=3)
    assert math.isfinite(result.derivatives["x", "x", "x"])


def test_a_factorial_that_is_no_float() -> None:
    found = taylor.expand(Evaluation("1/(1 - x/100)", {"x": 0.0}), 180)
    assert found.coefficients[180] == pytest.approx(1e-360, abs=1e-300)
    found = taylor.expand(Evaluation("1/(1 - x/5)", {"x": 0.0}), 180)
    assert found.derivatives[180] == pytest.approx(float(mpf(math.factorial(180)) / mpf(5) ** 180), rel=1e-12)


# Edges


def _derivatives(expression: str, x: float, order: int = 4) -> list[float]:
    found = ad.evaluate(expression, {"x": x}, order=order).derivatives
    return [float(found[("x",) * k]) for k in range(2, order + 1)]


@pytest.mark.parametrize(
    ("expression", "x", "expected"),
    [
        ("x**2", 0.0, [2, 0, 0]),
        ("x**3", 0.0, [0, 6, 0]),
        ("(x**2)**2", 0.0, [0, 0, 24]),
        ("x**0", 0.0, [0, 0, 0]),
        ("x**1.5", 0.0, [math.inf, -math.inf, math.inf]),
        ("sqrt(x)", 0.0, [-math.inf, math.inf, -math.inf]),
        ("abs(x)", 0.0, [0, 0, 0]),
        ("abs(x)**3", 0.0, [0, 0, 0]),
        ("relu(x)", 0.0, [0, 0, 0]),
        ("max(x, x**2)", 1.0, [1, 0, 0]),
        ("1/x", 0.0, [math.inf, -math.inf, math.inf]),
        ("where(x > 0, x**2, log(-x))", 1.0, [2, 0, 0]),
        ("sqrt(x) if x > 0 else x**3", 0.0, [0, 6, 0]),
        ("where(x > 0, [sqrt(x), 1], [x**2, x]).sum()", 0.0, [2, 0, 0]),
        ("asin(x)", 1.0, [math.inf, math.inf, math.inf]),
        ("3 + floor(x)", 0.5, [0, 0, 0]),
        ("x > 0", 0.5, [0, 0, 0]),
    ],
)
def test_edges(expression: str, x: float, expected: list[float]) -> None:
    assert _derivatives(expression, x) == expected


@pytest.mark.parametrize("at", [0.0, [0.0, 0.0]], ids=["scalar", "array"])
@pytest.mark.parametrize(
    ("source", "first", "second"),
    [
        ("sqrt(abs(x))", math.nan, math.nan),
        ("log(abs(x))", math.nan, math.nan),
        ("sqrt(x**2)", math.nan, math.nan),
        ("cbrt(x**4)", math.nan, math.nan),
        ("asin(1 - abs(x))", math.nan, math.nan),
        ("abs(sqrt(x))", math.nan, math.nan),
        ("relu(x)*sqrt(x)", math.nan, math.nan),
        ("sqrt(relu(x))", 0.0, 0.0),  # PyTorch's rule of relu masks
        ("relu(sqrt(x))", 0.0, 0.0),
        ("where(x > 0, sqrt(x), 0)", 0.0, 0.0),
        ("sqrt(hardtanh(x, 1, 2))", 0.0, 0.0),
    ],
)
def test_a_derivative_of_0_does_not_hide_an_infinite_one(source: str, first: float, second: float, at: Any) -> None:
    """As in reverse mode, ``0*inf`` is nan; only the branches that were not selected do not contribute, whatever the order."""
    nested = ad.evaluate(source, {"x": 0.0}, order=2)
    assert [nested.grad["x"], nested.hessian["x"]["x"]] == pytest.approx([first, second], nan_ok=True)
    for order in (1, 2, 5):
        found = taylor.series(Evaluation(source, {"x": at}), order)
        of_an_element = found.reshape(order + 1, -1)[:, -1]
        assert of_an_element[1:3] == pytest.approx([first, second / 2][:order], nan_ok=True)


def test_a_value_that_is_nan_has_derivatives_by_convention() -> None:
    found = taylor.derivatives_by_taylor_mode(Evaluation("log(x)", {"x": -2.0}), 3)
    assert found == {("x",): -0.5, ("x", "x"): -0.25, ("x", "x", "x"): -0.25}


def test_derivatives_by_hand_have_a_series() -> None:
    source = "f(a) = a**3 with grad (5*a**2); f(x)"
    assert taylor.derivatives_by_taylor_mode(Evaluation(source, {"x": 2.0}), 3) == {("x",): 20, ("x", "x"): 20, ("x",) * 3: 10}
    assert _derivatives(source, 2.0, 3) == [20, 10]
    assert _derivatives("f(a) = a**3 with grad (5*a**2); f(2)*x**2", 3.0, 2) == [16]


@pytest.mark.parametrize(
    ("by_hand", "plain", "order"),
    [
        ("s(a) = 1/(1 + exp(-a)) with grad (s(a)*(1 - s(a))); s(x)*s(2*x)", "sigmoid(x)*sigmoid(2*x)", 30),
        ("f(a, b) = a**b with grad (b*a**(b - 1), a**b*log(a)); f(x, x)*f(x, 2)", "x**x*x**2", 12),
        ("f(a, b) = a*b with grad (b, a); prod(i=1..3, f(x, i)) if x > 0 else f(x, x)", "6*x**3", 12),
        ("f(a) = sum(a**2) with grad (2*a); f([x, 2*x])*x", "5*x**3", 4),
        ("f(a) = exp(a) with grad (exp(a)); sum(f([x, 2*x]))", "exp(x) + exp(2*x)", 10),
    ],
)
def test_the_series_of_derivatives_by_hand(by_hand: str, plain: str, order: int) -> None:
    found = taylor.expand(Evaluation(by_hand, {"x": 0.7}), order).coefficients
    assert found == pytest.approx(taylor.expand(Evaluation(plain, {"x": 0.7}), order).coefficients, rel=1e-12, abs=1e-15)


def test_the_rule_by_hand_is_what_counts() -> None:
    # The first derivative of f(x**2) is 2*x times the rule, whose own variable x counts too.
    found = taylor.expand(Evaluation("f(a) = a*x with grad (x); f(x**2)", {"x": 2.0}), 3).derivatives
    assert found.tolist() == [8, 8, 8, 4]
    rows = taylor.expand(Evaluation("f(a) = a**2 with grad (3*a); f(x)", {"x": [1.0, 2.0]}), 2).coefficients
    assert rows.tolist() == [[1, 4], [3, 6], [1.5, 1.5]]


def test_nested_reverse_mode_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluation = Evaluation("det([[x, sin(x)], [exp(x), x**2]])", {"x": 0.7})
    taylor.expand(evaluation, 5)
    monkeypatch.setattr(partials_module, "MOST_NODES", 500)
    with pytest.raises(LimitError, match="the derivative of order 5 needs about 526 operations"):
        taylor.expand(evaluation, 5)
    with ad.unlimited():
        taylor.expand(evaluation, 5)


def test_a_gradient_to_start_from() -> None:
    result = ad.evaluate("[x**3, x**2]", {"x": 2.0}, order=3, gradient=[1.0, 10.0])
    assert result.hessian == {"x": {"x": 32.0}}
    assert ad.evaluate("[x**3]", {"x": 2.0}, order=3).hessian == {"x": {"x": 12.0}}


def test_float32() -> None:
    result = ad.evaluate("exp(sin(x))", {"x": 0.7}, order=3, dtype="float32")
    exact = ad.evaluate("exp(sin(x))", {"x": 0.7}, order=3)
    for index, value in result.derivatives.items():
        assert value.dtype == np.float32
        assert value == pytest.approx(exact.derivatives[index], rel=1e-5)


def test_each_mixed_partial_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sweeps = []
    monkeypatch.setattr(jacobians, "grad", lambda *a, **k: sweeps.append(a) or grad(*a, **k))
    session = Evaluation("exp(x*y*z)", {"x": 0.1, "y": 0.2, "z": 0.3})
    found = partial_derivatives(session, 3)
    assert len(found) == 3 + 6 + 10
    assert len(sweeps) == 1 + 3 + 6  # one for each partial of the orders below
    assert all(list(index) == sorted(index) for index in found)


def test_too_many_partials() -> None:
    session = Evaluation("a*b*c*d*e*f*g*h*i*j", {name: 0.1 for name in "abcdefghij"})
    with pytest.raises(LimitError, match="up to order 12 have 646,645 numbers"):
        partial_derivatives(session, 12)
    source, big = "sum(x**3)", {"x": np.ones(400)}
    with pytest.raises(LimitError, match="160,400 numbers"):
        ad.evaluate(source, big, order=2)
    assert "error: the partial derivatives up to order 5 have 20,033,240 numbers" in run(
        'autodiff grad "sum(x)*sum(y)" --at "x=ones(20)" --at "y=ones(20)" --order 5'
    )
    with ad.unlimited():
        assert ad.evaluate(source, big, order=2).hessian["x"]["x"].shape == (400, 400)


# The command; its formats are in tests/cases/taylor.txt


def test_elements_of_a_vector_have_series_of_their_own() -> None:
    found = taylor.expand(Evaluation("exp(k*x)", {"x": [0.0, 1.0]}, {"k": [1.0, 2.0]}), 3)
    assert found.coefficients == pytest.approx(
        np.array([[1, math.e**2], [1, 2 * math.e**2], [0.5, 2 * math.e**2], [1 / 6, 4 / 3 * math.e**2]])
    )
    whole = taylor.expand(Evaluation("sum(x**2)", {"x": [1.0, 2.0]}), 2)
    assert whole.coefficients.tolist() == [5, 6, 2]
    product = taylor.expand(Evaluation("outer(x, x)", {"x": [1.0, 2.0]}), 2)
    assert product.coefficients[1].tolist() == [[2, 3], [3, 4]]


def test_arguments_that_broadcast() -> None:
    session = Evaluation("atan2(x, reshape(x, 2, 1)*y) + hypot(x, y)*where(x > 1, x, [[1], [2]])", {"x": [0.5, 2.0]}, {"y": 3.0})
    found = taylor.expand(session, 3).coefficients
    for i, a in enumerate((0.5, 2.0)):
        for j, b in enumerate((0.5, 2.0)):
            one = f"atan2({a} + t, ({b} + t)*3) + hypot({a} + t, 3)*" + (f"({a} + t)" if a > 1 else f"{j + 1}")
            assert found[:, j, i] == pytest.approx(taylor.expand(Evaluation(one, {"t": 0.0}), 3).coefficients)


def test_what_cannot_be_expanded() -> None:
    with pytest.raises(UsageError, match="in one variable, not in x and y"):
        taylor.expand(Evaluation("x*y", {"x": 1.0, "y": 2.0}), 2)
    with pytest.raises(MissingValue):
        taylor.expand(Evaluation("1 + 1"), 2)
    with pytest.raises(UsageError, match="0 or more"):
        taylor.expand(Evaluation("x", {"x": 1.0}), -1)
    with pytest.raises(LimitError):
        taylor.expand(Evaluation("x", {"x": 1.0}), 5000)
    with ad.unlimited():
        assert taylor.expand(Evaluation("x", {"x": 1.0}), 1500).coefficients[1] == 1
    with pytest.raises(NoSeriesError, match="element by element"):
        taylor.expand(Evaluation("f(a) = [sum(a), a[0]] with grad (1); f([x, x, x])", {"x": 1.0}), 2)
    by_hand = taylor.expand(Evaluation("f(a) = a**2 with grad (3*a); f(x)", {"x": 2.0}), 2)
    assert by_hand.coefficients.tolist() == [4, 6, 1.5]


def test_json() -> None:
    document = json.loads(run("autodiff taylor exp(x) --at x=0 --order 3 --json"))
    assert list(document) == [
        *("schema", "command", "expression", "dtype", "order", "variable", "at", "coefficients", "derivatives", "notes")
    ]
    assert document["coefficients"] == [1, 1, 0.5, 1 / 6]
    assert document["derivatives"] == [1, 1, 1, 1]


def test_elements_that_were_not_taken_add_nothing() -> None:
    """Though their rates are infinite: ``sqrt(x)`` at 0 is below 1."""
    assert run('autodiff taylor "sum(max([sqrt(x), x + 1], [1, 5]))" --at x=0 --order 3 -q') == "6.0\n0.0\n0.0\n0.0\n"
