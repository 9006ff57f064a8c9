"""``autodiff explain``: the chain rule step by step."""

from __future__ import annotations

from typing import Any

import click

from autodiff_cli.cli import options
from autodiff_cli.cli.expression_command import ExpressionCommand
from autodiff_cli.cli.output import Output, view


@click.command("explain", cls=ExpressionCommand)
@options.evaluated_from
@options.output(options.strict, options.quiet_notes, options.precision, use="formula", files=("explanation file",))
def command(out: Output, **settings: Any) -> None:
    """Explain the gradient of EXPR: the forward pass line by line, then the backward pass node by node.

    The formats table, markdown, latex and json contain the whole explanation; the other formats contain one row for each
    contribution. A file with the suffix .html is a lesson: a page that plays the two passes step by step.

    \b
    autodiff explain "log(x**3) + sqrt(x**2)" --at x=5
    autodiff explain "sum(x**2*y)" --at "x=[1, 2],y=3" --format latex
    autodiff explain "log(x**3) + sqrt(x**2)" --at x=5 -o lesson.html
    """
    from autodiff_cli.explanation.explain import explain

    result = explain(**settings)
    document = view("autodiff_cli.explanation.documents:page", out.style, result, out.precision)
    lesson = view("autodiff_cli.lesson.page:to_html", result, out.precision)
    out.emit(result, {"markdown": document, "latex": document, "html": lesson})
