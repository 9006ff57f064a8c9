"""A log of the operations of both calls of a checkpointed function, for an error about their difference."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from os.path import dirname

from autodiff_cli.autograd.hooks import node_observers
from autodiff_cli.autograd.node import Node
from autodiff_cli.errors import CheckpointError

_PACKAGE = dirname(dirname(__file__))


class OperatorLogs:
    """The recorded operations of the first and of the second call, each with the line that called it."""

    def __init__(self) -> None:
        self._first: list[str] = []
        self._second: list[str] = []

    def contexts(self) -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
        """Return two contexts that log the operations in them: for the first call and for the second call."""
        return _logging(self._first), _logging(self._second)

    def explain(self, error: CheckpointError) -> None:
        """Raise an error that lists the operations of both calls.

        Raises:
            CheckpointError: always.
        """
        raise CheckpointError(
            "An error happened while unpacking tensors; dumping logs of latest computation because you passed `debug=True` to "
            "`torch.utils.checkpoint.checkpoint()`.\n\n"
            "Operations executed during the original forward:\n\n"
            f"{_numbered(self._first)}\n\n"
            "Operations executed during recomputation:\n\n"
            f"{_numbered(self._second)}\n\n"
            "ERROR: Detected non-determinism while running activation checkpointing\n\n"
            "You are seeing this error because you passed `debug=True` to checkpoint and tensors to be saved during the original "
            "forward and differ between those saved during recomputation.",
            hint="compare both lists: the function must run the same operations when it is called again",
        ) from error


def _numbered(lines: list[str]) -> str:
    return "\n".join(f"{i:4d}  {line}" for i, line in enumerate(lines, 1)) or "      (none that is differentiated)"


@contextmanager
def _logging(log: list[str]) -> Iterator[None]:
    thread = threading.get_ident()
    log.clear()

    def observe(node: Node) -> None:
        if threading.get_ident() == thread:
            caller = next((f for f in reversed(traceback.extract_stack()) if not f.filename.startswith(_PACKAGE)), None)
            name = type(node).__name__
            log.append(name if caller is None else f"{name}  {caller.filename}:{caller.lineno} in {caller.name}")

    node_observers.insert(0, observe)  # before the hooks, which may end the second call
    try:
        yield
    finally:
        node_observers.remove(observe)
