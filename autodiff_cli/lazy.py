"""Libraries that are imported when something first needs them: what a run does not use costs it no time."""

from __future__ import annotations

import threading
from importlib import import_module
from typing import Any

from autodiff_cli.errors import MissingPackage

_INSTALLED_AS = {"distributed": '"dask[distributed]"'}
_NO_MEMORY = "failed to map segment"
"""The words of the dynamic linker for it."""
_importing = threading.RLock()


def library(name: str, user: str, otherwise: str = "") -> Any:
    """Return a library, or a module of one.

    Args:
        name: of the module, such as ``scipy.special``.
        user: what needs it, as the message begins.
        otherwise: what to do without it, as the hint ends.

    Raises:
        MissingPackage: if it cannot be imported; the hint says how to install it.
        MemoryError: if there is not enough memory to import it.
    """
    # A thread that imports a module while another one fails to import it may be given half of it.
    with _importing:
        try:
            return import_module(name)
        except ImportError as failure:
            if _NO_MEMORY in str(failure):
                raise MemoryError(str(failure)) from None
            package = name.partition(".")[0]
            missing = isinstance(failure, ModuleNotFoundError) and (failure.name or "").partition(".")[0] == package
            why = "is not installed" if missing else f"cannot be imported: {failure}".partition("\n")[0]
    hint = f"pip install {_INSTALLED_AS.get(package, package)}" + (f", or {otherwise}" if otherwise else "")
    raise MissingPackage(f"{user} needs {package}, which {why}", hint=hint)


def library_if_there(name: str) -> Any:
    """Return a library, or ``None`` if it cannot be imported."""
    try:
        return library(name, "")
    except MissingPackage:
        return None
