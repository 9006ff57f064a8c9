"""Text to tree: an LALR(1) driver over the tables that lark made of the grammar.

The stacks are lists, so nesting is limited by memory only.  Inside brackets a newline separates nothing.
"""

from __future__ import annotations

import re
from typing import Any

from autodiff_cli.errors import LimitError, ParseError, Span
from autodiff_cli.language import source_text
from autodiff_cli.language.grammar import tables
from autodiff_cli.language.tree import Syntax
from autodiff_cli.limits import lifted

MOST_TOKENS = 500_000
"""Words and signs of a program: as many are read and evaluated in about ten seconds."""
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")
"""No text has them, in quotes and comments neither: a terminal that is shown an expression would obey them."""
_OPEN = {"(": ")", "[": "]"}
_TABLES: dict[str, Any] = {}
_TOKEN: re.Pattern[str]


def _load() -> None:
    global _TOKEN
    _TABLES.update(tables())
    _TOKEN = re.compile(_TABLES["tokens"])


def tokenize(source: str, start: int = 0) -> list[Syntax]:
    """The tokens of a text from a position on, ended by ``$END``.

    Raises:
        ParseError: at a character that begins no token, or a bracket that is not closed or not opened.
        LimitError: for a text that takes too long to read.
    """
    if len(source) > source_text.MOST_TEXT and not lifted():
        raise _too_long(f"{len(source):,} characters")
    if not _TABLES:
        _load()
    control = _CONTROL.search(source, start)
    if control is not None:
        raise _bad_character(source, control.start())
    ignored, literals, keywords = set(_TABLES["ignored"]), _TABLES["literals"], _TABLES["keywords"]
    match = _TOKEN.match
    tokens: list[Syntax] = []
    open_brackets: list[Syntax] = []
    position = start
    while position < len(source):
        found = match(source, position)
        if found is None:
            raise _bad_character(source, position)
        kind, text = str(found.lastgroup), found.group()
        span = (position, found.end())
        position = found.end()
        if kind in ignored or (kind == "_SEPARATOR" and text == "\n" and open_brackets):
            continue
        if kind == "_SEPARATOR" and open_brackets:
            opened = open_brackets[-1]
            raise ParseError(
                f"';' ends a statement, and '{opened.text}' is still open",
                span=(opened.span[0], span[1]),
                source=source,
                hint=f"write ',' between values, or close the bracket with '{_OPEN[opened.text]}' before it",
            )
        if kind == "NAME":
            if not text.isidentifier():
                # A superscript is a letter to a regular expression, not to a reader.
                wrong = next(i for i in range(1, len(text) + 1) if not text[:i].isidentifier())
                raise _bad_character(source, span[0] + wrong - 1)
            kind = keywords.get(text, kind)
        elif kind == "LITERAL":
            kind = literals[text]
        token = Syntax(kind, [], text, span)
        if text in _OPEN:
            open_brackets.append(token)
        elif text in (")", "]"):
            if not open_brackets:
                raise ParseError(
                    f"'{text}' closes nothing",
                    span=span,
                    source=source,
                    hint=f"remove it, or open it with '{'(' if text == ')' else '['}'",
                )
            opened = open_brackets.pop()
            if _OPEN[opened.text] != text:
                raise ParseError(
                    f"'{opened.text}' is closed by '{text}'", span=span, source=source, hint=f"write '{_OPEN[opened.text]}' here"
                )
        tokens.append(token)
        if len(tokens) > MOST_TOKENS and not lifted():
            raise _too_long(f"more than {MOST_TOKENS:,} words and signs")
    if open_brackets:
        opened = open_brackets[-1]
        raise ParseError(f"'{opened.text}' is never closed", span=opened.span, source=source, hint=f"add a '{_OPEN[opened.text]}'")
    tokens.append(Syntax("$END", [], "", (len(source), len(source))))
    return tokens


def _too_long(size: str) -> LimitError:
    return LimitError(f"the expression is too long: {size}", hint="--no-limits allows it, in commands that have it")


_MEANT = {
    "&": "write 'and'",
    "|": "write 'or'; for an absolute value, abs(x)",
    "!": "write 'not'; there is no factorial",
    "\N{MINUS SIGN}": "write the minus of the keyboard, -",
    "\N{EN DASH}": "write the minus of the keyboard, -",
    "\N{MULTIPLICATION SIGN}": "write *",
    "\N{MIDDLE DOT}": "write *",
    "\N{DIVISION SIGN}": "write /",
    "\N{SUPERSCRIPT TWO}": "write **2",
    "\N{SUPERSCRIPT THREE}": "write **3",
    "\N{SQUARE ROOT}": "write sqrt(x)",
    "\N{INFINITY}": "write inf",
    "\N{LESS-THAN OR EQUAL TO}": "write <=",
    "\N{GREATER-THAN OR EQUAL TO}": "write >=",
    "\N{NOT EQUAL TO}": "write !=",
    "\N{LEFT DOUBLE QUOTATION MARK}": "write the quotes of the keyboard",
    "\N{RIGHT DOUBLE QUOTATION MARK}": "write the quotes of the keyboard",
    "\\": "names have no backslash: sin(x), pi",
    "$": "leave it out; in double quotes the shell puts its own variables in place of $name",
    "?": "a choice is written 'a if condition else b'",
    "{": "write lists with [ ]",
    "}": "write lists with [ ]",
    '"': "close the text with another quote",
    "'": "close the text with another quote; derivatives are not written with a prime, use --order",
}


def _bad_character(source: str, position: int) -> ParseError:
    character = source[position]
    shown = f"'{character}'" if character.isprintable() and character != "'" else repr(character)
    return ParseError(f"unexpected character {shown}", span=(position, position + 1), source=source, hint=_MEANT.get(character))


def parse(source: str) -> Syntax:
    """The tree of a program: a ``start`` node with its statements.

    Raises:
        ParseError: with the place and what to write instead, where that can be guessed.
    """
    tokens = tokenize(source)
    if all(token.kind in ("_SEPARATOR", "$END") for token in tokens):
        raise ParseError("the expression is empty", span=(0, len(source)), source=source, hint="write one, for example 'x**2'")
    return parse_tokens(source, tokens)


def parse_tokens(source: str, tokens: list[Syntax]) -> Syntax:
    """The tree of tokens that ``tokenize`` found; the last of them is ``$END``.

    Raises:
        ParseError: with the place and what to write instead, where that can be guessed.
    """
    actions, rules, end = _TABLES["actions"], _TABLES["rules"], _TABLES["end"]
    states: list[int] = [_TABLES["start"]]
    values: list[Syntax] = []
    spans: list[Span] = []  # of the values with the brackets around them, which the values themselves leave out
    index = 0
    token = tokens[0]
    while True:
        action = actions[states[-1]].get(token.kind)
        if action is None:
            raise _unexpected(source, tokens, index, actions[states[-1]])
        if action >= 0:
            states.append(action)
            values.append(token)
            spans.append(token.span)
            index += 1
            token = tokens[index]
            continue
        left, length, kind, kept, inlined, transparent = rules[~action]
        parts = values[len(values) - length :] if length else []
        if length:
            span = (spans[-length][0], spans[-1][1])
            del values[-length:], spans[-length:], states[-length:]
        else:
            span = (token.span[0], token.span[0])
        values.append(_reduce(kind, parts, kept, inlined, transparent, span))
        spans.append(span)
        states.append(actions[states[-1]][left])
        if states[-1] == end and token.kind == "$END":
            return values[0]


def _reduce(kind: str, parts: list[Syntax], kept: Any, inlined: Any, transparent: bool, span: Span) -> Syntax:
    if transparent and len(kept) == 1:
        only: Syntax = parts[kept[0]]
        return only
    children: list[Syntax] = []
    for i in kept:
        part = parts[i]
        if i not in inlined:
            children.append(part)
        elif not children:
            # The list of a repetition grows in place: copying it for each item would take quadratic time.
            children = part.children
        else:
            children.extend(part.children)
    return Syntax(kind, children, "", span)


_FUNCTION = "a function is written f(x) = x**2"
_FOREIGN = {
    "lambda": _FUNCTION,
    "def": _FUNCTION,
    "return": "the last expression is the output",
    "let": "a name is given a value with 'y = x**2'",
    "import": "there is nothing to import: all functions are there",
    "from": "there is nothing to import: all functions are there",
    "for": "there are no loops: a list of numbers is one tensor, and functions work on all of its elements",
    "while": "there are no loops: a function may call itself",
}
"""Words of other languages."""


def _between(before: Syntax, left: str, right: str) -> str:
    """What may be missing between two operands: a product, or the brackets of a call."""
    if before.kind in ("RPAR", "RSQB"):
        return f"write *{right} to multiply"
    if left in _FOREIGN:
        return _FOREIGN[left]
    if before.kind == "NAME" and len(left) == 2 and left[0] == "d":
        return "leave d/dx out: autodiff differentiates by what --at, or --wrt, names"
    if before.kind == "NAME" and len(left) > 1 and right != "(...)":
        return f"write {left}({right}) to call a function, {left}*{right} to multiply"
    return f"write {left}*{right}"


_OPERAND_END = ("NUMBER", "NAME", "RPAR", "RSQB", "STRING", "TRUE", "FALSE")
_OPERAND_START = ("NUMBER", "NAME", "LPAR", "STRING", "TRUE", "FALSE")


def _unexpected(source: str, tokens: list[Syntax], index: int, expected: dict[str, int]) -> ParseError:
    """The error at a token that fits nowhere, with a guess at what was meant."""
    token = tokens[index]
    before = tokens[index - 1] if index else None
    text = token.text.strip() or "the end of the line"
    if before is not None and token.kind == "STRING" and before.span[1] == token.span[0]:
        return _bad_character(source, token.span[0])
    if before is not None and before.kind in _OPERAND_END and token.kind in _OPERAND_START:
        span: Span = (before.span[0], token.span[1])
        left = source[before.span[0] : before.span[1]]
        right = "(...)" if token.kind == "LPAR" else token.text
        return ParseError(
            f"nothing between '{before.text}' and '{token.text}'",
            span=span,
            source=source,
            hint=_between(before, left, right),
        )
    if token.kind == "$END" or token.kind == "_SEPARATOR":
        assert before is not None
        if "EQUAL" in expected and "COMMA" in expected:
            # Names with commas between them, and nothing else since the statement began.
            first = index
            while first and tokens[first - 1].kind in ("NAME", "COMMA"):
                first -= 1
            return ParseError(
                "unexpected ','",
                span=tokens[first + 1].span,
                source=source,
                hint="write [a, b] for a list, or a, b = ... to name the elements of one",
            )
        return ParseError(
            f"something is missing after '{before.text}'", span=before.span, source=source, hint="the expression ends here"
        )
    hint = None
    if token.kind == "EQUAL":
        hint = "write == to compare; a name is given a value with 'name = expression' at the start of a statement"
    elif before is None or before.kind in ("LPAR", "COMMA", "LSQB") or "NAME" in expected:
        hint = f"a value is expected before '{text}'"
    elif token.kind in ("IF", "ELSE") or ("ELSE" in expected and "RPAR" not in expected):
        hint = "a choice is written 'a if condition else b'"
    return ParseError(f"unexpected '{text}'", span=token.span, source=source, hint=hint)
