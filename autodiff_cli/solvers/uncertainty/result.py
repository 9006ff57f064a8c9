"""The result of ``propagate``: a value with its uncertainty and its budget, or several."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.command_result import CommandResult, Named, Record
from autodiff_cli.report.array_text import human
from autodiff_cli.solvers.solution import by_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.arrays import Matrix

_KEYS = ("value", "u", "dof", "k", "U", "interval", "level", "result", "budget", "second_order", "monte_carlo")


@dataclass(slots=True)
class Outcome:
    """One output with its uncertainty.

    Attributes:
        name: the name or the text of the output.
        value: the estimate.
        u: the standard uncertainty.
        dof: the effective degrees of freedom; ``None`` if they are not defined.
        k: the coverage factor.
        U: the expanded uncertainty, ``k*u``.
        interval: the ends of the interval ``value - U`` to ``value + U``.
        level: the probability of the interval.
        budget: a row for each quantity, then a row for correlations and a row for terms of second order, if there are any.
        second_order: the terms of second order, if they were requested.
        monte_carlo: the results of the Monte Carlo method, if they were requested.
    """

    name: str
    value: float
    u: float
    dof: float | None
    k: float
    U: float
    interval: tuple[float, float]
    level: float
    budget: list[Record]
    second_order: Record | None = None
    monte_carlo: Record | None = None

    @property
    def result(self) -> str:
        """The value and the uncertainty as they should be written, such as ``9.801(22)``."""
        return concise(self.value, self.u)

    def content(self) -> Record:
        """Return the entries of the JSON object; those that are ``None`` are left out, except ``dof``."""
        result = {key: getattr(self, key) for key in _KEYS}
        return {**{key: value for key, value in result.items() if value is not None or key == "dof"}, "interval": [*self.interval]}


@dataclass(slots=True, repr=False)
class Propagation(CommandResult):
    """The result of ``propagate``; the attributes of a single output are also attributes of the result.

    Attributes:
        expression: the expression.
        outputs: the outputs.
        covariance: the covariance matrix of the outputs, to first order.
        correlation: the correlation matrix of the outputs.
        evaluations: the number of points at which values or derivatives were computed, the random trials included.
        notes: the notes on the result.
    """

    command = "propagate"
    tables = "autodiff_cli.solvers.uncertainty.tables:tables"

    expression: str
    outputs: list[Outcome]
    covariance: Matrix
    correlation: Matrix
    evaluations: int = 0
    notes: list[Record] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        if name in _KEYS and len(self.outputs) == 1:
            return getattr(self.outputs[0], name)
        raise AttributeError(f"{name}; this result has {len(self.outputs)} outputs: read .outputs" if name in _KEYS else name)

    @property
    def verdict(self) -> str:
        """The worst verdict of the random trials; without trials, ``first_order`` or ``second_order``, the terms that were used."""
        result = {output.monte_carlo["verdict"] for output in self.outputs if output.monte_carlo is not None}
        order = "first_order" if self.outputs[0].second_order is None else "second_order"
        return next((verdict for verdict in ("differs", "undecided", "agrees") if verdict in result), order)

    @property
    def converged(self) -> bool:
        """Whether random trials, if there were any, do not contradict the result."""
        return self.verdict != "differs"

    def content(self) -> Record:
        return {
            "expression": self.expression,
            "converged": self.converged,
            "verdict": self.verdict,
            **self._answer(),
            "steps": 0,  # nothing is searched
            "evaluations": self.evaluations,
            "notes": self.notes,
        }

    def _answer(self) -> Record:
        """Return the entries of a single output, or those of several outputs with their matrices."""
        if len(self.outputs) == 1:
            (only,) = self.outputs
            name = {} if only.name == self.expression else {"name": only.name}
            return {**name, **only.content()}
        return {
            "outputs": [{"name": output.name, **output.content()} for output in self.outputs],
            "covariance": by_names([output.name for output in self.outputs], self.covariance),
            "correlation": by_names([output.name for output in self.outputs], self.correlation),
        }

    def numbers(self) -> list[Named]:
        """Return the value and ``u`` of each output, called so; with several outputs, the name of the output is added."""
        several = len(self.outputs) > 1
        return [
            (f"{what} of {output.name}" if several else what, number)
            for output in self.outputs
            for what, number in (("the value", output.value), ("u", output.u))
        ]

    def records(self) -> list[Record]:
        """Return the rows of each budget, each with a last row for the result."""
        several = len(self.outputs) > 1
        rows = []
        for output in self.outputs:
            result = {"kind": "result", "name": output.name, "value": output.value, "u": output.u, "dof": output.dof, "share": 1.0}
            low, high = output.interval
            result |= {"k": output.k, "U": output.U, "level": output.level, "low": low, "high": high}
            rows += [{"output": output.name, **row} if several else row for row in (*output.budget, result)]
        return rows


_SMALLEST = 1e-3
"""The absolute value below which a result has a power of ten."""


def tolerance(u: float, digits: int = 2) -> float:
    """Return half a unit of the last of so many significant digits of an uncertainty: JCGM 101:2008, 7.9.2; nan for 0 and inf."""
    return math.nan if not 0 < u < math.inf else 0.5 * 10.0 ** (_exponent(u, digits) - digits + 1)


def tolerances(u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``tolerance``, of two digits, for each of several uncertainties."""
    with np.errstate(all="ignore"):
        first = np.floor(np.log10(u) + 1e-12)  # the power of ten of the first digit, in spite of rounding errors
        is_rounded_up = u >= 9.95 * 10.0**first  # two digits of it are 10
        return np.where((u > 0) & np.isfinite(u), 0.05 * 10.0 ** (first + is_rounded_up), np.nan)


def _exponent(number: float, digits: int) -> int:
    """Return the power of ten of the first significant digit, after rounding to so many digits."""
    return int(f"{number:.{digits - 1}e}".partition("e")[2])


def concise(value: float, u: float) -> str:
    """Return a value and u, rounded to its second digit: ``9.80(22)``, ``1.23(12)e3``, or if u is 0, tiny or infinite ``9 ± 0``."""
    if not (math.isfinite(value) and 0 < u < math.inf) or u < 1e-16 * abs(value):  # 1e-16: floats have fewer digits
        return f"{value:.12g} ± {u:.2g}"
    first = max(_exponent(number, 2) for number in (abs(value), u) if number)
    last = _exponent(u, 2) - 1  # the powers of ten of the first and the last digit
    has_power = last > 0 or max(abs(value), u) < _SMALLEST  # 1234(120) would have a last digit that is not known
    power = first if has_power else 0
    number, size = (f"{Decimal(x).scaleb(-power):.{power - last}f}" for x in (value, u))
    digits = size if float(size) >= 1 else size.replace(".", "").lstrip("0")  # in units of the last digit of the number
    return f"{number}({digits})" + (f"e{power}" if power else "")


def estimate(value: float, u: float, precision: int) -> str:
    """Return a value with ``precision`` significant digits, or up to 17 if the first two digits of its uncertainty need them."""
    has_ratio = value and u > 0 and 0 < abs(value) / u < math.inf
    needed = math.floor(math.log10(abs(value) / u)) + 3 if has_ratio else 0  # 3: the first digit, and two of u
    return human(value, min(max(precision, needed), 17))


def percent(share: float) -> str:
    """Return a share as a percentage with one decimal, and without a sign if that is 0.0."""
    return f"{round(100 * share, 1) + 0.0:.1f}"
