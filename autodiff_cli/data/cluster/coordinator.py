"""``map`` on a cluster, from the files to the output; the counterpart of ``pipeline.run``."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autodiff_cli.data import output
from autodiff_cli.data.block import OutputStyle, Reader, Tally
from autodiff_cli.data.cluster import joining, scheduler
from autodiff_cli.data.cluster.job import Job, error_of, work
from autodiff_cli.data.cluster.partitions import Limits, Partition, plan, scan
from autodiff_cli.data.inputs import spoken
from autodiff_cli.data.mapping import RowMap, Task
from autodiff_cli.data.pipeline import Inputs, Summary, encoded
from autodiff_cli.data.writers import writer
from autodiff_cli.errors import FileError, UsageError, setting

_DASK = setting("engine", "dask")


@dataclass(frozen=True, slots=True)
class Settings:
    """Where and how.

    Attributes:
        scheduler: its address; a cluster of this machine if missing.
        workers, threads: processes of that, and threads of each.
        limits: how large a partition may be.
    """

    scheduler: str | None = None
    workers: int = 1
    threads: int = 1
    limits: Limits = field(default_factory=Limits)


def run(
    task: Task,
    program: Any,
    inputs: Inputs,
    target: str | None,
    style: OutputStyle,
    settings: Settings,
    tick: Callable[[int, float | None], None],
) -> Summary:
    """Compute a task for every row of some files and write the results.

    Args:
        task: what to compute.
        program: its Program.
        inputs: the files.
        target: the file to write, ``None`` for standard output; a folder or a template for a file for each partition.
        style: how rows are written.
        settings: of the cluster.
        tick: called with the number of rows so far, and the part of the input that is done.

    Raises:
        AutodiffError: of any kind, the first in the order of rows; there is no output then, as with ``pipeline.run``.
    """
    scheduler.check_there()
    form = style.format.name
    if style.format.for_people:
        raise UsageError(f"{_DASK} writes data, and {form} is for people", hint=f"remove {_DASK}, or choose another format")
    _check_files(inputs, target, settings)
    template = ""
    if target is not None and output.is_folder(target):
        joining.check_new(target, form)
        template = joining.split(target, form)[1]
    with closing(inputs.open(inputs.paths[0])) as source, output.terminable(), _workplace(target) as folder:
        first = RowMap(task, program, source.columns, spoken(inputs.paths[0]))
        with scheduler.connected(settings.scheduler, settings.workers, settings.threads, folder) as cluster:
            partitions = plan(inputs, settings.limits, lambda ranges: _all(cluster, ranges))
            job = Job(
                task,
                spoken(inputs.paths[0]),
                source.columns,
                form,
                dict(style.head),
                style.bare,
                template,
                tuple(partitions),
                folder,
            )
            job.save()
            _types(job, first, source)
            notes = cluster.each(work, [(folder, i) for i in range(len(partitions))], lambda note: "error" in note)
            into: Any = joining.many_files(job, str(target))
            if not template:
                into = joining.one_file(job, writer(style), target, source)
            with into as add:
                summary = _summed(partitions, _in_order(notes), add, tick)
            summary.notes = [*cluster.notes, *summary.notes]
            return summary


def _check_files(inputs: Inputs, target: str | None, settings: Settings) -> None:
    for path in inputs.paths:
        if path is None or (os.path.exists(path) and not os.path.isfile(path)):
            raise UsageError(f"{_DASK} reads files, and {spoken(path)} is not a file on disk", hint=f"remove {_DASK}")
    if settings.scheduler is not None and _beside(target) is None:
        message = f"{setting('scheduler')} needs an output file in a folder that all machines can write to"
        raise UsageError(message, hint="such as out.csv, or out/ for many files")


def _beside(target: str | None) -> str | None:
    """The file or folder that parts are put beside."""
    if target is None:
        return None
    path = os.path.realpath(os.path.dirname(target) if "*" in target else target)
    return None if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)) else path


@contextmanager
def _workplace(target: str | None) -> Iterator[str]:
    """A hidden folder beside the output, which is gone at the end."""
    path = _beside(target)
    if path is None:
        folder = tempfile.mkdtemp(prefix="autodiff-")
    else:
        # In the same file system, so that parts only change their names.
        parent, name = (path, "autodiff") if os.path.isdir(path) else os.path.split(path)
        folder = os.path.join(parent, f".{name[:200]}.{os.urandom(4).hex()}.parts")
        try:
            os.mkdir(folder)
        except OSError as error:
            reason = f"there is no folder '{parent}'" if not os.path.isdir(parent) else error.strerror or error
            raise FileError(f"cannot write '{target}': {reason}") from None
    try:
        yield folder
    finally:
        with scheduler.undisturbed():
            _remove(folder)


def _remove(folder: str) -> None:
    """Workers of another machine may still be at a row; they stop when they do not find the job any more."""
    for pause in (0.05, 0.2, 1.0, 0.0):
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, "job.json"))
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
        time.sleep(pause)


def _all(cluster: scheduler.Cluster, ranges: Any) -> list[Any]:
    """What the workers find in some ranges of files."""
    return [found for _, found in sorted(cluster.each(scan, ranges, lambda _: False), key=lambda pair: pair[0])]


def _types(job: Job, first: RowMap, source: Reader) -> None:
    """Let the first rows of all decide the types of columns, as they do on one machine."""
    if not job.style.format.part:
        return
    out = writer(job.part_style)
    with open(job.types + ".tmp", "w+b") as file, closing(out):
        out.begin(file, first.kept, first.results, source)
        *_, made = next(encoded(first, source, out, 1))
        out.write(made)
        out.finish()
    os.replace(job.types + ".tmp", job.types)


def _in_order(notes: Iterable[tuple[int, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    waiting: dict[int, dict[str, Any]] = {}
    position = 0
    for i, note in notes:
        waiting[i] = note
        while position in waiting:
            yield waiting.pop(position)
            position += 1


def _summed(
    partitions: list[Partition], notes: Iterable[dict[str, Any]], add: joining.Add, tick: Callable[[int, float | None], None]
) -> Summary:
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
        summary.notes.append(f"the workers have NumPy {versions}, this is {np.__version__}: last digits may differ")
    return summary
