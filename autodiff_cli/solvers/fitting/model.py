"""The residuals of a model on the rows of a table, with their exact derivatives with respect to the parameters.

A model is traced once.  Parameters are scalars and columns are arrays, and each kind of derivative is a Program that is made when
it is first requested.  Rows are computed in blocks, so that the memory does not grow with the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.compiler.gradient import gradient
from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.compiler.program import Compiled, Program, Term, derivatives
from autodiff_cli.errors import LimitError, NotRecordable, ShapeError
from autodiff_cli.evaluation.bindings import new_leaves
from autodiff_cli.evaluation.compile import RowByRowProgram, trace_elements
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.language.tree import Syntax, unparse
from autodiff_cli.solvers.system import second_along

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from autodiff_cli.arrays import Mask, Matrix, Vector

    Rows = tuple[slice, Matrix]
    """The range of rows of a block, and one row of numbers for each result."""

BLOCK = 1 << 21
"""The maximum number of elements of the results of a block."""


class Model:
    """The residuals of N rows as functions of n parameters.

    Args:
        source: the text of the model, which spans refer to.
        tree: the program of the model; its result is the residual of one row, or any other number for each row.
        parameters: the names of the parameters.
        columns: the data, by name: N numbers each.
        constants: the values of other names, which may be arrays.

    Attributes:
        rows: the number N of rows.
        reason: the reason why the model cannot be traced and every row is evaluated separately; ``None`` if it is traced.

    Raises:
        AutodiffError: if the model cannot be evaluated; the error has the position in the source.
    """

    def __init__(
        self,
        source: str,
        tree: Syntax,
        parameters: Sequence[str],
        columns: Mapping[str, Vector],
        constants: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        self.source, self.tree, self.parameters, self.columns = source, tree, tuple(parameters), dict(columns)
        self.rows = len(next(iter(columns.values()))) if columns else 0
        self.reason: str | None = None
        self.constants = dict(constants or {})
        self._leaves = new_leaves(self.constants, np.dtype(np.float64), ())
        self._programs: dict[str, Compiled] = {}  # by kind, see ``blocks``
        shapes: dict[str, tuple[int, ...]] = {name: () for name in (*self.parameters, *self.columns)}
        try:
            by, results = trace_elements(source, [tree], shapes, self._leaves, "float64")
        except (NotRecordable, LimitError) as error:
            self.reason = error.message
            return  # without the operands of a tape
        if len(results) != 1:
            message = f"expected one number for each row, but the model has {len(results)}"
            raise ShapeError(message, span=tree.span, source=source, hint="sum it, or take one of its elements")
        self._by, self._result = by[: len(self.parameters)], results[0]

    def with_columns(self, columns: Mapping[str, Vector]) -> Model:
        """Return the same model on other rows; it is not traced again."""
        result = copy(self)
        result.columns = dict(columns)
        result.rows = len(next(iter(columns.values())))
        return result

    def retraced(self, parameters: Sequence[str], columns: Mapping[str, Vector]) -> Model:
        """Return the same function with other names as its parameters and columns; it is traced again."""
        return Model(self.source, self.tree, parameters, columns, self.constants)

    def values(self, p: Vector) -> Vector:
        """Return the residuals at the parameters p: N numbers."""
        return np.concatenate([np.zeros(0), *(block[0] for _, block in self.blocks("values", p))])

    def jacobian(self, p: Vector) -> Matrix:
        """Return the Jacobian matrix at the parameters p, of shape (N, n)."""
        return np.concatenate([np.zeros((0, len(p))), *(block[:-1].T for _, block in self.blocks("jacobian", p))])

    def blocks(self, kind: str, p: Vector, direction: Vector | None = None) -> Iterator[Rows]:
        """Yield the results for consecutive ranges of rows.

        Args:
            kind: ``values`` for the residual r; ``jacobian`` for the n first derivatives and r; ``along`` for the n first
                derivatives, r, and the second derivative in a direction; ``second`` for the n first derivatives, r, and the
                n*(n+1)/2 second derivatives of the lower triangle of the Hessian matrix, row by row.
            p: the n parameters; or, of shape (n, N), their values in each row.
            direction: the direction of ``along``, of the same shape as p; ``None`` for the other kinds.
        """
        program = self._program(kind)
        if kind == "along" and self.reason is not None:
            assert direction is not None
            yield from self._along_row_by_row(p, direction)
            return
        values: dict[str, Vector] = {**self.columns, **dict(zip(self.parameters, p, strict=True))}
        if direction is not None:
            values.update({f"v:{i}": v for i, v in enumerate(direction)})
        most_rows = max(BLOCK // max(len(program.outputs), 1), 1)
        for start in range(0, self.rows, most_rows):
            rows = slice(start, min(start + most_rows, self.rows))
            out = np.empty((len(program.outputs), rows.stop - start))
            program.run({name: value[rows] if np.ndim(value) else value for name, value in values.items()}, list(out))
            yield rows, out

    def _along_row_by_row(self, p: Vector, direction: Vector) -> Iterator[Rows]:
        """Yield the results of ``along``, see ``blocks``, of a model that is not traced, from all its second derivatives."""
        n = len(self.parameters)
        i, j = np.tril_indices(n)
        counts = np.where(i == j, 1.0, 2.0)[:, None]  # an element below the diagonal stands for two of the matrix
        for rows, block in self.blocks("second", p):
            v = direction[:, rows] if direction.ndim > 1 else direction[:, None]
            products = counts * v[i] * v[j]
            yield rows, np.vstack([block[: n + 1], (products * block[n + 1 :]).sum(0)])

    @property
    def constant(self) -> bool:
        """Whether the structure of the model shows that no parameter changes its values."""
        return self.reason is None and all(map(_is_zero, gradient(self._result, self._by)))

    def zero_second_derivatives(self) -> Mask:
        """Return which second derivatives are 0 everywhere by the structure of the model, of shape (n, n); none if not traced."""
        n = len(self.parameters)
        result = np.zeros((n, n), bool)
        if self.reason is None:
            rows, columns = np.tril_indices(n)
            result[rows, columns] = result[columns, rows] = [*map(_is_zero, self._results("second")[n + 1 :])]
        return result

    def evaluation(self, row: int, p: Vector) -> Evaluation:
        """Return the eager evaluation of one row, with the trace that explains a value that is not finite."""
        at = dict(zip(self.parameters, map(float, p), strict=True))
        data = {name: float(column[row]) for name, column in self.columns.items()}
        return Evaluation(self.source, {**data, **at}, self.constants, tree=self.tree)

    def _program(self, kind: str) -> Compiled:
        """Return the program of a kind, see ``blocks``; if it cannot be traced, set ``reason`` and evaluate row by row."""
        if kind not in self._programs and self.reason is None:
            try:
                self._programs[kind] = self._traced_program(kind)
            except (NotRecordable, LimitError) as error:
                self.reason = error.message
                self._programs.clear()
        if kind not in self._programs:
            names, terms, reason = [*self.parameters, *self.columns], self._terms(kind), str(self.reason)
            self._programs[kind] = RowByRowProgram(unparse(self.tree), names, self._leaves, terms, "float64", reason)
        return self._programs[kind]

    def _traced_program(self, kind: str) -> Program:
        """Return the program of a kind for all rows at once; raise ``NotRecordable`` or ``LimitError`` if it cannot be traced."""
        with np.errstate(all="ignore"), set_grad_enabled(False):
            results = self._results(kind)
        names = [*self.parameters, *self.columns]
        names += [f"v:{i}" for i in range(len(self.parameters))] if kind == "along" else []  # the direction
        return Program(results, names, [()] * len(results), np.float64)

    def _terms(self, kind: str) -> list[Term]:
        """Return the derivatives of a kind, see ``blocks``, each as the names to differentiate with respect to; () is the value."""
        slopes: list[Term] = [(name,) for name in self.parameters]
        if kind in ("values", "jacobian"):
            return [*slopes, ()] if kind == "jacobian" else [()]
        return [*slopes, (), *((b, a) for i, a in enumerate(self.parameters) for b in self.parameters[: i + 1])]

    def _results(self, kind: str) -> list[Operand]:
        """Append the operations of a kind, see ``blocks``, to the tape, and return its results."""
        variables = dict(zip(self.parameters, self._by, strict=True))
        if kind == "along":
            return [*derivatives(self._result, variables, self._terms("jacobian")), second_along(self._result, self._by)]
        return derivatives(self._result, variables, self._terms(kind))


def _is_zero(result: Operand) -> bool:
    """Return whether a result is the constant 0, which does not need an instruction."""
    return type(result) is not Instruction and result == 0
