"""``autodiff diff``: derivatives as expressions of the language."""

from __future__ import annotations

import sys

import click

from autodiff_cli.cli import options


@click.command("diff", cls=options.ExpressionCommand, short_help="The derivative as an expression.")
@options.expression
@click.option(
    "--at", "-a", multiple=True, metavar="NAME=VALUE", help="Evaluate the derivatives at a point too; with -q the numbers alone."
)
@click.option("--wrt", metavar="x,y", help="Variables to differentiate by.  [default: all]")
@click.option("--order", default=1, show_default=True, metavar="N", type=int, help="Order of the derivatives.")
@click.option("--const", multiple=True, metavar="NAME=VALUE", help="Value of a name; without one it is a variable.")
@click.option("--simplify", is_flag=True, help="Let SymPy simplify.")
@options.no_limits
@options.formula_output
def command(
    expr: str,
    at: tuple[str, ...],
    wrt: str | None,
    order: int,
    const: tuple[str, ...],
    simplify: bool,
    style: str,
    as_json: bool,
    quiet: bool,
    color: str,
) -> None:
    """The derivative of EXPR as an expression that eval takes again; with --order 2 and above those of that order.

    \b
    autodiff diff "log(x**3)"
    autodiff diff "a*x**2 + b*x" --wrt x --order 2
    autodiff diff "log(x**3)" --at x=5
    autodiff diff "sin(x)*exp(y)" --json
    """
    from autodiff_cli.evaluation.bindings import bindings
    from autodiff_cli.symbolic.differentiate import differentiate

    style = options.chosen_format(style, as_json, options.with_latex)
    point = bindings(at, "at") if at else None
    result = differentiate(options.read_expression(expr), options.names(wrt), order, bindings(const, "const"), simplify, point)
    texts = list(result.texts.values())
    if quiet and result.values:
        from autodiff_cli.report import records

        sys.stdout.write(records.bare(list(result.values.values())))
    elif quiet or (len(texts) == 1 and not result.values and style in ("table", "plain")):
        sys.stdout.write("".join(f"{text}\n" for text in texts))
    elif style == "table":
        from autodiff_cli.report import table

        table.show([table.formula_table(result.texts, result.values)], color)
    elif style == "latex":
        from autodiff_cli.language.latex import latex
        from autodiff_cli.language.latex_names import number
        from autodiff_cli.report.numbers import exact

        shown = {term: f" = {number(exact(value))}" for term, value in result.values.items()}
        sys.stdout.write("".join(f"{latex(tree)}{shown.get(term, '')}\n" for term, tree in result.trees.items()))
    else:
        from autodiff_cli.report import records

        sys.stdout.write(records.render(style, result.to_dict(), result.records()))
