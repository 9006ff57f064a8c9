"""Kinks: points at which the output of an expression has a value and no derivative.

A step of the trace may switch at the point: a function at a kink of its own, a comparison of equal numbers, a tie among
elements that are ordered.  Whether that matters, and what the derivatives are, the whole expression says: it is
differentiated just beside the point, to the left and to the right, along each variable.  So what cancels, is multiplied by 0
or continues smoothly has no note.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.evaluation.phrasing import among, arguments_at, call_text, first_place, note, ordinal
from autodiff_cli.evaluation.trace import Step, flat, pointwise, raw, reach
from autodiff_cli.notes.arriving import arriving
from autodiff_cli.notes.sides import Line, Sides, both_sides

if TYPE_CHECKING:
    from autodiff_cli.evaluation.evaluation import Evaluation

Note = dict[str, Any]
MOST_LINES = 24
"""How many elements of variables are moved to the side."""
MOST_ELEMENTS = 10_000
"""Ties are looked for among so many elements."""
MOST_ORDER = 3
"""Derivatives of a higher order are not compared: each takes several times as long as the last."""
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
_TRUTHS = ("where", "count_nonzero", "nonzero", "any", "all", "logical_not", "logical_and", "logical_or", "logical_xor")
_ORDERING = ("sort", "argsort", "topk", "cummax", "cummin", "max", "min", "argmax", "argmin", "median", "kthvalue", "msort")
_BRANCHES = ("xlogy", "xlog1py")
"""Functions that take another branch where their first argument is 0."""


class Switch:
    """A step at a point where it switches.

    Attributes:
        index: which step of the trace; ``step`` itself.
        mask: at which elements.
        variables: the variables that it depends on.
    """

    def __init__(self, index: int, step: Step, mask: Any, variables: set[str]) -> None:
        self.index = index
        self.step = step
        self.variables = variables
        shape = reach(step)
        self.mask = np.asarray(mask) if shape is None else np.broadcast_to(mask, shape)


def kinks(evaluation: Evaluation, order: int) -> list[Note]:
    """The notes on kinks, for derivatives up to an order."""
    met = switches(evaluation, order)
    if not met or not np.all(np.isfinite(evaluation.output._data)):
        return []
    eps = float(np.finfo(evaluation.dtype).eps)
    order = min(order, MOST_ORDER)
    felt: dict[str, tuple[Line, list[Sides], Any]] = {}  # along the first line of each variable
    for line in _lines(evaluation, met):
        found, jump = both_sides(line, order, eps)
        if found or jump is not None:
            felt.setdefault(line.name, (line, found, jump))
    return _worded(evaluation, met, felt)


# What switches


def switches(evaluation: Evaluation, order: int) -> list[Switch]:
    """The steps that switch at the point, for derivatives up to an order."""
    behind = {id(leaf): {name} for name, leaf in evaluation.variables.items()}
    nothing: set[str] = set()
    found = []
    for i, step in enumerate(evaluation.trace):
        variables = nothing
        for value in flat(step):
            more = behind.get(id(value), nothing) if type(value) is Tensor else nothing
            variables = more if not variables or variables == more else variables | more if more else variables
        if not variables:
            continue
        for result in step.result if isinstance(step.result, tuple) else (step.result,):
            behind[id(result)] = variables
        mask = _mask(step, order)
        if mask is not None and np.any(mask):
            found.append(Switch(i, step, mask, variables))
    return found


def _mask(step: Step, order: int) -> Any:
    """Where a step switches; ``None`` if it never does."""
    op = step.op
    if op is None:
        return None
    if op.name in _COMPARISONS:
        return np.equal(*(raw(value) for value in step.given))
    first = step.arguments[0] if step.arguments else None
    if op.name in _TRUTHS or op.name in _BRANCHES:
        value = raw(first)
        zero = np.equal(value, 0) if np.result_type(value) != np.bool_ else None
        return np.any(zero) if op.name in _TRUTHS and zero is not None else zero
    mask: Any = None
    if op.name in _ORDERING and type(first) is Tensor and 1 < first.numel() <= MOST_ELEMENTS:
        _, inverse, counts = np.unique(first._data, return_inverse=True, return_counts=True)
        mask = (counts > 1)[inverse].reshape(first.shape)
    if type(first) is Tensor and first.dtype.kind == "b":
        return mask
    given, named = [raw(value) for value in step.arguments], {name: raw(value) for name, value in step.keywords.items()}
    for predicate in (op.kink, op.second_kink if order > 1 else None):
        if predicate is not None and not (mask is not None and np.any(mask)):
            mask = op.mask(predicate, given, named)
    return mask


# Beside the point


def _lines(evaluation: Evaluation, switches: list[Switch]) -> Iterator[Line]:
    """The lines along which to look: each element of each variable, of large ones those at which something switches."""
    wanted = set().union(*(switch.variables for switch in switches))
    lines = []
    for name in evaluation.variables:
        leaf = evaluation.variables[name]
        if name not in wanted:
            continue
        if leaf.numel() <= MOST_LINES:
            elements = list(itertools.product(*map(range, leaf.shape)))
        else:
            fitting = [s.mask for s in switches if name in s.variables and s.mask.shape == leaf.shape]
            elements = [first_place(mask) for mask in fitting] or [(0,) * leaf.ndim]
        lines.append((name, elements))
    output = evaluation.output
    places: list[Any] = [None]
    if output.shape and evaluation.gradient is None:
        places = list(itertools.islice(itertools.product(*map(range, output.shape)), MOST_LINES))
    some = [(name, element) for name, elements in lines for element in elements]
    for (name, element), place in itertools.islice(itertools.product(some, places), MOST_LINES * 8):
        yield Line(evaluation, name, element, place)


# Words


def _worded(evaluation: Evaluation, switches: list[Switch], felt: dict[str, Any]) -> list[Note]:
    """A note for the steps that switch along the same variables, about the lowest order at which the sides differ."""
    groups: dict[tuple[str, ...], list[Switch]] = {}
    for switch in switches:
        key = tuple(name for name in felt if name in switch.variables)
        if key:
            groups.setdefault(key, []).append(switch)
    notes = []
    for names, group in groups.items():
        kept = _felt(evaluation, group) if len(group) > 1 else group
        notes.append(_note(evaluation, kept, [felt[name] for name in names]))
    return notes


def _felt(evaluation: Evaluation, group: list[Switch]) -> list[Switch]:
    """Those that a gradient arrives at, if there are any; a comparison has none."""
    trace, gradients = arriving(evaluation)
    kept = []
    for switch in group:
        arrived = gradients.get(id(trace[switch.index][3]))
        if arrived is not None:
            seen = arrived != 0
            if np.any(switch.mask & (seen if seen.shape == switch.mask.shape else bool(np.any(seen)))):
                kept.append(switch)
    return kept or group


def _note(evaluation: Evaluation, group: list[Switch], lines: list[Any]) -> Note:
    switch = group[0]
    more = f" and {len(group) - 1} more place{'s' * (len(group) > 2)}" if len(group) > 1 else ""
    lowest = min([sides.order for _, found, _ in lines for sides in found], default=1)
    parts: list[tuple[str, str]] = []
    one_sided = False
    op = switch.step.op
    assert op is not None
    source = _source(op.convention) if lowest == 1 else ""
    several = len(evaluation.variables) > 1 or any(line.element for line, _, _ in lines)
    for line, found, jump in lines:
        first = next((sides for sides in found if sides.order == lowest), None)
        if first is None and jump is None:
            continue
        by = f" by {_named(evaluation, line, first)}" if several else ""
        used = first.used if first is not None else float(line.look(0.0, 1)[1][0])
        one_sided = one_sided or (first is not None and first.one_sided)
        begin = f"the {ordinal(lowest)}{by} used is" if not parts else f"{by.strip()} it is"
        begin += f" {_short(used)}{source if not parts else ''}"
        jumps = "" if jump is None else f"the value jumps from {_short(jump[0])} to {_short(jump[1])}"
        parts.append((begin, "; ".join(piece for piece in (_sides(first), jumps) if piece)))
    joint = ", " if len(parts) > 1 else "; "
    said = "; ".join(joint.join(part) for part in parts)
    kind = "domain" if one_sided and op.name == "pow" and math.isfinite(lines[0][1][0].used) else "kink"
    return note(kind, f"{_place(evaluation, switch)}{more}: {said}", switch.step.tree.span, order=lowest)


def _place(evaluation: Evaluation, switch: Switch) -> str:
    """``abs at x - 2 = 0``, with the elements where there are several."""
    step, mask = switch.step, switch.mask
    op = step.op
    assert op is not None
    one_by_one = pointwise(step) or "reduction" in op.parameters
    if one_by_one:  # of a loss the mask may have the shape of one argument only
        shapes = [raw(value).shape for value in flat(step) if type(value) is Tensor]
        mask = np.broadcast_to(mask, np.broadcast_shapes(np.shape(mask), *shapes))
    texts = arguments_at(step, first_place(mask), mask.shape, one_by_one, evaluation.expression, human=True)
    shown = [text for text in texts.values() if text]
    if not shown:
        given = [(name, evaluation.leaves[name]) for name in evaluation.variables if name in switch.variables]
        shown = [f"{name} = {_short(float(leaf._data))}" for name, leaf in given if not leaf.shape]
    at = f" at {', '.join(shown)}" if shown else ""
    return f"{call_text(step, evaluation.expression)}{at}{among(mask)}"


def _named(evaluation: Evaluation, line: Line, sides: Sides | None) -> str:
    """The variable of a derivative, or the two of a second one."""
    name = _element(line.name, line.element)
    if sides is None or sides.order != 2:
        return name
    index = sides.index
    for other, leaf in evaluation.variables.items():
        if index < leaf.numel():
            second = _element(other, tuple(int(i) for i in np.unravel_index(index, leaf.shape)) if leaf.shape else ())
            return name if second == name else f"{name} and {second}"
        index -= leaf.numel()
    return name


def _element(name: str, element: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, element))}]" if element else name


def _sides(sides: Sides | None) -> str:
    if sides is None:
        return ""
    if sides.left == sides.right or math.isclose(sides.left, sides.right, rel_tol=1e-6):
        return f"from both sides it is {_short(sides.left)}"
    left, right = ("does not exist" if math.isnan(side) else f"is {_short(side)}" for side in (sides.left, sides.right))
    again = right.removeprefix("is ") if left.startswith("is ") and right.startswith("is ") else f"it {right}"
    return f"from the left it {left}, from the right {again}"


def _source(convention: str) -> str:
    """Where a convention comes from: `` (PyTorch)``, `` (PyTorch gives nan)``."""
    if "(PyTorch)" in convention:
        return " (PyTorch)"
    about = next((part.strip() for part in convention.split(";") if "PyTorch" in part), "")
    about = about[about.find("(PyTorch") + 1 :].rstrip(")") if "(PyTorch" in about else about
    return f" ({about})" if about else ""


def _short(value: float) -> str:
    return f"{value + 0.0:.6g}"
