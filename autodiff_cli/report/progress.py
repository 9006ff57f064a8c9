"""A progress bar on standard error, for work that takes longer than two seconds."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

PATIENCE = 2.0
"""The number of seconds before the bar appears."""


class Progress:
    """A progress bar with the number of rows, their rate and the remaining time, if standard error is a terminal.

    Args:
        visible: whether to show the bar; ``False`` if results are printed to the terminal, where the bar would overwrite them.
    """

    def __init__(self, visible: bool = True) -> None:
        self._shown = visible and sys.stderr.isatty()
        self._begin = time.monotonic()
        self._bar: tuple[Bar, TaskID] | None = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar[0].stop()

    def __call__(self, rows: int, part: float | None) -> None:
        """Update the bar.

        Args:
            rows: the number of processed rows.
            part: the processed fraction of the input, from 0 to 1; ``None`` if it is unknown.
        """
        if not self._shown:
            return
        seconds = time.monotonic() - self._begin
        if self._bar is None:
            if seconds < PATIENCE:
                return
            self._bar = _bar(part is not None)
        bar, task = self._bar
        bar.update(task, description=f"{rows:,} rows  {rows / seconds:,.0f}/s", completed=part or 0.0)


def _bar(known: bool) -> tuple[Bar, TaskID]:
    """Start a bar of rich on standard error; ``known`` says whether the length of the input is."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    time_column = TimeRemainingColumn() if known else TimeElapsedColumn()
    words = TextColumn("left" if known else "so far")
    console = Console(file=getattr(sys.stderr, "unescaped", sys.stderr))  # the bar needs its control characters
    bar = Progress(TextColumn("{task.description}"), BarColumn(), time_column, words, console=console, transient=True)
    bar.start()
    return bar, bar.add_task("", total=1.0 if known else None)
