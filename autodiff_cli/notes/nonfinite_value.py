"""The origin of a non-finite value: the operation that returned nan or inf for finite arguments, or nan for infinite ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.evaluation.note_phrases import Note, describe_step, elements_phrase, first_true_index, note
from autodiff_cli.evaluation.trace import Step, flat_inputs, is_pointwise, raw
from autodiff_cli.notes.rewrites import stable_rewrite

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from autodiff_cli.arrays import Mask
    from autodiff_cli.evaluation.evaluation import Evaluation


MOST_BACK = 1_000
"""The largest number of earlier results that are searched for a non-finite one."""
_REGULAR_AT_INFINITY = {
    *("where", "lt", "le", "gt", "ge", "eq", "ne", "isnan", "isfinite", "isinf", "maximum", "minimum", "clamp"),
    *("atan", "tanh"),
}
"""Functions with regular finite results for infinite arguments, through which the search does not continue."""


class _Origin(NamedTuple):
    """A value with non-finite elements that no earlier value explains: the result of a step, or the value of a variable."""

    step: Step | None
    mask: Mask
    value: NDArray[Any]
    name: str = ""


def nonfinite_value_notes(evaluation: Evaluation) -> list[Note]:
    """Return the notes on a non-finite output: on arguments outside of a domain, and on the first other nan, inf and -inf."""
    if is_finite(evaluation.output._data):
        return []
    notes = []
    first_of_kind: dict[str, Note] = {}
    for origin in _Search(evaluation).origins():
        domain_note = _domain_note(origin, evaluation)
        if domain_note is not None:
            notes.append(domain_note)
        else:
            kind = str(origin.value[first_true_index(origin.mask)])
            if kind not in first_of_kind:
                first_of_kind[kind] = _origin_note(origin, kind, evaluation)
    return [*notes, *first_of_kind.values()]


def is_finite(value: ArrayLike) -> bool:
    """Return whether all elements are finite."""
    # A sum is finite only if all elements are finite, and takes one pass fewer than a test of each element.
    return bool(np.isfinite(np.add.reduce(np.ravel(value)))) or bool(np.all(np.isfinite(value)))


def _nonfinite_mask(value: object) -> Mask:
    """Return the mask of the elements that are not finite; of a value without numbers, no element."""
    return np.asarray(~np.isfinite(value)) if isinstance(value, (float, int, np.ndarray, np.generic)) else np.zeros((), bool)


class _Search:
    """A search from the output back through non-finite values: the elements that explain those of the output."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.leaves = evaluation.leaves
        self.trace = evaluation.trace
        output = evaluation.output
        self.masks: dict[int, Mask] = {id(output): _nonfinite_mask(output._data)}  # of the explaining elements, by tensor id
        self.plain: list[float] = []  # the explaining Python numbers
        self.places: dict[int, int] = {}  # the number of the step that computed each tensor, by its id
        for i, step in enumerate(self.trace):
            for result in step.results:
                self.places.setdefault(id(result), i)
        if id(output) not in self.places and output.shape == ():
            self.plain.append(float(output._data))  # the result of the program was a Python number

    def origins(self) -> list[_Origin]:
        """Return the origins of the non-finite values in the order of evaluation."""
        origins = []
        for i, step in reversed([*enumerate(self.trace)]):
            for result in step.results:
                mask = self._explaining_mask(i, result)
                if mask is None:
                    continue
                unexplained = self._mark_causes(step, raw(result), mask)
                if not unexplained.any():
                    continue
                earlier = self._earlier_nonfinite(step)
                if earlier is None:
                    origins.append(_Origin(step, unexplained, np.asarray(raw(result))))
                else:
                    self._add_mask(earlier, _nonfinite_mask(earlier._data))
        given = []  # the variables whose own values are origins
        for name, leaf in self.leaves.items():
            mask = self.masks.get(id(leaf))
            if mask is not None and np.any(mask & _nonfinite_mask(leaf._data)):
                given.append(_Origin(None, mask, np.asarray(leaf._data), name))
        return [*given, *reversed(origins)]

    def _explaining_mask(self, i: int, result: object) -> Mask | None:
        """Return the elements of a result of step ``i`` that explain the output; ``None`` if there are none."""
        if type(result) is Tensor:  # which a later step, such as one in place, may return again
            return self.masks.get(id(result)) if self.places[id(result)] == i else None
        is_plain = isinstance(result, float) and any(result == p or (math.isnan(result) and math.isnan(p)) for p in self.plain)
        return np.ones((), bool) if is_plain else None

    def _add_mask(self, tensor: Tensor, mask: Mask) -> None:
        """Mark elements of a tensor as explaining the output."""
        self.masks[id(tensor)] = self.masks.get(id(tensor), False) | mask

    def _earlier_nonfinite(self, step: Step) -> Tensor | None:
        """Return an earlier non-finite result behind the arguments of a step, as 1/inf is 0; ``None`` if one is not finite."""
        pending = [value for value in flat_inputs(step) if type(value) is Tensor]
        if not all(is_finite(value._data) for value in pending):
            return None
        for _ in range(MOST_BACK):
            if not pending:
                return None
            value = pending.pop()
            if not is_finite(value._data):
                return value
            maker = self.trace[self.places[id(value)]] if id(value) in self.places else None  # no step made a variable
            if maker is not None and maker.op is not None and maker.op.name not in _REGULAR_AT_INFINITY:
                pending += [argument for argument in flat_inputs(maker) if type(argument) is Tensor]
        return None

    def _mark_causes(self, step: Step, result: NDArray[Any] | float, mask: Mask) -> Mask:
        """Mark the elements of arguments that explain the elements ``mask`` of a result; return those that no argument explains."""
        arguments = list(flat_inputs(step))
        shape = np.shape(result)
        mask = np.asarray(mask) & _nonfinite_mask(result)
        has_nan_cause, has_cause = np.zeros(shape, bool), np.zeros(shape, bool)
        for value, dependent in zip(arguments, _dependent_elements(step, arguments, mask), strict=True):
            numbers = raw(value)
            nonfinite = _nonfinite_mask(numbers)
            if not np.any(nonfinite):
                continue
            if is_pointwise(step):  # element by element
                explained = np.broadcast_to(nonfinite, shape) & dependent
                has_cause = has_cause | explained
                has_nan_cause = has_nan_cause | (explained & np.isnan(np.broadcast_to(numbers, shape)))
                causes = _reduced_mask(explained, np.shape(numbers))
            else:  # each element of the result may depend on each element of the argument
                causes = nonfinite & mask.any()
                has_cause = has_cause | bool(causes.any())
                has_nan_cause = has_nan_cause | bool(np.any(np.isnan(numbers) & causes))
            if type(value) is Tensor:
                self._add_mask(value, causes)
            elif np.any(causes):
                self.plain.append(float(numbers))
        if step.op is None:  # an index, for example, moves elements to other places
            return mask & ~np.any(has_cause)
        return mask & np.where(np.isnan(result), ~has_nan_cause, ~has_cause)  # an infinite argument does not explain a nan


def _dependent_elements(step: Step, arguments: list[Any], mask: Mask) -> Iterator[Mask]:
    """Yield, for each argument, the mask of result elements that depend on it; for ``where``, the elements taken from it."""
    is_choice = step.op is not None and step.op.name == "where" and len(arguments) == 3 and is_pointwise(step)
    if not is_choice:
        yield from [mask] * len(arguments)
        return
    condition = np.asarray(raw(arguments[0]), bool)
    yield from (mask, mask & condition, mask & ~condition)


def _reduced_mask(mask: Mask, shape: tuple[int, ...]) -> Mask:
    """Reduce a broadcast mask to the original shape: an element is true if any of its copies is."""
    added = mask.ndim - len(shape)  # the number of leading dimensions that broadcasting added
    mask = np.logical_or.reduce(mask, axis=tuple(range(added))) if added else mask
    stretched = tuple(i for i, n in enumerate(shape) if n == 1 and mask.shape[i] != 1)
    return np.logical_or.reduce(mask, axis=stretched, keepdims=True) if stretched else mask


def _domain_note(origin: _Origin, evaluation: Evaluation) -> Note | None:
    """Return the note on an argument outside of the domain, or ``None`` for an argument in the domain or at a pole."""
    step = origin.step
    if step is None or (op := step.op) is None or op.inside is None:
        return None
    positional, named = step.arrays()
    outside = np.asarray(origin.mask & ~np.asarray(op.mask(op.inside, positional, named)))
    if not outside.any():
        return None
    place = first_true_index(outside)
    result = origin.value[place] if is_pointwise(step) else origin.value.reshape(-1)[0]
    if not np.isnan(result) and _is_pole(op, positional, named, place, outside.shape):
        return None
    if len(step.inputs) == 1 or len(op.tensors) == 1:
        argument = np.asarray([*positional, *named.values()][0])
        call = f"{op.name}({np.broadcast_to(argument, outside.shape)[place]})"
        message = f"{call} is {result}{elements_phrase(outside)}: {op.name} is defined for {op.domain}"
    else:
        description = describe_step(evaluation, step, outside, True)
        call, signature = f"{description.text}{description.arguments}", f"{op.name}({', '.join(op.tensors)})"
        message = f"{call} is {result}{description.elements}: {signature} is defined for {op.domain}"
    return note("domain", message, step.tree.span, order=0)


def _is_pole(
    op: FunctionInfo, positional: Sequence[Any], named: Mapping[str, Any], place: tuple[int, ...], shape: tuple[int, ...]
) -> bool:
    """Return whether a function is defined on both sides of its arguments, at a ``place`` of the result, which has a shape."""
    assert op.inside is not None
    for direction in (-math.inf, math.inf):
        near_positional = [_neighbour(value, place, shape, direction) for value in positional]
        near_named = {name: _neighbour(value, place, shape, direction) for name, value in named.items()}
        if not np.all(op.mask(op.inside, near_positional, near_named)):
            return False
    return True


def _neighbour(value: Any, place: tuple[int, ...], shape: tuple[int, ...], direction: float) -> Any:
    """Return the float next to the element of an argument at a place of the result; an option stays as it is."""
    if not isinstance(value, (np.ndarray, np.generic, float)):
        return value
    return np.nextafter(np.broadcast_to(value, shape)[place] * 1.0, direction)


def _origin_note(origin: _Origin, kind: str, evaluation: Evaluation) -> Note:
    """Return the note on the first value of a kind: ``nan``, ``inf`` or ``-inf``."""
    step = origin.step
    if step is None:
        return note("nonfinite", f"the first {kind} is the given value of {origin.name}{elements_phrase(origin.mask)}", order=0)
    description = describe_step(evaluation, step, origin.mask, True)
    if not is_pointwise(step):
        description = description._replace(arguments="")  # the elements of its arguments are not those of the result
    rewrite = stable_rewrite(step.tree, evaluation.evaluator.tree, overflow=True) if kind != "nan" else None
    instead = f"; {rewrite} does not overflow" if rewrite else ""
    return note("nonfinite", f"the first {kind}: {description}{instead}", step.tree.span, order=0)
