"""The parser for programs, which returns a flat list of statements with the beginning and the end of each grad mode.

A line contains a statement of the language, or one of these statements:

    show x, y            print the table of these tensors, or of all tensors if no names are given
    print(x, y)          print the values
    with no_grad: ...    run the statements on the same line, or in the indented lines below, without recording
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from autodiff_cli.errors import ParseError, Span
from autodiff_cli.language.parser import parse_tokens, tokenize
from autodiff_cli.language.tree import STATEMENTS, Syntax, new_token, split

_NAMESPACES = ("autograd", "functional", "nn", "linalg", "special")
_MODE = re.compile(r"(no_grad|enable_grad)(?:\(\))?|set_grad_enabled\((true|false|True|False)\)")


class Statement(NamedTuple):
    """A statement, or the beginning or the end of a ``with`` block.

    Attributes:
        kind: ``run``, ``print``, ``show``, ``enter`` (a grad mode) or ``leave``.
        span: the position in the source.
        trees: the tree of the statement, or the expressions to show or print.
        mode: whether operations are recorded in the block, for ``enter``.
    """

    kind: str
    span: Span
    trees: Sequence[Syntax] = ()
    mode: bool = False


@dataclass(slots=True)
class _Block:
    """A ``with`` block that has not ended.

    Attributes:
        column: the indentation of the ``with`` line.
        inline: whether the block ends with its line.
        body: the indentation of the lines in the block; ``None`` before the first line.
    """

    column: int
    span: Span
    inline: bool
    body: int | None = None


def read(source: str, start: int = 0) -> list[Statement]:
    """Return the statements of a program.

    Args:
        source: the text.
        start: the position at which parsing begins; the text before this position is already parsed.

    Raises:
        ParseError: if the text contains a syntax error; no statement has run in this case.
    """
    return _Reader(source, start).statements


def unfinished(source: str, start: int = 0) -> bool:
    """Return whether the text ends inside a bracket or a ``with`` block, so that more lines must follow."""
    text = re.sub(r"#[^\n]*", "", source[start:])
    opened = sum(text.count(c) for c in "([") - sum(text.count(c) for c in ")]")
    first, _, more = text.strip("\n").partition("\n")
    block = first.lstrip().startswith("with ") and first.rstrip().endswith(":")
    return opened > 0 or (block and not text.endswith("\n\n" if more else "\n\n\n"))


def ends_block(source: str, line: str) -> bool:
    """Return whether a line ends the ``with`` block at the end of ``source``."""
    text = re.sub(r"#[^\n]*", "", source).strip("\n")
    inside = sum(text.count(c) for c in "([") > sum(text.count(c) for c in ")]")
    return "\n" in text and not inside and bool(line.strip()) and not line[0].isspace()


def _statements(source: str, start: int) -> Iterator[tuple[list[Syntax], bool]]:
    """Yield the tokens of each statement, followed by ``$END``, and whether the statement is the first one on its line."""
    tokens: list[Syntax] = []
    begins = True
    for one in _without_namespaces(tokenize(source, start)):
        if one.kind not in ("_SEPARATOR", "$END"):
            tokens.append(one)
            continue
        if tokens:
            end = tokens[-1].span[1]
            yield [*tokens, new_token("$END", "", (end, end))], begins
            begins = False
        tokens = []
        begins = begins or one.text == "\n"


def _without_namespaces(tokens: list[Syntax]) -> list[Syntax]:
    """Remove PyTorch namespaces: ``torch.log`` becomes ``log``, and ``torch.autograd.grad`` becomes ``grad``."""
    kept: list[Syntax] = []
    behind = False  # whether the previous tokens are a namespace such as 'torch.'
    i = 0
    while i < len(tokens):
        followed = [token.kind for token in tokens[i + 1 : i + 3]] == ["DOT", "NAME"]
        begins = tokens[i].text == "torch" and not (kept and kept[-1].kind == "DOT")
        if followed and (begins or (behind and tokens[i].text in _NAMESPACES)):
            behind = True
            i += 2
        else:
            behind = False
            kept.append(tokens[i])
            i += 1
    return kept


class _Reader:
    """A reader of statements, which keeps a stack of open ``with`` blocks."""

    def __init__(self, source: str, start: int) -> None:
        self.source = source
        self.statements: list[Statement] = []
        self._blocks: list[_Block] = []
        outermost: int | None = None
        for tokens, begins_line in _statements(source, start):
            line = source[source.rfind("\n", 0, tokens[0].span[0]) + 1 : tokens[0].span[0]]
            column = len(line) - len(line.lstrip())
            if begins_line:
                outermost = column if outermost is None else outermost
                self._close(column)
                self._check_column(outermost, column, tokens[0].span)
            header = tokens
            while header[0].text == "with" and len(header) > 1:
                header = self._enter(header, column)
            if header[0].kind != "$END":
                self.statements.append(_statement(header, source))
        self._close(-1)

    def _close(self, column: int) -> None:
        """Close the blocks that do not contain a line with this indentation."""
        while self._blocks and (self._blocks[-1].inline or column <= self._blocks[-1].column):
            block = self._blocks.pop()
            if not block.inline and block.body is None:
                hint = "indent the lines of the block"
                raise ParseError("this 'with' block is empty", span=block.span, source=self.source, hint=hint)
            self.statements.append(Statement("leave", block.span))

    def _check_column(self, outermost: int, column: int, span: Span) -> None:
        block = self._blocks[-1] if self._blocks else None
        if block is not None and block.body is None:
            block.body = column
        if column != (outermost if block is None else block.body):
            raise ParseError(
                "this line is indented differently from the lines around it",
                span=span,
                source=self.source,
                hint="indent only the lines of a 'with' block, all by the same amount",
            )

    def _enter(self, tokens: list[Syntax], column: int) -> list[Syntax]:
        """Open the block of a ``with`` statement, and return the tokens after its colon."""
        colon = next((i for i, token in enumerate(tokens) if token.kind == "COLON"), None)
        header = tokens[1 : -1 if colon is None else colon]
        span = (tokens[0].span[0], header[-1].span[1] if header else tokens[0].span[1])
        mode = _MODE.fullmatch("".join(token.text for token in header))
        if mode is None or colon is None:
            raise ParseError(
                "a colon is missing" if colon is None else "'with' must be followed by a grad mode and a colon",
                span=span,
                source=self.source,
                hint="write 'with no_grad: w = x**2', or use enable_grad or set_grad_enabled(true)",
            )
        recording = mode[1] == "enable_grad" or (mode[2] or "").lower() == "true"
        rest = tokens[colon + 1 :]
        self._blocks.append(_Block(column, span, inline=rest[0].kind != "$END"))
        self.statements.append(Statement("enter", span, mode=recording))
        return rest


def _statement(tokens: list[Syntax], source: str) -> Statement:
    first, second = tokens[0], tokens[1]
    span = (first.span[0], tokens[-2].span[1])
    if first.text == "show" and second.kind in ("NAME", "NUMBER", "$END"):
        return Statement("show", span, _expressions(tokens[1:], source))
    if first.text == "print" and second.kind == "LPAR" and _closing(tokens) == len(tokens) - 2:
        end = tokens[-2]
        return Statement("print", span, _expressions([*tokens[2:-2], new_token("$END", "", (end.span[0], end.span[0]))], source))
    if first.text in ("for", "while", "if", "def", "class", "del", "return", "lambda"):
        raise ParseError(
            f"a program cannot contain '{first.text}'",
            span=first.span,
            source=source,
            hint="write a function as f(x) = x**2, a conditional as 'a if condition else b', and a loop in the shell or in Python",
        )
    if first.text in ("import", "from") and second.kind == "NAME":
        raise ParseError(
            "a program cannot contain imports",
            span=span,
            source=source,
            hint="remove the line: 'torch.log' and 'log' are the same function",
        )
    return Statement("run", span, [parse_tokens(source, tokens).children[0]])


def _closing(tokens: list[Syntax]) -> int:
    """Return the index of the token that closes the first bracket of a statement."""
    texts = [token.text for token in tokens]
    stop: int = split(texts, lambda i: texts[i] == ")")[0].stop
    return stop


def _expressions(tokens: list[Syntax], source: str) -> list[Syntax]:
    """Parse the expressions between commas; the last token must be ``$END``."""
    if len(tokens) == 1:
        return []
    trees: list[Syntax] = []
    for part in split([token.text for token in tokens[:-1]], lambda i: tokens[i].kind == "COMMA"):
        end = tokens[part.stop].span
        if part.start == part.stop:
            raise ParseError("a value is missing here", span=end, source=source, hint="write a value before and after each comma")
        tree = parse_tokens(source, [*tokens[part], new_token("$END", "", (end[0], end[0]))]).children[0]
        if tree.kind in STATEMENTS:
            raise ParseError(
                "a value is expected here, not a statement",
                span=tree.span,
                source=source,
                hint="write the statement on its own line, or write == to compare",
            )
        trees.append(tree)
    return trees
