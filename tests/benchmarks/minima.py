"""Minima of the problems of Moré, Garbow and Hillstrom, and of Hock and Schittkowski, from their standard starts.

    python -m tests.benchmarks.minima [--scipy]

A problem is solved if the result is verified and its value is one of the known minima to 1e-5, because the sources state six
digits.  ``wrong`` is a result that is reported as verified, but is not one of them.  With ``--scipy``, SciPy's ``minimize`` with
its default method solves the same problems with exact gradients; it is right if the value is right and ``success`` is true.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import NamedTuple

import numpy as np

import autodiff_cli as ad
from autodiff_cli.solvers.minima.problem import MinimumProblem
from tests.benchmarks.problems import hs, mgh_minima

TOLERANCE = 1e-5


class Case(NamedTuple):
    """A problem of a collection."""

    name: str
    objective: str
    at: dict[str, float | list[float]]
    subject: tuple[str, ...]
    bounds: dict[str, tuple[float, float]]
    minima: tuple[float, ...]

    def is_known(self, value: float) -> bool:
        """Return whether a value is a known minimum; a minimum of 0 is reached to 1e-9."""
        return any(abs(value - each) <= max(TOLERANCE * abs(each), 1e-9 * (each == 0)) for each in self.minima)


def cases() -> list[Case]:
    """Return the problems of both collections."""
    first = [Case(f"MGH {p.number} {p.name}", p.objective, dict(p.start), (), {}, p.minima) for p in mgh_minima.PROBLEMS]
    second = [Case(f"HS {p.number}", p.objective, dict(p.at), p.subject, dict(p.bounds), p.minima) for p in hs.PROBLEMS]
    return [*first, *second]


def main() -> None:
    """Print a table."""
    compares = "--scipy" in sys.argv
    print(f"{'problem':44} {'verdict':13} {'value':>16} {'gradient':>9} {'steps':>6} {'s':>6}{'  SciPy' * compares}")
    solved, wrong, theirs, their_wrong = 0, 0, 0, 0
    every = cases()
    for case in every:
        before = time.perf_counter()
        found = ad.minimize(case.objective, case.at, subject=case.subject, bounds=case.bounds)
        took = time.perf_counter() - before
        good = case.is_known(found.value)
        solved += found.converged and good
        wrong += found.converged and not good
        mark = "" if found.converged and good else "wrong" if found.converged else "not solved"
        text = ""
        if compares:
            value, success = _scipy(case)
            theirs += success and case.is_known(value)
            their_wrong += success and not case.is_known(value)
            text = "right" if success and case.is_known(value) else "wrong" if success else "not solved"
        numbers = f"{found.value:16.9g} {found.gradient_norm:9.1e} {found.steps:6d} {took:6.2f}"
        print(f"{case.name[:44]:44} {found.verdict:13} {numbers}  {mark} {text}".rstrip(), flush=True)
    print(f"\n{solved} of {len(every)} solved, {wrong} wrong")
    if compares:
        print(f"SciPy: {theirs} of {len(every)} solved, {their_wrong} wrong")


def _scipy(case: Case) -> tuple[float, bool]:
    """Return the value that SciPy's default method finds, and whether it reports success."""
    from scipy.optimize import Bounds, minimize

    problem = MinimumProblem(case.objective, case.at, None, case.subject, case.bounds)
    constraints = [
        {
            "type": "eq" if each.equality else "ineq",
            "fun": lambda x, i=i: problem.values(x)[1][i],
            "jac": lambda x, i=i: problem.slopes(x)[1][i],
        }
        for i, each in enumerate(problem.constraints)
    ]
    bounded = np.isfinite(problem.low).any() or np.isfinite(problem.high).any()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = minimize(
            lambda x: problem.values(x)[0],
            problem.start,
            jac=lambda x: problem.slopes(x)[0],
            bounds=Bounds(problem.low, problem.high) if bounded else None,
            constraints=constraints,
        )
    return float(done.fun), bool(done.success)


if __name__ == "__main__":
    main()
