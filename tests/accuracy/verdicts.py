"""``python -m tests.accuracy.verdicts``: how many verdicts of gradcheck are right, over random functions and units.

A triple is a function, a size of its variable from 1e-12 to 1e12, and a size of its value from 1e-12 to 1e12.  The function is
a formula of ``t = x/size``, and its derivative is known, as both were written down beside each other.  Of the derivative there
are a right version and wrong ones: of the other sign, twice as large, a thousandth too large, 0, and with a term missing.
Each is handed in as a claim and as a ``with grad``; and the function alone is checked, which has to pass.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from autodiff_cli.gradient_checking.check import gradcheck

# A function of t, its derivative as two terms, and where t may lie.
FUNCTIONS = (
    ("t**3 + t", "3*t**2", "1", (-3, 3)),
    ("sin(t) + t**2", "cos(t)", "2*t", (-3, 3)),
    ("exp(t) - t", "exp(t)", "-1", (-3, 3)),
    ("log(t)*t", "log(t)", "1", (0.2, 4)),
    ("sqrt(t) + 1/t", "1/(2*sqrt(t))", "-1/t**2", (0.2, 4)),
    ("tanh(t)*t", "tanh(t)", "t/cosh(t)**2", (-2, 2)),
    ("atan(t) + t", "1/(1 + t**2)", "1", (-3, 3)),
    ("1/(1 + t**2) + t", "-2*t/(1 + t**2)**2", "1", (-3, 3)),
    ("t**2.5 - 2*t", "2.5*t**1.5", "-2", (0.2, 4)),
    ("erf(t) + t**3", "2/sqrt(pi)*exp(-t**2)", "3*t**2", (-2, 2)),
    ("sigmoid(t) - t", "sigmoid(t)*(1 - sigmoid(t))", "-1", (-4, 4)),
    ("lgamma(t) + t", "digamma(t)", "1", (0.5, 4)),
    ("exp(-t)*cos(t)", "-exp(-t)*cos(t)", "-exp(-t)*sin(t)", (-2, 2)),
    ("abs(t)*t + t", "2*abs(t)", "1", (-3, 3)),
    ("where(t > 1, t**2, t) + cos(t)", "where(t > 1, 2*t, 1)", "-sin(t)", (-3, 3)),
    ("hypot(t, 2) + t**4", "t/hypot(t, 2)", "4*t**3", (-2, 2)),
    ("asinh(t)*t", "asinh(t)", "t/sqrt(1 + t**2)", (-3, 3)),
    ("t*log1p(t**2)", "log1p(t**2)", "2*t**2/(1 + t**2)", (-3, 3)),
)
KINDS = ("right", "sign", "twice", "thousandth", "zero", "term")


class Triple(NamedTuple):
    """One question, and the verdict that is right."""

    name: str
    expression: str
    at: float
    const: dict[str, float]
    claim: str | None
    verdict: str


def _version(kind: str, one: str, other: str) -> str:
    whole = f"({one} + {other})"
    return {
        "right": whole,
        "sign": f"-{whole}",
        "twice": f"2*{whole}",
        "thousandth": f"1.001*{whole}",
        "zero": "0*t",
        "term": f"({one})",
    }[kind]


def triples(count: int, seed: int) -> Iterator[Triple]:
    """Random questions; the i-th depends on the seed and i alone."""
    for i in range(count):
        draw = random.Random(seed * 1_000_003 + i)
        formula, one, other, (low, high) = draw.choice(FUNCTIONS)
        size, scale = 10 ** draw.uniform(-12, 12), 10 ** draw.uniform(-12, 12)
        at = draw.uniform(low, high) * size
        const = {"k": scale, "s": size}
        way = draw.choice(("claim", "by hand", "automatic"))
        kind = draw.choice(KINDS) if way != "automatic" else "right"
        slope = f"k/s*{_version(kind, one, other)}"
        verdict = "pass" if kind == "right" else "fail"
        if way == "claim":
            yield Triple(f"{way}, {kind}", f"t = x/s; k*({formula})", at, const, f"x={slope}", verdict)
        elif way == "by hand":
            definitions = f"g(t) = {formula}; d(t) = {_version(kind, one, other)}"
            program = f"{definitions}; f(a) = k*g(a/s) with grad (k/s*d(a/s)); f(x)"
            yield Triple(f"{way}, {kind}", program, at, const, None, verdict)
        else:
            yield Triple(way, f"t = x/s; k*({formula})", at, const, None, verdict)


def verdict(triple: Triple) -> str:
    """What gradcheck says."""
    report = gradcheck(triple.expression, {"x": triple.at}, triple.const, claims=[triple.claim] if triple.claim else [])
    return str(report.checks[-1]["verdict"])


def main() -> None:
    """Print the share of right verdicts, by the kind of question, and each wrong one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    asked: Counter[str] = Counter()
    right: Counter[str] = Counter()
    began = time.perf_counter()
    for triple in triples(given.count, given.seed):
        asked[triple.name] += 1
        said = verdict(triple)
        right[triple.name] += said == triple.verdict
        if said != triple.verdict:
            print(f"{said}, not {triple.verdict}: {triple}", flush=True)
    for name in sorted(asked):
        print(f"{name:24}{right[name]:8,} of {asked[name]:,}")
    print(f"{'all':24}{right.total():8,} of {asked.total():,} in {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
