"""Expressions as LaTeX: their text, their meaning, and that pdflatex accepts them."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import ClassVar

import pytest

from autodiff_cli.errors import ParseError
from autodiff_cli.language.latex import latex
from autodiff_cli.language.latex_names import escaped, number
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax
from tests.processes import completed

_, *PRINTED = (Path(__file__).parent / "cases" / "latex.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(("text", "expected"), [line.split("  ") for line in PRINTED])
def test_printed(text: str, expected: str) -> None:
    assert latex(text) == expected
    assert latex(parse(text)) == expected


def test_numbers() -> None:
    given = ("1_000", "3.", ".5", "2.5E-3", "1e+06", "-1e-05", "-inf", "nan")
    assert [number(text) for text in given] == [
        *("1000", "3", "0.5", r"2.5 \cdot 10^{-3}", "10^{6}", "-10^{-5}", r"-\infty", r"\mathrm{nan}")
    ]


def test_what_is_no_expression_is_an_error() -> None:
    with pytest.raises(ParseError):
        latex("2x")


@pytest.mark.exhaustive
def test_long_chains() -> None:
    assert latex("+".join(["x"] * 20_000)).count("x") == 20_000
    assert latex("-" * 8_000 + "x").count("x") == 1


# The same numbers, read back by the rules of mathematics


class Reader:
    """Reads a printed formula as a person does: products without a sign, powers behind the names of functions."""

    TOKEN = re.compile(r"\\(?:left\||right\||operatorname\{\w+\}|[a-z]+|,)|\d+(?:\.\d+)?|[a-z]|\S")
    FUNCTIONS: ClassVar[dict[str, Callable[[float], float]]] = {r"\sin": math.sin, r"\cos": math.cos, r"\arctan": math.atan}

    def __init__(self, text: str, names: dict[str, float]) -> None:
        self.tokens = [t for t in self.TOKEN.findall(text) if t not in (r"\left", r"\right")] + ["end"]
        self.names = names

    def take(self, *wanted: str) -> str:
        token = self.tokens.pop(0)
        assert not wanted or token in wanted, (token, wanted)
        return token

    def sum(self) -> float:
        sign = self.take() if self.tokens[0] in "+-" else "+"
        value = -self.product() if sign == "-" else self.product()
        while self.tokens[0] in ("+", "-"):
            value = value + self.product() if self.take() == "+" else value - self.product()
        return value

    def product(self) -> float:
        value = self.power()
        while self.tokens[0] not in ("+", "-", ")", "}", r"\right|", "end"):
            if self.tokens[0] in (r"\cdot", r"\,"):
                self.take()
            value *= self.power()
        return value

    def power(self) -> float:
        value = self.atom()
        if self.tokens[0] == "^":
            value = self.raised(value)
            assert self.tokens[0] != "^", "two powers of one base are an error of LaTeX"
        return value

    def raised(self, value: float) -> float:
        self.take("^")
        return value ** self.between("{", "}")

    def between(self, left: str, right: str) -> float:
        self.take(left)
        value = self.sum()
        self.take(right)
        return value

    def atom(self) -> float:
        token = self.tokens[0]
        if token in ("(", "{"):
            return self.between(token, {"(": ")", "{": "}"}[token])
        if token == r"\left|":
            return abs(self.between(token, r"\right|"))
        self.take()
        if token == r"\frac":
            return self.between("{", "}") / self.between("{", "}")
        if token == r"\sqrt":
            return math.sqrt(self.between("{", "}"))
        if token in self.FUNCTIONS:
            exponent = self.raised(math.e) if self.tokens[0] == "^" else math.e
            return self.FUNCTIONS[token](self.between("(", ")")) ** math.log(exponent)
        return self.names[token] if token in self.names else float(token)


def _leaf(kind: str, token: str, text: str) -> Syntax:
    return Syntax(kind, [Syntax(token, [], text, (0, 0))], "", (0, 0))


ATOMS = [_leaf("name", "NAME", name) for name in "xye"] + [_leaf("number", "NUMBER", number) for number in ("2", "0.5", "3e-1")]


def _tree(random: Random, leaves: int) -> Syntax:
    """A tree of operators, signs, powers and calls."""
    if random.random() < 0.35:
        inner = _tree(random, leaves)
        kind = random.choice(("neg", "neg", "pow", "sin", "cos", "atan", "abs", "square"))
        if kind == "pow":
            return Syntax(kind, [inner, _leaf("number", "NUMBER", random.choice("0123"))], "", (0, 0))
        if kind == "neg":
            return Syntax(kind, [inner], "", (0, 0))
        return Syntax("call", [Syntax("NAME", [], kind, (0, 0)), Syntax("arguments", [inner], "", (0, 0))], "", (0, 0))
    if leaves == 1:
        return random.choice(ATOMS)
    left = random.randrange(1, leaves)
    parts = [_tree(random, left), _tree(random, leaves - left)]
    return Syntax(random.choice(("add", "sub", "mul", "div")), parts, "", (0, 0))


NAMES = {"x": 0.7, "y": -1.3, "e": math.e}


def _value(tree: Syntax) -> float:
    parts = [_value(child) for child in tree.children if child.kind not in ("NAME", "NUMBER")]
    if tree.kind in ("name", "number"):
        text = tree.children[0].text
        return NAMES[text] if text in NAMES else float(text)
    if tree.kind == "call":
        functions = {"sin": math.sin, "cos": math.cos, "atan": math.atan, "abs": abs, "square": lambda v: v * v}
        return float(functions[tree.children[0].text](parts[0]))
    operators: dict[str, Callable[..., float]] = {
        "arguments": lambda a: a,
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "pow": lambda a, b: a**b,
        "neg": lambda a: -a,
    }
    return operators[tree.kind](*parts)


@pytest.mark.parametrize("seed", range(6))
def test_it_means_the_same(seed: int) -> None:
    random = Random(seed)
    compared = 0
    for _ in range(500):
        tree = _tree(random, random.randrange(1, 8))
        try:
            expected = _value(tree)
        except (ZeroDivisionError, OverflowError):
            continue
        if abs(expected) > 1e6:
            continue
        reader = Reader(latex(tree), NAMES)
        got = reader.sum()
        assert reader.tokens == ["end"]
        assert math.isclose(got, expected, rel_tol=1e-6, abs_tol=1e-6), latex(tree)
        compared += 1
    assert compared > 350


# A document


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_pdflatex_takes_it(tmp_path: Path) -> None:
    letters = escaped("".join(map(chr, [*range(0x20, 0x7F), *range(0xA0, 0x180), 0x6F22])))
    lines = [rf"\[ {latex(text)} \]" for text in PRINTED]
    document = [r"\documentclass{article}", r"\usepackage{amsmath}", r"\begin{document}", *lines, rf"\text{{{letters}}}"]
    (tmp_path / "t.tex").write_text("\n".join([*document, r"\end{document}"]), encoding="utf-8")
    done = completed(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"], cwd=tmp_path, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
