"""Exploring with Atheris, where it is installed (``pip install atheris``): libFuzzer chooses the bytes that choices are made of.

The generator is the same; in the place of a random generator it reads bytes, so that a change of a few bytes changes one choice,
and libFuzzer keeps what reaches a new branch.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.fuzz.command import Command


class Bytes(Random):
    """A random generator that takes its numbers from bytes, and goes on by itself when they are used up."""

    def __new__(cls, _: bytes) -> Bytes:
        return super().__new__(cls, 0)

    def __init__(self, data: bytes) -> None:
        super().__init__(len(data))
        self.data = data
        self.used = 0

    def _take(self, count: int) -> int | None:
        taken = self.data[self.used : self.used + count]
        self.used += count
        return int.from_bytes(taken, "big") if len(taken) == count else None

    def random(self) -> float:
        """A number from two bytes: choices need no more."""
        taken = self._take(2)
        return super().random() if taken is None else taken / 65536

    def getrandbits(self, k: int, /) -> int:
        """``k`` bits."""
        taken = self._take((k + 7) // 8)
        return super().getrandbits(k) if taken is None else taken >> (-k % 8)


def explore(hours: float, folder: Path | None) -> int:
    """Run until the time is over; findings go to the folder, each once."""
    try:
        import atheris
    except ImportError:
        print("atheris is not installed: pip install atheris", file=sys.stderr)
        return 2
    with atheris.instrument_imports(include=["autodiff_cli"]):  # what is imported before this is not looked at
        from tests.fuzz import generate, oracles, report, runner, signatures
        from tests.fuzz.pool import Report, Setting, named

        generate.commands()
        setting = Setting()
        main, make = named(setting.main), named(setting.source)
    signatures.signatures()
    found = report.Findings()
    out = (folder or Path("findings")).resolve()
    out.mkdir(parents=True, exist_ok=True)
    runner.limit_memory(8 << 30)
    inside = Path(tempfile.mkdtemp(prefix="fuzz"))
    os.chdir(inside)
    end = time.monotonic() + hours * 3600

    def one(data: bytes) -> None:
        command: Command = make(Bytes(data))
        outcome = runner.run(main, command, inside, setting.seconds)
        findings = oracles.judge(command, outcome)
        for group in found.add(Report(command, outcome.error or str(outcome.code), findings, outcome.seconds)):
            print(f"{group.finding.kind} {group.finding.where}: {report.write(group, out)}", file=sys.stderr)
        if time.monotonic() > end:
            print(found.summary(), file=sys.stderr)
            os._exit(1 if found.groups else 0)

    options: list[Any] = [sys.argv[0], "-max_len=4096", "-len_control=0", f"-timeout={int(setting.seconds * 4)}", "-rss_limit_mb=0"]
    atheris.Setup(options, one)
    atheris.Fuzz()
    return 0
