"""Evaluation of files in parts; the counterpart of ``data.pipeline``."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from autodiff_cli.compiler.program import Compiled, Program
from autodiff_cli.data import output, storage
from autodiff_cli.data.inputs import reader
from autodiff_cli.data.mapping import RowMap, Task
from autodiff_cli.data.parts import run_directory, scheduler
from autodiff_cli.data.parts.job import Job, Part, work
from autodiff_cli.data.parts.partitions import BYTES, split
from autodiff_cli.data.pipeline import Tick, encoded, ordered, settle, writing
from autodiff_cli.data.row_blocks import Input, OutputStyle, Reader, Tally
from autodiff_cli.data.writers import writer
from autodiff_cli.errors import UsageError, setting
from autodiff_cli.language.limited_reading import display_name

Results = Callable[..., Generator[Any]]
"""A function that calls a function for each tuple of arguments, and yields the results in order."""
_LEAST_DIGITS = 5
"""The number of digits in the names of the files of a folder; more if there are more files."""


@dataclass(frozen=True, slots=True)
class PartSettings:
    """The settings of an evaluation in parts.

    Attributes:
        cluster: the address of a Dask scheduler; ``dask`` for a new cluster on this machine; ``None`` for threads of this process.
        workers: the number of threads, or of processes of a new cluster.
        most: the maximum number of bytes of a partition; lines and row groups are not split.
        resume: whether to continue an unfinished run.
    """

    cluster: str | None = "dask"
    workers: int = 1
    most: int = BYTES
    resume: bool = False

    def connected(self, tell: scheduler.Tell) -> AbstractContextManager[Results]:
        """Return a context of the function that makes calls on the cluster, or in threads; ``tell`` shows notes on the cluster."""
        if self.cluster is not None:
            return scheduler.connected(self.cluster, self.workers, tell)
        return nullcontext(self._results_of_threads)

    def _results_of_threads(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> Generator[Any]:
        """Call a function for each tuple of arguments in threads, and yield the results in order."""
        return ordered(lambda arguments: function(*arguments), calls, self.workers)


def run(
    task: Task,
    program: Compiled,
    inputs: Sequence[Input],
    target: str | None,
    style: OutputStyle,
    settings: PartSettings,
    tick: Tick,
    tell: scheduler.Tell,
) -> Tally:
    """Compute a task for every row of the input files and write the results.

    Args:
        task, program, inputs: the computation for each row, its compiled form, and the input files.
        target: the output file, or ``None`` for standard output; a folder or template to write one file per partition.
        style, settings: the output style, and the settings of the evaluation in parts.
        tick, tell: the functions that report progress, and show a note to the user at once.

    A row that fails raises ``AutodiffError`` for the first such row, and nothing is written.  After a lost connection or an error
    of a file, the finished files of an output folder stay, and the run can be continued.
    """
    _check_files(task, inputs, target, style, settings)
    with closing(reader(inputs[0])) as source, output.terminable():
        settle(program, source, inputs)  # chooses the engine
        if isinstance(program, Program):
            task = replace(task, engine=program.engine)  # the same for all workers
        elif settings.cluster is None:  # each row is evaluated in Python, and threads would wait for each other
            settings = replace(settings, workers=1)
        job = Job(task, inputs[0].title, source.columns, form=style.format.name, head=dict(style.head), bare=style.bare)
        first = RowMap(task, program, source.columns, job.first)
        this_run = _Run(job, first, source, inputs, settings, tick, tell)
        return this_run.into_folder(target) if target is not None and output.is_folder(target) else this_run.into_file(target)


def _check_files(task: Task, inputs: Sequence[Input], target: str | None, style: OutputStyle, settings: PartSettings) -> None:
    """Raise ``UsageError`` for an input that is not a file, a format for display, or a sum or mean with many output files."""
    feature = f"the output of many files '{target}'" if settings.cluster is None else setting("engine", "dask")
    if style.format.for_people:
        message = f"{feature} cannot write the format {style.format.name}, which is for display only"
        raise UsageError(message, hint="choose another format")
    for file in inputs:
        path = file.path  # ``None`` for standard input
        is_device = path is not None and not storage.is_url(path) and os.path.exists(path) and not os.path.isfile(path)
        if path is None or is_device:
            raise UsageError(f"{feature} reads files, but {display_name(path)} is not a file on disk", hint="name files")
    if task.total and output.is_folder(target):
        raise UsageError(f"'{target}' is a folder, but a {task.total} is one table", hint="name a file")


@dataclass(frozen=True)
class _Run:
    """A run of a job: the mapping ``first`` and the open reader of the first file, and arguments of ``run``."""

    job: Job
    first: RowMap
    source: Reader
    inputs: Sequence[Input]
    settings: PartSettings
    tick: Tick
    tell: scheduler.Tell

    def into_file(self, target: str | None) -> Tally:
        """Write the rows of all partitions to one file, or to standard output if ``target`` is ``None``; return their counts."""
        summary = Tally()
        out = writer(self.job.style)
        with self.settings.connected(self.tell) as results, writing(target, out, self.first, self.source):
            for tally, encoded_rows in self._parts(self.job, results):
                for rows in encoded_rows:
                    out.write(rows)
                summary.add(tally)
        return summary

    def into_folder(self, target: str) -> Tally:
        """Let the workers write a file for each partition, in a new run or in one that continues another; return the counts."""
        folder, template = output.split(target, self.job.form)
        facts = run_directory.facts_of(self.job, self.inputs, template, self.settings.most)
        summary = Tally()
        with (
            run_directory.in_folder(target, self.job.form, facts, self.settings.resume) as folder_run,
            self.settings.connected(self.tell) as results,
        ):
            job = replace(self.job, folder=folder_run._replace(types=self._types()))
            for tally, _ in self._parts(job, results, storage.join(folder, template)):
                summary.add(tally)
        return summary

    def _parts(self, job: Job, results: Results, template: str = "") -> Iterator[Part]:
        """Let workers split the files and compute the partitions; yield the counts and rows of each in row order, with progress.

        ``template`` is the path of the output files, with ``*`` for the number of the partition; empty if workers return the rows.
        """
        # Workers may have another folder; messages keep the names of the user.
        files = [replace(file, path=storage.absolute(str(file.path)), name=file.title) for file in self.inputs]
        partitions = [*chain.from_iterable(results(split, [(file, self.settings.most) for file in files]))]
        digits = max(_LEAST_DIGITS, len(str(len(partitions) - 1)))
        text = job.text()
        calls = [(text, partition, template.replace("*", f"{i:0{digits}}")) for i, partition in enumerate(partitions)]
        rows = size = 0  # of the finished partitions
        whole_size = sum(partition.size for partition in partitions)
        with closing(results(work, calls)) as parts:
            for partition, (tally, encoded_rows) in zip(partitions, parts, strict=True):
                yield tally, encoded_rows
                rows += tally.rows
                size += partition.size
                self.tick(rows, size / whole_size if whole_size else None)

    def _types(self) -> str:
        """Compute rows until they show the column types of a binary format, and return those in base64; empty for other formats."""
        if not self.job.style.format.binary:
            return ""
        with closing(writer(self.job.style)) as out:
            out.begin(io.BytesIO(), self.first.copies, self.first.results, self.source)
            for _, rows in encoded(self.first, self.source, out, threads=1):
                out.write(rows)
                if out.types():
                    break
            return out.types().hex()
