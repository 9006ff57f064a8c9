"""The computation of a worker: read a partition, compute the results, and write its part of the output.

A job is described by a file in the hidden folder of a run.  It contains the expression as text, the given values and the list of
partitions, but no code, and it is not unpickled.
"""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from autodiff_cli import __version__
from autodiff_cli.data import output, storage
from autodiff_cli.data.compression import compressed
from autodiff_cli.data.inputs import reader
from autodiff_cli.data.mapping import RowMap, Task
from autodiff_cli.data.parts.run_directory import JOB
from autodiff_cli.data.pipeline import check_same, encoded
from autodiff_cli.data.row_blocks import Input, OutputStyle, PartitionValue, Tally, Writer
from autodiff_cli.data.writers import writer
from autodiff_cli.data.writers.totals import TotalsPartWriter
from autodiff_cli.errors import ClusterError, FileError, setting
from autodiff_cli.formats import FORMATS
from autodiff_cli.language.source_text import display_name

Record = dict[str, Any]
"""The record of a finished part, as JSON: the counts of its rows, and the version of NumPy."""
_CHECKED_EACH = 1.0
"""The number of seconds between two checks of whether the run goes on."""


@dataclass(frozen=True)
class Job:
    """An evaluation of many input files with one output.

    Attributes:
        task: the computation for each row.
        first: the name of the first input file in messages.
        columns: the names of the columns of the first file.
        form, head, bare: the output style; see ``row_blocks.OutputStyle``.
        template: the file names in the output folder, with ``*`` for the partition number; empty if parts are joined.
        reading: the format of the first file, and the names of columns that were given for it.
        stamps: the absolute path of each input file, and a text that changes with the file; see ``storage.stamp``.
        types: a file with the column types of the output, which follow from the first rows, in base64; empty without types.
        partitions: the partitions, in row order.
        origin: the name of the first run, which no other job has: a worker may write a record when its job was given up.
        folder: the path of the hidden folder of the run.
        run: the name of a file in this folder that exists as long as the run goes on.
    """

    task: Task
    first: str
    columns: Sequence[str]
    form: str
    head: Mapping[str, object]
    bare: bool
    template: str
    reading: Mapping[str, object] = field(default_factory=dict)
    stamps: Sequence[tuple[str, str]] = ()
    types: str = ""
    partitions: tuple[Input, ...] = ()
    origin: str = ""
    folder: str = ""
    run: str = ""

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The job as it is written to a file, without the folder and the name of the run."""
        facts = {"version": __version__, **asdict(replace(self, folder="", run=""))}
        as_read: dict[str, Any] = json.loads(json.dumps(facts, default=lambda array: array.tolist()))
        return as_read

    def save(self) -> None:
        """Write the job into its folder."""
        output.write(storage.join(self.folder, JOB), json.dumps(self.facts, separators=(",", ":")).encode())

    def continued(self, unfinished: bytes, target: str) -> Job:
        """Return this job with the partitions of an unfinished job, after a check that both write the same files.

        Args:
            unfinished: the content of the file of the other job.
            target: the output in messages.

        Raises:
            FileError: if the other job differs, or if an input file has changed.
        """
        other = json.loads(unfinished)
        reason = _difference(other, self.facts)
        if reason:
            hint = "repeat the command of this run with the same input files, or write to another folder"
            raise FileError(f"cannot continue the unfinished run in '{target}': {reason}", hint=hint)
        return replace(self, partitions=tuple(map(_partition, other["partitions"])), types=other["types"], origin=other["origin"])

    def path(self, index: int) -> str:
        """Return the path of the part that contains the results of a partition."""
        if not self.template:
            return storage.join(self.folder, f"{index}.part")
        digits = max(5, len(str(len(self.partitions) - 1)))
        return storage.join(os.path.dirname(self.folder), self.template.replace("*", f"{index:0{digits}}"))

    @cached_property
    def mapping(self) -> RowMap:
        """The compiled task with its columns, shared by all partitions."""
        return RowMap(self.task, self.task.program(), self.columns, self.first)

    @property
    def style(self) -> OutputStyle:
        """The output style."""
        return OutputStyle(FORMATS[self.form], self.head, self.bare, total=self.task.total or "", strict=self.task.strict)

    @property
    def part_style(self) -> OutputStyle:
        """The style of a part that is joined with other parts into one file."""
        return self.style._replace(format=FORMATS[self.style.format.part or self.form], whole=self.style.format)

    def writer(self) -> Writer:
        """Return the writer of a part, with the column types of the output if the format has types."""
        if self.task.total:
            return TotalsPartWriter(self.style)
        part = writer(self.style if self.template else self.part_style)
        if self.types:
            part.take_types(base64.b64decode(self.types))
        return part

    def compute(self, index: int) -> Record:
        """Compute and write the part of a partition, unless it is finished, and return its record.

        Raises:
            AutodiffError: if a row fails; the part is then not written.
        """
        path = storage.join(self.folder, f"{index}.{self.origin}.done")
        finished = storage.content(path)
        if finished is not None and storage.exists(self.path(index)):
            record: Record = json.loads(finished)
            return record
        record = {"tally": asdict(self._written(index)), "numpy": np.__version__}
        output.write(path, json.dumps(record).encode())
        return record

    def _written(self, index: int) -> Tally:
        tally, path, checked = Tally(), self.path(index), -_CHECKED_EACH
        with closing(reader(self.partitions[index])) as source, closing(self.writer()) as out:
            packed = path if self.template and not out.binary else None
            with output.opened(path) as raw, compressed(raw, packed) as file:
                check_same(self.mapping, source, out, self.first)
                out.begin(file, self.mapping.copies, self.mapping.results, source)
                if not self.template:
                    out.flush()
                    file.seek(0)
                    file.truncate()
                for more, rows in encoded(self.mapping, source, out, 1):
                    if time.monotonic() - checked >= _CHECKED_EACH:
                        self._check_runs()
                        checked = time.monotonic()
                    out.write(rows)
                    tally.add(more)
                out.finish()
                self._check_runs()
        return tally

    def _check_runs(self) -> None:
        if not storage.exists(storage.join(self.folder, self.run)):
            raise ClusterError("the job was canceled")


def _partition(part: Mapping[str, Any]) -> Input:
    """Convert a partition from JSON."""
    return Input(**{**part, "values": {name: PartitionValue(*value) for name, value in part["values"].items()}})


def _difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return how the facts of two jobs differ; empty if they write the same files."""
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


_SETTINGS = {"lets": "let", "keep": "no_keep", "style": "input_format"}
"""The settings of fields of ``Task`` and ``Input`` with another name."""


@lru_cache(maxsize=4)
def load(folder: str, run: str) -> Job:
    """Read a job from its folder, once per run and worker.

    Raises:
        ClusterError: if the folder cannot be read, or if the job was saved by another version of autodiff.
    """
    try:
        data, reason = storage.content(storage.join(folder, JOB)), "the job does not exist"
    except OSError as error:
        data, reason = None, error.strerror or str(error)
    if data is None:
        hint = "make the folder available under the same path on all machines"
        raise ClusterError(f"a worker cannot read '{folder}': {reason}", hint=hint)
    facts = json.loads(data)
    version = facts.pop("version")
    if version != __version__:
        hint = "install the same version on all machines"
        raise ClusterError(f"a worker has autodiff {__version__}, but this machine has {version}", hint=hint)
    facts["task"] = Task(**facts["task"])
    facts["partitions"] = tuple(map(_partition, facts["partitions"]))
    return Job(**{**facts, "folder": folder, "run": run})


def work(folder: str, run: str, index: int) -> Record:
    """Compute one partition of a job, and return the record of its part; a worker calls this function.

    Raises:
        AutodiffError: if a row fails, or a file cannot be read or written.
    """
    job = load(folder, run)
    try:
        return job.compute(index)
    except FileError as error:
        if error.hint is None and not storage.exists(str(job.partitions[index].path)):
            error.hint = "workers read the input files: make them available under the same paths on all machines"
        raise
    except OSError as error:
        raise FileError(f"a worker cannot write into '{folder}': {error.strerror or error}") from None
