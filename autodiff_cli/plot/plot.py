"""What ``autodiff plot`` draws: a value and its derivatives over one variable, a value and its gradient over two."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.errors import MissingValue, UsageError
from autodiff_cli.evaluation import compile
from autodiff_cli.evaluation.names import free_names, without_value
from autodiff_cli.evaluation.phrasing import note
from autodiff_cli.evaluation.ranges import Range
from autodiff_cli.language.parser import parse
from autodiff_cli.plot.discontinuities import CENTRAL, Break
from autodiff_cli.plot.refine import MOST_POINTS, even, sample, window

SAMPLES = 401
SAMPLES_EACH_WAY = 161
MOST_EACH_WAY = 2000
MOST_ROWS = 250
"""Points that may be sampled in between where each is evaluated on its own."""
HUGE = 1e306
"""Differences of larger values may be none of a float: they are drawn as infinite."""
MOST_NAMED = 8
_KINDS = {
    "pole": ("pole", "poles"),
    "jump": ("jump", "jumps"),
    "hole": ("hole", "holes"),
    "kink": ("kink", "kinks"),
    "vertical tangent": ("vertical tangent", "vertical tangents"),
    "bend": ("kink of the derivative", "kinks of the derivative"),
    "oscillation": ("no limit", "no limits"),
    "edge": ("the domain ends", "the domain ends"),
    "overflow": (f"too large to be drawn (over {HUGE:g})",) * 2,
}


class Plot:
    """A value and its derivatives over one variable.

    Attributes:
        over: the range.
        columns: ``value``, ``d_x``, ``d_x_x``: the curves that are shown, in order.
        points: points in equal steps, ``(m,)``.
        evenly: the curves there, ``(k, m)``, derivatives only where there is a value.
        xs, ys, breaks, windows: as in ``sampling.Samples``.
        notes: what is worth knowing, ``{"kind", "span", "message"}``.
    """

    def __init__(self, expression: str, over: Range, order: int, function: Callable[[Any], Any], most_points: int) -> None:
        self.expression = expression
        self.over = over
        self.order = order
        self.columns = [output(over.name, k) for k in range(order + 1)]
        self.points = even(over.low, over.high, over.samples or SAMPLES)
        with np.errstate(all="ignore"):
            samples = sample(lambda x: _defined(function(x)), self.points, order + 1, most_points)
        self.evenly = samples.evenly
        self._table = function(self.points)[: order + 1]
        self.xs, self.ys, self.windows = samples.xs, samples.ys, samples.windows
        self.breaks = samples.breaks
        self.notes = described(over.name, samples.breaks)
        if samples.coarse:
            hint = f"--samples {10 * len(self.points)}, or a shorter range"
            self.notes.append(note("coarse", f"the curve changes faster than {len(self.points)} samples show: {hint}"))
        if not np.isfinite(samples.ys[0]).any():
            self.notes.append(note("domain", f"no value is finite for {over.name} from {over.low:g} to {over.high:g}"))

    def data(self) -> dict[str, Any]:
        """The samples in equal steps, by column."""
        return {self.over.name: self.points, **dict(zip(self.columns, self._table, strict=True))}

    def to_dict(self) -> dict[str, Any]:
        """The JSON object."""
        marks = [{"kind": b.kind, "at": b.at} for b in self.breaks]
        return {**_head(self.expression, self.order, [self.over], self.data()), "marks": marks, "notes": self.notes}

    def numbers(self) -> list[tuple[str, Any]]:
        """Every column with what it is called."""
        return [
            ("the value" if k == 0 else f"the derivative {c}", y)
            for k, (c, y) in enumerate(zip(self.columns, self._table, strict=True))
        ]


class Field:
    """A value and its gradient over two variables.

    Attributes:
        over: the two ranges, the horizontal one first.
        x, y: points in equal steps, ``(m,)`` and ``(n,)``.
        value: ``(n, m)``.
        gradient: ``(2, n, m)``; ``None`` for order 0.
        torn: where a neighbour does not fit, going by the gradient: beside jumps and poles, ``(n, m)``.
        window: the range of values that should be seen.
        notes: what is worth knowing.
    """

    def __init__(self, expression: str, over: Sequence[Range], order: int, function: Callable[[Any, Any], Any]) -> None:
        self.expression = expression
        self.over = list(over)
        self.order = order
        counts = [min(r.samples or SAMPLES_EACH_WAY, MOST_EACH_WAY) for r in over]
        self.x, self.y = (even(r.low, r.high, n) for r, n in zip(over, counts, strict=True))
        grid = np.meshgrid(self.x, self.y)
        found = np.asarray(function(grid[0].ravel(), grid[1].ravel())).reshape(-1, *grid[0].shape)
        self._table = found[: 3 if order else 1]
        found = _defined(found)
        self.value = found[0]
        self.gradient = found[1:] if order else None
        with np.errstate(all="ignore"):
            self.torn, steep = _torn(self.x, self.y, self.value, found[1:])
            self.window = window(self.value.ravel(), steep or bool(np.isinf(self.value).any()))
        self.notes = []
        if not np.isfinite(self.value).any():
            names = f"{self.over[0].name} and {self.over[1].name}"
            self.notes.append(note("domain", f"no value is finite for these {names}"))

    def data(self) -> dict[str, Any]:
        """The samples by column, the second variable changing slowest."""
        grid = np.meshgrid(self.x, self.y)
        named = {r.name: part.ravel() for r, part in zip(self.over, grid, strict=True)}
        columns = ["value", *(output(r.name, 1) for r in self.over)]
        return named | {name: part.ravel() for name, part in zip(columns, self._table, strict=False)}

    def to_dict(self) -> dict[str, Any]:
        """The JSON object."""
        return {**_head(self.expression, self.order, self.over, self.data()), "notes": self.notes}

    def numbers(self) -> list[tuple[str, Any]]:
        """Every column with what it is called."""
        return [(f"the column {name}", column) for name, column in list(self.data().items())[2:]]


def plot(
    expression: str,
    over: Sequence[Range],
    at: Mapping[str, Any] | None = None,
    const: Mapping[str, Any] | None = None,
    order: int = 1,
) -> Plot | Field:
    """Sample an expression over one variable, or over two.

    Args:
        expression: a program of the language whose result is one number.
        over: one range or two.
        at, const: values of all other variables.
        order: the highest order of derivative that is shown: 0 to 2 over one variable, 0 or 1 over two.

    Raises:
        AutodiffError: of any kind, with its place in the expression.
    """
    fixed = {**(at or {}), **(const or {})}
    needed = free_names(parse(expression), fixed)
    _check(expression, [r.name for r in over], needed, at or {}, const or {})
    if not 0 <= order <= 2:
        raise UsageError(f"the order must be 0, 1 or 2, not {order}", hint="autodiff taylor has higher ones")
    if len(over) == 2 and order == 2:
        raise UsageError(
            "over two variables the value and its gradient are drawn", hint="leave --order out, or plot over one variable"
        )
    used = {name for name in (*needed, *free_names(parse(expression)))}
    unused = [name for name in (*(r.name for r in over), *fixed) if name not in used]
    wrt = [r.name for r in over if r.name in needed]
    # One order more than is shown: the slope of a curve says where it breaks.
    program = compile.compile(expression, wrt, min(order + 1, 2) if len(over) == 1 else 1, const=fixed)
    found: Plot | Field
    if len(over) == 1:
        (r,) = over
        most = MOST_POINTS if isinstance(program, compile.Program) else MOST_ROWS
        found = Plot(expression, r, order, lambda x: _curves(program, {r.name: x}, _orders(r.name, order)), most)
    else:
        wanted = ["value", *(output(r.name, 1) for r in over)]
        found = Field(expression, over, order, lambda x, y: _curves(program, {over[0].name: x, over[1].name: y}, wanted))
    found.notes[:0] = [note("unused", f"'{name}' does not occur in the expression") for name in unused]
    return found


def output(name: str, order: int) -> str:
    """The name of a column: ``value``, ``d_x``, ``d_x_x``."""
    return "_".join(["d", *[name] * order]) if order else "value"


def _orders(name: str, order: int) -> list[str]:
    """The columns of a curve with the slope of the last one, where a program has it."""
    return [output(name, k) for k in range(min(order + 1, 2) + 1)]


def _defined(curves: Any) -> Any:
    """Curves without the derivatives where there is no value, such as those of log(x) to the left of 0; huge is infinite."""
    curves = np.where(np.isnan(curves[0]), np.nan, curves)
    return np.where(np.abs(curves) > HUGE, np.copysign(np.inf, curves), curves)


def _curves(program: Any, columns: Mapping[str, Any], wanted: Sequence[str]) -> Any:
    """What a program computes for columns, ``(k, n)``; 0 for a derivative by what does not occur."""
    points = next(iter(columns.values()))
    found = program(**{name: column for name, column in columns.items() if name in program.variables})
    return np.stack([np.broadcast_to(found.get(name, 0.0), points.shape) for name in wanted])


def _check(
    expression: str, over: Sequence[str], needed: Mapping[str, Any], at: Mapping[str, Any], const: Mapping[str, Any]
) -> None:
    """Every variable has either a range or one value."""
    if not over:
        name = next(iter(needed), "x")
        raise MissingValue("there is no variable to plot over", hint=f"give one a range with --over {name}=-3:3")
    if len(over) > 2:
        raise UsageError(f"a plot is over one variable or two, not {len(over)}", hint=f"give the others a value: --at {over[-1]}=1")
    for name in over:
        for option, values in (("--at", at), ("--const", const)):
            if name in values:
                raise UsageError(f"'{name}' has a range and a value", hint=f"leave out --over {name} or {option} {name}")
    missing = [name for name in needed if name not in over]
    if missing:
        raise without_value({name: needed[name] for name in missing}, expression)


def _head(expression: str, order: int, over: Sequence[Range], data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "schema": 1,
        "command": "plot",
        "expression": expression,
        "dtype": "float64",
        "order": order,
        "over": {r.name: [r.low, r.high] for r in over},
        "columns": {name: column.tolist() for name, column in data.items()},
    }


def described(name: str, breaks: Sequence[Break]) -> list[dict[str, Any]]:
    """A note for each kind of break, with the places."""
    places: dict[tuple[str, str], list[Break]] = {}
    for found in breaks:
        wording = _KINDS[found.kind]
        unbounded = [side.value for side in found.limits[0] if side.kind == "infinite"]
        if found.kind == "edge" and unbounded:
            wording = (f"the value goes to {unbounded[0]:g}",) * 2
        places.setdefault((found.kind, *wording), []).append(found)  # type: ignore[arg-type]
    notes = []
    for (kind, one, many), some in places.items():  # type: ignore[misc]
        listed = [f"{b.at:.6g}" for b in some[:MOST_NAMED]]
        rest = len(some) - len(listed)
        text = listed[0] if len(some) == 1 else f"{', '.join(listed[:-1])} and {listed[-1]}"
        if rest:
            text = f"{', '.join(listed)} and {rest:,} more places"
        where = "beyond" if kind == "overflow" else "near"
        notes.append(note(kind, f"{one if len(some) == 1 else many} {where} {name} = {text}"))
    return notes


def _torn(x: Any, y: Any, value: Any, gradient: Any) -> tuple[Any, bool]:
    """Where neighbours contradict the gradient, and whether that is so far out."""
    torn = np.zeros(value.shape, bool)
    finite = value[np.isfinite(value)]
    if not len(finite):
        return torn, False
    low, high = np.percentile(finite, CENTRAL)
    span = (high - low) or np.ptp(finite) or 1.0
    for values, slopes, points, marked in ((value, gradient[0], x, torn), (value.T, gradient[1].T, y, torn.T)):
        expected = np.diff(points) * (slopes[:, 1:] + slopes[:, :-1]) / 2
        misfit = np.abs(np.diff(values) - expected)
        marked[:, :-1] |= misfit > np.maximum(span / 10, 0.6 * np.abs(expected))
    return torn, bool((torn & (np.abs(value - np.median(finite)) > 3 * span)).any())
