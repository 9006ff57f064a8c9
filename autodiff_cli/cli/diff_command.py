"""``autodiff diff``: derivatives as expressions of the language."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from autodiff_cli.cli import options
from autodiff_cli.cli.expression_command import ExpressionCommand
from autodiff_cli.cli.output import Output

if TYPE_CHECKING:
    from autodiff_cli.symbolic.differentiate import Derivatives


@click.command("diff", cls=ExpressionCommand)
@options.expression
@options.bound("Point at which to evaluate the derivatives; -q then prints only the numbers.")
@options.bound("Value of a constant; names without a value are variables.", "--const")
@options.wrt("all")
@options.order("Order of the derivatives.")
@click.option("--simplify", is_flag=True, help="Simplify with SymPy.")
@click.option("--stable", is_flag=True, help="Print the form that keeps its digits, which may be longer.")
@click.option("--steps", is_flag=True, help="Show how the derivatives come about, rule by rule.")
@options.shape
@options.symmetric
@options.no_limits
@options.output(use="formula", bare="expressions")
def command(at: dict[str, Any], out: Output, **settings: Any) -> None:
    """Print the derivatives of EXPR as expressions that eval and the other commands accept.

    \b
    autodiff diff "log(x**3)"
    autodiff diff "a*x**2 + b*x" --wrt x --order 2
    autodiff diff "log(x**3)" --at x=5
    autodiff diff "x @ A @ x" --wrt x --shape A=n,n --shape x=n
    autodiff diff "x**2*sin(3*x)" --steps
    autodiff diff "sin(x)*exp(y)" --json
    """
    from autodiff_cli.symbolic.differentiate import diff

    result = diff(at=at or None, **settings)
    is_single_formula = len(result.texts) == 1 and not result.values and not result.steps
    if is_single_formula and out.style in ("table", "plain"):
        out = out._replace(quiet=True)  # print the formula without a table
    out.emit(result, {"latex": partial(_latex, result)})


def _latex(result: Derivatives) -> str:
    """Return the steps of a differentiation as LaTeX, or each derivative, with its value if it has one and that is one number."""
    import numpy as np

    if result.steps:
        from autodiff_cli.symbolic.steps import latex_rows

        return latex_rows(result)
    from autodiff_cli.language.latex_names import number
    from autodiff_cli.report.array_text import exact

    values = {term: f" = {number(exact(float(value)))}" for term, value in result.values.items() if np.ndim(value) == 0}
    return "".join(f"{result.as_latex(tree)}{values.get(term, '')}\n" for term, tree in result.trees.items())
