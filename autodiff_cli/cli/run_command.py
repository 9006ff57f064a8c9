"""``autodiff run``: a program file with autograd statements, or a Python program."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from autodiff_cli.cli import options
from autodiff_cli.cli.help_sections import Command
from autodiff_cli.cli.output import Output, say
from autodiff_cli.cli.program_text import read_file

if TYPE_CHECKING:
    from autodiff_cli.autograd.tensor import Tensor
    from autodiff_cli.command_result import Record
    from autodiff_cli.lesson.recording import Recording
    from autodiff_cli.script.interpreter import Interpreter, StatementOutput

Bindings = dict[str, Any]
"""The values of variables or constants, by name."""
variables = options.stack(options.at, options.const, options.dtype, options.no_limits)
"""The options for an ``Interpreter``."""


@click.command("run", cls=Command)
@click.argument("file")
@click.argument("arguments", nargs=-1)
@variables
@options.output(options.quiet_notes, options.precision, files=("program file",))
@click.option("--python", is_flag=True, help="Read FILE as a Python program, whatever its name is.")
def command(file: str, arguments: tuple[str, ...], at: Bindings, const: Bindings, dtype: str, python: bool, out: Output) -> None:
    """Run the program in FILE; - reads it from standard input.

    A file with the suffix .py is a Python program. It runs as 'python FILE.py' does, and 'import torch' imports autodiff with the
    defaults of PyTorch. ARGUMENTS are the arguments of this program; write its options after --.

    Any other file contains statements, one per line: expressions, and statements in the style of PyTorch's autograd, such as
    'y.retain_grad()', 'z.backward()', 'grad(z, x)', 'with no_grad: ...' and 'x.grad.zero_()'. The expression
    'tensor(5.0, requires_grad=true)' makes a new leaf. The statement 'show x, y' prints a table of the tensors x and y. The first
    error ends the run.

    With -o lesson.html, the output of either kind of program is printed, and the file is a lesson: a page that plays the program
    statement by statement, and each backward pass step by step.

    \b
    autodiff run descent.ad
    autodiff run descent.py
    echo "y = log(x**3); y.backward(); x.grad" | autodiff run - --at x=5
    autodiff run descent.py -o lesson.html
    """
    from autodiff_cli.evaluation.evaluation import input_leaves

    if python or file.endswith(".py"):
        return _run_python(file, arguments, dtype, out)
    if arguments:
        from autodiff_cli.cli.usage_errors import usage_error

        raise usage_error(f"unexpected argument '{arguments[0]}'", "only a Python program, FILE.py, has arguments")
    text = read_file(file)
    if out.style == "html":
        return _run_for_lesson(text, file, input_leaves(at, const, dtype), dtype, out)
    _run_statements(text, file, new_interpreter(at, const, dtype), out)


def _run_statements(text: str, file: str, interpreter: Interpreter, out: Output) -> None:
    """Run a program of statements, and write its output and its notes, also before an error, which gets the name of the file."""
    from autodiff_cli.errors import AutodiffError

    screen = Screen(out)
    try:
        with spoken_warnings(out.quiet_notes, set()):
            for shown in interpreter.run(text):
                screen.show(interpreter, shown)
    except AutodiffError as error:
        error.path = _display_name(file)
        raise
    finally:
        screen.write_kept_steps(interpreter, file)
        out.say_notes(interpreter.notes)


_OF_PYTHON = ("file", "arguments", "python", "dtype", "no_limits")
"""The parameters that a Python program has."""
_OF_LESSONS = ("path", "style", "precision", "quiet_notes")
"""The parameters that the lesson of a Python program has."""


def _run_python(file: str, arguments: Sequence[str], dtype: str, out: Output) -> None:
    """Run a Python program, write its lesson if the output is one, and exit with its exit code, which ``context.exit`` raises."""
    from autodiff_cli.cli import python_program
    from autodiff_cli.evaluation.evaluation import input_leaves

    context = click.get_current_context()
    _refuse_options_of_statements(context, (*_OF_PYTHON, *(_OF_LESSONS if out.style == "html" else ())))
    default = dtype if context.get_parameter_source("dtype") is ParameterSource.COMMANDLINE else "float32"
    input_leaves({}, {}, default)  # checks the name of the type
    text, recorder = read_file(file), None
    if out.style == "html":
        from autodiff_cli.lesson.tracing import PythonRecorder

        with suppress(SyntaxError):  # Python describes it
            recorder = PythonRecorder(text, python_program.program_name(file))
    code = python_program.run(text, file, arguments, default, recorder)
    if recorder is not None:
        _write_lesson(recorder, file, out)
    context.exit(code)


def _refuse_options_of_statements(context: click.Context, allowed: Sequence[str]) -> None:
    """Raise an error if the command line sets a parameter of ``run`` that is not allowed for a Python program."""
    for parameter in context.command.get_params(context):
        if parameter.name not in allowed and context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE:
            from autodiff_cli.cli.usage_errors import usage_error

            hint = "a Python program makes its own values and prints its own output; write its own options after --"
            if parameter.name == "path":
                hint = "-o lesson.html writes a lesson of a Python program"
            raise usage_error(f"'{parameter.opts[0]}' has no meaning for a Python program", hint, context)


def new_interpreter(at: Bindings, const: Bindings, dtype: str) -> Interpreter:
    """Return an interpreter in which the variables and constants of the command line are defined."""
    from autodiff_cli.evaluation.evaluation import input_leaves
    from autodiff_cli.script.interpreter import Interpreter

    return Interpreter(input_leaves(at, const, dtype), dtype)


def _run_for_lesson(text: str, file: str, variables: dict[str, Tensor], dtype: str, out: Output) -> None:
    """Run a program of statements, write its lesson, which also shows an error of the program, and raise this error."""
    from autodiff_cli.errors import AutodiffError
    from autodiff_cli.lesson.statements import Recorder

    recorder = Recorder(variables, dtype)
    screen = Screen(out._replace(style="table", path=None))
    try:
        with spoken_warnings(out.quiet_notes, set()):
            # Without a path, the page is standard output, and the output of the program is only in it.
            recorder.record(text, lambda shown: screen.show(recorder, shown) if out.path else None)
        _write_lesson(recorder, file, out)
        if recorder.error is not None:
            raise recorder.error
    except AutodiffError as error:
        error.path = _display_name(file)
        raise


def _write_lesson(recorder: Recording, file: str, out: Output) -> None:
    """Write the lesson of a program that has run, and the name of its file and the notes on standard error."""
    from autodiff_cli.lesson.program import to_html

    out.write(to_html(_display_name(file), recorder, out.precision))
    if out.path and not out.quiet_notes:
        sys.stderr.write(f"wrote {out.path}\n")
    out.say_notes(recorder.notes)


def _display_name(file: str) -> str:
    """Return the name of a program file for messages."""
    return "standard input" if file == "-" else file


@contextmanager
def spoken_warnings(quiet: bool, said: set[str]) -> Iterator[None]:
    """Print each PyTorch warning that is not in ``said`` as a note on standard error, and add it; print none if ``quiet``."""

    def spoken(message: Warning | str, *_: object) -> None:
        """Print a warning as a note; Python calls this function for every warning, with its place as further arguments."""
        if str(message) not in said and not quiet:
            said.add(str(message))
            say(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        # The memory of a program is freed when it ends.
        warnings.filterwarnings("ignore", "Using backward\\(\\) with create_graph=True")
        warnings.showwarning = spoken  # type: ignore[assignment]
        yield


class Screen:
    """The output of a program: printed immediately, or at the end in formats that need the whole result."""

    def __init__(self, out: Output) -> None:
        self.out = out
        self.steps: list[Record] = []  # what is kept until the end
        self.begun = False  # whether there was output, so that an empty line precedes the next table

    def show(self, interpreter: Interpreter, shown: StatementOutput) -> None:
        """Print the output of a statement, or keep it until the end of the program."""
        if self.out.quiet:
            from autodiff_cli.report.machine_readable import bare

            sys.stdout.write(bare(numbers(shown.value)))
        elif self.out.style == "table" and shown.rows is None:
            sys.stdout.write(shown.text + "\n")
        elif self.out.style == "table":
            from autodiff_cli.report.result_tables import tensor_table

            self.out.show([tensor_table(shown.rows or [], self.out.precision)], gap=self.begun)
        else:
            from autodiff_cli.report.machine_readable import to_json
            from autodiff_cli.script.transcript import record

            step = record(interpreter.source, shown)
            if self.out.style == "ndjson" and self.out.path is None:
                sys.stdout.write(to_json(step) + "\n")
            else:
                self.steps.append(step)
        self.begun = True
        sys.stdout.flush()

    def write_kept_steps(self, interpreter: Interpreter, file: str = "") -> None:
        """Write the output that ``show`` kept, also after an error, and forget it; ``file`` is empty for a session."""
        is_printed = self.out.quiet or (self.out.style in ("table", "ndjson") and not self.out.path)
        if is_printed:
            return
        from autodiff_cli.report.machine_readable import render
        from autodiff_cli.script.transcript import Transcript

        self.out.write(render(self.out.style, Transcript(file, interpreter, self.steps)))
        self.steps = []


def numbers(value: object) -> list[object]:
    """Return the arrays and numbers in a value, such as a tensor or a tuple of tensors; other values are left out."""
    import numpy as np

    if isinstance(value, (tuple, list)):
        return [number for item in value for number in numbers(item)]
    data = getattr(value, "_data", value)
    return [data] if isinstance(data, (bool, int, float, np.ndarray, np.generic)) else []
