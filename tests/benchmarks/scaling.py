"""``map --engine dask`` on the loopback of one machine: what a row costs, what a partition costs on top, what is moved.

Run it with ``python tests/benchmarks/scaling.py [FOLDER]``; it writes 700 MB of files into FOLDER.  The scheduler and the
client are in this process, each worker has its own.  Times are the least of a few rounds.  Processor time is that of the
workers, which other work on the machine disturbs less.
"""

from __future__ import annotations

import contextvars
import logging
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import dask
import distributed
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from distributed.comm import tcp

from autodiff_cli.data import pipeline
from autodiff_cli.data.inputs import named
from autodiff_cli.data.mapping import Task
from autodiff_cli.data.parts import coordinator, scheduler
from autodiff_cli.data.parts.coordinator import PartSettings
from autodiff_cli.data.row_blocks import OutputStyle
from autodiff_cli.data.writers import writer
from autodiff_cli.formats import FORMATS

EXPRESSION = "sin(x)*exp(-y**2)"
FILES, ROWS = 8, 400_000
ROUNDS = int(os.environ.get("ROUNDS", "3"))
SIZES = (1, 4, 16, 64)


class Moved:
    """Bytes that the scheduler sends and receives, to and from clients and workers."""

    def __init__(self) -> None:
        self.bytes = 0
        self.cluster: Any = None
        current: contextvars.ContextVar[Any] = contextvars.ContextVar("comm")
        write, read, read_bytes = tcp.TCP.write, tcp.TCP.read, tcp.read_bytes_rw

        async def counted_write(comm: Any, *given: Any, **named: Any) -> Any:
            size = await write(comm, *given, **named)
            self._add(comm, size)
            return size

        async def counted_read(comm: Any, *given: Any, **named: Any) -> Any:
            current.set(comm)
            return await read(comm, *given, **named)

        async def counted_bytes(stream: Any, size: int) -> Any:
            self._add(current.get(), size)
            return await read_bytes(stream, size)

        tcp.TCP.write, tcp.TCP.read, tcp.read_bytes_rw = counted_write, counted_read, counted_bytes

    def _add(self, comm: Any, size: int) -> None:
        """This process has the ends of the client and of nannies too, which are not counted."""
        if self.cluster is None:
            return
        address, workers = self.cluster.scheduler_address, self.cluster.scheduler.workers
        if comm.local_address == address or comm.peer_address in workers:
            self.bytes += size


@contextmanager
def of(workers: int, moved: Moved) -> Iterator[Any]:
    """A cluster of so many workers, of one thread each."""
    with scheduler.local_cluster(workers) as cluster:
        moved.cluster = cluster
        yield cluster
        moved.cluster = None


def files(folder: str, style: str) -> list[str]:
    """The input, written once."""
    paths = [os.path.join(folder, f"{i}.{style}") for i in range(FILES)]
    for i, path in enumerate(paths):
        numbers = np.random.default_rng(i)
        table = pa.table({"id": np.arange(ROWS), "x": numbers.uniform(-3, 3, ROWS), "y": numbers.normal(size=ROWS)})
        if style == "csv":
            pyarrow.csv.write_csv(table, path)
        else:
            pyarrow.parquet.write_table(table, path, row_group_size=ROWS // 16)
    return paths


def run(cluster: Any, paths: list[str], target: str, most: int) -> tuple[float, float, int]:
    """Seconds, seconds of processor in the workers, and partitions."""
    task = Task(EXPRESSION)
    workers = [psutil.Process(nanny.pid) for nanny in cluster.workers.values()]
    spent = [worker.cpu_times() for worker in workers]
    start = time.perf_counter()
    form = "parquet" if paths[0].endswith("parquet") else "csv"
    settings = PartSettings(cluster.scheduler_address, most=most)
    ticks: list[int] = []
    coordinator.run(
        task,
        task.program(),
        named(paths),
        target,
        OutputStyle(FORMATS[form]),
        settings,
        lambda rows, part: ticks.append(rows),
        print,
    )
    seconds = time.perf_counter() - start
    processor = sum(sum(worker.cpu_times()[:2]) - sum(before[:2]) for worker, before in zip(workers, spent, strict=True))
    if os.path.isdir(target):
        shutil.rmtree(target)
    else:
        os.unlink(target)
    return seconds, processor, len(ticks)


def local(paths: list[str], target: str, threads: int) -> tuple[float, float, int]:
    """The same without a cluster."""
    task = Task(EXPRESSION)
    form = "parquet" if paths[0].endswith("parquet") else "csv"
    start, before = time.perf_counter(), time.process_time()
    pipeline.run(task, task.program(), named(paths), target, writer(OutputStyle(FORMATS[form])), threads, lambda rows, part: None)
    found = time.perf_counter() - start, time.process_time() - before, 1
    os.unlink(target)
    return found


def compared(contestants: dict[str, Callable[[], tuple[float, float, int]]]) -> None:
    """The least of some rounds, in which everybody takes a turn, so that other work on the machine falls on all alike."""
    found: dict[str, list[tuple[float, float, int]]] = {name: [] for name in contestants}
    for _ in range(ROUNDS):
        for name, contestant in contestants.items():
            found[name].append(contestant())
    rows = FILES * ROWS
    for name, rounds in found.items():
        seconds, processor = min(one[0] for one in rounds), min(one[1] for one in rounds)
        print(f"{name:36s} {rounds[0][2]:10d} {seconds:9.2f} {processor / rows * 1e6:10.2f} {rows / seconds:12,.0f}")


def main() -> None:
    logging.disable(logging.CRITICAL)
    folder = tempfile.mkdtemp(dir=sys.argv[1] if sys.argv[1:] else None)
    moved = Moved()
    try:
        measure(folder, moved)
    finally:
        shutil.rmtree(folder)


def measure(folder: str, moved: Moved) -> None:
    """Print everything."""
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, pyarrow {pa.__version__}, dask {dask.__version__}, ")
    print(f"distributed {distributed.__version__}; {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the start")
    psutil.cpu_percent()
    inputs = {style: files(folder, style) for style in ("csv", "parquet")}
    rows = FILES * ROWS
    sizes = {style: sum(map(os.path.getsize, paths)) for style, paths in inputs.items()}
    print(f"{rows:,} rows: csv {sizes['csv'] / 2**20:.0f} MiB, parquet {sizes['parquet'] / 2**20:.0f} MiB\n")
    out = os.path.join(folder, "out", "")
    with of(1, moved) as one, of(2, moved) as two:
        overhead(two, moved, folder)
        for style, paths in inputs.items():
            print(f"\n{style:36s} partitions   seconds     us/row       rows/s")
            file = os.path.join(folder, f"out.{style}")
            sizes = {f"2 workers, {size} MiB, a folder": partial(run, two, paths, out, size << 20) for size in SIZES}
            others = {
                "2 workers, 16 MiB, one file": partial(run, two, paths, file, 16 << 20),
                "1 worker, 16 MiB, a folder": partial(run, one, paths, out, 16 << 20),
                "no cluster, 2 threads, one file": partial(local, paths, file, 2),
                "no cluster, 1 thread, one file": partial(local, paths, file, 1),
            }
            compared({**sizes, **others})
    busy = psutil.cpu_percent() / 100 * (os.cpu_count() or 1)
    print(f"\nload {os.getloadavg()[0]:.1f} at the end; {busy:.1f} processors busy all along")


def overhead(cluster: Any, moved: Moved, folder: str) -> None:
    """Tasks that do nothing, and partitions of one row: what comes on top, and what goes through the scheduler."""
    with scheduler.connected(cluster.scheduler_address, 0, print) as results:
        counts = (500, 2500)
        taken, before = [], time.process_time()
        for count in counts:
            start = time.perf_counter()
            list(results(divmod, [(7, 2)] * count))
            taken.append(time.perf_counter() - start)
        busy = (time.process_time() - before) / sum(counts)
    each = (taken[1] - taken[0]) / (counts[1] - counts[0])
    print(f"a task that does nothing: {each * 1e3:.2f} ms; {busy * 1e3:.2f} ms of processor in scheduler and client")
    path = os.path.join(folder, "small.csv")
    seen = []
    for count in counts:
        with open(path, "w") as file:
            file.write("x,y\n" + "1.5,2.5\n" * count)
        moved.bytes = 0
        seconds, processor, parts = run(cluster, [path], os.path.join(folder, "small.out.csv"), 1)
        seen.append((parts, moved.bytes, seconds, processor))
    parts = seen[1][0] - seen[0][0]
    for what, i, unit in (("bytes through the scheduler", 1, 1), ("ms", 2, 1e3), ("ms of processor in the workers", 3, 1e3)):
        # Two tasks: large text files need one that looks for the ends of lines too.
        print(f"a partition of one row, in two tasks: {(seen[1][i] - seen[0][i]) / parts * unit:,.2f} {what}")


if __name__ == "__main__":
    main()
