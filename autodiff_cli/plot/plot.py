"""Sampling for ``autodiff plot``: a value and its derivatives over one variable, or a value and its gradient over two variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.compiler.program import Compiled, output_name, terms
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

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

SAMPLES = 401
SAMPLES_EACH_WAY = 161
MOST_EACH_WAY = 2000
MOST_ROWS = 250
"""The maximum number of points after refinement for a program that is evaluated point by point."""
HUGE = 1e306
"""The largest magnitude that is drawn as finite.  Differences of larger values may overflow."""
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
    path: Mapping[str, ArrayLike] | None = None,
) -> Plot | Field:
    """Sample an expression over one or two variables.

    Args:
        expression: a program of the language whose result is one number.
        over: the ranges of one or two variables.
        at, const: the values of all other variables.
        order: the highest order of derivative that is shown: 0 to 2 over one variable, 0 or 1 over two.
        path: the points of a path by variable, such as the steps of a solver; other names are ignored.

    Raises:
        UsageError: if the number of ranges or the order is not supported, or if a variable has a range and a value.
        MissingValue: if a variable has neither a range nor a value, or the path does not have it.
        AutodiffError: if the program cannot be parsed or evaluated.
    """
    fixed = {**(at or {}), **(const or {})}
    needed = free_names(parse(expression), fixed)
    _check(expression, [r.name for r in over], needed, at or {}, const or {})
    if not 0 <= order <= 2:
        raise UsageError(f"the order must be 0, 1 or 2, not {order}", hint="use autodiff taylor for higher orders")
    if len(over) == 2 and order == 2:
        raise UsageError(
            "a plot over two variables shows the value and its gradient, not second derivatives",
            hint=f"remove {setting('order', '2')}, or plot over one variable",
        )
    used = {*needed, *free_names(parse(expression))}
    unused = [
        note("unused", f"'{name}' does not occur in the expression")
        for name in (*(r.name for r in over), *fixed)
        if name not in used
    ]
    wrt = [r.name for r in over if r.name in needed]
    # One additional order is computed, because the slope of a curve reveals its discontinuities.
    names, by, leaves = compile.names_and_values(expression, wrt, fixed, "float64")
    wanted = terms(by, min(order + 1, 2) if len(over) == 1 else 1)
    program = compile.compile_terms(expression, names, leaves, wanted, "float64", None)
    steps = _steps(over, path)
    if len(over) == 1:
        value = _curves(program, {over[0].name: steps[:, 0]}, ["value"])[0]
        return _plot(expression, over[0], order, program, unused, np.stack([steps[:, 0], value], 1))
    return _field(expression, over, order, program, unused, steps)


def _steps(over: Sequence[Range], path: Mapping[str, ArrayLike] | None) -> Floats:
    """Return the points of a path, with a column for each variable."""
    if path is None:
        return np.empty((0, len(over)))
    for each in over:
        if each.name not in path:
            raise MissingValue(f"the path has no column '{each.name}'", hint=f"its columns: {listed(path) or 'none'}")
    return np.stack([np.asarray(path[each.name], float) for each in over], 1)


def _plot(expression: str, over: Range, order: int, program: Compiled, notes: list[dict[str, object]], path: Floats) -> Plot:
    wanted = [output_name((over.name,) * k) for k in range(min(order + 1, 2) + 1)]
    points = even(over.low, over.high, over.samples or SAMPLES)
    most = MOST_POINTS if isinstance(program, compile.Program) else MOST_ROWS
    with np.errstate(all="ignore"):
        samples = sample(lambda x: _defined(_curves(program, {over.name: x}, wanted)), points, order + 1, most)
    notes += described(over.name, samples.discontinuities)
    if samples.coarse:
        hint = f"use {10 * len(points)} samples or a shorter range"
        notes.append(note("coarse", f"the curve changes too fast for {len(points)} samples; {hint}"))
    if not np.isfinite(samples.ys[0]).any():
        notes.append(note("domain", f"the expression is not finite anywhere for {over.name} from {over.low:g} to {over.high:g}"))
    table = _curves(program, {over.name: points}, wanted)[: order + 1]
    return Plot(expression, over, order, points, table, samples, path, notes)


def _field(
    expression: str, over: Sequence[Range], order: int, program: Compiled, notes: list[dict[str, object]], path: Floats
) -> Field:
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
        notes.append(note("domain", f"the expression is not finite anywhere in the ranges of {listed(r.name for r in over)}"))
    shown = np.stack(gradient) if order else None
    return Field(expression, over, order, x, y, table[: 3 if order else 1], value, shown, discontinuous, seen, path, notes)


def _defined(curves: Floats) -> Floats:
    """Set derivatives to nan where the value is nan, as for log(x) at negative x; replace huge values with infinity."""
    curves = np.where(np.isnan(curves[0]), np.nan, curves)
    return np.where(np.abs(curves) > HUGE, np.copysign(np.inf, curves), curves)


def _curves(program: Compiled, columns: Mapping[str, Floats], wanted: Sequence[str]) -> Floats:
    """Return the results of a program for columns of points, ``(k, n)``; derivatives with respect to unused variables are 0."""
    points = next(iter(columns.values()))
    found = program(**{name: column for name, column in columns.items() if name in program.variables})
    return np.stack([np.broadcast_to(found.get(name, 0.0), points.shape) for name in wanted])


def _check(
    expression: str, over: Sequence[str], needed: Mapping[str, Span], at: Mapping[str, object], const: Mapping[str, object]
) -> None:
    """Raise an error unless one or two ranges are given, and every variable has either a range or a value."""
    if not over:
        name = next(iter(needed), "x")
        raise MissingValue("a plot needs a variable with a range", hint=f"give a range with {setting('over', f'{name}=-3:3')}")
    if len(over) > 2:
        hint = f"give the other variables a value with {setting('at', f'{over[-1]}=1')}"
        raise UsageError(f"a plot takes ranges of one or two variables, not {len(over)}", hint=hint)
    for name in over:
        for key, values in (("at", at), ("const", const)):
            if name in values:
                hint = f"remove {setting('over', name)} or {setting(key, name)}"
                raise UsageError(f"'{name}' has a range and a value", hint=hint)
    missing = {name: span for name, span in needed.items() if name not in over}
    if missing:
        raise without_value(missing, expression)


def described(name: str, found: Sequence[Discontinuity]) -> list[dict[str, object]]:
    """Return a note for each kind of discontinuity, with its positions."""
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
    """Return the points at which the rise to a neighbour does not match the gradient, and whether their values include outliers."""
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
