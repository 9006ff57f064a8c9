"""``autodiff plot``: a value and its derivatives over a range, on the terminal or as a picture."""

from __future__ import annotations

import sys
from typing import Any

import click

from autodiff_cli import formats
from autodiff_cli.cli import options

FILES = formats.for_use("plot file")


@click.command("plot", cls=options.ExpressionCommand, short_help="The value and its derivatives over a range.")
@options.expression
@click.option("--over", multiple=True, metavar="NAME=FROM:TO", help="What to plot over; also x=-pi:pi:500, in 500 samples.")
@options.at
@options.const
@options.order
@click.option("--samples", metavar="N", help="Samples in equal steps.  [default: 401; over two variables 161 each way]")
@click.option("-o", "--output", "path", metavar="FILE", help="Write a picture (.svg, .png, .pdf) or a table (.csv, .json, ...).")
@click.option("--y-range", metavar="FROM:TO", help="The values that are shown.  [default: all, or most of them at poles]")
@click.option("--width", type=click.IntRange(1, 5_000), metavar="N", help="Columns on a terminal, pixels of a picture.")
@click.option("--height", type=click.IntRange(1, 5_000), metavar="N", help="Rows on a terminal, pixels of a picture.")
@click.option("--theme", type=click.Choice(["light", "dark"]), default="light", show_default=True, help="Colours of a picture.")
@click.option("--transparent", is_flag=True, help="No background in a picture.")
@options.strict
@options.quiet_notes
@options.output
def command(
    expr: str, style: str, as_json: bool, quiet: bool, precision: int, color: str, quiet_notes: bool, **switches: Any
) -> None:
    """Draw EXPR and its derivative over a range of one variable; over two variables the value and its gradient.

    \b
    autodiff plot "sin(x)/x" --over x=-10:10 --order 2
    autodiff plot "exp(-a*x)*cos(x)" --over x=0:2*pi --at a=0.3 -o wave.svg
    autodiff plot "sin(x)*cos(y)" --over x=-3:3,y=-2:2 -o field.png
    """
    from autodiff_cli.derivatives.evaluate import check_finite
    from autodiff_cli.plot.model import Plot

    style = options.chosen_format(style, as_json)
    path = switches["path"]
    written = None if path is None else _suffix(path)
    y_range = _interval(switches["y_range"])
    found = _sampled(expr, **switches)
    if switches["strict"]:
        check_finite(found.numbers())
    if written is not None and written not in options.FORMATS:
        from autodiff_cli.data.output import write
        from autodiff_cli.plot import picture

        looks = picture.Looks(written, switches["width"], switches["height"], switches["theme"], switches["transparent"])
        write(path, picture.drawn(found, looks, y_range))
    elif written is not None:
        from autodiff_cli.data.output import write

        write(path, _table(found, written).encode())
    elif quiet:
        from autodiff_cli.report.records import bare

        sys.stdout.write(bare(column for _, column in found.numbers()))
    elif style != "table":
        sys.stdout.write(_table(found, style))
    elif isinstance(found, Plot):
        from autodiff_cli.plot import terminal

        terminal.show(found, switches["width"], switches["height"], y_range, color)
    else:
        from autodiff_cli.plot import field

        field.show(found, switches["width"], switches["height"], y_range, color)
    options.say_notes(found.notes, quiet_notes)


def _sampled(expr: str, over: tuple[str, ...], at: Any, const: Any, order: int, samples: str | None, **_: Any) -> Any:
    from dataclasses import replace

    from autodiff_cli.evaluation.bindings import bindings
    from autodiff_cli.evaluation.ranges import count, ranges
    from autodiff_cli.plot.plot import plot

    found = ranges(over)
    if samples is not None:
        number = count(samples, "samples")
        found = [replace(r, samples=r.samples or number) for r in found]
    return plot(options.read_expression(expr), found, bindings(at, "at"), bindings(const, "const"), order)


def _interval(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    from autodiff_cli.evaluation.ranges import interval

    return interval(text, "y_range")


def _suffix(path: str) -> str:
    """What to write, by the end of a file's name."""
    found = formats.of_suffix(path, FILES)
    if found is None:
        from autodiff_cli.errors import UsageError

        raise UsageError(f"cannot tell what to write into '{path}'", hint=f"end its name in {formats.suffixes(FILES)}")
    return found


def _table(found: Any, style: str) -> str:
    from autodiff_cli.report import records

    data = found.data()
    columns = [column.tolist() for column in data.values()]
    rows = [dict(zip(data, row, strict=True)) for row in zip(*columns, strict=True)]
    return records.render(style, found.to_dict() if style == "json" else {}, rows)
