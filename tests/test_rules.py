"""The tables of rules: what the compiler writes, and that each derivative in a table is the one that is computed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.errors import ArgumentError, AutodiffError, ParseError, ShapeError
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import names_in, split_outside_brackets
from tests.compilers import compiler_of
from tests.points import samples_of

assert ad.sin is not None  # installs the functions


compiler = compiler_of("rules")


def test_the_modules_are_those_of_the_tables() -> None:
    modules = {**compiler.compiled(), **compiler.names_of_functions()}
    stale = [path.name for path, text in modules.items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run: python grammar/compile_rules.py"


def _derivatives(op: FunctionInfo) -> list[str]:
    """The derivatives that a table states as expressions of the parameters; none if they are stated in words."""
    texts = split_outside_brackets(op.formula)
    try:
        trees = [parse(text) for text in texts]
    except ParseError:
        return []
    known = {name for name in op.parameters if type(op.default(name)) is not str} | {"e", "pi"}
    return texts if len(texts) == len(op.tensors) and all(names_in(tree) <= known for tree in trees) else []


STATED = [op for op in {op.name: op for op in FUNCTIONS.values()}.values() if op.formula and samples_of(op) and _derivatives(op)]


def _written(value: Any) -> str:
    """A plain argument in the notation of the language."""
    return repr(value) if type(value) is str else str(value).lower()


@pytest.mark.parametrize("op", STATED, ids=lambda op: op.name)
def test_the_derivative_in_the_table_is_the_computed_one(op: FunctionInfo) -> None:
    compared = 0
    for sample in samples_of(op):
        values = {name: op.default(name) for name in op.parameters} | dict(zip(op.parameters, sample, strict=False))
        tensors = {name: float(values[name]) for name in op.tensors if not isinstance(values[name], list)}
        if len(tensors) < len(op.tensors) or any(
            type(value) is str and value != op.default(name) for name, value in values.items()
        ):
            continue  # the table states the derivative for numbers and for the default of a word
        arguments = ", ".join(name if name in tensors else _written(value) for name, value in values.items())
        computed = ad.evaluate(f"{op.name}({arguments})", at=tensors).grad
        plain = {name: value for name, value in values.items() if name not in tensors and isinstance(value, (int, float))}
        for name, text in zip(op.tensors, _derivatives(op), strict=True):
            stated = ad.evaluate(text, at=tensors, const=plain).value
            # A quotient may be 0/0 where the derivative is its limit.
            agrees = math.isclose(float(computed[name]), float(np.asarray(stated)), rel_tol=1e-9, abs_tol=1e-12)
            assert agrees or (math.isnan(stated) and "/" in text), (name, sample)
            compared += agrees
    assert compared or all(any(isinstance(value, (list, str)) for value in sample) for sample in samples_of(op))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f(x)  np.sin  cos(x)  -  sine", None),
        ("f(x)  np.sin  cos(x)  -", "4 columns"),
        ("f(x)  np.sin  cos(y)  -  sine", "line 2, f: y is not a parameter"),
        ("f(x)  np.sin  nothing(x)  -  sine", "'nothing' is not in a table"),
        ("f(x)  np.sin  cos(x  -  sine", "line 2"),
        ("f(x)  np.sin  cos(x)  -  sine\n   node: Sin", "line 3"),
        ("%in place tan", "%in place names tan"),
        ("f(x)  sine\n    value: = sin(x)\n    requires: x.shape", "line 2, f: 'requires:' has a condition"),
        ("f(x)  sine\n    value: = sin(x)\n    requires: y > 0 | ShapeError | wrong", "line 2, f: y is not a parameter"),
        ("f(x: angle = 1)  np.sin  cos(x)  -  sine", "line 2: not a kind: angle"),
    ],
)
def test_a_mistake_in_a_table_is_reported_with_its_line(text: str, message: str | None) -> None:
    def module() -> str:
        table = compiler.read("some", f"%elementwise\n{text}\ncos(x)  np.cos  -sin(x)  -  cosine\nsin(x)  np.sin  cos(x)  -  sine")
        return str(compiler.Compiler(table, compiler.Names([table])).module())

    if message is None:
        assert "lambda g, x: g * cos(x)" in module()
    else:
        with pytest.raises(AutodiffError, match=message):
            module()


def test_a_requirement_raises_its_error_with_shapes_as_lists() -> None:
    with pytest.raises(ShapeError) as caught:
        ad.cov(ad.ones(1, 2, 3))
    assert caught.value.message == "cov(): expected input to have two or fewer dimensions but got an input with 3 dimensions"
    with pytest.raises(ShapeError, match=r"weight must have 3 dimensions, but its shape is \[2\]"):
        ad.bilinear(ad.ones(2), ad.ones(2), ad.ones(2))
    with pytest.raises(ArgumentError) as refused:
        ad.cond(ad.ones(2, 2), 3)
    assert refused.value.hint == "use none, 1, -1, 2, -2, inf, -inf, 'fro' or 'nuc'"
