"""For exploring: commands that reached something new are kept, and changed further."""

from __future__ import annotations

from random import Random

from tests.fuzz.command import Command
from tests.fuzz.mutate import changed, corpus
from tests.fuzz.pool import Report, Task

KEPT = 5000
FROM_CORPUS = 0.5
"""The part of the commands that come from what was kept."""


class Corpus:
    """Commands that reached something new.

    What is tried depends on the order in which processes finish, so two runs differ; each finding is written down with its
    whole command line.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.kept: list[Command] = []
        self.seen: set[int] = set()

    def task(self, index: int) -> Task:
        """What to try next."""
        random = Random(f"{self.seed}:{index}:corpus")
        if not self.kept or random.random() > FROM_CORPUS:
            return self.seed, index
        # The latest ones twice as often: what is behind them has been tried least.
        latest = self.kept[-len(self.kept) // 3 :] if random.random() < 0.5 else self.kept
        return changed(random, random.choice(latest), (*self.kept[-200:], *corpus()[:200]))

    def learn(self, report: Report) -> None:
        """Keep the command of a report if it reached something new."""
        new = report.features - self.seen
        if not new or report.code in ("late", "crash"):
            return
        self.seen |= new
        self.kept.append(report.command)
        if len(self.kept) > KEPT:
            self.kept.pop(0)
