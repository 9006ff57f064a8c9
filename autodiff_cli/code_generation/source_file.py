"""Source files: idiomatic modules and functions around generated straight-line code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autodiff_cli import __version__
from autodiff_cli.code_generation.codegen import Code
from autodiff_cli.compiler.program import Term

MODULES = {"numpy": "np", "jax": "jnp", "torch": "torch"}
"""The names of the array libraries in the code."""
_MOST_SHOWN = 160


@dataclass(frozen=True)
class SourceFile:
    """The contents of a source file.

    Attributes:
        code: the code of the function.
        beside: the helper functions by name, each after the helper functions that it calls.
        name: the name of the function.
        expression: the expression that the function computes.
        wrt: the variables of the derivatives.
        order: the highest order of the derivatives, 1 or 2.
        results: the code of the value, with the key ``()``, and of each derivative.
    """

    code: Code
    beside: Mapping[str, Code]
    name: str
    expression: str
    wrt: Sequence[str]
    order: int
    results: Mapping[Term, str]

    @property
    def arguments(self) -> list[str]:
        """The argument names in the code."""
        return list(self.code.variables.values())

    @property
    def gradient(self) -> list[str]:
        """The code of the entries of the gradient."""
        return [self.results[(name,)] for name in self.wrt]

    @property
    def hessian(self) -> list[str]:
        """The code of the entries of the Hessian, in row-major order."""
        place = list(self.wrt).index
        return [self.results[(a, b) if place(a) <= place(b) else (b, a)] for a in self.wrt for b in self.wrt]

    @property
    def rows(self) -> list[list[str]]:
        """The code of the entries of the Hessian, by row."""
        entries, count = self.hessian, len(self.wrt)
        return [entries[i * count : (i + 1) * count] for i in range(count)]

    @property
    def shown(self) -> str:
        """The expression, shortened for a comment."""
        text = self.expression
        return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 4]} ..."

    @property
    def about(self) -> str:
        """The description of the results of the function."""
        return "value, gradient and Hessian" if self.order == 2 else "value and gradient"

    @property
    def chooses(self) -> bool:
        """Whether the code contains a conditional."""
        return any(code.chooses for code in (self.code, *self.beside.values()))

    def used(self, names: Sequence[str]) -> list[str]:
        """Return the names and prefixes that occur in the code."""
        return _used(names, self.code, self.beside)


def _used(names: Sequence[str], code: Code, beside: Mapping[str, Code]) -> list[str]:
    texts = [text for each in (code, *beside.values()) for text in (*(text for _, text in each.statements), *each.results.values())]
    return [name for name in names if any(name in text for text in texts)]


def source(parts: SourceFile) -> str:
    """Return the text of a source file."""
    writers = {"python": _python, "c": _c, "javascript": _javascript, "numpy": _arrays, "torch": _arrays, "jax": _arrays}
    return writers[parts.code.target.name](parts)


# Python and its array libraries


def _python(parts: SourceFile) -> str:
    returned = [parts.results[()], python_tuple(parts.gradient)]
    if parts.order == 2:
        returned.append(python_tuple([python_tuple(row) for row in parts.rows]))
    notes = [
        f"the value, the derivatives with respect to {', '.join(parts.wrt)}"
        + (", and the rows of the Hessian." if parts.order == 2 else "."),
        "The results are inf where a function overflows and nan where it is undefined."
        if parts.chooses
        else "ValueError, ZeroDivisionError or OverflowError is raised if a Python function raises it.",
    ]
    return python_module(parts, notes, returned)


def _arrays(parts: SourceFile) -> str:
    """Return the module for a function of NumPy arrays, JAX arrays or PyTorch tensors."""
    module, value, count = MODULES[parts.code.target.name], parts.results[()], len(parts.wrt)
    of_tensors = module == "torch"

    def stacked(entries: Sequence[str]) -> str:
        broadcast = f"{module}.broadcast_{'tensors' if of_tensors else 'arrays'}"
        return f"{module}.stack({broadcast}({', '.join([value, *entries])})[1:])"

    returned = [value, stacked(parts.gradient)]
    notes = [f"the value; the gradient, with the derivatives with respect to {', '.join(parts.wrt)} along the first dimension."]
    if parts.order == 2:
        shape = f"{value}.shape" if of_tensors else f"{module}.shape({value})"
        returned.append(f"{stacked(parts.hessian)}.reshape({count}, {count}, *{shape})")
        notes.append("The Hessian, along the first two dimensions.")
    return python_module(parts, notes, returned)


def python_module(parts: SourceFile, notes: Sequence[str], returned: Sequence[str]) -> str:
    """Return a Python module with one function, whose docstring describes its arguments and, in ``notes``, what it returns."""
    target = parts.code.target
    module = MODULES.get(target.name, "")
    converts = module in ("np", "jnp")
    arguments = "numbers or arrays" if converts else "tensors of one floating-point type" if module else "numbers"
    start = [f"{name} = {module}.asarray({name}, dtype=float)" for name in parts.arguments if converts]
    decorator = '@np.errstate(all="ignore")\n' if module == "np" and parts.chooses else ""
    shown = parts.shown.replace("\\", "\\\\").replace('"', "'")
    helpers = [target.helpers[name] for name in parts.used(list(target.helpers))]
    around = "\n".join([*start, *returned, decorator, *helpers])
    imports = "\n".join(line for prefix, line in target.imports.items() if prefix in around or parts.used([prefix]))
    body = [*start, *(f"{name} = {text}" for name, text in parts.code.statements), f"return {', '.join(returned)}"]
    lines = [
        f'"""{shown}: {parts.about}, written by autodiff {__version__}."""',
        *([f"\n{imports}"] if imports else []),
        *(f"\n\n{helper}".rstrip("\n") for helper in helpers),
        *(f"\n\n{_defined(name, code)}" for name, code in parts.beside.items()),
        "",
        "",
        f"{decorator}def {parts.name}({', '.join(parts.arguments)}):",
        f'    """The {parts.about} of {shown}.',
        "",
        "    Args:",
        f"        {', '.join(parts.arguments)}: {arguments}.",
        "",
        "    Returns:",
        *(f"        {note}" for note in notes),
        '    """',
        *(f"    {line}" for line in body),
    ]
    return "\n".join(lines) + "\n"


def _defined(name: str, code: Code) -> str:
    statements, value = code.body
    body = [*(f"{own} = {text}" for own, text in statements), f"return {value}"]
    head = [f"def {name}({', '.join(code.variables.values())}):", f'    """{code.about}"""']
    return "\n".join([*head, *(f"    {line}" for line in body)])


def python_tuple(entries: Sequence[str]) -> str:
    return f"({entries[0]},)" if len(entries) == 1 else f"({', '.join(entries)})"


# C


def _c(parts: SourceFile) -> str:
    target, count = parts.code.target, len(parts.wrt)
    arrays = ["grad", "hess"][: parts.order]
    sizes = [str(count), f"{count}*{count}"]
    helpers = [name for name in target.helpers if parts.used([f"{name}("])]
    usage = [f"double {name}[{size}];" for name, size in zip(arrays, sizes, strict=False)]
    usage.append(f"double value = {parts.name}({', '.join([*parts.arguments, *arrays])});")
    body = _c_constants(parts.code, parts.code.statements)
    body += [f"grad[{i}] = {text};" for i, text in enumerate(parts.gradient)]
    if parts.order == 2:
        body += [f"hess[{i}] = {text};" for i, text in enumerate(parts.hessian)]
    body.append(f"return {parts.results[()]};")
    order = f"grad: the gradient with respect to {', '.join(parts.wrt)}." + (
        "  hess: the Hessian, row by row." if parts.order == 2 else ""
    )
    arguments = [f"const double {name}" for name in parts.arguments] + [f"double *{name}" for name in arrays]
    lines = [
        f"/* {parts.shown.replace('*/', '* /')}: {parts.about}, written by autodiff {__version__}.",
        " *",
        *(f" *     {line}" for line in usage),
        " *",
        f" * {order}  Link with -lm.",
        " */",
        "#include <math.h>",
        "",
        *(target.helpers[helper] for helper in helpers),
        *(_c_function(name, code) for name, code in parts.beside.items()),
        f"double {parts.name}({', '.join(arguments)})",
        "{",
        *(f"    {line}" for line in body),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _c_function(name: str, code: Code) -> str:
    arguments = ", ".join(f"const double {variable}" for variable in code.variables.values())
    statements, value = code.body
    head = [f"/* {code.about} */", f"static double {name}({arguments})", "{"]
    return "\n".join([*head, *(f"    {line}" for line in _c_constants(code, statements)), f"    return {value};", "}", ""])


def _c_constants(code: Code, statements: Sequence[tuple[str, str]]) -> list[str]:
    return [f"const {'int' if name in code.flags else 'double'} {name} = {text};" for name, text in statements]


# JavaScript


def _javascript(parts: SourceFile) -> str:
    # In a web page, an element with a script ends at the first closing tag, even inside a comment.
    shown = parts.shown.replace("*/", "* /").replace("</", "< /").replace("<!--", "< !--")
    results, types = {"value": parts.results[()], "grad": _list(parts.gradient)}, "value: number, grad: number[]"
    about = f"the value; grad: the derivatives with respect to {', '.join(parts.wrt)}"
    if parts.order == 2:
        results["hessian"], types = _list([_list(row) for row in parts.rows]), f"{types}, hessian: number[][]"
        about += "; hessian: the rows of the Hessian"
    returned = f"{{{', '.join(name if text == name else f'{name}: {text}' for name, text in results.items())}}}"
    lines = [
        "/**",
        f" * {shown}: {parts.about}, written by autodiff {__version__}.",
        " *",
        *(f" * @param {{number}} {name}" for name in parts.arguments),
        f" * @returns {{{{{types}}}}} {about}.",
        " */",
        f"export {_javascript_body(parts.name, parts.code, parts.beside, returned)}",
    ]
    return "\n".join(lines) + "\n"


def javascript_list(name: str, code: Code, beside: Mapping[str, Code]) -> str:
    """Return a JavaScript function that returns the list of all results, and the helper functions that it calls."""
    return _javascript_body(name, code, beside, _list(list(code.results.values()))) + "\n"


def _javascript_body(name: str, code: Code, beside: Mapping[str, Code], returned: str) -> str:
    lines = [
        _javascript_function(name, code, code.statements, returned),
        *(f"\n{helper}".rstrip("\n") for own, helper in code.target.helpers.items() if _used([f"{own}("], code, beside)),
        *(f"\n/** {each.about} */\n{_javascript_function(own, each, *each.body)}" for own, each in beside.items()),
    ]
    return "\n".join(lines)


def _javascript_function(name: str, code: Code, statements: Sequence[tuple[str, str]], returned: str) -> str:
    head = f"function {name}({', '.join(code.variables.values())}) {{"
    return "\n".join([head, *(f"    const {own} = {text};" for own, text in statements), f"    return {returned};", "}"])


def _list(entries: Sequence[str]) -> str:
    return f"[{', '.join(entries)}]"
