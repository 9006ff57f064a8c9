"""Programs for PyTorch as people write them, and what PyTorch prints when it runs them.

A file of ``tests/data/pasted`` is a program, then the comment ``# prints:`` and the lines that it prints, as comments; the last
one may be ``# raises: ...`` with the error that ends it.  ``python -m tests.pasted [NAME]...`` with PyTorch writes these lines.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.printed import equal_but_for_numbers

FOLDER = Path(__file__).parent / "data" / "pasted"
_MARK = "# prints:\n"
_ROUNDED = re.compile(r"-?\d+\.\d{4}")


class Program(NamedTuple):
    """A program with what it prints, and the first line of the error that ends it, or ``None``."""

    name: str
    text: str
    printed: str
    raised: str | None


def programs() -> Iterator[Program]:
    for path in sorted(FOLDER.glob("*.txt")):
        text, _, output = path.read_text(encoding="utf-8").partition(_MARK)
        lines = [line.removeprefix("#").removeprefix(" ") for line in output.splitlines()]
        raised = lines.pop().removeprefix("raises: ") if lines and lines[-1].startswith("raises: ") else None
        yield Program(path.stem, text, "".join(f"{line}\n" for line in lines), raised)


def without_addresses(text: str) -> str:
    """What is printed, with an address for all objects and without spaces at the ends of lines."""
    return re.sub(r"[ \t]+$", "", re.sub(r"\b0x[0-9a-f]+", "0x", text), flags=re.MULTILINE)


def alike(printed: str, recorded: str) -> bool:
    """Return whether two texts differ at most by a unit in the fourth decimal of a number, as float32 does among processors."""
    return equal_but_for_numbers(printed, recorded, _close)


def _close(one: str, other: str) -> bool:
    if not (_ROUNDED.fullmatch(one) and _ROUNDED.fullmatch(other)):
        return one == other
    return abs(float(one) - float(other)) < 1.01e-4


def outcome(text: str) -> tuple[str, str | None]:
    """Run a program in Python with PyTorch; return what it prints, and the first line of the error that ends it."""
    written, raised = io.StringIO(), None
    with contextlib.redirect_stdout(written), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a program goes on after a warning, also where pytest makes errors of them
        try:
            exec(compile(text, "pasted", "exec"), {"__name__": "__main__"})
        except Exception as error:
            kind = type(error)
            place = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
            raised = f"{place}{kind.__name__}: {error}".partition("\n")[0]
    return without_addresses(written.getvalue()), raised


if __name__ == "__main__":
    import torch

    for each in programs():
        if each.name in sys.argv[1:] or not sys.argv[1:]:
            torch.set_default_dtype(torch.float32)
            torch.set_grad_enabled(True)
            printed, raised = outcome(each.text)
            lines = [*printed.splitlines(), *([] if raised is None else [f"raises: {raised}"])]
            shown = "".join(f"# {line}".rstrip() + "\n" for line in lines)
            (FOLDER / f"{each.name}.txt").write_text(each.text + _MARK + shown, encoding="utf-8")
