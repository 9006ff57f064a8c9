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

    A name of ``torch.func`` is an error, because its functions return functions.
    """
    plain: list[Syntax] = []
    i = 0
    while i < len(tokens):
        first = tokens[i]
        follows_dot = bool(plain) and plain[-1].kind == "DOT"
        if first.kind == "NAME" and first.text in ("torch", "func") and not follows_dot:
            while tokens[i].text in ("torch", *_NAMESPACES) and _is_followed_by_dot_and_name(tokens, i):
                i += 2  # to the name after the dot
            if tokens[i].text == "func" and _is_followed_by_dot_and_name(tokens, i):
                name = tokens[i + 2]
                span = (first.span[0], name.span[1])
                raise ParseError(f"torch.func.{name.text} is not available in programs", span=span, source=source, hint=PACKAGE)
        plain.append(tokens[i])
        i += 1
    return plain


def _is_followed_by_dot_and_name(tokens: list[Syntax], i: int) -> bool:
    return [token.kind for token in tokens[i + 1 : i + 3]] == ["DOT", "NAME"]
