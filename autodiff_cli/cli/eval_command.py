"""``autodiff eval`` and ``autodiff grad``."""

from __future__ import annotations

from typing import Any

import click

from autodiff_cli.cli import options
from autodiff_cli.cli.expression_command import ExpressionCommand
from autodiff_cli.cli.output import Output


@click.command("eval", cls=ExpressionCommand)
@options.evaluated_from
@options.order()
@options.names("--retain-grad", metavar="y,z|all", text="Named steps whose gradients are kept.", default=())
@click.option("--backward", type=click.IntRange(0), metavar="N", help="Number of backward passes.  [default: 1]")
@click.option("--retain-graph", is_flag=True, help="Keep the graph so that another backward pass can run.")
@click.option("--zero-grad", is_flag=True, help="Zero the gradients between backward passes.")
@click.option("--create-graph", is_flag=True, help="Record the backward pass so that gradients have a grad_fn.")
@options.names("--inputs", metavar="x,y", text="Names whose .grad is filled.  [default: every leaf]")
@click.option("--hook", "hooks", multiple=True, metavar='NAME="EXPR"', help="Replacement for the gradient of a step: y=2*grad.")
@click.option("--no-grad", is_flag=True, help="Evaluate without recording a graph.")
@options.verify
@options.numbers_output
def command(out: Output, **settings: Any) -> None:
    """Evaluate EXPR, run the backward pass, and show every tensor with its gradient.

    \b
    autodiff eval "log(x**3)" --at x=5
    autodiff eval "y = x**3; z = log(y); z" --at x=5 --retain-grad y,z --order 2
    """
    from autodiff_cli.derivatives.evaluate import evaluate

    out.emit(evaluate(**settings, strict=out.strict))


@click.command("grad", cls=ExpressionCommand)
@options.evaluated_from
@options.order()
@options.verify
@options.numbers_output
def grad(out: Output, **settings: Any) -> None:
    """Print the gradient of EXPR with respect to every --at variable.

    \b
    autodiff grad "log(x**3)" --at x=5 -q
    autodiff grad "k*q1*q2/r**2" --at q1=1e-6,q2=2e-6,r=0.05 --const k=8.99e9
    """
    from autodiff_cli.derivatives import evaluate

    out.emit(evaluate.grad(**settings, strict=out.strict))
