"""PyTorch's recorded answers: values, gradients, Hessians and kinks, through the JSON of the command line; and its graphs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.cli.main import main
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import walk

GOLDEN = Path(__file__).with_name("golden")
RECORDS = json.loads((GOLDEN / "expressions.json").read_text())["records"]
GRAPHS = json.loads((GOLDEN / "nodes.json").read_text())["graphs"]

assert ad.sin is FUNCTIONS["sin"].function  # the functions are declared when the package is used


def _known(expression: str) -> bool:
    calls = [node.children[0].text for node in walk(parse(expression)) if node.kind == "call"]
    methods = [node.children[1].text for node in walk(parse(expression)) if node.kind == "method"]
    return all(name in FUNCTIONS for name in calls + methods)


KNOWN = [record for record in RECORDS if _known(record["expr"])]


def test_the_functions_of_this_version_are_covered() -> None:
    assert len(KNOWN) == len(RECORDS)


def _number(value: Any) -> Any:
    return np.array([float(v) for v in value] if isinstance(value, list) and not isinstance(value[0], list) else value, dtype=float)


def _same(got: Any, expected: Any, exactly: bool) -> bool:
    got, expected = _number(got), _number(expected)
    if got.shape != expected.shape:
        return False
    if exactly:
        return bool(np.array_equal(got, expected, equal_nan=True))
    return bool(np.allclose(got, expected, rtol=1e-12, atol=1e-12, equal_nan=True))


@pytest.mark.parametrize("record", KNOWN, ids=lambda r: f"{r['expr']} at {r['at']}")
def test_expression(record: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["eval", record["expr"], "--json"]
    for name, value in record["at"].items():
        arguments += ["--at", f"{name}={json.dumps(value)}"]
    if "hessian" in record:
        arguments += ["--order", "2"]
    assert main(arguments) == 0
    answer = json.loads(capsys.readouterr().out)
    exactly = record["kind"] == "kink"
    assert _same(answer["value"], record["value"], exactly)
    assert set(answer["grad"]) == set(record["at"])
    for name, expected in record["grad"].items():
        assert _same(answer["grad"][name], expected, exactly), name
    for a, row in record.get("hessian", {}).items():
        for b, expected in row.items():
            assert _same(answer["hessian"][a][b], expected, False), (a, b)


POINTS = {"x": 0.3, "y": 0.7, "v": [0.3, 0.7], "w": [1.5, -0.5], "A": [[3.0, 1.0], [1.0, 2.0]], "B": [[0.5, 1.0], [2.0, 0.3]]}
CODE = {"t(v)": "t(v)", "where(c, x, y)": "where(x > y, x, y)"}
# PyTorch records these only where its own helper functions are used, or with an argument that did not require grad.
LATER = ("logdet(A)", "binary_cross_entropy_with_logits(v, w)")


def _graph(node: Any) -> Any:
    if node is None:
        return None
    return [type(node).__name__, *(_graph(None if edge is None else edge[0]) for edge in node.next_functions)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [pair for pair in GRAPHS.items() if _known(pair[0]) and pair[0] not in LATER],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_graph(expression: str, expected: Any) -> None:
    code = CODE.get(expression, expression)
    used = {node.text for node in walk(parse(code)) if node.kind == "NAME"}
    session = Evaluation(code, {name: value for name, value in POINTS.items() if name in used})
    found = _graph(session.output.grad_fn)
    assert found == expected


def test_finite_difference_of_code02() -> None:
    golden = {r["id"]: r for r in json.loads((GOLDEN / "walkthrough.json").read_text())["records"]}["code02"]
    session = Evaluation("(log((x + 0.001)**3) - log(x**3))/0.001", const={"x": 5}, dtype="float32")
    assert math.isclose(session.output.item(), golden["finite_difference"], rel_tol=1e-2)
