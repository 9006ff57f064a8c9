"""Results as files: all of one, or nothing."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from autodiff_cli.errors import FileError


def write_file(path: str, data: bytes) -> None:
    """Write a file at once: who looks meanwhile sees the old one or the new one.

    Raises:
        FileError: if it cannot be written.
    """
    target = Path(path)
    try:
        if target.exists() and not target.is_file():  # a device, such as /dev/stdout
            target.write_bytes(data)
            return
        where = target.resolve()
        handle, made = tempfile.mkstemp(prefix=f".{where.name}.", dir=where.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(made, where.stat().st_mode & 0o7777 if where.exists() else 0o666 & ~mask)
            os.replace(made, where)
        except BaseException:
            Path(made).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise FileError(f"cannot write '{path}': {error.strerror or error}") from None
