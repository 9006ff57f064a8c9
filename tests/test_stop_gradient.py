"""Parts without a gradient, ``detach(x)`` and ``no_grad(expr)``: every way to derivatives treats them as constants.

The truth is the same expression with a constant, ``k``, that has the value of the part.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.cli.main import main
from autodiff_cli.code_generation.export import export
from autodiff_cli.compiler.program import Program
from autodiff_cli.derivatives.taylor import expand
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.gradient_checking.check import gradcheck
from autodiff_cli.script.interpreter import Interpreter
from autodiff_cli.symbolic.differentiate import diff

CASES = [
    ("x*{}(x)", "x"),
    ("{}(x**2 + 1)*sin(x)", "x**2 + 1"),
    ("exp(x*{}(y)) + y", "y"),
    ("x*y + {}(sin(x)*y)*x", "sin(x)*y"),
    ("f(a) = a*{}(a**2); f(x) + f(y)", None),
    ("sum(i=1..3, x**i*{}(x))", None),
    ("where({}(x) > 1, x**2, x)", None),
    ("z = {}(x*y); z*x if z > 0 else x", None),
]
POINT = {"x": 1.25, "y": 0.75}


def expression(case: tuple[str, str | None], name: str) -> str:
    return case[0].format(name)


def truth(case: tuple[str, str | None]) -> Any:
    """The result with a constant in place of the part, by hand where it occurs at several values."""
    text, part = case
    if part is not None:
        k = ad.evaluate(part, POINT).value
        return ad.evaluate(text.replace("{}(" + part + ")", "k"), POINT, {"k": k}, order=2)
    x, y = POINT["x"], POINT["y"]
    by_hand = {
        "f(a)": ("x*k + y*m", {"k": x**2, "m": y**2}),
        "sum(": ("x*k + x**2*k + x**3*k + 0*y", {"k": x}),
        "wher": ("x**2 + 0*y", {}),
        "z = ": ("k*x + 0*y", {"k": x * y}),
    }
    found, constants = by_hand[text[:4]]
    return ad.evaluate(found, POINT, constants, order=2)


def at_of(text: str) -> dict[str, float]:
    return {name: value for name, value in POINT.items() if name in text.replace("exp", "")}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["detach", "no_grad"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_all_ways_treat_it_as_a_constant(case: tuple[str, str | None], name: str) -> None:
    text, expected = expression(case, name), truth(case)
    at = at_of(text)
    names = list(at)

    def same(found: Any, wanted: Any) -> None:
        assert np.allclose(np.asarray(found, float), np.asarray(wanted, float), rtol=1e-12, atol=1e-12)

    result = ad.evaluate(text, at, order=2)
    same(result.value, expected.value)
    for a in names:
        same(result.grad[a], expected.grad[a])
        same([result.hessian[a][b] for b in names], [expected.hessian[a][b] for b in names])
    program = ad.compile(text, names, order=2)
    if "if z" not in text:
        assert isinstance(program, Program)
    columns = program(**{a: np.array([value, value]) for a, value in at.items()})
    same(columns["value"][1], expected.value)
    for i, a in enumerate(names):
        same(columns[f"d_{a}"][1], expected.grad[a])
        for b in names[i:]:
            same(columns[f"d_{a}_{b}"][1], expected.hessian[a][b])
    for term, formula in diff(text, wrt=names, order=2).texts.items():
        wanted = expected.hessian[term[0]][term[1]] if len(term) == 2 else expected.grad[term[0]]
        same(ad.evaluate(formula, at).value, wanted)
    made: dict[str, Any] = {}
    exec(compile(export(text, "python", wrt=names), "exported", "exec"), made)
    value, gradient = made["f"](**at)
    same(value, expected.value)
    same(gradient, [expected.grad[a] for a in names])
    for a in names:
        evaluation = Evaluation(text, {a: at[a]}, {b: at[b] for b in names if b != a})
        same(expand(evaluation, 2).coefficients, [expected.value, expected.grad[a], expected.hessian[a][a] / 2])
    report = gradcheck(text, at, order=2)
    assert report.passed, report
    verified = ad.evaluate(text, at, order=2, verify=True).to_dict()["verified"]
    assert all(digits > 14 for digits in verified["grad"].values())


def test_a_check_with_finite_differences_holds_it_constant() -> None:
    report = gradcheck("x*detach(exp(x))", {"x": 1.5})
    assert report.passed
    assert [(one["kind"], one["span"]) for one in report.notes] == [("constant", [2, 16])]
    assert gradcheck("svdvals(outer(x, detach(x)))[0]", {"x": [1.0, 2.0]}).passed  # in float64 only


def test_the_table_shows_what_is_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "y = no_grad(x**2); y*detach(x)*x", "--at", "x=3", "--json"]) == 0
    rows = {row["expression"]: row for row in json.loads(capsys.readouterr().out)["tensors"]}
    assert [rows[text]["requires_grad"] for text in ("x", "x**2", "no_grad(x**2)", "detach(x)")] == [True, False, False, False]
    assert (rows["x**2"]["grad_fn"], rows["x"]["grad"]) == (None, 27.0)


def test_recording_goes_on_after_an_error_inside() -> None:
    with pytest.raises(ad.errors.AutodiffError):
        ad.evaluate("no_grad([1, 2] @ [1, 2, 3])*x", {"x": 1.0})
    assert ad.is_grad_enabled()
    interpreter = Interpreter({})
    with pytest.raises(ad.errors.AutodiffError):
        list(interpreter.run("x = tensor(1., requires_grad=true)\ny = no_grad([1, 2] @ [1, 2, 3])"))
    assert [shown.text for shown in interpreter.run("(2*x).requires_grad")] == ["True"]


def test_methods_and_functions_of_the_program() -> None:
    assert ad.evaluate("x*x.detach()", {"x": 3.0}).grad["x"] == 3.0
    assert ad.evaluate("detach(a) = 2*a; detach(x)", {"x": 3.0}).grad["x"] == 2.0
    assert ad.detach(ad.tensor(3.0, requires_grad=True)).requires_grad is False


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("y*detach(x)", [2, 11]),
        ("y + no_grad(x**2)*y", [4, 17]),
        ("k = x.detach(); k*y", [4, 14]),
        ("y*detach(x) + x", None),
        ("y*x", None),
    ],
)
def test_a_note_tells_where_the_gradient_stops(text: str, span: list[int] | None) -> None:
    notes = [one for one in ad.evaluate(text, POINT).notes if one["kind"] == "constant"]
    assert [one["span"] for one in notes] == ([] if span is None else [span])
    assert all("the derivative with respect to x is 0" in one["message"] for one in notes)
