"""Runs ``autodiff map`` in this process, with bytes for its streams."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import dataclass
from typing import Any
from unittest import mock

from autodiff_cli.cli.main import main


@dataclass
class Done:
    """What a run left behind."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def reason(self) -> str:
        """Standard error without the number of rows that are written before an error, which depends on the size of pieces."""
        return re.sub(r"; the results of [\d,]+ rows? are already on standard output", "", self.err)


class Stream(io.TextIOWrapper):
    """A stream of bytes with the look of a standard stream."""

    def __init__(self, data: bytes = b"") -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8")

    @property
    def bytes(self) -> bytes:
        self.flush()
        return self.buffer.getvalue()  # type: ignore[attr-defined,no-any-return]


def run_map(*arguments: Any, stdin: bytes = b"") -> Done:
    """``autodiff map`` with these arguments."""
    out, err = Stream(), Stream()
    given = io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin)))  # type: ignore[arg-type]  # its methods are those of a pipe
    with mock.patch.multiple(sys, stdin=given, stdout=out, stderr=err):
        code = main(["map", *map(str, arguments)])
    return Done(code, out.bytes, err.bytes.decode())


def refused(code: int, message: str, *arguments: Any, stdin: bytes = b"") -> Done:
    """A run that ends with one message and no output."""
    done = run_map(*arguments, stdin=stdin)
    assert message in done.err
    assert (done.code, done.out) == (code, b"")
    assert done.err.startswith("error: ")
    assert done.err.count("error: ") == 1
    return done


def well(done: Done) -> Done:
    """A run that ends without an error or a note."""
    assert (done.code, done.err) == (0, "")
    return done
