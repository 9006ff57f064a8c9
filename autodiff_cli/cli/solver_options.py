"""The options that the solver commands share."""

from __future__ import annotations

import click

from autodiff_cli.cli.options import Decorator


def starts(text: str) -> Decorator:
    """Return the option for the starts of variables or parameters."""
    return click.option("--at", "-a", multiple=True, metavar="NAME=VALUE", help=text)


def max_steps(default: int) -> Decorator:
    """Return the option for the maximum number of steps."""
    return click.option(
        "--max-steps", default=default, show_default=True, metavar="N", type=click.IntRange(1), help="Maximum number of steps."
    )


bounds = click.option("--bounds", multiple=True, metavar="NAME=FROM:TO", help="Interval of a name, such as b=0:10 or b=0:.")
trace = click.option("--trace", is_flag=True, help="Print a row for every step instead of the result; see --format.")
level = click.option(
    "--level",
    default=0.95,
    show_default=True,
    metavar="P",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Confidence level of the intervals.",
)
threads = click.option(
    "--threads", "thread_count", metavar="N", type=click.IntRange(1), help="Number of threads.  [default: one per processor]"
)
