"""Imports on first use: a run loads only the modules and libraries that it needs.

This module implements the three kinds of deferred imports:

* a package exports the names of a flat module (``attach``), as ``autodiff_cli`` exports ``autodiff_cli.public_names``;
* a dictionary is filled on the first missing key (``OnDemand``), as the table of the functions of the language is;
* a table contains references of the form ``package.module:attribute`` (``named``), as the table of commands does.

A module that only one function needs is imported inside this function: a command imports its computation when it runs, not
when its options are declared.
"""

from __future__ import annotations

from _thread import RLock  # the class behind threading.RLock; importing threading takes a few ms
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from sys import modules

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing takes as long as the rest of this module
    from types import ModuleType
    from typing import Any, TypeVar

    Value = TypeVar("Value")
else:
    Value = object

_INSTALLED_AS = {"aiohttp": "aiohttp fsspec", "distributed": '"dask[distributed]"'}
_NO_MEMORY = "failed to map segment"
"""The text by which the dynamic linker reports a lack of memory."""
_importing = RLock()


def named(place: str) -> Any:
    """Import and return the object at ``package.module`` or ``package.module:attribute``."""
    from importlib import import_module

    module, _, attribute = place.partition(":")
    result = import_module(module)
    return getattr(result, attribute) if attribute else result


def deferred(place: str) -> Callable[[object], Any]:
    """Return a method that calls the function at ``package.module:function``, which is imported by the first call.

    For example, an object displays itself with a function of a higher layer, which its module must not import.
    """
    return lambda self: named(place)(self)


def attach(package: str, flat: str, submodules: Sequence[str] = ()) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package that exports the names of another module.

    For type checkers, the package also imports the names under ``TYPE_CHECKING``.

    Args:
        package: the name of the package.
        flat: the module with the public names: all its names except modules and names that begin with ``_``, and the keys of
            its dictionary ``_later``, whose values are places such as ``package.module:name`` and come first; names there that
            begin with ``_`` are not listed.
        submodules: the public modules of the package.
    """
    return lambda name: _attribute(package, flat, name), lambda: _attribute_names(package, flat, submodules)


def _attribute(package: str, flat: str, name: str) -> Any:
    """Import and return a module or public name of a package, and set it there; ``AttributeError`` for another one."""
    if not name.startswith("__"):
        place = f"{package}.{name}"
        try:
            return named(place)  # first, because "from package import module" also asks for the attribute
        except ModuleNotFoundError as missing:
            if missing.name != place:  # the module exists, but needs another one
                raise
        places, values = _public_names(flat)
        if name in places or name in values:
            value = named(places[name]) if name in places else values[name]
            setattr(modules[package], name, value)
            return value
    from autodiff_cli.unavailable_names import missing as error_for

    raise error_for(package, name)


def _attribute_names(package: str, flat: str, submodules: Sequence[str]) -> list[str]:
    """Return the public names, the public modules, and the attributes that Python gives to every module; see ``attach``."""
    places, values = _public_names(flat)
    public = {*values, *(name for name in places if name[0] != "_")}
    return sorted({*public, *submodules, *(name for name in vars(modules[package]) if name.startswith("__"))})


def _public_names(flat: str) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the places in the dictionary ``_later`` of a flat module, and the values of its public names that are not modules."""
    module = named(flat)
    values = {name: value for name, value in vars(module).items() if name[0] != "_" and not isinstance(value, type(module))}
    return getattr(module, "_later", {}), values


class OnDemand(MutableMapping[str, Value]):
    """A dictionary whose entries are added by modules, each of which is imported when one of its keys is first used."""

    def __init__(self) -> None:
        self._known: dict[str, Value] = {}
        self._modules: dict[str, str] = {}
        self._load: Callable[[str], object] = named

    def on_missing(self, modules: dict[str, str], load: Callable[[str], object]) -> None:
        """Set the module of each key, and the function that imports a module, which adds the entries."""
        self._modules = modules
        self._load = load

    def complete(self) -> OnDemand[Value]:
        """Import all modules, and return the dictionary itself, which then has all entries."""
        modules, self._modules = self._modules, {}  # first, because the modules may look up keys
        for module in dict.fromkeys(modules.values()):
            self._load(module)
        return self

    def __getitem__(self, name: str) -> Value:
        if name not in self._known and name in self._modules:
            self._load(self._modules[name])
        return self._known[name]

    def __setitem__(self, name: str, value: Value) -> None:
        self._known[name] = value

    def __delitem__(self, name: str) -> None:
        del self.complete()._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known or name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self.complete()._known)

    def __len__(self) -> int:
        return len(self.complete()._known)


def library(name: str, user: str, otherwise: str = "") -> ModuleType:
    """Import and return a library or one of its modules.

    Args:
        name: the name of the module, such as ``scipy.special``.
        user: the feature that needs the library, named at the beginning of the message.
        otherwise: an alternative to the library, named at the end of the hint.

    Raises:
        MissingPackage: if the library cannot be imported; the hint contains the installation command.
        MemoryError: if there is not enough memory to import it.
    """
    from autodiff_cli.errors import MissingPackage

    # While the import of a module fails in one thread, another thread may receive an incomplete module.
    with _importing:
        try:
            module: ModuleType = named(name)
            return module
        except ImportError as failure:
            if _NO_MEMORY in str(failure):
                raise MemoryError(str(failure)) from None
            package = name.partition(".")[0]
            missing = (failure.name or "").partition(".")[0] if isinstance(failure, ModuleNotFoundError) else None
            # If the library is installed without what it needs itself, another package is missing.
            state = "is not installed" if missing == package else f"cannot be imported: {failure}".partition("\n")[0]
    hint = f"pip install {_INSTALLED_AS.get(package, package)}" + (f", or {otherwise}" if otherwise else "")
    raise MissingPackage(f"{user} needs {package}, which {state}", hint=hint)
