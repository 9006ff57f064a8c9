"""Repeated evaluations with perturbed rounding errors; a derivative that changes considerably in them is inaccurate."""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.higher_order import Index, partials
from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.autograd.tensor import Tensor, new_tensor
from autodiff_cli.evaluation.evaluator import Evaluator
from autodiff_cli.evaluation.trace import raw
from autodiff_cli.language.tree import Syntax
from autodiff_cli.notes.cancellation import EXACT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.evaluation.evaluation import Evaluation

    Derivatives = dict["Key", NDArray[np.floating]]

MOST_STEPS = 500
MOST_ELEMENTS = 1_000
MOST_VARIABLES = {1: 64, 2: 12}
"""The largest number of variable elements in a trial, for each order of the derivatives."""
MOST_PLACES = 8
"""The largest number of output elements that are differentiated separately."""
SEEDS = (1, 2)
"""The seeds of the trials; with shifted variables, seed 1 shifts down and seed 2 shifts up."""

Place = tuple[int, ...] | None
"""The index of an output element; ``None`` for the scalar that the backward pass starts from."""
Key = tuple[Place, Index]


class _RoundingEvaluator(Evaluator):
    """An evaluator that multiplies each rounded result by a factor near 1, and its gradient by another factor near 1.

    Equal results of a function have equal factors, as actual rounding errors would be equal.
    """

    def __init__(self, evaluation: Evaluation, variables: Mapping[str, Tensor], seed: int) -> None:
        leaves = {**evaluation.leaves, **variables}
        super().__init__(evaluation.expression, leaves, np.dtype(evaluation.dtype), evaluation.evaluator.tree)
        self.tensors.listing = False
        self._seed = seed
        self._eps = float(np.finfo(evaluation.dtype).eps)

    def apply(self, op: FunctionInfo, arguments: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        """Apply a function, and change its result and later its gradient as roundings would, unless it is exact or too large."""
        result = super().apply(op, arguments, named, node)
        if type(result) is not Tensor or result.dtype.kind != "f" or result.numel() > MOST_ELEMENTS or op.name in EXACT:
            return result
        seed = zlib.crc32(np.ascontiguousarray(result._data).tobytes(), zlib.crc32(op.name.encode(), self._seed))
        moved = result * self._factor(seed, result)
        if moved.requires_grad:  # the backward pass also rounds the cotangent
            back = self._factor(seed + 1, result)
            moved.register_hook(lambda gradient: None if gradient is None else gradient * back)
        return moved

    def _factor(self, seed: int, result: Tensor) -> Tensor:
        """Return a factor near 1 for each element, which is the same for equal seeds."""
        generator = random.Random(seed)  # numpy.random takes 10 ms to import
        # In units of eps: the rounding of the product may hide a relative change of less than 4.
        changes = [generator.choice((-1.0, 1.0)) * generator.uniform(4.0, 8.0) for _ in range(result.numel())]
        return new_tensor((1 + self._eps * np.reshape(changes, result.shape)).astype(result.dtype))


def _shifted_leaf(leaf: Tensor, seed: int) -> Tensor:
    """Return a variable scaled by a factor near 1 (1 ± 1e-6 for float64), so that all results round differently."""
    direction = 2 * seed - 3  # -1 or 1
    factor = 1 + direction * float(np.finfo(leaf.dtype).eps) ** 0.375
    return new_tensor((leaf._data * factor).astype(leaf.dtype), requires_grad=True)


def repeat_evaluation(evaluation: Evaluation, seed: int | None = None, moves: bool = False) -> tuple[Tensor, dict[str, Tensor]]:
    """Evaluate the program again, and return its output and variables.

    The seed is that of simulated rounding errors, ``None`` for no simulated errors.  With a seed, ``moves`` shifts the variables.
    """
    # The leaves are detached to remove the user's hooks, because hooks change gradients but not derivatives.
    variables = {name: leaf.detach().requires_grad_() for name, leaf in evaluation.variables.items()}
    if seed is None:
        return evaluation.recomputed(variables), variables
    if moves:
        variables = {name: _shifted_leaf(leaf, seed) for name, leaf in variables.items()}
    evaluator = _RoundingEvaluator(evaluation, variables, seed)
    return evaluator.as_tensor(evaluator.run()), variables


def derivatives(evaluation: Evaluation, order: int, seed: int | None = None, moves: bool = False) -> Derivatives:
    """Return the derivatives up to the given order of a repeated evaluation; see ``repeat_evaluation``."""
    output, variables = repeat_evaluation(evaluation, seed, moves)
    result: Derivatives = {}
    for place in _places(evaluation):
        element = output if place is None else output[place]
        if element._requires_grad:
            derivatives_by_index = partials(element, variables, order, evaluation.gradient)
            result.update({(place, index): np.asarray(value) for index, value in derivatives_by_index.items()})
    return result


def _places(evaluation: Evaluation) -> Iterator[Place]:
    """Return the first ``MOST_PLACES`` elements of the output, or ``None`` alone if a backward pass can start from all of it."""
    output = evaluation.output
    if output.numel() == 1 or evaluation.gradient is not None:
        return iter((None,))
    return itertools.islice(np.ndindex(output.shape), MOST_PLACES)


def is_small_enough(evaluation: Evaluation, order: int) -> bool:
    """Return whether an evaluation is small enough to repeat a few times."""
    count = sum(leaf.numel() for leaf in evaluation.variables.values())
    sizes = (np.size(raw(step.result)) for step in evaluation.trace if not isinstance(step.result, tuple))
    return len(evaluation.trace) <= MOST_STEPS and count <= MOST_VARIABLES[order] and max(sizes, default=0) <= MOST_ELEMENTS


def uncertain_derivatives(evaluation: Evaluation, order: int, values: Derivatives, limit: float, moves: bool) -> list[Key]:
    """Return the finite derivatives, among ``values`` up to an order, whose relative change in trials exceeds a limit.

    Trials perturb rounding errors.  With ``moves``, further trials shift the variables, which reveals derivatives that do not vary
    linearly near the point.
    """
    trials = [derivatives(evaluation, order, seed) for seed in SEEDS]
    shifted = [derivatives(evaluation, order, seed, moves=True) for seed in SEEDS] if moves else []
    uncertain = []
    for key, value in values.items():
        if not np.all(np.isfinite(value)):
            continue
        changes = [np.abs(trial.get(key, value) - value) for trial in trials]
        if moves and all(key in trial for trial in shifted):
            changes.append(np.abs(shifted[0][key] / 2 + shifted[1][key] / 2 - value))  # linear changes cancel
        if any(np.any(change > limit * np.abs(value)) for change in changes):
            uncertain.append(key)
    return uncertain
