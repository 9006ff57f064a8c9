"""Functions of several variables with their exact derivatives, for numerical methods.

All functions are traced on one tape, and every kind of derivative is a Program that is made when it is first requested.
Programs that cannot be traced, such as those with a linear solve, and very long ones are evaluated eagerly at each point.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.jacobians import hessian_vector, jacobian_of
from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor, tensor_on, zeros_on
from autodiff_cli.compiler.gradient import gradient
from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.compiler.program import Program
from autodiff_cli.errors import AutodiffError, LimitError, LinAlgError, NotRecordable, ShapeError
from autodiff_cli.evaluation.bindings import variables
from autodiff_cli.evaluation.compile import trace_elements
from autodiff_cli.evaluation.evaluation import Evaluation, given_values
from autodiff_cli.evaluation.expression import Evaluator
from autodiff_cli.evaluation.names import element_names
from autodiff_cli.language.tree import Syntax
from autodiff_cli.solvers.intervals.enclosure import Enclosure

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from autodiff_cli.arrays import Matrix, Vector
    from autodiff_cli.evaluation.evaluation import Value

    Results = Callable[[list[Instruction], list[Operand]], list[Operand]]
    """A function that appends results to a tape, given the variables and the functions."""

MOST_TRACED = 200
"""The maximum number of variables of a traced system; eager derivatives of long vectors are faster than a tape of scalars."""


class System:
    """Functions F of n variables, with m values in all: the elements of the results of several programs.

    Args:
        source: the text of the programs, which spans refer to.
        programs: the tree of each program.
        at: the variables with their values, which are the start; a value may be an array.
        const: the values of constants.

    Attributes:
        names: the names of the variables.
        labels: the name of each of the n elements: ``x`` or ``v[0]``.
        start: the n values at the start.
        result_shapes: the shape of the result of each program.
        count: the number m of values.
        evaluations: the number of points at which values or derivatives were computed.
        seconds: the processor time that this took.

    Raises:
        AutodiffError: if a program cannot be evaluated at the start; the error has the position in the source.
    """

    def __init__(
        self, source: str, programs: Sequence[Syntax], at: Mapping[str, Value], const: Mapping[str, Value] | None = None
    ) -> None:
        self.source = source
        self.programs = list(programs)
        values, constants = given_values(at, const, "float64")
        leaves = variables({**values, **constants}, np.dtype(np.float64), ())
        self._constants = {name: leaves[name] for name in constants}
        self.names = tuple(values)
        self.shapes = {name: leaves[name].shape for name in values}
        self.labels = [label for name, shape in self.shapes.items() for label in element_names(name, shape)]
        self.start: Vector = self.flat({name: leaves[name]._data for name in values})
        self.evaluations = 0
        self.seconds = 0.0
        self._programs: dict[str, Program] = {}
        self.result_shapes = [output.shape for output in self._evaluated(self.start, False)[0]]
        self.count = sum(int(np.prod(shape)) for shape in self.result_shapes)

    def flat(self, values: Mapping[str, ArrayLike]) -> Vector:
        """Return the elements of values by name as one vector of n numbers."""
        return np.concatenate([np.zeros(0), *(np.ravel(np.asarray(values[name], float)) for name in self.names)])

    def named(self, x: Vector) -> dict[str, Vector]:
        """Return a vector of n numbers as values by name, in the shapes of the variables; a scalar is a NumPy scalar."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes.values()])
        return {name: part.reshape(self.shapes[name])[()] for name, part in zip(self.names, np.split(x, ends)[:-1], strict=True)}

    def values(self, x: Vector) -> Vector:
        """Return F at a point: m numbers."""
        return self._traced("values", x, lambda by, of: of, lambda: self._values(x))

    def jacobian(self, x: Vector) -> Matrix:
        """Return the Jacobian matrix at a point, of shape (m, n)."""

        def results(by: list[Instruction], of: list[Operand]) -> list[Operand]:
            return [slope for each in of for slope in gradient(each, by)]

        return self._traced("jacobian", x, results, lambda: self._jacobian(x)).reshape(self.count, len(x))

    def hessian(self, x: Vector, weights: Vector | None = None) -> Matrix:
        """Return the Hessian matrix of the sum of ``weights[i]*F[i]`` at a point, of shape (n, n); the weights are 1 by default."""
        weights = np.ones(self.count) if weights is None else weights
        n = len(x)
        below = np.tril_indices(n)

        def results(by: list[Instruction], of: list[Operand]) -> list[Operand]:
            slopes = gradient(_weighted(by, of), by)
            return [one for i, slope in enumerate(slopes) for one in gradient(slope, by[: i + 1])]

        found = self._traced("hessian", x, results, lambda: self._hessian(x, weights)[below], w=weights)
        matrix = np.zeros((n, n))
        matrix[below] = found
        return matrix + np.tril(matrix, -1).T

    def along(self, x: Vector, direction: Vector) -> Vector:
        """Return the second derivative of F at a point in a direction: m numbers."""
        n = len(x)

        def results(by: list[Instruction], of: list[Operand]) -> list[Operand]:
            return [second_along(each, by) for each in of]

        def eagerly() -> Vector:
            rows = [self.hessian(x, row) @ direction for row in np.eye(self.count)]
            return np.array(rows).reshape(self.count, n) @ direction

        return self._traced("along", x, results, eagerly, v=direction)

    def third(self, x: Vector, direction: Vector) -> Matrix:
        """Return the third derivatives d3 F[i]/dx[j] dv dv at a point in a direction v, of shape (m, n)."""

        def results(by: list[Instruction], of: list[Operand]) -> list[Operand]:
            return [slope for each in of for slope in gradient(second_along(each, by), by)]

        def eagerly() -> Vector:
            return np.concatenate([np.zeros(0), *(self._third(x, direction, row) for row in np.eye(self.count))])

        return self._traced("third", x, results, eagerly, v=direction).reshape(self.count, len(x))

    def columns(self, points: Matrix) -> Matrix:
        """Return F at many points, of shape (m, N), given the points as columns of a matrix of shape (n, N)."""
        if not (self.tape is not None and len(points)):
            self.evaluations += points.shape[1]
            with np.errstate(all="ignore"):
                return np.stack([self._values(point) for point in points.T], axis=1)
        self.values(points[:, 0])  # makes the Program
        program = self._programs.get("values")
        if program is None:
            return self.columns(points)
        self.evaluations += points.shape[1] - 1
        out = np.empty((self.count, points.shape[1]))
        program.run(dict(zip(self.labels, np.ascontiguousarray(points), strict=True)), list(out))
        return out

    def product(self, x: Vector, direction: Vector, weights: Vector | None = None) -> Vector:
        """Return the product of the Hessian matrix, see ``hessian``, with a direction: n numbers; no matrix is built."""
        weights = np.ones(self.count) if weights is None else weights

        def results(by: list[Instruction], of: list[Operand]) -> list[Operand]:
            return [_along(slope, by) for slope in gradient(_weighted(by, of), by)]

        def eagerly() -> Vector:
            try:
                outputs, leaves = self._outputs(x, True)
                vector = [tensor_on(part) for part in self.named(direction).values()]
                found = hessian_vector(self._sum(outputs, weights), list(leaves.values()), vector)
            except LinAlgError:
                return np.full(len(x), np.nan)
            return self.flat({name: part._data for name, part in zip(leaves, found, strict=True)})

        return self._traced("product", x, results, eagerly, v=direction, w=weights)

    def evaluation(self, i: int, x: Vector) -> Evaluation:
        """Return the eager evaluation of a program at a point, with the trace that explains a value that is not finite."""
        constants = {name: leaf._data for name, leaf in self._constants.items()}
        return Evaluation(self.source, self.named(x), constants, tree=self.programs[i])

    @cached_property
    def tape(self) -> tuple[list[Instruction], list[Operand]] | None:
        """The instructions of the n variables and the m results on one tape; ``None`` if the programs cannot be traced."""
        return self._trace({})

    @cached_property
    def _enclosable(self) -> tuple[list[Instruction], list[Operand]] | None:
        """As ``tape``, but functions of arrays are formulas of their elements, which can be enclosed and are less accurate."""
        if self.tape is not None:
            return self.tape
        from autodiff_cli.solvers.array_formulas import FORMULAS

        return self._trace(FORMULAS)

    @cached_property
    def enclosure(self) -> Enclosure | None:
        """The m values over boxes; ``None`` if the programs cannot be traced."""
        return self._enclosed(lambda by, of: of)

    @cached_property
    def slopes(self) -> Enclosure | None:
        """The Jacobian matrix over boxes, row by row; ``None`` if the programs cannot be traced."""
        return self._enclosed(lambda by, of: [slope for each in of for slope in gradient(each, by)])

    @cached_property
    def curvatures(self) -> Enclosure | None:
        """The Hessian matrix of the first value over boxes, row by row; ``None`` if the programs cannot be traced."""
        return self._enclosed(lambda by, of: [each for slope in gradient(of[0], by) for each in gradient(slope, by)])

    def _enclosed(self, results: Results) -> Enclosure | None:
        if self._enclosable is None:
            return None
        by, of = self._enclosable
        try:
            with np.errstate(all="ignore"), set_grad_enabled(False):
                return Enclosure(by, results(by, of))
        except (NotRecordable, LimitError):
            return None

    def _trace(self, formulas: Mapping[str, Callable[..., Any]]) -> tuple[list[Instruction], list[Operand]] | None:
        if len(self.start) > MOST_TRACED:
            return None
        try:
            tape = trace_elements(self.source, self.programs, self.shapes, self._constants, "float64", formulas)
        except AutodiffError as error:
            if isinstance(error, NotRecordable | LimitError):
                return None
            raise
        return tape if len(tape[1]) == self.count else None  # the shape of a result depends on a condition

    def _traced(self, kind: str, x: Vector, results: Results, eagerly: Callable[[], Vector], **extra: Vector) -> Vector:
        """Compute results with a Program, or eagerly if the programs cannot be traced.

        Args:
            kind: the name of the Program.
            x: the point.
            results: the function that appends the results to the tape.
            eagerly: the function that computes the results without a tape.
            extra: the values of the further variables ``v:i`` and ``w:i`` that ``results`` appends.
        """
        self.evaluations += 1
        begun = time.thread_time()
        try:
            return self._computed(kind, x, results, eagerly, extra)
        finally:
            self.seconds += time.thread_time() - begun

    def _computed(
        self, kind: str, x: Vector, results: Results, eagerly: Callable[[], Vector], extra: Mapping[str, Vector]
    ) -> Vector:
        if self.tape is not None and kind not in self._programs:
            by, of = self.tape
            try:
                with np.errstate(all="ignore"), set_grad_enabled(False):
                    wanted = results(by, of)
                names = [*self.labels, *(f"{name}:{i}" for name, vector in extra.items() for i in range(len(vector)))]
                self._programs[kind] = Program(wanted, names, [()] * len(wanted), np.float64, threads=1)
            except (NotRecordable, LimitError):
                self.tape = None
        if self.tape is None:
            with np.errstate(all="ignore"):
                return eagerly()
        program = self._programs[kind]
        given = dict(zip(program.variables, np.concatenate([x, *extra.values()]), strict=True))
        out = np.empty((len(program.outputs), 1))
        if len(out):
            program.run(given, list(out))
        return out[:, 0]

    def _outputs(self, x: Vector, differentiable: bool) -> tuple[list[Tensor], dict[str, Tensor]]:
        """Evaluate the programs eagerly; return their results, and the leaves that they were computed from.

        Raises:
            ShapeError: if a result has another shape than at the start.
        """
        outputs, leaves = self._evaluated(x, differentiable)
        for output, shape in zip(outputs, self.result_shapes, strict=True):
            if output.shape != shape:
                raise ShapeError(
                    "the shape of the result depends on the values: "
                    f"it is {list(shape)} at the start, and {list(output.shape)} later",
                    hint="write branches with results of one shape",
                )
        return outputs, leaves

    def _evaluated(self, x: Vector, differentiable: bool) -> tuple[list[Tensor], dict[str, Tensor]]:
        kind = np.dtype(np.float64)
        leaves = variables(self.named(x), kind, self.names if differentiable else ())
        outputs = []
        with np.errstate(all="ignore"), set_grad_enabled(differentiable):
            for program in self.programs:
                evaluator = Evaluator(self.source, {**self._constants, **leaves}, kind, program)
                evaluator.tensors.listing = False
                outputs.append(evaluator.as_tensor(evaluator.run()))
        return outputs, leaves

    def _values(self, x: Vector) -> Vector:
        try:
            outputs, _ = self._outputs(x, False)
        except LinAlgError:  # a singular matrix
            return np.full(self.count, np.nan)
        return np.concatenate([np.ravel(output._data).astype(float) for output in outputs])

    def _jacobian(self, x: Vector) -> Matrix:
        try:
            outputs, leaves = self._outputs(x, True)
            blocks = [
                np.hstack([np.reshape(block._data, (output.numel(), -1)) for block in jacobian_of(output, list(leaves.values()))])
                for output in outputs
            ]
        except LinAlgError:
            return np.full((self.count, len(x)), np.nan)
        return np.vstack(blocks)

    def _hessian(self, x: Vector, weights: Vector) -> Matrix:
        try:
            outputs, leaves = self._outputs(x, True)
            slopes = self._slopes(self._sum(outputs, weights), list(leaves.values()), True)
            rows = [
                np.concatenate(
                    [np.ravel(part._data) for part in self._slopes(slope[place] if place else slope, list(leaves.values()))]
                )
                for slope in slopes
                for place in np.ndindex(*slope.shape)
            ]
        except LinAlgError:
            return np.full((len(x), len(x)), np.nan)
        return np.array(rows).reshape(len(x), len(x))

    def _third(self, x: Vector, direction: Vector, weights: Vector) -> Vector:
        try:
            outputs, leaves = self._outputs(x, True)
            inputs, vector = list(leaves.values()), [tensor_on(part) for part in self.named(direction).values()]
            total = self._sum(outputs, weights)
            for _ in range(2):
                slopes = self._slopes(total, inputs, True)
                products = [(slope * part).sum() for slope, part in zip(slopes, vector, strict=True)]
                total = sum(products[1:], products[0])
            return self.flat({name: slope._data for name, slope in zip(leaves, self._slopes(total, inputs), strict=True)})
        except LinAlgError:
            return np.full(len(x), np.nan)

    @staticmethod
    def _slopes(output: Tensor, inputs: list[Tensor], create_graph: bool = False) -> list[Tensor]:
        """Return the gradient of a scalar with respect to each input."""
        if not output.requires_grad:
            return [zeros_on(x.shape, x) for x in inputs]
        found = grad(output, inputs, None, retain_graph=True, create_graph=create_graph, materialize_grads=True)
        return list(found)

    @staticmethod
    def _sum(outputs: list[Tensor], weights: Vector) -> Tensor:
        """Return the weighted sum of the elements of the outputs."""
        total = tensor_on(np.zeros(()))
        for output in outputs:
            part, weights = np.split(weights, [output.numel()])
            total = total + (output * tensor_on(part.reshape(output.shape))).sum()
        return total


def _weighted(by: list[Instruction], of: list[Operand]) -> Operand:
    """Append the sum of the functions, each times the variable ``w:i``, to the tape."""
    tape = by[0].tape
    total: Operand = 0.0
    for i, each in enumerate(of):
        total = tape.call("add", total, tape.call("mul", tape.variable(f"w:{i}"), each))
    return total


def _along(operand: Operand, by: list[Instruction]) -> Operand:
    """Append the derivative of an operand in the direction of the variables ``v:i`` to its tape."""
    tape = by[0].tape
    total: Operand = 0.0
    for i, slope in enumerate(gradient(operand, by)):
        total = tape.call("add", total, tape.call("mul", tape.variable(f"v:{i}"), slope))
    return total


def second_along(operand: Operand, by: list[Instruction]) -> Operand:
    """Append the second derivative of an operand in the direction of the variables ``v:i`` to its tape."""
    return _along(_along(operand, by), by)
