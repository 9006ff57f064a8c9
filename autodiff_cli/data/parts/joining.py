"""Joining of parts into one file."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np

from autodiff_cli.data import output
from autodiff_cli.data.parts.job import Job
from autodiff_cli.data.row_blocks import BLOCK_ROWS, Reader, Writer
from autodiff_cli.data.totals import Totals

_COPIED = 1 << 24
_AROUND_JSON = slice(1, -3)
"""The slice of a JSON part that contains the rows, without the newline before them and the brackets after them."""

Add = Callable[[int], None]
"""A function that adds the part with a given partition number to the output; it is called in the order of the numbers."""


@contextmanager
def one_file(job: Job, writer: Writer, target: str | None, source: Reader) -> Iterator[Add]:
    """Join parts into one file with the writer of the output; see ``output.opened``."""
    with output.opened(target, writer.goes_back) as file, closing(writer):
        if job.types is not None:
            writer.take_types(job.types)
        writer.begin(file, job.mapping.kept, job.mapping.results, source)

        def add(index: int) -> None:
            path = job.path(index)
            for made in _contents(job, path):
                writer.write(made)
            os.unlink(path)

        yield add
        writer.finish()


def _contents(job: Job, path: str) -> Iterator[Any]:
    """Yield the contents of a part as arguments of ``Writer.write``."""
    part = job.part_style.format.name
    kept = len(job.mapping.kept)
    if job.task.total:
        yield Totals.load(path, job.mapping.read, len(job.mapping.results))
    elif part == "arrow":
        import pyarrow as pa

        with pa.memory_map(path) as file:
            batches = pa.ipc.open_file(file)
            for i in range(batches.num_record_batches):
                columns = batches.get_batch(i).columns
                yield columns[:kept], columns[kept:]
    elif part == "npy":
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
        for start in range(0, max(len(rows), 1), BLOCK_ROWS):
            yield [rows[name][start : start + BLOCK_ROWS] for name in rows.dtype.names]
    elif part == "json":
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data, memoryview(data) as view:
            rows = view[_AROUND_JSON]
            yield [rows]
            rows.release()
    else:
        with open(path, "rb") as file:
            yield from ([data] for data in iter(lambda: file.read(_COPIED), b""))
