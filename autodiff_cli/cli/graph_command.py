"""``autodiff graph``: the graph of an expression as a tree, a picture, or data."""

from __future__ import annotations

import click

from autodiff_cli.cli import options
from autodiff_cli.cli.output import Output
from autodiff_cli.cli.parsing import ExpressionCommand


def _levels(context: click.Context, parameter: click.Parameter, value: str | None) -> int | str | None:
    """Convert the value of ``--depth``, a number of levels or ``all``; ``reduced`` refuses all other texts."""
    return int(value) if value is not None and value.isdecimal() else value


@click.command("graph", cls=ExpressionCommand)
@options.evaluated_from
@click.option("--backward", is_flag=True, help="Show the graph of the backward pass: grad_fn and next_functions.")
@click.option("--saved", is_flag=True, help="Show what each node saves for the backward pass, and its memory; implies --backward.")
@click.option("--of", metavar="NAME", help="Named step whose graph is shown; x.grad is the gradient of x.")
@click.option(
    "--depth", callback=_levels, metavar="N|all", help="Number of levels below the output.  [default: as many as stay readable]"
)
@click.option(
    "--collapse",
    metavar="functions,names,chains",
    help="Groups of steps to show as one node: calls, steps without a name, chains of steps.",
)
@click.option(
    "--theme", default="auto", show_default=True, type=click.Choice(["auto", "light", "dark"]), help="Colors of a picture."
)
@click.option("--animate", is_flag=True, help="Play the values, then the gradients, in an SVG picture.")
@options.output(options.quiet_notes, options.precision, use="graph", files=("graph file",), bare="")
def command(
    point: options.PointOptions,
    backward: bool,
    saved: bool,
    of: str | None,
    depth: int | None,
    collapse: str | None,
    theme: str,
    animate: bool,
    out: Output,
) -> None:
    """Show the graph of EXPR, whose edges connect each step to its inputs; --at adds values and gradients.

    \b
    autodiff graph "log(x**3)*y"
    autodiff graph "log(x**3)*y" --at x=5,y=2 --backward
    autodiff graph "y = x**3; log(y)*y" --at x=5 -o graph.svg
    """
    from autodiff_cli.errors import UsageError
    from autodiff_cli.graph_drawing.draw import reduced, whole_graph

    if animate and out.style != "svg":
        raise UsageError("--animate makes an SVG picture", hint="write a file with the suffix .svg: -o graph.svg")
    whole = whole_graph(**point.keywords(), of=of or "", backward=backward or saved, saved=saved)
    way_out = "use --depth all to show them, or --collapse to combine nodes" if out.style != "png" else "use --depth N to show more"
    graph = reduced(whole, options.names(collapse) or (), depth, out.style, way_out)

    def plain() -> str:
        from autodiff_cli.graph_drawing.terminal import plain_tree

        return plain_tree(graph)

    def mermaid() -> str:
        from autodiff_cli.graph_drawing.mermaid import to_mermaid

        return to_mermaid(graph, out.precision, theme)

    def svg() -> str:
        from autodiff_cli.graph_drawing.svg import to_svg

        return to_svg(graph, out.precision, theme, animate)

    def dot() -> str:
        from autodiff_cli.graph_drawing.dot import to_dot

        return to_dot(graph, out.precision, theme)

    def png() -> bytes:
        from autodiff_cli.graph_drawing.dot import run_graphviz, to_dot

        return run_graphviz(to_dot(graph, out.precision, "light" if theme == "auto" else theme), "png", "-Gdpi=144")

    out.emit(graph, {"plain": plain, "mermaid": mermaid, "svg": svg, "dot": dot, "png": png})
