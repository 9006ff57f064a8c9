"""Files of a folder that is on disk or in an object store."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from autodiff_cli.data import leftovers, storage
from autodiff_cli.data.pipeline import ordered
from autodiff_cli.errors import FileError
from autodiff_cli.language.source_text import display_name

Made = TypeVar("Made")
_REQUESTS = 16
"""The number of requests to a server at the same time."""


def each(look: Callable[[str], Made], paths: Sequence[str]) -> list[Made]:
    """Return the result of a function for each of many files; while a server answers one request, others are sent."""
    return list(ordered(look, paths, _REQUESTS if any(map(storage.is_url, paths)) else 1))


def join(folder: str, name: str) -> str:
    """Return the path of a file in a folder."""
    return f"{folder.rstrip('/')}/{name}" if storage.is_url(folder) else os.path.join(folder, name)


def absolute(path: str) -> str:
    """Return the absolute path of a file or folder."""
    return path if storage.is_url(path) else os.path.abspath(path)


def names(folder: str) -> list[str]:
    """Return the names of the files in a folder; a folder that does not exist contains no files.

    Raises:
        OSError: if the folder cannot be read.
    """
    if storage.is_url(folder):
        return storage.names(folder)
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def content(path: str) -> bytes | None:
    """Return the content of a file; ``None`` if it does not exist.

    Raises:
        OSError: if the file cannot be read.
    """
    if storage.is_url(path):
        return storage.content(path)
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def exists(path: str) -> bool:
    """Return whether a file exists."""
    return storage.size_of(path) is not None if storage.is_url(path) else os.path.exists(path)


def size_of(path: str) -> int:
    """Return the number of bytes of a file; 0 if it does not exist, or a server does not state it."""
    if storage.is_url(path):
        return storage.size_of(path) or 0
    return os.path.getsize(path) if os.path.exists(path) else 0


def stamp(path: str) -> str:
    """Return a text that changes when a file changes.

    Raises:
        FileError: if the file does not exist, or a server does not answer.
    """
    if storage.is_url(path):
        return storage.stamp(path)
    try:
        status = os.stat(path)
    except OSError as error:
        raise FileError(f"cannot read {display_name(path)}: {error.strerror or error}") from None
    return f"{status.st_size} {status.st_mtime_ns}"


def remove(path: str) -> None:
    """Remove a file if it exists."""
    if storage.is_url(path):
        storage.remove(path)
        return
    with suppress(OSError):
        os.unlink(path)


def remove_folder(path: str) -> None:
    """Remove a folder with its files, as far as possible."""
    if storage.is_url(path):
        storage.remove_folder(path)
    else:
        leftovers.remove_folder(path)
