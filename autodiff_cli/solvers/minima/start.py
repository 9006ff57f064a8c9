"""The check of the start: all functions and their gradients must be finite there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.errors import NotSolved, setting
from autodiff_cli.notes import notes_on

if TYPE_CHECKING:
    from autodiff_cli.solvers.minima.problem import Problem


def check_start(problem: Problem) -> None:
    """Raise an error unless all functions and their gradients are finite at the start.

    Raises:
        NotSolved: if a value or a derivative is not finite; the error has the place where it arises.
    """
    x = problem.start
    value, c = problem.values(x)
    gradient, jacobian = problem.slopes(x)
    found = np.column_stack([[value, *c], np.vstack([gradient, jacobian])])
    wrong = np.flatnonzero(~np.isfinite(found).all(axis=1))
    if not len(wrong):
        return
    row = found[wrong[0]]
    number = str(row[np.argmin(np.isfinite(row))])
    name = "the expression" if wrong[0] == 0 else f"the constraint {problem.constraints[wrong[0] - 1].text}"
    what = f"the gradient of {name}" if np.isfinite(row[0]) else name
    error = NotSolved(f"{what} is {number} at the start", hint=f"change the start with {setting('at')}")
    evaluation = problem.system.evaluation(problem.program(int(wrong[0])), x)
    gradients = [
        (f"the derivative with respect to {label}", one) for label, one in zip(problem.system.labels, row[1:], strict=True)
    ]
    notes = [each for each in notes_on(evaluation, gradients, 1) if each["kind"] in ("domain", "nonfinite")]
    if notes:
        span = notes[0]["span"] and tuple(notes[0]["span"])
        hint = f"{notes[0]['message']}; change the start with {setting('at')}"
        error = NotSolved(f"{what} is {number} at the start", span=span, source=problem.system.source, hint=hint)
    raise problem.local(error)
