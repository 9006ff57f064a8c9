"""Parse a program into a flat list of statements, with the beginning and the end of each grad mode.

A line is a statement of the language, or one of these:

    show x, y            the table of these tensors; of all without names
    print(x, y)          the values
    with no_grad: ...    statements on the same line, or indented below
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
    """One statement, or an end of a ``with`` block.

    Attributes:
        kind: ``run``, ``print``, ``show``, ``enter`` (a grad mode) or ``leave``.
        span: its place.
        trees: the statement, or the expressions to show or print.
        mode: for ``enter``, whether operations are recorded in the block.
    """

    kind: str
    span: Span
    trees: Sequence[Syntax] = ()
    mode: bool = False


@dataclass(slots=True)
class _Block:
    """An open ``with``.

    Attributes:
        column: its indentation.
        inline: whether it ends with its line.
        body: the indentation of the lines in it, once there is one.
    """

    column: int
    span: Span
    inline: bool
    body: int | None = None


def read(source: str, start: int = 0) -> list[Statement]:
    """The statements of a program.

    Args:
        source: the text.
        start: where to begin; what stands before was read already.

    Raises:
        ParseError: before anything of a program runs that is not of the language.
    """
    statements: list[Statement] = []
    blocks: list[_Block] = []
    outermost: int | None = None
    for tokens, begins_line in _statements(source, start):
        line = source[source.rfind("\n", 0, tokens[0].span[0]) + 1 : tokens[0].span[0]]
        column = len(line) - len(line.lstrip())
        if begins_line:
            outermost = column if outermost is None else outermost
            _close(statements, blocks, column, source)
            _check_column(blocks, outermost, column, tokens[0], source)
        header = tokens
        while header[0].text == "with" and len(header) > 1:
            header = _enter(statements, blocks, header, column, source)
        if header[0].kind != "$END":
            statements.append(_statement(header, source))
    _close(statements, blocks, -1, source)
    return statements


def unfinished(source: str, start: int = 0) -> bool:
    """Whether more lines must follow before this can be read: an open bracket, or a ``with`` without a body."""
    text = re.sub(r"#[^\n]*", "", source[start:])
    opened = sum(text.count(c) for c in "([") - sum(text.count(c) for c in ")]")
    first, _, more = text.strip("\n").partition("\n")
    block = first.lstrip().startswith("with ") and first.rstrip().endswith(":")
    return opened > 0 or (block and not text.endswith("\n\n" if more else "\n\n\n"))


def ends_block(source: str, line: str) -> bool:
    """Whether a line stands outside of the ``with`` that is open in ``source``, which has lines in it."""
    text = re.sub(r"#[^\n]*", "", source).strip("\n")
    inside = sum(text.count(c) for c in "([") > sum(text.count(c) for c in ")]")
    return "\n" in text and not inside and bool(line.strip()) and not line[0].isspace()


def _statements(source: str, start: int) -> Iterator[tuple[list[Syntax], bool]]:
    """The tokens of each statement, ended by ``$END``, and whether it is the first of its line."""
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
    """``torch.log`` is ``log``, and ``torch.autograd.grad`` is ``grad``, for those who type what a tutorial shows."""
    kept: list[Syntax] = []
    behind = False  # 'torch.'
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


def _close(statements: list[Statement], blocks: list[_Block], column: int, source: str) -> None:
    """End the blocks that a line at this column is no part of."""
    while blocks and (blocks[-1].inline or column <= blocks[-1].column):
        block = blocks.pop()
        if not block.inline and block.body is None:
            raise ParseError(
                "this 'with' has nothing in it", span=block.span, source=source, hint="indent the lines that belong to it"
            )
        statements.append(Statement("leave", block.span))


def _check_column(blocks: list[_Block], outermost: int, column: int, token: Syntax, source: str) -> None:
    if blocks and blocks[-1].body is None:
        blocks[-1].body = column
    expected = blocks[-1].body if blocks else outermost
    if column != expected:
        raise ParseError(
            "this line is indented more or less than those around it",
            span=token.span,
            source=source,
            hint="only the lines of a 'with' are indented, all by the same amount",
        )


def _enter(statements: list[Statement], blocks: list[_Block], tokens: list[Syntax], column: int, source: str) -> list[Syntax]:
    """Open the block of a ``with``; the tokens behind its colon."""
    colon = next((i for i, token in enumerate(tokens) if token.kind == "COLON"), None)
    header = tokens[1 : -1 if colon is None else colon]
    span = (tokens[0].span[0], header[-1].span[1] if header else tokens[0].span[1])
    mode = _MODE.fullmatch("".join(token.text for token in header))
    if mode is None or colon is None:
        raise ParseError(
            "a colon is missing" if colon is None else "'with' is followed by a grad mode and a colon",
            span=span,
            source=source,
            hint="write 'with no_grad: w = x**2', or enable_grad, or set_grad_enabled(true)",
        )
    recording = mode[1] == "enable_grad" or (mode[2] or "").lower() == "true"
    rest = tokens[colon + 1 :]
    blocks.append(_Block(column, span, inline=rest[0].kind != "$END"))
    statements.append(Statement("enter", span, mode=recording))
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
            f"there is no '{first.text}' in a program",
            span=first.span,
            source=source,
            hint="a function is written f(x) = x**2, a choice 'a if condition else b'; for loops use the shell, or Python",
        )
    if first.text in ("import", "from") and second.kind == "NAME":
        raise ParseError(
            "there is nothing to import", span=span, source=source, hint="leave the line out; 'torch.log' and 'log' are the same"
        )
    return Statement("run", span, [parse_tokens(source, tokens).children[0]])


def _closing(tokens: list[Syntax]) -> int:
    """Return where the first bracket of a statement is closed."""
    texts = [token.text for token in tokens]
    stop: int = split(texts, lambda i: texts[i] == ")")[0].stop
    return stop


def _expressions(tokens: list[Syntax], source: str) -> list[Syntax]:
    """Parse the expressions between commas; the last token is the end."""
    if len(tokens) == 1:
        return []
    trees: list[Syntax] = []
    for part in split([token.text for token in tokens[:-1]], lambda i: tokens[i].kind == "COMMA"):
        end = tokens[part.stop].span
        if part.start == part.stop:
            raise ParseError("a value is missing here", span=end, source=source, hint="between commas stand values")
        tree = parse_tokens(source, [*tokens[part], new_token("$END", "", (end[0], end[0]))]).children[0]
        if tree.kind in STATEMENTS:
            raise ParseError(
                "a value is expected here, and this is a statement",
                span=tree.span,
                source=source,
                hint="write it on a line of its own; == compares",
            )
        trees.append(tree)
    return trees
