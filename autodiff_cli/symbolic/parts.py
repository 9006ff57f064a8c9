"""A program taken apart: an evaluator that gives a name to the result of each operation that takes a rule of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.evaluation.coercion import flat_items
from autodiff_cli.language.operators import COMPARISONS, LOGIC, OPERATORS
from autodiff_cli.language.tree import Syntax, call_tree, keyword_tree, new_token, new_tree
from autodiff_cli.symbolic.matrices.arrays import Array
from autodiff_cli.symbolic.matrices.reading import Reader, Symbol

if TYPE_CHECKING:
    from autodiff_cli.symbolic.steps import Derivation

_SUMS, _SCALES = ("add", "sub", "neg"), ("mul", "div", "neg", "matmul")
_TAKE_MULTIPLES = (*_SUMS, *_SCALES, "where")  # the operations that take a multiple of a variable as it is: ``u + 2*x`` is one part
_CONDITIONS = (*COMPARISONS, *LOGIC)
_TRIVIAL = ("", *_CONDITIONS)  # the operations that are written inside of others, such as ``X.T`` and ``x > 0``
_RULES = {
    **dict.fromkeys(_SUMS, "sum rule"),
    **dict.fromkeys(("mul", "matmul"), "product rule"),
    "div": "quotient rule",
    "where": "in each branch",
}


class PartReader(Reader):
    """An evaluator of a program that adds the parts to a derivation, which has the factory of the arrays.

    Variables are ``leaves``, and other names have values, ``constants``.

    Attributes:
        rules: the operation and the name of the rule of each array.
        texts: the expression of each array, as the user wrote it, with the names of parts.
        parts: the leaf of each array that is a part.
        is_inside: whether the operations that are evaluated belong to one part.
    """

    def __init__(self, derivation: Derivation, source: str, leaves: Sequence[Array], constants: Mapping[str, Tensor]) -> None:
        super().__init__(derivation.arrays, source, {leaf.symbol.name: leaf.dims for leaf in leaves})
        self.derivation = derivation
        self.variables |= constants
        self.names |= constants
        self.rules: dict[Array, tuple[str, str]] = {}
        self.texts: dict[Array, Syntax] = {}
        self.parts: dict[Array, Array] = {}
        self.is_inside = False

    def whole(self) -> Array:
        """Run the program, and return its result, which is not a part yet if it has no name."""
        return self.array(self._whole(self.run()))

    def part(self, array: Array, name: str = "") -> Array:
        """Return the leaf that stands for an array; one that does not depend on a variable stays as it is."""
        if array.kind == "leaf" or not self.derivation.depends(array):
            return array
        if array not in self.parts:
            _, rule = self.rules.get(array, ("", "each element"))
            text = self.text(Symbol(array))
            self.parts[array] = self.derivation.add_part(array, name, rule, text)
        return self.parts[array]

    def text(self, value: Any) -> Syntax:
        """Return a value of the program as the user wrote it, with the names of parts."""
        if isinstance(value, list):
            return new_tree("list", *map(self.text, value))
        if isinstance(value, Symbol):
            array = self.parts.get(value.array, value.array)
            return self.texts.get(array) or self.derivation.writer.tree(array)
        if isinstance(value, (str, bool)) or value is None:
            return new_token("STRING", f'"{value}"' if isinstance(value, str) else str(value).lower())
        return self.derivation.writer.tree(self.array(value))

    def _depends(self, value: object) -> bool:
        """Return whether a value, or an item of a list, depends on a variable."""
        return any(isinstance(item, Symbol) and self.derivation.depends(item.array) for item in flat_items([value]))

    def _note(self, result: Any, operation: str, rule: str, text: Syntax) -> None:
        """Note the operation, the rule and the text of a result, unless they are known, or the result is not an array."""
        if isinstance(result, Symbol):
            self.rules.setdefault(result.array, (operation, rule))
            self.texts.setdefault(result.array, text)

    def _operand(self, value: Any, operation: str) -> Any:
        """Return an operand of an operation: the name of a part, unless the text of the part is written inside the operation."""
        if isinstance(value, list):
            return [self._operand(item, operation) for item in value]
        if not isinstance(value, Symbol):
            return value
        if value.array in self.parts:
            return Symbol(self.parts[value.array])
        inner, _ = self.rules.get(value.array, ("", ""))
        is_written_inside = inner in _TRIVIAL or operation in ("scale", *_CONDITIONS)
        is_written_inside |= inner == "scale" and operation in _TAKE_MULTIPLES
        is_written_inside |= inner in _SUMS and operation in _SUMS
        is_written_inside |= inner == operation and inner in ("mul", "matmul")
        return value if is_written_inside else Symbol(self.part(value.array))

    # The evaluator

    def _set(self, name: str, value: Any, tree: Syntax) -> Any:
        """Assign a value to a name, which becomes the name of a part."""
        value = self._whole(value)
        if isinstance(value, Symbol):
            value = Symbol(self.part(value.array, self.derivation.free_name([name], self.derivation.used)))
        return super()._set(name, value, tree)

    def _whole(self, value: object) -> Any:
        """Return a list as one array, whose elements are parts; return any other value unchanged."""
        if not isinstance(value, list):
            return value
        parts = self._operand(value, "list")
        result = super()._whole(parts)
        self._note(result, "list", "each element", self.text(parts))
        return result

    def attribute(self, thing: object, name: str, node: Syntax) -> Any:
        """Return an attribute of a part: its transpose or its shape."""
        thing = self._operand(thing, "")
        text = new_tree("attribute", self.text(thing), node.children[1])
        result = super().attribute(thing, name, node)
        self._note(result, "", "transpose", text)
        return result

    def element(self, thing: object, keys: list[Any], node: Syntax) -> Any:
        """Return elements, rows or columns of a part."""
        thing = self._operand(thing, "")
        text = new_tree("index", self.text(thing), node.children[1])
        result = super().element(thing, keys, node)
        self._note(result, "", "selected elements", text)
        return result

    def apply(self, op: FunctionInfo, operands: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        """Apply a function of the language to parts."""
        if self.is_inside:  # a function that is a program of others is one part
            return super().apply(op, operands, named, node)
        multiple = self._multiple(op, operands)
        operation = "scale" if multiple else op.name  # what the operands are written inside of
        operands = self._operand(operands, operation)
        named = {key: self._operand(value, operation) for key, value in named.items()}
        self.is_inside = True
        try:
            result = super().apply(op, operands, named, node)
        finally:
            self.is_inside = False
        operation, rule = multiple or (op.name, self._rule(op, operands))
        self._note(result, operation, rule, self._operation_tree(op, operands, named, node))
        return result

    def _multiple(self, op: FunctionInfo, operands: Sequence[Any]) -> tuple[str, str] | None:
        """Return the operation and the rule of a multiple of an operand by a constant; ``None`` for any other operation.

        The multiple of a variable or a part is the operation ``scale``; that of another expression has its operation and rule.
        """
        dependent = [value for value in operands if self._depends(value)]
        if op.name not in _SCALES or len(dependent) != 1 or (op.name == "div" and dependent[0] is not operands[0]):
            return None
        array = dependent[0].array
        inner, rule = self.rules.get(array, ("", ""))
        if array.kind == "leaf" or array in self.parts:
            return "scale", "constant factor"
        return (inner, rule) if inner == "scale" or op.name != "matmul" else None

    def _rule(self, op: FunctionInfo, operands: Sequence[Any]) -> str:
        """Return the name of the rule of an operation, with ``chain rule`` if an operand is a part."""
        if op.name in _RULES:
            return _RULES[op.name]
        rule = f"rule of {op.name}"
        if op.name == "pow":
            has_base, has_exponent = map(self._depends, operands[:2])
            exponential = "power and exponential rule" if has_base else "exponential rule"
            rule = exponential if has_exponent else "power rule"
        leaves = {*self.parts.values()}
        is_chain = any(isinstance(item, Symbol) and item.array in leaves for item in flat_items(operands))
        return f"{rule}, chain rule" if is_chain else rule

    def _operation_tree(self, op: FunctionInfo, operands: Sequence[Any], named: Mapping[str, Any], node: Syntax) -> Syntax:
        """Return an operation as an expression of its operands, with the operator or the conditional that the program uses."""
        trees = list(map(self.text, operands))
        if op.name in COMPARISONS:
            return new_tree("comparison", trees[0], new_token("COMPARISON", COMPARISONS[op.name]), trees[1])
        if op.name in OPERATORS:
            return new_tree(op.name, *trees)
        if node.kind == "conditional":
            return new_tree("conditional", trees[1], trees[0], trees[2])
        return call_tree(op.name, *trees, *(keyword_tree(key, self.text(value)) for key, value in named.items()))
