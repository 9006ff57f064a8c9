"""Imports on first use: a run loads the modules and libraries that it needs, and no others.

There are three places where names wait for their module, and all of them use this one:

* a package hands out the names of a flat module (``attach``): ``autodiff_cli`` those of ``autodiff_cli.public_names``;
* a dictionary is filled when a key is missing (``OnDemand``): the functions of the language;
* a table names what it lists by its place (``named``): the commands.

A function imports what only its call needs: a command what it computes with, beyond its options.
"""

from __future__ import annotations

from _thread import RLock  # that of threading, which takes some ms to import
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from sys import modules

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing would take as long as the rest of this module
    from types import ModuleType
    from typing import Any, TypeVar

    Value = TypeVar("Value")
else:
    Value = object

_INSTALLED_AS = {"distributed": '"dask[distributed]"'}
_NO_MEMORY = "failed to map segment"
"""How the dynamic linker reports a lack of memory."""
_importing = RLock()


def named(place: str) -> Any:
    """Import and return what a place names: ``package.module`` or ``package.module:attribute``."""
    from importlib import import_module

    module, _, attribute = place.partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found


def attach(package: str, flat: str, submodules: Sequence[str] = ()) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package that hands out the names of another module.

    For type checkers the package imports them too, under ``TYPE_CHECKING``.

    Args:
        package: the name of the package.
        flat: the module with its public names: all names there but modules and those that begin with ``_``.
        submodules: public modules of the package.
    """

    def get(name: str) -> Any:
        if not name.startswith("_"):
            place = f"{package}.{name}"
            try:
                return named(place)  # first, as "from package import module" asks here too
            except ModuleNotFoundError as missing:
                if missing.name != place:
                    raise
            found = _public(named(flat))
            if name in found:
                setattr(modules[package], name, found[name])
                return found[name]
        raise AttributeError(f"module '{package}' has no attribute '{name}'", name=name, obj=modules[package])

    def names() -> list[str]:
        return sorted({*_public(named(flat)), *submodules, *(name for name in vars(modules[package]) if name.startswith("__"))})

    return get, names


def _public(module: ModuleType) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if name[0] != "_" and not isinstance(value, type(module))}


class OnDemand(MutableMapping[str, Value]):
    """A dictionary that is filled when a name is missing, or when all are asked for."""

    def __init__(self) -> None:
        self._known: dict[str, Value] = {}
        self._fill: Callable[[], None] | None = None

    def on_missing(self, fill: Callable[[], None]) -> None:
        """Set the function that adds all other names."""
        self._fill = fill

    def complete(self) -> OnDemand[Value]:
        """Return the dictionary with all names."""
        if self._fill is not None:
            fill, self._fill = self._fill, None
            fill()
        return self

    def __getitem__(self, name: str) -> Value:
        return self._known[name] if name in self._known else self.complete()._known[name]

    def __setitem__(self, name: str, value: Value) -> None:
        self._known[name] = value

    def __delitem__(self, name: str) -> None:
        del self.complete()._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.complete()._known)

    def __len__(self) -> int:
        return len(self.complete()._known)


def library(name: str, user: str, otherwise: str = "") -> ModuleType:
    """Return a library, or a module of one.

    Args:
        name: of the module, such as ``scipy.special``.
        user: the feature that needs it, with which the message begins.
        otherwise: an alternative, with which the hint ends.

    Raises:
        MissingPackage: if it cannot be imported; the hint says how to install it.
        MemoryError: if there is not enough memory to import it.
    """
    from autodiff_cli.errors import MissingPackage

    # A thread that imports a module while another one fails to import it may be given half of it.
    with _importing:
        try:
            found: ModuleType = named(name)
            return found
        except ImportError as failure:
            if _NO_MEMORY in str(failure):
                raise MemoryError(str(failure)) from None
            package = name.partition(".")[0]
            missing = isinstance(failure, ModuleNotFoundError) and (failure.name or "").partition(".")[0] == package
            why = "is not installed" if missing else f"cannot be imported: {failure}".partition("\n")[0]
    hint = f"pip install {_INSTALLED_AS.get(package, package)}" + (f", or {otherwise}" if otherwise else "")
    raise MissingPackage(f"{user} needs {package}, which {why}", hint=hint)


def library_if_there(name: str) -> ModuleType | None:
    """Return a library, or ``None`` if it cannot be imported."""
    from autodiff_cli.errors import MissingPackage

    try:
        return library(name, "")
    except MissingPackage:
        return None
