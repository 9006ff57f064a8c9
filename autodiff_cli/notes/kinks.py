"""Notes on kinks: points at which an expression has a value but no derivative.

A step of the trace may switch branches at the point: a function at its own kink, a comparison of equal numbers, or a tie among
sorted elements.  To decide whether the switch affects the output, the whole expression is differentiated at nearby points to
the left and to the right, along each variable.  A switch whose effect cancels, is multiplied by 0 or is smooth does not
produce a note.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor, new_tensor
from autodiff_cli.evaluation import note_phrases
from autodiff_cli.evaluation.note_phrases import Note, first_true_index, note
from autodiff_cli.evaluation.trace import Trace, flat_inputs, is_pointwise
from autodiff_cli.notes.switches import Switch, switches, switching_elements
from autodiff_cli.number_text import number_text
from autodiff_cli.wording import plural

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.evaluation.evaluation import Evaluation
    from autodiff_cli.notes.one_sided_limits import Change, Discontinuity, Line


MOST_LINES = 24
"""The largest number of elements of a variable, or of the output, that are all examined."""
MOST_LINES_AND_PLACES = 8 * MOST_LINES
"""The largest number of pairs of a variable element and an output element that are examined."""
MOST_ORDER = 3
"""The highest order of derivative to compare; each order takes several times as long as the previous order."""


class _Effect(NamedTuple):
    """The derivatives that switches change along a line, and the values on both sides of a jump or ``None``."""

    line: Line
    changes: list[Change]
    jump: tuple[float, float] | None


def kink_notes(evaluation: Evaluation, candidates: list[Switch], order: int) -> list[Note]:
    """Return the notes on kinks for derivatives up to the given order, at those of the steps that switch branches."""
    effects: dict[str, _Effect] = {}  # the effect along the first affected line of each variable
    for effect in _effects(evaluation, candidates, order):
        effects.setdefault(effect.line.name, effect)
    return _notes_by_variables(evaluation, candidates, effects)


def discontinuity(evaluation: Evaluation) -> Discontinuity | None:
    """Return where the value is not defined or jumps at the point of an evaluation, or ``None`` if it does neither."""
    from autodiff_cli.notes.one_sided_limits import Discontinuity, exact_jump

    if not np.all(np.isfinite(evaluation.output._data)):
        scalars = [f"{name} = {number_text(float(leaf._data))}" for name, leaf in evaluation.variables.items() if not leaf.shape]
        return Discontinuity("undefined", ", ".join(scalars) or "the point")
    candidates = switches(evaluation, 1)
    if not candidates:
        return None
    for line, _changes, jump in _effects(evaluation, candidates, 1):
        if jump is not None:
            return Discontinuity("jump", f"{element_name(line.name, line.element)} = {number_text(line.value)}", *jump)
    return exact_jump(evaluation)


def _effects(evaluation: Evaluation, switches: list[Switch], order: int) -> Iterator[_Effect]:
    """Yield the effect of switches along each line of a variable on which there is one, at far points if rounding hides it."""
    from autodiff_cli.notes.one_sided_limits import changes, far_changes, nearest  # most expressions do not have switches

    eps, highest_order = float(np.finfo(evaluation.dtype).eps), min(order, MOST_ORDER)
    for line in _lines(evaluation, switches):
        differences, jump = changes(line, highest_order, eps)
        if not differences and jump is None and _still_switches(line.steps(nearest(line, eps)), switches, order):
            differences, jump = far_changes(line, highest_order, eps)
        if differences or jump is not None:
            yield _Effect(line, differences, jump)


def _still_switches(steps: Trace, switches: list[Switch], order: int) -> bool:
    """Return whether a step of the trace at another point switches there too, because rounding hides that its argument moved."""
    pairs = ((switch, steps[switch.number]) for switch in switches if switch.number < len(steps))
    return any(step.op is switch.step.op and np.any(switching_elements(step, order)) for switch, step in pairs)


def _lines(evaluation: Evaluation, switches: list[Switch]) -> Iterator[Line]:
    """Yield a line along each element of each variable; for a large variable, only along elements at which a step switches."""
    from autodiff_cli.notes.one_sided_limits import Line

    variable_elements: list[tuple[str, tuple[int, ...]]] = []
    for name, leaf in evaluation.variables.items():
        masks = [switch.mask for switch in switches if name in switch.variables]
        if not masks:
            continue
        if leaf.numel() <= MOST_LINES:
            elements = list(np.ndindex(leaf.shape))
        else:
            own_masks = [mask for mask in masks if mask.shape == leaf.shape]
            elements = [first_true_index(mask) for mask in own_masks] or [(0,) * leaf.ndim]
        variable_elements += [(name, element) for element in elements]
    output = evaluation.output
    places: list[tuple[int, ...] | None] = [None]  # of the output; ``None`` for the scalar that is differentiated
    if output.shape and evaluation.gradient is None:
        places = list(itertools.islice(np.ndindex(output.shape), MOST_LINES))
    for (name, element), place in itertools.islice(itertools.product(variable_elements, places), MOST_LINES_AND_PLACES):
        yield Line(evaluation, name, element, place)


def _notes_by_variables(evaluation: Evaluation, switches: list[Switch], effects: dict[str, _Effect]) -> list[Note]:
    """Return one note, of the lowest order that differs, for each group of steps that switch along the same variables."""
    groups: dict[tuple[str, ...], list[Switch]] = {}  # by the variables along which there is an effect
    for switch in switches:
        names = tuple(name for name in effects if name in switch.variables)
        if names:
            groups.setdefault(names, []).append(switch)
    notes = []
    for names, group in groups.items():
        members = _with_gradient(evaluation, group) if len(group) > 1 else group
        notes.append(_kink_note(evaluation, members, [effects[name] for name in names]))
    return notes


def _with_gradient(evaluation: Evaluation, group: list[Switch]) -> list[Switch]:
    """Return the switches whose gradient is not 0; if there are none, as for comparisons, return all switches."""
    trace, gradients = step_gradients(evaluation)
    affected = []
    for switch in group:
        gradient = gradients.get(id(trace[switch.number].result))
        if gradient is not None:
            is_elementwise = gradient.shape == switch.mask.shape
            nonzero = gradient != 0 if is_elementwise else np.any(gradient != 0)
            affected += [switch] if np.any(switch.mask & nonzero) else []
    return affected or group


def step_gradients(evaluation: Evaluation) -> tuple[Trace, dict[int, NDArray[np.floating] | None]]:
    """Repeat an evaluation whose graph is freed; return its trace and the gradients by the id of the result (``None``: unused)."""
    evaluator = evaluation.again()
    evaluator.tensors.listing, evaluator.tensors.steps = True, []
    output = evaluator.as_tensor(evaluator.run())
    trace = evaluator.tensors.steps or []
    results = {id(step.result): step.result for step in trace if type(step.result) is Tensor and step.result._requires_grad}
    if not output._requires_grad or not results:
        return trace, {}
    start = evaluation.gradient
    if start is None:  # distinct weights, multiples of the golden ratio, prevent gradients of elements from cancelling
        start = new_tensor((1 + 0.618 * np.arange(output.numel()) % 1).astype(output.dtype).reshape(output.shape))
    gradients = grad(output, list(results.values()), start, allow_unused=True)
    return trace, {key: None if g is None else g._data for key, g in zip(results, gradients, strict=True)}


def _kink_note(evaluation: Evaluation, group: list[Switch], effects: list[_Effect]) -> Note:
    """Return the note, of the lowest order that differs, on steps that switch along the same variables, with their effects."""
    switch = group[0]
    op = switch.step.op
    assert op is not None
    places = list(dict.fromkeys(_place_text(evaluation, member) for member in group))
    where = " and ".join(places) if len(places) == len(group) <= 2 else f"{places[0]} and {plural(len(group) - 1, 'more place')}"
    lowest = min([change.order for effect in effects for change in effect.changes], default=1)
    changes = [next((change for change in effect.changes if change.order == lowest), None) for effect in effects]
    source = _convention_source(op.convention) if lowest == 1 else ""
    texts = _effect_texts(evaluation, effects, changes, lowest, source)
    one_sided = any(change is not None and change.one_sided for change in changes)  # as sqrt(x) at 0, the end of a domain
    kind = "domain" if one_sided and op.name == "pow" and math.isfinite(effects[0].changes[0].used) else "kink"
    return note(kind, f"{where}: {'; '.join(texts)}", switch.step.tree.span, order=lowest)


def _effect_texts(
    evaluation: Evaluation, effects: list[_Effect], changes: list[Change | None], order: int, source: str
) -> list[str]:
    """Return a text for each effect, with its change of an order or ``None``; the first says the source of the convention."""
    named = len(evaluation.variables) > 1 or any(effect.line.element for effect in effects)  # a single scalar has no name in a note
    texts: list[str] = []
    for effect, change in zip(effects, changes, strict=True):
        if change is None and not effect.jump:
            continue
        by = f" with respect to {_variable_text(evaluation, effect.line, change)}" if named else ""
        subject = f"{by.strip()} it" if texts else f"the {note_phrases.derivative_phrase(order)} used{by}"
        # At a jump without a change, the answer contains the first derivative.
        used = float(effect.line.values_and_derivatives(0.0, 1)[1][0]) if change is None else change.used
        derivative = f"{subject} is {number_text(used)}{'' if texts else source}"
        texts.append(f"{derivative}{', ' if len(effects) > 1 else '; '}{_sides_text(effect, change)}")
    return texts


def _sides_text(effect: _Effect, change: Change | None) -> str:
    """Return what differs on both sides of a kink: the derivatives, unless ``change`` is ``None``, and the values at a jump."""
    limits = [] if change is None else [_limits_text(change)]
    jump = [] if effect.jump is None else ["the value jumps from {} to {}".format(*map(number_text, effect.jump))]
    return "; ".join(limits + jump)


def _place_text(evaluation: Evaluation, switch: Switch) -> str:
    """Return the description of a switch, such as ``abs at x - 2 = 0``, with its elements if there are several."""
    step, mask = switch.step, switch.mask
    assert step.op is not None
    is_elementwise = is_pointwise(step) or "reduction" in step.op.parameters
    if is_elementwise:  # the mask of a loss may have the shape of a single argument
        shapes = [value.shape for value in flat_inputs(step) if type(value) is Tensor]
        mask = np.broadcast_to(mask, np.broadcast_shapes(np.shape(mask), *shapes))
    first = first_true_index(mask)
    texts = note_phrases.argument_texts(step, first, mask.shape, is_elementwise, evaluation.expression, number_text)
    phrases = list(texts.values())
    if not phrases:  # without texts of the arguments, the point describes the place
        leaves = [(name, evaluation.leaves[name]) for name in evaluation.variables if name in switch.variables]
        phrases = [f"{name} = {number_text(float(leaf._data))}" for name, leaf in leaves if not leaf.shape]
    at = f" at {', '.join(phrases)}" if phrases else ""
    return f"{note_phrases.call_text(step, evaluation.expression)}{at}{note_phrases.elements_phrase(mask)}"


def _variable_text(evaluation: Evaluation, line: Line, change: Change | None) -> str:
    """Return the variable of a derivative, or both variables of a second derivative, whose ``component`` numbers the second."""
    name = element_name(line.name, line.element)
    if change is None or change.order != 2:
        return name
    elements = [element_name(other, place) for other, leaf in evaluation.variables.items() for place in np.ndindex(leaf.shape)]
    second = elements[change.component]
    return name if second == name else f"{name} and {second}"


def element_name(name: str, element: tuple[int, ...]) -> str:
    """Return the name of an element, ``x[0, 1]``, or ``x`` for a scalar."""
    return f"{name}[{', '.join(map(str, element))}]" if element else name


def _limits_text(change: Change) -> str:
    """Return the derivatives on both sides as text."""
    if change.left == change.right or math.isclose(change.left, change.right, rel_tol=1e-6):  # as printed
        return f"from both sides it is {number_text(change.left)}"
    if not (math.isnan(change.left) or math.isnan(change.right)):
        return f"from the left it is {number_text(change.left)}, from the right {number_text(change.right)}"
    left, right = ("does not exist" if math.isnan(side) else f"is {number_text(side)}" for side in (change.left, change.right))
    return f"from the left it {left}, from the right it {right}"


def _convention_source(convention: str) -> str:
    """Return the source of a convention, such as `` (PyTorch)`` or `` (PyTorch gives nan)``; empty if it is not known."""
    if "(PyTorch)" in convention:
        return " (PyTorch)"
    about_pytorch = next((part.strip() for part in convention.split(";") if "PyTorch" in part), "")
    if "(PyTorch" in about_pytorch:
        about_pytorch = about_pytorch[about_pytorch.find("(PyTorch") + 1 :].rstrip(")")
    return f" ({about_pytorch})" if about_pytorch else ""
