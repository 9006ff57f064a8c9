"""Lessons and plots that move in notebooks: the page in a frame, with its content as text below it."""

from __future__ import annotations

from html import escape

from autodiff_cli.errors import ArgumentError, type_name
from autodiff_cli.explanation.model import Explanation
from autodiff_cli.lesson import page, plot, program
from autodiff_cli.lesson.events import StatementEnd
from autodiff_cli.lesson.statements import Recorder
from autodiff_cli.plotting.model import Field, Plot
from autodiff_cli.report.html import notes_html, parts_html
from autodiff_cli.report.result_tables import result_parts, tensor_table
from autodiff_cli.report.table import Renderable
from autodiff_cli.report.terminal import drawn

_STYLE = "width:100%;height:46em;border:1px solid gray"


class Lesson:
    """A page that plays an explanation, or a program statement by statement, or moves a plot; a notebook shows it in a frame.

    Args:
        source: an explanation, a plot, or a program of statements.  If an error ends the program, the page ends with the
            error.
        precision: the number of significant digits.

    Attributes:
        html: the page, which loads nothing from other places.

    Raises:
        ParseError: if the program has a syntax error.
        LimitError: if the page would be too long, unless limits are lifted.
    """

    def __init__(self, source: Explanation | Plot | Field | str, precision: int = 6) -> None:
        if isinstance(source, str):
            recorder = Recorder({})
            recorder.record(source)
            self.html = program.to_html("program", recorder, precision)
            self._notes = recorder.notes
            self._parts = _program_parts(recorder, precision)  # the same content for a text
        elif isinstance(source, (Explanation, Plot, Field)):
            self.html = page.to_html(source, precision) if isinstance(source, Explanation) else plot.to_html(source, precision)
            self._notes = source.notes
            self._parts = result_parts(source, precision)
        else:
            raise ArgumentError(
                f"Lesson takes a program, an explanation or a plot, not {type_name(source)}",
                hint="make an explanation with explain, and a plot with plot",
            )

    def __str__(self) -> str:
        return drawn(self._parts, "never").strip("\n")

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """Return the text that IPython shows instead of ``repr``."""
        return {"text/plain": str(self)}

    def _repr_html_(self) -> str:
        """Return the page in a frame, and its content as text, which is visible where frames are removed."""
        frame = f'<iframe srcdoc="{escape(self.html)}" title="lesson" sandbox="allow-scripts" style="{_STYLE}"></iframe>'
        text = parts_html(self._parts) + notes_html(self._notes)
        return f"{frame}\n<details><summary>The lesson as text</summary>\n{text}</details>\n"


def _program_parts(recorder: Recorder, precision: int) -> list[Renderable]:
    """Return a program, the table of its tensors at the end if a statement ended, and its error if there was one."""
    ends = [event for event in recorder.events if isinstance(event, StatementEnd)]
    rows = [row._asdict() for row in ends[-1].after.values()] if ends else []
    parts: list[Renderable] = [f"{recorder.source.rstrip()}\n"]
    parts += [tensor_table(rows, precision)] if rows else []
    return parts if recorder.error is None else [*parts, f"error: {recorder.error}"]
