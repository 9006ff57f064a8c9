"""Intervals of real numbers, with bounds that are rounded outwards.

An interval encloses all values that a real function takes on the part of a box where the function is defined (the natural
interval extension; Moore, Kearfott and Cloud, Introduction to Interval Analysis, SIAM 2009, chapters 2 to 5).  The bounds are
arrays with one element for each box, so one operation handles many boxes.  ``regular`` states whether the function is defined
and continuous on the whole box; IEEE 1788 calls this the decoration ``dac``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from autodiff_cli.arrays import Mask

    Bounds = NDArray[np.float64]
    Pair = tuple[float, float]
    Function = Callable[[NDArray[np.float64]], NDArray[np.float64]]

ULPS = 4  # the assumed maximum error of NumPy's elementary functions, in units in the last place
EVERYWHERE = (-np.inf, np.inf)
_ULP = float(np.finfo(float).eps)
_HALF_ULP = _ULP / 2 * (1 + _ULP)  # a little more than half a unit in the last place of 1
_LEAST = float(np.finfo(float).smallest_subnormal)
_LARGEST = float(np.finfo(float).max)


class Interval(NamedTuple):
    """An interval for each box.

    Attributes:
        low, high: the bounds; both are nan if the function is not defined anywhere on the box.
        regular: whether the function is defined and continuous on the whole box.
    """

    low: Bounds
    high: Bounds
    regular: Mask

    @property
    def magnitude(self) -> Bounds:
        """The largest absolute value."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    @property
    def mignitude(self) -> Bounds:
        """The smallest absolute value."""
        return np.where(self.holds(0.0), 0.0, np.minimum(np.abs(self.low), np.abs(self.high)))

    @property
    def empty(self) -> Mask:
        """Whether the function is not defined anywhere on the box."""
        return np.isnan(self.low)

    def holds(self, value: float) -> Mask:
        """Return whether a value is in the interval."""
        return (self.low <= value) & (value <= self.high)


def point(value: ArrayLike) -> Interval:
    """Return the interval that contains one number; an infinity means numbers beyond the floats, nan an undefined value."""
    number = np.asarray(value, np.float64)
    most = np.finfo(np.float64).max
    return Interval(np.minimum(number, most), np.maximum(number, -most), ~np.isnan(number))


UNBOUNDED = Interval(np.array(-np.inf), np.array(np.inf), np.array(False))
"""The interval of all real numbers: the enclosure of a function about which nothing is known."""


def outward(low: Bounds, high: Bounds, regular: Mask, ulps: int = 1) -> Interval:
    """Return bounds that were rounded to nearest, moved outwards by at least a number of units in the last place.

    The products replace ``nextafter``, which takes several times as long; see Rump, Zimmermann, Boldo and Melquiond, Computing
    predecessor and successor in rounding to nearest, BIT 49 (2009).
    """
    share = _HALF_ULP if ulps == 1 else ulps * _ULP  # half a unit suffices for one correctly rounded operation
    low, high = np.minimum(low, _LARGEST), np.maximum(high, -_LARGEST)  # a lower bound that overflowed is the largest float
    return Interval(low - (share * np.abs(low) + ulps * _LEAST), high + (share * np.abs(high) + ulps * _LEAST), regular)


def hull(a: Interval, b: Interval) -> Interval:
    """Return the smallest interval that contains two intervals; an empty interval does not contribute."""
    return Interval(np.fmin(a.low, b.low), np.fmax(a.high, b.high), a.regular & b.regular)


def chosen(condition: Mask, a: Interval, b: Interval) -> Interval:
    """Return ``a`` for the boxes where a condition is true, else ``b``."""
    return Interval(
        np.where(condition, a.low, b.low), np.where(condition, a.high, b.high), np.where(condition, a.regular, b.regular)
    )


def add(a: Interval, b: Interval) -> Interval:
    """Return the sum."""
    return outward(a.low + b.low, a.high + b.high, a.regular & b.regular)


def neg(a: Interval) -> Interval:
    """Return the negative."""
    return Interval(-a.high, -a.low, a.regular)


def sub(a: Interval, b: Interval) -> Interval:
    """Return the difference."""
    return add(a, neg(b))


def mul(a: Interval, b: Interval) -> Interval:
    """Return the product, which is empty if a factor is."""
    products = [a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high]
    # A bound that is infinite means arbitrarily large numbers, and 0 times such a number is 0.
    products = [np.where(np.isnan(product), 0.0, product) for product in products]
    is_empty = a.empty | b.empty
    low, high = (np.where(is_empty, np.nan, end) for end in (reduce(np.minimum, products), reduce(np.maximum, products)))
    result = outward(low, high, a.regular & b.regular)
    is_zero = ((a.low == 0) & (a.high == 0)) | ((b.low == 0) & (b.high == 0))  # exactly, and not because it underflows
    return Interval(np.where(is_zero, 0.0, result.low), np.where(is_zero, 0.0, result.high), result.regular)


def reciprocal(a: Interval) -> Interval:
    """Return 1/a: infinite on each side (- or +) from which a reaches 0, and empty for 0 itself."""
    has_both_signs = (a.low < 0) & (a.high > 0)
    low = np.where(has_both_signs | (a.high == 0), -np.inf, 1 / a.high)
    high = np.where(has_both_signs | (a.low == 0), np.inf, 1 / a.low)
    is_empty = a.empty | ((a.low == 0) & (a.high == 0))
    result = outward(low, high, a.regular & ~a.holds(0.0))
    return Interval(np.where(is_empty, np.nan, result.low), np.where(is_empty, np.nan, result.high), result.regular)


def div(a: Interval, b: Interval) -> Interval:
    """Return the quotient; see ``reciprocal`` for a divisor that contains 0."""
    ends = (a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high)
    result = outward(reduce(np.minimum, ends), reduce(np.maximum, ends), a.regular & b.regular)
    # The product with the reciprocal is wider by one rounding, but handles a divisor that contains 0 or is unbounded.
    simple = np.isfinite(a.magnitude) & np.isfinite(b.magnitude) & ~b.holds(0.0)
    return chosen(simple, result, mul(a, reciprocal(b)))


def even(a: Interval, function: Function, ulps: int = ULPS) -> Interval:
    """Return the values of an even function that increases from an exact value at 0, with a maximum error of some ``ulps``."""
    nearest, minimum = a.mignitude, function(np.zeros(()))  # the argument nearest to 0
    result = outward(function(nearest), function(a.magnitude), a.regular, ulps)
    low = np.where(nearest == 0, minimum, np.maximum(result.low, minimum))
    return Interval(np.where(a.empty, np.nan, low), result.high, result.regular)


def increasing(
    a: Interval,
    function: Function,
    domain: Pair = EVERYWHERE,
    bounds: Pair = EVERYWHERE,
    exact: Pair = (0.0, 0.0),
    ulps: int = ULPS,
) -> Interval:
    """Return the values of an increasing function.

    Args:
        a: the argument.
        function: the function, which returns its limits at infinite arguments and at the ends of its domain.
        domain: the numbers between which the function is defined.
        bounds: the numbers between which the values of the function are.
        exact: an argument at which the computed value is exact, and this value.
        ulps: the maximum error of the computed values, in units in the last place.
    """
    is_empty = a.empty | (a.high < domain[0]) | (a.low > domain[1])
    is_inside = (a.low >= domain[0]) & (a.high <= domain[1])
    for end in domain:
        if np.isfinite(end) and np.isinf(function(np.array(end))):  # the function has a pole there
            is_inside &= (a.low != end) & (a.high != end)
    first, last = np.clip(a.low, *domain), np.clip(a.high, *domain)  # the part of a where the function is defined
    result = outward(function(first), function(last), a.regular & is_inside & ~is_empty, ulps)
    exact_argument, exact_value = exact
    low = np.clip(np.where(first == exact_argument, exact_value, result.low), *bounds)
    high = np.clip(np.where(last == exact_argument, exact_value, result.high), *bounds)
    return Interval(np.where(is_empty, np.nan, low), np.where(is_empty, np.nan, high), result.regular)


def decreasing(
    a: Interval,
    function: Function,
    domain: Pair = EVERYWHERE,
    bounds: Pair = EVERYWHERE,
    exact: Pair = (0.0, 0.0),
    ulps: int = ULPS,
) -> Interval:
    """Return the values of a decreasing function: minus those of its negative, which increases; see ``increasing``."""
    (lowest, highest), (exact_argument, exact_value) = bounds, exact
    return neg(increasing(a, lambda x: -function(x), domain, (-highest, -lowest), (exact_argument, -exact_value), ulps))
