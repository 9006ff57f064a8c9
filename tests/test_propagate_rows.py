"""``propagate`` over the rows of files and columns, against ``propagate`` of one row at a time."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.errors import AutodiffError, DataError, UnknownName, UsageError
from autodiff_cli.solvers.uncertainty.result import tolerance, tolerances
from tests.shell import streams

DATA = "x,y,u_x,u_y,note\n1,2,0.1,0.2,a\n3,0.5,0.05,0.01,b\n-2,4,0,0.3,c\n"
SOURCE = "x**2*y + sin(y)/x"


@pytest.mark.sampled(6)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("corr", [{}, {"x,y": -0.6}, {"x,y": 0.3, "z,y": 0.5}])
def test_rows_are_as_single_results(order: int, corr: dict[str, float]) -> None:
    generator = np.random.default_rng(5)
    columns = {"x": generator.uniform(1, 2, 40), "y": generator.uniform(1, 2, 40)}
    columns |= {"u_x": generator.uniform(0, 0.3, 40), "u_y": generator.uniform(0, 0.3, 40)}
    found = ad.propagate(f"({SOURCE})*z", {"z": "2.0(3)"}, data=columns, corr=corr, order=order)
    for i in range(40):
        at = {"x": (columns["x"][i], columns["u_x"][i]), "y": (columns["y"][i], columns["u_y"][i]), "z": "2.0(3)"}
        one = ad.propagate(f"({SOURCE})*z", at, corr=corr, order=order)
        assert (found["value"][i], found["u"][i]) == pytest.approx((one.value, one.u), rel=1e-12)
        shares = {row["name"].replace(" ", "_"): row["share"] for row in one.budget}
        assert {name: found[f"share_{name}"][i] for name in shares} == pytest.approx(shares, rel=1e-9, abs=1e-12)
        if order == 1:
            assert bool(found["enough"][i]) is not any(note["kind"] == "second_order" for note in one.notes)


def test_other_distributions_and_relative_uncertainties() -> None:
    found = ad.propagate("x**2 + y", {"y": "1.0±0.1 rect"}, data={"x": [2.0, -4.0]}, u={"x": "1% triangle"}, order=2)
    for i, x in enumerate((2.0, -4.0)):
        one = ad.propagate("x**2 + y", {"x": f"{x}±1% triangle", "y": "1.0±0.1 rect"}, order=2)
        assert (found["value"][i], found["u"][i]) == pytest.approx((one.value, one.u), rel=1e-14)


def test_more_rows_than_fit_into_a_part() -> None:
    x = np.linspace(1, 2, 20_001)
    found = ad.propagate("exp(x)", data={"x": x}, u={"x": 0.001})
    assert found["u"] == pytest.approx(np.exp(x) * 0.001, rel=1e-12)
    assert found["share_x"] == pytest.approx(1.0)
    assert found["enough"].all()
    empty = ad.propagate("exp(x)", data={"x": []}, u={"x": 0.001})
    assert {name: column.tolist() for name, column in empty.items()} == {"value": [], "u": [], "share_x": [], "enough": []}


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(DATA)
    out, err, code = streams(f"autodiff propagate '{SOURCE}' {path}")
    lines = [line.split(",") for line in out.splitlines()]
    assert lines[0] == ["x", "y", "u_x", "u_y", "note", "value", "u", "share_x", "share_y"]
    assert code == 0
    for line in lines[1:]:
        at = {"x": (float(line[0]), float(line[2])), "y": (float(line[1]), float(line[3]))}
        one = ad.propagate(SOURCE, at)
        assert [*map(float, line[5:7])] == pytest.approx([one.value, one.u], rel=1e-14)
    assert err == f"note: first order is not enough in 1 row, the first is '{path}', line 2: use --order 2\n"
    quiet = streams(f"autodiff propagate '{SOURCE}' {path} -q --quiet-notes")
    assert quiet == ("".join(",".join(line[5:]) + "\n" for line in lines[1:]), "", 0)
    document = json.loads(streams(f"autodiff propagate '{SOURCE}' {path} --order 2 --json --no-keep")[0])
    assert (document["command"], document["order"]) == ("propagate", 2)
    assert document["columns"] == ["value", "u", "share_x", "share_y", "share_second_order"]
    for row in document["rows"]:
        assert sum(row[name] for name in document["columns"][2:]) == pytest.approx(1)


def test_columns_with_other_names() -> None:
    data = "L,u_L\n2,0.1\n"
    for options in ("--let x=L --const k=3", "--let x=L --at 'k=3.0(1)'"):
        out, _, code = streams(f"autodiff propagate 'x**2*k' - {options}", data)
        assert code == 0
        assert float(out.splitlines()[1].split(",")[2]) == 12
    out = streams("autodiff propagate 'e*x' - --let e=E", "x,E,u_E\n2,3,0.1\n")[0]
    assert out.splitlines()[1] == "2,3,0.1,6.0,0.2,1.0"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--u z=1", "'z', which is not a variable"),
        ("--u x=1", "stated twice, in --u and in the column 'u_x'"),
        ("--u x=1 --at x=1", "'x' is a column"),
        ("--order 3", "must be 1 or 2"),
        ("--level 0.9", "does not apply to rows"),
        ("--monte-carlo 1000", "does not apply to rows"),
        ("--corr x,z=0.1", "not a quantity"),
        ("--corr x,y=2", "between -1 and 1"),
        ("--at y=[1,2]", "'y'"),
    ],
)
def test_refused(tmp_path: Path, options: str, words: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(DATA)
    out, err, code = streams(f"autodiff propagate '{SOURCE}' {path} {options}")
    assert (out, code) == ("", 2)
    assert words in err


def test_bad_cells() -> None:
    line = "autodiff propagate '2*x' -"
    out, err, code = streams(line, "x,u_x\n1,0.1\n2,-0.1\n")
    assert (code, "line 3: the uncertainty 'u_x' is negative: -0.1" in err) == (5, True)
    out, err, code = streams(line, "x,u_x\n1,0.1\n2,?\n")
    assert code == 5
    out, err, code = streams(f"{line} --on-error nan", "x,u_x\n1,0.1\n2,?\n")
    assert (out.splitlines()[2], code) == ("2,?,4.0,nan,0.0", 0)
    assert "set to nan" in err
    out, err, code = streams(f"{line} --on-error skip", "x,u_x\n1,0.1\n2,?\n3,0.2\n")
    assert out.splitlines()[1:] == ["1,0.1,2.0,0.2,1.0", "3,0.2,6.0,0.4,1.0"]
    out, err, code = streams(f"{line} --strict".replace("2*x", "log(x)"), "x,u_x\n0,0.1\n")
    assert code == 4
    out, err, code = streams(line, "x,y\n1,0.1\n")
    assert (code, "no column such as 'u_x'" in err) == (2, True)


def test_an_expression_that_is_evaluated_row_by_row() -> None:
    source = "solve([[x, 1], [1, 3]], [1, 2])[0]"
    data = {"x": [2.0, 3.0], "u_x": [0.01, 0.02]}
    for order in (1, 2):
        found = ad.propagate(source, data=data, order=order)
        for i in range(2):
            one = ad.propagate(source, {"x": (data["x"][i], data["u_x"][i])}, order=order)
            assert (found["value"][i], found["u"][i]) == pytest.approx((one.value, one.u), rel=1e-9)


@pytest.mark.parametrize(
    ("keywords", "kind"),
    [
        ({"data": {"x": [1.0], "u_x": [-1.0]}}, DataError),
        ({"data": {"x": [1.0]}}, UsageError),
        ({"data": {"x": [1.0]}, "u": {"x": -1}}, UsageError),
        ({"data": {"x": [1.0]}, "u": {"y": 1}}, UnknownName),
        ({"data": {"x": [1.0], "u_x": [1.0]}, "level": 0.9}, UsageError),
    ],
)
def test_refused_columns(keywords: dict[str, object], kind: type[AutodiffError]) -> None:
    with pytest.raises(kind):
        ad.propagate("x**2", **keywords)  # type: ignore[call-overload]


def test_tolerances() -> None:
    numbers = [0.1, 0.0996, 0.0994, 1.0, 9.949, 9.951, 123.0, 1e-300, 0.0, math.nan, math.inf]
    assert tolerances(np.array(numbers)) == pytest.approx([tolerance(u) for u in numbers], rel=1e-12, nan_ok=True)
