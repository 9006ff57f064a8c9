"""Results as files: the whole of one, or nothing."""

from __future__ import annotations

import os
import shlex
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from autodiff_cli.errors import FileError


def write(path: str, data: bytes) -> None:
    """Write a file beside its place first, so that there is never half of one.

    Raises:
        FileError: if that fails.
    """
    target = Path(path)
    try:
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):  # a pipe, /dev/stdout
            target.write_bytes(data)
            return
        target = target.resolve()
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~mask)
            os.replace(name, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
    except FileNotFoundError:
        folder = str(Path(path).parent)  # as it was given
        raise FileError(f"cannot write '{path}': there is no folder '{folder}'", hint=f"mkdir -p {shlex.quote(folder)}") from None
    except OSError as error:
        raise FileError(f"cannot write '{path}': {error.strerror or error}") from None
