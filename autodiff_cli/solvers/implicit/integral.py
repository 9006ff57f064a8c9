"""The operation of a definite integral: its quadrature, and its derivatives by Leibniz's rule.

The derivative with respect to a limit is the integrand there, and with respect to a parameter the integral of the derivative.
SciPy's double-exponential quadrature computes many integrals at a time, and mpmath, with many digits, those with kinks and
singularities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.compiler.gradient import gradient
from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.errors import NotPrecise, NoValue
from autodiff_cli.lazy import library
from autodiff_cli.solvers.implicit.components import Components, in_time, replayed
from autodiff_cli.solvers.implicit.notation import definition_tree
from autodiff_cli.solvers.implicit.singular import SingularIntegral, roughest
from autodiff_cli.solvers.intervals.interval import Interval
from autodiff_cli.solvers.roots.problem import EPS

if TYPE_CHECKING:
    from autodiff_cli.arrays import Mask, Matrix, Vector
    from autodiff_cli.autograd.dtypes import Array
    from autodiff_cli.language.tree import Syntax
    from autodiff_cli.precise.arithmetic import Arithmetic

ACCURACY, MOST_LEVELS = 1.2e-14, 8
"""The error of an integral, relative to it, that is asked for, and the level with most nodes, each with twice those before."""
ACCEPTED = 1e-10
"""The largest relative error of an integral with a value."""
MOST_SECONDS = 20.0
"""The maximum processor time of one integral."""
MOST_PARTS = 100
"""The largest number of parts, on average, of integrals that are split at kinks."""
MOST_CANCELLATION = 30
"""The largest sum of the sizes of parts, relative to their sum, at which the sum keeps its digits."""
_MOST_DIGITS = 150
"""The digits of an integral in an arithmetic with more: difference quotients of order 2 with steps of 1e-30 leave 50 of them."""
_SHARE = 0.22
"""The right digits of such an integral, as a share of all."""


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
            return g * self._derivatives[i - 2].functions[0](*arguments)
        slope = self._at(arguments[i], arguments[2:])
        return g * (-slope if i == 0 else slope)

    def partial(self, i: int) -> str:
        kinds = "minus the integrand at the lower limit", "the integrand at the upper limit", "the integral of the derivative"
        return kinds[min(i, 2)]

    def tree(self, arguments: list[Syntax]) -> Syntax:
        return definition_tree("integral", [self._variable], self._parameters, [self._integrand], arguments)

    @cached_property
    def _derivatives(self) -> list[Integral]:
        """The integrals of the derivatives with respect to the parameters."""
        slopes = gradient(self._integrand, self._parameters)
        return [Integral(self._variable, self._parameters, slope) for slope in slopes]

    def _at(self, t: Any, parameters: Sequence[Any]) -> Any:
        """Return the integrand at a place, which may be an array or a tensor of any kind."""
        return replayed([self._integrand], dict(zip([self._variable, *self._parameters], [t, *parameters], strict=True)))[0]

    def solve(self, *arrays: Array) -> Array:
        """Return the integral for arrays of limits and parameters, and an estimate of its error; nan if an argument is nan."""
        columns = np.array([np.ravel(array) for array in arrays], float)
        result = np.zeros((2, columns.shape[1]))
        undefined = np.isnan(columns).any(axis=0)
        proper = np.flatnonzero((columns[0] != columns[1]) & ~undefined)
        sign = np.where(columns[0] < columns[1], 1.0, -1.0)
        columns[:2].sort(axis=0)
        with np.errstate(all="ignore"), in_time(len(proper), MOST_SECONDS) as is_part:
            if len(proper):
                result[:, proper] = self._integrals(columns[:, proper], is_part)
        result[0] *= sign
        result[:, undefined] = np.nan
        kind = np.result_type(*arrays, np.float32)
        return np.asarray(result.reshape(2, *arrays[0].shape), kind)

    def errors(self) -> Array:
        """Return estimates of the errors of the integrals that were computed last."""
        assert self._last is not None
        return np.asarray(self._last[1][1])

    def intervals(self, *operands: Interval) -> list[Interval]:
        """Return an unbounded enclosure: an integral is a continuous function of its limits and parameters."""
        regular = np.logical_and.reduce(np.broadcast_arrays(*(operand.regular for operand in operands)))
        return [Interval(np.full(regular.shape, -np.inf), np.full(regular.shape, np.inf), regular)]

    def _integrals(self, ranges: Matrix, is_part: bool) -> tuple[Vector, Vector]:
        """Return many integrals, whose ascending limits and parameters are columns, and their errors; nan without a value.

        Ranges that are not integrated accurately are split at kinks.  Those without a kink are integrated in many digits, one by
        one; so are those whose parts cancel, unless they are parts of another value, which does not need their relative accuracy.
        """
        result, size, error = np.zeros((3, ranges.shape[1]))  # the sums of the parts, of their absolute values, of their errors
        is_left, owners, pieces = np.zeros(len(result), bool), np.arange(len(result)), ranges
        count = 0  # of parts
        while len(owners):
            parts, errors, is_accurate = self._quadratures(size[owners], *pieces)
            for total, addends in ((result, parts), (size, np.abs(parts)), (error, errors)):
                np.add.at(total, owners, np.where(is_accurate, addends, 0.0))
            pieces, owners = pieces[:, ~is_accurate], owners[~is_accurate]
            kinks = self._kinks(*pieces)
            count += len(parts)
            has_kink = np.isfinite(kinks) & (count <= MOST_PARTS * len(result))
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

    def _quadratures(self, size: Vector, low: Vector, high: Vector, *parameters: Vector) -> tuple[Vector, Vector, Mask]:
        """Return many double-exponential quadratures, their errors, and which are accurate relative to themselves or to ``size``.

        Two levels of nodes must agree, because SciPy's estimate of the error may be far too small for an integrand with kinks.
        """
        quadrature = library("scipy.integrate", "integral").tanhsinh
        values, errors = np.full((2, len(low)), np.nan)
        is_accurate, left = np.zeros(len(low), bool), np.arange(len(low))
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
        is_accurate &= np.isfinite(values) & (np.isfinite(self._values(middle, *parameters)) | ~np.isfinite(middle))
        return values, errors, is_accurate

    def _kinks(self, low: Vector, high: Vector, *parameters: Vector) -> Vector:
        """Return where the integrand bends most inside each range, or the middle; nan if the integrand is not finite there."""
        kinks = roughest(lambda t: self._values(t, *(column[:, None] for column in parameters)), low, high)
        least = 8 * np.spacing(np.maximum(np.abs(low), np.abs(high)))  # what is nearer to an end does not count
        kinks = np.where((kinks - low > least) & (high - kinks > least), kinks, low / 2 + high / 2)
        return np.where((high - low > 4 * least) & np.isfinite(self._values(kinks, *parameters)), kinks, np.nan)

    def _values(self, t: Array, *parameters: Any) -> Array:
        """Return the integrand at places as a new array, because SciPy changes it."""
        return np.asarray(np.zeros(t.shape) + self._at(t, parameters))

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
                ACCEPTED,
            ).over(low, high)
        if not np.isfinite(error):
            kind = "it diverges, or oscillates without end" if not np.isfinite(high - low) else "it diverges"
            raise NoValue(
                f"the integral from {low:.6g} to {high:.6g} has no value that quadrature can find: {kind}",
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
        value, error = work.context.quad(self._in_digits(work, parameters), [low, high], error=True)
        if error > (abs(value) or 1) * work.context.mpf(10) ** (-_SHARE * work.digits):
            raise NotPrecise("this integral, which has a kink or a peak,")
        return [math.mpf(value)]
