"""Files that a process holds while it writes them, and the removal of files that killed processes left behind.

A file is held by a lock of the operating system, which ends with the process, also on another machine that shares the file
system.  Without such locks (on Windows and in some file systems), the files of killed processes stay.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape, glob

from autodiff_cli.data import storage
from autodiff_cli.wording import plural

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_HIDDEN = re.compile(r"\.[0-9a-f]{8}\.tmp")


def hidden(path: str) -> str:
    """Return a new path for a hidden file next to a file: ``.NAME.1a2b3c4d.tmp``."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name[:200]}.{os.urandom(4).hex()}.tmp")


@contextmanager
def held(path: str) -> Iterator[int]:
    """Create a file, and hold it.

    Yields:
        a descriptor of the file, which may be closed; the file is held until exit nevertheless.

    Raises:
        OSError: if the file exists or cannot be created.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        if fcntl is None:
            yield descriptor
            return
        lock = os.dup(descriptor)
        try:
            with suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_EX)
            if os.fstat(lock).st_nlink:  # otherwise, another process has removed the file before it was held
                yield descriptor
                return
            os.close(descriptor)
        finally:
            os.close(lock)


def is_held(path: str) -> bool:
    """Return whether a process holds a file, as far as the file system knows."""
    if fcntl is None:
        return False
    try:
        with open(path, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def removed(target: str | None) -> list[str]:
    """Remove what killed runs left next to an output file.

    Args:
        target: the path of the output file, whose name may contain ``*``; a URL and ``None`` have nothing next to them.

    Returns:
        the notes for the user.
    """
    if fcntl is None or target is None or storage.is_url(target):
        return []
    folder, name = os.path.split(os.path.realpath(target))
    pattern = os.path.join(escape(folder), "." + escape(name[:200]).replace("[*]", "*") + ".*")
    gone = [path for path in sorted(glob(pattern)) if _HIDDEN.search(path) and not is_held(path)]
    for path in gone:
        storage.remove(path)
    if not gone:
        return []
    return [f"removed {plural(len(gone), 'file')} that a killed run left behind, such as '{os.path.basename(gone[0])}'"]
