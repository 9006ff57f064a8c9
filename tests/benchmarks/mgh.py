"""Roots of the problems of Moré, Garbow and Hillstrom from the starts x0, 10*x0 and 100*x0, compared with SciPy.

    python -m tests.benchmarks.mgh [--square]

A root is solved if the norm of the residuals is at most 1e-8 of the norm at the standard start, or 1e-10.  A run that reports
success elsewhere is wrong.  SciPy solves square systems with ``root`` (hybr) and others with ``least_squares`` (lm), given the
exact Jacobian matrix; its ``least_squares`` reports convergence, not a root, so it is never counted as wrong.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from scipy.optimize import least_squares
from scipy.optimize import root as scipy_root

import autodiff_cli as ad
from autodiff_cli.solvers.equations import equations
from autodiff_cli.solvers.system import System
from tests.benchmarks.problems.mgh import FACTORS, PROBLEMS, Problem


def main() -> None:
    """Print a table."""
    square_only = "--square" in sys.argv
    totals = np.zeros(5, int)
    times = 0.0
    print(f"{'problem':34} {'m x n':>8}  {'autodiff: x1, x10, x100':44} SciPy")
    for problem in [one for one in PROBLEMS if one.square or not square_only]:
        parsed = equations(problem.residuals, ["x"])
        start = np.array(problem.start)
        system = System(problem.residuals, [parsed.program(one.residual) for one in parsed.equations], {"x": start})
        scale = max(1e-8 * float(np.linalg.norm(system.values(start))), 1e-10)
        own, theirs = [], []
        for factor in FACTORS:
            before = time.perf_counter()
            found = ad.root(problem.residuals, {"x": factor * start})
            took = time.perf_counter() - before
            times += took
            good = float(np.linalg.norm(system.values(np.ravel(found.solution["x"])))) <= scale
            own.append(f"{_mark(good, found.converged)} {found.steps:3d} {took:4.1f}s")
            other, success = _scipy(problem, system, factor * start)
            right = float(np.linalg.norm(system.values(other))) <= scale
            theirs.append(_mark(right, success))
            totals += [1, good and found.converged, found.converged and not good, right, success and not right]
        shape = f"{system.count} x {len(start)}"
        print(f"{problem.name:34} {shape:>8}  {'   '.join(own):44} {' '.join(theirs)}", flush=True)
    runs, solved, wrong, scipy_solved, scipy_wrong = totals
    print(
        f"{runs} runs: autodiff solves {solved}, {wrong} wrong, in {times:.1f} s; SciPy solves {scipy_solved}, {scipy_wrong} wrong"
    )


def _mark(solved: bool, success: bool) -> str:
    return ("yes" if success else "(y)") if solved else ("BAD" if success else "no ")


def _scipy(problem: Problem, system: System, start: np.ndarray) -> tuple[np.ndarray, bool]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            if problem.square:
                found = scipy_root(system.values, start, jac=system.jacobian)
                return found.x, bool(found.success)
            return least_squares(system.values, start, system.jacobian, method="lm").x, False
        except ValueError:
            return start, False


if __name__ == "__main__":
    main()
