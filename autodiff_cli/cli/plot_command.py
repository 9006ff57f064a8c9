"""``autodiff plot``: a value and its derivatives over a range, on the terminal or as a picture."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import click

from autodiff_cli.cli import options
from autodiff_cli.cli.expression_command import ExpressionCommand
from autodiff_cli.cli.output import Output, view

_PICTURES = ("svg", "png", "pdf")


@click.command("plot", cls=ExpressionCommand)
@options.expression
@click.option(
    "--over",
    multiple=True,
    metavar="NAME=FROM:TO",
    help="Range to plot over; x=-pi:pi:500 sets 500 samples (401; 161 each for two variables).  [default: -5 to 5]",
)
@options.at
@options.const
@click.option("--order", type=int, metavar="N", help="Highest order of derivative.  [default: 1; 0 for several curves]")
@click.option("--y-range", metavar="FROM:TO", help="Range of values to show.  [default: all values, or most of them near poles]")
@click.option("--log", type=click.Choice(["x", "y", "xy"]), help="Axes that are logarithmic.")
@click.option("--path", "steps", metavar="FILE", help="Points to draw, such as the steps of minimize --trace, by column names.")
@options.output(options.strict, options.quiet_notes, options.precision, files=("plot file",))
def command(over: tuple[str, ...], steps: str | None, out: Output, **settings: Any) -> None:
    """Plot EXPR and its derivatives over a range of one variable, or EXPR and its gradient over ranges of two variables.

    EXPR may end with several expressions of one variable, separated by commas; each is a curve.

    \b
    autodiff plot "sin(x), cos(x)"
    autodiff plot "sin(x)/x" --over x=-10:10 --order 2
    autodiff plot "exp(-a*x)*cos(x)" --over x=0:2*pi --at a=0.3 -o wave.svg
    autodiff plot "sin(x)*cos(y)" --over x=-3:3,y=-2:2 -o field.png
    autodiff plot "exp(-a*x)*cos(x)" --over x=0:2*pi --at a=0.3 -o wave.html
    """
    from autodiff_cli.data.columns import Source
    from autodiff_cli.evaluation.ranges import parse_ranges
    from autodiff_cli.plotting.model import Plot
    from autodiff_cli.plotting.plot import plot

    path = None
    if steps is not None:
        with closing(Source(steps)) as data:
            path = data.read({each.name: each.name for each in parse_ranges(over)}).columns
    shown = plot(over=over, path=path, **{**settings, "log": settings["log"] or ""})

    if out.path is not None:
        out = out._replace(quiet=False)  # -q is about numbers, and a file contains the picture
    drawing = "terminal_curves" if isinstance(shown, Plot) else "terminal_field"
    views = {
        "table": view(f"autodiff_cli.plotting.{drawing}:drawn", shown, out.color),
        "html": view("autodiff_cli.lesson.plot:to_html", shown, out.precision),
        **{kind: view("autodiff_cli.plotting.picture:drawn", shown, kind) for kind in _PICTURES},
    }
    out.emit(shown, views)
