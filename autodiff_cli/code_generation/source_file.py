"""Source files: idiomatic modules and functions around generated straight-line code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from autodiff_cli import __version__
from autodiff_cli.code_generation.codegen import Code
from autodiff_cli.compiler.program import Term

MODULES = {"numpy": "np", "jax": "jnp", "torch": "torch"}
"""The names of the array libraries in the code."""
_MOST_SHOWN = 160
"""The largest length of the expression in a comment."""


@dataclass(frozen=True)
class SourceFile:
    """The contents of a source file.

    Attributes:
        code: the code of the function.
        helper_functions: the helper functions by name, each after the helper functions that it calls.
        name: the name of the function.
        expression: the expression that the function computes.
        wrt: the variables of the derivatives.
        order: the highest order of the derivatives, 1 or 2.
        results: the code of the value, with the key ``()``, and of each derivative.
    """

    code: Code
    helper_functions: Mapping[str, Code]
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
    def rows(self) -> list[list[str]]:
        """The code of the entries of the Hessian, by row; ``results`` contains those on and above the diagonal, in order."""
        place = list(self.wrt).index  # of a variable
        return [[self.results[(a, b) if place(a) <= place(b) else (b, a)] for b in self.wrt] for a in self.wrt]

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
        return any(code.chooses for code in (self.code, *self.helper_functions.values()))


def _used(names: Sequence[str], code: Code, helper_functions: Mapping[str, Code]) -> list[str]:
    """Return the names and prefixes that occur in the code of a function or of its helper functions."""
    functions = (code, *helper_functions.values())
    texts = [text for each in functions for text in (*dict(each.statements).values(), *each.results.values())]
    return [name for name in names if any(name in text for text in texts)]


def _called_helpers(code: Code, helper_functions: Mapping[str, Code]) -> list[str]:
    """Return the source of the predefined helper functions of the target that the code of a function or its helpers calls."""
    return [helper for name, helper in code.target.helpers.items() if _used([f"{name}("], code, helper_functions)]


def source(parts: SourceFile) -> str:
    """Return the text of a source file."""
    writers = {"python": _module_of_numbers, "c": _c_file, "javascript": _javascript_module}
    writers |= dict.fromkeys(MODULES, _module_of_arrays)
    return writers[parts.code.target.name](parts)


# Python and its array libraries


def _module_of_numbers(parts: SourceFile) -> str:
    """Return the module for a function of Python's numbers: the value, the gradient, and for order 2 the rows of the Hessian."""
    returned = [parts.results[()], python_tuple(parts.gradient)]
    if parts.order == 2:
        returned.append(python_tuple([python_tuple(row) for row in parts.rows]))
    with_hessian = ", and the rows of the Hessian" if parts.order == 2 else ""
    if parts.chooses:  # then errors are caught, because they may come from a branch that is not selected
        about_errors = "The results are inf where a function overflows and nan where it is undefined."
    else:
        about_errors = "ValueError, ZeroDivisionError or OverflowError is raised if a Python function raises it."
    about_results = f"the value, the derivatives with respect to {', '.join(parts.wrt)}{with_hessian}."
    return python_module(parts, [about_results, about_errors], returned)


def _module_of_arrays(parts: SourceFile) -> str:
    """Return the module for a function of NumPy arrays, JAX arrays or PyTorch tensors, which it computes element by element."""
    module, value, count = MODULES[parts.code.target.name], parts.results[()], len(parts.wrt)
    returned = [value, _stack(module, value, parts.gradient)]
    notes = [f"the value; the gradient, with the derivatives with respect to {', '.join(parts.wrt)} along the first dimension."]
    if parts.order == 2:
        shape = f"{value}.shape" if module == "torch" else f"{module}.shape({value})"
        entries = [entry for row in parts.rows for entry in row]
        returned.append(f"{_stack(module, value, entries)}.reshape({count}, {count}, *{shape})")
        notes.append("The Hessian, along the first two dimensions.")
    return python_module(parts, notes, returned)


def _stack(module: str, value: str, entries: Sequence[str]) -> str:
    """Return the code that stacks derivatives; constants among them get the shape of the value, which ``[1:]`` leaves out."""
    function = "broadcast_tensors" if module == "torch" else "broadcast_arrays"
    return f"{module}.stack({module}.{function}({', '.join([value, *entries])})[1:])"


def python_module(parts: SourceFile, notes: Sequence[str], returned: Sequence[str]) -> str:
    """Return a Python module with one function, which returns the expressions ``returned``; its docstring contains ``notes``."""
    module = MODULES.get(parts.code.target.name, "")  # of arrays; empty for Python's numbers
    converts = module in ("np", "jnp")
    types = "numbers or arrays" if converts else "tensors of one floating-point type" if module else "numbers"
    arguments = ", ".join(parts.arguments)
    conversions = [f"{name} = {module}.asarray({name}, dtype=float)" for name in parts.arguments if converts]
    decorator = '@np.errstate(all="ignore")\n' if module == "np" and parts.chooses else ""
    helpers = _called_helpers(parts.code, parts.helper_functions)
    imports = _python_imports(parts, "\n".join([*conversions, *returned, decorator, *helpers]))
    shown = parts.shown.replace("\\", "\\\\").replace('"', "'")  # inside a docstring
    body = [*conversions, *(f"{name} = {text}" for name, text in parts.code.statements), f"return {', '.join(returned)}"]
    lines = [
        f'"""{shown}: {parts.about}, written by autodiff {__version__}."""',
        *([f"\n{imports}"] if imports else []),
        *(f"\n\n{helper}".rstrip("\n") for helper in helpers),
        *(f"\n\n{_python_function(name, code)}" for name, code in parts.helper_functions.items()),
        "",
        "",
        f"{decorator}def {parts.name}({arguments}):",
        f'    """The {parts.about} of {shown}.',
        "",
        "    Args:",
        f"        {arguments}: {types}.",
        "",
        "    Returns:",
        *(f"        {note}" for note in notes),
        '    """',
        *(f"    {line}" for line in body),
    ]
    return "\n".join(lines) + "\n"


def _python_imports(parts: SourceFile, other_code: str) -> str:
    """Return the import lines for a function, its helper functions, and other code of the module; empty if it needs none."""
    imports = parts.code.target.imports  # the line for each prefix
    used_prefixes = _used(list(imports), parts.code, parts.helper_functions)
    return "\n".join(line for prefix, line in imports.items() if prefix in used_prefixes or prefix in other_code)


def _python_function(name: str, code: Code) -> str:
    """Return the definition of a helper function."""
    statements, value = code.body
    body = [*(f"{own} = {text}" for own, text in statements), f"return {value}"]
    head = [f"def {name}({', '.join(code.variables.values())}):", f'    """{code.about}"""']
    return "\n".join([*head, *(f"    {line}" for line in body)])


def python_tuple(entries: Sequence[str]) -> str:
    """Return the code of a tuple; a single entry is followed by a comma."""
    return f"({entries[0]},)" if len(entries) == 1 else f"({', '.join(entries)})"


# C


def _c_file(parts: SourceFile) -> str:
    """Return a file with a function that returns the value, and writes the derivatives into arrays that are its last arguments."""
    arrays = {"grad": parts.gradient}
    if parts.order == 2:
        arrays["hess"] = [entry for row in parts.rows for entry in row]
    arguments = [f"const double {name}" for name in parts.arguments] + [f"double *{name}" for name in arrays]
    body = [
        *_c_constants(parts.code, parts.code.statements),
        *(f"{name}[{i}] = {text};" for name, entries in arrays.items() for i, text in enumerate(entries)),
        f"return {parts.results[()]};",
    ]
    lines = [
        *_c_comment(parts, list(arrays)),
        "#include <math.h>",
        "",
        *_called_helpers(parts.code, parts.helper_functions),
        *(_c_function(name, code) for name, code in parts.helper_functions.items()),
        f"double {parts.name}({', '.join(arguments)})",
        "{",
        *(f"    {line}" for line in body),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _c_comment(parts: SourceFile, arrays: Sequence[str]) -> list[str]:
    """Return the comment at the beginning of a file, which shows how the function and its arrays of derivatives are used."""
    count = len(parts.wrt)
    sizes = {"grad": f"{count}", "hess": f"{count}*{count}"}
    about_hessian = "  hess: the Hessian, row by row." if "hess" in arrays else ""
    return [
        f"/* {parts.shown.replace('*/', '* /')}: {parts.about}, written by autodiff {__version__}.",
        " *",
        *(f" *     double {name}[{sizes[name]}];" for name in arrays),
        f" *     double value = {parts.name}({', '.join([*parts.arguments, *arrays])});",
        " *",
        f" * grad: the gradient with respect to {', '.join(parts.wrt)}.{about_hessian}  Link with -lm.",
        " */",
    ]


def _c_function(name: str, code: Code) -> str:
    """Return the definition of a helper function."""
    arguments = ", ".join(f"const double {variable}" for variable in code.variables.values())
    statements, value = code.body
    head = [f"/* {code.about} */", f"static double {name}({arguments})", "{"]
    return "\n".join([*head, *(f"    {line}" for line in _c_constants(code, statements)), f"    return {value};", "}", ""])


def _c_constants(code: Code, statements: Sequence[tuple[str, str]]) -> list[str]:
    """Return the statements as declarations of constants; a boolean is an ``int``."""
    return [f"const {'int' if name in code.flags else 'double'} {name} = {text};" for name, text in statements]


# JavaScript


def _javascript_module(parts: SourceFile) -> str:
    """Return a module with a function that returns an object with the value, the gradient and, for order 2, the Hessian."""
    # In a web page, an element with a script ends at the first closing tag, even inside a comment.
    shown = parts.shown.replace("*/", "* /").replace("</", "< /").replace("<!--", "< !--")
    results = {"value": parts.results[()], "grad": javascript_list(parts.gradient)}
    types = "value: number, grad: number[]"
    about_results = f"the value; grad: the derivatives with respect to {', '.join(parts.wrt)}"
    if parts.order == 2:
        results["hessian"] = javascript_list(map(javascript_list, parts.rows))
        types += ", hessian: number[][]"
        about_results += "; hessian: the rows of the Hessian"
    returned = ", ".join(name if text == name else f"{name}: {text}" for name, text in results.items())
    lines = [
        "/**",
        f" * {shown}: {parts.about}, written by autodiff {__version__}.",
        " *",
        *(f" * @param {{number}} {name}" for name in parts.arguments),
        f" * @returns {{{{{types}}}}} {about_results}.",
        " */",
        f"export {javascript_functions(parts.name, parts.code, parts.helper_functions, f'{{{returned}}}')}",
    ]
    return "\n".join(lines) + "\n"


def javascript_functions(name: str, code: Code, helper_functions: Mapping[str, Code], returned: str) -> str:
    """Return a JavaScript function that returns the expression ``returned``, followed by its helper functions."""
    lines = [
        _javascript_function(name, code, code.statements, returned),
        *(f"\n{source}".rstrip("\n") for source in _called_helpers(code, helper_functions)),
        *(
            f"\n/** {helper.about} */\n{_javascript_function(own, helper, *helper.body)}"
            for own, helper in helper_functions.items()
        ),
    ]
    return "\n".join(lines)


def _javascript_function(name: str, code: Code, statements: Sequence[tuple[str, str]], returned: str) -> str:
    """Return a function of the variables of the code that runs statements and returns an expression."""
    head = f"function {name}({', '.join(code.variables.values())}) {{"
    return "\n".join([head, *(f"    const {own} = {text};" for own, text in statements), f"    return {returned};", "}"])


def javascript_list(entries: Iterable[str]) -> str:
    return f"[{', '.join(entries)}]"
