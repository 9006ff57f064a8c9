"""The output of the solver commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from autodiff_cli.cli.output import Output, View

if TYPE_CHECKING:
    from autodiff_cli.solvers.solution import Solution


def emit(out: Output, solution: Solution, views: Mapping[str, View] | None = None) -> None:
    """Print a solution, and raise an error unless it is verified.

    With ``-q``, a solution that is not verified is not printed. In JSON, its notes are only in the object on standard output, so
    that standard error contains one object, the error.

    Args:
        out: the output options.
        solution: the result of a solver.
        views: the functions that write the command's own formats, by the name of the format.

    Raises:
        NotSolved: if the solution is not verified.
    """
    if solution.converged:
        out.emit(solution, views)
    elif not out.quiet:
        out._replace(quiet_notes=out.quiet_notes or out.style == "json").emit(solution, views)
    solution.require()
