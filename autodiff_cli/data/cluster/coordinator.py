"""Evaluation of files on a cluster; the counterpart of ``data.pipeline``."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace

import numpy as np

from autodiff_cli.compiler.program import Compiled, Program
from autodiff_cli.data import output
from autodiff_cli.data.cluster import joining, scheduler
from autodiff_cli.data.cluster.job import Job, Note, error_of, work
from autodiff_cli.data.cluster.partitions import Limits, Partition, Range, Scan, plan, scan
from autodiff_cli.data.mapping import RowMap, Task
from autodiff_cli.data.pipeline import Inputs, Summary, Tick, encoded, settle
from autodiff_cli.data.row_blocks import OutputStyle, Reader, Tally
from autodiff_cli.data.writers import writer
from autodiff_cli.errors import FileError, UsageError, setting
from autodiff_cli.formats import compression_of
from autodiff_cli.language.source_text import display_name

_DASK = setting("engine", "dask")


@dataclass(frozen=True, slots=True)
class Settings:
    """The cluster settings.

    Attributes:
        scheduler: the address of the scheduler; ``None`` for a new cluster on this machine.
        workers, threads: the number of worker processes of a new cluster, and the number of threads per worker.
        limits: the maximum size of a partition.
    """

    scheduler: str | None = None
    workers: int = 1
    threads: int = 1
    limits: Limits = field(default_factory=Limits)


def run(
    task: Task, program: Compiled, inputs: Inputs, target: str | None, style: OutputStyle, settings: Settings, tick: Tick
) -> Summary:
    """Compute a task for every row of the input files and write the results.

    Args:
        task: the computation for each row.
        program: the compiled task.
        inputs: the input files.
        target: the output file, or ``None`` for standard output; a folder or template to write one file per partition.
        style: the output style.
        settings: the cluster settings.
        tick: the function that reports progress.

    Raises:
        AutodiffError: if any row fails; the error describes the first such row, and the output file is unchanged.
    """
    scheduler.check_there()
    form = style.format.name
    if style.format.for_people:
        raise UsageError(
            f"{_DASK} cannot write the format {form}, which is for display only", hint=f"remove {_DASK}, or choose another format"
        )
    _check_files(inputs, target, settings)
    if compression_of(target or ""):
        raise UsageError(f"{_DASK} writes files that are not compressed", hint=f"compress '{target}' afterwards")
    template = ""
    if target is not None and output.is_folder(target):
        if task.total:
            raise UsageError(f"'{target}' is a folder, but a {task.total} is one table", hint="name a file")
        joining.check_new(target, form)
        template = joining.split(target, form)[1]
    with closing(inputs.open(inputs.paths[0])) as source, output.terminable(), _workplace(target) as folder:
        name = display_name(inputs.paths[0])
        settle(program, source, inputs)
        if isinstance(program, Program):
            task = replace(task, engine=program.engine)
        first = RowMap(task, program, source.columns, name)
        with scheduler.connected(settings.scheduler, settings.workers, settings.threads, folder) as cluster:
            partitions = plan(inputs, settings.limits, lambda ranges: _all(cluster, ranges))
            written = (form, dict(style.head), style.bare)
            job = Job(task, name, source.columns, *written, template, tuple(partitions), folder)
            job.save()
            _types(job, first, source)
            notes = cluster.each(work, [(folder, i) for i in range(len(partitions))], lambda note: "error" in note)
            into = joining.many_files(job, str(target)) if template else joining.one_file(job, writer(style), target, source)
            with into as add:
                summary = _summed(partitions, _in_order(notes), add, tick)
            summary.notes = [*cluster.notes, *summary.notes]
            return summary


def _check_files(inputs: Inputs, target: str | None, settings: Settings) -> None:
    for path in inputs.paths:
        if path is None or (os.path.exists(path) and not os.path.isfile(path)):
            raise UsageError(f"{_DASK} reads files, but {display_name(path)} is not a file on disk", hint=f"remove {_DASK}")
    if settings.scheduler is not None and _beside(target) is None:
        message = f"{setting('scheduler')} needs an output file in a folder that all machines can write to"
        raise UsageError(message, hint="name a file such as out.csv, or a folder such as out/ for many files")


def _beside(target: str | None) -> str | None:
    """Return the output file or folder next to which parts are written; ``None`` for a stream."""
    if target is None:
        return None
    path = os.path.realpath(os.path.dirname(target) if "*" in target else target)
    return None if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)) else path


@contextmanager
def _workplace(target: str | None) -> Iterator[str]:
    """Make a hidden folder next to the output, and remove it at the end."""
    path = _beside(target)
    if path is None:
        folder = tempfile.mkdtemp(prefix="autodiff-")
    else:
        # The folder is in the file system of the output, so that parts can be renamed instead of copied.
        parent, name = (path, "autodiff") if os.path.isdir(path) else os.path.split(path)
        folder = os.path.join(parent, f".{name[:200]}.{os.urandom(4).hex()}.parts")
        try:
            os.mkdir(folder)
        except OSError as error:
            reason = f"the folder '{parent}' does not exist" if not os.path.isdir(parent) else error.strerror or error
            raise FileError(f"cannot write '{target}': {reason}") from None
    try:
        yield folder
    finally:
        with scheduler.undisturbed():
            _remove(folder)


def _remove(folder: str) -> None:
    """Remove the folder of a job; workers on other machines stop when the folder no longer exists."""
    for pause in (0.05, 0.2, 1.0, 0.0):
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, "job.json"))
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
        time.sleep(pause)


def _all(cluster: scheduler.Cluster, ranges: Sequence[Range]) -> list[Scan | str | None]:
    """Scan ranges of files on the workers, and return the results in order."""
    return [found for _, found in sorted(cluster.each(scan, ranges, lambda _: False), key=lambda pair: pair[0])]


def _types(job: Job, first: RowMap, source: Reader) -> None:
    """Write the file ``job.types``; the column types follow from the first rows, as on a single machine."""
    if not job.style.format.part or job.task.total:
        return
    out = writer(job.part_style)
    with open(job.types + ".tmp", "w+b") as file, closing(out):
        out.begin(file, first.kept, first.results, source)
        *_, made = next(encoded(first, source, out, 1))
        out.write(made)
        out.finish()
    os.replace(job.types + ".tmp", job.types)


def _in_order(notes: Iterable[tuple[int, Note]]) -> Iterator[Note]:
    """Yield the notes in the order of their partition numbers."""
    waiting: dict[int, Note] = {}
    position = 0
    for i, note in notes:
        waiting[i] = note
        while position in waiting:
            yield waiting.pop(position)
            position += 1


def _summed(partitions: list[Partition], notes: Iterable[Note], add: joining.Add, tick: Tick) -> Summary:
    """Add the parts to the output in order, and return the counts over all rows."""
    summary = Summary()
    done, total = 0, sum(part.size for part in partitions)
    others: set[str] = set()
    for i, (part, note) in enumerate(zip(partitions, notes, strict=True)):
        if "error" in note:
            raise error_of(note)
        add(i)
        summary.add(Tally(**note["tally"]))
        others |= {note["numpy"]} - {np.__version__}
        done += part.size
        tick(summary.rows, done / total if total else None)
    if others:
        versions = ", ".join(sorted(others))
        message = f"the workers have NumPy {versions}, but this machine has {np.__version__}: the last digits may differ"
        summary.notes.append(message)
    return summary
