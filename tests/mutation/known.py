"""Mistakes that once passed all tests: what stands in a module of the package, and what comes instead."""

from __future__ import annotations

from tests.mutation.changes import Change

KNOWN = {
    "contexts end in the order in which they began": ("script/blocks.py", "reversed(entered)", "entered"),
    "Stirling's formula where it does not hold": (
        "ops/margin_losses.py",
        "where(target > 1, stirling",
        "where(target > 2, stirling",
    ),
    "a gradient at the threshold": ("ops/gates.py", "where(x <= threshold, 0.0, g)", "where(x < threshold, 0.0, g)"),
    "the sign of a third derivative": ("ops/bessel_orders.py", "(1, -1, -1, 1)[order % 4]", "(1, -1, -1, -1)[order % 4]"),
    "a negative padding index": ("ops/attention.py", "        padding_idx %= count\n", "        pass\n"),
    "half of the digits of int16": ("autograd/primitives/calls.py", "itemsize < 8", "itemsize < 4"),
    "a parameter less in AIC": ("solvers/fitting/statistics.py", "n if problem.absolute else n + 1", "n"),
    "the sign of the weights in the deviance": (
        "solvers/fitting/statistics.py",
        "(2 * math.pi) - 2 * logs",
        "(2 * math.pi) + 2 * logs",
    ),
    "the weights without an absolute scale": ("solvers/fitting/statistics.py", "+ 1) - 2 * logs", "+ 1) + 2 * logs"),
    "large steps over flat functions": ("gradient_checking/ridders.py", "better = agrees & (off < error)", "better = off < error"),
    "a pass within noise": ("gradient_checking/verdicts.py", "tolerance <= 1e-6 * abs", "tolerance <= 1e-3 * abs"),
    "`false and c`": ("compiler/simplify.py", "return other if one else False", "return other"),
    "a table that just fits": ("report/folding_table.py", "if sum(least) > room", "if sum(least) >= room"),
    "gamma beside -0": ("code_generation/targets.py", "(math.sinh, math.gamma)", "(math.sinh,)"),
    "names that are not alike": (
        "suggest.py",
        'cutoff: float = 0.6) -> str | None:\n    """Return ``did',
        'cutoff: float = 0.9) -> str | None:\n    """Return ``did',
    ),
    "9 degrees of freedom that are 8": ("solvers/uncertainty/law.py", "math.floor(dof * (1 + 1e-9))", "math.floor(dof)"),
    "the error of a function of intervals": ("solvers/intervals/interval.py", "ULPS = 4", "ULPS = 1"),
}


def known(name: str, source: str) -> Change:
    """Return a mistake by its name; what it replaces occurs once in the source."""
    _, old, new = KNOWN[name]
    before, found, after = source.partition(old)
    if not found or old in after:
        raise ValueError(f"{name}: {old!r} is not there once")
    start, end = before.encode().splitlines(keepends=True), (before + old).encode().splitlines(keepends=True)
    return Change(*_place(start), *_place(end), "known", new)


def _place(before: list[bytes]) -> tuple[int, int]:
    """Return the line and the column after some lines."""
    if not before or before[-1].endswith(b"\n"):
        return len(before) + 1, 0
    return len(before), len(before[-1])
