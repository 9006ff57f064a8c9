"""The generator of ``docs/derivatives.md``: a page on which one chooses an expression and sees its derivatives."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any, NamedTuple

import numpy as np

from autodiff_cli.language.latex_names import bold, identifier
from autodiff_cli.language.parser import parse
from autodiff_cli.report.array_text import human
from autodiff_cli.symbolic.differentiate import Derivatives, diff
from tests.pages.mathml import mathml
from tests.shell import streams

_HEAD = """# Derivatives to look at

Choose an expression, with the mouse or the arrow keys: the page shows its value at a point, its derivatives as `diff`
[prints them](symbolic.md) and as mathematics writes them, their numbers, and the command to type. Names of vectors and matrices are
bold. More formulas are in the table of [derivatives of matrices](matrix_derivatives.md).

"""


class Case(NamedTuple):
    """An expression of the page, with the point at which it is evaluated."""

    name: str
    expression: str
    at: dict[str, Any]
    wrt: str = ""
    symmetric: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return re.sub(r"\W+", "-", self.name.lower())

    def command(self, name: str) -> str:
        """Return a command line for the expression at the point."""
        options = [f"--wrt {self.wrt}"] if self.wrt and name != "eval" else []
        options += [f"--symmetric {','.join(self.symmetric)}"] if self.symmetric and name == "diff" else []
        numbers = ",".join(f"{name}={value}" for name, value in self.at.items() if not np.ndim(value))
        arrays = [f'--at "{name}={json.dumps(value).replace(" ", "")}"' for name, value in self.at.items() if np.ndim(value)]
        return " ".join([f'autodiff {name} "{self.expression}"', *options, *([f"--at {numbers}"] if numbers else []), *arrays])


_A, _X, _S = [[1, 2], [3, 4], [5, 7]], [[1, 0], [1, 1], [1, 2]], [[2, 0.5], [0.5, 1]]
_TARGETS = [1, 0, 1]

GROUPS: dict[str, list[Case]] = {
    "One variable": [
        Case("Logarithm of a power", "log(x**3)", {"x": 2}),
        Case("Saturation", "x/(1 + x)", {"x": 3}),
        Case("Damped wave", "exp(a*x)*cos(b*x)", {"a": -0.5, "b": 3, "x": 1}, "x"),
        Case("Normal curve", "exp(-x**2/2)/sqrt(2*pi)", {"x": 1}),
        Case("Inverse hyperbolic sine", "log(x + sqrt(1 + x**2))", {"x": 1}),
        Case("Logistic function", "1/(1 + exp(-x))", {"x": 0.5}),
        Case("Softplus", "log(1 + exp(x))", {"x": 0.5}),
        Case("Half an angle", "sin(x)/(1 + cos(x))", {"x": 1}),
        Case("Power of itself", "x**x", {"x": 2}),
        Case("Inverse tangent", "atan(x)", {"x": 1}),
        Case("Entropy of a coin", "-p*log(p) - (1 - p)*log(1 - p)", {"p": 0.2}),
    ],
    "Several variables": [
        Case("Distance", "sqrt(x**2 + y**2)", {"x": 3, "y": 4}),
        Case("Rosenbrock's valley", "(1 - x)**2 + 100*(y - x**2)**2", {"x": -1, "y": 1}),
        Case("Michaelis and Menten", "v*s/(k + s)", {"v": 2, "s": 3, "k": 1}),
        Case("Log-density of a normal", "-(x - m)**2/(2*s**2) - log(s)", {"x": 1, "m": 0, "s": 2}, "m,s"),
        Case("Two resistors", "1/(1/a + 1/b)", {"a": 2, "b": 3}),
    ],
    "Vectors": [
        Case("Norm", "norm(x)", {"x": [3, 4]}),
        Case("Least squares", "sum((A @ x - b)**2)", {"A": _A, "x": [1, -1], "b": [0, 1, 2]}, "x"),
        Case("Ridge regression", "sum((A @ x - b)**2) + c*sum(x**2)", {"A": _A, "x": [1, -1], "b": [0, 1, 2], "c": 0.5}, "x"),
        Case("Quadratic form", "x @ A @ x", {"A": [[1, 2], [3, 4]], "x": [1, -1]}),
        Case("Log of a sum of exponentials", "logsumexp(A @ x)", {"A": _A, "x": [1, -1]}, "x"),
        Case("Softmax", "softmax(x)", {"x": [0, 1, 2]}),
        Case("Cross-entropy", "-y @ log_softmax(z)", {"y": [0, 1, 0], "z": [1, 2, 0.5]}, "z"),
        Case("Logistic regression", "sum(softplus(X @ w) - y*(X @ w))", {"X": _X, "w": [0.5, -1], "y": _TARGETS}, "w"),
        Case("Poisson regression", "sum(exp(X @ w) - y*(X @ w))", {"X": _X, "w": [0.5, -1], "y": _TARGETS}, "w"),
        Case("Rayleigh quotient", "x @ S @ x/(x @ x)", {"S": _S, "x": [1, 2]}, "x", ("S",)),
    ],
    "Matrices": [
        Case("Volume of a basis", "logdet(X.T @ X)", {"X": _X}),
        Case("Determinant", "det(X)", {"X": [[1, 2], [3, 5]]}),
        Case("Trace of a square", "trace(X @ X)", {"X": [[1, 2], [3, 4]]}),
        Case("Bilinear form", "a @ X @ b", {"a": [1, 2, 3], "X": _A, "b": [1, -1]}),
        Case("Solution of a system", "a @ inv(X) @ b", {"a": [1, 0], "X": [[1, 2], [3, 5]], "b": [0, 1]}, "X"),
        Case("Frobenius distance", "norm(X - Y)**2", {"X": [[1, 2], [3, 4]], "Y": [[0, 1], [1, 0]]}, "X"),
        Case("Low-rank factors", "sum((U @ V - Y)**2)", {"U": [[1], [2]], "V": [[1, 3]], "Y": [[1, 2], [3, 4]]}, "U,V"),
        Case(
            "Gaussian likelihood",
            "(x - m) @ inv(S) @ (x - m)/2 + logdet(S)/2",
            {"x": [1, 2], "m": [0, 1], "S": _S},
            "S,m",
            ("S",),
        ),
    ],
}
CASES = [case for cases in GROUPS.values() for case in cases]


def page() -> str:
    """Return the text of the page."""
    links = []
    for group, cases in GROUPS.items():
        links += [f"<p>{group}</p>", *(f'<a href="#{case.id}">{case.name}</a>' for case in cases)]
    parts = [
        '<div class="derivatives">\n<nav aria-label="Expressions">',
        *links,
        '</nav>\n<div aria-live="polite">',
        *map(_article, CASES),
        "</div>\n</div>\n",
    ]
    return _HEAD + "\n".join(parts)


def _article(case: Case) -> str:
    """Return the part of the page for an expression."""
    wrt = case.wrt.split(",") if case.wrt else None
    result = diff(case.expression, case.at, wrt=wrt, symmetric=case.symmetric)
    answers = _answer(case.command("diff"))["derivatives"]
    value = _answer(f"{case.command('eval')} --no-grad")["value"]
    point = " ".join(f"<math>{_name(name, of)}<mo>=</mo>{_numbers(of)}</math>" for name, of in case.at.items())
    lines = [
        f'<article id="{case.id}">',
        f"<h2>{case.name}</h2>",
        _formula(mathml(result.as_latex(parse(case.expression))), _equal(value)),
        f"<pre><code>{escape(case.expression)}</code></pre>",
        f'<p class="label">At</p><div class="formula point">{point}</div>',
        *(_derivative(case, result, answer) for answer in answers),
        f'<section><p class="label">Command</p><pre><code>{escape(case.command("diff"))}</code></pre></section>',
        "</article>",
    ]
    return "\n".join(lines)


def _derivative(case: Case, result: Derivatives, answer: dict[str, Any]) -> str:
    """Return the part of an article for a derivative, as the command answers it."""
    (name,) = answer["wrt"]
    if "verified" in answer:
        error, other = answer["verified"], "with the engine at random values"
    else:
        exact = _answer(case.command("grad"))["grad"][name]
        error, other = abs(answer["value"] - exact) / max(abs(exact), 1), "with <code>grad</code> at this point"
    assert error < 1e-12, case
    formula = mathml(result.as_latex(result.trees[(name,)]))
    slope = f"<math><mfrac><mi>∂</mi><mrow><mi>∂</mi>{_name(name, case.at[name])}</mrow></mfrac><mo>=</mo></math>"
    lines = [
        "<section>",
        _formula(slope, formula, _equal(answer["value"])),
        f"<pre><code>{escape(answer['expression'])}</code></pre>",
        f'<p class="check"><b>✓ verified</b> {other}; the largest relative difference is {error:.2g}.</p>',
        "</section>",
    ]
    return "\n".join(lines)


def _answer(command: str) -> dict[str, Any]:
    printed, told, code = streams(f"{command} --json")
    assert code == 0, told
    return json.loads(printed)


def _formula(*parts: str) -> str:
    """Return one formula from several."""
    inside = "".join(part.removeprefix("<math>").removesuffix("</math>") for part in parts)
    return f'<div class="formula"><math displaystyle="true">{inside}</math></div>'


def _equal(value: Any) -> str:
    return f"<mo>=</mo>{_numbers(value)}"


def _name(name: str, value: Any) -> str:
    letters = bold(name) if np.ndim(value) else identifier(name)
    return mathml(letters).removeprefix("<math>").removesuffix("</math>")


def _numbers(value: Any) -> str:
    """Return the MathML of a number, a column or a matrix."""
    if np.ndim(value) == 0:
        return _number(value)
    rows = "".join(f"<mtr>{''.join(f'<mtd>{_number(each)}</mtd>' for each in np.atleast_1d(row))}</mtr>" for row in value)
    return f'<mtable class="matrix">{rows}</mtable>'


def _number(value: float) -> str:
    return f"<mn>{human(value).replace('-', '−')}</mn>"
