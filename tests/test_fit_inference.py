"""Quantities derived from a fit, and predictions with their bands, against the formulas for straight lines."""

from __future__ import annotations

import csv
import io
import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import autodiff_cli as ad
from autodiff_cli.errors import UsageError
from autodiff_cli.solvers.fitting.predictions import drawing
from tests.shell import run, streams

X = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 7.0])
Y = np.array([2.1, 3.9, 6.2, 7.8, 10.1, 13.7])
AT = {"a": 1.0, "b": 1.0}


def _line(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The textbook's straight line: the value, the standard error of the mean, and that of a new observation."""
    found = stats.linregress(X, Y)
    s = np.sqrt(np.sum((Y - found.intercept - found.slope * X) ** 2) / (len(X) - 2))
    mean = s * np.sqrt(1 / len(X) + (x - X.mean()) ** 2 / np.sum((X - X.mean()) ** 2))
    return found.intercept + found.slope * x, mean, np.hypot(mean, s)


def test_the_bands_of_a_straight_line() -> None:
    result = ad.fit("y = a*x + b", {"x": X, "y": Y}, at=AT, predict="x=0:10:5", level=0.9)
    found = result.prediction
    at = np.linspace(0, 10, 5)
    value, mean, new = _line(at)
    k = stats.t.ppf(0.95, 4)
    np.testing.assert_allclose(found.columns["x"], at)
    np.testing.assert_allclose(found.value, value, rtol=1e-12)
    np.testing.assert_allclose(found.error, mean, rtol=1e-12)
    np.testing.assert_allclose(found.mean, k * mean, rtol=1e-12)
    np.testing.assert_allclose(found.new, k * new, rtol=1e-12)


def test_known_standard_deviations_are_those_of_new_observations() -> None:
    sigma = 0.1 + 0.05 * X
    result = ad.fit("y = a*x + b", {"x": X, "y": Y, "u": sigma}, at=AT, sigma="u", predict={"x": X[:2], "u": [0.5, 1.0]})
    found = result.prediction
    design = np.stack([X, np.ones_like(X)], 1) / sigma[:, None]
    covariance = np.linalg.inv(design.T @ design)
    rows = np.stack([X[:2], np.ones(2)], 1)
    mean = np.sqrt(np.einsum("ij,jk,ik->i", rows, covariance, rows))
    np.testing.assert_allclose(found.error, mean, rtol=1e-10)
    np.testing.assert_allclose(found.new, stats.norm.ppf(0.975) * np.hypot(mean, [0.5, 1.0]), rtol=1e-10)
    unknown = ad.fit("y = a*x + b", {"x": X, "y": Y, "u": sigma}, at=AT, sigma="u", predict="x=0:1").prediction
    assert unknown.new is None


def test_a_derived_quantity_has_the_error_of_the_delta_method() -> None:
    result = ad.fit("y = a*x + b", {"x": X, "y": Y}, at=AT, derive=["-b/a", "exp(a)"])
    a, b = result.values["a"], result.values["b"]
    (ca, cab), (_, cb) = ((row["a"], row["b"]) for row in result.covariance.values())
    ratio, power = result.derived
    assert ratio["value"] == pytest.approx(-b / a, rel=1e-14)
    g = np.array([b / a**2, -1 / a])
    error = np.sqrt(g @ np.array([[ca, cab], [cab, cb]]) @ g)
    assert ratio["std_error"] == pytest.approx(error, rel=1e-12)
    k = stats.t.ppf(0.975, 4)
    assert ratio["interval"] == pytest.approx([-b / a - k * error, -b / a + k * error], rel=1e-12)
    assert power["std_error"] == pytest.approx(np.exp(a) * np.sqrt(ca), rel=1e-12)
    assert ratio["linear"]
    assert power["linear"]


def test_definitions_of_the_model_are_known() -> None:
    t = np.arange(6.0)
    data = {"t": t, "y": 3 * np.exp(-t / 2)}
    result = ad.fit("k = 1/tau; f(q) = q**2; y = n*exp(-k*t)", data, at={"n": 2.0, "tau": 1.0}, derive=["log(2)/k", "f(n)"])
    assert [one["value"] for one in result.derived] == pytest.approx([2 * np.log(2), 9], rel=1e-12)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "d.csv"
    path.write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in zip(X, Y, strict=True)))
    return path


def test_the_command_writes_rows(data: Path) -> None:
    command = f'autodiff fit "y = a*x + b" {data} --at a=1,b=1'
    rows = list(csv.DictReader(io.StringIO(run(f"{command} --predict {data} --format csv"))))
    value, mean, new = _line(X)
    k = stats.t.ppf(0.975, 4)
    expected = {"x": X, "value": value, "std_error": mean, "low": value - k * mean, "high": value + k * mean}
    expected |= {"prediction_low": value - k * new, "prediction_high": value + k * new}
    assert list(rows[0]) == list(expected)
    for name, column in expected.items():
        np.testing.assert_allclose([float(row[name]) for row in rows], column, rtol=1e-12)
    assert [float(line) for line in run(f"{command} --predict x=1:2:2 -q").split()] == pytest.approx(_line(np.array([1, 2]))[0])
    numbers = [float(line) for line in run(f'{command} --derive "-b/a" -q').split()]
    assert numbers == pytest.approx([numbers[0], numbers[1], -numbers[1] / numbers[0]])
    found = json.loads(run(f'{command} --derive "-b/a" --predict x=1:2:2 --json'))
    assert found["derived"][0]["expression"] == "-b/a"
    assert [row["x"] for row in found["prediction"]] == [1, 2]
    shown = run(f'{command} --derive "-b/a" --predict x=1:2:2')
    assert "derived" in shown
    assert "prediction of y" in shown
    assert "new from" in shown


@pytest.mark.parametrize(
    ("option", "words", "code"),
    [
        ("--derive log(2)/c", "'c' is not a parameter", 2),
        ("--derive [a,b]", "has 2 numbers", 3),
        ("--derive log(-a)", "not finite", 1),
        ("--derive x*a", "'x' is not a parameter", 2),
        ("--predict z=0:1", "the right side of the model needs 'x'", 2),
        ("--predict nothing.csv", "cannot read", 5),
    ],
)
def test_what_cannot_be_derived_or_predicted(data: Path, option: str, words: str, code: int) -> None:
    name, value = option.split(" ", 1)
    out, err, found = streams(f'autodiff fit "y = a*x + b" {data} --at a=1,b=1 {name} "{value}"')
    assert (out, found) == ("", code)
    assert words in err


def test_a_prediction_needs_a_left_side() -> None:
    with pytest.raises(UsageError, match="left side"):
        ad.fit("y - a*x - b", {"x": X, "y": Y}, at=AT, predict="x=0:1")


RATE = np.array([76, 47, 97, 107, 123, 139, 159, 152, 191, 201, 207, 200.0])
"""The reaction velocities of Puromycin, treated, at ``DOSE``: Bates and Watts (1988), table A1.3."""
DOSE = np.repeat([0.02, 0.06, 0.11, 0.22, 0.56, 1.10], 2)


def _rest(b: float) -> float:
    """The least sum of squares of ``a*x/(b + x)`` for a given b: the model is linear in a."""
    g = DOSE / (b + DOSE)
    return float(np.sum((RATE - g * (g @ RATE) / (g @ g)) ** 2))


def test_a_profile_ends_where_the_sum_of_squares_has_grown_by_the_quantile() -> None:
    result = ad.fit("y = a*x/(b + x)", {"x": DOSE, "y": RATE}, at={"a": 205.0, "b": 0.08}, profile=True)
    k = stats.t.ppf(0.975, 10)
    best = _rest(result.values["b"])
    low, high = result.profiles["b"]
    for end in (low, high):
        assert (_rest(end) - best) / (best / 10) == pytest.approx(k**2, rel=1e-6)
    assert low < result.values["b"] < high
    assert high - result.values["b"] > result.values["b"] - low  # not symmetric
    # R's confint.nls, which interpolates, prints these for a: 197.302 and 229.290.
    assert result.profiles["a"] == pytest.approx((197.302, 229.290), rel=1e-5)


def test_the_profile_of_a_straight_line_is_its_interval() -> None:
    result = ad.fit("y = a*x + b", {"x": X, "y": Y}, at=AT, profile=True)
    for name, ends in result.profiles.items():
        assert ends == pytest.approx(result.parameters[name]["interval"], rel=1e-8)


def test_a_profile_may_be_open() -> None:
    x = np.arange(1.0, 7)
    y = np.array([0.1, 0.9, 0.95, 1.05, 1.0, 1.1])
    result = ad.fit("y = a/(1 + exp(-k*(x - 1.4)))", {"x": x, "y": y}, at={"a": 1.0, "k": 5.0}, profile=True)
    low, high = result.profiles["k"]
    assert low is not None
    assert high is None
    bounded = ad.fit("y = a*x + b", {"x": X, "y": Y}, at=AT, bounds={"a": (1.9, 10)}, profile=True)
    assert bounded.profiles["a"][0] is None
    with pytest.raises(UsageError, match="robust loss"):
        ad.fit("y = a*x + b", {"x": X, "y": Y}, at=AT, loss="huber:1", profile=True)


@pytest.mark.usefixtures("plain")
def test_a_plot_shows_the_data_the_curve_the_bands_and_the_residuals(data: Path, tmp_path: Path) -> None:
    command = f'autodiff fit "y = a*x + b" {data} --at a=1,b=1 -o'
    run(f"{command} {tmp_path / 'p.svg'}")
    picture = ET.parse(tmp_path / "p.svg").getroot()
    for part in ("data", "curve", "mean", "prediction", "residuals"):
        assert picture.find(f".//*[@id='{part}']") is not None, part
    written = (tmp_path / "p.svg").read_text(encoding="utf-8")
    assert "<!-- 95 % band for the curve -->" in written
    assert "<!-- 95 % band for a new measurement -->" in written
    svg = "{http://www.w3.org/2000/svg}"
    for part in ("data", "residuals"):  # no point touches the frame
        (points,) = (each for each in picture.iter(f"{svg}g") if each.get("id") == part)
        clipped = next(each.get("clip-path") for each in points.iter() if each.get("clip-path"))
        (frame,) = picture.findall(f".//{svg}clipPath[@id='{clipped[5:-1]}']/{svg}rect")
        top, height = float(frame.get("y", "")), float(frame.get("height", ""))
        assert all(top + 6 < float(each.get("y", "")) < top + height - 6 for each in points.iter(f"{svg}use"))
    run(f'autodiff fit "y = a*x + b" {data} --at a=1,b=1 --sigma 0.1 -o {tmp_path / "p.png"}')
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert "cannot tell the format" in run(f"{command} p.bmp")


def test_the_window_of_a_plot_holds_the_errors() -> None:
    shown = drawing(ad.fit("y = a*x + b", {"x": X, "y": Y}, at=AT, sigma="2"))
    assert shown.window[2] < min(Y) - 2
    assert shown.window[3] > max(Y) + 2


def test_without_matplotlib_a_page_is_suggested(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = run(f'autodiff fit "y = a*x + b" {data} --at a=1,b=1 -o {tmp_path / "p.svg"}')
    assert "hint: pip install matplotlib, or write an .html file" in said


def test_a_plot_over_several_columns_is_over_the_predicted_values() -> None:
    z = np.array([1.0, 0.0, 2.0, 1.0, 3.0, 0.0])
    result = ad.fit("y = a*x + b*z", {"x": X, "y": Y, "z": z}, at=AT)
    shown = drawing(result)
    np.testing.assert_allclose(shown.x, result.values["a"] * X + result.values["b"] * z, rtol=1e-12)
    np.testing.assert_allclose(shown.y, Y)
    assert (shown.across, shown.up, shown.mean) == ("predicted y", "y", None)


SPEED = "4 4 7 7 8 9 10 10 10 11 11 12 12 12 12 13 13 13 13 14 14 14 14 15 15 15 16 16 17 17 17 18 18 18 18 19 19 19 20 20 20 20 20"
SPEED += " 22 23 24 24 24 24 25"
DIST = "2 10 4 22 16 10 18 26 34 17 28 14 20 24 28 26 34 34 46 26 36 60 80 20 26 54 32 40 32 40 50 42 56 76 84 36 46 68 32 48 52"
DIST += " 56 64 66 54 70 92 93 120 85"
"""Ezekiel's measurements of cars of 1930, from R's package datasets."""


def test_criteria_of_information_are_those_of_r() -> None:
    """AIC(lm(dist ~ speed, cars)) and BIC(lm(dist ~ speed, cars))."""
    data = {"speed": np.array(SPEED.split(), float), "dist": np.array(DIST.split(), float)}
    found = ad.fit("dist = a + b*speed", data, at={"a": 0, "b": 1})
    assert found.parameters["b"]["value"] == pytest.approx(3.9324088, rel=1e-7)
    assert found.statistics["aic"] == pytest.approx(419.1569, abs=5e-5)
    assert found.statistics["bic"] == pytest.approx(424.8929, abs=5e-5)


@pytest.mark.parametrize("absolute", [True, False])
def test_criteria_of_information_with_sigma_are_those_of_the_likelihood(absolute: bool) -> None:
    x, sigma = np.arange(8.0), np.linspace(0.2, 1.7, 8)
    y = 1 + 0.5 * x + sigma * np.array([0.3, -1.2, 0.8, 0.1, -0.4, 1.5, -0.9, 0.2])
    spread = {"sigma": "s"} if absolute else {"weights": "1/s**2"}
    found = ad.fit("y = a + b*x", {"x": x, "y": y, "s": sigma}, at={"a": 0, "b": 0}, **spread)
    residuals = y - np.polynomial.Polynomial(np.polynomial.polynomial.polyfit(x, y, 1, w=1 / sigma))(x)
    scale = sigma if absolute else sigma * np.sqrt(np.mean((residuals / sigma) ** 2))
    likelihood, count = stats.norm.logpdf(residuals, scale=scale).sum(), 2 if absolute else 3
    assert found.statistics["aic"] == pytest.approx(2 * count - 2 * likelihood, rel=1e-12)
    assert found.statistics["bic"] == pytest.approx(count * np.log(8) - 2 * likelihood, rel=1e-12)
    assert found.statistics["aicc"] == pytest.approx(
        2 * count - 2 * likelihood + 2 * count * (count + 1) / (8 - count - 1), rel=1e-12
    )
