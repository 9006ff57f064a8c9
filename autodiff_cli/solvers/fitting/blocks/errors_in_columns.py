"""Orthogonal distance regression: columns whose numbers have errors, as well as the left side of the model.

Each number ``x`` of such a column becomes an unknown ``X`` with the additional residual ``(X - x)/sigma_x``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.solvers.fitting.blocks.batch import Prior
from autodiff_cli.solvers.fitting.blocks.reduced import Reduced
from autodiff_cli.solvers.fitting.engine.minimize import Box
from autodiff_cli.solvers.fitting.model import Model

if TYPE_CHECKING:
    from autodiff_cli.arrays import Vector


def errors_in_columns(model: Model, scale: Vector | None, errors: Mapping[str, Vector]) -> Reduced:
    """Return the sum of squares of a model at the best values of the columns that have errors.

    Args:
        model: the residuals.
        scale: the factor of each residual.
        errors: the standard deviations of the columns that have errors: N numbers each.
    """
    names = [*errors]
    target = np.column_stack([model.columns[name] for name in names])
    others = {name: column for name, column in model.columns.items() if name not in errors} or {"row:": np.zeros(len(target))}
    shared = {name: np.zeros(len(target)) for name in model.parameters}
    every = model.of([*names, *model.parameters], others)
    own = model.of(names, {**others, **shared})
    prior = Prior(target, np.column_stack([1 / spread for spread in errors.values()]))
    box = Box(np.full(len(names), -np.inf), np.full(len(names), np.inf))
    return Reduced(every, own, np.ones(len(target), np.intp), target, box, scale, prior=prior)
