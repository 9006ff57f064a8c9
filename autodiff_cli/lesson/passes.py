"""The passes of loops in a lesson: the last scene of each tensor that a pass leaves behind, so that the picture shows one pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from autodiff_cli.lesson.events import TensorLine


def last_scenes(scenes: Sequence[Mapping[str, Any]], lines: Sequence[TensorLine], alive: Iterable[str]) -> dict[str, int]:
    """Return the last scene of tensors that are used in a pass of a loop for the last time, by name: the end of this pass.

    Args:
        scenes: the scenes of the lesson.
        lines: the tensors, in the order in which they were made.
        alive: the names of the tensors to which the program refers at its end.
    """
    inputs = {line.name: line.inputs for line in lines}
    recorded = {line.name for line in lines if line.grad_fn is not None}
    used: dict[str, int] = {}
    for at, scene in enumerate(scenes):
        for name in _named(scene):
            used.update(dict.fromkeys((name, *(inputs[name] if name in scene.get("values", ()) else ())), at))
    turns = [scene.get("turn", "") for scene in scenes]
    last = len(scenes) - 1
    until = {name: _end(turns, at) if turns[at] else last for name, at in used.items()}
    until.update(dict.fromkeys(alive, last))
    for line in reversed(lines):  # a node keeps the nodes of its inputs
        for name in line.inputs if line.name in recorded else ():
            until[name] = max(until.get(name, last), until.get(line.name, last))
    return {name: at for name, at in until.items() if at < last}


def _end(turns: Sequence[str], at: int) -> int:
    """Return the last scene of the pass of a scene, with the passes of loops inside of it."""
    own = turns[at]
    following = (i for i in range(at, len(turns)) if turns[i] != own and not turns[i].startswith(f"{own}, "))
    return next(following, len(turns)) - 1


def _named(scene: Mapping[str, Any]) -> set[str]:
    """Return the names of the tensors that a scene shows or changes."""
    part = {scene["part"]["to"], *scene["step"]["names"]} if "part" in scene else set()
    node = {scene["node"]} if scene.get("node") else set()
    return {*scene.get("values", ()), *scene.get("gradients", ()), *node, *part}
