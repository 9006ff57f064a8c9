"""Evaluation of files: several threads process pieces in parallel, and the output keeps the order of the input."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain, islice
from typing import Any, TypeVar

from autodiff_cli.compiler.program import Compiled
from autodiff_cli.data import output
from autodiff_cli.data.compression import compressed
from autodiff_cli.data.inputs import reader
from autodiff_cli.data.mapping import RowMap, Task
from autodiff_cli.data.row_blocks import Input, Reader, Tally, Writer, field_of
from autodiff_cli.errors import AutodiffError, UsageError
from autodiff_cli.evaluation.compile import RowByRowProgram
from autodiff_cli.wording import plural

Item = TypeVar("Item")
Result = TypeVar("Result")
Tick = Callable[[int, float | None], None]
"""A function that reports progress, given the number of finished rows and the finished fraction (``None`` if unknown)."""


def run(
    task: Task, program: Compiled, inputs: Sequence[Input], target: str | None, writer: Writer, threads: int, tick: Tick
) -> Tally:
    """Compute a task for every row of the input files, write the results, and return the counts of rows.

    ``program`` is the compiled task, ``target`` is the path of the output file, or ``None`` for standard output, and ``tick``
    reports progress.  If any row fails, ``AutodiffError`` is raised, and the output file is unchanged.
    """
    summary = Tally()
    first_name, unbuffered = inputs[0].title, inputs[0].unbuffered
    source = reader(inputs[0])
    try:
        mapping = task.mapping(program, source.columns, first_name)
        if target is None:
            _check_later_files(mapping, inputs, writer)
        if unbuffered or math.isfinite(source.estimate):  # otherwise, ``encoded`` chooses the engine
            settle(mapping.program, source, inputs)
        with writing(target, writer, mapping, source):
            if unbuffered:
                writer.flush()
            for i, file in enumerate(inputs):
                if i:
                    source.close()
                    source = reader(file)
                    check_same(mapping, source, writer, first_name)
                for tally in _written(mapping, source, writer, threads, unbuffered):
                    summary.add(tally)
                    tick(summary.rows, (i + source.done / source.total) / len(inputs) if source.total else None)
    except AutodiffError as error:
        if target is None and summary.rows and task.total is None:
            error.besides(f"the results of {plural(summary.rows, 'row')} are already on standard output")
        raise
    finally:
        source.close()
    return summary


def _written(mapping: RowMap, source: Reader, writer: Writer, threads: int, unbuffered: bool) -> Iterator[Tally]:
    """Write the results of each piece of an input in order, and yield its counts; unbuffered rows are flushed at once."""
    serial = unbuffered or isinstance(mapping.program, RowByRowProgram) or not source.parallel
    for tally, encoded_rows in encoded(mapping, source, writer, 1 if serial else threads):
        writer.write(encoded_rows)
        if unbuffered:
            writer.flush()
        yield tally


def _check_later_files(mapping: RowMap, inputs: Sequence[Input], writer: Writer) -> None:
    """Check the columns of the files after the first, so that nothing is on standard output if they differ; see ``check_same``."""
    for later in inputs[1:]:
        if later.path is not None and os.path.isfile(later.path):
            with closing(reader(later)) as source:
                check_same(mapping, source, writer, inputs[0].title)


@contextmanager
def writing(target: str | None, writer: Writer, mapping: RowMap, source: Reader) -> Iterator[Writer]:
    """Open the output of a mapping for a writer, which begins here and finishes at exit; a binary format is not compressed here."""
    with output.opened(target) as raw, compressed(raw, None if writer.binary else target) as file, closing(writer):
        writer.begin(file, mapping.copies, mapping.results, source)
        yield writer
        writer.finish()


def settle(program: Compiled, source: Reader, inputs: Sequence[Input]) -> None:
    """Choose the engine of a program for all inputs, of which ``source`` reads the first; unbuffered rows are few at a time."""
    program.settle(0 if inputs[0].unbuffered else source.estimate * len(inputs))


def encoded(mapping: RowMap, source: Reader, writer: Writer, threads: int) -> Iterator[tuple[Tally, Any]]:
    """Yield the counts and encoded results of each piece of an input, in order.

    The reader then reads only the columns that are needed.  The engine of the program is chosen, if it is not yet.  A name of a
    field inside a column, in a format without fields, raises ``UsageError``.
    """
    request = mapping.request(source, writer)
    needed = _needed_columns(mapping, source)
    if not mapping.keeps_all and needed:
        source.only = needed
    pieces = source.pieces()
    if mapping.program.engine == "auto":  # a pipe is large if it has a second piece
        first_two = list(islice(pieces, 2))
        mapping.program.settle(math.inf if len(first_two) > 1 else 0)
        pieces = chain(first_two, pieces)

    def work(piece: object) -> tuple[Tally, Any]:
        block, results = mapping.compute(source.block(piece, request))
        return mapping.tally(block, results), writer.pack(writer.encode(block, results))

    return ordered(work, pieces, threads)


def _needed_columns(mapping: RowMap, source: Reader) -> list[str]:
    """Return the columns that a mapping reads, with those whose fields it reads; for errors, see ``encoded``."""
    known = frozenset(source.columns)
    places = {name: field_of(name, known) for name in (*mapping.used, *mapping.read)}
    inside = next((name for name, (_, fields) in places.items() if fields), None)
    if inside is not None and not source.nested:
        hint = "only columns of NDJSON, Parquet and Arrow have fields"
        raise UsageError(f"{source.name} has no column '{inside}'", hint=hint)
    return list(dict.fromkeys(column for column, _ in places.values()))


def check_same(mapping: RowMap, source: Reader, writer: Writer, first: str) -> None:
    """Raise ``UsageError`` unless a file has the columns of the first file, whose name in messages is ``first``.

    Objects of NDJSON may have other keys than the first object, so only the needed columns are checked.
    """
    known = frozenset(source.columns)
    needed = {field_of(name, known)[0] for name in mapping.used}
    copies_objects = writer.raw == source.form == "ndjson"  # as text, whatever their keys are
    if not copies_objects:
        needed.update(mapping.read)
    missing = needed - known
    extra = known - set(mapping.copies) if mapping.keeps_all and source.form != "ndjson" else set()
    if missing or extra:
        what = [f"'{name}' is missing" for name in sorted(missing)] + [f"'{name}' is new" for name in sorted(extra)]
        message = f"{source.name} and {first} have different columns: {', '.join(what)}"
        raise UsageError(message, hint="map these files separately")


def ordered(work: Callable[[Item], Result], values: Iterable[Item], threads: int) -> Generator[Result]:
    """Map a function over values in several threads; yield the results in order, with only a few in memory at a time."""
    waiting = iter(values)
    first_two = list(islice(waiting, 2)) if threads > 1 else []
    if len(first_two) < 2:  # one value does not need a thread
        yield from map(work, chain(first_two, waiting))
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads, "autodiff-map") as pool:
        yield from in_order(lambda value: pool.submit(work, value), chain(first_two, waiting), threads + 1)


def in_order(submit: Callable[[Item], Any], values: Iterable[Item], ahead: int) -> Generator[Any]:
    """Yield the results of calls in order, and cancel those that still wait if no further result is taken.

    ``submit`` submits the call for a value and returns its future; ``ahead`` calls are submitted before a result is taken.
    """
    running: deque[Any] = deque()
    try:
        for value in values:
            running.append(submit(value))
            if len(running) > ahead:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    finally:
        for future in running:
            future.cancel()
