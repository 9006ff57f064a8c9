"""Runs one command in this process, with its streams, warnings and time watched, and lets the oracles judge it."""

from __future__ import annotations

import io
import os
import resource
import shutil
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from autodiff_cli.cli import unexpected_errors
from tests.fuzz import state
from tests.fuzz.command import Command

SECONDS = 10.0
"""More of a processor is a finding; how long that takes on a busy machine is not looked at."""
PACKAGE = "autodiff_cli"
Main = Callable[[Sequence[str]], int]


class TimeUp(BaseException):
    """Raised by the clock in the middle of whatever runs; not an Exception, so that it is rarely caught."""


@dataclass
class Outcome:
    """What a command did.

    Attributes:
        code: its exit code, ``None`` if it did not get that far.
        stdout, stderr: what it wrote.
        error, message: class and text of what it raised, or of what its last line of defence made a message of.
        where: file and function of the innermost frame of the project, for an error or where time was up.
        warned: category, message and place of each warning.
        ignored: class and place of each exception that Python prints and ignores, as where an object is freed.
        seconds: how long it took of a processor; ``late`` if it was stopped.
        grown: how many bytes the process holds more than before, at its peak.
        changed: what of the global state it did not leave as it was.
        left: hidden files that it left behind.
        past: how many bytes it wrote to descriptors 1 and 2 themselves, where these are a file.
    """

    code: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    error: str = ""
    message: str = ""
    where: str = ""
    warned: list[tuple[str, str, str]] = field(default_factory=list)
    ignored: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0
    late: bool = False
    grown: int = 0
    changed: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    past: int = 0

    def note(self, error: BaseException) -> None:
        """Keep what is said of an exception, and none of its frames."""
        self.error, self.message = type(error).__name__, str(error)[:300]
        self.where = self.where or place(error)

    @property
    def out(self) -> str:
        """Standard output as text."""
        return self.stdout.decode("utf-8", "replace")

    @property
    def err(self) -> str:
        """Standard error as text."""
        return self.stderr.decode("utf-8", "replace")


class _Stream(io.TextIOWrapper):
    """A stream that may be closed by whoever writes to it, and keeps its bytes."""

    def __init__(self, content: bytes = b"") -> None:
        self.bytes = io.BytesIO(content)
        self.bytes.close = lambda: None  # type: ignore[method-assign]
        super().__init__(self.bytes, encoding="utf-8", errors="backslashreplace" if not content else "strict")

    def content(self) -> bytes:
        if not self.closed:
            self.flush()
        return self.bytes.getvalue()


def run(main: Main, command: Command, folder: Path, seconds: float = SECONDS) -> Outcome:
    """Run a command in an empty folder."""
    _empty(folder)
    for name, content in command.files:
        (folder / name).write_bytes(content)
    outcome = Outcome()
    state.reset()
    before = state.snapshot()
    held, past = _peak(), _written()
    streams = _Stream(command.stdin), _Stream(), _Stream()
    kept = sys.stdin, sys.stdout, sys.stderr
    hook, sys.unraisablehook = sys.unraisablehook, lambda unraisable: outcome.ignored.append(_ignored(unraisable))
    begun = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sys.stdin, sys.stdout, sys.stderr = streams
        try:
            with _clock(outcome, seconds), _unforeseen(outcome):
                outcome.code = main(list(command.args))
        except BaseException as error:
            outcome.note(error)
        finally:
            sys.stdin, sys.stdout, sys.stderr = kept
            sys.unraisablehook = hook
    outcome.seconds = time.process_time() - begun
    outcome.warned = [(w.category.__name__, str(w.message), _short(w.filename)) for w in caught]
    outcome.stdout, outcome.stderr = (stream.content() for stream in streams[1:])
    outcome.grown = _peak() - held
    outcome.past = _written() - past
    if not outcome.late and outcome.error != "MemoryError":
        outcome.changed = state.changed(before)
    outcome.left = [name for name in os.listdir(folder) if name.startswith(".") and name not in command.args]
    if os.getcwd() != before["folder"]:
        os.chdir(before["folder"])
    return outcome


@contextmanager
def _clock(outcome: Outcome, seconds: float) -> Iterator[None]:
    """Interrupt what takes too long, and say where it was."""

    def ring(_: int, frame: FrameType | None) -> None:
        outcome.late = True
        outcome.where = outcome.where or _innermost(walk(frame))
        raise TimeUp

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)  # again, should it be swallowed
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def _unforeseen(outcome: Outcome) -> Iterator[None]:
    """Note the exceptions that ``main`` catches last of all: a message does not say where they come from."""
    described = unexpected_errors.described

    def noted(error: BaseException, args: list[str]) -> Any:
        outcome.note(error)
        return described(error, args)

    unexpected_errors.described = noted
    try:
        yield
    finally:
        unexpected_errors.described = described


def _ignored(unraisable: Any) -> tuple[str, str]:
    found = [(f.f_code.co_filename, f.f_code.co_qualname) for f, _ in traceback.walk_tb(unraisable.exc_traceback)]
    return unraisable.exc_type.__name__, _innermost(found) or type(unraisable.object).__name__


def walk(frame: FrameType | None) -> list[tuple[str, str]]:
    """File and function of a frame and of all that called it, the outermost first."""
    frames = []
    while frame is not None:
        frames.append((frame.f_code.co_filename, frame.f_code.co_qualname))
        frame = frame.f_back
    return frames[::-1]


def place(error: BaseException) -> str:
    """File and function of the innermost frame of the project."""
    return _innermost([(f.f_code.co_filename, f.f_code.co_qualname) for f, _ in traceback.walk_tb(error.__traceback__)])


def _innermost(frames: list[tuple[str, str]]) -> str:
    ours = [(_short(file), name) for file, name in frames if f"/{PACKAGE}/" in file]
    return ":".join(ours[-1]) if ours else ""


def _short(file: str) -> str:
    """The path from the package on."""
    return file.rpartition(f"/{PACKAGE}/")[2] if f"/{PACKAGE}/" in file else os.path.basename(file)


def _peak() -> int:
    """The most bytes that the process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _written() -> int:
    """Bytes in the files that descriptors 1 and 2 are, if they are files."""
    return sum(os.fstat(descriptor).st_size for descriptor in (1, 2))


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def limit_memory(size: int) -> None:
    """Let this process have so many bytes of addresses."""
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
