"""The computation of a worker: read a partition, compute the results, and return or write its part of the output."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from autodiff_cli import __version__
from autodiff_cli.data import output, storage
from autodiff_cli.data.inputs import reader
from autodiff_cli.data.mapping import RowMap, Task
from autodiff_cli.data.pipeline import check_same, encoded, writing
from autodiff_cli.data.row_blocks import Input, OutputStyle, Reader, Tally, Writer
from autodiff_cli.data.writers import writer
from autodiff_cli.errors import ClusterError, FileError
from autodiff_cli.formats import FORMATS

RECORD = ".done"
"""The suffix of the record of a finished part."""

Part = tuple[Tally, Sequence[Any]]
"""What a worker returns for a partition: the counts of its rows, and the encoded rows unless it wrote them to a file."""


class FolderRun(NamedTuple):
    """A run that writes a file for each partition into a folder.

    Attributes:
        running: the path of a file that exists as long as the run goes on; beside it are the records of finished parts.
        job: a text that no other job has: a worker may write a record when its job was given up.
        types: the column types of the output, which follow from the first rows, in hexadecimal digits; see ``Writer.types``.
    """

    running: str
    job: str
    types: str = ""


@dataclass(frozen=True)
class Job:
    """An evaluation of many input files.

    Attributes:
        task: the computation for each row.
        first: the name of the first input file in messages.
        columns: the names of the columns of the first file.
        form, head, bare: the output style; see ``row_blocks.OutputStyle``.
        folder: the folder of the output; ``None`` if the client writes one file.
    """

    task: Task
    first: str
    columns: Sequence[str]
    form: str
    head: Mapping[str, object] = field(default_factory=dict)
    bare: bool = False
    folder: FolderRun | None = None

    def text(self) -> str:
        """Return the job as JSON for ``from_text``; the arrays among its values become lists."""
        facts = {"version": __version__, **asdict(self)}
        return json.dumps(facts, separators=(",", ":"), default=lambda array: array.tolist())

    @cached_property
    def mapping(self) -> RowMap:
        """The compiled task with its columns, shared by all partitions."""
        return RowMap(self.task, self.task.program(), self.columns, self.first)

    @property
    def style(self) -> OutputStyle:
        """The output style."""
        return OutputStyle(FORMATS[self.form], self.head, self.bare, total=self.task.total or "", strict=self.task.strict)

    def returned(self, partition: Input) -> Part:
        """Compute a partition, and return the counts of its rows and the encoded pieces; ``AutodiffError`` if a row fails."""
        tally, pieces = Tally(), []
        with closing(reader(partition)) as source, closing(self._writer(source)) as out:
            out.begin(io.BytesIO(), self.mapping.copies, self.mapping.results, source)  # dropped: the client has the file
            for more, encoded_rows in encoded(self.mapping, source, out, threads=1):
                pieces.append(out.without_slices(encoded_rows))
                tally.add(more)
        return tally, pieces

    def written(self, folder: FolderRun, partition: Input, path: str) -> Part:
        """Write the file of a partition and the record of its counts, unless an earlier run did; return the counts without rows.

        A row that fails raises ``AutodiffError``, and the end of the run ``ClusterError``; the file is then not written.
        """
        record = storage.join(os.path.dirname(folder.running), f"{os.path.basename(path)}.{folder.job}{RECORD}")
        counts = storage.content(record)
        if counts is not None and storage.exists(path):
            return Tally(**json.loads(counts)), ()
        tally = self._write_file(folder, partition, path)
        output.write(record, json.dumps(asdict(tally)).encode())
        return tally, ()

    def _write_file(self, folder: FolderRun, partition: Input, path: str) -> Tally:
        """Compute a partition, write its output file, and return the counts; see ``written``."""
        tally = Tally()
        with closing(reader(partition)) as source, writing(path, self._writer(source), self.mapping, source) as out:
            for more, encoded_rows in encoded(self.mapping, source, out, threads=1):
                out.write(encoded_rows)
                tally.add(more)
            if not storage.exists(folder.running):  # an error here keeps ``writing`` from putting the file in its place
                raise ClusterError("the job was canceled")
        return tally

    def _writer(self, source: Reader) -> Writer:
        """Return a writer for a file, with the column types of the run; ``UsageError`` for other columns than in the first file."""
        out = writer(self.style)
        if self.folder is not None and self.folder.types:
            out.take_types(bytes.fromhex(self.folder.types))
        check_same(self.mapping, source, out, self.first)
        return out


@lru_cache(maxsize=4)
def from_text(text: str) -> Job:
    """Return the job that ``Job.text`` wrote; ``ClusterError`` if another version did.  All partitions share the cached job."""
    facts = json.loads(text)
    client_version = facts.pop("version")
    if client_version != __version__:  # the message is shown on the machine of the client
        hint = "install the same version on all machines"
        raise ClusterError(f"a worker has autodiff {__version__}, but this machine has {client_version}", hint=hint)
    facts["task"] = Task(**facts["task"])
    if facts["folder"] is not None:
        facts["folder"] = FolderRun(*facts["folder"])  # JSON has a list for a tuple
    return Job(**facts)


def work(text: str, partition: Input, path: str) -> Part:
    """Compute one partition of a job, and return its counts and rows; the client calls this function on the workers.

    The arguments are the job as text, the partition, and the path of its output file, which is empty if the client writes one file.
    A row that fails, or a file that cannot be read or written, raises ``AutodiffError``.
    """
    job = from_text(text)
    try:
        return job.returned(partition) if job.folder is None else job.written(job.folder, partition, path)
    except FileError as error:
        if error.hint is None and not storage.exists(str(partition.path)):
            error.hint = "workers read the input files: make them available under the same paths on all machines"
        raise
    except OSError as error:
        raise FileError(f"a worker cannot write into its folder: {error.strerror or error}") from None
