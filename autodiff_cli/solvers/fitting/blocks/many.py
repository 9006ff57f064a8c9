"""The minima of many small sums of squares at once.

Each problem takes the steps of ``engine.minimize``: Levenberg-Marquardt with geodesic acceleration, then Newton with the exact
Hessian.  Each has its own damping, so that its result does not depend on the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.data.pipeline import ordered
from autodiff_cli.solvers.fitting.blocks.batch import Batch, Linears, Quadratics
from autodiff_cli.solvers.fitting.blocks.stacks import cholesky, lower_solve, triangles, upper_solve
from autodiff_cli.solvers.fitting.engine.minimize import ACCELERATION, DAMPING, EPSILON, MOST_NEWTON, NEAR, Box
from autodiff_cli.solvers.fitting.engine.proof import ENOUGH_DIGITS, NEIGHBOURS, SAFETY, SINGULAR, SMALL_OFFSET

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.arrays import Mask, Matrix, Stack, Vector

    Numbers = NDArray[np.intp]

CHUNK = 1 << 15
"""The number of rows that one thread computes at a time."""
SAME = 1e-9
"""The relative difference of objectives above which one of two minima is smaller."""
RUNNING, CONVERGED, STALLED, MOST, NOT_FINITE = range(5)
"""How a minimisation ended: at a minimum, without a further decrease, after the most steps, or not finite at the start."""


class Outcomes(NamedTuple):
    """The ends of B minimisations.

    Attributes:
        point: the best points, of shape (B, n).
        value: the objectives there: B numbers.
        steps: the numbers of accepted steps.
        evaluations: the numbers of points at which values or derivatives were computed.
        ended: how each ended, such as ``CONVERGED``.
    """

    point: Matrix
    value: Vector
    steps: Numbers
    evaluations: Numbers
    ended: Numbers


class Minima(NamedTuple):
    """The minima of B problems, and the facts about them, computed at these points; see ``engine.proof.Proof``.

    Attributes:
        point: the points, of shape (B, n).
        value: the objectives: B numbers.
        steps: the numbers of accepted steps.
        evaluations: the numbers of points at which values or derivatives were computed.
        ended: how each minimisation ended, such as ``CONVERGED``.
        rest: the norms of the residuals.
        inverse: the inverse matrices of J'J, of shape (B, n, n), or for a robust loss the covariance matrices times the degrees
            of freedom; nan for parameters that are held or not determined.
        free: which parameters are not held at a bound, of shape (B, n).
        finite: whether all derivatives are finite.
        positive: whether the Hessians are positive definite.
        determined: whether the data determine all free parameters.
        offset: the relative offsets.
        digits: the numbers of certain digits of the parameters, of shape (B, n); nan for a parameter that is held.
        minimum: whether the point is proven to be a local minimum, to rounding.
    """

    point: Matrix
    value: Vector
    steps: Numbers
    evaluations: Numbers
    ended: Numbers
    rest: Vector
    inverse: Stack
    free: Mask
    finite: Mask
    positive: Mask
    determined: Mask
    offset: Vector
    digits: Matrix
    minimum: Mask


class Descent:
    """The minimisation of the problems of a batch within common bounds.

    Args:
        batch: the problems.
        start: the first points, of shape (B, n).
        box: the bounds of the n parameters.
        most: the maximum number of steps, accepted or not, of each problem.
    """

    def __init__(self, batch: Batch, start: Matrix, box: Box, most: int = 10_000) -> None:
        count = len(start)
        self.batch, self.box, self.most = batch, box, most
        self.point = box.inside(start)
        self.linear = batch.linear(self.point)
        self.damping, self.growth = np.full(count, DAMPING), np.full(count, 2.0)
        self.scale = np.zeros_like(self.point)
        self.near = np.full(count, NEAR)
        self.steps, self.tried, self.evaluations = np.zeros(count, np.intp), np.zeros(count, np.intp), np.ones(count, np.intp)
        self.ended = np.where(self.linear.finite, RUNNING, NOT_FINITE)

    def run(self) -> Outcomes:
        """Minimise every objective."""
        while (active := np.flatnonzero(self.ended == RUNNING)).size:
            leaving = self._levenberg(active)
            good = self._newton(active)
            self.ended[active[good]] = CONVERGED
            self.ended[active[~good]] = leaving[~good]
            again = active[~good & (leaving == RUNNING)]
            self.near[again] = np.where(self.near[again] > 1e-12, self.near[again] * 1e-2, 0.0)
        return Outcomes(self.point, self.linear.value, self.steps, self.evaluations, self.ended)

    def _levenberg(self, blocks: Numbers) -> Numbers:
        """Take Levenberg-Marquardt steps until each problem is near a minimum, or cannot go on; return how each ended."""
        ended = np.full(len(self.point), RUNNING)
        active, part = blocks, self.batch.only(blocks)
        while True:
            linear = self.linear.take(active)
            point = self.point[active]
            free = self.box.free(point, linear.gradient)
            self.scale[active] = np.maximum(self.scale[active], linear.norms)
            reduced = linear.of(free)
            exhausted = self.tried[active] >= self.most
            final = ~free.any(1) | (reduced.offset <= 0) | (linear.value == 0)
            done = exhausted | final | (reduced.offset <= self.near[active])
            ended[active[final]] = STALLED
            ended[active[exhausted]] = MOST
            d = np.where(self.scale[active] > 0, self.scale[active], 1.0)
            step, predicted, usable = damped_steps(part, point, reduced, free, d, self.damping[active])
            trial = np.where(usable[:, None], self.box.inside(point + step), point)
            length = np.linalg.norm(d * (trial - point), axis=1)
            stalled = usable & (length <= 2 * EPSILON * np.linalg.norm(d * point, axis=1)) & ~done
            ended[active[stalled]] = STALLED
            done |= stalled
            new = part.linear(trial)
            self.evaluations[active] += 2
            with np.errstate(all="ignore"):
                gain = np.where(predicted > 0, (linear.value - new.value) / predicted, -1.0)
            accepted = usable & ~done & (gain > 0) & new.finite
            rejected = ~accepted & ~done
            self.point[active[accepted]] = trial[accepted]
            self.linear.put(active, new, accepted)
            self.tried[active[~done]] += 1
            self.steps[active[accepted]] += 1
            self.damping[active[accepted]] *= np.maximum(1 / 3, 1 - (2 * gain[accepted] - 1) ** 3)
            self.damping[active[rejected]] *= self.growth[active[rejected]]
            self.growth[active] = np.where(accepted, 2.0, np.where(rejected, 2 * self.growth[active], self.growth[active]))
            if done.all():
                return ended[blocks]
            if done.any():
                active, part = active[~done], part.only(np.flatnonzero(~done))

    def _newton(self, blocks: Numbers) -> Mask:
        """Take Newton steps until they are rounding; return which problems converged, and move those."""
        count = len(blocks)
        found, value = self.point[blocks], self.linear.value[blocks]
        start, best, point = value.copy(), found.copy(), found.copy()
        size, good = np.full(count, np.inf), np.zeros(count, bool)
        active, part = np.arange(count), self.batch.only(blocks)
        for _ in range(MOST_NEWTON):
            at = part.quadratic(point[active])
            self.evaluations[blocks[active]] += 1
            p = point[active]
            free = self.box.free(p, at.gradient)
            step, scaled, positive = newton_steps(at, free)
            with np.errstate(all="ignore"):
                d = np.sqrt(np.abs(np.einsum("bii->bi", at.hessian)))
            rounding = EPSILON * np.linalg.norm(d * p * free, axis=1)
            before = size[active]
            failed = ~at.finite | ~positive | ((at.value > start[active] * (1 + 1e-6)) & (before > 1e4 * rounding))
            grown = scaled >= before / 2
            failed |= grown & (scaled > rounding) & (before > 1e6 * rounding)
            ended = grown & ~failed
            better = ~failed & ~ended
            size[active[better]], value[active[better]] = scaled[better], at.value[better]
            best[active[better]] = p[better]
            trial = self.box.inside(p + step)
            ended |= better & ((scaled <= rounding / 4) | (trial == p).all(1))
            going = better & ~ended
            good[active[ended]] = True
            point[active[going]] = trial[going]
            self.steps[blocks[active[going]]] += 1
            self.tried[blocks[active[going]]] += 1
            if not going.any():
                break
            if not going.all():
                active, part = active[going], part.only(np.flatnonzero(going))
        self.point[blocks[good]] = best[good]
        self.linear.value[blocks[good]] = value[good]
        return good


def damped_steps(
    batch: Batch, point: Matrix, linear: Linears, free: Mask, d: Matrix, damping: Vector
) -> tuple[Matrix, Vector, Mask]:
    """Return the damped steps with their accelerations, the predicted decreases, and which steps can be used."""
    count, n = point.shape
    rows = np.zeros((count, 2 * n, n + 1))
    rows[:, :n, :n] = linear.factor / d[:, None, :]
    rows[:, :n, n] = -linear.image
    rows[:, n:, :n] = np.sqrt(damping)[:, None, None] * np.eye(n)
    factor = triangles(rows)[:, :n]
    with np.errstate(all="ignore"):
        scaled = upper_solve(factor[:, :, :n], factor[:, :, n])
        predicted = 0.5 * np.einsum("bi,bi->b", scaled, damping[:, None] * scaled - linear.gradient / d)
        second = batch.along(point, scaled / d) * free / d
        half = lower_solve(np.swapaxes(factor[:, :, :n], 1, 2), second)
        acceleration = -0.5 * upper_solve(factor[:, :, :n], half)
        usable = 2 * np.linalg.norm(acceleration, axis=1) <= ACCELERATION * np.linalg.norm(scaled, axis=1)
        step = (scaled + acceleration) / d
    return step, predicted, usable & np.isfinite(step).all(1)


def newton_steps(at: Quadratics, free: Mask) -> tuple[Matrix, Vector, Mask]:
    """Return the Newton steps of the free parameters, their norms in the metric of the Hessian, and which Hessians are positive."""
    gradient = np.where(free, at.gradient, 0.0)
    hessian = np.where(free[:, :, None] & free[:, None, :], at.hessian, np.eye(free.shape[1]))
    diagonal = np.einsum("bii->bi", hessian)
    d = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    lower, positive = cholesky(hessian / (d[:, :, None] * d[:, None, :]))
    half = lower_solve(lower, -gradient / d)
    step = upper_solve(np.swapaxes(lower, 1, 2), half) / d
    return step, np.linalg.norm(half, axis=1), positive & (diagonal > 0).all(1)


def best(batch: Batch, start: Matrix, box: Box, most: int = 10_000, threads: int = 1) -> Minima:
    """Return the minima of all problems, and the facts about them.

    Each problem is minimised from its start, and then from the minimum of its predecessor.  The smaller minimum counts, and the
    first if they are equal to rounding.  The result does not depend on the number of threads.

    Args:
        batch: the problems.
        start: the start of all problems: n numbers.
        box: the bounds of the n parameters.
        most: the maximum number of steps of each problem from each start.
        threads: the number of threads.
    """
    first = minima(batch, np.tile(start, (len(batch.sizes), 1)), box, most, threads)
    solved = np.flatnonzero(first.minimum)
    if len(solved) == 0 or len(batch.sizes) == 1:
        return first
    numbers = np.arange(len(batch.sizes))
    before = np.searchsorted(solved, numbers) - 1
    nearest = np.where(before >= 0, solved[before], solved[np.minimum(before + 1, len(solved) - 1)])
    second = minima(batch, first.point[nearest], box, most, threads)
    with np.errstate(all="ignore"):
        smaller = second.value < first.value * (1 - SAME)
    better = second.minimum & (~first.minimum | smaller)
    found = Minima(*(np.where(better.reshape(-1, *[1] * (a.ndim - 1)), b, a) for a, b in zip(first, second, strict=True)))
    return found._replace(evaluations=first.evaluations + second.evaluations)


def minima(batch: Batch, start: Matrix, box: Box, most: int, threads: int) -> Minima:
    """Return the minima of all problems from their starts, of shape (B, n), and the facts about them."""
    ends = np.cumsum(batch.sizes)
    cuts = np.unique(np.searchsorted(ends, np.arange(CHUNK, ends[-1], CHUNK)))
    parts = np.split(np.arange(len(ends)), cuts)

    def work(blocks: Numbers) -> Minima:
        part = batch.only(blocks)
        with np.errstate(all="ignore"):
            outcome = Descent(part, start[blocks], box, most).run()
            return facts(part, outcome, box)

    found = list(ordered(work, [part for part in parts if len(part)], threads))
    return Minima(*map(np.concatenate, zip(*found, strict=True)))


def facts(batch: Batch, outcome: Outcomes, box: Box) -> Minima:
    """Return the facts about the points at which minimisations ended."""
    point = outcome.point
    n = point.shape[1]
    at, linear = batch.quadratic(point), batch.linear(point)
    finite = at.finite & linear.finite
    free = np.where(finite[:, None], box.free(point, at.gradient), True)
    step, _, positive = newton_steps(at, free)
    linear = linear.of(free)
    full = determined(linear, finite)
    target = point + step
    error = np.abs(step) + np.spacing(np.abs(target))
    signs = np.where(np.arange(n) % 2, -1.0, 1.0)
    for side in NEIGHBOURS:
        near = point + free * side * signs * 4 * np.spacing(np.abs(point))
        other = batch.quadratic(near)
        moved, _, good = newton_steps(other, free)
        apart = np.where((good & other.finite)[:, None], SAFETY * np.abs(near + moved - target), np.inf)
        error = np.maximum(error, np.abs(step) + apart)
    count = free.sum(1)
    offset = linear.offset / np.sqrt(np.maximum(count, 1)) * np.sqrt(np.maximum(batch.sizes - count, 1))
    digits = np.clip(-np.log10(error / np.where(point == 0, 1.0, np.abs(point))), 0, 16)
    d = linear.norms * free
    certain = np.linalg.norm(d * error, axis=1) <= 10**-ENOUGH_DIGITS * np.linalg.norm(d * point, axis=1)
    known = free & (finite & full & positive)[:, None]
    pairs = known[:, :, None] & known[:, None, :]
    if batch.loss.plain:
        half = np.linalg.inv(np.where((finite & full)[:, None, None], linear.factor, np.eye(n)))
        inverse, rest = half @ np.swapaxes(half, 1, 2), linear.rest
    else:  # see statistics.sandwich
        bread = np.linalg.inv(np.where(pairs, at.hessian, np.eye(n)))
        products, squares = batch.scores(point)
        inverse, rest = bread @ np.where(pairs, products, 0.0) @ bread * batch.sizes[:, None, None], np.sqrt(squares)
    return Minima(
        point=point,
        value=at.value,
        steps=outcome.steps,
        evaluations=outcome.evaluations + 2 + len(NEIGHBOURS),
        ended=outcome.ended,
        rest=rest,
        inverse=np.where(pairs, inverse, np.nan),
        free=free,
        finite=finite,
        positive=positive,
        determined=full,
        offset=offset,
        digits=np.where(free, digits, np.nan),
        minimum=finite & positive & full & ((offset <= SMALL_OFFSET) | certain),
    )


def determined(linear: Linears, finite: Mask) -> Mask:
    """Return which column-scaled Jacobian matrices have full rank."""
    norms = linear.norms
    scaled = np.where(finite[:, None, None], linear.factor / np.where(norms > 0, norms, 1.0)[:, None, :], 0.0)
    sizes = np.linalg.svd(scaled, compute_uv=False)
    return sizes[:, -1] > SINGULAR * np.maximum(sizes[:, 0], 1.0)
