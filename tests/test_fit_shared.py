"""``fit`` with parameters that groups of rows share: the same numbers as one dense fit of all parameters."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import least_squares

import autodiff_cli as ad
from autodiff_cli.errors import NotSolved, UnknownName, UsageError
from tests.shell import streams

RANDOM = np.random.default_rng(5)
SIZES = [5, 12, 7, 30, 9]
CODES = np.repeat(np.arange(5), SIZES)[RANDOM.permutation(sum(SIZES))]
T = RANDOM.uniform(0, 4, len(CODES))
AMPLITUDE, OFFSET = RANDOM.uniform(1, 5, 5), RANDOM.uniform(-1, 1, 5)
Y = AMPLITUDE[CODES] * np.exp(-0.8 * T**1.2) + OFFSET[CODES] + 0.03 * RANDOM.standard_normal(len(T))
DATA = {"t": T, "y": Y, "g": np.array(list("abcde"))[CODES], "dy": RANDOM.uniform(0.02, 0.05, len(T))}
MODEL = "y = a*exp(-k*t**p) + c"
START = {"a": 1, "k": 1, "p": 1, "c": 0}


def _dense(sigma: np.ndarray | float = 1.0) -> tuple[np.ndarray, np.ndarray, float]:
    """Fit k, p and all a and c together; return the values, the unscaled standard errors, and the sum of squares."""

    def residuals(v: np.ndarray) -> np.ndarray:
        return (v[2:7][CODES] * np.exp(-v[0] * T ** v[1]) + v[7:][CODES] - Y) / sigma

    found = least_squares(residuals, [1, 1, *[1] * 5, *[0] * 5], jac="3-point", xtol=1e-15, ftol=1e-15, gtol=1e-15)
    return found.x, np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac))), 2 * found.cost


@pytest.mark.parametrize("known", [False, True], ids=["scaled", "sigma"])
def test_shared_parameters_are_those_of_a_dense_fit(known: bool) -> None:
    found = ad.fit(MODEL, DATA, at=START, by="g", share=["k", "p"], sigma="dy" if known else None)
    values, errors, rss = _dense(DATA["dy"] if known else 1.0)
    s = 1.0 if known else np.sqrt(rss / (len(T) - 12))
    assert found.converged
    for i, name in enumerate(("k", "p")):
        assert found.parameters[name]["value"] == pytest.approx(values[i], rel=1e-7)
        assert found.parameters[name]["std_error"] == pytest.approx(s * errors[i], rel=1e-5)
    rows = {row["g"]: row for row in found.groups}
    for i, label in enumerate("abcde"):
        for name, at in (("a", 2 + i), ("c", 7 + i)):
            assert rows[label][name] == pytest.approx(values[at], rel=1e-6)
            assert rows[label][f"u_{name}"] == pytest.approx(s * errors[at], rel=1e-5)
        assert rows[label]["rows"] == SIZES[i]
        assert rows[label]["k"] == found.parameters["k"]["value"]
    assert found.residual["rss"] == pytest.approx(rss, rel=1e-10)
    assert found.residual["dof"] == len(T) - 12
    assert sum(row["rss"] for row in found.groups) == pytest.approx(rss, rel=1e-10)


def test_the_same_fit_with_a_column_of_indicators() -> None:
    found = ad.fit("y = a*exp(-k*t)", DATA, at={"a": 1, "k": 1}, by="g", share=["k"], derive=["a*k"])
    columns = {f"i{i}": (i == CODES).astype(float) for i in range(5)}
    model = "y = (" + " + ".join(f"a{i}*i{i}" for i in range(5)) + ")*exp(-k*t)"
    start = {"k": 1, **{f"a{i}": 1 for i in range(5)}}
    dense = ad.fit(model, {"t": T, "y": Y, **columns}, at=start, derive=[f"a{i}*k" for i in range(5)])
    assert found.parameters["k"]["value"] == pytest.approx(dense.values["k"], rel=1e-12)
    assert found.parameters["k"]["interval"] == pytest.approx(dense.parameters["k"]["interval"], rel=1e-9)
    for row in found.groups:
        i = "abcde".index(row["g"])
        assert row["a"] == pytest.approx(dense.values[f"a{i}"], rel=1e-12)
        assert row["u_a"] == pytest.approx(dense.errors[f"a{i}"], rel=1e-9)
        assert row["a*k"] == pytest.approx(dense.derived[i]["value"], rel=1e-11)
        assert row["u_a*k"] == pytest.approx(dense.derived[i]["std_error"], rel=1e-9)


def test_bounds_hold_shared_and_own_parameters() -> None:
    shared = ad.fit(MODEL, DATA, at=START, by="g", share=["k", "p"], bounds={"p": (0.5, 1)})
    assert shared.converged
    assert shared.parameters["p"]["at_bound"] == "upper"
    assert shared.parameters["p"]["std_error"] is None
    fixed = ad.fit(MODEL, DATA, at=START, by="g", share=["k"], fix=["p"])
    assert shared.parameters["k"]["value"] == pytest.approx(fixed.parameters["k"]["value"], rel=1e-11)
    assert shared.parameters["k"]["std_error"] == pytest.approx(fixed.parameters["k"]["std_error"], rel=1e-9)
    limit = float(np.median(OFFSET))
    held = ad.fit(MODEL, DATA, at=START, by="g", share=["k", "p"], bounds={"c": (-2, limit)})
    assert held.converged
    assert {row["c"] == limit for row in held.groups} == {True, False}
    assert all(np.isnan(row["u_c"]) == (row["c"] == limit) for row in held.groups)


def test_groups_that_are_too_small_are_left_out() -> None:
    data = {"x": [1.0, 2, 3, 1, 1, 2, 3], "y": [2.0, 4, 7, 5, 5, 7, 9.5], "g": ["a", "a", "a", "few", "b", "b", "b"]}
    found = ad.fit("y = a + c*d + b*x", {**data, "d": np.ones(7)}, at={"a": 1, "b": 1, "c": 1}, by="g", share=["b"], fix=["c"])
    assert found.converged  # one row determines one parameter
    found = ad.fit("y = a + b*x + c*x**2", data, at={"a": 1, "b": 1, "c": 0}, by="g", share=["c"])
    assert [row["verdict"] for row in found.groups] == ["minimum", "too_few_rows", "minimum"]
    assert "1 group left out" in found.notes[-1]["message"]


def test_a_group_that_does_not_determine_its_parameters_is_named() -> None:
    data = {"x": [1.0, 2, 3, 2, 2, 2], "y": [2.0, 4, 7, 5, 5.1, 4.9], "g": [1, 1, 1, 2, 2, 2]}
    found = ad.fit("y = a + b*x + c*x**2", data, at={"a": 1, "b": 1, "c": 0}, by="g", share=["c"])
    assert not found.converged
    with pytest.raises(NotSolved, match="g = 2: the rows do not determine a and b"):
        found.require()
    assert found.numbers() == []


def test_a_shared_parameter_that_no_group_determines_is_named() -> None:
    data = {"x": [1.0, 1, 1, 2, 2, 2], "y": [2.0, 2.1, 1.9, 5, 5.1, 4.9], "g": [1, 1, 1, 2, 2, 2]}
    found = ad.fit("y = a*exp(-k*x)", data, at={"a": 1, "k": 1}, by="g", share=["k"])
    assert found.verdict == "singular"
    assert found.reason == "the data do not determine k"


def test_the_command_prints_the_shared_parameters(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("g,t,y\n" + "".join(f"{g},{t:.6f},{y:.6f}\n" for g, t, y in zip(DATA["g"], T, Y, strict=True)))
    command = f'autodiff fit "{MODEL}" {path} --at a=1,k=1,p=1,c=0 --by g --share k,p'
    table, err, code = streams(f"{command} --format table")
    assert (err, code) == ("", 0)
    assert "k and p shared by all groups; 51 degrees of freedom" in table
    assert streams(command)[0].startswith("g,a,u_a,k,u_k,p,u_p,c,u_c,rss,rows,converged,verdict\n")
    report = json.loads(streams(f"{command} --json")[0])
    assert report["shared"] == list(report["parameters"]) == ["k", "p"]
    assert set(report["correlation"]["k"]) == {"k", "p"}
    assert len(streams(f"{command} -q")[0].splitlines()) == 2 + 2 * 5


def test_errors_of_the_option() -> None:
    with pytest.raises(UsageError, match="needs"):
        ad.fit(MODEL, DATA, at=START, share=["k"])
    with pytest.raises(UnknownName, match="names 'q'"):
        ad.fit(MODEL, DATA, at=START, by="g", share=["q"])
    with pytest.raises(UsageError, match="every parameter is shared"):
        ad.fit(MODEL, DATA, at=START, by="g", share=["a", "k", "p", "c"])
    with pytest.raises(UsageError, match="exclude each other"):
        ad.fit(MODEL, DATA, at=START, by="g", share=["k"], loss="huber")
