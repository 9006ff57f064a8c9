"""``fit`` for groups of rows: the same numbers as separate fits, in any order of rows and with any number of threads."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.errors import DataError, NotSolved, UnknownName, UsageError
from autodiff_cli.solvers.fitting import groups
from tests.nist_regression import MODELS, regression, right_digits
from tests.shell import streams

MODEL = "y = a*exp(-k*t) + c"
START = {"a": 1.0, "k": 1.0, "c": 0.0}
COUNT = 40
_RANDOM = np.random.default_rng(1)
SIZES = _RANDOM.integers(6, 60, COUNT)
LABELS = [f"g{i}" for i in _RANDOM.permutation(COUNT).tolist()]


def _decays() -> dict[str, np.ndarray]:
    """Decay curves with 6 to 60 points each, whose rows are mixed."""
    groups = np.repeat(np.arange(COUNT), SIZES)
    a, k, c = (_RANDOM.uniform(*ends, COUNT)[groups] for ends in ((1, 5), (0.3, 2), (-1, 1)))
    t = _RANDOM.uniform(0, 5, len(groups))
    y = a * np.exp(-k * t) + c + 0.05 * _RANDOM.standard_normal(len(groups))
    mixed = _RANDOM.permutation(len(groups))
    names = np.array(LABELS)[groups]
    return {"t": t[mixed], "y": y[mixed], "g": names[mixed], "dy": _RANDOM.uniform(0.03, 0.08, len(groups))}


DATA = _decays()


def _part(label: str) -> dict[str, np.ndarray]:
    return {name: column[DATA["g"] == label] for name, column in DATA.items() if name != "g"}


@pytest.mark.sampled(9)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sigma": "dy"},
        {"weights": "1/dy**2"},
        {"loss": "soft_l1:0.05"},
        {"fix": ["c"]},
        {"bounds": {"c": (-0.3, 0.5), "k": (0.1, 9)}},
    ],
    ids=lambda options: next(iter(options), "plain"),
)
def test_each_group_is_the_separate_fit_of_its_rows(options: dict[str, object]) -> None:
    found = ad.fit(MODEL, DATA, at=START, by="g", **options)
    assert found.converged
    assert [row["g"] for row in found.groups] == list(dict.fromkeys(DATA["g"].tolist()))
    for row in found.groups[:: 1 if not options else 7]:
        alone = ad.fit(MODEL, _part(row["g"]), at=START, **options)
        for name, record in alone.parameters.items():
            assert row[name] == pytest.approx(record["value"], rel=1e-11)
            if record["std_error"] is not None:
                assert row[f"u_{name}"] == pytest.approx(record["std_error"], rel=1e-9)
            elif not record["fixed"]:
                assert np.isnan(row[f"u_{name}"])
        assert row["rss"] == pytest.approx(alone.residual["rss"], rel=1e-11)
        assert (row["dof"], row["rows"]) == (alone.residual["dof"], alone.residual["rows"])


def test_derived_quantities_have_their_standard_errors_in_each_group() -> None:
    found = ad.fit(MODEL, DATA, at=START, by="g", derive=["log(2)/k", "a + c"])
    for row in found.groups[::9]:
        alone = ad.fit(MODEL, _part(row["g"]), at=START, derive=["log(2)/k", "a + c"])
        for one in alone.derived:
            assert row[one["expression"]] == pytest.approx(one["value"], rel=1e-11)
            assert row[f"u_{one['expression']}"] == pytest.approx(one["std_error"], rel=1e-9)
    with pytest.raises(UnknownName, match="'q' is not a parameter"):
        ad.fit(MODEL, DATA, at=START, by="g", derive=["q/k"])


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", MODELS)
def test_certified_values_of_nist_for_a_group(name: str) -> None:
    known = regression(name)
    for start in known.starts:
        data = {**known.columns, "group": np.ones(len(known.columns["y"]))}
        (row,) = ad.fit(known.model, data, at=start, by="group").groups
        assert row["converged"]
        for parameter, value in known.values.items():
            assert right_digits(row[parameter], value) >= 10
            # The residuals of Lanczos1 are rounding noise.
            assert right_digits(row[f"u_{parameter}"], known.errors[parameter]) >= (9 if name != "Lanczos1" else 3)


def test_the_result_does_not_depend_on_threads_or_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    first = ad.fit(MODEL, DATA, at=START, by="g").groups
    monkeypatch.setattr(groups, "CHUNK", 100)
    monkeypatch.setattr(groups, "processors", lambda: 3)
    assert ad.fit(MODEL, DATA, at=START, by="g").groups == first


def test_a_group_whose_start_is_bad_starts_from_its_neighbour() -> None:
    t = np.tile(np.linspace(0.1, 5, 30), 3)
    omega = np.repeat([1.0, 1.4, 1.8], 30)
    data = {"t": t, "y": np.sin(omega * t), "g": np.repeat([1, 2, 3], 30)}
    assert not ad.fit("y = a*sin(w*t)", {"t": t[60:], "y": data["y"][60:]}, at={"a": 1, "w": 1}).residual["rss"] < 1e-12
    found = ad.fit("y = a*sin(w*t)", data, at={"a": 1, "w": 1}, by="g")
    assert [row["w"] for row in found.groups] == pytest.approx([1.0, 1.4, 1.8], rel=1e-12)


def test_a_program_that_cannot_be_traced_is_fitted_too() -> None:
    data = {"t": [1.0, 2, 3, 4], "y": [2.0, 4, 9, 12], "g": ["a", "a", "b", "b"]}
    found = ad.fit("y = det([[a, 0], [0, t]])", data, at={"a": 1}, by="g")
    assert [row["a"] for row in found.groups] == pytest.approx([2, 3], rel=1e-14)


FAILING = {
    "x": [1.0, 2, 3, 1, 2, 2, 2, 1, 2, 3],
    "y": [2.0, 4, 6, 1, 5, 5, 5, 3, 6, 9],
    "g": ["good", "good", "good", "few", "same", "same", "same", "good too", "good too", "good too"],
}


def test_groups_without_a_fit_are_rows_of_nan() -> None:
    found = ad.fit("y = a + b*x", FAILING, at={"a": 1, "b": 1}, by="g")
    assert [row["verdict"] for row in found.groups] == ["minimum", "too_few_rows", "singular", "minimum"]
    assert [row["converged"] for row in found.groups] == [True, False, False, True]
    assert np.isnan([found.groups[1]["a"], found.groups[2]["b"], found.groups[2]["rss"]]).all()
    assert found.groups[3]["b"] == pytest.approx(3, rel=1e-13)
    assert not found.converged
    assert found.verdict == "partial"
    with pytest.raises(NotSolved, match="2 of 4 groups not fitted; the first is g = few: 1 row for 2 parameters"):
        found.require()
    forgiven = ad.fit("y = a + b*x", FAILING, at={"a": 1, "b": 1}, by="g", on_error="skip")
    forgiven.require()
    assert "2 of 4 groups" in forgiven.notes[0]["message"]


def test_the_message_names_the_row_where_the_model_is_not_finite() -> None:
    data = {"x": [-1.0, 2, 3], "y": [1.0, 1, 1], "g": ["a", "a", "a"]}
    found = ad.fit("y = a*log(x)", data, at={"a": 1}, by="g")
    assert found.groups[0]["verdict"] == "not_finite"
    assert "row 1: the residual is not finite" in found.reason


def test_labels_are_numbers_or_text_as_in_the_file(tmp_path: Path) -> None:
    rows = "".join(f"{{}},{x},{2 * x}\n" for x in (1, 2, 3))
    long = "1" * 400  # outside the range of float64
    numbers, words = ((("1", "2"), [1, 2]), (("1.5", "2"), [1.5, 2])), (("01", "2"), ("a", "2"), (long, "2"))
    for texts, labels in (*numbers, *((word, list(word)) for word in words)):
        path = tmp_path / "data.csv"
        path.write_text("g,x,y\n" + "".join(rows.format(*[text] * 3) for text in texts))
        found = ad.fit("y = b*x", str(path), at={"b": 1}, by="g")
        assert [row["g"] for row in found.groups] == labels


def test_the_command_writes_csv_unless_a_format_is_named(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("s,x,y\nA,1,2.1\nA,2,3.9\nA,3,6.0\nB,1,1\nB,2,2\nB,3,3.1\n")
    command = f'autodiff fit "y = b*x" {path} --at b=1 --by s'
    out, err, code = streams(command)
    assert (err, code) == ("", 0)
    assert out.splitlines()[0] == "s,b,u_b,std,rss,dof,rows,converged,verdict"
    assert out.splitlines()[2].startswith("B,1.02")
    table, _, _ = streams(f"{command} --format table")
    assert "2 groups; standard errors u scaled by the residuals." in table
    bare, _, _ = streams(f"{command} -q")
    assert len(bare.splitlines()) == 2
    report = json.loads(streams(f"{command} --json")[0])
    assert report["by"] == "s"
    assert [group["s"] for group in report["groups"]] == ["A", "B"]
    lines, _, _ = streams(f"{command} --format ndjson")
    assert [json.loads(line) for line in lines.splitlines()] == report["groups"]


def test_the_command_ends_with_1_if_a_group_has_no_fit(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("s,x,y\nA,1,2\nA,2,4\nB,1,1\n")
    command = f'autodiff fit "y = a + b*x" {path} --at a=1,b=1 --by s'
    out, err, code = streams(command)
    assert code == 1
    assert "nan" in out
    assert err.startswith("error: 1 of 2 groups not fitted; the first is s = B: 1 row for 2 parameters")
    _, err, code = streams(f"{command} --on-error skip")
    assert code == 0
    assert err.startswith("note: 1 of 2 groups not fitted")


def test_errors_of_groups(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no column 'h'"):
        ad.fit(MODEL, DATA, at=START, by="h")
    with pytest.raises(UsageError, match="exclude each other"):
        ad.fit(MODEL, DATA, at=START, by="g", trace=True)
    with pytest.raises(UsageError, match="the parameter 'std' has the name of a column"):
        ad.fit("y = std*t", DATA, at={"std": 1}, by="g")
    path = tmp_path / "data.csv"
    path.write_text("g,x,y\na,1,2\n,2,4\n")
    with pytest.raises(DataError, match="line 3: column 'g' is empty"):
        ad.fit("y = b*x", str(path), at={"b": 1}, by="g")
    assert ad.fit("y = b*x", str(path), at={"b": 1}, by="g", on_error="skip").problem.data.skipped == 1


def test_a_column_of_groups_that_has_the_name_of_a_statistic() -> None:
    found = ad.fit("y = b*x", {"x": [1.0, 2], "y": [2.0, 4], "rows": [1, 1]}, at={"b": 1}, by="rows")
    assert found.groups[0]["group"] == 1
    assert found.groups[0]["rows"] == 2
