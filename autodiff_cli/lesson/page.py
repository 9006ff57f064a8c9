"""A lesson as one HTML page that loads nothing from other places.

The programs of the pages are in ``front/``; ``npm run build`` writes them into ``assets/``.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from importlib.resources import files

import numpy as np

from autodiff_cli.arrays import Array
from autodiff_cli.command_result import plain
from autodiff_cli.errors import AutodiffError
from autodiff_cli.explanation.model import CotangentContribution, ExplainedStep, Explanation, ForwardLine
from autodiff_cli.explanation.sentences import broadcast_text, unsigned_zeros
from autodiff_cli.language.tree import free_name_nodes, unparse
from autodiff_cli.lesson.recomputing import function_source
from autodiff_cli.limits import check_count
from autodiff_cli.report.array_text import finite_or_text, human


class Numbers:
    """The texts of numbers with a number of significant digits, and of the steps of a backward pass."""

    def __init__(self, precision: int) -> None:
        self.precision = precision

    def text(self, value: Array | float) -> str:
        """Return a number or an array as text, in which -0 is 0."""
        return human(unsigned_zeros(value), self.precision)

    def known(self, value: Array | None) -> dict[str, object] | None:
        """Return the data of a number, as ``number`` does; ``None`` stands for an unknown number."""
        return None if value is None else self.number(value)

    def number(self, value: Array) -> dict[str, object]:
        """Return the text of a number or an array, the shape of an array, and whether the elements are conditions."""
        array = np.asarray(value)
        shape = {"shape": list(array.shape)} if array.shape else {}
        return {"text": self.text(value), **shape, **({"condition": True} if array.dtype == np.bool_ else {})}

    def step(self, step: ExplainedStep) -> dict[str, object]:
        """Return the data of a step of a backward pass."""
        return {
            "names": step.names,
            "operation": unparse(step.operation),
            "grad_fn": step.grad_fn,
            "selects": step.selects,
            "gradients": [self.number(gradient) for gradient in step.gradients],
            "contributions": [self.contribution(contribution) for contribution in step.contributions],
        }

    def contribution(self, part: CotangentContribution) -> dict[str, object]:
        """Return the data of a contribution to a gradient, with the local derivative if it is known."""
        return {
            "to": part.to,
            "formula": None if part.formula is None else unparse(part.formula),
            "rule": part.words,
            "local": self.known(part.local),
            "value": self.number(part.value),
            "total": self.number(part.total),
            "broadcast": broadcast_text(part) if part.is_broadcast else None,
            "masked": part.masked,
        }


MOST_LINES = 1_000
"""The most lines of a page that opens in a few seconds."""
_MARK = re.compile(r"\{(title|about|style|at|data|code|script)\}")


def to_html(result: Explanation, precision: int) -> str:
    """Return the page of an explanation; raise ``LimitError`` for more than ``MOST_LINES`` lines, unless limits are lifted."""
    check_count(len(result.forward), MOST_LINES, "the lesson has {} steps forward, more than the limit of {}")
    numbers = Numbers(precision)
    source, reason = "", None  # of the function that computes the page for other inputs; or why there is none
    try:
        source = function_source(result)
    except AutodiffError as error:
        reason = error.message
    data = {**_content(result, numbers), "fixed": reason if result.given else None}
    return page_html(result.expression, {name: numbers.text(value) for name, value in result.given.items()}, data, source)


def page_html(
    title: str, at: Mapping[str, object], data: dict[str, object], source: str = "", kind: str = "lesson", about: str = ""
) -> str:
    """Return the text of a page, which is its template in ``assets/`` with texts, data and programs in place of its marks.

    Args:
        title: the heading of the page.
        at: the inputs, which are shown below the heading.
        data: what the page shows, as an object for JSON.
        source: JavaScript that computes the numbers again for other inputs; empty if it cannot.
        kind: the name of the assets, ``lesson`` or ``plot``.
        about: a sentence above the heading that says what the page is; empty for no sentence.
    """
    # A "<" inside a script could end it; JSON has another spelling of it.
    content = json.dumps(finite_or_text(data), ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    inputs = ", ".join(f"{name} = {value}" for name, value in at.items())
    parts = {
        "title": html.escape(title),
        "about": html.escape(about),
        "style": _asset(f"{kind}.css"),
        "at": html.escape(f"at {inputs}" if inputs else ""),
        "data": content,
        "code": f"<script>{source}</script>\n" if source else "",
        "script": _asset(f"{kind}.js"),
    }
    return _MARK.sub(lambda match: parts[match[1]], _asset(f"{kind}.html"))


def _asset(name: str) -> str:
    """Return the text of a file in ``assets/``, without newlines at its end."""
    return (files("autodiff_cli.lesson") / "assets" / name).read_text(encoding="utf-8").rstrip("\n")


def _content(result: Explanation, numbers: Numbers) -> dict[str, object]:
    """Return the data that the page shows; without a backward pass, it has neither a start nor steps nor ends."""
    sweep = result.sweep
    steps, ends = ([], []) if sweep is None else (sweep.steps, sweep.accumulated)  # ``ends``: the gradients of the inputs
    names = {line.name for line in result.forward}
    return {
        "expression": result.expression,
        "precision": numbers.precision,
        "inputs": [{"name": name, "value": plain(value)} for name, value in result.given.items()],
        "symbol": result.symbol,
        "output": result.output,
        "notes": [note["message"] for note in result.notes],
        "lines": [_line(line, names, result, numbers) for line in result.forward],
        "start": None if sweep is None else {**numbers.number(sweep.start), "values": plain(np.ravel(sweep.start))},
        "steps": [numbers.step(step) for step in steps],
        "ends": [
            {"name": end.name, "parts": [numbers.number(value) for _, value in end.parts], "value": numbers.number(end.value)}
            for end in ends
        ],
    }


def _line(line: ForwardLine, names: set[str], result: Explanation, numbers: Numbers) -> dict[str, object]:
    """Return the data of a line of the forward pass; its inputs are those of ``names``, of all lines, that it contains."""
    operation = unparse(line.operation)
    is_leaf = operation == line.name
    operands = [] if is_leaf else [node.children[0].text for node in free_name_nodes(line.operation)]
    return {
        "name": line.name,
        "operation": operation,
        "expression": line.expression or None,
        "call": line.call,
        "value": numbers.known(line.value),
        "leaf": is_leaf,
        "requires_grad": line.node is not None or (is_leaf and line.name in result.grad),
        "grad_fn": None if line.node is None else type(line.node).__name__,
        "inputs": [name for name in operands if name in names],
    }
