"""The parser for programs: lines and indented blocks of statements of the language, and some statements of Python.

In addition to the statements of the language, a program may contain:

    show x, y                  print the table of these tensors, or of all tensors if no names are given
    with no_grad(): ...        run a block in a mode of autograd
    for i in range(n): ...     run a block several times
    def f(x): ...              define a function by statements, of which the last one is ``return``

A block consists of the statements after the colon on the same line, or of the indented lines below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autodiff_cli.errors import ParseError, Span
from autodiff_cli.language.parser import parse_tokens, tokenize
from autodiff_cli.language.tree import STATEMENTS, Syntax, new_token, ranges_between
from autodiff_cli.script.format_strings import parse_fields
from autodiff_cli.script.library import CONTEXTS
from autodiff_cli.script.namespaces import PACKAGE, without_prefixes

COMPOUND = ("with", "for")
"""Kinds of statements that run a block."""
BLOCK_EXAMPLES = {"with": "with no_grad(): w = x**2", "for": "for i in range(10): x *= 2", "def": "def f(x): return x**2"}
"""An example of each statement that has a block, by its first word."""
WORDS = (*BLOCK_EXAMPLES, "show", "return", "lambda", "true", "false", "none")
"""The words of programs that are not names."""
_PYTHON_STATEMENTS = {
    **dict.fromkeys(("if", "elif", "else"), f"write a conditional as 'a if condition else b'; {PACKAGE}"),
    **dict.fromkeys(("while", "break", "continue"), f"write a loop as 'for i in range(10):'; {PACKAGE}"),
    "class": f"write a function with its own derivative as f(x) = x**2 with grad (2*x); {PACKAGE}",
    "lambda": "write a function as f(x) = x**2",
    **dict.fromkeys(("import", "from"), f"leave the line out: the names of PyTorch are there; {PACKAGE}"),
    **dict.fromkeys(
        ("try", "except", "finally", "del", "assert", "global", "nonlocal", "async", "raise", "yield", "pass"), PACKAGE
    ),
}
"""Statements of Python that programs do not contain, with a hint for each."""


def is_unfinished(source: str, start: int = 0) -> bool:
    """Return whether the text ends inside a bracket or a block.  An empty line ends a block; two do right after its first line."""
    first, more, inside = _first_line(source[start:])
    begins_block = re.match(rf"\s*(?:{'|'.join(BLOCK_EXAMPLES)})\b", first) is not None and first.rstrip().endswith(":")
    return inside or (begins_block and not source.endswith("\n\n" if more else "\n\n\n"))


def ends_block(source: str, line: str) -> bool:
    """Return whether a line ends the block at the end of ``source``."""
    _, more, inside = _first_line(source)
    return more and not inside and bool(line.strip()) and not line[0].isspace() and line[0] != "#"  # an unindented statement


def _first_line(text: str) -> tuple[str, bool, bool]:
    """Return the first line of a text outside of brackets, whether more lines follow, and whether a bracket is open at the end."""
    text = re.sub(r"#[^\n]*|\"[^\"\n]*\"|'[^'\n]*'", "", text).strip("\n")  # without comments and texts
    depth, end = 0, None
    for i, character in enumerate(text):
        depth += 1 if character in "([" else -1 if character in ")]" else 0
        if character == "\n" and depth <= 0 and end is None:
            end = i
    return text[:end], end is not None, depth > 0


def parse_statements(source: str, start: int = 0) -> list[Syntax]:
    """Return the statements of a program from position ``start``; the text before this position is already parsed.

    In addition to the kinds of the grammar, there are ``show``, ``with`` and ``for``, whose last child is a ``block``; the second
    child of a ``definition`` may also be a ``block``.

    Raises:
        ParseError: if the text contains a syntax error; no statement has run in this case.
    """
    return _Reader(source).read(start)


@dataclass(slots=True)
class _OpenBlock:
    """A block that has not ended; ``header``, ``body``: the indents of its statement and its lines; ``inline``: after the colon."""

    node: Syntax
    word: str
    header: str
    inline: bool
    body: str | None = None


class _Reader:
    """A reader of statements, which keeps a stack of open blocks."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._statements: list[Syntax] = []
        self._open: list[_OpenBlock] = []

    def read(self, start: int) -> list[Syntax]:
        """Return the statements from position ``start``; the first line has the indentation of all lines outside blocks."""
        outermost: str | None = None
        for tokens, begins_line in _statement_tokens(tokenize(self.source, start)):
            if begins_line:
                begin = tokens[0].span[0]
                before = self.source[self.source.rfind("\n", 0, begin) + 1 : begin]  # on the same line
                indent = before[: len(before) - len(before.lstrip())]  # that of all statements on the line
                outermost = indent if outermost is None else outermost  # the first line sets it
                self._close(indent, outermost, tokens[0].span)
            while tokens[0].text in BLOCK_EXAMPLES and tokens[1].kind in ("NAME", "COLON"):  # several headers on one line
                tokens = self._enter(tokens, indent)
            if tokens[0].kind != "$END":
                self._add(self._statement(tokens))
        self._close_inline()
        while self._open:
            self._finish(self._open.pop())
        return self._statements

    # Blocks

    def _close_inline(self) -> None:
        """Close the blocks whose statements stand after the colon on the same line."""
        while self._open and self._open[-1].inline:
            self._finish(self._open.pop())

    def _close(self, indent: str, outermost: str, span: Span) -> None:
        """Close the blocks that do not contain a line with this indentation; the first line of a block sets that of the block.

        It is an error if the indentation is neither that of an open block nor ``outermost``, that of the lines outside blocks.
        """
        self._close_inline()
        while self._open:
            block = self._open[-1]
            is_deeper_than_header = indent.startswith(block.header) and indent != block.header
            if block.body is None and is_deeper_than_header:
                block.body = indent
            if block.body == indent:
                return  # the line belongs to this block
            if block.body is not None and indent.startswith(block.body):
                raise self._misplaced(span)  # deeper than the block
            self._finish(self._open.pop())
            self._close_inline()
        if indent != outermost:
            raise self._misplaced(span)

    def _misplaced(self, span: Span) -> ParseError:
        """Return the error for a line whose indentation is that of no block."""
        hint = "indent only the lines of a block after a colon, all by the same spaces or tabs"
        return self._error("this line is indented differently from the lines around it", span, hint)

    def _finish(self, block: _OpenBlock) -> None:
        """Check that a block is not empty; the body of a function that only returns an expression becomes this expression."""
        if not block.inline and block.body is None:
            raise self._error(f"this '{block.word}' block is empty", block.node.span, "indent the lines of the block")
        first, *others = block.node.children[-1].children
        only_returns_value = first.kind == "return" and len(first.children) == 2 and not others
        if block.word == "def" and only_returns_value:
            _word, block.node.children[1] = first.children  # the expression in place of the block

    def _add(self, statement: Syntax) -> None:
        """Add a statement to the innermost block, or to the program; one after a ``return`` is an error."""
        statements = self._open[-1].node.children[-1].children if self._open else self._statements
        if statements and statements[-1].kind == "return":
            raise self._error("a statement follows 'return'", statement.span, "write 'return' at the end of the function")
        if statement.kind == "return":
            self._check_return(statement)
        statements.append(statement)

    def _check_return(self, statement: Syntax) -> None:
        """Raise an error unless a ``return`` is in a function, and not in a loop of this function."""
        words = [block.word for block in reversed(self._open) if block.word != "with"]  # which may contain a ``return``
        if words[:1] != ["def"]:
            where = "inside a loop" if "def" in words else "outside a function"
            raise self._error(f"'return' {where}", statement.span, f"end a function with it; {PACKAGE}")

    def _enter(self, tokens: list[Syntax], indent: str) -> list[Syntax]:
        """Open the block whose header begins the tokens of a line, and return the tokens after its colon; without one, raise."""
        before_colon, *_ = ranges_between([token.text for token in tokens], lambda i: tokens[i].kind == "COLON")
        colon = before_colon.stop
        has_colon = colon < len(tokens)
        header = tokens[: colon if has_colon else -1]  # without ``$END``
        word = header[0].text
        span = (header[0].span[0], header[-1].span[1])
        if not has_colon:
            raise self._wrong_header("a colon is missing", word, span)
        end = tokens[colon].span[0]
        parts = without_prefixes([*header[1:], new_token("$END", "", (end, end))], self.source)
        parse = {"with": self._contexts, "for": self._range, "def": self._signature}[word]
        block = Syntax("block", [], "", span)
        node = Syntax("definition" if word == "def" else word, [*parse(parts, span), block], "", span)
        self._add(node)
        rest = tokens[colon + 1 :]
        self._open.append(_OpenBlock(node, word, indent, inline=rest[0].kind != "$END"))
        return rest

    def _wrong_header(self, message: str, word: str, span: Span) -> ParseError:
        """Return the error for the header of a block, with an example of a block of this word as its hint."""
        return self._error(message, span, f"write it as in '{BLOCK_EXAMPLES[word]}'")

    def _error(self, message: str, span: Span, hint: str) -> ParseError:
        """Return a syntax error at a place of the source."""
        return ParseError(message, span=span, source=self.source, hint=hint)

    def _contexts(self, tokens: list[Syntax], span: Span) -> list[Syntax]:
        """Return the modes in the header of a ``with``; anything else in it is an error."""
        contexts = self._expressions(tokens)
        are_modes = all(tree.kind in ("name", "call") and tree.children[0].text in CONTEXTS for tree in contexts)
        if not (contexts and are_modes):
            raise self._wrong_header("'with' must be followed by a grad mode or another mode of autograd", "with", span)
        return contexts

    def _range(self, tokens: list[Syntax], span: Span) -> list[Syntax]:
        """Return the name and the range in the header of a ``for``; anything else in it is an error."""
        name, *rest = tokens
        if name.kind != "NAME" or rest[0].text != "in":  # a name is followed by another token, at least by ``$END``
            raise self._wrong_header("'for' must be followed by a name and 'in'", "for", span)
        limits = [] if any(token.text == ".." for token in rest) else self._expressions(rest[1:])
        if len(limits) != 1 or limits[0].kind != "call" or limits[0].children[0].text != "range":
            raise self._error("a loop runs over range(...) only", span, f"write 'for i in range(1, 4):' for 1, 2 and 3; {PACKAGE}")
        return [name, limits[0]]

    def _signature(self, tokens: list[Syntax], span: Span) -> list[Syntax]:
        """Return the name with its parameters in the header of a ``def``, a call, as the only item of a list."""
        trees = self._expressions(tokens)
        if len(trees) != 1 or trees[0].kind != "call":
            raise self._wrong_header("'def' must be followed by a name and its parameters", "def", span)
        return trees

    # Statements

    def _statement(self, tokens: list[Syntax]) -> Syntax:
        """Parse the tokens of a statement that does not have a block; a statement that only Python has is an error."""
        first, second = tokens[0], tokens[1]
        is_python_word = first.text in _PYTHON_STATEMENTS and second.kind not in ("EQUAL", "DOT", "AUGMENTED", "COMMA")
        if is_python_word or first.text == "@":  # a decorator
            hint = _PYTHON_STATEMENTS.get(first.text, PACKAGE)
            raise self._error(f"a program cannot contain '{first.text}'", first.span, hint)
        tokens = without_prefixes(tokens, self.source)
        span = (tokens[0].span[0], tokens[-2].span[1])
        if first.text == "show" and second.kind in ("NAME", "NUMBER", "$END"):
            return Syntax("show", self._expressions(tokens[1:]), "", span)
        if first.text == "return" and second.kind not in ("EQUAL", "DOT"):
            tokens = [new_token("RETURN", first.text, first.span), *tokens[1:]]
        return self._parsed(tokens)

    def _expressions(self, tokens: list[Syntax]) -> list[Syntax]:
        """Parse the expressions between commas; the last token must be ``$END``."""
        if len(tokens) == 1:
            return []
        trees: list[Syntax] = []
        for part in ranges_between([token.text for token in tokens[:-1]], lambda i: tokens[i].kind == "COMMA"):
            end = tokens[part.stop].span
            if part.start == part.stop:
                raise self._error("a value is missing here", end, "write a value before and after each comma")
            tree = self._parsed([*tokens[part], new_token("$END", "", (end[0], end[0]))])
            if tree.kind in STATEMENTS:
                hint = "write the statement on its own line, or write == to compare"
                raise self._error("a value is expected here, not a statement", tree.span, hint)
            trees.append(tree)
        return trees

    def _parsed(self, tokens: list[Syntax]) -> Syntax:
        """Return the tree of a statement, after ``f`` with a text became a format string, and ``lambda`` a word of its own."""
        prepared: list[Syntax] = []
        for i, token in enumerate(tokens):
            letter = prepared[-1] if prepared and prepared[-1].text in ("f", "F") else None
            if token.kind == "STRING" and letter is not None and letter.span[1] == token.span[0]:
                format_string = new_token("FORMAT_STRING", letter.text + token.text, (letter.span[0], token.span[1]))
                format_string.children = parse_fields(format_string, self.source, self._field)
                prepared[-1] = format_string
            elif token.text == "lambda" and _is_lambda(tokens, i):
                prepared.append(new_token("LAMBDA", token.text, token.span))
            else:
                prepared.append(token)
        return parse_tokens(self.source, prepared).children[0]

    def _field(self, start: int, end: int) -> Syntax:
        """Parse the expression of a field of a format string, between two positions of the source."""
        tokens = tokenize(self.source[:end], start)
        trees = self._expressions(without_prefixes(tokens, self.source))
        if len(trees) != 1:
            raise self._error("one value is expected here", (start - 1, end + 1), "write it as in {x}")
        return trees[0]


def _is_lambda(tokens: Sequence[Syntax], i: int) -> bool:
    """Return whether the name ``lambda`` begins a function, because parameters and a colon follow."""
    following = [token.kind for token in tokens[i + 1 : i + 3]]
    if following[:1] == ["COLON"]:
        return i > 0 and tokens[i - 1].text in ("(", "=")  # a value; elsewhere ``lambda:`` may be a name before a colon
    return following in (["NAME", "COLON"], ["NAME", "COMMA"])


def _statement_tokens(tokens: Sequence[Syntax]) -> Iterator[tuple[list[Syntax], bool]]:
    """Yield the tokens between two separators, followed by ``$END``, and whether they are the first ones on their line."""
    part: list[Syntax] = []
    begins_line = True
    for token in tokens:
        if token.kind not in ("_SEPARATOR", "$END"):
            part.append(token)
            continue
        if part:
            end = part[-1].span[1]
            yield [*part, new_token("$END", "", (end, end))], begins_line
            begins_line = False
        part = []
        begins_line = begins_line or token.text == "\n"
