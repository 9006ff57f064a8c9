"""MathML for the LaTeX that ``--format latex`` prints, so that browsers typeset formulas without a library."""

from __future__ import annotations

import re
from html import escape

_TOKEN = re.compile(r"\\(?:[a-zA-Z]+|.)|\d+(?:\.\d+)?|\S")
_GREEK = (
    *("alpha", "beta", "gamma", "delta", "theta", "lambda", "mu", "nu", "pi", "rho", "sigma", "tau", "phi", "psi", "omega"),
    *("Gamma", "Sigma", "Phi"),
)
_GREEK_LETTERS = dict(zip(_GREEK, "αβγδθλμνπρστφψωΓΣΦ", strict=True))
_FUNCTIONS = frozenset(
    [*("log", "ln", "exp", "sin", "cos", "tan", "sinh", "cosh", "tanh"), *("arcsin", "arccos", "arctan", "det", "max", "min")]
)
_SIGNS = {
    **{"cdot": "·", "odot": "⊙", "oslash": "⊘", "times": "×", "otimes": "⊗", "circ": "∘", "infty": "∞", "sum": "∑"},
    **{"le": "≤", "ge": "≥", "ne": "≠", "lVert": "‖", "rVert": "‖", "|": "‖", "lvert": "|", "rvert": "|", "quad": "\u2003"},
}
_SPACES = {",": "0.12em", ";": "0.28em", ":": "0.22em", " ": "0.25em", "!": "-0.1em", "quad": "1em"}
_BOLD, _UPRIGHT = ("mathbf", "boldsymbol"), ("mathrm", "operatorname", "text", "textrm")
_FENCES = {"left", "right"}


def mathml(latex: str) -> str:
    """Return the ``math`` element of a formula.

    Raises:
        ValueError: if the formula contains a command that the pages do not need yet.
    """
    reader = _Reader(_TOKEN.findall(latex))
    return f"<math>{reader.row('')}</math>"


class _Reader:
    """Reads a formula from left to right.  The formulas of the pages are short, so that groups may be read recursively."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens[::-1]

    def row(self, end: str) -> str:
        """Read the elements before a token, or before the end of the formula, and return them as one element."""
        parts: list[str] = []
        while self.tokens and self.tokens[-1] != end:
            token = self.tokens.pop()
            parts.append(self.script(parts.pop(), token) if token in ("^", "_") else self.element(token))
        if end:
            self.tokens.pop()
        return f"<mrow>{''.join(parts)}</mrow>"

    def script(self, base: str, token: str) -> str:
        first = self.argument()
        if self.tokens and self.tokens[-1] in {"^", "_"} - {token}:
            self.tokens.pop()
            second = self.argument()
            below, above = (first, second) if token == "_" else (second, first)
            return f"<msubsup>{base}{below}{above}</msubsup>"
        kind = "msup" if token == "^" else "msub"
        return f"<{kind}>{base}{first}</{kind}>"

    def argument(self) -> str:
        return self.element(self.tokens.pop())

    def word(self) -> str:
        """Read a group of letters."""
        letters = []
        self.tokens.pop()
        while (token := self.tokens.pop()) != "}":
            letters.append(_GREEK_LETTERS.get(token[1:], token.lstrip("\\")))
        return "".join(letters)

    def element(self, token: str) -> str:
        if token == "{":
            return self.row("}")
        if token.startswith("\\"):
            return self.command(token[1:])
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{token}</mi>"
        return _operator("−" if token == "-" else token)

    def command(self, name: str) -> str:
        if name == "frac":
            return f"<mfrac>{self.argument()}{self.argument()}</mfrac>"
        if name == "sqrt":
            return f"<msqrt>{self.argument()}</msqrt>"
        if name in _BOLD:
            return f'<mi class="bold">{self.word()}</mi>'
        if name in _UPRIGHT:
            return f'<mi mathvariant="normal">{self.word()}</mi>' + "<mspace width='0.1em'></mspace>" * (name == "operatorname")
        if name in _FENCES:
            return self.fence(self.tokens.pop())
        if name == "top":  # no operator: the exponent of a transpose has no spaces
            return "<mi>⊤</mi>"
        if name in _GREEK:
            return f"<mi>{_GREEK_LETTERS[name]}</mi>"
        if name in _FUNCTIONS:
            return f"<mi>{name}</mi>"
        if name in _SPACES:
            return f'<mspace width="{_SPACES[name]}"></mspace>'
        if name in _SIGNS:
            return _operator(_SIGNS[name])
        raise ValueError(f"say in tests/pages/mathml.py what \\{name} is")

    def fence(self, token: str) -> str:
        return f'<mo stretchy="true">{_SIGNS.get(token[1:], token.lstrip(chr(92)))}</mo>'


def _operator(sign: str) -> str:
    return f'<mo stretchy="false">{escape(sign)}</mo>'
