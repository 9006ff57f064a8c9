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
from autodiff_cli.errors import NoValue
from autodiff_cli.lazy import library
from autodiff_cli.solvers.implicit.components import Components, replayed
from autodiff_cli.solvers.implicit.notation import definition_tree
from autodiff_cli.solvers.implicit.singular import SingularIntegral, roughest

if TYPE_CHECKING:
    from autodiff_cli.arrays import Mask, Matrix, Vector
    from autodiff_cli.autograd.dtypes import Array
    from autodiff_cli.language.tree import Syntax
    from autodiff_cli.precise.arithmetic import Arithmetic

ACCURACY, MOST_LEVELS = 1.2e-14, 8
"""The error of an integral, relative to it, that is asked for, and the level with most nodes, each with twice those before."""
ACCEPTED = 1e-10
"""The largest relative error of an integral with a value."""
MOST_PARTS = 100
"""The largest number of parts, on average, of integrals that are split at kinks."""
MOST_CANCELLATION = 30
"""The largest sum of the sizes of parts, relative to their sum, at which the sum keeps its digits."""
_MOST_DIGITS = 150
"""The digits of an integral in an arithmetic with more: difference quotients of order 2 with steps of 1e-30 leave 50 of them."""


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
        """Return the integral for arrays of limits and parameters: 0 between equal limits, and nan if an argument is nan."""
        columns = [np.ravel(array).astype(float) for array in arrays]
        result = np.zeros(columns[0].size)
        undefined = np.isnan(columns).any(axis=0)
        proper = np.flatnonzero((columns[0] != columns[1]) & ~undefined)
        with np.errstate(all="ignore"):
            if len(proper):
                result[proper] = self._integrals(np.array(columns)[:, proper])
        result[undefined] = np.nan
        kind = np.result_type(*arrays, np.float32)
        return np.asarray(result.reshape(1, *arrays[0].shape), kind)

    def _integrals(self, ranges: Matrix) -> Vector:
        """Return many integrals, whose limits and parameters are columns; nan for those without a value.

        Ranges that are not integrated accurately are split at kinks.  Those without a kink, and those whose parts cancel, are
        integrated in many digits, one by one.
        """
        result, size = np.zeros((2, ranges.shape[1]))  # the sums of the parts, and of their absolute values
        is_left, owners, pieces = np.zeros(len(result), bool), np.arange(len(result)), ranges
        count = 0  # of parts
        while len(owners):
            parts, is_accurate = self._quadratures(size[owners], *pieces)
            np.add.at(result, owners, np.where(is_accurate, parts, 0.0))
            np.add.at(size, owners, np.where(is_accurate, np.abs(parts), 0.0))
            pieces, owners = pieces[:, ~is_accurate], owners[~is_accurate]
            kinks = self._kinks(*pieces)
            count += len(parts)
            has_kink = np.isfinite(kinks) & (count <= MOST_PARTS * len(result))
            is_left[owners[~has_kink]] = True
            low, high, *parameters = pieces[:, has_kink]
            pieces = np.hstack([[low, kinks[has_kink], *parameters], [kinks[has_kink], high, *parameters]])
            owners = np.tile(owners[has_kink], 2)
        for i in np.flatnonzero(is_left | (size > MOST_CANCELLATION * np.abs(result))):
            try:
                result[i] = self.alone(ranges[:, i])
            except NoValue:
                result[i] = np.nan if is_left[i] else result[i]
        return result

    def _quadratures(self, size: Vector, low: Vector, high: Vector, *parameters: Vector) -> tuple[Vector, Mask]:
        """Return many integrals by double-exponential quadrature, and which are accurate relative to themselves or to ``size``.

        Two levels of nodes must agree, because SciPy's estimate of the error may be far too small for an integrand with kinks.
        """
        quadrature = library("scipy.integrate", "integral").tanhsinh
        values, is_accurate, left = np.full(len(low), np.nan), np.zeros(len(low), bool), np.arange(len(low))
        for level in range(2, MOST_LEVELS + 1):
            start, end, *own = (column[left] for column in (low, high, *parameters))
            finer = np.array(quadrature(self._values, start, end, args=(*own,), minlevel=level, maxlevel=level).integral)
            is_accurate[left] = np.abs(finer - values[left]) <= 10 * ACCURACY * np.maximum(np.abs(finer), size[left])
            values[left] = finer
            left = np.flatnonzero(~is_accurate)
            if not len(left):
                break
        middle = low / 2 + high / 2  # a node, at which SciPy takes a pole for 0
        return values, is_accurate & np.isfinite(values) & (np.isfinite(self._values(middle, *parameters)) | ~np.isfinite(middle))

    def _kinks(self, low: Vector, high: Vector, *parameters: Vector) -> Vector:
        """Return where the integrand bends most inside each range, or the middle; nan if the integrand is not finite there."""
        kinks = roughest(lambda t: self._values(t, *(column[:, None] for column in parameters)), low, high)
        least = 8 * np.spacing(np.maximum(np.abs(low), np.abs(high)))  # what is nearer to an end does not count
        kinks = np.where((kinks - low > least) & (high - kinks > least), kinks, low / 2 + high / 2)
        return np.where((high - low > 4 * least) & np.isfinite(self._values(kinks, *parameters)), kinks, np.nan)

    def _values(self, t: Array, *parameters: Any) -> Array:
        """Return the integrand at places as a new array, because SciPy changes it."""
        return np.asarray(np.zeros(t.shape) + self._at(t, parameters))

    def alone(self, arguments: Vector) -> float:
        """Return one integral that the double-exponential quadrature does not compute to the accuracy that is asked for.

        Raises:
            NoValue: if it does not have a value.
        """
        (low, high), parameters = arguments[:2].tolist(), list(arguments[2:])
        with np.errstate(all="ignore"):
            value, error = SingularIntegral(
                lambda t: self._values(t, *parameters),
                lambda math: self._in_digits(math, map(math.mpf, map(float, parameters))),
                ACCEPTED,
            ).over(low, high)
        if not error <= ACCEPTED:
            kind = "it diverges, or oscillates without end" if not np.isfinite(high - low) else "it diverges"
            raise NoValue(
                f"the integral from {low:.6g} to {high:.6g} has no value that quadrature can find: {kind}",
                hint="integrate over a range on which the integrand is integrable, or split it at its singularities",
            )
        return value

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
        return [math.mpf(work.context.quad(self._in_digits(work, parameters), [low, high]))]
