"""The values and derivatives of an evaluation to 50 digits or more, an independent reference for the answers."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext

import numpy as np
from numpy.typing import ArrayLike

from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.deadline import Late, within
from autodiff_cli.errors import FOREIGN, AutodiffError, LimitError, NotPrecise
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.language.parser import parse
from autodiff_cli.limits import lifted
from autodiff_cli.precise.arithmetic import Arithmetic, Real
from autodiff_cli.precise.difference_quotients import Differences, Index
from autodiff_cli.precise.evaluator import PreciseEvaluator, numbers, precise_tensor

MOST_OPERATIONS = 200_000
"""The limit on the number of arbitrary-precision operations, which corresponds to a few seconds."""
MOST_SECONDS = 3.0
"""The limit on the processor time for one answer."""


@contextmanager
def in_time(seconds: float) -> Iterator[None]:
    """Limit the processor time of arbitrary-precision evaluations, unless limits are lifted: raise ``NotPrecise`` after it."""
    try:
        with nullcontext() if lifted() else within(seconds):
            yield
    except Late:
        raise NotPrecise("an expression that takes this long to evaluate") from None


class Reference:
    """The arbitrary-precision values of an evaluation, and its derivatives by difference quotients.

    Args:
        evaluation: the evaluation to reproduce; its leaves are treated as exact numbers.
        order: the highest order of derivative to compute.
        digits: the required number of correct digits.
        evaluations: the approximate number of evaluations; by default, the number that all derivatives up to ``order`` require.

    Attributes:
        differences: the derivatives; their indices number the elements of all variables consecutively.
        elements: the indices of the elements of each variable.

    Raises:
        NotPrecise: if a function does not have an arbitrary-precision implementation, or if the expression is too large.
    """

    def __init__(self, evaluation: Evaluation, order: int = 1, digits: int = 50, evaluations: int | None = None) -> None:
        self.evaluation = evaluation
        self._tree = evaluation.evaluator.tree
        self._shapes = {name: leaf.shape for name, leaf in evaluation.variables.items()}
        self._constants = {name: leaf._data for name, leaf in evaluation.leaves.items() if name not in evaluation.variables}
        self.elements: dict[str, range] = {}
        self._inputs: list[float] = []  # the elements of all variables
        for name, leaf in evaluation.variables.items():
            self.elements[name] = range(len(self._inputs), len(self._inputs) + leaf.numel())
            self._inputs += np.ravel(leaf._data).astype(float).tolist()
        self._order, self._digits = order, digits
        count = len(self._inputs)
        if evaluations is None:  # about 4 for a slope, and 16 for each of count*(count + 1)/2 pairs of elements
            evaluations = 4 * count if order == 1 else 8 * count * (count + 1)
        if count * evaluations > MOST_OPERATIONS:  # check before converting many inputs to arbitrary precision
            raise NotPrecise("an expression with this many numbers")
        self.differences = Differences(self._evaluate, self._inputs, order, digits)
        self.differences.values()  # counts the operations of one evaluation
        if self.differences.math.operations * evaluations > MOST_OPERATIONS:
            raise NotPrecise("an expression with this many operations")

    def indices(self, names: Sequence[str]) -> list[Index]:
        """Return the indices of the derivatives with respect to all combinations of elements of the named variables."""
        return [tuple(sorted(index)) for index in itertools.product(*[self.elements[name] for name in names])]

    def _program(self, arithmetic: Arithmetic, inputs: Sequence[Real | float], listing: bool = False) -> PreciseEvaluator:
        """Return an evaluator of the program for numbers of all elements of the variables; ``listing`` records its tensors."""
        values: dict[str, object] = dict(self._constants)
        for name, shape in self._shapes.items():
            cells = np.array([inputs[element] for element in self.elements[name]], object)
            values[name] = precise_tensor(arithmetic, cells.reshape(shape))
        return PreciseEvaluator(self.evaluation.expression, self._tree, arithmetic, values, listing=listing)

    def _evaluate(self, arithmetic: Arithmetic, inputs: list[Real]) -> list[Real]:
        """Return the elements of the output for elements of the inputs."""
        return _elements_and_shape(arithmetic, lambda: self._program(arithmetic, inputs).output())[0]

    def values_at(self, inputs: list[Real]) -> list[Real]:
        """Return the elements of the output at other elements of the inputs, or raise ``NotPrecise`` if they cannot be computed."""
        return self._evaluate(self.differences.math, inputs)

    def weighted(self, weights: ArrayLike) -> Reference:
        """Return a copy of this reference for the sum of the outputs, each times its weight."""

        def evaluate(arithmetic: Arithmetic, inputs: list[Real]) -> list[Real]:
            values = self._evaluate(arithmetic, inputs)
            parts = [value * float(weight) for value, weight in zip(values, np.ravel(weights), strict=True)]
            return [sum(parts, arithmetic.zero)]

        reference = copy.copy(self)
        reference.differences = Differences(evaluate, self._inputs, self._order, self._digits)
        return reference

    def along(self) -> Differences:
        """Return the derivatives with respect to one number, at 0, that is added to all elements of the single variable."""
        if len(self._inputs) == 1:
            return self.differences

        def evaluate(arithmetic: Arithmetic, inputs: list[Real]) -> list[Real]:
            (shift,) = inputs
            return self._evaluate(arithmetic, [arithmetic.mpf(x) + shift for x in self._inputs])

        return Differences(evaluate, [0.0], self._order, self._digits)

    def evaluate_formula(self, formula: str) -> tuple[list[Real], tuple[int, ...]]:
        """Return the elements and the shape of an expression with the program's names and functions, or raise ``NotPrecise``."""
        arithmetic, text = self.differences.math, formula.strip()

        def compute() -> Tensor:
            program = self._program(arithmetic, self._inputs)
            program.run()  # assigns the names of the program
            tensors = {name: value for name, value in program.names.items() if isinstance(value, Tensor)}
            evaluator = PreciseEvaluator(text, parse(text), arithmetic, tensors)
            evaluator.functions.update(program.functions)
            return evaluator.output()

        return _elements_and_shape(arithmetic, compute)

    def tensors(self) -> list[Tensor]:
        """Return all tensors of the program in the order of evaluation, which is the order of ``Evaluator.named``."""
        program = self._program(self.differences.math, self._inputs, listing=True)
        program.output()
        return [tensor for tensor, _, _ in program.named()]


def _elements_and_shape(arithmetic: Arithmetic, compute: Callable[[], Tensor]) -> tuple[list[Real], tuple[int, ...]]:
    """Compute a tensor, and return its elements and its shape; an error of the computation becomes ``NotPrecise``."""
    try:
        tensor = compute()
        return [arithmetic.mpf(number) for number in numbers(tensor)], tensor.shape
    except (NotPrecise, LimitError):
        raise
    except (AutodiffError, *FOREIGN) as error:  # the program itself is valid, because it succeeded in float64
        raise NotPrecise("this expression") from error
