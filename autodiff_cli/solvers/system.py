"""Functions of several variables with their exact derivatives, for numerical methods.

All functions are traced on one tape, and every kind of derivative is a Program that is made when it is first requested.
Programs that cannot be traced, such as those with a linear solve, and very long ones are evaluated eagerly at each point.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.jacobians import hessian_vector, jacobian_of
from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.compiler.gradient import gradient
from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.compiler.program import Program
from autodiff_cli.errors import LimitError, LinAlgError, NotRecordable, ShapeError
from autodiff_cli.evaluation.bindings import new_leaves
from autodiff_cli.evaluation.compile import trace_elements
from autodiff_cli.evaluation.evaluation import Evaluation, evaluated_inputs
from autodiff_cli.evaluation.evaluator import Evaluator
from autodiff_cli.evaluation.names import element_names
from autodiff_cli.language.tree import Syntax, names_in, unparse
from autodiff_cli.solvers.intervals.enclosure import Enclosure
from autodiff_cli.symbolic.matrices.diff import LEAST_DESCENT, hessian_by_formula

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from autodiff_cli.arrays import Array, Matrix, Vector
    from autodiff_cli.compiler.tape import Tape
    from autodiff_cli.evaluation.evaluation import Value
    from autodiff_cli.symbolic.matrices.diff import HessianFunction

    Results = Callable[[list[Instruction], list[Operand], int], list[Operand]]

MOST_TRACED = 200
"""The maximum number of variables of a traced system; eager derivatives of long vectors are faster than a tape of scalars."""


class System:
    """Functions F of n variables, with m values in all: the elements of the results of several programs.

    Args:
        source: the text of the programs, which spans refer to.
        programs: the tree of each program.
        at: the variables with their values, which are the start; a value may be an array.
        const: the values of constants.
        active: the number of first elements with respect to which the Jacobian matrix is computed; all by default.
        by_formula: whether the Hessian matrix of one long expression of vectors is computed by a formula, and nothing is traced.

    Attributes:
        names: the names of the variables.
        shapes: the shape of each variable, by name.
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
        self,
        source: str,
        programs: Sequence[Syntax],
        at: Mapping[str, Value],
        const: Mapping[str, Value] | None = None,
        active: int | None = None,
        by_formula: bool = False,
    ) -> None:
        self.source = source
        self.programs = list(programs)
        values, constants = evaluated_inputs(at, const, "float64")
        leaves = new_leaves({**values, **constants}, np.dtype(np.float64), ())
        self._constants = {name: leaves[name] for name in constants}
        self.names = tuple(values)
        self.shapes = {name: leaves[name].shape for name in values}
        self.labels = [label for name, shape in self.shapes.items() for label in element_names(name, shape)]
        self.start: Vector = self.flat({name: leaves[name]._data for name in values})
        self.active = len(self.start) if active is None else active
        self._by_formula = by_formula
        self.evaluations = 0
        self.seconds = 0.0
        self._programs: dict[str, Program] = {}  # by kind, see ``columns``
        results, _ = self._evaluated(self.start, differentiable=False)
        self.result_shapes = [result.shape for result in results]
        self.count = sum(int(np.prod(shape)) for shape in self.result_shapes)

    def flat(self, values: Mapping[str, ArrayLike]) -> Vector:
        """Return the elements of values by name as one vector of n numbers."""
        return np.concatenate([np.zeros(0), *(np.ravel(np.asarray(values[name], float)) for name in self.names)])

    def named(self, x: Vector) -> dict[str, Vector]:
        """Return a vector of n numbers as values by name, in the shapes of the variables; a scalar is a NumPy scalar."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes.values()])
        parts = np.split(x, ends)[:-1]  # without the empty part after the last end
        return {name: part.reshape(self.shapes[name])[()] for name, part in zip(self.names, parts, strict=True)}

    def values(self, x: Vector) -> Vector:
        """Return F at a point: m numbers."""
        return self.columns(x[:, None])[:, 0]

    def jacobian(self, x: Vector) -> Matrix:
        """Return the Jacobian matrix at a point, of shape (m, n)."""
        return self.columns(x[:, None], "jacobian")[:, 0].reshape(self.count, self.active)

    def hessian(self, x: Vector, weights: Vector | None = None) -> Matrix:
        """Return the Hessian matrix of the sum of ``weights[i]*F[i]`` at a point, of shape (n, n); the weights are 1 by default."""
        weights = np.ones(self.count) if weights is None else weights
        if self._formula is not None:
            result = self._hessian_by(self._formula, x)
            if result is not None:  # the formula holds at this point
                (weight,) = weights  # a formula has one value
                return np.asarray(result * weight)
        matrix = np.zeros((len(x), len(x)))
        matrix[np.tril_indices(len(x))] = self.columns(x[:, None], "hessian", w=weights)[:, 0]  # the lower triangle
        return matrix + np.tril(matrix, -1).T

    def _hessian_by(self, function: HessianFunction, x: Vector) -> Matrix | None:
        """Return the Hessian matrix at a point by a formula, counted and timed; ``None`` where the formula does not hold."""
        self.evaluations += 1
        begun = time.thread_time()
        try:
            return function({**self._constant_values, **self.named(x)})
        finally:
            self.seconds += time.thread_time() - begun

    @property
    def _constant_values(self) -> dict[str, Array]:
        return {name: leaf._data for name, leaf in self._constants.items()}

    @cached_property
    def _formula(self) -> HessianFunction | None:
        """The function that returns the Hessian matrix by a formula; ``None`` if there is none, or it was not requested."""
        if not self._by_formula or self.count != 1 or len(self.programs) != 1:
            return None
        (program,) = self.programs
        used = names_in(program)
        values = {name: value for name, value in {**self._constant_values, **self.named(self.start)}.items() if name in used}
        return hessian_by_formula(unparse(program), values, self.names, LEAST_DESCENT)

    def third(self, x: Vector, direction: Vector) -> Matrix:
        """Return the third derivatives d3 F[i]/dx[j] dv dv at a point in a direction v, of shape (m, n)."""
        return self.columns(x[:, None], "third", v=direction)[:, 0].reshape(self.count, len(x))

    def product(self, x: Vector, direction: Vector, weights: Vector) -> Vector:
        """Return the product of the Hessian matrix, see ``hessian``, with a direction: n numbers; no matrix is built."""
        return self.columns(x[:, None], "product", v=direction, w=weights)[:, 0]

    def columns(self, points: Matrix | list[Vector], kind: str = "values", **extra: Vector) -> Matrix:
        """Return results at N points, of shape (k, N), given the points as columns of a matrix of shape (n, N).

        Args:
            points: the points; the rows of a list are not copied.
            kind: ``values``; ``jacobian`` row by row, or ``whole_jacobian`` with respect to all variables; ``linear`` for the
                values and the Jacobian matrix; the lower triangle of the ``hessian`` row by row; ``third`` or ``product``.
            extra: the direction ``v`` and the weights ``w`` of those kinds that have them.
        """
        count = len(points[0]) if isinstance(points, list) else points.shape[1]
        self.evaluations += count
        begun = time.thread_time()
        try:
            program = self.program(kind, extra)
            if program is not None:
                return _run_columns(program, points, count, extra)
            with np.errstate(all="ignore"):  # without a tape: point by point
                return np.stack([self._eager(kind, point, **extra) for point in np.transpose(points)], axis=1)
        finally:
            self.seconds += time.thread_time() - begun

    def evaluation(self, i: int, x: Vector) -> Evaluation:
        """Return the eager evaluation of a program at a point, with the trace that explains a value that is not finite."""
        return Evaluation(self.source, self.named(x), self._constant_values, tree=self.programs[i])

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
        return self._enclosed(_RESULTS["values"])

    @cached_property
    def slopes(self) -> Enclosure | None:
        """The Jacobian matrix over boxes, row by row; ``None`` if the programs cannot be traced."""
        return self._enclosed(_RESULTS["jacobian"])

    @cached_property
    def enclosure_with_slopes(self) -> Enclosure | None:
        """The values and then the Jacobian matrix over boxes; ``None`` if the programs cannot be traced."""
        return self._enclosed(_RESULTS["linear"])

    @cached_property
    def curvatures(self) -> Enclosure | None:
        """The Hessian matrix of the first value over boxes, row by row; ``None`` if the programs cannot be traced."""
        return self._enclosed(lambda by, values, _: [entry for slope in gradient(values[0], by) for entry in gradient(slope, by)])

    def _enclosed(self, results: Results) -> Enclosure | None:
        """Return the operands that ``results`` appends to the tape, over boxes; ``None`` if something cannot be traced."""
        if self._enclosable is None:
            return None
        by, outputs = self._enclosable
        try:
            with np.errstate(all="ignore"), set_grad_enabled(False):
                return Enclosure(by, results(by, outputs, self.active))
        except (NotRecordable, LimitError):
            return None

    def _trace(self, formulas: Mapping[str, Callable[..., Any]]) -> tuple[list[Instruction], list[Operand]] | None:
        """Return the variables and results on a new tape, with ``formulas`` for primitives by name; ``None`` if not traceable."""
        if len(self.start) > MOST_TRACED or self._formula is not None:
            return None
        try:
            variables, results = trace_elements(self.source, self.programs, self.shapes, self._constants, "float64", formulas)
        except (NotRecordable, LimitError):
            return None
        has_fixed_shapes = len(results) == self.count  # not if the shape of a result depends on a condition
        return (variables, results) if has_fixed_shapes else None

    def program(self, kind: str, extra: Mapping[str, Vector] = MappingProxyType({})) -> Program | None:
        """Return the Program of a kind of results, see ``columns``; ``None`` if the programs cannot be traced.

        The first call for a kind appends to the tape, which threads must not do at once; if that fails, ``tape`` becomes ``None``.
        """
        if self.tape is not None and kind not in self._programs:
            by, outputs = self.tape
            try:
                with np.errstate(all="ignore"), set_grad_enabled(False):
                    results = _RESULTS[kind](by, outputs, self.active)
                names = [*self.labels, *(f"{name}:{i}" for name, vector in extra.items() for i in range(len(vector)))]
                self._programs[kind] = Program(results, names, [()] * len(results), np.float64, threads=1)
            except (NotRecordable, LimitError):
                self.tape = None
        return None if self.tape is None else self._programs[kind]

    def _eager(self, kind: str, x: Vector, v: Vector | None = None, w: Vector | None = None) -> Vector:
        """Return the results of a kind at one point without a tape, see ``columns`` for v and w; nan if a matrix is singular."""
        try:
            outputs, leaves = self._outputs(x, kind != "values")
            if kind == "values":
                return np.concatenate([np.zeros(0), *(np.ravel(output._data).astype(float) for output in outputs)])
            inputs = list(leaves.values())
            if kind == "jacobian":
                return _jacobian(outputs, inputs)[:, : self.active].ravel()
            return self._eager_second(kind, outputs, inputs, v, w)
        except LinAlgError:
            n = len(x)
            sizes = {"values": self.count, "jacobian": self.count * self.active, "hessian": n * (n + 1) // 2, "product": n}
            return np.full(sizes.get(kind, self.count * n), np.nan)  # n third derivatives of each function

    def _eager_second(self, kind: str, outputs: list[Tensor], inputs: list[Tensor], v: Vector | None, w: Vector | None) -> Vector:
        """Return the ``hessian``, ``product`` or ``third`` derivatives of outputs by inputs; see ``columns`` for v and w."""
        weights = np.eye(self.count) if w is None else w[None]  # without weights, each function is a sum of its own
        totals = [self._weighted_sum(outputs, row) for row in weights]
        if kind == "hessian":
            return _jacobian(jacobian_of(totals[0], inputs, create_graph=True), inputs)[np.tril_indices(len(self.start))]
        assert v is not None
        direction = [tensor_on(part) for part in self.named(v).values()]
        if kind == "product":
            return np.concatenate([np.ravel(part._data) for part in hessian_vector(totals[0], inputs, direction)])
        products = [hessian_vector(total, inputs, direction, create_graph=True) for total in totals]
        curvatures = [sum((a * b).sum() for a, b in zip(parts, direction, strict=True)) for parts in products]  # along v
        return _jacobian(curvatures, inputs).ravel()  # the third derivatives

    def _outputs(self, x: Vector, differentiable: bool) -> tuple[list[Tensor], dict[str, Tensor]]:
        """Return the results of ``_evaluated``; raise an error if they do not have the shapes at the start."""
        outputs, leaves = self._evaluated(x, differentiable)
        for output, shape in zip(outputs, self.result_shapes, strict=True):
            if output.shape != shape:
                shapes = f"it is {list(shape)} at the start, and {list(output.shape)} later"
                message = f"the shape of the result depends on the values: {shapes}"
                raise ShapeError(message, hint="write branches with results of one shape")
        return outputs, leaves

    def _evaluated(self, x: Vector, differentiable: bool) -> tuple[list[Tensor], dict[str, Tensor]]:
        """Return the results of the programs at a point, and the variables by name; ``differentiable`` records the evaluation."""
        dtype = np.dtype(np.float64)
        leaves = new_leaves(self.named(x), dtype, self.names if differentiable else ())
        outputs = []
        with np.errstate(all="ignore"), set_grad_enabled(differentiable):
            for program in self.programs:
                evaluator = Evaluator(self.source, {**self._constants, **leaves}, dtype, program)
                evaluator.tensors.listing = False  # no list of intermediate tensors
                outputs.append(evaluator.as_tensor(evaluator.run()))
        return outputs, leaves

    @staticmethod
    def _weighted_sum(outputs: list[Tensor], weights: Vector) -> Tensor:
        """Return the sum of the m elements of the outputs, each times its weight."""
        total = tensor_on(np.zeros(()))
        for output in outputs:
            own_weights, weights = np.split(weights, [output.numel()])  # then those of the other outputs
            total = total + (output * tensor_on(own_weights.reshape(output.shape))).sum()
        return total


def _run_columns(program: Program, points: Matrix | list[Vector], count: int, extra: Mapping[str, Vector]) -> Matrix:
    """Return the results of a program at ``count`` points; see ``System.columns`` for the arguments."""
    out = np.empty((len(program.outputs), count))
    if len(out):  # there are results to compute
        rows = points if isinstance(points, list) else np.ascontiguousarray(points)
        columns = [row[0] for row in rows] if count == 1 else rows  # numbers for a single point
        numbers = np.concatenate([np.zeros(0), *extra.values()])  # the same at all points
        program.run(dict(zip(program.variables, [*columns, *numbers], strict=True)), list(out))
    return out


def _jacobian(outputs: Sequence[Tensor], inputs: list[Tensor]) -> Matrix:
    """Return the derivatives of all elements of outputs with respect to all elements of inputs, as one matrix."""
    blocks = [[np.reshape(block._data, (output.numel(), -1)) for block in jacobian_of(output, inputs)] for output in outputs]
    return np.vstack([np.hstack(row) for row in blocks])


def _weighted(tape: Tape, prefix: str, operands: Iterable[Operand]) -> Operand:
    """Append the sum of operands, each times a new variable ``prefix:i``, to a tape, and return it."""
    total: Operand = 0.0
    for i, operand in enumerate(operands):
        total = tape.call("add", total, tape.call("mul", tape.variable(f"{prefix}:{i}"), operand))
    return total


def _along(operand: Operand, by: list[Instruction]) -> Operand:
    """Append the derivative of an operand in the direction of the variables ``v:i`` to its tape."""
    return _weighted(by[0].tape, "v", gradient(operand, by))


def second_along(operand: Operand, by: list[Instruction]) -> Operand:
    """Append the second derivative of an operand in the direction of the variables ``v:i`` to its tape."""
    return _along(_along(operand, by), by)


def _hessian(by: list[Instruction], functions: list[Operand], active: int) -> list[Operand]:
    """Append the lower triangle of the Hessian matrix of the weighted sum of the functions, row by row."""
    slopes = gradient(_weighted(by[0].tape, "w", functions), by)
    return [derivative for i, slope in enumerate(slopes) for derivative in gradient(slope, by[: i + 1])]


_RESULTS: dict[str, Results] = {
    "values": lambda by, functions, active: functions,
    "jacobian": lambda by, functions, active: [slope for f in functions for slope in gradient(f, by[:active])],
    "whole_jacobian": lambda by, functions, active: [slope for f in functions for slope in gradient(f, by)],
    "linear": lambda by, functions, active: [*functions, *(slope for f in functions for slope in gradient(f, by[:active]))],
    "hessian": _hessian,
    "third": lambda by, functions, active: [slope for f in functions for slope in gradient(second_along(f, by), by)],
    "product": lambda by, functions, active: [_along(s, by) for s in gradient(_weighted(by[0].tape, "w", functions), by)],
}
"""The functions that append the results of each kind to a tape, given the variables, the functions and ``System.active``."""
