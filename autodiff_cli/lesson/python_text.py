"""The text of a Python program: its statements, and its expressions in the small language where it has them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import accumulate
from types import CodeType
from typing import NamedTuple

from autodiff_cli.errors import ParseError, Span
from autodiff_cli.language.tree import Syntax
from autodiff_cli.script.statements import parse_statements

_MODULES = re.compile(r"(?:\w+\.)*$")
_LONGEST = 80  # the most characters of the modules before the name of a function
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
Loops = dict[int, tuple[str, ...]]
"""The names of the indices of loops, by the line of the loop."""


class Statement(NamedTuple):
    """A statement of the program, or the head of a compound statement.

    Attributes:
        tree: its syntax tree; of kind ``python`` if the small language does not have the statement.
        quiet: whether it is left out of the lesson if it has no effect.
        loops: the lines of the loops around it in its function, each with the names of its indices.
        is_loop: whether it is the head of a loop.
    """

    tree: Syntax
    quiet: bool
    loops: Loops
    is_loop: bool


class PythonText:
    """The text of a Python program, which is the attribute ``source``."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._lines = source.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self._lines)]  # the place of each line
        self._spans: dict[CodeType, list[Span]] = {}  # the places of the instructions
        self._trees: dict[Span, Syntax] = {}  # the trees that ``tree`` has returned

    def statements(self) -> dict[int, Statement]:
        """Return the statement of each line; several on one line are one.  Raise ``SyntaxError`` if the text is not Python."""
        statements: dict[int, Statement] = {}
        for statement, loops in _statements(ast.parse(self.source)):
            first, body = _first_line(statement), getattr(statement, "body", None)
            before = statements.get(first)  # another statement on the same line
            if isinstance(body, list):  # of a compound statement, only the head, above the body
                last = max(first, _first_line(body[0]) - 1)
                tree = Syntax(_kind(statement), [], "", self._head_span(first, last))
            else:
                last = statement.end_lineno or first
                start, end = self._place(first, statement.col_offset), self._place(last, statement.end_col_offset or 0)
                tree = self.tree((start if before is None else min(before.tree.span[0], start), end))
            quiet = _is_quiet(statement) and (before is None or before.quiet)
            value = Statement(tree, quiet, loops, isinstance(statement, _LOOPS))
            statements.update(dict.fromkeys(range(first, last + 1), value))
        return statements

    def _head_span(self, first: int, last: int) -> Span:
        """Return the place of the lines of the head of a compound statement, without blanks and a comment at its ends."""
        first_line, last_line = self._lines[first - 1], self._lines[last - 1]
        start = self._starts[first - 1] + len(first_line) - len(first_line.lstrip())
        return start, self._starts[last - 1] + len(last_line.partition("#")[0].rstrip())

    def span(self, code: CodeType, instruction: int) -> Span:
        """Return the place of an instruction, which has two bytes, by its offset in bytes; ``(0, 0)`` if it is not known."""
        if code not in self._spans:
            spans: list[Span] = []
            for first, last, start, end in code.co_positions():  # the lines, and the columns in them
                if first is None or last is None or start is None or end is None:
                    spans.append((0, 0))
                else:
                    spans.append((self._place(first, start), self._place(last, end)))
            self._spans[code] = spans
        return self._spans[code][instruction // 2]

    def tree(self, span: Span) -> Syntax:
        """Return the syntax tree of a part of the text; of kind ``python`` if the small language does not have it."""
        if span not in self._trees:
            try:
                trees = parse_statements(self.source[: span[1]], span[0])
            except ParseError:
                trees = []
            self._trees[span] = trees[0] if len(trees) == 1 else Syntax("python", [], "", span)
        return self._trees[span]

    def span_with_modules(self, tree: Syntax) -> Span:
        """Return the place of an expression with the modules before the name of a function: ``torch.log(x)``."""
        start, end = tree.span
        before = _MODULES.search(self.source, max(0, start - _LONGEST), start) if tree.kind == "call" else None
        return (start if before is None else before.start(), end)

    def _place(self, line: int, column: int) -> int:
        """Return the place of a column, which Python counts in bytes."""
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())


def _statements(module: ast.Module) -> Iterator[tuple[ast.stmt, Loops]]:
    """Yield all statements, each after the statement around it, with the loops around it in its function."""
    pending: list[tuple[ast.AST, Loops]] = [(module, {})]
    for node, loops in pending:  # the list grows during the loop
        if isinstance(node, ast.stmt):
            yield node, loops
        if isinstance(node, _SCOPES):
            loops = {}
        elif isinstance(node, _LOOPS):
            target = [] if isinstance(node, ast.While) else [*ast.walk(node.target)]
            indices = tuple(part.id for part in target if isinstance(part, ast.Name))
            loops = {**loops, node.lineno: indices}
        pending += [(child, loops) for child in ast.iter_child_nodes(node)]


def _first_line(statement: ast.stmt) -> int:
    """Return the number of the line on which a statement begins, with its decorators."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _kind(statement: ast.stmt) -> str:
    """Return the kind of the syntax tree of a compound statement; of other ones than classes and functions, it is ``python``."""
    return "class" if isinstance(statement, ast.ClassDef) else "definition" if isinstance(statement, _SCOPES) else "python"


def _is_quiet(statement: ast.stmt) -> bool:
    """Return whether a lesson leaves a statement out if it has no effect: heads of blocks, imports, and texts as comments."""
    if isinstance(statement, (ast.Import, ast.ImportFrom, ast.Pass, ast.Global, ast.Nonlocal)):
        return True
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return isinstance(getattr(statement, "body", None), list) and not isinstance(statement, _SCOPES)
