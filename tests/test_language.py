"""The language: precedence, printing, the parser compared with lark, limits of size, refusals."""

from __future__ import annotations

import functools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Lark, Token, Tree

import autodiff_cli as ad
from autodiff_cli.derivatives.evaluate import evaluate
from autodiff_cli.errors import AutodiffError, LimitError, ParseError
from autodiff_cli.evaluation.evaluator import Evaluator
from autodiff_cli.language import _tables
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax, unparse
from tests.compilers import compiler_of

compiler = compiler_of("grammar")
POINT = {"a": 2, "b": 3, "c": 0.5, "x": 1.5, "y": 0.25, "z": 4}

PRECEDENCE = [
    ("-x**2", "-(x**2)"),
    ("2**-x**2", "2**(-(x**2))"),
    ("a**b**c", "a**(b**c)"),
    ("a^b^c", "a**(b**c)"),
    ("x - y - z", "(x - y) - z"),
    ("x/y/z", "(x/y)/z"),
    ("x/y*z", "(x/y)*z"),
    ("-x.sum()", "-(x.sum())"),
    ("a if b else c", "(a) if (b) else (c)"),
    ("a if x > 1 else b if x > 0 else c", "a if (x > 1) else (b if (x > 0) else c)"),
    ("not a < b", "not (a < b)"),
    ("a < b and b < x or x > y", "((a < b) and (b < x)) or (x > y)"),
    ("not a and b", "(not a) and b"),
    ("a + b*c", "a + (b*c)"),
    ("a*b + c", "(a*b) + c"),
    ("-a*b", "(-a)*b"),
    ("- -a", "-(-a)"),
    ("+x - -y", "(+x) - (-y)"),
    ("a // b % c", "(a // b) % c"),
    ("a + b < c*x", "(a + b) < (c*x)"),
    ("a < b < z", "(a < b) and (b < z)"),
    ("2*x.abs()**2", "2*((x.abs())**2)"),
]


@pytest.mark.parametrize(("text", "bracketed"), PRECEDENCE)
def test_precedence(text: str, bracketed: str) -> None:
    assert evaluate(text, POINT).value == evaluate(bracketed, POINT).value


def test_precedence_of_index_and_matrix_product() -> None:
    assert evaluate("x[1:3]", {"x": [1, 2, 3, 4]}, gradient="[1, 1]").value.tolist() == [2, 3]
    assert evaluate("[[1, 2], [3, 4]] @ v", {"v": [1, 1]}, gradient="[1, 1]").value.tolist() == [3, 7]
    assert evaluate("-x[0]**2", {"x": [3, 1]}).value == -9


VALUES = json.loads((Path(__file__).parent / "cases" / "values.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_value(text: str, value: float) -> None:
    got = evaluate(text).value
    assert got == value or (math.isnan(got) and math.isnan(value))


# Random trees, built so that their text can be anything the grammar allows.

_names = st.sampled_from(["x", "y", "z"])
_numbers = st.one_of(st.integers(0, 999).map(str), st.floats(0, 1e6).map(repr))


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%", "@", "**", "<", ">=", "==", " and ", " or "]), inner)
    return st.one_of(
        binary.map("".join),
        binary.map(lambda t: f"({''.join(t)})"),
        inner.map(lambda s: f"-{s}"),
        inner.map(lambda s: f"not {s}"),
        inner.map(lambda s: f"({s})"),
        st.tuples(inner, inner, inner).map(lambda t: f"{t[0]} if {t[1]} else {t[2]}"),
        st.tuples(_names, inner, inner).map(lambda t: f"f({t[1]}, k={t[2]}).g({t[1]})[{t[0]}, {t[1]}:{t[2]}, ::2].T"),
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
    )


TEXTS = st.recursive(st.one_of(_names, _numbers), _combined, max_leaves=12)


def _shape(node: Syntax) -> Any:
    return (node.kind, node.text, [_shape(child) for child in node.children])


def _tree(text: str) -> Syntax | None:
    try:
        return parse(text)
    except ParseError:
        return None


@given(TEXTS)
def test_printing_and_parsing_agree(text: str) -> None:
    tree = _tree(text)
    if tree is not None:
        printed = unparse(tree)
        assert _shape(parse(printed)) == _shape(tree)
        assert unparse(parse(printed)) == printed


@pytest.mark.parametrize(
    "text",
    [
        "a - (b - c)",
        "a - b - c",
        "a/(b/c)",
        "a/(b*c)",
        "(a + b)*c",
        "(a**b)**c",
        "(-a)**b",
        "-a**b",
        "a**-b",
        "(a if b else c) + 1",
        "a if (b if c else a) else b",
        "not (a and b)",
        "(a < b) == c",
        "(a + b).sum()",
        "(-a).T",
        "-a.T",
        "f(a, (b, c)[0], k=1)",
        "a[1:, ::2, ..., none]",
        "f(a, b) = a**b with grad (b*a**(b - 1), a**b*log(a)); x = f(1, 2); x",
    ],
)
def test_brackets_are_printed_where_they_are_needed(text: str) -> None:
    printed = unparse(parse(text))
    assert _shape(parse(printed)) == _shape(parse(text))
    assert printed == text.replace("(b, c)", "[b, c]")


@functools.cache
def _lark() -> Lark:
    return Lark(compiler.GRAMMAR.read_text(encoding="utf-8"), parser="lalr", lexer="basic", maybe_placeholders=False)


def _lark_shape(node: Any) -> Any:
    if isinstance(node, Token):
        return (node.type, str(node), [])
    assert isinstance(node, Tree)
    return (str(node.data), "", [_lark_shape(child) for child in node.children])


@given(TEXTS)
@settings(max_examples=100)
def test_the_driver_parses_as_lark_does(text: str) -> None:
    try:
        expected = _lark_shape(_lark().parse(text))
    except Exception:
        expected = None
    tree = _tree(text)
    assert (None if tree is None else _shape(tree)) == expected


def test_the_tables_are_those_of_the_grammar() -> None:
    grammar = compiler.GRAMMAR.read_text(encoding="utf-8")
    assert compiler.checksum(grammar) == _tables.GRAMMAR_CHECKSUM
    built = compiler.build(grammar)
    assert {key: built[key] for key in ("tokens", "keywords", "literals", "ignored")} == {
        key: _tables.TABLES[key] for key in ("tokens", "keywords", "literals", "ignored")
    }
    assert sorted(built["rules"]) == sorted(_tables.TABLES["rules"])
    assert len(built["actions"]) == len(_tables.TABLES["actions"])


@given(st.text(alphabet="x1.+-*/()[]= ,;\n#<!&'\"e_ifnot^@%:", max_size=20))
@settings(max_examples=250)
def test_any_text_is_evaluated_or_refused(text: str) -> None:
    """No traceback, whatever is typed; and the place of an error is inside the text."""
    refused = None
    try:
        evaluate(text, {"x": 0.5})
    except AutodiffError as error:
        refused = error
    if refused is not None:
        assert refused.message
        start, end = refused.span or (0, 0)
        assert 0 <= start <= end <= len(refused.source or "")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "make",
    [
        lambda n: "+".join(["x"] * n),
        lambda n: "sin(" * n + "x" + ")" * n,
        lambda n: "(" * n + "x" + ")" * n,
        lambda n: "-" * n + "x",
        lambda n: "; ".join(f"y{i} = {'x' if i == 0 else f'y{i - 1}'}*1" for i in range(n)),
        lambda n: f"sum([{', '.join(['x'] * n)}])",
    ],
    ids=["sum", "calls", "brackets", "signs", "statements", "list"],
)
def test_deep_and_long_programs(make: Any) -> None:
    """2,000 levels: parse, print, evaluate, sweep and free touch no recursion limit."""
    text = make(2_000)
    tree = parse(text)
    assert _same_text(unparse(tree), text)
    result = evaluate(text, {"x": 0.5})
    assert np.isfinite(result.value)
    assert np.isfinite(result.grad["x"])


def _same_text(printed: str, text: str) -> bool:
    return printed.replace(" ", "").replace("(x)", "x") == text.replace(" ", "").replace("(x)", "x") or "((" in text


def test_limits() -> None:
    with pytest.raises(LimitError, match="268,435,456"):
        evaluate("ones(100000, 100000)")
    with pytest.raises(LimitError):
        evaluate("x.reshape(-1, 1) * x", {"x": np.ones(20_000)}, gradient=1.0)
    with pytest.raises(LimitError):
        evaluate("x.reshape(-1, 1) @ x.reshape(1, -1)", {"x": np.ones(20_000)})
    with pytest.raises(LimitError):
        evaluate("zeros(20000, 0) @ zeros(0, 20000)")
    with pytest.raises(LimitError, match="numbers"):
        evaluate("sum(x**3)", {"x": np.ones(1000)}, order=2)


@pytest.mark.exhaustive
def test_endless_recursion_is_refused() -> None:
    with pytest.raises(LimitError, match="nested more than 100,000 deep"):
        evaluate("f(x) = f(x); f(1)")


def test_a_program_of_too_many_operations_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Evaluator, "most_operations", 1000)
    with pytest.raises(LimitError, match="more than 1,000 operations"):
        evaluate("+".join(["x"] * 1100), {"x": 1})
    with ad.unlimited():
        assert evaluate("+".join(["x"] * 1100), {"x": 1}).value == 1100


@pytest.mark.sampled(5)
@pytest.mark.parametrize("depth", [40, 3_000])
@pytest.mark.parametrize(
    "text", ["x[{}0{}]", "sum(reshape(x, {}2{}))", "sum(cat({}x{}))", "sum({}x{})", "sum(x, dim={}0{})", "x[0*{}0, 0{}]"]
)
def test_lists_of_any_depth_are_refused_and_not_walked(text: str, depth: int) -> None:
    for opening, closing in (("[", "]"), ("[0, ", "]")):
        with pytest.raises(AutodiffError, match="nested more than 32 deep"):
            evaluate(text.format(opening * depth, closing * depth), {"x": [1, 2]})


def test_positions_that_are_no_array() -> None:
    with pytest.raises(AutodiffError, match="rows of this list"):
        evaluate("x[[1, [2, 3]]]", {"x": [1, 2]})
    assert evaluate("sum(x[[true, false]])", {"x": [3, 4]}).value == 3
    assert evaluate("sum(x[[1, 1, 0]])", {"x": [3, 4]}).value == 11
