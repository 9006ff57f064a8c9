"""The gradients with respect to the results of all steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor, new_tensor
from autodiff_cli.evaluation.trace import Trace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.evaluation.evaluation import Evaluation


def step_gradients(evaluation: Evaluation) -> tuple[Trace, dict[int, NDArray[np.floating] | None]]:
    """Repeat an evaluation whose graph is freed, and return the new trace and the gradients, keyed by the id of the result."""
    evaluator = evaluation.again()
    evaluator.tensors.listing, evaluator.tensors.steps = True, []
    output = evaluator.as_tensor(evaluator.run())
    trace = evaluator.tensors.steps or []
    results = {id(step.result): step.result for step in trace if type(step.result) is Tensor and step.result._requires_grad}
    if not output._requires_grad or not results:
        return trace, {}
    start = evaluation.gradient
    if start is None:  # distinct weights prevent gradients of elements from cancelling
        start = new_tensor((1 + 0.618 * np.arange(output.numel()) % 1).astype(output.dtype).reshape(output.shape))
    result = grad(output, list(results.values()), start, allow_unused=True)
    return trace, {key: None if g is None else g._data for key, g in zip(results, result, strict=True)}
