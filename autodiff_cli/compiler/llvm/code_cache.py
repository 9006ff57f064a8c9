"""Machine code that was compiled before, in files of the user's cache folder.

The folder is ``autodiff/kernels`` in ``$XDG_CACHE_HOME``, or in ``~/.cache``.  Code is run, so it is read only from a folder that
other users cannot write to, and only if it is whole.  A folder that cannot be used is not an error: code is then compiled again.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

KEPT: Final = 1_000
"""The number of files that are kept; those that were not used for the longest time are removed."""
_DIGEST: Final = hashlib.sha256().digest_size


def folder() -> Path:
    """Return the folder of the cache, which need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "autodiff" / "kernels"


def _is_private(place: Path) -> bool:
    """Return whether only this user can write to a folder; on Windows, the profile of a user is private."""
    if not hasattr(os, "getuid"):
        return True
    status = place.stat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022  # writable by others


def read(key: str) -> bytes | None:
    """Return the code of a key, and note its use.  ``None``: it is not in the cache, not whole, or perhaps from another user."""
    with suppress(OSError, RuntimeError):  # Path.home() raises RuntimeError without a home folder
        place = folder()
        if _is_private(place):
            content = (place / key).read_bytes()
            code = content[_DIGEST:]
            if hashlib.sha256(code).digest() == content[:_DIGEST]:
                os.utime(place / key)  # for ``_trim``
                return code
    return None


def write(key: str, code: bytes) -> None:
    """Store the code of a key; other processes see the whole file or none.  Without a usable folder, nothing is stored."""
    with suppress(OSError, RuntimeError):
        place = folder()
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_private(place):
            return
        descriptor, temporary = tempfile.mkstemp(prefix=".", dir=place)
        try:
            with open(descriptor, "wb") as file:
                file.write(hashlib.sha256(code).digest() + code)
            os.replace(temporary, place / key)
        except OSError:
            os.unlink(temporary)
            raise
        _trim(place)


def _trim(place: Path) -> None:
    """Remove the files that were not used for the longest time, if there are more than ``KEPT``."""
    files = list(place.iterdir())
    if len(files) > KEPT:
        oldest = sorted(files, key=lambda file: file.stat().st_mtime)
        for file in oldest[: len(files) - KEPT]:
            file.unlink(missing_ok=True)
