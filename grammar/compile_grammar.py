"""Compilation of ``grammar/expression.lark`` into the parser tables ``autodiff_cli/language/_tables.py``.

lark compiles the grammar.  The tables that the parser needs are stored as plain literals, because importing lark takes longer
than a small evaluation.  After a change of the grammar, run ``python grammar/compile_grammar.py``; a test compares the tables
with the grammar.
"""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
GRAMMAR = ROOT / "grammar" / "expression.lark"
TABLES = ROOT / "autodiff_cli" / "language" / "_tables.py"


def checksum(text: str) -> int:
    """Return the checksum of a grammar, which identifies the tables built from the grammar."""
    return zlib.crc32(text.encode())


def build(text: str) -> dict[str, Any]:
    """Return the parser tables of a grammar.

    ``tokens`` is a regular expression with a group for each kind of token except keywords; ``literals`` and ``keywords``
    map literal texts to token kinds; tokens of the kinds in ``ignored`` are skipped.  ``actions[state][symbol]`` is the next
    state, or ``~rule`` for a reduction; each entry of ``rules`` is (left side, length, kind, kept children, inlined
    children, whether a single child replaces the node).
    """
    from lark import Lark
    from lark.grammar import Terminal
    from lark.lexer import PatternStr
    from lark.parsers.lalr_analysis import Shift

    lark = Lark(text, parser="lalr", lexer="basic", maybe_placeholders=False)
    table = lark.parser.parser._parse_table
    rules = lark.rules
    numbers = {rule: i for i, rule in enumerate(rules)}
    actions = [
        {
            str(symbol): target if action is Shift else ~numbers[target]
            for symbol, (action, target) in sorted(table.states[state].items())
        }
        for state in sorted(table.states)
    ]
    keywords, literals, patterns = {}, {}, []
    for terminal in lark.terminals:
        if not isinstance(terminal.pattern, PatternStr):
            patterns.append(terminal)
        elif re.fullmatch(r"[a-z]+", terminal.pattern.value):
            keywords[str(terminal.pattern.value)] = str(terminal.name)
        else:
            literals[str(terminal.pattern.value)] = str(terminal.name)
    # Numbers are matched before the dot, and longer literals before shorter ones.
    patterns.sort(key=lambda terminal: terminal.name == "NAME")
    fixed = "|".join(re.escape(literal) for literal in sorted(literals, key=len, reverse=True))
    return {
        "tokens": "|".join([*(f"(?P<{t.name}>{t.pattern.to_regexp()})" for t in patterns), f"(?P<LITERAL>{fixed})"]),
        "keywords": keywords,
        "literals": literals,
        "ignored": sorted(lark.ignore_tokens),
        "actions": actions,
        "start": table.start_states["start"],
        "end": table.end_states["start"],
        "rules": [
            (
                str(rule.origin.name),
                len(rule.expansion),
                str(rule.alias or rule.origin.name),
                tuple(i for i, s in enumerate(rule.expansion) if not (isinstance(s, Terminal) and s.filter_out)),
                tuple(i for i, s in enumerate(rule.expansion) if not isinstance(s, Terminal) and s.name.startswith("_")),
                bool(rule.options.expand1 and not rule.alias),
            )
            for rule in rules
        ],
    }


def write() -> None:
    """Write ``_tables.py``."""
    text = GRAMMAR.read_text(encoding="utf-8")
    lines = [
        '"""Made from grammar/expression.lark by ``python grammar/compile_grammar.py``.  Do not edit."""',
        "",
        "from typing import Any",
        "",
        f"GRAMMAR_CHECKSUM = {checksum(text)}",
        "TABLES: dict[str, Any] = {",
        *(f"    {key!r}: {value!r}," for key, value in build(text).items()),
        "}",
        "",
    ]
    TABLES.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    write()
