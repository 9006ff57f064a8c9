"""Tables of programs with the answers of PyTorch, ``programs/*.txt``: how they are read, run and recorded.

A table is text in the syntax of Python. The lines before the first ``##`` are its prelude. A line ``## title`` begins a program,
which runs in a fresh namespace after the prelude. A comment behind a statement makes it a question, and is the recorded answer::

    y.t()[0].mul_(5)
    x.grad  # [[5.0, 1.0], [5.0, 1.0]]
    y.sin()  # ~[0.8414709848078965]
    x.add_(1)  # RuntimeError: ...leaf Variable that requires grad...

Tensors are answered as lists. ``~`` allows for rounding. ``...`` stands for any text, where the words of PyTorch are too long or
belong to it alone. Rounds of a loop that differ are answered as ``1.0; 2.0``. ``## since 2.14: title`` is skipped by an older
PyTorch. A comment in a function or class is not an answer.

``AUTODIFF_PEER=torch python -m tests.behaviour.recorded`` replaces the answers that are not those of PyTorch, such as ``?``.
"""

from __future__ import annotations

import ast
import io
import math
import re
import sys
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.behaviour import precedes, torch
from tests.printed import equal_but_for_numbers

TABLES = sorted((Path(__file__).parent / "programs").glob("*.txt"))
Comments = dict[int, tuple[int, str]]
"""The column and the text of the comment in a line that has code too."""


@dataclass(frozen=True)
class Program:
    table: Path
    title: str
    since: str
    """The version of PyTorch that is the first to answer so."""
    body: list[ast.stmt]
    """The statements of the prelude and of the program, where a question calls ``_answer``."""
    answers: Comments

    @property
    def name(self) -> str:
        return f"{self.table.stem}: {self.title}"

    def run(self) -> dict[int, list[str]]:
        """Return the texts of the answer in each line that has a question."""
        rounds: dict[int, list[list[str]]] = {line: [] for line in self.answers}
        code = compile(ast.Module(self.body, []), str(self.table), "exec", dont_inherit=True)
        dtype = torch.get_default_dtype()
        try:
            with warnings.catch_warnings():
                exec(code, {"__name__": self.table.stem, "_answer": lambda line, value: rounds[line].append(texts(value))})
        finally:
            torch.set_default_dtype(dtype)
        return {line: _together(found) for line, found in rounds.items()}


def _together(rounds: list[list[str]]) -> list[str]:
    if rounds and all(found == rounds[0] for found in rounds):
        return rounds[0]
    return ["; ".join(found[0] for found in rounds) or "no error"]


def programs(path: Path) -> Iterator[Program]:
    """Yield the programs of a table."""
    text = path.read_text(encoding="utf-8")
    heads = {n: line for n, line in enumerate(text.splitlines(), 1) if line.startswith("## ")}
    parts: list[list[ast.stmt]] = [[] for _ in range(len(heads) + 1)]
    for statement in ast.parse(text).body:
        parts[sum(head < statement.lineno for head in heads)].append(statement)
    comments = _comments(text)
    for line, body in zip(heads.values(), parts[1:], strict=True):
        since, title = re.findall(r"## (?:since ([\d.]+): )?(.*)", line)[0]
        answers: Comments = {}
        asked = _asked(body, comments, answers)
        yield Program(path, title, since or "0.0", parts[0] + asked, answers)


def _comments(text: str) -> Comments:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    found = ((token.start, token.string, token.line) for token in tokens if token.type == tokenize.COMMENT)
    return {line: (column, comment[2:]) for (line, column), comment, code in found if code[:column].strip()}


def _asked(body: list[ast.stmt], comments: Comments, answers: Comments) -> list[ast.stmt]:
    """Return statements that tell their answers, and note which lines are questions."""
    result: list[ast.stmt] = []
    for statement in body:
        line = statement.end_lineno or 0
        if isinstance(statement, (ast.With, ast.For)) and statement.lineno < statement.body[0].lineno:
            statement.body = _asked(statement.body, comments, answers)
        elif line in comments and not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            answers[line] = comments[line]
            statement = _telling(statement, line)
        result.append(statement)
    return result


def _telling(statement: ast.stmt, line: int) -> ast.stmt:
    """Return a statement that calls ``_answer`` with the value or the exception of a question."""
    (trial,) = ast.parse(f"try: _answer({line}, 0)\nexcept Exception as error: _answer({line}, error)").body
    assert isinstance(trial, ast.Try)
    last = statement
    while isinstance(last, ast.With):  # in one line, whose last part is the question
        last = last.body[-1]
    if isinstance(last, ast.Expr):
        (told,) = trial.body
        assert isinstance(told, ast.Expr)
        assert isinstance(told.value, ast.Call)
        told.value.args[1], last.value = last.value, told.value
    trial.body = [statement]
    return trial


def texts(value: Any) -> list[str]:
    """Return the text of an answer; an exception has one for each of its classes that both packages have."""
    if not isinstance(value, Exception):
        return [shown(value)]
    kinds = [each.__name__ for each in type(value).__mro__ if not each.__module__.startswith(("torch", "autodiff_cli"))]
    return [f"{kind}: {(str(value).splitlines() or [''])[0]}" for kind in kinds]


def shown(value: Any) -> str:
    """Return a value as text, where zeros have no sign."""
    if hasattr(value, "tolist"):
        return shown(value.tolist())
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))}{',' * (len(value) == 1)})"
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {shown(each)}' for key, each in value.items())}}}"
    if isinstance(value, Exception):
        return texts(value)[0]
    return repr(value + 0.0 if isinstance(value, float) else value)


def agrees(found: list[str], recorded: str) -> bool:
    """Return whether one of the texts of an answer is the recorded one."""
    return any(_agree(text, recorded) for text in found)


def _agree(found: str, recorded: str) -> bool:
    if not recorded.startswith("~"):
        return re.fullmatch(".*".join(map(re.escape, recorded.split("..."))), found) is not None
    return equal_but_for_numbers(found, recorded[1:], _close)


def _close(one: str, other: str) -> bool:
    return math.isclose(float(one), float(other), rel_tol=1e-12, abs_tol=1e-15)


def record(path: Path) -> None:
    """Write the answers that are found into a table where others are recorded."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for program in programs(path):
        for line, found in program.run().items() if not precedes(program.since) else ():
            column, recorded = program.answers[line]
            if not agrees(found, recorded):
                print(f"{path.name}:{line}: {found[0]} instead of {recorded}")
                lines[line - 1] = f"{lines[line - 1][:column]}# {'~' * recorded.startswith('~')}{found[0]}"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if torch.__name__ != "torch":
        sys.exit("AUTODIFF_PEER=torch records the answers of PyTorch")
    warnings.simplefilter("ignore")
    for table in TABLES:
        record(table)
