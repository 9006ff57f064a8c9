"""Processes that run commands: each has a folder, limits, and may crash or hang without taking others down."""

from __future__ import annotations

import faulthandler
import importlib
import multiprocessing
import os
import re
import resource
import signal
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from random import Random
from typing import Any

from autodiff_cli import notes
from tests.fuzz import coverage, oracles, relations, runner
from tests.fuzz.command import Command
from tests.fuzz.oracles import Finding

MEMORY = 6 << 30
LAST_WORDS = "last_words"
PATIENCE = 10.0
"""So many times the limit of a command may pass on the wall until its process is ended."""
RENEWED = 2000
"""After so many commands a process is replaced."""


Task = Command | tuple[int, int]
"""What a process is given: a command, or the seed and the number of one that it makes itself."""


@dataclass
class Report:
    """What became of one command.

    Attributes:
        command: the command.
        code: its exit code; ``crash`` or ``late``, or the name of an exception.
        findings: what is wrong with it.
        seconds: how long it took.
        stderr: the beginning of what it wrote there.
        features: what of the program it reached, where that is recorded.
    """

    command: Command
    code: int | str
    findings: list[Finding] = field(default_factory=list)
    seconds: float = 0.0
    stderr: str = ""
    features: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Setting:
    """What every process of a pool is told.

    Attributes:
        source: name of a function of one random generator that gives a command, as ``module:name``.
        main: the function to be tested, as ``module:name``.
        seconds: the limit of a command.
        patience: how many times that long a process may be silent, by the clock on the wall, before it is ended.
        memory: the limit of addresses of a process.
        covering: whether what a command reached is recorded.
    """

    source: str = "tests.fuzz.mix:command"
    main: str = "autodiff_cli.cli.main:main"
    seconds: float = runner.SECONDS
    patience: float = PATIENCE
    memory: int = MEMORY
    covering: bool = False


def named(path: str) -> Any:
    """The object that ``module:name`` names."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def command_of(setting: Setting, seed: int, index: int) -> Command:
    """Command number ``index``: it depends on the seed and its number, and on nothing else."""
    made: Command = named(setting.source)(Random(f"{seed}:{index}"))
    return made


def _work(connection: Connection, setting: Setting, folder: Path) -> None:
    """What a process does: commands come in, reports go out; where it is when it dies goes into ``last_words``."""
    last_words = open(folder / LAST_WORDS, "wb")  # noqa: SIM115  until the process ends
    home, inside = folder / "home", folder / "work"
    inside.mkdir()
    os.chdir(inside)
    os.environ.update(OPENBLAS_NUM_THREADS="1", MPLBACKEND="Agg", COLUMNS="120")
    os.environ.update(dict.fromkeys(("HOME", "XDG_STATE_HOME", "MPLCONFIGDIR"), str(home)))
    os.environ.pop("AUTODIFF_FORMAT", None)
    runner.limit_memory(setting.memory)
    notes.STRICT = True  # a mistake in a note is an error here, where users lose the note only
    faulthandler.register(signal.SIGXCPU, last_words, all_threads=False, chain=True)
    main = named(setting.main)
    past = os.open(folder / "past", os.O_RDWR | os.O_CREAT)  # what is written past sys.stdout and sys.stderr
    for descriptor, file in enumerate((os.open(os.devnull, os.O_RDONLY), past, past)):
        os.dup2(file, descriptor)
    while True:
        task = connection.recv()
        command = task if isinstance(task, Command) else command_of(setting, *task)
        connection.send(_report(main, command, inside, setting))


def _report(main: runner.Main, command: Command, folder: Path, setting: Setting) -> Report:
    # The clock of the runner cannot interrupt NumPy: this ends the process.
    spent = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    resource.setrlimit(resource.RLIMIT_CPU, (int(spent + 1.5 * setting.seconds) + 1, resource.RLIM_INFINITY))
    features: set[int] = set()
    if setting.covering:
        main = coverage.covering(main, features)
    outcome = runner.run(main, command, folder, setting.seconds)
    findings = oracles.judge(command, outcome)
    if command.relation and outcome.code == 0:
        findings += relations.check(lambda args: _answer(main, args, folder, setting), command)
    code: int | str = "late" if outcome.late else outcome.error if outcome.code is None else outcome.code
    return Report(command, code, findings, outcome.seconds, outcome.err[:500], frozenset(features))


def _answer(main: runner.Main, args: Sequence[str], folder: Path, setting: Setting) -> str | None:
    """Standard output of a further command, if it succeeds."""
    outcome = runner.run(main, Command(tuple(args)), folder, setting.seconds)
    return outcome.out if outcome.code == 0 else None


class Worker:
    """One process, replaced when it ends."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        # A process that has threads, as that of a test may, must not be forked: a lock that one of them holds stays locked.
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload([setting.main.partition(":")[0], setting.source.partition(":")[0], __name__])
        self.busy: Task | None = None
        self.begun = 0.0
        self.served = 0
        self._start()

    def _start(self) -> None:
        self.connection, other = self.context.Pipe()
        self.folder = tempfile.TemporaryDirectory(prefix="fuzz", ignore_cleanup_errors=True)
        given = (other, self.setting, Path(self.folder.name))
        self.process = self.context.Process(target=_work, args=given, daemon=True)
        self.process.start()
        other.close()
        self.served = 0

    def give(self, task: Task) -> None:
        """Let it run a command."""
        if self.served >= RENEWED or not self.process.is_alive():
            self.renew()
        self.busy, self.begun = task, time.monotonic()
        self.served += 1
        self.connection.send(task)

    def result(self) -> Report | None:
        """The report, if there is one by now: also of a process that crashed, or that had to be ended."""
        assert self.busy is not None
        report = None
        if self.connection.poll():
            try:
                report = self.connection.recv()
            except (EOFError, OSError):
                self.process.join(5)
                report = self._ended(f"exit {self.process.exitcode}")
        elif time.monotonic() - self.begun > self.setting.seconds * self.setting.patience and self.process.pid is not None:
            os.kill(self.process.pid, signal.SIGXCPU)  # it says where it is
            self.process.join(5)
            report = self._ended("hangs")
        if report is not None:
            self.busy = None
            if any(f.kind in ("memory", "time", "MemoryError") for f in report.findings):
                self.renew()
        return report

    def _ended(self, how: str) -> Report:
        assert self.busy is not None
        command = self.busy if isinstance(self.busy, Command) else command_of(self.setting, *self.busy)
        said = Path(self.folder.name, LAST_WORDS)
        last_words = said.read_text("utf-8", "replace") if said.exists() else ""
        frames = re.findall(rf'File ".*/{runner.PACKAGE}/(.*)", line \d+ in (.*)', last_words)
        self.renew()
        where = ":".join(frames[0]) if frames else command.name
        return Report(command, "crash", [Finding("crash", where, f"the process ends or hangs: {how}")])

    def renew(self) -> None:
        """A new process in the place of the old one."""
        self.close()
        self._start()

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.connection.close()
        self.folder.cleanup()


def run_all(setting: Setting, tasks: Iterable[Task], workers: int) -> Iterator[tuple[Task, Report]]:
    """Reports of all commands, in the order in which they end."""
    todo = iter(tasks)
    pool = [Worker(setting) for _ in range(workers)]
    try:
        idle = list(pool)
        while True:
            while idle and (task := next(todo, None)) is not None:
                idle.pop().give(task)
            working = [worker for worker in pool if worker.busy is not None]
            if not working:
                return
            wait([worker.connection for worker in working], 1.0)
            for worker in working:
                task = worker.busy
                report = worker.result()
                if report is not None and task is not None:
                    idle.append(worker)
                    yield task, report
    finally:
        for worker in pool:
            worker.close()


def run_one(setting: Setting, command: Command) -> Report:
    """The report of one command in a process of its own."""
    return next(run_all(setting, [command], 1))[1]
