"""Names with the prefixes of PyTorch's modules: ``torch.log`` and ``torch.nn.functional.relu`` are ``log`` and ``relu``."""

from __future__ import annotations

from autodiff_cli.errors import ParseError, setting
from autodiff_cli.language.tree import Syntax

PACKAGE = f"for more of Python, write a Python program: run FILE.py, or add {setting('python')}"
"""The hint for everything that programs do not contain."""
_NAMESPACES = (
    *("autograd", "functional", "nn", "linalg", "special", "optim", "utils", "checkpoint", "graph", "forward_ad"),
    "random",
)
"""The parts of PyTorch's namespaces whose names are names of the language."""


def without_prefixes(tokens: list[Syntax], source: str) -> list[Syntax]:
    """Return the tokens of a statement without prefixes such as ``torch.nn.``; a name after another dot is not a prefix.

    Raises:
        ParseError: for a name of ``torch.func``, whose functions return functions.
    """
    plain: list[Syntax] = []
    i = 0
    while i < len(tokens):
        token = tokens[i]
        is_first = token.kind == "NAME" and not (plain and plain[-1].kind == "DOT")
        if is_first and token.text in ("torch", "func") and _is_followed_by_dot_and_name(tokens, i):
            while tokens[i].text in ("torch", *_NAMESPACES) and _is_followed_by_dot_and_name(tokens, i):
                i += 2
            if tokens[i].text == "func" and _is_followed_by_dot_and_name(tokens, i):
                name = tokens[i + 2]
                span = (token.span[0], name.span[1])
                raise ParseError(f"torch.func.{name.text} is not available in programs", span=span, source=source, hint=PACKAGE)
            plain.append(tokens[i])
        else:
            plain.append(token)
        i += 1
    return plain


def _is_followed_by_dot_and_name(tokens: list[Syntax], i: int) -> bool:
    return [token.kind for token in tokens[i + 1 : i + 3]] == ["DOT", "NAME"]
