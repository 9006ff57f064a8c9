"""Steps that switch branches at the point of an evaluation: the places where there may be a kink."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.evaluation.trace import Step, elementwise_shape, flat_inputs, raw
from autodiff_cli.structs import Struct

if TYPE_CHECKING:
    from autodiff_cli.arrays import Array, Mask
    from autodiff_cli.evaluation.evaluation import Evaluation


MOST_ELEMENTS = 10_000
"""The largest number of elements that are searched for ties."""
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
_TESTING_TRUTH = ("where", "count_nonzero", "nonzero", "any", "all", "logical_not", "logical_and", "logical_or", "logical_xor")
_ORDERING = ("sort", "argsort", "topk", "cummax", "cummin", "max", "min", "argmax", "argmin", "median", "kthvalue", "msort")
_BRANCHING_AT_0 = ("xlogy", "xlog1py")  # functions that switch branches where their first argument is 0


class Switch(Struct):
    """A step that switches branches at the point.

    Attributes:
        number: the index of the step in the trace.
        step: the step.
        mask: the elements that switch.
        variables: the names of the variables that the step depends on.
    """

    number: int
    step: Step
    mask: Mask
    variables: set[str]


def switches(evaluation: Evaluation, order: int) -> list[Switch]:
    """Return the steps that switch branches at the point, for derivatives up to the given order."""
    names_behind = {id(leaf): {name} for name, leaf in evaluation.variables.items()}  # the variables that a tensor depends on
    no_names: set[str] = set()
    result = []
    for i, step in enumerate(evaluation.trace):
        variables = no_names
        for value in flat_inputs(step):
            more = names_behind.get(id(value), no_names) if type(value) is Tensor else no_names
            if not more <= variables:
                variables = variables | more if variables else more  # most steps share the set of their argument
        if not variables:
            continue
        for output in step.results:
            names_behind[id(output)] = variables
        mask = switching_elements(step, order)
        if mask is not None and np.any(mask):
            shape = elementwise_shape(step)
            mask = np.asarray(mask) if shape is None else np.broadcast_to(mask, shape)
            result.append(Switch(i, step, mask, variables))
    return result


def switching_elements(step: Step, order: int) -> Mask | bool | None:
    """Return the mask of elements at which a step switches branches, or ``None`` if it never does.

    A comparison switches where its sides are equal, an order at a tie, and other functions at their kinks.  A test of truth
    switches as a whole if any element is 0.
    """
    op = step.op
    if op is None:
        return None
    if op.name in _COMPARISONS:
        return np.asarray(np.equal(*map(raw, step.inputs)))
    first = step.arguments[0] if step.arguments else None
    if op.name in _TESTING_TRUTH or op.name in _BRANCHING_AT_0:
        if np.result_type(raw(first)) == np.bool_:
            return None
        zeros = np.equal(raw(first), 0)
        return bool(np.any(zeros)) if op.name in _TESTING_TRUTH else zeros
    mask = None
    if op.name in _ORDERING and type(first) is Tensor and 1 < first.numel() <= MOST_ELEMENTS:
        mask = _ties(first._data)
    if type(first) is Tensor and first.dtype.kind == "b":  # booleans have no kinks
        return mask
    for predicate in (op.kink, op.second_kink if order > 1 else None):  # the first one that is true somewhere decides
        if predicate is not None and not (mask is not None and np.any(mask)):
            mask = np.asarray(op.mask(predicate, *step.arrays()))
    return mask


def _ties(values: Array) -> Mask:
    """Return the mask of elements that are equal to another element."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (counts > 1)[inverse].reshape(values.shape)
