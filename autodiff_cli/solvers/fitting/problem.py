"""The problem of a fit: the model on its data, the parameters, and their starts and bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.data.columns import Dataset
from autodiff_cli.errors import DataError, NotSolved, UsageError, setting
from autodiff_cli.evaluation.names import CONSTANTS, free_names
from autodiff_cli.language.tree import Syntax
from autodiff_cli.solvers.equations import Equations
from autodiff_cli.solvers.fitting.engine.levenberg_marquardt import Box
from autodiff_cli.solvers.fitting.engine.sum_of_squares import SumOfSquares
from autodiff_cli.solvers.fitting.losses import Loss
from autodiff_cli.solvers.fitting.model import Model
from autodiff_cli.wording import listed, plural

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from autodiff_cli.arrays import Indices, Vector
    from autodiff_cli.solvers.bounds import Interval


@dataclass(frozen=True)
class FitProblem:
    """A model, its data and its parameters.

    Attributes:
        expression: the model as it was given.
        statements: the parsed model.
        data: the columns that the model needs.
        start: the start of each parameter, by name, in order of occurrence; those in ``fixed`` keep it.
        fixed: the parameters that keep their value.
        constants: the values of other names.
        bounds: the interval of a parameter, by name.
        scale: the factor of each residual: 1/sigma, or the square root of the weight; ``None`` for 1.
        spread: the expression of the standard deviations or of the weights that ``scale`` is computed from.
        absolute: whether the scale is known, so that standard errors are not scaled by the residuals.
        loss: the loss function.
        errors: the standard deviations of each column that has errors itself: N numbers.
        shared: the parameters that are common to all groups of the data, if they are fitted together.
        ranges: the parameters whose start is to be chosen, each with its range or ``None``.
        tried: the number of starts that were tried.
        unused: the names that were given a value and do not occur in the model.
    """

    expression: str
    statements: Equations
    data: Dataset
    start: dict[str, float]
    fixed: tuple[str, ...] = ()
    constants: Mapping[str, ArrayLike] = field(default_factory=dict)
    bounds: Mapping[str, Interval] = field(default_factory=dict)
    scale: Vector | None = None
    spread: str | None = None
    absolute: bool = False
    loss: Loss = field(default_factory=Loss)
    errors: Mapping[str, Vector] = field(default_factory=dict)
    shared: tuple[str, ...] = ()
    ranges: Mapping[str, Interval | None] = field(default_factory=dict)
    tried: int = 1
    unused: tuple[str, ...] = ()

    @property
    def free(self) -> tuple[str, ...]:
        """The names of the parameters that are fitted."""
        return tuple(name for name in self.start if name not in self.fixed)

    @property
    def unknowns(self) -> tuple[str, ...]:
        """The names of the parameters of the objective, in the order of the vector p."""
        return self.shared or self.free

    @property
    def is_reduced(self) -> bool:
        """Whether further unknowns are eliminated: true values of columns, or parameters of groups."""
        return bool(self.errors or self.shared)

    @property
    def first(self) -> Vector:
        """The start of the unknowns."""
        return np.array([self.start[name] for name in self.unknowns], float)

    @property
    def box(self) -> Box:
        """The bounds of the unknowns."""
        return self.bounds_as_box(self.unknowns)

    def bounds_as_box(self, names: Iterable[str]) -> Box:
        """Return the bounds of parameters as a box; a parameter without bounds has infinite ones."""
        ends = np.array([self.bounds.get(name, (-np.inf, np.inf)) for name in names], float).reshape(-1, 2)
        return Box(ends[:, 0], ends[:, 1])

    @property
    def errors_from(self) -> str:
        """What the standard errors are scaled by: ``residuals``, ``sigma`` or ``weights``; ``sandwich`` for a robust loss."""
        if not self.loss.plain:
            return "sandwich"
        return "sigma" if self.absolute else "weights" if self.scale is not None else "residuals"

    def only(self, rows: Indices) -> FitProblem:
        """Return the problem on some of the rows, given by their numbers in increasing order; the model is not traced again."""
        scale = None if self.scale is None else self.scale[rows]
        errors = {name: spread[rows] for name, spread in self.errors.items()}
        result = replace(self, data=self.data.only(rows), scale=scale, errors=errors)
        result.__dict__["model"] = self.model.with_columns(result.data.columns)  # the cached property, which would trace again
        return result

    @cached_property
    def model(self) -> Model:
        """The residuals: the left side minus the right side of the equation."""
        return self.as_model(self.statements.equations[0].residual)

    def as_model(self, tree: Syntax, data: Mapping[str, Vector] | None = None) -> Model:
        """Return an expression of the rows and the free parameters as a model, in which the fixed parameters are constants.

        Args:
            tree: an expression of the names and functions of the statements.
            data: the columns, if they are not those of the problem.
        """
        values = {**self.constants, **{name: self.start[name] for name in self.fixed}}
        columns = self.data.columns if data is None else data
        return Model(self.statements.source, self.statements.program(tree), self.free, columns, values)

    @cached_property
    def objective(self) -> SumOfSquares:
        """Half the sum of the squares of the scaled residuals, or its robust replacement."""
        if self.errors:
            from autodiff_cli.solvers.fitting.engine.reduced import errors_in_columns

            return errors_in_columns(self.model, self.scale, self.errors)
        if self.shared:
            from autodiff_cli.solvers.fitting.group_rows import shared_objective

            return shared_objective(self)
        return SumOfSquares(self.model, self.scale, self.loss)

    @cached_property
    def response(self) -> Vector | None:
        """The left side of the equation for every row; ``None`` if there is none, or it depends on unknowns."""
        equation = self.statements.equations[0]
        if equation.right is None or self.is_reduced:
            return None
        left = self.as_model(equation.left)
        return left.values(self.first) if left.constant else None

    def check_size(self) -> None:
        """Check that there are parameters, and enough rows.

        Raises:
            UsageError: if the model does not have parameters.
            DataError: if the data do not have rows, or have fewer rows than parameters.
        """
        if not self.free and self.fixed:
            raise UsageError("every parameter is fixed", hint=f"leave one out of {setting('fix')}")
        if not self.free:
            hint = "parameters are names that are neither columns nor constants"
            constant = next((name for name in CONSTANTS if name in free_names(self.model.tree, (), CONSTANTS)), None)
            if constant is not None:
                hint = f"'{constant}' is a constant of the language; {setting('at', f'{constant}=1')} makes it a parameter"
            raise UsageError("the model has no parameter to fit", hint=hint)
        if not self.data.rows:
            raise DataError("the data have no rows")
        if self.data.rows < len(self.free):
            message = f"{plural(self.data.rows, 'row')} cannot determine {len(self.free)} parameters: {listed(self.free)}"
            raise DataError(message, hint=f"fix parameters with {setting('fix', self.free[-1])}, or add data")

    def check(self) -> None:
        """Check that the fit can begin.

        Raises:
            UsageError, DataError: see ``check_size``.
            NotSolved: if a residual or a derivative is not finite at the start; the message names the row and the operation.
        """
        self.check_size()
        start = self.box.inside(self.first)
        for rows, block in self.model.blocks("jacobian", start):
            derivatives, residual = block[:-1], block[-1:]
            for numbers, kind in ((residual, "the residual"), (derivatives, "a derivative")):
                bad = ~np.isfinite(numbers).all(axis=0)
                if bad.any():
                    row = int(np.argmax(bad))
                    slopes = list(zip(self.free, derivatives[:, row].tolist(), strict=True))
                    raise self._not_finite_error(rows.start + row, start, kind, slopes)

    def _not_finite_error(self, row: int, point: Vector, kind: str, slopes: Sequence[tuple[str, float]]) -> NotSolved:
        """Return the error for a row whose residual or derivatives (``slopes``), as ``kind`` says, are not finite at the start."""
        from autodiff_cli.notes import notes_on

        notes = notes_on(self.model.evaluation(row, point), slopes, 1)
        note = next((note for note in notes if note["kind"] in ("domain", "nonfinite", "overflow")), None)
        span = note["span"] if note else None
        values = ", ".join(f"{name}={value:g}" for name, value in zip(self.free, point, strict=True))
        message = f"{self.data.place(row)}: {kind} is not finite at the start, {values}" + (f" ({note['message']})" if note else "")
        source = None if span is None else self.statements.source
        return NotSolved(message, span=span, source=source, hint=f"choose other starting values with {setting('at')}")
