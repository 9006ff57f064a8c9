"""Plots as pages: their numbers in a browser are those of Python, and the point, the inputs and the ranges move."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autodiff_cli.derivatives.evaluate import evaluate
from autodiff_cli.lesson.plot import to_html
from autodiff_cli.plotting.plot import plot
from autodiff_cli.report.array_text import human
from tests.browser import Page, data_of
from tests.shell import run

LOSS = "(1 - x)**2 + 100*(y - x**2)**2"


def written(source: str, over: str, at: Mapping[str, Any] | None = None, **settings: Any) -> str:
    return to_html(plot(source, [over], at, **settings), 6)


class PlotPage(Page):
    """The page of a plot in a browser.

    Attributes:
        log: the axes that are logarithmic.
    """

    log = ""

    def set(self, label: str, value: float) -> None:
        """Write a value into a field, and wait until it is drawn."""
        self.browser.execute_script(
            """const field = document.querySelector(`[aria-label="value of ${arguments[0]}"]`);
            field.focus(); field.value = arguments[1]; field.dispatchEvent(new Event("input"));""",
            label,
            repr(value),
        )
        self.drawn()

    def drawn(self) -> None:
        """Wait until the next frame is drawn."""
        self.browser.execute_script("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def value(self, label: str) -> float:
        return float(self.one(f'[aria-label="value of {label}"]').get_property("value"))

    def act(self, do: Callable[[Any], Any]) -> None:
        """Perform actions of the pointer or the keyboard."""
        from selenium.webdriver import ActionChains

        do(ActionChains(self.browser)).perform()
        self.drawn()

    def ends(self, axis: str = "x", panel: int = 0) -> tuple[float, float]:
        """Return the range of an axis."""
        scale = self.scale(axis, panel)
        left, right, top, bottom = self.box(panel)
        return (scale(left), scale(right)) if axis == "x" else (scale(bottom), scale(top))

    def box(self, panel: int = 0) -> tuple[float, float, float, float]:
        rect = self.browser.find_elements("css selector", "clipPath rect")[panel]
        x, y, width, height = (float(rect.get_attribute(name)) for name in ("x", "y", "width", "height"))
        return x, x + width, y, y + height

    def scale(self, axis: str, panel: int = 0) -> Callable[[float], float]:
        """Return the function of a position that the labels of an axis tell."""
        labels = self.browser.execute_script(
            """const picture = document.querySelectorAll("#figure svg[role=img]")[arguments[0]];
            const labels = [...picture.querySelectorAll(arguments[1] === "x" ? ".tick:not(.left)" : ".tick.left")];
            return labels.filter((each) => each.textContent)
              .map((each) => [Number(each.getAttribute(arguments[1])), each.textContent])""",
            panel,
            axis,
        )
        numbers = [(at - 4 * (axis == "y"), float(text.replace("−", "-"))) for at, text in labels]
        if axis in self.log:
            numbers = [(at, math.log10(number)) for at, number in numbers]
        (p, low), (q, high) = numbers[0], numbers[-1]
        return lambda at: low + (at - p) / (q - p) * (high - low)

    def drawing(self, selector: str) -> list[np.ndarray[tuple[int, int], np.dtype[np.float64]]]:
        """Return the pieces of a line as rows of numbers of both axes."""
        d = self.one(f"#figure {selector}").get_attribute("d").replace("Z", "")
        across, up = self.scale("x"), self.scale("y")
        pieces = [[[float(each) for each in pair.split()] for pair in piece.split("L")] for piece in d.split("M")[1:]]
        return [np.array([[across(x), up(y)] for x, y in piece]) for piece in pieces if len(piece) > 1]

    def curve(self, k: int = 0) -> list[np.ndarray[tuple[int, int], np.dtype[np.float64]]]:
        return self.drawing(f".curve.series-{k}")

    def tangent(self, k: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """Return the ends of a tangent."""
        return self.drawing(f".tangent.series-{k}")[0]

    def readings(self) -> list[str]:
        return self.texts("#readings td")


def opened(browser: Any, folder: Path, source: str, over: str, at: Mapping[str, Any] | None = None, **settings: Any) -> PlotPage:
    page = PlotPage(browser, folder, written(source, over, at, **settings))
    page.log = settings.get("log", "")
    return page


def test_a_page_loads_nothing_and_ends_no_script_early() -> None:
    page = written("where(x < 1, x, 2)*cos(x) + (x <= 3)", "x=0:4")
    assert not re.findall(r"""(?:src|href)\s*=|url\((?!#)|@import|fetch\(|XMLHttp""", page)
    assert page.count("</script>") == page.count("<script") == 3
    assert "default-src 'none'" in page
    assert data_of(page)["expression"] == "where(x < 1, x, 2)*cos(x) + (x <= 3)"
    assert len(page) < 250_000


def test_the_command_writes_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run('autodiff plot "exp(-a*x)" --over x=0:2 --at a=0.3 --y-range 0:1 --precision 4 -o wave.html') == ""
    data = data_of(Path("wave.html").read_text(encoding="utf-8"))
    assert data["window"] == [0, 1]
    assert data["precision"] == 4
    assert data["inputs"] == [{"name": "a", "value": 0.3}]
    assert ".html" in run('autodiff plot "x**2" --over x=0:2 -o plot.xyz')


POINTS: list[tuple[str, str, dict[str, Any], list[float]]] = [
    ("exp(-a*x)*cos(x)", "x=0:2*pi", {"a": 0.3}, [0.0, 1.5, 4.0, -2.5, 40.0]),
    ("tan(x) + floor(x)", "x=-4:4", {}, [-3.0, 0.5, 1.57]),
    ("abs(x)*x", "x=-1:1", {}, [-0.5, 0.0, 0.5]),
    ("log(x)*sqrt(x)", "x=-1:2", {}, [-0.5, 0.0, 0.5]),
    ("x**3 + sum(w*x)", "x=-3:3", {"w": [1.0, 2.0]}, [2.0]),
    ("where(x > 1, log(x), x**2)", "x=0:2", {}, [0.5, 1.0, 1.5]),
    ("erf(x)*gamma(x)", "x=0.1:4", {}, [0.5, 3.3]),
    ("1e-200*x**2", "x=-1e-3:1e-3", {}, [5e-4]),
]


@pytest.mark.parametrize(("source", "over", "at", "points"), POINTS, ids=[case[0] for case in POINTS])
def test_the_numbers_at_a_point_are_those_of_python(
    source: str, over: str, at: dict[str, Any], points: list[float], browser: Any, tmp_path: Path
) -> None:
    page = opened(browser, tmp_path, source, over, at)
    for x in points:
        page.set("x", x)
        value, slope, second = derivatives(source, {"x": x}, at)
        assert page.readings() == [human(each, 6) for each in (value, slope, slope, second)], x
    assert page.errors() == []


def derivatives(source: str, variables: dict[str, float], at: Mapping[str, Any]) -> tuple[float, float, float]:
    """Return the value and the two derivatives with respect to a variable."""
    found = evaluate(source, {**variables, **at}, order=2, wrt=list(variables))
    (name,) = variables
    value = float(np.asarray(found.value))
    return (value, float(found.grad[name]), float(found.hessian[name][name])) if not math.isnan(value) else (math.nan,) * 3


def test_moved_inputs_give_the_numbers_of_python(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, "x**3 + sum(w*x) + floor(x)", "x=-3:3", {"w": [1.0, 2.0]})
    assert page.texts("#notes li")
    assert page.one("#notes").is_displayed()
    marks = len(page.texts("#figure .open"))
    assert marks == 5
    before = page.curve()
    page.set("w[1]", -4.5)
    page.set("x", 2.5)
    value, slope, second = derivatives("x**3 + sum(w*x) + floor(x)", {"x": 2.5}, {"w": [1.0, -4.5]})
    assert page.readings() == [human(each, 6) for each in (value, slope, slope, second)]
    assert len(page.curve()) == len(before) == 6
    assert page.curve()[0][0][1] == pytest.approx(-27 + 3 * 3.5 - 3, abs=0.1)
    assert not page.one("#notes").is_displayed(), "notes are on the given inputs"
    assert not page.texts("#figure .open")
    page.set("w[1]", 2.0)
    assert page.one("#notes").is_displayed()
    assert len(page.texts("#figure .open")) == marks
    assert page.errors() == []


Function = Callable[[np.ndarray[tuple[int], np.dtype[np.float64]]], Any]
CURVES: list[tuple[str, Function, str, str, int]] = [
    ("sin(x)/x", lambda x: np.sinc(x / np.pi), "x=-10:10", "", 1),
    ("1/x", lambda x: 1 / x, "x=-1:1", "", 2),
    ("tan(x)", np.tan, "x=-4:4", "", 3),
    ("floor(x)", np.floor, "x=0.5:3.5", "", 4),
    ("abs(sin(x))", lambda x: np.abs(np.sin(x)), "x=-7:7", "", 1),
    ("log(x)", np.log, "x=-1:1", "", 1),
    ("1/(1 + x**2)", lambda x: 1 / (1 + x**2), "x=0.01:1000", "xy", 1),
    ("exp(x)", np.exp, "x=-200:200", "y", 1),
    ("sqrt(x)", np.sqrt, "x=0:4", "", 1),
    ("log10(x)", np.log10, "x=1e-6:1e6", "x", 1),
    ("atan(1000*x)", lambda x: np.arctan(1000 * x), "x=-1:1", "", 1),
    ("sin(1/x)", lambda x: np.sin(1 / x), "x=0.01:1", "", 1),
]


@pytest.mark.parametrize(("source", "function", "over", "log", "pieces"), CURVES, ids=[f"{case[0]} {case[3]}" for case in CURVES])
def test_curves_have_gaps_where_they_are_not_continuous(
    source: str, function: Function, over: str, log: str, pieces: int, browser: Any, tmp_path: Path
) -> None:
    page = opened(browser, tmp_path, source, over, order=0, log=log)
    low, high = page.ends()
    found = page.curve()
    assert len(found) == pieces
    points = np.concatenate(found)
    assert points[0, 0] == pytest.approx(0 if source == "log(x)" else low, abs=2e-3 * (high - low))
    assert points[-1, 0] == pytest.approx(high, abs=2e-3 * (high - low))
    place = 2e-5 * (high - low)  # positions have two decimals of a pixel
    near = [points[:, 0] + shift for shift in (-place, 0, place)]
    with np.errstate(all="ignore"):
        values = np.array([function(10**u if "x" in log else u) for u in near])
        values = np.log10(values) if "y" in log else values
    allowed = 2e-3 * np.ptp(points[:, 1]) + np.ptp(values, axis=0)
    wrong = (np.abs(points[:, 1] - values[1]) > allowed) & np.isfinite(values).all(axis=0)
    low, high = page.ends("y")
    seen = (points[:, 1] > low) & (points[:, 1] < high)
    assert seen.sum() > 200
    assert not (wrong & seen).any()
    assert page.errors() == []


def test_a_tangent_has_the_slope_of_its_axes(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, "x**-2", "x=0.01:100", log="xy")
    page.set("x", 3.0)
    (x1, y1), (x2, y2) = page.tangent()
    assert (y2 - y1) / (x2 - x1) == pytest.approx(-2, rel=1e-3)
    page = opened(browser, tmp_path, "x**2, x**3", "x=0:4")
    page.set("x", 3.0)
    for k, slope in enumerate([6, 27]):
        (x1, y1), (x2, y2) = page.tangent(k)
        assert (y2 - y1) / (x2 - x1) == pytest.approx(slope, rel=1e-3)
        assert y1 + (3 - x1) * slope == pytest.approx(3 ** (k + 2), abs=0.05)
    assert page.readings() == ["9", "6", "27", "27"]
    assert page.errors() == []


def test_a_point_without_a_tangent(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, "log(x)", "x=-1:1")
    page.set("x", -0.5)
    assert page.readings()[:2] == ["nan", "nan"]
    assert page.one("#readings p").text == "At x = -0.5, the value is nan."
    assert page.one(".tangent").get_attribute("d") == ""
    page.set("x", 0.0)
    assert page.one("#readings p").text == "At x = 0, the value is -inf."
    page.set("x", 0.5)
    assert page.one("#readings p").text == "At x = 0.5, the slope of the tangent is the derivative, 2."


def test_the_range_is_enlarged_shifted_and_restored(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, "sin(x)", "x=0:8")
    assert page.ends() == pytest.approx((0, 8), abs=0.02)
    page.one("#closer").click()
    page.drawn()
    assert page.ends() == pytest.approx((1.5, 6.5), abs=0.05)
    page.press("-")
    page.drawn()
    assert page.ends() == pytest.approx((0, 8), abs=0.05)
    figure = page.one("#figure svg")
    left, right, _, _ = page.box()
    page.act(
        lambda actions: actions.move_to_element(figure).click_and_hold().move_by_offset(-round((right - left) / 4), 0).release()
    )
    assert page.ends() == pytest.approx((2, 10), abs=0.1)
    assert np.abs(np.concatenate(page.curve())[-1] - [10, math.sin(10)]).max() < 0.1
    page.press("\ue012")  # the left arrow
    page.drawn()
    assert page.ends()[0] == pytest.approx(2 - 0.8, abs=0.2)
    page.press("0")
    page.drawn()
    assert page.ends() == pytest.approx((0, 8), abs=0.02)
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

    page.act(lambda actions: actions.scroll_from_origin(ScrollOrigin.from_element(figure), 0, -200))
    low, high = page.ends()
    assert high - low < 7
    page.set("x", 40.0)
    low, high = page.ends()
    assert low < 40 < high
    page.act(lambda actions: actions.double_click(figure))
    assert page.ends() == pytest.approx((0, 8), abs=0.02)
    assert page.errors() == []


def test_the_point_follows_the_pointer_and_the_slider(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, "x**2", "x=1:10000", log="x")
    slider = page.one('[aria-label="slider of x"]')
    assert [float(slider.get_property(name)) for name in ("min", "max")] == [0, 4]
    slider.send_keys("\ue010")  # the end
    page.drawn()
    assert page.value("x") == 10000
    figure = page.one("#figure svg")
    page.act(lambda actions: actions.move_to_element(figure))
    left, right, _, _ = page.box()
    width = float(figure.get_attribute("width"))
    assert math.log10(page.value("x")) == pytest.approx(4 * (width / 2 - left) / (right - left), abs=0.02)
    assert page.readings()[0] == human(page.value("x") ** 2, 6)
    assert float(slider.get_property("value")) == pytest.approx(math.log10(page.value("x")), abs=0.02)
    assert page.errors() == []


def test_one_finger_moves_the_point_and_two_zoom(browser: Any, tmp_path: Path) -> None:
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
    page = opened(browser, tmp_path, "x**2", "x=0:8")
    left, right, top, bottom = page.box()
    corner = browser.execute_script("const { x, y } = document.querySelector('#figure svg').getBoundingClientRect(); return [x, y]")

    def touch(kind: str, *parts: float) -> None:
        """Touch the plot at parts of its width, in the middle of its height."""
        points = [{"x": corner[0] + left + part * (right - left), "y": corner[1] + (top + bottom) / 2} for part in parts]
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 0.25)
    touch("touchMove", 0.5)
    touch("touchEnd")
    page.drawn()
    assert page.value("x") == pytest.approx(4, abs=0.1)
    assert page.ends() == pytest.approx((0, 8), abs=0.02)
    touch("touchStart", 0.4, 0.6)
    touch("touchMove", 0.3, 0.7)
    touch("touchEnd")
    page.drawn()
    assert page.ends() == pytest.approx((2, 6), abs=0.1)
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    assert page.errors() == []


def test_a_field_shows_the_gradient_at_a_point(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, LOSS + " + c", "x=-2:2,y=-1:3", {"c": 5.0})
    for x, y, c in [(1.5, 0.5, 5.0), (-1.0, 2.5, 5.0), (0.3, -0.7, -2.0)]:
        for name, value in {"x": x, "y": y, "c": c}.items():
            page.set(name, value)
        value = (1 - x) ** 2 + 100 * (y - x**2) ** 2 + c
        slopes = np.array([-2 * (1 - x) - 400 * x * (y - x**2), 200 * (y - x**2)])
        assert page.readings() == [human(each, 6) for each in (value, *slopes, np.hypot(*slopes))]
        for piece in page.drawing(".through"):
            inside = (np.abs(piece[:, 0]) < 1.98) & (np.abs(piece[:, 1] - 1) < 1.98)
            px, py = piece[inside].T
            there = (1 - px) ** 2 + 100 * (py - px**2) ** 2 + c
            steep = np.hypot(-2 * (1 - px) - 400 * px * (py - px**2), 200 * (py - px**2))
            assert (np.abs(there - value) < 0.05 * steep + 1).all(), "the marked line is a contour line"
        (start, tip), *_ = page.drawing(".gradient-arrow")
        assert start == pytest.approx([x, y], abs=0.02)
        along = (tip - start) / np.hypot(*(tip - start))
        assert along @ slopes / np.hypot(*slopes) == pytest.approx(1, abs=0.01)  # both axes have the same scale
    assert page.errors() == []


def test_a_field_is_enlarged_and_moved_in_both_directions(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, "sin(x)*cos(y)", "x=-4:4,y=-3:3")
    page.one("#closer").click()
    page.drawn()
    assert (*page.ends("x"), *page.ends("y")) == pytest.approx((-2.5, 2.5, -1.875, 1.875), abs=0.05)
    page.set("y", 30.0)
    low, high = page.ends("y")
    assert low < 30 < high
    page.press("0")
    page.drawn()
    assert (*page.ends("x"), *page.ends("y")) == pytest.approx((-4, 4, -3, 3), abs=0.02)
    figure = page.one("#figure svg")
    page.act(lambda actions: actions.move_to_element_with_offset(figure, 50, 40))
    x, y = page.value("x"), page.value("y")
    assert page.readings()[0] == human(math.sin(x) * math.cos(y), 6)
    middle = [float(figure.get_attribute(name)) / 2 for name in ("width", "height")]
    assert x == pytest.approx(page.scale("x")(middle[0] + 50), abs=0.02)
    assert y == pytest.approx(page.scale("y")(middle[1] + 40), abs=0.02)
    assert page.errors() == []


def test_steps_of_a_minimization_are_drawn(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, LOSS, "x=-2:2,y=-1:3", path={"x": [-1.0, 0.0, 1.0], "y": [1.0, 0.5, 1.0]})
    assert page.drawing(".steps")[0] == pytest.approx(np.array([[-1, 1], [0, 0.5], [1, 1]]), abs=0.02)
    assert len(page.texts("circle.step")) == 3


SAMPLED = [("det([[x, 1], [2, x]])", "x=-3:3", lambda x: x * x - 2), ("airy_ai(x)*y", "x=-5:5,y=0:1", None)]


@pytest.mark.parametrize(("source", "over", "function"), SAMPLED, ids=["curve", "field"])
def test_what_the_page_cannot_compute_is_shown_as_samples(
    source: str, over: str, function: Callable[[float], float] | None, browser: Any, tmp_path: Path
) -> None:
    page = opened(browser, tmp_path, source, over)
    assert "because it cannot compute other values" in page.one("#fixed").text
    if function is not None:
        page.set("x", 1.5)
        assert float(page.readings()[0]) == pytest.approx(function(1.5), abs=0.05)
        assert float(page.readings()[1]) == pytest.approx(3.0, abs=0.05)
        points = np.concatenate(page.curve())
        assert points[:, 1] == pytest.approx(points[:, 0] ** 2 - 2, abs=0.05)
    else:
        assert len(page.browser.find_elements("css selector", ".band")) > 5
    page.one("#closer").click()
    page.drawn()
    assert page.errors() == []


def test_inputs_that_cannot_move_say_why(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, "norm(v)*x**2", "x=0:2", {"v": [3.0, 4.0]})
    assert page.one("#fixed").text == "The other inputs cannot be moved: 'linalg_vector_norm' has no elementwise formula."
    assert page.texts(".inputs legend") == []
    page.set("x", 1.5)
    assert page.readings()[:2] == ["11.25", "15"]


FAR = [
    ("x**2", "x=1e300:1e308", ""),
    ("tan(x)**2", "x=1e300:1e308", "xy"),
    ("1e-320*x", "x=0.001:1000", "xy"),
    ("1e-320*x", "x=-2:2", ""),
    ("inf*x", "x=-1:1", ""),
    ("0*x", "x=1e8:100000001", ""),
]


@pytest.mark.parametrize(("source", "over", "log"), FAR)
def test_numbers_at_the_limits_are_drawn(source: str, over: str, log: str, browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, source, over, log=log)
    for button in ("#closer", "#farther", "#farther"):
        page.one(button).click()
        page.drawn()
        drawn = browser.execute_script("return document.querySelector('#figure').innerHTML")
        assert not re.search("NaN|Infinity|undefined", drawn)
    assert page.errors() == []


def test_the_values_of_the_inputs_are_printed(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, "a*x", "x=0:2", {"a": 3.0})
    page.set("a", 4.5)
    page.set("x", 1.5)
    assert not page.one(".printed").is_displayed()
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert page.one(".printed").text == "x = 1.5, a = 4.5"
    assert not page.one(".inputs").is_displayed()
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.parametrize("width", [360, 800])
def test_a_narrow_page_has_no_horizontal_scrollbar(width: int, browser: Any, tmp_path: Path) -> None:
    for source, over in [("exp(-x)*sin(9*x) + 1e5", "x=0:3"), ("sin(x)*cos(y)", "x=-4:4,y=-30:30")]:
        page = opened(browser, tmp_path, source, over)
        browser.set_window_size(width, 800)
        page.wait(100)
        assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
        browser.set_window_size(1280, 900)
