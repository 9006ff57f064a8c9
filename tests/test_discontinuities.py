"""Sampling of curves: discontinuities where they are known to be and nowhere else, and lines that follow the curve."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autodiff_cli.evaluation import compile
from autodiff_cli.plotting.discontinuities import Extent, Limit, one_sided_limit
from autodiff_cli.plotting.layout import clip_curve, finite_slices, panels, thin_curve, tick_labels, ticks, value_bands
from autodiff_cli.plotting.model import Plot
from autodiff_cli.plotting.plot import plot


def sampled(expression: str, low: float = -3.0, high: float = 3.0, order: int = 1, samples: int = 401) -> Plot:
    found = plot(expression, {"x": f"{low}:{high}:{samples}"}, order=order)
    assert isinstance(found, Plot)
    return found


def roots(*coefficients: float) -> list[float]:
    """The real roots of a polynomial, with the highest power first."""
    return sorted(float(root.real) for root in np.roots(coefficients) if not root.imag)


HALF = math.pi / 2
KNOWN: list[tuple[str, str, list[float]]] = [
    ("tan(x)", "pole", [-HALF, HALF]),
    ("1/x", "pole", [0]),
    ("1/x**2", "pole", [0]),
    ("1/(x - 1.2345)**2", "pole", [1.2345]),
    ("x + 1/(100*(x - 1))", "pole", [1]),
    ("1/sin(3*x)", "pole", [k * math.pi / 3 for k in (-2, -1, 0, 1, 2)]),
    ("1/(x**3 - 2*x + 1/3)", "pole", roots(1, 0, -2, 1 / 3)),
    ("log(abs(x - 1.1))", "pole", [1.1]),
    ("exp(x)/(exp(x) - 1)", "pole", [0]),
    ("floor(x)", "jump", [-2, -1, 0, 1, 2]),
    ("floor(x) + 1000000", "jump", [-2, -1, 0, 1, 2]),
    ("sign(x - 0.7)", "jump", [0.7]),
    ("where(x < 0.123456789, 1, 2)", "jump", [0.123456789]),
    ("atan(1/x)", "jump", [0]),
    ("x*round(x)", "jump", [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]),
    ("abs(x)", "kink", [0]),
    ("abs(x - 0.001)", "kink", [0.001]),
    ("relu(x - 1)", "kink", [1]),
    ("where(x > 0, x, -x**2)", "kink", [0]),
    ("max(sin(x), cos(x))", "kink", [-3 * math.pi / 4, math.pi / 4]),
    ("abs(x**3 - 2*x + 1/3)", "kink", roots(1, 0, -2, 1 / 3)),
    ("cbrt(x)", "vertical tangent", [0]),
    ("sqrt(abs(x))", "vertical tangent", [0]),
    ("sign(x)*abs(x)**0.1", "vertical tangent", [0]),
    ("sqrt(x)", "edge", [0]),
    ("log(x)", "edge", [0]),
    ("asin(x)", "edge", [-1, 1]),
    ("sqrt(x - 1) + sqrt(2 - x)", "edge", [1, 2]),
    ("sin(x)/x", "hole", [0]),
    ("x**2*sin(1/x)", "hole", [0]),
    ("sin(1/x)", "oscillation", [0]),
]
SMOOTH = [
    *("sin(x)", "exp(x)", "x**5 - x", "3 + 0*x", "sin(50*x)", "tanh(1000*x)", "1/(x**2 + 0.0001)", "sqrt(x**2 + 0.000001)"),
    *("exp(-1/x**2)", "exp(10*x)", "x*1e300", "log(-1 - x**2)"),
]


@pytest.mark.parametrize(("expression", "kind", "places"), KNOWN, ids=lambda v: v if isinstance(v, str) else "")
def test_breaks_are_found_where_they_are(expression: str, kind: str, places: list[float]) -> None:
    found = sampled(expression).samples.discontinuities
    assert [b.kind for b in found] == [kind] * len(places)
    np.testing.assert_allclose([b.at for b in found], places, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("expression", SMOOTH)
@pytest.mark.parametrize("order", [1, 2])
def test_smooth_curves_have_no_breaks(expression: str, order: int) -> None:
    assert sampled(expression, order=order).samples.discontinuities == []


OVERFLOWS = [
    ("1e306*x", 0, 10, [1.0]),
    ("-1e306*x", 0, 10, [1.0]),
    ("exp(x)", 0, 705, [306 * math.log(10)]),
    ("exp(x)", 0, 800, [306 * math.log(10)]),
    ("10**x", 0, 400, [306.0]),
    ("x**200", 0, 100, [10**1.53]),
    ("sinh(x)", -720, 720, [-306 * math.log(10) - math.log(2), 306 * math.log(10) + math.log(2)]),
]


@pytest.mark.parametrize(("expression", "low", "high", "places"), OVERFLOWS)
@pytest.mark.parametrize("order", [0, 1, 2])
def test_what_is_too_large_is_no_pole(expression: str, low: float, high: float, places: list[float], order: int) -> None:
    found = sampled(expression, low, high, order)
    assert [b.kind for b in found.samples.discontinuities] == ["overflow"] * len(places)
    np.testing.assert_allclose([b.at for b in found.samples.discontinuities], places, rtol=1e-9)
    (said,) = [note["message"] for note in found.notes]
    assert said == f"too large to be drawn (over 1e+306) beyond x = {' and '.join(f'{place:.6g}' for place in places)}"


def test_poles_of_large_curves_are_poles() -> None:
    for expression in ("1e200*tan(x)", "1e250/x**2", "1e280/x"):
        assert {b.kind for b in sampled(expression).samples.discontinuities} == {"pole"}


def test_the_second_derivative_has_breaks_of_its_own() -> None:
    assert sampled("x*abs(x)").samples.discontinuities == []
    (found,) = sampled("x*abs(x)", order=2).samples.discontinuities
    assert (found.kind, found.at, found.joined) == ("bend", 0.0, (True, True, False))


def test_rounding_beside_a_hole_is_no_break() -> None:
    """The derivatives of sin(x)/x lose their digits near 0, where they are 0 and -1/3."""
    found = sampled("sin(x)/x", order=2)
    (hole,) = found.samples.discontinuities
    assert (hole.kind, hole.joined) == ("hole", (True, True, True))
    near = np.abs(found.samples.xs) < 0.01
    np.testing.assert_allclose(found.samples.ys[:, near], [[1], [0], [-1 / 3]] * np.ones(near.sum()), atol=4e-3)


@given(
    st.floats(-2.9, 2.9).filter(lambda c: abs(c) > 1e-6),
    st.sampled_from(
        [("where(x < {c}, 0, x)", "jump"), ("abs(x - {c})", "kink"), ("1/(x - {c})", "pole"), ("sqrt(x - {c})", "edge")]
    ),
    st.integers(2, 700),
)
@settings(max_examples=30)
def test_breaks_anywhere(place: float, form: tuple[str, str], samples: int) -> None:
    expression, kind = form
    if kind == "jump" and abs(place) < 0.01:
        return  # too small to be seen
    found = sampled(expression.format(c=f"({place!r})"), samples=samples).samples.discontinuities
    assert [b.kind for b in found] == [kind]
    assert abs(found[0].at - place) < 1e-11


@pytest.mark.parametrize("expression", ["tan(x)", "1/x", "1/x**2", "floor(x)", "atan(1/x)", "sign(x)", "sqrt(x**2 - 1)"])
def test_no_line_crosses_a_break_of_the_value(expression: str) -> None:
    found = sampled(expression)
    assert found.samples.discontinuities
    for piece in finite_slices(found.samples.ys[0]):
        for b in found.samples.discontinuities:
            assert not found.samples.xs[piece][0] < b.left < b.right < found.samples.xs[piece][-1]


def test_the_value_is_joined_at_a_kink_and_the_derivative_is_not() -> None:
    found = sampled("abs(x)")
    assert len(finite_slices(found.samples.ys[0])) == 1
    slopes = [found.samples.ys[1][piece] for piece in finite_slices(found.samples.ys[1])]
    assert [(y.min(), y.max()) for y in slopes] == [(-1, -1), (1, 1)]  # not the 0 that is the convention at 0


def test_the_line_through_the_samples_is_the_curve() -> None:
    for expression in ("sin(30*x)", "exp(2*x)", "sqrt(x)", "cbrt(x)", "abs(x - 0.1)**1.5", "1/(x**2 + 0.001)"):
        found = sampled(expression)
        program = compile.compile(expression)
        for k, name in enumerate(("value", "d_x")):
            low, high = found.samples.windows[k]
            for piece in finite_slices(found.samples.ys[k]):
                x = np.linspace(found.samples.xs[piece][0], found.samples.xs[piece][-1], 20_001)[1:-1]
                truth = np.clip(program(x=x)[name], low, high)
                drawn = np.clip(np.interp(x, found.samples.xs[piece], found.samples.ys[k][piece]), low, high)
                assert np.abs(truth - drawn).max() < 0.005 * (high - low), (expression, name)


def test_derivatives_are_drawn_only_where_there_is_a_value() -> None:
    found = sampled("log(x)")
    assert np.isnan(found.samples.ys[:, found.samples.xs < 0]).all()
    assert found.data()["d_x"][0] == -1 / 3  # the table says what the program computes


def test_what_is_seen_of_a_curve() -> None:
    assert sampled("exp(x)").samples.windows[0] == pytest.approx([math.exp(-3), math.exp(3)])
    low, high = sampled("tan(x)").samples.windows[0]
    assert -20 < low < -3 < 3 < high < 20
    assert np.isnan(sampled("log(-1 - x**2)").samples.windows).all()


def test_many_breaks_are_summed_up() -> None:
    found = sampled("floor(100*x)")
    assert len(found.samples.discontinuities) == 599
    (said,) = found.notes
    assert said["message"] == "jumps near x = -2.99, -2.98, -2.97, -2.96, -2.95, -2.94, -2.93, -2.92 and 591 more places"


def test_a_curve_that_is_too_fast_is_said_to_be() -> None:
    assert [n["kind"] for n in sampled("sin(100000*x)").notes] == ["coarse"]


def test_rows_where_nothing_can_be_written_down_once() -> None:
    found = sampled("det([[x, 1], [1, x]])", samples=21)
    np.testing.assert_allclose(found.data()["value"], found.points**2 - 1)


DISTANCES = np.geomspace(1e-2, 1e-12, 60)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (0 * DISTANCES + 2, Limit("finite", 2)),
        (2 + DISTANCES, Limit("finite", 2)),
        (2 + DISTANCES**0.1, Limit("finite", 2)),
        (-np.log(DISTANCES), Limit("infinite", math.inf)),
        (np.log(DISTANCES), Limit("infinite", -math.inf)),
        (-1 / DISTANCES**0.1, Limit("infinite", -math.inf)),
        (np.exp(1 / DISTANCES.clip(1e-2)) * np.inf, Limit("infinite", math.inf)),
        (np.sin(1 / DISTANCES), Limit("none")),
        (DISTANCES * np.sin(1 / DISTANCES), Limit("finite", 0)),
        (0 * DISTANCES + np.nan, Limit("outside")),
        (2 + 1e-16 / DISTANCES**2 * (-1) ** np.arange(60), Limit("finite", 2)),  # rounding, close by
    ],
)
def test_limits(values: Any, expected: Limit) -> None:
    found = one_sided_limit(DISTANCES, values, Extent(np.array([[0.0, 1.0, 2.0]])), 0)
    assert found.kind == expected.kind
    assert found.value == pytest.approx(expected.value, abs=2e-3, nan_ok=True)


def test_curves_share_axes_if_both_can_be_read() -> None:
    assert [p.curves for p in panels(sampled("sin(x)", order=2))] == [(0, 1, 2)]
    assert [p.curves for p in panels(sampled("tan(x)"))] == [(0, 1)]
    assert [p.curves for p in panels(sampled("x + 1000"))] == [(0,), (1,)]
    assert [p.curves for p in panels(sampled("sin(100*x)"))] == [(0,), (1,)]
    (panel,) = panels(replace(sampled("sin(100*x)"), y_range=(-2, 2)))
    assert (panel.low, panel.high) == (-2, 2)


def test_constant_curves_have_axes() -> None:
    for expression in ("3 + 0*x", "0*x", "1e-320*x", "log(-1 - x**2)"):
        for panel in panels(sampled(expression)):
            assert panel.low < panel.high


def test_clipping_cuts_at_the_bound() -> None:
    xs, ys = clip_curve(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 4.0, 4.0, 0.0]), -1, 1)
    kept = np.isfinite(ys)
    np.testing.assert_allclose(xs[kept], [0, 0.25, 2.75, 3])
    np.testing.assert_allclose(ys[kept], [0, 1, 1, 0])
    assert len(finite_slices(ys)) == 2


def test_thinning_keeps_what_can_be_seen() -> None:
    xs = np.linspace(0, 1, 10_001)
    ys = np.sin(300 * xs)
    ((x, y),) = thin_curve(xs, ys, 0, 1, 100)
    assert len(x) <= 4 * 101
    assert (np.diff(x) > 0).all()
    for column in range(100):
        here, there = (xs >= column / 100) & (xs < (column + 1) / 100), (x >= column / 100) & (x < (column + 1) / 100)
        assert (y[there].min(), y[there].max()) == (ys[here].min(), ys[here].max())


def test_ticks_are_round() -> None:
    assert ticks(-3, 3, 8) == ([-3, -2, -1, 0, 1, 2, 3], ["−3", "−2", "−1", "0", "1", "2", "3"])
    assert ticks(-math.pi, math.pi, 5)[1] == ["−π", "−π/2", "0", "π/2", "π"]
    assert ticks(0, 3 * math.pi / 4, 9)[1] == ["0", "π/4", "π/2", "3π/4"]
    for low, high in ((0.0, 1.0), (-1e-9, 3e-9), (1e6, 1e6 + 0.003), (-7e300, 2e300), (0.12, 0.13)):
        for most in (3, 6, 11):
            places, labels = ticks(low, high, most)
            assert 1 <= len(places) <= most
            assert low - 1e-9 * (high - low) <= places[0] <= places[-1] <= high + 1e-9 * (high - low)
            assert len(set(labels)) == len(labels)


def test_bands_are_round_and_cover_the_range() -> None:
    assert value_bands(-1, 1, 5) == ([-1, -0.5, 0, 0.5, 1], ["−1", "−0.5", "0", "0.5", "1"])
    for low, high in ((-0.43, 0.43), (0, 1e-300), (-7e300, 2e300), (0.12, 0.13), (1e6, 1e6 + 0.003)):
        for most in (2, 5, 11, 12):
            levels, labels = value_bands(low, high, most)
            assert 2 <= len(levels) <= most + 1
            assert levels[0] <= low + 1e-9 * (high - low)
            assert levels[-1] >= high - 1e-9 * (high - low)
            assert len(set(labels)) == len(labels)


def test_labels_have_the_digits_they_need() -> None:
    assert tick_labels([0.1, 0.2, 0.30000000000000004]) == ["0.1", "0.2", "0.3"]
    assert tick_labels([1e6, 1e6 + 0.001]) == ["1000000", "1000000.001"]
    assert tick_labels([0, 2e-9]) == ["0", "2e-9"]
