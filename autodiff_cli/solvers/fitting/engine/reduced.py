"""Sums of squares of parameters that all rows share, minimised over further parameters of each block of rows.

The blocks are eliminated as in variable projection: at given shared parameters, each block is minimised over its own parameters,
and the function of the shared ones that remains has exact derivatives.  Its Hessian is the Schur complement of the blocks in the
Hessian of all parameters, and its Jacobian is what a QR factorisation leaves of the shared columns.  The cost is linear in the
number of blocks.  Source: Golub and Pereyra, "Separable nonlinear least squares: the variable projection method and its
applications" (2003); Boggs, Byrd and Schnabel, "A stable and efficient algorithm for nonlinear orthogonal distance regression"
(1987).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.language.parser import parse
from autodiff_cli.solvers.fitting.engine.levenberg_marquardt import NOT_FINITE, SINGULAR, Box, Minimizer
from autodiff_cli.solvers.fitting.engine.stacks import Linear, Quadratic, cholesky, lower_solve, split, triangle
from autodiff_cli.solvers.fitting.engine.sum_of_squares import SumOfSquares
from autodiff_cli.solvers.fitting.model import Model

if TYPE_CHECKING:
    from autodiff_cli.arrays import Indices, Mask, Matrix, Stack, Vector
    from autodiff_cli.language.tree import Syntax

MOST_INNER = 200
"""The maximum number of steps of a block at given shared parameters."""


class Reduced(SumOfSquares):
    """A sum of squares as a function of the s shared parameters, at the minimum over the k parameters of each block.

    It is a stack of one objective, so that a point has the shape (1, s).  The sums of the blocks as functions of all parameters are
    ``_all``; ``_values`` are half the sums of squares at the last point for which ``minimize_own`` was called.

    Args:
        model: the residuals, whose parameters are the k own ones and then the s shared ones.
        own: the residuals as a function of the own parameters alone; its columns are to be completed by the shared parameters.
        sizes: the number of rows of each of the B blocks.
        start: the first values of the own parameters, of shape (B, k); the next ones are those of the best point.
        box: the bounds of the own parameters.
        scale: the factor of each residual; 1 by default.
    """

    def __init__(self, model: Model, own: Model, sizes: Indices, start: Matrix, box: Box, scale: Vector | None = None) -> None:
        super().__init__(model, scale)
        self._all = SumOfSquares(model, scale, None, sizes)  # as functions of all k + s parameters
        self._own_model, self._box = own, box
        self._start, self._least = start, np.inf  # the own parameters at the best point so far, and the sum there
        # The last minimum over the own parameters: the shared ones, as bytes, the own ones, and half the sums of squares.
        self._at: bytes | None = None
        self._own = start
        self._values = np.full(len(sizes), np.inf)

    def minimize_own(self, p: Matrix) -> Matrix:
        """Return the own parameters of the blocks at the minimum for shared ones, of shape (B, k).

        If the sum of a block is infinite, they are the start, and all ``_values`` are infinite.  The last minimum is kept, because
        other methods ask for it at the same point.  The next search starts at the best one.
        """
        if self._at == p.tobytes():
            return self._own
        self.evaluations += 1
        end = Minimizer(self._blocks_at(p), self._start, self._box, MOST_INNER).run()
        is_finite = not (end.ended == NOT_FINITE).any()
        self._at = p.tobytes()
        self._own = end.point if is_finite else self._start
        self._values = end.value if is_finite else np.full(len(self._start), np.inf)
        total = float(self._values.sum())
        if is_finite and total <= self._least:
            self._start, self._least = self._own, total
        return self._own

    def values(self, p: Matrix) -> Vector:
        """Return half the sum of squares of each block: B numbers."""
        self.minimize_own(p)
        return self._values

    def free(self, p: Matrix) -> Mask:
        """Return which own parameters are not held at a bound, of shape (B, k)."""
        own = self.minimize_own(p)
        return self._box.free(own, self._all.linear(_joined(own, p)).gradient[:, : own.shape[1]])

    def own_linear(self, p: Matrix) -> Linear:
        """Return the linear problems of the blocks at given shared parameters."""
        return self._blocks_at(p).linear(self.minimize_own(p)).restricted(self.free(p))

    def rows(self, p: Matrix) -> Indices:
        """Return the number of all residuals less that of all free own parameters: an array of one number, as of one objective."""
        return np.array([self._all.sizes.sum() - self.free(p).sum()])

    def residuals(self, p: Matrix) -> Vector:
        """Return one residual for each block: the root of its sum of squares, with the sign of its last weighted residual."""
        u = self._all.residuals(self.joined(p))
        last_of_blocks = u[np.cumsum(self._all.sizes) - 1]
        return np.asarray(np.sign(last_of_blocks) * np.sqrt(2 * self.values(p)))

    def value(self, p: Matrix) -> Vector:
        return np.asarray(self.values(p).sum(keepdims=True))

    def linear(self, p: Matrix) -> Linear:
        """Return the linear problem of the shared parameters: what is left of all blocks after the elimination."""
        *_, left = self.eliminated(p)
        columns = left.shape[2]  # the shared parameters and the residuals; the rows of all blocks are joined
        return split(triangle([left.reshape(-1, columns)], columns)[None], self.value(p))

    def along(self, p: Matrix, direction: Matrix) -> Matrix:
        """Return zeros, so that the steps of the shared parameters are not accelerated."""
        return np.zeros_like(p)

    def quadratic(self, p: Matrix) -> Quadratic:
        """Return the objective with its exact derivatives; the derivatives are nan if a block is not at a minimum.

        With the derivatives g and H of a block by its own (o) and the shared parameters (s), its Hessian is the Schur complement
        ``Hss - Hso inv(Hoo) Hos``, and its gradient ``gs - Hso inv(Hoo) go``.
        """
        own = self.minimize_own(p)
        k, s = own.shape[1], p.shape[1]
        at = self._all.quadratic(_joined(own, p))
        free = self._box.free(own, at.gradient[:, :k])
        are_free = free[:, :, None] & free[:, None, :]
        lower, positive = cholesky(np.where(are_free, at.hessian[:, :k, :k], np.eye(k)))
        value = at.value.sum(keepdims=True)
        if not positive.all():
            return Quadratic(value, np.full((1, s), np.nan), np.full((1, s, s), np.nan))
        half_hessian = lower_solve(lower, at.hessian[:, :k, k:] * free[:, :, None])  # with L L' = Hoo: inv(L) Hos
        half_gradient = lower_solve(lower, at.gradient[:, :k] * free)
        gradient = at.gradient[:, k:].sum(0) - np.einsum("bks,bk->s", half_hessian, half_gradient)
        hessian = at.hessian[:, k:, k:].sum(0) - np.einsum("bks,bkt->st", half_hessian, half_hessian)
        return Quadratic(value, gradient[None], hessian[None])

    def eliminated(self, p: Matrix) -> tuple[Stack, Stack, Stack]:
        """Return the linear problems of the blocks at given shared parameters, after the elimination of the own ones.

        Returns:
            the triangular factors of the own parameters, of shape (B, k, k); the coefficients of the s shared ones in the same
            rows, of shape (B, k, s); and what is left of the shared columns and of the residuals, of shape (B, s + 1, s + 1), in
            which a shared column of which only rounding errors are left is 0.
        """
        own = self.minimize_own(p)
        k, s = own.shape[1], p.shape[1]
        linear = self._all.linear(_joined(own, p))
        free = np.ones((len(own), k + s), bool)  # the shared ones count as free
        free[:, :k] = self._box.free(own, linear.gradient[:, :k])
        linear = linear.restricted(free)
        left = np.zeros((len(own), s + 1, s + 1))
        left[:, :s, :s] = linear.factor[:, k:, k:]
        left[:, :s, s] = linear.image[:, k:]
        left[:, s, s] = linear.rest
        norms_left = np.linalg.norm(left[:, :, :s], axis=(0, 1))
        norms_before = np.linalg.norm(linear.factor[:, :, k:], axis=(0, 1))
        left[:, :, np.flatnonzero(norms_left <= SINGULAR * norms_before)] = 0.0
        return linear.factor[:, :k, :k], linear.factor[:, :k, k:], left

    def joined(self, p: Matrix) -> Matrix:
        """Return the own and the shared parameters of each block, of shape (B, k + s)."""
        return _joined(self.minimize_own(p), p)

    def covariances(self, p: Matrix, matrix: Matrix, variance: float) -> Stack:
        """Return the covariance matrices of the own and the shared parameters of each block, of shape (B, k + s, k + s).

        Those of the shared parameters are propagated to the own ones, to which the variance at fixed shared ones is added.

        Args:
            p: the shared parameters at the minimum, of shape (1, s).
            matrix: their covariance matrix; nan for a parameter at a bound, as in the result.
            variance: the variance of a weighted residual.
        """
        factors, coefficients, _ = self.eliminated(p)
        free = self.free(p)
        count, k = free.shape
        known = np.isfinite(np.diag(matrix))
        shared = np.where(known[:, None] & known, matrix, 0.0)
        inverse = np.linalg.inv(factors)
        own_by_shared = -inverse @ coefficients  # the derivatives of the own parameters at the minimum
        all_by_shared = np.concatenate([own_by_shared, np.tile(np.eye(len(shared)), (count, 1, 1))], axis=1)
        result = all_by_shared @ shared @ np.swapaxes(all_by_shared, 1, 2)
        result[:, :k, :k] += inverse @ np.swapaxes(inverse, 1, 2) * variance
        is_known = np.hstack([free, np.tile(known, (count, 1))])
        return np.where(is_known[:, :, None] & is_known[:, None, :], result, np.nan)

    def _blocks_at(self, p: Matrix) -> SumOfSquares:
        """Return the problems of the own parameters at given shared ones, which become columns of equal numbers."""
        names = self.model.parameters[len(self._own_model.parameters) :]  # of the shared ones
        shared = {name: np.broadcast_to(value, (self.model.rows,)) for name, value in zip(names, p[0], strict=True)}
        model = self._own_model.with_columns({**self._own_model.columns, **shared})
        return SumOfSquares(model, self.scale, None, self._all.sizes)


def errors_in_columns(model: Model, scale: Vector | None, errors: Mapping[str, Vector]) -> Reduced:
    """Return the sum of squares of a model at the best values of the columns that have errors (orthogonal distance regression).

    Each number ``x`` of such a column becomes an unknown ``X`` with the additional residual ``(X - x)/sigma_x``.  A row becomes a
    block of k + 1 rows, one for each of these k residuals and one for that of the model.  All rows have one formula, the sum of all
    residuals, each times a column of factors, of which only that of the own residual of a row is not 0.

    Args:
        model: the residuals.
        scale: the factor of each residual; ``None`` for 1.
        errors: the standard deviations of the columns that have errors: N numbers each.
    """
    count, k = model.rows, len(errors)
    mark = "_" * len(model.source)  # the end of new names: no name of the source is longer
    factors = np.zeros((count, k + 1, k + 1))  # by block, row and residual
    for i, sigma in enumerate(errors.values()):
        factors[:, i, i] = 1 / sigma
    factors[:, k, k] = 1.0 if scale is None else scale
    columns = {f"{name}{mark}" if name in errors else name: np.repeat(column, k + 1) for name, column in model.columns.items()}
    columns |= {f"f{i}{mark}": factors[:, :, i].ravel() for i in range(k + 1)}
    tree = _with_terms_of_errors(model.tree, [*errors], mark)
    of_all_parameters = Model(model.source, tree, [*errors, *model.parameters], columns, model.constants)
    shared_columns = {name: np.zeros(of_all_parameters.rows) for name in model.parameters}  # to be set at each point
    of_unknowns = of_all_parameters.retraced([*errors], {**columns, **shared_columns})
    measured = np.column_stack([model.columns[name] for name in errors])
    unbounded = Box(np.full(k, -np.inf), np.full(k, np.inf))
    return Reduced(of_all_parameters, of_unknowns, sizes=np.full(count, k + 1), start=measured, box=unbounded)


def _with_terms_of_errors(tree: Syntax, names: list[str], mark: str) -> Syntax:
    """Return the program of ``f0*(X0 - x0) + ... + fk*r``, with the residual r of a program.

    The unknowns X have the names of the columns with errors; names of measured values x and of factors f end in ``mark``.
    """
    terms = [f"f{i}{mark}*({name} - {name}{mark})" for i, name in enumerate(names)]
    assignment, total = parse(f"r{mark} = 0; f{len(names)}{mark}*r{mark} + {' + '.join(terms)}").children
    *definitions, residual = tree.children
    target, _ = assignment.children  # the residual replaces the 0
    definitions.append(assignment.with_children([target, residual]))
    return tree.with_children([*definitions, total])


def _joined(own: Matrix, shared: Matrix) -> Matrix:
    """Return the own parameters of each block, of shape (B, k), with the shared ones, of shape (1, s), beside them."""
    return np.hstack([own, np.tile(shared, (len(own), 1))])
