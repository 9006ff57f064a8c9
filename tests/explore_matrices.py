"""``python -m tests.explore_matrices 0 1000`` compares derivatives of random expressions of vectors and matrices with the engine.

It prints every expression that is wrong or refused, and at last how many are right, refused and wrong, and how long they are.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from statistics import median
from typing import NamedTuple

import numpy as np

import autodiff_cli as ad
from autodiff_cli.errors import AutodiffError
from autodiff_cli.symbolic.differentiate import diff
from tests.matrix_expressions import expressions


class Outcome(NamedTuple):
    """The derivative of a random expression.

    Attributes:
        verdict: ``right``, ``refused`` or ``wrong``.
        expression: the expression.
        text: the formula, or the message of the error.
    """

    verdict: str
    expression: str
    text: str


def outcome(seed: int) -> Outcome:
    """Return the derivative of a random expression, compared with the engine at random values."""
    expression, wrt, shape = expressions(random.Random(seed))
    try:
        (text,) = diff(expression, wrt=[wrt], shape=shape).texts.values()
    except AutodiffError as error:
        return Outcome("refused", expression, error.message)
    except Exception as error:  # a crash is a wrong answer
        return Outcome("wrong", expression, repr(error))
    rng = np.random.default_rng(seed)
    point = {name: rng.uniform(0.2, 1, [3] * (1 + dims.count(","))) for name, dims in shape.items()} | {"c": np.asarray(0.7)}

    def used(program: str) -> dict[str, np.ndarray]:
        return {name: value for name, value in point.items() if re.search(rf"\b{name}\b", program)}

    const = {name: value for name, value in used(expression).items() if name != wrt}
    expected = np.asarray(ad.evaluate(expression, at={wrt: point[wrt]}, const=const).grad[wrt])
    number = np.asarray(ad.evaluate(text, const=used(text)).value)
    size = np.abs(expected).max(initial=1e-8)  # of a derivative that is 0, both have rounding errors
    is_right = not np.isfinite(size) or (number.shape == expected.shape and np.abs(number - expected).max() <= 1e-7 * size)
    return Outcome("right" if is_right else "wrong", expression, text)


def main(first: int, last: int) -> None:
    """Print the outcomes of seeds that are not right, and the counts of all."""
    counts, lengths = Counter[str](), list[int]()
    for seed in range(first, last):
        result = outcome(seed)
        counts[result.verdict] += 1
        if result.verdict == "right":
            lengths.append(len(result.text))
        else:
            print(seed, *result, sep="\t", flush=True)
    print(dict(counts), "length: median", median(lengths), "largest", max(lengths))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
