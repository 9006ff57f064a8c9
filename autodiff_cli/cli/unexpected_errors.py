"""The conversion of unexpected exceptions to errors with one message."""

from __future__ import annotations

import errno
import shlex

from autodiff_cli.errors import AutodiffError, FileError, InternalError, OutOfMemory

_LONGEST = 500
"""The maximum number of characters of a message or a command line that an error repeats."""
_NO_MEMORY = ("cannot allocate memory", "can't start new thread", "failed to map segment", "cannot create thread")


def described(error: BaseException, args: list[str]) -> AutodiffError:
    """Return an ``OutOfMemory``, ``FileError`` or ``InternalError`` for an exception, without a reference to the exception.

    An ``InternalError`` names the command line ``args``.
    """
    text = str(error).partition("\n")[0].strip()
    if isinstance(error, MemoryError) or _lacks_memory(error, text):
        message = f"not enough memory: {text[:_LONGEST]}" if text else "not enough memory"
        return OutOfMemory(message, hint="reduce the size of the computation, or raise the limit that ulimit -v shows")
    if isinstance(error, OSError):
        has_name = isinstance(error.filename, (str, bytes))  # otherwise, it is standard output
        failure = f"cannot use '{_text(error.filename)}'" if has_name else "cannot write the result"
        return FileError(f"{failure}: {error.strerror or error}")
    name = type(error).__name__
    message = f"internal error: {name}: {text[:_LONGEST]}" if text else f"internal error: {name}"
    command = shlex.join(["autodiff", *args])
    command = command if len(command) <= _LONGEST else f"{command[:_LONGEST]}..."
    hint = f"report this defect in autodiff with the output of: AUTODIFF_DEBUG=1 {command}"
    return InternalError(message + _place(error), hint=hint)


def _lacks_memory(error: BaseException, text: str) -> bool:
    """Return whether an exception says in its own way that there is not enough memory."""
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    return isinstance(error, (ImportError, RuntimeError, OSError)) and any(sign in text.lower() for sign in _NO_MEMORY)


def _text(name: str | bytes) -> str:
    """Return a file name as text; bytes that are not UTF-8 are replaced."""
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)


def _place(error: BaseException) -> str:
    """Return the module and line number of the innermost frame of this package in parentheses, empty without one."""
    place, trace = "", error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        if module.startswith("autodiff_cli"):
            place = f" ({module}:{trace.tb_lineno})"
        trace = trace.tb_next
    return place
