"""The way to a derivative, rule by rule.

A program is taken apart into named parts, each of which takes one rule.  The rule gives the differential of the part, such as
``du = 2*x*dx``.  The derivative with respect to ``x`` is the coefficient of ``dx`` in the differential of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import chain, count
from typing import TYPE_CHECKING, Any, NamedTuple

from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.compiler.program import Term
from autodiff_cli.evaluation.coercion import flat_items
from autodiff_cli.evaluation.user_function import UserFunction
from autodiff_cli.language.latex_names import escaped
from autodiff_cli.language.operators import COMPARISONS, LOGIC, OPERATORS
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax, call_tree, keyword_tree, name_tree, names_in, new_token, new_tree, unparse
from autodiff_cli.postorder import postorder
from autodiff_cli.symbolic.matrices.arrays import Array, Arrays, Length
from autodiff_cli.symbolic.matrices.derivative import Derivative
from autodiff_cli.symbolic.matrices.reading import Reader, Symbol
from autodiff_cli.symbolic.matrices.writing import Writer
from autodiff_cli.symbolic.name_order import in_written_order
from autodiff_cli.symbolic.short_form import ShortForms
from autodiff_cli.symbolic.to_tree import with_names

if TYPE_CHECKING:
    from autodiff_cli.symbolic.differentiate import Derivatives

_PARTS, _RESULTS = "uvwpqrs", "zyf"
"""The first names of parts, and those of the result, where the program does not use them."""
_SUMS, _SCALES = ("add", "sub", "neg"), ("mul", "div", "neg", "matmul")
_JOINED = (*_SUMS, *_SCALES, "where")
"""The operations that take a multiple of a variable as it is: ``u + 2*x`` is one part."""
_CONDITIONS = (*COMPARISONS, *LOGIC)
_TRIVIAL = ("", *_CONDITIONS)
"""The operations that are written inside of others, such as ``X.T`` and ``x > 0``."""
_RULES = {
    **dict.fromkeys(_SUMS, "sum rule"),
    **dict.fromkeys(("mul", "matmul"), "product rule"),
    "div": "quotient rule",
    "where": "in each branch",
}
_LONGEST = 60
"""The length of a derivative in the names of parts that is left out, if the names do not make it shorter."""


class Step(NamedTuple):
    """A step to a derivative, with equations as text.

    Attributes:
        rule: the name of the rule.
        of: a part of the expression in variables and earlier parts, ``u = x**2``; for a derivative, what is differentiated.
        gives: the differential of the part, ``du = 2*x*dx``; or the derivative, ``dz/dx = 2*x``.
    """

    rule: str
    of: str
    gives: str


class Derivation(Reader):
    """The steps to the derivatives of a program.

    Args:
        source: the text of the program.
        names: the names of its variables.
        by: the variables to differentiate with respect to.
        dims: the dimensions of vectors and matrices.
        symmetric: the names of symmetric matrices.
        constants: the values of other names.
        result: the name of the result, if the program does not give it a name; by default, ``z``.

    Attributes:
        steps: a step for each part, in the order of the evaluation.
        dims: the dimensions of variables, parts and their differentials.

    Raises:
        NotRecordable: if a part has no formula.
        ShapeError: if shapes do not fit.
    """

    def __init__(
        self,
        source: str,
        names: Sequence[str],
        by: Sequence[str],
        dims: Mapping[str, tuple[Length, ...]],
        symmetric: Sequence[str] = (),
        constants: Mapping[str, Tensor] | None = None,
        result: str = "",
    ) -> None:
        program, arrays = parse(source), Arrays(())
        ordered = in_written_order(names, program)
        leaves = [arrays.leaf(name, tuple(dims.get(name, ())), name in symmetric) for name in ordered]
        super().__init__(arrays, source, leaves)
        self.variables |= constants or {}
        self.names |= constants or {}
        self.forms = ShortForms(arrays.algebra)
        self.writer = Writer(arrays, self.forms)
        self.known = {*FUNCTIONS, *names, *(constants or {})}
        self.reserved = self.known | names_in(program)
        self.differentials = Derivative(arrays, {}, (), self.forms)
        self.slopes = {name: Derivative.by(arrays.leaf(name, ()), arrays, self.forms) for name in by}
        self.dims = dict(dims)
        for name in by:
            self._differential(arrays.leaf(name, ()))
        self.rules: dict[Array, tuple[str, str]] = {}
        self.texts: dict[Array, Syntax] = {}
        self.parts: dict[Array, Array] = {}
        self.steps: list[Step] = []
        self.is_inside = False
        whole = self.array(self._whole(self.run()))
        self.whole_name = result or self._free(_RESULTS, self.reserved)
        self.whole = self.part(whole, self.whole_name)
        self.whole_name = self.whole.symbol.name if self.whole in self.parts.values() else self.whole_name

    def derivative(self, by: str, final: str) -> list[Step]:
        """Return the steps to the derivative by a variable: the coefficient in the names of parts, and the final formula."""
        name, rule = f"d{self.whole_name}/d{by}", f"coefficient of {self._differential(self.arrays.leaf(by, ())).symbol.name}"
        formula = self.formula(self.slopes[by].of_array(self.whole))
        if formula == final or _LONGEST < len(formula) > len(final):
            return [Step(rule if formula == final else f"{rule}, simplified", self.whole_name, _equation(name, final))]
        steps = {rule: formula, "names replaced, simplified": final}
        return [Step(rule, self.whole_name, _equation(name, text)) for rule, text in steps.items()]

    # Parts

    def _free(self, names: Iterable[str], reserved: Container[str]) -> str:
        """Return the first of some names that is not reserved, or ``u1``, ``u2`` and so on."""
        candidates = chain(names, (f"u{number}" for number in count(1)))
        return next(name for name in candidates if name not in reserved and f"d{name}" not in reserved)

    def _differential(self, leaf: Array) -> Array:
        """Return the leaf of the differential of a variable or a part."""
        if leaf not in self.differentials.of_leaves:
            name = next(name for name in (f"{'d' * n}{leaf.symbol.name}" for n in count(1)) if name not in self.reserved)
            self.known |= {leaf.symbol.name, name}
            self.reserved |= self.known
            self.differentials.of_leaves[leaf] = self.arrays.leaf(name, leaf.dims, leaf.symmetric)
            self.dims |= {leaf.symbol.name: leaf.dims, name: leaf.dims}
        return self.differentials.of_leaves[leaf]

    def part(self, array: Array, name: str = "") -> Array:
        """Return the leaf of a part, which has a step; an array that does not depend on a variable stays as it is."""
        if array.kind == "leaf" or not self._depends(Symbol(array)):
            return array
        return self.parts.get(array) or self._add_part(array, name, lambda derivative: derivative.of_array(array))

    def _add_part(self, array: Array, name: str, derived: Callable[[Derivative], Array]) -> Array:
        """Add the step of a part, and return its leaf.

        Args:
            array: the part.
            name: its name; by default, a letter.
            derived: the rule of the part: its derivative or differential, from those of its leaves.
        """
        leaf = self.arrays.leaf(name or self._free(_PARTS, self.reserved), array.dims, array.symmetric)
        equation = _equation(leaf.symbol.name, unparse(self.text(Symbol(array))))
        gives = self.formula(derived(self.differentials))
        for slope in self.slopes.values():
            slope.of_leaves[leaf] = derived(slope)
        _, rule = self.rules.get(array, ("", "each element"))
        self.steps.append(Step(rule, equation, _equation(self._differential(leaf).symbol.name, gives)))
        self.parts[array] = leaf
        return leaf

    def formula(self, array: Array) -> str:
        """Return an array as a short formula, with differentials at the ends of products."""
        return unparse(with_names(self._with_differentials_last(self.writer.tree(array)), self.reserved))

    def _with_differentials_last(self, tree: Syntax) -> Syntax:
        names = {leaf.symbol.name for leaf in self.differentials.of_leaves.values()}
        results: dict[Syntax, Syntax] = {}
        for node in postorder([tree], lambda node: node.children):
            new = node.with_children([results[child] for child in node.children])
            before, last = new.children if new.kind == "mul" else (new, new)
            *others, middle = before.children if before.kind == "mul" else [before]
            name = middle.children[0] if middle.kind == "neg" else middle
            if new.kind == "mul" and unparse(name) in names:
                first = new_tree("mul", others[0], last) if others else last
                new = new_tree("mul", first if name is middle else new_tree("neg", first), name)
            results[node] = new
        return results[tree]

    def text(self, value: Any) -> Syntax:
        """Return a value of the program as the user wrote it, with the names of parts."""
        if isinstance(value, list):
            return new_tree("list", *map(self.text, value))
        if isinstance(value, Symbol):
            leaf = self.parts.get(value.array, value.array)
            return self.texts.get(leaf) or self.writer.tree(leaf)
        if isinstance(value, (str, bool)) or value is None:
            return new_token("STRING", f'"{value}"' if isinstance(value, str) else str(value).lower())
        return self.writer.tree(self.array(value))

    def _depends(self, value: object) -> bool:
        """Return whether a value depends on a variable."""
        arrays = [item.array for item in flat_items([value]) if isinstance(item, Symbol)]
        return any(array in self.differentials.of_leaves for array in postorder(arrays, self.differentials.inside))

    # The evaluator

    def _set(self, name: str, value: Any, tree: Syntax) -> Any:
        value = self._whole(value)
        if isinstance(value, Symbol):
            value = Symbol(self.part(value.array, self._free([name], self.known)))
        return super()._set(name, value, tree)

    def _whole(self, value: object) -> Any:
        if not isinstance(value, list):
            return value
        parts = self._operand(value, "list")
        whole = super()._whole(parts)
        if isinstance(whole, Symbol):
            self.texts.setdefault(whole.array, self.text(parts))
        return whole

    def _operand(self, value: Any, operation: str) -> Any:
        """Return an operand: a part with a name, unless the operation takes it as it is."""
        if isinstance(value, list):
            return [self._operand(item, operation) for item in value]
        if not isinstance(value, Symbol) or value.array in self.parts:
            return Symbol(self.parts[value.array]) if isinstance(value, Symbol) else value
        own, _ = self.rules.get(value.array, ("", ""))
        is_joined = operation in ("scale", *_CONDITIONS) or (own == "scale" and operation in _JOINED)
        is_joined |= (own in _SUMS and operation in _SUMS) or (own == operation and own in ("mul", "matmul"))
        return value if is_joined or own in _TRIVIAL else Symbol(self.part(value.array))

    def _noted(self, result: Any, operation: str, rule: str, text: Syntax) -> Any:
        """Return a result, and note its operation, its rule and its text."""
        if isinstance(result, Symbol):
            self.rules.setdefault(result.array, (operation, rule))
            self.texts.setdefault(result.array, text)
        return result

    def attribute(self, thing: object, name: str, node: Syntax) -> Any:
        thing = self._operand(thing, "")
        text = new_tree("attribute", self.text(thing), node.children[1])
        return self._noted(super().attribute(thing, name, node), "", "transpose", text)

    def element(self, thing: object, keys: list[Any], node: Syntax) -> Any:
        thing = self._operand(thing, "")
        text = new_tree("index", self.text(thing), node.children[1])
        return self._noted(super().element(thing, keys, node), "", "selected elements", text)

    def enter(self, function: UserFunction, arguments: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        if function.partials is None:
            return super().enter(function, arguments, named, node)
        operands = self._operand(function.bind_arguments(arguments, named), "call")
        self.is_inside = True
        try:
            slopes = [self.array(self.evaluate_body(function, partial, operands)) for partial in function.partials]
        finally:
            self.is_inside = False
        if any(array.dims for array in slopes):
            return super().enter(function, arguments, named, node)

        def derived(derivative: Derivative) -> Array:
            inner = [derivative.of_array(self.array(operand)) for operand in operands]
            terms = [([(slope, ()), (array, self.arrays.labels(array))]) for slope, array in zip(slopes, inner, strict=True)]
            return self.arrays.sum([self.arrays.contraction(factors, factors[1][1]) for factors in terms], derivative.dims)

        text = call_tree(function.name, *map(self.text, operands))
        array = self.arrays.leaf(unparse(text), ())
        self.rules[array] = "call", f"declared rule of {function.name}"
        return Symbol(self.parts.get(array) or self._add_part(array, "", derived))

    def apply(self, op: FunctionInfo, operands: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        if self.is_inside:  # a function that is a program of others is one part
            return super().apply(op, operands, named, node)
        scaled = self._scaled(op, operands)
        operation = "scale" if scaled else op.name
        operands = self._operand(operands, operation)
        named = {key: self._operand(value, operation) for key, value in named.items()}
        self.is_inside = True
        try:
            result = super().apply(op, operands, named, node)
        finally:
            self.is_inside = False
        return self._noted(result, *(scaled or (op.name, self._rule(op, operands))), self._operation(op, operands, named, node))

    def _scaled(self, op: FunctionInfo, operands: Sequence[Any]) -> tuple[str, str] | None:
        """Return the operation and the rule of an operand that is multiplied by a constant, or ``None`` for other operations."""
        dependent = [value for value in operands if self._depends(value)]
        if op.name not in _SCALES or len(dependent) != 1 or (op.name == "div" and dependent[0] is not operands[0]):
            return None
        array = dependent[0].array
        operation, rule = self.rules.get(array, ("", ""))
        if array.kind == "leaf" or array in self.parts:
            return "scale", "constant factor"
        return (operation, rule) if operation == "scale" or op.name != "matmul" else None

    def _rule(self, op: FunctionInfo, operands: Sequence[Any]) -> str:
        """Return the name of the rule of an operation."""
        if op.name in _RULES:
            return _RULES[op.name]
        rule = f"rule of {op.name}"
        if op.name == "pow":
            base, exponent = map(self._depends, operands[:2])
            rule = "power rule" if not exponent else "power and exponential rule" if base else "exponential rule"
        parts = {*self.parts.values()}
        is_chain = any(isinstance(item, Symbol) and item.array in parts for item in flat_items(operands))
        return f"{rule}, chain rule" if is_chain else rule

    def _operation(self, op: FunctionInfo, operands: Sequence[Any], named: Mapping[str, Any], node: Syntax) -> Syntax:
        """Return an operation as an expression of its operands."""
        trees = list(map(self.text, operands))
        if op.name in COMPARISONS:
            return new_tree("comparison", trees[0], new_token("COMPARISON", COMPARISONS[op.name]), trees[1])
        if op.name in OPERATORS:
            return new_tree(op.name, *trees)
        if node.kind == "conditional":
            return new_tree("conditional", trees[1], trees[0], trees[2])
        return call_tree(op.name, *trees, *(keyword_tree(key, self.text(value)) for key, value in named.items()))


def _equation(name: str, formula: str) -> str:
    """Return an equation, after the statements of the formula, if it has any."""
    *statements, last = formula.split("; ")
    return "; ".join([*statements, f"{name} = {last}"])


def derivation_steps(
    source: str,
    names: Sequence[str],
    orders: Sequence[Mapping[Term, str]],
    dims: Mapping[str, tuple[Length, ...]],
    symmetric: Sequence[str],
    constants: Mapping[str, Tensor],
) -> tuple[list[Step], dict[str, tuple[Length, ...]]]:
    """Return the steps to derivatives, and the dimensions of their names.

    Args:
        source: the text of a program.
        names: the names of its variables.
        orders: the derivatives of each order, by their variables.
        dims: the dimensions of vectors and matrices.
        symmetric: the names of symmetric matrices.
        constants: the values of other names.
    """
    steps: list[Step] = []
    all_dims = dict(dims)
    sources: dict[Term, tuple[str, str]] = {(): (source, "")}
    for derivatives in orders:
        following: dict[Term, tuple[str, str]] = {}
        for term, (text, name) in sources.items():
            derivation = Derivation(text, names, [wrt for (wrt,) in orders[0]], dims, symmetric, constants, name)
            steps += derivation.steps
            for variable in [wrt[-1] for wrt in derivatives if wrt[:-1] == term]:
                final = derivatives[*term, variable]
                steps += derivation.derivative(variable, final)
                following[*term, variable] = final, f"{derivation.whole_name}_{variable}"
            all_dims |= derivation.dims
        sources = following
    return steps, all_dims


def latex_rows(result: Derivatives) -> str:
    """Return the steps to derivatives as rows of aligned equations in LaTeX: the part, its differential, and the rule."""
    symbols = {name: result.as_latex(name_tree(name)) for name in result.dims}
    differentials = {symbols[f"d{name}"]: rf"\mathrm{{d}}{symbol}" for name, symbol in symbols.items() if f"d{name}" in symbols}

    def equation(text: str) -> str:
        before, end, text = text.rpartition("; ")
        left, _, right = text.partition(" = ")
        above, _, below = left.partition("/d")
        parts = [result.as_latex(name_tree(above if not below else above[1:])), *([symbols[below]] if below else [])]
        texts = [*parts, *([result.as_latex(parse(before + end + right))] if right else [])]
        for name, symbol in differentials.items():
            texts = [text.replace(name, symbol) for text in texts]
        if below:
            texts[:2] = [rf"\frac{{\partial {texts[0]}}}{{\partial {texts[1]}}}"]
        return " &= ".join(texts) if right else " &"

    rows = [rf"{equation(step.of)} & {equation(step.gives)} && \text{{{escaped(step.rule)}}}" for step in result.steps]
    return "\\begin{align*}\n" + " \\\\\n".join(rows) + "\n\\end{align*}\n"
