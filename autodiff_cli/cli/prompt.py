"""The input of ``autodiff repl``: a terminal with history and completion, or a pipe."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autodiff_cli import signals
from autodiff_cli.errors import LimitError
from autodiff_cli.language import limited_reading
from autodiff_cli.script.statements import ends_block, is_unfinished

if TYPE_CHECKING:
    from autodiff_cli.script.interpreter import Interpreter

PROMPT, MORE = "> ", ". "
_MOST_LINES, _LONGEST = 10_000, 1 << 20
"""The maximum size of a statement in lines and characters, limited because each new line is parsed with all previous lines."""
_WORD = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*\.?$")


def lines(interpreter: Interpreter) -> Iterator[str]:
    """Yield whole statements until the input ends; an open bracket or a block goes on in the next line, and Ctrl-C drops it."""
    read = _terminal(interpreter) if sys.stdin is not None and sys.stdin.isatty() else _pipe
    text = ""  # the lines of a statement so far
    while True:
        try:
            line = read(MORE if text else PROMPT)
        except KeyboardInterrupt:
            signals.forget()
            text = ""
            continue
        except EOFError:
            break
        if text and ends_block(text, line):
            yield text
            text = ""
        text += line + "\n"
        _check_statement_size(text)
        is_command = text.startswith(":")  # which is one line
        if is_command or not is_unfinished(text):
            if text.strip():
                yield text
            text = ""
    if text.strip():
        yield text


def _check_statement_size(text: str) -> None:
    """Raise ``LimitError`` if a statement that has not ended is too long."""
    count = text.count("\n")
    if count > _MOST_LINES or len(text) > _LONGEST:
        hint = "close any open bracket, or use 'autodiff run' for larger programs"
        raise LimitError(f"a statement of {count:,} lines does not end", hint=hint)


def _pipe(_: str) -> str:
    """Read a line without a prompt, or raise ``EOFError`` at the end; invalid UTF-8 becomes surrogate characters."""
    stream: Any = getattr(sys.stdin, "buffer", sys.stdin)  # a replaced stream may have no buffer; a closed one is ``None``
    line = "" if stream is None else stream.readline(limited_reading.MOST_TEXT + 1)
    if not line:
        raise EOFError
    if len(line) > limited_reading.MOST_TEXT:
        raise limited_reading.too_long_error("a line of standard input", limited_reading.MOST_TEXT)
    text = line.decode("utf-8", "surrogateescape") if isinstance(line, bytes) else line
    return str(text).removeprefix("\ufeff").rstrip("\r\n")


def completions(interpreter: Interpreter, before: str) -> tuple[list[str], int]:
    """Return the public completions of the name or command before the cursor, and the number of characters already typed."""
    is_command = re.fullmatch(r":\w*", before)
    if is_command:
        from autodiff_cli.cli.session import COMMANDS

        return sorted(name for name in (*COMMANDS, "save", "help") if name.startswith(before[1:])), len(before) - 1
    matched = _WORD.search(before)
    word = matched.group() if matched else ""
    owner, dot, part = word.rpartition(".")
    known = interpreter.members_of(owner) if dot else interpreter.known()
    return sorted(name for name in known if name.startswith(part) and not name.startswith("_")), len(part)


def _terminal(interpreter: Interpreter) -> Callable[[str], str]:
    """Return the function that reads a line with completion and with the history of earlier sessions."""
    try:
        import readline
    except ImportError:  # some platforms lack readline
        return input
    path = _read_history()
    readline.set_completer(_completer(interpreter))
    readline.set_completer_delims(" \t\n()[],;=+-*/%@^<>!:")
    readline.parse_and_bind("tab: complete")

    def read(prompt: str) -> str:
        """Read a line, and add it to the history."""
        try:
            line = input(prompt)
        except KeyboardInterrupt:
            sys.stdout.write("\n")  # readline leaves the cursor on the cancelled line
            raise
        if path is not None and line.strip():
            readline.append_history_file(1, path)
        return line

    return read


def _read_history() -> Path | None:
    """Load the history of earlier sessions, and return its path; ``None`` if the home is not writable.

    It is in the folder for the state of programs: XDG_STATE_HOME, or ~/.local/state.
    """
    import readline

    try:
        path = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "autodiff" / "history"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        readline.read_history_file(path)
    except (OSError, RuntimeError):
        return None
    return path


def _completer(interpreter: Interpreter) -> Callable[[str, int], str | None]:
    """Return the function that readline calls with the word before the cursor and 0, 1, 2, ... until it returns ``None``."""
    import readline

    words: list[str] = []  # for the last word before the cursor

    def complete(text: str, number: int) -> str | None:
        """Return the completion of this number, or ``None`` after the last one; number 0 computes them all."""
        if number == 0:
            names, length = completions(interpreter, readline.get_line_buffer()[: readline.get_endidx()])
            words[:] = [text[: len(text) - length] + name for name in names]
        return words[number] if number < len(words) else None

    return complete
