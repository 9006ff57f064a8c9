"""``autodiff diff``: derivatives as expressions of the language."""

from __future__ import annotations

import sys

import click

from autodiff_cli.cli import options


@click.command("diff", cls=options.ExpressionCommand, short_help="The derivative as an expression.")
@options.expression
@click.option("--wrt", metavar="x,y", help="Variables to differentiate by.  [default: all]")
@click.option("--order", default=1, show_default=True, metavar="N", type=int, help="Order of the derivatives.")
@click.option("--const", multiple=True, metavar="NAME=VALUE", help="Value of a name; without one it is a variable.")
@click.option("--simplify", is_flag=True, help="Let SymPy simplify.")
@options.no_limits
@options.formula_output
def command(
    expr: str,
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
    autodiff diff "sin(x)*exp(y)" --json
    """
    from autodiff_cli.language.symbolic import differentiate
    from autodiff_cli.language.values import bindings

    style = options.chosen_format(style, as_json, options.with_latex)
    result = differentiate(options.read_expression(expr), options.names(wrt), order, bindings(const, "--const"), simplify=simplify)
    texts = list(result.texts.values())
    if quiet or (len(texts) == 1 and style in ("table", "plain")):
        sys.stdout.write("".join(f"{text}\n" for text in texts))
    elif style == "table":
        from autodiff_cli.report import table

        table.show([table.formula_table(result.texts)], color)
    elif style == "latex":
        from autodiff_cli.language.latex import latex

        sys.stdout.write("".join(f"{latex(tree)}\n" for tree in result.trees.values()))
    else:
        from autodiff_cli.report import records

        sys.stdout.write(records.render(style, result.to_dict(), result.records()))
