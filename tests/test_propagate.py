"""``propagate``: quantities, the law of propagation, and the examples of JCGM 100:2008."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.errors import AutodiffError, NotSolved, ParseError, ShapeError, UnknownName, UsageError
from autodiff_cli.solvers.uncertainty.law import coverage_factor
from autodiff_cli.solvers.uncertainty.quantities import quantities
from autodiff_cli.solvers.uncertainty.result import concise, tolerance
from tests.shell import streams

G = "4*pi**2*L/T**2"
AT = {"L": "0.994(1)", "T": "2.001(2)"}


@pytest.mark.parametrize(
    ("text", "value", "u", "kind"),
    [
        ("0.994(1)", 0.994, 0.001, "normal"),
        ("9.801(22)e-3", 9.801e-3, 22e-6, "normal"),
        ("-1.2(1.5)", -1.2, 1.5, "normal"),
        ("123(4)", 123, 4, "normal"),
        ("1.234(45)e4 rect", 12340, 450 / math.sqrt(3), "rect"),
        ("0.994±0.001", 0.994, 0.001, "normal"),
        ("0.994+-0.001", 0.994, 0.001, "normal"),
        ("0.994 +/- 0.001 t:9", 0.994, 0.001, "t"),
        ("2*pi ± pi/100", 2 * math.pi, math.pi / 100, "normal"),
        ("(9.801±0.022)e-3", 9.801e-3, 22e-6, "normal"),
        ("-50±2%", -50, 1, "normal"),
        ("1±6 triangle", 1, math.sqrt(6), "triangle"),
        ("1±2 arcsine", 1, math.sqrt(2), "arcsine"),
        ("1±3 ctrap:0.5", 1, math.sqrt(3 + 0.25 / 9), "ctrap"),
        ((0.994, 0.001), 0.994, 0.001, "normal"),
        ((0.994, 0.003, "rectangular"), 0.994, 0.001 * math.sqrt(3), "rect"),
    ],
)
def test_a_quantity(text: str | tuple[float, float], value: float, u: float, kind: str) -> None:
    found = quantities({"x": text}, {}, {})
    assert found.values["x"] == pytest.approx(value, rel=1e-15)
    assert found.distributions["x"].u == pytest.approx(u, rel=1e-15)
    assert found.distributions["x"].kind == kind


def test_quantities_of_a_vector() -> None:
    found = quantities({"x": "[1.0(1), 2.0(2), 3]", "v": "[1, 2]", "w": [["1(2)", 5.0]]}, {"v": "[1, 2] rect"}, {})
    assert {label: spread.u for label, spread in found.distributions.items()} == pytest.approx(
        {"x[0]": 0.1, "x[1]": 0.2, "v[0]": 1 / math.sqrt(3), "v[1]": 2 / math.sqrt(3), "w[0, 0]": 2}
    )
    assert found.values["x"].tolist() == [1, 2, 3]
    assert found.labels == ["x[0]", "x[1]", "x[2]", "v[0]", "v[1]", "w[0, 0]", "w[0, 1]"]


def test_the_sensitivities_and_shares_of_a_pendulum() -> None:
    found = ad.propagate(G, AT, dof={"T": 9})
    L, T = 0.994, 2.001
    cL, cT = 4 * math.pi**2 / T**2, -8 * math.pi**2 * L / T**3
    u = math.hypot(cL * 0.001, cT * 0.002)
    dof = u**4 / ((cT * 0.002) ** 4 / 9)
    assert (found.value, found.u, found.dof) == pytest.approx((4 * math.pi**2 * L / T**2, u, dof), rel=1e-14)
    assert found.k == pytest.approx(2.144786687916925, rel=1e-9)  # t for 14 degrees of freedom
    assert found.result == "9.801(22)"
    assert [row["name"] for row in found.budget] == ["L", "T"]
    assert [row["sensitivity"] for row in found.budget] == pytest.approx([cL, cT], rel=1e-14)
    assert [row["share"] for row in found.budget] == pytest.approx([(cL * 0.001 / u) ** 2, (cT * 0.002 / u) ** 2], rel=1e-14)
    assert found.interval == pytest.approx((found.value - found.U, found.value + found.U))
    assert found.notes == []


def test_an_end_gauge() -> None:
    """JCGM 100:2008, H.1: u_c = 32 nm, 16 degrees of freedom, U_99 = 2.92 x 32 nm = 93 nm.

    With the terms of second order, u_c = 34 nm.
    """
    length = "ls + d - ls*(da*theta + alpha*dt)"
    at = {"ls": "50000623(25)", "d": "215(9.7)", "da": "0±1e-6 rect", "theta": "-0.1±0.41", "alpha": "11.5e-6±2e-6 rect"}
    at["dt"] = "0±0.05 rect"
    found = ad.propagate(length, at, dof={"ls": 18, "d": 25.6, "da": 50, "dt": 2}, level=0.99)
    assert found.value == 50000838
    assert round(found.u) == 32
    assert math.floor(found.dof) == 16
    assert found.k == pytest.approx(2.92, abs=0.005)
    assert round(found.k * 32) == 93  # the guide multiplies the rounded u_c
    rows = {row["name"]: abs(row["contribution"]) for row in found.budget}
    assert rows == pytest.approx({"ls": 25, "d": 9.7, "da": 2.9, "theta": 0, "alpha": 0, "dt": 16.6}, abs=0.05)
    assert [each["kind"] for each in found.notes] == ["second_order"]
    assert "from 31.7 to 33.8" in found.notes[0]["message"]
    assert round(ad.propagate(length, at, order=2).u) == 34


OBSERVED = {  # JCGM 100:2008, table H.2: simultaneous observations of V, I and phi
    "V": [5.007, 4.994, 5.005, 4.990, 4.999],
    "I": [19.663e-3, 19.639e-3, 19.640e-3, 19.685e-3, 19.678e-3],
    "phi": [1.0456, 1.0438, 1.0468, 1.0428, 1.0433],
}


def test_resistance_and_reactance() -> None:
    """JCGM 100:2008, H.2, tables H.3 and H.4."""
    r = np.corrcoef(list(OBSERVED.values()))
    at = {name: (float(np.mean(each)), float(np.std(each, ddof=1) / math.sqrt(5))) for name, each in OBSERVED.items()}
    found = ad.propagate(
        "R = V/I*cos(phi); X = V/I*sin(phi); Z = V/I", at, corr={"V,I": r[0, 1], "V,phi": r[0, 2], "I,phi": r[1, 2]}
    )
    assert [(each.name, round(each.value, 3), round(each.u, 3)) for each in found.outputs] == [
        ("R", 127.732, 0.071),
        ("X", 219.847, 0.296),  # the guide truncates 0.2957 to 0.295
        ("Z", 254.260, 0.236),
    ]
    assert found.correlation[[0, 0, 1], [1, 2, 2]] == pytest.approx([-0.588, -0.485, 0.993], abs=5e-4)


def test_a_square_at_its_minimum() -> None:
    first = ad.propagate("x**2", {"x": "0±10"})
    assert (first.value, first.u) == (0, 0)
    assert "first order is not enough" in first.notes[0]["message"]
    second = ad.propagate("x**2", {"x": "0±10"}, order=2)
    assert (second.value, second.u) == pytest.approx((100, 100 * math.sqrt(2)))
    assert second.second_order == {
        "shift": pytest.approx(100),
        "u": pytest.approx(100 * math.sqrt(2)),
        "enough": False,
        "first_order": {"value": 0, "u": 0},
    }


@pytest.mark.parametrize(
    ("kind", "fourth", "half"), [("normal", 3, 1), ("rect", 9 / 5, 3), ("triangle", 12 / 5, 6), ("arcsine", 3 / 2, 2)]
)
def test_the_moments_of_second_order_are_exact_for_a_cubic(kind: str, fourth: float, half: float) -> None:
    """The terms of fourth order in u of the variance of a cubic of one quantity, and of a product of two."""
    found = ad.propagate("x**3 + x**2", {"x": 2.0}, u={"x": f"{0.01 * math.sqrt(half)} {kind}"}, order=2)
    m2, m4 = 1e-4, fourth * 1e-8
    g, h, t = 16, 14, 6
    variance = g**2 * m2 + h**2 / 4 * (m4 - m2**2) + g * t / 3 * m4
    assert found.u**2 == pytest.approx(variance, rel=1e-13)
    assert found.value == pytest.approx(12 + h / 2 * m2, rel=1e-15)
    product = ad.propagate("x*y", {"x": 2.0, "y": (3.0, 0.5)}, u={"x": f"{0.1 * math.sqrt(half)} {kind}"}, order=2)
    assert product.u**2 == pytest.approx(0.09 + 1 + 0.0025, rel=1e-14)  # Goodman 1960: exact for independent factors


def test_second_order_of_correlated_normal_quantities() -> None:
    """The moments of x*y of a bivariate normal distribution: Craig 1936."""
    x, y, a, b, r = 2.0, 3.0, 0.1, 0.5, 0.6
    found = ad.propagate("x*y", {"x": (x, a), "y": (y, b)}, corr={("x", "y"): r}, order=2)
    assert found.value == pytest.approx(x * y + r * a * b)
    variance = (x * b) ** 2 + (y * a) ** 2 + 2 * x * y * r * a * b + (a * b) ** 2 * (1 + r * r)
    assert found.u**2 == pytest.approx(variance, rel=1e-14)
    exact = ad.propagate("exp(x)", {"x": (0.0, 0.1)}, order=2)
    assert exact.u**2 == pytest.approx(0.01 + 1.5 * 0.0001, rel=1e-13)  # of (exp(s**2) - 1)*exp(s**2)


def test_degrees_of_freedom_of_correlated_quantities() -> None:
    at = {"a": (1.0, 0.1), "b": (2.0, 0.2), "c": (3.0, 0.3)}
    same = ad.propagate("a + b", at | {}, dof={"a": 9, "b": 9}, corr={"a,b": 0.5})
    assert same.dof == pytest.approx(9)
    differ = ad.propagate("a + b", at, dof={"a": 9, "b": 8}, corr={"a,b": 0.5})
    assert differ.dof is None
    assert differ.k == pytest.approx(1.959963984540054)
    assert any("different degrees of freedom" in each["message"] for each in differ.notes)
    alone = ad.propagate("c", at, dof={"c": 9}, level=0.9234471762293)  # 2*F(2) - 1 for 9 degrees of freedom
    assert (alone.dof, alone.k, alone.U) == (pytest.approx(9), pytest.approx(2), pytest.approx(0.6))


def test_outputs() -> None:
    names = {
        "a*x; b*x": ["a*x", "b*x"],
        "k = 2; [a, b*k]": ["a", "b*k"],
        "y = a + b; z = y*x": ["y", "z"],
        "v*a": ["(v*a)[0]", "(v*a)[1]"],
        "k = 2*pi; y = k*a": ["y"],
        "f(t) = t*b; y = f(a)": ["y"],
    }
    for source, expected in names.items():
        found = ad.propagate(source, {"a": "1(1)", "b": "2(1)", "x": "3(1)", "v": "[1(1), 2(1)]"})
        assert [each.name for each in found.outputs] == expected
    found = ad.propagate("a + b; a - b", {"a": "1.0(3)", "b": "2.0(4)"})
    assert found.covariance.tolist() == [[pytest.approx(0.25), pytest.approx(-0.07)], [pytest.approx(-0.07), pytest.approx(0.25)]]


@pytest.mark.parametrize(
    ("value", "u", "text"),
    [
        (9.80058, 0.02193, "9.801(22)"),
        (50000838, 31.7, "50000838(32)"),
        (12345, 450, "1.234(45)e4"),
        (1.5e-7, 2e-9, "1.500(20)e-7"),
        (12.3, 1.5, "12.3(1.5)"),
        (0, 0.3, "0.00(30)"),
        (5, 0.0999, "5.00(10)"),
        (-3.14159, 0.00996, "-3.142(10)"),
        (100, 141.4, "1.0(1.4)e2"),
        (3, 0, "3 ± 0"),
    ],
)
def test_a_result_as_it_should_be_written(value: float, u: float, text: str) -> None:
    assert concise(value, u) == text
    if u:
        again = quantities({"x": text}, {}, {})
        assert abs(again.values["x"] - value) <= tolerance(u)
        assert abs(again.distributions["x"].u - u) <= tolerance(u)


@pytest.mark.parametrize(
    ("keywords", "kind", "words"),
    [
        ({"at": {"x": "1(1)", "y": 1}, "u": {"x": 1}}, UsageError, "stated twice"),
        ({"at": {"x": 1, "y": 1}, "u": {"x": -1}}, UsageError, "negative"),
        ({"at": {"x": 1, "y": 1}, "u": {"x": math.nan}}, UsageError, "not finite"),
        ({"at": {"x": 1, "y": 1}, "u": {"z": 1}}, UnknownName, "'z'"),
        ({"at": {"x": 1, "y": 1}}, UsageError, "no quantity has an uncertainty"),
        ({"at": {"x": 1, "y": 1}, "u": {"x": "1 rekt"}}, UsageError, "not a distribution"),
        ({"at": {"x": 1, "y": 1}, "u": {"x": "1 t"}}, UsageError, "degrees of freedom"),
        ({"at": {"x": "1 rect", "y": 1}}, UsageError, "states no uncertainty"),
        ({"at": {"x": "1(1)", "y": "1(1)"}, "corr": {"x,y": 1.5}}, UsageError, "between -1 and 1"),
        ({"at": {"x": "1(1)", "y": 1}, "corr": {"x,y": 0.5}}, UsageError, "no uncertainty"),
        ({"at": {"x": "1(1)", "y": 1}, "corr": {"x,z": 0.5}}, UnknownName, "'z'"),
        ({"at": {"x": "1(1)", "y": 1}, "level": 1}, UsageError, "between 0 and 1"),
        ({"at": {"x": "1(1)", "y": 1}, "order": 3}, UsageError, "1 or 2"),
        ({"at": {"x": "1(1)", "y": 1}, "dof": {"x": 0}}, UsageError, "positive"),
        ({"at": {"x": "1(1)", "y": 0}}, NotSolved, "the value is not finite"),
        ({"at": {"x": "1(1)", "y": "1"}, "u": {"x": "0.1 rect:3"}}, UsageError, "twice|parameter"),
        ({"at": {"x": "1(1"}}, ParseError, "never closed"),
    ],
)
def test_refused(keywords: dict[str, object], kind: type[AutodiffError], words: str) -> None:
    with pytest.raises(kind, match=words):
        ad.propagate("x/y", **keywords)  # type: ignore[arg-type]


def test_correlations_that_no_distribution_has() -> None:
    at = {name: "1.0(1)" for name in "abc"}
    with pytest.raises(UsageError, match="negative eigenvalue"):
        ad.propagate("a + b + c", at, corr={"a,b": 0.9, "b,c": 0.9, "a,c": -0.9})
    certain = ad.propagate("a - b", at, corr={"a,b": 1})
    assert certain.u == pytest.approx(0, abs=1e-9)


def test_a_kink_and_a_pole() -> None:
    found = ad.propagate("abs(x)", {"x": "0(1)"})
    assert [each["kind"] for each in found.notes] == ["kink", "range"]
    with pytest.raises(NotSolved, match="a sensitivity is not finite") as caught:
        ad.propagate("1 + sqrt(x)", {"x": "0(1)"})
    assert caught.value.span == (4, 11)


@pytest.mark.parametrize(
    ("source", "x", "words"),
    [
        ("x if x > 0 else 0", "0.10(10)", ["differs from its Taylor expansion within two standard uncertainties of 'x'"]),
        ("floor(x)", "0.50(30)", ["differs from its Taylor expansion"]),
        ("floor(x)", "0.50(10)", []),
        ("log(x)", "1.0(6)", ["first order is not enough", "is not finite within two standard uncertainties"]),
        ("5e7 + x", "1(1)", []),
        ("x**3", "1.00(3)", ["first order is not enough"]),
    ],
)
def test_the_surroundings_of_the_estimates(source: str, x: str, words: list[str]) -> None:
    notes = [each["message"] for each in ad.propagate(source, {"x": x}).notes]
    assert len(notes) == len(words)
    assert all(part in text for part, text in zip(words, notes, strict=True))


def test_an_empty_result() -> None:
    with pytest.raises(ShapeError, match="empty"):
        ad.propagate("ones(0)*x", {"x": "1(1)"})


def test_a_series_that_fails() -> None:
    assert "negative" in ad.propagate("sin(x)", {"x": "0(3)"}).notes[0]["message"]
    with pytest.raises(NotSolved, match="its variance is negative"):
        ad.propagate("sin(x)", {"x": "0(3)"}, order=2)


def test_the_command() -> None:
    line = f'autodiff propagate "{G}" --at "L=0.994(1),T=2.001(2)" --dof T=9'
    out, err, code = streams(f"{line} -q")
    assert ([*map(float, out.split())], err, code) == ([9.80058374079609, 0.02193254123371206], "", 0)
    found = json.loads(streams(f"{line} --json")[0])
    assert list(found)[:5] == ["schema", "command", "expression", "converged", "verdict"]
    assert " ".join(found).endswith(" verdict value u dof k U interval level result budget steps evaluations notes")
    assert (found["converged"], found["verdict"], found["steps"]) == (True, "first_order", 0)
    assert found["budget"][0]["dof"] == "inf"
    assert list(found["budget"][0])[1:] == [*("name", "value", "u", "distribution", "dof", "sensitivity", "contribution", "share")]
    assert "= 9.801(22)" in streams(line)[0]
    out, err, code = streams('autodiff propagate "a*x; a+x" --at "a=1.00(1),b=2,x=[1.00(1)]" --corr "a,x[0]=0.5" --format csv')
    assert code == 0
    assert len(out.splitlines()) == 9
    assert err == "note: 'b' does not occur in the expression\n"
    for bad in ('"x" --at x=1 --corr x=1', '"x" --at "x=1(1)" --corr x,y=0.1', '"x" --at "x=1(1)" --level 2', '"x" --at "x=1±-1"'):
        out, err, code = streams(f"autodiff propagate {bad}")
        assert (out, code) == ("", 2)
        assert "hint" in err


def test_a_latex_table() -> None:
    line = 'autodiff propagate "alpha*v[1]/2" --at "alpha=1.0(1),v=[1, 2.0(3)e-7]" --dof alpha=4 --format latex'
    out, _, code = streams(line)
    assert code == 0
    assert out.splitlines()[4] == r"$\alpha$ & $1$ & $0.1$ & t & $4$ & $10^{-7}$ & $10^{-8}$ & $30.8$ \% \\"
    assert r"${v}_{1}$ & $2 \cdot 10^{-7}$" in out
    assert "alpha*v[1]/2 = 1.00(18)e-7\n" in out
    assert out.count("&") == 7 * 4


@pytest.mark.parametrize(
    ("expression", "given", "what"),
    [
        ("x", "1±1e300", "large to compute with: 1e+300"),
        ("x", "1±1e-200", "small to compute with: 1e-200"),
        ("1e-90*x", "1±1", "small to compute with: 1e-90"),
    ],
)
def test_uncertainties_whose_powers_are_not_floating_point_numbers(expression: str, given: str, what: str) -> None:
    with pytest.raises(NotSolved, match=re.escape(what)):
        ad.propagate(expression, {"x": given})


def test_values_of_any_size() -> None:
    out, err, code = streams("autodiff propagate x --at x=1e308±1 --monte-carlo 200")
    assert code == 0
    assert "1e+308" in out
    assert "inf" not in out + err
    out, _, code = streams("autodiff propagate x --at x=1e-300±1e70")
    assert code == 0
    assert "1e-300" in out
    found = ad.propagate("x", {"x": "1e308±1e70"}, monte_carlo=200)
    assert found.monte_carlo["mean"] == 1e308


def test_an_output_file_whose_name_has_no_suffix() -> None:
    out, err, code = streams("autodiff propagate x --at x=1(1) --output 1")
    assert (out, code) == ("", 2)
    assert "use a name that ends in one of .txt, .json" in err


def test_rounding_does_not_take_a_degree_of_freedom() -> None:
    assert coverage_factor(0.95, 9 * (1 - 1e-15)) == coverage_factor(0.95, 9.0)
    assert coverage_factor(0.95, 8.99) == coverage_factor(0.95, 8.0) > coverage_factor(0.95, 9.0)
