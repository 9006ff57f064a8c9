"""What a person should know about an evaluation: kinks, ends of domains, where nan and inf come from, lost digits.

Notes are worked out from the trace when somebody reads them.  They say what happened at the point and change nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.modes import enable_grad
from autodiff_cli.autograd.op import Op
from autodiff_cli.autograd.sweep import grad
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import AutodiffError, GraphError, LinAlgError
from autodiff_cli.language.cancellation import lost_digits
from autodiff_cli.language.hints import way_out
from autodiff_cli.language.trace import Met, Step, Trace, flat, invoke, kinks, pointwise, raw
from autodiff_cli.language.wording import among, arguments_at, call_text, first_place, note, shortened, spelled

if TYPE_CHECKING:
    from autodiff_cli.language.session import Session

Note = dict[str, Any]
MOST_OF_A_KIND = 5
MOST_ELEMENTS = 10_000
"""An operation that is no element-wise one is asked for its one-sided derivatives up to this size."""
STRICT = False
"""Whether a mistake in here is raised; tests do, but no user loses an answer to a note about it."""

_NAMES = {"kink": "kinks", "domain": "ends of domains", "nonfinite": "of nan and inf", "cancellation": "places that lose digits"}
_NEAR, _NEARER = 1e-8, 1e-12
"""Steps to the side, relative to the place."""


def _beside(texts: Mapping[str, str]) -> str:
    """`` with x = 0.0``, for those arguments that do not stand in the expression as they are."""
    shown = [text for text in texts.values() if text]
    return f" with {', '.join(shown)}" if shown else ""


def notes_on(session: Session, numbers: Sequence[tuple[str, Any]], order: int) -> list[Note]:
    """The notes on one evaluation.

    Args:
        session: the evaluation.
        numbers: its derivatives, with what they are called.
        order: the highest order of them.
    """
    parts: list[Callable[[], list[Note]]] = [
        lambda: _kinks(session, order) if numbers else [],
        lambda: _births(session),
        lambda: _derivative_births(session, numbers, order),
        lambda: _cancellations(session),
    ]
    notes: list[Note] = []
    with np.errstate(all="ignore"), enable_grad():
        for part in parts:
            try:
                notes += _limited(part())
            except LinAlgError:  # what a note would be about has no inverse within rounding
                pass
            except Exception:
                if STRICT:
                    raise
    return notes


def _limited(notes: list[Note]) -> list[Note]:
    """The first few of each kind, each said once."""
    kept: list[Note] = []
    more: dict[str, int] = {}
    said: dict[str, set[Any]] = {}
    for one in notes:
        places = said.setdefault(one["kind"], set())
        place = None if one["span"] is None else tuple(one["span"])
        if place in places or len(places) >= MOST_OF_A_KIND:  # the same place in a function that is called often
            more[one["kind"]] = more.get(one["kind"], 0) + 1
        else:
            places.add(place)
            kept.append(one)
    return kept + [note(kind, f"and {count} more {_NAMES[kind]}") for kind, count in more.items()]


# Kinks


def _kinks(session: Session, order: int) -> list[Note]:
    met = kinks(session.trace, order)
    if not met:
        return []
    trace, gradients = _arriving(session, order)
    notes = []
    for one in met:
        mask = _felt(one, gradients.get(id(trace[one.index][3])))
        if mask.any():
            found = _kink(one.step, mask, one.order, session)
            if found is not None:
                notes.append(found)
    return notes


def _felt(one: Met, arrived: Any) -> Any:
    """The elements where a gradient arrives: elsewhere no result depends on the convention."""
    if arrived is None:
        return one.mask & False
    seen = arrived != 0
    # The result of a reduction has another shape.
    return one.mask & (seen if seen.shape == one.mask.shape else bool(np.any(seen)))


def _kink(step: Step, mask: Any, order: int, session: Session) -> Note | None:
    """What is used at the first of these elements, and what the operation does on both sides of it."""
    op = step[0]
    assert op is not None
    one_by_one = pointwise(step) or "reduction" in op.parameters
    if one_by_one:  # of a loss the mask may have the shape of one argument only
        shapes = [raw(value).shape for value in flat(step) if type(value) is Tensor]
        mask = np.broadcast_to(mask, np.broadcast_shapes(np.shape(mask), *shapes))
    place = first_place(mask)
    sides: list[_Sides] = []
    by = [key for key, value in _slots(step) if type(value) is Tensor and value._requires_grad]
    if one_by_one or _same_places(step, by, mask.shape):
        found = (_Sides(step, key, place, mask.shape if one_by_one else None, order) for key in by)
        sides = [one for one in found if one.differ]
        if not sides:
            return None
    texts = arguments_at(step, place, mask.shape, one_by_one, session.expression, human=True)
    where = f"{call_text(step, session.expression)} at {', '.join(texts.values())}{among(mask)}"
    return note("kink", f"{where}: {_said(sides, op, texts, order, len(by) > 1)}", step[4].span)


def _same_places(step: Step, by: list[Any], shape: tuple[int, ...]) -> bool:
    """Whether what is differentiated by has its elements where the mask has them, and there are few enough to look."""
    values = dict(_slots(step))
    few = all(np.size(raw(value)) <= MOST_ELEMENTS for value in flat(step))
    return few and all(np.shape(raw(values[key])) == shape for key in by)


def _said(sides: list[_Sides], op: Op, texts: Mapping[Any, str], order: int, several: bool) -> str:
    derivative = "derivative" if order == 1 else "second derivative"
    source = _source(op.convention)
    if not sides:
        return op.convention
    parts = []
    for i, one in enumerate(sides):
        by = f" by {texts[one.key].partition(' = ')[0]}" if several and one.key in texts else ""
        begin = f"the {derivative}{by} used is" if i == 0 else f"{by.strip()} it is"
        parts.append(f"{begin} {_short(one.used)}{source if i == 0 else ''}{',' if len(sides) > 1 else ';'} {one.words}")
    return "; ".join(parts)


def _source(convention: str) -> str:
    if "(PyTorch)" in convention:
        return " (PyTorch)"
    about = next((part.strip() for part in convention.split(";") if "PyTorch" in part), "")
    about = about[about.find("(PyTorch") + 1 :].rstrip(")") if "(PyTorch" in about else about
    return f" ({about})" if about else ""


def _short(value: float) -> str:
    return f"{0.0 if abs(value) < 1e-9 else value:.6g}"


class _Sides:
    """The derivative of one operation by one argument: at a kink, and to the left and right of it."""

    def __init__(self, step: Step, key: Any, place: tuple[int, ...], shape: tuple[int, ...] | None, order: int) -> None:
        self.key = key
        self._step, self._place, self._shape, self._order = step, place, shape, order
        self.used = self._look(0.0)[1]
        scale = max(1.0, abs(float(self._values()[key][place if shape is None else ()])))
        self._left, before = self._limit(-scale)
        self._right, after = self._limit(scale)
        near, far = abs(after[1] - before[1]), abs(after[0] - before[0])
        # Across a jump the difference stays; across a root it shrinks with the step.
        jumps = near > 1e-9 and near > far / 2
        self._jump = (round(before[1], 9), round(after[1], 9)) if jumps and order == 1 else None
        same = self.used == self._left == self._right
        close = math.isclose(self.used, self._left, abs_tol=1e-9) and math.isclose(self.used, self._right, abs_tol=1e-9)
        self.differ = self._jump is not None or not (same or (math.isfinite(self.used) and close)) or math.isinf(self.used)

    @property
    def words(self) -> str:
        jump = "" if self._jump is None else f"the value jumps from {_short(self._jump[0])} to {_short(self._jump[1])}"
        if jump and self._left == self._right == self.used:
            return jump
        left, right = ("does not exist" if math.isnan(side) else f"is {_short(side)}" for side in (self._left, self._right))
        again = right.removeprefix("is ") if left.startswith("is ") and right.startswith("is ") else f"it {right}"
        return f"from the left it {left}, from the right {again}" + (f"; {jump}" if jump else "")

    def _limit(self, scale: float) -> tuple[float, tuple[float, float]]:
        """The derivative on one side, infinite if it grows without end, and the values at two places there."""
        (first, near), (second, nearer) = (self._look(scale * step) for step in (_NEAR, _NEARER))
        if abs(nearer) > 3 * abs(near) and abs(nearer) > 100:
            nearer = math.copysign(math.inf, nearer)
        elif abs(nearer) < 1e-9 < abs(near) or abs(nearer - round(nearer, 6)) < 1e-9:
            nearer = round(nearer, 6)
        return nearer, (first, second)

    def _values(self) -> dict[Any, Any]:
        """The arguments as numbers; of an operation on single elements those of this one."""
        values = {}
        for key, value in _slots(self._step):
            if type(value) is not Tensor:
                values[key] = value
            elif self._shape is None:
                values[key] = np.array(value._data, np.float64)
            else:
                values[key] = np.float64(np.broadcast_to(value._data, self._shape)[self._place])
        return values

    def _look(self, shift: float) -> tuple[float, float]:
        """Value and derivative a little to the side."""
        op, values = self._step[0], self._values()
        assert op is not None
        if self._shape is None:
            values[self.key][self._place] += shift
        else:
            values[self.key] = values[self.key] + shift
        leaf = Tensor(values[self.key], requires_grad=True)
        given = {key: raw_or_tensor(value) for key, value in values.items()}
        given[self.key] = leaf
        arguments = [given[i] for i in range(len(self._step[1]))]
        try:
            output = invoke(op, arguments, {name: given[name] for name in self._step[2]})
        except AutodiffError:  # a function that refuses what is outside of its domain
            return math.nan, math.nan
        total = output.sum() if output.shape else output
        value = float(total._data)
        place = self._place if self._shape is None else ()
        if math.isnan(value):
            return value, math.nan
        slope = grad(total, leaf, create_graph=self._order > 1, materialize_grads=True)[0]
        if self._order > 1:
            slope = grad(slope.sum(), leaf, materialize_grads=True)[0] if slope.requires_grad else leaf.detach() * 0
        return value, float(slope._data[place])


def raw_or_tensor(value: Any) -> Any:
    """Arrays as tensors without a gradient, plain arguments as they are."""
    return Tensor(value) if isinstance(value, (np.ndarray, np.generic)) else value


def _slots(step: Step) -> list[tuple[Any, Any]]:
    """Arguments by position, keywords by name."""
    return [*enumerate(step[1]), *step[2].items()]


# Where a value that is no number was born


class _Birth:
    """An operation that made nan or inf of what was neither, or nan of inf."""

    def __init__(self, step: Step | None, mask: Any, result: Any, name: str = "") -> None:
        self.step = step
        self.mask = mask
        self.result = np.asarray(result)
        self.name = name


def _births(session: Session) -> list[Note]:
    if _finite(session.output._data):
        return []
    born = _traced_back(session)
    notes = []
    rest: list[_Birth] = []
    for one in born:
        found = None if one.step is None else _outside(one.step, one.mask, one.result, session)
        if found is None:
            rest.append(one)
        else:
            notes.append(found)
    said: set[str] = set()
    for one in rest:
        where, kind = _born(one, session)
        if kind not in said:
            said.add(kind)
            span = None if one.step is None else one.step[4].span
            notes.append(note("nonfinite", f"the first {kind}: {where}", span))
    return notes


def _finite(value: Any) -> bool:
    # The sum is a pass faster, and not finite where an element is not.
    return bool(np.isfinite(np.add.reduce(np.ravel(value)))) or bool(np.all(np.isfinite(value)))


def _bad(value: Any) -> Any:
    return ~np.isfinite(value) if isinstance(value, (float, int, np.ndarray, np.generic)) else np.False_


def _traced_back(session: Session) -> list[_Birth]:
    """From the output back along what is not finite, to where that began; in the order of evaluation."""
    trace = session.trace
    wanted: dict[int, Any] = {id(session.output): _bad(session.output._data)}
    plain: list[float] = []
    made: dict[int, int] = {}
    for i, step in enumerate(trace):
        for result in step[3] if isinstance(step[3], tuple) else (step[3],):
            made.setdefault(id(result), i)
    if id(session.output) not in made and session.output.shape == ():
        plain.append(float(session.output._data))  # a number until the end
    born = []
    for i in range(len(trace) - 1, -1, -1):
        step = trace[i]
        for result in step[3] if isinstance(step[3], tuple) else (step[3],):
            if type(result) is Tensor:
                mask = wanted.get(id(result)) if made[id(result)] == i else None
            else:
                mask = np.True_ if isinstance(result, float) and any(_same(result, p) for p in plain) else None
            if mask is not None:
                birth = _handed_down(step, raw(result), mask, wanted, plain)
                if birth is not None and birth.any():
                    born.append(_Birth(step, birth, raw(result)))
    given = [
        _Birth(None, wanted[id(leaf)], leaf._data, name)
        for name, leaf in session.leaves.items()
        if id(leaf) in wanted and np.any(wanted[id(leaf)] & _bad(leaf._data))
    ]
    return [*given, *reversed(born)]


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
    chooses = step[0] is not None and step[0].name == "where" and len(arguments) == 3
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
    if step[0] is None:
        return None if np.any(some_bad) else mask
    return mask & np.where(is_nan, ~some_nan, ~some_bad)


def _narrowed(mask: Any, shape: tuple[int, ...]) -> Any:
    """A mask summed back to the shape that was broadcast."""
    extra = mask.ndim - len(shape)
    mask = np.logical_or.reduce(mask, axis=tuple(range(extra))) if extra else mask
    along = tuple(i for i, n in enumerate(shape) if n == 1 and mask.shape[i] != 1)
    return np.logical_or.reduce(mask, axis=along, keepdims=True) if along else mask


def _outside(step: Step, mask: Any, made: Any, session: Session) -> Note | None:
    """The note on a value outside of the domain; a pole between two parts of it is left to ``nonfinite``."""
    op = step[0]
    if op is None or op.inside is None:
        return None
    numbers = [raw(value) for value in step[1]], {name: raw(value) for name, value in step[2].items()}
    outside = np.asarray(mask & ~np.asarray(op.mask(op.inside, *numbers)))
    if not outside.any():
        return None
    place = first_place(outside)
    result = made[place] if pointwise(step) else made.reshape(-1)[0]
    if not np.isnan(result) and _is_pole(op, numbers, place, outside.shape):
        return None
    texts = arguments_at(step, place, outside.shape, True, session.expression)
    if len(step[1]) + len(step[2]) == 1 or len(op.tensors) == 1:
        value = np.broadcast_to(np.asarray(numbers[0][0] if numbers[0] else next(iter(numbers[1].values()))), outside.shape)[place]
        message = f"{op.name} of {spelled(value)} is {result}{among(outside)}: it exists for {op.domain}"
    else:
        text = shortened(session.expression, step[4].span)
        signature = f"{op.name}({', '.join(op.tensors)})"
        message = f"{text}{_beside(texts)} is {result}{among(outside)}: {signature} exists for {op.domain}"
    return note("domain", message, step[4].span)


def _is_pole(op: Op, numbers: tuple[list[Any], dict[str, Any]], place: tuple[int, ...], shape: tuple[int, ...]) -> bool:
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


def _born(birth: _Birth, session: Session) -> tuple[str, str]:
    """Where, and what: nan, inf or -inf."""
    place = first_place(birth.mask)
    kind = str(birth.result[place])
    if birth.step is None:
        return f"{birth.name}, as it was given{among(birth.mask)}", kind
    step = birth.step
    texts = arguments_at(step, place, birth.mask.shape, True, session.expression) if pointwise(step) else {}
    text = shortened(session.expression, step[4].span)
    with_ = _beside(texts)
    out = way_out(step[4], session.evaluator.tree, overflow=True)
    return f"{text}{with_}{among(birth.mask)}{f'; {out} does not overflow' if out and kind != 'nan' else ''}", kind


# Where a derivative that is no number was born


def _derivative_births(session: Session, numbers: Sequence[tuple[str, Any]], order: int) -> list[Note]:
    """The operation whose own derivative is nan or inf, if the value is a number and a derivative is none."""
    bad = [(name, value) for name, value in numbers if value is not None and not _finite(value)]
    if not bad or not _finite(session.output._data):
        return []
    name, value = bad[0]
    final = np.ravel(value)[~np.isfinite(np.ravel(value))][0]
    for level in range(1, order + 1):
        found = _first_slope(session, level)
        if found is not None:
            step, kind, text = found
            which = {1: "derivative", 2: "second derivative"}.get(level, f"derivative of order {level}")
            result = "" if kind == str(final) else f", of which {name} becomes {final}"
            return [note("nonfinite", f"the first {kind} of a {which}: {text}{result}", step[4].span)]
    return [note("nonfinite", f"{name} is {final}, where finite derivatives of the operations meet")]


def _first_slope(session: Session, order: int) -> tuple[Step, str, str] | None:
    if order == 1:
        trace, gradients = _arriving(session)
    else:
        trace, gradients = session.trace, {}
    for step in reversed(trace):
        op, _, _, result, _ = step
        if op is None or type(result) is not Tensor or not result._requires_grad:
            continue
        arrived = gradients.get(id(result)) if order == 1 else None
        if (arrived is None or not _finite(arrived)) if order == 1 else not _finite(result._data):
            continue
        for key, slope in _own_slopes(step, arrived, order):
            if not _finite(slope):
                bad = ~np.isfinite(slope)
                place = first_place(bad)
                value = dict(_slots(step))[key]
                whole = np.shape(raw(value)) == np.shape(raw(result))
                texts = arguments_at(step, place, bad.shape, pointwise(step) and whole, session.expression)
                text = shortened(session.expression, step[4].span)
                with_ = _beside(texts)
                return step, str(np.asarray(slope)[place]), f"{text}{with_}{among(bad)}"
    return None


def _arriving(session: Session, order: int = 1) -> tuple[Trace, dict[int, Any]]:
    """The evaluation once more, as backward has freed its graph: the gradient of every step's result.

    With order 2 a gradient of 0 that changes with the result counts too, as its own derivative is none; above, any does.
    """
    evaluator = session.evaluated_again()
    output = evaluator.as_tensor(evaluator.run())
    trace = evaluator.tensors.steps or []
    results = {id(step[3]): step[3] for step in trace if type(step[3]) is Tensor and step[3]._requires_grad}
    if not output._requires_grad or not results:
        return trace, {}
    start = session.gradient
    if start is None:  # of several elements each has a weight of its own, so that none can hide another
        start = Tensor((1 + 0.618 * np.arange(output.numel()) % 1).astype(output.dtype).reshape(output.shape))
    inputs = list(results.values())
    found = grad(output, inputs, start, create_graph=order > 1, allow_unused=True)
    gradients = {key: None if g is None else g._data for key, g in zip(results, found, strict=True)}
    if order > 2:
        return trace, {key: None if g is None else np.ones_like(g) for key, g in gradients.items()}
    recorded = [g.sum() for g in found if g is not None and g.requires_grad]
    if order > 1 and recorded:
        again = grad(recorded, inputs, [one.detach() * 0 + 1 for one in recorded], allow_unused=True)
        for key, second in zip(results, again, strict=True):
            first: Any = gradients[key]
            if second is not None and first is not None:
                gradients[key] = np.abs(first) + np.abs(second._data)
    return trace, gradients


def _own_slopes(step: Step, arrived: Any, order: int) -> list[tuple[Any, Any]]:
    """The derivatives of that order of one operation by its arguments, times what arrived."""
    op = step[0]
    assert op is not None
    given: dict[Any, Any] = {}
    leaves: dict[Any, Tensor] = {}
    for key, value in _slots(step):
        if op.variadic and isinstance(value, list):
            given[key] = [v.detach() for v in value]
        else:
            given[key] = value.detach() if type(value) is Tensor else value
        if type(value) is Tensor and value._requires_grad:
            leaves[key] = given[key] = value.detach().requires_grad_()
    output = invoke(op, [given[i] for i in range(len(step[1]))], {name: given[name] for name in step[2]})
    if not leaves or type(output) is not Tensor or not output.requires_grad:
        return []
    inputs = list(leaves.values())
    start = None if arrived is None else Tensor(arrived)
    total = output if arrived is not None or not output.shape else output.sum()
    try:
        slopes = grad(total, inputs, start, create_graph=order > 1, materialize_grads=True)
    except GraphError:  # a derivative that is not implemented
        return []
    for _ in range(order - 1):
        parts = [slope.sum() for slope in slopes if slope.requires_grad]
        if not parts:
            return []
        whole = parts[0]
        for part in parts[1:]:
            whole = whole + part
        slopes = grad(whole, inputs, create_graph=True, materialize_grads=True)
    return [(key, slope._data) for key, slope in zip(leaves, slopes, strict=True)]


# Lost digits


def _cancellations(session: Session) -> list[Note]:
    notes = []
    for lost in lost_digits(session.trace, session.output, session.dtype):
        step = lost.step
        texts = arguments_at(step, lost.place, lost.mask.shape, pointwise(step), session.expression)
        text = shortened(session.expression, step[4].span)
        with_ = _beside(texts)
        out = way_out(step[4], session.evaluator.tree)
        better = f"; {out} keeps them" if out else ""
        message = f"{text} loses about {lost.digits} of {lost.total} digits{with_}{among(lost.mask, lost.sampled)}{better}"
        notes.append(note("cancellation", message, step[4].span))
    return notes
