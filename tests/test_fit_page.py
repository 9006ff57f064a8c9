"""``fit -o``: the suffix selects rows, a picture or a page, and a page shows the numbers under the pointer."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autodiff_cli.report.array_text import human
from autodiff_cli.solvers.fitting.fit import fit
from tests.browser import data_of
from tests.shell import run
from tests.test_plot_page import PlotPage

MODEL = "v = Vmax*S/(Km + S)"
COMMAND = f'autodiff fit "{MODEL}" d.csv --at Vmax=10,Km=5'
S = [1.0, 2.0, 2.0, 5.0, 10.0, 20.0, 40.0]
V = [2.1, 3.6, 3.3, 5.5, 7.2, 8.1, 9.0]


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text("S,v\n" + "".join(f"{x},{y}\n" for x, y in zip(S, V, strict=True)))


def test_a_suffix_of_data_writes_the_rows_of_the_result() -> None:
    expected = fit(MODEL, {"S": S, "v": V}, at={"Vmax": 10, "Km": 5})
    assert run(f"{COMMAND} -o p.csv") == ""
    rows = list(csv.DictReader(Path("p.csv").read_text().splitlines()))
    assert [row["name"] for row in rows] == ["Vmax", "Km"]
    assert float(rows[0]["value"]) == pytest.approx(expected.values["Vmax"], rel=1e-9)
    assert run(f"{COMMAND} -o p.json") == ""
    assert json.loads(Path("p.json").read_text())["command"] == "fit"
    assert run(f"{COMMAND} --predict S=0:1:3 -o p.ndjson") == ""
    assert [json.loads(line)["S"] for line in Path("p.ndjson").read_text().splitlines()] == [0, 0.5, 1]
    assert run(f"{COMMAND} -q -o p.txt") == ""
    assert len(Path("p.txt").read_text().split()) == 2
    assert run(f"{COMMAND} -o p.tex") == ""
    assert "\\begin{tabular}" in Path("p.tex").read_text()
    assert run("autodiff fit 'v = a' d.csv --by S --at a=1 --on-error skip -o g.tsv").count("error") == 0
    assert Path("g.tsv").read_text().startswith("S\ta\t")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("suffix", ["svg", "png", "pdf", "html"])
def test_a_suffix_of_a_picture_writes_the_picture(suffix: str) -> None:
    assert run(f"{COMMAND} -q -o a.{suffix}") == ""
    begins = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF", "html": b"<!DOCTYPE html>"}
    assert Path(f"a.{suffix}").read_bytes().startswith(begins[suffix])


def test_wrong_files() -> None:
    assert "use a name that ends in one of .txt, .svg, .png, .pdf, .html, .json" in run(f"{COMMAND} -o p.zip")
    assert "a plot and --by exclude each other" in run("autodiff fit 'v = a' d.csv --by S -o g.html")
    assert "unknown option '-z'" in run(f"{COMMAND} -z p.html")
    said = run("autodiff fit 'v = a*S + b*S' d.csv --at a=1,b=1 -o p.html")
    assert "error: " in said
    assert not Path("p.html").exists()


def test_the_page_has_the_numbers_of_the_fit() -> None:
    run(f"{COMMAND} --sigma 0.2 --level 0.9 -o p.html")
    page = Path("p.html").read_text(encoding="utf-8")
    assert not re.findall(r"""(?:src|href)\s*=|url\((?!#)|@import|fetch\(|XMLHttp""", page)
    found = data_of(page)["fit"]
    assert (found["x"], found["y"], found["level"], found["unit"]) == (S, V, 0.9, "residual/sigma")
    assert found["error"] == pytest.approx([0.2] * len(S))
    expected = fit(MODEL, {"S": S, "v": V}, at={"Vmax": 10, "Km": 5}, sigma="0.2", level=0.9, predict={"S": found["curve"][0]})
    prediction = expected.prediction
    assert prediction is not None
    for name, values in (("mean", prediction.mean), ("new", prediction.new)):
        np.testing.assert_allclose(found[name], values, rtol=1e-9)
    np.testing.assert_allclose(found["curve"][1], prediction.value, rtol=1e-9)


def opened(browser: Any, folder: Path, command: str) -> PlotPage:
    run(f"{command} -o p.html")
    return PlotPage(browser, folder, Path("p.html").read_text(encoding="utf-8"))


def test_the_numbers_under_the_pointer(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, COMMAND)
    data = data_of(Path("p.html").read_text(encoding="utf-8"))["fit"]
    us, ys = data["curve"]
    left, right, _, _ = page.box()
    figure = page.one("#figure svg")
    page.act(lambda do: do.move_to_element_with_offset(figure, 0, 0))
    at = page.value("S")
    i = int(np.argmin(np.abs(np.array(us) - at)))
    ends = [f"{human(ys[i] - half[i], 6)} to {human(ys[i] + half[i], 6)}" for half in (data["mean"], data["new"])]
    assert page.readings() == [human(ys[i], 6), *ends]
    low, high = page.ends()
    middle = float(figure.rect["width"]) / 2
    assert at == pytest.approx(low + (middle - left) / (right - left) * (high - low), abs=0.1)
    page.set("S", 2.2)
    residuals = [human(data["residuals"][row], 6) for row in (1, 2)]
    (_, nearest) = page.texts("#readings p")
    assert nearest == f"Nearest data: S = 2: v = 3.6, residual/s = {residuals[0]}; v = 3.3, residual/s = {residuals[1]}."
    assert page.one("#figure .nearest").get_attribute("d").count("M") == 2
    assert page.texts("#readings th") == ["fit", "95 % band for the curve", "95 % band for a new measurement"]
    assert page.texts("#notes li")[0].startswith("Vmax = ")


def test_what_is_drawn(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, f"{COMMAND} --sigma 0.5")
    (curve,) = page.curve()
    data = data_of(Path("p.html").read_text(encoding="utf-8"))["fit"]
    np.testing.assert_allclose(curve[:, 0], data["curve"][0], atol=0.05)
    np.testing.assert_allclose(curve[:, 1], data["curve"][1], atol=0.02)
    low, high = page.drawing(".new")
    np.testing.assert_allclose(high[:, 1] - low[:, 1], 2 * np.array(data["new"]), atol=0.04)
    places = re.findall(r"M([-\d.]+) ([-\d.]+)h0", page.one("#figure .data").get_attribute("d"))
    across, up = page.scale("x"), page.scale("y")
    np.testing.assert_allclose([across(float(x)) for x, _ in places], S, atol=0.05)
    np.testing.assert_allclose([up(float(y)) for _, y in places], V, atol=0.02)
    bars = re.findall(r"M[-\d.]+ ([-\d.]+)V([-\d.]+)", page.one("#figure .bars").get_attribute("d"))
    np.testing.assert_allclose([up(float(top)) - up(float(bottom)) for bottom, top in bars], 1, atol=0.02)
    page.press("+")
    page.drawn()
    assert page.ends()[1] - page.ends()[0] < 30


def test_a_page_over_predicted_values(browser: Any, tmp_path: Path) -> None:
    """With two columns on the right side, there is neither a curve nor a band, and the data stay readable."""
    rows = [(x, z, 2 * x + 3 * z + 0.01 * (x - z) ** 2) for x in range(4) for z in range(4)]
    with open("e.csv", "w", newline="") as file:
        csv.writer(file).writerows([("x", "z", "y"), *rows])
    page = opened(browser, tmp_path, 'autodiff fit "y = a*x + b*z" e.csv --at a=1,b=1')
    assert page.readings() == []
    assert page.texts("#readings p")[1].startswith("Nearest data: predicted y = ")
