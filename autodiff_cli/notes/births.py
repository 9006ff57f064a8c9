"""Where a value that is not finite was born: the operation that made nan or inf of what was neither, or nan of inf."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.evaluation.phrasing import among, arguments_at, beside, first_place, note, shortened, spelled
from autodiff_cli.evaluation.trace import Step, Trace, flat, pointwise, raw
from autodiff_cli.notes.rewrites import way_out

if TYPE_CHECKING:
    from autodiff_cli.evaluation.evaluation import Evaluation

Note = dict[str, Any]
MOST_BACK = 1_000
"""So many results are looked at for what was not finite before."""
_CHOOSING = (
    "where",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
    "isnan",
    "isfinite",
    "isinf",
    "maximum",
    "minimum",
    "clamp",
    "atan",
    "tanh",
)
"""Functions whose results need not depend on what they were given, or hide well that it was infinite."""


class _Birth:
    """One of these, at some elements; without a step, a value that was given."""

    def __init__(self, step: Step | None, mask: Any, result: Any, name: str = "") -> None:
        self.step = step
        self.mask = mask
        self.result = np.asarray(result)
        self.name = name


def of_value(evaluation: Evaluation) -> list[Note]:
    """The notes on an output that is not finite."""
    if is_finite(evaluation.output._data):
        return []
    born = _traced_back(evaluation)
    notes = []
    rest: list[_Birth] = []
    for one in born:
        found = None if one.step is None else _outside(one.step, one.mask, one.result, evaluation)
        if found is None:
            rest.append(one)
        else:
            notes.append(found)
    said: set[str] = set()
    for one in rest:
        where, kind = _born(one, evaluation)
        if kind not in said:
            said.add(kind)
            span = None if one.step is None else one.step.tree.span
            notes.append(note("nonfinite", f"the first {kind}: {where}", span, order=0))
    return notes


def is_finite(value: Any) -> bool:
    """Whether all elements are."""
    # The sum is a pass faster, and not finite where an element is not.
    return bool(np.isfinite(np.add.reduce(np.ravel(value)))) or bool(np.all(np.isfinite(value)))


def _bad(value: Any) -> Any:
    return ~np.isfinite(value) if isinstance(value, (float, int, np.ndarray, np.generic)) else np.False_


def _traced_back(evaluation: Evaluation) -> list[_Birth]:
    """From the output back along what is not finite, to where that began; in the order of evaluation."""
    trace = evaluation.trace
    wanted: dict[int, Any] = {id(evaluation.output): _bad(evaluation.output._data)}
    plain: list[float] = []
    made: dict[int, int] = {}
    for i, step in enumerate(trace):
        for result in step.result if isinstance(step.result, tuple) else (step.result,):
            made.setdefault(id(result), i)
    if id(evaluation.output) not in made and evaluation.output.shape == ():
        plain.append(float(evaluation.output._data))  # a number until the end
    born = []
    for i in range(len(trace) - 1, -1, -1):
        step = trace[i]
        for result in step.result if isinstance(step.result, tuple) else (step.result,):
            if type(result) is Tensor:
                mask = wanted.get(id(result)) if made[id(result)] == i else None
            else:
                mask = np.True_ if isinstance(result, float) and any(_same(result, p) for p in plain) else None
            if mask is not None:
                birth = _handed_down(step, raw(result), mask, wanted, plain)
                if birth is not None and birth.any():
                    earlier = _earlier(step, trace, made)
                    if earlier is None:
                        born.append(_Birth(step, birth, raw(result)))
                    else:
                        wanted[id(earlier)] = wanted.get(id(earlier), False) | _bad(earlier._data)
    given = [
        _Birth(None, wanted[id(leaf)], leaf._data, name)
        for name, leaf in evaluation.leaves.items()
        if id(leaf) in wanted and np.any(wanted[id(leaf)] & _bad(leaf._data))
    ]
    return [*given, *reversed(born)]


def _earlier(step: Step, trace: Trace, made: dict[int, int]) -> Tensor | None:
    """What was not finite before, and made a finite number such as 1/inf that this step was given."""
    waiting = [value for value in flat(step) if type(value) is Tensor]
    if not all(is_finite(value._data) for value in waiting):
        return None
    for _ in range(MOST_BACK):
        if not waiting:
            return None
        value = waiting.pop()
        if not is_finite(value._data):
            return value
        before = trace[made[id(value)]] if id(value) in made else None
        if before is not None and before[0] is not None and before[0].name not in _CHOOSING:
            waiting += [given for given in flat(before) if type(given) is Tensor]
    return None


def _same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def _handed_down(step: Step, result: Any, mask: Any, wanted: dict[int, Any], plain: list[float]) -> Any:
    """Mark the arguments that are to blame; the mask of what was born here."""
    arguments = list(flat(step))
    one_by_one = pointwise(step)
    shape = np.shape(result)
    mask = np.asarray(mask) & _bad(result)
    is_nan = np.isnan(result)
    some_nan: Any = np.zeros(shape, bool)
    some_bad: Any = np.zeros(shape, bool)
    chooses = step.op is not None and step.op.name == "where" and len(arguments) == 3
    for i, value in enumerate(arguments):
        numbers = raw(value)
        bad = _bad(numbers)
        if not np.any(bad):
            continue
        if one_by_one:
            taken = mask
            if chooses and i > 0:
                chosen = np.asarray(raw(arguments[0]), bool)
                taken = mask & (chosen if i == 1 else ~chosen)
            wide = np.broadcast_to(bad, shape) & taken
            some_bad = some_bad | wide
            some_nan = some_nan | (wide & np.isnan(np.broadcast_to(numbers, shape)))
            down = _narrowed(wide, np.shape(numbers))
        else:
            down = bad if mask.any() else np.zeros(np.shape(bad), bool)
            some_bad = some_bad | bool(down.any())
            some_nan = some_nan | bool(np.any(np.isnan(numbers) & down))
        if type(value) is Tensor:
            wanted[id(value)] = wanted.get(id(value), False) | down
        elif np.any(down):
            plain.append(float(numbers))
    if step.op is None:
        return None if np.any(some_bad) else mask
    return mask & np.where(is_nan, ~some_nan, ~some_bad)


def _narrowed(mask: Any, shape: tuple[int, ...]) -> Any:
    """A mask summed back to the shape that was broadcast."""
    extra = mask.ndim - len(shape)
    mask = np.logical_or.reduce(mask, axis=tuple(range(extra))) if extra else mask
    along = tuple(i for i, n in enumerate(shape) if n == 1 and mask.shape[i] != 1)
    return np.logical_or.reduce(mask, axis=along, keepdims=True) if along else mask


def _outside(step: Step, mask: Any, made: Any, evaluation: Evaluation) -> Note | None:
    """The note on a value outside of the domain; a pole between two parts of it is left to ``nonfinite``."""
    op = step.op
    if op is None or op.inside is None:
        return None
    numbers = [raw(value) for value in step.arguments], {name: raw(value) for name, value in step.keywords.items()}
    outside = np.asarray(mask & ~np.asarray(op.mask(op.inside, *numbers)))
    if not outside.any():
        return None
    place = first_place(outside)
    result = made[place] if pointwise(step) else made.reshape(-1)[0]
    if not np.isnan(result) and _is_pole(op, numbers, place, outside.shape):
        return None
    texts = arguments_at(step, place, outside.shape, True, evaluation.expression)
    if len(step.arguments) + len(step.keywords) == 1 or len(op.tensors) == 1:
        value = np.broadcast_to(np.asarray(numbers[0][0] if numbers[0] else next(iter(numbers[1].values()))), outside.shape)[place]
        message = f"{op.name} of {spelled(value)} is {result}{among(outside)}: it exists for {op.domain}"
    else:
        text = shortened(evaluation.expression, step.tree.span)
        signature = f"{op.name}({', '.join(op.tensors)})"
        message = f"{text}{beside(texts)} is {result}{among(outside)}: {signature} exists for {op.domain}"
    return note("domain", message, step.tree.span, order=0)


def _is_pole(op: FunctionInfo, numbers: tuple[list[Any], dict[str, Any]], place: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether the function exists on both sides."""
    assert op.inside is not None
    for direction in (-math.inf, math.inf):

        def beside(value: Any, direction: float = direction) -> Any:
            if not isinstance(value, (np.ndarray, np.generic, float)):
                return value
            return np.nextafter(np.broadcast_to(value, shape)[place] * 1.0, direction)

        given = [beside(value) for value in numbers[0]], {name: beside(value) for name, value in numbers[1].items()}
        if not np.all(op.mask(op.inside, *given)):
            return False
    return True


def _born(birth: _Birth, evaluation: Evaluation) -> tuple[str, str]:
    """Where, and what: nan, inf or -inf."""
    place = first_place(birth.mask)
    kind = str(birth.result[place])
    if birth.step is None:
        return f"{birth.name}, as it was given{among(birth.mask)}", kind
    step = birth.step
    texts = arguments_at(step, place, birth.mask.shape, True, evaluation.expression) if pointwise(step) else {}
    text = shortened(evaluation.expression, step.tree.span)
    with_ = beside(texts)
    out = way_out(step.tree, evaluation.evaluator.tree, overflow=True)
    return f"{text}{with_}{among(birth.mask)}{f'; {out} does not overflow' if out and kind != 'nan' else ''}", kind
