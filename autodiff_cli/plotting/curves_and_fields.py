"""The samples of a plot: a value and its derivatives over one variable, or a value and its gradient over two variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.arrays import Floats, Mask
from autodiff_cli.command_result import Record
from autodiff_cli.compiler.program import Compiled, output_name, terms
from autodiff_cli.errors import MissingValue, Span, UsageError, setting
from autodiff_cli.evaluation import compile
from autodiff_cli.evaluation.names import free_names, missing_values_error
from autodiff_cli.evaluation.note_phrases import note
from autodiff_cli.evaluation.ranges import Range
from autodiff_cli.evaluation.rows.outputs import output_names, with_list_output
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import STATEMENTS, unparse
from autodiff_cli.plotting.adaptive_sampling import MOST_POINTS, Samples, even_points, merge_samples, sample, shown_range
from autodiff_cli.plotting.discontinuities import CENTRAL, Discontinuity
from autodiff_cli.plotting.model import Curve, Field, Plot, PlotSource, Scale
from autodiff_cli.wording import listed, shortened

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

SAMPLES = 401
"""The default number of samples over one variable."""
DEFAULT_REACH = 5.0
"""The default range of a variable extends to this distance from 0."""
SAMPLES_EACH_WAY, MOST_EACH_WAY = 161, 2000
"""The default and the maximum number of samples in each direction over two variables."""
MOST_ROWS = 250
"""The maximum number of points after refinement for a program that is evaluated point by point."""
LARGEST_DRAWN = 1e306
"""The largest magnitude that is drawn as finite.  Differences of larger values may overflow."""
MOST_NAMED, MOST_CURVES = 8, 6
"""The maximum number of places that a note names, and of curves in a plot."""
_KINDS = {
    "pole": ("pole", "poles"),
    "jump": ("jump", "jumps"),
    "hole": ("hole", "holes"),
    "kink": ("kink", "kinks"),
    "vertical tangent": ("vertical tangent", "vertical tangents"),
    "bend": ("kink of the derivative", "kinks of the derivative"),
    "oscillation": ("no limit", "no limits"),
    "edge": ("the domain ends", "the domain ends"),
    "overflow": (f"too large to be drawn (over {LARGEST_DRAWN:g})",) * 2,
}


def sample_expression(
    expression: str,
    over: Sequence[Range] = (),
    at: Mapping[str, object] | None = None,
    const: Mapping[str, object] | None = None,
    order: int | None = None,
    path: Mapping[str, ArrayLike] | None = None,
    log: str = "",
) -> Plot | Field:
    """Sample an expression over one or two variables, or several expressions over one variable.

    The parameters and the errors are those of ``plot.plot``, but ``over`` contains ranges.
    """
    fixed = {**(at or {}), **(const or {})}
    outputs = _plotted_outputs(expression)
    needed: dict[str, Span] = {}  # the names without a value
    for output in outputs:
        needed = {**free_names(parse(output.program), fixed), **needed}
    has_defaults = not over and 0 < len(needed) <= 2
    default_ranges = _default_ranges(outputs, list(needed), fixed, log) if has_defaults else []
    over = over or default_ranges
    _check_ranges(expression, [r.name for r in over], needed, at or {}, const or {})
    order = _checked_order(order, len(outputs), len(over), log)
    notes = _notes_on_names(outputs, [*(r.name for r in over), *fixed], default_ranges)
    # One additional order is computed, because the slope of a curve reveals its discontinuities.
    highest = min(order + 1, 2) if len(over) == 1 else 1
    programs = [_compile_derivatives(output.program, over, fixed, highest) for output in outputs]
    path_points = _path_points(over, path)
    source = PlotSource(tuple(output.program for output in outputs), at or {}, const or {})
    if len(over) == 2:
        return _sample_field(expression, source, over, order, programs[0], notes, path_points)
    path_x = path_points[:, 0]
    (path_y,) = _run_program(programs[0], {over[0].name: path_x}, ["value"])
    return _sample_plot(expression, source, over[0], order, outputs, programs, notes, np.stack([path_x, path_y], 1), log)


def _notes_on_names(outputs: Sequence[Curve], names: Sequence[str], default_ranges: Sequence[Range]) -> list[Record]:
    """Return notes on expressions that are not shown, on default ranges, and on names with values that no output contains."""
    *statements_before, _output = parse(outputs[0].program).children
    unshown = [unparse(statement) for statement in statements_before if statement.kind not in STATEMENTS]
    notes = [note("unused", f"{text} is not shown; separate several curves with commas") for text in unshown]
    notes += [note("range", f"the range of {r.name} is {r.low:g} to {r.high:g}") for r in default_ranges]
    used = {name for output in outputs for name in free_names(parse(output.program))}
    return notes + [note("unused", f"'{name}' does not occur in the expression") for name in names if name not in used]


def _plotted_outputs(expression: str) -> list[Curve]:
    """Return the expressions at the end of a program, each with a program of its own; a single one has the name ``value``."""
    source = with_list_output(expression)
    tree = parse(source)
    names, last = output_names(tree), tree.children[-1]
    if not names:
        return [Curve("value", "value", expression)]
    if len(names) > MOST_CURVES:
        raise UsageError(f"a plot shows at most {MOST_CURVES} expressions, not {len(names)}", hint="make several plots")
    curves = []
    for name, item in zip(names, last.children, strict=True):
        start, end = item.span
        statements_before = source[: last.span[0]].ljust(start)  # blanks replace other expressions, so that errors point right
        curves.append(Curve(name, shortened(unparse(item), 24), statements_before + source[start:end]))
    return curves


def _checked_order(order: int | None, output_count: int, variable_count: int, log: str) -> int:
    """Return the order of derivatives or, for ``None``, its default; raise ``UsageError`` if a plot cannot show it."""
    if order is None:
        order = 0 if output_count > 1 or "y" in log else 1
    if not 0 <= order <= 2:
        raise UsageError(f"the order must be 0, 1 or 2, not {order}", hint="use autodiff taylor for higher orders")
    if output_count > 1 and (order or variable_count == 2):
        how = "without their derivatives" if order else "over one variable"
        raise UsageError(f"several expressions are plotted {how}", hint="plot one of the expressions")
    if variable_count == 2 and order == 2:
        raise UsageError(
            "a plot over two variables shows the value and its gradient, not second derivatives",
            hint=f"remove {setting('order', '2')}, or plot over one variable",
        )
    if variable_count == 2 and log:
        raise UsageError("a plot over two variables has no logarithmic axes", hint="plot the logarithm of the expression")
    return order


def _compile_derivatives(program: str, over: Sequence[Range], fixed: Mapping[str, object], order: int) -> Compiled:
    """Compile a program and its derivatives, up to an order, with respect to the variables with ranges."""
    wrt = [r.name for r in over if r.name in free_names(parse(program), fixed)]
    names, by, leaves = compile.names_and_values(program, wrt, fixed, "float64")
    return compile.compile_terms(program, names, leaves, terms(by, order), "float64", None)


def _default_ranges(outputs: Sequence[Curve], names: Sequence[str], fixed: Mapping[str, object], log: str) -> list[Range]:
    """Return a range for each of one or two variables; for one on a linear axis, it ends where all outputs cease to exist."""
    if len(names) == 2:
        return [Range(name, -3.0, 3.0) for name in names]
    (name,) = names
    if "x" in log:
        return [Range(name, 0.01, 100.0)]
    points = even_points(-DEFAULT_REACH, DEFAULT_REACH, SAMPLES)
    programs = [_compile_derivatives(output.program, [], fixed, 0) for output in outputs]
    with np.errstate(all="ignore"):
        values = np.concatenate([_run_program(program, {name: points}, ["value"]) for program in programs])
    inside = points[~np.isnan(values).all(axis=0)]
    low, high = (float(inside[0]), float(inside[-1])) if len(inside) > 1 else (-DEFAULT_REACH, DEFAULT_REACH)
    return [Range(name, low, high)]


def _path_points(over: Sequence[Range], path: Mapping[str, ArrayLike] | None) -> Floats:
    """Return the points of a path, ``(k, len(over))``, from its columns, which it must have; without a path, ``k`` is 0."""
    if path is None:
        return np.empty((0, len(over)))
    for variable in over:
        if variable.name not in path:
            raise MissingValue(f"the path has no column '{variable.name}'", hint=f"its columns: {listed(path) or 'none'}")
    return np.stack([np.asarray(path[variable.name], float) for variable in over], 1)


def _sample_plot(
    expression: str,
    source: PlotSource,
    over: Range,
    order: int,
    outputs: Sequence[Curve],
    programs: Sequence[Compiled],
    notes: list[Record],
    path: Floats,
    log: str,
) -> Plot:
    """Return the plot of one or several outputs over a variable, and add to the notes; the arguments are attributes of ``Plot``."""
    scale = Scale(log)
    points = scale.x(even_points(*scale.x_ends(over), over.samples or SAMPLES))
    points[[0, -1]] = over.low, over.high  # without rounding errors of the scale
    terms = [output_name((over.name,) * k) for k in range(min(order + 1, 2) + 1)]
    labels = ("value", f"d/d{over.name}", f"d²/d{over.name}²")
    slopes = [Curve(*names) for names in zip(terms, labels, strict=False)][1 : order + 1]  # of one output; others have order 0
    parts = [part for program in programs for part in _sample_curves(program, over.name, points, terms, order + 1, scale)]
    for output, part in zip(outputs, parts, strict=False):  # the other parts are those of slopes
        marks = [scale.with_variable_position(mark) for mark in part.discontinuities]
        notes += discontinuity_notes(over.name, marks, f"{output.label}: " if len(outputs) > 1 else "")
    samples = parts[0] if len(parts) == 1 else merge_samples(parts)
    table = np.concatenate([_run_program(program, {over.name: points}, terms[: order + 1]) for program in programs])
    if samples.coarse:
        hint = f"use {10 * len(points)} samples or a shorter range"
        notes.append(note("coarse", f"the curve changes too fast for {len(points)} samples; {hint}"))
    if not np.isfinite(samples.ys[0]).any():
        notes.append(note("domain", f"the expression is not finite anywhere for {over.name} from {over.low:g} to {over.high:g}"))
    if "y" in log and (table <= 0).any():
        notes.append(note("domain", "values that are not positive are not on the logarithmic axis"))
    return Plot(expression, source, over, order, (*outputs, *slopes), points, table, samples, path, notes, scale)


def _sample_curves(
    program: Compiled, name: str, points: Floats, terms: Sequence[str], count: int, scale: Scale
) -> Iterator[Samples]:
    """Yield the samples of ``count`` terms over ``name``: all together, or each with its slope if an axis is logarithmic."""
    most = MOST_POINTS if isinstance(program, compile.Program) else MOST_ROWS
    groups = [terms[first : first + 2] for first in range(count)] if scale.log else [terms]
    for group in groups:

        def curves_on_axes(axis_x: Floats, group: Sequence[str] = group) -> Floats:  # the default keeps the group of this turn
            x = scale.x(axis_x)
            return scale.curves_on_axes(x, _without_undefined(_run_program(program, {name: x}, group)))

        with np.errstate(all="ignore"):
            samples = sample(curves_on_axes, scale.axis_positions(points), 1 if scale.log else count, most)
        yield replace(samples, discontinuities=[mark for mark in samples.discontinuities if scale.is_of_value(mark)])


def _sample_field(
    expression: str, source: PlotSource, over: Sequence[Range], order: int, program: Compiled, notes: list[Record], path: Floats
) -> Field:
    """Return the plot of one output over two variables; the arguments are the attributes of ``Field``."""
    x, y = (even_points(r.low, r.high, min(r.samples or SAMPLES_EACH_WAY, MOST_EACH_WAY)) for r in over)
    grid = np.meshgrid(x, y)
    columns = {r.name: coordinates.ravel() for r, coordinates in zip(over, grid, strict=True)}
    terms = ["value", *(output_name((r.name,)) for r in over)]
    table = _run_program(program, columns, terms).reshape(-1, len(y), len(x))
    value, *gradient = _without_undefined(table)
    with np.errstate(all="ignore"):
        discontinuous, has_outliers = _find_discontinuous(x, y, value, gradient)
        window = shown_range(value.ravel(), has_outliers or bool(np.isinf(value).any()))
    if not np.isfinite(value).any():
        notes.append(note("domain", f"the expression is not finite anywhere in the ranges of {listed(r.name for r in over)}"))
    slopes = np.stack(gradient) if order else None
    table = table[: 3 if order else 1]  # the value and two slopes, or the value
    return Field(expression, source, over, order, x, y, table, value, slopes, discontinuous, window, path, notes)


def _without_undefined(curves: Floats) -> Floats:
    """Set derivatives to nan where the value is nan, as for log(x) at negative x; replace huge values with infinity."""
    curves = np.where(np.isnan(curves[0]), np.nan, curves)
    return np.where(np.abs(curves) > LARGEST_DRAWN, np.copysign(np.inf, curves), curves)


def _run_program(program: Compiled, columns: Mapping[str, Floats], terms: Sequence[str]) -> Floats:
    """Return the results of a program for columns of points, ``(k, n)``; derivatives with respect to unused variables are 0."""
    points = next(iter(columns.values()))
    results = program(**{name: column for name, column in columns.items() if name in program.variables})
    return np.stack([np.broadcast_to(results.get(name, 0.0), points.shape) for name in terms])


def _check_ranges(
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
        raise missing_values_error(missing, expression)


def discontinuity_notes(name: str, discontinuities: Sequence[Discontinuity], named: str = "") -> list[Record]:
    """Return a note, after ``named``, for each kind of discontinuity over ``name``; an infinite end of the domain is a kind."""
    positions: dict[tuple[str, str, str], list[float]] = {}  # by kind and its words for one and for many
    for mark in discontinuities:
        singular, plural = _KINDS[mark.kind]
        infinite = [side.value for side in mark.limits[0] if side.kind == "infinite"]
        if mark.kind == "edge" and infinite:
            singular = plural = f"the value goes to {infinite[0]:g}"
        positions.setdefault((mark.kind, singular, plural), []).append(mark.at)
    notes = []
    for (kind, singular, plural), places in positions.items():
        numbers = [f"{place:.6g}" for place in places[:MOST_NAMED]]
        rest = [f"{len(places) - MOST_NAMED:,} more places"] if len(places) > MOST_NAMED else []
        where = f"{'beyond' if kind == 'overflow' else 'near'} {name} = {listed([*numbers, *rest])}"
        notes.append(note(kind, f"{named}{singular if len(places) == 1 else plural} {where}"))
    return notes


def _find_discontinuous(x: Floats, y: Floats, value: Floats, gradient: Sequence[Floats]) -> tuple[Mask, bool]:
    """Return where the rise to a neighbour does not match the gradient, and whether a value there is far from the median."""
    mask = np.zeros(value.shape, bool)
    finite = value[np.isfinite(value)]
    if not len(finite):
        return mask, False
    low, high = np.percentile(finite, CENTRAL)
    span = (high - low) or np.ptp(finite) or 1.0
    along_x, along_y = (value, gradient[0], x, mask), (value.T, gradient[1].T, y, mask.T)  # transposed views of the same mask
    for values, slopes, points, mask_along in (along_x, along_y):
        expected = np.diff(points) * (slopes[:, 1:] + slopes[:, :-1]) / 2
        allowed = np.maximum(span / 10, 0.6 * np.abs(expected))  # a visible difference, and not one of a steep slope that bends
        mask_along[:, :-1] |= np.abs(np.diff(values) - expected) > allowed
    is_outlier = np.abs(value - np.median(finite)) > 3 * span
    return mask, bool((mask & is_outlier).any())
