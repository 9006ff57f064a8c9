"""Where commands come from: from scratch mostly, and from the examples of the documentation."""

from __future__ import annotations

from random import Random

from tests.fuzz.command import Command
from tests.fuzz.generate import generate
from tests.fuzz.mutate import mutate

SOURCES = ((0.82, generate), (0.18, mutate))
"""What makes a command of a random generator, with its share."""


def command(random: Random) -> Command:
    """One command from one of the sources."""
    makers = [maker for _, maker in SOURCES]
    return random.choices(makers, [share for share, _ in SOURCES])[0](random)
