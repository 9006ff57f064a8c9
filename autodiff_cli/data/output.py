"""Where output goes: a file that appears whole or not at all, or standard output."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import signal
import stat
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from autodiff_cli import signals
from autodiff_cli.errors import FileError, UsageError


@contextmanager
def opened(path: str | None, goes_back: bool = False) -> Iterator[Any]:
    """A file to write bytes to; on the way out it is there under its name, after an error it is not.

    Args:
        path: ``None`` for standard output.  What is no regular file, such as a pipe or a device, is written to
            directly.
        goes_back: whether the writer goes back to the beginning at the end.

    Raises:
        FileError: if it cannot be written.
    """
    if path is None:
        out = _standard_output()
        yield from _forwards(out, goes_back)
        out.flush()
        return
    with _spoken(path):
        target = os.path.realpath(path)
        if os.path.exists(target) and not os.path.isfile(target):
            with open(target, "wb") as file:
                yield from _forwards(file, goes_back)
            return
        with terminable():
            yield from _replaced(target)


def write(path: str, data: bytes) -> None:
    """Write a file that appears whole or not at all.

    Raises:
        FileError: if it cannot be written.
    """
    with opened(path) as file:
        file.write(data)


def _forwards(file: Any, goes_back: bool) -> Iterator[Any]:
    """A file that cannot go back, or one that can and is copied to it at the end."""
    if not goes_back:
        yield file
        return
    import shutil
    import tempfile

    with tempfile.TemporaryFile() as copy:
        yield copy
        copy.seek(0)
        shutil.copyfileobj(copy, file, 1 << 20)


def _replaced(target: str) -> Iterator[Any]:
    mode = stat.S_IMODE(os.stat(target).st_mode) if os.path.exists(target) else None
    if mode is not None and not os.access(target, os.W_OK):
        raise PermissionError(13, "Permission denied")
    folder, name = os.path.split(target)
    # In the same folder, as a file is renamed in one step on its own disk only.
    waiting = os.path.join(folder, f".{name[:200]}.{os.urandom(4).hex()}.tmp")
    file = os.fdopen(os.open(waiting, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666), "w+b")
    try:
        with file:
            yield file
        if mode is not None:
            os.chmod(waiting, mode)
        os.replace(waiting, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(waiting)
        raise


@contextmanager
def _spoken(path: str) -> Iterator[None]:
    """Errors of the system as one message."""
    try:
        yield
    except OSError as error:
        if isinstance(error, (FileError, BrokenPipeError)):
            raise
        if os.path.isdir(os.path.dirname(os.path.realpath(path))):
            raise FileError(f"cannot write '{path}': {error.strerror or error}") from None
        folder = os.path.dirname(path) or "."  # as it was given
        raise FileError(f"cannot write '{path}': there is no folder '{folder}'", hint=f"mkdir -p {shlex.quote(folder)}") from None


@contextmanager
def terminable() -> Iterator[None]:
    """Signals that end the process do so after the temporary file is gone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    watched = [signal.SIGTERM] + ([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])
    before = {number: signal.signal(number, signals.end) for number in watched if signal.getsignal(number) is signal.SIG_DFL}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _standard_output() -> Any:
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        return _Decoded(sys.stdout)
    sys.stdout.flush()
    return buffer


class _Decoded(io.RawIOBase):
    """Bytes for a stream of text, such as the one of a test or a notebook."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._stream.write(bytes(data).decode())
        return len(data)


def is_folder(path: str | None) -> bool:
    """Whether the output is a folder of files: ``out/``, one that is there, or ``out/*.csv``."""
    return path is not None and (path.endswith(("/", os.sep)) or "*" in path or os.path.isdir(path))


def check_not_input(path: str | None, inputs: Sequence[str | None]) -> None:
    """Refuse to write to what is read, under whatever name.

    Args:
        path: the output, ``None`` for standard output.
        inputs: the files that are read, ``None`` for standard input.

    Raises:
        UsageError: if one of them is the output.
    """
    output = _identity(path, sys.stdout)
    for source in inputs:
        if output is not None and _identity(source, sys.stdin) == output:
            what = f"'{path}'" if path is not None else "standard output"
            hint = "--in-place replaces the input when all is done" if path is not None else "write to another file"
            raise UsageError(f"{what} is the input too", hint=hint)


def _identity(path: str | None, stream: Any) -> tuple[int, int] | None:
    try:
        status = os.fstat(stream.fileno()) if path is None else os.stat(path)
    except (OSError, AttributeError, ValueError):
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None
