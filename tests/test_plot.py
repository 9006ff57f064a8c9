"""``autodiff plot`` through the command line: tables, pictures, terminals, errors."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.plotting import layout
from autodiff_cli.plotting.layout import clip_curve, gradient_arrows
from autodiff_cli.plotting.model import Field, Plot
from autodiff_cli.plotting.picture import THEMES, drawn
from autodiff_cli.plotting.plot import plot
from tests.shell import run

pytestmark = pytest.mark.usefixtures("plain")

BRAILLE = re.compile("[\u2801-\u28ff]")


def table(command: str) -> list[dict[str, float]]:
    text = run(f"{command} --format csv --quiet-notes")
    return [{k: float(v) for k, v in row.items()} for row in csv.DictReader(io.StringIO(text))]


@pytest.mark.parametrize("expression", ["sin(x)*exp(-a*x)", "a*x**3", "log(x) + a", "where(x > 1, a, x)", "a"])
def test_the_table_is_what_eval_says(expression: str) -> None:
    rows = table(f'autodiff plot "{expression}" --over x=-1:2:7 --at a=0.3 --order 2')
    assert [row["x"] for row in rows] == [-1, -0.5, 0, 0.5, 1, 1.5, 2]
    for row in rows:
        known = ad.evaluate(expression, {"x": row["x"]}, {"a": 0.3}, order=2)
        np.testing.assert_allclose(row["value"], known.value, rtol=1e-12)
        np.testing.assert_allclose(row["d_x"], known.grad["x"], rtol=1e-12)
        np.testing.assert_allclose(row["d_x_x"], known.hessian["x"]["x"], rtol=1e-12)


def test_the_table_of_two_variables_is_what_eval_says() -> None:
    rows = table('autodiff plot "sin(x)*y**2" --over x=-1:1:3,y=0:1:4')
    assert len(rows) == 12
    for row in rows:
        known = ad.evaluate("sin(x)*y**2", {"x": row["x"], "y": row["y"]})
        found = [row["value"], row["d_x"], row["d_y"]]
        np.testing.assert_allclose(found, [known.value, known.grad["x"], known.grad["y"]], rtol=1e-12, atol=1e-300)


def test_json_has_the_columns_and_the_marks() -> None:
    found = json.loads(run('autodiff plot "tan(x)" --over x=0:pi:5 --order 0 --json --quiet-notes'))
    assert list(found)[:6] == ["schema", "command", "expression", "dtype", "order", "over"]
    assert found["over"] == {"x": [0.0, math.pi]}
    assert list(found["columns"]) == ["x", "value"]
    assert found["columns"]["x"] == [0.0, math.pi / 4, math.pi / 2, 3 * math.pi / 4, math.pi]
    assert [mark["kind"] for mark in found["marks"]] == ["pole"]
    assert found["marks"][0]["at"] == pytest.approx(math.pi / 2, abs=1e-11)
    assert [n["message"] for n in found["notes"]] == ["pole near x = 1.5708"]


def test_bare_numbers_are_one_column_after_the_other() -> None:
    assert run('autodiff plot "x**2" --over x=0:2:3 -q') == "0.0\n1.0\n4.0\n0.0\n2.0\n4.0\n"


def test_tensors_can_be_constants() -> None:
    assert [row["value"] for row in table('autodiff plot "sum(x*v)" --over x=0:1:2 --at "v=[1, 2]"')] == [0, 3]


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ('"x" --over x=0:1:2 --at a=1', "'a' does not occur in the expression"),
        ('"x" --over x=0:1:2,y=0:1:2', "'y' does not occur in the expression"),
        ('"sin(t)"', "the range of t is -5 to 5"),
        ('"x*y"', "the range of y is -3 to 3"),
        ('"sin(x); cos(x)" --over x=0:1', "sin(x) is not shown; separate several curves with commas"),
    ],
)
def test_what_is_added_or_left_out_is_said(options: str, note: str) -> None:
    assert f"note: {note}\n" in run(f"autodiff plot {options} -q")
    assert "note" not in run(f"autodiff plot {options} -q --quiet-notes")


# Terminal


def terminal(options: str) -> list[str]:
    return run(f"autodiff plot {options}").split("\n")


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_plot_is_as_wide_as_asked(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = terminal('"sin(x)" --over x=-3:3 --quiet-notes')
    assert max(map(len, lines)) == width
    assert len(lines) == min(max(18, width // 4), 20) + 1 + 1
    monkeypatch.delenv("COLUMNS")
    assert max(map(len, terminal('"sin(x)" --over x=-3:3'))) == 80
    assert max(map(len, terminal('"x*y" --over x=-3:3,y=0:1'))) == 80


def test_colour_is_only_where_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    for options in ('"sin(x)" --over x=-3:3', '"x*y" --over x=-3:3,y=0:1'):
        assert "\x1b" not in "".join(terminal(options))
        coloured = "".join(terminal(f"{options} --color always"))
        assert "\x1b[38;5;" in coloured
        assert "48;5;15m" not in coloured  # no white axes on a black terminal
        monkeypatch.setenv("NO_COLOR", "1")
        assert "\x1b" not in "".join(terminal(f"{options} --color auto"))
        monkeypatch.delenv("NO_COLOR")


def test_curves_can_be_told_apart_without_colour() -> None:
    """A horizontal curve is the fullest row: all of it is drawn, most of it, some of it."""
    full = []
    for expression in ("0.6 + 0*x", "0.6*x - 9", "0.3*x**2 - 9*x"):
        lines = terminal(f'"{expression}" --over x=-3:3 --order 2 --y-range 0.05:0.95 --quiet-notes')
        full.append(max(len(BRAILLE.findall(row)) for row in lines))
    assert full[0] > 70 > full[1] > 45 > full[2] > 30


def test_a_terminal_does_not_join_a_jump() -> None:
    columns = [set() for _ in range(80)]  # type: list[set[int]]
    for number, row in enumerate(terminal('"sign(x - 0.5)" --over x=-3:3 --order 0 --quiet-notes')):
        for match in BRAILLE.finditer(row):
            columns[match.start()].add(number)
    assert all(len(rows) <= 1 for rows in columns)
    assert len(set.union(*columns)) == 2


def test_poles_have_a_dotted_line_and_kinks_a_circle() -> None:
    assert sum("┊" in row for row in terminal('"1/x" --over x=-3:3 --quiet-notes')) > 10
    assert "".join(terminal('"abs(x)" --over x=-3:3 --quiet-notes')).count("●") == 1


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("expression", "circles"),
    [
        ("floor(x)", {(1, 0, False), (1, 1, True)}),
        ("ceil(x)", {(1, 1, True), (1, 2, False)}),
        ("floor(10*x - 9)", {(1, 0, False), (1, 1, True)}),
        ("sign(x - 1)", {(1, -1, False), (1, 1, False), (1, 0, True)}),
        ("where(x < 1, x**2, x + 2)", {(1, 1, False), (1, 3, True)}),
        ("where(x == 1, 5, x)", {(1, 1, False), (1, 5, True)}),
        ("(x**2 - 1)/(x - 1)", {(1, 2, False)}),
        ("abs(x - 1)", {(1, 0, True)}),
        ("cbrt(x - 1)", {(1, 0, True)}),
    ],
)
def test_a_circle_is_filled_where_the_point_belongs_to_the_curve(
    expression: str, circles: set[tuple[float, float, bool]], tmp_path: Path
) -> None:
    """Seen in the picture: the paper is white."""
    found = plot(expression, {"x": (0.95, 1.05)})
    assert isinstance(found, Plot)
    drawn = {tuple(circle) for one in found.samples.discontinuities for circle in layout.mark_circles(one)}
    assert {(round(x, 12), round(y, 3), filled) for x, y, filled in drawn} == circles
    shown = picture(tmp_path, f'"{expression}" --over x=0.95:1.05').decode()
    (group,) = re.findall(r'<g id="PathCollection_1">.*?</g>\s*</g>', shown, re.DOTALL)
    fills = re.findall(r"<use [^>]*fill: (#\w+)", group)
    assert sorted(fill != "#ffffff" for fill in fills) == sorted(filled for *_, filled in circles)


def test_without_plotext_there_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotext", None)
    said = run('autodiff plot "sin(x)" --over x=-3:3')
    assert said.startswith("error: a plot on a terminal needs plotext, which is not installed\n  hint: pip install plotext, or ")
    assert "value" in run('autodiff plot "sin(x)" --over x=-3:3 --format csv')


# Pictures


def picture(tmp_path: Path, options: str, name: str = "p.svg") -> bytes:
    path = tmp_path / name
    assert run(f"autodiff plot {options} --quiet-notes -o {path}") == ""
    return path.read_bytes()


def test_every_colour_is_one_of_the_theme(tmp_path: Path) -> None:
    found = THEMES["light"]
    known = {found.paper, found.ink, found.dim, found.grid, *found.curves}
    for options in ('"1/x, abs(x), floor(x), sin(x)/x" --over x=-3:3', '"x**2" --over x=-3:3 --path {path}'):
        path = tmp_path / "path.csv"
        path.write_text("x\n3\n1\n0\n")
        svg = picture(tmp_path, options.format(path=path)).decode()
        assert set(re.findall("#[0-9a-f]{6}", svg)) <= known


def line_pieces(svg: bytes, name: str) -> list[list[tuple[float, float]]]:
    """The pieces of a curve, each the points of a line."""
    group = next(e for e in ET.fromstring(svg).iter() if e.get("id") == name)
    (path,) = [e for e in group if e.tag.endswith("path")]
    moves = path.get("d", "").replace("\n", " ").split("M")[1:]
    return [[(float(a), float(b)) for a, b in re.findall(r"(-?[\d.e-]+) (-?[\d.e-]+)", move)] for move in moves]


def test_svg_has_a_broken_path_at_poles(tmp_path: Path) -> None:
    pieces = line_pieces(picture(tmp_path, '"tan(x)" --over x=-3:3 --y-range -5:5'), "value")
    assert len(pieces) == 3
    left, right = pieces[0][0][0], pieces[-1][-1][0]
    for piece in pieces:
        where = [-3 + 6 * (x - left) / (right - left) for x, _ in (piece[0], piece[-1])]
        assert not any(where[0] < pole < where[1] for pole in (-math.pi / 2, math.pi / 2))


def test_svg_joins_a_kink_but_not_its_derivative(tmp_path: Path) -> None:
    svg = picture(tmp_path, '"abs(x)" --over x=-3:3')
    assert len(line_pieces(svg, "value")) == 1
    below, above = line_pieces(svg, "d_x")
    assert len({y for _, y in below}) == len({y for _, y in above}) == 1


@pytest.mark.exhaustive
def test_svg_is_the_same_every_time(tmp_path: Path) -> None:
    for options in ('"sin(x)" --over x=-3:3 --order 2', '"x*y" --over x=-3:3:20,y=-1:1:20'):
        first = picture(tmp_path, options)
        assert first == picture(tmp_path, options, "q.svg")
        assert b"<dc:date>" not in first
        for text in ("value",) if "y" in options else ("value", "d/dx", "d²/dx²"):
            assert f"<!-- {text} -->".encode() in first


def test_png_and_pdf(tmp_path: Path) -> None:
    data = picture(tmp_path, '"sin(x)" --over x=-3:3', "p.png")
    assert data.startswith(b"\x89PNG")
    assert [int.from_bytes(data[k : k + 4], "big") for k in (16, 20)] == [1600, 960]
    assert picture(tmp_path, '"sin(x)" --over x=-3:3', "p.pdf").startswith(b"%PDF")


@pytest.mark.exhaustive
def test_the_dark_theme() -> None:
    assert b"#0d1117" in drawn(plot("sin(x)", {"x": (-3, 3)}, theme="dark"), "svg")


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "expression", ["x*y", "2", "log(-1 - x**2 - y**2)", "floor(x) + y", "1/(x - y)", "x*1e-300*y", "1e308*x*y"]
)
def test_pictures_and_terminals_of_two_variables(tmp_path: Path, expression: str) -> None:
    ET.fromstring(picture(tmp_path, f'"{expression}" --over x=-3:3:30,y=-1:1:30'))
    assert run(f'autodiff plot "{expression}" --over x=-3:3:30,y=-1:1:30 --quiet-notes').endswith("\n")


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "expression", ["x*1e300", "x*1e-300", "abs(x)*1e-320", "x + 1e15", "floor(100*x)", "sin(1000*x)", "1e308*x"]
)
def test_pictures_and_terminals_of_odd_curves(tmp_path: Path, expression: str) -> None:
    ET.fromstring(picture(tmp_path, f'"{expression}" --over x=-3:3 --order 2'))
    assert max(map(len, terminal(f'"{expression}" --over x=-3:3 --order 2 --quiet-notes'))) == 80


def test_text_of_the_user_is_no_markup(tmp_path: Path) -> None:
    svg = picture(tmp_path, '"x if x < 1 else 2--x # $<b>&$" --over x=0:2')
    ET.fromstring(svg)
    assert b"<!-- x if x &lt; 1 else 2- -x # $&lt;b&gt;&amp;$ -->" in svg


def test_without_matplotlib_there_is_one_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = run(f'autodiff plot "sin(x)" --over x=-3:3 -o {tmp_path}/p.svg')
    first, hint, *_ = said.splitlines()
    assert first == "error: a picture needs matplotlib, which is not installed"
    assert hint == "  hint: pip install matplotlib, or write an .html file, which needs no library"
    assert list(tmp_path.iterdir()) == []


def test_tables_into_files(tmp_path: Path) -> None:
    for suffix in ("csv", "tsv", "json", "ndjson", "md"):
        assert run(f'autodiff plot "x" --over x=0:1:2 -o {tmp_path}/t.{suffix}') == ""
    assert (tmp_path / "t.csv").read_text() == "x,value,d_x\n0.0,0.0,1.0\n1.0,1.0,1.0\n"


# Two variables


def field(expression: str, x: tuple[float, float] = (-3, 3), y: tuple[float, float] = (-3, 3), samples: int = 61) -> Field:
    found = plot(expression, {name: f"{low}:{high}:{samples}" for name, (low, high) in {"x": x, "y": y}.items()})
    assert isinstance(found, Field)
    return found


def test_arrows_point_up_the_steepest_way() -> None:
    x, y, u, v = gradient_arrows(field("-(x**2) - y**2"), 12, 12, 1.0)
    assert len(x) > 100
    away = np.hypot(x, y) > 0.1
    np.testing.assert_allclose((u / np.hypot(u, v))[away], (-x / np.hypot(x, y))[away], atol=1e-9)
    np.testing.assert_allclose((v / np.hypot(u, v))[away], (-y / np.hypot(x, y))[away], atol=1e-9)


def test_arrows_are_at_right_angles_to_contours_as_they_are_drawn() -> None:
    """The same picture from a stretched variable and axes of another shape."""
    _, _, u, v = gradient_arrows(field("x**2 + (y/100)**2", y=(-300, 300)), 12, 12, 1.0)
    _, _, p, q = gradient_arrows(field("x**2 + y**2"), 12, 12, 1.0)
    np.testing.assert_allclose([u, v], [p, q], atol=1e-9)
    _, _, u, v = gradient_arrows(field("x + y"), 12, 12, 0.5)
    np.testing.assert_allclose(v / u, 2)


def test_there_are_no_arrows_where_there_is_no_value() -> None:
    x, y, _, _ = gradient_arrows(field("sqrt(1 - x**2 - y**2)"), 20, 20, 1.0)
    assert len(x) > 20
    assert (np.hypot(x, y) < 1).all()


def test_a_field_is_discontinuous_at_jumps_and_poles_only() -> None:
    for smooth in ("x*y", "sin(3*x)*cos(2*y)", "exp(x + y)", "abs(x) + y", "x**5"):
        assert not field(smooth).discontinuous.any()
    found = field("floor(x/2) + y/9").discontinuous
    assert found.any(0).sum() == 3  # at -2, 0 and 2
    assert found.any(1).all()
    low, high = field("1/(x - y/7)").window
    assert -30 < low < -1 < 1 < high < 30


def test_a_curve_that_comes_from_a_pole_is_clipped_at_a_place() -> None:
    """A place that is nan made the library that draws in a terminal end the process."""
    xs, _ = clip_curve(np.array([0.0, 1.0, 2.0]), np.array([math.inf, 1.0, math.inf]), 0.0, 5.0)
    assert np.all(np.isfinite(xs))
    assert np.all(np.diff(xs) >= 0)
    assert run('autodiff plot "lgamma(A) + A" --over A=-1e3:1e3').endswith("note: pole near A = 0\n")


def test_a_path_is_drawn_over_the_contour(tmp_path: Path) -> None:
    steps = tmp_path / "steps.csv"
    steps.write_text("step,x,y,value\n0,-1,1,3\n1,0,0.5,2\n2,1,-1,0\n")
    command = f'autodiff plot "x**2 + y" --over x=-2:2,y=-2:2 --path {steps}'
    shown = run(f"{command} --color never --quiet-notes")
    assert (shown.count("•"), shown.count("●")) == (2, 1)
    run(f"{command} -o {tmp_path / 'p.svg'} --quiet-notes")
    assert ET.parse(tmp_path / "p.svg").getroot().find(".//*[@id='path']") is not None
    assert json.loads(run(f"{command} --json"))["path"] == [[-1, 1], [0, 0.5], [1, -1]]


def test_a_path_is_drawn_on_a_curve(tmp_path: Path) -> None:
    steps = tmp_path / "steps.csv"
    steps.write_text("x\n3\n1.5\n1.25\n")
    command = f'autodiff plot "x**2 - 2" --over x=0:4 --path {steps}'
    assert json.loads(run(f"{command} --json"))["path"] == [[3, 7], [1.5, 0.25], [1.25, -0.4375]]
    shown = run(f"{command} --color never --order 0")
    assert (shown.count("•"), shown.count("●")) == (2, 1)
    assert "has no column 'y'" in run(f'autodiff plot "x*y" --over x=0:1,y=0:1 --path {steps}')


# Default ranges, several curves, logarithmic axes, contour levels


@pytest.mark.parametrize(
    ("expression", "low", "high"),
    [
        ("sin(x)", -5, 5),
        ("1/x", -5, 5),
        ("log(x)", 0, 5),
        ("log(x - 3)", 3, 5),
        ("sqrt(4 - x**2)", -2, 2),
        ("asin(x)", -1, 1),
        ("log(-1 - x**2)", -5, 5),
        ("log(x), sqrt(-x)", -5, 5),
    ],
)
def test_the_default_range_is_where_the_value_exists(expression: str, low: float, high: float) -> None:
    found = json.loads(run(f'autodiff plot "{expression}" --json --quiet-notes'))
    assert found["over"]["x"] == [low, high]


CURVES = "a = 2; u = sin(x); u, a*cos(x), floor(x), 1/x"


def test_several_curves_are_the_curves_of_several_plots() -> None:
    found = json.loads(run(f'autodiff plot "{CURVES}" --over x=-3:3 --json --quiet-notes'))
    assert list(found["columns"]) == ["x", "u", "value2", "value3", "value4"]
    for column, expression in (("u", "sin(x)"), ("value2", "2*cos(x)"), ("value3", "floor(x)"), ("value4", "1/x")):
        alone = json.loads(run(f'autodiff plot "{expression}" --over x=-3:3 --order 0 --json --quiet-notes'))
        assert found["columns"][column] == alone["columns"]["value"]
        marks = [mark for mark in found["marks"] if mark["curve"] == column]
        assert marks == [{**mark, "curve": column} for mark in alone["marks"]]


def test_several_curves_are_drawn_as_each_of_them(tmp_path: Path) -> None:
    over = {"x": (-3, 3)}
    found = plot(CURVES, over)
    assert isinstance(found, Plot)
    for k, expression in enumerate(("sin(x)", "2*cos(x)", "floor(x)", "1/x")):
        alone = plot(expression, over, order=0)
        assert isinstance(alone, Plot)
        places = np.searchsorted(found.samples.xs, alone.samples.xs)
        np.testing.assert_array_equal(found.samples.xs[places], alone.samples.xs)
        np.testing.assert_array_equal(found.samples.ys[k, places], alone.samples.ys[0])
        assert len(layout.finite_slices(found.samples.ys[k])) == len(layout.finite_slices(alone.samples.ys[0]))
    svg = picture(tmp_path, f'"{CURVES}" --over x=-3:3 --y-range -4:4')
    assert [len(line_pieces(svg, column)) for column in ("u", "value2", "value3", "value4")] == [1, 1, 6, 2]


def test_labels_of_several_curves_are_never_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    labels = [f"sin({k}*x + 0.5) + {k}" for k in range(1, 7)]
    lines = terminal(f'"{", ".join(labels)}" --over x=-3:3 --quiet-notes')
    assert max(map(len, lines)) <= 60
    assert all(label in "\n".join(lines) for label in labels)


def test_labels_share_a_line_as_long_as_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A label takes 8 columns more than its letters: the sample before it, and space around both."""
    labels = "sin(x), 2*cos(x)"
    for width, together in ((30, True), (29, False)):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = terminal(f'"{labels}" --over x=-3:3 --order 0 --quiet-notes')
        assert any("sin(x)" in line and "2*cos(x)" in line for line in lines) is together


def test_a_power_is_a_straight_line_on_logarithmic_axes(tmp_path: Path) -> None:
    svg = picture(tmp_path, '"x**3/7, 5/x" --over x=0.01:1000 --log xy')
    for column, sign in (("value1", -1), ("value2", 1)):  # y points down
        ((*points,),) = line_pieces(svg, column)
        x, y = np.array(points).T
        slope, _ = np.polyfit(x, y, 1)
        assert np.sign(slope) == sign
        np.testing.assert_allclose(y, np.polyval(np.polyfit(x, y, 1), x), atol=0.01)


def test_samples_of_a_logarithmic_axis_have_equal_ratios() -> None:
    rows = table('autodiff plot "x**2" --over x=0.01:100:9 --log x --order 1')
    x = np.array([row["x"] for row in rows])
    np.testing.assert_allclose(x[1:] / x[:-1], 10**0.5)
    assert (x[0], x[-1]) == (0.01, 100)
    np.testing.assert_allclose([row["value"] for row in rows], x**2)
    np.testing.assert_allclose([row["d_x"] for row in rows], 2 * x)


def test_discontinuities_on_a_logarithmic_axis() -> None:
    found = json.loads(run('autodiff plot "floor(x) + 1/(x - 50)" --over x=0.5:99 --log x --json --order 0 --quiet-notes'))
    marks = {round(mark["at"], 6): mark["kind"] for mark in found["marks"]}
    assert marks[1] == "jump"
    assert marks[50] == "pole"
    said = run('autodiff plot "x" --over x=-1:1 --log y -q')
    assert said.endswith("note: values that are not positive are not on the logarithmic axis\n")
    assert "goes to" not in said


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.01, 100, ["0.01", "0.1", "1", "10", "100"]),
        (1, 10, ["1", "2", "5", "10"]),
        (1e-12, 1e12, ["1e-10", "1e-5", "1", "100000", "1e+10"]),
        (3, 4, ["3", "3.2", "3.4", "3.6", "3.8", "4"]),
    ],
)
def test_ticks_of_logarithmic_axes(low: float, high: float, labels: list[str]) -> None:
    places, found = layout.log_ticks(math.log10(low), math.log10(high), 6)
    assert found == labels
    np.testing.assert_allclose(10 ** np.array(places), [float(label) for label in labels])


ROSENBROCK = '"(1-x)**2 + 100*(y-x**2)**2" --over x=-2:2,y=-1:3 --quiet-notes'


@pytest.mark.exhaustive
@pytest.mark.parametrize("options", ["", "--order 0"])
def test_nothing_of_a_picture_is_cut(options: str, tmp_path: Path) -> None:
    """The outermost pixels are paper: titles, labels and ticks end inside."""
    from matplotlib import image

    for expression in (ROSENBROCK, '"sin(x)*exp(-x**2/5) + cos(3*x)/3 + x**7/5040" --over x=-3:3'):
        path = tmp_path / "p.png"
        assert run(f"autodiff plot {expression} {options} --quiet-notes -o {path}") == ""
        pixels = image.imread(path)[:, :, :3]
        edges = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
        assert (edges == edges[0]).all()


def test_the_title_is_above_a_wide_legend(tmp_path: Path) -> None:
    def places(labels: list[str]) -> list[float]:
        """The vertical positions of the title, and of the names in the legend."""
        svg = picture(tmp_path, f'"{", ".join(labels)}" --over x=0:3').decode()
        texts = [", ".join(labels), *labels]
        return [float(re.search(rf"<!-- {re.escape(text)} -->\s*<g [^>]*translate\(\S+ ([\d.]+)\)", svg)[1]) for text in texts]

    title, *legend = places([f"sin(x + {k})*exp(x)" for k in (10, 20, 30)])
    assert all(y > title + 8 for y in legend)
    short = places(["sin(x)", "cos(x)"])
    assert max(short) - min(short) < 5


def test_a_file_beside_an_expression_names_the_fit(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("x,y\n1,2\n")
    assert "autodiff fit" in run(f'autodiff plot "a*x" {tmp_path}/data.csv')
    assert 'several curves as one expression: "x, x**2"' in run('autodiff plot "x" "x**2" --over x=0:1')
