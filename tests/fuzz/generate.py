"""Command lines from scratch: every command, each of its options, an expression that fits them.

The options are those that click knows, so a new one is tried without a change here: by the kind of its value, or by what its
metavar says.  Most commands are meant to work; the rest have parts of a wrong kind, see ``NOISY``.
"""

from __future__ import annotations

import re
from functools import cache
from random import Random
from typing import Any

import click

from autodiff_cli.cli.commands import COMMANDS, cli
from tests.fuzz import datafiles, relations, values
from tests.fuzz.command import Command
from tests.fuzz.expressions import Writer
from tests.fuzz.programs import Program
from tests.fuzz.signatures import Shape

NOISY = 0.2
"""The part of the commands that have something wrong in them."""
ODD = 0.05
"""The part of the commands in which the options, several at once, have values at the edge of what they take, see ``ODDITIES``."""
ODDITIES = (
    "",
    " ",
    "0",
    "-1",
    "-0",
    "nan",
    "inf",
    "-inf",
    "1e-300",
    "1e300",
    "0.5",
    "10**9",
    "99999999999999999999",
    ",",
    "=",
    ":",
    "x=",
    "é",
    "\n",
)
COMPARED = 0.05
"""The part of the commands that are asked twice, see ``relations``: each costs several."""
WEIGHTS = {"eval": 3, "grad": 3, "map": 2, "run": 4, "repl": 1.5, "diff": 2, "functions": 0.2, "plot": 0.5, "explain": 1.5}
"""How often each command comes, 1 for those not named: cheap ones and rich ones more, pictures less."""
RARE = {
    "--simplify": (0.01, "SymPy takes 0.2 s and more"),
    "--no-limits": (0.02, "it allows what the oracles for time and memory forbid"),
    "--threads": (0.1, "threads cost more than the rows of a small file"),
}
"""Options that come less often, and why."""
LEFT_OUT = {
    "--engine": "dask starts processes and sockets",
    "--partition-bytes": "it is for a cluster or a folder",
    "--resume": "it is for a folder that an interrupted run left",
    "--help": "it is the same each time; tests/test_help.py looks at it",
    "--python": "Python reports its errors with a traceback",
}
"""Options that are not tried, and why."""
RANGES = ("0:1", "-1:1", "-pi:pi", "0.5:2", "-1e3:1e3", "0:0", "1:0", "0:1:7")
OFTEN = {
    **{"--to": 0.99, "--over": 0.99, "--vector": 0.99, "--wrt": 0.2, "--json": 0.15, "--quiet": 0.15, "-o": 0.15},
    **{"--columns": 0.01},
}
"""How often an option is given; 0.06 for those not named."""
SCALAR = ("taylor", "map", "plot", "export", "diff", "fit", "root", "minimize", "propagate")
"""Commands whose variables are mostly single numbers."""


@cache
def commands() -> dict[str, click.Command]:
    """All commands with their options."""
    context = click.Context(cli)
    found = {name: cli.get_command(context, name) for name in COMMANDS}
    return {name: command for name, command in found.items() if command is not None}


def generate(random: Random) -> Command:
    """One command line."""
    if random.random() < COMPARED:
        relation = random.choice(list(relations.RELATIONS))
        return _Line(random, relations.COMMAND.get(relation, "grad"), relation).command()
    names = list(commands())
    name = random.choices(names, [WEIGHTS.get(n, 1) for n in names])[0]
    return _Line(random, name).command()


class _Line:
    """Collects the words of one command line."""

    def __init__(self, random: Random, name: str, relation: str = "") -> None:
        self.random = random
        self.name = name
        self.relation = relation
        self.its = commands()[name]
        noisy = not relation and random.random() < NOISY
        self.noise = random.choice((0.02, 0.05, 0.1)) if noisy else 0.0
        self.odd = 0.5 if not relation and random.random() < ODD else 0.0
        self.nasty = random.choice((0.0, 0.0, 0.03, 0.3))
        self.scalar = relation in ("diff", "taylor", "compiled") or (name in SCALAR and random.random() < 0.9)
        self.writer = Writer(random, self.noise, self.nasty, scalar=self.scalar)
        self.shape: Shape = ()
        self.expression = ""
        self.files: list[tuple[str, bytes]] = []
        self.stdin = b""
        self.columns: list[str] = []
        self.constants: list[str] = []
        self.over = ""
        self.options = {o.opts[0]: o for o in self.its.params if isinstance(o, click.Option)}

    def command(self) -> Command:
        positional = [word for p in self.its.params if isinstance(p, click.Argument) for word in self._argument(p)]
        options = [word for words in self._chosen() for word in words]
        words = [*positional, *options] if self.relation or self.random.random() < 0.8 else [*options, *positional]
        args = tuple(word.replace("\0", "") for word in (self.name, *words))
        return Command(args, self.stdin, tuple(self.files), self.relation)

    # Arguments

    def _argument(self, argument: click.Argument) -> list[str]:
        name = str(argument.name)
        if name in ("expr", "expression"):
            return [self._expression()]
        if name == "files":
            return self._rows()
        if name == "file":
            return [self._program()]
        if name == "words":
            return [self._function()] if self.random.random() < 0.95 else []
        return [values.wrong(self.random)] if argument.required else []

    def _expression(self) -> str:
        self.shape = () if self.scalar or self.relation or self.random.random() < 0.75 else self.writer.shape()
        depth = self.random.choice((0, 1, 2, 2, 3, 3, 4))
        text = self.writer.program(self.shape, depth)
        if not self.writer.variables and self.random.random() < 0.9:
            name = self.random.choice(("x", "y"))
            self.writer.variables[name] = ()
            head, mark, last = text.rpartition("\n")
            text = f"{head}{mark}{last}*{name}" if self.random.random() < 0.5 else f"{head}{mark}{last} + sin({name})"
        if self.name == "root" and self.random.random() < 0.7:
            text = f"{text} = {self.writer.number()}"
        if self.name == "fit" and self.random.random() < 0.9:
            last = max(text.rfind(";"), text.rfind("\n")) + 1
            text = f"{text[:last]} obs = {text[last:]}".strip()
        self.expression = text
        pick = 1.0 if self.relation else self.random.random()
        if pick < 0.02 and self.name != "map":
            self.stdin = text.encode("utf-8", "surrogateescape")
            return "-"
        if pick < 0.03:
            self.files.append(("expression.txt", text.encode("utf-8", "surrogateescape")))
            return "@expression.txt"
        return text

    def _rows(self) -> list[str]:
        kept = {"fit": 0.5, "root": 0.1, "propagate": 0.1}.get(self.name, 0.9)  # the others are parameters and unknowns
        columns = [n for n in self.writer.variables if self.random.random() < kept]
        if not columns and self.name in ("root", "propagate"):
            return []
        columns += ["extra"] * (self.random.random() < 0.2) + ["obs"] * (self.name == "fit")
        self.columns = columns
        name, content = datafiles.rows_file(self.random, columns, 0.1 if self.noise else 0.0)
        style = name.partition(".")[2]
        naming = ["--columns", ",".join(columns)] if content.startswith(b"\x93NUMPY") and b"[(" not in content and columns else []
        if self.random.random() < 0.2:
            self.stdin = content
            return naming if style == "csv" else ["--input-format", style, *naming]
        self.files.append((name, content))
        return [name] * (2 if self.random.random() < 0.05 else 1) + naming

    def _program(self) -> str:
        text = self._statements()
        if self.random.random() < 0.6:
            self.stdin = text
            return "-"
        self.files.append(("program.ad", text))
        return "program.ad"

    def _statements(self) -> bytes:
        if self.random.random() < 0.15:
            self.writer.variables["x"] = self.writer.shape()
        text = Program(self.random, self.noise, self.writer.variables).text()
        return text.encode("utf-8", "surrogateescape")

    def _function(self) -> str:
        from tests.fuzz.signatures import signatures

        return self.random.choice(signatures().names()) if self.random.random() < 0.9 else values.wrong(self.random)

    # Options

    def _chosen(self) -> list[list[str]]:
        if self.name == "repl":
            self.stdin = self._statements()
        chosen = list(self._values())
        for option in () if self.relation else self.options.values():
            name = option.opts[0]
            if name in LEFT_OUT or name in ("--at", "--const"):
                continue
            often = OFTEN.get(name, OFTEN.get(option.opts[-1], 0.06))
            if self.name == "root" and name == "--over":
                often = 0.03  # see _values
            if name == "--gradient":
                often = 0.1 if not self.shape else 0.95
            often = max(often, self.odd / 3)
            if name in RARE:
                often = RARE[name][0]
            if self.random.random() < often:
                chosen += self._option(option)
        self.random.shuffle(chosen)
        return chosen

    def _values(self) -> list[list[str]]:
        """Values for the variables: by --at, some by --const, and for rows a few only."""
        given = {n: s for n, s in self.writer.variables.items() if not (self.noise and self.random.random() < self.noise)}
        if "files" in {str(p.name) for p in self.its.params}:
            given = {n: s for n, s in given.items() if n not in self.columns}
        if self.name == "plot":
            self.over = self.random.choice(list(self.writer.variables) or ["x"])
            given.pop(self.over, None)
        if self.name in ("diff", "export"):
            given = {n: s for n, s in given.items() if s or self.random.random() < 0.1}
        if self.name == "root" and not self.columns and self.random.random() < 0.3:
            return [["--over", f"{name}={self.random.choice(RANGES[:5])}"] for name in given]
        words, joined = [], []
        free = self.name in ("run", "repl") or len(given) < len(self.writer.variables)  # something is left to differentiate by
        for name, shape in given.items():
            constant = "--at" not in self.options or (free and not self.relation and self.random.random() < 0.1)
            free = True
            self.constants += [name] * constant
            text = f"{name}={self._value(shape)}"
            if self.name == "propagate" and not shape and self.random.random() < 0.7:
                text += self.random.choice(("(1)", "(12)", "(0.5)", "±0.1", "+-1e-3"))
            if not constant and self.random.random() < 0.5:
                joined.append(text)
            elif constant and "--const" in self.options:
                words.append(["--const", text])
            else:
                words.append([self.random.choice(("--at", "-a")), text])
        return words + ([["--at", ",".join(joined)]] if joined else [])

    def _value(self, shape: Shape) -> str:
        if self.noise and self.random.random() < self.noise:
            return values.wrong(self.random)
        pick = self.random.random()
        if pick < 0.03 and not self.relation:
            name, content = datafiles.value_file(self.random, shape)
            if name not in dict(self.files):
                self.files.append((name, content))
                return f"@{name}"
        if pick < 0.06:
            return self.random.choice(("2*pi", "sqrt(2)", "1/3", "-e", "exp(1)", "2**0.5"))
        return values.literal(self.random, shape, self.nasty)

    def _option(self, option: click.Option) -> list[list[str]]:
        """The option, with values that fit its kind; more than once if it may be."""
        name = self.random.choice((*option.opts, *option.secondary_opts))
        if option.is_flag:
            return [[name]]
        times = 2 if option.multiple and self.random.random() < 0.05 else 1
        written = []
        for _ in range(times):
            value = values.wrong(self.random) if self.random.random() < max(0.01, self.noise) else self._fitting(option)
            if self.odd and self.random.random() < self.odd:
                value = self.random.choice(ODDITIES)
            one_word = name.startswith("--") and self.random.random() < 0.2
            written.append([f"{name}={value}"] if one_word else [name, value])
        return written

    def _fitting(self, option: click.Option) -> str:
        kind: Any = option.type
        if isinstance(kind, click.Choice):
            return str(self.random.choice(list(kind.choices)))
        if isinstance(kind, click.IntRange):
            low = 1 if kind.min is None else kind.min
            return str(self.random.randint(low, min(low + 4 if kind.max is None or kind.max > 100 else kind.max, low + 20)))
        if kind is click.INT and self.name != "taylor":  # the work grows with the number of variables to this power
            return self.random.choices(("1", "2", "3", "0"), (4, 6, 1, 1))[0]
        if kind is click.INT:
            return self.random.choices(("1", "2", "3", "0", "4", "7"), (4, 6, 1, 1, 0.5, 0.2))[0]
        if kind is click.FLOAT:
            return self.random.choice(("1e-6", "1e-3", "0.1", "1", "0", "1e-12"))
        return self._text(option)

    def _text(self, option: click.Option) -> str:
        name, meta, help_text = option.opts[0], option.metavar or "", option.help or ""
        known = [n for n in self.writer.variables if n not in self.constants] or ["x"]
        one = self.random.choice(known)
        if name == "--gradient":
            return values.literal(self.random, self.shape, self.nasty)
        if name in ("--format", "--to"):
            return self.random.choice(_listed(help_text) or ["json"])
        if name == "--input-format":
            return self.random.choice(datafiles.FORMATS)
        if meta == "FILE":
            return f"out.{self.random.choice(_endings(help_text, self.random))}"
        if "|" in meta and "<" not in meta:
            options = meta.split("|")
            return self.random.choice([one if o == "y,z" else "2" if o == "N" else o for o in options])
        if meta == "NAME=FROM:TO":
            return f"{self.over or one}={self.random.choice(RANGES)}"
        if meta == "FROM:TO":
            return self.random.choice(("0:1", "-1:1", "-1:1e9"))
        if meta == "NAME=COLUMN":
            return f"{one}={self.random.choice(self.columns or known)}"
        if name == "--subject":
            return f"{one} {self.random.choice(('==', '>=', '<=', '<'))} {values.number(self.random)}"
        if name == "--corr":
            return f"{','.join(self.random.sample(known, min(2, len(known))))}={self.random.choice(('0.3', '-1', '2'))}"
        if name == "--u":
            return f"{one}=0.1{self.random.choice(('', ' rect', ' triangle', ' arcsine', ' t:5', ' normal'))}"
        if name == "--loss":
            return self.random.choice(("huber:1.5", "soft_l1", "cauchy:2"))
        if name == "--monte-carlo":
            return self.random.choice(("100", "2000", "auto"))
        if name in ("--sigma", "--weights"):
            return self.random.choice(("1", "0.1", *self.columns))
        if name == "--sensitivity":
            return self.random.choice(self.constants or known)
        if meta.startswith("NAME="):
            expression = "EXPR" in meta and self.random.random() < 0.8
            grad = self.random.choice(("2*grad", "grad*0", "-grad", "grad**2"))
            text = grad if name == "--hook" else self.expression if expression and self.random.random() < 0.3 else None
            return f"{one}={text or values.literal(self.random, self.writer.variables.get(one, ()), self.nasty)}"
        if meta in ("x,y", "NAME"):
            return ",".join(self.random.sample(known, self.random.randint(1, len(known))))
        if meta == "N":
            return str(self.random.choice((1, 2, 5, 11)))
        return self.random.choice(("f", "64M", "wave", one, values.number(self.random)))


def _listed(help_text: str) -> list[str]:
    """The values that a help text names: ``table, plain, json.  [default: table]``."""
    before = help_text.partition("  [")[0].rpartition(":")[2]
    words = [w for w in re.findall(r"[a-z0-9]+", before) if w not in ("or", "of", "the", "output", "same")]
    return words if "," in before or " or " in before else []


def _endings(help_text: str, random: Random) -> list[str]:
    """The endings of files that a help text names; pictures, which are slow, now and then only."""
    named = [*re.findall(r"\.([a-z]+)\b", help_text), "csv", "json"]
    return [n for n in named if n not in ("png", "pdf", "svg")] if random.random() < 0.8 else named
