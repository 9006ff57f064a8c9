"""autodiff: exact derivatives of expressions, with PyTorch's autograd on NumPy.

``import autodiff_cli as ad`` gives PyTorch's names with PyTorch's meaning.  Names are loaded when they are first used,
so that the command line starts without what it does not need.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # the command starts here too: importing typing would take as long as all that this module does
    from typing import Any

    from autodiff_cli.api import *  # noqa: F403

__version__ = "0.1.0"

_ROOMS = (
    *(
        "api",
        "autograd",
        "cli",
        "compiler",
        "data",
        "derivatives",
        "errors",
        "evaluation",
        "explain",
        "export",
        "gradcheck",
        "graph",
    ),
    *(
        "language",
        "limits",
        "linalg",
        "nn",
        "notes",
        "ops",
        "plot",
        "precise",
        "report",
        "script",
        "signals",
        "special",
        "symbolic",
    ),
)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    from importlib import import_module

    if name in _ROOMS:
        return import_module(f"autodiff_cli.{name}")
    api = import_module("autodiff_cli.api")
    try:
        value = getattr(api, name)
    except AttributeError:
        functions = import_module("autodiff_cli.autograd.primitives.registry").FUNCTIONS
        if name in functions:  # an alias, such as arcsin
            return functions[name].function
        raise AttributeError(f"module 'autodiff_cli' has no attribute {name!r}") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    from autodiff_cli import api

    return sorted({*globals(), *(name for name in vars(api) if not name.startswith("_"))})
