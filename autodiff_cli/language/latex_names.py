"""LaTeX for names, numbers and functions: ``alpha_1`` is ``\\alpha_{1}``, ``asin`` is ``\\arcsin``."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_GREEK = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi", "pi"),
    *("rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega"),
    *("Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega"),
)
CONSTANTS = {"inf": r"\infty", "nan": r"\mathrm{nan}"}
SYMBOLS = {
    **{name: rf"\{name}" for name in ("log", "ln", "exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "det", "max", "min")},
    **{name: rf"\{name}" for name in ("sec", "csc", "cot")},
    **{f"{start}{name}": rf"\arc{name}" for name in ("sin", "cos", "tan") for start in ("a", "arc")},
    **{f"a{name}": rf"\operatorname{{ar{name}}}" for name in ("sinh", "cosh", "tanh")},
    "log2": r"\log_{2}",
    "log10": r"\log_{10}",
    "sign": r"\operatorname{sgn}",
    "gamma": r"\Gamma",
    "digamma": r"\psi",
    "zeta": r"\zeta",
    "beta": r"\mathrm{B}",
    "expi": r"\operatorname{Ei}",
    "exp1": r"\operatorname{E}_{1}",
    "gammainc": r"\operatorname{P}",
    "gammaincc": r"\operatorname{Q}",
    "lambertw": r"\operatorname{W}",
    "sigmoid": r"\sigma",
    "ndtr": r"\Phi",
    "logdet": r"\log\det",
    "diagonal": r"\operatorname{diag}",
    "trace": r"\operatorname{tr}",
    **dict.fromkeys(("maximum", "amax"), r"\max"),
    **dict.fromkeys(("minimum", "amin"), r"\min"),
}
"""Functions with a LaTeX command or symbol; other functions are printed by name."""
_WITH_INVERSES = ("sin", "cos", "tan", "sinh", "cosh", "tanh")
RAISED = {"sec", "csc", "cot", "log", "ln", "log2", "log10", *(start + name for name in _WITH_INVERSES for start in ("", "a"))}
"""Functions whose exponent is written after the name: the square of ``sin(x)`` is ``\\sin^{2}(x)``."""
_SPECIAL = {
    **{c: rf"\{c}" for c in "%$#_{}&"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{"|": r"\textbar{}", "·": r"$\cdot$", "±": r"$\pm$", "∞": r"$\infty$"},
}


def escaped(text: str) -> str:
    """Escape plain text for a LaTeX document; a character that LaTeX cannot print becomes its code point, such as U+4E00."""
    return "".join(_SPECIAL.get(char, char if _is_printed(char) else f"U+{ord(char):04X}") for char in text)


def _is_printed(character: str) -> bool:
    """Return whether a font of LaTeX without further packages has a character."""
    return character.isascii() or ("\u00c0" <= character <= "\u00ff" and character not in "ÐÞðþ×÷")


_SUBSCRIPT = re.compile("[₀-₉]+$")
UNNAMED = "vwutsqrpbcdehklmnaijxyzfgo"
"""Letters for unnamed tensors, in order of preference."""


def unnamed_letter(names: Iterable[str]) -> str:
    """Return a letter for unnamed tensors that none of these names uses; ``v`` with a tilde if all are used."""
    taken = {identifier(name).partition("_")[0] for name in names}
    return next((letter for letter in (*UNNAMED, *UNNAMED.upper()) if letter not in taken), r"\tilde{v}")


def identifier(name: str, unnamed: str = UNNAMED[0]) -> str:
    """Return the LaTeX of a name, with Greek letters, and with a subscript for a trailing number and for the part after ``_``.

    The name ``%3`` is an unnamed tensor, printed with the letter ``unnamed`` as ``v_{3}``; ``y.1`` is a tensor inside ``y``.
    """
    if name.startswith("%"):
        return f"{unnamed}_{{{name[1:]}}}"
    name, point, inside = name.partition(".")  # of ``y.1``: y, a point and 1
    name = _SUBSCRIPT.sub(lambda match: "_" + unicodedata.normalize("NFKC", match[0]), name)  # x₂ is x_2
    stem, *below = [part for part in name.split("_") if part] or [name]  # a name of underscores only has no parts
    letters = stem.rstrip("0123456789")
    digits = stem[len(letters) :]
    if digits and letters and _is_symbol(letters):  # x2 is x_2, but rate2 is one word
        stem, below = letters, [digits, *below]
    base = _word(stem)
    subscript = ",".join(map(_word, below)) + point + inside
    return f"{base}_{{{subscript}}}" if subscript else base


def bold(name: str) -> str:
    """Return the LaTeX of the name of a vector or a matrix, in bold; a Greek letter takes another command than other letters."""
    stem, below, subscript = identifier(name).partition("_{")
    if stem.startswith((r"\mathrm{", r"\text{")):  # a word
        stem = r"\mathbf{" + stem.partition("{")[2]  # the word with its closing brace
    elif stem.startswith("\\"):  # a Greek letter
        stem = rf"\boldsymbol{{{stem}}}"
    else:
        stem = rf"\mathbf{{{stem}}}"
    return stem + below + subscript


def _is_symbol(word: str) -> bool:
    """Return whether a name is one letter, which may be Greek."""
    return len(word) == 1 or word in _GREEK


def _word(word: str) -> str:
    """Return the LaTeX of a part of a name: a Greek letter, another letter, a number or an upright word."""
    if word in _GREEK:
        return rf"\{word}"
    if len(word) == 1 and not word.isascii():
        # Unicode names of Greek letters match the LaTeX commands, but for "lamda"; letters that look Latin do not have a command.
        _, _, small = unicodedata.name(word, "").partition("GREEK SMALL LETTER ")
        _, _, capital = unicodedata.name(word, "").partition("GREEK CAPITAL LETTER ")
        greek = (small.lower() or capital.capitalize()).replace("amda", "ambda")  # one of the two is empty
        if greek in _GREEK:
            return rf"\{greek}"
    if len(word) == 1 and word.isascii():
        return escaped(word)
    if word.isdecimal() and word.isascii():
        return word
    return rf"\mathrm{{{word}}}" if word.isascii() and word.isalnum() else rf"\text{{{escaped(word)}}}"


def function(name: str) -> str:
    """Return the LaTeX of a function name; a name that begins with ``$`` is LaTeX already."""
    if name.startswith("$"):
        return name[1:]
    if name in SYMBOLS:
        return SYMBOLS[name]
    if _is_symbol(name):
        return identifier(name)
    return rf"\operatorname{{{escaped(name)}}}" if name.isascii() else rf"\text{{{escaped(name)}}}"


def number(text: str) -> str:
    """Return the LaTeX of a number in the notation of the language or of Python, such as ``2.5 \\cdot 10^{-3}`` for ``2.5E-3``."""
    unsigned = text.lstrip("+-")
    if unsigned in CONSTANTS:  # inf and nan
        return text.replace(unsigned, CONSTANTS[unsigned])
    digits, _, exponent = text.replace("_", "").lower().partition("e")
    whole, point, decimals = digits.partition(".")
    digits = f"{whole or '0'}.{decimals}" if point and decimals else whole or "0"
    if not exponent:
        return digits
    power = f"10^{{{int(exponent)}}}"
    without_factor = {"1": power, "-1": f"-{power}"}  # 1e3 is a power alone
    return without_factor.get(digits, rf"{digits} \cdot {power}")
