"""The parser: an LALR(1) driver for the tables that lark generates from the grammar.

The stacks are lists, so only memory limits the nesting depth.  Inside brackets, a newline does not end a statement.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from autodiff_cli.errors import LimitError, ParseError, Span, setting
from autodiff_cli.language import limited_reading
from autodiff_cli.language.tree import Syntax
from autodiff_cli.limits import lifted

MOST_TOKENS = 500_000
"""The maximum number of tokens of a program; parsing and evaluating this many takes about ten seconds."""
_CONTROL = "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]"
"""Control characters, which are refused even in strings and comments, because a terminal would interpret them in messages."""
_OPEN = {"(": ")", "[": "]"}
_WITH_COMMAS = r"\d+(?:,\d+)+(?:\.\d+)?"
_TABLES: dict[str, Any] = {}
_TOKEN: re.Pattern[str]


def _load_tables() -> None:
    """Set ``_TABLES`` and ``_TOKEN`` from the generated module, which takes some milliseconds that a help text does not need."""
    global _TOKEN
    from autodiff_cli.language import _tables

    _TABLES.update(_tables.TABLES)
    _TOKEN = re.compile(_TABLES["tokens"])


def tokenize(source: str, start: int = 0) -> list[Syntax]:
    """Return the tokens of a text from position ``start``, without comments and blanks, followed by ``$END``.

    Raises:
        ParseError: if a character does not begin a token, or a bracket is unmatched.
        LimitError: if the text would take too long to parse.
    """
    _check_text(source, start)
    if not _TABLES:
        _load_tables()
    ignored, literals, keywords = set(_TABLES["ignored"]), _TABLES["literals"], _TABLES["keywords"]
    tokens: list[Syntax] = []
    open_brackets: list[Syntax] = []
    position = start
    while position < len(source):
        word = _TOKEN.match(source, position)
        if word is None:
            raise _bad_character_error(source, position)
        kind, text, span = str(word.lastgroup), word.group(), word.span()
        position = span[1]
        if kind in ignored or (kind == "_SEPARATOR" and text == "\n" and open_brackets):
            continue  # inside brackets, a line end is a blank
        if kind == "_SEPARATOR" and open_brackets:
            raise _open_bracket_error(open_brackets[-1], span[1], source)
        if kind == "NAME":
            _check_name(text, span[0], source)
            kind = keywords.get(text, kind)
        elif kind == "LITERAL":
            kind = literals[text]
        token = Syntax(kind, [], text, span)
        if text in _OPEN:
            open_brackets.append(token)
        elif text in (")", "]"):
            _pop_bracket(token, open_brackets, source)
        tokens.append(token)
        if len(tokens) > MOST_TOKENS and not lifted():
            raise _too_long_error(f"more than {MOST_TOKENS:,} words and signs")
    if open_brackets:
        raise _open_bracket_error(open_brackets[-1], None, source)
    tokens.append(Syntax("$END", [], "", (len(source), len(source))))
    return tokens


def _check_name(text: str, start: int, source: str) -> None:
    """Raise an error for a superscript in a name, which a regular expression treats as a letter."""
    if not text.isidentifier():
        length = next(i for i in range(len(text)) if not text[: i + 1].isidentifier())
        raise _bad_character_error(source, start + length)


def _check_text(source: str, start: int) -> None:
    """Raise an error if a text is too long, or contains a control character from position ``start``."""
    if len(source) > limited_reading.MOST_TEXT and not lifted():
        raise _too_long_error(f"{len(source):,} characters")
    if not source.isprintable() and (control := re.search(_CONTROL, source[start:])):  # ``isprintable`` is a fast first test
        raise _bad_character_error(source, start + control.start())


def _open_bracket_error(opened: Syntax, end: int | None, source: str) -> ParseError:
    """Return the error for a bracket that is open after the ``;`` that ends at ``end``; ``None`` is the end of the text."""
    closing = _OPEN[opened.text]
    if end is None:
        return ParseError(f"'{opened.text}' is never closed", span=opened.span, source=source, hint=f"add a '{closing}'")
    message = f"';' ends a statement, and '{opened.text}' is still open"
    hint = f"write ',' between values, or close the bracket with '{closing}' before ';'"
    return ParseError(message, span=(opened.span[0], end), source=source, hint=hint)


def _pop_bracket(token: Syntax, open_brackets: list[Syntax], source: str) -> None:
    """Remove the innermost open bracket from the stack; raise an error if the token does not close it."""
    if not open_brackets:
        hint = f"remove it, or open it with '{'(' if token.text == ')' else '['}'"
        raise ParseError(f"'{token.text}' closes nothing", span=token.span, source=source, hint=hint)
    opened = open_brackets.pop()
    expected = _OPEN[opened.text]
    if expected != token.text:
        message = f"'{opened.text}' is closed by '{token.text}'"
        raise ParseError(message, span=token.span, source=source, hint=f"write '{expected}' here")


def _too_long_error(size: str) -> LimitError:
    """Return the error for a program of too many characters or tokens; ``size`` says how many of which."""
    hint = f"lift the limit with {setting('no_limits')} if the command supports it"
    return LimitError(f"the expression is too long: {size}", hint=hint)


_CHARACTER_HINTS = {
    "&": "write 'and'",
    "|": "write 'or', or abs(x) for an absolute value",
    "!": "write 'not' for a negation, or gamma(x + 1) for a factorial",
    **dict.fromkeys("\N{MINUS SIGN}\N{EN DASH}", "use the ASCII minus sign -"),
    **dict.fromkeys("\N{MULTIPLICATION SIGN}\N{MIDDLE DOT}\N{DOT OPERATOR}\N{ASTERISK OPERATOR}", "write *"),
    "\N{DIVISION SIGN}": "write /",
    "\N{SQUARE ROOT}": "write sqrt(x)",
    "\N{INFINITY}": "write inf",
    "\N{LESS-THAN OR EQUAL TO}": "write <=",
    "\N{GREATER-THAN OR EQUAL TO}": "write >=",
    "\N{NOT EQUAL TO}": "write !=",
    **dict.fromkeys("\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}", "use ASCII quotes"),
    "\\": "write names without a backslash: sin(x), pi",
    "$": "remove it, or use single quotes: in double quotes, the shell replaces $name with a shell variable",
    "?": "write a conditional as 'a if condition else b'",
    **dict.fromkeys("{}", "write lists with [ ]"),
    "~": "write 'not' for a negation",
    "\N{N-ARY SUMMATION}": "write a sum over an index as sum(i=1..10, x**i)",
    "\N{N-ARY PRODUCT}": "write a product over an index as prod(i=1..10, x + i)",
    "\N{PARTIAL DIFFERENTIAL}": f"derivatives are with respect to the variables of {setting('at')} or {setting('wrt')}",
    '"': "close the text with another quote",
    "'": f"close the text with another quote, or use {setting('order')} for derivatives instead of a prime",
}


def _bad_character_error(source: str, position: int) -> ParseError:
    """Return the error for a character that does not begin a token, with what to write instead if it is a common sign."""
    character, before = source[position], source[:position]
    label = f"'{character}'" if character.isprintable() and character != "'" else repr(character)  # "'", or an escape
    if character in "\"'" and before.endswith(character):  # three quotes, as in Python
        hint: str | None = "write a text on one line, between two quotes, and a comment after #"
    else:
        hint = _CHARACTER_HINTS.get(character) or _ascii_hint(character, before)
    return ParseError(f"unexpected character {label}", span=(position, position + 1), source=source, hint=hint)


def _ascii_hint(character: str, before: str) -> str | None:
    """Return a hint for a printed sign: a superscript, a fraction or a degree sign after the text ``before``, else ``None``."""
    import unicodedata

    if character == "\N{DEGREE SIGN}":
        number = re.search(r"[\d.]+$", before)
        return f"write an angle in degrees as deg2rad({number.group() if number else 'x'})"
    text = unicodedata.normalize("NFKC", character).translate({0x2212: "-", 0x2044: "/"})  # minus sign, fraction slash
    if text == character or not (text.isascii() and text.isprintable()):
        return None
    kind = unicodedata.decomposition(character).partition(" ")[0]
    if kind == "<super>":
        return f"write **{text}"
    return f"write ({text})" if kind == "<fraction>" else f"write {text}"


def parse(source: str) -> Syntax:
    """Return the tree of a program: a ``start`` node with its statements.

    Raises:
        ParseError: if the text is not a valid program; the error has the position and, for common mistakes, a hint.
    """
    tokens = tokenize(source)
    if all(token.kind in ("_SEPARATOR", "$END") for token in tokens):
        raise ParseError("the expression is empty", span=(0, len(source)), source=source, hint="write one, for example 'x**2'")
    return parse_tokens(source, tokens)


def parse_tokens(source: str, tokens: list[Syntax]) -> Syntax:
    """Return the tree of a list of tokens that ends with ``$END``; the errors are those of ``parse``.

    This is a shift-reduce parser.  In a state, the next token leads to an action: a number of at least 0 is the state after the
    token is shifted, a negative one is ``~rule`` for the rule by which the last values are reduced to one.
    """
    actions, rules, end = _TABLES["actions"], _TABLES["rules"], _TABLES["end"]
    states: list[int] = [_TABLES["start"]]
    values: list[Syntax] = []
    spans: list[Span] = []  # the spans of the values, including enclosing brackets
    index = 0
    token = tokens[0]
    while True:
        action = actions[states[-1]].get(token.kind)
        if action is None:
            raise _unexpected_token_error(source, tokens, index, actions[states[-1]])
        if action >= 0:
            states.append(action)
            values.append(token)
            spans.append(token.span)
            index += 1
            token = tokens[index]
            continue
        symbol, length, kind, places, inlined, transparent = rules[~action]  # ``length`` values become one ``symbol``
        parts = values[len(values) - length :]
        if length:
            span = (spans[-length][0], spans[-1][1])
            del values[-length:], spans[-length:], states[-length:]
        else:
            span = (token.span[0], token.span[0])
        values.append(_node_of_rule(parts, span, kind, places, inlined, transparent))
        spans.append(span)
        states.append(actions[states[-1]][symbol])
        if states[-1] == end and token.kind == "$END":
            return values[0]


def _node_of_rule(
    parts: list[Syntax], span: Span, kind: str, places: Sequence[int], inlined: Sequence[int], transparent: bool
) -> Syntax:
    """Return the node of a grammar rule from the parts that its right side matched, of which it keeps those at ``places``.

    Parts at ``inlined`` are repetitions, whose children become those of the node.  A ``transparent`` node of one part is that part.
    """
    if transparent and len(places) == 1:
        return parts[places[0]]
    children: list[Syntax] = []
    for i in places:
        part = parts[i]
        if i not in inlined:
            children.append(part)
        elif not children:
            # The list of a repetition grows in place: copying it for each item would take quadratic time.
            children = part.children
        else:
            children.extend(part.children)
    return Syntax(kind, children, "", span)


_KEYWORD_HINTS = {
    **dict.fromkeys(("lambda", "def"), "write a function as f(x) = x**2"),
    "return": "remove it: the last expression is the output",
    "let": "write 'y = x**2' to name a value",
    **dict.fromkeys(("import", "from"), "remove it: all functions are available without an import"),
    "for": "write a sum over an index as sum(k=1..3, x**k); functions work on all elements of a list",
    "while": "use a function that calls itself instead of a loop",
}
"""Keywords of other languages, with a hint for each."""


def _function_power_hint(tokens: list[Syntax], index: int) -> str | None:
    """Return a hint for ``sin^2(x)`` and ``sin^-1(x)``, whose argument begins at ``index``; ``None`` for anything else."""
    texts = [token.text for token in tokens[max(0, index - 4) : index] if token.text != "-"]  # name, power, minus, exponent
    *_, name, power, exponent = ["", "", *texts]  # there may be fewer tokens
    if tokens[index].kind != "LPAR" or name not in _POWERS_IN_FRONT or power not in ("^", "**"):
        return None
    has_minus = tokens[index - 2].text == "-"
    if not has_minus:
        return f"write {name}(...)**{exponent}"
    may_mean_inverse = exponent == "1" and name not in ("log", "ln")
    inverse = f"a{name}(...) for the inverse function, or " if may_mean_inverse else ""
    return f"write {inverse}{name}(...)**-{exponent}"


def _hint_between_operands(before: Syntax, left: str, right: str) -> str:
    """Return a hint for the operands ``left`` and ``right`` without an operator; ``before`` is the last token of ``left``."""
    if right in ("for", "while"):
        return _KEYWORD_HINTS[right]
    if right in ("where", "with", "at"):
        return f"give variables their values with {setting('at', 'x=3')}"
    if before.kind in ("RPAR", "RSQB"):
        return f"write *{right} to multiply"
    if left in _KEYWORD_HINTS:
        return _KEYWORD_HINTS[left]
    if before.kind == "NAME" and len(left) == 2 and left[0] == "d":  # as in dx or dy
        return f"remove d/dx: derivatives are with respect to the variables of {setting('at')} or {setting('wrt')}"
    if before.kind == "NAME" and len(left) > 1 and right != "(...)":
        return f"write {left}({right}) to call a function, or {left}*{right} to multiply"
    return f"write {left}*{right}"


def _outer_comma(tokens: list[Syntax], index: int) -> int | None:
    """Return the position of the comma outside of brackets that makes the token at ``index`` unexpected; ``None`` without one."""
    first = _statement_start(tokens, index)
    comma = index
    if all(token.kind in ("NAME", "COMMA") for token in tokens[first:index]):  # as in "a, b = 1", where = is unexpected
        comma = next((i for i in range(first + 1, index) if tokens[i].kind == "COMMA"), index)
    if comma == first or tokens[comma].kind != "COMMA":  # a comma at the start separates nothing
        return None
    texts = [token.text for token in tokens[first:comma]]
    open_brackets = sum(text in _OPEN for text in texts) - sum(text in _OPEN.values() for text in texts)
    return comma if open_brackets == 0 else None


def _statement_start(tokens: list[Syntax], index: int) -> int:
    """Return the position of the first token of the statement that contains the token at ``index``."""
    return next((i for i in range(index, 0, -1) if tokens[i - 1].kind == "_SEPARATOR"), 0)


def _comma_hint(source: str, tokens: list[Syntax], comma: int) -> str:
    """Return a hint for a comma outside of brackets, which may separate values or be the decimal separator of a number."""
    first = _statement_start(tokens, comma)
    last = next(i for i in range(comma, len(tokens)) if tokens[i].kind in ("_SEPARATOR", "$END"))
    statement = tokens[first:last]
    text = source[statement[0].span[0] : statement[-1].span[1]]
    if len(text) > _LONGEST_EXAMPLE or any(token.kind == "EQUAL" for token in statement):
        text = "a, b"  # instead of a long text, or of one that is not a list
    ways = [comma_number_hint(source, tokens[comma].span[0]), f"[{text}] for a list"]
    if all(token.kind in ("NAME", "COMMA") for token in statement):
        ways.append("a, b = ... to name the elements of a list")
    return f"write {', or '.join(filter(None, ways))}"


def comma_number_hint(source: str, comma: int) -> str | None:
    """Return ``3.5 with a decimal point`` for the position of the comma in ``3,5``, or ``1000 without commas``, or ``None``."""
    numbers = re.finditer(_WITH_COMMAS, source)
    text = next((number.group() for number in numbers if number.start() <= comma < number.end()), "")
    whole, *groups = text.split(",")
    if len(groups) == 1 and "." not in text:
        return f"{whole}.{groups[0]} with a decimal point"
    are_thousands = all(len(group.partition(".")[0]) == 3 for group in groups)  # the last group may have decimals
    return f"{text.replace(',', '')} without commas" if groups and are_thousands else None


_LONGEST_EXAMPLE = 40
"""The maximum length of a text that a hint repeats."""
_POWERS_IN_FRONT = ("sin", "cos", "tan", "sinh", "cosh", "tanh", "log", "ln")
"""The functions whose power is written before the argument in mathematics."""
_OPERAND_END = ("NUMBER", "NAME", "RPAR", "RSQB", "STRING", "TRUE", "FALSE")
_OPERAND_START = ("NUMBER", "NAME", "LPAR", "STRING", "TRUE", "FALSE")


def _unexpected_token_error(source: str, tokens: list[Syntax], index: int, expected: dict[str, int]) -> ParseError:
    """Return the error for the token at ``index``; the keys of ``expected`` are the kinds of tokens that may stand there."""
    token = tokens[index]
    before = tokens[index - 1] if index else None
    if before is not None and token.kind == "STRING" and before.span[1] == token.span[0]:
        return _bad_character_error(source, token.span[0])  # the quote, as the prime in f'(x)
    if before is not None and before.kind in _OPERAND_END and token.kind in _OPERAND_START:
        span: Span = (before.span[0], token.span[1])
        left = source[before.span[0] : before.span[1]]
        right = "(...)" if token.kind == "LPAR" else token.text
        hint = _function_power_hint(tokens, index) or _hint_between_operands(before, left, right)
        return ParseError(f"missing operator between '{before.text}' and '{token.text}'", span=span, source=source, hint=hint)
    comma = _outer_comma(tokens, index)
    if comma is not None:
        return ParseError("unexpected ','", span=tokens[comma].span, source=source, hint=_comma_hint(source, tokens, comma))
    if token.kind in ("$END", "_SEPARATOR"):
        assert before is not None  # because ``parse`` refuses an empty program
        message = f"the expression is incomplete after '{before.text}'"
        return ParseError(message, span=before.span, source=source, hint="complete the expression")
    message = f"unexpected '{token.text.strip()}'"
    return ParseError(message, span=token.span, source=source, hint=_unexpected_token_hint(token, before, expected))


def _unexpected_token_hint(token: Syntax, before: Syntax | None, expected: dict[str, int]) -> str | None:
    """Return a hint for a token that is of no kind in ``expected``; the token ``before`` it is ``None`` at the beginning."""
    if token.kind == "EQUAL":
        return "write == to compare, or put 'name = expression' at the start of a statement"
    if token.kind == "COLON" and _TABLES["literals"][".."] in expected:
        return "write the range of an index with two dots: i=1..10"
    ends_arrow = token.text == ">" and before is not None and before.text in ("-", "=") and before.span[1] == token.span[0]
    if ends_arrow:
        return "write a function as f(x) = x**2; in a program, also as lambda x: x**2"
    if before is None or before.kind in ("LPAR", "COMMA", "LSQB") or "NAME" in expected:
        return f"write a value before '{token.text.strip()}'"
    if token.kind in ("IF", "ELSE") or ("ELSE" in expected and "RPAR" not in expected):
        return "write a conditional as 'a if condition else b'"
    return None
