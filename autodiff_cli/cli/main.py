"""The entry point of the command line, which converts every error to one message and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextvars import copy_context
from functools import partial
from itertools import pairwise

from autodiff_cli import signals
from autodiff_cli.errors import AutodiffError, InternalError, OutOfMemory

INTERRUPTED, _BROKEN_PIPE = 130, 141
"""The exit codes of a command that was interrupted, and of one whose reader is gone: 128 + SIGINT and 128 + SIGPIPE."""
_COMPLETE = "_AUTODIFF_COMPLETE"
"""The environment variable with which a shell requests completion."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; every error is printed as one message."""
    from autodiff_cli.cli.streams import guarded

    args = list(sys.argv[1:] if arguments is None else arguments)
    signals.forget()
    with guarded():
        ended = run(args)
        if signals.received:
            return 128 + signals.received
        return ended if isinstance(ended, int) else _report_error(ended, args)


def debugging() -> bool:
    """Return whether ``AUTODIFF_DEBUG`` enables tracebacks and warnings."""
    return os.environ.get("AUTODIFF_DEBUG", "0") not in ("", "0")


def run(args: list[str]) -> int | AutodiffError:
    """Run a command, and return its exit code or its error without references to the frames of the command."""
    return attempt(partial(_invoke, args), args)


def attempt(action: Callable[[], int | AutodiffError], args: list[str]) -> int | AutodiffError:
    """Run an action, and return what it returns, or the error or the exit code for the exception that it raises.

    The description of an unforeseen exception names the command line ``args``.
    """
    try:
        # A copied context keeps settings such as the limits local to this command, however the command ends.
        return copy_context().run(action)
    except AutodiffError as error:
        return error
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0  # ``None``
    except BrokenPipeError:
        from autodiff_cli.cli.streams import abandon_output

        abandon_output()
        return _BROKEN_PIPE
    except BaseException as error:
        problem = error  # described after this block, where the memory of its frames can be freed
    return _described_error(problem, args)


def _described_error(problem: BaseException, args: list[str]) -> AutodiffError:
    """Return the error for an uncaught exception; if its description fails, the error contains only the name of its class."""
    try:
        if debugging() and not signals.received:
            import traceback

            sys.stderr.write("".join(traceback.format_exception(problem)))
        if isinstance(problem, MemoryError):
            problem.__traceback__ = problem.__context__ = None  # frees the memory of its frames
        from autodiff_cli.cli.unexpected_errors import described

        return described(problem, args)
    except Exception:
        name = type(problem).__name__
        return OutOfMemory("not enough memory") if isinstance(problem, MemoryError) else InternalError(f"internal error: {name}")


def _invoke(args: list[str]) -> int:
    """Answer a request for completion, or run a command and flush its output; return the exit code."""
    if _COMPLETE in os.environ:
        from autodiff_cli.cli.shells import complete

        return complete(_COMPLETE)
    if args[:1] in (["eval"], ["grad"]):  # the other commands need not import the module
        from autodiff_cli.cli.plain_evaluation import plain_evaluation

        evaluate = plain_evaluation(args)
        if evaluate is not None:
            evaluate()
            sys.stdout.flush()
            return 0
    from autodiff_cli.cli.commands import invoke

    return invoke(args)


def _report_error(error: AutodiffError, args: list[str]) -> int:
    """Print an error and return its exit code, even if printing fails."""
    try:
        from autodiff_cli.cli.usage_errors import report

        report(error, _requested_format(args))
    except Exception:  # for example, because memory is exhausted
        sys.stderr.write(f"error: {error.message}\n")
    return int(error.exit_code)


def _requested_format(args: list[str]) -> str:
    """Return the output format that a command line or the environment names, empty for none; the command line may be wrong."""
    if "--json" in args:
        return "json"
    formats = [value for option, value in pairwise(args) if option == "--format"]
    formats += [word.partition("=")[2] for word in args if word.startswith("--format=")]
    return formats[-1] if formats else os.environ.get("AUTODIFF_FORMAT", "")
