"""Imports and namespaces: ``torch.log`` and ``F.relu`` are the functions ``log`` and ``relu`` of the language.

An import does not load anything.  It defines a name for a namespace of PyTorch, and the tokens of a namespace are removed from
the statements after the import.  The names of ``torch.func`` keep ``func.``, because ``torch.autograd`` has functions of the same
name.
"""

from __future__ import annotations

from collections.abc import Sequence

from autodiff_cli.errors import ParseError, Span
from autodiff_cli.framework import hint_for
from autodiff_cli.language.tree import CALL, Syntax, new_token

PACKAGE = "for more of Python, use the package: import autodiff_cli as torch"
"""The hint for everything that programs do not contain."""
_ROOTS = ("torch", "autodiff_cli")
_PARTS = (
    *("autograd", "func", "functional", "nn", "linalg", "special", "optim", "utils", "checkpoint", "graph", "forward_ad"),
    "random",
)
"""The parts of PyTorch's namespaces whose names are names of the language."""
TRANSFORMATIONS = ("grad", "grad_and_value", "value_and_grad", "jacrev", "jacfwd", "hessian", "vmap")
"""The functions of ``torch.func`` that return a function."""
PRODUCTS = ("jvp", "vjp", "linearize")
"""The functions of ``torch.func`` that return tensors, and possibly a function too."""
_NUMBERS = ("math", "numpy")
"""The modules of which only constants are available, because their functions do not record operations."""
_CONSTANTS = ("pi", "e", "inf", "nan")


class Namespaces:
    """The names that imports defined.

    Attributes:
        modules: the path of each module, by the name in the program.
        functions: the name in the language of each function that was imported under another name.
    """

    def __init__(self) -> None:
        self.modules: dict[str, Sequence[str]] = {root: (root,) for root in _ROOTS}
        self.functions: dict[str, str] = {}

    def load(self, tokens: list[Syntax], source: str) -> None:
        """Define the names of an import statement.

        Args:
            tokens: the tokens of the statement, followed by ``$END``.
            source: the source text.

        Raises:
            ParseError: if the statement is incomplete, or imports a module that is not available.
        """
        span = (tokens[0].span[0], tokens[-2].span[1])
        words = [token for token in tokens[1:-1] if token.text not in ("(", ")")]
        if tokens[0].text == "import":
            for part in _split(words, source, span):
                path, name = _named(part, source, span)
                _check(path, span, source)
                if name is None:
                    self.modules[path[0]] = path[:1]
                else:
                    self.modules[name] = path
            return
        middle = next((i for i, token in enumerate(words) if token.text == "import"), len(words))
        origin = _path(words[:middle], source, span)
        _check(origin, span, source)
        if [token.text for token in words[middle + 1 :]] == ["*"]:
            return
        for part in _split(words[middle + 1 :], source, span):
            (found, *more), name = _named(part, source, span)
            if more:
                raise _malformed(source, span)
            if found in _PARTS and origin[0] in _ROOTS:
                self.modules[name or found] = (*origin, found)
            elif origin[0] in _NUMBERS and found not in _CONSTANTS:
                raise _no_number(f"{origin[0]}.{found}", span, source)
            elif origin[-1] == "func":
                self.functions[name or found] = _of_func(found, span, source)
            elif name is not None and name != found:
                self.functions[name] = found

    def strip(self, tokens: list[Syntax], source: str) -> list[Syntax]:
        """Return the tokens of a statement without namespaces, and with a method call for the call of a result, as in ``f(x)(y)``.

        Raises:
            ParseError: if a name of a module is not available.
        """
        kept: list[Syntax] = []
        i = 0
        while i < len(tokens):
            token = tokens[i]
            first = token.kind == "NAME" and not (kept and kept[-1].kind == "DOT")
            if first and token.text in self.modules and _dotted(tokens, i):
                i, name = self._member(tokens, i, source)
                kept.append(new_token("NAME", name, tokens[i].span))
            elif first and token.text in self.functions:
                kept.append(new_token("NAME", self.functions[token.text], token.span))
            elif token.text == "(" and kept and kept[-1].text == ")":
                before = (token.span[0], token.span[0])
                kept += [new_token("DOT", ".", before), new_token("NAME", CALL, before), token]
            else:
                kept.append(token)
            i += 1
        return kept

    def _member(self, tokens: list[Syntax], i: int, source: str) -> tuple[int, str]:
        """Return the position of the name behind a namespace, such as ``grad`` in ``torch.autograd.grad``, and its name here."""
        start = tokens[i].span[0]
        path = list(self.modules[tokens[i].text])
        i += 2
        while tokens[i].text in _PARTS and _dotted(tokens, i):
            path.append(tokens[i].text)
            i += 2
        span = (start, tokens[i].span[1])
        if path[0] in _NUMBERS and (len(path) > 1 or tokens[i].text not in _CONSTANTS):
            raise _no_number(source[slice(*span)], span, source)
        return i, _of_func(tokens[i].text, span, source) if path[-1] == "func" else tokens[i].text


def _of_func(name: str, span: Span, source: str) -> str:
    """Return the name in programs of a function of ``torch.func``."""
    if name not in (*TRANSFORMATIONS, *PRODUCTS):
        hint = hint_for("func", name) or PACKAGE
        raise ParseError(f"torch.func.{name} is not available in programs", span=span, source=source, hint=hint)
    return f"func.{name}"


def _dotted(tokens: list[Syntax], i: int) -> bool:
    return [token.kind for token in tokens[i + 1 : i + 3]] == ["DOT", "NAME"]


def _check(path: Sequence[str], span: Span, source: str) -> None:
    """Raise an error for a module that programs cannot import."""
    if path[0] not in (*_ROOTS, *_NUMBERS):
        raise ParseError(f"a program cannot import '{'.'.join(path)}'", span=span, source=source, hint=PACKAGE)


def _split(words: list[Syntax], source: str, span: Span) -> list[list[Syntax]]:
    """Split the imported names at the commas."""
    parts: list[list[Syntax]] = [[]]
    for word in words:
        if word.text == ",":
            parts.append([])
        else:
            parts[-1].append(word)
    if len(parts) > 1 and not parts[-1]:
        parts.pop()
    if not all(parts):
        raise _malformed(source, span)
    return parts


def _named(words: list[Syntax], source: str, span: Span) -> tuple[list[str], str | None]:
    """Return the path and the name in ``path as name``; the name is ``None`` without ``as``."""
    if len(words) > 2 and words[-2].text == "as" and words[-1].kind == "NAME":
        return _path(words[:-2], source, span), words[-1].text
    return _path(words, source, span), None


def _path(words: list[Syntax], source: str, span: Span) -> list[str]:
    """Return the parts of a dotted name."""
    names, dots = words[::2], words[1::2]
    if len(words) % 2 == 0 or any(n.kind != "NAME" for n in names) or any(d.kind != "DOT" for d in dots):
        raise _malformed(source, span)
    return [name.text for name in names]


def _malformed(source: str, span: Span) -> ParseError:
    return ParseError("this import is incomplete", span=span, source=source, hint="write 'import torch'")


def _no_number(name: str, span: Span, source: str) -> ParseError:
    return ParseError(
        f"'{name}' is not available, because functions of other modules do not record operations",
        span=span,
        source=source,
        hint="write the function of torch",
    )
