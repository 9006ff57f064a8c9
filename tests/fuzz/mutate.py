"""Command lines that are nearly those of the documentation: of the case files, of the pages, and of the walk-through."""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path
from random import Random

from tests.fuzz import values
from tests.fuzz.command import Command
from tests.fuzz.generate import LEFT_OUT
from tests.shell import ROOT, console_blocks, examples

TOKEN = re.compile(
    r"\s+|[^\W\d]\w*|(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|\*\*=|//=|\.\.\.|\*\*|//|[<>=!+\-*/%@]=|\"[^\"\n]*\"|'[^'\n]*'|.",
    re.DOTALL,
)
"""A word, a number, a sign or a text of the language; or any other character."""
_NUMBER = re.compile(r"\d")
_NOISE = ("\x1b", "\t", "\r", "\\", "é", "−", "\u200b", "\u202e", "\udcff", "“", "'", '"', "#", "$", "\n", "²", "½", "٣", "😀")
_SLOW = ("--simplify", ".png", ".pdf", ".svg", ".parquet", "--help", "-h")


@cache
def corpus() -> tuple[Command, ...]:
    """Every example, as a command with the files that it reads."""
    texts = [examples(path.read_text("utf-8")) for path in sorted((ROOT / "tests" / "cases").glob("*.txt"))]
    pages = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
    texts += [console_blocks(path.read_text("utf-8")) for path in pages]
    lines = [line for text in texts for line, _ in text]
    found = [command for line in dict.fromkeys(lines) if (command := _example(line)) is not None]
    for path in sorted((ROOT / "docs" / "walkthrough").glob("*.ad")):
        program = path.read_bytes()
        found += [Command(("run", "-"), program), Command(("repl",), program)]
    return tuple(found)


def _example(line: str) -> Command | None:
    try:
        words = shlex.split(line)[1:]
    except ValueError:
        return None
    if not words or any(word in ("|", ">", "<", *LEFT_OUT, *_SLOW) or word.endswith(_SLOW) for word in words):
        return None
    files = []
    for i, word in enumerate(words):
        at, name = ("@", word[1:]) if word.startswith("@") else ("", word)
        path = _file(name)
        if path is not None:
            files.append((path.name, path.read_bytes()))
            words[i] = at + path.name
    return Command(tuple(words), files=tuple(dict(files).items()))


def _file(name: str) -> Path | None:
    if not name or ("/" in name and not name.startswith("docs/")):
        return None
    for folder in (ROOT, ROOT / "tests" / "pages" / "files"):
        if (folder / name).is_file():
            return folder / name
    return None


def mutate(random: Random) -> Command:
    """An example with a few changes."""
    return changed(random, random.choice(corpus()), corpus())


def changed(random: Random, command: Command, others: tuple[Command, ...]) -> Command:
    """A command with one to four changes; parts may come from the others."""
    args, stdin = list(command.args), command.stdin.decode("utf-8", "surrogateescape")
    files = dict(command.files)
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        other = random.choice(others)
        pick = random.random()
        if stdin and pick < 0.7:
            stdin = text(random, stdin, other.stdin.decode("utf-8", "surrogateescape") or stdin)
        elif pick < 0.6 and len(args) > 1:
            i = random.choices(range(1, len(args)), [4 if "=" in a or "(" in a or i == 1 else 1 for i, a in enumerate(args) if i])[
                0
            ]
            args[i] = text(random, args[i], random.choice(other.args))
        elif pick < 0.7 and other.args:
            args[0] = other.args[0]
        elif pick < 0.85:
            args += _option(random, other.args)
            files |= dict(other.files)
        elif len(args) > 2:
            _moved(random, args)
    given = tuple(arg.replace("\0", "") for arg in args)
    return Command(given, stdin.encode("utf-8", "surrogateescape"), tuple(files.items()))


def _option(random: Random, args: tuple[str, ...]) -> list[str]:
    """One of the options of another command, with its value."""
    places = [i for i, arg in enumerate(args) if arg.startswith("-") and len(arg) > 1]
    if not places:
        return []
    i = random.choice(places)
    return list(args[i : i + 1 if i + 1 >= len(args) or args[i + 1].startswith("-") else i + 2])


def _moved(random: Random, args: list[str]) -> None:
    """One word dropped, doubled, or put elsewhere."""
    word = args.pop(random.randrange(1, len(args)))
    for _ in range(random.choice((0, 1, 2))):
        args.insert(random.randint(1, len(args)), word)


def text(random: Random, source: str, other: str) -> str:
    """A text with one change to its tokens."""
    tokens = TOKEN.findall(source)
    if not tokens:
        return values.wrong(random)
    i, j = sorted((random.randrange(len(tokens)), random.randrange(len(tokens))))
    pick = random.random()
    numbers = [k for k, token in enumerate(tokens) if _NUMBER.match(token)]
    names = [k for k, token in enumerate(tokens) if token[0].isalpha()]
    if pick < 0.35 and numbers:
        k = random.choice(numbers)
        tokens[k] = values.number(random, 0.5)
    elif pick < 0.5 and names:
        theirs = [token for token in TOKEN.findall(other) if token[0].isalpha()]
        tokens[random.choice(names)] = random.choice(theirs or ["x"])
    elif pick < 0.6:
        tokens[i], tokens[j] = tokens[j], tokens[i]
    elif pick < 0.7:
        del tokens[i : min(j + 1, i + 4)]
    elif pick < 0.78:
        tokens[j:j] = tokens[i : j + 1]
    elif pick < 0.88:
        theirs = TOKEN.findall(other)
        k = random.randrange(len(theirs) + 1)
        tokens[i : i + random.randint(0, 2)] = theirs[k : k + random.randint(1, 6)]
    elif pick < 0.95:
        tokens[i] = values.wrong(random)
    else:
        tokens.insert(i, random.choice(_NOISE))
    return "".join(tokens)
