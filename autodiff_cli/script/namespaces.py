"""Names with the prefixes of PyTorch's modules: ``torch.log`` and ``torch.nn.functional.relu`` are ``log`` and ``relu``.

The names of ``torch.func`` keep ``func.``, because ``torch.autograd`` has functions of the same name.
"""

from __future__ import annotations

from autodiff_cli.errors import ParseError, setting
from autodiff_cli.language.tree import CALL_METHOD, Syntax, new_token
from autodiff_cli.unavailable_names import hint_for

PACKAGE = f"for more of Python, write a Python program: run FILE.py, or add {setting('python')}"
"""The hint for everything that programs do not contain."""
_NAMESPACES = (
    *("autograd", "func", "functional", "nn", "linalg", "special", "optim", "utils", "checkpoint", "graph", "forward_ad"),
    "random",
)
"""The parts of PyTorch's namespaces whose names are names of the language."""
TRANSFORMATIONS = ("grad", "grad_and_value", "value_and_grad", "jacrev", "jacfwd", "hessian", "vmap")
"""The functions of ``torch.func`` that return a function."""
PRODUCTS = ("jvp", "vjp")
"""The functions of ``torch.func`` that return tensors, and possibly a function too."""


def without_prefixes(tokens: list[Syntax], source: str) -> list[Syntax]:
    """Return the tokens of a statement without prefixes, and with a method call for the call of a result, as in ``f(x)(y)``.

    Raises:
        ParseError: if ``torch.func`` does not have a name in programs.
    """
    plain: list[Syntax] = []
    i = 0
    while i < len(tokens):
        token = tokens[i]
        first = token.kind == "NAME" and not (plain and plain[-1].kind == "DOT")
        if first and token.text in ("torch", "func") and _is_followed_by_dot_and_name(tokens, i):
            part = token.text
            while part in ("torch", *_NAMESPACES) and _is_followed_by_dot_and_name(tokens, i):
                i, inside, part = i + 2, part, tokens[i + 2].text
            if inside == "func" and part not in (*TRANSFORMATIONS, *PRODUCTS):
                span, hint = (token.span[0], tokens[i].span[1]), hint_for("func", part) or PACKAGE
                raise ParseError(f"torch.func.{part} is not available in programs", span=span, source=source, hint=hint)
            plain.append(new_token("NAME", f"func.{part}" if inside == "func" else part, tokens[i].span))
        elif token.text == "(" and plain and plain[-1].text == ")":
            before = (token.span[0], token.span[0])
            plain += [new_token("DOT", ".", before), new_token("NAME", CALL_METHOD, before), token]
        else:
            plain.append(token)
        i += 1
    return plain


def _is_followed_by_dot_and_name(tokens: list[Syntax], i: int) -> bool:
    return [token.kind for token in tokens[i + 1 : i + 3]] == ["DOT", "NAME"]
