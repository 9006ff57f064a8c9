"""Evaluation of files in parts; the counterpart of ``data.pipeline``."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from autodiff_cli.compiler.program import Compiled, Program
from autodiff_cli.data import output, storage, temporary_files
from autodiff_cli.data.compression import compressed
from autodiff_cli.data.inputs import reader
from autodiff_cli.data.mapping import RowMap, Task
from autodiff_cli.data.parts import description, scheduler
from autodiff_cli.data.parts.job import FolderRun, Job, Part, work
from autodiff_cli.data.parts.partitions import BYTES, plan, scan
from autodiff_cli.data.parts.run_directory import JOB, in_folder
from autodiff_cli.data.pipeline import Summary, Tick, encoded, ordered, settle
from autodiff_cli.data.row_blocks import Input, OutputStyle, Reader
from autodiff_cli.data.writers import writer
from autodiff_cli.errors import UsageError, setting
from autodiff_cli.language.limited_reading import display_name

Results = Callable[..., Generator[Any]]
"""A function that calls a function for each tuple of arguments, and yields the results in order."""


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


def run(
    task: Task,
    program: Compiled,
    inputs: Sequence[Input],
    target: str | None,
    style: OutputStyle,
    settings: PartSettings,
    tick: Tick,
    tell: scheduler.Tell,
) -> Summary:
    """Compute a task for every row of the input files and write the results.

    Args:
        task: the computation for each row.
        program: the compiled task.
        inputs: the input files.
        target: the output file, or ``None`` for standard output; a folder or template to write one file per partition.
        style: the output style.
        settings: the settings.
        tick: the function that reports progress.
        tell: the function that shows a note to the user at once.

    Raises:
        AutodiffError: if any row fails; the error describes the first such row, and nothing is written.  After a lost
            connection or an error of a file, the finished files of an output folder stay, and the run can be continued.
    """
    if settings.cluster is not None:
        scheduler.check_there()
    _check(task, inputs, target, style, settings)
    with closing(reader(inputs[0])) as source, output.terminable():
        settle(program, source, inputs)
        if isinstance(program, Program):
            task = replace(task, engine=program.engine)
        elif settings.cluster is None:  # threads would wait for each other
            settings = replace(settings, workers=1)
        job = Job(task, inputs[0].title, source.columns, style.format.name, dict(style.head), style.bare)
        first = RowMap(task, program, source.columns, job.first)
        planned = partial(_Run, inputs, settings, tick, tell)
        if target is not None and output.is_folder(target):
            return _into_folder(job, planned(), target, first, source)
        return _into_file(job, planned(), target, first, source)


def _check(task: Task, inputs: Sequence[Input], target: str | None, style: OutputStyle, settings: PartSettings) -> None:
    """Check the inputs and the output."""
    who = f"the output of many files '{target}'" if settings.cluster is None else setting("engine", "dask")
    if style.format.for_people:
        raise UsageError(
            f"{who} cannot write the format {style.format.name}, which is for display only", hint="choose another format"
        )
    for path in (file.path for file in inputs):
        if path is None or (not storage.is_url(path) and os.path.exists(path) and not os.path.isfile(path)):
            raise UsageError(f"{who} reads files, but {display_name(path)} is not a file on disk", hint="name files")
    if task.total and output.is_folder(target):
        raise UsageError(f"'{target}' is a folder, but a {task.total} is one table", hint="name a file")


@dataclass(frozen=True)
class _Run:
    """The inputs and the settings of a run, and the functions that report its progress."""

    inputs: Sequence[Input]
    settings: PartSettings
    tick: Tick
    tell: scheduler.Tell

    def connected(self) -> AbstractContextManager[Results]:
        """Return the function that calls a function for many arguments, to be closed."""
        if self.settings.cluster is not None:
            return scheduler.connected(self.settings.cluster, self.settings.workers, self.tell)
        return nullcontext(lambda function, calls: ordered(lambda call: function(*call), calls, self.settings.workers))

    def partitions(self, results: Results) -> list[Input]:
        """Return the partitions of the inputs, in row order."""
        return plan(self.inputs, self.settings.most, partial(results, scan))

    def parts(self, job: Job, results: Results, partitions: Sequence[Input], summary: Summary) -> Iterator[Part]:
        """Yield the parts in row order, and add their counts to a summary."""
        done, total = 0, sum(partition.size for partition in partitions)
        text = job.text()
        calls = [(text, partition, i) for i, partition in enumerate(partitions)]
        with closing(results(work, calls)) as parts:
            for partition, part in zip(partitions, parts, strict=True):
                yield part
                summary.add(part.tally)
                done += partition.size
                self.tick(summary.rows, done / total if total else None)


def _into_file(job: Job, run: _Run, target: str | None, first: RowMap, source: Reader) -> Summary:
    """Write the rows of all partitions to one file."""
    summary = Summary(notes=temporary_files.removed(target))
    with (
        closing(writer(job.style)) as out,
        run.connected() as results,
        output.opened(target) as raw,
        compressed(raw, None if out.binary else target) as file,
    ):
        out.begin(file, first.copies, first.results, source)
        for part in run.parts(job, results, run.partitions(results), summary):
            for rows in part.rows:
                out.write(rows)
        out.finish()
    return summary


def _into_folder(job: Job, run: _Run, target: str, first: RowMap, source: Reader) -> Summary:
    """Let the workers write a file for each partition, in a new run or in one that continues another."""
    folder, template = output.split(target, job.form)
    with in_folder(target, job.form, run.settings.resume) as directory, run.connected() as results:
        facts = description.facts_of(job, run.inputs, template)
        if directory.unfinished is None:
            progress = description.Progress(run.partitions(results), _types(job, first, source), directory.run)
            output.write(storage.join(directory.folder, JOB), description.content(facts, progress))
        else:
            progress = description.continued(directory.unfinished, facts, target)
        partitions, types, origin = progress
        digits = max(5, len(str(len(partitions) - 1)))
        job = replace(job, folder=FolderRun(storage.join(folder, template), directory.folder, directory.run, origin, types, digits))
        summary = Summary(notes=directory.notes)
        with directory.computing():
            for _ in run.parts(job, results, partitions, summary):
                pass
        return summary


def _types(job: Job, first: RowMap, source: Reader) -> str:
    """Return the column types, which follow from the first rows, as on a single machine; see ``FolderRun.types``."""
    if not job.style.format.binary:
        return ""
    with closing(writer(job.style)) as out:
        out.begin(io.BytesIO(), first.copies, first.results, source)
        for _, rows in encoded(first, source, out, 1):
            out.write(rows)
            if out.types():
                break
        return base64.b64encode(out.types()).decode()
