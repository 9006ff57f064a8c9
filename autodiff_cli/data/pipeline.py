"""Pieces of files on their way to the output: in order, a few at a time, in as many threads as there are."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

from autodiff_cli.data import output
from autodiff_cli.data.block import Reader, Tally, Wish, Writer
from autodiff_cli.data.inputs import Path, reader, spoken, style_of
from autodiff_cli.data.mapping import RowMap, Task
from autodiff_cli.errors import UsageError

Piece = TypeVar("Piece")
Made = TypeVar("Made")


@dataclass(slots=True)
class Summary(Tally):
    """What became of all rows.

    Attributes:
        notes: what else a person should know.
    """

    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Inputs:
    """What is read.

    Attributes:
        paths: the files, in order; ``None`` for standard input.
        style: their format, if their names do not say it.
        columns: names of columns, if the files have none.
        unbuffered: take rows as they come in.
    """

    paths: Sequence[Path]
    style: str | None = None
    columns: Sequence[str] | None = None
    unbuffered: bool = False

    def open(self, path: Path) -> Reader:
        """One of the files."""
        return reader(path, style_of(path, self.style), self.columns, self.unbuffered)


def run(
    task: Task,
    program: Any,
    inputs: Inputs,
    target: str | None,
    writer: Writer,
    threads: int,
    tick: Callable[[int, float | None], None],
) -> Summary:
    """Compute a task for every row of some files and write the results.

    Args:
        task: what to compute.
        program: its Program.
        inputs: the files.
        target: the file to write, ``None`` for standard output.
        writer: what writes it.
        threads: how many work at a time.
        tick: called with the number of rows so far, and the part of the input that was read if that is known.

    Raises:
        AutodiffError: of any kind; a file with the name of the output is then what it was before.
    """
    summary = Summary()
    source = inputs.open(inputs.paths[0])
    try:
        first = RowMap(task, program, source.columns, spoken(inputs.paths[0]))
        with output.opened(target, writer.goes_back) as file, closing(writer):
            writer.begin(file, first.kept, first.results, source)
            if inputs.unbuffered:
                writer.flush()
            for i, path in enumerate(inputs.paths):
                if i:
                    source.close()
                    source = inputs.open(path)
                    check_same(first, source, writer, spoken(inputs.paths[0]))
                alone = inputs.unbuffered or program.engine == "rows" or not source.parallel
                for tally, made in encoded(first, source, writer, 1 if alone else threads):
                    writer.write(made)
                    if inputs.unbuffered:
                        writer.flush()
                    summary.add(tally)
                    part = source.done / source.total if source.total else None
                    tick(summary.rows, None if part is None else (i + part) / len(inputs.paths))
            writer.finish()
    finally:
        source.close()
    return summary


def encoded(mapping: RowMap, source: Reader, writer: Writer, threads: int) -> Iterator[tuple[Tally, Any]]:
    """The rows of an input in order: what became of them, and what the writer takes."""
    wish: Wish = mapping.wish(source, writer)
    if not mapping.kept and mapping.used and hasattr(source, "only"):
        source.only = list(mapping.used)

    def work(piece: Any) -> tuple[Tally, Any]:
        block, results = mapping.compute(source.block(piece, wish))
        return mapping.tally(block, results), writer.encode(block, results)

    return ordered(work, source.pieces(), threads)


def check_same(mapping: RowMap, source: Reader, writer: Writer, first: str) -> None:
    """Every file has to have the columns of the first.

    Raises:
        UsageError: if it has others.
    """
    needed = set(mapping.used) if writer.raw == source.form == "ndjson" else {*mapping.used, *mapping.kept}
    missing = needed - set(source.columns)
    extra = set(source.columns) - set(mapping.kept) if mapping.kept and source.form != "ndjson" else set()
    if missing or extra:
        what = [f"'{name}' is missing" for name in sorted(missing)] + [f"'{name}' is new" for name in sorted(extra)]
        raise UsageError(f"{source.name} has not the columns of {first}: {', '.join(what)}", hint="map such files one by one")


def ordered(work: Callable[[Piece], Made], pieces: Iterable[Piece], threads: int) -> Iterator[Made]:
    """``map`` by several threads, with a few pieces in hand: the results are in order, and memory is bounded."""
    waiting = iter(pieces)
    begun = [piece for _, piece in zip(range(2), waiting, strict=False)] if threads > 1 else []
    if len(begun) < 2:
        yield from map(work, chain(begun, waiting))
        return
    from concurrent.futures import Future, ThreadPoolExecutor

    pool = ThreadPoolExecutor(threads, "autodiff-map")
    running: deque[Future[Made]] = deque()
    try:
        for piece in chain(begun, waiting):
            running.append(pool.submit(work, piece))
            if len(running) > threads + 1:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
