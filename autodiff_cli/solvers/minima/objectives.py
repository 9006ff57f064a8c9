"""The functions of the variables that a descent minimizes: the objective, or the norm of its gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from autodiff_cli.arrays import Matrix, Vector
    from autodiff_cli.solvers.minima.problem import Problem


class Objective:
    """The objective of a problem as a function between bounds."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.low, self.high = problem, problem.low, problem.high
        self._none = np.zeros(len(problem.constraints))

    def value(self, x: Vector) -> float:
        return self.problem.values(x)[0]

    def gradient(self, x: Vector) -> Vector:
        return self.problem.slopes(x)[0]

    def hessian(self, x: Vector) -> Matrix:
        return self.problem.hessian(x, self._none)

    def product(self, x: Vector, direction: Vector) -> Vector:
        return self.problem.product(x, direction, self._none)


class SlopeNorm:
    """Half the square of the norm of the gradient, with the Hessian matrix of Gauss and Newton; 0 at every stationary point."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.low, self.high = problem, problem.low, problem.high
        self._none = np.zeros(len(problem.constraints))

    def value(self, x: Vector) -> float:
        return float(np.sum(self.problem.slopes(x)[0] ** 2)) / 2

    def gradient(self, x: Vector) -> Vector:
        return np.asarray(self.problem.hessian(x, self._none) @ self.problem.slopes(x)[0])

    def hessian(self, x: Vector) -> Matrix:
        hessian = self.problem.hessian(x, self._none)
        return np.asarray(hessian @ hessian)

    def product(self, x: Vector, direction: Vector) -> Vector:
        return np.asarray(self.hessian(x) @ direction)
