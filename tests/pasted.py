"""PyTorch's programs as they are pasted: the texts, and what PyTorch prints when it runs them.

A file of ``tests/data/pasted`` is a program, then the comment ``# prints:`` and the lines that it prints, as comments; the last
one may be ``# raises: ...``.  ``python -m tests.pasted`` with PyTorch writes these lines.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent / "data" / "pasted"
_MARK = "# prints:\n"
_MODULES = (
    *("torch", "torch.autograd", "torch.autograd.functional", "torch.autograd.forward_ad", "torch.nn", "torch.nn.functional"),
    *("torch.optim", "torch.utils", "torch.utils.checkpoint", "torch.func"),
)


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


def outcome(text: str, torch: Any) -> tuple[str, str | None]:
    """Run a program in Python with this package as ``torch``; return what it prints, and the error that ends it."""
    before = {name: sys.modules.get(name) for name in _MODULES}
    default = torch.get_default_dtype()
    written = io.StringIO()
    try:
        for name in _MODULES:
            module = torch
            for part in name.split(".")[1:]:
                module = getattr(module, part)
            sys.modules[name] = module
        torch.set_default_dtype(torch.float64)
        with contextlib.redirect_stdout(written):
            exec(compile(text, "pasted", "exec"), {})
    except RuntimeError as error:
        return written.getvalue(), str(error).partition("\n")[0]
    finally:
        torch.set_default_dtype(default)
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
    return written.getvalue(), None


if __name__ == "__main__":
    import torch

    for each in programs():
        printed, raised = outcome(each.text, torch)
        lines = [*printed.splitlines(), *([] if raised is None else [f"raises: {raised}"])]
        shown = "".join(f"# {line}".rstrip() + "\n" for line in lines)
        (FOLDER / f"{each.name}.txt").write_text(each.text + _MARK + shown, encoding="utf-8")
