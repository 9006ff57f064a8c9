"""A bar on standard error for what takes longer than two seconds."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

PATIENCE = 2.0
"""Seconds without a bar."""


class Progress:
    """Rows, their rate and the time that is left, if somebody is there to see them.

    Args:
        shown: whether nothing else is printed on the terminal.
    """

    def __init__(self, shown: bool = True) -> None:
        self._shown = shown and sys.stderr.isatty()
        self._begin = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, rows: int, part: float | None) -> None:
        """Show how far it is.

        Args:
            rows: how many are done.
            part: how much of the input that is, if that is known.
        """
        if not self._shown:
            return
        seconds = time.monotonic() - self._begin
        if self._bar is None:
            if seconds < PATIENCE:
                return
            self._bar, self._task = _bar(part is not None)
        text = f"{rows:,} rows  {rows / seconds:,.0f}/s"
        self._bar.update(self._task, description=text, completed=part or 0.0)


def _bar(known: bool) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    time_column = TimeRemainingColumn() if known else TimeElapsedColumn()
    words = TextColumn("left" if known else "so far")
    console = Console(file=getattr(sys.stderr, "unescaped", sys.stderr))  # what it writes moves the cursor
    bar = Bar(TextColumn("{task.description}"), BarColumn(), time_column, words, console=console, transient=True)
    bar.start()
    return bar, bar.add_task("", total=1.0 if known else None)
