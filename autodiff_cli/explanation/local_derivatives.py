"""Local derivatives as formulas: the formulas of the declarations, with operands in place of parameters.

A declaration contains the derivative as text: usually an expression of the language, ``y*x**(y - 1)``, sometimes prose.
This module splits the text into one formula for each parameter, parses the formulas and folds constants: the derivative of
``x**3`` becomes ``3*x**2``.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from autodiff_cli.arrays import Array
from autodiff_cli.autograd.modes import no_grad
from autodiff_cli.autograd.node import Node
from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.compiler.simplify import exact, pattern
from autodiff_cli.errors import AutodiffError, ParseError
from autodiff_cli.evaluation.names import CONSTANTS
from autodiff_cli.evaluation.stack_machine import Machine
from autodiff_cli.evaluation.trace import raw
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax, name_tree, names_in, new_tree, number_tree, split_outside_brackets
from autodiff_cli.postorder import postorder

DerivativeFormula = Syntax | str
GRADIENT = "g"
"""The name of the upstream gradient in the declared formula of a VJP rule that does not multiply by a local derivative."""
ARRIVING = "%gradient"
"""The name of the upstream gradient in a formula that contains names of tensors, where a tensor may be named ``g``."""
_OTHERS = {
    "PowBackward2": "y**x*log(y)",  # a number raised to the power x
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
"""Formulas of primitives and nodes whose declaration does not contain a formula that can be evaluated."""
_WITH_BEFORE = re.compile(r"with (?P<name>\w+) = (?P<meaning>[^:]*): (?P<formula>.*)")
_WITH_AFTER = re.compile(r"(?P<formula>.*) with (?P<name>\w+) = (?P<meaning>.*)")
"""The two forms of an abbreviation: ``with s = sigmoid(x): s*(1 - s)`` and ``s*(1 - s) with s = sigmoid(x)``."""


@cache
def formulas(primitive: Primitive, node_name: str) -> dict[str, DerivativeFormula]:
    """Return the declared derivatives by parameter: expressions in the parameters and ``g``, or prose.

    A declaration has one formula for each parameter, or ``by x: formula`` for one of them; a node may have a formula of its own.
    """
    by = [primitive.parameters[i] for i in primitive.differentiable_args]  # the parameters to differentiate by
    if primitive.partial is not None:
        return {name: primitive.partial(name) for name in by}
    declared = FUNCTIONS[primitive.name].formula if primitive.name in FUNCTIONS else ""
    text = _OTHERS.get(node_name, _OTHERS.get(primitive.name, declared))
    for_one = re.fullmatch(r"by (\w+): (.*)", text)
    if for_one:
        name, part = for_one.groups()
        return {name: _formula(part, primitive)} if name in by else {}
    abbreviation = _WITH_BEFORE.fullmatch(text) or _WITH_AFTER.fullmatch(text)
    if abbreviation:
        text = re.sub(rf"\b{abbreviation['name']}\b", f"({abbreviation['meaning']})", abbreviation["formula"])
    parts = _by_parameter(text, by, primitive)
    return {name: _formula(part, primitive) for name, part in parts.items() if part}


def _by_parameter(text: str, by: list[str], primitive: Primitive) -> dict[str, str]:
    """Split a list of formulas, one for each tensor of the function, and assign them to the parameters ``by`` of the primitive.

    The primitive may take fewer tensors than the function.  Formulas whose number fits neither are left out.
    """
    parts = split_outside_brackets(text)
    if len(parts) == len(by):
        return dict(zip(by, parts, strict=True))
    tensors = FUNCTIONS[primitive.name].tensors if primitive.name in FUNCTIONS else ()
    if len(parts) == len(tensors):
        return {name: part for name, part in zip(tensors, parts, strict=True) if name in by}
    is_one_formula = len(parts) == 1 or len(by) == 1  # prose may contain commas
    return {by[0]: text} if is_one_formula else {}


def _formula(text: str, primitive: Primitive) -> DerivativeFormula:
    """Parse a formula, which may be ``x where condition else y``; return the text if it is not an expression of the parameters."""
    choice = re.fullmatch(r"(.*) where (.*) else (.*)", text)
    source = f"({choice[1]}) if ({choice[2]}) else ({choice[3]})" if choice else text
    try:
        (tree,) = parse(source).children
    except (ParseError, ValueError):
        return text
    return tree if names_in(tree) <= {*primitive.parameters, *CONSTANTS, GRADIENT} else text


def holds(tree: Syntax, values: Mapping[str, Any], local: Array) -> bool:
    """Return whether a formula, evaluated at the arguments, equals the local derivative of the VJP rule.

    A formula may differ from the rule at a kink, where the rule follows a convention.  It may also differ if one declaration
    describes several operations.  ``values`` contains the arguments by parameter, ``None`` for an unknown value.
    """
    operands = {name: value for name, value in values.items() if name in names_in(tree)}
    if any(value is None for value in operands.values()):
        return False
    try:
        with np.errstate(all="ignore"), no_grad():
            machine = Machine("", {}, np.asarray(local).dtype, listing=False)
            machine.names.update({name: machine.tensors.as_tensor(_plain(value)) for name, value in operands.items()})
            computed = np.asarray(machine.tensors.as_tensor(machine.evaluate(tree))._data, np.float64)
            expected = np.asarray(local, np.float64)
            tolerance = 1e-4 if np.asarray(local).dtype.itemsize < 8 else 1e-7  # half of the digits of float32 or float64
            return bool(np.all(np.isclose(computed, expected, rtol=tolerance, atol=1e-300, equal_nan=True)))  # 0 is near 1e-301
    except (AutodiffError, ValueError):  # the formula does not suit the arguments, or has another shape
        return False


def convention(node: Node, values: Mapping[str, Any]) -> str | None:
    """Return the convention of a node for its kinks if an argument is at a kink, else ``None``."""
    op = None if node.primitive is None else FUNCTIONS.get(node.primitive.name)
    if op is None or op.kink is None or not op.convention:
        return None
    operands = {key: raw(value) for key, value in values.items() if value is not None}
    try:
        at_kink = np.any(op.mask(op.kink, [], operands))
    except (ValueError, KeyError):  # an argument of the predicate is unknown
        return None
    return op.convention if at_kink else None


def _plain(value: object) -> object:
    """Return an argument without its tensor, an array as nested lists."""
    value = raw(value)
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def filled_in(tree: Syntax, operands: Mapping[str, Syntax]) -> Syntax:
    """Return a formula with its parameters replaced by operands, and with constants folded; other names stay."""
    trees: dict[Syntax, Syntax] = {}
    for part in postorder([tree], lambda part: part.children):
        if part.kind == "name":
            trees[part] = operands.get(part.children[0].text, part)
        elif not part.children or part.kind == "number":  # a token, or a number with its token
            trees[part] = part
        else:
            trees[part] = _shorter(part.with_children([trees[child] for child in part.children]))
    return trees[tree]


def _shorter(tree: Syntax) -> Syntax:
    """Return an operation with its numbers folded, without factors, exponents and divisors equal to 1, and terms equal to 0."""
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
    _patterns, replacement = exact(tree.kind, pattern(first), pattern(second)) or (None, None)  # such as x for x*1
    if isinstance(replacement, str):  # the operand ``x`` or ``y``
        return parts["xy".index(replacement)]
    if replacement is not None and not isinstance(replacement, tuple):  # not an operation
        return number(replacement)
    # x + 0 = x and x*0 = 0 do not hold for all floats, but they make a formula easier to read.
    if tree.kind == "add" and 0 in numbers:
        return parts[1 if first == 0 else 0]
    return number(0.0) if tree.kind == "mul" and 0 in numbers else tree


_FOLD = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "pow": operator.pow}


def _folded(kind: str, a: float, b: float) -> float | None:
    """Return the result of an operation on numbers; ``None`` if it is undefined, complex or infinite, or has too many digits."""
    try:
        value = _FOLD[kind](a, b)
    except ArithmeticError:
        return None
    if isinstance(value, complex) or not math.isfinite(value):
        return None
    short = float(f"{value:.12g}")  # 0.1*3 is shown as 0.3
    most_digits = 3 if kind == "div" else 6  # 1/8 remains a quotient
    return short if len(f"{short:g}") <= most_digits and float(f"{short:g}") == short else None


def number_of(tree: Syntax) -> float | None:
    """Return the value of a literal with any number of minus signs; ``None`` for other trees."""
    if tree.kind == "neg":
        inner = number_of(tree.children[0])
        return None if inner is None else -inner
    return float(tree.children[0].text.replace("_", "")) if tree.kind == "number" else None


def number(value: float) -> Syntax:
    """Return the syntax tree of a number: an integer below 1e15 has no point, and a negative number is a negation."""
    size = abs(value)
    if math.isfinite(value):
        tree = number_tree(str(int(size)) if size == int(size) and size < 1e15 else repr(float(size)))
    else:
        tree = name_tree(str(size))
    return new_tree("neg", tree) if value < 0 else tree


def product(first: Syntax, second: Syntax) -> Syntax:
    """Return the product of two trees without parentheses: ``a`` times ``b*c`` is ``a*b*c``."""
    factors = []  # of the second tree, the last one first
    while second.kind == "mul":
        factors.append(second.children[1])
        second = second.children[0]
    for factor in (second, *reversed(factors)):
        first = new_tree("mul", first, factor)
    return first


def renamed(text: str, operands: Mapping[str, str]) -> str:
    """Return prose in which operands replace the parameters, which are whole words."""
    if not operands:
        return text
    return re.sub(rf"\b({'|'.join(map(re.escape, operands))})\b", lambda match: operands[match[1]], text)
