"""A plot as a page in which the inputs move, the point with its tangent moves, and the range can be enlarged.

The page computes all numbers with a JavaScript function of the value and its derivatives.  If JavaScript cannot compute them, the
page shows the samples of the plot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.arrays import Array
from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.code_generation.export import results_in_javascript
from autodiff_cli.command_result import plain
from autodiff_cli.compiler.instruction import Operand
from autodiff_cli.compiler.program import derivatives, terms
from autodiff_cli.errors import AutodiffError
from autodiff_cli.evaluation.bindings import new_leaves
from autodiff_cli.evaluation.compile import trace_elements
from autodiff_cli.evaluation.names import free_names
from autodiff_cli.evaluation.ranges import Range
from autodiff_cli.language.parser import parse
from autodiff_cli.lesson.page import page_html
from autodiff_cli.lesson.recomputing import MOST_ELEMENTS
from autodiff_cli.limits import check_count
from autodiff_cli.plotting.layout import has_vertical_line, mark_circles, panels, shown_marks, value_range
from autodiff_cli.plotting.model import Field, Plot
from autodiff_cli.wording import plural

if TYPE_CHECKING:
    from autodiff_cli.plotting.fit_picture import FittedPlot


ABOUT = "A plot of autodiff, with exact derivatives at the point."
NAME = "plotCode"
"""The name of the function in the page."""
MOST_INSTRUCTIONS = {1: 10_000, 2: 1_000}
"""The most instructions of the function over one and over two variables, so that a drawing takes less than about 0.2 s."""


def to_html(plot: Plot | Field, precision: int) -> str:
    """Return the page of a plot with ``precision`` significant digits."""
    over = [plot.over] if isinstance(plot, Plot) else list(plot.over)
    used_names = {name for program in plot.source.programs for name in free_names(parse(program))}
    inputs = {name: np.asarray(value) for name, value in plot.source.at.items() if name in used_names}
    source, fixed = _page_function(plot, over, inputs)
    data = {
        "expression": plot.expression,
        "precision": precision,
        "over": [{"name": each.name, "low": each.low, "high": each.high} for each in over],
        "inputs": [{"name": name, "value": plain(value)} for name, value in inputs.items()] if fixed is None else [],
        "path": plot.path.tolist(),
        "notes": [note["message"] for note in plot.notes],
        "fixed": fixed,
        **(_curves(plot, source) if isinstance(plot, Plot) else _field(plot, source)),
    }
    return page_html(plot.expression, {name: plain(value) for name, value in inputs.items()}, data, source, "plot", ABOUT)


def _page_function(plot: Plot | Field, over: Sequence[Range], inputs: Mapping[str, Array]) -> tuple[str, str | None]:
    """Return the source of the JavaScript function of the variables with ranges and of the inputs, and ``None``.

    If it cannot have the inputs as arguments, or not exist at all, return a source without them, or an empty one, and the reason.
    """
    try:
        check_count(sum(value.size for value in inputs.values()), MOST_ELEMENTS, "they have {} elements, more than the limit of {}")
        return _function_source(plot, over, inputs), None
    except AutodiffError as error:
        reason = error.message
    if inputs:  # an input that decides the shape of an array, for example, cannot move
        try:
            return _function_source(plot, over, {}), f"The other inputs cannot be moved: {reason}."
        except AutodiffError as error:
            reason = error.message
    return "", f"The page shows samples, because it cannot compute other values: {reason}."


def _function_source(plot: Plot | Field, over: Sequence[Range], moved: Mapping[str, Array]) -> str:
    """Return the source of a JavaScript function of the variables with ranges and of the elements of the moved inputs.

    It returns the value and its derivatives with respect to the variables with ranges, for each program.
    """
    names = [each.name for each in over]
    shapes = {**dict.fromkeys(names, ()), **{name: value.shape for name, value in moved.items()}}  # of the arguments
    constants = {name: np.asarray(value) for name, value in {**plot.source.at, **plot.source.const}.items() if name not in shapes}
    trees = [parse(program) for program in plot.source.programs]
    elements, values = trace_elements(plot.expression, trees, shapes, new_leaves(constants, np.dtype("float64"), ()), "float64")
    variables = dict(zip(names, elements, strict=False))  # they come first in ``shapes``, and each of them is one element
    results: list[Operand] = []
    with np.errstate(all="ignore"), set_grad_enabled(False):
        for value in values:
            results += derivatives(value, variables, terms(names, _orders(plot)))
    tape = elements[0].tape
    check_count(len(tape.instructions), MOST_INSTRUCTIONS[len(over)], "the values take {} operations, more than the limit of {}")
    return results_in_javascript(tape, results, [element.variable for element in elements], NAME)


def _orders(plot: Plot | Field) -> int:
    """Return the highest order of the derivatives that the page computes: one more than shown, for tangents, but at most 2."""
    return min(plot.order + 1, 2) if isinstance(plot, Plot) else 1


def _curves(plot: Plot, source: str) -> dict[str, object]:
    """Return the data of curves, in units of the axes; samples are omitted if the page has the ``source`` that computes them."""
    has_several_values, count = len(plot.source.programs) > 1, _orders(plot) + 1
    shown = shown_marks(plot)
    return {
        "orders": count,
        "curves": [
            # ``first`` is the place of the value of its program: each program has ``count`` results.
            {"label": curve.label, "order": 0 if has_several_values else k, "first": k * count if has_several_values else 0}
            for k, curve in enumerate(plot.curves)
        ],
        "log": plot.scale.log,
        "window": None if plot.y_range is None else list(plot.scale.ends("y", *plot.y_range)),
        "panels": [list(panel.curves) for panel in panels(plot)],
        "circles": [
            {"curve": mark.curve, "x": circle.x, "y": circle.y, "filled": bool(circle.filled)}
            for mark in shown
            for circle in mark_circles(mark)
        ],
        "lines": [mark.at for mark in shown if has_vertical_line(mark)],
        "samples": None if source else {"x": plot.samples.xs.tolist(), "curves": plot.samples.ys.tolist()},
    }


def _field(plot: Field, source: str) -> dict[str, object]:
    """Return the data of a field; samples, by the second variable, are omitted if the page has the ``source`` of a function."""
    shown = np.where(plot.discontinuous, np.nan, plot.value)
    gradient = np.empty((0, 0, 0)) if plot.gradient is None else plot.gradient
    return {
        "order": plot.order,
        "window": None if plot.y_range is None else list(value_range(plot)),
        "samples": None
        if source
        else {"x": plot.x.tolist(), "y": plot.y.tolist(), "value": shown.tolist(), "gradient": gradient.tolist()},
    }


ABOUT_FIT = "A fit of autodiff: move the pointer to read the curve, its bands and the data."


def fit_to_html(plot: FittedPlot, precision: int) -> str:
    """Return the page of a fit with ``precision`` significant digits; of many rows, it shows some and says so."""
    left, right, _, _ = plot.window
    x, y, error, residuals = plot.thinned()
    shown = f"The page shows {len(x):,} of {plural(len(plot.x), 'row')}." if len(x) < len(plot.x) else None
    data: dict[str, object] = {
        "expression": plot.title,
        "precision": precision,
        "over": [{"name": plot.across, "low": left, "high": right}],
        "inputs": [],
        "notes": list(plot.parameters),
        "fixed": shown,
        "fit": {
            "up": plot.up,
            "unit": plot.unit,
            "level": plot.level,
            "x": plain(x),
            "y": plain(y),
            "error": plain(error),
            "residuals": plain(residuals),
            "curve": plot.curve.tolist(),
            "mean": plain(plot.mean),
            "new": plain(plot.new),
        },
    }
    return page_html(plot.title, {}, data, kind="plot", about=ABOUT_FIT)
