"""``autodiff graph``: the graph of an expression as a tree, a picture, or data."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from autodiff_cli import formats
from autodiff_cli.cli import options

if TYPE_CHECKING:
    from autodiff_cli.graph.model import Graph

FORMATS = formats.for_use("graph")
FILES = formats.for_use("graph file")
_ALL = 10**9


def _levels(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """The value of ``--depth``: a number of levels, or ``all``."""
    if value is None:
        return None
    if value == "all":
        return _ALL
    if not value.isdecimal() or int(value) < 1:
        raise click.BadParameter(f"'{value}' is no number of levels\n  hint: use 1, 2, ... or all", context, parameter)
    return int(value)


@click.command("graph", cls=options.ExpressionCommand, short_help="The graph, as a tree or a picture.")
@options.expression
@options.values
@options.gradient
@click.option("--backward", is_flag=True, help="The graph that backward goes through: grad_fn and next_functions.")
@click.option("--of", metavar="NAME", help="The graph of a named step, or with x.grad of the gradient by x.")
@click.option(
    "--depth", callback=_levels, metavar="N|all", help="Levels below the output.  [default: as many as fit a readable overview]"
)
@click.option("--collapse", metavar="functions,names,chains", help="Show calls, steps without a name, runs as one node.")
@click.option("-o", "--output", metavar="FILE", help="Write .svg, .png, .dot, .mmd, .json, .txt, .csv, ...")
@options.format_of(FORMATS)
@options.as_json
@click.option(
    "--theme", default="auto", show_default=True, type=click.Choice(["auto", "light", "dark"]), help="Colours of a picture."
)
@options.drawing
@options.quiet_notes
def command(expr: str, style: str, as_json: bool, **switches: Any) -> None:
    """The graph of EXPR: what is computed from what; with --at, with values and gradients.

    \b
    autodiff graph "log(x**3)*y"
    autodiff graph "log(x**3)*y" --at x=5,y=2 --backward
    autodiff graph "y = x**3; log(y)*y" --at x=5 -o graph.svg
    """
    from autodiff_cli.evaluation.phrasing import note
    from autodiff_cli.graph.collapse import collapse, cut, readable
    from autodiff_cli.graph.size_limits import LIMITS, Limits

    output = switches["output"]
    style = _style_of(output) if output else options.chosen_format(style, as_json, FORMATS)
    graph, notes = _graph(expr, **switches)
    graph = collapse(graph, options.names(switches["collapse"]) or ())
    depth = switches["depth"]
    graph = readable(graph, *LIMITS.get(style, Limits())) if depth is None else cut(graph, depth)
    if graph.hidden and depth is None:
        way_out = "--depth all shows all, --collapse shows several as one" if style != "png" else "--depth N shows more"
        notes.append(note("left_out", f"{graph.hidden:,} nodes further from the output are left out; {way_out}"))
    text = _rendered(graph, style, notes, **switches)
    if output:
        from autodiff_cli.data.output import write

        write(output, text if isinstance(text, bytes) else text.encode())
    elif text:
        sys.stdout.write(str(text))
    options.say_notes(notes, switches["quiet_notes"])


def _style_of(path: str) -> str:
    from autodiff_cli.errors import UsageError

    found = formats.of_suffix(path, FILES)
    if found is None:
        raise UsageError(f"cannot tell the format of '{path}' from its name", hint=f"end it in one of {formats.suffixes(FILES)}")
    return found


def _graph(expr: str, **switches: Any) -> tuple[Graph, list[dict[str, Any]]]:
    """The graph that was asked for, and what is worth knowing about it."""
    from autodiff_cli.graph.forward import graph_of_text, graph_of_values

    source = options.read_expression(expr)
    of = switches["of"] or ""
    backward = switches["backward"] or of.endswith(".grad")
    if not (backward or of or any(switches[name] for name in ("at", "const", "wrt", "gradient"))):
        return graph_of_text(source), []

    from autodiff_cli.graph.backward import backward_graph, gradient_of, run_backward

    evaluation = options.evaluation(source, switches)
    notes = evaluation.notes()
    if of.endswith(".grad"):
        return backward_graph(evaluation, gradient_of(evaluation, of.removesuffix(".grad"))), notes
    output = evaluation.find(of, "of") if of else evaluation.output
    if backward:
        graph = backward_graph(evaluation, output)
        if graph.nodes[-1].grad is None:
            notes.append(_without_gradients(output))
        return graph, notes
    if not run_backward(evaluation, output) and output.requires_grad:
        notes.append(_without_gradients(output))
    return graph_of_values(evaluation, output), notes


def _without_gradients(output: Any) -> dict[str, Any]:
    from autodiff_cli.evaluation.phrasing import note

    shape = list(output.shape)
    ones = f"ones({', '.join(map(str, shape))})"
    return note("gradient", f'no gradients are shown: the output has shape {shape}; sum it, or add --gradient "{ones}"')


def _rendered(
    graph: Graph, style: str, notes: list[dict[str, Any]], *, precision: int, color: str, theme: str, **_: Any
) -> str | bytes:
    """The graph in one of the formats; nothing if it was printed already."""
    if style == "table":
        from autodiff_cli.graph.terminal import tree_table
        from autodiff_cli.report import table

        ascii_only = "utf" not in (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
        table.show([tree_table(graph, precision, table.console().width, ascii_only)], color)
        return ""
    if style == "plain":
        from autodiff_cli.graph.tree import plain_tree

        return plain_tree(graph)
    if style == "mermaid":
        from autodiff_cli.graph.mermaid import to_mermaid

        return to_mermaid(graph, precision, theme)
    if style == "svg":
        from autodiff_cli.graph.svg import to_svg

        return to_svg(graph, precision, theme)
    if style in ("dot", "png"):
        from autodiff_cli.graph.dot import run_graphviz, to_dot

        if style == "dot":
            return to_dot(graph, precision, theme)
        return run_graphviz(to_dot(graph, precision, "light" if theme == "auto" else theme), "png", "-Gdpi=144")
    from autodiff_cli.report import records

    return records.render(style, {**graph.to_dict(), "notes": notes}, graph.records())
