"""The shape of every result: plain data, from which each output format is made.

A result of a command is an ``CommandResult``.  It says what it consists of, and ``report`` writes that: JSON is its ``to_dict``,
NDJSON its ``lines``, the other tables its ``records``, and bare numbers its ``bare``.  This module is on the ground floor,
because ``to_dict`` is part of the Python interface and every room above has results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from autodiff_cli.limits import check_printed, places

SCHEMA = 1
"""The version of the JSON objects."""

Record = dict[str, Any]
"""A row of a table, or a part of a JSON object: its values are numbers, texts, lists and dictionaries of these."""
Named = tuple[str, Any]
"""A number or an array, after what messages call it."""


def head(command: str) -> Record:
    """Return the keys that every JSON object begins with."""
    return {"schema": SCHEMA, "command": command}


def plain(value: Any) -> Any:
    """Return arrays and scalars as Python numbers and nested lists, and other values as they are.

    Raises:
        LimitError: for more numbers than an output may have.
    """
    if isinstance(value, np.ndarray):
        check_printed(places(value.shape))
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value


class RightDigits(Protocol):
    """The numbers of a result beside the same ones with more digits; ``precise.right_digits`` computes them."""

    digits: int | None

    def bare(self, kinds: Sequence[str]) -> list[str | None]:
        """Return the numbers of these kinds to ``digits`` digits."""

    def beside(self, records: list[Record]) -> list[Record]:
        """Add the right digits to records."""

    def summary(self) -> str:
        """Return the right digits in one line."""

    def lines(self) -> list[tuple[str, float | None, str | None]]:
        """Return the name, the right digits and the text of each number."""


class CommandResult:
    """The result of a command.

    Attributes:
        command: the name of the command.
        expression: the expression, which the places in ``notes`` refer to.
        notes: facts to know about the result, ``{"kind", "span", "message"}``.
        verified: the right digits, if they were asked for.
        kinds: the numbers that are written bare, as ``verified`` calls them.
    """

    command: str
    expression: str
    verified: RightDigits | None = None
    kinds: tuple[str, ...] = ()

    if TYPE_CHECKING:  # an attribute of some results, worked out by others

        @property
        def notes(self) -> Sequence[Record]: ...

    else:
        notes = ()

    def content(self) -> Record:
        """Return the JSON object without the keys that all have."""
        raise NotImplementedError

    def to_dict(self) -> Record:
        """Return the JSON object; numbers that are not finite are still floats."""
        return {**head(self.command), **self.content()}

    def numbers(self) -> list[Named]:
        """Return every number that must be finite where that is asked for."""
        return []

    def bare(self) -> list[Any]:
        """Return the numbers, or the texts, that are written one a line."""
        if self.kinds and self.verified is not None and self.verified.digits is not None:
            return [text or "nan" for text in self.verified.bare(self.kinds)]
        return [value for _, value in self.numbers()]

    def records(self) -> list[Record]:
        """Return the rows of a table."""
        return self.beside([{"name": name, "value": plain(value)} for name, value in self.numbers()])

    def lines(self) -> list[Record]:
        """Return the lines of NDJSON."""
        return self.records()

    def beside(self, records: list[Record]) -> list[Record]:
        """Return records with their right digits, if those were asked for."""
        return records if self.verified is None else self.verified.beside(records)
