"""``autodiff graph``: the graph of an expression as a tree, a picture, or data."""

from __future__ import annotations

from typing import Any

import click

from autodiff_cli.cli import options
from autodiff_cli.cli.expression_command import ExpressionCommand
from autodiff_cli.cli.output import Output, view


def _levels(context: click.Context, parameter: click.Parameter, value: str | None) -> int | str | None:
    """Convert the value of ``--depth``: a number of levels, ``all`` or ``None``; ``reduced`` refuses all other texts."""
    return int(value) if value is not None and value.isdecimal() else value


@click.command("graph", cls=ExpressionCommand)
@options.evaluated_from
@click.option("--backward", is_flag=True, help="Show the graph of the backward pass: grad_fn and next_functions.")
@click.option("--saved", is_flag=True, help="Show what each node saves for the backward pass, and its memory; implies --backward.")
@click.option(
    "--depth", callback=_levels, metavar="N|all", help="Number of levels below the output.  [default: as many as stay readable]"
)
@options.output(options.quiet_notes, options.precision, use="graph", files=("graph file",), bare="")
def command(depth: int | None, out: Output, **settings: Any) -> None:
    """Show the graph of EXPR, whose edges connect each step to its inputs; --at adds values and gradients.

    \b
    autodiff graph "log(x**3)*y"
    autodiff graph "log(x**3)*y" --at x=5,y=2 --backward
    autodiff graph "y = x**3; log(y)*y" --at x=5 -o graph.svg
    """
    from autodiff_cli.graph_drawing.draw import reduced, whole_graph

    whole = whole_graph(**settings)
    way_out = "use --depth all to show them" if out.style != "png" else "use --depth N to show more"
    graph = reduced(whole, depth, out.style, way_out)
    views = {
        "plain": view("autodiff_cli.graph_drawing.terminal:plain_tree", graph),
        **{name: view(f"autodiff_cli.graph_drawing.{name}:to_{name}", graph, out.precision) for name in ("mermaid", "svg", "dot")},
        "png": view("autodiff_cli.graph_drawing.dot:to_png", graph, out.precision),
    }
    out.emit(graph, views)
