"""Every error of the project: a message, the place in the source, and a way out.

An error is data.  ``report.diagnostics`` draws it, and ``exit_code`` below is the only place that says what a kind of
error means to a shell.  Errors of the engine are also ``RuntimeError`` and errors of shape also ``ValueError``, so that
code written for PyTorch or NumPy catches them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Span = tuple[int, int]
FOREIGN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What Python and NumPy raise over values that they cannot work on.

Where an operation is applied to values of a user these become an ``ArgumentError``, with what it was given and what it takes.
"""


_SETTING = re.compile("\x02([a-z_]+) ?([^\x03]*)\x03")
_FUNCTIONS = {"no_limits": "autodiff_cli.unlimited()", "no_keep": "keep=False", "in_place": "in_place=True"}
"""Settings that are spelled in another way in Python."""


def setting(name: str, value: str = "") -> str:
    """Mark a setting in a message: ``at=...`` in Python becomes ``--at ...`` on the command line.

    Args:
        name: the keyword argument, such as ``no_limits``.
        value: what to set it to, as the command line writes it: ``x=1``.
    """
    return f"\x02{name} {value}\x03" if value else f"\x02{name}\x03"


def _in_python(name: str, value: str) -> str:
    pairs = [piece.partition("=") for piece in value.split(",")]
    if all(equals and key.isidentifier() for key, equals, _ in pairs):
        return f"{name}={{{', '.join(f'{key!r}: {given}' for key, _, given in pairs)}}}"
    return _FUNCTIONS.get(name) or (f"{name}={value}" if value else name)


def type_name(value: object) -> str:
    """What a value is in a message, as Python calls it."""
    return "None" if value is None else type(value).__name__


class AutodiffError(Exception):
    """Base class.

    Attributes:
        message: what is wrong, in one sentence.
        span: half-open range of characters in ``source``, where the place is known.
        hint: what to do about it; settings that it names are marked, see ``setting``.
        source: the text that ``span`` points into.
        path: the file that ``source`` was read from.
    """

    exit_code = 3

    def __init__(self, message: str, *, span: Span | None = None, hint: str | None = None, source: str | None = None) -> None:
        super().__init__(message)
        self._message = message
        self._hint = hint
        self.span = span
        self.source = source
        self.path: str | None = None

    @property
    def message(self) -> str:
        return _SETTING.sub(lambda found: _in_python(found[1], found[2]), self._message)

    @property
    def hint(self) -> str | None:
        return self._hint and _SETTING.sub(lambda found: _in_python(found[1], found[2]), self._hint)

    @hint.setter
    def hint(self, hint: str | None) -> None:
        self._hint = hint

    def about(self, subject: str) -> None:
        """Begin the message with what it is about: ``subject: message``."""
        self._message = f"{subject}: {self._message}"

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that make this error again, with settings still marked."""
        return {"message": self._message, "span": self.span, "hint": self._hint, "source": self.source}

    def translate(self, spell: Callable[[str, str], str]) -> None:
        """Spell settings in another way than Python's.

        Args:
            spell: the text for a setting's name and value; see ``setting``.
        """
        self._message = _SETTING.sub(lambda found: spell(found[1], found[2]), self._message)
        self._hint = self._hint and _SETTING.sub(lambda found: spell(found[1], found[2]), self._hint)

    @property
    def line(self) -> int | None:
        """The line of the source that the place is on, the first being 1."""
        return None if self.source is None or self.span is None else self.source.count("\n", 0, self.span[0]) + 1

    @property
    def kind(self) -> str:
        """The name that machine-readable output gives to this class of error."""
        return type(self).__name__

    def at(self, span: Span, source: str) -> AutodiffError:
        """Say where the error is, unless something closer to it already did."""
        if self.source is None:
            self.span, self.source = self.span or span, source
        return self

    def __str__(self) -> str:
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message


class UsageError(AutodiffError, ValueError):
    """Invalid option or value."""

    exit_code = 2


class ParseError(UsageError):
    """Syntax error."""


class UnknownName(UsageError):
    """A function, keyword, attribute or variable that does not exist."""


class MissingValue(UsageError):
    """Variables without a value."""


class ArgumentError(UsageError, TypeError):
    """A function called with the wrong number or the wrong kind of arguments."""


class GraphError(AutodiffError, RuntimeError):
    """Autograd cannot run: the graph is freed or missing, or a saved tensor was changed."""


class NoSeriesError(GraphError):
    """An operation that has no rule for power series, with one as its argument."""


class NotRecordable(GraphError):
    """An expression that cannot be written down as one list of operations for all rows."""


class NotPrecise(GraphError):
    """A function that cannot be computed to more digits than a float64 has.

    Attributes:
        what: its name.
    """

    def __init__(self, what: str) -> None:
        super().__init__(
            f"not possible, because {what} cannot be computed to more digits than a float64 has",
            hint=f"leave out {setting('verify')} and {setting('digits')}; gradcheck compares with differences in float64 here",
        )
        self.what = what


class ShapeError(AutodiffError, RuntimeError, ValueError):
    """Shapes that do not fit."""


class LinAlgError(AutodiffError, RuntimeError, ValueError):
    """A matrix that is singular, not positive definite or not finite, where a factorization needs one that is not."""


class DtypeError(AutodiffError, RuntimeError, TypeError):
    """A data type that cannot be used here."""


class IndexOutOfRange(AutodiffError, IndexError):
    """An index or a dimension that a tensor does not have."""


class LimitError(AutodiffError, RuntimeError):
    """A safety limit was exceeded."""


class GradcheckError(AutodiffError, RuntimeError):
    """The analytic gradient is not the numeric one."""

    exit_code = 1


class NotFiniteError(AutodiffError, ArithmeticError):
    """``--strict``, and a value or a derivative is nan or infinite."""

    exit_code = 4


class FileError(AutodiffError, OSError):
    """A file cannot be read or written."""

    exit_code = 5


class DataError(FileError, ValueError):
    """A file has invalid content: a cell that is not a number, or a short row."""


class ClusterError(AutodiffError, RuntimeError):
    """A cluster worker is unreachable or runs another version."""

    exit_code = 5


class MissingPackage(AutodiffError, ImportError):
    """An optional package is not installed."""


class ProgramError(AutodiffError, RuntimeError):
    """Another program, such as Graphviz, failed."""


class InternalError(AutodiffError, RuntimeError):
    """A defect of autodiff: an unexpected exception."""

    exit_code = 70


class OutOfMemory(AutodiffError, MemoryError):
    """Not enough memory, on the machine or under a limit that the shell sets."""

    exit_code = 71
