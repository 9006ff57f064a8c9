"""What notebooks show: HTML of tensors and results."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.command_result import CommandResult
from autodiff_cli.derivatives.taylor import expand
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.explain.explain import explain


def tables(html: str) -> list[list[list[str]]]:
    """The texts of the cells of each table; the HTML must be well-formed."""
    root = ElementTree.fromstring(f"<div>{html}</div>")
    return [[["".join(cell.itertext()) for cell in row] for row in table.iter("tr")] for table in root.iter("table")]


class Elements(HTMLParser):
    """The elements of a text, as a browser reads them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes |= {name for name, _ in attrs}


def shown(thing: ad.Tensor | CommandResult) -> str:
    html = thing._repr_html_()
    assert Elements(html).found <= {"table", "thead", "tbody", "tr", "th", "td", "pre", "span", "b", "i", "p"}
    assert Elements(html).attributes <= {"style"}
    return html


def test_a_tensor_is_a_table_of_its_properties() -> None:
    x = ad.tensor([[1.0, 2.0], [3.0, 4.5]], requires_grad=True)
    y = (x**2).sum()
    y.backward()
    ((header, row),) = tables(shown(x))
    found = dict(zip(header, row, strict=True))
    assert found == {
        "value": "[[1,   2],\n [3, 4.5]]",
        "shape": "(2 x 2)",
        "dtype": "float64",
        "requires_grad": "True",
        "is_leaf": "True",
        "grad_fn": "None",
        "grad": "[[2, 4],\n [6, 9]]",
    }
    ((_, row),) = tables(shown(y))
    assert row == ["34.25", "()", "float64", "True", "False", "SumBackward0", "None"]


@pytest.mark.parametrize("shape", [(100_000,), (300, 300), (13, 1), (2, 3, 4, 5), (0, 3)])
def test_a_large_tensor_is_abbreviated(shape: tuple[int, ...]) -> None:
    html = shown(ad.zeros(*shape))
    assert len(html) < 2_000
    assert f"({' x '.join(map(str, shape))})" in html


def test_tensors_of_transformations_and_lost_histories_are_texts() -> None:
    texts = []
    ad.vmap(lambda x: texts.append((shown(x), repr(x))) or x)(ad.ones(3))
    x = ad.ones(3, requires_grad=True).clone()
    with ad.no_grad():
        view = x[:2]
    x.mul_(2)
    first, _ = ad.ones(4, requires_grad=True).clone().split(2)
    with pytest.raises(ad.errors.GraphError):
        first.mul_(2)
    for html, text in [*texts, (shown(view), ""), (shown(first), "")]:
        assert text in "".join(ElementTree.fromstring(f"<div>{html}</div>").itertext())


def test_a_result_shows_the_numbers_of_its_json() -> None:
    result = ad.evaluate("y = x**3; log(y)", at={"x": 5.0}, order=2)
    rows, hessian = tables(shown(result))
    found = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    for row, record in zip(found, result.to_dict()["tensors"], strict=True):
        assert float(row["value"]) == pytest.approx(record["value"], rel=1e-5)
        assert {name: row[name] for name in ("name", "expression")} == {name: record[name] for name in ("name", "expression")}
        for name in ("requires_grad", "is_leaf", "retains_grad", "grad_fn"):
            assert row[name] == str(record[name])
        assert row["grad"] == ("None" if record["grad"] is None else f"{record['grad']:g}")
    assert hessian == [["", "x"], ["x", "-0.12"]]


def test_a_result_shows_its_notes() -> None:
    assert "<p>note: abs at x = 0: the derivative used" in shown(ad.evaluate("abs(x)", at={"x": 0.0}))


def test_text_of_the_user_is_escaped() -> None:
    result = ad.evaluate("where(x < 1, x, 2*x)", at={"x": 0.5})
    html = shown(result)
    assert "where(x &lt; 1, x, 2*x)" in html
    assert "where(x < 1, x, 2*x)" in [row[1] for row in tables(html)[0]]


RESULTS = [
    ad.check_gradient("x**2 + sin(y)", {"x": 1.0, "y": 2.0}, claims=["x=2*x"]),
    ad.root("x**2 + y**2 = 4; x*y = 1", at={"x": 2, "y": 0.5}),
    ad.minimize("(1 - x)**2 + 100*(y - x**2)**2", at={"x": -1.2, "y": 1}),
    ad.propagate("4*pi**2*L/T**2", at={"L": "0.994(1)", "T": "2.001(2)"}),
    ad.fit("y = a*x + b", {"x": np.arange(5.0), "y": np.array([1.0, 3.1, 4.9, 7.2, 9.0])}, at={"a": 1, "b": 0}),
    ad.evaluate("sin(x)*y", at={"x": 1.0, "y": 2.0}, order=3, verify=True),
    expand(Evaluation("sin(x)", {"x": 0.0}), 5),
    explain(Evaluation("log(x**3) + sum(w*x)", {"x": 5.0, "w": [1.0, 2.0]}), order=2),
]


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.command)
def test_every_result_shows_the_words_of_its_text(result: CommandResult) -> None:
    html = shown(result)
    found = unescape(re.sub("<[^>]+>", " ", html)).split()
    in_two_lines = {"requires_", "is_", "retains_", "leaf", "grad"}
    expected = [word for word in re.sub("─+", " ", str(result)).split() if word not in in_two_lines]
    assert [word for word in expected if word not in found] == []
    assert html.count("<p>") == len(result.notes)
    assert html.count("<table>") == len(re.findall("^─+$", str(result), re.MULTILINE))
