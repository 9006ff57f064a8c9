"""Where commands come from: from scratch mostly, from the examples of the documentation, and with files that are broken."""

from __future__ import annotations

from functools import cache
from random import Random

from tests.fuzz import files
from tests.fuzz.command import Command
from tests.fuzz.generate import generate
from tests.fuzz.mutate import mutate


@cache
def _originals() -> dict[str, list[bytes]]:
    return files.originals()


def broken_file(random: Random) -> Command:
    """A command that reads a file that is broken."""
    suffix, content = files.mutated(random, _originals())
    name = f"data.{suffix}"
    return Command(tuple(files.command(random, name, suffix, "out")), files=((name, content),))


SOURCES = ((0.79, generate), (0.17, mutate), (0.04, broken_file))
"""What makes a command of a random generator, with its share."""


def command(random: Random) -> Command:
    """One command from one of the sources."""
    makers = [maker for _, maker in SOURCES]
    return random.choices(makers, [share for share, _ in SOURCES])[0](random)
