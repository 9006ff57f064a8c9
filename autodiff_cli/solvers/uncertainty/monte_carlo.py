"""The Monte Carlo method: distributions are propagated by random trials.

Sources: JCGM 101:2008, 6.4 (sampling), 7.6 and 7.7 (estimate, standard uncertainty and coverage intervals) and
8 (validation of the law of propagation of uncertainty). Correlated quantities are normal; with common degrees of
freedom they have a multivariate t distribution (JCGM 102:2011, 5.3.2).

Each block of trials has its own generator, so that the random numbers depend only on the seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.errors import NotSolved, UsageError, setting
from autodiff_cli.limits import check_bytes
from autodiff_cli.solvers.uncertainty.result import tolerance

if TYPE_CHECKING:
    from autodiff_cli.arrays import Matrix, Vector
    from autodiff_cli.command_result import Record
    from autodiff_cli.solvers.system import System
    from autodiff_cli.solvers.uncertainty.joint import Joint

_BLOCK = 10_000
"""The number of trials of a block."""
FEWEST = 100
"""The minimum number of trials."""


class Sample(NamedTuple):
    """The trials of one output.

    Attributes:
        values: the finite values, in ascending order.
        trials: the number of trials, which includes those whose value is not finite.
    """

    values: Vector
    trials: int

    def summary(self, level: float) -> Record:
        """Return the mean, the standard deviation, and the symmetric and the shortest interval with the probability ``level``."""
        size = len(self.values)
        steps = min(max(round(level * size), 1), size - 1)  # from the value at the lower end of an interval to that at the upper
        first = (size - steps) // 2
        lengths = self.values[steps:] - self.values[: size - steps]
        shortest = int(np.argmin(lengths))
        exponent = int(np.frexp(np.max(np.abs(self.values)))[1])
        scaled = np.ldexp(self.values, -exponent)  # squares and sums of the values may be too large for floating-point numbers
        return {
            "mean": float(np.ldexp(np.mean(scaled), exponent)),
            "u": float(np.ldexp(np.std(scaled, ddof=1), exponent)),
            "interval": [float(self.values[first]), float(self.values[min(first + steps, size - 1)])],
            "shortest": [float(self.values[shortest]), float(self.values[shortest + steps])],
        }

    def error(self, probability: float) -> float:
        """Return the standard error of a quantile, from the values that are one standard deviation of its rank away."""
        size = len(self.values)
        rank, deviation = probability * size, math.sqrt(size * probability * (1 - probability))  # of a binomial distribution
        low, high = (min(max(round(end), 0), size - 1) for end in (rank - deviation, rank + deviation))
        return float(self.values[high] - self.values[low]) / 2


def samples(system: System, joint: Joint, count: int, seed: int) -> list[Sample]:
    """Return ``count`` trials of each element of the results of a system, whose variables have a joint distribution.

    Raises:
        UsageError: if there are too few trials.
        NotSolved: if too few trials of an output have a finite value.
        LimitError: if the trials need too much memory.
    """
    if count < FEWEST:
        message = f"the number of trials must be at least {FEWEST}, not {count}"
        raise UsageError(message, hint=f"write {setting('monte_carlo', '1000000')}")
    check_bytes(8 * system.count * count)
    values = np.concatenate([system.columns(points) for points in _blocks(joint, seed, count)], axis=1)
    values.sort(axis=1)  # nan and inf are last, -inf is first
    result = [Sample(row[np.isfinite(row)], count) for row in values]
    if any(len(sample.values) < FEWEST for sample in result):
        message = f"fewer than {FEWEST} of {count:,} trials have a finite value"
        raise NotSolved(message, hint="check the domain of the expression around the estimates")
    return result


def compare(sample: Sample, interval: tuple[float, float], level: float, u: float) -> Record:
    """Return the results of the Monte Carlo method beside an interval, and whether they agree: JCGM 101:2008, 8.1.

    The ends of the intervals may differ by half a unit of the second significant digit of ``u``, the standard uncertainty by the
    law of propagation.  The verdict is ``undecided`` (``agrees`` is ``None``) if the number of trials is too small to decide, or if
    trials without a finite value were left out; ``digits`` is the number of digits, at most 2, to which they agree.
    """
    result = sample.summary(level)
    differences = [abs(a - b) for a, b in zip(result["interval"], interval, strict=True)]
    errors = [sample.error((1 + side * level) / 2) for side in (-1, 1)]
    allowed, allowed_for_one_digit = (tolerance(u, digits) if u > 0 else 0.0 for digits in (2, 1))
    not_finite = sample.trials - len(sample.values)
    verdict, verdict_on_one_digit = (
        _verdict(differences, errors, limit, is_complete=not_finite == 0) for limit in (allowed, allowed_for_one_digit)
    )
    return {
        **result,
        "agrees": {"agrees": True, "differs": False}.get(verdict),
        "verdict": verdict,
        "digits": 2 if verdict == "agrees" else 1 if verdict_on_one_digit == "agrees" else 0,
        "differences": differences,
        "tolerance": allowed,
        "trials": sample.trials,
        "not_finite": not_finite,
    }


def _verdict(differences: list[float], errors: list[float], allowed: float, is_complete: bool) -> str:
    """Return whether the ends of two intervals agree: ``agrees``, ``differs`` or ``undecided``.

    A difference is compared with the ``allowed`` one; two of its standard ``errors`` must not change the verdict.  A sample that is
    not complete, because some trials were left out, does not prove agreement.
    """
    ends = list(zip(differences, errors, strict=True))
    if any(difference - 2 * error > allowed for difference, error in ends):
        return "differs"
    agree = all(difference + 2 * error <= allowed for difference, error in ends)
    return "agrees" if agree and is_complete else "undecided"


def _blocks(joint: Joint, seed: int, count: int) -> Iterator[Matrix]:
    """Yield the points of each block of trials, as columns."""
    for block, first in enumerate(range(0, count, _BLOCK)):
        generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(block,))))
        points = np.empty((len(joint.x), min(_BLOCK, count - first)))
        for group in joint.groups:
            points[group] = joint.x[group, None] + _draws(joint, group, generator, points.shape[1])
        yield points


def _draws(joint: Joint, group: list[int], generator: np.random.Generator, count: int) -> Matrix:
    """Return ``count`` deviations of each quantity of a group; several are normal, or ``t`` if they have one finite ``dof``."""
    distributions = [joint.distributions[j] for j in group]
    if len(group) == 1:
        return distributions[0].draw(generator, count)[None] if distributions[0].size else np.zeros((1, count))
    independent = generator.standard_normal((len(group), count))
    # einsum adds in the same order on every machine and for any number of threads.
    result: Matrix = joint.u[group, None] * np.einsum("ik,kj->ij", joint.root(group), independent)
    freedoms = {spread.dof for spread in distributions}
    if len(freedoms) == 1 and math.isfinite(dof := freedoms.pop()):
        result *= np.sqrt(dof / generator.chisquare(dof, count))
    return result
