"""``autodiff jacobian``, ``hessian``, ``jvp``, ``vjp`` and ``hvp``."""

from __future__ import annotations

from typing import Any

import click

from autodiff_cli.cli import options
from autodiff_cli.cli.expression_command import ExpressionCommand
from autodiff_cli.cli.output import Output

vector = options.bound("Direction to multiply by; a variable without a direction gets 0.", "--vector")


@click.command("jacobian", cls=ExpressionCommand)
@options.evaluated
@options.matrix_output
def jacobian(out: Output, **settings: Any) -> None:
    """Print the Jacobian matrix: the derivative of every output element with respect to every input element.

    \b
    autodiff jacobian "[x*y, x + y]" --at x=2,y=3
    autodiff jacobian "A @ v" --at "v=[1, 2]" --const "A=[[1, 2], [3, 4]]" --json
    """
    from autodiff_cli.derivatives import matrices_and_products

    out.emit(matrices_and_products.jacobian(**settings))


@click.command("hessian", cls=ExpressionCommand)
@options.evaluated
@options.verify
@options.matrix_output
def hessian(out: Output, **settings: Any) -> None:
    """Print the Hessian matrix: the second derivatives of EXPR with respect to every pair of input elements.

    \b
    autodiff hessian "x**2*y" --at x=2,y=3
    autodiff hessian "sum(x**3)" --at "x=[1, 2, 3]" --json
    """
    from autodiff_cli.derivatives import matrices_and_products

    out.emit(matrices_and_products.hessian(**settings))


@click.command("jvp", cls=ExpressionCommand)
@options.evaluated
@vector
@options.numbers_output
def jvp(out: Output, **settings: Any) -> None:
    """Print the Jacobian of EXPR times a vector: the change of the output in a direction. No matrix is built.

    \b
    autodiff jvp "x*y" --at x=2,y=3 --vector x=1
    autodiff jvp "sin(v)" --at "v=[1, 2]" --vector "v=[1, 0]" -q
    """
    from autodiff_cli.derivatives import matrices_and_products

    out.emit(matrices_and_products.jvp(**settings))


@click.command("vjp", cls=ExpressionCommand)
@options.multiplied_from_left
@options.numbers_output
def vjp(out: Output, **settings: Any) -> None:
    """Print a vector times the Jacobian of EXPR: one backward pass. No matrix is built.

    \b
    autodiff vjp "sin(v)" --at "v=[1, 2]" --vector "[1, 10]"
    autodiff vjp "[x*y, x + y]" --at x=2,y=3 --vector "[1, 0]" -q
    """
    from autodiff_cli.derivatives import matrices_and_products

    out.emit(matrices_and_products.vjp(**settings))


@click.command("hvp", cls=ExpressionCommand)
@options.evaluated
@vector
@options.numbers_output
def hvp(out: Output, **settings: Any) -> None:
    """Print the Hessian of EXPR times a vector. No matrix is built.

    \b
    autodiff hvp "x**2*y" --at x=2,y=3 --vector x=1
    autodiff hvp "sum(x**4)" --at "x=linspace(0, 1, 99)" --vector "x=ones(99)" -q
    """
    from autodiff_cli.derivatives import matrices_and_products

    out.emit(matrices_and_products.hvp(**settings))
