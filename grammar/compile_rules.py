"""Compilation of ``grammar/rules/*.rules`` into the modules of ``ops/rules/``.

Each table describes the functions of one subject; ``grammar/rules/README.md`` explains the notation.  The compiler translates the
expressions of a table into Python, so that a run imports ordinary modules and parses no rules.  After a change of a table, run
``python grammar/compile_rules.py``; a test compares the modules with the tables.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module, invalidate_caches
from pathlib import Path

from autodiff_cli.errors import ParseError
from autodiff_cli.language.operators import ATOM, COMPARISON, CONDITIONAL, OPERATORS, PRODUCT
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import (
    Syntax,
    arguments,
    call_tree,
    name_tree,
    names_in,
    new_token,
    new_tree,
    split_outside_brackets,
    unparse,
)

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "autodiff_cli"
TABLES = ROOT / "grammar" / "rules"
OPS = PACKAGE / "ops"
MODULES = OPS / "rules"
NAMES = OPS / "names"
NAMESPACES = {
    "public": None,
    "special": ("bessel", "factorials", "incomplete", "log_probabilities", "special"),
    "linalg": ("decompose", "matrices"),
}
"""The sections whose functions each module of ``ops/names/`` imports; ``None`` for all of them."""
NUMERICS = PACKAGE / "numerics"
KINDS = {
    "number": "NUMBER",
    "text": "TEXT",
    "flag": "FLAG",
    "flag_after_two": "FLAG_AFTER_TWO",
    "whole": "WHOLE",
    "wholes": "WHOLES",
    "order": "ORDER",
    "dim": "DIMENSION",
    "dims": "DIMENSIONS",
    "count_or_pair": "COUNT_OR_PAIR",
    "dims_or_unbiased": "DIMENSIONS_OR_UNBIASED",
    "branch": "BRANCH",
    "mask": "MASK",
    "positions": "POSITIONS",
    "type": "TYPE",
    "side": "SIDE",
    "parts": "PARTS",
    "tensor": "TENSOR",
    "value": "VALUE",
    "operand": "",
}
"""The kinds of parameters in a signature, such as ``dim: dims? = none``; ``?`` also accepts ``none``.  A parameter takes a tensor
if its kind is ``tensor`` or ``value``, or ``operand``, which the function checks itself, or if it has neither kind nor default."""
_OF_TENSORS = ("tensor", "value", "operand")
_CONSTANTS = {"pi": "math.pi", "inf": "math.inf", "nan": "math.nan", "e": "math.e"}
_PARAMETER = re.compile(r"(?P<star>\*?)(?P<name>\w+)(?:: *(?P<kind>[\w|]+)(?P<optional>\?)?)?(?: *= *(?P<default>.+))?")
_KEYWORD = re.compile(r"    (?P<key>[a-z][a-z/]*(?: \w+)?): +(?P<text>.+)")
_EACH = re.compile(r"%each (?P<key>[a-z][a-z/]*(?: \w+)?): +(?P<text>.+)")
_DOTTED = re.compile(r"(np|operator|math)(\.\w+)+|(?!np\b)[a-z_]+\.\w+(\([^()]*\))?")


@dataclass(slots=True)
class Parameter:
    """A parameter of a function.

    Attributes:
        name: its name.
        kind: the kind, as Python, if the function checks it.
        default: the default, as Python, if there is one.
        tensor: whether the parameter takes a tensor.
        several: whether the parameter takes several arguments, or a list: ``*`` in the signature.
    """

    name: str
    kind: str = ""
    default: str = ""
    tensor: bool = False
    several: bool = False


@dataclass(slots=True)
class Row:
    """A function of a table: its columns, and the lines below it by their keywords."""

    name: str
    aliases: list[str]
    parameters: list[Parameter]
    value: str
    derivative: str
    where: str
    summary: str
    public: bool
    line: int
    keywords: dict[str, str] = field(default_factory=dict)

    @property
    def tensors(self) -> list[str]:
        """The names of the parameters that take tensors."""
        return [each.name for each in self.parameters if not each.default]

    @property
    def is_python(self) -> bool:
        """Whether the function is written in Python, in ``ops/``."""
        return self.value == "python"

    @property
    def is_helper(self) -> bool:
        """Whether the row is a function that only rules call, and no operation."""
        return not self.public and self.value.startswith("= ")

    @property
    def is_differentiable(self) -> bool:
        """Whether the function has a derivative, or may have one because it is composed of others."""
        return bool(
            self.derivative or self.value.startswith("= ") or self.keywords.keys() & {"vjp", *(f"vjp {x}" for x in self.tensors)}
        )

    @property
    def operands(self) -> tuple[str, ...]:
        """The names of the parameters that the language gives as tensors: those that take tensors, or the row names them."""
        names = self.keywords.get("tensors")
        return tuple(_names(names)) if names else tuple(each.name for each in self.parameters if each.tensor)

    @property
    def statics(self) -> list[Parameter]:
        """The plain parameters."""
        return [each for each in self.parameters if each.default]

    @property
    def options(self) -> list[Parameter]:
        """The keyword parameters that only Python has."""
        return [_parameter(each, self.name) for each in _names(self.keywords.get("options", "none"))]

    @property
    def call(self) -> str:
        """The call of the function with its own parameters."""
        return f"{self.name}({', '.join(each.name for each in self.parameters)})"


@dataclass(slots=True)
class Table:
    """A table: its subject and title, whether its functions are elementwise, which have in-place methods, and its rows."""

    subject: str
    title: str = ""
    elementwise: bool = False
    in_place: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)


def _names(text: str) -> list[str]:
    """Return the names in a list, which is empty for ``none``."""
    return [] if text == "none" else split_outside_brackets(text)


class RuleError(ParseError):
    """An error in a table of rules."""


def read(subject: str, text: str) -> Table:
    """Parse the text of a table.

    Raises:
        RuleError: if a line is not a row, a directive, or a keyword line of the row above.
    """
    table, public, methods, key = Table(subject), True, "all", ""
    shared: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            table.title = table.title or line.strip("# ")
        elif not line.strip():
            shared.clear()
        elif matched := _EACH.fullmatch(line):
            shared[matched["key"]] = matched["text"]
        elif line.startswith("%in place "):
            table.in_place += line.split()[2:]
        elif line.startswith("%"):
            table.elementwise |= line == "%elementwise"
            methods = "none" if line == "%no methods" else methods
            public &= line != "%private"
        elif not line.startswith(" "):
            table.rows.append(_row(line, public, number, subject))
            table.rows[-1].keywords |= {"methods": methods, **shared}
        elif line.startswith(" " * 8) and key:
            table.rows[-1].keywords[key] += " " + line.strip()
        elif matched := _KEYWORD.fullmatch(line):
            key, row = matched["key"], table.rows[-1]
            before = f"{row.keywords[key]}\n" if key == "requires" and key in row.keywords else ""
            row.keywords[key] = before + matched["text"]
        else:
            raise RuleError(f"{subject}.rules, line {number}: not a row and not a keyword line: {line.strip()}")
    known = {name for row in table.rows if row.public for name in (row.name, *row.aliases)}
    if wrong := set(table.in_place) - known:
        raise RuleError(f"{subject}.rules: %in place names {', '.join(sorted(wrong))}, which the table does not have")
    for row in table.rows:
        row.value = row.keywords.get("value", row.value)
        row.derivative = row.keywords.get("derivative", row.derivative)
    return table


def _row(line: str, public: bool, number: int, subject: str) -> Row:
    columns = re.split(r" {2,}", line.strip())
    signature, _, aliases = columns[0].partition(") = ")
    name, _, inside = (signature if aliases else signature.removesuffix(")")).partition("(")
    if len(columns) not in (2, 5):
        raise RuleError(f"{subject}.rules, line {number}: {name} has {len(columns)} columns, not 5 or 2")
    value, derivative, where = columns[1:4] if len(columns) == 5 else ("", "", "")
    parameters = [_parameter(text, f"{subject}.rules, line {number}") for text in split_outside_brackets(inside)]
    columns = ["" if column == "-" else column for column in (value, derivative, where)]
    return Row(
        name,
        split_outside_brackets(aliases) if aliases else [],
        parameters,
        *columns,
        line.rsplit("  ", maxsplit=1)[-1].strip(),
        public,
        number,
    )


def _parameter(text: str, place: str) -> Parameter:
    matched = _PARAMETER.fullmatch(text)
    if matched is None:
        raise RuleError(f"{place}: not a parameter: {text}")
    names = matched["kind"].split("|") if matched["kind"] else []
    for each in names:
        if each not in KINDS:
            raise RuleError(f"{place}: not a kind: {each}")
    kind = f"either({', '.join(KINDS[each] for each in names)})" if len(names) > 1 else "".join(KINDS[each] for each in names)
    default = {"none": "None", "true": "True", "false": "False", "nan": "math.nan"}.get(
        matched["default"], matched["default"]
    ) or ""
    tensor = names[0] in _OF_TENSORS if names else not default
    return Parameter(matched["name"], f"optional({kind})" if matched["optional"] else kind, default, tensor, bool(matched["star"]))


# From the expressions of the language to Python


_TIGHT = ("name", "number", "call", "index", "attribute", "method", "list", "string", "none", "true", "false")
"""The kinds of nodes that need no parentheses as operands."""


class Writer:
    """Writes expressions of the language as Python, and collects the functions that they call.

    Args:
        plain: the names of parameters with plain values: a condition on them alone selects, and does not mask.
        arrays: the functions of ``numerics/``: their results are plain values, too.
    """

    def __init__(self, plain: Sequence[str] = (), arrays: Collection[str] = ()) -> None:
        self.plain = {*plain, "ndim"}
        self.arrays = arrays
        self.functions: set[str] = set()

    def text(self, node: Syntax) -> str:
        """Return a node as Python.  Expressions of tables are short, so this function is recursive."""
        kind, children = node.kind, node.children
        symbol = OPERATORS.get(kind)
        if kind == "name":
            name = children[0].text
            return _CONSTANTS.get(name, name)
        if kind in ("true", "false", "none"):
            return kind.capitalize()
        if kind in ("number", "string"):
            return children[0].text
        if kind == "call":
            if children[0].text != "len":
                self.functions.add(children[0].text)
            return f"{children[0].text}({self._listed(arguments(node))})"
        if kind == "method":
            return f"{self._tight(children[0])}.{children[1].text}({self._listed(arguments(node))})"
        if kind == "attribute":
            return f"{self._tight(children[0])}.{children[1].text}"
        if kind == "index":
            return f"{self._tight(children[0])}[{self._listed(children[1].children)}]"
        if kind == "ellipsis":
            return "..."
        if kind == "slice":
            return "".join(self._chosen(child.children[0]) if child.kind == "bound" else ":" for child in children)
        if kind == "keyword":
            return f"{children[0].text}={self.text(children[1])}"
        if kind == "list":
            return f"({self._listed(children)}{',' * (len(children) == 1)})"
        if kind == "conditional":
            return self._conditional(*children)
        if kind == "comparison":
            return self._comparison(node)
        if symbol is not None:
            return self._operation(symbol.name, [self._operand(node, i) for i in range(len(children))], node)
        raise RuleError(f"a rule cannot contain {kind}: {unparse(node)}")

    def _listed(self, nodes: Sequence[Syntax]) -> str:
        return ", ".join(self.text(node) for node in nodes)

    def _level(self, node: Syntax) -> int:
        """Return the precedence level of the Python text of a node; the lowest one for ``&`` and ``|``, which bind differently."""
        kind, is_plain = node.kind, self.knows(node)
        is_call = not self.knows(node.children[1]) if kind == "conditional" else kind == "logical_not" and not is_plain
        if kind in _TIGHT or is_call:  # of where or np.logical_not
            return ATOM
        if kind == "comparison" and len(node.children) == 3:
            return COMPARISON
        if kind == "pow" and self._is_square_of_result(node):
            return PRODUCT
        return CONDITIONAL if kind not in OPERATORS or (kind.startswith("logical") and not is_plain) else OPERATORS[kind].level

    @staticmethod
    def _is_square_of_result(node: Syntax) -> bool:
        """Return whether a node is ``out**2``, which is written as a product, because it is faster."""
        return [unparse(child) for child in node.children] == ["out", "2"]

    def _at_least(self, node: Syntax, level: int) -> str:
        """Return a node as Python, in parentheses if it binds less tightly than a level."""
        return self.text(node) if self._level(node) >= level else f"({self.text(node)})"

    def _tight(self, node: Syntax) -> str:
        return self._at_least(node, ATOM)

    def _compared(self, node: Syntax) -> str:
        """Return an operand of a comparison."""
        return self._at_least(node, COMPARISON + 1)

    def _operand(self, node: Syntax, i: int) -> str:
        """Return operand i of an operation; only the left one may have the level of the operation itself."""
        operator = OPERATORS[node.kind]
        if operator.name.startswith("logical") and not self.knows(node):
            return self._tight(node.children[i])
        if operator.name == "logical_not":
            return self._compared(node.children[i])
        is_left = i == 0 and operator.arity == 2 and operator.associates == "left"
        return self._at_least(node.children[i], operator.level + (not is_left))

    def _chosen(self, node: Syntax) -> str:
        """Return one of the two values of a condition, in parentheses unless it is an atom or a negative number."""
        return self.text(node) if node.kind == "neg" and node.children[0].kind == "number" else self._tight(node)

    def knows(self, node: Syntax) -> bool:
        """Whether an expression depends on plain values only, such as the shapes of tensors and results of ``numerics/``."""
        return names_in(self._variable(node)) - _CONSTANTS.keys() <= self.plain

    def _variable(self, tree: Syntax) -> Syntax:
        """Return a tree in which plain values that belong to tensors are ``none``."""
        is_shape = tree.kind == "attribute" and tree.children[1].text in ("shape", "ndim", "dtype")
        is_presence = tree.kind == "comparison" and tree.children[2].kind == "none"
        if is_shape or is_presence or (tree.kind == "call" and tree.children[0].text in self.arrays):
            return new_tree("none")
        return tree.with_children([self._variable(child) for child in tree.children])

    def _conditional(self, value: Syntax, condition: Syntax, otherwise: Syntax) -> str:
        if self.knows(condition):
            return f"{self._chosen(value)} if {self.text(condition)} else {self._chosen(otherwise)}"
        self.functions.add("where")
        return f"where({self.text(condition)}, {self.text(value)}, {self.text(otherwise)})"

    def _comparison(self, node: Syntax) -> str:
        children = node.children
        if children[2].kind == "none":
            return f"{self._compared(children[0])} is {'not ' * (children[1].text == '!=')}None"
        pairs = [
            f"{self._compared(children[i])} {children[i + 1].text} {self._compared(children[i + 2])}"
            for i in range(0, len(children) - 2, 2)
        ]
        return pairs[0] if len(pairs) == 1 else " & ".join(f"({pair})" for pair in pairs)

    def _operation(self, name: str, operands: Sequence[str], node: Syntax) -> str:
        if name == "logical_not":
            return f"not {operands[0]}" if self.knows(node) else f"np.logical_not({operands[0]})"
        if name in ("logical_and", "logical_or"):
            words = ("and", "or") if self.knows(node) else ("&", "|")
            return f" {words[name == 'logical_or']} ".join(operands)
        if name == "pow" and self._is_square_of_result(node):
            return f"{operands[0]} * {operands[0]}"
        symbol = OPERATORS[name].symbol
        return f"{symbol}{operands[0]}" if len(operands) == 1 else f" {symbol} ".join(operands)


def _tree(text: str) -> Syntax:
    """Parse an expression."""
    (tree,) = parse(text).children
    return tree


def _replaced(tree: Syntax, before: Syntax, after: Syntax) -> Syntax:
    """Return a tree in which each copy of one expression is replaced."""
    if unparse(tree) == unparse(before):
        return after
    return tree.with_children([_replaced(child, before, after) for child in tree.children])


def _folded(tree: Syntax) -> Syntax:
    """Return a tree in which calls of numbers, such as ``log(2)``, are numbers."""
    tree = tree.with_children([_folded(child) for child in tree.children])
    if tree.kind == "call" and not names_in(tree) - set(_CONSTANTS) and arguments(tree):
        function = getattr(math, tree.children[0].text, None)
        operands = [_number(argument) for argument in arguments(tree)]
        if function is not None and None not in operands:
            return new_tree("number", new_token("NUMBER", repr(function(*operands))))
    return tree


def _number(tree: Syntax) -> float | None:
    """Return the value of a constant expression."""
    if tree.kind == "number":
        return float(tree.children[0].text)
    if tree.kind == "name" and tree.children[0].text in _CONSTANTS:
        return float(getattr(math, tree.children[0].text))
    if tree.kind not in _ARITHMETIC:
        return None
    values = [_number(child) for child in tree.children]
    return None if None in values else _ARITHMETIC[tree.kind](*values)


_ARITHMETIC: dict[str, Callable[..., float]] = {name: getattr(operator, name) for name in ("neg", "mul", "add", "sub")}
_ARITHMETIC |= {"div": operator.truediv}


def times_cotangent(derivative: Syntax) -> Syntax:
    """Return the VJP rule of an elementwise function: its derivative times ``g``, without a product by 1."""
    g, number = name_tree("g"), _number(derivative)
    if number == 0:
        return call_tree("zeros_of", g)
    if number is not None and abs(number) == 1:
        return g if number == 1 else new_tree("neg", g)
    return _over(derivative)


def _over(derivative: Syntax) -> Syntax:
    """Return ``g/b`` for ``1/b``, ``-g/b`` for ``-1/b`` and ``-(1/b)``, and ``g*derivative`` for anything else."""
    g, sign = name_tree("g"), False
    quotient = derivative
    if quotient.kind == "neg":
        sign, quotient = True, quotient.children[0]
    if quotient.kind == "div":
        top, bottom = quotient.children
        number = _number(top)
        if number is not None and abs(number) == 1:
            negative = sign != (number < 0)
            return new_tree("div", new_tree("neg", g) if negative else g, bottom)
    return new_tree("mul", g, derivative)


def negated(condition: str) -> str:
    """Return the condition that is true where a condition is false."""
    tree = _tree(condition)
    opposite = _opposite(tree)
    return f"not ({condition})" if opposite.kind == "logical_not" or tree.kind != "comparison" else unparse(opposite)


_OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_WHOLE = ("len", "dimension")
"""Functions whose results are whole numbers: an order of others may be false both ways because of nan."""


def _opposite(tree: Syntax) -> Syntax:
    """Return the condition that is true where a condition is false, without ``not`` where possible."""
    if tree.kind == "logical_not":
        return tree.children[0]
    if tree.kind in ("logical_and", "logical_or"):
        other = "logical_or" if tree.kind == "logical_and" else "logical_and"
        return new_tree(other, *map(_opposite, tree.children))
    if tree.kind == "comparison" and len(tree.children) == 3:
        left, symbol, right = tree.children
        is_length = left.kind == "index" and unparse(left.children[0]).endswith(".shape")
        is_whole = is_length or (left.kind == "call" and left.children[0].text in _WHOLE)
        if symbol.text in ("==", "!=") or is_whole:
            return tree.with_children([left, new_token("COMPARISON", _OPPOSITES[symbol.text]), right])
    return new_tree("logical_not", tree)


# From rows to declarations


class Names:
    """The modules of the names that rules may use: functions of tables, of ``ops/``, and of ``numerics/`` for plain values."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self.modules: dict[str, str] = {}
        self.arrays: dict[str, str] = {}
        for path in sorted(NUMERICS.glob("*.py")):
            self.arrays = dict.fromkeys(_defined(path), f"autodiff_cli.numerics.{path.stem}") | self.arrays
        for place in ("autograd/primitives/structural.py", "autograd/primitives/types.py", "ops/*.py"):
            for path in sorted(PACKAGE.glob(place)):
                module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
                self.modules = dict.fromkeys(_defined(path), module) | self.modules
        for table in tables:
            for row in table.rows:
                if not row.is_python:
                    if "ops.rules" in self.modules.get(row.name, ""):
                        raise RuleError(f"{table.subject}.rules: {self.modules[row.name]} has a function '{row.name}' too")
                    self.modules |= dict.fromkeys((row.name, *row.aliases), f"autodiff_cli.ops.rules.{table.subject}")


def _defined(path: Path) -> Iterator[str]:
    """Yield the names that a module defines at its top level, without private ones."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            names = [node.name]
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
        else:
            names = []
        yield from (name for name in names if name[0] != "_")


@functools.cache
def _parameters(path: Path) -> dict[str, list[str]]:
    """Return the names of the parameters of the functions of a module."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {node.name: [each.arg for each in node.args.args] for node in body if isinstance(node, ast.FunctionDef)}


class Compiler:
    """The translation of one table to a Python module."""

    def __init__(self, table: Table, names: Names) -> None:
        self.table = table
        self.names = names
        self.used: set[str] = set()
        self.definitions: list[str] = []
        path = NUMERICS / f"{table.subject}.py"
        self.arrays = {*_defined(path)} if path.exists() else set()

    def module(self) -> str:
        """Return the text of the module."""
        body: list[str] = []
        for row in sorted(self.table.rows, key=lambda row: not row.is_helper):
            try:
                declaration = self.declaration(row)
            except ParseError as error:
                raise RuleError(f"{self.table.subject}.rules, line {row.line}, {row.name}: {error}") from None
            body += [*self.definitions, declaration]
            if "method" in row.keywords:
                names = ", ".join(["self", *(each.name for each in row.parameters if not each.tensor)])
                body.append(f"add_methods({row.name}=lambda {names}: {Writer().text(_tree(row.keywords['method']))})")
            self.definitions.clear()
        text = "\n".join(body)
        settings = "__name__, elementwise=True" if self.table.elementwise else "__name__"
        standard = [f"import {name}" for name in ("math", "operator") if f"{name}." in text]
        standard += ["from typing import Any"] if ": Any" in text else []
        header = [
            f'"""{self.table.title}"""  # made from grammar/rules/{self.table.subject}.rules by grammar/compile_rules.py',
            "",
            *standard,
            *(["import numpy as np"] if "np." in text else []),
            *self._imports(text),
            f"declare = Declarations({settings})",
        ]
        own = f"_numerics_{self.table.subject}__"
        return re.sub(r"_numerics_(\w+?)__", r"\1_arrays", "\n".join([*header, text, ""]).replace(own, "arrays"))

    def _imports(self, text: str) -> list[str]:
        lines: dict[str, set[str]] = {"autodiff_cli.autograd.primitives.declare": {"Declarations"}}
        kinds = {name for name in (*filter(None, KINDS.values()), "optional", "either") if re.search(rf"\b{name}\b", text)}
        if kinds:
            lines["autodiff_cli.autograd.primitives.argument_kinds"] = kinds
        if errors := set(re.findall(r"\braise (\w+)\(", text)):
            lines["autodiff_cli.errors"] = errors
        if "\nadd_methods(" in text:
            lines["autodiff_cli.autograd.tensor"] = {"add_methods"}
        if re.search(r"\bfrom_scipy\(", text):
            lines["autodiff_cli.numerics.backend"] = {"from_scipy"}
        if re.search(r"\bdecomposition\(", text):
            lines["autodiff_cli.numerics"] = {"decomposition"}
        for subject in set(re.findall(r"\b_numerics_(\w+?)__\.", text)):
            lines.setdefault("autodiff_cli.numerics", set()).add(f"{subject} as _numerics_{subject}__")
        for name in self.used - {row.name for row in self.table.rows if not row.is_python}:
            module = self.names.modules.get(name) or (
                f"autodiff_cli.numerics.{self.table.subject}" if name in self.arrays else self.names.arrays.get(name)
            )
            if module is None:
                raise RuleError(f"{self.table.subject}.rules: the function '{name}' is not in a table, nor in ops/ or numerics/")
            if module == f"autodiff_cli.ops.{self.table.subject}":
                raise RuleError(f"{self.table.subject}.rules: '{name}' is in ops/{self.table.subject}.py, which imports the rules")
            lines.setdefault(module, set()).add(name)
        return [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(lines.items())]

    def declaration(self, row: Row) -> str:
        """Return the declaration of a row as Python."""
        words = row.keywords
        if row.is_python:
            return self._python_row(row)
        if row.value.startswith("= "):
            return self._composition(row)
        value, _, decomposition = row.value.partition(" = ")
        decomposition = words.get("decomposition", decomposition)
        if row.parameters[0].several:
            kind, vjps = "declare.sequence", self._one_rule(row, ["g", "i", "shapes", *(each.name for each in row.statics)])
        elif "results" in words:
            kind, vjps = "declare.several", self._one_rule(row, None)
        else:
            kind, vjps = "declare", self._vjps(row)
        arguments = [repr(words.get("primitive", row.name)), self._value(row, value), vjps]
        if row.statics:
            arguments.append(f"statics={{{', '.join(f'{s.name!r}: {s.default}' for s in row.statics)}}}")
            if kinds := [f"{s.name!r}: {s.kind}" for s in row.statics if s.kind]:
                arguments.append(f"kinds={{{', '.join(kinds)}}}")
        if "taylor" in words:
            arguments.append(f"series={self._taylor(row, words['taylor'])}")
        if "node" in words:
            arguments.append(f"node={words['node']!r}")
        if "selects" in words:
            names = words["selects"]
            arguments.append("selects=True" if names == "all" else f"selects={tuple(split_outside_brackets(names))!r}")
        if "elementwise" in words:
            arguments.append(f"elementwise={words['elementwise'] == 'true'}")
        if "view" in words:
            view = words["view"]
            names = ["x", "i", *(each.name for each in row.statics)]
            arguments.append(f"view={'True' if view == 'true' else self._program(row, view, 'view', names)}")
        for key in ("results", "constant"):
            if key in words and words[key] != "unnamed":
                arguments.append(f"{key}={tuple(split_outside_brackets(words[key]))!r}")
        if "recover" in words:
            arguments.append(f"recover={self._reference(words['recover'])}")
        if decomposition:
            arguments.append(f"decomposition={self._decomposition(decomposition)}")
        arguments += self._description(row) if row.public else ["public=False"]
        return f"{_target(row)} = {kind}({', '.join(arguments)})"

    def _python_row(self, row: Row) -> str:
        """Return the description of a function of ``ops/`` that is written in Python."""
        own = row.parameters
        kinds = {each.name: each.kind for each in own if each.kind}
        checked = kinds | {each.name: each.kind for each in row.options}
        names = split_outside_brackets(row.keywords["checks"]) if "checks" in row.keywords else [*checked]
        arguments = [
            repr(row.name),
            "None" if names == ["none"] else repr(tuple(name for name in names if name != "-")),
            f"parameters={tuple(each.name for each in own)!r}",
            f"defaults=({''.join(f'{each.default}, ' for each in own if each.default)})",
            f"tensors={row.operands!r}",
            f"kinds={{{', '.join(f'{name!r}: {kind}' for name, kind in checked.items())}}}",
        ]
        if own and own[0].several:
            arguments.append("variadic=True")
        elif own and own[-1].several:
            arguments.append("spread=True")
        return f"declare.python({', '.join([*arguments, *self._description(row)])})"

    def _decomposition(self, text: str) -> str:
        """Return a decomposition: a text, or a function that returns the text for the plain arguments of a call."""
        module, _, name = text.partition(".")
        if module != "decompositions" or not _DOTTED.fullmatch(text):
            return repr(text)
        name, called, given = name.partition("(")
        parameters = "" if called else ", ".join(_parameters(NUMERICS / "decompositions.py").get(name, ()))
        operands = given.removesuffix(")") or parameters
        call = f"decomposition({', '.join(filter(None, (repr(name), operands)))})"
        return f"lambda {parameters}: {call}" if parameters else f"lambda: {call}"

    def _taylor(self, row: Row, text: str) -> str:
        """Return the name of a kind of Taylor rule, or a function that computes the series with other functions."""
        return repr(text) if text.isidentifier() else self._program(row, text, "series", [each.name for each in row.parameters])

    def _composition(self, row: Row) -> str:
        """Return the declaration of a function that is composed of others."""
        own = [*row.parameters, *row.options]
        lines, body = self._statements(row, [_folded(each) for each in parse(row.value[2:]).children], [each.name for each in own])
        names = [f"{each.name}: Any" + (f" = {each.default}" if each.default else "") for each in own]
        if row.options:
            names.insert(len(row.parameters), "*")
        typed = ", ".join(names)
        parameters = typed.replace(": Any", "").replace(" = ", "=")
        lines[:0] = [self._requirement(row, each) for each in row.keywords.get("requires", "").splitlines()]
        if row.is_helper and not lines:
            return f"{row.name}: Any = lambda {parameters}: {body}"
        if row.is_helper:
            return _definition(row.name, typed, _sentence(row.summary), lines, body)
        function = f"lambda {parameters}: {body}"
        if lines:
            function = f"_{row.name}_composed"
            self.definitions.append(_definition(function, typed, _sentence(row.summary), lines, body))
        kinds = ", ".join(f"{each.name}={each.kind}" for each in own if each.kind)
        return (
            f"{_target(row)} = declare.composed({row.name!r}, {function}, "
            f"dict({kinds}), {', '.join([f'tensors={row.operands!r}', *self._description(row)])})"
        )

    def _requirement(self, row: Row, text: str) -> str:
        """Return a statement that raises an error if a condition is false.  A shape in braces in the message is a list."""

        def python(tree: Syntax) -> str:
            writer = Writer(names_in(tree))
            if unknown := names_in(tree) - {each.name for each in (*row.parameters, *row.options)} - _CONSTANTS.keys():
                raise RuleError(f"{', '.join(sorted(unknown))} is not a parameter")
            result = writer.text(tree)
            self.used |= writer.functions
            return result

        def shown(part: re.Match[str]) -> str:
            value = python(_tree(part[1]))
            return f"{{list({value})}}" if value.endswith(".shape") or value.startswith("listed(") else f"{{{value}}}"

        parts = [part.strip() for part in text.split(" | ")]
        if len(parts) not in (3, 4):
            raise RuleError(
                f"'requires:' has a condition, an error, a message and a hint or nothing, separated by ' | ', not {text}"
            )
        condition, error, message, *hints = parts
        message = f'f"{re.sub("{(.*?)}", shown, message)}"' if "{" in message else repr(message)
        arguments = [message, *(f"hint={hint!r}" for hint in hints)]
        return f"    if {python(_opposite(_tree(condition)))}: raise {error}({', '.join(arguments)})"

    def _value(self, row: Row, value: str) -> str:
        if not value or (value.isidentifier() and value not in row.tensors):
            return f"_numerics_{self.table.subject}__.{value or row.name}"
        if value.startswith("scipy."):
            return f"from_scipy({value.removeprefix('scipy.')!r})"
        if _DOTTED.fullmatch(value):
            return self._python(value)
        writer = Writer()
        text = writer.text(_tree(value))
        for name in writer.functions & self.arrays:
            text = re.sub(rf"\b{name}\(", f"_numerics_{self.table.subject}__.{name}(", text)
        self.used |= writer.functions - self.arrays
        return f"lambda {', '.join(each.name for each in row.parameters)}: {text}"

    def _python(self, text: str) -> str:
        """Return a dotted reference to NumPy, ``operator`` or a module of ``numerics/``."""
        module, _, rest = text.partition(".")
        return text if module in ("np", "operator", "math") else f"_numerics_{module}__.{rest}"

    def _reference(self, text: str) -> str:
        return self._python(text) if "." in text else f"_numerics_{self.table.subject}__.{text}"

    def _vjps(self, row: Row) -> str:
        words, tensors = row.keywords, row.tensors
        derivatives = split_outside_brackets(row.derivative) or [""]
        rules = []
        for i, name in enumerate(tensors):
            text = words.get(f"vjp {name}") or (words.get("vjp") if len(tensors) == 1 else None)
            if text is None:
                text = derivatives[i] if i < len(derivatives) else ""
                rule = "None" if text in ("", "-") else self._rule(row, text, name)
            else:
                rule = self._reference_or_rule(row, text, name)
            rules.append(f"{name!r}: {rule}")
        return f"{{{', '.join(rules)}}}"

    def _reference_or_rule(self, row: Row, text: str, name: str) -> str:
        """Return a VJP rule that is a program, or the name of a function."""
        if not text.isidentifier() or text == "g":
            return self._rule(row, text, name)
        self.used.add(text)
        return text

    def _one_rule(self, row: Row, parameters: Sequence[str] | None) -> str:
        """Return the rule of an operation on a sequence, with the given parameters, or of one with several results."""
        text = row.keywords["vjp"]
        if text.isidentifier():
            return self._reference_or_rule(row, text, row.parameters[0].name)
        return self._function(row, [_folded(each) for each in parse(text).children], f"by_{row.parameters[0].name}", parameters)

    def _rule(self, row: Row, text: str, name: str) -> str:
        """Return a VJP rule: a program that contains ``g``, or a derivative, which is multiplied by ``g``."""
        statements = parse(text).children
        own = _tree(row.call)
        statements = [_folded(_replaced(statement, own, name_tree("out"))) for statement in statements]
        if not any("g" in names_in(statement) for statement in statements):
            statements[-1] = times_cotangent(statements[-1])
        return self._function(row, statements, f"by_{name}", None)

    def _program(self, row: Row, text: str, name: str, parameters: Sequence[str]) -> str:
        return self._function(row, [_folded(statement) for statement in parse(text).children], name, parameters)

    def _function(self, row: Row, statements: Sequence[Syntax], name: str, parameters: Sequence[str] | None) -> str:
        """Return a function of the statements; by default, its parameters are ``g`` and the values that it needs."""
        words = row.keywords
        known = [*row.tensors, "out", *split_outside_brackets(words.get("results", ""))]
        known += [*(f"{each}_shape" for each in row.tensors), *(each.name for each in row.statics)]
        wanted = {each for statement in statements for each in names_in(statement)}
        parameters = parameters or ["g", *(each for each in known if each in wanted)]
        lines, result = self._statements(row, statements, [*known, *parameters, "g"])
        if not lines:
            return f"lambda {', '.join(parameters)}: {result}"
        function = f"_{row.name}_{name}"
        what = f"The cotangent of {name.removeprefix('by_')} in" if name.startswith("by_") else "The Taylor series of"
        formula = words.get("formula", row.summary) if len(row.tensors) == 1 else row.summary
        about = f"{what} ``{row.call}``: {formula}."
        self.definitions.append(_definition(function, f"{': Any, '.join(parameters)}: Any", about, lines, result))
        return function

    def _statements(self, row: Row, statements: Sequence[Syntax], names: Sequence[str]) -> tuple[list[str], str]:
        """Return the assignments of a program as lines of Python, and its last expression."""
        plain = [each.name for each in (*row.parameters, *row.options) if not each.tensor]
        arrays = self.names.arrays.keys() - self.names.modules.keys()
        writer = Writer([*plain, *(f"{each}_shape" for each in row.tensors), "shapes", "i"], arrays)
        lines, local = [], set()
        for statement in statements[:-1]:
            local.add(statement.children[0].text)
            if writer.knows(statement.children[1]):
                writer.plain.add(statement.children[0].text)
            lines.append(f"    {statement.children[0].text} = {writer.text(statement.children[1])}")
        result = writer.text(statements[-1])
        self.used |= writer.functions
        unknown = {each for statement in statements for each in names_in(statement)} - {*names, *local, "np", *_CONSTANTS}
        self.used |= unknown & self.names.modules.keys()  # functions that are arguments
        unknown -= self.used
        if unknown:
            raise RuleError(f"{', '.join(sorted(unknown))} is not a parameter")
        return lines, result

    def _description(self, row: Row) -> Iterator[str]:
        words = row.keywords
        domain, _, smooth = (part.strip() for part in row.where.partition(";"))
        yield f"summary={row.summary!r}"
        formula = words.get("formula") or row.derivative
        if formula:
            yield f"formula={formula!r}"
        if row.aliases:
            yield f"aliases={tuple(row.aliases)!r}"
        if domain or "domain" in words:
            yield f"domain={words.get('domain', domain)!r}"
            inside = words.get("inside") or domain or words["domain"]
            if inside != "none":
                yield f"inside={self._predicate(row, inside)}"
        if smooth or "smooth" in words:
            yield f"smooth={words.get('smooth', smooth)!r}"
        smooth = smooth or words.get("smooth", "")
        kink = words.get("kink") or (smooth and (f"({domain}) and {negated(smooth)}" if domain else negated(smooth)))
        if kink and kink != "none":
            yield f"kink={self._predicate(row, kink)}"
        if "second" in words:
            yield f"second_kink={self._predicate(row, words['second'])}"
        if "convention" in words:
            yield f"convention={words['convention']!r}"
        for key in ("samples", "edges"):
            if words.get(key) == "none":
                continue
            if key in words:
                yield f"{key}={self._literal(words[key])}"
            elif self.table.elementwise and (
                row.is_differentiable if key == "samples" else row.where or words.keys() & {"domain", "smooth", "second"}
            ):
                yield f"{key}=None"
        if "operator" in words:
            yield f"operator={words['operator']!r}"
        if "reflected" in words:
            writer = Writer(["other"])
            yield f"reflected=lambda self, other: {writer.text(_tree(words['reflected']))}"
            self.used |= writer.functions
        if words["methods"] != "all":
            yield f"methods={() if words['methods'] == 'none' else tuple(split_outside_brackets(words['methods']))!r}"

    def _predicate(self, row: Row, text: str) -> str:
        if text.replace(".", "").isidentifier():
            return self._reference(text)
        writer = Writer([each.name for each in row.statics])
        tree = _tree(text)
        condition = writer.text(tree)
        self.used |= writer.functions
        wanted = names_in(tree)
        return f"lambda {', '.join(each.name for each in row.parameters if each.name in wanted)}: {condition}"

    def _literal(self, text: str) -> str:
        for name, python in {**_CONSTANTS, "none": "None", "true": "True", "false": "False"}.items():
            text = re.sub(rf"(?<!['\w]){name}(?!['\w])", python, text)
        return f"({text},)"


_LONG = 4
"""The number of statements before the result from which on a function has a docstring."""


def _sentence(summary: str) -> str:
    """Return a summary as a sentence; its first word has a capital letter unless it is the name of a parameter or a formula."""
    return f"{summary[0].upper() if re.match(r'[a-z]{2,} ', summary) else summary[0]}{summary[1:]}."


def _definition(name: str, parameters: str, about: str, lines: Sequence[str], result: str) -> str:
    """Return a function as Python, with the docstring ``about`` if it is long."""
    docstring = [f'    """{about}"""'] if len(lines) >= _LONG else []
    return "\n".join([f"def {name}({parameters}) -> Any:", *docstring, *lines, f"    return {result}"])


def _target(row: Row) -> str:
    """Return the names of a function, to which its declaration is assigned."""
    return " = ".join((row.name, *row.aliases))


def _tables() -> list[Table]:
    return [read(path.stem, path.read_text(encoding="utf-8")) for path in sorted(TABLES.glob("*.rules"))]


def compiled() -> Mapping[Path, str]:
    """Return the text of each module, by its path."""
    tables = _tables()
    names = Names(tables)
    return {MODULES / f"{table.subject}.py": Compiler(table, names).module() for table in tables}


def write() -> None:
    """Write the modules."""
    for path, text in compiled().items():
        path.write_text(text, encoding="utf-8")
    invalidate_caches()
    for path, text in names_of_functions().items():
        path.write_text(text, encoding="utf-8")


def names_of_functions() -> Mapping[Path, str]:
    """Return the text of each module of ``ops/names/``, by its path: the index of the modules, and the namespaces."""
    for path in sorted([*OPS.glob("*.py"), *MODULES.glob("*.py")]):
        if path.name != "__init__.py":
            import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    from autodiff_cli.autograd.primitives.registry import FUNCTIONS

    FUNCTIONS.on_missing({}, import_module)
    places: dict[str, dict[str, str]] = {}
    for name, info in sorted(FUNCTIONS.items()):
        package, _, module = info.function.__module__.partition(".ops.")
        if package != PACKAGE.name:  # a function of autograd/, which a module of ops/ adds to the language
            module = next(path.stem for path in sorted(OPS.glob("*.py")) if name in _defined(path))
        places.setdefault(module, {})[name] = info.name
    about = "Made by ``python grammar/compile_rules.py``.  Do not edit."
    index = "\n".join(f"    {module!r}: {' '.join(names)!r}," for module, names in sorted(places.items()))
    in_place = " ".join(name for table in _tables() for name in table.in_place)
    text = f'"""The functions of each module, and those with in-place methods.  {about}"""\n\nMODULES = {{\n{index}\n}}\n'
    modules = {NAMES / "__init__.py": f"{text}IN_PLACE = {in_place!r}\n"}
    for namespace, sections in NAMESPACES.items():
        lines = [
            f"from autodiff_cli.ops.{module} import {', '.join(f'{own} as {name}' for name, own in names.items())}"
            for module, names in sorted(places.items())
            if sections is None or module.rpartition(".")[2] in sections
        ]
        modules[NAMES / f"{namespace}.py"] = "\n".join([f'"""Names of functions.  {about}"""', "", *lines, ""])
    return modules


if __name__ == "__main__":
    write()
