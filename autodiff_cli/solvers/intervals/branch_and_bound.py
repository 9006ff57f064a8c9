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

MOST_BOXES = 400_000
"""The maximum number of boxes that are examined."""
MOST_AT_ONCE = 8_192
"""The maximum number of boxes of one step, which bounds the memory."""
_INFLATION = 0.05
"""The part of its width by which a box grows to both sides, so that a root on its boundary is in the interior."""
_CUT = 0.4897
"""The place of a cut, which is not the middle, because roots are often at simple numbers."""
_NARROWEST = 2e-15
"""The relative width below which a box is not cut."""
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
    """Find all roots in a box.

    Args:
        values: the m residuals over boxes.
        slopes: their derivatives, row by row; ``None`` if they cannot be enclosed.
        low, high: the n bounds of the box.
        pieces: the number of equal parts into which each side is cut at first.
        seconds: the maximum processor time.
    """
    end = time.thread_time() + seconds
    width = high - low
    grid = np.stack(np.meshgrid(*[np.arange(pieces)] * len(low), indexing="ij")).reshape(len(low), -1)
    cuts = [np.linspace(a, b, pieces + 1) for a, b in zip(low, high, strict=True)]
    # blocks of boxes, of shape (2, n, boxes); at first, the cells of the grid
    waiting = [np.array([[cut[k + side] for cut, k in zip(cuts, grid, strict=True)] for side in (0, 1)])]
    result = BranchResult([], [], [])
    examined = 0
    while waiting:
        boxes = waiting.pop()
        if examined > MOST_BOXES or time.thread_time() > end:
            result.left.extend(np.moveaxis(boxes, 2, 0))
            continue
        if boxes.shape[2] > MOST_AT_ONCE:
            waiting += [boxes[:, :, :MOST_AT_ONCE], boxes[:, :, MOST_AT_ONCE:]]
            continue
        examined += boxes.shape[2]
        with np.errstate(all="ignore"):
            proven, small, rest = _examined(values, slopes, boxes, width)
        result.proven.extend(np.moveaxis(proven, 2, 0))
        result.open.extend(np.moveaxis(small, 2, 0))
        if rest.shape[2]:
            waiting.insert(0, rest)
    return result


def _examined(values: Enclosure, slopes: Enclosure | None, boxes: Boxes, width: Boxes) -> tuple[Boxes, Boxes, Boxes]:
    """Return the boxes with a proven root, those too small to be cut, and the parts of the others, each of shape (2, n, boxes)."""
    possible = np.ones(boxes.shape[2], bool)
    for interval in values(*boxes):
        possible &= interval.holds(0.0)
    boxes = boxes[:, :, possible]
    if not boxes.shape[2]:
        return boxes, boxes, boxes
    low, high = boxes
    size = np.maximum(np.abs(low), np.abs(high))
    narrow = np.all(high - low <= _NARROWEST * np.maximum(size, 1e-3 * width[:, None]), axis=0)
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
    margin = (high - low) * _INFLATION + 1e-300
    outer_low, outer_high = low - margin, high + margin
    middle = outer_low / 2 + outer_high / 2
    regular = np.logical_and.reduce([interval.regular for interval in values(outer_low, outer_high)])
    at_middle = stacked(values(middle, middle))
    rows, columns = len(at_middle[0]), len(low)
    matrix = stacked(slopes(outer_low, outer_high)).reshape(2, rows, columns, -1)
    regular = regular & np.isfinite(matrix).all(axis=(0, 1, 2)) & np.isfinite(at_middle).all(axis=(0, 1))
    center, radius = matrix[0] / 2 + matrix[1] / 2, (matrix[1] / 2 - matrix[0] / 2) * (1 + 4 * _EPS)
    change = products(np.abs(center) + radius, np.maximum(high - middle, middle - low)) * (1 + 16 * _EPS)
    excluded = regular & ((at_middle[0] - change > 0) | (at_middle[1] + change < 0)).any(axis=0)
    noisy = regular & (change <= 2 * (at_middle[1] - at_middle[0])).all(axis=0)
    images = np.stack([np.full_like(low, -np.inf), np.full_like(low, np.inf)])
    if rows != columns:
        return images, np.zeros_like(excluded), excluded, noisy
    usable = np.flatnonzero(regular & ~excluded)
    image, valid = krawczyk_images(
        at_middle[:, :, usable], center[:, :, usable], radius[:, :, usable], middle[:, usable], outer_high[:, usable]
    )
    images[:, :, usable[valid]] = image[:, :, valid]
    proven = ((images[0] > outer_low) & (images[1] < outer_high)).all(axis=0)
    excluded |= ((images[0] > high) | (images[1] < low)).any(axis=0)
    return images, proven & ~excluded, excluded, noisy


def krawczyk_images(f: Boxes, center: Boxes, radius: Boxes, middle: Boxes, high: Boxes) -> tuple[Boxes, Mask]:
    """Return the image of boxes under the Krawczyk operator, and whether it could be computed.

    The operator is m - Y f(m) + (I - Y A)(x - m), for the middle m of a box x, the enclosure A of the Jacobian matrix and the
    inverse Y of its middle; the multiples of eps bound the rounding errors of each term.

    Args:
        f: bounds of the residuals at the middles, of shape (2, n, boxes).
        center, radius: the middles and half-widths of the Jacobian matrices, of shape (n, n, boxes).
        middle, high: the middles and the upper bounds of the boxes, of shape (n, boxes).
    """
    n = len(middle)
    inverse = inverses(center)
    away = (high - middle) * (1 + 2 * _EPS)
    low, top = f / 2
    value, spread = low + top, top - low
    step = products(inverse, value)
    size = np.abs(inverse)
    error = products(size, spread + 4 * n * _EPS * np.abs(value))
    rest = np.abs(np.eye(n)[:, :, None] - products(inverse, center))
    rest += products(size, radius + 4 * n * _EPS * np.abs(center)) + 4 * n * _EPS
    reach = (error + products(rest, away)) * (1 + 8 * _EPS) + 4 * _EPS * (np.abs(middle) + np.abs(step)) + 1e-300
    moved = middle - step
    return np.stack([moved - reach, moved + reach]), np.asarray(np.isfinite(reach).all(axis=0))


def inverses(matrices: Boxes) -> Boxes:
    """Return the inverses of matrices of shape (n, n, boxes); a singular matrix has an inverse that is not finite."""
    if len(matrices) == 1:
        return np.asarray(1 / matrices)
    result = np.full_like(matrices, np.nan)
    usable = np.flatnonzero(np.isfinite(matrices).all(axis=(0, 1)))
    first = np.moveaxis(matrices[:, :, usable], 2, 0)
    regular = np.abs(np.linalg.det(first)) > 0
    result[:, :, usable[regular]] = np.moveaxis(np.linalg.inv(first[regular]), 0, 2)
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
    """Return two parts of every box, which is cut along its widest side relative to the width of the whole box."""
    if not boxes.shape[2]:
        return boxes
    low, high = boxes
    side = np.argmax((high - low) / width[:, None], axis=0)
    index = np.arange(boxes.shape[2])
    cut = low[side, index] + _CUT * (high[side, index] - low[side, index])
    first, second = boxes.copy(), boxes.copy()
    first[1, side, index] = cut
    second[0, side, index] = cut
    return np.concatenate([first, second], axis=2)
