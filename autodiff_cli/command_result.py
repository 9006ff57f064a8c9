"""Results of commands: plain data, from which every output format is made.

The result of a command is a ``CommandResult``.  Its methods return the content of the formats, and ``report`` writes it:
``to_dict`` for JSON, ``lines`` for NDJSON, ``records`` for tabular formats, and ``bare`` for bare numbers.  The output for
people is the text of a result, which Python shells display, and notebooks display it as HTML.  This module is in the lowest
layer, because ``to_dict`` is part of the Python interface and packages of all other layers return results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from autodiff_cli.lazy import deferred
from autodiff_cli.limits import check_printed, places

SCHEMA = 1
"""The schema version of the JSON objects."""

Record = dict[str, Any]
"""A row of a table, or a part of a JSON object: its values are numbers, strings, lists and dictionaries."""
Named = tuple[str, Any]
"""The name of a number or an array in messages, and its value."""


def head(command: str) -> Record:
    """Return the entries at the beginning of every JSON object."""
    return {"schema": SCHEMA, "command": command}


def plain(value: Any) -> Any:
    """Convert arrays and scalars to nested lists and Python numbers; return any other value unchanged.

    An array with more numbers than an output may contain raises ``LimitError``.
    """
    if isinstance(value, np.ndarray):
        check_printed(places(value.shape))
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value


class RightDigits(Protocol):
    """The correct digits of the numbers of a result, computed by ``precise.right_digits``."""

    digits: int | None

    def bare(self, kinds: Sequence[str]) -> list[str | None]:
        """Return the numbers of the given kinds as text with ``digits`` digits; ``None`` for a number that does not exist."""

    def beside(self, records: list[Record]) -> list[Record]:
        """Return records with the correct digits added."""

    def summary(self) -> str:
        """Return a summary of the correct digits in one line."""

    def lines(self) -> list[tuple[str, float | None, str | None]]:
        """Return the name, the number of correct digits and the text of each number; ``None`` where no exact number exists."""


class CommandResult:
    """The result of a command.

    Attributes:
        command: the name of the command.
        expression: the expression, which the spans in ``notes`` refer to.
        notes: the notes on the result, each of which is ``{"kind", "span", "message"}``.
        verified: the correct digits, if they were requested.
        kinds: the kinds of numbers that ``bare`` returns, as named in ``verified``.
        tables: the place ``package.module:name`` of the function ``(result, precision)`` that returns the parts of the output for
            people; its module is imported only for this output, because it belongs to a room above the result.
        latex: the place of the function ``(result, precision)`` that returns the result as LaTeX; by default, its tables.
    """

    command: str
    expression: str
    verified: RightDigits | None = None
    kinds: tuple[str, ...] = ()
    tables: str
    latex = "autodiff_cli.report.latex_tables:page"

    if TYPE_CHECKING:  # some subclasses define an attribute, others define a property

        @property
        def notes(self) -> Sequence[Record]: ...

    else:
        notes = ()

    def content(self) -> Record:
        """Return the JSON object without the keys of ``head``."""
        raise NotImplementedError

    def to_dict(self) -> Record:
        """Return the JSON object, in which infinite and nan values are Python floats."""
        return {**head(self.command), **self.content()}

    def numbers(self) -> list[Named]:
        """Return every number that must be finite under ``--strict``."""
        return []

    def bare(self) -> list[Any]:
        """Return the bare numbers or strings, one per line; with ``verified.digits``, texts of so many digits, or ``nan``."""
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
        """Return records, with their correct digits added if they were requested."""
        return records if self.verified is None else self.verified.beside(records)

    __repr__ = __str__ = deferred("autodiff_cli.report.result_tables:text_with_notes")

    _repr_html_: Callable[[object], str] | None = deferred("autodiff_cli.report.html:result_html")
    """The output in a notebook; ``None`` for results that are displayed as pictures."""
