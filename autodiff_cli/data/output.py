"""Output to a file, which is written completely or not at all, or to standard output."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shlex
import signal
import stat
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from typing import BinaryIO, TextIO

from autodiff_cli import signals
from autodiff_cli.data import storage
from autodiff_cli.errors import FileError, UsageError, setting
from autodiff_cli.formats import plain


@contextmanager
def opened(path: str | None) -> Iterator[BinaryIO]:
    """Open a file, by its path or URL, for writing bytes; the file gets its name at exit, and is removed after an error.

    ``None`` is standard output.  Files that are not regular, such as pipes, are written directly.  A file that cannot be written
    raises ``FileError``.
    """
    if path is None:
        sys.stdout.flush()  # the text before these bytes
        memory = io.BytesIO()  # for a standard output that takes only text, as that of a notebook does
        out: BinaryIO = getattr(sys.stdout, "buffer", memory)
        yield out
        out.flush()
        sys.stdout.write(memory.getvalue().decode())
        return
    if storage.is_url(path):
        with terminable(), storage.created(path) as file:
            yield file
        return
    with system_errors(path):
        if os.path.exists(path) and not os.path.isfile(path):  # the real path of a pipe is not a path
            with open(path, "wb") as file:
                yield file
            return
        target = os.path.realpath(path)
        with terminable():
            yield from _new_content(target)


def write(path: str, data: bytes) -> None:
    """Write a file completely or not at all; raise ``FileError`` if it cannot be written."""
    with opened(path) as file:
        file.write(data)


def _new_content(target: str) -> Iterator[BinaryIO]:
    """Yield a file that gets the name ``target`` at exit; until then it has another name, or none where the system has such files.

    It replaces a file of this name, with the same permissions.  After an error, nothing is left of it.
    """
    mode = stat.S_IMODE(os.stat(target).st_mode) if os.path.exists(target) else None
    if mode is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "Permission denied")
    # The temporary file is in the same folder, because a rename is atomic only within a file system.
    folder, name = os.path.split(target)
    hidden = os.path.join(folder, f".{name[:200]}.{os.urandom(4).hex()}.tmp")  # a name has at most 255 characters
    try:
        with _nameless(folder) or open(hidden, "x+b") as file:
            yield file
            file.flush()
            if not os.path.exists(hidden):  # the file is nameless
                os.link(f"/proc/self/fd/{file.fileno()}", hidden, src_dir_fd=file.fileno())
        if mode is not None:
            os.chmod(hidden, mode)
        os.replace(hidden, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(hidden)
        raise


def _nameless(folder: str) -> BinaryIO | None:
    """Open a file without a name, of which nothing is left if the process is killed; ``None`` if there are no such files."""
    if not os.path.exists("/proc/self/fd"):  # which would give the file its name
        return None
    try:
        return os.fdopen(os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666), "w+b")
    except (OSError, AttributeError):  # another file system, or another system than Linux
        return None


@contextmanager
def system_errors(path: str) -> Iterator[None]:
    """Convert errors of the system, except a broken pipe, to a ``FileError`` that names the file or the folder that is missing."""
    try:
        yield
    except OSError as error:
        if isinstance(error, (FileError, BrokenPipeError)):
            raise
        if os.path.isdir(os.path.dirname(os.path.realpath(path))):
            raise FileError(f"cannot write '{path}': {error.strerror or error}") from None
        target = os.path.realpath(path) if os.path.islink(path) else path  # otherwise as the user wrote it
        folder = os.path.dirname(target) or "."
        hint = f"mkdir -p {shlex.quote(folder)}"
        raise FileError(f"cannot write '{path}': the folder '{folder}' does not exist", hint=hint) from None


@contextmanager
def terminable() -> Iterator[None]:
    """Convert termination signals to exceptions, so that temporary files are removed; only the main thread can do so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    watched = [signal.SIGTERM] + ([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])  # Windows has no SIGHUP
    before = {number: signal.signal(number, signals.end) for number in watched if signal.getsignal(number) is signal.SIG_DFL}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Block Ctrl-C in this thread and in the processes that it starts; on Windows, do nothing."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def is_folder(path: str | None) -> bool:
    """Return whether a path names a folder of output files: ``out/``, an existing folder, or ``out/*.csv``."""
    return path is not None and (path.endswith(("/", os.sep)) or "*" in path or os.path.isdir(path))


def split(target: str, form: str) -> tuple[str, str]:
    """Split an output of many files into the path of the folder and the template of the file names: ``part-*.csv`` by default.

    If the name does not contain exactly one ``*``, ``UsageError`` is raised.
    """
    folder, name = (target, f"part-*.{plain(form)}") if "*" not in target else os.path.split(target)
    if "*" in folder or name.count("*") != 1:
        raise UsageError(f"'{target}' must contain one * in the file name", hint="write a name such as 'out/*.csv'")
    return (folder.rstrip("/") if storage.is_url(folder) else os.path.abspath(folder or ".")), name


def check_not_input(path: str | None, inputs: Sequence[str | None]) -> None:
    """Raise ``UsageError`` if the output is one of the input files, even under another name.

    ``None`` stands for standard output or standard input.
    """
    output = path if storage.is_url(path) else _identity(path, sys.stdout)
    for source in inputs if output is not None else ():
        if output == (source if storage.is_url(source) else _identity(source, sys.stdin)):
            what = f"'{path}'" if path is not None else "standard output"
            raise UsageError(f"{what} is both the input and the output", hint="write to another file")


def check_not_inside(target: str | None, form: str, names: Sequence[str]) -> None:
    """Raise ``UsageError`` if a later run of the same command would read its own output files.

    That is so if the folder ``target`` is in an input folder, or a pattern of inputs matches its files.  ``form`` is the name of
    the output format, and ``names`` are the inputs as the user wrote them.
    """
    if target is None or not is_folder(target):
        return
    folder, name = split(target, form)
    first = _absolute(f"{folder}/{name.replace('*', '0')}")  # the path of an output file
    for source in names:
        input_path = _absolute(source)
        is_input = fnmatch(first, input_path) if storage.has_pattern(source) else first.startswith(f"{input_path}/")
        if is_input:
            hint = f"write to another folder: {setting('output', 'results/')}"
            raise UsageError(f"the results in '{target}' would be input files of '{source}' in the next run", hint=hint)


def _absolute(path: str) -> str:
    """Return a path or URL that can be compared with others as text."""
    return path.rstrip("/") if storage.is_url(path) else os.path.realpath(path).replace(os.sep, "/")


def _identity(path: str | None, stream: TextIO) -> tuple[int, int] | None:
    """Return the device and inode numbers of a regular file, or of a stream if the path is ``None``; ``None`` for other files."""
    try:
        status = os.fstat(stream.fileno()) if path is None else os.stat(path)
    except (OSError, AttributeError, ValueError):
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None
