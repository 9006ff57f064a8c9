"""The exceptions of the project, each with a message, a place in the source and a hint.

An exception is plain data: ``report.diagnostics`` formats it, and its class attribute ``exit_code`` is the exit status of the
process.  Exceptions of the autograd engine are also instances of ``RuntimeError``, and shape errors are also instances of
``ValueError``, so that code written for PyTorch or NumPy catches them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Span = tuple[int, int]
FOREIGN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""The exceptions that Python and NumPy raise for unsuitable values.

If the values come from a user, an ``ArgumentError`` replaces these exceptions; it states the given and the expected values.
"""
_SETTING = "\x02([a-z_]+) ?([^\x03]*)\x03"  # between control characters, which no other part of a message contains
_FUNCTIONS = {"no_limits": "autodiff_cli.unlimited()", "no_keep": "keep=False"}
"""Settings whose spelling in Python is not ``name=value``."""


def setting(name: str, value: str = "") -> str:
    """Mark a setting in a message: ``at=...`` in Python becomes ``--at ...`` on the command line.

    ``name`` is the keyword argument, and ``value`` that of the setting as on the command line, such as ``x=1``.  The mark is a pair
    of control characters, which ``AutodiffError`` replaces.
    """
    return f"\x02{name} {value}\x03" if value else f"\x02{name}\x03"


def _in_python(name: str, value: str) -> str:
    """Spell a setting as in Python: ``name=value``, or as in ``_FUNCTIONS``.  For the value ``x=1``, it is ``at={'x': 1}``."""
    pairs = [piece.partition("=") for piece in value.split(",")]
    has_names = all(equals and key.isidentifier() for key, equals, _ in pairs)
    if has_names:
        return f"{name}={{{', '.join(f'{key!r}: {item}' for key, _, item in pairs)}}}"
    return _FUNCTIONS.get(name) or (f"{name}={value}" if value else name)


def type_name(value: object) -> str:
    """Return the name of the Python type of a value, for a message."""
    return "None" if value is None else type(value).__name__


class AutodiffError(Exception):
    """The base class of the exceptions of the project.

    Attributes:
        message: a description of the error in one sentence.
        span: the half-open range of characters in ``source``; ``None`` if the place is unknown.
        hint: an instruction that resolves the error; settings in it are marked, see ``setting``.
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
        """The message, with its settings spelled as in Python."""
        return re.sub(_SETTING, lambda match: _in_python(match[1], match[2]), self._message)

    @property
    def hint(self) -> str | None:
        """The hint, with its settings spelled as in Python; ``None`` without a hint."""
        return self._hint and re.sub(_SETTING, lambda match: _in_python(match[1], match[2]), self._hint)

    @hint.setter
    def hint(self, hint: str | None) -> None:
        self._hint = hint

    def about(self, subject: str) -> None:
        """Prefix the message with its subject: ``subject: message``."""
        self._message = f"{subject}: {self._message}"

    def besides(self, fact: str) -> None:
        """Add a fact to the message: ``message; fact``."""
        self._message = f"{self._message}; {fact}"

    def arguments(self) -> dict[str, Any]:
        """Return the constructor arguments of an equal exception, in which settings are still marked."""
        return {"message": self._message, "span": self.span, "hint": self._hint, "source": self.source}

    def translate(self, spell: Callable[[str, str], str]) -> None:
        """Replace marked settings with the text in an interface other than Python that ``spell`` returns for name and value."""
        self._message = re.sub(_SETTING, lambda match: spell(match[1], match[2]), self._message)
        self._hint = self._hint and re.sub(_SETTING, lambda match: spell(match[1], match[2]), self._hint)

    @property
    def line(self) -> int | None:
        """The line number of the place in the source; the first line is 1, and ``None`` is an unknown place."""
        return None if self.source is None or self.span is None else self.source.count("\n", 0, self.span[0]) + 1

    @property
    def kind(self) -> str:
        """The name of the exception class in machine-readable output."""
        return type(self).__name__

    def at(self, span: Span, source: str) -> AutodiffError:
        """Set the place of the error unless it is already set, and return the error itself, for ``raise error.at(...)``."""
        if self.source is None:
            self.span, self.source = self.span or span, source
        return self

    def __str__(self) -> str:
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message


class UsageError(AutodiffError, ValueError):
    """An invalid option or value."""

    exit_code = 2


class ParseError(UsageError):
    """A syntax error."""


class UnknownName(UsageError):
    """A function, keyword, attribute or variable that does not exist."""


class MissingValue(UsageError):
    """Variables without a value.

    Attributes:
        names: the variables, if the error is about those of an expression.
    """

    names: tuple[str, ...] = ()


class ArgumentError(UsageError, TypeError):
    """A function call with the wrong number or the wrong kind of arguments."""


class UnknownChoice(ArgumentError, AssertionError):
    """A setting whose value is not one of its choices, where PyTorch asserts that it is."""


class GraphError(AutodiffError, RuntimeError):
    """A failure of autograd: the graph was freed or does not exist, or a saved tensor was changed."""


class CheckpointError(GraphError):
    """A checkpointed function whose recomputation differs from its first computation."""


class NoSeriesError(GraphError):
    """A power series as the argument of an operation that does not have a rule for power series."""


class NotRecordable(GraphError):
    """An expression that cannot be recorded as a single list of instructions for all rows."""


class NotPrecise(GraphError):
    """A function that cannot be computed to more digits than a float64 has."""

    def __init__(self, function: str) -> None:
        super().__init__(
            f"not possible, because {function} cannot be computed to more digits than a float64 has",
            hint=f"leave out {setting('verify')} and {setting('digits')}, or check the derivative in float64 with gradcheck",
        )


class InvalidCheck(GraphError, AssertionError):
    """A check of a gradient that cannot be carried out."""


class VmapError(GraphError):
    """An operation inside ``vmap`` that needs the value of a tensor, or whose result has another shape for each example."""


class ValuesNeeded(VmapError):
    """An operation inside ``vmap`` that reads the values of a tensor, which differ by example."""


class ShapeError(AutodiffError, RuntimeError, ValueError):
    """Shapes that do not match."""


class LinAlgError(AutodiffError, RuntimeError, ValueError):
    """A matrix that a decomposition does not support: it is singular, not positive definite or not finite."""


class DtypeError(AutodiffError, RuntimeError, TypeError):
    """A data type that an operation does not support."""


class IndexOutOfRange(AutodiffError, IndexError):
    """An index or a dimension that is out of range for a tensor."""


class LimitError(AutodiffError, RuntimeError):
    """An exceeded safety limit."""


class GradcheckError(AutodiffError, RuntimeError):
    """A difference between the analytic and the numeric gradient."""

    exit_code = 1


class NotSolved(AutodiffError, RuntimeError):
    """A fit, a root or a minimum that is not verified, or a start or an estimate at which a number is not finite."""

    exit_code = 1


class NoValue(NotSolved):
    """An equation, a minimum or an integral inside an expression that does not define a value."""

    exit_code = 3


class NotFiniteError(AutodiffError, ArithmeticError):
    """A value or a derivative that is nan or infinite while ``--strict`` is set."""

    exit_code = 4


class FileError(AutodiffError, OSError):
    """A file that cannot be read or written."""

    exit_code = 5


class DataError(FileError, ValueError):
    """A file with invalid content, such as a cell that is not a number, or a short row."""


class ClusterError(AutodiffError, RuntimeError):
    """A cluster worker that is unreachable or runs another version."""

    exit_code = 5


class MissingPackage(AutodiffError, ImportError):
    """An optional package that is not installed."""


class ProgramError(AutodiffError, RuntimeError):
    """A failure of another program, such as Graphviz."""


class InternalError(AutodiffError, RuntimeError):
    """A defect in autodiff: an unexpected exception."""

    exit_code = 70


class OutOfMemory(AutodiffError, MemoryError):
    """A memory allocation that failed, because the machine has too little memory or the shell sets a limit."""

    exit_code = 71
