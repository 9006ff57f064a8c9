"""``plot``: a value and its derivatives over a range, or a value and its gradient over two ranges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from autodiff_cli.autograd.primitives.argument_kinds import optional
from autodiff_cli.autograd.primitives.interface_kinds import COUNT, EXPRESSION, PAIR, VALUES, VALUES_OR_TEXTS, checks, choice
from autodiff_cli.evaluation.ranges import parse_interval, parse_ranges
from autodiff_cli.plotting.curves_and_fields import sample_expression
from autodiff_cli.plotting.model import Field, Plot

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from autodiff_cli.evaluation.evaluation import Value

Ends = tuple[float, float] | str
"""The ends of a range: two numbers, or a text such as ``"0:2*pi"``."""


@checks(
    expression=EXPRESSION,
    over=optional(VALUES_OR_TEXTS),
    at=optional(VALUES),
    const=optional(VALUES),
    order=optional(COUNT),
    log=choice("", "x", "y", "xy"),
    path=optional(VALUES),
    theme=choice("light", "dark"),
)
def plot(
    expression: str,
    over: Mapping[str, Ends] | Iterable[str] | None = None,
    at: Mapping[str, Value] | None = None,
    const: Mapping[str, Value] | None = None,
    *,
    order: int | None = None,
    y_range: Ends | None = None,
    log: str = "",
    path: Mapping[str, ArrayLike] | None = None,
    theme: str = "light",
) -> Plot | Field:
    """Plot an expression and its derivatives over one variable, or an expression and its gradient over two variables.

    A notebook shows the plot as a picture, and a Python shell shows it as text.

    Args:
        expression: a program of the language whose result is one number, or that ends with several numbers: ``sin(x), cos(x)``.
        over: the range of each variable, as ``(low, high)`` or as a text such as ``"0:2*pi"`` or ``"0:1:500"``, which sets 500
            samples; or texts such as ``"x=0:1"``; by default, -5 to 5.
        at, const: the values of all other variables.
        order: the highest order of derivative that is shown: 0 to 2 over one variable, 0 or 1 over two, 0 for several
            expressions; by default 1 if possible, and 0 on a logarithmic axis of values.
        y_range: the range of values to show; by default, all values, or most of them near poles.
        log: the logarithmic axes: ``x`` (the variable), ``y`` (the values) or ``xy``.
        path: the points of a path by variable, such as the steps of a solver; other names are ignored.
        theme: the colours of the picture, ``light`` or ``dark``.

    Raises:
        UsageError: if a range, the number of ranges or the order is not supported, or if a variable has a range and a value.
        MissingValue: if a variable has neither a range nor a value, or the path does not have it.
        AutodiffError: if the program cannot be parsed or evaluated.
    """
    ranges = parse_ranges(_range_texts(over or ()))
    window = None if y_range is None else parse_interval(_interval_text(y_range, "y_range"), "y_range")
    result = sample_expression(expression, ranges, at, const, order, path, log)
    if window is not None and isinstance(result, Plot):
        result.scale.ends("y", *window)  # raises an error if an axis is logarithmic and the range is not positive
    return replace(result, y_range=window, theme=theme)


def _range_texts(over: Mapping[str, Ends] | Iterable[str]) -> Iterable[str]:
    """Return the ranges as texts, such as ``x=0:1``."""
    if isinstance(over, Mapping):
        return [f"{name}={_interval_text(ends, f'over[{name!r}]')}" for name, ends in over.items()]
    return [over] if isinstance(over, str) else over


def _interval_text(ends: Ends, parameter: str) -> str:
    """Return the ends of a range as a text, such as ``0:1``; error messages name the ``parameter``."""
    return ends if isinstance(ends, str) else ":".join(repr(float(end)) for end in PAIR(ends, "plot", parameter))
