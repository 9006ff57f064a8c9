"""``propagate`` over rows: values in columns such as ``x``, and standard uncertainties in columns such as ``u_x``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import product
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.arrays import Floats
from autodiff_cli.compiler.program import Compiled, terms
from autodiff_cli.data.columns import Source
from autodiff_cli.data.mapping import RowMap, Task
from autodiff_cli.data.row_blocks import Block
from autodiff_cli.errors import DataError, UnknownName, UsageError, setting
from autodiff_cli.evaluation.compile import compile_terms, names_and_values
from autodiff_cli.language.parser import parse
from autodiff_cli.solvers.uncertainty.joint import correlation_matrix
from autodiff_cli.solvers.uncertainty.law import check_order, second_order
from autodiff_cli.solvers.uncertainty.outputs import outputs
from autodiff_cli.solvers.uncertainty.quantities import quantities, row_distribution
from autodiff_cli.solvers.uncertainty.result import tolerances
from autodiff_cli.suggest import suggestion

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from autodiff_cli.arrays import Mask
    from autodiff_cli.data.columns import Data
    from autodiff_cli.evaluation.evaluation import Value
    from autodiff_cli.solvers.uncertainty.distributions import Distribution
    from autodiff_cli.solvers.uncertainty.joint import Correlations
    from autodiff_cli.solvers.uncertainty.quantities import Array, Stated

PREFIX = "u_"
"""The beginning of the name of a column with standard uncertainties."""
_MOST_TERMS = 100
"""The maximum number of derivatives that are computed only to judge whether first order is enough."""
_ROWS = 8_192
"""The number of rows whose derivatives are in memory at the same time."""


class Uncertain(NamedTuple):
    """The results for many rows.

    Attributes:
        value: the values; with terms of second order, the shifted values.
        u: the standard uncertainties.
        shares: the shares in the variance: of the quantities, then of ``correlation`` and ``second_order``, if any.
        doubtful: whether terms of second order, which are not included, would change the digits that are written.
    """

    value: Array
    u: Array
    shares: Array
    doubtful: Mask


@dataclass(slots=True)
class UncertainTask(Task):
    """The propagation of uncertainties in every row.

    Attributes:
        u: the uncertainties that are the same in all rows, as texts such as ``0.002 rect`` and ``1%``, or numbers.
        distributions: the distributions of the variables in ``at``.
        corr: the correlation coefficients, which are the same in all rows.
        propagation_order: 1, or 2 to add the terms of second order.
        doubts: the place of each block's first row in which first order is not enough, and the number of these rows.
    """

    u: Mapping[str, str | float] = field(default_factory=dict)
    distributions: Mapping[str, Distribution] = field(default_factory=dict)
    corr: Correlations = field(default_factory=dict)
    propagation_order: int = 1
    doubts: list[tuple[str, int, int]] = field(default_factory=list)

    def doubted(self) -> tuple[int, str]:
        """Return the number of rows in which first order is not enough, and the place of the first; there must be one."""
        where, line, _ = min(self.doubts)
        return sum(count for _, _, count in self.doubts), f"{where} {line}"

    def mapping(self, program: Compiled, columns: Sequence[str], source: str) -> UncertainRows:
        """Return the mapping of rows for an input."""
        return UncertainRows(self, program, columns, source)


class UncertainRows(RowMap):
    """A mapping of rows with the columns of their uncertainties.

    Args:
        task: the computation.
        program: the expression without derivatives, compiled.
        columns: the names of the columns of the input.
        source: the name of the input in messages.

    The n variables ``_uncertain`` have the correlation matrix ``_correlation``, and each a column in ``_u_columns``, an uncertainty
    for all rows in ``_stated``, or a distribution in the task.  The derivatives have the orders up to ``_depth``.
    """

    task: UncertainTask

    def __init__(self, task: UncertainTask, program: Compiled, columns: Sequence[str], source: str) -> None:
        names = program.variables
        _check_single_output(task.expression, names)
        super().__init__(task, program, columns, source)
        check_order(task.propagation_order)
        self._u_columns = self._columns_of_uncertainties(columns)
        self._check_settings(names)
        self._stated = {name: row_distribution(text, name) for name, text in task.u.items()}
        with_uncertainty = {*self._u_columns, *self._stated, *task.distributions}
        self._uncertain = [name for name in names if name in with_uncertainty]
        if not self._uncertain:
            first = next(iter(self._columns), "x")
            message = f"{source} has no column such as '{PREFIX}{first}', so no quantity has an uncertainty"
            raise UsageError(message, hint=f"add a column, or state it for all rows: {setting('u', f'{first}=0.1')}")
        self._correlation = correlation_matrix(self._uncertain, self._uncertain, task.corr)
        self._correlated = bool(np.count_nonzero(self._correlation) > len(self._uncertain))  # not only the diagonal
        spreads = {**task.distributions, **{name: spread for name, (spread, _) in self._stated.items()}}
        # The uncertainties in columns are those of normal distributions, without an excess.
        self._excess = np.array([spreads[name].excess if name in spreads else 0.0 for name in self._uncertain], float)
        self.program, self._depth = self._derivatives([*task.at, *task.lets, *names])  # in place of ``program``
        self.numbers = tuple(dict.fromkeys([*self.numbers, *self._u_columns.values()]))
        possible_shares = {"correlation": self._correlated, "second_order": task.propagation_order == 2}
        further_shares = [name for name, is_included in possible_shares.items() if is_included]
        self.results = ("value", "u", *(f"share_{name}" for name in (*self._uncertain, *further_shares)))
        self._check_names(Counter(columns), source)

    def _columns_of_uncertainties(self, columns: Sequence[str]) -> dict[str, str]:
        """Return the column ``u_x`` of each variable that has one, which is not the column of a variable itself."""
        result = {}
        for name, column in self._columns.items():
            candidates = (PREFIX + column, PREFIX + name)  # after the name of the column first
            u_column = next((candidate for candidate in candidates if candidate in columns), None)
            if u_column is not None and u_column not in self._columns.values():
                result[name] = u_column
        return result

    def _check_settings(self, names: Sequence[str]) -> None:
        """Raise an error if an uncertainty for all rows is not that of a variable, or is also stated in another way."""
        for name in self.task.u:
            if name not in names:
                hint = suggestion(name, names) or f"the variables: {', '.join(names)}"
                raise UnknownName(f"{setting('u')} names '{name}', which is not a variable of the expression", hint=hint)
            if name in self._u_columns or name in self.task.distributions:
                where = f"the column '{self._u_columns[name]}'" if name in self._u_columns else setting("at")
                message = f"the uncertainty of '{name}' is stated twice, in {setting('u')} and in {where}"
                raise UsageError(message, hint="state it in one of them")

    def _derivatives(self, variables: Sequence[str]) -> tuple[Compiled, int]:
        """Return the compiled derivatives, and their highest order: 3 if they are needed or few, else 2, and 1 if slow."""
        task, count = self.task, len(self._uncertain)
        are_few = comb(count + 3, 3) <= _MOST_TERMS  # the derivatives up to order 3
        depth = 3 if task.propagation_order == 2 or are_few else 2
        names, by, leaves = names_and_values(task.expression, self._uncertain, task.const, "float64", variables)
        program: Compiled = compile_terms(task.expression, names, leaves, terms(by, depth), "float64", threads=1)
        if task.propagation_order == 1 and program.reason is not None:  # row by row, higher derivatives would take long
            return compile_terms(task.expression, names, leaves, terms(by, 1), "float64", threads=1), 1
        return program, depth

    def computed(self, block: Block) -> tuple[Block, list[Floats]]:
        """Return a block without skipped rows, with the columns of the results; add the rows with doubts to ``task.doubts``."""
        block, result = self.uncertain(block)
        places = np.flatnonzero(result.doubtful)
        if len(places):
            first_line = block.lines[int(places[0])]
            self.task.doubts.append((block.where, first_line, len(places)))
        return block, [result.value, result.u, *result.shares]

    def uncertain(self, block: Block) -> tuple[Block, Uncertain]:
        """Return a block without skipped rows, and the uncertainties of its rows; a negative uncertainty is an error."""
        self._check_not_negative(block)
        values: dict[str, Floats] = {name: block.numbers[column] for name, column in self._columns.items()}
        out: list[Floats] = [np.empty(block.rows) for _ in self.program.terms]
        if block.rows:
            block, out = self._run(block, {**values, **self._scalars}, out)
        return block, self._propagated(out, block)

    def _check_not_negative(self, block: Block) -> None:
        """Raise an error at the first negative number in a column of uncertainties."""
        for column in self._u_columns.values():
            for i in np.flatnonzero(block.numbers[column] < 0)[:1]:
                message = f"the uncertainty '{column}' is negative: {block.numbers[column][i]}"
                raise DataError(f"{block.where} {block.lines[i]}: {message}", hint="a standard uncertainty is not negative")

    def _u(self, name: str, block: Block) -> Array | float:
        """Return the standard uncertainty of a variable in the rows of a block, or the one for all rows."""
        if name in self._u_columns:
            return np.asarray(block.numbers[self._u_columns[name]], float)
        if name in self._stated:
            spread, relative = self._stated[name]
            value = block.numbers[self._columns[name]] if name in self._columns else self._scalars[name]
            return np.asarray(spread.u * abs(value), float) if relative else spread.u
        return self.task.distributions[name].u

    def _propagated(self, out: Sequence[Floats], block: Block) -> Uncertain:
        """Return the uncertainties of the rows of a block from the results ``out`` of the program, ``_ROWS`` rows at a time."""
        rows = len(out[0])
        sizes = [np.broadcast_to(self._u(name, block), rows) for name in self._uncertain]
        parts = []
        for start in range(0, max(rows, 1), _ROWS):  # once even without rows, for the shapes of the results
            part = slice(start, start + _ROWS)
            derivatives = {term: np.asarray(result[part], float) for term, result in zip(self.program.terms, out, strict=True)}
            with np.errstate(all="ignore"):
                parts.append(self._propagated_part(derivatives, np.array([size[part] for size in sizes])))
        return Uncertain(*(np.concatenate(column, axis=-1) for column in zip(*parts, strict=True)))

    def _propagated_part(self, derivatives: Mapping[tuple[str, ...], Array], u: Array) -> Uncertain:
        """Return the results of R rows, given the derivatives by their variables, and the uncertainties ``u``, of shape (n, R)."""
        value = derivatives[()]
        gradient = self._scaled(derivatives, u, 1)
        variance = np.maximum(np.einsum("ir,ij,jr->r", gradient, self._correlation, gradient), 0)
        parts = [*gradient**2]  # of the variance, by the quantities
        if self._correlated:
            parts.append(variance - np.sum(parts, axis=0))  # by the correlations
        shift, second = self._second(derivatives, u, gradient)
        if self.task.propagation_order == 2:
            value, variance = value + shift, variance + second
            parts.append(second)
            doubtful = np.zeros(len(value), bool)
        else:
            doubtful = _is_first_order_doubtful(variance, shift, second)
        shares = np.divide(parts, variance, out=np.zeros((len(parts), len(value))), where=variance > 0)
        return Uncertain(value, np.sqrt(variance), shares, doubtful)

    def _second(self, derivatives: Mapping[tuple[str, ...], Array], u: Array, gradient: Array) -> tuple[Array, Array]:
        """Return the shifts by terms of second order and what they add to the variances; 0 without derivatives of second order."""
        if self._depth == 1:
            return np.zeros(u.shape[1]), np.zeros(u.shape[1])
        hessian, third, cubes = self._scaled(derivatives, u, 2), None, None
        if self._depth > 2:
            all_third = self._scaled(derivatives, u, 3)
            third, cubes = np.einsum("ijkr,jk->ir", all_third, self._correlation), np.einsum("iiir->ir", all_third)
        return second_order(gradient, hessian, third, cubes, self._correlation, self._excess)

    def _scaled(self, derivatives: Mapping[tuple[str, ...], Array], u: Array, order: int) -> Array:
        """Return all derivatives of an order, each times the uncertainties of its variables, of shape (n, ..., n, R)."""
        count = len(u)
        result = np.empty((count,) * order + u.shape[1:])
        for place in product(range(count), repeat=order):
            in_order = tuple(sorted(place))
            if place == in_order:
                result[place] = derivatives[tuple(self._uncertain[i] for i in place)]
                for i in place:
                    result[place] *= u[i]
            else:  # the place in order came before
                result[place] = result[in_order]
        return result


def _check_single_output(expression: str, variables: Sequence[str]) -> None:
    """Raise an error if an expression has several outputs, because a row has one."""
    count = len(outputs(expression, parse(expression), variables))
    if count > 1:
        message = f"a row has one output, but the expression has {count}"
        raise UsageError(message, hint="compute them one after the other, and end the program with an expression")


def _is_first_order_doubtful(variance: Array, shift: Array, second: Array) -> Mask:
    """Return in which rows terms of second order (a shift, and ``second``, added to the variance) would change written digits."""
    new_u = np.sqrt(variance + second)
    allowed = tolerances(new_u)
    is_same = (abs(shift) <= allowed) & (abs(new_u - np.sqrt(variance)) <= allowed)
    return np.asarray(np.isfinite(variance) & ~is_same & (new_u != 0))  # a result without an uncertainty is not doubtful


def propagate_columns(
    expression: str,
    data: Data,
    at: Mapping[str, Stated],
    const: Mapping[str, Value],
    u: Mapping[str, str | ArrayLike],
    corr: Correlations,
    order: int,
) -> dict[str, Array | Mask]:
    """Return the columns of ``propagate`` for columns in memory or in a file; see there for the arguments."""
    known = quantities(at, {}, {})
    task = UncertainTask(
        expression,
        order=0,  # no derivatives besides those of the propagation
        at=known.values,
        const=const,
        keep=False,
        u={name: size if isinstance(size, str) else float(np.asarray(size, float)) for name, size in u.items()},
        distributions=known.distributions,
        corr=corr,
        propagation_order=order,
    )
    with closing(Source(data)) as source:
        rows = UncertainRows(task, task.program(), source.names, source.name)
        result = source.read({column: column for column in rows.used})
    block = Block(result.rows, {**result.columns}, columns={}, raw=None, where="row", lines=range(1, result.rows + 1))
    _, uncertain = rows.uncertain(block)
    results: dict[str, Array | Mask] = dict(zip(rows.results, [uncertain.value, uncertain.u, *uncertain.shares], strict=True))
    return results if order == 2 else {**results, "enough": ~uncertain.doubtful}
