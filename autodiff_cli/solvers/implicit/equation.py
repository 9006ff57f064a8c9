"""The operation of a value that equations define: its search, and its derivatives by the implicit function theorem.

If F(y, p) = 0 defines y, then dy/dp = -(dF/dy)^-1 dF/dp.  The rule is this formula, with F on a tape; its derivatives are
those of the formula, with y as a function of p, so that every order follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.printing import Size
from autodiff_cli.compiler.gradient import gradient
from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.compiler.tape import Tape
from autodiff_cli.compiler.tracer import as_operand, as_tensor
from autodiff_cli.errors import NotPrecise
from autodiff_cli.language.tree import Syntax, name_tree, unparse
from autodiff_cli.solvers.implicit.components import Components, replayed
from autodiff_cli.solvers.implicit.linear import solution, solved
from autodiff_cli.solvers.implicit.notation import body_tree, definition_tree
from autodiff_cli.solvers.implicit.search import Choice
from autodiff_cli.solvers.intervals.interval import Interval
from autodiff_cli.solvers.roots.problem import EPS, Point, RootProblem
from autodiff_cli.solvers.system import System

if TYPE_CHECKING:
    from autodiff_cli.arrays import Vector
    from autodiff_cli.autograd.dtypes import Array
    from autodiff_cli.evaluation.evaluation import Evaluation
    from autodiff_cli.precise.arithmetic import Arithmetic

_MOST_REFINED = 40
"""The maximum number of Newton steps in many digits; the first step from a float gives 30 digits, unless a root is multiple."""


class Equation(Components):
    """n equations of n unknowns and m parameters on a tape: the unknowns as functions of their starts and of the parameters.

    Args:
        name: the name of the operation: ``root`` or ``argmin``.
        unknowns, parameters: the variables of the tape.
        results: the n residuals, which are 0 at the solution; for ``argmin``, the objective.
        bracketed: whether the unknown has the two ends of a bracket in place of a start.
        written: the call as it was written, and the names of the parameters in it.

    Attributes:
        residuals: the n residuals, for ``argmin`` the gradient.
        choice: which of several solutions is meant, and the search for it.
    """

    def __init__(
        self,
        name: str,
        unknowns: list[Instruction],
        parameters: list[Instruction],
        results: list[Operand],
        bracketed: bool,
        written: tuple[Syntax, list[str]],
    ) -> None:
        self._written = written
        self.unknowns, self.constants, self.results = unknowns, parameters, results
        self.is_minimum = name == "argmin"
        self.residuals = gradient(results[0], unknowns) if self.is_minimum else results
        self._starts = 2 if bracketed else len(unknowns)
        self.choice = Choice(self, bracketed)
        names = [*(f"s{j}" for j in range(self._starts)), *(f"p{i}" for i in range(len(parameters)))]
        super().__init__(name, names, self._starts, len(unknowns))

    def vjp(self, i: int, k: int, g: Any, out: Any, *arguments: Any) -> Any:
        """Return g times row k of -(dF/dy)^-1 dF/dp for parameter p number i, computed at the unknowns of the arguments."""
        n, by = len(self.unknowns), len(self.unknowns) + i - self._starts
        values = [out if j == k else self.functions[j](*arguments) for j in range(n)]
        at = dict(zip([*self.unknowns, *self.constants], [*values, *arguments[self._starts :]], strict=True))
        slopes = replayed([slope for row in self._slopes for slope in (*row[:n], row[by])], at)
        rows = [slopes[j * (n + 1) : (j + 1) * (n + 1)] for j in range(n)]
        return g * -solution([row[:n] for row in rows], [row[n] for row in rows])[k]

    def partial(self, i: int) -> str:
        """Say in formulas how the derivative with respect to argument i follows from one equation, and of several in words."""
        shown = {u.variable: name_tree(u.variable) for u in self.unknowns}
        shown |= dict(zip((p.variable for p in self.constants), map(name_tree, self._written[1]), strict=True))
        by = len(self.unknowns) + i - self._starts
        texts = [unparse(body_tree(operand, shown)) for operand in (self.residuals[0], self._slopes[0][by], self._slopes[0][0])]
        name, unknown = self._written[1][i - self._starts], self.unknowns[0].variable
        if len(self.unknowns) > 1:
            return f"the equations are linear in the derivatives: their Jacobian matrix times these is minus dF/d{name}"
        return "from F = {2} = 0 follows d{0}/d{1} = -dF/d{1}/(dF/d{0}), with dF/d{1} = {3} and dF/d{0} = {4}".format(
            unknown, name, *texts
        )

    def tree(self, arguments: list[Syntax]) -> Syntax:
        """Return the call as it was written if the parameters still have their names, else with formulas in their place."""
        call, names = self._written
        if [unparse(tree) for tree in arguments[self._starts :]] == names:
            return call
        return definition_tree(self.name, self.unknowns, self.constants, self.results, arguments)

    @cached_property
    def _slopes(self) -> list[list[Operand]]:
        """The derivatives of each residual with respect to the unknowns and the parameters."""
        return [gradient(residual, [*self.unknowns, *self.constants]) for residual in self.residuals]

    @cached_property
    def system(self) -> System:
        """The residuals as functions of the unknowns and the parameters."""
        return TapeSystem([*self.unknowns, *self.constants], self.residuals, len(self.unknowns))

    def alone(self, arguments: Vector) -> Vector:
        """Return the unknowns of one element, given its starts and parameters.

        Raises:
            NoValue: if a value does not exist; the error says why.
        """
        return self.choice.alone(arguments[: self._starts], arguments[self._starts :])

    def problem(self, parameters: Vector) -> RootProblem:
        """Return the equations for given values of the parameters."""
        return TapeProblem(self.system_alone(self.residuals, parameters))

    def system_alone(self, operands: list[Operand], parameters: Vector) -> System:
        """Return operands as functions of the unknowns alone, on a tape of their own, for given values of the parameters."""
        tape = Tape(np.float64)
        unknowns = [tape.variable(unknown.variable) for unknown in self.unknowns]
        values: dict[Operand, Any] = dict(zip(self.unknowns, (as_tensor(tape, unknown) for unknown in unknowns), strict=True))
        values |= zip(self.constants, map(np.float64, parameters), strict=True)
        return TapeSystem(unknowns, [as_operand(value) for value in replayed(operands, values)], len(unknowns))

    def solve(self, *arrays: Array) -> Array:
        """Return the unknowns for arrays of starts and parameters, as float32 only if all of them are."""
        columns = np.array([np.ravel(array) for array in arrays], float).reshape(len(arrays), -1)
        x = self.choice.solved(columns[: self._starts], columns[self._starts :])
        return np.asarray(x.reshape(len(x), *arrays[0].shape).astype(np.result_type(*arrays, np.float32), copy=False))

    def intervals(self, *operands: Interval) -> list[Interval]:
        """Return enclosures of the unknowns for intervals of the starts and parameters; unbounded where nothing is proven."""
        spread = np.broadcast_arrays(*(end for operand in operands for end in (operand.low, operand.high, operand.regular)))
        shape = spread[0].shape
        low, high, regular = (np.array([np.ravel(array) for array in spread[part::3]]) for part in range(3))
        starts = self._starts
        bounds, proven = self.choice.enclosed((low / 2 + high / 2)[:starts], low[starts:], high[starts:])
        proven = proven & regular.all(axis=0)
        ends = np.where(proven, bounds, np.array([-np.inf, np.inf])[:, None, None]).reshape(2, -1, *shape)
        return [Interval(a, b, proven.reshape(shape)) for a, b in zip(*ends, strict=True)]

    def precise(self, math: Arithmetic, *cells: Any) -> list[Any]:
        """Return the unknowns in many digits, which are refined from the root in float64."""
        floats = [np.float64(cell) for cell in cells]
        return self.refined(math, [math.mpf(float(function(*floats))) for function in self.functions], cells[self._starts :])

    def refined(self, math: Arithmetic, values: list[Any], parameters: Sequence[Any]) -> list[Any]:
        """Return the root in many digits that Newton's method reaches from values of the unknowns near it."""
        from autodiff_cli.precise.evaluator import number_program

        n = len(self.unknowns)
        operands = [*self.residuals, *(slope for row in self._slopes for slope in row[:n])]
        compute = number_program(math, [*self.unknowns, *self.constants], operands)
        for _ in range(_MOST_REFINED):
            numbers = compute([*values, *parameters])
            steps = solved(math, numbers[n:], numbers[:n])
            values = [value - step for value, step in zip(values, steps, strict=True)]
            if all(abs(step) <= abs(value) * math.context.eps for step, value in zip(steps, values, strict=True)):
                break
        return values


class TapeSystem(System):
    """A system whose functions are on a tape already.

    Args:
        variables: the variables.
        results: the values of the functions.
        active: the number of variables with respect to which the Jacobian matrix is computed.
    """

    def __init__(self, variables: list[Instruction], results: list[Operand], active: int) -> None:
        # What ``System`` computes from the programs, which are not there, is set directly.
        self.tape = variables, results
        self.source, self.programs = "", []
        self.labels = [variable.variable for variable in variables]
        self.names, self.shapes = tuple(self.labels), dict.fromkeys(self.labels, Size())
        self.start = np.zeros(len(self.labels))
        self.active, self.count = active, len(results)
        self.result_shapes = [Size()] * self.count
        self.evaluations, self.seconds = 0, 0.0
        self._constants, self._programs, self._by_formula = {}, {}, False

    def evaluation(self, i: int, x: Vector) -> Evaluation:
        """Raise an error, because a tape is not evaluated in many digits."""
        raise NotPrecise("a part of an expression")


class TapeProblem(RootProblem):
    """The equations of a system on a tape."""

    def _estimate(self, point: Point) -> Vector:
        """Return an estimate of the rounding errors from the unknowns, because the sides of the equations are not known apart."""
        return np.asarray(64 * EPS * (np.abs(point.jacobian) @ np.abs(point.x)))

    def __init__(self, system: System) -> None:
        self.expression, self.const, self.unused = "", {}, []
        self.system, self.start = system, system.start
