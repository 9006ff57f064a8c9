"""Files on disk, and those of object stores and web servers, which have URLs: ``s3://bucket/data.csv``.

fsspec reads and writes the latter.  Each scheme needs a package, which finds the credentials and settings where it always does.
Nothing is imported and no connection is made unless a URL was named.

If a file cannot be read or written, a function raises ``OSError``, which is a ``FileError`` for a URL; ``MissingPackage`` if the
package for a scheme is not installed.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast
from urllib.parse import urlsplit

from autodiff_cli.errors import AutodiffError, DataError, FileError, UsageError
from autodiff_cli.language.limited_reading import display_name
from autodiff_cli.lazy import library

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

_URL = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
TIMEOUT, ANSWER = 10, 30
"""The maximum number of seconds for a connection and for an answer."""
PART = 1 << 25
"""The number of bytes of a part of an upload; an object has at most 10,000 parts."""
_AHEAD = 1 << 22
"""The number of bytes of one request to a server that reads a file."""
_BUFFER = 1 << 16
"""The number of bytes that are given to the reader of a file at a time, at least."""
_RETRIES = 2
"""The number of attempts of a request: the many of botocore would keep a user without a network waiting."""
_LONGEST_REASON = 300
"""The maximum number of characters of a hint that a library wrote."""
_PAUSES = 0.05, 0.2, 1.0, 0.0
"""The seconds after each attempt to remove a folder."""


class _Scheme(NamedTuple):
    """A scheme of URLs: the package that fsspec needs for it, the place of its credentials, and whether it can be written."""

    package: str
    credentials: str = ""
    written: bool = True


_SCHEMES = {
    "s3": _Scheme("s3fs", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"),
    "gs": _Scheme("gcsfs", "set GOOGLE_APPLICATION_CREDENTIALS, or run: gcloud auth application-default login"),
    "az": _Scheme("adlfs", "set AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY"),
    "https": _Scheme("aiohttp", written=False),
    "http": _Scheme("aiohttp", written=False),
}


def is_url(path: str | None) -> bool:
    """Return whether a path is a URL."""
    return path is not None and _URL.match(path) is not None


def has_pattern(path: str) -> bool:
    """Return whether a path contains a sign that stands for other characters."""
    return any(sign in path for sign in "*?[")


def file_part(path: str) -> str:
    """Return a path without the query of a web address, so that it ends with the suffix of the file."""
    return urlsplit(path).path if path.lower().startswith(("http://", "https://")) else path


def opened(path: str) -> BinaryIO:
    """Open a file for reading; a URL is seekable unless a web server can send only whole files."""
    if not is_url(path):
        return open(path, "rb")
    with _as_file_error(path):
        remote: Any = _Remote(_system(path).open(path, "rb", block_size=_AHEAD))
        return cast("BinaryIO", io.BufferedReader(remote, _BUFFER))


def inside(url: str) -> list[str] | None:
    """Return the files in a folder or of a pattern, in the order of their names; ``None`` if the URL is one file."""
    scheme = _scheme(url)
    if not _SCHEMES[scheme].written:  # a web server does not list files
        return None
    with _as_file_error(url):
        system = _system(url)
        if has_pattern(url):
            names = system.glob(url)
        elif system.info(url)["type"] == "directory":
            names = system.find(url)
        else:
            return None
        return [f"{scheme}://{name}" for name in sorted(names)]


def join(folder: str, name: str) -> str:
    """Return the path of a file in a folder."""
    return f"{folder.rstrip('/')}/{name}" if is_url(folder) else os.path.join(folder, name)


def absolute(path: str) -> str:
    """Return the absolute path of a file or folder."""
    return path if is_url(path) else os.path.abspath(path)


def size_of(path: str) -> int | None:
    """Return the number of bytes of a file; ``None`` if it does not exist, or a server does not state it."""
    if not is_url(path):
        return os.path.getsize(path) if os.path.exists(path) else None
    size: int | None = None
    with _if_there(path):
        size = _system(path).info(path)["size"]
    return size


def exists(path: str) -> bool:
    """Return whether a file exists."""
    return size_of(path) is not None


def stamp(path: str) -> str:
    """Return a text that changes when the content of a file changes, as far as a server states it; or raise ``FileError``."""
    if not is_url(path):
        try:
            status = os.stat(path)
        except OSError as error:
            raise FileError(f"cannot read {display_name(path)}: {error.strerror or error}") from None
        return f"{status.st_size} {status.st_mtime_ns}"
    with _as_file_error(path):
        facts = _system(path).info(path)
    return " ".join(str(facts[name]) for name in ("size", "ETag", "etag", "LastModified", "updated") if facts.get(name))


def content(path: str) -> bytes | None:
    """Return the content of a file; ``None`` if it does not exist.  Other errors: ``FileError`` for a URL, else ``OSError``."""
    data: bytes | None = None
    with _if_there(path):
        data = _system(path).cat_file(path) if is_url(path) else Path(path).read_bytes()
    return data


def names(folder: str) -> list[str]:
    """Return the names of the files in a folder; a folder that does not exist contains no files."""
    paths: list[str] = []
    with _if_there(folder):
        paths = _system(folder).ls(folder, detail=False) if is_url(folder) else os.listdir(folder)
    return [path.rpartition("/")[2] for path in paths]


def remove(path: str) -> None:
    """Remove a file if it exists; errors are ignored."""
    with suppress(Exception):
        if is_url(path):
            _system(path).rm_file(path)
        else:
            os.unlink(path)


def remove_folder(path: str) -> None:
    """Remove a folder with its files, as far as possible; workers that have not noticed the end of a run write into it."""
    if is_url(path):
        with suppress(Exception):
            _system(path).rm(path, recursive=True)
        return
    for pause in _PAUSES:
        shutil.rmtree(path, ignore_errors=True)
        if not os.path.exists(path):
            return
        time.sleep(pause)


def try_lock(file: BinaryIO) -> bool:
    """Lock a file until it is closed; return ``False`` if another process has locked it, and ``True`` where locks do not exist."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except AttributeError:  # on Windows, where ``fcntl`` is ``None``
        return True
    except OSError:
        return False
    return True


@contextmanager
def created(url: str) -> Iterator[BinaryIO]:
    """Open an object for writing; it appears at exit, and an unfinished upload is aborted after an error."""
    if not _SCHEMES[_scheme(url)].written:
        raise FileError(f"cannot write '{url}': a web server can only be read", hint="write to a file, s3://, gs:// or az://")
    with _as_file_error(url, "write"):
        file = _system(url).open(url, "wb", block_size=PART)
    try:
        yield cast("BinaryIO", _Remote(file))
        with _as_file_error(url, "write"):
            file.close()
    except BaseException:
        with suppress(Exception):
            file.discard()
        file.closed = True  # otherwise, the destructor would finish the upload
        raise


class _Remote:
    """A file of fsspec whose errors of reading and writing are all ``OSError``; the other methods are those of the file."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def seekable(self) -> bool:
        """Return whether the size of the file is known; a web server that sends only whole files does not state it."""
        return self._file.size is not None

    def readinto(self, buffer: WriteableBuffer) -> int:
        with _as_os_error():
            return int(self._file.readinto(buffer))

    def write(self, data: ReadableBuffer) -> int:
        with _as_os_error():
            return int(self._file.write(data))

    def close(self) -> None:
        """Close a file that is read, whatever happens; ``created`` closes or discards one that is written."""
        with suppress(Exception):
            self._file.close()


def _scheme(url: str) -> str:
    """Return the scheme of a URL, a key of ``_SCHEMES``; raise ``UsageError`` for another."""
    match = _URL.match(url)
    scheme = match[1].lower() if match else ""
    if scheme not in _SCHEMES:
        raise UsageError(f"'{url}': unknown scheme '{scheme}'", hint=f"use one of {', '.join(f'{name}://' for name in _SCHEMES)}")
    return scheme


def _system(url: str) -> Any:
    """Return the file system of fsspec for a URL; a file system is created once in a process."""
    scheme = _scheme(url)
    library(_SCHEMES[scheme].package, f"{scheme}://")  # an error if it is not installed
    fsspec = library("fsspec", f"{scheme}://")
    options: dict[str, object] = {"use_listings_cache": False}
    if scheme == "s3":
        options["config_kwargs"] = {"connect_timeout": TIMEOUT, "read_timeout": ANSWER, "retries": {"max_attempts": _RETRIES}}
    elif scheme in ("http", "https"):
        limits = library("aiohttp", f"{scheme}://").ClientTimeout(total=None, sock_connect=TIMEOUT, sock_read=ANSWER)
        options["client_kwargs"] = {"timeout": limits, "trust_env": True}  # the proxy of the environment
    system = fsspec.filesystem(scheme, **options)
    if scheme == "s3":
        system.retries = _RETRIES  # of s3fs, each with those of botocore
    return system


@contextmanager
def _if_there(path: str) -> Iterator[None]:
    """Suppress the error that a file or folder does not exist; convert other errors of a URL, not of a path, to a ``FileError``."""
    with _as_file_error(path) if is_url(path) else nullcontext(), suppress(FileNotFoundError):
        yield


@contextmanager
def _as_file_error(url: str, verb: str = "read") -> Iterator[None]:
    """Convert exceptions, except ``AutodiffError``, to a ``FileError`` for a URL; its hint names missing credentials."""
    try:
        yield
    except AutodiffError:
        raise
    except Exception as error:
        reason = _reason(error)
        lacks_access = "credentials" in reason.lower() or isinstance(error, PermissionError)
        hint = _SCHEMES[_scheme(url)].credentials if lacks_access else None
        raise FileError(f"cannot {verb} '{url}': {reason}", hint=hint or None) from None


@contextmanager
def _as_os_error() -> Iterator[None]:
    """Convert every exception of a library to an ``OSError``."""
    try:
        yield
    except Exception as error:
        raise OSError(0, _reason(error)) from None


@contextmanager
def library_errors(problem: str) -> Iterator[None]:
    """Convert every exception of a library that reads a file to a ``DataError``; an ``AutodiffError`` is raised unchanged.

    ``problem`` is the message, and the text of the exception becomes the hint.
    """
    try:
        yield
    except AutodiffError:
        raise
    except MemoryError:
        raise DataError(problem, hint="check that the file is not corrupt: it needs more memory than is available") from None
    except Exception as error:
        reason = str(getattr(error, "strerror", None) or error).partition("\n")[0].strip()
        reason = "" if " object at 0x" in reason else reason  # a Python repr, which does not describe the file
        raise DataError(problem, hint=reason[:_LONGEST_REASON] or None) from None


def _reason(error: Exception) -> str:
    """Return why an operation failed, in one line."""
    text = str(error).partition("\n")[0].strip()
    if isinstance(error, FileNotFoundError):
        names_place = re.search(r"(bucket|container) .*(exist|found)", text, re.IGNORECASE)
        return text if names_place else "the file or folder does not exist"
    if isinstance(error, PermissionError):
        return f"access denied ({text})" if text else "access denied"
    if isinstance(error, TimeoutError) or "timeout" in type(error).__name__.lower():
        return f"the server does not answer within {ANSWER} seconds"
    return text or type(error).__name__
