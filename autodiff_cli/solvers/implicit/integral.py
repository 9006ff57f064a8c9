"""The operation of a definite integral: its quadrature, and its derivatives by Leibniz's rule.

The derivative with respect to a limit is the integrand there, and with respect to a parameter the integral of the derivative.
SciPy's double-exponential quadrature computes many integrals at a time, and mpmath, with many digits, those with kinks and
singularities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.compiler.gradient import gradient
from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.errors import NotPrecise, NoValue
from autodiff_cli.lazy import library
from autodiff_cli.solvers.implicit.components import Components, in_time, replayed
from autodiff_cli.solvers.implicit.jumps import JUMPS, KINKS, STEP, Switches, moving_jumps, one_sided, switching
from autodiff_cli.solvers.implicit.notation import definition_tree
from autodiff_cli.solvers.implicit.singular import SingularIntegral, roughest
from autodiff_cli.solvers.intervals.interval import Interval
from autodiff_cli.solvers.roots.problem import EPS

if TYPE_CHECKING:
    from autodiff_cli.arrays import Indices, Mask, Matrix, Vector
    from autodiff_cli.autograd.dtypes import Array
    from autodiff_cli.language.tree import Syntax
    from autodiff_cli.precise.arithmetic import Arithmetic

ACCURACY, MOST_LEVELS = 1.2e-14, 8
"""The error of an integral, relative to it, that is asked for, and the level with most nodes, each with twice those before."""
MOST_SECONDS = 20.0
"""The maximum processor time of one integral."""
MOST_PARTS = 100
"""The largest number of parts, on average, of integrals that are split at kinks."""
MOST_CANCELLATION = 30
"""The largest sum of the sizes of parts, relative to their sum, at which the sum keeps its digits."""
_MOST_DIGITS = 150
"""The digits of an integral in an arithmetic with more: difference quotients of order 2 with steps of 1e-30 leave 50 of them."""
_SHARP = 4.0
"""The growth of an integrand towards a place, from a distance of 1e-8 to one of 1e-15, that makes it singular: that of t**-0.09."""
_SHARE, _MOST_SPLITS = 0.22, 30
"""The right digits of an integral in many digits as a share of all, and how often its range is split to reach them."""


class Integral(Components):
    """The integral of an operand of a tape over one of its variables, a function of its two limits and of the parameters.

    Args:
        variable: the variable of integration.
        parameters: the other variables.
        integrand: the operand.
    """

    def __init__(self, variable: Instruction, parameters: Sequence[Instruction], integrand: Operand) -> None:
        self._variable, self._parameters, self._integrand = variable, list(parameters), integrand
        super().__init__("integral", ["low", "high", *(f"p{i}" for i in range(len(parameters)))], 0)

    def vjp(self, i: int, k: int, g: Any, out: Any, *arguments: Any) -> Any:
        """Return g times the derivative with respect to a limit, 0 or 1, or to parameter i - 2 (Leibniz's rule)."""
        if i >= 2:
            slopes = [part.functions[0](*arguments) for part in self._derivatives[i - 2]]
            return g * sum(slopes[1:], slopes[0])
        at_limit = self._at_limit(arguments[i], arguments[1 - i], arguments[2:])
        return g * (-at_limit if i == 0 else at_limit)

    def partial(self, i: int) -> str:
        kinds = "minus the integrand at the lower limit", "the integrand at the upper limit", "the integral of the derivative"
        return kinds[min(i, 2)]

    def tree(self, arguments: list[Syntax]) -> Syntax:
        return definition_tree("integral", [self._variable], self._parameters, [self._integrand], arguments)

    @cached_property
    def _derivatives(self) -> list[list[Components]]:
        """The integral of the derivative with respect to each parameter, and what jumps at places that it moves add to it."""
        slopes = gradient(self._integrand, self._parameters)
        jumps = moving_jumps(self._variable, self._parameters, self._jumping, self._integrand)
        return [[Integral(self._variable, self._parameters, slope), *parts] for slope, parts in zip(slopes, jumps, strict=True)]

    @cached_property
    def _bends(self) -> Switches:
        """The places at which the integrand may jump or have a kink."""
        return Switches(self._variable, self._parameters, switching(self._variable, self._integrand, {**JUMPS, **KINKS}))

    @cached_property
    def _jumping(self) -> list[Operand]:
        """The functions that are 0 where the integrand may jump."""
        return switching(self._variable, self._integrand, JUMPS)

    def _at_limit(self, limit: Any, other: Any, parameters: Sequence[Any]) -> Any:
        """Return the integrand at a limit of the range; if it may jump there, the value to which it tends inside the range."""
        values = dict(zip([self._variable, *self._parameters], [limit, *parameters], strict=True))
        if self._jumping:
            step = FUNCTIONS["sign"].function(other - limit) * STEP * (1.0 + abs(limit))
            values |= one_sided(self._integrand, self._variable, values, step)
        return replayed([self._integrand], values)[0]

    def solve(self, *arrays: Array) -> Array:
        """Return the integral for arrays of limits and parameters, and an estimate of its error; nan if an argument is nan."""
        columns = np.array([np.ravel(array) for array in arrays], float)
        result = np.zeros((2, columns.shape[1]))
        undefined = np.isnan(columns).any(axis=0)
        result[:, undefined] = np.nan
        proper = np.flatnonzero((columns[0] != columns[1]) & ~undefined)
        sign = np.where(columns[0] < columns[1], 1.0, -1.0)
        columns[:2].sort(axis=0)
        with np.errstate(all="ignore"), in_time(len(proper), MOST_SECONDS) as is_part:
            if len(proper):
                result[:, proper] = self._integrals(columns[:, proper], is_part)
        result[0] *= sign
        kind = np.result_type(*arrays, np.float32)
        return np.asarray(result.reshape(2, *arrays[0].shape), kind)

    def intervals(self, *operands: Interval) -> list[Interval]:
        """Return an unbounded enclosure: an integral is a continuous function of its limits and parameters."""
        regular = np.logical_and.reduce(np.broadcast_arrays(*(operand.regular for operand in operands)))
        return [Interval(np.full(regular.shape, -np.inf), np.full(regular.shape, np.inf), regular)]

    def errors(self) -> Array:
        """Return estimates of the errors of the integrals that were computed last."""
        assert self._last is not None
        return np.asarray(self._last[1][1])

    def _integrals(self, ranges: Matrix, is_part: bool) -> tuple[Vector, Vector]:
        """Return many integrals, whose ascending limits and parameters are columns, and their errors; nan without a value.

        Ranges are split at known places, and, if they are not integrated accurately, at further kinks.  Those that remain are
        integrated in many digits, one by one; so are those whose parts cancel, unless they are parts of another value, which does
        not need their relative accuracy.
        """
        result, size, error = np.zeros((3, ranges.shape[1]))  # the sums of the parts, of their absolute values, of their errors
        owners, pieces, is_left = self._split(ranges)
        count, most = 0, MOST_PARTS * len(result) + len(owners)  # of parts
        while len(owners):
            parts, errors, is_accurate = self._quadratures(size[owners], *pieces)
            for total, addends in ((result, parts), (size, np.abs(parts)), (error, errors)):
                np.add.at(total, owners, np.where(is_accurate, addends, 0.0))
            pieces, owners = pieces[:, ~is_accurate], owners[~is_accurate]
            kinks = self._kinks(*pieces)
            count += len(parts)
            has_kink = np.isfinite(kinks) & (count <= most)
            is_left[owners[~has_kink]] = True
            low, high, *parameters = pieces[:, has_kink]
            pieces = np.hstack([[low, kinks[has_kink], *parameters], [kinks[has_kink], high, *parameters]])
            owners = np.tile(owners[has_kink], 2)
        for i in np.flatnonzero(is_left | (not is_part) & (size > MOST_CANCELLATION * np.abs(result))):
            try:
                result[i], error[i] = self.alone(ranges[:, i])
            except NoValue:
                result[i] = np.nan if is_left[i] else result[i]
        return result, np.maximum(error, EPS * np.abs(result))

    def _split(self, ranges: Matrix) -> tuple[Indices, Matrix, Mask]:
        """Return the parts of ranges between the places where the integrand jumps or bends, after the numbers of their ranges.

        The mask says which ranges are left out: they have a singularity inside, next to which floats are too coarse.
        """
        is_left: Mask = np.zeros(ranges.shape[1], bool)
        known = [(i, place) for i, place, _ in self._bends.places(ranges) if np.isfinite(place)] if self._bends.zeros else []
        insides, places = np.array([i for i, _ in known], int), np.array([place for _, place in known])
        is_left[insides[self._is_sharp(places, *ranges[2:, insides])]] = True
        owners = np.append(np.arange(len(is_left)), insides)
        starts, ends = np.append(ranges[0], places), np.append(ranges[1], places)
        starts, ends = starts[np.lexsort((starts, owners))], ends[np.lexsort((ends, owners))]
        owners.sort()
        pieces = np.vstack([starts, ends, ranges[2:, owners]])
        return owners[~is_left[owners]], pieces[:, ~is_left[owners]], is_left

    def _is_sharp(self, places: Vector, *parameters: Vector) -> Mask:
        """Return where the integrand is singular, and not only bent: its size grows as floats come nearer to the place."""
        scale = np.maximum(np.abs(places), 1.0)
        near, far = (
            np.abs([self._values(places + side * distance * scale, *parameters) for side in (-1, 1)]).max(axis=0)
            for distance in (4 * EPS, 1e-8)
        )
        return np.asarray(~(near <= _SHARP * far))

    def _quadratures(self, size: Vector, low: Vector, high: Vector, *parameters: Vector) -> tuple[Vector, Vector, Mask]:
        """Return many integrals, their errors, and which are accurate relative to themselves or to ``size``.

        Two levels of nodes of the double-exponential quadrature must agree, because SciPy's estimate of the error may be far too
        small for an integrand with kinks.
        """
        quadrature = library("scipy.integrate", "integral").tanhsinh
        values, errors, left = np.full(len(low), np.nan), np.full(len(low), np.inf), np.arange(len(low))
        is_accurate = np.zeros(len(low), bool)
        for level in range(2, MOST_LEVELS + 1):
            start, end, *own = (column[left] for column in (low, high, *parameters))
            finer = quadrature(self._values, start, end, args=(*own,), minlevel=level, maxlevel=level)
            errors[left] = np.maximum(np.abs(finer.integral - values[left]), finer.error)
            values[left] = finer.integral
            is_accurate[left] = errors[left] <= 10 * ACCURACY * np.maximum(np.abs(values[left]), size[left])
            left = np.flatnonzero(~is_accurate)
            if not len(left):
                break
        middle = low / 2 + high / 2  # a node, at which SciPy takes a pole for 0
        is_defined = np.isfinite(self._values(middle, *parameters)) | ~np.isfinite(middle)
        return values, errors, is_accurate & np.isfinite(values) & is_defined

    def _kinks(self, low: Vector, high: Vector, *parameters: Vector) -> Vector:
        """Return where the integrand bends most inside each range, or the middle; nan if the integrand is not finite there."""
        kinks = roughest(lambda t: self._values(t, *(column[:, None] for column in parameters)), low, high)
        least = 8 * np.spacing(np.maximum(np.abs(low), np.abs(high)))  # what is nearer to an end does not count
        kinks = np.where((kinks - low > least) & (high - kinks > least), kinks, low / 2 + high / 2)
        return np.where((high - low > 4 * least) & np.isfinite(self._values(kinks, *parameters)), kinks, np.nan)

    def _values(self, t: Array, *parameters: Any) -> Array:
        """Return the integrand at places as a new array, because SciPy changes it."""
        values = dict(zip([self._variable, *self._parameters], [t, *parameters], strict=True))
        return np.asarray(np.zeros(t.shape) + replayed([self._integrand], values)[0])

    def alone(self, arguments: Vector) -> tuple[float, float]:
        """Return one integral in ascending direction, computed in many digits, and an estimate of its error.

        Raises:
            NoValue: if it does not have a value.
        """
        (low, high), parameters = sorted(arguments[:2].tolist()), list(arguments[2:])
        with np.errstate(all="ignore"), in_time(1, MOST_SECONDS):
            value, error = SingularIntegral(
                lambda t: self._values(t, *parameters),
                lambda math: self._in_digits(math, map(math.mpf, map(float, parameters))),
            ).over(low, high)
        if not np.isfinite(error):
            reason = "it diverges, or oscillates without end"
            raise NoValue(
                f"the integral from {low:.6g} to {high:.6g} has no value that quadrature can find: {reason}",
                hint="integrate over a range on which the integrand is integrable, or split it at its singularities",
            )
        return value, error

    def _in_digits(self, math: Arithmetic, parameters: Iterable[Any]) -> Callable[[Any], Any]:
        """Return the integrand as a function of an mpmath number."""
        from autodiff_cli.precise.evaluator import number_program

        program, cells = number_program(math, [self._variable, *self._parameters], [self._integrand]), list(parameters)
        return lambda t: program([t, *cells])[0]

    def precise(self, math: Arithmetic, *cells: Any) -> list[Any]:
        """Return the integral in many digits, but not more than quadrature can compute in time."""
        from autodiff_cli.precise.arithmetic import Arithmetic

        work = Arithmetic(min(math.digits, _MOST_DIGITS))
        low, high, *parameters = map(work.mpf, cells)
        places = self._bends.precise(work, [low, high, *parameters])
        ends = [low, *(places if low < high else reversed(places)), high]
        waiting, splits, total = list(pairwise(ends)), _MOST_SPLITS, work.mpf(0.0)
        function = self._in_digits(work, parameters)
        while waiting:
            start, end = waiting.pop()
            value, error = work.context.quad(function, [start, end], error=True)
            if error <= (abs(value) or 1) * work.context.mpf(10) ** (-_SHARE * work.digits):
                total += value
                continue
            splits -= 1
            if not splits or not np.isfinite(float(end - start)):
                raise NotPrecise("this integral, which has a kink or a peak,")
            columns = np.array([[float(number)] for number in (start, end, *parameters)])
            place = work.mpf(self._kinks(*columns)[0])
            waiting += [(start, place), (place, end)]
        return [math.mpf(total)]
