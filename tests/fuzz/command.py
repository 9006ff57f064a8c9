"""A command line as data: what is run, what it reads, and how a person types it again."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Command:
    """One command line.

    Attributes:
        args: the words behind ``autodiff``.
        stdin: what stands on standard input.
        files: names and contents of the files in the folder that it runs in.
        relation: the name of what is compared when it succeeds; see ``relations``.
    """

    args: tuple[str, ...]
    stdin: bytes = b""
    files: tuple[tuple[str, bytes], ...] = field(default=())
    relation: str = ""

    @property
    def name(self) -> str:
        """The subcommand."""
        return self.args[0] if self.args else ""

    def shell(self) -> str:
        """Lines for bash that run it in an empty folder."""
        lines = [f"printf {_printf(content)} > {_quoted(name)}" for name, content in self.files]
        words = " ".join(["autodiff", *map(_quoted, self.args)])
        if self.stdin or "-" in self.args or self.name == "repl":
            words = f"printf {_printf(self.stdin)} | {words}" if self.stdin else f"{words} </dev/null"
        return "\n".join([*lines, words])


def _quoted(word: str) -> str:
    """A word for bash; control characters as escapes, so that a line can be copied."""
    if word.isprintable():
        return shlex.quote(word)
    return _escaped(word.encode("utf-8", "surrogateescape"))


def _printf(content: bytes) -> str:
    """The format by which printf writes these bytes."""
    doubled = content.replace(b"\\", b"\\\\").replace(b"%", b"%%").replace(b"\n", b"\\n")
    text = doubled.decode("utf-8", "surrogateescape")
    if text.isprintable():
        return "-- " * text.startswith("-") + shlex.quote(text)
    escaped = "".join(chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}" for byte in doubled)
    return "-- " * escaped.startswith("-") + shlex.quote(escaped)


def _escaped(content: bytes) -> str:
    kept = {ord("\\"): "\\\\", ord("'"): "\\'", ord("\n"): "\\n"}
    return "$'" + "".join(kept.get(b) or (chr(b) if 32 <= b < 127 else f"\\x{b:02x}") for b in content) + "'"
