"""Makes the command line of a finding shorter for as long as the finding stays."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.fuzz.command import Command
from tests.fuzz.mutate import TOKEN

Still = Callable[[Command], bool]
SECONDS, TRIES = 60.0, 1500
_OPENING = {"(": ")", "[": "]"}


def minimise(command: Command, still: Still, seconds: float = SECONDS, tries: int = TRIES) -> Command:
    """The shortest command found in this time that ``still`` says has the finding."""
    end, left = time.monotonic() + seconds, tries
    while True:
        for shorter in candidates(command):
            if not left or time.monotonic() > end:
                return command
            left -= 1
            if still(shorter):
                command = shorter
                break
        else:
            return command


def candidates(command: Command) -> Iterator[Command]:
    """Commands that are simpler than this one, the bold steps first."""
    args, files = command.args, command.files
    for i in range(len(files)):
        yield replace(command, files=(*files[:i], *files[i + 1 :]))
    for size in (2, 1):
        for i in range(1, len(args) - size + 1):
            yield replace(command, args=(*args[:i], *args[i + size :]))
    for i in range(1, len(args)):
        for text in simpler(args[i]):
            yield replace(command, args=(*args[:i], text, *args[i + 1 :]))
    for text in simpler_bytes(command.stdin):
        yield replace(command, stdin=text)
    for i, (name, content) in enumerate(files):
        for text in simpler_bytes(content):
            yield replace(command, files=(*files[:i], (name, text), *files[i + 1 :]))


def simpler_bytes(content: bytes) -> Iterator[bytes]:
    """Simpler contents of a file: bytes as they are, if they are not text."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        size = len(content) // 2
        while size:
            yield from (content[:i] + content[i + size :] for i in range(0, len(content), size))
            size //= 2
        return
    for shorter in simpler(text):
        yield shorter.encode("utf-8")


def simpler(text: str) -> Iterator[str]:
    """Simpler texts: without lines, without statements, with a call in the place of what it stands in, with smaller numbers."""
    for pattern in (r"\n", r";", r","):
        parts = re.split(pattern, text)
        mark = "," if pattern == "," else "\n" if pattern == r"\n" else ";"
        if len(parts) > 1:
            size = len(parts) // 2
            while size:
                yield from (mark.join(parts[:i] + parts[i + size :]) for i in range(0, len(parts), size))
                size //= 2
    tokens = TOKEN.findall(text)
    yield from _unwrapped(tokens)
    size = max(1, len(tokens) // 2)
    while True:
        yield from ("".join(tokens[:i] + tokens[i + size :]) for i in range(0, len(tokens), size))
        if size == 1:
            break
        size //= 2
    for i, token in enumerate(tokens):
        if token[0].isdigit() or token[0] == ".":
            yield from ("".join([*tokens[:i], n, *tokens[i + 1 :]]) for n in ("1", "0", "2") if _smaller(n, token))
        elif len(token) > 1 and not token[0].isalnum() and token[0] not in "\"'*/.<>=!":
            yield "".join([*tokens[:i], token[:1], *tokens[i + 1 :]])


def _smaller(number: str, token: str) -> bool:
    return (len(number), number) < (len(token), token) and token not in ("0", "1", "2")


def _unwrapped(tokens: list[str]) -> Iterator[str]:
    """For each pair of brackets: only what is inside, a number instead, and without the brackets."""
    stack: list[int] = []
    for i, token in enumerate(tokens):
        if token in _OPENING:
            stack.append(i)
        elif token in (")", "]") and stack:
            begin = stack.pop()
            inside = tokens[begin + 1 : i]
            start = begin
            while start and (tokens[start - 1][0].isalnum() or tokens[start - 1] == "."):
                start -= 1
            yield "".join([*tokens[:start], *inside, *tokens[i + 1 :]])
            yield "".join([*tokens[:start], "1", *tokens[i + 1 :]])
            yield "".join([*tokens[:begin], *tokens[i + 1 :]])
            yield "".join(tokens[start : i + 1])
            for name in ("x", "1"):
                if inside != [name]:
                    yield "".join([*tokens[: begin + 1], name, *tokens[i:]])
