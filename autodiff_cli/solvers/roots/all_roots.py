"""The search for all roots in a range: branch and bound, then an examination of the places where nothing is proven."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.solvers.intervals.branch_and_bound import BranchResult, branch
from autodiff_cli.solvers.jumps import discontinuity
from autodiff_cli.solvers.roots.newton import Walk, trust_region
from autodiff_cli.solvers.roots.problem import EPS, RootProblem, norm
from autodiff_cli.solvers.roots.verification import Verification, krawczyk, verify

if TYPE_CHECKING:
    from autodiff_cli.arrays import Vector
    from autodiff_cli.notes.one_sided_limits import Discontinuity
    from autodiff_cli.solvers.intervals.enclosure import Enclosure

MOST_SECONDS = 4.0  # the processor time of the branch and bound, and of the closer look
MOST_ROOTS = 500  # the maximum number of roots
MOST_PLACES = 300  # the maximum number of places where nothing is proven that are examined
_SAMPLES = 1_500  # the number of points at which the signs of an equation without an enclosure are compared
_MOST_GROUPS = 20  # the maximum number of groups of intervals in which an equation that may not be continuous is examined
_SECONDS_APART = 0.02  # the maximum processor time for one proof that a range beside a multiple root does not contain others
_PIECES = {1: 64, 2: 8, 3: 4}  # the number of parts of each side at first, by the number of unknowns; 2 for more unknowns
_PAD = 1e-9  # the part of its width by which the box grows to both sides, so that a root on its boundary is inside
_MOST_REFINED = 30  # the maximum number of Newton steps to a root that is proven already
_GRID = 200  # the approximate number of starts on a grid over the box


@dataclass(slots=True)
class Roots:
    """The roots in a range.

    Attributes:
        checks: the verification of each root, in the order of the unknowns.
        complete: whether it is proven that roots do not exist outside of the errors of these roots.
        undefined: places where an equation is not defined or not continuous, and that are not roots; if this is not proven,
            ``complete`` is false.
        unresolved: places where a root is neither proven nor excluded.
        broken: where the residuals come close to 0, but jump or are not defined.
    """

    checks: list[Verification] = field(default_factory=list)
    complete: bool = True
    undefined: list[Vector] = field(default_factory=list)
    unresolved: list[Vector] = field(default_factory=list)
    broken: list[Discontinuity] = field(default_factory=list)


def roots_over(problem: RootProblem, low: Vector, high: Vector) -> Roots:
    """Find all roots of at least as many equations as unknowns in a box, given the bounds of the n unknowns."""
    search = _Search(problem, low, high)
    with np.errstate(all="ignore"):
        search.run()
    search.roots.checks.sort(key=lambda check: tuple(check.point.x))
    return search.roots


class _Search:
    """The search for all roots of equations between the bounds low and high: its methods add what they find to ``roots``."""

    def __init__(self, problem: RootProblem, low: Vector, high: Vector) -> None:
        self.problem, self.low, self.high = problem, low, high
        self.roots = Roots()
        self._walk = Walk(problem, 1.25 * MOST_SECONDS)

    def run(self) -> None:
        """Add the roots that branch and bound proves, then those at the places that it leaves open."""
        system, low, high = self.problem.system, self.low, self.high
        if system.enclosure is None:
            self._sample(self._grid())
            return
        pad = _PAD * (high - low)
        parts = branch(system.enclosure, system.slopes, low - pad, high + pad, _PIECES.get(len(low), 2), MOST_SECONDS)
        waiting = np.array(parts.open).reshape(-1, 2, len(low))
        for bounds in parts.proven[:MOST_ROOTS]:
            root = _refined(self.problem, bounds)
            if self._is_inside(root.point.x, root.error):  # and not in the pad
                self._add(root)
            settled = np.stack([np.minimum(bounds[0], root.point.x), np.maximum(bounds[1], root.point.x)])
            waiting = _outside(system.enclosure, waiting, settled)
        self._examine_all(system.enclosure, waiting)
        self._finish(parts)

    def _is_inside(self, x: Vector, reach: Vector | float = 0.0) -> bool:
        """Return whether a point is in the range, or outside by at most ``reach``."""
        return bool(np.all(x + reach >= self.low) and np.all(x - reach <= self.high))

    def _examine_all(self, enclosure: Enclosure, waiting: Vector) -> None:
        """Examine small boxes in which nothing is proven, of shape (boxes, 2, n); those without time for it are unresolved."""
        for _ in range(MOST_PLACES):
            if not len(waiting) or self._walk.expired:
                break
            box, waiting = waiting[0], waiting[1:]
            if enclosure.excludes(*box):
                self._note_excluded(box)
            else:
                settled = self._examine(box)
                waiting = _outside(enclosure, np.concatenate([box[None], waiting]), settled)
        self.roots.unresolved += list(waiting.mean(axis=1))

    def _finish(self, parts: BranchResult) -> None:
        """Decide whether the roots are complete; if not, look for others where branch and bound ended early."""
        roots, dimension = self.roots, len(self.low)
        is_open = bool(roots.unresolved or roots.broken or parts.left or len(parts.proven) > MOST_ROOTS)
        are_isolated = all(check.multiplicity > 0 for check in roots.checks)
        roots.complete = roots.complete and are_isolated and not is_open
        if not roots.complete and self.problem.system.count == dimension == 1:
            self._add_crossings()
        if parts.left and dimension == 1:
            roots.broken += _discontinuities(self.problem, np.array(parts.left)[:, :, 0])
        if parts.left and len(parts.proven) < MOST_ROOTS:
            stride = len(parts.left) // 100 + 1  # at most 100 starts
            self._sample([box.mean(axis=0) for box in parts.left[::stride]])

    def _note_excluded(self, box: Vector) -> None:
        """Note a small box that does not contain a root, and in which a residual has a pole or a jump."""
        if self.problem.system.tape is None:  # the formula of a function of arrays may have a pole where the function has none
            return
        place = _simple_number(box)
        near = 1e-12 * (self.high - self.low)
        is_known = any(np.all(np.abs(point - place) <= near) for point in self.roots.undefined)
        if not is_known and self._is_inside(place):
            self.roots.undefined.append(place)

    def _examine(self, box: Vector) -> Vector:
        """Settle the place of a small box in which nothing is proven: note what is there, and return the bounds of the place."""
        middle = box.mean(axis=0)
        reach = 8 * (box[1] - box[0]) + 1e-13 * (self.high - self.low)  # a few boxes, but not only rounding errors
        for candidate in self._candidates(box, reach):
            settled = self._settle_candidate(candidate, box, reach)
            if settled is not None:
                return settled
        around = np.stack([middle - reach, middle + reach])
        gap = discontinuity(self.problem.system, self.problem.system.enclosure, middle, reach)
        if gap is not None:
            self.roots.broken.append(gap)
        elif (check := _crossing(self.problem, *around)) is not None:  # so steep that the residual is not small at any float
            self._add(check)
        else:
            self._leave_open(box, reach)
        return around

    def _candidates(self, box: Vector, reach: Vector) -> list[Vector]:
        """Return points in or beside a box at which there may be a root: first where a search from its middle ends nearby."""
        middle = box.mean(axis=0)
        end = trust_region(self._walk, self._walk.begin(middle)).x
        is_near = np.all(np.abs(end - middle) <= 1e3 * reach + 1e-4 * (self.high - self.low))  # and not at another root
        return [*([end] if is_near else []), middle, *box, _simple_number(box)]

    def _settle_candidate(self, candidate: Vector, box: Vector, reach: Vector) -> Vector | None:
        """Note the jump or the root at a candidate, and return the bounds of its place; ``None`` without either in the range."""
        check = verify(self.problem, candidate)
        near = check.error + reach
        if check.broken is not None:
            self.roots.broken.append(check.broken)
            return np.stack([check.point.x - 3 * near, check.point.x + 3 * near])
        if not check.converged or not self._is_inside(check.point.x, near):
            return None
        x = np.clip(check.point.x, self.low, self.high)
        check = check if np.all(x == check.point.x) else verify(self.problem, x)
        return self._settle_root(check, box, reach) if check.converged else None

    def _settle_root(self, check: Verification, box: Vector, reach: Vector) -> Vector | None:
        """Add a root, and return the bounds of its place; ``None`` if the box is apart from the place of a simple root."""
        x, check = check.point.x, self._centered(check)
        wide = np.maximum(3 * check.error, np.abs(x - box.mean(axis=0))) + reach
        if check.multiplicity > 1:
            check = check._replace(error=self._enclosing_error(check, wide + np.abs(x - check.point.x)))
        elif check.multiplicity == 1:  # another simple root may be closer than the reach
            wide = _radius_without_others(self.problem, check, box)
            if np.any(box[0] > x + wide) or np.any(box[1] < x - wide):
                return None
        self._add_or_doubt(_signed(self.problem, check))
        return np.stack([x - wide, x + wide])

    def _add_or_doubt(self, check: Verification) -> None:
        """Add a root; or note its place as unresolved if the multiplicity contradicts a simple root there, or the signs."""
        x, is_multiple = check.point.x, check.multiplicity > 1
        simple_roots = [root.point.x for root in self.roots.checks if root.multiplicity == 1]
        is_crowded = is_multiple and any(np.all(np.abs(other - x) <= check.error) for other in simple_roots)
        has_wrong_signs = check.proof == "touching" and check.multiplicity % 2 == 1  # an odd multiplicity changes the sign
        if is_crowded or has_wrong_signs:
            self.roots.unresolved.append(x)
        else:
            self._add(check)

    def _leave_open(self, box: Vector, reach: Vector) -> None:
        """Note a box without a root and without a proof: unresolved if the residuals may vanish there, else undefined."""
        system, middle = self.problem.system, box.mean(axis=0)
        is_regular = system.enclosure is not None and system.enclosure.is_regular(middle - reach, middle + reach)
        is_hidden = system.tape is None  # beside the pole of a function of arrays, a root may be as close
        may_vanish = is_regular or is_hidden or _shrinks(self.problem, middle, reach)
        (self.roots.unresolved if may_vanish else self.roots.undefined).append(_simple_number(box))
        self.roots.complete = False

    def _enclosing_error(self, check: Verification, distance: Vector) -> Vector:
        """Return an error of a multiple root beyond which no others are up to a distance; without a proof, the distance."""
        system, x, error = self.problem.system, check.point.x, check.error
        assert system.enclosure is not None
        while len(x) == 1 and error < distance and not self._walk.expired:
            ends = ((x - distance, x - error), (x + error, x + distance))
            sides = [branch(system.enclosure, system.slopes, *side, 8, _SECONDS_APART) for side in ends]
            if not any(side.proven or side.open or side.left for side in sides):
                return error
            error = 1.25 * error
        return distance

    def _centered(self, check: Verification) -> Verification:
        """Return a multiple root that was approached again, from where the residuals are not rounding errors."""
        if check.multiplicity > 1 and np.isfinite(check.error).all():
            start = self._walk.begin(check.point.x + 30 * check.error)
            again = verify(self.problem, trust_region(self._walk, start).x)
            if again.converged and np.all(np.abs(again.point.x - check.point.x) <= 2 * check.error):
                return again
        return check

    def _add_crossings(self) -> None:
        """Add the roots of an equation in one unknown where it changes its sign on a grid."""
        for x in map(np.atleast_1d, self._sign_changes()):
            check = verify(self.problem, x)
            if not check.converged and check.broken is None:
                check = _crossing(self.problem, x, np.nextafter(x, np.inf)) or check
            if check.converged:
                self._add(_signed(self.problem, check))

    def _add(self, check: Verification) -> None:
        """Add a root that is not yet known; the error of a multiple root comprises that of another approach to it."""
        checks = self.roots.checks
        for i, root in enumerate(checks):
            distance = np.abs(root.point.x - check.point.x)
            is_same = np.all(distance <= 2 * (root.error + check.error))
            if is_same and root.multiplicity > 1:
                checks[i] = root._replace(error=np.maximum(root.error, distance + check.error))
            if is_same:
                return
        checks.append(check)

    def _sample(self, starts: list[Vector]) -> None:
        """Look for roots from many starts; this proves nothing about the rest of the box."""
        self.roots.complete = False
        end = time.thread_time() + MOST_SECONDS / 2
        for start in starts:
            if time.thread_time() > end:
                return
            begin = self._walk.begin(start)
            if not begin.finite:
                continue
            check = verify(self.problem, trust_region(self._walk, begin).x)
            if check.converged and self._is_inside(check.point.x):
                self._add(check)

    def _grid(self) -> list[Vector]:
        """Return starts all over the box: the changes of sign of an equation in one unknown, then a grid."""
        dimension = len(self.low)
        count = max(2, round(_GRID ** (1 / dimension)))  # of starts along one side
        axes = np.linspace(self.low, self.high, count).T
        starts = list(np.stack(np.meshgrid(*axes, indexing="ij")).reshape(dimension, -1).T)
        if self.problem.system.count == dimension == 1:
            starts = [np.array([x]) for x in self._sign_changes()] + starts
        return starts

    def _sign_changes(self) -> list[float]:
        """Return where an equation in one unknown changes its sign on a grid: by bisection; late, the number of the grid before."""
        end = time.thread_time() + MOST_SECONDS / 2
        grid = np.linspace(self.low[0], self.high[0], _SAMPLES)
        signs = np.sign(self.problem.system.columns(grid[None])[0])
        zero = signs == 0
        zero[1:-1] &= ~(zero[:-2] & zero[2:])  # of an interval of zeros, the ends
        result = [float(x) for x in grid[zero]]
        for i in np.flatnonzero(signs[:-1] * signs[1:] < 0):
            low, high = grid[i : i + 1], grid[i + 1 : i + 2]
            if time.thread_time() <= end:
                low, high = _bisected(self.problem, low, high)
            result.append(float(low[0]))
        return result


def _discontinuities(problem: RootProblem, intervals: Vector) -> list[Discontinuity]:
    """Return where an equation is not continuous in some intervals, once in each of the largest groups of close ones."""
    intervals = intervals[np.argsort(intervals[:, 0])]
    wide = 8 * np.max(intervals[:, 1] - intervals[:, 0])
    is_apart = intervals[1:, 0] > intervals[:-1, 1] + wide  # from the interval before
    groups = np.split(intervals, np.flatnonzero(is_apart) + 1)
    ends = [(group[0, :1], group[-1, 1:]) for group in sorted(groups, key=len)[-_MOST_GROUPS:]]
    result = [discontinuity(problem.system, problem.system.enclosure, (a + b) / 2, (b - a) / 2) for a, b in ends]
    return [place for place in result if place is not None]


def _outside(enclosure: Enclosure, boxes: Vector, place: Vector) -> Vector:
    """Return the boxes, of shape (boxes, 2, n), apart from a place; in one unknown, also the sides of others that may hold one."""
    is_apart = ((boxes[:, 0] > place[1]) | (boxes[:, 1] < place[0])).any(axis=1)
    result = [boxes[is_apart]]
    if boxes.shape[2] == 1:
        for low, high in boxes[~is_apart]:
            for start, end in ((low, np.nextafter(place[0], -np.inf)), (np.nextafter(place[1], np.inf), high)):
                if start <= end and all(residual.holds(0.0) for residual in enclosure(start, end)):
                    result.append(np.stack([start, end])[None])
    return np.concatenate(result)


def _simple_number(box: Vector) -> Vector:
    """Return the number by which a small box is named: 0 where the box contains it, else its middle."""
    return np.where((box[0] <= 0) & (box[1] >= 0), 0.0, box.mean(axis=0))


def _refined(problem: RootProblem, bounds: Vector) -> Verification:
    """Return the verification of the only root in a box, to which Newton steps lead that stay in the box."""
    x = bounds.mean(axis=0)
    radius = (bounds[1] - bounds[0]) / 2
    for _ in range(_MOST_REFINED):
        point = problem.at(x)
        step = np.linalg.lstsq(point.jacobian, -point.f, None)[0] if point.finite else np.zeros_like(x)
        reached = np.clip(x + step, *bounds)
        if np.all(np.abs(reached - x) <= EPS * np.abs(x)):
            break
        x = reached
    check = verify(problem, x)
    if check.verdict == "root" and np.all(check.error <= 2 * radius + EPS * np.abs(x)):
        return check
    return check._replace(verdict="root", proof="interval Newton", error=2 * radius)  # the proof of branch and bound


def _radius_without_others(problem: RootProblem, check: Verification, box: Vector) -> Vector:
    """Return how far around a simple root others do not exist: four errors if proven, else one; for a system, also the box."""
    wide = 4 * check.error
    if problem.system.count > 1:
        return np.asarray(wide + box[1] - box[0])
    return check.error if krawczyk(problem, check.point, wide) is None else wide


def _signed(problem: RootProblem, check: Verification) -> Verification:
    """Return a root in one unknown with the proof ``sign change`` or ``touching`` for a weaker one, if signs are certain."""
    if len(check.error) > 1 or check.proof == "interval Newton" or problem.system.enclosure is None:
        return check
    reach = 3 * check.error + 1e-300  # more than 0
    low, high = check.point.x - reach, check.point.x + reach
    if _crosses(problem, low, high):
        return check._replace(proof="sign change")
    before, after = (problem.system.enclosure(end, end)[0] for end in (low, high))
    is_touching = bool(before.high < 0 and after.high < 0) or bool(before.low > 0 and after.low > 0)
    return check._replace(proof="touching") if is_touching else check


def _crosses(problem: RootProblem, low: Vector, high: Vector) -> bool:
    """Return whether an equation in one unknown is continuous and has different signs at two bounds, by enclosures."""
    enclosure = problem.system.enclosure
    if enclosure is None or problem.system.count != 1 or not enclosure.is_regular(low, high):
        return False
    before, after = (enclosure(end, end)[0] for end in (low, high))
    return bool(before.high < 0 < after.low) or bool(after.high < 0 < before.low)


def _crossing(problem: RootProblem, low: Vector, high: Vector) -> Verification | None:
    """Return a simple root in one unknown, proven by a change of sign between two neighbouring floats, or ``None``."""
    if problem.system.count != 1 or len(low) != 1:
        return None
    before, after = (np.sign(problem.system.values(end)[0]) for end in (low, high))
    if not before * after < 0:
        return None
    low, high = _bisected(problem, low, high)
    if not _crosses(problem, low, high):
        return None
    return verify(problem, low)._replace(verdict="root", proof="sign change", error=high - low, multiplicity=1)


def _bisected(problem: RootProblem, low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """Return two neighbouring floats with different signs of an equation in one unknown, between two numbers with such signs."""
    sign = np.sign(problem.system.values(low)[0])
    middle = low / 2 + high / 2
    while low < middle < high:
        low, high = (middle, high) if np.sign(problem.system.values(middle)[0]) == sign else (low, middle)
        middle = low / 2 + high / 2
    return low, high


def _shrinks(problem: RootProblem, middle: Vector, reach: Vector) -> bool:
    """Return whether the residuals shrink on one side towards a place where they may jump; undefined ones are infinite."""
    for sign in (1.0, -1.0):
        points = (middle + sign * distance * reach for distance in (1e6, 1e3, 1.0))
        far, near, nearest = (norm(problem.system.values(point)) for point in points)
        keeps_half = nearest >= 0.5 * near and near >= 0.5 * far  # with each step towards the place
        if not keeps_half:
            return True
    return False
