"""The data model of ``autodiff plot``: the samples of curves over one variable, or of a field over two variables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from autodiff_cli.arrays import Floats, Mask
from autodiff_cli.command_result import CommandResult, Record
from autodiff_cli.compiler.program import output_name
from autodiff_cli.errors import UsageError, setting
from autodiff_cli.evaluation.ranges import Range
from autodiff_cli.lazy import deferred
from autodiff_cli.plotting.adaptive_sampling import Samples
from autodiff_cli.plotting.discontinuities import Discontinuity


@dataclass(frozen=True)
class Scale:
    """The scales of both axes; ``log`` contains ``x`` and ``y`` for the axes that are logarithmic."""

    log: str = ""

    def x_ends(self, over: Range) -> tuple[float, float]:
        """Return the ends of the horizontal axis; the errors are those of ``ends``."""
        return self.ends("x", over.low, over.high, over.name)

    def ends(self, axis: str, low: float, high: float, name: str = "") -> tuple[float, float]:
        """Return the ends of the axis ``y`` for a range of values, or of the axis ``x`` for the range of the variable ``name``.

        Raises:
            UsageError: if the axis is logarithmic, and the range is not positive.
        """
        if axis not in self.log:
            return low, high
        if low <= 0:
            example = setting("over", f"{name}=1:100") if name else setting("y_range", "1:100")
            raise UsageError(f"a logarithmic axis needs a positive range, not {low:g} to {high:g}", hint=f"write {example}")
        return math.log10(low), math.log10(high)

    def axis_positions(self, x: Floats) -> Floats:
        """Return the positions of points on the horizontal axis."""
        return np.log10(x) if "x" in self.log else x

    def x(self, u: Floats) -> Floats:
        """Return the points at positions on the horizontal axis."""
        return 10.0**u if "x" in self.log else u

    def curves_on_axes(self, x: Floats, curves: Floats) -> Floats:
        """Return a value and its derivatives, ``(k, n)``, in units of the axes; logarithmic ones keep only the first one."""
        if not self.log:
            return curves
        value, slopes = curves[0], curves[1:2]  # the chain rule with u = log10(x): dx/du = x*log(10)
        if "x" in self.log:
            slopes = slopes * (x * math.log(10))
        if "y" in self.log:
            with np.errstate(all="ignore"):
                slopes = slopes / (value * math.log(10))
                value = np.log10(np.where(value > 0, value, np.nan))
        return np.stack([value, *slopes])

    def to_axes(self, points: Floats) -> Floats:
        """Return points ``(k, 2)`` in units of the axes."""
        x, y = points.T
        with np.errstate(all="ignore"):
            return np.stack([self.axis_positions(x), np.log10(np.where(y > 0, y, np.nan)) if "y" in self.log else y], 1)

    def is_of_value(self, mark: Discontinuity) -> bool:
        """Return whether a discontinuity is one of the value: the logarithm also has poles and ends where the value is 0."""
        return "y" not in self.log or mark.kind in ("jump", "kink", "hole")

    def with_variable_position(self, mark: Discontinuity) -> Discontinuity:
        """Return a discontinuity with its position on the variable instead of the axis."""
        return replace(mark, at=float(f"{10.0**mark.at:.12g}")) if "x" in self.log else mark


class Curve(NamedTuple):
    """The column of a curve in tables, its label in drawings, and the program of its value, which is empty for derivatives."""

    column: str
    label: str
    program: str = ""


class PlotSource(NamedTuple):
    """What a plot is made from.

    Attributes:
        programs: the program of the value of each curve, or of the field.
        at, const: the values of the names that have no range.
    """

    programs: tuple[str, ...]
    at: Mapping[str, object]
    const: Mapping[str, object]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plot(CommandResult):
    """A plot of a value and its derivatives over one variable.

    Attributes:
        expression: the program.
        source: the program of each value, and the values of the other names.
        over: the range of the variable.
        order: the highest order of derivative.
        curves: the names of the curves: the value and its derivatives, or several values.
        points: points that are equally spaced on the axis, ``(m,)``.
        table: the curves at ``points``, ``(len(curves), m)``.
        samples: the curves for drawing, in units of the axes, sampled adaptively; derivatives are nan where the value is nan.
        path: the points of a path on the curve, such as the steps of a solver, ``(k, 2)``.
        notes: the notes on the plot, ``{"kind", "span", "message"}``.
        scale: the scales of the axes.
        y_range: the range of values to show; ``None`` for all values, or most of them near poles.
        theme: the colours of a picture, ``light`` or ``dark``.
    """

    command = "plot"
    tables = "autodiff_cli.plotting.terminal_curves:pages"
    _repr_html_ = None
    _repr_svg_ = deferred("autodiff_cli.plotting.picture:to_svg")

    expression: str
    source: PlotSource
    over: Range
    order: int
    curves: tuple[Curve, ...]
    points: Floats
    table: Floats
    samples: Samples
    path: Floats
    notes: list[Record]
    scale: Scale = Scale()
    y_range: tuple[float, float] | None = None
    theme: str = "light"

    @property
    def columns(self) -> list[str]:
        """The names of the columns of the curves: ``value``, ``d_x``, ``d_x_x``."""
        return [curve.column for curve in self.curves]

    def data(self) -> dict[str, Floats]:
        """Return the equally spaced samples by column."""
        return {self.over.name: self.points, **dict(zip(self.columns, self.table, strict=True))}

    def content(self) -> Record:
        """Return the samples and the marks of discontinuities; a mark names its curve if there are several values."""
        has_several_values = self.order + 1 < len(self.curves)
        marks = []
        for discontinuity in self.samples.discontinuities:
            curve = {"curve": self.columns[discontinuity.curve]} if has_several_values else {}
            marks.append({"kind": discontinuity.kind, "at": self.scale.with_variable_position(discontinuity).at, **curve})
        return {**_content(self, [self.over]), "marks": marks, "notes": self.notes}

    def records(self) -> list[Record]:
        return _rows(self.data())

    def numbers(self) -> list[tuple[str, Floats]]:
        """Return every column with its description; one of several values has only its name."""
        return [
            ("the value" if column == "value" else f"the derivative {column}" if self.order else column, y)
            for column, y in zip(self.columns, self.table, strict=True)
        ]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Field(CommandResult):
    """A plot of a value and its gradient over two variables.

    Attributes:
        expression: the program.
        source: the program of the value, and the values of the other names.
        over: the ranges of the two variables, the horizontal one first.
        order: 0 for the value alone, 1 to include the gradient.
        x, y: equally spaced points, ``(m,)`` and ``(n,)``.
        table: the value and the gradient at all pairs of these points, ``(1, n, m)`` or ``(3, n, m)``.
        value: the value for drawing, ``(n, m)``.
        gradient: the gradient for drawing, ``(2, n, m)``; ``None`` for order 0.
        discontinuous: whether the differences of adjacent values do not match the gradient, as at jumps and poles, ``(n, m)``.
        window: the range of values to show.
        path: the points of a path in the plane, such as the steps of a solver, ``(k, 2)``.
        notes: the notes on the plot, ``{"kind", "span", "message"}``.
        y_range: the range of values to show; ``None`` for all values, or most of them near poles.
        theme: the colours of a picture, ``light`` or ``dark``.
    """

    command = "plot"
    tables = "autodiff_cli.plotting.terminal_field:pages"
    _repr_html_ = None
    _repr_svg_ = deferred("autodiff_cli.plotting.picture:to_svg")

    expression: str
    source: PlotSource
    over: Sequence[Range]
    order: int
    x: Floats
    y: Floats
    table: Floats
    value: Floats
    gradient: Floats | None
    discontinuous: Mask
    window: tuple[float, float]
    path: Floats
    notes: list[Record]
    y_range: tuple[float, float] | None = None
    theme: str = "light"

    def data(self) -> dict[str, Floats]:
        """Return the samples by column; the second variable varies slowest."""
        grid = np.meshgrid(self.x, self.y)
        variables = {r.name: coordinates.ravel() for r, coordinates in zip(self.over, grid, strict=True)}
        names = ["value", *(output_name((r.name,)) for r in self.over)]  # of order 0, there is only the value
        return variables | {name: samples.ravel() for name, samples in zip(names, self.table, strict=False)}

    def content(self) -> Record:
        return {**_content(self, self.over), "notes": self.notes}

    def records(self) -> list[Record]:
        return _rows(self.data())

    def numbers(self) -> list[tuple[str, Floats]]:
        """Return every column with its description, except the two of the variables."""
        return [(f"the column {name}", column) for name, column in list(self.data().items())[2:]]


def _content(plot: Plot | Field, over: Sequence[Range]) -> dict[str, object]:
    """Return the content of the JSON object that plots of curves and of fields have in common."""
    return {
        "expression": plot.expression,
        "dtype": "float64",
        "order": plot.order,
        "over": {r.name: [r.low, r.high] for r in over},
        "columns": {name: column.tolist() for name, column in plot.data().items()},
        **({"path": plot.path.tolist()} if len(plot.path) else {}),
    }


def _rows(data: Mapping[str, Floats]) -> list[Record]:
    """Return the rows of columns as records."""
    rows = zip(*(column.tolist() for column in data.values()), strict=True)
    return [dict(zip(data, row, strict=True)) for row in rows]
