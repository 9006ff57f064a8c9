"""All roots of a system in a box: branch and bound with the Krawczyk operator, many boxes at a time.

A box without a root is discarded if an enclosure of a residual does not contain 0: the natural interval extension, or the mean
value form.  A box that the Krawczyk operator maps into its interior contains exactly one root.  Other boxes are bisected.
Source: Moore, Kearfott and Cloud, Introduction to Interval Analysis, SIAM 2009, chapters 6 and 8.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.solvers.intervals.enclosure import Enclosure
from autodiff_cli.solvers.intervals.interval import Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.arrays import Mask

    Boxes = NDArray[np.float64]

MOST_BOXES = 400_000  # the maximum number of boxes that are examined
MOST_AT_ONCE = 8_192  # the maximum number of boxes of one step, which bounds the memory
_INFLATION = 0.05  # the part of its width by which a box grows to both sides, so that a root on its boundary is in the interior
_CUT = 0.4897  # the place of a cut, which is not the middle, because roots are often at simple numbers
_NARROWEST = 2e-15  # the relative width below which a box is not cut
_EPS = float(np.finfo(float).eps)


class BranchResult(NamedTuple):
    """The result of a branch and bound.

    Attributes:
        proven: the bounds of boxes with exactly one root each, of shape (2, n).
        open: the bounds of boxes that are too small to be cut, and in which neither a root nor its absence is proven.
        left: the bounds of larger boxes that were not examined, because the work is bounded.
    """

    proven: list[Boxes]
    open: list[Boxes]
    left: list[Boxes]


def branch(values: Enclosure, slopes: Enclosure | None, low: Boxes, high: Boxes, pieces: int, seconds: float) -> BranchResult:
    """Find all roots in a box, as far as the number of boxes and the time allow; see ``BranchResult`` for what is left.

    Args:
        values: the m residuals over boxes.
        slopes: their derivatives, row by row; ``None`` if they cannot be enclosed.
        low, high: the n bounds of the box.
        pieces: the number of equal parts into which each side is cut at first.
        seconds: the maximum processor time.
    """
    end = time.thread_time() + seconds
    width = high - low
    waiting = [_cells(low, high, pieces)]  # blocks of boxes
    result = BranchResult([], [], [])
    examined = 0
    while waiting:
        boxes = waiting.pop()
        if examined > MOST_BOXES or time.thread_time() > end:
            result.left.extend(np.moveaxis(boxes, 2, 0))  # one by one
            continue
        if boxes.shape[2] > MOST_AT_ONCE:
            waiting += [boxes[:, :, :MOST_AT_ONCE], boxes[:, :, MOST_AT_ONCE:]]
            continue
        examined += boxes.shape[2]
        with np.errstate(all="ignore"):
            proven, small, rest = _examine(values, slopes, boxes, width)
        result.proven.extend(np.moveaxis(proven, 2, 0))
        result.open.extend(np.moveaxis(small, 2, 0))
        if rest.shape[2]:
            waiting.insert(0, rest)  # after all larger boxes
    return result


def _cells(low: Boxes, high: Boxes, pieces: int) -> Boxes:
    """Cut each side of a box into a number of equal pieces, and return the cells of the grid, of shape (2, n, boxes)."""
    cuts = np.linspace(low, high, pieces + 1).T  # one row for each side
    corners = [np.meshgrid(*ends, indexing="ij") for ends in (cuts[:, :-1], cuts[:, 1:])]
    return np.reshape(corners, (2, len(low), -1))


def _examine(values: Enclosure, slopes: Enclosure | None, boxes: Boxes, width: Boxes) -> tuple[Boxes, Boxes, Boxes]:
    """Return images of boxes with a proven root, boxes too small to be cut, and parts of the others, all of shape (2, n, boxes).

    Boxes without a root are left out.  Boxes in which residuals change by little more than rounding errors count as too small.
    Without slopes, a root is never proven.  ``width`` is that of the whole box.
    """
    possible = np.ones(boxes.shape[2], bool)
    for interval in values(*boxes):
        possible &= interval.holds(0.0)
    boxes = boxes[:, :, possible]
    if not boxes.shape[2]:
        return boxes, boxes, boxes
    low, high = boxes
    unit = np.maximum(np.maximum(np.abs(low), np.abs(high)), 1e-3 * width[:, None])  # close to 0, a part of the whole width
    narrow = np.all(high - low <= _NARROWEST * unit, axis=0)
    if slopes is None:
        return boxes[:, :, :0], boxes[:, :, narrow], _cut(boxes[:, :, ~narrow], width)
    images, proven, excluded, noisy = _contracted(values, slopes, boxes)
    small = (narrow | noisy) & ~proven & ~excluded
    rest = ~(proven | small | excluded)
    clipped = np.stack([np.maximum(low, images[0]), np.minimum(high, images[1])])
    return images[:, :, proven], boxes[:, :, small], _cut(clipped[:, :, rest], width)


def _contracted(values: Enclosure, slopes: Enclosure, boxes: Boxes) -> tuple[Boxes, Mask, Mask, Mask]:
    """Return the images of boxes under the Krawczyk operator, which hold all of their roots, and three masks.

    They are: the boxes with a proven root; those without a root, by the mean value form or the image; and those in which the
    residuals change by little more than their rounding errors.
    """
    low, high = boxes
    margin = (high - low) * _INFLATION + 1e-300  # a box of width 0 grows, too
    outer_low, outer_high = low - margin, high + margin
    middle = outer_low / 2 + outer_high / 2
    at_middle = stacked(values(middle, middle))
    jacobian = stacked(slopes(outer_low, outer_high)).reshape(2, len(at_middle[0]), len(low), -1)  # (2, m, n, boxes)
    regular = np.logical_and.reduce([interval.regular for interval in values(outer_low, outer_high)])
    regular = regular & np.isfinite(jacobian).all(axis=(0, 1, 2)) & np.isfinite(at_middle).all(axis=(0, 1))
    center, radius = jacobian[0] / 2 + jacobian[1] / 2, (jacobian[1] / 2 - jacobian[0] / 2) * (1 + 4 * _EPS)
    # The mean value form: on a box, the residuals differ from those at its middle by at most ``change``.
    change = products(np.abs(center) + radius, np.maximum(high - middle, middle - low)) * (1 + 16 * _EPS)
    excluded = regular & ((at_middle[0] - change > 0) | (at_middle[1] + change < 0)).any(axis=0)
    noisy = regular & (change <= 2 * (at_middle[1] - at_middle[0])).all(axis=0)
    images = _images_where(regular & ~excluded, at_middle, center, radius, middle, outer_high)
    proven = ((images[0] > outer_low) & (images[1] < outer_high)).all(axis=0)
    excluded |= ((images[0] > high) | (images[1] < low)).any(axis=0)
    return images, proven & ~excluded, excluded, noisy


def _images_where(usable: Mask, f: Boxes, center: Boxes, radius: Boxes, middle: Boxes, high: Boxes) -> Boxes:
    """Return the Krawczyk images of the usable boxes, see ``krawczyk_images`` for the arguments; all numbers for other boxes."""
    images = np.stack([np.full_like(high, -np.inf), np.full_like(high, np.inf)])
    if center.shape[0] == center.shape[1]:  # as many equations as unknowns
        places = np.flatnonzero(usable)
        result, valid = krawczyk_images(*(part[..., places] for part in (f, center, radius, middle, high)))
        images[:, :, places[valid]] = result[:, :, valid]
    return images


def krawczyk_images(f: Boxes, center: Boxes, radius: Boxes, middle: Boxes, high: Boxes) -> tuple[Boxes, Mask]:
    """Return the images of boxes under the Krawczyk operator, of shape (2, n, boxes), and which could be computed.

    The operator is m - Y f(m) + (I - Y A)(x - m), for the middle m of a box x, the enclosure A of the Jacobian matrix and the
    inverse Y of its middle.  The image is m - Y f(m), plus and minus a ``reach`` in which multiples of eps bound rounding errors.

    Args:
        f: bounds of the residuals at the middles, of shape (2, n, boxes).
        center, radius: the middles and half-widths of the Jacobian matrices, of shape (n, n, boxes).
        middle, high: the middles and the upper bounds of the boxes, of shape (n, boxes).
    """
    n = len(middle)
    rounding = 4 * n * _EPS  # of a sum of n products
    inverse = inverses(center)
    size = np.abs(inverse)
    f_low, f_high = f / 2
    value, spread = f_low + f_high, f_high - f_low
    step = products(inverse, value)
    step_error = products(size, spread + rounding * np.abs(value))
    slopes = np.abs(np.eye(n)[:, :, None] - products(inverse, center))  # |I - Y A|
    slopes += products(size, radius + rounding * np.abs(center)) + rounding
    distance = (high - middle) * (1 + 2 * _EPS)
    reach = (step_error + products(slopes, distance)) * (1 + 8 * _EPS)
    reach = reach + 4 * _EPS * (np.abs(middle) + np.abs(step)) + 1e-300
    moved = middle - step
    return np.stack([moved - reach, moved + reach]), np.asarray(np.isfinite(reach).all(axis=0))


def inverses(matrices: Boxes) -> Boxes:
    """Return the inverses of matrices of shape (n, n, boxes); a singular matrix has an inverse that is not finite."""
    if len(matrices) == 1:  # numbers
        return np.asarray(1 / matrices)
    result = np.full_like(matrices, np.nan)
    places = np.flatnonzero(np.isfinite(matrices).all(axis=(0, 1)))
    by_box = np.moveaxis(matrices[:, :, places], 2, 0)  # as NumPy takes them
    regular = np.abs(np.linalg.det(by_box)) > 0  # false for nan
    result[:, :, places[regular]] = np.moveaxis(np.linalg.inv(by_box[regular]), 0, 2)
    return result


def products(matrices: Boxes, others: Boxes) -> Boxes:
    """Return the products of matrices of shape (m, n, boxes) with vectors (n, boxes) or matrices (n, l, boxes)."""
    columns = matrices if others.ndim == 2 else matrices[:, :, None]
    result: Boxes = columns[:, 0] * others[0]
    for j in range(1, len(others)):  # an einsum over so few elements takes ten times as long
        result += columns[:, j] * others[j]
    return result


def stacked(intervals: list[Interval]) -> Boxes:
    """Return the bounds of intervals as one array of shape (2, intervals, boxes)."""
    return np.array([[interval.low for interval in intervals], [interval.high for interval in intervals]])


def _cut(boxes: Boxes, width: Boxes) -> Boxes:
    """Cut every box in two, along the side that is widest relative to that of the whole box, and return all parts."""
    if not boxes.shape[2]:
        return boxes
    low, high = boxes
    side = np.argmax((high - low) / width[:, None], axis=0)
    index = np.arange(boxes.shape[2])  # of the boxes
    cut = low[side, index] + _CUT * (high[side, index] - low[side, index])
    first, second = boxes.copy(), boxes.copy()
    first[1, side, index] = cut
    second[0, side, index] = cut
    return np.concatenate([first, second], axis=2)
