"""Evaluation of files in parts; the counterpart of ``data.pipeline``."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from autodiff_cli.compiler.program import Compiled, Program
from autodiff_cli.data import output, storage
from autodiff_cli.data.inputs import reader
from autodiff_cli.data.mapping import RowMap, Task
from autodiff_cli.data.parts import scheduler
from autodiff_cli.data.parts.job import Job, Record, work
from autodiff_cli.data.parts.partitions import BYTES, for_each, plan, scan
from autodiff_cli.data.parts.run_directory import beside_file, in_folder
from autodiff_cli.data.pipeline import Summary, Tick, encoded, ordered, settle
from autodiff_cli.data.row_blocks import Input, OutputStyle, Reader, Tally, Writer
from autodiff_cli.data.writers import writer
from autodiff_cli.errors import UsageError, setting
from autodiff_cli.formats import compression_of
from autodiff_cli.language.source_text import display_name

Result = TypeVar("Result")
_DASK = setting("engine", "dask")


@dataclass(frozen=True, slots=True)
class PartSettings:
    """The settings of an evaluation in parts.

    Attributes:
        dask: whether a Dask cluster computes the parts; otherwise, threads of this process.
        scheduler: the address of the scheduler; ``None`` for a new cluster on this machine.
        workers: the number of worker processes of a new cluster.
        threads: the number of threads of this process, or of each worker.
        most: the maximum number of bytes of a partition; lines and row groups are not split.
        resume: whether to continue an unfinished run.
    """

    dask: bool = True
    scheduler: str | None = None
    workers: int = 1
    threads: int = 1
    most: int = BYTES
    resume: bool = False


class Workers(Protocol):
    """What computes parts: see ``scheduler.DaskCluster``."""

    def results(self, function: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> Generator[Result]: ...


class Threads:
    """Threads of this process, with the interface of ``scheduler.DaskCluster``."""

    def __init__(self, threads: int) -> None:
        self._threads = threads

    def results(self, function: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> Generator[Result]:
        """Call a function for each tuple of arguments, and yield the results in order."""
        return ordered(lambda values: function(*values), arguments, self._threads)


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
    if settings.dask:
        scheduler.check_there()
    many = output.is_folder(target)
    _check(task, inputs, target, style, settings)
    form, name = style.format.name, inputs[0].title
    with closing(reader(inputs[0])) as source, output.terminable():
        settle(program, source, inputs)
        if isinstance(program, Program):
            task = replace(task, engine=program.engine)
        elif not settings.dask:  # threads would wait for each other
            settings = replace(settings, threads=1)
        first = RowMap(task, program, source.columns, name)
        opened = in_folder(str(target), form, settings.resume) if many else beside_file(target)
        with opened as directory, _connected(settings, directory.folder, tell) as workers:
            job = Job(
                task=task,
                first=name,
                columns=source.columns,
                form=form,
                head=dict(style.head),
                bare=style.bare,
                template=output.split(str(target), form)[1] if many else "",
                reading={"style": inputs[0].style, "columns": inputs[0].columns},
                stamps=for_each(lambda file: (storage.absolute(str(file.path)), storage.stamp(str(file.path))), inputs),
                origin=directory.run,
                folder=directory.folder,
                run=directory.run,
            )
            if directory.unfinished is None:
                partitions = plan(inputs, settings.most, lambda ranges: workers.results(scan, ranges))
                job = replace(job, partitions=tuple(partitions), types=_types(job, first, source))
                job.save()
            else:
                job = job.continued(directory.unfinished, str(target))
            calls = [(job.folder, job.run, i) for i in range(len(job.partitions))]
            joining = nullcontext(_no_part) if many else _joined(job, writer(style), target, source)
            with joining as add, closing(workers.results(work, calls)) as records, directory.computing():
                summary = _summed(job.partitions, records, add, tick)
            summary.notes = [*directory.notes, *summary.notes]
            return summary


def _check(task: Task, inputs: Sequence[Input], target: str | None, style: OutputStyle, settings: PartSettings) -> None:
    """Check the inputs and the output."""
    who = _DASK if settings.dask else f"the output of many files '{target}'"
    if style.format.for_people:
        raise UsageError(
            f"{who} cannot write the format {style.format.name}, which is for display only", hint="choose another format"
        )
    for path in (file.path for file in inputs):
        if path is None or (not storage.is_url(path) and os.path.exists(path) and not os.path.isfile(path)):
            raise UsageError(f"{who} reads files, but {display_name(path)} is not a file on disk", hint="name files")
    if output.is_folder(target):
        if task.total:
            raise UsageError(f"'{target}' is a folder, but a {task.total} is one table", hint="name a file")
        return
    if compression_of(target or ""):
        raise UsageError(f"{who} writes files that are not compressed", hint=f"compress '{target}' afterwards")
    shared = target is not None and not storage.is_url(target) and (os.path.isfile(target) or not os.path.exists(target))
    if settings.scheduler is not None and not shared:
        message = f"{setting('engine')} needs an output file or folder that all machines can write to"
        raise UsageError(message, hint="name a file such as out.csv, or a folder such as out/ or s3://bucket/out/")


def _connected(settings: PartSettings, folder: str, tell: scheduler.Tell) -> AbstractContextManager[Workers]:
    if not settings.dask:
        return nullcontext(Threads(settings.threads))
    scratch = None if storage.is_url(folder) else folder
    return scheduler.connected(settings.scheduler, settings.workers, settings.threads, scratch, tell)


def _types(job: Job, first: RowMap, source: Reader) -> str:
    """Return the column types, which follow from the first rows, as on a single machine; see ``Job.types``."""
    if not job.style.format.part or job.task.total:
        return ""
    file = io.BytesIO()
    with closing(writer(job.part_style)) as out:
        out.begin(file, first.copies, first.results, source)
        *_, rows = next(encoded(first, source, out, 1))
        out.write(rows)
        out.finish()
    return base64.b64encode(file.getvalue()).decode()


def _no_part(index: int) -> None:
    """Add nothing to an output of many files."""


@contextmanager
def _joined(job: Job, out: Writer, target: str | None, source: Reader) -> Iterator[Callable[[int], None]]:
    """Open the output, and yield the function that adds the part of a partition; it is called in the order of the partitions."""
    with output.opened(target) as file, closing(out):
        if job.types:
            out.take_types(base64.b64decode(job.types))
        out.begin(file, job.mapping.copies, job.mapping.results, source)

        def add(index: int) -> None:
            path = job.path(index)
            for rows in out.contents(path):
                out.write(rows)
            os.unlink(path)

        yield add
        out.finish()


def _summed(partitions: Sequence[Input], records: Iterable[Record], add: Callable[[int], None], tick: Tick) -> Summary:
    """Add the parts to the output in order, and return the counts over all rows."""
    summary = Summary()
    done, total = 0, sum(part.size for part in partitions)
    others: set[str] = set()
    for i, (part, record) in enumerate(zip(partitions, records, strict=True)):
        add(i)
        summary.add(Tally(**record["tally"]))
        others |= {record["numpy"]} - {np.__version__}
        done += part.size
        tick(summary.rows, done / total if total else None)
    if others:
        versions = ", ".join(sorted(others))
        message = f"the workers have NumPy {versions}, but this machine has {np.__version__}: the last digits may differ"
        summary.notes.append(message)
    return summary
