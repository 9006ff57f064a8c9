"""The input of ``autodiff repl``: a terminal with history and completion, or a pipe."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
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
    """Yield whole statements until the input ends; an open bracket or a block continues on the next line."""
    read = _terminal(interpreter) if sys.stdin is not None and sys.stdin.isatty() else _pipe
    text, waiting = "", 0
    while True:
        try:
            line = read(MORE if text else PROMPT)
        except KeyboardInterrupt:
            signals.forget()
            text, waiting = "", 0
            continue
        except EOFError:
            break
        if text and ends_block(text, line):
            yield text
            text, waiting = "", 0
        text += line + "\n"
        waiting += 1
        if waiting > _MOST_LINES or len(text) > _LONGEST:
            raise LimitError(
                f"a statement of {waiting:,} lines does not end",
                hint="close any open bracket, or use 'autodiff run' for larger programs",
            )
        if not text.startswith(":") and is_unfinished(text):
            continue
        waiting = 0
        if text.strip():
            yield text
        text = ""
    if text.strip():
        yield text


def _pipe(prompt: str) -> str:
    """Read a line of standard input; invalid UTF-8 becomes surrogate characters, so that it does not end the session."""
    stream: Any = getattr(sys.stdin, "buffer", sys.stdin)
    line = stream.readline(limited_reading.MOST_TEXT + 1) if stream is not None else ""
    if not line:
        raise EOFError
    if len(line) > limited_reading.MOST_TEXT:
        raise limited_reading.too_long_error("a line of standard input", limited_reading.MOST_TEXT)
    text = line.decode("utf-8", "surrogateescape") if isinstance(line, bytes) else line
    return str(text).removeprefix("\ufeff").rstrip("\r\n")


def completions(interpreter: Interpreter, before: str) -> tuple[list[str], int]:
    """Return the completions of the name or command before the cursor, and the number of characters already typed."""
    if re.fullmatch(r":\w*", before):
        from autodiff_cli.cli.session import COMMANDS

        return sorted(name for name in (*COMMANDS, "save", "help") if name.startswith(before[1:])), len(before) - 1
    matched = _WORD.search(before)
    word = matched.group() if matched else ""
    thing, dot, part = word.rpartition(".")
    known = interpreter.members_of(thing) if dot else interpreter.known()
    return sorted(name for name in known if name.startswith(part) and not name.startswith("_")), len(part)


def history_path() -> Path:
    """Return the path of the history file."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "autodiff" / "history"


def _terminal(interpreter: Interpreter) -> Callable[[str], str]:
    """Return the function that reads a line with completion and with the history of earlier sessions."""
    try:
        import readline
    except ImportError:  # some platforms lack readline
        return input
    path: Path | None = None
    with suppress(OSError, RuntimeError):  # without a writable home, the history is kept in memory
        history = history_path()
        history.parent.mkdir(parents=True, exist_ok=True)
        history.touch()
        readline.read_history_file(history)
        path = history
    result: list[str] = []

    def complete(text: str, state: int) -> str | None:
        if state == 0:
            names, length = completions(interpreter, readline.get_line_buffer()[: readline.get_endidx()])
            result[:] = [text[: len(text) - length] + name for name in names]
        return result[state] if state < len(result) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n()[],;=+-*/%@^<>!:")
    readline.parse_and_bind("tab: complete")

    def read(prompt: str) -> str:
        try:
            line = input(prompt)
        except KeyboardInterrupt:
            sys.stdout.write("\n")  # readline leaves the cursor on the cancelled line
            raise
        if path is not None and line.strip():
            readline.append_history_file(1, path)
        return line

    return read
