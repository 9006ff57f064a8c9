"""Records: objects that hold named values."""

from __future__ import annotations

from typing import Any, dataclass_transform


@dataclass_transform(kw_only_default=True)
class Record:
    """An object whose annotated attributes are the keyword arguments of its class; importing ``dataclasses`` takes too long."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)
