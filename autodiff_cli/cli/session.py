"""The commands of an interactive session, which begin with a colon, and its help.

``:plot EXPR --over x=0:3`` and the other commands run the command of the same name on an expression of the session: the
statements that computed its names become a part of the expression, and the values of the remaining names become options.
"""

from __future__ import annotations

import inspect
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from autodiff_cli import signals
from autodiff_cli.cli.commands import GROUPS, cli
from autodiff_cli.cli.output import Output, say
from autodiff_cli.cli.run_command import Screen, spoken_warnings
from autodiff_cli.errors import AutodiffError, MissingValue, UnknownName, UsageError
from autodiff_cli.suggest import suggestion

if TYPE_CHECKING:
    from autodiff_cli.autograd.tensor import Tensor
    from autodiff_cli.script.interpreter import Interpreter

COMMANDS = (*GROUPS["Differentiate"], *GROUPS["See"], *GROUPS["Check"], "root", "minimize", "export", "functions")
"""The commands of the program that are also commands of a session."""

HELP = """\
Type expressions and autograd statements, one per line:

  x = tensor(5.0, requires_grad=true)     a leaf
  y = log(x**3)                         is recorded
  y.backward()                          fills x.grad
  show x, y                             a table of these tensors; 'show' lists all
  with no_grad: w = x**2                is not recorded
  for i in range(3): y = 2*y            a loop; an empty line ends an indented block
  f(a) = a**2 with grad (2*a)           a function with its own derivative
  _                                     the last value that was shown

Commands begin with a colon, and take the names of the session:

  :plot y --over x=1:9                  also :explain y, :graph y, :diff y, :grad y, ...
  :save FILE                            the session as a program for 'autodiff run'

help NAME explains a name, help :COMMAND a command; Ctrl-C cancels a line or a
computation; Ctrl-D or 'exit' ends the session.
"""
_WORDS = {
    "show": "'show x, y' prints a table of the tensors x and y; 'show' alone prints a table of all tensors.",
    "with": "'with no_grad: w = x**2' runs statements in a mode; they may also follow as an indented block.",
    "for": "'for i in range(3): y = 2*y' repeats statements; they may also follow as an indented block.",
    "def": "'def f(a): return a**2' defines a function; its statements may also follow as an indented block.",
    "return": "'return' ends a function that was defined with def, and gives its value.",
    "lambda": "'lambda g: 2*g' is a function without a name, as in y.register_hook(lambda g: 2*g).",
    "_": "'_' is the last value that was shown.",
    **dict.fromkeys(("exit", "quit"), "'exit', 'quit' and Ctrl-D end the session."),
    "help": "'help NAME' explains a name, and 'help :COMMAND' a command.",
    **dict.fromkeys(("true", "false"), "'true' and 'false' are the truth values."),
    "none": "'none' is the absence of a value, as in x.grad = none.",
    "save": "':save FILE' writes the session as a program for 'autodiff run'.",
}
_OPTIONS = re.compile(r"\s(?=--[a-z]|-[a-z](?:\s|$))")
"""The blank before an option."""
_BOUND_NAME = re.compile(r"(?:^|,)\s*([^\W\d]\w*)\s*=")
"""The names to which an option gives values."""


class Session:
    """A session that runs statements and commands one after the other.

    Args:
        interpreter: the interpreter, which keeps the names, and from now on also gives notes on the values that are shown.
        out: the output options of the session.
    """

    def __init__(self, interpreter: Interpreter, out: Output) -> None:
        interpreter.notes_on_values = True
        self._interpreter = interpreter
        self._out = out
        # A session prints one JSON object for each statement: a single object would be incomplete until the session ends.
        self._screen = Screen(out._replace(style="ndjson") if out.style == "json" else out)
        self._saved = list(_initial_lines(interpreter))
        self._said = set[str]()  # the warnings that were printed
        self._noted = 0  # the number of notes that were printed

    def answer(self, text: str) -> None:
        """Run a statement or a command, and print its errors and notes."""
        from autodiff_cli.cli.usage_errors import report

        try:
            self.run(text)
        except AutodiffError as error:
            report(error, self._screen.out.style)
        except KeyboardInterrupt:
            signals.forget()
            sys.stderr.write("interrupted\n")
        self.say_notes()

    def run(self, text: str) -> None:
        """Run statements or a command, whose error is raised; each warning is printed once in a session."""
        if self._run_if_command(text):
            return
        with spoken_warnings(self._out.quiet_notes, self._said):
            for shown in self._interpreter.run(text):
                self._screen.show(self._interpreter, shown)
                self._screen.write_kept_steps(self._interpreter)
        self._saved.append(text.rstrip("\n"))

    def say_notes(self) -> None:
        """Print the notes since the last call."""
        notes = self._interpreter.notes
        self._screen.out.say_notes(notes[self._noted :])
        self._noted = len(notes)

    def _run_if_command(self, text: str) -> bool:
        """Run a command of the session; return whether the text is a command."""
        word, _, rest = text.strip().partition(" ")
        if word == "help" and "help" not in self._interpreter.names:
            self._help(rest.split())
        elif not word.startswith(":"):
            return False
        elif word == ":help":
            self._help(rest.split())
        elif word == ":save":
            self._save(rest.strip())
        elif word[1:] in COMMANDS:
            self._run_command(word[1:], rest.strip())
        else:
            hint = suggestion(word[1:], (*COMMANDS, "save", "help")) or "type 'help' for a list of commands"
            raise UsageError(f"unknown command '{word}'", hint=hint)
        return True

    def _save(self, path: str) -> None:
        """Write the statements of the session as a program."""
        from autodiff_cli.data.output import write

        if not path:
            raise UsageError("a file name is missing", hint="write :save session.ad")
        write(path, "".join(f"{line}\n" for line in self._saved).encode("utf-8", "surrogateescape"))
        say(f"'autodiff run {path}' repeats this session")

    def _run_command(self, name: str, rest: str) -> None:
        """Run a command of the program, and raise its error; ``rest`` is an expression of the session, if any, and options."""
        from autodiff_cli.cli.main import INTERRUPTED, run

        expression, *options = ("", rest) if rest.startswith("-") else _OPTIONS.split(rest, maxsplit=1)
        words = self._settings(name)
        if options:
            words += words_of(options[0])
        if expression:
            words = [*self._program_and_values(name, expression, words), *words]
        ended = run([name, *words])
        if isinstance(ended, AutodiffError):
            raise ended
        if ended == INTERRUPTED:
            raise KeyboardInterrupt

    def _settings(self, name: str) -> list[str]:
        """Return the settings of the session as options of a command, without those that the command does not have."""
        command = cli.get_command(click.Context(cli), name)
        known = {str(parameter.name) for parameter in command.params} if command is not None else set()
        values = {"dtype": str(self._interpreter.dtype), "precision": str(self._out.precision), "color": self._out.color}
        words = []
        for option, value in values.items():
            if option in known:
                words += [f"--{option}", value]
        if "style" in known and self._out.style != "table":
            words += ["--format", self._out.style]
        if "quiet" in known and self._out.quiet:
            words.append("--quiet")
        return words

    def _program_and_values(self, name: str, text: str, options: list[str]) -> list[str]:
        """Return an expression, which may be quoted, as a program, and as options the values that ``options`` do not give."""
        from autodiff_cli.language.parser import parse
        from autodiff_cli.language.tree import unparse

        if name == "functions":  # which takes words instead of an expression
            return [text]
        is_quoted = text.startswith(('"', "'"))
        *before, root = parse(" ".join(words_of(text)) if is_quoted else text).children
        program = None if before else self._interpreter.program(root)  # statements before it have not been run
        if program is None:
            message = "a value that the expression needs has changed since it was computed"
            raise MissingValue(message, hint="assign the expression again")
        words = ["; ".join(map(unparse, program.tree.children))]
        variables = {} if name == "export" else program.variables  # the variables of an exported function are its arguments
        bound = {each for word in options for each in _BOUND_NAME.findall(word)}
        for option, values in (("--at", variables), ("--const", program.constants)):
            for each, value in values.items():
                if each not in bound:
                    words += [option, f"{each}={_exact_text(value)}"]
        return words

    def _help(self, names: list[str]) -> None:
        """Print the help of the session, or the descriptions of names if there are any."""
        if not names:
            sys.stdout.write(HELP)
        for name in names:
            if not self._describe(name):
                known = {*self._interpreter.known(), *COMMANDS, *_WORDS}
                raise UnknownName(f"unknown name '{name}'", hint=suggestion(name, known) or "':functions WORDS' finds functions")

    def _describe(self, name: str) -> bool:
        """Print the descriptions of a name, or the help of a command if that is all it names; return whether there was one."""
        from autodiff_cli.autograd.primitives.registry import FUNCTIONS
        from autodiff_cli.report.functions import FunctionList, tables

        last = name.rpartition(".")[2].removeprefix(":")
        texts = [f"{name}: {text}\n" for text in self._explanations(name, last)]
        sys.stdout.write("".join(texts))
        is_function = last in FUNCTIONS and not name.startswith(":")
        if is_function:
            self._out.show(tables(FunctionList([FUNCTIONS[last]], one=True), self._out.precision))
        if texts or is_function:
            return True
        if last in COMMANDS:
            from autodiff_cli.cli.main import run

            run([last, "-h"])
        return last in COMMANDS

    def _explanations(self, name: str, last: str) -> Iterator[str]:
        """Yield what a name is in this session or in the language, if anything; ``last`` is its part after the last dot."""
        from autodiff_cli.autograd.tensor import Tensor
        from autodiff_cli.evaluation.names import CONSTANTS
        from autodiff_cli.script.display import display
        from autodiff_cli.script.library import ACTIONS, ATTRIBUTES, CONTEXTS, DTYPES, METHODS

        names: Mapping[str, Any] = self._interpreter.names
        if name in names:
            yield f"{self._interpreter.expressions.get(name, name)} = {display(names[name])}"
        elif name in self._interpreter.functions:
            yield f"the function {display(self._interpreter.functions[name])[len('<function ') : -1]} of this session"
        elif last in _WORDS:
            yield _WORDS[last]
        elif name in CONSTANTS:
            yield f"the constant {CONSTANTS[name]!r}"
        elif last in DTYPES:
            yield "a type of numbers, as in tensor([1, 2], dtype=float32)"
        else:
            is_member = last in METHODS[Tensor] or last in ATTRIBUTES[Tensor]
            member = getattr(Tensor, last, None) if is_member else None
            function = {**ACTIONS, **CONTEXTS}.get(name.removeprefix("torch.")) or member
            summary = (getattr(function, "__doc__", None) or "").partition("\n\n")[0]
            if summary:
                yield " ".join(summary.replace("``", "").split())
            elif function is not None:
                yield f"a function of programs, with the parameters {inspect.signature(function)}"


def words_of(text: str) -> list[str]:
    """Split a text into words as the shell does; raise ``UsageError`` if a quote is not closed."""
    try:
        return shlex.split(text)
    except ValueError:
        hint = "quotes are needed only around blanks in values of options"
        raise UsageError(f"a quote is not closed in {text}", hint=hint) from None


def _initial_lines(interpreter: Interpreter) -> Iterator[str]:
    """Return the lines that define the variables of the command line, and the default type unless it is float64."""
    if str(interpreter.dtype) != "float64":
        yield f"set_default_dtype({interpreter.dtype})"
    for name, value in interpreter.names.items():
        yield f"{name} = tensor({_exact_text(value)}{', requires_grad=true' if value.requires_grad else ''})"


def _exact_text(value: Tensor | float) -> str:
    """Return the text of a number or a tensor in the language, with all digits."""
    from autodiff_cli.report.array_text import exact_array

    return exact_array(getattr(value, "_data", value))
