"""The search for all roots in a range: branch and bound, then an examination of the places where nothing is proven."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.solvers.intervals.branch_and_bound import branch
from autodiff_cli.solvers.jumps import discontinuity
from autodiff_cli.solvers.roots.newton import Walk, trust_region
from autodiff_cli.solvers.roots.problem import EPS, RootProblem
from autodiff_cli.solvers.roots.verification import Verification, krawczyk, verify

if TYPE_CHECKING:
    from autodiff_cli.arrays import Vector
    from autodiff_cli.notes.one_sided_limits import Discontinuity
    from autodiff_cli.solvers.intervals.enclosure import Enclosure

MOST_SECONDS = 4.0
"""The processor time of the branch and bound, and of the closer look."""
MOST_ROOTS = 500
"""The maximum number of roots."""
MOST_PLACES = 300
"""The maximum number of places where nothing is proven that are examined."""
_SAMPLES = 1_500
"""The number of points at which the signs of an equation without an enclosure are compared."""
_MOST_GROUPS = 20
"""The maximum number of groups of intervals in which an equation that may not be continuous is examined."""
_SECONDS_APART = 0.02
"""The maximum processor time for one proof that a range beside a multiple root does not contain others."""
_PIECES = {1: 64, 2: 8, 3: 4}
"""The number of parts of each side at first, by the number of unknowns."""


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
    """Find all roots in a box.

    Args:
        problem: the equations, at least as many as unknowns.
        low, high: the bounds of the n unknowns.
    """
    result = Roots()
    walk = Walk(problem, 1.25 * MOST_SECONDS)
    with np.errstate(all="ignore"):
        if problem.system.enclosure is None:
            _sample(problem, walk, low, high, result)
        else:
            _branch(problem, walk, low, high, result)
    result.checks.sort(key=lambda check: tuple(check.point.x))
    return result


def _branch(problem: RootProblem, walk: Walk, low: Vector, high: Vector, roots: Roots) -> None:
    """Add the roots in a box: those that branch and bound proves, then those at the places that it leaves open."""
    assert problem.system.enclosure is not None
    pad = 1e-9 * (high - low)
    parts = branch(problem.system.enclosure, problem.system.slopes, low - pad, high + pad, _PIECES.get(len(low), 2), MOST_SECONDS)
    waiting = np.array(parts.open).reshape(-1, 2, len(low))
    more = len(parts.proven) - MOST_ROOTS
    for bounds in parts.proven[:MOST_ROOTS]:
        check = _refined(problem, bounds)
        if np.all(check.point.x + check.error >= low) and np.all(check.point.x - check.error <= high):
            _add(roots, check)
        around = np.stack([np.minimum(bounds[0], check.point.x), np.maximum(bounds[1], check.point.x)])
        waiting = _outside(problem.system.enclosure, waiting, around)
    for _ in range(MOST_PLACES):
        if not len(waiting) or walk.expired:
            break
        box, waiting = waiting[0], waiting[1:]
        if problem.system.enclosure.excludes(*box):
            _note_excluded(problem, roots, box, low, high)
        else:
            place = _looked_at(problem, walk, box, low, high, roots)
            waiting = _outside(problem.system.enclosure, np.concatenate([box[None], waiting]), place)
    roots.unresolved += list(waiting.mean(axis=1))
    open_places = bool(roots.unresolved or roots.broken or parts.left or more > 0)
    roots.complete = roots.complete and all(check.multiplicity for check in roots.checks) and not open_places
    if not roots.complete and problem.system.count == len(low) == 1:
        _add_crossings(problem, float(low[0]), float(high[0]), roots)
    if parts.left and len(low) == 1:
        roots.broken += _not_continuous(problem, np.array(parts.left)[:, :, 0])
    if parts.left and more < 0:
        _sample(problem, walk, low, high, roots, [box.mean(axis=0) for box in parts.left[:: len(parts.left) // 100 + 1]])


def _not_continuous(problem: RootProblem, boxes: Vector) -> list[Discontinuity]:
    """Return where an equation in one unknown is not continuous, at most once in each of the largest groups of close intervals."""
    boxes = boxes[np.argsort(boxes[:, 0])]
    wide = 8 * np.max(boxes[:, 1] - boxes[:, 0])
    groups = np.split(boxes, np.flatnonzero(boxes[1:, 0] > boxes[:-1, 1] + wide) + 1)
    ends = [(group[0, :1], group[-1, 1:]) for group in sorted(groups, key=len)[-_MOST_GROUPS:]]
    result = [discontinuity(problem.system, problem.system.enclosure, (a + b) / 2, (b - a) / 2) for a, b in ends]
    return [place for place in result if place is not None]


def _note_excluded(problem: RootProblem, roots: Roots, box: Vector, low: Vector, high: Vector) -> None:
    """Note a small box that does not contain a root, and in which a residual has a pole or a jump."""
    if problem.system.tape is None:  # the formula of a function of arrays may have a pole where the function has none
        return
    place = np.where((box[0] <= 0) & (box[1] >= 0), 0.0, box.mean(axis=0))
    near = 1e-12 * (high - low)
    known = any(np.all(np.abs(point - place) <= near) for point in roots.undefined)
    if not known and np.all(place >= low) and np.all(place <= high):
        roots.undefined.append(place)


def _outside(enclosure: Enclosure, boxes: Vector, place: Vector) -> Vector:
    """Return the boxes, of shape (boxes, 2, n), that do not touch a place, and what may hold 0 of intervals that do."""
    apart = ((boxes[:, 0] > place[1]) | (boxes[:, 1] < place[0])).any(axis=1)
    parts = [boxes[apart]]
    if boxes.shape[2] == 1:
        for low, high in boxes[~apart]:
            sides = ((low, np.nextafter(place[0], -np.inf)), (np.nextafter(place[1], np.inf), high))
            left = [side for side in sides if side[0] <= side[1] and all(interval.holds(0.0) for interval in enclosure(*side))]
            parts += [np.stack(side)[None] for side in left]
    return np.concatenate(parts)


def _refined(problem: RootProblem, bounds: Vector) -> Verification:
    """Return the verification of the only root in a box."""
    x = bounds.mean(axis=0)
    radius = (bounds[1] - bounds[0]) / 2
    for _ in range(30):
        point = problem.at(x)
        step = np.linalg.lstsq(point.jacobian, -point.f, None)[0] if point.finite else np.zeros_like(x)
        reached = np.clip(x + step, *bounds)
        if np.all(np.abs(reached - x) <= EPS * np.abs(x)):
            break
        x = reached
    check = verify(problem, x)
    if check.verdict == "root" and np.all(check.error <= 2 * radius + EPS * np.abs(x)):
        return check
    return check._replace(verdict="root", proof="interval Newton", error=2 * radius)


def _looked_at(problem: RootProblem, walk: Walk, box: Vector, low: Vector, high: Vector, roots: Roots) -> Vector:
    """Examine a small box in which nothing is proven; return the bounds of the place that was examined."""
    middle = box.mean(axis=0)
    reach = 8 * (box[1] - box[0]) + 1e-13 * (high - low)
    candidates = [middle, *box, np.where((box[0] <= 0) & (box[1] >= 0), 0.0, middle)]
    point = trust_region(walk, walk.begin(middle))
    if np.all(np.abs(point.x - middle) <= 1e3 * reach + 1e-4 * (high - low)):
        candidates.insert(0, point.x)
    for x in candidates:
        check = verify(problem, x)
        near = check.error + reach
        if check.broken is not None:
            roots.broken.append(check.broken)
            return np.stack([check.point.x - 3 * near, check.point.x + 3 * near])
        if not check.converged or np.any(check.point.x < low - near) or np.any(check.point.x > high + near):
            continue
        x = np.clip(check.point.x, low, high)
        check = check if np.all(x == check.point.x) else verify(problem, x)
        if check.converged:
            check = _centered(problem, walk, check)
            wide = np.maximum(3 * check.error, np.abs(x - middle)) + reach
            if check.multiplicity > 1:
                check = check._replace(error=_apart(problem, walk, check, wide + np.abs(x - check.point.x)))
            elif check.multiplicity == 1:  # another simple root may be closer than the reach
                wide = _alone(problem, check, box)
                if np.any(box[0] > x + wide) or np.any(box[1] < x - wide):
                    continue
            check = _signed(problem, check)
            touches = check.proof == "touching"
            simple = [root.point.x for root in roots.checks if root.multiplicity == 1]
            crowded = check.multiplicity > 1 and any(np.all(np.abs(x - check.point.x) <= check.error) for x in simple)
            if (touches and check.multiplicity % 2) or crowded:  # a residual that changes its sign does not touch 0
                roots.unresolved.append(check.point.x)
            else:
                _add(roots, check)
            return np.stack([x - wide, x + wide])
    broken = discontinuity(problem.system, problem.system.enclosure, middle, reach)
    if broken is not None:
        roots.broken.append(broken)
        return np.stack([middle - reach, middle + reach])
    crossing = _crossing(problem, middle - reach, middle + reach)
    if crossing is not None:  # so steeply that the residual is not small at any float
        error = crossing[1] - crossing[0]
        _add(roots, verify(problem, crossing[0])._replace(verdict="root", proof="sign change", error=error, multiplicity=1))
        return np.stack([middle - reach, middle + reach])
    place = np.where((box[0] <= 0) & (box[1] >= 0), 0.0, middle)
    regular = problem.system.enclosure is not None and problem.system.enclosure.is_regular(middle - reach, middle + reach)
    hidden = problem.system.tape is None  # beside the pole of a function of arrays, a root may be as close
    (roots.unresolved if regular or hidden or _vanishes(problem, middle, reach) else roots.undefined).append(place)
    roots.complete = False
    return np.stack([middle - reach, middle + reach])


def _alone(problem: RootProblem, check: Verification, box: Vector) -> Vector:
    """Return how far around a simple root others do not exist, or its error."""
    wide = 4 * check.error
    if problem.system.count > 1:
        return np.asarray(wide + box[1] - box[0])
    return check.error if krawczyk(problem, check.point, wide) is None else wide


def _apart(problem: RootProblem, walk: Walk, check: Verification, wide: Vector) -> Vector:
    """Return an error of a multiple root within which all roots are that are not farther away than a distance."""
    x, error = check.point.x, check.error
    assert problem.system.enclosure is not None
    while len(x) == 1 and error < wide and not walk.expired:
        ends = ((x - wide, x - error), (x + error, x + wide))
        sides = [branch(problem.system.enclosure, problem.system.slopes, *side, 8, _SECONDS_APART) for side in ends]
        if not any(side.proven or side.open or side.left for side in sides):
            return error
        error = 1.25 * error
    return wide


def _centered(problem: RootProblem, walk: Walk, check: Verification) -> Verification:
    """Return a multiple root that was approached again, from where the residuals are not rounding errors."""
    if check.multiplicity > 1 and np.isfinite(check.error).all():
        again = verify(problem, trust_region(walk, walk.begin(check.point.x + 30 * check.error)).x)
        if again.converged and np.all(np.abs(again.point.x - check.point.x) <= 2 * check.error):
            return again
    return check


def _signed(problem: RootProblem, check: Verification) -> Verification:
    """Replace the proof of a root in one unknown with the change of sign, or say that the residual only touches 0."""
    if len(check.error) > 1 or check.proof == "interval Newton" or problem.system.enclosure is None:
        return check
    x, wide = check.point.x, 3 * check.error + 1e-300
    if _crosses(problem, x - wide, x + wide):
        return check._replace(proof="sign change")
    before, after = (problem.system.enclosure(end, end)[0] for end in (x - wide, x + wide))
    same = bool(before.high < 0 and after.high < 0) or bool(before.low > 0 and after.low > 0)
    return check._replace(proof="touching") if same else check


def _crosses(problem: RootProblem, low: Vector, high: Vector) -> bool:
    """Return whether an equation in one unknown is continuous and has different signs at two bounds, by enclosures."""
    enclosure = problem.system.enclosure
    if enclosure is None or problem.system.count != 1 or len(low) != 1 or not enclosure.is_regular(low, high):
        return False
    before, after = (enclosure(end, end)[0] for end in (low, high))
    return bool(before.high < 0 < after.low) or bool(after.high < 0 < before.low)


def _add_crossings(problem: RootProblem, low: float, high: float, roots: Roots) -> None:
    """Add the roots of an equation in one unknown where it changes its sign on a grid."""
    for x in map(np.atleast_1d, _sign_changes(problem, low, high)):
        check = verify(problem, x)
        ends = None if check.converged or check.broken is not None else _crossing(problem, x, np.nextafter(x, np.inf))
        if ends is not None:
            check = check._replace(verdict="root", proof="sign change", error=ends[1] - ends[0], multiplicity=1)
        if check.converged:
            _add(roots, _signed(problem, check))


def _crossing(problem: RootProblem, low: Vector, high: Vector) -> tuple[Vector, Vector] | None:
    """Return two neighbouring floats between which an equation in one unknown is continuous and changes its sign, or ``None``."""
    if problem.system.count != 1 or len(low) != 1:
        return None
    if not np.prod([np.sign(problem.system.values(end)[0]) for end in (low, high)]) < 0:
        return None
    low, high = _bisected(problem, low, high)
    return (low, high) if _crosses(problem, low, high) else None


def _bisected(problem: RootProblem, low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """Return two neighbouring floats with different signs of an equation in one unknown, between two numbers with such signs."""
    sign = np.sign(problem.system.values(low)[0])
    while (low < (middle := low / 2 + high / 2)).all() and (middle < high).all():
        low, high = (middle, high) if np.sign(problem.system.values(middle)[0]) == sign else (low, middle)
    return low, high


def _vanishes(problem: RootProblem, middle: Vector, reach: Vector) -> bool:
    """Return whether the residuals tend to 0 at a place where they may be undefined or jump, or are not defined around it."""
    for sign in (1.0, -1.0):
        sizes = []
        for distance in (1e6, 1e3, 1.0):
            values = problem.system.values(middle + sign * distance * reach)
            sizes.append(float(np.max(np.abs(values))) if np.isfinite(values).all() else np.inf)
        if not sizes[2] >= 0.5 * sizes[1] >= 0.25 * sizes[0]:
            return True
    return False


def _add(roots: Roots, check: Verification) -> None:
    """Add a root that is not yet known; the error of a multiple root comprises that of another approach to it."""
    for i, root in enumerate(roots.checks):
        apart = np.abs(root.point.x - check.point.x)
        if np.all(apart <= 2 * (root.error + check.error)):
            if root.multiplicity > 1:
                roots.checks[i] = root._replace(error=np.maximum(root.error, apart + check.error))
            return
    roots.checks.append(check)


def _sample(problem: RootProblem, walk: Walk, low: Vector, high: Vector, roots: Roots, starts: list[Vector] | None = None) -> None:
    """Look for roots from many starts; this proves nothing about the rest of the range."""
    roots.complete = False
    end = time.thread_time() + MOST_SECONDS / 2
    if starts is None:
        side = max(2, round(200 ** (1 / len(low))))
        grid = np.meshgrid(*(np.linspace(a, b, side) for a, b in zip(low, high, strict=True)), indexing="ij")
        starts = list(np.stack(grid).reshape(len(low), -1).T)
        if problem.system.count == len(low) == 1:
            starts = [np.array([x]) for x in _sign_changes(problem, float(low[0]), float(high[0]))] + starts
    for start in starts:
        if time.thread_time() > end:
            return
        begin = walk.begin(start)
        if not begin.finite:
            continue
        check = verify(problem, trust_region(walk, begin).x)
        if check.converged and np.all(check.point.x >= low) and np.all(check.point.x <= high):
            _add(roots, check)


def _sign_changes(problem: RootProblem, low: float, high: float) -> list[float]:
    """Return where an equation in one unknown changes its sign between neighbours of a grid, by bisection."""
    end = time.thread_time() + MOST_SECONDS / 2
    grid = np.linspace(low, high, _SAMPLES)
    signs = np.sign(problem.system.columns(grid[None])[0])
    zero = signs == 0
    zero[1:-1] &= ~(zero[:-2] & zero[2:])  # of an interval of zeros, the ends
    result = [float(x) for x in grid[zero]]
    for i in np.flatnonzero(signs[:-1] * signs[1:] < 0):
        is_late = time.thread_time() > end
        result.append(float(grid[i] if is_late else _bisected(problem, grid[i : i + 1], grid[i + 1 : i + 2])[0][0]))
    return result
