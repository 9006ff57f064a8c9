"""``fit``: NIST's certified regressions, problems with a known answer, options, and errors."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, stats

import autodiff_cli as ad
from autodiff_cli.errors import AutodiffError, UsageError
from autodiff_cli.solvers.fitting.arguments import fit_problem
from autodiff_cli.solvers.fitting.starts import ROWS
from tests.nist_regression import MODELS, regression, right_digits
from tests.shell import streams

X = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
LINE = {"x": X, "y": np.array([2.1, 3.9, 6.2, 7.8, 10.1])}


@pytest.mark.parametrize("name", MODELS)
def test_certified_values_of_nist_from_both_starts(name: str) -> None:
    known = regression(name)
    for start in known.starts:
        found = ad.fit(known.model, known.columns, at=start)
        assert found.converged
        for parameter, value in known.values.items():
            digits = right_digits(found.parameters[parameter]["value"], value)
            assert digits >= 10
            assert right_digits(found.parameters[parameter]["std_error"], known.errors[parameter]) >= 9
            assert found.digits is not None
        assert right_digits(found.residual["rss"], known.rss) >= 9.5
        assert right_digits(found.residual["std"], known.std) >= 9.5


def test_a_straight_line_is_ordinary_regression() -> None:
    found = ad.fit("y = a + b*x", LINE, at={"a": 0, "b": 0})
    slope, intercept = np.polyfit(X, LINE["y"], 1)
    assert found.parameters["a"]["value"] == pytest.approx(intercept, rel=1e-13)
    assert found.parameters["b"]["value"] == pytest.approx(slope, rel=1e-13)
    _, covariance = np.polyfit(X, LINE["y"], 1, cov=True)
    assert found.covariance["b"]["b"] == pytest.approx(covariance[0, 0], rel=1e-12)
    assert found.covariance["a"]["b"] == pytest.approx(covariance[0, 1], rel=1e-12)


def test_known_standard_deviations_do_not_scale_errors() -> None:
    given = ad.fit("y = a + b*x", LINE, at={"a": 0, "b": 0}, sigma="0.1*x")
    relative = ad.fit("y = a + b*x", LINE, at={"a": 0, "b": 0}, weights="1/x**2")
    _, covariance = np.polyfit(X, LINE["y"], 1, w=1 / (0.1 * X), cov="unscaled")
    assert given.covariance["b"]["b"] == pytest.approx(covariance[0, 0], rel=1e-12)
    assert given.statistics["chi2"] == pytest.approx(given.residual["rss"])
    assert 0 < given.statistics["p"] < 1
    assert relative.statistics["chi2"] is None
    scaled = given.covariance["b"]["b"] * given.statistics["reduced_chi2"]
    assert relative.covariance["b"]["b"] == pytest.approx(scaled, rel=1e-12)
    assert relative.parameters["b"]["value"] == pytest.approx(given.parameters["b"]["value"], rel=1e-13)


def test_data_without_errors_are_a_success() -> None:
    found = ad.fit("y = a*exp(-k*x)", {"x": X, "y": 3 * np.exp(-0.5 * X)}, at={"a": 1, "k": 1})
    assert found.converged
    assert found.values["a"] == pytest.approx(3, rel=1e-14)


def test_fixed_defined_and_bounded_parameters() -> None:
    fixed = ad.fit("y = a + b*x", LINE, at={"a": 0, "b": 1}, fix=["a"])
    assert fixed.values == {"a": 0.0, "b": pytest.approx(float(X @ LINE["y"] / (X @ X)))}
    assert fixed.parameters["a"]["fixed"]
    assert fixed.residual["dof"] == 4
    tied = ad.fit("a = 2 - b; y = a + b*x", LINE, at={"b": 1})
    assert tied.values["b"] == pytest.approx(float((X - 1) @ (LINE["y"] - 2) / ((X - 1) @ (X - 1))))
    held = ad.fit("y = a + b*x", LINE, at={"a": 1, "b": 1}, bounds={"a": (0.5, 2)})
    assert held.converged
    assert held.parameters["a"] == {
        "value": 0.5, "std_error": None, "interval": None, "start": 1.0, "fixed": False, "at_bound": "lower"
    }  # fmt: skip


@pytest.mark.parametrize("loss", ["huber:0.2", "soft_l1:0.2", "cauchy:0.2"])
def test_a_robust_loss_minimises_the_loss(loss: str) -> None:
    data = {"x": X, "y": np.array([2.1, 3.9, 16.2, 7.8, 10.1])}
    found = ad.fit("y = a + b*x", data, at={"a": 0, "b": 2}, loss=loss)
    name, _, scale = loss.partition(":")
    peer = optimize.least_squares(
        lambda p: data["y"] - p[0] - p[1] * X, [0, 2], loss=name, f_scale=float(scale), xtol=1e-15, ftol=1e-15, gtol=1e-15
    )
    assert found.converged
    assert [*found.values.values()] == pytest.approx(peer.x, rel=1e-6)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("y = a*b*x", "the data determine only a*b, not a and b"),
        ("y = a*x/b", "the data determine only a/b, not a and b"),
        ("y = (a + b)*x", "the data determine only a + b, not a and b"),
        ("y = (a - b)*x", "the data determine only a - b, not a and b"),
        ("y = a*x + 0*b", "the data do not determine b"),
        ("y = a*x + b + c*b", "the data determine only a combination of b and c, not each of them"),
    ],
)
def test_parameters_that_the_data_do_not_determine_are_named(expression: str, words: str) -> None:
    found = ad.fit(expression, LINE, at=dict.fromkeys([name for name in "abc" if name in expression], 1.5))
    assert not found.converged
    assert found.verdict == "singular"
    assert found.reason == words


def test_curvature_of_a_published_model() -> None:
    # Venables and Ripley, "Modern Applied Statistics with S": rms.curv of the treated cells of the Puromycin data.
    rate = [76, 47, 97, 107, 123, 139, 159, 152, 191, 201, 207, 200]
    data = {"conc": np.repeat([0.02, 0.06, 0.11, 0.22, 0.56, 1.1], 2), "rate": np.array(rate, float)}
    found = ad.fit("rate = Vm*conc/(K + conc)", data, at={"Vm": 200, "K": 0.1})
    assert found.curvature.parameters == pytest.approx(0.2121, abs=5e-5)
    assert found.curvature.intrinsic == pytest.approx(0.0920, abs=5e-5)


def test_a_parameter_that_the_model_defines_has_a_propagated_error() -> None:
    plain = ad.fit("y = a + b*x", LINE, at={"a": 0, "b": 0})
    tied = ad.fit("a = c/2; y = a + b*x", LINE, at={"c": 1, "b": 0}, derive=["a"])
    assert tied.values == pytest.approx({"c": 2 * plain.values["a"], "b": plain.values["b"]})
    assert tied.derived[0]["value"] == pytest.approx(plain.values["a"])
    assert tied.derived[0]["std_error"] == pytest.approx(plain.errors["a"], rel=1e-10)
    assert tied.statistics["r2"] == pytest.approx(plain.statistics["r2"])


@pytest.mark.parametrize("loss", ["huber:0.2", "soft_l1:0.2", "cauchy:0.2"])
@pytest.mark.parametrize("weights", [None, "1 + x"])
def test_outliers_do_not_widen_the_band_of_a_robust_fit(loss: str, weights: str | None) -> None:
    generator = np.random.default_rng(4)
    x = np.linspace(0, 10, 40)
    y = 1 + 2 * x + 0.1 * generator.standard_normal(40)
    y[[7, 30]] += 4, -5
    found = ad.fit("y = a + b*x", {"x": x, "y": y}, at={"a": 0, "b": 2}, loss=loss, weights=weights, predict={"x": [5.0]})
    weight = np.ones(40) if weights is None else 1 + x
    residuals = (y - found.values["a"] - found.values["b"] * x) * np.sqrt(weight)
    scale = np.median(np.abs(residuals)) / stats.norm.ppf(0.75) * np.sqrt(40 / 38)
    assert found.residual["robust_std"] == pytest.approx(scale, rel=1e-12)
    assert found.residual["std"] == pytest.approx(np.sqrt(np.sum(residuals**2) / 38), rel=1e-12)
    assert found.residual["robust_std"] < found.residual["std"] / 4
    error = np.sqrt(np.array([1, 5.0]) @ found.matrix @ np.array([1, 5.0]))
    assert found.outliers[0]["standardized"] == pytest.approx(residuals[np.argmax(np.abs(residuals))] / scale, rel=1e-9)
    if weights is None:
        half = stats.t.ppf(0.975, 38) * np.hypot(error, scale)
        (row,) = found.prediction.records()
        assert row["prediction_high"] - row["value"] == pytest.approx(half, rel=1e-9)
        assert row["high"] - row["value"] == pytest.approx(stats.t.ppf(0.975, 38) * error, rel=1e-9)
        assert "Robust s is from the median residual" in str(found)


def test_a_band_of_known_standard_deviations_is_theirs() -> None:
    data = {"x": X, "y": 1 + 2 * X + 0.1 * np.sin(37 * X)}
    for loss in (None, "huber:1"):
        found = ad.fit("y = a + b*x", data, at={"a": 0, "b": 2}, loss=loss, sigma="0.5", predict={"x": [1.0]})
        error = np.sqrt(np.ones(2) @ found.matrix @ np.ones(2))
        assert found.prediction.new[0] == pytest.approx(stats.norm.ppf(0.975) * np.hypot(error, 0.5), rel=1e-9)
        low, high = found.parameters["a"]["interval"]
        assert high - low == pytest.approx(2 * stats.norm.ppf(0.975) * found.errors["a"], rel=1e-9)


def test_robust_errors_are_the_sandwich_of_derivatives() -> None:
    data = {"x": X, "y": LINE["y"] + np.array([0, 0.5, -0.3, 0.1, 0.2])}
    found = ad.fit("y = a + b*x", data, at={"a": 0, "b": 0}, loss="soft_l1:1e6")  # nearly the square: White's HC1
    design = np.column_stack([np.ones(5), X])
    residuals = data["y"] - design @ np.linalg.lstsq(design, data["y"], rcond=None)[0]
    bread = np.linalg.inv(design.T @ design)
    covariance = bread @ (design.T * residuals**2) @ design @ bread * 5 / 3
    assert found.errors["b"] == pytest.approx(np.sqrt(covariance[1, 1]), rel=1e-6)
    assert found.problem.errors_from == "sandwich"
    assert found.statistics["aic"] is None


def test_a_trace_has_a_row_for_every_step(line_csv: str) -> None:
    out, _, _ = streams(f"autodiff fit 'y = a*exp(b*x)' {line_csv} --at a=1,b=0.1 --trace --format csv")
    lines = out.splitlines()
    assert lines[0] == "step,a,b,objective,length,damping,done"
    assert lines[1].startswith("0,1.0,0.1,")
    assert lines[-1].endswith("newton")
    table, _, _ = streams(f"autodiff fit 'y = a*exp(b*x)' {line_csv} --at a=1,b=0.1 --trace")
    assert table.split()[:7] == lines[0].split(",")
    values = [float(line.split(",")[3]) for line in lines[1:] if not line.endswith("rejected")]
    assert values == pytest.approx(sorted(values, reverse=True), rel=1e-12)  # Newton steps end in rounding


@pytest.mark.exhaustive
def test_the_same_digits_on_one_and_on_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(threads: int) -> dict[str, object]:
        monkeypatch.setattr("autodiff_cli.compiler.program.processors", lambda: threads)
        return ad.fit("y = a*exp(-b*x) + c", data, at={"a": 1, "b": 2, "c": 0}).to_dict()

    x = np.linspace(0, 5, 100_000)
    data = {"x": x, "y": 2 * np.exp(-x) + 0.5 + 0.1 * np.sin(1e4 * x)}
    assert answer(1) == answer(4)


def test_notes_name_what_was_not_used(line_csv: str) -> None:
    found = ad.fit("y = a*x", LINE, at={"a": 1, "q": 2}, bounds={"a": (3, 4)})
    assert [note["message"] for note in found.notes] == [
        "'q' does not occur in the model",
        "the start of 'a' is outside its bounds; the fit begins at the bound",
    ]
    _, err, _ = streams(f"autodiff fit 'y = a*x' {line_csv} --at a=1,q=2")
    assert err == "note: 'q' does not occur in the model\n"


def test_a_model_that_cannot_be_traced_is_fitted_row_by_row() -> None:
    found = ad.fit("y = det([[a, x], [x, 1]]) + x**2 + b*x", LINE, at={"a": 1, "b": 1})
    plain = ad.fit("y = a + b*x", LINE, at={"a": 1, "b": 1})
    assert found.values == pytest.approx(plain.values)
    assert found.notes[0]["kind"] == "slow"


def test_data_without_rows_and_with_as_many_rows_as_parameters() -> None:
    with pytest.raises(AutodiffError, match="the data have no rows"):
        ad.fit("y = a*x", {"x": [], "y": []})
    found = ad.fit("y = a*x", {"x": [2.0], "y": [3.0]})
    assert (found.converged, found.values["a"], found.parameters["a"]["std_error"]) == (True, 1.5, None)
    constant = ad.fit("y = a*x + b", {"x": [1.0, 1.0, 1.0], "y": [2.0, 3.0, 2.5]})
    assert constant.reason == "the data determine only a + b, not a and b"


def test_a_parameter_that_runs_away_is_named() -> None:
    found = ad.fit("y = b1*(1 - exp(-b2*x))", {"x": [0.0, 0.5, 1.0], "y": [0.0, 1.0, -0.25]}, at={"b1": 500, "b2": 1e-4})
    assert not found.converged
    assert found.reason == "the sum of squares decreases without a minimum as b2 grows"
    assert found.parameters["b2"]["std_error"] is None


@pytest.mark.parametrize("name", ["MGH17", "BoxBOD", "Eckerle4"])
def test_starts_are_found_without_any(name: str) -> None:
    known = regression(name)
    found = ad.fit(known.model, known.columns)
    assert found.converged
    assert found.residual["rss"] == pytest.approx(known.rss, rel=1e-9)


def test_starts_of_many_rows_are_found_from_some_of_them() -> None:
    x = np.linspace(0, 5, 2 * ROWS + 1)
    found = ad.fit("y = a*exp(-b*x) + c", {"x": x, "y": 3 * np.exp(-2 * x) + 0.5}, at={"a": (0.1, 10), "b": (0.01, 20), "c": 0})
    assert found.values == pytest.approx({"a": 3, "b": 2, "c": 0.5}, rel=1e-9)


def test_a_range_tries_several_starts() -> None:
    known = regression("ENSO")
    start = {**known.starts[0], "b4": "10:100", "b7": (10, 100)}
    found = ad.fit(known.model, known.columns, at=start)
    assert found.residual["rss"] == pytest.approx(known.rss, rel=1e-9)
    assert 10 <= found.parameters["b4"]["start"] <= 100


@pytest.mark.parametrize(
    ("expression", "options", "words"),
    [
        ("z = a + b*x", {"at": {"a": 1}}, "'z' is neither a column"),
        ("y = log(a*x)", {"at": {"a": -1}}, r"row 1: the residual is not finite at the start"),
        ("y = a*x; y = b", {"at": {"a": 1, "b": 1}}, "a model is one equation"),
        ("y = a*x", {"at": {"a": 1}, "sigma": "x - 1"}, "row 1: sigma is 0"),
        ("y = a*x", {"at": {"a": 1}, "sigma": "1", "weights": "1"}, "exclude each other"),
        ("y = a*x", {"at": {"a": 1}, "loss": "hubr"}, "unknown loss"),
        ("y = a*x", {"at": {"a": 1, "x": 1}}, "'x' is a column"),
        ("y = a*x + sqrt(b)", {"at": {"a": 1, "b": 0}}, r"row 1: a derivative is not finite .* sqrt\(b\) with b = 0.0"),
        ("y = e*x", {}, "no parameter to fit"),
        ("y = a*x", {"at": {"a": 1}, "fix": ["a"]}, "every parameter is fixed"),
        ("y = a*X", {}, "'X' is neither a column"),
        ("z = a", {"at": {"a": 1, "z": 1}}, "names no column"),
        ("[] + y = a*x", {"at": {"a": 1}}, "the model has 0"),
        ("y = a*x + b*x**2 + c*x**3 + d + e1*x**4 + f*x**5", {"at": dict.fromkeys(["a", "b", "c", "d", "e1", "f"], 1)}, "5 rows"),
    ],
)
def test_errors_say_what_is_wrong(expression: str, options: dict[str, object], words: str) -> None:
    with pytest.raises(AutodiffError, match=words):
        ad.fit(expression, LINE, **options)  # type: ignore[arg-type]


@pytest.fixture
def line_csv(tmp_path: Path) -> str:
    path = str(tmp_path / "line.csv")
    np.savetxt(path, np.column_stack([X, LINE["y"]]), delimiter=",", header="x,y", comments="")
    return path


def test_the_command_prints_numbers_and_json(line_csv: str) -> None:
    model = f"autodiff fit 'y = a + b*x' {line_csv} --at a=0,b=0"
    numbers, _, _ = streams(f"{model} -q")
    assert [float(line) for line in numbers.split()] == pytest.approx([0.05, 1.99])
    answer = json.loads(streams(f"{model} --json")[0])
    assert answer["converged"] is True
    assert list(answer["parameters"]["a"])[:6] == ["value", "std_error", "interval", "start", "fixed", "at_bound"]
    assert "standard errors scaled by s" in streams(model)[0]


def test_the_parameters_as_a_latex_table(line_csv: str) -> None:
    out, _, code = streams(f"autodiff fit 'y = a + b_1*x' {line_csv} --format latex")
    assert code == 0
    assert r"$b_{1}$ & $1.99$ & $0.05972$ & $3$ \% & $1.7999$ .. $2.1801$ &" in out
    _, err, code = streams(f"autodiff fit 'y = a + b*x' {line_csv} --format latex --by x")
    assert code == 2
    assert "one fit" in err


def test_a_fit_that_runs_away_suggests_another_start(tmp_path: Path) -> None:
    path = tmp_path / "decay.csv"
    path.write_text("t,y\n0,5.1\n1,3.7\n2,2.9\n3,2.2\n4,1.9\n5,1.6\n6,1.45\n")
    # At this start the exponential underflows in every row but one, and no derivative leads away from it.
    _, err, code = streams(f"autodiff fit 'y = A*exp(-t/tau) + c' {path} --at tau=1e-4,A=1,c=1")
    assert code == 1
    assert "choose other starting values with --at, or rewrite the model; at other values, the data determine all parameters" in err
    assert streams(f"autodiff fit 'y = A*exp(-t/tau) + c' {path} --at tau=3")[2] == 0


def test_a_fit_of_parameters_that_no_start_determines_suggests_another_model(tmp_path: Path) -> None:
    path = tmp_path / "line.csv"
    path.write_text("x,y\n1,1000000\n2,2000001\n3,3000000\n4,4000002\n")
    _, err, code = streams(f"autodiff fit 'y = (a + b)*x' {path} --at a=1,b=1")
    assert code == 1
    assert "hint: rewrite the model, or fix a parameter with --fix" in err


def test_a_python_module_in_a_model(line_csv: str) -> None:
    _, err, code = streams(f"autodiff fit 'y = a*np.exp(b*x)' {line_csv}")
    assert code == 2
    assert "module 'np' is not available" in err
    assert "write 'exp' instead of 'np.exp'" in err


def test_a_column_with_the_name_of_a_constant_is_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "decay.csv"
    path.write_text("t,e,y\n0,1,2\n1,2,0.74\n2,3,0.27\n3,4,0.1\n")
    out, err, code = streams(f"autodiff fit 'y = A*e**(-t)' {path}")
    assert (code, out) == (2, "")
    assert f"'e' is a column of '{path.name}' and a constant of the language" in err.replace(str(path), path.name)
    assert "use --let e=e for the column" in err
    assert streams(f"autodiff fit 'y = A*e' {path} --let e=e")[2] == 0
    assert streams(f"autodiff fit 'y = A*exp(-t)' {path} --sigma e")[2] == 0


def test_an_unverified_fit_ends_with_1_and_prints_no_numbers(line_csv: str) -> None:
    out, err, code = streams(f"autodiff fit 'y = a*b*x' {line_csv} --at a=1,b=1 -q")
    assert (code, out) == (1, "")
    assert "the data determine only a*b, not a and b" in err


def test_a_row_with_a_missing_cell_is_named_or_skipped(tmp_path: Path) -> None:
    path = tmp_path / "gap.csv"
    path.write_text("x,y\n1,2\n2,\n3,6.1\n4,nan\n5,10\n")
    _, err, code = streams(f"autodiff fit 'y = a*x' {path} --at a=1")
    assert code == 5
    assert "line 3" in err
    assert "use --on-error skip to skip such rows\n" in err
    _, err, code = streams(f"autodiff fit 'y = a*x' {path} --at a=1 --on-error skip")
    assert code == 0
    assert "2 rows left out" in err


@pytest.mark.parametrize("model", ["y = 1e-300*(x*a + b)**2", "y = 0*(x*a + b)"])
def test_a_tiny_start_of_a_parameter_that_the_data_do_not_determine(model: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ad.fit(model, {"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 4.0]}, at={"a": 5e-324, "b": 1.0})
    assert not found.converged
    assert "do not determine" in found.reason


def test_a_model_whose_rows_are_evaluated_separately_has_fewer_steps() -> None:
    data = {"x": [1.0, 2.0, 3.0], "y": [5.0, -6.0, 7.0]}
    model = "y = det([[cos(b*x), a], [x, sin(exp(b/9)*x)]])*exp(b/9)"
    assert ad.fit(model, data, at={"a": 1.0, "b": 40.0}).evaluations < 2_000


def test_columns_come_in_the_order_of_the_model() -> None:
    """The order of a set would change the start that is found from run to run."""
    data = {name: np.arange(1.0, 9) for name in ("unused", "u", "y", "x3", "x2", "x1")}
    problem = fit_problem("y = a*x1 + b*x2 + c*x3", data, sigma="u")
    assert list(problem.data.columns) == ["y", "x1", "x2", "x3", "u"]


def test_a_right_side_without_a_column(tmp_path: Path) -> None:
    """The column has another name than the variable of the model."""
    path = tmp_path / "peak.csv"
    path.write_text("Wavelength (nm),y\n500,1.2\n501,3.1\n502,1.4\n")
    with pytest.raises(AutodiffError) as error:
        ad.fit("y = h*exp(-(x - 501)**2) + a", str(path), at={"h": 3, "a": 1})
    assert error.value.message == f"the right side of the model names no column of '{path}', only x"
    assert "let={'x': COLUMN}" in str(error.value.hint)
    assert "the columns: Wavelength (nm), y" in str(error.value.hint)
    assert ad.fit("y = a", str(path)).parameters["a"]["value"] == pytest.approx(1.9)


def test_files_that_seem_to_have_another_format(tmp_path: Path) -> None:
    for data, option in (("t;y\n1,5;2\n", "delimiter"), ('{"t":1,"y":2}\n', "input_format")):
        path = tmp_path / "data.csv"
        path.write_text(data)
        with pytest.raises(UsageError) as error:
            ad.fit("y = a*exp(-t)", str(path))
        assert f"use {option}=" in str(error.value.hint)


def test_a_model_without_an_equals_sign_is_fitted_to_0() -> None:
    with pytest.raises(AutodiffError) as error:
        ad.fit("a*exp(-x/t) + c", LINE).require()
    assert "the model does not have an '=', so it is fitted to 0" in str(error.value.hint)


@pytest.mark.parametrize("period", [1, 12])
def test_many_rows_begin_at_the_minimum_of_a_part_if_it_has_one(period: int) -> None:
    """With a period of 12, all rows of the part have the same x, which does not determine the parameters."""
    rows = 120_000
    x = np.arange(rows) % 12 / 12 if period == 12 else np.linspace(0, 1, rows)
    y = 2 * np.exp(-x) + 0.01 * np.random.default_rng(0).standard_normal(rows)
    found = ad.fit("y = a*exp(-k*x)", {"x": x, "y": y}, at={"a": 1.0, "k": 0.5})
    expected = optimize.curve_fit(lambda x, a, k: a * np.exp(-k * x), x, y, [2, 1], xtol=1e-14, ftol=1e-14)[0]
    assert found.converged
    assert [found.values["a"], found.values["k"]] == pytest.approx(expected, rel=1e-9)
    assert found.curvature.linear
    largest = np.argsort(-np.abs(y - found.values["a"] * np.exp(-found.values["k"] * x)), kind="stable")[:3]
    assert [outlier["row"] for outlier in found.outliers] == (largest + 1).tolist()
