"""Notes: their places, their conditions and their cost; ``cases/notes.txt`` has their words."""

from __future__ import annotations

import json
import pickle
import sys
import tracemalloc
from collections.abc import Callable
from types import FunctionType
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings

import autodiff_cli as ad
from autodiff_cli import notes
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.evaluation.trace import elementwise_shape
from autodiff_cli.language.parser import parse
from autodiff_cli.notes import rewrites, rounding_trials
from tests.accuracy.notes import KINDS
from tests.expressions import FORMULAS, POINTS, Formula
from tests.shell import run


def _notes(expression: str, at: dict[str, Any] | None = None, **options: Any) -> list[dict[str, Any]]:
    return ad.evaluate(expression, at=at, **options).notes


def _kinds(expression: str, at: dict[str, Any] | None = None, **options: Any) -> list[str]:
    return [note["kind"] for note in _notes(expression, at, **options)]


@pytest.mark.parametrize(
    ("expression", "at", "kind", "piece"),
    [
        ("1 + abs(x - 2)", {"x": 2}, "kink", "abs(x - 2)"),
        ("1 + x.abs()", {"x": 0}, "kink", "x.abs()"),
        ("3 + (x % 2)*4", {"x": 4}, "kink", "x % 2"),
        ("f(a) = relu(a); 2*f(x)", {"x": 0}, "kink", "relu(a)"),
        ("1 + log(x)", {"x": -1}, "domain", "log(x)"),
        ("1 + 2/x", {"x": 0}, "nonfinite", "2/x"),
        ("3 + (1 - cos(x))/x**2", {"x": 1e-9}, "cancellation", "1 - cos(x)"),
    ],
)
def test_where_they_stand(expression: str, at: dict[str, float], kind: str, piece: str) -> None:
    note = next(note for note in _notes(expression, at) if note["kind"] == kind)
    assert list(note) == ["kind", "span", "message", "order"]
    start, end = note["span"]
    # Brackets are no part of a tree.
    assert expression[start:end].strip("()") == piece.strip("()")


def test_json_has_them_and_standard_error_too(capsys: pytest.CaptureFixture[str]) -> None:
    from autodiff_cli.cli.main import main

    assert main(["grad", "abs(x)", "--at", "x=0", "--json"]) == 0
    out, err = capsys.readouterr()
    (note,) = json.loads(out)["notes"]
    assert note == {"kind": "kink", "span": [0, 6], "message": err.removeprefix("note: ").rstrip("\n"), "order": 1}
    assert main(["grad", "abs(x)", "--at", "x=0", "--json", "--quiet-notes"]) == 0
    quiet = capsys.readouterr()
    assert (quiet.out, quiet.err) == (out, "")


@pytest.mark.parametrize(
    "command",
    ["eval", "grad", "jacobian", "hessian", "jvp --vector x=1", "vjp", "hvp --vector x=1", "gradcheck", "taylor", "explain"],
)
def test_every_command_has_them(command: str) -> None:
    name, *rest = command.split(" ", 1)
    printed = run(f'autodiff {name} "relu(x)" --at x=0 {" ".join(rest)} -q')
    assert "note: relu at x = 0: the" in printed
    assert "note" not in run(f'autodiff {name} "relu(x)" --at x=0 {" ".join(rest)} -q --quiet-notes')


def test_few_of_each_kind() -> None:
    names = [f"x{k}" for k in range(1, 20)]
    found = _notes(" + ".join(f"abs({name})" for name in names), dict.fromkeys(names, 0))
    assert len(found) == notes.MOST_OF_A_KIND + 1
    assert found[-1] == {"kind": "kink", "span": None, "message": "and 14 more kinks"}


def test_kinks_that_meet_are_one() -> None:
    (found,) = _notes("abs(x) + abs(2*x) + relu(3*x)", {"x": 0})
    words = "the derivative used is 0 (PyTorch); from the left it is -3, from the right 6"
    assert found["message"] == f"abs at x = 0 and 2 more places: {words}"


def test_two_kinks_that_meet_are_both_named() -> None:
    (found,) = _notes("where(x > 0, sqrt(x), 0)", {"x": 0})
    assert found["message"].startswith("x > 0 at x = 0 and sqrt at x = 0: the derivative used is 0")
    (found,) = _notes("abs(x) + abs(2*x)", {"x": 0})
    assert found["message"].startswith("abs at x = 0 and abs at 2*x = 0: the derivative used is 0")


def test_a_function_called_often_says_it_once() -> None:
    found = _notes("f(a) = abs(a); " + " + ".join(["f(x)"] * 30), {"x": 0})
    assert [note["message"].split(":")[0] for note in found] == ["abs at a = 0 and 29 more places"]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_arrays_count(dtype: str) -> None:
    x = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, -1.0]])
    (note,) = _notes("sum(abs(x))", {"x": x}, dtype=dtype)
    assert "at x = 0 in 3 of 6 elements, first at [0, 1]:" in note["message"]
    (note,) = _notes("sum(log(x))", {"x": x}, dtype=dtype)
    assert note["message"] == "log(0.0) is -inf in 4 of 6 elements, first at [0, 1]: log is defined for x > 0"


def test_broadcasting() -> None:
    (note,) = _notes("sum(max(x, y))", {"x": [[1.0], [2.0]], "y": [2.0, 3.0, 1.0]})
    assert note["message"].startswith("maximum at x = 1, y = 1 in 2 of 6 elements, first at [0, 2]:")


def test_a_variable_without_elements_has_no_kink() -> None:
    assert ad.evaluate("sum(y)**0", {"y": []}).notes == []


def test_order_2_knows_bends() -> None:
    assert _kinds("softsign(x)", {"x": 0}) == []
    assert _kinds("softsign(x)", {"x": 0}, order=2) == ["kink"]
    assert _kinds("abs(x)**2", {"x": 0}) == []
    assert _kinds("abs(x)**2", {"x": 0}, order=2) == ["kink"]
    assert _kinds("where(x > 1, abs(x), x)", {"x": 0}, order=2) == []
    assert _kinds("sqrt(x)**3", {"x": 0}, order=3)[0] == "kink"


@pytest.mark.parametrize(
    ("expression", "at", "sides"),
    [
        ("x if x > 0 else -x", 0.0, "used is -1; from the left it is -1, from the right 1"),
        ("where(x > 0, x, -x)", 0.0, "used is -1; from the left it is -1, from the right 1"),
        ("x if x > 0 else x**2", 0.0, "used is 0; from the left it is 0, from the right 1"),
        ("x*sign(x)", 0.0, "used is 0 (PyTorch); from the left it is -1, from the right 1"),
        ("sort([x, 1])[0][0]", 1.0, "used is 1 (PyTorch); from the left it is 1, from the right 0"),
        ("cummax([x, 1])[0][1]", 1.0, "used is 0 (PyTorch); from the left it is 0, from the right 1"),
        ("topk([x, 1], 1)[0][0]", 1.0, "from the left it is 0, from the right 1"),
        ("xlogy(x, x)", 0.0, "from the left it does not exist, from the right it is -inf"),
        ("where(x > 0, sqrt(x), 0)", 0.0, "used is 0; from the left it is 0, from the right inf"),
        ("where(x > 0, 1, 2)", 0.0, "used is 0; the value jumps from 2 to 1"),
        ("x if x != 3 else 3", 3.0, "used is 0; from both sides it is 1"),
        ("abs(1e-30*x - 1)*1e-20", 1e30, "from the left it is -1e-50, from the right 1e-50"),
        ("norm([x, 2*x])", 0.0, "from the left it is -2.23607, from the right 2.23607"),
    ],
)
def test_branches_are_kinks(expression: str, at: float, sides: str) -> None:
    (kink,) = [note for note in _notes(expression, {"x": at}) if note["kind"] == "kink"]
    assert kink["message"].endswith(sides)
    assert kink["order"] == 1


@pytest.mark.parametrize(
    "expression",
    [
        *(
            "x**x",
            "where(x > 0, x**2, x**2)",
            "where(x > 0, x**2, -x**2)",
            "x*abs(x)",
            "abs(x) - abs(-x)",
            "x**1.5",
            "x**3*sign(x)",
        ),
        *("sum(sort([x, 0])[0])", "1 if x > 0 else 1", "sin(x)/x if x != 0 else 1 + 0*x", "max(x, 0) + min(x, 0)", "relu(x)**2"),
    ],
)
def test_what_goes_on_smoothly_is_no_kink(expression: str) -> None:
    assert "kink" not in _kinds(expression, {"x": 0.0})


def test_an_end_of_a_domain_states_what_is_true() -> None:
    (note,) = _notes("x**x", {"x": 0})
    assert note["kind"] == "domain"
    assert note["message"].endswith("used is 0 (PyTorch); from the left it does not exist, from the right it is -inf")


@pytest.mark.parametrize("expression", ["x*abs(x)", "where(x > 0, x**2, -x**2)"])
def test_second_derivatives_have_kinks_of_their_own(expression: str) -> None:
    (note,) = _notes(expression, {"x": 0}, order=2)
    assert (note["kind"], note["order"]) == ("kink", 2)
    assert note["message"].endswith("-2, from the right 2")
    (mixed,) = _notes("x*abs(y)", {"x": 0, "y": 0}, order=2)
    assert "the second derivative used with respect to y and x is 0; from the left it is -1, from the right 1" in mixed["message"]


def test_what_depends_on_no_kink_has_no_note() -> None:
    assert _kinds("c*abs(x)", {"x": 0, "c": 0.0}, wrt=["x"]) == []
    assert _kinds("abs(c) + x", {"x": 1}, const={"c": 0}) == []
    assert _kinds("relu(relu(x) - 1)", {"x": 0}) == []
    assert _kinds("y = abs(x); x", {"x": 0}) == []
    assert _kinds("abs(x)", {"x": 0}, no_grad=True) == []


def test_values_that_do_not_matter_have_no_note() -> None:
    assert _kinds("y = log(x); x", {"x": -1}) == []
    assert _kinds("where(x > 0, log(x), x)", {"x": [-1.0, 1.0]}, gradient=[1.0, 1.0]) == []
    assert _kinds("exp(-1/x)", {"x": 0}, no_grad=True) == []


@pytest.mark.parametrize(
    "expression",
    [
        *("x - x", "5 - 5", "x*2 - x - x", "0.5 + 0.25 - 0.75", "exp(x) - exp(x)", "exp(x) - exp(y)", "x**2 - y**2"),
        *("f(a) = sin(3*a); f(x) - f(y)", "(x + 1)**2 - x**2 - 2*x - 1", "sum([x, -x])", "1 - cos(0)", "sqrt(4) - 2"),
        *("6/3 - 2", "x//1 - x", "1 - abs(1)"),
    ],
)
def test_exact_cancellation_is_no_loss(expression: str) -> None:
    assert _kinds(expression, {"x": 3, "y": 3})[-1:] in ([], ["constant"], ["unused"], ["kink"])
    assert "cancellation" not in _kinds(expression, {"x": 3, "y": 3})


@pytest.mark.exhaustive
@given(FORMULAS, POINTS, POINTS)
@settings(max_examples=40, deadline=None)
def test_no_kink_away_from_kinks(formula: Formula, x: float, y: float) -> None:
    at = {"x": x + 0.0123, "y": y - 0.0321}
    assert "kink" not in _kinds(formula.text, at, order=2)
    value = float(ad.evaluate(formula.text, at).value)
    assume(min(abs(value), abs(value - 0.1), abs(value - round(value))) > 1e-6)
    assert "kink" not in _kinds(f"abs({formula.text}) + relu({formula.text}) + max({formula.text}, 0.1) % 1", at)


@given(FORMULAS, POINTS, POINTS)
@settings(max_examples=100, deadline=None)
def test_a_value_without_digits_has_a_note(formula: Formula, x: float, y: float) -> None:
    result = ad.evaluate(formula.text, {"x": x, "y": y})
    with mpmath.workdps(60):
        truth = formula.function(mpmath.mpf(x), mpmath.mpf(y))
        lost = abs(mpmath.mpf(float(result.value)) - truth) > mpmath.mpf("1e-6") * abs(truth)
    if lost:
        assert "cancellation" in [note["kind"] for note in result.notes]


@pytest.mark.parametrize(
    ("expression", "at", "order", "digits"),
    [
        ("(1 - cos(x))/x", 1e-8, 1, "16 of 16 digits are lost in 1 - cos(x); 2*sin(x/2)**2 keeps them"),
        ("sin(1e15*x)", 1.3, 1, "15 of 16 digits are lost in sin(1e15*x)"),
        ("1 + exp(x) - x", 1e-12, 1, "12 of 16 digits are lost"),
        ("(exp(x) - 1)/x", 1e-6, 2, "16 of 16 digits are lost"),
    ],
)
def test_derivatives_without_digits(expression: str, at: float, order: int, digits: str) -> None:
    found = [note for note in _notes(expression, {"x": at}, order=order, command="grad") if note["order"] == order]
    message = f"the {'second ' * (order - 1)}derivative with respect to x: about {digits}"
    assert [(note["kind"], note["message"]) for note in found] == [("cancellation", message)]


@pytest.mark.parametrize(
    ("expression", "at"), [("1 - cos(x)", 1e-8), ("log(1 + x)", 1e-12), ("x**2 - 2*x + 1", 1.00001), ("x - x", 0.1)]
)
def test_right_derivatives_beside_a_bad_value(expression: str, at: float) -> None:
    assert _notes(expression, {"x": at}, command="grad") == []


@pytest.mark.parametrize("expression", ["exp(x)", "atan(x**2)", "1/x", "exp(-x**2)", "tanh(x**2)", "x*0 + exp(-x)"])
@pytest.mark.parametrize("at", [1e200, -1e200, 750.0])
def test_ends_that_do_no_harm_have_no_note(expression: str, at: float) -> None:
    assert {"overflow", "underflow", "cancellation"}.isdisjoint(_kinds(expression, {"x": at}))


def test_hints_hold() -> None:
    for overflow in (False, True):
        for pattern, better in rewrites._rewrites(overflow):
            at = {name: value for name, value in (("a", 0.3), ("b", 0.7), ("x", 0.3), ("y", 0.7))}
            from autodiff_cli.language.tree import unparse

            text = unparse(pattern)
            if "softmax" in better or "mean" in text:
                at = {name: np.array([value, value + 0.2]) for name, value in at.items()}
            first, second = ad.evaluate(text, const=at).value, ad.evaluate(better, const=at).value
            assert np.allclose(first, second, rtol=1e-12), text


def test_hints_see_through_spelling() -> None:
    def hint(text: str) -> str | None:
        tree = parse(text)
        return rewrites.stable_rewrite(tree.children[0], tree)

    assert hint("ln(1.0 + x*y)") == "log1p(x*y)"
    assert hint("1 - cos(x + y)") == "2*sin((x + y)/2)**2"
    assert hint("log(2 + x)") is None
    assert hint("(x + 1)**2 - y**2") is None


def test_notes_are_worked_out_once_and_travel() -> None:
    result = ad.evaluate("abs(x)", {"x": 0})
    assert result.notes is result.notes
    again = pickle.loads(pickle.dumps(ad.evaluate("abs(x)", {"x": 0})))
    assert again.notes == result.notes


def test_a_mistake_in_a_note_costs_the_note_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(notes, "STRICT", False)
    monkeypatch.setattr(notes.kinks, "kink_notes", broken)
    assert _kinds("abs(x) + 1/x", {"x": 0}) == ["nonfinite"]


@pytest.mark.parametrize("expression", ["sum(log(x)*x)", "sum(abs(x)/x)", "max(x) - amin(x)", "sum(clamp(x, 0, 1) - cos(x))"])
@pytest.mark.parametrize("value", [0.0, -1.0, 1e-9, np.nan, np.inf, 1e308])
def test_notes_are_no_errors(expression: str, value: float) -> None:
    _notes(expression, {"x": np.array([value, 1.0, value])}, order=2)
    _notes(expression, {"x": np.zeros((0, 2))}) if "a" not in expression[:4] else None


def test_strict_is_as_before() -> None:
    assert run('autodiff grad "abs(x)" --at x=0 --strict -q').startswith("0.0\nnote: abs")
    assert "[exit code 4]" in run('autodiff grad "sqrt(x)" --at x=0 --strict -q')


@pytest.mark.parametrize(
    ("command", "caret"),
    [
        ('eval "3 + log(x)" --at x=-1', "log(x)"),
        ('grad "3*sqrt(x)" --at x=0', "sqrt(x)"),
        ('hessian "x + x**1.5" --at x=0', "x**1.5"),
        ('taylor "1 + 1/x" --at x=0', "1/x"),
        ('jacobian "[x, 2/x]" --at x=0', "2/x"),
        ('explain "1 + 2/x" --at x=0', "2/x"),
    ],
)
def test_strict_says_where(command: str, caret: str) -> None:
    message, source, carets, *_ = run(f"autodiff {command} --strict -q").split("\n")
    assert message.startswith("error: ")
    start = carets.index("^")
    assert source[start : start + carets.count("^")] == caret


def test_large_arrays_are_looked_at_quickly() -> None:
    """Their elements are compared, and nothing is computed from them: no array of numbers as long as they are is made."""
    x = np.linspace(0.5, 2, 1_000_000)
    result = ad.evaluate("sum(sin(x)*exp(-x**2) + sqrt(x))", {"x": x})
    tracemalloc.start()
    try:
        assert result.notes == []
        assert tracemalloc.get_traced_memory()[1] < x.nbytes / 2
    finally:
        tracemalloc.stop()


def test_the_largest_array_that_is_examined() -> None:
    (note,) = _notes("sum(1 - cos(x))", {"x": np.full(10_000, 1e-9)})
    assert "in 10,000 of 10,000 elements, first at [0]" in note["message"]
    assert _notes("sum(1 - cos(x))", {"x": np.full(10_001, 1e-9)}) == []


@pytest.mark.exhaustive
def test_long_programs_have_notes_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the lines, twice the calls; not with sys.setprofile, in which Python 3.11 hangs once in a while."""
    count = 0

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += 1
            return function(*args, **kwargs)

        return called

    rooms = ("autodiff_cli.language", "autodiff_cli.evaluation", "autodiff_cli.notes", "autodiff_cli.derivatives")
    for module in [module for name, module in sys.modules.items() if name.startswith(rooms)]:
        for name, value in list(vars(module).items()):
            if isinstance(value, FunctionType) and value.__module__.startswith(rooms):
                monkeypatch.setattr(module, name, counted(value))

    def calls(lines: int) -> int:
        before = count
        result = ad.evaluate("y = abs(x)\n" + "y = sin(y)\n" * lines + "y", {"x": 0.0})
        assert [note["kind"] for note in result.notes] == ["kink"]
        return count - before

    assert 1_000 < calls(1_000) < 2.2 * calls(500)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_sample_of_known_truth(kind: str) -> None:
    """``python -m tests.accuracy.notes`` has more of them; the figures are in docs/accuracy.md."""
    cases = list(KINDS[kind](16, 4))
    assert {case.needs for case in cases} == {True, False}
    assert [case for case in cases if case.needs != case.given] == []


@pytest.mark.parametrize(
    ("expression", "x"),
    [
        ("(exp(sin(x)) - cos(x))*exp(-x)", 8.85482860858612e-12),  # cancels whatever the results are multiplied by
        ("(tan(x) - sin(x))/x", 3.531684343267526e-12),
        ("(exp(x) - 1)*exp(-x)", 116.90003397041313),
        ("sin(expm1(x))", 64.99612798935387),
    ],
)
def test_digits_of_second_derivatives_that_are_lost_on_the_way_back(expression: str, x: float) -> None:
    found = ad.evaluate(expression, {"x": x}, order=2).notes
    assert any(each["kind"] == "cancellation" and each["order"] == 2 for each in found)


def test_comparisons_by_name_are_looked_at() -> None:
    assert "kink" in {each["kind"] for each in ad.evaluate("x if ge(x, y=1) else x**2", {"x": 1.0}).notes}


@pytest.mark.parametrize(
    ("expression", "x", "sides"),
    [
        ("cos(fmod(x**2 - 1, 1))", 0, "the value jumps from 0.540302 to 1"),
        ("cos(fmod((x - 3)**2 - 1, 1))", 3, "the value jumps from 0.540302 to 1"),
        ("frac(x**2 - 1)", 0, "the value jumps from -1 to 0"),
        ("floor(cos(x))", 0, "the value jumps from 0 to 1"),
        ("ceil(cosh(x))", 0, "the value jumps from 2 to 1"),
        ("trunc(1 - x**2)", 0, "the value jumps from 0 to 1"),
        ("x*floor(cos(x))", 0, "the derivative used is 1; from both sides it is 0"),
        ("where(1 - x**2 == 1, 5, 2)*x", 0, "the derivative used is 5; from both sides it is 2"),
    ],
)
def test_a_jump_that_rounding_hides_nearby(expression: str, x: float, sides: str) -> None:
    (message,) = [note["message"] for note in ad.evaluate(expression, {"x": x}).notes if note["kind"] == "kink"]
    assert sides in message.replace(" (PyTorch)", "")


@pytest.mark.parametrize(
    "expression",
    [
        *(
            "floor(cosh(x) - 0.5)",
            "(x**2 - 1) % 1",
            "relu(1 - cos(x))",
            "max(1, 1 - x**2)",
            "clamp(cos(x), -1, 1)",
            "abs(1 - cos(x))",
        ),
        *("where(cos(x) == 1, cos(x), 1 - x**2/2)", "floor(x**2)", "floor(abs(x))", "fmod(x**2 + 1, 1)", "x*relu(0*x)"),
    ],
)
def test_what_rounding_hides_may_be_smooth(expression: str) -> None:
    assert [note for note in ad.evaluate(expression, {"x": 0.0}).notes if note["kind"] == "kink"] == []


def test_a_variance_without_the_last_dimension_has_no_common_shape() -> None:
    evaluation = Evaluation("gaussian_nll_loss(w, 2*w, [0.5, 0.11], reduction='sum')", {"w": np.ones((2, 3))})
    assert [elementwise_shape(step) for step in evaluation.trace if step.op and step.op.name == "gaussian_nll_loss"] == [None]
    assert notes.notes_on(evaluation, [], 2) == []


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    ("expression", "at"),
    [
        ("log(x**3)", {"x": 5.0}),
        ("sin(x*y) + exp(-x)", {"x": 1.3, "y": 0.7}),
        ("(1 - x[0])**2 + 100*(x[1] - x[0]**2)**2", {"x": [-1.2, 1.0]}),
        ("sum(A @ x)", {"A": [[1.0, 2.0], [3.0, 4.0]], "x": [1.0, 2.0]}),
        ("softplus(x) + erf(x)", {"x": 2.0}),
        ("f(a) = a**2 + 1; f(x)/x", {"x": 3.0}),
        ("x**2", {"x": 0.0}),
    ],
)
def test_bounds_of_errors_are_enough_for_accurate_numbers(
    expression: str, at: dict[str, Any], order: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounding_trials, "derivatives", None)
    monkeypatch.setattr(notes, "STRICT", True)
    assert ad.evaluate(expression, at, order=order).notes == []
    with pytest.raises(TypeError):
        _ = ad.evaluate("(1 - cos(x))/x**2", {"x": 1e-7}, order=order).notes
