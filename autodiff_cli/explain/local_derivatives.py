"""Local derivatives as formulas: the declaration's own, with the operands of a call in the place of its parameters.

What a declaration says of a derivative is text: mostly of the language, ``y*x**(y - 1)``, sometimes prose.  Here it is
parsed, split into one formula for each parameter, and what can be folded is, so that the derivative of ``x**3`` reads
``3*x**2``.  Formulas are short, so their trees may be walked by recursion.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from autodiff_cli.autograd.modes import no_grad
from autodiff_cli.autograd.node import Node
from autodiff_cli.autograd.primitives.primitive import Primitive, argument_names
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.errors import AutodiffError, ParseError
from autodiff_cli.evaluation.machine import Machine
from autodiff_cli.evaluation.names import CONSTANTS
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax, walk

GRADIENT = "g"
"""The name that formulas have for the gradient that arrives, where a derivative is no factor."""
ARRIVING = "%gradient"
"""The same beside the names of tensors, one of which may be ``g``."""
_OTHERS = {
    "PowBackward2": "y**x*log(y)",  # a number to the power x
    "RsubBackward1": "-1",
    "where": "1 where condition else 0, 0 where condition else 1",
    "tanh_slope": "-2*t*(1 - t**2)",
    "sigmoid_slope": "s*(1 - s)*(1 - 2*s)",
    "bell": "-2*scale*x*exp(-scale*x**2)",
    "over": "1/y, -x/y**2",
    "threshold_backward": "1 if y > 0 else 0, 0",
    "hardtanh_backward": "1 if low < y < high else outside, 0",
    "one_minus_square": "-2*x",
    "square_minus_one": "2*x",
}
"""Formulas of operations, or of nodes, whose declaration has none that could be computed."""
_WITH = re.compile(r"(?:with (?P<a>\w+) = (?P<b>[^:]*): (?P<c>.*))|(?:(?P<d>.*) with (?P<e>\w+) = (?P<f>.*))")


class Formula:
    """The derivative by one parameter.

    Attributes:
        tree: over the parameters of the operation, and ``g``; ``None`` if it cannot be computed.
        text: prose, if it is that.
    """

    __slots__ = ("text", "tree")

    def __init__(self, tree: Syntax | None, text: str = "") -> None:
        self.tree = tree
        self.text = text


@cache
def formulas(primitive: Primitive, node_name: str) -> dict[str, Formula]:
    """What is declared of the derivatives by each parameter, for those of which something is."""
    by = [primitive.parameters[i] for i in primitive.differentiable_args]
    declared = FUNCTIONS[primitive.name].formula if primitive.name in FUNCTIONS else ""
    text = _OTHERS.get(node_name, _OTHERS.get(primitive.name, declared))
    only = re.match(r"by (\w+): ", text)
    if only:
        return {only[1]: _formula(text[only.end() :], primitive)} if only[1] in by else {}
    defined = _WITH.fullmatch(text)
    if defined:
        name, meaning, text = defined["a"] or defined["e"], defined["b"] or defined["f"], defined["c"] or defined["d"]
        text = re.sub(rf"\b{name}\b", f"({meaning})", text)
    return {name: _formula(piece, primitive) for name, piece in _by_parameter(text, by, primitive).items() if piece}


def _by_parameter(text: str, by: list[str], primitive: Primitive) -> dict[str, str]:
    """A declared list of formulas, one for each tensor of the function; an operation may have fewer of those."""
    pieces = _pieces(text)
    if len(pieces) == len(by):
        return dict(zip(by, pieces, strict=True))
    tensors = FUNCTIONS[primitive.name].tensors if primitive.name in FUNCTIONS else ()
    if len(pieces) == len(tensors):
        return {name: piece for name, piece in zip(tensors, pieces, strict=True) if name in by}
    return {by[0]: text} if len(pieces) == 1 or len(by) == 1 else {}


def _pieces(text: str) -> list[str]:
    """The formulas of a list of them: split at the commas that stand in no bracket."""
    pieces, depth = [""], 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            pieces.append("")
        else:
            pieces[-1] += character
    return [piece.strip() for piece in pieces]


def _formula(text: str, primitive: Primitive) -> Formula:
    chosen = re.fullmatch(r"(.*) where (.*) else (.*)", text)
    try:
        (tree,) = parse("({}) if ({}) else ({})".format(*chosen.groups()) if chosen else text).children
    except (ParseError, ValueError):
        return Formula(None, text)
    used = names_in(tree)
    known = {*primitive.parameters, *CONSTANTS, GRADIENT}
    return Formula(tree) if used <= known else Formula(None, text)


def holds(formula: Formula, values: Mapping[str, Any], local: Any) -> bool:
    """Whether a formula, computed from the arguments, is the derivative that the rule has.

    It need not be: a declaration covers several operations under one name, and a kink has a convention of its own.
    """
    if formula.tree is None:
        return False
    used = names_in(formula.tree)
    if any(name in used and value is None for name, value in values.items()):
        return False  # an argument was not kept: the formula could not be computed from what is shown
    given = {name: value for name, value in values.items() if value is not None}
    try:
        with np.errstate(all="ignore"), no_grad():
            machine = Machine("", {}, np.asarray(local).dtype, listing=False)
            machine.names.update({name: machine.tensors.of(_plain(v)) for name, v in given.items() if name in used})
            computed = np.asarray(machine.tensors.of(machine.evaluate(formula.tree))._data, np.float64)
            wanted = np.asarray(local, np.float64)
            few = np.asarray(local).dtype.itemsize < 8
            return bool(np.all(np.isclose(computed, wanted, rtol=1e-4 if few else 1e-7, atol=1e-300, equal_nan=True)))
    except (AutodiffError, ValueError):
        return False


def convention(node: Node, values: Mapping[str, Any]) -> str | None:
    """What is answered at a kink, if an argument of a node is at one."""
    op = None if node.primitive is None else FUNCTIONS.get(node.primitive.name)
    if op is None or op.kink is None or not op.convention:
        return None
    kept = {key: getattr(value, "_data", value) for key, value in values.items() if value is not None}
    try:
        at_kink = np.any(op.mask(op.kink, [], kept))
    except (ValueError, KeyError):  # an argument that the predicate asks for was not kept
        return None
    return op.convention if at_kink else None


def _plain(value: Any) -> Any:
    value = getattr(value, "_data", value)
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def names_in(tree: Syntax) -> set[str]:
    """The names that stand in a tree."""
    return {node.children[0].text for node in walk(tree) if node.kind == "name"}


@cache
def written(primitive: Primitive, statics: tuple[Any, ...]) -> Syntax | None:
    """The value of an operation that is not public as a formula over its parameters; ``None`` where one line cannot say it."""
    text = primitive.decomposition
    if callable(text):
        parameters = argument_names(text)
        text = text(
            *[value for name, value in zip(primitive.parameters[primitive.arity :], statics, strict=True) if name in parameters]
        )
    try:
        trees = parse(text).children if text else []
    except ParseError:
        return None
    return trees[0] if len(trees) == 1 and trees[0].kind != "assignment" else None


def filled_in(tree: Syntax, operands: Mapping[str, Syntax]) -> Syntax:
    """A formula with operands in the place of its parameters, and what is constant in it folded."""
    if tree.kind == "name":
        return operands.get(tree.children[0].text, tree)
    if not tree.children or tree.kind == "number":
        return tree
    return _shorter(Syntax(tree.kind, [filled_in(child, operands) for child in tree.children], tree.text, tree.span))


def _shorter(tree: Syntax) -> Syntax:
    """Numbers computed, and factors, exponents and divisors of 1 left out."""
    parts = tree.children
    numbers = [number_of(part) for part in parts]
    if tree.kind == "neg" and numbers[0] is not None:
        return number(-numbers[0])
    if len(parts) != 2 or tree.kind not in _FOLD:
        return tree
    first, second = numbers
    if first is not None and second is not None:
        folded = _folded(tree.kind, first, second)
        return tree if folded is None else number(folded)
    if (tree.kind == "mul" and first == 1) or (tree.kind == "add" and first == 0):
        return parts[1]
    if (tree.kind in ("mul", "div", "pow") and second == 1) or (tree.kind in ("add", "sub") and second == 0):
        return parts[0]
    if tree.kind == "mul" and 0 in numbers:  # a rule hands on nothing there, whatever the other factor is
        return number(0.0)
    return number(1.0) if tree.kind == "pow" and second == 0 else tree


_FOLD: dict[str, Callable[[float, float], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "pow": operator.pow,
}


def _folded(kind: str, a: float, b: float) -> float | None:
    """A result that reads as easily as what it is computed from."""
    try:
        value = _FOLD[kind](a, b)
    except ArithmeticError:
        return None
    if isinstance(value, complex) or not math.isfinite(value):
        return None
    short = float(f"{value:.12g}")  # 0.1*3 is 0.3 to the eye
    return short if len(f"{short:g}") <= (3 if kind == "div" else 6) and float(f"{short:g}") == short else None


def number_of(tree: Syntax) -> float | None:
    """The number that a tree writes down."""
    if tree.kind == "neg":
        inner = number_of(tree.children[0])
        return None if inner is None else -inner
    return float(tree.children[0].text.replace("_", "")) if tree.kind == "number" else None


def number(value: float) -> Syntax:
    """A number as a tree."""
    size = abs(value)
    if not math.isfinite(value):
        shown = name(str(size))
    else:
        digits = str(int(size)) if size == int(size) and size < 1e15 else repr(float(size))
        shown = Syntax("number", [Syntax("NUMBER", [], digits, (0, 0))], "", (0, 0))
    return Syntax("neg", [shown], "", (0, 0)) if value < 0 else shown


def name(text: str) -> Syntax:
    """A name as a tree; any text may be one that is only printed."""
    return Syntax("name", [Syntax("NAME", [], text, (0, 0))], "", (0, 0))


def renamed(text: str, operands: Mapping[str, str]) -> str:
    """Prose about parameters with the operands in their place."""
    if not operands:
        return text
    return re.sub(rf"\b({'|'.join(map(re.escape, operands))})\b", lambda match: operands[match[1]], text)


def of_node(node: Node) -> dict[str, Formula]:
    """The formulas of the operation that a node stands for."""
    return {} if node.primitive is None else formulas(node.primitive, node.name())
