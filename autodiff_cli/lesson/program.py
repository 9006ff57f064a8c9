"""The lesson of a program: its statements one by one, and each backward pass node by node."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.arrays import Array
from autodiff_cli.errors import AutodiffError, Span
from autodiff_cli.evaluation.evaluation import TensorRow
from autodiff_cli.language.tree import unparse
from autodiff_cli.lesson.events import Contribution, Event, HookChange, PassStart, StatementEnd, StoredGradient, TensorLine
from autodiff_cli.lesson.page import Numbers, page_html
from autodiff_cli.lesson.recording import Recording
from autodiff_cli.wording import listed

Scene = dict[str, Any]
"""The data of a scene; see ``front/program.js``."""
_CALLS = {
    "register_hook": "The hook is kept: a backward pass calls it with the gradient, and a result of it replaces the gradient.",
    "register_post_accumulate_grad_hook": "The hook is kept: a backward pass calls it after it has changed `.grad`.",
    "register_prehook": "The hook is kept: a backward pass calls it before the node runs.",
    "remove": "The hook is removed.",
}
"""What a method does that leaves no trace in the state of a tensor."""


def to_html(file: str, recorder: Recording, precision: int) -> str:
    """Return the page of a recorded program; its heading is the comment in its first line, or else the name of the file."""
    lesson = _ProgramPage(recorder, precision)
    first = recorder.source.partition("\n")[0]
    title = first.lstrip("# ").rstrip() if first.startswith("#") else ""
    lesson.add_scenes()
    return page_html(title or os.path.basename(file), {}, lesson.content())


class _ProgramPage(Numbers):
    """The data of a page, whose scenes are added one by one."""

    def __init__(self, recorder: Recording, precision: int) -> None:
        super().__init__(precision)
        self.recorder = recorder
        self.scenes: list[Scene] = []
        self._begin = 0  # the number of scenes before the statement that runs
        self._root = ""  # the first tensor of the last backward pass; empty before the first pass
        self._cells: dict[str, list[str]] = {}  # the cells of the table, by the name of the row

    def add_scenes(self) -> None:
        """Add all scenes: the start, those of the events, and the end, the error or the limit of the lesson."""
        first = "The program has not run yet. Each statement runs in turn; a tensor exists from the statement on that makes it."
        self.add("start", "Before the program runs", [first])
        for event in self.recorder.events:
            self.add_event(event)
        if self.recorder.cut:
            self.add_cut()
        if self.recorder.error:
            self.add_error(self.recorder.error)
        elif not self.recorder.cut:
            self.add_end()

    def content(self) -> dict[str, object]:
        """Return the data of the page; ``until`` is the scene after which the picture leaves out a tensor, if there is one."""
        lines = [event for event in self.recorder.events if isinstance(event, TensorLine)]
        alive = [] if self._last is None else self._last.called.values()  # the tensors that have names at the end
        until = last_scenes(self.scenes, lines, alive)
        return {
            "program": self.recorder.source,
            "precision": self.precision,
            "lines": [{**self.line(line), **({"until": until[line.name]} if line.name in until else {})} for line in lines],
            "scenes": self.scenes,
        }

    @property
    def _last(self) -> StatementEnd | None:
        """The end of the last statement; ``None`` before the first one has ended."""
        return next((event for event in reversed(self.recorder.events) if isinstance(event, StatementEnd)), None)

    def add(self, phase: str, title: str, words: Iterable[str], span: Span = (0, 0), **more: object) -> None:
        """Add a scene with its sentences, ``words``, its place in the program, ``(0, 0)`` for none, and further data."""
        self.scenes.append({"phase": phase, "title": title, "words": " ".join(words), "span": span, **more})

    def line(self, line: TensorLine) -> dict[str, object]:
        """Return the data of a tensor; a result that was not traced, as that of ``detach``, is drawn as a leaf."""
        return {
            "name": line.name,
            "operation": unparse(line.operation),
            "value": self.known(line.value),
            "leaf": not line.traced,
            "requires_grad": line.requires_grad,
            "inputs": line.inputs,
            "recorded": line.grad_fn is not None,
        }

    def add_event(self, event: Event) -> None:
        """Add the scenes of an event; a contribution is the ``part`` of the scene of its step that is shown."""
        if isinstance(event, TensorLine):
            self.add_tensor(event)
        elif isinstance(event, PassStart):
            self.add_pass_start(event)
        elif isinstance(event, HookChange):
            self.add_hook(event)
        elif isinstance(event, Contribution):
            step = {**self.step(event.step), "contributions": []}  # the other parts have scenes of their own
            self.add("backward", "", [], step=step, part=self.contribution(event.part))
        else:
            self.add_statement(event)
            self._begin = len(self.scenes)  # of the next statement

    # The forward pass

    def add_tensor(self, line: TensorLine) -> None:
        """Add the scene in which a tensor is made, perhaps by the backward pass of the statement; an unknown value is left out."""
        operation = unparse(line.operation) if line.traced else ""
        value = "" if line.value is None else self.text(line.value)
        sides = [line.name, "" if operation == line.name else operation, value]
        equation = " = ".join(side for side in sides if side)
        in_pass = any(scene["phase"] == "backward" for scene in self.scenes[self._begin :])
        words = ["The backward pass is itself recorded, because of create_graph=True."] if in_pass else []
        words.append(_sentence_on_tensor(line))
        if line.label and line.name != line.label and not line.label.endswith(".grad"):  # an earlier tensor has this name
            words.append(f"The name `{line.label}` now refers to this tensor, which is called {line.name} in the picture.")
        phase, title = "backward" if in_pass else "forward", f"Compute {line.name}" if line.traced else f"The leaf {line.name}"
        self.add(phase, title, words, line.span, node=line.name, equations=[equation], values={line.name: value})

    # Backward passes

    def add_pass_start(self, event: PassStart) -> None:
        """Add the scene in which a backward pass begins, with a gradient that the program has given unless it is 1."""
        self._root = name = event.root
        words = f"The backward pass starts at `{name}`, with the gradient of `{name}` with respect to itself."
        if np.any(np.asarray(event.gradient) != 1):
            words = f"The backward pass starts at `{name}` with the given gradient."
        text, differential = self.text(event.gradient), f"d({name})" if name.endswith(".grad") else f"d{name}"
        equations, gradients = [f"{differential}/{differential} = {text}"], {name: text}
        self.add("backward", "Start the backward pass", [words], node=name, equations=equations, symbol=name, gradients=gradients)

    def add_hook(self, event: HookChange) -> None:
        """Add the scene in which a hook changes a gradient, at the place of the scene before."""
        name, before, after = event.name, self.text(event.before), self.text(event.after)
        words = [f"A hook on `{name}` changes the gradient before the node uses it."]
        equations = [f"d{self._root}/d{name} = {before}  →  {after}"]
        span_before = self.scenes[-1]["span"]
        self.add("backward", f"A hook on {name}", words, span_before, node=name, equations=equations, gradients={name: after})

    def add_statement(self, event: StatementEnd) -> None:
        """Add the scenes at the end of a statement: what its backward passes stored and freed, and what else it changed."""
        backward_scenes = [scene for scene in self.scenes[self._begin :] if scene["phase"] == "backward"]
        for scene in backward_scenes:
            scene["span"] = event.tree.span
        for gradient in event.stored:
            self.add_stored_gradient(gradient, event)
        self.add_saved_values(event, bool(backward_scenes))
        self.add_effects(event, bool(backward_scenes))
        if event.failed or len(self.scenes) > self._begin:  # a quiet statement may have no scene
            self.complete_scenes(event)

    def add_effects(self, event: StatementEnd, has_pass: bool) -> None:
        """Add the scene of what else a statement changed; one that has no other scene and changed nothing says so, unless quiet."""
        words, equations, values = self.effects(event)
        has_scenes = len(self.scenes) > self._begin
        if has_pass and not event.stored and not event.failed:
            words.append("The gradient is the result of the statement: no `.grad` has changed.")
        if event.caught:
            words.append(f"The statement raises an error, which the program handles: {event.caught}")
        if event.output and not (has_scenes or words):
            words.append("The value is printed.")
        if not (words or has_scenes or event.failed or event.quiet):
            words = [self.sentence_without_effect(event)]
        if words:
            title = " ".join(self.recorder.source[slice(*event.tree.span)].split())  # on one line
            self.add("statement", title, words, event.tree.span, equations=equations, values=values)

    def add_saved_values(self, event: StatementEnd, has_pass: bool) -> None:
        """Add the scene that says whether the backward passes of a statement freed the saved values; without a pass, add none."""
        if event.freed:
            names = listed([f"`{name}`" for name in event.freed])
            words = f"The backward pass freed the saved values of {names}: another backward() through them is an error."
            words += " retain_graph=True keeps the saved values."
            self.add("backward", "The saved values are freed", [words], event.tree.span, freed=event.freed)
        elif event.kept and has_pass:
            words = "The saved values are kept, so another backward pass through the graph can follow. That pass adds to `.grad`."
            self.add("backward", "The saved values are kept", [words], event.tree.span)

    def complete_scenes(self, event: StatementEnd) -> None:
        """Give the last scene of a statement the output and the changed rows (``None`` removes one), and all scenes a place."""
        last = self.scenes[-1]
        last["kinds"] = {event.called[name]: row.requires_grad for name, row in event.after.items() if row.is_leaf}
        removed = dict.fromkeys(self._cells.keys() - event.after.keys())  # each with ``None``
        self._cells = {name: cells for name, cells in self._cells.items() if name not in removed}
        self.show_rows(event.after)
        last["rows"].update(removed)
        last["output"] = last.get("output", "") + event.output
        for scene in self.scenes[self._begin :]:
            scene["line"], scene["turn"] = event.tree.span, event.turn

    def add_end(self) -> None:
        """Add the last scene of a program without an error: the gradients that it computed, and the notes."""
        rows = {} if self._last is None else self._last.after
        equations = [f"{name}.grad = {self.text(row.grad)}" for name, row in rows.items() if row.grad is not None]
        words = "These gradients are stored." if equations else "No gradient is stored."
        if not self._root:
            words = "No backward pass ran, so no tensor has a gradient."
        notes = [f"Note: {note['message']}." for note in self.recorder.notes]
        self.add("end", "The program has ended", [words, *notes], equations=equations)

    def add_cut(self) -> None:
        """Add the scene in which the lesson leaves a program that goes on."""
        words = f"The lesson shows the first {len(self.recorder.events):,} steps of the program, which goes on."
        self.add("pause", "The lesson ends here", [words], output=self.recorder.rest)

    def add_error(self, error: AutodiffError) -> None:
        """Add the scene of the error that ended the program, at its own place if it has one, else at the last statement."""
        last = (0, 0) if self._last is None else self._last.tree.span
        span = error.span if error.span and error.source == self.recorder.source else last
        hint = [f"Hint: {error.hint}."] if error.hint else []
        self.add("error", "The program stops with an error", [f"{error.message.removesuffix('.')}.", *hint], span)

    def add_stored_gradient(self, gradient: StoredGradient, event: StatementEnd) -> None:
        """Add the scene in which a gradient arrives in ``.grad``: the sum of its parts, unless a hook changed it."""
        name, total = gradient.name, self.text(gradient.after)
        terms = [*([] if gradient.before is None else [gradient.before]), *event.parts.get(name, [])]
        expected = sum(np.asarray(term) for term in terms) if terms else None
        is_sum = expected is not None and np.allclose(expected, gradient.after, rtol=1e-4, equal_nan=True)  # also in float32
        sum_text = " + ".join([self.text(term) for term in terms]).replace("+ -", "- ")
        equation = f"{name}.grad = {sum_text} = {total}" if is_sum and len(terms) > 1 else f"{name}.grad = {total}"
        words = self.sentences_on_storage(gradient)
        if not is_sum and gradient.leaf and terms:
            words.append(f"A hook changed the gradient, which was {sum_text}, before it was stored.")
        if name not in event.called.values():
            words.append("No name of the program refers to this tensor, so the program cannot read this gradient.")
        self.add("backward", f"The gradient of {name}", words, event.tree.span, node=name, equations=[equation])
        self.show_rows({label: row for label, row in event.after.items() if event.called[label] == name})

    def sentences_on_storage(self, gradient: StoredGradient) -> list[str]:
        """Return the sentences that say why a gradient is stored, and what it is added to."""
        name, old = gradient.name, gradient.before
        if gradient.leaf:
            words = [f"`{name}` is a leaf, so its gradient is stored in `{name}.grad`."]
        else:
            words = [f"`{name}` is not a leaf, but it keeps its gradient in `{name}.grad`, because of retain_grad()."]
        if old is not None:
            words.append(f"`{name}.grad` had the value {self.text(old)} from before, and a backward pass adds to it.")
            if np.any(old):
                words.append(f"So it is not the gradient of `{self._root}` alone.")
        return words

    # Statements

    def effects(self, event: StatementEnd) -> tuple[list[str], list[str], dict[str, str]]:
        """Return what a statement changed, in sentences and equations, and the new values by the names of tensors."""
        words = [f"`{name}` does not refer to a tensor any more." for name in event.before if name not in event.after]
        equations: list[str] = []
        values: dict[str, str] = {}
        stored = {gradient.name for gradient in event.stored}  # these have scenes of their own
        first_names = {tensor: name for name, tensor in reversed([*event.called.items()])}
        for name, new in event.after.items():
            old, tensor = event.before.get(name), event.called[name]
            if name in event.aliases:
                words.append(f"`{name}` is another name of the tensor `{tensor}`.")
            if name not in event.same or old is None or first_names[tensor] != name:
                continue  # another tensor, or a second name of one
            words += _changed_flags(name, old, new)
            if not np.array_equal(old.value, new.value, equal_nan=True):
                values[tensor] = self.text(new.value)
                equations.append(f"{name} = {self.text(old.value)}  →  {values[tensor]}")
                why = ", because recording is off" if new.requires_grad and not event.recording else ""
                words.append(f"`{name}` changes in place. The change is not recorded{why}.")
            if tensor not in stored and not _is_same_gradient(old.grad, new.grad):
                words.append(_sentence_on_new_gradient(name, new.grad))
                equations.append(f"{name}.grad = {'None' if new.grad is None else self.text(new.grad)}")
        return words, equations, values

    def sentence_without_effect(self, event: StatementEnd) -> str:
        """Return the sentence on a statement that changed no tensor."""
        tree = event.tree
        if tree.kind == "class":
            return "The class is defined. Its methods run when they are called."
        if tree.kind.startswith("definition"):
            return "The function is defined. Its operations run, and are recorded, when it is called."
        if tree.kind == "show":
            return "In a terminal, `show` prints a table such as the one on this page. It changes nothing."
        if tree.kind == "assignment" and tree.children[1].kind == "method":
            tree = tree.children[1]  # of ``handle = x.register_hook(f)``, the call
        method = tree.children[1].text if tree.kind == "method" else ""
        return _CALLS.get(method, "The statement changes no tensor.")

    def show_rows(self, rows: Mapping[str, TensorRow]) -> None:
        """Show rows in the table of the last scene, unless the table shows the same cells already."""
        new = {name: cells for name, row in rows.items() if (cells := self.cells(row)) != self._cells.get(name)}
        self._cells.update(new)
        self.scenes[-1].setdefault("rows", {}).update(new)

    def cells(self, row: TensorRow) -> list[str]:
        """Return the texts of a row of the table: the name, the value, the gradient, three flags and the node."""
        flags = (row.requires_grad, row.is_leaf, row.retains_grad)
        gradient = "None" if row.grad is None else self.text(row.grad)
        return [row.name, self.text(row.value), gradient, *map(str, flags), row.grad_fn or "None"]


def _sentence_on_tensor(line: TensorLine) -> str:
    """Return the sentence on a new tensor: what it is, and whether and why its operation is recorded."""
    if line.grad_fn is not None:
        saved = f" It saves {line.saved}." if line.saved else ""
        return f"The operation runs, and the graph records {line.grad_fn} for the backward pass.{saved}"
    if not line.traced:
        if line.requires_grad:
            is_recorded = f"`{line.name}` is a leaf that requires grad: operations on it are recorded."
            return f"{is_recorded} Its `.grad` is None until a backward pass runs."
        if line.requires:
            return f"`{line.name}` has values, but no history: no gradient passes through it to `{line.inputs[0]}`."
        return f"`{line.name}` is a leaf that does not require grad: operations on it alone are not recorded."
    if not line.requires:
        return "The operation runs. Nothing is recorded, because no input requires grad."
    if not line.recording:
        return f"The operation runs, but recording is off: `{line.name}` does not require grad, and no gradient passes through it."
    return "The operation runs. Nothing is recorded, because its result does not have a derivative."


def _changed_flags(name: str, old: TensorRow, new: TensorRow) -> list[str]:
    """Return the sentences on a tensor that keeps its gradient or requires grad from now on, or does not any more."""
    words = []
    if new.retains_grad and not old.retains_grad:
        words.append(f"`{name}` is not a leaf. From now on it keeps its gradient: backward stores it in `{name}.grad`, too.")
    if new.requires_grad and not old.requires_grad:
        words.append(f"`{name}` requires grad from now on: operations on it are recorded.")
    if old.requires_grad and not new.requires_grad:
        words.append(f"`{name}` does not require grad any more: operations on it are not recorded.")
    return words


def _sentence_on_new_gradient(name: str, gradient: Array | None) -> str:
    """Return the sentence on a gradient that a statement set without a backward pass, or removed if it is ``None``."""
    if gradient is None:
        return f"`{name}.grad` is None again: the next backward pass stores a new gradient."
    if not np.any(gradient):
        return f"`{name}.grad` is 0 now, so the next backward pass adds to 0."
    return f"`{name}.grad` changes without a backward pass."


def _is_same_gradient(one: Array | None, other: Array | None) -> bool:
    """Return whether two gradients are equal; ``None`` stands for no gradient."""
    if one is None or other is None:
        return one is other
    return bool(np.array_equal(one, other, equal_nan=True))


def last_scenes(scenes: Sequence[Mapping[str, Any]], lines: Sequence[TensorLine], alive: Iterable[str]) -> dict[str, int]:
    """Return the last scene of tensors that are used in a pass of a loop for the last time, by name: the end of this pass.

    The tensors are in the order in which they were made.  Those in ``alive``, to which the program refers at its end, are left out.
    """
    inputs = {line.name: line.inputs for line in lines}
    last_use: dict[str, int] = {}
    for number, scene in enumerate(scenes):
        for name in _names_in_scene(scene):
            operands = inputs[name] if name in scene.get("values", ()) else []
            last_use.update(dict.fromkeys([name, *operands], number))
    turns = [scene.get("turn", "") for scene in scenes]
    end = len(scenes) - 1
    until = {name: _end_of_pass(turns, number) if turns[number] else end for name, number in last_use.items()}
    until.update(dict.fromkeys(alive, end))
    for line in reversed(lines):  # a node keeps the nodes of its inputs
        for name in line.inputs if line.grad_fn is not None else ():
            until[name] = max(until.get(name, end), until.get(line.name, end))
    return {name: number for name, number in until.items() if number < end}


def _end_of_pass(turns: Sequence[str], number: int) -> int:
    """Return the last scene of the pass of a loop around a scene; ``turns`` are the passes of each scene: ``i = 0, j = 1``."""
    own_turn = turns[number]
    is_after = (i for i in range(number, len(turns)) if turns[i] != own_turn and not turns[i].startswith(f"{own_turn}, "))
    return next(is_after, len(turns)) - 1


def _names_in_scene(scene: Mapping[str, Any]) -> set[str]:
    """Return the names of the tensors that a scene shows or changes."""
    names = {*scene.get("values", ()), *scene.get("gradients", ())}
    if scene.get("node"):
        names.add(scene["node"])
    if "part" in scene:  # of a step of a backward pass
        names |= {scene["part"]["to"], *scene["step"]["names"]}
    return names
