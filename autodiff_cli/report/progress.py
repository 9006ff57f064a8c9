"""A progress bar on standard error, for work that takes longer than two seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

PATIENCE = 2.0
"""The number of seconds before the bar appears."""


@contextmanager
def progress(visible: bool = True) -> Iterator[Callable[[int, float | None], None]]:
    """Yield a function that updates a bar with the number of rows, their rate and the remaining time.

    It takes the number of rows, and the processed fraction of the input, which is ``None`` if it is unknown.  The bar is not
    ``visible`` if results are printed on the terminal, which it would overwrite.
    """
    begin = time.monotonic()
    started: list[tuple[Bar, TaskID]] = []  # the bar, once it appears

    def update(rows: int, part: float | None) -> None:
        """Update the bar, which appears after ``PATIENCE`` seconds."""
        seconds = time.monotonic() - begin
        if not started and seconds >= PATIENCE:
            started.append(_bar(known=part is not None))
        for bar, task in started:  # the bar, if it has appeared
            bar.update(task, description=f"{rows:,} rows  {rows / seconds:,.0f}/s", completed=part or 0.0)

    try:
        yield update if visible and sys.stderr.isatty() else lambda rows, part: None
    finally:
        for bar, _ in started:
            bar.stop()


def _bar(known: bool) -> tuple[Bar, TaskID]:
    """Start a bar of rich on standard error, and return it with its task; ``known`` says whether the length of the input is."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    time_column = TimeRemainingColumn() if known else TimeElapsedColumn()
    words = TextColumn("left" if known else "so far")
    console = Console(file=getattr(sys.stderr, "unescaped", sys.stderr))  # the bar needs its control characters
    bar = Progress(TextColumn("{task.description}"), BarColumn(), time_column, words, console=console, transient=True)
    bar.start()
    return bar, bar.add_task("", total=1.0 if known else None)
