"""The description of a run in its hidden folder, which decides whether a later run may continue it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from autodiff_cli.data import storage
from autodiff_cli.data.parts.job import Job
from autodiff_cli.data.parts.partitions import for_each
from autodiff_cli.data.row_blocks import Input, PartitionValue
from autodiff_cli.errors import FileError, setting
from autodiff_cli.language.limited_reading import display_name

_SETTINGS = {"lets": "let", "keep": "no_keep", "style": "input_format"}
"""The settings of fields of ``Task`` and ``Input`` with another name."""
Facts = dict[str, Any]
"""The description of a run as JSON: its job, its output and its inputs, each with a text that changes with the file."""


class Progress(NamedTuple):
    """What a run decides once: its partitions in row order, the column types of its output, and its name."""

    partitions: Sequence[Input]
    types: str
    origin: str


def facts_of(job: Job, inputs: Sequence[Input], template: str) -> Facts:
    """Return the description of a run.

    Raises:
        FileError: if an input file cannot be read.
    """
    stamps = for_each(lambda file: (storage.absolute(str(file.path)), storage.stamp(str(file.path))), inputs)
    reading = {"style": inputs[0].style, "columns": inputs[0].columns}
    facts: Facts = json.loads(json.dumps({**json.loads(job.text()), "template": template, "reading": reading, "stamps": stamps}))
    return facts


def content(facts: Facts, progress: Progress) -> bytes:
    """Return the content of the file that describes a run."""
    partitions = list(map(asdict, progress.partitions))
    return json.dumps({**facts, **progress._asdict(), "partitions": partitions}, separators=(",", ":")).encode()


def continued(unfinished: bytes, facts: Facts, target: str) -> Progress:
    """Return the progress of an unfinished run, after a check that it writes the same files.

    Args:
        unfinished: the content of the file that describes it.
        facts: the description of this run.
        target: the output in messages.

    Raises:
        FileError: if the other run differs, or if an input file has changed.
    """
    other = json.loads(unfinished)
    reason = _difference(other, facts)
    if reason:
        hint = "repeat the command of this run with the same input files, or write to another folder"
        raise FileError(f"cannot continue the unfinished run in '{target}': {reason}", hint=hint)
    return Progress(tuple(map(_partition, other["partitions"])), other["types"], other["origin"])


def _partition(part: Mapping[str, Any]) -> Input:
    """Convert a partition from JSON."""
    return Input(**{**part, "values": {name: PartitionValue(*value) for name, value in part["values"].items()}})


def _difference(old: Facts, new: Facts) -> str:
    """Return how two descriptions differ; empty if the runs write the same files."""
    if old["version"] != new["version"]:
        return f"it was begun with autodiff {old['version']}, and this is {new['version']}"
    before, now = dict(old["stamps"]), dict(new["stamps"])
    for path in sorted({*before, *now}):
        if before.get(path) != now.get(path):
            what = "was not an input" if path not in before else "was an input" if path not in now else "has changed"
            return f"{display_name(path)} {what}"
    if old["stamps"] != new["stamps"]:
        return "its input files were in another order"
    if old["task"]["expression"] != new["task"]["expression"]:
        return f"its expression is {old['task']['expression']!r}"
    for name, value in {**new["reading"], **new["task"]}.items():
        if {**old["reading"], **old["task"]}[name] != value:
            return f"{setting(_SETTINGS.get(name, name))} was different"
    same = all(old[name] == new[name] for name in ("columns", "form", "head", "bare", "template"))
    return "" if same else "its output has another format or other columns"
