"""Records that are quick to import, for modules that every command loads.

Importing ``dataclasses`` takes as long as a small evaluation, and a ``NamedTuple`` compiles the annotation of each field.
"""

from __future__ import annotations

from typing import Any, Self, dataclass_transform


@dataclass_transform()
class Struct:
    """An object whose annotated attributes are the arguments of its class, like a data class.

    A class attribute is the default of an argument.  Subclasses of a subclass take only keyword arguments.
    """

    def __init__(self, *values: Any, **attributes: Any) -> None:
        self.__dict__.update(zip(self.__annotations__, values, strict=False), **attributes)  # others have defaults

    def __init_subclass__(cls, *, kw_only: bool = False) -> None:
        """Accept the setting ``kw_only``, by which type checkers allow only keyword arguments."""

    def _asdict(self) -> dict[str, Any]:
        """Return the arguments by name, as a ``NamedTuple`` does."""
        return dict(self.__dict__)

    def _replace(self, **changes: Any) -> Self:
        """Return a copy with other values of some attributes, as a ``NamedTuple`` does."""
        return type(self)(**{**self.__dict__, **changes})
