"""Verdicts of gradcheck, independent of units."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.errors import LimitError, ShapeError, UsageError
from autodiff_cli.gradient_checking.check import Report
from autodiff_cli.gradient_checking.check import gradcheck as check
from autodiff_cli.gradient_checking.points import At
from autodiff_cli.gradient_checking.ridders import DifferenceQuotient
from autodiff_cli.gradient_checking.verdicts import Verdict, rounded
from tests.accuracy.verdicts import triples
from tests.accuracy.verdicts import verdict as said
from tests.shell import run, streams

SCALES = (1e-12, 1e-6, 1.0, 1e6, 1e12)


def verdicts(report: Report) -> list[str]:
    return [entry["verdict"] for entry in report.checks]


@pytest.mark.parametrize(
    ("expression", "at", "const", "claim", "verdict"),
    json.loads((Path(__file__).parent / "cases" / "claims.json").read_text(encoding="utf-8")),
)
def test_a_claim_is_compared_with_the_exact_derivative(
    expression: str, at: dict[str, Any], const: dict[str, Any], claim: str, verdict: str
) -> None:
    assert verdicts(check(expression, at, const, claims=[claim]))[-1] == verdict


@pytest.mark.parametrize(
    ("expression", "at", "verdict"),
    [
        ("f(a) = 1e-6*a**2 with grad (-a); f(x)", {"x": 3e-6}, "fail"),
        ("f(a) = a**3 with grad (3.006*a**2); 1e6*f(x)", {"x": 5e-4}, "fail"),
        ("f(a) = 1/a with grad (7*a); f(x)", {"x": 1e-6}, "fail"),
        ("f(a) = 4e14/a**2 with grad (5e14/a**3); f(x)", {"x": 6.4e6}, "fail"),
        ("1e6*x**3", {"x": 5e-4}, "pass"),
        ("log(x)", {"x": 1e-7}, "pass"),
        ("exp(-x/4.14e-21)", {"x": 1e-20}, "pass"),
        ("1 - cos(x)", {"x": 1e-8}, "pass"),
        ("exp(x)*exp(-x)", {"x": 3.3}, "pass"),
        ("(x + 3)*x*exp(-(x - 2.75)**2)", {"x": 30}, "pass"),  # few digits of a subnormal number, and no error beyond them
        ("x*1e300*1e-300", {"x": 1.1}, "pass"),
        ("cbrt(x)", {"x": 0}, "pass"),
        ("acos(x)", {"x": 1}, "pass"),
        ("x*abs(x)", {"x": 0}, "pass"),
        ("abs((x - 0.625)*(x - 1.125))", {"x": 1.125}, "kink"),  # the central quotient is curvature times the step
        ("1e12*x**2 + abs(x - 3)", {"x": 3}, "kink"),  # the sides differ by 3e-13 of the derivative
        ("floor(x)", {"x": 2}, "jump"),
        ("log(x)", {"x": -1}, "undefined"),
        ("sqrt(x**2 + 1)", {"x": 1e200}, "fail"),
        ("sum(sort(x)[0]*[1, 2, 3])", {"x": [3.0, 1.0, 2.0]}, "pass"),
        ("svdvals(x)[0]", {"x": [[1.0, 2.0], [3.0, 4.0]]}, "pass"),
        ("pinv([[309 - 87*x, 0.375], [0.375, 1e-18*(x + 0.75)]])[0][0]", {"x": 0}, "undecided"),  # rounding hides the small element
        ("inv([[309 - 87*x, 0.375], [0.375, 1e-18*(x + 0.75)]])[0][0]", {"x": 0}, "pass"),
        ("f(a) = svdvals(a)[0] with grad (2*a); f(x)", {"x": [[1.0, 2.0], [3.0, 4.0]]}, "fail"),
    ],
)
def test_derivatives_are_judged_at_any_scale(expression: str, at: dict[str, Any], verdict: str) -> None:
    assert verdicts(check(expression, at)) == [verdict]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("at", SCALES)
@pytest.mark.parametrize("scale", SCALES)
def test_the_verdict_does_not_depend_on_units(at: float, scale: float) -> None:
    for slope, verdict in (("1", "pass"), ("-1", "fail"), ("1.001", "fail"), ("0", "fail"), ("2", "fail")):
        right = f"k/({at}*(1 + (a/{at})**2))"
        by_hand = f"f(a) = k*atan(a/{at}) with grad ({slope}*{right}); f(x)"
        report = check(by_hand, {"x": 1.3 * at}, {"k": scale}, claims=[f"x={slope}*{right.replace('a/', 'x/')}"])
        assert verdicts(report) == [verdict, verdict]


def test_second_derivatives_have_the_same_truth() -> None:
    assert verdicts(check("x**3*y*1e9", {"x": 1e-5, "y": 2e7}, order=2)) == ["pass"] * 6
    wrong = "f(a) = a**3 with grad (3*a**2 + 0*floor(a)); g(a) = a**2 with grad (2*abs(a)); g(x)"
    assert verdicts(check(wrong, {"x": -1e-9}, order=2)) == ["fail", "fail"]
    assert verdicts(check("abs(x)*y", {"x": 0, "y": 2}, order=2)) == ["kink", "pass", "kink", "kink", "kink", "pass"]


def test_several_claims_stand_in_one_option() -> None:
    report = check("x**2*y", {"x": 2, "y": 3}, claims=["x=2*x*y,y=x"])
    assert [entry["wrt"] for entry in report.checks[2:]] == ["x", "y"]
    assert verdicts(report)[2:] == ["pass", "fail"]
    assert (report.checks[3]["claimed"], report.checks[3]["exact"]) == (2.0, 4.0)
    assert report.failure == "the claim y=x gives 2.0, but the derivative is 4.0"
    with pytest.raises(UsageError, match="expected a claim NAME=EXPR"):
        check("x**2*y", {"x": 2, "y": 3}, claims=["2*x*y"])


def test_no_hint_blames_a_derivative_by_hand_that_is_not_there() -> None:
    assert "with grad" in (check("f(a) = a with grad (2); f(x)", {"x": 3}).hint or "")
    assert "with grad" not in (check("sqrt(x**2 + 1)", {"x": 1e200}).hint or "")


def test_the_check_is_there_from_python() -> None:
    report = ad.gradcheck("x**2", [{"x": 1}, {"x": -2}], claims=["x=2*abs(x)"])
    assert [entry["verdict"] for entry in report.checks] == ["pass", "pass", "pass", "fail"]
    assert not report.passed


def test_strict_counts_what_is_undecided() -> None:
    line = "autodiff gradcheck '(tan(x) - sin(x))/x' --at x=3.531684343267526e-12 -q"
    plain, strict = (streams(f"{line} {more}") for more in ("", "--strict"))
    assert (plain[2], strict[2]) == (0, 1)
    assert plain[0] == strict[0] == "undecided\n"
    assert "undecided: rounding errors in the evaluation are as large as the derivative" in strict[1]


@pytest.mark.parametrize("more", ["", "--claim x=2", "--order 2"])
@pytest.mark.parametrize(
    ("expression", "verdict", "sentence"),
    [
        ("floor(x)*x", "jump", "the value jumps from 2 to 4 at x = 2"),
        ("where(x == 2, 5, 2*x)", "jump", "the value jumps from 4 to 5 at x = 2"),
        ("where(x < 2, (x - 2)*1e12, 3*x)", "jump", "the value jumps from 0 to 6 at x = 2"),
        ("where(x <= 2, 1e-18, x - 2)", "jump", "the value jumps from 1e-18 to 0 at x = 2"),
        ("sin(x - 2)/(x - 2)", "undefined", "the value is not defined at x = 2"),
        ("(x - 2)*log(x - 2)", "undefined", "the value is not defined at x = 2"),
    ],
)
def test_no_derivative_is_confirmed_where_the_value_is_not_continuous(
    expression: str, verdict: str, sentence: str, more: str
) -> None:
    out, err, code = streams(f"autodiff gradcheck '{expression}' --at x=2 {more} --json")
    document = json.loads(out)
    assert (code, document["passed"]) == (1, False)
    assert {entry["verdict"] for entry in document["checks"]} <= {verdict, "fail"}
    assert sentence in err or "fail" in {entry["verdict"] for entry in document["checks"]}


def test_the_table_and_csv_of_a_claim_name_it() -> None:
    line = "autodiff gradcheck x**2 --at x=3 --claim x=x"
    assert "claimed   exact" in run(line)
    head = run(f"{line} --format csv").splitlines()[0]
    assert {"claim", "claimed", "exact"} <= set(head.split(","))
    document = json.loads(streams(f"{line} --json")[0])
    assert (document["checks"][1]["claimed"], document["checks"][1]["analytic"]) == (3.0, 6.0)
    assert not document["passed"]


@pytest.mark.parametrize(
    ("texts", "points"),
    [
        (["x=1,2", "y=5"], [{"x": 1, "y": 5}, {"x": 2, "y": 5}]),
        (["x=1", "x=4"], [{"x": 1}, {"x": 4}]),
        (["x=1,2,y=3,4"], [{"x": x, "y": y} for x in (1, 2) for y in (3, 4)]),
        (["x=atan2(1,1)"], [{"x": math.atan2(1, 1)}]),
    ],
)
def test_values_are_combined_to_points(texts: list[str], points: list[dict[str, float]]) -> None:
    assert At(texts).points(10) == points


def test_a_derivative_that_is_wrong_in_one_region_only_is_found() -> None:
    narrow = "f(a) = where(a > 1.7, a**3, a**2) with grad (2*a); f(x)"
    places = At(["x=-2:2"]).points(20)
    assert (places[0], places[-1], len(places)) == ({"x": -2.0}, {"x": 2.0}, 20)
    report = check(narrow, places)
    wrong = [entry["at"]["x"] for entry in report.checks if entry["verdict"] == "fail"]
    assert wrong
    assert min(wrong) > 1.7
    assert f"at x={wrong[0]}" in (report.hint or "")
    assert check("x**2", At(["x=1", "x=2"]).points(2), claims=["x=2"]).failure == (
        "the claim x=2 gives 2.0 at x=2.0, but the derivative is 4.0"
    )


def test_a_range_and_values_of_one_name_are_refused() -> None:
    for texts in (["x=1", "x=0:1"], ["x=0:1", "x=1"], ["x=0:1", "x=0:2"]):
        with pytest.raises(UsageError, match="given twice"):
            At(texts)
    out, err, code = streams("autodiff gradcheck x**2 --at x=1:")
    assert (out, code) == ("", 2)
    assert "only one end" in err


@pytest.mark.exhaustive
def test_verdicts_on_random_functions_and_units_are_right() -> None:
    asked = list(triples(60, seed=7))
    assert [said(triple) for triple in asked] == [triple.verdict for triple in asked]


def test_second_derivatives_of_several_outputs_are_weighted() -> None:
    report = check("[x**2, x**3]", {"x": 2}, order=2, gradient=[1, 1])
    assert verdicts(report) == ["pass", "pass"]
    assert report.checks[1]["numeric"] == 14
    assert verdicts(check("[x**2, x**3]", {"x": 2}, order=2, gradient=[1, 1], claims=["x=2*x + 3*x**2"])) == ["pass"] * 3


@pytest.mark.parametrize("asked", [{"order": 2}, {"claims": ["b=1"]}])
@pytest.mark.parametrize("expression", ["[1, 2] < b*ones(0, 1)", "zeros(0)", "[b, 1]", "[1, 2]"])
def test_second_derivatives_and_claims_are_about_one_number(expression: str, asked: dict[str, Any]) -> None:
    with pytest.raises(ShapeError, match="only for scalar outputs"):
        check(expression, {"b": 0.0}, **asked)


def test_rounding_on_the_way_back_is_not_a_failure() -> None:
    report = check("(tan(x) - sin(x))/x", {"x": 3.531684343267526e-12}, order=2)
    assert [(entry["verdict"], entry["reason"]) for entry in report.checks] == [
        ("undecided", "rounding errors in the evaluation are as large as the derivative")
    ] * 2
    wrong = "f(a) = (tan(a) - sin(a))/a with grad (1e9/a); f(x)"
    assert verdicts(check(wrong, {"x": 3.531684343267526e-12})) == ["fail"]


def test_as_many_derivatives_are_checked_as_there_is_time_for() -> None:
    with pytest.raises(LimitError, match="gradcheck would compare 650 numbers, more than the limit of 500"):
        check("sum(x**2)", {"x": [1.0] * 25}, order=2)
    assert verdicts(check("sum(x**2)", {"x": [1.0, 2.0, 3.0]}, order=2)) == ["pass", "pass"]


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_no_warning_where_a_neighbour_is_outside_the_domain() -> None:
    z = [[1.98, 1.37, -0.782], [0.9, 2.7, 2.52], [0.5, 2, 2]]
    found = ad.gradcheck("deg2rad(power(x, x))*2/dawsn_slope(z, order=0)[2, 2]", at={"x": 0.0, "z": z})
    assert len(found.checks) == 2


def test_large_steps_over_a_flat_function_do_not_decide() -> None:
    """The function is 0 far from the point, so the quotients of large steps are 0 without an error."""
    quotient = DifferenceQuotient(lambda distance: np.array([distance * np.exp(-((1e5 * distance) ** 2))]), 0.0, 1)
    assert quotient.value == pytest.approx([1.0], rel=1e-6)
    assert quotient.judged(0, 1.0).verdict == "pass"


def test_at_a_kink_every_slope_between_the_sides_is_one_of_a_kink() -> None:
    quotient = DifferenceQuotient(lambda distance: np.array([abs(distance) + distance]), 0.0, 1)
    verdicts = {value: quotient.judged(0, value) for value in (-0.1, 0.0, 1.0, 2.0, 2.1)}
    assert [one.verdict for one in verdicts.values()] == ["fail", "kink", "kink", "kink", "fail"]
    assert [one.error == 0 for one in verdicts.values()] == [False, True, True, True, False]


@pytest.mark.parametrize(("error", "verdict"), [(1e-8, "pass"), (4e-7, "pass"), (1e-5, "undecided"), (0.1, "undecided")])
def test_an_error_that_rounding_explains_passes_only_if_it_is_small(error: float, verdict: str) -> None:
    assert rounded(Verdict("fail", 1.0, error, 1e-12), error).verdict == verdict
    assert rounded(Verdict("fail", 1.0, error, 1e-12), error / 4).verdict == "fail"


DATA = {"A": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "b": [1.0, 1.0, 1.0], "c": 3.0}
LOSS = "sum((A @ x - b)**2) + c*sum(x**2)"
RIGHT = "2*A.T @ (A @ x - b) + 2*c*x"


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("A.T @ (A @ x - b) + c*x", "the claim is 1/2 of it"),
        ("-2*c*x - 2*A.T @ (A @ x - b)", "the claim has the opposite sign"),
        ("2*A.T @ (A @ x - b)", "the claim lacks the term 2*c*x"),
        ("2*A.T @ (A @ x - b) - 2*c*x", "the claim has the opposite sign in the term 2*c*x"),
        ("2*A.T @ (A @ x - b) + c*x", "the claim has 1/2 times the term 2*c*x"),
        (f"{RIGHT} + c", "the claim has the term c too many"),
        (f"{RIGHT} + c*cos(x)*x", "the claim has the term c*cos(x)*x too many"),
        ("exp(x)", ""),
    ],
)
def test_a_wrong_claim_of_a_vector_names_the_elements_and_the_mistake(claim: str, sentence: str) -> None:
    report = check(LOSS, {"x": [1.0, 2.0]}, DATA, claims=[f"x={claim}"])
    assert report.failure is not None
    assert "is wrong in 2 elements: x[0] is " in report.failure
    assert report.hint == "; ".join(filter(None, [f"the right derivative is {RIGHT}", sentence]))
    assert report.checks[-1]["elements"] == ["x[0]", "x[1]"]
    assert report.checks[-1]["mistake"] == report.hint


def test_a_claim_of_a_matrix_may_be_the_transpose() -> None:
    at, const = {"W": [[1.0, 2.0], [3.0, 4.0]]}, {"x": [1.0, 2.0], "y": [3.0, 5.0]}
    report = check("y @ W @ x", at, const, claims=["W=outer(x, y)"])
    assert report.failure == ("the claim W=outer(x, y) is wrong in 2 elements: W[0, 1] is 5.0, but the derivative is 6.0")
    assert report.hint == "the right derivative is outer(y, x); the claim is its transpose"


@pytest.mark.parametrize("output", ["sum((A @ x)**2)", "sum((A @ x)**2) + 0*svd(A).S[0]"], ids=["many digits", "float64"])
def test_a_claim_in_the_transposed_shape_is_compared(output: str) -> None:
    at, const = {"A": [[1, 2, 3], [4, 5, 6]]}, {"x": [1, 2, 3]}
    with pytest.raises(ShapeError, match=r"shape \[3, 2\], but A has shape \[2, 3\]: the claim is the transpose of") as raised:
        ad.gradcheck(output, at, const, claims=["A=2*outer(x, A @ x)"])
    assert raised.value.hint == "claim (2*outer(x, A @ x)).T"
    with pytest.raises(ShapeError, match=r"its transpose is wrong at A\[1, 2\]: it is 96, but the derivative is 192"):
        ad.gradcheck(output, at, const, claims=["A=outer(x, A @ x)"])
    with pytest.raises(ShapeError, match=r"shape \[3\], but A has shape \[2, 3\]($|\n)"):
        ad.gradcheck(output, at, const, claims=["A=x"])


@pytest.mark.parametrize(
    ("expression", "claim", "hint"),
    [
        ("log(x**3)", "2/x", "the right derivative is 3/x; the claim is 2/3 of it"),
        ("log(x**3)", "3/x**3", "the right derivative is 3/x"),
        ("sin(x) + x**2", "2*x", "the right derivative is 2*x + cos(x); the claim lacks the term cos(x)"),
        ("y = x**2; y*x", "2*y", "the right derivative is 3*x**2; the claim is 2/3 of it"),
        ("x**3", "-6*x**2", "the right derivative is 3*x**2; the claim is -2 times it"),
        ("x**2", "2.0000000001*x", "the right derivative is 2*x; the claim agrees with it at random positive values, to 9 digits"),
        ("det([[x, 1], [2, x]])", "x", None),
    ],
)
def test_a_wrong_claim_of_a_number_names_the_mistake(expression: str, claim: str, hint: str | None) -> None:
    assert check(expression, {"x": 5.0}, claims=[f"x={claim}"]).hint == hint
