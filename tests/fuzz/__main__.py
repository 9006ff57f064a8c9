"""``python -m tests.fuzz``: see CONTRIBUTING.md, "Fuzzing"."""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fuzz.pool import Setting, Task
    from tests.fuzz.report import Findings, Group

REDUCING = 120.0
"""Seconds for making the command lines of all findings short."""


def main(arguments: list[str] | None = None) -> int:
    """Run the fuzzer; 1 if it found something."""
    options = _parser().parse_args(arguments)
    if options.engine == "atheris":
        from tests.fuzz import guided

        return guided.explore(options.hours or 1, options.out)
    # Atheris must be there before the project is imported.
    from tests.fuzz import pool, report, signatures
    from tests.fuzz.pool import Setting

    if options.show:
        for index in range(options.start, options.start + options.show):
            print(pool.command_of(Setting(), options.seed, index).shell())
        return 0
    setting = Setting(seconds=options.seconds, covering=options.hours is not None)
    signatures.signatures()  # once, before there are processes that need them
    begun = time.monotonic()
    found = _run(setting, options, begun)
    for group in sorted(found.groups.values(), key=lambda g: (-g.count, g.finding.key)):
        print(report.told(group))
    print(found.summary())
    spent = time.monotonic() - begun
    count = sum(found.codes.values())
    print(f"{count} commands in {spent:.0f} s, {count / spent:.0f} a second; {len(found.groups)} findings; seed {options.seed}")
    return 1 if found.groups else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Run command lines made at random.")
    parser.add_argument("--count", type=int, default=20_000, help="how many commands")
    parser.add_argument("--hours", type=float, help="explore for so long instead, and mutate what reached something new")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the number of the first command")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="processes")
    parser.add_argument("--seconds", type=float, default=10.0, help="the limit of one command")
    parser.add_argument("--out", type=Path, help="a folder with a file for each finding")
    parser.add_argument("--engine", choices=["own", "atheris"], default="own")
    parser.add_argument("--show", type=int, metavar="N", help="print N commands and run none")
    return parser


def _run(setting: Setting, options: argparse.Namespace, begun: float) -> Findings:
    from tests.fuzz import pool, report
    from tests.fuzz.corpus import Corpus

    found = report.Findings()
    new: list[Group] = []
    corpus = None if options.hours is None else Corpus(options.seed)
    tasks: Iterator[Task]
    if corpus is None:
        tasks = ((options.seed, i) for i in range(options.start, options.start + options.count))
    else:
        endless = map(corpus.task, itertools.count(options.start))
        tasks = itertools.takewhile(lambda _: time.monotonic() - begun < options.hours * 3600, endless)
    try:
        for task, ran in pool.run_all(setting, tasks, options.jobs):
            if corpus is not None:
                corpus.learn(ran)
            for group in found.add(ran):
                new.append(group)
                number = task[1] if isinstance(task, tuple) else "kept"
                print(f"[{number}] {' '.join(group.finding.key)}", file=sys.stderr, flush=True)
            if options.hours is not None and new and options.out:
                _reduced(setting, [new.pop()], options.out, REDUCING)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    _reduced(setting, list(found.groups.values()) if options.hours is None else new, options.out, REDUCING)
    return found


def _reduced(setting: Setting, groups: list[Group], folder: Path | None, seconds: float) -> None:
    """Make the commands of these findings short, all in so many seconds, and write them down."""
    from tests.fuzz import report

    end = time.monotonic() + seconds
    if not groups:
        return
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    for left, group in zip(range(len(groups), 0, -1), groups, strict=True):
        report.reduce(group, setting, max(1.0, (end - time.monotonic()) / left))
        if folder is not None:
            report.write(group, folder)


if __name__ == "__main__":
    sys.exit(main())
