"""Runs a program on both libraries and finds the first difference, and a short program that has the same one."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tests.behaviour.explore.programs import HELPERS

NAME = re.compile(r"x\d+")
TOLERANCE = 1e-7


@dataclass
class Step:
    """What is seen after one statement.

    Attributes:
        error: its kind and the first line of its message.
        recorded: what hooks and ``R`` recorded.
        tensors: for each tensor its properties.
    """

    error: tuple[str, str] | None
    recorded: list[Any]
    tensors: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """The first difference of a program.

    Attributes:
        line: the index of the statement.
        what: ``error``, ``words``, ``recorded``, or a tensor and its property, such as ``x3.grad``.
        ours: what this package gives.
        theirs: what PyTorch gives.
    """

    line: int
    what: str
    ours: Any
    theirs: Any

    @property
    def kind(self) -> tuple[str, str]:
        """What stays while a program is made shorter."""
        error = (self.ours or self.theirs)[1][:40] if self.what in ("error", "words") else ""
        return self.what.split(".")[-1], error

    def cause(self, lines: list[str]) -> tuple[str, ...]:
        """What differences of one cause share: the statement for values, the words for errors, the names for nodes."""
        what, _ = self.kind
        if what in ("error", "words", "fn"):
            return what, str(self.ours)[:60], str(self.theirs)[:60]
        statement = NAME.sub("x", lines[self.line])
        return what, "leaf" if "torch.tensor([" in statement and "requires_grad_" in statement else statement


def difference(lines: list[str], words: bool = False) -> Difference | None:
    """The first difference between the libraries, with ``words`` also of the messages of errors."""
    import torch

    import autodiff_cli

    for i, (ours, theirs) in enumerate(zip(_run(lines, autodiff_cli), _run(lines, torch), strict=True)):
        if (ours.error is None) != (theirs.error is None) or (words and ours.error != theirs.error):
            what = "words" if ours.error and theirs.error else "error"
            return Difference(i, what, ours.error, theirs.error)
        if not _close(ours.recorded, theirs.recorded):
            return Difference(i, "recorded", ours.recorded, theirs.recorded)
        for name, properties in theirs.tensors.items():
            for key, value in properties.items():
                if not _close(ours.tensors[name][key], value):
                    return Difference(i, f"{name}.{key}", ours.tensors[name][key], value)
    return None


def shortest(lines: list[str], found: Difference, words: bool = False) -> tuple[list[str], Difference]:
    """Leaves out statements for as long as a difference of the same kind stays."""
    lines = lines[: found.line + 1]
    i = 0
    while i < len(lines):
        shorter = lines[:i] + lines[i + 1 :]
        still = difference(shorter, words)
        if still is not None and still.kind == found.kind:
            lines, found = shorter[: still.line + 1], still
        else:
            i += 1
    return lines, found


@cache
def _compiled(text: str) -> Any:
    return compile(text, "<program>", "exec")


def _run(lines: list[str], library: Any) -> list[Step]:
    recorded: list[Any] = []
    names: dict[str, Any] = {"torch": library, "R": lambda *a: recorded.append(_plain(list(a), library))}
    steps = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(_compiled(HELPERS), names)
        for line in lines:
            recorded.clear()
            error = None
            try:
                exec(_compiled(line), names)
            except Exception as raised:
                error = _kind(raised), _first_line(raised)
            tensors = {k: _state(v, library) for k, v in names.items() if NAME.fullmatch(k) and isinstance(v, library.Tensor)}
            steps.append(Step(error, list(recorded), tensors))
            if error is not None and not error[0]:
                break
    return steps


def _kind(error: Exception) -> str:
    """The class of an error that a program may catch by."""
    for kind in (IndexError, TypeError, AttributeError, RuntimeError, ValueError):
        if isinstance(error, kind):
            return kind.__name__
    return type(error).__name__


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0]


def _state(tensor: Any, library: Any) -> dict[str, Any]:
    def seen(get: Any) -> Any:
        try:
            return get()
        except RuntimeError as error:
            return "error: " + _first_line(error)

    return {
        "shape": list(tensor.shape),
        "dtype": str(tensor.dtype),
        "requires_grad": seen(lambda: tensor.requires_grad),
        "is_leaf": seen(lambda: tensor.is_leaf),
        "retains_grad": seen(lambda: tensor.retains_grad),
        "is_inference": seen(tensor.is_inference),
        "fn": seen(lambda: None if tensor.grad_fn is None else type(tensor.grad_fn).__name__),
        "version": seen(lambda: tensor._version),
        "is_view": seen(tensor._is_view),
        "values": seen(lambda: _plain(tensor, library)),
        "grad": seen(lambda: _plain(tensor.grad, library)),
        "grad_fn_of_grad": seen(lambda: tensor.grad is not None and tensor.grad.grad_fn is not None),
    }


def _plain(value: Any, library: Any) -> Any:
    """Tensors as their shape and values."""
    if isinstance(value, (tuple, list)):
        return [_plain(item, library) for item in value]
    if isinstance(value, library.Tensor):
        value = value.detach()
        return ["tensor", list(value.shape), value.reshape(-1).tolist()]
    return value


def _close(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=1e-12)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_close, one, other))
    return bool(one == other)
