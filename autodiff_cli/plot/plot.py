"""Sampling for ``autodiff plot``: a value and its derivatives over one variable, a value and its gradient over two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from autodiff_cli.compiler.program import Compiled, output_name
from autodiff_cli.errors import MissingValue, Span, UsageError, setting
from autodiff_cli.evaluation import compile
from autodiff_cli.evaluation.names import free_names, without_value
from autodiff_cli.evaluation.phrasing import note
from autodiff_cli.evaluation.ranges import Range
from autodiff_cli.language.parser import parse
from autodiff_cli.plot.discontinuities import CENTRAL, Bools, Discontinuity, Floats
from autodiff_cli.plot.model import Field, Plot
from autodiff_cli.plot.refine import MOST_POINTS, even, sample, window
from autodiff_cli.wording import listed

SAMPLES = 401
SAMPLES_EACH_WAY = 161
MOST_EACH_WAY = 2000
MOST_ROWS = 250
"""The most further points for a program that is evaluated point by point."""
HUGE = 1e306
"""Larger values are drawn as infinite, as their differences may overflow."""
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


def plot(
    expression: str,
    over: Sequence[Range],
    at: Mapping[str, object] | None = None,
    const: Mapping[str, object] | None = None,
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
        raise UsageError(f"the order must be 0, 1 or 2, not {order}", hint="autodiff taylor computes higher orders")
    if len(over) == 2 and order == 2:
        raise UsageError(
            "over two variables the value and its gradient are drawn",
            hint=f"leave out {setting('order', '2')}, or plot over one variable",
        )
    used = {*needed, *free_names(parse(expression))}
    unused = [
        note("unused", f"'{name}' does not occur in the expression")
        for name in (*(r.name for r in over), *fixed)
        if name not in used
    ]
    wrt = [r.name for r in over if r.name in needed]
    # One order more than is shown: the slope of a curve shows its discontinuities.
    program = compile.compile(expression, wrt, min(order + 1, 2) if len(over) == 1 else 1, const=fixed)
    if len(over) == 1:
        return _plot(expression, over[0], order, program, unused)
    return _field(expression, over, order, program, unused)


def _plot(expression: str, over: Range, order: int, program: Compiled, notes: list[dict[str, object]]) -> Plot:
    wanted = [output_name((over.name,) * k) for k in range(min(order + 1, 2) + 1)]
    points = even(over.low, over.high, over.samples or SAMPLES)
    most = MOST_POINTS if isinstance(program, compile.Program) else MOST_ROWS
    with np.errstate(all="ignore"):
        samples = sample(lambda x: _defined(_curves(program, {over.name: x}, wanted)), points, order + 1, most)
    notes += described(over.name, samples.discontinuities)
    if samples.coarse:
        hint = f"take {10 * len(points)} samples, or a shorter range"
        notes.append(note("coarse", f"the curve changes faster than {len(points)} samples show: {hint}"))
    if not np.isfinite(samples.ys[0]).any():
        notes.append(note("domain", f"no value is finite for {over.name} from {over.low:g} to {over.high:g}"))
    table = _curves(program, {over.name: points}, wanted)[: order + 1]
    return Plot(expression, over, order, points, table, samples, notes)


def _field(expression: str, over: Sequence[Range], order: int, program: Compiled, notes: list[dict[str, object]]) -> Field:
    counts = [min(r.samples or SAMPLES_EACH_WAY, MOST_EACH_WAY) for r in over]
    x, y = (even(r.low, r.high, count) for r, count in zip(over, counts, strict=True))
    grid = np.meshgrid(x, y)
    columns = {r.name: part.ravel() for r, part in zip(over, grid, strict=True)}
    table = _curves(program, columns, ["value", *(output_name((r.name,)) for r in over)]).reshape(-1, *grid[0].shape)
    value, *gradient = _defined(table)
    with np.errstate(all="ignore"):
        discontinuous, steep = _discontinuous(x, y, value, gradient)
        seen = window(value.ravel(), steep or bool(np.isinf(value).any()))
    if not np.isfinite(value).any():
        notes.append(note("domain", f"no value is finite for these {listed(r.name for r in over)}"))
    shown = np.stack(gradient) if order else None
    return Field(expression, over, order, x, y, table[: 3 if order else 1], value, shown, discontinuous, seen, notes)


def _defined(curves: Floats) -> Floats:
    """Remove derivatives where there is no value, as those of log(x) for negative x; make huge values infinite."""
    curves = np.where(np.isnan(curves[0]), np.nan, curves)
    return np.where(np.abs(curves) > HUGE, np.copysign(np.inf, curves), curves)


def _curves(program: Compiled, columns: Mapping[str, Floats], wanted: Sequence[str]) -> Floats:
    """Return the results of a program for columns, ``(k, n)``; a derivative with respect to an unused variable is 0."""
    points = next(iter(columns.values()))
    found = program(**{name: column for name, column in columns.items() if name in program.variables})
    return np.stack([np.broadcast_to(found.get(name, 0.0), points.shape) for name in wanted])


def _check(
    expression: str, over: Sequence[str], needed: Mapping[str, Span], at: Mapping[str, object], const: Mapping[str, object]
) -> None:
    """Refuse variables that do not have either a range or one value."""
    if not over:
        name = next(iter(needed), "x")
        raise MissingValue("there is no variable to plot over", hint=f"give one a range with {setting('over', f'{name}=-3:3')}")
    if len(over) > 2:
        hint = f"give the others a value: {setting('at', f'{over[-1]}=1')}"
        raise UsageError(f"a plot is over one variable or two, not {len(over)}", hint=hint)
    for name in over:
        for key, values in (("at", at), ("const", const)):
            if name in values:
                hint = f"leave out {setting('over', name)} or {setting(key, name)}"
                raise UsageError(f"'{name}' has a range and a value", hint=hint)
    missing = {name: span for name, span in needed.items() if name not in over}
    if missing:
        raise without_value(missing, expression)


def described(name: str, found: Sequence[Discontinuity]) -> list[dict[str, object]]:
    """Return a note for each kind of discontinuity, with the places."""
    places: dict[tuple[str, str, str], list[float]] = {}
    for one in found:
        singular, many = _KINDS[one.kind]
        unbounded = [side.value for side in one.limits[0] if side.kind == "infinite"]
        if one.kind == "edge" and unbounded:
            singular = many = f"the value goes to {unbounded[0]:g}"
        places.setdefault((one.kind, singular, many), []).append(one.at)
    notes = []
    for (kind, singular, many), at in places.items():
        shown = [f"{place:.6g}" for place in at[:MOST_NAMED]]
        rest = [f"{len(at) - MOST_NAMED:,} more places"] if len(at) > MOST_NAMED else []
        where = "beyond" if kind == "overflow" else "near"
        notes.append(note(kind, f"{singular if len(at) == 1 else many} {where} {name} = {listed([*shown, *rest])}"))
    return notes


def _discontinuous(x: Floats, y: Floats, value: Floats, gradient: Sequence[Floats]) -> tuple[Bools, bool]:
    """Return where neighbours contradict the gradient, and whether some of these values are far from most others."""
    found = np.zeros(value.shape, bool)
    finite = value[np.isfinite(value)]
    if not len(finite):
        return found, False
    low, high = np.percentile(finite, CENTRAL)
    span = (high - low) or np.ptp(finite) or 1.0
    for values, slopes, points, marked in ((value, gradient[0], x, found), (value.T, gradient[1].T, y, found.T)):
        expected = np.diff(points) * (slopes[:, 1:] + slopes[:, :-1]) / 2
        marked[:, :-1] |= np.abs(np.diff(values) - expected) > np.maximum(span / 10, 0.6 * np.abs(expected))
    return found, bool((found & (np.abs(value - np.median(finite)) > 3 * span)).any())
