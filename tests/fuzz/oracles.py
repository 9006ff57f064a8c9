"""What must hold of every command, whatever it was given."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from autodiff_cli import limits
from tests.fuzz.command import Command
from tests.fuzz.runner import Outcome

CODES = (0, 1, 2, 3, 4, 5)
DEFECTS = (70, 71)
"""Exit codes of what no rule is there for: an exception, and memory that is not enough."""
CHECKS = ("gradcheck", "fit", "root", "minimize", "propagate", "run", "repl")
"""Commands that may answer with exit code 1."""
MOST_GROWTH = limits.MOST_BYTES + (1 << 29)
"""Bytes that a command may take: its tensors, and what is beside them."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")
_PRIVATE = re.compile(r"0x7[0-9a-f]{6,}|<class '|object at 0x|\bTraceback \(most|\b_(data|edge|saved|extra|requires_grad|law)\b")
_NUMPY = re.compile(
    r"encountered in|RuntimeWarning|DeprecationWarning|ufunc '|numpy\.(?!save|load)|operand[s]? could not be broadcast"
)
_BINARY = ("npy", "npz", "parquet", "arrow", "feather", "png", "pdf")


@dataclass(frozen=True)
class Finding:
    """Something that must not be.

    Attributes:
        kind: which oracle, with the class of an error.
        where: file and function of the project, or what else tells two findings apart.
        detail: in words.
    """

    kind: str
    where: str
    detail: str

    @property
    def key(self) -> tuple[str, str]:
        """Equal for findings that have one cause, as far as can be told."""
        return self.kind, self.where


def judge(command: Command, outcome: Outcome) -> list[Finding]:
    """All that is wrong with one run."""
    return list(_judged(command, outcome))


def _judged(command: Command, outcome: Outcome) -> Iterator[Finding]:
    if outcome.grown > MOST_GROWTH:
        yield Finding("memory", f"{command.name} {outcome.where}".strip(), f"{outcome.grown / (1 << 30):.1f} GiB more than before")
    if outcome.late:
        many = command.name in ("plot", "gradcheck", "map")  # slow as a whole, wherever it was stopped
        yield Finding("time", command.name if many else outcome.where, f"stopped after {outcome.seconds:.1f} s")
        return
    if outcome.code in (None, *DEFECTS):
        yield Finding(outcome.error or f"exit code {outcome.code}", outcome.where, f"{outcome.error}: {outcome.message}")
        return
    for category, message, file in outcome.warned:
        yield Finding(f"warning {category}", file, message[:200])
    for error, of in outcome.ignored:
        yield Finding(f"ignored {error}", of, "an exception where an object is freed, perhaps one of a command before")
    for what in outcome.changed:
        yield Finding("state", what, f"{command.name} leaves it changed")
    if outcome.past:
        yield Finding("past the streams", command.name, f"{outcome.past} bytes written to descriptors 1 and 2")
    if outcome.left:
        yield Finding("left behind", command.name, ", ".join(outcome.left))
    yield from _of_code(command, outcome)
    yield from _of_text(command, outcome)


def _of_code(command: Command, outcome: Outcome) -> Iterator[Finding]:
    code, err = outcome.code, outcome.err
    if code not in CODES:
        yield Finding(f"exit code {code}", command.name, err[:200])
    elif code in (2, 3, 5) and "error" not in err:
        yield Finding("no message", command.name, f"exit code {code}, and standard error is {err[:80]!r}")
    elif code == 1 and command.name not in CHECKS:
        yield Finding("exit code 1", command.name, err[:200])
    elif code and command.name not in (*CHECKS, "map") and outcome.stdout and code != 4:
        yield Finding("output beside an error", command.name, outcome.out[:100])
    elif code == 0 and re.search(r"^error:", err, re.MULTILINE) and command.name != "repl":
        yield Finding("an error with exit code 0", command.name, err[:200])


def _of_text(command: Command, outcome: Outcome) -> Iterator[Finding]:
    out, err = outcome.out, outcome.err
    style = format_of(command)
    read = [command.stdin, *(content for _, content in command.files)]
    given = " ".join([*command.args, *(content.decode("utf-8", "replace") for content in read)])
    for match in _PRIVATE.finditer(err + ("" if style in _BINARY else out)):
        if match.group() not in given:
            yield Finding("private name", re.sub("0x.*", "0x...", match.group()), _around(err + out, match))
    for match in _NUMPY.finditer(err):
        if match.group() not in given:
            yield Finding("wording", match.group(), _around(err, match))
    if "always" not in given and style not in _BINARY:
        for name, text in (("standard output", out if style in ("table", "plain", "markdown") else ""), ("standard error", err)):
            found = _CONTROL.search(text)
            if found:
                yield Finding(f"control character in {name}", _sentence(text, found), _around(text, found))
    if outcome.code == 0 and style in ("json", "ndjson") and "-h" not in command.args and "-o" not in command.args:
        yield from _of_json(command, out, style)
    if re.search(r"^(error|note|warning): ", out, re.MULTILINE):
        yield Finding("message on standard output", command.name, out[:200])


def _sentence(text: str, found: re.Match[str]) -> str:
    """The first words of the line that something stands in: they tell messages apart."""
    line = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
    return " ".join(re.findall(r"[a-z]+", line)[:3])


def _of_json(command: Command, out: str, style: str) -> Iterator[Finding]:
    if command.name == "repl":
        style = "ndjson"
    if command.name == "export":  # it has no formats: there --json is an expression
        return
    if command.name == "graph" and any(a.startswith(("-o", "--output", "--format")) for a in command.args):
        return
    texts = out.splitlines() if style == "ndjson" else [out]
    for text in texts:
        try:
            json.loads(text, parse_constant=_refused)
        except ValueError as error:
            if text.strip() or style == "json":
                yield Finding("not JSON", command.name, f"{error}: {text[:100]!r}")
                return


def _refused(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _around(text: str, match: re.Match[str]) -> str:
    return repr(text[max(0, match.start() - 60) : match.end() + 40])


def format_of(command: Command) -> str:
    """The format that a command was asked for; empty for bare numbers and for files."""
    args = command.args
    if any(a in ("-o", "--output") or a.startswith("--output=") for a in args):
        return ""
    found = [b for a, b in pairwise(args) if a == "--format"]
    found += [a.partition("=")[2] for a in args if a.startswith("--format=")]
    if "-q" in args or "--quiet" in args:
        return ""
    if "--json" in args:  # unless it is the value of another option
        alone = (not before.startswith("--") or "=" in before for before, arg in pairwise(["", *args]) if arg == "--json")
        return "json" if any(alone) else ""
    in_rows = command.name == "map" or (command.name == "root" and command.files)
    return found[-1] if found else "csv" if in_rows else "" if command.name == "export" else "table"
