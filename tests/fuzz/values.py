"""Numbers and literals: tame ones, and nasty ones."""

from __future__ import annotations

from random import Random

from tests.fuzz.signatures import Shape

NASTY = (
    *("inf", "-inf", "nan", "-0.0", "0", "1e308", "-1e308", "5e-324", "1e-310", "2**63", "2**53+1", "-2**63", "1e30", "1e18"),
    *("1e400", "0.1+0.2", "9007199254740993", "99999999999999999999", "1_000", "1e-400", "-1", "1e9", "pi", "e"),
)
WRONG = (
    *("none", "true", "'a'", '"mean"', "[]", "[[]]", "[[1,2],[3]]", "[[[[1]]]]", "[1,[2]]", "sin", "...", "x.T", "()", "(1,)"),
    *(
        "[none]",
        "[true,2]",
        "['a']",
        "''",
        "'\x1b[31m'",
        "é",
        "ｘ",
        "x\u200b",
        "float32",
        "[inf,nan]",
        "[1]*2",
        "x:y",
        "2x",
        "1.2.3",
    ),
    *("[" * 40 + "1" + "]" * 40, "(" * 200 + "1" + ")" * 200, "-" * 300 + "1", "f", "no_such_name", "grad", "eye(0)", "zeros(0,3)"),
)
"""What is of another kind than a number, not of the language, or deep."""


def number(random: Random, nasty: float = 0.0) -> str:
    """One number."""
    if random.random() < nasty:
        return random.choice(NASTY)
    kind = random.randrange(8)
    if kind < 3:
        return str(random.randint(-3, 6))
    if kind < 6:
        return f"{random.uniform(0, 2):.{random.randint(1, 3)}f}"
    return f"{random.gauss(0, 3):.3g}"


def literal(random: Random, shape: Shape, nasty: float = 0.0) -> str:
    """A nested list of this shape."""
    if not shape:
        return number(random, nasty)
    return f"[{', '.join(literal(random, shape[1:], nasty) for _ in range(shape[0]))}]"


def wrong(random: Random) -> str:
    """Something else than was asked for."""
    return random.choice((*WRONG, *NASTY))
