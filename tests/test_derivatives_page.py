"""The page of derivatives: its formulas are MathML that has the meaning of their LaTeX, and one chooses with the keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.browser import Page
from tests.pages.derivatives import CASES
from tests.pages.mathml import mathml
from tests.shell import ROOT, run

SHOWN = (ROOT / "docs" / "derivatives.md").read_text(encoding="utf-8")
BODY = SHOWN[SHOWN.index("<div") :]


def _text(formula: str) -> str:
    """Write MathML on one line, with brackets around what its structure holds together."""

    def written(element: ElementTree.Element) -> str:
        parts = [written(child) for child in element]
        forms = {"mfrac": "[{}/{}]", "msup": "{}^{}", "msub": "{}_{}", "msubsup": "{}_{}^{}", "msqrt": "√[{}]"}
        text = forms[element.tag].format(*parts) if element.tag in forms else (element.text or "") + "".join(parts)
        return f"*{text}" if element.get("class") == "bold" else text

    return written(ElementTree.fromstring(formula))


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\frac{3}{x}", "[3/x]"),
        (r"-\frac{x \, e^{-\frac{x^{2}}{2}}}{\sqrt{2 \pi}}", "−[xe^−[x^2/2]/√[2π]]"),
        (r"2 \mathbf{A}^{\top} (\mathbf{A} \mathbf{x} - \mathbf{b})", "2*A^⊤(*A*x−*b)"),
        (r"\lVert \mathbf{X} \rVert_{F}^{2}", "‖*X‖_F^2"),
        (r"\log_{2}\left(x_{12}\right)", "log_2(x_12)"),
        (r"\operatorname{log\_softmax}(\mathbf{z}) \odot \boldsymbol{\mu}", "log_softmax(*z)⊙*μ"),
    ],
)
def test_mathml_has_the_structure_of_the_latex(latex: str, text: str) -> None:
    assert _text(mathml(latex)) == text


def test_a_command_that_is_not_known_is_an_error() -> None:
    with pytest.raises(ValueError, match="heartsuit"):
        mathml(r"\heartsuit")


def test_the_page_is_well_formed_and_has_an_article_for_each_link() -> None:
    root = ElementTree.fromstring(BODY)
    links = [link.attrib["href"][1:] for link in root.iter("a")]
    assert links == [article.attrib["id"] for article in root.iter("article")]
    assert len(set(links)) == len(CASES)


def test_the_commands_print_what_the_page_shows() -> None:
    for article in ElementTree.fromstring(BODY).iter("article"):
        _, *formulas, command = ["".join(code.itertext()) for code in article.iterfind(".//pre/code")]
        printed = run(command)
        assert all(formula in printed for formula in formulas), command


def test_keys_choose_an_expression(browser: Any, tmp_path: Path) -> None:
    script, style = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("derivatives.js", "site.css"))
    page = Page(browser, tmp_path, f"<!DOCTYPE html><meta charset=utf-8><style>{style}</style>{BODY}<script>{script}</script>")

    def shown() -> list[str]:
        return page.texts("article:not([hidden]) > h2")

    assert shown() == [CASES[0].name]
    for keys, at in [("\ue015", 1), ("\ue010", -1), ("\ue013", -2), ("\ue011", 0)]:  # down, end, up, home
        page.one('a[aria-current="true"]').send_keys(keys)
        assert shown() == [CASES[at].name]
        assert browser.execute_script("return document.activeElement.textContent") == CASES[at].name
    page.one(f'a[href="#{CASES[5].id}"]').click()
    assert shown() == [CASES[5].name]
    page.open(f"#{CASES[-1].id}")
    assert shown() == [CASES[-1].name]
    width = browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1]
    assert page.errors() == []
