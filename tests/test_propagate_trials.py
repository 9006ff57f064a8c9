"""``propagate`` against random trials: the examples of JCGM 101:2008, clause 9, and the Monte Carlo method itself."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.errors import NotSolved, UsageError
from autodiff_cli.solvers.uncertainty.distributions import Distribution
from tests.shell import streams

TRIALS = 1_000_000
KINDS = [*((kind, 2.0) for kind in ("normal", "rect", "triangle", "arcsine")), ("t", 2.0, 12.0), ("ctrap", 2.0, np.inf, 0.5)]


@pytest.mark.parametrize("spread", [Distribution(*each) for each in KINDS])
def test_the_moments_of_the_draws(spread: Distribution) -> None:
    drawn = spread.draw(np.random.default_rng(1), 400_000)
    variance = spread.u**2 * (spread.dof / (spread.dof - 2) if spread.kind == "t" else 1)
    assert np.mean(drawn) == pytest.approx(0, abs=5 * spread.u / math.sqrt(len(drawn)))
    assert np.mean(drawn**2) == pytest.approx(variance, rel=0.01)
    if spread.kind != "t":
        assert np.mean(drawn**4) == pytest.approx((3 + spread.excess) * variance**2, rel=0.02)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("u", "first", "trials", "agrees"),
    [
        # JCGM 101, 9.2.2 to 9.2.4: u, the half-width of the 95 % interval of the law, that of the trials, whether they agree
        ("1", (2.0, 3.92), 3.92, True),
        ("sqrt(3) rect", (2.0, 3.92), 3.88, True),
        ("10*sqrt(3) rect", (10.1, 19.9), 17.0, False),
    ],
)
def test_an_additive_model(u: str, first: tuple[float, float], trials: float, agrees: bool) -> None:
    others = "sqrt(3) rect" if "rect" in u else "1"
    spreads = {"x1": others, "x2": others, "x3": others, "x4": u}
    found = ad.propagate("x1 + x2 + x3 + x4", dict.fromkeys(spreads, 0), u=spreads, monte_carlo=4 * TRIALS)
    assert (round(found.u, 1), found.interval[1]) == (first[0], pytest.approx(first[1], abs=0.05 if first[1] > 10 else 0.005))
    checked = found.monte_carlo
    assert checked["agrees"] is agrees
    assert checked["mean"] == pytest.approx(0, abs=0.05)
    assert checked["u"] == pytest.approx(found.u, rel=0.005)
    low, high = checked["interval"]
    assert (low, high) == pytest.approx((-trials, trials), abs=0.05 if trials > 10 else 0.015)


MASS = "(m + dm)*(1 + (ra - 1.2)*(1/rw - 1/rr)) - 100000"
AIR = {"m": "100000.000(50)", "dm": "1.234(20)", "ra": "1.20±0.10 rect", "rw": "8000±1000 rect", "rr": "8000±50 rect"}


def test_a_mass_calibration() -> None:
    """JCGM 101, 9.3, table 6, in mg: the law of first and of second order, and the trials."""
    first = ad.propagate(MASS, AIR, monte_carlo=TRIALS)
    assert [round(each, 4) for each in (first.value, first.u, *first.interval)] == [1.2340, 0.0539, 1.1285, 1.3395]
    assert first.monte_carlo["verdict"] == "differs"
    assert any("first order is not enough" in each["message"] for each in first.notes)
    second = ad.propagate(MASS, AIR, order=2)
    # The supplement has the interval 1.0870 and 1.3810, from the rounded u.
    assert [round(each, 4) for each in (second.value, second.u, *second.interval)] == [1.2340, 0.0750, 1.0871, 1.3809]
    checked = first.monte_carlo
    assert [checked["mean"], checked["u"]] == pytest.approx([1.2341, 0.0754], abs=2e-4)
    low, high = checked["shortest"]
    assert high - low == pytest.approx(1.3825 - 1.0834, abs=1e-3)
    assert [low, high] == pytest.approx([1.0834, 1.3825], abs=3e-3)


@pytest.mark.parametrize(
    ("x1", "r", "first", "second", "trials"),
    [
        # JCGM 101, 9.4, in units of 1e-6: y, u and the 95 % interval, the shortest one for the trials.  With a correlation, the
        # supplement does not have results of second order; these follow from u(y)**2 = 4*x1**2*u**2 + 4*u**4*(1 + r**2).
        (0.000, 0.0, (0, 0, 0, 0), (0, 50, -98, 98), (50, 50, 0, 150)),
        (0.010, 0.0, (100, 100, -96, 296), (100, 112, -119, 319), (150, 112, 0, 367)),
        (0.050, 0.0, (2500, 500, 1520, 3480), (2500, 502, 1515, 3485), (2551, 502, 1590, 3543)),
        (0.000, 0.9, (0, 0, 0, 0), (0, 67, -132, 132), (50, 67, 0, 185)),
        (0.010, 0.9, (100, 100, -96, 296), (100, 121, -136, 336), (150, 121, 13, 398)),
        (0.050, 0.9, (2500, 500, 1520, 3480), (2500, 505, 1511, 3489), (2551, 505, 1628, 3555)),
    ],
)
def test_the_comparison_loss_of_a_microwave_power_meter(
    x1: float, r: float, first: tuple[float, ...], second: tuple[float, ...], trials: tuple[float, ...]
) -> None:
    at, corr = {"x1": (x1, 0.005), "x2": (0.0, 0.005)}, {"x1,x2": r}
    found = ad.propagate("1e6*(x1**2 + x2**2)", at, corr=corr, monte_carlo=TRIALS)
    assert [found.value, found.u, *found.interval] == pytest.approx(first, abs=0.5)
    terms = ad.propagate("1e6*(x1**2 + x2**2)", at, corr=corr, order=2)
    shift = 50  # the supplement adds the variance of second order only; the expectation is shifted by u1**2 + u2**2
    assert [terms.value - shift, terms.u, terms.interval[0] - shift, terms.interval[1] - shift] == pytest.approx(second, abs=1)
    checked = found.monte_carlo
    assert [checked["mean"], checked["u"]] == pytest.approx(trials[:2], abs=2)
    # The length of the shortest interval hardly depends on its place, which therefore varies between runs.
    low, high = checked["shortest"]
    assert high - low == pytest.approx(trials[3] - trials[2], abs=8)
    assert (low, high) == pytest.approx(trials[2:], abs=15)
    assert checked["verdict"] == "differs"


GAUGE = "ls + d + d1 + d2 - ls*(da*(theta + delta) + alpha*dt)"
LENGTHS = {
    "ls": "50000623(25) t:18",
    "d": "215(6) t:24",
    "d1": "0±4 t:5",
    "d2": "0±7 t:8",
    "alpha": "11.5e-6±2e-6 rect",
    "theta": "-0.1±0.2",
    "delta": "0±0.5 arcsine",
    "da": "0±1e-6 ctrap:0.1e-6",
    "dt": "0±0.050 ctrap:0.025",
}


def test_a_gauge_block() -> None:
    """JCGM 101, 9.5, table 11, in nm: 838, 32 and [745, 931] for 99 % by the law, 838, 36 and [745, 932] by trials."""
    found = ad.propagate(GAUGE, LENGTHS, dof={"da": 50, "dt": 2}, level=0.99, monte_carlo=TRIALS)
    assert round(found.value - 50e6) == 838
    assert round(found.u) == 32
    assert np.array(found.interval) - 50e6 == pytest.approx([745, 931], abs=2)
    checked = found.monte_carlo
    assert checked["mean"] - 50e6 == pytest.approx(838, abs=0.5)
    assert round(checked["u"]) == 36
    assert np.array(checked["shortest"]) - 50e6 == pytest.approx([745, 932], abs=1.5)


def test_the_seed_alone_determines_the_trials() -> None:
    def mean(seed: int) -> float:
        values = {"a": "1.0(1)", "b": "2.0(1)"}
        return ad.propagate("a*b", values, corr={"a,b": 0.5}, monte_carlo=30000, seed=seed).monte_carlo["mean"]

    found = [mean(seed) for seed in (0, 3, 3, 4)]
    assert found[1] == found[2] != found[3]
    assert found[0] == pytest.approx(2.005, abs=0.01)
    line = 'autodiff propagate "a*b" --at "a=1.0(1),b=2.0(1)" --corr a,b=0.5 --monte-carlo 30000 --json'
    assert json.loads(streams(line)[0])["monte_carlo"]["mean"] == found[0]


def test_few_trials_decide_nothing() -> None:
    found = ad.propagate("a + b", {"a": "1.0(1)", "b": "2.0(1)"}, monte_carlo=200)
    assert found.monte_carlo["agrees"] is None
    assert found.monte_carlo["verdict"] == "undecided"


def test_trials_of_correlated_quantities_with_degrees_of_freedom() -> None:
    """A multivariate t distribution: every linear combination is t."""
    at = {"a": (0.0, 1.0), "b": (0.0, 2.0)}
    found = ad.propagate("a + b", at, dof={"a": 6, "b": 6}, corr={"a,b": -0.5}, monte_carlo=TRIALS)
    assert found.u == pytest.approx(math.sqrt(3))
    assert found.monte_carlo["verdict"] != "differs"
    assert found.monte_carlo["interval"][1] == pytest.approx(2.4469118511 * math.sqrt(3), rel=0.01)
    rect = ad.propagate("a + b", {"a": "0±1 rect", "b": "0(1)"}, corr={"a,b": 0.5}, monte_carlo=1000)
    assert any("normal, not rect" in each["message"] for each in rect.notes)


def test_trials_outside_of_the_domain() -> None:
    found = ad.propagate("log(x)", {"x": "1.0(5)"}, monte_carlo=100_000)
    assert found.monte_carlo["agrees"] is not True
    assert found.monte_carlo["not_finite"] == pytest.approx(2275, abs=250)  # 2.3 % of a normal distribution
    assert any("were left out" in each["message"] for each in found.notes)


def test_a_heavy_tail_does_not_hide_a_difference() -> None:
    found = ad.propagate("1/x", {"x": "1.0(5)"}, monte_carlo=100_000)
    assert found.monte_carlo["u"] > 10 * found.u  # the distribution does not have a variance
    assert found.monte_carlo["agrees"] is False
    certain = ad.propagate("x - y", {"x": "1(1)", "y": "1(1)"}, corr={"x,y": 1}, monte_carlo=1000)
    assert certain.monte_carlo["agrees"] is True


def test_several_outputs_and_an_expression_that_cannot_be_traced() -> None:
    found = ad.propagate("a + b; solve([[a, 1], [1, 3]], [1, 2])[0]", {"a": "2.00(1)", "b": "1.00(1)"}, monte_carlo=2000)
    for outcome in found.outputs:
        assert outcome.monte_carlo["mean"] == pytest.approx(outcome.value, abs=0.002)
        assert outcome.monte_carlo["u"] == pytest.approx(outcome.u, rel=0.1)


@pytest.mark.parametrize("count", [10, 1.5, "many", -1])
def test_impossible_numbers_of_trials(count: int) -> None:
    with pytest.raises(UsageError):
        ad.propagate("a", {"a": "1(1)"}, monte_carlo=count)


def test_no_trial_with_a_value() -> None:
    with pytest.raises(NotSolved, match="a finite value"):
        ad.propagate("a if a == 1 else log(-a*a)", {"a": "1(1)"}, monte_carlo=1000)


FIT = {
    "command": "fit", "converged": True, "errors_from": "residuals", "residual": {"dof": 12},
    "parameters": {
        "a": {"value": 2.0, "std_error": 0.1, "fixed": False}, "k": {"value": 3.0, "std_error": 0.2, "fixed": False},
        "c": {"value": 5.0, "std_error": None, "fixed": True},
    },
    "covariance": {"a": {"a": 0.01, "k": -0.01}, "k": {"a": -0.01, "k": 0.04}},
}  # fmt: skip


def test_the_result_of_a_fit() -> None:
    found = ad.propagate("c*a*k", cov=FIT)
    assert found.value == 30
    assert found.u == pytest.approx(math.sqrt((15 * 0.1) ** 2 + (10 * 0.2) ** 2 - 2 * 15 * 10 * 0.01))
    assert found.dof == pytest.approx(12)
    assert ad.propagate("a*k", cov={**FIT, "errors_from": "sigma"}).dof == math.inf
    with pytest.raises(NotSolved, match="is not verified"):
        ad.propagate("a*k", cov={**FIT, "converged": False})
    out, err, code = streams('autodiff propagate "a*k*s" --at "s=1.0(1)" --cov - -q', json.dumps(FIT))
    assert (err, code) == ("note: first order is not enough: terms of second order shift the value by -0.01\n", 0) or not err
    assert float(out.split()[0]) == 6


def test_a_pipe_from_fit_and_from_propagate(tmp_path: object) -> None:
    data = "x,y\n0,5.1\n1,3.0\n2,1.9\n3,1.1\n4,0.72\n5,0.39\n"
    fitted = streams('autodiff fit "y = A*exp(-k*x)" --at A=5,k=0.5 --json', data)[0]
    found = json.loads(streams('autodiff propagate "t = log(2)/k" --cov - --json', fitted)[0])
    document = json.loads(fitted)
    k, error = document["parameters"]["k"]["value"], document["parameters"]["k"]["std_error"]
    assert (found["value"], found["u"]) == pytest.approx((math.log(2) / k, math.log(2) / k**2 * error))
    assert [row["name"] for row in found["budget"]] == ["k"]
    again = json.loads(streams('autodiff propagate "2*t" --cov - --json', json.dumps(found))[0])
    assert (again["u"], again["dof"]) == pytest.approx((2 * found["u"], 4))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": {"a": 1, "b": 2}, "b": {"a": 3, "b": 4}}', "not symmetric"),
        ('{"a": {"a": -1, "b": 0}, "b": {"a": 0, "b": 1}}', "negative"),
        ('{"a": {"a": 1, "b": "nan"}, "b": {"a": "nan", "b": 1}}', "is nan"),
        ('{"a": {"a": 1}, "b": {"b": 1}}', "does not contain"),
        ("[1, 2]", "does not contain"),
        ("", "not valid JSON"),
        ('{"a": {"a": "x"}}', "does not contain"),
        ('{"a": ', "not valid JSON"),
        ('{"a": {"a": 1, "b": 2}, "b": {"a": 2, "b": 1}}', "negative eigenvalue"),
    ],
)
def test_files_without_a_covariance_matrix(text: str, words: str) -> None:
    out, err, code = streams('autodiff propagate "a*b" --at a=1,b=1 --cov -', text)
    assert out == ""
    assert code in (2, 5)
    assert words in err


def test_a_file_with_a_covariance_matrix() -> None:
    text = '{"a": {"a": 0.01, "b": 0.002}, "b": {"a": 0.002, "b": 0.04}}'
    out = streams('autodiff propagate "a + b" --at a=1,b=1 --cov - -q', text)[0]
    assert [*map(float, out.split())] == pytest.approx([2, math.sqrt(0.054)])
    out, err, code = streams('autodiff propagate "a + b" --cov -', text)
    assert (out, code) == ("", 2)
    assert "no value for 'a' and 'b'" in err


def test_the_verdict_of_the_trials_is_that_of_the_result() -> None:
    far = ad.propagate("x**2", {"x": "1(1)"}, monte_carlo=100_000)
    assert (far.converged, far.verdict) == (False, "differs")
    near = ad.propagate("2*x", {"x": "1.0(1)"}, monte_carlo=200_000)
    assert (near.converged, near.verdict) == (True, "agrees")
    assert near.evaluations == 200_000 + ad.propagate("2*x", {"x": "1.0(1)"}).evaluations
    assert ad.propagate("x**2", {"x": "1(1)"}, order=2).verdict == "second_order"
