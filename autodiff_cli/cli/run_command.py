"""``autodiff run``: a program file of autograd statements."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from autodiff_cli.cli import options

if TYPE_CHECKING:
    from autodiff_cli.script.interpreter import Interpreter, Shown


@click.command("run", short_help="A program file of autograd statements.")
@click.argument("file")
@options.start
@options.quiet_notes
@options.output
def command(
    file: str, style: str, as_json: bool, quiet: bool, precision: int, color: str, quiet_notes: bool, **switches: Any
) -> None:
    """Run the statements in FILE, one a line; - reads them from standard input.

    Beside what an expression can say there are tensor(5, requires_grad=true), y.retain_grad(), z.backward(),
    grad(z, x), with no_grad: ..., x.grad.zero_(), and the other names of PyTorch's autograd; show x, y prints the table
    of these tensors. The first error ends the run.

    \b
    autodiff run descent.ad
    echo "y = log(x**3); y.backward(); x.grad" | autodiff run - --at x=5
    """
    from autodiff_cli.errors import AutodiffError

    style = options.chosen_format(style, as_json)
    text = options.read_file(file)
    interpreter = new_interpreter(**switches)
    screen = Screen("quiet" if quiet else style, precision, color)
    try:
        with spoken_warnings(quiet_notes):
            for shown in interpreter.run(text):
                screen.show(interpreter, shown)
    except AutodiffError as error:
        error.path = "standard input" if file == "-" else file
        raise
    finally:
        screen.finish({"schema": 1, "command": "run", "file": file, "dtype": switches["dtype"]}, interpreter.notes)
        options.say_notes(interpreter.notes, quiet_notes)


def new_interpreter(at: tuple[str, ...], const: tuple[str, ...], dtype: str) -> Interpreter:
    """An interpreter that knows the variables of the command line."""
    from autodiff_cli.evaluation.bindings import bindings
    from autodiff_cli.evaluation.evaluation import leaves
    from autodiff_cli.script.interpreter import Interpreter

    return Interpreter(leaves(bindings(at, "at"), bindings(const, "const"), dtype), dtype)


@contextmanager
def spoken_warnings(quiet: bool) -> Iterator[None]:
    """Warnings that PyTorch gives as notes on standard error, each once; none of them if ``quiet``."""
    said: set[str] = set()

    def say(message: Warning | str, *_: Any) -> None:
        if str(message) not in said and not quiet:
            said.add(str(message))
            _say(message)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = say  # type: ignore[assignment]
        yield


def _say(message: Warning | str) -> None:
    from autodiff_cli.report.diagnostics import note

    sys.stderr.write(note(str(message)))


class Screen:
    """Prints what a program shows, at once; a JSON object when all is known.

    Args:
        style: an output format, or ``quiet`` for bare numbers.
    """

    def __init__(self, style: str, precision: int, color: str) -> None:
        self.style = style
        self.precision = precision
        self.color = color
        self.steps: list[dict[str, Any]] = []
        self.begun = False

    def show(self, interpreter: Interpreter, shown: Shown) -> None:
        if self.style == "quiet":
            from autodiff_cli.report.records import bare

            sys.stdout.write(bare(numbers(shown.value)))
        elif self.style != "table":
            self._record(interpreter, shown)
        elif shown.rows is None:
            sys.stdout.write(shown.text + "\n")
        else:
            from autodiff_cli.report import table

            sys.stdout.write("\n" if self.begun else "")
            table.show([table.tensor_table(shown.rows, self.precision)], self.color)
        self.begun = True
        sys.stdout.flush()

    def _record(self, interpreter: Interpreter, shown: Shown) -> None:
        from autodiff_cli.evaluation.evaluation import plain_records
        from autodiff_cli.report import records
        from autodiff_cli.script.display import to_plain

        start, end = shown.statement.span
        step: dict[str, Any] = {
            "line": interpreter.source.count("\n", 0, start) + 1,
            "statement": interpreter.source[start:end],
        }
        if shown.rows is None:
            step |= {"value": to_plain(shown.value), "text": shown.text}
        else:
            step["tensors"] = plain_records(shown.rows)
        if self.style == "ndjson":
            sys.stdout.write(records.to_json(step) + "\n")
        else:
            self.steps.append(step)

    def finish(self, head: dict[str, Any], notes: Sequence[dict[str, Any]] = ()) -> None:
        """Write what waits for the end, with the notes: after an error, all that was shown before it."""
        from autodiff_cli.report import records

        if self.style == "json":
            sys.stdout.write(records.to_json({**head, "steps": self.steps, "notes": list(notes)}) + "\n")
        elif self.style not in ("table", "quiet", "ndjson"):
            sys.stdout.write(records.render(self.style, {}, records.step_records(self.steps)))
        self.steps = []


def numbers(value: Any) -> list[Any]:
    """The arrays and numbers in a value."""
    import numpy as np

    if isinstance(value, (tuple, list)):
        return [number for item in value for number in numbers(item)]
    data = getattr(value, "_data", value)
    return [data] if isinstance(data, (bool, int, float, np.ndarray, np.generic)) else []
