"""The derivative of a root with respect to constants, by the implicit function theorem: ``dx/da = -J**-1 @ dF/da``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.errors import UnknownName, setting
from autodiff_cli.solvers.roots.steps import scaled
from autodiff_cli.solvers.system import System
from autodiff_cli.suggest import suggestion

if TYPE_CHECKING:
    from autodiff_cli.arrays import Vector
    from autodiff_cli.evaluation.evaluation import Value
    from autodiff_cli.solvers.roots.problem import Problem


def check_constants(wanted: Sequence[str], constants: Mapping[str, Value]) -> None:
    """Raise an error if a name of ``sensitivity`` is not a constant.

    Raises:
        UnknownName: if a name is not a constant.
    """
    for name in wanted:
        if name not in constants:
            hint = suggestion(name, constants) or f"give '{name}' its value with {setting('const', f'{name}=1')}"
            raise UnknownName(f"{setting('sensitivity')} names '{name}', which is not a constant", hint=hint)


def sensitivities(problem: Problem, x: Vector, wanted: Sequence[str]) -> dict[str, dict[str, Vector]]:
    """Return the derivatives of a root.

    With fewer equations than unknowns, the result is the shortest change of the unknowns.

    Args:
        problem: the equations.
        x: the root.
        wanted: the names of the constants.

    Returns:
        For each unknown and each constant, an array with the shape of the unknown followed by the shape of the constant; inf
        or nan where the Jacobian is singular.
    """
    system = problem.system
    rest = {name: value for name, value in problem.const.items() if name not in wanted}
    whole = System(problem.expression, system.programs, {**system.named(x), **{a: problem.const[a] for a in wanted}}, rest)
    jacobian = whole.jacobian(whole.start)
    n = len(x)
    matrix, rows, columns = scaled(jacobian[:, :n])
    sizes = np.linalg.svd(matrix, compute_uv=False)
    if not np.isfinite(sizes).all() or sizes[-1] <= 1e-14 * sizes[0]:
        slopes = np.full((n, jacobian.shape[1] - n), np.nan)
    elif len(matrix) < n:
        slopes = -np.linalg.pinv(jacobian[:, :n]) @ jacobian[:, n:]
    else:
        slopes = -np.linalg.pinv(matrix) @ (jacobian[:, n:] / rows[:, None]) / columns[:, None]
    found: dict[str, dict[str, Vector]] = {}
    row = 0
    for name in system.names:
        shape = system.shapes[name]
        size, column = int(np.prod(shape)), 0
        found[name] = {}
        for a in wanted:
            width = int(np.prod(whole.shapes[a]))
            block = slopes[row : row + size, column : column + width]
            found[name][a] = block.reshape((*shape, *whole.shapes[a]))[()]
            column += width
        row += size
    return found
