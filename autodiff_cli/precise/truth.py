"""What an expression and its derivatives are, to 50 digits: the independent side of ``gradcheck`` and of ``--verify``."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.deadline import Late, within
from autodiff_cli.errors import FOREIGN, AutodiffError, LimitError, NotPrecise
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.language.parser import parse
from autodiff_cli.limits import lifted
from autodiff_cli.precise.differences import Differences
from autodiff_cli.precise.evaluator import PreciseEvaluator, numbers
from autodiff_cli.precise.number import Arithmetic
from autodiff_cli.precise.tensor import precise

MOST_OPERATIONS = 200_000
"""Operations with many digits, a few seconds."""
MOST_SECONDS = 3.0
"""Of processor time, for one answer."""


@contextmanager
def in_time(seconds: float) -> Iterator[None]:
    """Limit the processor time of evaluations with many digits, which the number of operations does not tell.

    Raises:
        NotPrecise: when the time is over.
    """
    try:
        with nullcontext() if lifted() else within(seconds):
            yield
    except Late:
        raise NotPrecise("an expression that takes so long") from None


class Truth:
    """The program of an evaluation at its point, computed from values with many digits.

    Args:
        evaluation: the evaluation; its leaves are taken as the numbers that they are.
        order: the highest order of derivative that will be asked for.
        digits: how many right digits are wanted.
        evaluations: about how many evaluations will be made.

    Attributes:
        differences: the derivatives; an index counts the elements of the variables, one variable after the other.

    Raises:
        NotPrecise: if a function has no form with many digits, or the expression is too large for that.
    """

    def __init__(self, evaluation: Evaluation, order: int = 1, digits: int = 50, evaluations: int = 0) -> None:
        self.evaluation = evaluation
        self._tree = evaluation.evaluator.tree
        self._shapes = {name: leaf.shape for name, leaf in evaluation.variables.items()}
        self._constants = {name: leaf._data for name, leaf in evaluation.leaves.items() if name not in evaluation.variables}
        inputs = [float(x) for leaf in evaluation.variables.values() for x in np.ravel(leaf._data)]
        self._inputs, self._order, self._digits = inputs, order, digits
        if len(inputs) * evaluations > MOST_OPERATIONS:  # before they become numbers of many digits
            raise NotPrecise("an expression of so many numbers")
        self.differences = Differences(self._evaluate, inputs, order, digits)
        self.differences.values()
        if self.differences.math.operations * evaluations > MOST_OPERATIONS:
            raise NotPrecise("an expression of so many operations")

    def first(self, name: str) -> int:
        """The index of the first element of a variable."""
        names = list(self._shapes)
        return sum(math.prod(self._shapes[before]) for before in names[: names.index(name)])

    def size(self, name: str) -> int:
        """How many elements a variable has."""
        return math.prod(self._shapes[name])

    def _program(self, arithmetic: Arithmetic, inputs: list[Any], listing: bool = False) -> PreciseEvaluator:
        values: dict[str, Any] = dict(self._constants)
        taken = 0
        for name, shape in self._shapes.items():
            cells = np.empty(shape, object)
            for i in range(cells.size):
                cells.flat[i] = inputs[taken + i]
            values[name] = precise(arithmetic, cells)
            taken += cells.size
        return PreciseEvaluator(self.evaluation.expression, self._tree, arithmetic, values, listing)

    def _evaluate(self, arithmetic: Arithmetic, inputs: list[Any]) -> list[Any]:
        return self._numbers(lambda: self._program(arithmetic, inputs).output())

    def _numbers(self, compute: Any) -> list[Any]:
        try:
            return numbers(compute())
        except (NotPrecise, LimitError):
            raise
        except (AutodiffError, *FOREIGN) as error:
            # What floats were allowed to do, numbers of another kind may not be.
            raise NotPrecise("this expression") from error

    def weighted(self, weights: Any) -> Truth:
        """The same for the sum of the outputs, each times its weight."""

        def evaluate(arithmetic: Arithmetic, inputs: list[Any]) -> list[Any]:
            values = self._evaluate(arithmetic, inputs)
            parts = [value * float(weight) for value, weight in zip(values, np.ravel(weights), strict=True)]
            return [sum(parts, arithmetic.zero)]

        other = copy.copy(self)
        other.differences = Differences(evaluate, self._inputs, self._order, self._digits)
        return other

    def along(self) -> Differences:
        """The derivatives along the direction in which all elements of the one variable move by the same amount."""
        if len(self._inputs) == 1:
            return self.differences

        def evaluate(arithmetic: Arithmetic, inputs: list[Any]) -> list[Any]:
            return self._evaluate(arithmetic, [arithmetic.mp.mpf(x) + inputs[0] for x in self._inputs])

        return Differences(evaluate, [0.0], self._order, self._digits)

    def follow_up(self, formula: str) -> tuple[list[Any], tuple[int, ...]]:
        """Another expression over the names and functions of the program, and its shape.

        Raises:
            NotPrecise: as the program itself.
        """
        arithmetic = self.differences.math
        found: list[Tensor] = []

        def compute() -> Tensor:
            program = self._program(arithmetic, [arithmetic.mp.mpf(x) for x in self._inputs])
            program.run()
            names: Mapping[str, Any] = {n: v for n, v in program.names.items() if isinstance(v, Tensor)}
            other = PreciseEvaluator(formula.strip(), parse(formula.strip()), arithmetic, names)
            other.functions.update(program.functions)
            found.append(other.output())
            return found[0]

        values = self._numbers(compute)
        return values, found[0].shape

    def tensors(self) -> list[Tensor]:
        """All tensors of the program, in the order of evaluation, as ``Evaluator.named`` has them."""
        arithmetic = self.differences.math
        program = self._program(arithmetic, [arithmetic.mp.mpf(x) for x in self._inputs], listing=True)
        program.output()
        return [tensor for tensor, _, _ in program.named()]
