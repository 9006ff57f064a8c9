"""The computation of a worker: read a partition, compute the results, and write its part of the output.

A job is a folder next to the output.  It contains the expression as text, the given values, the list of partitions, and
the finished parts.  The folder does not contain code, and none of its files is unpickled.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from autodiff_cli import __version__, errors
from autodiff_cli.data.cluster.partitions import Partition
from autodiff_cli.data.mapping import RowMap, Task
from autodiff_cli.data.pipeline import check_same, encoded
from autodiff_cli.data.readers.hive import Value
from autodiff_cli.data.row_blocks import OutputStyle, Tally, Writer
from autodiff_cli.data.writers import writer
from autodiff_cli.data.writers.totals import TotalsPartWriter
from autodiff_cli.errors import AutodiffError, ClusterError, FileError
from autodiff_cli.formats import FORMATS

_ABOUT, _VALUES, _TYPES, FILES = "job.json", "values.npz", "types", "files"
Note = dict[str, Any]
"""The report of a worker on a partition, as JSON: the counts of its rows, or an ``error``."""


@dataclass(frozen=True)
class Job:
    """An evaluation of many input files with one output.

    Attributes:
        task: the computation for each row.
        first: the name of the first input file in messages.
        columns: the names of the columns of the first file.
        form, head, bare: the output style; see ``row_blocks.OutputStyle``.
        template: the file names in an output folder, with ``*`` for the partition number; empty if parts are joined.
        partitions: the partitions, in row order.
        folder: the path of the folder of the job.
    """

    task: Task
    first: str
    columns: tuple[str, ...]
    form: str
    head: Mapping[str, object]
    bare: bool
    template: str
    partitions: tuple[Partition, ...]
    folder: str

    def save(self) -> None:
        """Write the job into its folder."""
        values: dict[str, Any] = {f"at.{name}": value for name, value in self.task.at.items()}
        values |= {f"const.{name}": value for name, value in self.task.const.items()}
        np.savez(os.path.join(self.folder, _VALUES), **values)
        about = asdict(replace(self, task=replace(self.task, at={}, const={})))
        text = json.dumps({"version": __version__, **about}, separators=(",", ":"))
        with open(os.path.join(self.folder, _ABOUT), "w", encoding="utf-8") as file:
            file.write(text)
        if self.template:
            os.mkdir(os.path.join(self.folder, FILES))

    def path(self, index: int) -> str:
        """Return the path of the part that contains the results of a partition."""
        if not self.template:
            return os.path.join(self.folder, f"{index}.part")
        digits = max(5, len(str(len(self.partitions) - 1)))
        return os.path.join(self.folder, FILES, self.template.replace("*", f"{index:0{digits}}"))

    @property
    def types(self) -> str:
        """The path of a file with the column types of the output, which follow from the first rows."""
        return os.path.join(self.folder, _TYPES)

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
        made = writer(self.style if self.template else self.part_style)
        if os.path.exists(self.types):
            made.take_types(self.types)
        return made

    def compute(self, index: int) -> Note:
        """Compute and write the part of a partition, and return the counts of its rows.

        Raises:
            AutodiffError: if a row fails; the part is then not written.
        """
        done = os.path.join(self.folder, f"{index}.done")
        with suppress(FileNotFoundError), open(done, encoding="utf-8") as file:
            note: Note = json.load(file)
            return note
        waiting = os.path.join(self.folder, f"{index}.{os.urandom(4).hex()}.tmp")
        try:
            note = self._written(self.partitions[index], waiting)
            os.replace(waiting, self.path(index))
            with open(waiting, "w", encoding="utf-8") as file:
                json.dump(note, file)
            os.replace(waiting, done)
        except BaseException:
            with suppress(OSError):
                os.unlink(waiting)
            raise
        return note

    def _written(self, partition: Partition, path: str) -> Note:
        tally = Tally()
        about = os.path.join(self.folder, _ABOUT)
        with closing(partition.open()) as source, open(path, "w+b") as file, closing(self.writer()) as out:
            check_same(self.mapping, source, out, self.first)
            out.begin(file, self.mapping.kept, self.mapping.results, source)
            if not self.template:
                out.flush()
                file.seek(0)
                file.truncate()
            for more, made in encoded(self.mapping, source, out, 1):
                if not os.path.exists(about):
                    raise ClusterError("the job was canceled")
                out.write(made)
                tally.add(more)
            out.finish()
        return {"tally": asdict(tally), "numpy": np.__version__}


@lru_cache(maxsize=4)
def load(folder: str) -> Job:
    """Read a job from its folder, once per worker.

    Raises:
        ClusterError: if the folder cannot be read, or if the job was saved by another version of autodiff.
    """
    try:
        with open(os.path.join(folder, _ABOUT), encoding="utf-8") as file:
            about = json.load(file)
    except OSError as error:
        hint = "make the folder available under the same path on all machines"
        raise ClusterError(f"a worker cannot read '{folder}': {error.strerror}", hint=hint) from None
    version = about.pop("version")
    if version != __version__:
        hint = "install the same version on all machines"
        raise ClusterError(f"a worker has autodiff {__version__}, but this machine has {version}", hint=hint)
    given: dict[str, dict[str, Any]] = {"at": {}, "const": {}}
    with np.load(os.path.join(folder, _VALUES), allow_pickle=False) as values:
        for key in values.files:
            option, _, name = key.partition(".")
            given[option][name] = values[key][()]
    about["task"] = Task(**{**about["task"], **given})
    about["columns"] = tuple(about["columns"])
    about["partitions"] = tuple(_partition(part) for part in about["partitions"])
    return Job(**{**about, "folder": folder})


def _partition(part: dict[str, Any]) -> Partition:
    """Convert a partition from JSON."""
    tuples = {name: tuple(part[name]) for name in ("span", "columns") if part[name] is not None}
    values = {name: Value(*value) for name, value in part["values"].items()}
    return Partition(**{**part, **tuples, "values": values})


def work(folder: str, index: int) -> Note:
    """Compute one partition of a job; the cluster calls this function."""
    try:
        job = load(folder)
        try:
            return job.compute(index)
        except FileError as error:
            if error.hint is None and not os.path.exists(job.partitions[index].path):
                error.hint = "workers read the input files: make them available under the same paths on all machines"
            raise
    except AutodiffError as error:
        return {"error": {"kind": error.kind, **error.arguments()}}
    except OSError as error:
        return {"error": {"kind": "FileError", "message": f"a worker cannot write into '{folder}': {error.strerror or error}"}}


def error_of(note: Note) -> AutodiffError:
    """Convert the error in a worker's note to an exception."""
    data = dict(note["error"])
    kind = getattr(errors, data.pop("kind"), AutodiffError)
    if data.get("span") is not None:
        data["span"] = tuple(data["span"])
    found: AutodiffError = kind(data.pop("message"), **data)
    return found
