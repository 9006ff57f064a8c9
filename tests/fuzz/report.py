"""What a run of the fuzzer found, said once for each cause."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.fuzz.command import Command
from tests.fuzz.minimise import minimise
from tests.fuzz.oracles import Finding
from tests.fuzz.pool import Report, Setting, Worker

SLOW = ("time", "crash", "memory")
"""Kinds of findings of which each try takes as long as the limit, which is lowered for that."""

KEPT = 5


@dataclass
class Group:
    """Findings of one cause.

    Attributes:
        finding: one of them.
        command: the shortest command that has it.
        commands: some that have it, should the shortest need others before it.
        count: how many there were.
        alone: whether a fresh process has it too.
    """

    finding: Finding
    command: Command
    commands: list[Command] = field(default_factory=list)
    count: int = 0
    alone: bool = True


@dataclass
class Findings:
    """Everything found, and the tables of a run."""

    groups: dict[tuple[str, str], Group] = field(default_factory=dict)
    codes: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)

    def add(self, report: Report) -> list[Group]:
        """Count a report; the groups that are new."""
        name = report.command.name
        self.codes[name, str(report.code)] += 1
        self.seconds[name] += report.seconds  # type: ignore[assignment]
        new = []
        for finding in report.findings:
            group = self.groups.get(finding.key)
            if group is None:
                group = self.groups[finding.key] = Group(finding, report.command)
                new.append(group)
            group.count += 1
            group.commands = sorted([*group.commands, report.command], key=lambda command: len(command.shell()))[:KEPT]
            if len(report.command.shell()) < len(group.command.shell()):
                group.command, group.finding = report.command, finding
        return new

    def summary(self) -> str:
        """How many commands ended how, and the time that they took."""
        names = sorted({name for name, _ in self.codes})
        codes = sorted({code for _, code in self.codes}, key=lambda code: (not code.isdigit(), code))
        total: Counter[str] = Counter()
        rows = [["command", "count", *codes, "ms each"]]
        for name in names:
            of_name = [self.codes[name, code] for code in codes]
            total.update(dict(zip(codes, of_name, strict=True)))
            shown = [str(n) if n else "" for n in of_name]
            rows.append([name or "(none)", str(sum(of_name)), *shown, f"{1000 * self.seconds[name] / sum(of_name):.1f}"])
        every = total.total() or 1
        rows.append(["all", str(total.total()), *(f"{100 * total[code] / every:.1f}%" for code in codes), ""])
        rows[1:] = [row for row in rows[1:] if len(row[0]) <= 12]  # mutated names of commands are many
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def reduce(group: Group, setting: Setting, seconds: float) -> None:
    """Make the command of a group short in so many seconds, and find out whether it needs others before it."""
    if group.finding.kind in SLOW:
        setting = replace(setting, seconds=setting.seconds / 4)
    worker = Worker(setting)
    try:
        _reduced(group, worker, seconds)
    finally:
        worker.close()


def _reduced(group: Group, worker: Worker, seconds: float) -> None:
    def same(finding: Finding) -> bool:
        if group.finding.kind in SLOW:  # where it is stopped is an accident
            return finding.kind == group.finding.kind
        return finding.key == group.finding.key

    def still(command: Command) -> bool:
        return any(map(same, _run(worker, command).findings))

    group.command = next(filter(still, group.commands), group.command)
    group.alone = still(group.command)
    if group.alone:
        group.command = minimise(group.command, still, seconds)
        if group.finding.kind not in SLOW:
            group.finding = next(filter(same, _run(worker, group.command).findings), group.finding)


def _run(worker: Worker, command: Command) -> Report:
    worker.give(command)
    while True:
        worker.connection.poll(0.5)
        report = worker.result()
        if report is not None:
            return report


def told(group: Group) -> str:
    """A finding as a paragraph that ends with lines for a shell."""
    kind, where = group.finding.key
    alone = "" if group.alone else "  (not in a fresh process: it needs commands before it)"
    text = f"{kind}  {where}  x{group.count}{alone}\n  {group.finding.detail}\n"
    return text + "".join(f"    {line}\n" for line in group.command.shell().splitlines())


def write(group: Group, folder: Path) -> Path:
    """Write a finding to a file of its own."""
    kind, where = group.finding.key
    name = "".join(c if c.isalnum() else "-" for c in f"{kind} {where}")[:80]
    path = folder / f"{name}.txt"
    path.write_text(told(group), encoding="utf-8", errors="backslashreplace")
    return path
